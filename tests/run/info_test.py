#!/usr/bin/python3
# label: fast
"""`popflow info` on incomplete, long and short files, and its --csv."""

import csv
import io
import math
import os
import re
import shutil

from runs import Folder, check, h5py, np, popflow, run_all


def run(folder, *words, name="run.h5", code=0):
    path = os.path.join(folder, name)
    popflow("run", *words, "-o", path, "--force", code=code)
    return path


def info(path):
    return popflow("info", path, code=0).out


def table(path):
    return list(csv.DictReader(io.StringIO(popflow("info", path, "--csv", code=0).out)))


def test_info_counts_runs_with_different_numbers_of_saves():
    with Folder() as folder:
        path = run(folder, "markov", "--mode", "sgd", "--runs", 5, "--t-end", 2, "--saves", 9)
        check("t = 2 of 2, 9 of 9 saves" in info(path), info(path))
        with h5py.File(path, "a") as file:
            file["saves_done"][...] = [9, 9, 0, 4, 0]
        check("2 of 5 runs have all 9 saves to t = 2, 1 have some, 2 none yet" in
              " ".join(info(path).split()), info(path))
        check("nothing recorded" not in info(path), info(path))
        with h5py.File(path, "a") as file:
            file["saves_done"][...] = [0, 0, 0, 4, 0]
        check("0 of 5 runs have all 9 saves to t = 2, 1 have some, 4 none yet" in
              " ".join(info(path).split()), info(path))
        with h5py.File(path, "a") as file:
            file["saves_done"][...] = 0
        check("nothing recorded" in info(path), info(path))


def test_several_files_have_a_line_each():
    with Folder() as folder:
        for number in 1, 2, 4:
            popflow("sweep", "markov", "--over", "w0=-1:1:10", "--t-end", 1, "--shard",
                    f"{number}/4", "-o", f"map-{number}.h5", folder=folder, code=0)
        with h5py.File(os.path.join(folder, "map-2.h5"), "a") as file:
            file["status"][0] = 0
            file.attrs.modify("status", b"running")
        os.utime(os.path.join(folder, "map-2.h5"), (0, 0))
        run(folder, "markov", "--t-end", 2, "--saves", 9)
        with open(os.path.join(folder, "other.h5"), "w") as file:
            file.write("no HDF5")
        names = ["map-1.h5", "map-2.h5", "map-4.h5", "run.h5"]
        said = [" ".join(line.split()) for line in
                popflow("info", *names, folder=folder, code=0).out.splitlines()]
        sizes = [h5py.File(os.path.join(folder, name))["status"].size for name in names[:3]]
        check(f"map-1.h5 complete {sizes[0]} of {sizes[0]} cells" in said, said)
        line = next(line for line in said if line.startswith("map-2.h5"))
        check(line.startswith(f"map-2.h5 running {sizes[1] - 1} of {sizes[1]} cells")
              and line.endswith("ago"), line)
        check("run.h5 complete 9 of 9 saves" in said, said)
        check(f"in all {sum(sizes) - 1} of {sum(sizes)} cells: {sum(sizes) - 1} complete, 1 missing"
              in said, said)
        check("no file among these: shard 3 of 4" in said, said)
        failed = popflow("info", "map-1.h5", "other.h5", folder=folder, code=3)
        check("other.h5 -" in " ".join(failed.out.split()) and "other.h5" in failed.err, failed)
        check("--json applies to a single file" in
              popflow("info", *names, "--json", folder=folder, code=2).err, "--json")


def test_impossible_shards_are_refused_and_missing_shards_counted():
    with Folder() as folder:
        popflow("sweep", "markov", "--over", "w0=-1:1:4", "--t-end", 1, "--shard", "2/4", "-o",
                "good.h5", folder=folder, code=0)
        run(folder, "markov", "--t-end", 2, "--saves", 9)
        bad = os.path.join(folder, "bad.h5")
        for name, value, allowed in (
                ("shards", 1e300, "1 to 9007199254740992"), ("shards", -3, "1 to"),
                ("shards", math.nan, "1 to"), ("shards", 4.5, "1 to"), ("shard", 5, "1 to 4"),
                ("shard", 0, "1 to 4"), ("shard", -1e300, "1 to 4"), ("shard", math.inf, "1 to 4")):
            shutil.copy(os.path.join(folder, "good.h5"), bad)
            with h5py.File(bad, "a") as file:
                del file["sweep"].attrs[name]
                file["sweep"].attrs[name] = float(value)
            said = popflow("info", "bad.h5", "run.h5", folder=folder, code=3)
            check(f"the attribute {name} of sweep is" in said.err and allowed in said.err, said)
            lines = [line.split()[:2] for line in said.out.splitlines()]
            check(lines.count(["bad.h5", "-"]) == 1 and "9 of 9 saves" in said.out, said)
            check(sum(line[:1] == ["bad.h5"] for line in lines) == 1,
                  "a file has several lines, or none")
        shutil.copy(os.path.join(folder, "good.h5"), bad)
        with h5py.File(bad, "a") as file:
            file["sweep"].attrs["shards"] = 2**53
        said = popflow("info", "bad.h5", "run.h5", folder=folder, code=0).out
        check("no file among these: shards 1, 3, 4, " in said and
              f", 21 and {2**53 - 21} others of {2**53}" in said, said)


def test_saves_of_damaged_files_are_within_their_number():
    with Folder() as folder:
        path = run(folder, "markov", "--mode", "sgd", "--runs", 3, "--t-end", 2, "--saves", 9)
        run(folder, "markov", "--t-end", 2, "--saves", 9, name="flow.h5")
        with h5py.File(path, "a") as file:
            file["saves_done"][...] = [2**62, 2**62, -5]
        said = popflow("info", os.path.basename(path), "flow.h5", folder=folder, code=0).out
        check("18 of 27 saves" in said and "in all 27 of 36 saves" in said, said)


def test_an_extension_does_not_list_its_times():
    with Folder() as folder:
        path = run(folder, "markov", "--t-end", 3, "--saves", 31)
        popflow("resume", path, "--t-end", 4.05, code=0)
        said = " ".join(info(path).split())
        found = re.search(r"save-at ([^ ]*) \((\d+) values\)", said)
        check(found and found[1].startswith("0,0.1,0.2,...,") and found[1].endswith("4.05"), said)
        with h5py.File(path) as file:
            check(int(found[2]) == len(file["time"]), "wrong number of saves")
        few = run(folder, "markov", "--save-at", "1,2", "--t-end", 3)
        check("save-at 1,2" in info(few) and "values)" not in info(few), "a short list is shown")


def test_a_single_save_has_no_first_value():
    with Folder() as folder:
        for ensemble in ([], ["--mode", "sgd", "--runs", 3]):
            path = run(folder, "markov", "--t-end", 2, "--saves", 1, *ensemble)
            check("first" not in info(path) and "last" in info(path), info(path))
            # The drift of a conserved quantity needs a start too.
            check("invariant's drift" not in info(path), info(path))
            check("first" in info(run(folder, "markov", "--t-end", 2, "--saves", 2, *ensemble)),
                  "two")


def test_a_first_record_that_is_not_the_start_is_not_called_first():
    with Folder() as folder:
        one = info(run(folder, "markov", "--t-end", 3, "--save-at", 2))
        check("at t = 2 " in one and "first" not in one, one)
        path = run(folder, "markov", "--t-end", 3, "--save-at", 2, "--mode", "sgd", "--runs", 3)
        said = info(path)
        with h5py.File(path) as file:
            mean = float(np.mean(file["loss"][:, 0]))
        check("at t = 2: mean" in said and f"{mean:.6g}" in said, said)


def test_a_message_names_the_start_that_an_ensemble_provides():
    with Folder() as folder:
        ensemble = ["run", "markov", "--mode", "sgd", "--runs", 3, "--t-end", 2]
        popflow(*ensemble, "-o", "a.h5", folder=folder, code=0)
        said = popflow(*ensemble, "--init-from", "a.h5", "-o", "b.h5", folder=folder, code=0).err
        check("a.h5 has 3 runs; each run continues the run of its number" in said, said)
        said = popflow("run", "markov", "--init-from", "a.h5", "-o", "f.h5", folder=folder,
                       code=0).err
        check("a.h5 has 3 runs; the start is the end of its first run" in said, said)


def test_a_default_end_beyond_all_numbers_is_refused():
    with Folder() as folder:
        words = ["run", "linear-attention", "--eigenvalues", 1e-300, "-o", "a.h5"]
        said = popflow(*words, folder=folder, code=2).err
        check("--t-end" in said and not os.path.exists(os.path.join(folder, "a.h5")), said)
        popflow(*words, "--t-end", 1, folder=folder, code=0)


def test_csv_contains_outcome_and_parameters():
    with Folder() as folder:
        rows = table(run(folder, "markov", "--p", 0.3, "--t-end", 200, "--saves", 3))
        check(len(rows) == 3 and {row["outcome"] for row in rows} == {"global"}, rows)
        check({(row["p"], row["t-end"], row["status"]) for row in rows}
              == {("0.3", "200", "complete")}, rows[0])
        check("threads" not in rows[0] and "q" not in rows[0],
              "options at their defaults are listed")
        path = run(folder, "markov", "--mode", "sgd", "--runs", 4, "--t-end", 2, "--saves", 3,
                   "--bias", "free")
        rows = table(path)
        check([row["run"] for row in rows] == [str(run) for run in range(4) for _ in range(3)],
              "runs")
        check({(row["bias"], row["runs"], row["status"]) for row in rows}
              == {("free", "4", "complete")}, rows[0])


def test_csv_of_a_comparison():
    with Folder() as folder:
        path = os.path.join(folder, "compare.h5")
        popflow("compare", "markov", "--t-end", 2, "--saves", 3, "--runs", 4, "--learning-rates",
                "0.1,0.05", "-o", path, code=0)
        rows = table(path)
        check(len(rows) == 2 * (1 + 4 + 4) * 3, len(rows))
        for place, eta in ((1, "0.1"), (2, "0.05")):
            with h5py.File(path) as file:
                for rung in ("flow", "sgd"):
                    loss = file[f"learning_rate_{place}/{rung}/loss"][()].ravel()
                    found = [float(row["loss"]) for row in rows
                             if row["rung"] == rung and row["learning-rate"] == eta]
                    check(np.array_equal(loss, found), f"{rung} at {eta} to the last bit")
        check({row["run"] for row in rows if row["rung"] == "flow"} == {""}, "a flow has no number")
        check({row["run"] for row in rows if row["rung"] == "sde"} == set("0123"), "runs")


def test_info_shows_where_runs_stopped_early():
    with Folder() as folder:
        path = os.path.join(folder, "run.h5")
        popflow("run", "markov", "--mode", "sgd", "--learning-rate", 0.1, "--t-end", 20, "--saves", 11,
                "--runs", 3, "--max-steps", 30, "-o", path, code=6)
        said = popflow("info", path, code=0).out
        check("t = 3 of 20, 3 of 11 saves" in said, said)
        times = [float(row["time"]) for row in table(path) if row["run"] == "1"]
        check(times == [0, 2, 3], times)


def test_values_are_shown_beside_their_names():
    with Folder() as folder:
        path = os.path.join(folder, "run.h5")
        popflow("run", "markov", "--p", 0.5769843214110731, "--q", 0.8280737043, "--e0", 0.8123456789,
                "--w0", -0.512345678, "--t-end", 1.555, "--saves", 3, "-o", path, code=0)
        lines = popflow("info", path, code=0).out.splitlines()
        first = next(n for n, line in enumerate(lines) if line.startswith("  parameters"))
        for line in lines[first:first + 2]:
            check(all(len(part.split()) % 2 == 0 for part in line[14:].rstrip(",").split(",")), line)


if __name__ == "__main__":
    run_all()
