#!/usr/bin/python3
# label: fast
"""--kernel: SIMD lanes or single trajectories, and the record of the choice."""

import os

from runs import Folder, attribute, check, check_refused, cut, h5py, np, popflow, run_all
from sweeps import check_same_data, command_of, datasets

STARTS = ["--over", "w0=-1.9:.9:9", "--over", "e0=-1:1:9"]
NOISY = ["--mode", "sde", "--learning-rate", 0.1, "--batch-size", 4, "--context-length", 20]


def kernel(path):
    return attribute(path, "kernel", "parameters")


def test_noisy_runs_have_the_same_bits_with_every_kernel():
    for bias in ("optimal", "free"):
        with Folder() as folder:
            runs_either_way(folder, "--bias", bias)


def runs_either_way(folder, *words):
    for name in ("auto", "scalar", "lanes"):
        popflow("run", "markov", *NOISY, *words, "--runs", 21, "--t-end", 20, "--saves", 4, "--kernel",
                name, "-o", f"{name}.h5", folder=folder, code=0)
    paths = [os.path.join(folder, f"{name}.h5") for name in ("auto", "scalar", "lanes")]
    check([kernel(path) for path in paths] == ["lanes", "scalar", "lanes"], "recorded kernels")
    for path in paths[1:]:
        check_same_data(paths[0], path)
    # A part of the ensemble has other neighbours in lanes.
    popflow("run", "markov", *NOISY, *words, "--runs", 3, "--first-run", 14, "--t-end", 20, "--saves", 4,
            "--state", "all", "-o", "part.h5", folder=folder, code=0)
    whole, part = datasets(paths[0]), datasets(os.path.join(folder, "part.h5"))
    for name in ("loss", "e", "w", "b", "energy"):
        check(np.array_equal(whole[name][14:17], part[name]), f"{name} of a part")


def test_an_ensemble_in_lanes_resumes_to_the_same_bits():
    long = ["run", "markov", *NOISY, "--runs", 40, "--t-end", 1500, "--saves", 4, "--threads", 2]
    with Folder() as folder:
        popflow(*long, "-o", "whole.h5", folder=folder, code=0)
        cut([*long, "-o", "cut.h5"], folder, 0.15)
        popflow("resume", "cut.h5", folder=folder, code=0)
        check_same_data(os.path.join(folder, "whole.h5"), os.path.join(folder, "cut.h5"))


def test_flows_of_a_sweep_take_lanes_and_agree_with_the_steppers():
    with Folder() as folder:
        for name in ("auto", "scalar"):
            popflow("sweep", "markov", *STARTS, "--t-end", 40, "--rtol", 1e-10, "--atol", 1e-12,
                    "--kernel", name, "-o", f"{name}.h5", folder=folder, code=0)
        lanes, scalar = (os.path.join(folder, f"{name}.h5") for name in ("auto", "scalar"))
        check("--kernel lanes" in " ".join(command_of(lanes, "w0=-1.9,e0=1")), "the cell's command")
        check("--kernel scalar" in " ".join(command_of(scalar, "w0=-1.9,e0=1")), "the other's")
        one, two = datasets(lanes), datasets(scalar)
        for name in ("loss", "e", "w", "slope", "time_of_loss_settled"):
            check(np.allclose(one[name], two[name], rtol=1e-6, atol=1e-8, equal_nan=True), name)
        for name in ("status", "outcome"):
            check(np.array_equal(one[name], two[name]), name)
        # A smaller grid has other neighbours in lanes.
        popflow("sweep", "markov", "--over", "w0=.9,-1.9", "--over", "e0=1,.5,0", "--t-end", 40,
                "--rtol", 1e-10, "--atol", 1e-12, "-o", "few.h5", folder=folder, code=0)
        few = datasets(os.path.join(folder, "few.h5"))
        check(few["loss"][1, 0] == one["loss"][0, 8] and few["w"][0, 1] == one["w"][8, 6],
              "neighbours matter")


def test_flows_of_a_sweep_of_scb_take_lanes_in_signal_coordinates():
    few = ["--context-length", 1000, "--t-end", 60, "--rtol", 1e-10, "--atol", 1e-12]
    seeds = ["--over", "problem-seed=1:40:40"]
    with Folder() as folder:
        for name in ("auto", "scalar"):
            popflow("sweep", "scb", *seeds, "--coordinates", "signal", *few, "--kernel", name, "-o",
                    f"{name}.h5", folder=folder, code=0)
        check("--kernel lanes" in " ".join(command_of(os.path.join(folder, "auto.h5"), "problem-seed=7")),
              "the cell's command")
        done = popflow("sweep", "scb", "--over", "coordinates=signal,support", *few, "--kernel", "lanes",
                       "--keep-going", "-o", "refused.h5", folder=folder, code=0)
        check("refused, for example the cell coordinates = support: --kernel lanes: no SIMD lanes exist" in done.err,
              f"why a cell is refused: {done.err}")
        popflow("sweep", "scb", "--over", "coordinates=signal,support", *few, "-o", "mixed.h5",
                folder=folder, code=0)
        for words, found in (("coordinates=signal", True), ("coordinates=support", False)):
            command = " ".join(command_of(os.path.join(folder, "mixed.h5"), words))
            check(("--kernel lanes" in command) == found, f"the command of {words}")
        popflow("run", "scb", "--coordinates", "signal", "--problem-seed", 7, *few, "--kernel", "lanes",
                "-o", "run.h5", folder=folder, code=0)
        scalar, lanes, mixed, refused = (datasets(os.path.join(folder, f"{name}.h5"))
                                         for name in ("scalar", "auto", "mixed", "refused"))
        for name in ("loss", "signal_V", "time_of_boosted", "time_of_aligned", "time_of_fast_phase_end"):
            check(np.allclose(scalar[name], lanes[name], rtol=1e-6, equal_nan=True), name)
        check(np.isfinite(lanes["time_of_fast_phase_end"]).any(), "an event that waits for another")
        check(np.allclose(mixed["loss"][0], mixed["loss"][1], rtol=1e-6), "with lanes and without")
        check(np.isfinite(refused["loss"][0]) and np.isnan(refused["loss"][1]),
              "coordinates without lanes")
        with h5py.File(os.path.join(folder, "run.h5")) as run:
            check(run["loss"][-1] == lanes["loss"][6], "the bits of a cell")


def test_cells_of_several_sizes_share_lanes_with_cells_of_their_size():
    few = ["--start", "gaussian", "--t-end", 12, "--rtol", 1e-10, "--atol", 1e-12]
    # Eight layers are too many for lanes.
    over = ["--over", "problem-seed=1:20:20", "--over", "layers=2,8,1,3"]
    with Folder() as folder:
        for name in ("auto", "scalar"):
            popflow("sweep", "deep-linear", *over, *few, "--kernel", name, "-o", f"{name}.h5",
                    folder=folder, code=0)
        lanes, scalar = (datasets(os.path.join(folder, f"{name}.h5")) for name in ("auto", "scalar"))
        for name in ("loss", "imbalance", "time_of_learned"):
            check(np.allclose(scalar[name], lanes[name], rtol=1e-6, atol=1e-9, equal_nan=True), name)
        check(np.array_equal(scalar["loss"][:, 1], lanes["loss"][:, 1]), "too large for lanes")
        check(not np.array_equal(scalar["loss"][:, 3], lanes["loss"][:, 3]), "small enough")
        for layers, found in ((3, True), (8, False)):
            command = " ".join(command_of(os.path.join(folder, "auto.h5"), f"problem-seed=7,layers={layers}"))
            check(("--kernel lanes" in command) == found, f"the command of {layers} layers")
        popflow("run", "deep-linear", "--problem-seed", 7, "--layers", 3, *few, "--saves", 2, "--kernel", "lanes", "-o",
                "run.h5", folder=folder, code=0)
        with h5py.File(os.path.join(folder, "run.h5")) as run:
            check(run["loss"][-1] == lanes["loss"][6, 3], "the bits of a cell")


def test_flows_of_a_sweep_of_joma_take_lanes_in_reduced_coordinates():
    few = ["--activation", "nonlinear", "--rtol", 1e-10, "--atol", 1e-12]
    # For each temperature: one softmax, one with a minimum of the entropy, one too large for lanes,
    # one in full coordinates.
    over = ["--over", "temperature=1.5:4:20", "--over", "k:attention=softmax,exp,exp,linear",
            "--over", "k:tokens=10,10,33,10", "--over", "k:coordinates=reduced,reduced,reduced,full"]
    with Folder() as folder:
        for name in ("auto", "scalar"):
            popflow("sweep", "joma", *over, *few, "--kernel", name, "-o", f"{name}.h5", folder=folder,
                    code=0)
        auto = os.path.join(folder, "auto.h5")
        lanes, scalar = (datasets(os.path.join(folder, f"{name}.h5")) for name in ("auto", "scalar"))
        for name in ("attention_entropy", "learned_min", "time_of_entropy_falls", "time_of_entropy_minimum"):
            check(np.allclose(scalar[name], lanes[name], rtol=1e-6, atol=1e-9, equal_nan=True), name)
        check(np.isfinite(lanes["time_of_entropy_minimum"][:, 1]).any(), "a minimum")
        same = [np.array_equal(scalar["clock_spread"][:, k], lanes["clock_spread"][:, k]) for k in range(4)]
        check(same == [False, False, True, True], f"which have lanes: {same}")
        for k, found in enumerate((True, True, False, False)):
            command = " ".join(command_of(auto, f"temperature=1.5,k={k}"))
            check(("--kernel lanes" in command) == found, f"the command of case {k}")
        popflow(*command_of(auto, "temperature=1.5,k=1"), "-o", "run.h5", folder=folder, code=0)
        with h5py.File(os.path.join(folder, "run.h5")) as run:
            check(run["attention_entropy"][-1] == lanes["attention_entropy"][0, 1],
                  "the bits of a cell")
            check(run["events/time"][1] == lanes["time_of_entropy_minimum"][0, 1],
                  "and of its event")


def test_a_problem_file_determines_whether_there_are_lanes():
    with Folder() as folder:
        paths = [os.path.join(folder, name) for name in ("few.h5", "many.h5")]
        for path, tokens in zip(paths, (30, 40)):
            with h5py.File(path, "w") as file:
                file["target"] = np.linspace(1, 3, tokens)
        sweep = os.path.join(folder, "sweep.h5")
        popflow("sweep", "joma", "--over", f"problem={','.join(paths)}", "--over", "init=.01,.1", "-o",
                sweep, code=0)
        for path, found in zip(paths, (True, False)):
            command = " ".join(command_of(sweep, f"problem={path},init=.1"))
            check(("--kernel lanes" in command) == found, f"the command of {path}: {command}")
        # Without its file the cell's size is unknown; its command is shown nevertheless.
        os.remove(paths[0])
        command_of(sweep, f"problem={paths[0]},init=.1")


def test_a_single_flow_uses_lanes_only_on_request():
    with Folder() as folder:
        popflow("run", "markov", "--t-end", 30, "-o", "run.h5", folder=folder, code=0)
        check(kernel(os.path.join(folder, "run.h5")) == "scalar", "a single flow")
        popflow("run", "markov", "--t-end", 30, "--kernel", "lanes", "-o", "lanes.h5", folder=folder,
                code=0)
        with h5py.File(os.path.join(folder, "run.h5")) as one, \
                h5py.File(os.path.join(folder, "lanes.h5")) as two:
            check(np.allclose(one["loss"], two["loss"], rtol=1e-7), "the loss")
            check(np.allclose(one["events/time"], two["events/time"], rtol=1e-6), "the event")


def test_lanes_are_refused_where_they_do_not_exist():
    check_refused("run", {
        ("scb", "--kernel", "lanes"):
            "--kernel lanes: no SIMD lanes exist for the flow of scb (lanes exist only in --coordinates signal); use auto",
        ("deep-linear", "--layers", 8, "--kernel", "lanes"):
            "the flow of deep-linear (lanes hold states of up to 64 numbers; this state has 72)",
        ("joma", "--tokens", 33, "--kernel", "lanes"):
            "the flow of joma (lanes pay off for up to 32 tokens and 256 targets)",
        ("joma", "--coordinates", "full", "--kernel", "lanes"):
            "the flow of joma (lanes exist only in --coordinates reduced)",
        ("topic", "--kernel", "lanes"): "--kernel lanes: no SIMD lanes exist for the flow of topic; use auto",
        ("markov", "--kernel", "lanes", "--method", "rk4", "--dt", 0.1):
            "the flow of markov with this --method",
        ("markov", "--kernel", "lanes", "--mode", "sde", "--noise", "isotropic"):
            "the noise of markov with these options",
        ("markov", "--kernel", "fast"): "it must be one of auto, scalar, lanes"})


if __name__ == "__main__":
    run_all()
