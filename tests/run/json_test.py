#!/usr/bin/python3
# label: fast
"""JSON output for other programs."""

import json
import os

from runs import Folder, check, h5py, popflow, run_all


def test_systems():
    names = [system["name"] for system in json.loads(popflow("systems", "--json", code=0).out)]
    check(names[:5] == ["scb", "joma", "joma-joint", "markov", "topic"], f"systems: {names}")
    for name in names:
        page = popflow("systems", name, code=0).out
        told = json.loads(popflow("systems", name, "--json").out)
        check(told["name"] == name, f"{name} is called {told['name']}")
        for kind in ("observables", "events", "invariants", "outcomes", "constants"):
            for row in told[kind]:
                word = row.get("name", row.get("observable"))
                check(word in page, f"{name}: the page lacks {word}")
                check(row["meaning"], f"{name}: {word} has no meaning")
        for option in told["options"]:
            check(f"--{option['name']}" in page, f"{name}: the page lacks --{option['name']}")
            if option["type"] == "word":
                check(len(option["words"]) > 0, f"{name}: {option['name']} has no words")


def test_options_of_commands():
    commands = json.loads(popflow("systems", "markov", "--json").out)["commands"]
    check(set(commands) == {"run", "compare", "sweep", "verify"}, f"commands: {sorted(commands)}")
    run = {option["name"]: option for option in commands["run"]["options"]}
    check(run["rtol"]["type"] == "number" and float(run["rtol"]["default"]) > 0, f"{run['rtol']}")
    check(run["runs"]["type"] == "whole", f"{run['runs']}")
    check("sgd" in run["mode"]["words"], f"{run['mode']}")
    check(run["force"]["type"] == "flag", f"{run['force']}")
    sweep = {option["name"]: option for option in commands["sweep"]["options"]}
    check(sweep["over"].get("repeats") is True, f"{sweep['over']}")


def test_info():
    with Folder() as folder:
        path = os.path.join(folder, "run.h5")
        popflow("run", "markov", "--t-end", "40", "--save-at", "0,1.5,2,3,40", "-o", path)
        told = json.loads(popflow("info", path, "--json").out)
        check(told["path"] == path and told["attributes"]["system"] == "markov", "wrong root")
        check(told["variables"]["loss"]["shape"] == [5], f"{told['variables']['loss']}")
        check(told["variables"]["loss"]["dimensions"] == ["time"], "loss has no time")
        check(told["groups"]["parameters"]["attributes"]["t-end"] == 40, "wrong end")
        check(told["groups"]["parameters"]["attributes"]["save-at"] == [0, 1.5, 2, 3, 40], "no list")
        check(all(set(event) == {"name", "time", "run"} for event in told["events"]),
              f"{told['events']}")
        # --json excludes the other formats.
        popflow("info", path, "--json", "--csv", code=2)


def test_dry_run():
    with Folder() as folder:
        path = os.path.join(folder, "run.h5")
        told = json.loads(popflow("run", "markov", "--t-end", "2", "--dry-run", "--json", "-o",
                                  path).out)
        check(told["system"] == "markov" and told["options"]["t-end"] == "2", f"{told}")
        check(told["file"] == path and told["file_bytes"] > 1000, f"{told}")
        check(not os.path.exists(path), "a dry run wrote a file")
        sentence = popflow("run", "markov", "--json", "-o", path, code=2).err
        check("--dry-run" in sentence, sentence)


def test_progress():
    with Folder() as folder:
        said = popflow("run", "markov", "--mode", "sgd", "--steps", "5000", "--saves", "201",
                       "--rtol", "1e-3", "--progress", "json", "-o",
                       os.path.join(folder, "run.h5")).err
        objects = [json.loads(line) for line in said.splitlines()]
        notes = [line["note"] for line in objects if "note" in line]
        check(any("--rtol" in note for note in notes), f"no note of --rtol: {said}")
        lines = [line for line in objects if "done" in line]
        check(len(lines) >= 1, f"no progress: {said}")
        done = [line["done"] for line in lines]
        check(done == sorted(done) and 0 <= done[0] and done[-1] <= 1, f"{done}")
        check(all("text" in line and "seconds_left" in line for line in lines), f"{lines[0]}")


def test_progress_shows_times_with_few_digits():
    with Folder() as folder:
        said = popflow("run", "markov", "--mode", "sgd", "--learning-rate", "0.0123456789",
                       "--steps", "200", "--progress", "json", "-o",
                       os.path.join(folder, "run.h5")).err
        # The first line is written after 16 steps, at t = 0.1975308624.
        first = next(line for line in map(json.loads, said.splitlines()) if "done" in line)
        check(first["text"] == "t = 0.197531", first["text"])


def test_verify():
    done = popflow("verify", "deep-linear", "--json", "--quiet", code=0)
    told = json.loads(done.out)
    check(told["system"] == "deep-linear" and told["holds"] is True, f"{told}")
    names = [row["name"] for row in told["checks"]]
    check({"gradient", "mean of samples", "order of rk4"} <= set(names), f"{names}")
    # --dt is chosen automatically
    popflow("verify", "deep-linear", "--method", "euler", "--quiet", code=0)
    table = popflow("verify", "deep-linear").out
    for row in told["checks"]:
        check(any(line.startswith(f"  {row['name']}") for line in table.splitlines()),
              f"the table lacks {row['name']}:\n{table}")
        check(row["verdict"] == "ok" and row["note"], f"{row}")
        beyond = row["measured"] < row["allowed"] if row["at_least"] else \
            row["measured"] > row["allowed"]
        check(not beyond, f"{row}")
    check([row["at_least"] for row in told["checks"] if row["name"] == "order of rk4"] == [True],
          "an order is bounded from below")


def test_info_refuses_a_cycle_of_groups():
    with Folder() as folder:
        path = os.path.join(folder, "run.h5")
        popflow("run", "markov", "--t-end", 1, "-o", path, code=0)
        with h5py.File(path, "r+") as file:
            file["parameters/again"] = file["/"]
        done = popflow("info", path, "--json")
        check(done.code == 3 and "groups nested more than" in done.err, f"{done.code}: {done.err}")


if __name__ == "__main__":
    run_all()
