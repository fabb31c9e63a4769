"""Processor time of commands, of which long ones are cut short."""

import json
import re
import signal

from runs import PATIENCE, check, popflow, start, until_used, worked

MINUTE = 2 * 60  # processor seconds: a minute of two cores
ENOUGH = 3  # processor seconds from which the whole is estimated


def rules():
    """Returns the training rules, from the words of --optimizer."""
    said = popflow("run", "markov", "--optimizer", "none", code=2).err
    return re.findall(r"[\w-]+", said.split("must be ")[1].split(";")[0].replace("one of ", "")
                      .replace(" or ", ", "))


def cost(*words, folder):
    """Returns the processor seconds of a command, estimated if they are many."""
    before = worked()
    process = start(*words, "-o", "x.h5", "--force", "--progress", "json", folder=folder)
    cut = until_used(process, ENOUGH) and process.poll() is None
    if cut:
        process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=PATIENCE)[1]
    seconds = worked() - before
    # A combination that is refused says why; a blow-up in finite time is a result.
    check(process.returncode in (0, 2, 4, 6, 130), f"{words}: {process.returncode} {said}")
    done = [json.loads(line)["done"] for line in said.splitlines() if line.startswith('{"done"')]
    share = max(done[-1], 1e-6) if cut and done else 1e-6 if cut else 1
    return seconds / share


def show(seconds, words):
    print(f"{seconds:8.1f}  {' '.join(words)}", flush=True)
