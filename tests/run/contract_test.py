#!/usr/bin/python3
# label: fast
"""Contents of a run's file, name by name."""

import os

from runs import Folder, attribute, check, h5py, np, popflow, run_all

N, T, S, K = 5, 30, 2, 7
SMALL = ["--vocab-size", N, "--context-length", T, "--sparsity", S, "--saves", K, "--t-end", 12]
OBSERVABLES = ["loss", "excess_loss", "signal_V", "signal_A", "distance_P", "distance_Q",
               "attention_sum_error", "stationary_error", "column_sum_error"]
V = ("V", ("token_out", "token_in"))
SCALARS = [(name, ()) for name in ("alpha_V", "rho_V", "beta_mu", "beta_0")]
SUPPORT = [("A_support", ("slot", "query")), ("A_off", ("query",))]
# Options, and the state fields with their dimensions.
VARIANTS = {
    "linear": ([], [V, ("A", ("position", "query"))]),
    "softmax": (["--attention", "softmax"], [V, ("A", ("position", "query")),
                                             ("W", ("position", "query"))]),
    "l1": (["--l1", 0.01], [V, ("A", ("position", "query"))]),
    "not projected": (["--project", "none"], [V, ("A", ("position", "query"))]),
    "support": (["--coordinates", "support"], SCALARS + SUPPORT),
    "support, no preconditioner": (["--coordinates", "support", "--preconditioner", "none"],
                                   [V] + SUPPORT),
    "signal": (["--coordinates", "signal"], [(name, ()) for name in
                                             ("alpha_V", "rho_V", "alpha_A")]),
    "ends": (["--state", "ends"], [V, ("A", ("position", "query"))]),
    "none": (["--state", "none"], []),
    "ends, support": (["--state", "ends", "--coordinates", "support"], SCALARS + SUPPORT),
}
SIZES = {"token_out": N, "token_in": N, "token": N, "position": T, "query": N, "slot": S, "time": K,
         "time_state": 2}


def dimensions(dataset):
    return tuple(d[0].name.split("/")[-1] for d in dataset.dims)


def check_variable(name, dataset, expected):
    check(dimensions(dataset) == expected, f"{name} has dimensions {dimensions(dataset)}")
    check(dataset.shape == tuple(SIZES[d] for d in expected), f"{name} has shape {dataset.shape}")
    check(dataset.attrs["units"] == "1" and dataset.attrs["long_name"], f"{name} is not described")


def check_file(path, args, fields):
    reduced = "--coordinates" in args
    with h5py.File(path, "r") as file:
        for name in OBSERVABLES:
            check_variable(name, file[name], ("time",))
            check(file[name].attrs["symbol"] and file[name].attrs["source"], f"{name}: its source")
            check(np.all(np.isfinite(file[name][()])), f"{name} is not finite")
        axis = "time_state" if "ends" in args else "time"
        for name, own in fields:
            check_variable(name, file[name], (axis, *own))
            check(file[name].attrs["symbol"] and file[name].attrs["source"], f"{name}: its source")
            check(np.all(np.isfinite(file[name][()])), f"{name} is not finite")
        known = {name for name, _ in fields} | set(OBSERVABLES)
        for name in ("V", "A", "W", "A_support", "A_off", "alpha_V", "rho_V", "alpha_A"):
            check((name in file) == (name in known), f"{name} in {path}")
        check(file["saves_done"][()] == K and file["saves_done"].shape == (), "saves_done")
        check(np.array_equal(file["time"][()], np.linspace(0, 12, K)), "time")
        for name in ("token_out", "token_in", "token", "query", "slot"):
            check(np.array_equal(file[name][()], np.arange(SIZES[name])), f"coordinate {name}")
        check(("position" in file) == (not reduced), "position")
        if "support" in args:
            check_variable("support_position", file["support_position"], ("slot", "query"))
            check(file["support_position"].dtype == np.int64, "support_position")
            check(np.array_equal(file["support_position"][()], file["problem/Q_position"][()]),
                  "positions")

        problem = file["problem"]
        check_variable("P", problem["P"], ("token_out", "token_in"))
        check_variable("mu", problem["mu"], ("token",))
        check_variable("Q_value", problem["Q_value"], ("slot", "query"))
        check_variable("Q_position", problem["Q_position"], ("slot", "query"))
        check(problem["Q_position"].dtype == np.int64, "Q_position")
        check(int(problem.attrs["context_length"]) == T, "context_length")
        check(("Q" in problem) == (not reduced), "dense Q")
        check("V0" not in problem, "V0 of a standard start")
        if not reduced:
            check_variable("Q", problem["Q"], ("position", "query"))
            for k in range(N):
                check(np.all(np.diff(problem["Q_position"][:, k]) > 0), "positions are not sorted")
                check(np.array_equal(problem["Q"][()][problem["Q_position"][:, k], k],
                                     problem["Q_value"][:, k]), "the two forms of Q")

        events = file["events"]
        check(events["kind"].dtype == np.int8, "kind")
        meanings = events["kind"].attrs["flag_meanings"].split()
        check(len(meanings) == len(events["kind"].attrs["flag_values"]), "flag_values")
        check(meanings[:2] == ["boosted", "aligned"], f"events {meanings}")
        check(set(events) >= {"kind", "time", "run", "index"}, "events")
        statistics = file["statistics"]
        for name in ("rhs_evaluations", "accepted_steps", "rejected_steps"):
            check(statistics[name][()] >= 0, name)
        check(statistics["steps"][()].sum() == statistics["accepted_steps"][()], "steps")

        parameters = file["parameters"].attrs
        for name, value in (("vocab-size", N), ("context-length", T), ("sparsity", S), ("saves", K),
                            ("t-end", 12.0), ("rtol", 1e-8), ("max-steps", 10**8)):
            check(parameters[name] == value, f"parameter {name} is {parameters[name]!r}")
        check(parameters["vocab-size"].dtype == np.int64, "whole numbers are numbers")
        check(parameters["force"].dtype == np.int8, "booleans are int8")
        config = parameters["config"]
        for word in ("output", "force", "quiet", "progress", "dry-run", "config"):
            check(not any(line.startswith(word + " ") for line in config.splitlines()),
                  f"config has {word}")
        provenance = file["provenance"].attrs
        for name in ("version", "revision", "compiler", "flags", "libraries", "host", "started",
                     "ended", "threads", "wall_time"):
            check(name in provenance, f"provenance {name}")

        root = file.attrs
        for name, value in (("Conventions", "CF-1.10"), ("format", "popflow"), ("system", "scb"),
                            ("mode", "flow")):
            check(root[name] == value, f"{name} is {root[name]!r}")
        check(int(root["format_version"]) == 1, "format_version")
        check(attribute(path, "status") == "complete", "status")
        check(np.isnan(root["diverged_at"]), "diverged_at")
        for name in ("title", "history", "status_message"):
            check(root[name], name)
        for name in ("K_P", "kappa", "loss_minimum"):
            check(np.isfinite(root[name]), name)
        for group in ("problem", "parameters", "provenance", "statistics", "events", "restart"):
            check(group in file, f"group {group}")


def test_names_and_dimensions():
    with Folder() as folder:
        for number, (args, fields) in enumerate(VARIANTS.values()):
            path = os.path.join(folder, f"{number}.h5")
            popflow("run", "scb", *SMALL, *args, "-o", path, code=0)
            check_file(path, args, fields)


def test_long_contexts_take_no_space():
    with Folder() as folder:
        for coordinates in ("support", "signal"):
            path = os.path.join(folder, "run.h5")
            popflow("run", "scb", "--coordinates", coordinates, "--context-length", 1e9, "-o", path,
                    "--force", code=0)
            check(os.path.getsize(path) < 600_000, f"{os.path.getsize(path)} bytes")
            with h5py.File(path, "r") as file:
                check("position" not in file and "position" not in file["problem"], "position")
                check(int(file["problem"].attrs["context_length"]) == 10**9, "context_length")

                def look(name, item):
                    if isinstance(item, h5py.Dataset):
                        check(max(item.shape, default=0) < 10**6, f"{name} has shape {item.shape}")

                file.visititems(look)


def test_reduced_coordinates_show_the_same_run():
    with Folder() as folder:
        files = []
        for coordinates in ("full", "support", "signal"):
            path = os.path.join(folder, coordinates + ".h5")
            popflow("run", "scb", *SMALL, "--coordinates", coordinates, "--rtol", 1e-11, "--atol",
                    1e-13, "-o", path, code=0)
            files.append(h5py.File(path, "r"))
        for other in files[1:]:
            for name in OBSERVABLES:
                check(np.allclose(files[0][name], other[name], rtol=1e-7, atol=1e-9),
                      f"{name} in reduced coordinates")
            check(np.allclose(files[0]["events/time"], other["events/time"], rtol=1e-7,
                              equal_nan=True), "events")
        for file in files:
            file.close()


if __name__ == "__main__":
    run_all()
