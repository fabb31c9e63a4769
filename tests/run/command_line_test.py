#!/usr/bin/python3
# label: fast
"""Answers of the command line to nearly correct words."""

import os
import subprocess

from runs import BINARY, Folder, check, popflow, run_all


def said(*words, code, folder=None):
    return " ".join(popflow(*words, code=code, folder=folder).err.split())


def test_help_is_a_command():
    check(popflow("help", code=0).out == popflow("--help", code=0).out, "help")
    for words in (["run"], ["run", "scb"], ["info"], ["experiments"]):
        check(popflow("help", *words, code=0).out == popflow(*words, "--help", code=0).out, words)
    check("did you mean 'run'" in said("help", "rum", code=2), "help of an unknown command")


def test_a_letter_may_begin_several_options():
    check("-q, which might be --quiet or --q" in said("run", "markov", "-q", 0.3, code=2)
          .replace("--q or --quiet", "--quiet or --q"), "-q of markov")
    check("did you mean '--help'" in said("run", "markov", "--hlep", code=2), "help of a command")
    check("did you mean '--quiet'" not in said("run", "markov", "-z", code=2), "-z begins none")


def test_nothing_is_written_to_standard_output():
    with Folder() as folder:
        for words in (["run", "markov"], ["compare", "markov"], ["sweep", "markov"], ["merge", "a"]):
            check("give a file name" in said(*words, "-o", "-", code=2, folder=folder), words)
        check(os.listdir(folder) == [], "a file was written")


def test_a_quiet_dry_run_shows_its_result():
    with Folder() as folder:
        for command in ("run", "compare"):
            loud = popflow(command, "markov", "--dry-run", folder=folder, code=0).out.splitlines()
            quiet = popflow(command, "markov", "--dry-run", "--quiet", folder=folder, code=0).out.splitlines()
            # The last line has the file's size, which counts the letters of the command.
            check("nothing run" in quiet[0] and quiet[:-1] == loud[:-1], quiet)
            check(quiet[-1].split(",")[0] == loud[-1].split(",")[0], quiet)
        check("nothing run" in popflow("sweep", "markov", "--over", "p=0.1,0.2", "--dry-run", "--quiet",
                                       folder=folder, code=0).out, "a sweep")
        check(popflow("run", "markov", "--t-end", 1, "--quiet", folder=folder, code=0).out == "", "quiet")


def test_warnings_name_the_file():
    with Folder() as folder:
        err = said("run", "joma", "--activation", "linear", "--attention", "exp", "--t-end", 1,
                   "-o", "blown.h5", code=4, folder=folder)
        check("warning: blown.h5: " in err, err)


def test_an_input_file_is_not_replaced():
    with Folder() as folder:
        for name in ("a.h5", "b.h5"):
            popflow("run", "markov", "--mode", "sgd", "--steps", 2, "-o", name, folder=folder, code=0)
        with open(os.path.join(folder, "a.conf"), "w", encoding="utf-8") as file:
            file.write("system = markov\np = 0.3\n")
        with open(os.path.join(folder, "a.txt"), "w", encoding="utf-8") as file:
            file.write("so it goes on and on")
        os.symlink("a.txt", os.path.join(folder, "link.txt"))
        before = {name: open(os.path.join(folder, name), "rb").read() for name in os.listdir(folder)}
        over = ["--over", "w0=1,2"]
        for words, reader in (
                (["run", "markov", "--init-from", "a.h5", "-o", "./a.h5"], "--init-from"),
                (["run", "markov", "--problem", "a.h5", "-o", "a.h5", "--dry-run"], "--problem"),
                (["run", "--config", "a.conf", "-o", "a.conf"], "--config"),
                (["run", "markov", "--text", "a.txt", "-o", "a.txt"], "--text"),
                (["run", "markov", "--text", "link.txt", "-o", "a.txt"], "--text"),
                (["compare", "markov", "--problem", "a.h5", "-o", "a.h5"], "--problem"),
                (["compare", "--from", "sgd=a.h5,svag:2=b.h5", "-o", "b.h5"], "--from"),
                (["sweep", "--config", "a.conf", *over, "-o", "a.conf"], "--config"),
                (["sweep", "markov", "--over", "init-from=a.h5,b.h5", "-o", "b.h5"], "--over init-from"),
                (["merge", "a.h5", "b.h5", "-o", "b.h5"], "merge"),
                (["plot", "a.h5", "--script", "a.h5"], "plot"),
                (["plot", "a.h5", "--style", "a.txt", "-o", "a.txt"], "--style")):
            err = said(*words, "--force", code=2, folder=folder)
            check(f"is also an input: {reader} reads it" in err and "another name" in err, err)
        after = {name: open(os.path.join(folder, name), "rb").read() for name in os.listdir(folder)}
        check(before == after, "a file was replaced")


def test_messages_never_get_into_files():
    """An opened file takes the lowest free descriptor, which may be that of a closed standard
    stream."""
    with Folder() as folder:
        for command in ("run markov --t-end 1", "sweep markov --over w0=-1,1 --t-end 1 --progress always",
                        "compare markov --t-end 1 --runs 2", "run markov --mode sgd --runs 3 --steps 9"):
            for streams in (">&-", "2>&-", "<&- >&- 2>&-"):
                shell = f'"{BINARY}" {command} -o a.h5 --force {streams}'
                code = subprocess.run(["bash", "-c", shell], cwd=folder, capture_output=True).returncode
                # Unwritten output is a failure, and an unwritten warning is not.
                check(code == (0 if streams == "2>&-" else 5), f"{shell} ended with {code}")
                popflow("info", "a.h5", folder=folder, code=0)


def test_a_file_size_limit_is_reported_as_a_failed_write():
    with Folder() as folder:
        popflow("run", "markov", "--saves", 1000, "-o", "a.h5", folder=folder, code=0)
        shell = f'ulimit -f 1; "{BINARY}" info a.h5 --csv > a.csv'
        ended = subprocess.run(["bash", "-c", shell], cwd=folder, capture_output=True, text=True)
        check(ended.returncode == 5 and "standard output can't be written" in ended.stderr, ended)


def test_an_option_of_run_is_not_taken_for_a_typing_error():
    for words in (["compare", "markov", "--method", "rk4"], ["sweep", "markov", "--first-run", 3]):
        check("only 'run' has this option" in said(*words, code=2), words)


def test_an_end_between_two_steps_is_reported():
    with Folder() as folder:
        for words in (["run"], ["compare", "--rungs", "flow,sgd"]):
            for rate, end, rounded in ((10, 1, 10), (0.3, 1, 0.9), (0.1, 1, None)):
                err = said(words[0], "markov", *words[1:], *(["--mode", "sgd"] if words == ["run"] else []),
                           "--learning-rate", rate, "--t-end", end, "-o", "a.h5", "--force",
                           folder=folder, code=0)
                told = f"--t-end {end} is not a whole number of steps of {rate}: the end is t = {rounded}"
                check((told in err) == (rounded is not None), err)


def test_a_refusal_says_only_what_is_allowed():
    with Folder() as folder:
        for words, allowed, other in (
                (["verify", "markov", "--method", "foo"], "rk4, euler", "heun"),
                (["run", "markov", "--threads", 2**64], "from 1 to 1024", "no larger"),
                (["compare", "markov", "--rungs", "sgd,svag:1e300"], "L from 1 to 1000000", "at least"),
                (["run", "linear-attention", "--init-scale", 1e-320], "give --t-end", "FAILS"),
                (["verify", "linear-attention", "--init-scale", 1e-320], "give --t-end", "FAILS")):
            told = popflow(*words, folder=folder, code=2).err
            check(allowed in told and other not in told, told)
        # The default end would overflow, but --t-end or --steps replaces it.
        for end in (["--t-end", 1], ["--mode", "sgd", "--steps", 10]):
            popflow("run", "linear-attention", "--init-scale", 1e-320, *end, "--dry-run",
                    folder=folder, code=0)


if __name__ == "__main__":
    run_all()
