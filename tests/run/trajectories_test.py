#!/usr/bin/python3
# label: slow
"""`compare` with trajectories of other programs: plain files of times and observables."""

import os
import random
import re

from runs import Folder, attribute, check, check_equal, cut, h5py, np, popflow, run_all, same, worked, xarray

TRAINING = ["--learning-rate", 0.05, "--batch-size", 8]
SMALL = ["markov", "--t-end", 2, "--saves", 6, *TRAINING]
OBSERVABLES = ["loss", "excess_loss", "energy", "slope", "prob_0to1", "prob_1to0", "gradient_norm"]


def run(folder, name, *args):
    path = os.path.join(folder, name + ".h5")
    popflow("run", *args, "-o", path, "--force", code=0)
    return path


def compared(folder, name, *args, code=0):
    path = os.path.join(folder, name + ".h5")
    return path, popflow("compare", *args, "-o", path, "--force", code=code)


def plain_file(path, numbers, attributes=(), **variables):
    """Writes a file as a user would with xarray, without popflow's attributes; returns its path."""
    data = {name: (("run", "time") if np.ndim(values) == 2 else ("time",), values)
            for name, values in numbers.items() if name != "time"}
    data.update(variables)
    xarray.Dataset(data, {"time": numbers["time"]} if "time" in numbers else {},
                   dict(attributes)).to_netcdf(path, engine="h5netcdf")
    return path


def numbers_of(path, group="", names=OBSERVABLES):
    """Returns the observables of a run's file, and its times."""
    with h5py.File(path) as file:
        found = file[group] if group else file
        return {name: found[name][()] for name in ["time", *names]}


def time_of_event(path, group=""):
    """Returns the name of the file's only event, and its first time in each run."""
    with h5py.File(path) as file:
        found = file[group] if group else file
        words = plain_words(found["events/kind"].attrs["flag_meanings"])
        times = np.where(found["events/kind"][()] < 0, np.nan, found["events/time"][()])
        return words[0], times.reshape(len(found["run"]), -1)[:, 0]


def table(path):
    """Returns a comparison's verdicts and their numbers."""
    with h5py.File(path) as file:
        verdicts = file["comparison/verdicts"]
        return {name: verdicts[name][()] for name in verdicts if name != "statement"}


def check_same_verdicts(path, other):
    one, two = table(path), table(other)
    check(list(one) == list(two), f"{list(one)}, {list(two)}")
    for name in one:
        check(same(one[name], two[name]), f"{name}: {one[name]}, {two[name]}")


def test_plain_files_get_the_verdicts_of_popflows_own_files():
    with Folder() as folder:
        flow = run(folder, "flow", *SMALL)
        sgd = run(folder, "sgd", *SMALL, "--mode", "sgd", "--runs", 12)
        event, times = time_of_event(sgd)
        mine = plain_file(folder + "/mine.nc", numbers_of(sgd), **{f"time_of_{event}": ("run", times)})
        own, said = compared(folder, "own", "--from", f"flow={flow},sgd={sgd}")
        other, also = compared(folder, "other", "markov", "--from", f"flow={flow},mine={mine}")
        check_same_verdicts(own, other)
        tables = [text.out.replace("mine", "sgd").split() for text in (said, also)]
        length = next(i for i, word in enumerate(tables[0]) if word == "wall")
        check(tables[0][:length] == tables[1][:length], also.out)
        check("As models of mine" in also.out, also.out)
        check("As models of mine" in popflow("info", other, code=0).out, "info")
        # The comparison's file contains the trajectories, and its readers treat them as a rung.
        with h5py.File(other) as file:
            check(same(file["mine/loss"][()], numbers_of(sgd)["loss"]), "mine/loss")
            check(file["comparison"].attrs["trajectories"] in ("mine", b"mine"), "trajectories")
        check("mine" in popflow("plot", other, code=0).out, "plot")
        popflow("info", other, "--csv", code=0)
        popflow("info", other, "--json", code=0)
        check("is finished" in popflow("resume", other, code=0).err, "resume")


def test_rungs_are_computed_at_the_times_of_the_file():
    with Folder() as folder:
        whole, _ = compared(folder, "whole", *SMALL, "--runs", 12, "--rungs", "flow,sde,sgd")
        event, times = time_of_event(whole, "sgd")
        mine = plain_file(folder + "/mine.nc", numbers_of(whole, "sgd"),
                          **{f"time_of_{event}": ("run", times)})
        path, said = compared(folder, "beside", "markov", *TRAINING, "--runs", 12, "--from",
                              f"mine={mine}", "--rungs", "flow,sde,sgd")
        for rung in ("flow", "sde", "sgd"):
            for name in ("time", *OBSERVABLES):
                a, b = numbers_of(whole, rung)[name], numbers_of(path, rung)[name]
                check(np.allclose(a, b, rtol=1e-9, atol=1e-12), f"{rung} {name}: {a}, {b}")
        with h5py.File(path) as file:
            check(plain_words(file.attrs["rungs"]) == ["flow", "sde", "sgd", "mine"], "rungs")
            # Pairs are (flow, sde), (flow, sgd), (sde, sgd), (flow, mine), (sde, mine), (sgd,
            # mine).
            kinds = file["comparison/verdicts/verdict"][()]
            check((kinds[:, 1] == kinds[:, 3]).all(), kinds)
            check(np.abs(file["comparison/loss_difference"][5]).max() == 0, "sgd and its copy")
        check("As models of mine" in said.out and "sgd is good enough for" in said.out, said.out)


def plain_words(text):
    return (text.decode() if isinstance(text, bytes) else text).split()


def test_common_times_are_compared_and_the_others_reported():
    with Folder() as folder:
        whole, _ = compared(folder, "whole", *SMALL, "--runs", 6, "--rungs", "flow,sgd")
        numbers = numbers_of(whole, "sgd", ["loss"])
        flow = run(folder, "flow", *SMALL)
        few = {"time": numbers["time"][[0, 2, 3]].astype(np.float32), "loss": numbers["loss"][:, [0, 2, 3]]}
        path, said = compared(folder, "few", "--from",
                              f"flow={flow},mine={plain_file(folder + '/few.nc', few)}")
        check("compared at the 3 times that all rungs have, from 0 to 1.2" in said.err, said.err)
        check("(" + folder + "/few.nc) has no excess_loss" in said.err.replace("\n", " "), said.err)
        with h5py.File(path) as file:
            check(np.allclose(file["comparison/time"][()], [0, 0.8, 1.2]), "time")
            check("slope_mean" not in file["comparison"], "an observable that the file lacks")
        # flow and sde can have any times; sgd and gd only those of steps.
        odd = {"time": np.array([0, 0.31, 0.777, 1.99]), "loss": numbers["loss"][:, :4]}
        odd = plain_file(folder + "/odd.nc", odd)
        path, _ = compared(folder, "odd", "markov", *TRAINING, "--from", f"mine={odd}", "--rungs", "flow,sde",
                           "--runs", 4)
        with h5py.File(path) as file:
            check(np.allclose(file["comparison/time"][()], [0, 0.31, 0.777, 1.99], rtol=1e-12),
                  "time")
        _, said = compared(folder, "steps", "markov", *TRAINING, "--from", f"mine={odd}", "--rungs",
                           "flow,sgd", "--runs", 4, code=3)
        check("have a single time in common" in said.err and "whole steps" in said.err, said.err)


def test_steps_are_converted_to_flow_time():
    with Folder() as folder:
        whole, _ = compared(folder, "whole", *SMALL, "--runs", 6, "--rungs", "flow,sgd")
        loss = numbers_of(whole, "sgd", ["loss"])["loss"]
        steps = folder + "/steps.nc"
        xarray.Dataset({"loss": (("step", "run"), loss.T)},
                       {"step": np.arange(0, 41, 8)}).to_netcdf(steps, engine="h5netcdf")
        path, _ = compared(folder, "a", "markov", *TRAINING, "--from", f"mine={steps}", "--rungs",
                           "flow,sgd", "--runs", 6)
        with h5py.File(path) as file:
            check(np.allclose(file["comparison/time"][()], np.linspace(0, 2, 6)), "time")
            check(same(file["mine/loss"][()], loss), "turned to (run, time)")
        _, said = compared(folder, "b", "--from", f"a={steps},b={steps}", code=3)
        check("--learning-rate" in said.err, said.err)
        compared(folder, "b", "--from", f"a={steps},b={steps}", "--learning-rate", 0.05)


def test_trajectories_alone_are_compared_without_a_system():
    with Folder() as folder:
        draws = np.random.default_rng(1).normal(size=(3, 20, 5)).cumsum(axis=2)
        a, b, c = (plain_file(f"{folder}/{name}.nc", {"time": np.arange(5), "height": values})
                   for name, values in zip("abc", (draws[0], draws[1], draws[2] + 100)))
        path, said = compared(folder, "all", "--from", f"a={a},b={b},c={c}")
        check("As models of a" in said.out and "height" in said.out, said.out)
        words = {"agree": 0, "differ": 1}
        found = table(path)["verdict"][0]
        # pairs (a,c) and (a,b)
        check(found[1] == words["differ"] and found[0] != words["differ"], found)
        popflow("info", path, code=0)
        popflow("plot", path, code=0)


def test_verdicts_of_few_runs():
    with Folder() as folder:
        flow = run(folder, "flow", *SMALL)
        sgd = run(folder, "sgd", *SMALL, "--mode", "sgd", "--runs", 3)
        numbers = numbers_of(sgd)
        one = {name: values if name == "time" else values[0] for name, values in numbers.items()}
        _, said = compared(folder, "one", "--from",
                           f"flow={flow},mine={plain_file(folder + '/one.nc', one)}")
        check("mine 1 run" in said.out and "undecided" in said.out, said.out)
        check(not re.search(r"differ by \d", said.out), said.out)
        _, said = compared(folder, "three", "--from",
                           f"flow={flow},mine={plain_file(folder + '/three.nc', numbers)}")
        check("needs ~" in said.out or "undecided" in said.out, said.out)
        # A run marked as deterministic is compared like a flow, and agrees with itself.
        same_flow = plain_file(folder + "/flow.nc", numbers_of(flow), {"deterministic": 1})
        path, said = compared(folder, "exact", "--from", f"flow={flow},mine={same_flow}")
        found = table(path)
        # There is no verdict (-1) where the flow has no range; the file has no events.
        asked = found["question"] <= 1
        check(set(found["verdict"][asked].ravel()) <= {0, -1} and 0 in found["verdict"], found["verdict"])


def test_a_different_start_is_reported():
    with Folder() as folder:
        flow = run(folder, "flow", *SMALL)
        sgd = run(folder, "sgd", *SMALL, "--mode", "sgd", "--runs", 8)
        numbers = numbers_of(sgd)
        _, said = compared(folder, "right", "--from",
                           f"flow={flow},mine={plain_file(folder + '/right.nc', numbers)}")
        check("starts elsewhere" not in said.err, said.err)
        numbers["loss"] = numbers["loss"] + 0.01
        _, said = compared(folder, "off", "--from",
                           f"flow={flow},mine={plain_file(folder + '/off.nc', numbers)}")
        said = " ".join(said.err.split())
        check("starts elsewhere than flow" in said and "loss is" in said, said)


def test_files_that_cannot_be_compared():
    time = np.array([0.0, 0.4, 0.8, 1.2])
    loss = np.random.default_rng(2).normal(1, 0.1, size=(4, 4))

    def bad(at, value):
        values = loss.copy()
        values[at] = value
        return values

    cases = {
        "it has neither a variable 'time'": dict(numbers={"loss": loss}),
        "none of the observables of markov": dict(numbers={"time": time, "los": loss}),
        "did you mean loss with los": dict(numbers={"time": time, "los": loss}),
        "its variables over time are los": dict(numbers={"time": time, "los": loss}),
        "'loss' is NaN or missing in run 2 at t = 0.4": dict(
            numbers={"time": time, "loss": bad((2, 1), np.nan)}),
        "'loss' is infinite in run 0 at t = 1.2": dict(
            numbers={"time": time, "loss": bad((0, 3), np.inf)}),
        "time 2 is 0.4, after 0.4; times must increase": dict(
            numbers={"time": np.array([0, 0.4, 0.4, 1.2]), "loss": loss}),
        "time 0 is -0.4": dict(numbers={"time": time - 0.4, "loss": loss}),
        "it has 1 time;": dict(numbers={"time": time[:1], "loss": loss[:, :1]}),
        "along seed, time; it must be along time, with 4 values, or along run, time": dict(
            numbers={"time": time}, loss=(("seed", "time"), loss)),
        "'slope' has 3 runs, but 'loss' has 4 runs": dict(
            numbers={"time": time, "loss": loss}, slope=(("time", "run3"), loss[:, :3])),
        "'time_of_loss_settled' has the shape (3)": dict(
            numbers={"time": time, "loss": loss}, time_of_loss_settled=(("other",), [1.0, 1, 1])),
        "its attribute 'deterministic' is 1, but it has 4 runs": dict(
            numbers={"time": time, "loss": loss}, attributes={"deterministic": 1}),
    }
    with Folder() as folder:
        flow = run(folder, "flow", *SMALL)
        mine = folder + "/mine.nc"
        for sentence, content in cases.items():
            if "slope" in content:  # plain HDF5 names, without named dimensions
                with h5py.File(mine, "w") as file:
                    file["time"], file["loss"], file["slope"] = time, loss, loss[:3]
            else:
                plain_file(mine, **content)
            for args in (["--from", f"flow={flow},mine={mine}"],
                         ["markov", *TRAINING, "--rungs", "flow", "--from", f"mine={mine}"]):
                _, ended = compared(folder, "never", *args, code=3)
                said = " ".join(ended.err.split())
                check(sentence in said and "mine.nc" in said, f"'{sentence}' is not in: {said}")
                check(not os.path.exists(folder + "/never.h5"), "a file is left")
            os.remove(mine)
        plain_file(mine, {"time": time, "loss": loss})
        for args, sentence, code in (
                ([f"flow={mine},sgd={mine}"], "the name of one of popflow's rungs", 2),
                ([f"mine={mine}"], "only; give at least two files, or a system", 2),
                ([f"flow={flow},a b={mine}"], "a name begins with a letter", 2),
                ([f"flow={flow},comparison={mine}"], "is none of", 2),
                ([f"mine={mine},mine={mine}"], "names mine twice", 2),
                ([f"pytorch={flow},mine={mine}"], "'pytorch'; the rungs of markov are", 2),
                ([f"flow={flow},mine={mine}", "--t-end", 3], "--t-end applies to new runs", 2)):
            _, ended = compared(folder, "never", "--from", *args, code=code)
            check(sentence in " ".join(ended.err.split()), ended.err)
        for args, sentence in ((["--saves", 4], "--saves excludes --from"),
                               (["--learning-rates", "0.1,0.05"], "--learning-rates compares")):
            _, ended = compared(folder, "never", "markov", "--from", f"mine={mine}", "--rungs",
                                "flow,sgd", *args, code=2)
            check(sentence in " ".join(ended.err.split()), ended.err)
        with open(folder + "/old.nc", "wb") as file:
            file.write(b"CDF\x01" + bytes(100))
        _, ended = compared(folder, "never", "--from", f"flow={flow},mine={folder}/old.nc", code=3)
        check("is a netCDF-3 file" in ended.err and "h5netcdf" in ended.err, ended.err)


def test_a_comparison_beside_trajectories_resumes_without_their_file():
    args = ["markov", "--learning-rate", 0.02, "--runs", 8, "--threads", 2, "--rungs", "flow,sde,sgd",
            "--batch-size", 64, "--checkpoint-every", 0]
    random.seed(5)
    with Folder() as folder:
        values = {"time": np.linspace(0, 20, 9),
                  "loss": np.random.default_rng(3).normal(0.7, 0.01, size=(8, 9))}
        mine = plain_file(folder + "/mine.nc", values)
        began = worked()
        whole, _ = compared(folder, "whole", *args, "--from", f"mine={mine}")
        effort = worked() - began
        resumed = 0
        for _ in range(4):
            path = folder + "/cut.h5"
            cut(["compare", *args, "--from", f"mine={mine}", "-o", path, "--force"], folder,
                random.uniform(0.1, 0.9) * effort)
            if not os.path.exists(path):
                continue
            os.rename(mine, mine + ".away")
            resumed += attribute(path, "status") != "complete"
            popflow("resume", path, code=0)
            os.rename(mine + ".away", mine)
            check_equal(whole, path, free_attributes=("threads", "config", "output", "force"),
                        slots=False)
        check(resumed > 0, "no comparison was interrupted")


run_all()
