#!/usr/bin/python3
# label: slow
"""popflow compare: its file, its table, its refusals, and resuming after a kill."""

import itertools
import json
import os
import random
import signal
import subprocess

from runs import (BINARY, Folder, attribute, check, check_equal, check_refused, cut, h5py, np,
                  popflow, run_all, same, systems, until_there, worked, xarray)

SMALL = ["--learning-rate", 0.1, "--batch-size", 4, "--t-end", 4, "--saves", 9, "--runs", 12]
FREE = {"free_attributes": ("threads", "config", "output", "force"), "slots": False}
RUNGS = ["flow", "sde", "sde2", "gd", "sgd", "svag:4"]


def compare(folder, system, *args, code=0, name="compare.h5"):
    path = os.path.join(folder, name)
    ended = popflow("compare", system, *args, "-o", path, "--force", code=code)
    for line in ended.out.splitlines():
        check(len(line) <= 80 or path in line, f"{len(line)} columns: {line}")
    return path, ended


def test_a_file_has_a_group_per_rung_and_a_comparison():
    with Folder() as folder:
        path, ended = compare(folder, "markov", *SMALL, "--rungs", ",".join(RUNGS))
        groups = [rung.replace(":", "_") for rung in RUNGS]
        with h5py.File(path) as file:
            check(set(groups) < set(file), list(file))
            check(set(file["sgd"]) > {"problem", "parameters", "events", "restart"},
                  "a run's groups")
        for engine in ("h5netcdf", "netcdf4"):
            sgd = xarray.open_dataset(path, group="sgd", engine=engine)
            compared = xarray.open_dataset(path, group="comparison", engine=engine)
            with sgd, compared:
                check(sgd.loss.dims == ("run", "time"), sgd.loss.dims)
                check(compared.rung.attrs["flag_meanings"] == " ".join(RUNGS), compared.rung.attrs)
                check(compared.loss_mean.dims == ("rung", "time"), compared.loss_mean.dims)
                check(np.allclose(compared.loss_mean[4], sgd.loss.mean("run"), rtol=1e-14), "mean")
                check(np.allclose(compared.loss_std[4], sgd.loss.std("run", ddof=1)), "std")
                check(np.allclose(compared.loss_mean_error[4],
                                  sgd.loss.std("run", ddof=1) / 12**0.5), "standard error")
                pair = int(np.flatnonzero((compared.first == 0) & (compared.second == 4))[0])
                flow = compared.loss_mean[0]
                check(np.allclose(compared.loss_difference[pair], compared.loss_mean[4] - flow),
                      "-")
                width = compared.loss_margin / (float(flow.max()) - float(flow.min()))
                check(np.isclose(width, 0.05), width)
        said = ended.out
        for word in ("loss", "energy", "agree", "standard deviation", "invariant", "2 dt", "by chance"):
            check(word in said, f"{word} is not in\n{said}")
        check(popflow("info", path, code=0).out == said, "info shows another table")


def verdicts(folder, name, delta, rungs="flow,sde,sgd"):
    """Returns a comparison's output, and (word, whether equal means are rejected) of each sgd-flow
    verdict. Checks the verdicts against the stored differences and bands."""
    path, ended = compare(folder, "markov", "--learning-rate", 0.2, "--batch-size", 4, "--t-end", 8,
                          "--saves", 5, "--runs", 16, "--delta", delta, "--rungs", rungs, name=name)
    with h5py.File(path) as file:
        group = file["comparison"]
        words = group.attrs["rungs"]
        words = (words.decode() if isinstance(words, bytes) else words).split()
        pairs = [(words[b], words[a]) for a, b in zip(group["first"][()], group["second"][()])]
        pair = pairs.index(("sgd", "flow"))
        lines = ended.out.splitlines()
        head = next(i for i, line in enumerate(lines) if line.startswith("  verdict "))
        column = lines[head].index("sgd-flow")
        table = group["verdicts"]
        subjects = attribute(path, "flag_meanings", "comparison/verdicts/subject").split()
        corrected = {subjects[subject]: table["p_value_corrected"][row, pair]
                     for row, subject in enumerate(table["subject"]) if table["question"][row] == 0}
        seen = set()
        rows = lines[head + 1:lines.index("", head)]
        for i, line in enumerate(rows):
            if line[2] == " " or line.split()[1] != "mean":
                continue
            name = line.split()[0]
            more = itertools.takewhile(lambda next: not next[:20].strip(), rows[i + 1:])
            said = " ".join(part[column:].split("  ")[0].strip() for part in [line, *more]).strip()
            size, band = np.abs(group[name + "_difference"][pair]), group[name + "_band"][pair]
            margin = group[name + "_margin"][()]
            certain = group[name + "_p_value"][pair] <= 0.05
            word = ("agree", "differ", "needs")[group[name + "_verdict"][pair]]
            expected = ("agree" if np.all(size + band <= margin) else
                        "differ" if corrected[name] <= 0.05 and np.any(size - band > margin) else
                        "needs")
            check(word == expected, f"{name}: {word}, not {expected}")
            check(said.startswith(word), f"{name}: {said}, not {word}")
            check(("by" in said) == certain, f"{name}: {said}")
            if "by" in said:
                percent = 100 * delta * size.max() / margin
                check(said.endswith(f" {percent:.2g}%"), f"{name}: {said}, not {percent}")
            seen.add((word, bool(certain)))
    return ended.out, seen


def test_the_table_shows_sizes_of_differences_and_what_each_rung_describes():
    with Folder() as folder:
        out, seen = verdicts(folder, "compare.h5", 0.05)
        # The two statements distinguish a significant difference that is small from one that may or
        # may not be small.
        check({("agree", True), ("differ", True)} <= seen, seen)
        check(("needs", True) in verdicts(folder, "wide.h5", 0.07, "flow,sgd")[1],
              "no verdict is open")
        told = " ".join(out.split())
        check("drifts, z = " in told and ": no drift shown" in told, "the invariant has verdicts")
        last = told[told.index("As models of sgd, within these margins: "):]
        for part in ("flow is good enough for gradient_norm; too far off in the mean: loss",
                     "it does not describe the scatter of runs", "sde is good enough for"):
            check(part in last, last)


def judged(path, subject, question, pair, name="verdict"):
    """Returns a number from the table of verdicts, or the word of a `verdict`."""
    with h5py.File(path) as file:
        group = file["comparison"]
        table = group["verdicts"]
        words = {item: attribute(path, "flag_meanings", f"comparison/verdicts/{item}").split()
                 for item in ("question", "subject", "verdict")}
        rungs = attribute(path, "rungs", "comparison").split()
        pairs = [(rungs[b], rungs[a]) for a, b in zip(group["first"][()], group["second"][()])]
        row = next(i for i in range(len(table["question"]))
                   if words["question"][table["question"][i]] == question
                   and words["subject"][table["subject"][i]] == subject)
        value = table[name][row, pairs.index(pair)]
    return words["verdict"][value] if name == "verdict" else value


def test_the_range_may_agree_while_times_and_depth_differ():
    """The flow's loss ends twenty decades below SGD's, but the difference is within 5% of the
    loss's range."""
    with Folder() as folder:
        path, ended = compare(folder, "markov", "--learning-rate", 0.1, "--batch-size", 8, "--t-end", 43,
                              "--rungs", "flow,sgd", "--runs", 16, "--saves", 41)
        pair = ("sgd", "flow")
        check(judged(path, "excess_loss", "range", pair) == "agree", ended.out)
        check(judged(path, "excess_loss", "depth", pair) == "differ", ended.out)
        check(judged(path, "excess_loss", "depth", pair, "difference") > 1e6, ended.out)
        check(5 < judged(path, "excess_loss", "depth", pair, "agrees_until") < 30, ended.out)
        with h5py.File(path) as file:
            group = file["comparison"]
            geometric = np.exp(np.log(np.maximum(file["sgd/excess_loss"], 1e-30)).mean(axis=0))
            check(np.allclose(group["excess_loss_mean_geometric"][1], geometric, rtol=1e-12),
                  "mean")
            events = file["sgd/events"]
            median = np.median(events["time"])
        told = " ".join(ended.out.split())
        check("Although the means agree within the range, excess_loss of sgd is" in told, told)
        again = json.loads(popflow("info", path, "--json", code=0).out)["verdicts"]["comparison"]
        row = next(row for row in again if (row["subject"], row["question"]) == ("loss_settled", "time"))
        with h5py.File(path) as file:
            flow = float(file["flow/events/time"][0])
        check(np.isclose(row["difference"], median - flow, rtol=1e-12), row)
        check(np.isclose(row["margin"], 0.05 * flow, rtol=1e-12), row)
        check(row["verdict"] in ("agree", "differ", None, "undecided"), row)
        check((row["reason"] is not None) == (row["verdict"] == "undecided"), row)
        # The difference certainly exceeds this margin.
        narrow, ended = compare(folder, "markov", "--learning-rate", 0.1, "--batch-size", 8, "--t-end", 43,
                                "--rungs", "flow,sgd", "--runs", 16, "--saves", 41, "--delta-time", 1e-5)
        check(judged(narrow, "loss_settled", "time", pair) == "differ", ended.out)
        check("too far off in the median time: loss_settled" in " ".join(ended.out.split()), ended.out)


def test_events_that_never_happen_count_as_later_than_the_end():
    with Folder() as folder:
        path, ended = compare(folder, "markov", "--learning-rate", 0.1, "--batch-size", 8, "--t-end", 8,
                              "--rungs", "flow,sgd", "--runs", 16, "--saves", 5)
        check("later than t = 8, 0 of 16" in " ".join(ended.out.split()), ended.out)
        check(judged(path, "loss_settled", "share", ("sgd", "flow"), "difference") == 0, "share")
        with h5py.File(path) as file:
            check((file["comparison/verdicts/verdict"][-1] == -1).all(), "a time without a margin")


def test_files_give_the_verdicts_of_their_runs_and_older_files_are_read():
    with Folder() as folder:
        path, _ = compare(folder, "markov", *SMALL, "--rungs", "flow,sgd")
        files = []
        for rung in ("flow", "sgd"):
            config = os.path.join(folder, f"{rung}.cfg")
            with open(config, "w") as file:
                file.write(attribute(path, "config", f"{rung}/parameters"))
            files.append(f"{rung}={folder}/{rung}.h5")
            popflow("run", "markov", "--config", config, "-o", os.path.join(folder, f"{rung}.h5"),
                    code=0)
        other = os.path.join(folder, "from.h5")
        popflow("compare", "--from", ",".join(files), "-o", other, code=0)
        with h5py.File(path) as a, h5py.File(other) as b:
            for name, item in a["comparison/verdicts"].items():
                check(same(item[()], b[f"comparison/verdicts/{name}"][()]), f"{name} differs")
        with h5py.File(path, "r+") as file:
            del file["comparison/verdicts"]
        said = popflow("info", path, code=0).out
        check("from a version that did not compare median times and geometric means" in " ".join(said.split()), said)
        check("sgd-flow" in said and "As models of sgd" in said, said)


def test_the_pages_of_all_systems_have_80_columns():
    short = ["--runs", 4, "--steps", 20, "--saves", 5]
    with Folder() as folder:
        for system in systems():
            if system == "joma":  # has no samples
                compare(folder, system, *short, "--rungs", "flow,sde", "--noise", "isotropic")
                continue
            out = compare(folder, system, *short, "--learning-rates", "0.01,0.02,0.04")[1].out
            check("Orders are those" in out, out)
            rungs = "flow,sde,sde2,gd,sgd,svag:2"
            compare(folder, system, *short, "--rungs", rungs, "--check-noise")


def test_a_rung_is_a_run():
    """Parameters in a rung's group reproduce its numbers."""
    with Folder() as folder:
        path, _ = compare(folder, "markov", *SMALL, "--rungs", ",".join(RUNGS))
        for rung in RUNGS:
            group = rung.replace(":", "_")
            config = os.path.join(folder, "again.cfg")
            with open(config, "w") as file:
                file.write(attribute(path, "config", f"{group}/parameters"))
            again = os.path.join(folder, "again.h5")
            popflow("run", "markov", "--config", config, "-o", again, "--force", code=0)
            with h5py.File(path) as a, h5py.File(again) as b:
                for item in ("time", "loss", "w"):
                    check(same(a[group][item][()], b[item][()]), f"{rung}: {item} differs")


def test_the_number_of_threads_changes_no_bit():
    with Folder() as folder:
        paths = [compare(folder, "markov", *SMALL, "--rungs", ",".join(RUNGS), "--check-noise",
                         "--threads", threads, name=f"{threads}.h5")[0] for threads in (1, 2, 5)]
        check_equal(paths[0], paths[1], **FREE)
        check_equal(paths[0], paths[2], **FREE)


def test_orders_over_learning_rates():
    with Folder() as folder:
        path, ended = compare(folder, "markov", "--learning-rates", "0.8,0.4,0.2", "--batch-size", 1,
                              "--t-end", 8, "--saves", 3, "--runs", 400, "--rungs", "flow,sgd")
        check("order in the learning rate" in ended.out, ended.out)
        with xarray.open_dataset(path, group="comparison") as orders:
            check(orders.loss_mean_weak_error.dims == ("rung", "learning_rate"), orders)
            check(list(orders.learning_rate.values) == [0.8, 0.4, 0.2], orders.learning_rate)
        with h5py.File(path) as file:
            check("learning_rate_2/sgd/loss" in file, list(file))
            seeds = {int(file[f"learning_rate_{i}/sgd/parameters"].attrs["seed"])
                     for i in (1, 2, 3)}
            check(len(seeds) == 3, seeds)


def test_a_warning_about_a_large_file_precedes_the_work():
    """The command is terminated at the warning, which must come before the work."""
    large = ["--vocab-size", 20, "--context-length", 2000, "--batch-size", 1]
    for args, sentence in ((["--saves", 40], "--state ends keeps"),
                           (["--saves", 400], "all states of sde, sgd would take more than 1 GiB"),
                           (["--saves", 40, "--state", "all"], None)):
        with Folder() as folder:
            path = os.path.join(folder, "large.h5")
            process = subprocess.Popen([BINARY, *map(str, ["compare", "scb", *large, *args, "-o", path,
                                                           "--t-end", 1e4])],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            until_there(path, process)
            check(os.path.getsize(path) > 1e8, "its size")
            process.send_signal(signal.SIGINT)
            said = process.communicate()[1]
            check(sentence in said if sentence else "--state" not in said, said)


def test_exactly_conserved_observables_have_no_order():
    with Folder() as folder:
        path, ended = compare(folder, "scb", "--vocab-size", 4, "--context-length", 20, "--sparsity", 3,
                              "--t-end", 10, "--saves", 3, "--learning-rates", "0.1,0.05,0.02",
                              "--batch-size", 4, "--runs", 8, "--rungs", "flow,gd,sgd")
        kept = ("attention_sum_error", "column_sum_error")
        rows = [line for line in ended.out.splitlines() if "conserved to rounding" in line]
        check([row.split()[0] for row in rows] == [kept[0], "variance", kept[1], "variance"],
              ended.out)
        check(all(row.count("conserved to rounding") == 2 for row in rows), ended.out)
        with h5py.File(path) as file:
            orders = file["comparison"]
            words = orders[f"{kept[0]}_mean_fit"].attrs["flag_meanings"].split()
            for name in kept:
                for what in ("mean", "variance"):
                    fits = orders[f"{name}_{what}_fit"][()]
                    check([words[fit] for fit in fits[:2]] == ["rounding"] * 2, f"{name}: {fits}")
                    check(np.isnan(orders[f"{name}_{what}_order"][()]).all(), name)
            # Single samples do not conserve this observable, so there is an error to fit.
            fits = orders["stationary_error_variance_fit"][()]
            check(all(words[fit] != "rounding" for fit in fits[:2]), f"stationary_error: {fits}")


def test_killed_comparisons_resume():
    args = ["--learning-rate", 0.02, "--t-end", 20, "--saves", 9, "--runs", 8, "--threads", 2,
            "--rungs", "flow,sde,sgd", "--batch-size", 64, "--checkpoint-every", 0]
    with Folder() as folder:
        began = worked()
        whole, _ = compare(folder, "markov", *args, name="whole.h5")
        effort = worked() - began
        for _ in range(6):
            path = os.path.join(folder, "cut.h5")
            cut(["compare", "markov", *args, "-o", path, "--force"], folder,
                random.uniform(0.02, 0.95) * effort, random.choice([signal.SIGKILL, signal.SIGINT]))
            if not os.path.exists(path):
                continue
            popflow("resume", path, code=0)
            check_equal(whole, path, **FREE)
        said = popflow("resume", path, code=0)
        check("is finished" in said.err, said.err)
        popflow("resume", path, "--t-end", 100, code=2)


def test_divergence_is_reported():
    with Folder() as folder:
        path, ended = compare(folder, "scb", "--vocab-size", 3, "--context-length", 50,
                              "--learning-rate", 20, "--t-end", 2000, "--saves", 5, "--runs", 3,
                              "--rungs", "flow,sgd", code=4)
        check("sgd: 3 of 3 runs diverged" in ended.err, ended.err)
        check("3 of 3 runs diverged" in ended.out, ended.out)
        with h5py.File(path) as file:
            check((file["sgd/status"][()] == 3).all(), file["sgd/status"][()])
            check(file["comparison/diverged"][1] == 3, file["comparison/diverged"][()])
            # Diverged runs are left out of all means, also at times before they diverged.
            check(np.isnan(file["comparison/loss_mean"][1]).all(), "means of runs that diverged")
            check(np.isfinite(file["comparison/loss_mean"][0]).all(), "means of the flow")
        check("it has no means" in ended.out, ended.out)


def test_the_start_is_saved_wherever_saves_begin():
    """The start is needed for the flow's ranges and for drifts."""
    args = ["markov", "--rungs", "flow,sgd", "--learning-rate", 0.5, "--batch-size", 16, "--t-end", 30,
            "--runs", 8]
    with Folder() as folder:
        for saves in (["--save-at", 20], ["--saves", 1]):
            path, ended = compare(folder, *args, *saves)
            asked = [20] if "--save-at" in saves else []
            with h5py.File(path) as file:
                check(list(file["comparison/time"]) == [0, *asked, 30], list(file["comparison/time"]))
            check("drifts, z =" in ended.out and "agree" in ended.out, ended.out)
            check(popflow("resume", path, code=0).err.count("finished"),
                  "resume does not say that it is finished")


def test_states_are_reduced_if_all_rungs_together_have_too_many():
    with Folder() as folder:
        args = ["compare", "scb", "--rungs", "flow,sgd", "--vocab-size", 50, "--context-length", 1000,
                "--dry-run"]
        few = popflow(*args, "--runs", 8, "--saves", 101, folder=folder, code=0).out
        check("MB" in few.splitlines()[-1], few)
        # The limits are a third of 1 GiB per rung, and three times that for the file.
        many = popflow(*args, "--runs", 8, "--saves", 101, "--learning-rates", "0.1,0.05,0.025,0.0125",
                       folder=folder, code=0).out
        check("GB" not in many.splitlines()[-1], many)


def test_a_flow_that_diverges_counts_as_diverged():
    args = ["joma", "--rungs", "flow,sde", "--noise", "isotropic", "--runs", 8, "--saves", 5]
    with Folder() as folder:
        # The flow blows up a little before the end. With large noise all runs do too, and with
        # small noise none does.
        for scale, end, shares, verdict in ((0.1, 5, [1, 8], "undecided"), (1e-6, 0.31, [1, 0], "differ")):
            path, ended = compare(folder, *args, "--noise-scale", scale, "--t-end", end, code=4)
            check("flow (1 diverged)" in ended.out, ended.out)
            with h5py.File(path) as file:
                check(list(file["comparison/diverged"]) == shares, file["comparison/diverged"][()])
                verdicts = [file[f"comparison/{name}_verdict"]
                            for name in attribute(path, "observables", "flow").split()
                            if f"comparison/{name}_verdict" in file]
                found = {v.attrs["flag_meanings"].split()[v[0]] for v in verdicts if v[0] >= 0}
                check(found == {verdict}, f"{scale}: {found}")


def test_seeds_of_all_rungs_are_valid_and_distinct():
    with Folder() as folder:
        path, _ = compare(folder, "markov", "--rungs", "flow,sde2,sgd", "--learning-rates", "0.1,0.05",
                          "--runs", 4, "--t-end", 1)
        seeds = set()
        for rung in attribute(path, "run_groups").split():
            with h5py.File(path) as file:
                seed = int(file[rung + "/parameters"].attrs["seed"])
                check(0 <= seed <= 2**53, f"{rung}: {seed}")
                seeds.add(seed)
        check(len(seeds) == 4, seeds)  # flow and sgd share a seed at each rate


def test_a_rung_whose_runs_all_diverge_differs_from_the_flow():
    with Folder() as folder:
        path, ended = compare(folder, "scb", "--rungs", "flow,sgd", "--learning-rate", 5, "--t-end", 50,
                              "--runs", 12, "--saves", 11, "--state", "none", code=4)
        check("12 of 12 runs diverged" in ended.out and "too few runs" not in ended.out, ended.out)
        with h5py.File(path) as file:
            words = file["comparison/loss_verdict"].attrs["flag_meanings"].split()
            check(words[file["comparison/loss_verdict"][0]] == "differ",
                  "the flow does not diverge")


def test_runs_that_stop_at_the_start_are_undecided():
    with Folder() as folder:
        path, ended = compare(folder, "linear-attention", "--rungs", "flow,sgd", "--runs", 8,
                              "--learning-rate", 0.5, "--batch-size", 2, "--t-end", 20, "--saves", 6,
                              "--max-steps", 3, code=6)
        with h5py.File(path) as file:
            verdicts = {name: int(item[0]) for name, item in file["comparison"].items()
                        if name.endswith("_verdict")}
            check(verdicts.pop("balance_verdict") == -1, "an invariant has a verdict")
            check(np.isnan(file["comparison/balance_margin"][()]), "... or a margin")
            check(verdicts and set(verdicts.values()) == {2}, verdicts)
        warned = ended.err.splitlines()[-1]
        message = attribute(path, "status_message")
        for said in (warned, message):
            check("flow: " in said and "sgd: " in said and "max-steps" in said, said)
        check("up to their ends" in message, message)
        told = " ".join(ended.out.split())
        check("too few runs" not in told and "flow is undecided: loss" in told and "8 stopped before" in told, told)
        again = popflow("resume", path, code=0).err
        check("flow: " in again and "sgd: " in again, again)


def test_a_rung_without_means_was_not_compared():
    with Folder() as folder:
        told = compare(folder, "scb", "--context-length", 50, "--rungs", "gd,sgd", "--learning-rate", 3,
                       "--batch-size", 2, "--runs", 8, "--t-end", 120, "--saves", 3, code=4)[1].out
        check("margins: gd was not compared." in " ".join(told.split()), told)


def test_observables_at_rest_on_all_rungs_agree():
    with Folder() as folder:
        ended = compare(folder, "markov", "--e0", 0, "--runs", 3, "--saves", 5, "--t-end", 1)[1]
        check("too far off" not in ended.out and "flow is good enough for loss, excess_loss" in " ".join(ended.out.split()),
              ended.out)


def test_one_run_is_not_enough_for_a_verdict():
    with Folder() as folder:
        _, ended = compare(folder, "markov", *SMALL[:-2], "--runs", 1, "--rungs", "flow,sgd")
        lines = ended.out.splitlines()
        head = next(i for i, line in enumerate(lines) if line.startswith("  verdict "))
        table = lines[head + 1:lines.index("", head)]
        check(table and all("too few runs" in line or "needs" in line for line in table), ended.out)
        check("nan" not in ended.out, ended.out)


def test_few_runs_give_no_test_of_the_distribution():
    """With three runs on each side, the rarest permutation has probability one in ten."""
    with Folder() as folder:
        for runs, said in ((3, "its runs are too few for a test of their distribution"),
                           (8, "the distribution of its runs differs from that of sgd")):
            ended = popflow("compare", "markov", "--rungs", "sde,sgd", "--noise", "isotropic",
                            "--noise-scale", 20, "--learning-rate", 0.1, "--batch-size", 2,
                            "--t-end", 20, "--runs", runs, "-o", f"{runs}.h5", folder=folder, code=0)
            told = " ".join(ended.out.split())
            check(said in told, told)
            check(("corrected for the up to" in told) == (runs == 8), told)


def test_options_without_effect_on_any_rung_are_named():
    cases = {"--error-norm": ["--rungs", "sde,sgd", "--error-norm", "rms"],
             "--noise": ["--rungs", "flow,sgd", "--noise", "isotropic"],
             "--learning-rate": ["--learning-rates", "0.1,0.05", "--learning-rate", 0.2],
             "": ["--rungs", "flow,sgd", "--rtol", 1e-9, "--context-length", 40]}
    with Folder() as folder:
        for name, words in cases.items():
            ended = popflow("compare", "markov", *words, "--runs", 2, "--steps", 10, "--force",
                            "-o", "rungs.h5", folder=folder, code=0)
            idle = [line for line in ended.err.splitlines() if line.startswith("without effect")]
            check(len(idle) == (name != "") and all(line.endswith(f": {name}") for line in idle),
                  f"{words}: {idle}")


def test_only_the_flow_has_reduced_coordinates():
    with Folder() as folder:
        path, _ = compare(folder, "scb", "--vocab-size", 3, "--context-length", 40, *SMALL,
                          "--coordinates", "support", "--rungs", "flow,sgd")
        check(attribute(path, "coordinates", "flow/parameters") == "support", "flow")
        check(attribute(path, "coordinates", "sgd/parameters") == "full", "sgd")


def test_invalid_combinations_are_refused():
    said = {
        ("markov", "--rungs", "flow"): "at least two",
        ("markov", "--rungs", "flow,sdg"): "did you mean",
        ("markov", "--rungs", "flow,sgd,sgd"): "twice",
        ("markov", "--rungs", "flow,svag:0"): "svag:L",
        ("markov", "--rungs", "flow,integrated"): "the rungs of markov are flow",
        ("markov", "--rungs", "flow,sgd", "--check-noise"): "noise model",
        ("markov", "--learning-rates", "0.1"): "give at least 2",
        ("markov", "--learning-rates", "0.1,0.1"): "twice",
        ("markov", "--learning-rates", "0.1,0.2", "--rungs", "flow,sde"): "against sgd",
        ("markov", "--level", 0.9995): "from 0.5 to 0.999",
        ("markov", "--delta", 0): "--delta",
        ("markov", "--mode", "sgd"): "mode",
        ("joma",): "popflow compare joma-joint",
    }
    check_refused("compare", said)


def test_a_system_without_samples_is_refused_with_alternatives():
    with Folder() as folder:
        for words in ([], ["--noise", "isotropic"], ["--rungs", "flow,sde"], ["--rungs", "flow,svag:2"]):
            said = popflow("compare", "joma", *words, folder=folder, code=2).err
            check("'--rungs flow,sde --noise isotropic' needs none" in " ".join(said.split()), said)
        popflow("compare", "joma", "--rungs", "flow,sde", "--noise", "isotropic", "--runs", 2,
                "--t-end", 0.2, folder=folder, code=0)


def test_a_comparison_is_a_problem_file():
    with Folder() as folder:
        path, _ = compare(folder, "scb", "--vocab-size", 3, "--context-length", 40, *SMALL,
                          "--rungs", "flow,sgd")
        again = os.path.join(folder, "again.h5")
        popflow("run", "scb", "--problem", path, "-o", again, code=0)
        with h5py.File(path) as a, h5py.File(again) as b:
            check(same(a["flow/problem/P"][()], b["problem/P"][()]), "P differs")


def test_the_noise_of_split_systems_is_checked():
    with Folder() as folder:
        path, ended = compare(folder, "scb", "--vocab-size", 3, "--context-length", 10, *SMALL,
                              "--schedule", "two-stage", "--rungs", "flow,sde", "--check-noise")
        check("noise of sde" in ended.out, ended.out)
        check(attribute(path, "status") == "complete", "not finished")


def test_observables_without_values_have_no_verdict():
    with Folder() as folder:
        path, ended = compare(folder, "topic", "--topics", 3, "--words-per-topic", 2, "--t-end", 4,
                              "--topics-per-document", 2, "--learning-rate", 1, "--runs", 4, "--saves",
                              3, "--document-length", 50, "--rungs", "flow,sgd")
        with h5py.File(path) as file:
            group = file["comparison"]
            check(np.isnan(group["excess_loss_mean"][()]).all(),
                  "an observable without values has some")
            check(list(group["excess_loss_verdict"]) == [-1],
                  "an observable without values has a verdict")
        check("excess_loss" not in ended.out, ended.out)


def test_a_start_that_has_changed_is_refused():
    with Folder() as folder:
        def start(t_end):
            popflow("run", "scb", "--vocab-size", 3, "--context-length", 10, "--t-end", t_end, "-o",
                    "start.h5", "--force", folder=folder, code=0)

        start(4)
        path = os.path.join(folder, "compare.h5")
        words = ["compare", "scb", "--vocab-size", 3, "--context-length", 10, *SMALL[:-1], 2000,
                 "--init-from", "start.h5", "-o", path]
        process = subprocess.Popen([BINARY, *map(str, words)], cwd=folder, stderr=subprocess.DEVNULL)
        until_there(path, process)
        process.send_signal(signal.SIGINT)
        check(process.wait() == 130, "the comparison ended before the signal")
        start(5)
        said = popflow("resume", path, folder=folder, code=3).err
        check("from another start than the one that --init-from" in " ".join(said.split()), said)
        start(4)
        popflow("resume", path, "--quiet", folder=folder, code=0)


if __name__ == "__main__":
    run_all()
