#!/usr/bin/python3
# label: slow
"""Long runs and unexpected input: data must be kept, and messages must be right."""

import json
import os
import signal
import stat
import subprocess
import time

from runs import (BINARY, Folder, attribute, check, check_equal, h5py, hear_hangups, np, popflow,
                  run_all, shorter, until_recorded, until_there)

ENSEMBLE = ["run", "markov", "--mode", "sgd", "--runs", 2, "--steps", 1000, "--saves", 11,
            "--batch-size", 16]
FREE = {"free_attributes": ("save-at", "config", "saves", "steps", "not_default", "output", "t-end"),
        "slots": False}


def path(folder, name):
    return os.path.join(folder, name)


def refused(*words, code):
    """Returns the program's message about words that it refuses."""
    return popflow(*words, code=code).err


def cut_extension(folder, words, end, how):
    """Extends a run and interrupts the extension; returns the file."""
    file = path(folder, "cut.h5")
    popflow(*words, "-o", file, code=0)
    with h5py.File(file) as run:
        before = np.sum(run["saves_done"][()])
    process = subprocess.Popen([BINARY, "resume", file, "--t-end", str(end)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until_recorded(file, process, before + 1)
    process.send_signal(how)
    process.wait()
    return file


def test_an_interrupted_extension_is_finished_by_resuming():
    for name, words, end in (
            ("sgd", ENSEMBLE, shorter(1000)),
            ("sde", ["run", "markov", "--mode", "sde", "--runs", 3, "--t-end", 10, "--saves", 11,
                     "--batch-size", 16], shorter(2000))):
        for how in (signal.SIGINT, signal.SIGKILL):
            with Folder() as folder:
                file = cut_extension(folder, words, end, how)
                check(attribute(file, "status") in ("running", "interrupted"),
                      f"{name}: not interrupted but {attribute(file, 'status')}")
                popflow("resume", file, code=0)
                with h5py.File(file) as cut:
                    check(np.all(cut["saves_done"][()] == cut["time"].size), f"{name}: saves lack")
                    check(np.all(np.isfinite(cut["loss"][()])), f"{name}: data are missing")
                whole = path(folder, "whole.h5")
                popflow(*words, "-o", whole, code=0)
                popflow("resume", whole, "--t-end", end, code=0)
                check_equal(file, whole, **FREE)


def test_a_start_that_diverged_is_refused():
    with Folder() as folder:
        flow, sgd = path(folder, "flow.h5"), path(folder, "sgd.h5")
        popflow("run", "joma", "--tokens", 3, "-o", flow, "--t-end", 100, code=4)
        said = refused("run", "joma", "--tokens", 3, "--init-from", flow, code=3)
        check("diverged" in said, f"the reason is not told: {said}")
        popflow("run", "scb", "--mode", "sgd", "--vocab-size", 4, "--context-length", 50,
                "--learning-rate", 5, "--steps", 500, "-o", sgd, code=4)
        refused("run", "scb", "--vocab-size", 4, "--context-length", 50, "--init-from", sgd,
                      code=3)


def test_the_step_limit_holds_in_every_mode():
    with Folder() as folder:
        for mode in ("sgd", "sde"):
            file = path(folder, f"{mode}.h5")
            said = popflow("run", "markov", "--mode", mode, "--t-end", 10, "--max-steps", 37, "-o",
                           file, code=6)
            check("--max-steps" in said.err, f"{mode}: {said.err}")
            with h5py.File(file) as run:
                check(run["statistics/accepted_steps"][0] == 37, mode)


def test_a_hangup_ends_a_run_like_a_termination_unless_it_is_ignored():
    with Folder() as folder:
        words = [BINARY, "run", "markov", "--mode", "sgd", "--context-length", "9", "--batch-size", "2",
                 "--saves", "11"]
        file = path(folder, "hung.h5")
        process = subprocess.Popen([*words, "--steps", "30000000", "-o", file], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, preexec_fn=hear_hangups)
        until_there(file, process)
        process.send_signal(signal.SIGHUP)
        check(process.wait() == 129, f"ended with {process.returncode}")
        check(attribute(file, "status") == "interrupted", "nothing was kept")
        kept = path(folder, "kept.h5")
        process = subprocess.Popen(["nohup", *words, "--steps", "300000", "-o", kept],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until_there(kept, process)
        process.send_signal(signal.SIGHUP)
        check(process.wait() == 0, f"under nohup it ended with {process.returncode}")


def test_extending_keeps_links_and_permissions():
    with Folder() as folder:
        file, link = path(folder, "real.h5"), path(folder, "link.h5")
        popflow("run", "markov", "--t-end", 1, "--saves", 3, "-o", file, code=0)
        os.chmod(file, 0o600)
        os.symlink(file, link)
        popflow("resume", link, "--t-end", 2, code=0)
        check(os.path.islink(link), "the link was replaced")
        check(stat.S_IMODE(os.stat(file).st_mode) == 0o600, "the permissions were widened")
        check(attribute(file, "status") == "complete", "the file behind the link is not extended")


def test_too_large_sizes_are_refused_by_name_in_advance():
    with Folder() as folder:
        file = path(folder, "run.h5")
        popflow("run", "markov", "--t-end", 1, "--saves", 3, "-o", file, code=0)
        said = refused("resume", file, "--t-end", 1e12, code=2)
        check("--t-end 1e+12" in said, f"which size? {said}")
        said = refused("run", "topic", "--mode", "sde", "--batch-size", 1e15, code=2)
        check("--noise-samples" in said, f"which samples? {said}")


def bytes_of_sample(words):
    """Returns the memory per sample of a batch, by the program's own count."""
    def counted(batch):
        said = popflow(*words, "--batch-size", batch, "--json", code=0).out
        return json.loads(said)["memory_bytes"]

    return (counted(2000) - counted(1000)) / 1000


def test_samples_are_counted_with_their_contexts():
    with Folder() as folder:
        for system in (["joma-joint", "--tokens", 1000], ["scb", "--vocab-size", 4]):
            words = ["run", *system, "--mode", "sgd", "--steps", 1, "--saves", 1, "--dry-run", "-o",
                     path(folder, "none.h5"), "--context-length"]
            # A long context is stored as counts of all tokens, or with two bytes per position.
            short, long = bytes_of_sample([*words, 10]), bytes_of_sample([*words, 2000])
            check(short < 800 and long > 4000, f"{system}: {short} and {long} bytes")
            # The batch needs 10 GB without the contexts, and a terabyte with them.
            said = refused(*words, 100_000, "--batch-size", 50_000_000, code=2)
            check("--batch-size" in said and "memory" in said, said)


def test_very_long_words_are_refused_briefly():
    with Folder() as folder:
        said = popflow("run", "scb", "--" + 5000 * "x", code=2, folder=folder).err
        check(len(said) < 1000, f"{len(said)} characters are echoed")
        check("line 1" in refused("run", "scb", "--counts", "/dev/zero", code=3),
              "the message names no line")


def test_a_comparison_of_one_step_in_logarithmic_spacing():
    with Folder() as folder:
        popflow("compare", "markov", "--save-spacing", "log", "--t-end", 1, "--learning-rate", 1,
                "--runs", 2, "-o", path(folder, "c.h5"), code=0)


def test_a_run_continues_with_the_threads_that_the_system_allows():
    with Folder() as folder:
        file = path(folder, "run.h5")
        small = "ulimit -v 300000; exec "
        if subprocess.run(["sh", "-c", f"{small} {BINARY} --version"], capture_output=True,
                          check=False).returncode != 0:
            return  # a program with sanitizers needs more memory to start
        done = subprocess.run(["sh", "-c", f"{small} {BINARY} run markov --threads "
                               f"64 --t-end 1 -o {file}"], capture_output=True, text=True)
        check(done.returncode == 0, f"ended with {done.returncode}: {done.stderr}")
        check("--threads 64: the system allows only" in done.stderr, done.stderr)


CRAWLS = ["run", "markov", "--method", "euler", "--dt", 1e-9, "--saves", 3]


def test_a_run_with_tiny_steps_is_reported_once():
    with Folder() as folder:
        file = path(folder, "run.h5")
        said = popflow(*CRAWLS, "--max-steps", 150000, "-o", file, code=6).err
        check(said.count("--stop-when stuck ends such a run") == 1, said)
        check("the end is about 4.3e+10 steps away" in said, said)
        check(attribute(file, "status") == "step_limit", "ended for another reason")
        said = popflow("run", "markov", "--method", "euler", "--dt", 1e-4, "--t-end", 20, "--stop-when",
                       "either", "-o", file, "--force", code=0).err
        check("away" not in said, said)


def test_a_run_with_tiny_steps_is_ended():
    with Folder() as folder:
        cut = path(folder, "cut.h5")
        for word in ("stuck", "either"):
            whole = path(folder, f"{word}.h5")
            said = popflow(*CRAWLS, "--stop-when", word, "-o", whole, code=6).err
            check("steps away" in said and "ends such" not in said, said)
            check(attribute(whole, "status") == "stuck", attribute(whole, "status"))
            with h5py.File(whole) as run:
                check(run["statistics/accepted_steps"][()] == 100000, "another number of steps")
        process = subprocess.Popen([BINARY, *map(str, CRAWLS), "--stop-when", "either", "-o", cut],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until_there(cut, process)
        process.send_signal(signal.SIGINT)
        if process.wait() == 130:
            popflow("resume", cut, code=6)
        check_equal(whole, cut, free_attributes=("output",), slots=False)


def test_a_pipe_without_a_writer_is_refused():
    with Folder() as folder:
        pipe = path(folder, "pipe")
        os.mkfifo(pipe)
        for option in ("--config", "--counts"):
            said = popflow("run", "scb", option, pipe, "--dry-run", code=3).err
            check(f"'{pipe}' is a pipe that nobody writes to" in said, said)
        for option in ("--text", "--problem", "--init-from"):
            refused("run", "scb", option, pipe, "--dry-run", code=3)
        for late in (0, 0.5):
            for text, option in (("t-end = 3\n", "--config"), ("a\tb\t3\nb\ta\t2\n", "--counts")):
                # The writer may come late and be slow.
                writer = subprocess.Popen(["sh", "-c", f"sleep {late}; (sleep {late}; printf '{text}') "
                                           f"> {pipe}"])
                popflow("run", "scb", option, pipe, "--dry-run", code=0)
                writer.wait()
                popflow("run", "scb", option, "/dev/stdin", "--dry-run", code=0, input=text)
                done = subprocess.run(["bash", "-c", f"{BINARY} run scb {option} <(sleep {late}; printf "
                                       f"'{text}') --dry-run"], capture_output=True, check=False)
                check(done.returncode == 0, done.stderr)


def test_impossible_counts_are_refused_by_name():
    with Folder() as folder:
        for words, said in (
                (["--mode", "sde", "--t-end", 1e300], "--t-end 1e+300 takes 1e+303 steps of 0.001"),
                (["--mode", "sde", "--dt", 1e-300], "takes 1.9999999999999999e+301 steps of 1e-300"),
                (["--mode", "sde", "--dt", 1e-300, "--t-end", 1e300], "takes inf steps of 1e-300"),
                (["--mode", "sgd", "--t-end", 1e300], "--t-end 1e+300 takes 1e+302 steps of 0.01"),
                (["--mode", "sgd", "--steps", 1e19], "--steps is 1e+19"),
                (["--max-steps", 1e19], "--max-steps is 1e+19"),
                (["--saves", 1e18], "--saves is 1e+18"),
                (["--saves", 9e15], "--saves 9000000000000000 would need"),
                (["--mode", "sgd", "--runs", 4294967295], "--runs 4294967295 would need"),
                (["--mode", "sgd", "--steps", 9e15, "--runs", 4e9], "--runs 4000000000 would need"),
                (["--mode", "sgd", "--batch-size", 9e15], "--batch-size 9000000000000000 would need")):
            told = popflow("run", "markov", *words, "-o", path(folder, "run.h5"), code=2).err
            check(said in told, f"{words}: {told}")
        # Samples of sde belong to intervals of the learning rate.
        told = popflow("run", "topic", "--mode", "sde", "--dt", 0.1, "--learning-rate", 1e-300, "-o",
                       path(folder, "run.h5"), code=2).err
        check("steps of 1e-300" in told, told)
        for words in (["--t-end", 1e300], ["--learning-rate", 1e-300]):
            told = popflow("compare", "markov", *words, "-o", path(folder, "c.h5"), code=2).err
            check("at most 2^53" in told, told)
        popflow("run", "markov", "--mode", "sgd", "--steps", 2**53, "--dry-run", code=0)
        # Each sample takes a few hundred bytes in every concurrent run.
        many = ["run", "scb", "--mode", "sgd", "--steps", 2, "--context-length", 1000,
                "--batch-size", 2e12, "--dry-run"]
        told = popflow(*many, code=2).err
        check("--batch-size 2000000000000 would need 5.02 PB of memory" in told, told)


def test_an_extended_ensemble_is_described_as_briefly_as_a_longer_one():
    with Folder() as folder:
        steps = ["run", "markov", "--mode", "sgd", "--runs", 2, "--batch-size", 16]
        short, long = path(folder, "short.h5"), path(folder, "long.h5")
        popflow(*steps, "--steps", 200, "--saves", 11, "-o", short, "--quiet", code=0)
        popflow("resume", short, "--t-end", 200, "--quiet", code=0)
        popflow(*steps, "--t-end", 200, "--saves", 1001, "-o", long, "--quiet", code=0)
        check_equal(short, long, **FREE)
        with h5py.File(short) as file:
            check("save-at" not in file["parameters"].attrs["config"], "times are listed")


def test_options_too_long_to_be_read_again_are_not_written():
    with Folder() as folder:
        config = path(folder, "long.cfg")
        with open(config, "w") as lines:
            # Each number becomes one digit longer: .1 is written as 0.1.
            lines.write("save-at = " + ",".join(f".{i}" for i in range(1000001, 2850000)) + "\n")
        told = popflow("run", "markov", "--t-end", 1, "--config", config, "-o",
                       path(folder, "run.h5"), code=2).err
        check("bytes as text" in told and "--save-at" in told, told)
        check(not os.path.exists(path(folder, "run.h5")), "a file is left behind")


def test_a_comparison_that_ends_at_the_step_limit_says_so():
    with Folder() as folder:
        told = popflow("compare", "markov", "--t-end", 10, "--runs", 2, "--max-steps", 7, "-o",
                       path(folder, "c.h5"), code=6).err
        check("--max-steps" in told and "ends there" in told, told)


def test_deeply_nested_groups_are_refused_quickly():
    with Folder() as folder:
        for name in ("one.h5", "two.h5"):
            popflow("run", "markov", "--mode", "sgd", "--runs", 2, "--steps", 5, "-o",
                    path(folder, name), "--quiet", code=0)
        with h5py.File(path(folder, "one.h5"), "r+") as file:
            group = file
            for _ in range(600):
                group = group.create_group("d")
        began = time.monotonic()
        told = popflow("merge", path(folder, "one.h5"), path(folder, "two.h5"), "-o",
                       path(folder, "all.h5"), code=3).err
        check("groups nested more than" in told, told)
        check(time.monotonic() - began < 20, "it took long")


def test_characters_that_change_the_writing_direction_are_not_printed():
    with Folder() as folder:
        file = path(folder, "run.h5")
        popflow("run", "markov", "--t-end", 1, "-o", file, "--quiet", code=0)
        with h5py.File(file, "r+") as opened:
            opened.attrs["title"] = "a\u202eb\u2066c" + "d" * 100000
        shown = popflow("info", file, code=0).out
        check("\u202e" not in shown and "\u2066" not in shown, "it does")
        check(len(shown) < 6000, f"{len(shown)} characters")


def test_a_run_killed_at_its_beginning_is_resumed():
    with Folder() as folder:
        # Creating this file takes long, so that the kill comes during it.
        words = ["run", "scb", "--vocab-size", "100", "--context-length", "20000", "--saves", "2", "--state",
                 "none", "--max-steps", "1"]
        for attempt in range(5):
            file = path(folder, f"{attempt}.h5")
            process = subprocess.Popen([BINARY, *words, "-o", file], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            until_there(file, process)
            process.kill()
            process.wait()
            with h5py.File(file) as run:
                check(np.max(run["restart/sequence"][()]) >= 0, "there is no start to begin from")
            popflow("resume", file, code=6)
            os.remove(file)


def test_pages_of_systems_agree_with_runs():
    with Folder() as folder:
        # With five nodes or more the entropy does not rise again before the default end.
        page = " ".join(popflow("systems", "joma", code=0).out.split())
        check("five nodes or more the entropy falls below 1e-5 and is still there" in page, page)
        for seed in (1, 3):
            file = path(folder, f"{seed}.h5")
            popflow("run", "joma", "--activation", "nonlinear", "--attention", "softmax", "--nodes", 5,
                    "--problem-seed", seed, "--t-end", 1e6, "-o", file, code=0)
            with h5py.File(file) as run:
                check(run["attention_entropy"][-1] < 1e-5, "the entropy rose")
        # Threshold and rounding divide columns by their sums.
        page = " ".join(popflow("systems", "scb", code=0).out.split())
        check("put back" not in page and "divided by the sum of its remaining weights" in page, page)
        said = popflow("run", "scb", "--schedule", "two-stage", "--t-end", 1, "-o", path(folder, "s.h5"),
                       code=0).err
        check("each column is divided by its sum" in said and
              "columns are divided by their sums" in said, said)


def test_a_run_from_another_runs_end_is_resumed_bit_for_bit():
    with Folder() as folder:
        first = path(folder, "first.h5")
        for words in ([], ["--bias", "free"], ["--method", "rosenbrock4"],
                      ["--mode", "sgd", "--batch-size", 8]):
            popflow("run", "markov", *words, "--t-end", 30, "--saves", 3, "-o", first, "--force", code=0)
            whole, longer = path(folder, "whole.h5"), path(folder, "longer.h5")
            onwards = ["run", "markov", *words, "--init-from", first]
            popflow(*onwards, "--t-end", 60, "--saves", 5, "-o", whole, "--force", code=0)
            popflow(*onwards, "--t-end", 30, "--saves", 3, "-o", longer, "--force", code=0)
            with h5py.File(first) as a, h5py.File(whole) as b:
                check(b["parameters"].attrs["e0"] == np.ravel(a["e"][()])[-1],
                      "the file hides its start")
            os.remove(first)  # the second file does not need the first
            popflow("resume", longer, "--t-end", 60, code=0)
            check_equal(whole, longer, **FREE)
        # Interrupt the second run on its way.
        popflow("run", "markov", "--t-end", 30, "--saves", 3, "-o", first, code=0)
        whole, cut = path(folder, "w.h5"), path(folder, "c.h5")
        onwards = ["run", "markov", "--init-from", first, "--method", "euler", "--dt", 1e-4, "--t-end",
                   60, "--saves", 601, "--state", "none"]
        popflow(*onwards, "-o", whole, code=0)
        for how in (signal.SIGINT, signal.SIGKILL):
            process = subprocess.Popen([BINARY, *map(str, onwards), "-o", cut], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            until_recorded(cut, process, 50)
            process.send_signal(how)
            process.wait()
            popflow("resume", cut, code=0)
            check_equal(whole, cut, free_attributes=("output",), slots=False)
            os.remove(cut)
        # Its own configuration reproduces the run.
        config = path(folder, "own.cfg")
        with open(config, "w") as file:
            file.write(attribute(whole, "config", "parameters"))
        again = path(folder, "again.h5")
        popflow("run", "markov", "--config", config, "-o", again, code=0)
        with h5py.File(whole) as a, h5py.File(again) as b:
            check(np.array_equal(a["loss"][()], b["loss"][()]),
                  "the configuration is another run's")


def events(file):
    with h5py.File(file) as run:
        names = run["events/kind"].attrs["flag_meanings"].split()
        kinds, times = run["events/kind"][()], run["events/time"][()]
        return {names[kind]: time for kind, time in zip(kinds, times) if kind >= 0}


def test_an_extremum_is_an_event_if_it_is_prominent_enough():
    words = ["run", "joma-joint", "--temperature", 0.5, "--activation", "square"]
    with Folder() as folder:
        found = []
        for saves in (2, 421):
            file = path(folder, f"{saves}.h5")
            popflow(*words, "--t-end", 420, "--saves", saves, "--state", "ends", "-o", file, code=0)
            found.append(events(file))
        for name, time in found[0].items():
            check(all(abs(other[name] - time) <= 1e-6 * time for other in found),
                  f"{name}: {found}")
        with h5py.File(file) as run:  # the last file has the finest records
            time, rank = run["time"][()], run["stable_rank"][()]
            check(abs(found[0]["rank_minimum"] - time[np.argmin(rank)]) <= 1, f"{found[0]}")
            check(abs(found[0]["rank_falls"] - time[np.argmax(rank)]) <= 1, f"{found[0]}")
        # A checkpoint keeps an extremum that is not yet confirmed.
        whole, cut = path(folder, "whole.h5"), path(folder, "cut.h5")
        popflow(*words, "--t-end", 420, "--saves", 421, "-o", whole, code=0)
        for end in (20, 367):
            popflow(*words, "--t-end", end, "--saves", end + 1, "-o", cut, "--force", code=0)
            popflow("resume", cut, "--t-end", 420, code=0)
            check_equal(whole, cut, free_attributes=FREE["free_attributes"] + ("force",), slots=False)
        # A smaller fall without a rise gives no minimum.
        file = path(folder, "joma.h5")
        popflow("run", "joma", "--activation", "nonlinear", "--attention", "linear", "--nodes", 20, "-o", file,
                code=0)
        check(events(file).get("entropy_minimum", 1) > 0, f"a minimum at the start: {events(file)}")
        # With noise every step may be a small extremum, which must not count.
        file = path(folder, "noisy.h5")
        popflow("run", "joma-joint", "--mode", "sgd", "--tokens", 20, "--classes", 20, "--batch-size", 64,
                "--t-end", 100, "--runs", 1, "-o", file, code=0)
        with h5py.File(file) as run:
            entropy, time = np.ravel(run["attention_entropy"][()]), run["time"][()]
        found = events(file)
        if "entropy_minimum" in found:
            after = entropy[time >= found["entropy_minimum"]]
            check(after.max() - after[0] > 5e-4, f"a wiggle of {after.max() - after[0]}")


def told_status(words):
    lines = [line.split() for line in words.splitlines()]
    return next(line[1].rstrip(":") for line in lines if line and line[0] == "status")


def test_resume_shows_the_status_of_the_file():
    with Folder() as folder:
        flow = ["run", "markov", "--method", "euler", "--dt", 2e-5, "--t-end", 100, "--saves", 3]
        steady = ["run", "scb", "--vocab-size", 5, "--context-length", 30, "--t-end", 20000, "--saves", 21,
                  "--rtol", 1e-12, "--stop-when", "steady", "--steady-tolerance", 1e-5]
        noisy = [*ENSEMBLE[:-1], 512]
        for name, words, status, code in (("flow", flow, "complete", 0), ("steady", steady, "steady", 0),
                                          ("limit", [*flow, "--max-steps", 4000000], "step_limit", 6),
                                          ("sgd", noisy, "complete", 0)):
            for how in (signal.SIGINT, signal.SIGKILL):
                file = path(folder, f"{name}-{how}.h5")
                process = subprocess.Popen([BINARY, *map(str, words), "-o", file],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                until_there(file, process)
                process.send_signal(how)
                process.wait()
                for again in (code, 0):  # after resuming, and with nothing left to do
                    said = popflow("resume", file, code=again).out
                    check(told_status(said) == status == attribute(file, "status"),
                          f"{name}: {said}")
                    if name == "sgd":
                        check("2: 2 complete" in said, said)
            if status == "complete":
                with h5py.File(file) as run:
                    end = float(run["time"][-1])
                said = popflow("resume", file, "--t-end", 1.1 * end, code=0).out
                check(told_status(said) == status == attribute(file, "status"),
                      f"{name}, extended: {said}")
                check(("2: 2 complete" in said) == (name == "sgd"), said)


def test_inputs_are_checked_before_the_output():
    with Folder() as folder:
        popflow("run", "markov", "--t-end", 1, "--saves", 3, "-o", path(folder, "r.h5"), code=0)
        for command in "run", "compare":
            told = refused(command, "scb", "--counts", "missing.txt", "-o", path(folder, "r.h5"),
                           code=3)
            check("missing.txt" in told and "--force" not in told, f"{command}: {told}")
            told = refused(command, "markov", "-o", path(folder, "r.h5"), code=2)
            check("--force" in told, f"{command}: {told}")


def test_an_ensemble_continues_run_by_run():
    with Folder() as folder:
        for mode, end in (["--mode", "sgd"], "--steps"), (["--mode", "sde"], "--t-end"):
            first, second, cut = (path(folder, f"{mode[1]}-{name}.h5") for name in "abc")
            popflow("run", "markov", *mode, end, 2, "--runs", 5, "--saves", 3, "-o", first, code=0)
            on = ["run", "markov", *mode, "--runs", 3, "--first-run", 1, "--state", "all", "--saves",
                  3, "--seed", 2, "--init-from", first]
            said = popflow(*on, end, 2, "-o", second, code=0).err
            check("each run continues the run of its number" in said, said)
            with h5py.File(first) as one, h5py.File(second) as two:
                for name in "e", "w", "b":
                    check(np.array_equal(two[name][:, 0], one[name][1:4, -1]), f"{mode}: {name}")
            # A run killed before its first checkpoint also continues run by run.
            process = subprocess.Popen([BINARY, *map(str, on), "-o", cut, end, "100000000"],
                                       stderr=subprocess.DEVNULL)
            until_there(cut, process)
            process.kill()
            process.wait()
            with h5py.File(cut) as three:
                starts = three["restart/state"][()].reshape(3, 2, -1)[:, 0]
                check(len(np.unique(starts, axis=0)) == 3, "runs resume from equal states")
        told = refused("run", "markov", "--mode", "sgd", "--steps", 5, "--runs", 9, "--init-from",
                       first, "-o", path(folder, "x.h5"), code=2)
        check("has 5 runs, but run number 5 is not among them" in told and "--runs 5" in told, told)


def test_comparisons_and_sweeps_continue_run_by_run():
    with Folder() as folder:
        first, compared, swept, alone = (path(folder, f"{name}.h5") for name in "abcd")
        noisy = ["--learning-rate", 0.1, "--t-end", 2, "--runs", 3]
        popflow("run", "markov", "--mode", "sgd", *noisy, "-o", first, code=0)
        said = popflow("compare", "markov", "--rungs", "flow,sgd", *noisy, "--seed", 2,
                       "--init-from", first, "-o", compared, code=0).err
        check("each noisy run continues the run of its number" in said, said)
        with h5py.File(first) as one, h5py.File(compared) as two:
            check(np.array_equal(two["sgd/w"][:, 0], one["w"][:, -1]), "runs of the comparison")
            check(two["flow/w"][0] == one["w"][0, -1], "flow of the comparison")
        said = popflow("sweep", "markov", "--mode", "sgd", *noisy, "--seed", 2, "--over", "p=0.2,0.3",
                       "--init-from", first, "-o", swept, code=0).err
        check("each run continues the run of its number" in said, said)
        with h5py.File(swept) as sweep:
            popflow("run", "markov", "--mode", "sgd", *noisy, "--p", 0.2, "--seed",
                    sweep["seed"][0], "--init-from", first, "-o", alone, code=0)
            with h5py.File(alone) as cell:
                check(np.array_equal(sweep["loss"][0], cell["loss"][:, -1]), "a cell, and alone")
        told = refused("sweep", "markov", "--mode", "sgd", *noisy[:-1], 4, "--over", "p=0.2,0.3",
                       "--init-from", first, "-o", path(folder, "x.h5"), code=2)
        check("run number 3 is not among them" in told, told)


def test_long_computations_are_announced_in_advance():
    large = ["--topics", 10, "--words-per-topic", 10, "--topics-per-document", 4, "--t-end", 1e5,
             "--document-length", 1000, "--quiet"]
    for words in (["run", "topic", "--mode", "sgd", "--runs", 8, *large],
                  ["compare", "topic", *large]):
        with Folder() as folder:
            process = subprocess.Popen([BINARY, *map(str, words), "-o", path(folder, "x.h5")],
                                       stderr=subprocess.PIPE, text=True)
            first = process.stderr.readline()
            while "warning" in first and "will take about" not in first:
                first = process.stderr.readline()
            process.send_signal(signal.SIGTERM)
            process.communicate()
            check("will take about" in first and "shortens it most" in first, f"{words}: {first}")
    with Folder() as folder:
        said = popflow("run", "markov", "--mode", "sgd", "--runs", 2, "-o", path(folder, "x.h5"),
                       "--t-end", 5, code=0).err
        check("will take about" not in said, said)


def test_a_phase_that_replays_the_noise_of_the_previous_phase_says_so():
    with Folder() as folder:
        sgd = ["run", "markov", "--mode", "sgd", "--steps", 50, "--saves", 3]
        popflow(*sgd, "-o", path(folder, "one.h5"), code=0)
        for seed, warns in (1, True), (2, False):
            said = popflow(*sgd, "--init-from", path(folder, "one.h5"), "--seed", seed, "-o",
                           path(folder, f"two-{seed}.h5"), code=0).err
            check(("draws the same samples" in said) == warns, said)
        said = popflow("run", "markov", "--mode", "sde", "--t-end", 1, "--saves", 3, "--init-from",
                       path(folder, "one.h5"), "-o", path(folder, "sde.h5"), code=0).err
        check("draws the same samples" not in said, said)


def test_a_message_names_the_file_with_a_damaged_configuration():
    with Folder() as folder:
        popflow("run", "markov", "--t-end", 1, "--saves", 3, "-o", "r.h5", folder=folder, code=0)
        popflow("sweep", "markov", "--over", "w0=-1:1:3", "--t-end", 1, "-o", "s.h5",
                folder=folder, code=0)
        popflow("compare", "markov", "--t-end", 1, "--saves", 3, "--runs", 2, "-o", "c.h5",
                folder=folder, code=0)
        for name in "r", "s", "c":
            with h5py.File(os.path.join(folder, f"{name}.h5"), "r+") as file:
                text = file["parameters"].attrs["config"]
                file["parameters"].attrs["config"] = text.replace("batch-size = 128",
                                                                  "batch-size = frog")
                file.attrs["status"] = "running"
        for words in (["resume", "r.h5"], ["resume", "s.h5"], ["resume", "c.h5"],
                      ["info", "s.h5"], ["info", "s.h5", "--cell", "w0=0"], ["plot", "s.h5"],
                      ["merge", "s.h5", "-o", "m.h5"],
                      ["compare", "--from", "flow=r.h5,sgd=r.h5", "-o", "m.h5"],
                      ["run", "markov", "--init-from", "r.h5", "-o", "m.h5"]):
            said = popflow(*words, folder=folder, code=3).err
            file = next(word for word in words if ".h5" in word)
            file = file.split("=")[-1]
            check(f"{file}: its stored configuration, line " in said, f"{words}: {said}")
            check("batch-size is 'frog'" in said, f"{words}: {said}")


if __name__ == "__main__":
    run_all()
