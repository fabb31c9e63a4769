#!/usr/bin/python3
# label: fast
"""Configurations: their system and options, and options that the command line overrides."""

import os

from runs import Folder, check, popflow, run_all

SOURCE = os.environ["POPFLOW_SOURCE_DIR"]
KJV = os.path.join(SOURCE, "data", "counts", "kjv-letters.tsv")
PANGRAM = "the quick brown fox jumps over the lazy dog, and jumps again. "


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def dry(*words, folder, **more):
    return popflow(*words, "--dry-run", folder=folder, **more)


def options(ended):
    """Returns the options that a dry run shows."""
    return dict(line.split(" = ", 1) for line in ended.out.splitlines() if " = " in line)


def refused(*words, folder, code, said):
    ended = dry(*words, folder=folder, code=code)
    for part in said:
        check(part in ended.err, f"{words}: {ended.err}")


def test_the_command_line_replaces_an_alternative_option():
    with Folder() as folder:
        write(folder, "mine.txt", PANGRAM * 20)
        counted = write(folder, "counts.cfg", f"counts = {KJV}\ncontext-length = 50\n")
        found = options(dry("run", "scb", "--config", counted, "--text", "mine.txt", folder=folder,
                            code=0))
        check(found["text"].endswith("mine.txt") and "counts" not in found, found)
        check(found["context-length"] == "50", "the rest of the configuration holds")

        chain = write(folder, "chain.cfg", "p = 0.3\nq = 0.6\ne0 = 0.4\n")
        found = options(dry("run", "markov", "--config", chain, "--text", "mine.txt", "--text-ones",
                            "aeiou", folder=folder, code=0))
        check(found["p"] != "0.3" and found["e0"] == "0.4", found)
        read = write(folder, "text.cfg", "text = mine.txt\ntext-ones = aeiou\n")
        found = options(dry("run", "markov", "--config", read, "--p", 0.3, folder=folder, code=0))
        check(found["p"] == "0.3" and "text" not in found, found)

        ended = write(folder, "end.cfg", "mode = sgd\nt-end = 7\nsaves = 5\n")
        found = options(dry("run", "markov", "--config", ended, "--steps", 20, "--save-at", "0.1",
                            folder=folder, code=0))
        check(found["steps"] == "20" and found["saves"] == "201", found)


def test_a_message_says_where_conflicting_options_stand():
    with Folder() as folder:
        write(folder, "mine.txt", PANGRAM)
        refused("run", "scb", "--text", "mine.txt", "--counts", KJV, folder=folder, code=2,
                said=("--text", "--counts", "both on the command line"))
        both = write(folder, "both.cfg", f"text = mine.txt\ncounts = {KJV}\n")
        refused("run", "scb", "--config", both, folder=folder, code=3,
                said=("--text", "--counts", "both in the configuration"))
        dry("run", "scb", "--config", both, "--counts", KJV, folder=folder, code=0)
        saves = write(folder, "saves.cfg", "saves = 7\nsave-at = 1,2\n")
        refused("run", "markov", "--config", saves, folder=folder, code=2,
                said=("--save-at", "--saves", "both in the configuration"))


def test_a_configuration_names_its_system():
    with Folder() as folder:
        config = write(folder, "chain.cfg", "system = markov\np = 0.3\nt-end = 2\n")
        for command in ("run", "compare", "sweep"):
            ended = dry(command, "--config", config, folder=folder, code=0)
            check(f"{command} markov" in ended.out and options(ended)["p"] == "0.3", ended.out)
            dry(command, "markov", f"--config={config}", folder=folder, code=0)
        refused("run", "scb", "--config", config, folder=folder, code=2,
                said=("line 1", "system = markov", "scb"))
        unknown = write(folder, "unknown.cfg", "system = markoff\n")
        refused("run", "--config", unknown, folder=folder, code=3, said=("markov", "unknown.cfg"))
        silent = write(folder, "silent.cfg", "p = 0.3\n")
        refused("run", "--config", silent, folder=folder, code=2, said=("system = NAME",))
        refused("run", "--p", 0.3, folder=folder, code=2, said=("--config FILE",))


def test_a_configuration_serves_other_commands():
    with Folder() as folder:
        config = write(folder, "run.cfg", "system = joma-joint\nmethod = euler\ndt = 0.1\n"
                       "state = all\nt-end = 2\nstop-when = steady\n")
        ended = popflow("compare", "--config", config, "--runs", 2, "--saves", 3, "-o", "c.h5",
                        folder=folder, code=0)
        remarks = [line for line in ended.err.splitlines() if "ignores these options" in line]
        check(len(remarks) == 1, ended.err)
        for key in ("method", "dt", "stop-when"):
            check(key in remarks[0], remarks[0])
        check("state" not in remarks[0], remarks[0])
        ended = dry("sweep", "--config", config, folder=folder, code=0)
        check("run.cfg: state" in " ".join(ended.err.split()), ended.err)
        ended = dry("run", "--config", config, folder=folder, code=0)
        check("ignores these options" not in ended.err and options(ended)["dt"] == "0.1", ended.err)

        swept = write(folder, "sweep.cfg", "system = markov\nover = p=0.1,0.2\nover = q=0.2,0.3\n"
                      "record = series\nt-end = 3\n")
        ended = dry("run", "--config", swept, folder=folder, code=0)
        check("sweep.cfg: over, record" in " ".join(ended.err.split()),
              ended.err)
        check("ignores these options" not in dry("run", "--config", swept, "--quiet", folder=folder,
                                      code=0).err, "a remark though quiet")
        for wrong in ("t-edn = 2\n", "method = dopri\n"):
            refused("run", "markov", "--config", write(folder, "wrong.cfg", wrong), folder=folder,
                    code=3, said=("did you mean",))


def test_experiments_are_found_by_name():
    with Folder() as folder:
        listed = popflow("experiments", folder=folder, code=0).out
        names = sorted(name[:-4] for name in os.listdir(os.path.join(SOURCE, "data", "experiments"))
                       if name.endswith(".cfg"))
        for name in names:
            check(f"--config {name}\n  Claim" in listed, f"{name} is not listed")
        page = popflow("experiments", "scb-two-stages", folder=folder, code=0).out
        check("Claim" in page and "system = scb" in page, page)
        check("scb-valley" in popflow("experiments", "scb-vally", folder=folder, code=2).err, "near")
        found = options(dry("run", "--config", "scb-two-stages", folder=folder, code=0))
        check(found["counts"] == KJV, "its files are found from its own folder")
        # Files along an axis are found from the configuration's folder too.
        os.mkdir(os.path.join(folder, "sub"))
        write(folder, "sub/a,b.txt", "abracadabra" * 20)
        write(folder, "sub/sweep.cfg", "over = text=a\\,b.txt\nt-end = 1\n")
        popflow("sweep", "markov", "--config", "sub/sweep.cfg", "-o", "s.h5", "--quiet", folder=folder,
                code=0)
        refused("run", "--config", "scb-two-stage", folder=folder, code=3,
                said=("did you mean 'scb-two-stages'",))
        # A file with an experiment's name takes precedence.
        write(folder, "markov-onegin", "system = markov\np = 0.111\n")
        found = options(dry("run", "--config", "markov-onegin", folder=folder, code=0))
        check(found["p"] == "0.111", found)


if __name__ == "__main__":
    run_all()
