#!/usr/bin/python3
# label: nightly
"""The batch scripts of docs/cluster.md, unchanged, on a Slurm of one node. Jobs are cancelled,
requeued, killed or run out of time, and the file still equals that of one process."""

import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
if "POPFLOW_SLURM" not in os.environ:
    done = subprocess.run([os.path.join(HERE, "slurm"), sys.executable, os.path.abspath(__file__),
                           *sys.argv[1:]])
    if done.returncode == 77:
        print("not checked: Slurm is missing; tests/cluster/slurm --install installs it")
        sys.exit(77)
    sys.exit(done.returncode)

sys.path.insert(0, os.path.join(HERE, "..", "run"))
from runs import BINARY, Folder, attribute, check, check_equal, h5py, has_mpi, popflow, run_all
from sweeps import check_same_data

# Map that takes some seconds, in cells of half a second.
MAP = """
mode = sgd
over = learning-rate=0.05:0.2:8
over = problem-seed=1..4
steps = 6000
runs = 4
"""
ENSEMBLE = """
vocab-size = 5
context-length = 20
steps = 100
saves = 5
"""
PARTS = 3  # of 40
LONGEST = 900  # seconds that jobs may take; the machine may be busy


def scripts():
    """Returns the page's batch scripts by name."""
    with open(os.path.join(HERE, "..", "..", "docs", "cluster.md")) as file:
        page = file.read()
    found = dict(re.findall(r"`(\w+\.sh)`[^`]*?:\n\n```bash\n(.*?)```", page, re.DOTALL))
    check(sorted(found) == ["array.sh", "ensemble.sh", "mpi.sh", "mpirun.sh"], sorted(found))
    return found


def finished(path):
    """Returns how many cells of a sweep's file have a status."""
    with h5py.File(path, "r", locking=False) as file:
        return int((file["status"][()] > 0).sum())


class Cluster:
    """A folder in which jobs run, with the page's scripts and the files that they need."""

    def __enter__(self):
        self.holder = Folder()
        self.folder = self.holder.__enter__()
        os.mkdir(self.path("bin"))
        os.symlink(BINARY, self.path("bin", "popflow"))
        for name, text in {**scripts(), "map.cfg": MAP, "ensemble.cfg": ENSEMBLE}.items():
            with open(self.path(name), "w") as file:
                file.write(text)
        self.surroundings = {
            **os.environ, "PATH": self.path("bin") + ":" + os.environ["PATH"],
            # Containers often run as root and have fewer cores than ranks.
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
        return self

    def __exit__(self, *how):
        subprocess.run(["scancel", "--user", str(os.getuid())], capture_output=True)
        self.holder.__exit__(*how)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def command(self, *words):
        done = subprocess.run([*map(str, words)], cwd=self.folder, env=self.surroundings,
                              capture_output=True, text=True, timeout=60)
        check(done.returncode == 0, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def submit(self, script, *options):
        """Submits a script and returns the job's number. `options` take precedence over the
        script's own."""
        return self.command("sbatch", "--parsable", "--cpus-per-task=1", *options, script).strip()

    def state(self, job):
        """Returns a job's state and exit code as Slurm writes them; those of an array are its last
        task's."""
        text = self.command("scontrol", "show", "job", job)
        return re.findall(r"JobState=(\w+)", text)[-1], re.findall(r"ExitCode=(\d+)", text)[-1]

    def until(self, condition, what):
        deadline = time.monotonic() + LONGEST
        while not condition():
            check(time.monotonic() < deadline, f"{what} took more than {LONGEST} s\n{self.said()}")
            time.sleep(0.2)

    def wait(self, job):
        self.until(lambda: not self.command("squeue", "--noheader", "--jobs", job).strip(),
                   f"job {job}")

    def until_under_way(self, job, path):
        """Waits until some cells of the file are finished; fails if all of them are."""
        def under_way():
            if os.path.exists(self.path(path)):
                try:
                    with h5py.File(self.path(path), "r", locking=False) as file:
                        done = int((file["status"][()] > 0).sum())
                        check(done < file["status"].size, f"{path} was finished too soon")
                        return done > 0
                except OSError:
                    pass
            return False
        self.until(under_way, f"the first cell of {path}")
        check("RUNNING" in self.state(job), f"{job} is {self.state(job)}")

    def said(self):
        """Returns the output of all jobs."""
        text = ""
        for name in sorted(os.listdir(self.folder)):
            if name.startswith("slurm-"):
                with open(self.path(name)) as file:
                    text += f"{name}:\n{file.read()}"
        return text

    def whole(self):
        popflow("sweep", "markov", "--config", self.path("map.cfg"), "-o", self.path("whole.h5"),
                "--quiet", code=0, timeout=LONGEST)
        return self.path("whole.h5")


def check_merged(cluster, parts, path):
    """Merges parts as the page says (`popflow merge map-*.h5 -o map.h5`) and compares the
    result."""
    popflow("merge", *parts, "-o", path, "--quiet", folder=cluster.folder, code=0)
    check_same_data(cluster.path(path), cluster.path("whole.h5"))


def test_an_array_of_shards_resumes():
    with Cluster() as cluster:
        job = cluster.submit("array.sh")
        # Task 1 is cancelled, task 3 is requeued while it runs, and task 5 is killed.
        cluster.until_under_way(f"{job}_1", "map-1.h5")
        cluster.command("scancel", f"{job}_1")
        cluster.until(lambda: cluster.state(f"{job}_1")[0] == "CANCELLED", "scancel")
        check(cluster.state(f"{job}_1")[1] == "143", f"{cluster.state(f'{job}_1')}")
        check(attribute(cluster.path("map-1.h5"), "status") == "interrupted", "status")
        cluster.until_under_way(f"{job}_3", "map-3.h5")
        cluster.command("scontrol", "requeue", f"{job}_3")
        cluster.until_under_way(f"{job}_5", "map-5.h5")
        cluster.command("scancel", "--signal=KILL", "--full", f"{job}_5")
        cluster.wait(job)
        check("popflow resume map-3.h5" in cluster.said(), cluster.said())
        cluster.whole()
        parts = [f"map-{number}.h5" for number in range(1, 9)]
        # Tasks 1 and 5 are not finished. Merge the other parts now, and all of them later.
        ended = popflow("merge", *parts, "-o", "map.h5", folder=cluster.folder, code=3)
        check("none of the files" in ended.err, ended.err)
        popflow("merge", *parts, "-o", "map.h5", "--allow-missing", "--quiet",
                folder=cluster.folder, code=0)
        # A second submission of the script resumes the unfinished parts and leaves the finished
        # ones alone.
        before = {part: os.stat(cluster.path(part)).st_mtime_ns for part in parts}
        job = cluster.submit("array.sh")
        cluster.wait(job)
        for part in parts:
            check(attribute(cluster.path(part), "status") == "complete",
                  f"{part}\n{cluster.said()}")
            again = part in ("map-1.h5", "map-5.h5")
            check((os.stat(cluster.path(part)).st_mtime_ns != before[part]) == again, part)
        check_merged(cluster, parts, "all.h5")
        check_merged(cluster, ["map.h5", "map-1.h5", "map-5.h5"], "late.h5")


def test_a_job_at_its_time_limit_is_requeued():
    with Cluster() as cluster:
        with open(cluster.path("map.cfg"), "w") as file:
            file.write(MAP.replace("seed=1..4", "seed=1..400"))
        # The signal is due a minute before the time limit of one minute: Slurm sends it at its next
        # check.
        job = cluster.submit("array.sh", "--array=2", "--time=1")
        task = f"{job}_2"
        cluster.until_under_way(task, "map-2.h5")
        cluster.until(lambda: "Restarts=1" in cluster.command("scontrol", "show", "job", task),
                      "the end of the time")
        check("popflow resume map-2.h5" in cluster.said(), cluster.said())
        before = finished(cluster.path("map-2.h5"))
        # Slurm requeues the job, which continues; after scancel it does not come back.
        cluster.until(lambda: finished(cluster.path("map-2.h5")) > before, "the second turn")
        cluster.command("scancel", task)
        cluster.wait(job)
        check(cluster.state(task) == ("CANCELLED", "143"), f"{cluster.state(task)}")
        check(attribute(cluster.path("map-2.h5"), "status") == "interrupted", "status")


def check_ranks(script, stop):
    with Cluster() as cluster:
        job = cluster.submit(script, "--ntasks=2")
        cluster.until_under_way(job, "map.h5")
        if stop == "requeue":
            cluster.command("scontrol", "requeue", job)
        else:
            cluster.command("scancel", job)
            cluster.wait(job)
            check(attribute(cluster.path("map.h5"), "status") == "interrupted", cluster.said())
            job = cluster.submit(script, "--ntasks=3")  # any number of ranks
        cluster.wait(job)
        check(cluster.state(job) == ("COMPLETED", "0"), f"{cluster.state(job)}\n{cluster.said()}")
        cluster.whole()
        check_same_data(cluster.path("map.h5"), cluster.path("whole.h5"))
        check(attribute(cluster.path("map.h5"), "ranks", "provenance") == (2 if stop == "requeue"
                                                                           else 3), "ranks")


def test_srun_starts_ranks():
    kinds = subprocess.run(["srun", "--mpi=list"], capture_output=True, text=True)
    if not has_mpi() or "pmix" not in (kinds.stdout + kinds.stderr).split():
        print("not checked: this program was built without MPI, or srun has no pmix")
        return
    check_ranks("mpi.sh", "scancel")
    check_ranks("mpi.sh", "requeue")


def test_mpirun_starts_ranks():
    if not has_mpi() or shutil.which("mpirun") is None:
        print("not checked: this program was built without MPI, or there is no mpirun")
        return
    check_ranks("mpirun.sh", "scancel")
    check_ranks("mpirun.sh", "requeue")


def test_unconnected_ranks_are_refused():
    with Cluster() as cluster:
        with open(cluster.path("mpi.sh")) as file:
            text = file.read()
        check("--mpi=pmix" in text, "mpi.sh")
        with open(cluster.path("apart.sh"), "w") as file:
            file.write(text.replace("--mpi=pmix", "--mpi=none"))
        job = cluster.submit("apart.sh", "--ntasks=2")
        cluster.wait(job)
        check("2 processes were started together" in cluster.said(), cluster.said())
        check(not os.path.exists(cluster.path("map.h5")), "a file is left behind")


def test_an_ensemble_is_merged_from_parts():
    with Cluster() as cluster:
        job = cluster.submit("ensemble.sh", f"--array=0-{PARTS - 1}")
        cluster.wait(job)
        parts = [f"part-{number}.h5" for number in range(PARTS)]
        for part in parts:
            check(os.path.exists(cluster.path(part)), cluster.said())
        popflow("merge", *parts, "-o", "all.h5", "--quiet", folder=cluster.folder, code=0)
        popflow("run", "scb", "--config", "ensemble.cfg", "--mode", "sgd", "--state", "ends",
                "--runs", 250 * PARTS, "-o", "whole.h5", "--quiet", folder=cluster.folder, code=0,
                timeout=LONGEST)
        check_equal(cluster.path("all.h5"), cluster.path("whole.h5"),
                    free_attributes=("output", "config", "not_default", "threads", "quiet"))


# Runs the tests named on the command line, or all of them.
run_all()
