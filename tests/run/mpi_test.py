#!/usr/bin/python3
# label: slow
"""Sweeps, ensembles and comparisons over MPI: any number of ranks gives the file of one process,
also after ranks were killed."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

from runs import (BINARY, PATIENCE, Folder, attribute, check, difference, h5py, has_mpi, popflow,
                  run_all, until, until_recorded)
from sweeps import check_same_data

LAUNCHER = shutil.which("mpirun")
SURROUNDINGS = {**os.environ,
                # Containers often run as root and have fewer cores than ranks.
                "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "OMPI_MCA_rmaps_base_oversubscribe": "1",
                "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}

GRID = ["markov", "--over", "e0=0.02:2:11", "--over", "w0=-2:1:9", "--t-end", 200]
# Some cells take a thousand times as long as others.
UNEVEN = ["markov", "--over", "learning-rate=0.1,0.2,0.05", "--over", "steps=10,100,6000",
          "--mode", "sgd", "--runs", 4]


def mpi(ranks, *args, folder):
    return [LAUNCHER, "-n", str(ranks), BINARY, *map(str, args)]


def ranks_of(pattern):
    """Returns the process ids of the ranks whose command line matches."""
    return subprocess.run(["pgrep", "-f", "-x", f"{BINARY} {pattern}"], capture_output=True,
                          text=True).stdout.split()


def end_by(sent, process, pattern, only=None):
    """Sends a signal to all ranks, or to one of them (`only`: its place), and waits for the end."""
    ranks = ranks_of(pattern)
    for rank in ranks if only is None else ranks[only:only + 1]:
        try:
            os.kill(int(rank), sent)
        except ProcessLookupError:
            pass
    wait_for(process, pattern)


def wait_for(process, pattern):
    """Waits until mpirun has ended. After a killed rank mpirun may wait for ever, though all ranks
    have ended: Open MPI's PMIx_server_finalize() waits for a lock, also with an empty program. Such
    a launcher is ended here; ranks that do not end are an error."""
    latest = time.monotonic() + PATIENCE
    while process.poll() is None and ranks_of(pattern):
        check(time.monotonic() < latest, "the ranks have not ended")
        time.sleep(0.05)
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def on_ranks(ranks, *args, folder, code=0):
    done = subprocess.run(mpi(ranks, *args, folder=folder), cwd=folder, env=SURROUNDINGS,
                          capture_output=True, text=True, timeout=PATIENCE)
    check(done.returncode == code, f"{ranks} ranks, {args}: {done.returncode}\n{done.stderr}")
    return done


def test_any_number_of_ranks_gives_the_same_file():
    with Folder() as folder:
        for name, args in {"grid": GRID, "uneven": UNEVEN,
                           "reduced": [*UNEVEN, "--reduce", "runs"],
                           "series": [*GRID[:-1], 5, "--record", "series", "--saves", 5]}.items():
            popflow("sweep", *args, "-o", f"{name}.h5", "--quiet", folder=folder, code=0)
            for ranks in ((2, 4) if name == "grid" else (3,)):
                path = f"{name}-{ranks}.h5"
                on_ranks(ranks, "sweep", *args, "-o", path, folder=folder)
                check_same_data(os.path.join(folder, path), os.path.join(folder, name + ".h5"))
                with h5py.File(os.path.join(folder, path)) as file:
                    check(file["provenance"].attrs["ranks"] == ranks, "ranks")
                    check(file["provenance"].attrs["messages"] > ranks, "messages")


def test_a_killed_rank_loses_no_finished_cell():
    with Folder() as folder:
        whole = os.path.join(folder, "whole.h5")
        popflow("sweep", *UNEVEN, "-o", whole, "--quiet", folder=folder, code=0)
        for attempt, by in enumerate((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)):
            path = os.path.join(folder, f"cut-{attempt}.h5")
            process = subprocess.Popen(mpi(3, "sweep", *UNEVEN, "-o", path, folder=folder),
                                       cwd=folder, env=SURROUNDINGS, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            until_recorded(path, process, random.randint(1, 30), name="status")
            end_by(by, process, f"sweep .*cut-{attempt}.h5",
                   only=attempt if by == signal.SIGKILL else None)
            popflow("info", path, code=0)
            on_ranks(2 + attempt % 2, "resume", path, folder=folder)
            check(attribute(path, "status") == "complete", "status")
            check_same_data(path, whole)


# Ensembles with one draw per step, with lanes of several runs, with states, and with runs that
# diverge.
ENSEMBLES = {
    "samples": ["markov", "--mode", "sgd", "--runs", 100, "--t-end", 5, "--learning-rate", 0.1,
                "--saves", 5, "--threads", 1],
    "lanes": ["markov", "--mode", "sde", "--runs", 60, "--t-end", 5, "--learning-rate", 0.1,
              "--saves", 7, "--threads", 1],
    "states": ["joma", "--mode", "sgd", "--tokens", 6, "--runs", 9, "--t-end", 2, "--state", "all",
               "--learning-rate", 0.1, "--saves", 9, "--threads", 2],
    "diverging": ["markov", "--mode", "sgd", "--runs", 30, "--t-end", 60, "--learning-rate", 15,
                  "--threads", 1],
}
LONG = ["markov", "--mode", "sgd", "--runs", 24, "--steps", 3000, "--learning-rate", 0.01,
        "--saves", 20, "--checkpoint-every", 0.01, "--threads", 1]
LADDER = ["markov", "--rungs", "flow,sde,sgd", "--learning-rates", "0.4,0.2", "--runs", 12,
          "--t-end", 8, "--saves", 3, "--threads", 1]


def check_same_file(path, other):
    """Compares files except for the ranks that computed them and the times of checkpoints."""
    found = difference(path, other, free_attributes=("history",),
                       free_groups=("provenance", "restart"), slots=False)
    check(found is None, f"{path}: {found}")


def test_any_number_of_ranks_gives_the_same_ensemble():
    with Folder() as folder:
        for name, args in ENSEMBLES.items():
            code = popflow("run", *args, "-o", "one.h5", "--quiet", "--force", folder=folder).code
            for ranks in (2, 3):
                # The options in a file contain its name, so each number of ranks has its own
                # folder.
                os.makedirs(os.path.join(folder, str(ranks)), exist_ok=True)
                on_ranks(ranks, "run", *args, "-o", "one.h5", "--force", "--quiet",
                         folder=os.path.join(folder, str(ranks)), code=code)
                check_same_file(os.path.join(folder, str(ranks), "one.h5"),
                                os.path.join(folder, "one.h5"))
        on_ranks(2, "resume", "one.h5", "--t-end", 90, "--quiet", folder=os.path.join(folder, "2"),
                 code=code)
        popflow("resume", "one.h5", "--t-end", 90, "--quiet", folder=folder, code=code)
        check_same_file(os.path.join(folder, "2", "one.h5"), os.path.join(folder, "one.h5"))


def test_any_number_of_ranks_gives_the_same_comparison():
    with Folder() as folder:
        popflow("compare", *LADDER, "-o", "one.h5", "--quiet", folder=folder, code=0)
        other = os.path.join(folder, "other")
        os.makedirs(other)
        on_ranks(3, "compare", *LADDER, "-o", "one.h5", "--quiet", folder=other)
        check_same_file(os.path.join(other, "one.h5"), os.path.join(folder, "one.h5"))


def cut(by, words, path, folder, only=None):
    """Starts a command on three ranks, and sends a signal to all, or to one of them (`only`)."""
    process = subprocess.Popen(mpi(3, *words, "-o", path, "--quiet", folder=folder), cwd=folder,
                               env=SURROUNDINGS, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    until(lambda: os.path.exists(os.path.join(folder, path)), process)
    time.sleep(random.uniform(0, 0.5))
    end_by(by, process, f".*{path} --quiet", only)


def test_a_killed_rank_loses_no_data_of_an_ensemble():
    with Folder() as folder:
        for number, words in enumerate((["run", *LONG], ["compare", *LADDER[:-6], "--t-end", 20,
                                                         "--saves", 3, "--threads", 1])):
            popflow(*words, "-o", "cut.h5", "--quiet", folder=folder, code=0)
            for attempt, by in enumerate((signal.SIGKILL, signal.SIGKILL, signal.SIGKILL,
                                          signal.SIGTERM)):
                inner = os.path.join(folder, f"{number}-{attempt}")
                os.makedirs(inner)
                cut(by, words, "cut.h5", inner, only=attempt if by == signal.SIGKILL else None)
                popflow("info", "cut.h5", folder=inner, code=0)
                on_ranks(1 + attempt % 3, "resume", "cut.h5", "--quiet", folder=inner)
                check(attribute(os.path.join(inner, "cut.h5"), "status") == "complete", "status")
                check_same_file(os.path.join(inner, "cut.h5"), os.path.join(folder, "cut.h5"))
            os.remove(os.path.join(folder, "cut.h5"))


def test_a_rank_that_leaves_between_two_rungs_ends_all():
    """With many short rungs a signal often reaches a rank when all runs of a rung are computed and
    the first rank is about to begin the next one."""
    rates = ",".join(f"{0.1 + 0.02 * i:.2f}" for i in range(10))
    words = ["compare", "markov", "--rungs", "sde,sgd", "--learning-rates", rates, "--runs", 6,
             "--t-end", 2, "--saves", 2, "--threads", 1]
    with Folder() as folder:
        popflow(*words, "-o", "cut.h5", "--quiet", folder=folder, code=0)
        for attempt in range(5):
            inner = os.path.join(folder, str(attempt))
            os.makedirs(inner)
            cut(signal.SIGTERM, words, "cut.h5", inner, only=None if attempt < 2 else 1)
            popflow("resume", "cut.h5", "--quiet", folder=inner, code=0)
            check_same_file(os.path.join(inner, "cut.h5"), os.path.join(folder, "cut.h5"))


def test_a_dry_run_of_a_comparison_ends_on_all_ranks():
    with Folder() as folder:
        alone = popflow("compare", *LADDER, "--dry-run", folder=folder, code=0).out
        told = on_ranks(2, "compare", *LADDER, "--dry-run", folder=folder).stdout
        check(told == alone, told)


def test_a_signal_to_the_first_rank_ends_all():
    # The signal comes in a rung that the first rank computes alone while the other rank waits.
    with Folder() as folder:
        process = subprocess.Popen(
            mpi(2, "compare", "markov", "--rungs", "gd,sgd", "--learning-rate", 1e-6, "--t-end", 1000,
                "--runs", 4, "--saves", 3, "-o", "cut.h5", "--quiet", folder=folder),
            cwd=folder, env=SURROUNDINGS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: os.path.exists(os.path.join(folder, "cut.h5")), process)
        pattern = ".*cut.h5 --quiet"
        for rank in ranks_of(pattern):
            with open(f"/proc/{rank}/environ") as variables:
                if "OMPI_COMM_WORLD_RANK=0\0" in variables.read():
                    os.kill(int(rank), signal.SIGTERM)
        wait_for(process, pattern)
        check(attribute(os.path.join(folder, "cut.h5"), "status") == "interrupted", "status")


def test_an_error_is_printed_once():
    with Folder() as folder:
        for args, sentence in ((["--over", "p=0.1,0.2,0"], "p = 0"),
                               (["--over", "nothing=1"], "unknown parameter 'nothing'")):
            done = on_ranks(3, "sweep", "markov", *args, "-o", "x.h5", folder=folder, code=2)
            check(sentence in done.stderr, done.stderr)
            check(done.stderr.count("popflow: error") == 1, done.stderr)
        noisy = ["markov", "--mode", "sgd", "--runs", 4, "--t-end", 1]
        popflow("run", *noisy, "-o", "there.h5", "--quiet", folder=folder, code=0)
        for args, sentence in (
                (["run", *noisy, "--p", 0], "p"), (["run", *noisy, "-o", "there.h5"], "there.h5"),
                (["run", *noisy, "--nothing", 1], "--nothing"),
                (["compare", "markov", "--rungs", "flow,none"], "none")):
            done = on_ranks(3, *args, folder=folder, code=2)
            check(sentence in done.stderr, done.stderr)
            check(done.stderr.count("popflow: error") == 1, done.stderr)


def test_ranks_with_other_options_are_refused():
    for command in ("run markov --mode sgd --t-end 1 -o $OMPI_COMM_WORLD_RANK.h5",
                    "compare markov --learning-rate 0.1 --t-end 1 -o $OMPI_COMM_WORLD_RANK.h5",
                    "sweep markov --over e0=0.1:0.4:4 --t-end 1$OMPI_COMM_WORLD_RANK -o a.h5",
                    "resume $OMPI_COMM_WORLD_RANK.h5"):
        with Folder() as folder:
            if command.startswith("resume"):
                for rank in range(2):
                    popflow("sweep", *GRID[:3], "--t-end", 1, "-o", f"{rank}.h5", folder=folder)
            before = os.listdir(folder)
            script = f"exec {BINARY} {command}"
            done = subprocess.run([LAUNCHER, "-n", "2", "sh", "-c", script], cwd=folder,
                                  env=SURROUNDINGS, capture_output=True, text=True,
                                  timeout=PATIENCE)
            check(done.returncode == 2 and done.stderr.count("popflow: error") == 1, done.stderr)
            check("different options" in done.stderr, done.stderr)
            check(os.listdir(folder) == before, os.listdir(folder))


def test_unconnected_ranks_are_refused():
    with Folder() as folder:
        surroundings = {key: value for key, value in os.environ.items()
                        if not key.startswith(("OMPI_", "PMIX_", "PMI_"))}
        surroundings["SLURM_STEP_NUM_TASKS"] = "4"
        ended = popflow("sweep", "markov", "--over", "e0=1,2", folder=folder, code=2,
                        env=surroundings)
        check("4 processes were started together" in ended.err, ended.err)
        check(os.listdir(folder) == [], "a file is left behind")


def test_a_command_that_shares_no_work_says_so():
    """The first rank says so once."""
    with Folder() as folder:
        done = on_ranks(2, "verify", "deep-linear", "--quiet", folder=folder)
        check(done.stderr.count("each does all the work of 'verify'") == 1, done.stderr)


RUN = ["run", "markov", "--t-end", 1]


def test_commands_for_one_process_are_refused_on_several_ranks():
    """The first rank refuses once, before anything is written."""
    with Folder() as folder:
        for ranks in (1, 2):
            popflow(*RUN, "--mode", "sgd", "--first-run", ranks - 1, "--runs", 1, "--state", "all",
                    "-o", f"part-{ranks}.h5", "--quiet", folder=folder, code=0)
        popflow(*RUN, "-o", "flow.h5", "--quiet", folder=folder, code=0)
        files = sorted(os.listdir(folder))
        for args, what in ((RUN, "a run of a flow"), (["resume", "flow.h5"], "a run of a flow"),
                           (["compare", "--from", "flow=flow.h5,sgd=part-1.h5"],
                            "a comparison of files"),
                           (["merge", "part-1.h5", "part-2.h5", "-o", "x.h5"], "a merge")):
            done = on_ranks(2, *args, folder=folder, code=2)
            check(done.stderr.count("popflow: error") == 1, done.stderr)
            check(f"2 processes were started together, but {what} is one process" in done.stderr
                  and "'sweep'" in done.stderr, done.stderr)
            check(sorted(os.listdir(folder)) == files, os.listdir(folder))


def test_one_rank_works_like_a_process_without_mpi():
    with Folder() as folder:
        done = on_ranks(1, *RUN, "-o", "one.h5", folder=folder)
        check("started together" not in done.stderr, done.stderr)
        others = {key: value for key, value in os.environ.items()
                  if not key.startswith(("OMPI_", "PMIX_", "PMI_", "SLURM_"))}
        for number, given in enumerate((
                {"SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0"},
                # mpirun starts a helper on each machine through srun, and this process stands for
                # one started by such a helper.
                {"SLURM_STEP_NUM_TASKS": "3", "SLURM_PROCID": "2",
                 "OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_RANK": "0"})):
            popflow(*RUN, "-o", f"{number}.h5", folder=folder, code=0, env={**others, **given})
        several = {**others, "SLURM_STEP_NUM_TASKS": "3"}
        said = popflow(*RUN, folder=folder, code=2, env={**several, "SLURM_PROCID": "0"}).err
        check("3 processes were started together" in said, said)
        said = popflow(*RUN, folder=folder, code=0, env={**several, "SLURM_PROCID": "1"}).err
        check(said == "", said)
        check(sorted(os.listdir(folder)) == ["0.h5", "1.h5", "one.h5"], os.listdir(folder))


def test_a_script_on_each_rank_may_start_its_own_runs():
    with Folder() as folder:
        script = f"{BINARY} run markov --t-end 1 -o $OMPI_COMM_WORLD_RANK.h5 --quiet; exit $?"
        done = subprocess.run([LAUNCHER, "-n", "2", "sh", "-c", script], cwd=folder,
                              env=SURROUNDINGS, capture_output=True, text=True, timeout=PATIENCE)
        check(done.returncode == 0, done.stderr)
        check(sorted(os.listdir(folder)) == ["0.h5", "1.h5"], os.listdir(folder))


def launcher_works():
    """Returns whether mpirun works here; it fails in some containers, which is no fault of the
    program."""
    done = subprocess.run([LAUNCHER, "-n", "2", "true"], env=SURROUNDINGS, capture_output=True)
    return done.returncode == 0


if LAUNCHER is None or not has_mpi() or not launcher_works():
    print("skipped: this program was built without MPI, or mpirun is not there or fails here")
    sys.exit(77)
run_all()
