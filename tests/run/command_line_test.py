#!/usr/bin/python3
# label: fast
"""What the command line answers to words that are nearly right."""

import os

from runs import Folder, check, popflow, run_all


def said(*words, code, folder=None):
    return " ".join(popflow(*words, code=code, folder=folder).err.split())


def test_help_is_a_command_too():
    check(popflow("help", code=0).out == popflow("--help", code=0).out, "help")
    for words in (["run"], ["run", "scb"], ["info"], ["experiments"]):
        check(popflow("help", *words, code=0).out == popflow(*words, "--help", code=0).out, words)
    check("did you mean 'run'" in said("help", "rum", code=2), "help of an unknown command")


def test_a_letter_may_begin_several_options():
    check("-q, which might be --quiet or --q" in said("run", "markov", "-q", 0.3, code=2)
          .replace("--q or --quiet", "--quiet or --q"), "-q of markov")
    check("did you mean '--quiet'" not in said("run", "markov", "-z", code=2), "-z begins none")


def test_nothing_is_written_to_standard_output():
    with Folder() as folder:
        for words in (["run", "markov"], ["compare", "markov"], ["sweep", "markov"], ["merge", "a"]):
            check("give its name" in said(*words, "-o", "-", code=2, folder=folder), words)
        check(os.listdir(folder) == [], "a file was written")


def test_a_quiet_dry_run_shows_its_result():
    with Folder() as folder:
        for command in ("run", "compare"):
            loud = popflow(command, "markov", "--dry-run", folder=folder, code=0)
            quiet = popflow(command, "markov", "--dry-run", "--quiet", folder=folder, code=0)
            check("nothing run" in quiet.out and quiet.out == loud.out, quiet.out)
        check("nothing run" in popflow("sweep", "markov", "--over", "p=0.1,0.2", "--dry-run", "--quiet",
                                       folder=folder, code=0).out, "a sweep")
        check(popflow("run", "markov", "--t-end", 1, "--quiet", folder=folder, code=0).out == "", "quiet")


def test_warnings_name_the_file():
    with Folder() as folder:
        err = said("run", "joma", "--activation", "linear", "--attention", "exp", "--t-end", 1,
                   "-o", "blown.h5", code=4, folder=folder)
        check("warning: blown.h5: " in err, err)


if __name__ == "__main__":
    run_all([test_help_is_a_command_too, test_a_letter_may_begin_several_options,
             test_nothing_is_written_to_standard_output, test_a_quiet_dry_run_shows_its_result,
             test_warnings_name_the_file])
