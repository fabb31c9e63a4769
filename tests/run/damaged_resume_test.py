#!/usr/bin/python3
# label: fast
"""Damage to a file is found before its run continues, and the message names the damaged part."""

import fcntl
import os
import shutil
import struct
import threading
import time

from runs import Folder, check, h5py, np, popflow, run_all, start, until_there

# The runs would take hours, so messages must come before anything is computed.
LONG = ["--t-end", 1e9, "--rtol", 1e-12, "--saves", 5]


def begun(folder, *words):
    """Returns the file of a long run that was killed."""
    path = os.path.join(folder, words[0] + ".h5")
    process = start(*words, "-o", path)
    until_there(path, process)
    process.kill()
    process.wait()
    return path


def swapped(a, b):
    def change(file):
        file.move(a, "between")
        file.move(b, a)
        file.move("between", b)
    return change


def reversed_axis(name):
    return lambda file: file[name].__setitem__(..., file[name][()][::-1])


def other_scale(name, axis, to):
    def change(file):
        dimension = file[name].dims[axis]
        dimension.detach_scale(dimension[0])
        dimension.attach_scale(file[to])
    return change


def check_each_refused(path, changes):
    for change, said in changes:
        wrong = path.replace(".h5", "-changed.h5")
        shutil.copy(path, wrong)
        with h5py.File(wrong, "r+") as file:
            change(file)
        ended = popflow("resume", wrong, code=3, timeout=60)
        check(f"'{wrong}' is damaged" in ended.err and said in ended.err, ended.err)


def test_wrong_axes_are_refused_at_once():
    with Folder() as folder:
        path = begun(folder, "run", "joma-joint", "--tokens", 10, *LONG)
        check_each_refused(path, [
            (reversed_axis("token"), "its axis 'token' has 9 in place 0"),
            (swapped("node", "class"), "the axes of 'V' are time, token, class, not time, token, node"),
            (other_scale("V", 2, "class"), "the axes of 'V' are"),
            (other_scale("r", 1, "token"), "the axes of 'r' are time, token, not time, node"),
        ])
        path = begun(folder, "sweep", "markov", "--over", "w0=1,2,3", "--over", "e0=.1,.2,.3",
                     *LONG[:4], "--kernel", "scalar")
        check_each_refused(path, [
            (reversed_axis("w0"), "its axis 'w0' has 3 in place 0"),
            (swapped("w0", "e0"), "'w0'"),
        ])
        path = begun(folder, "compare", "markov", "--rungs", "flow,sgd", *LONG[:2], "--saves", 5)
        check_each_refused(path, [(reversed_axis("sgd/run"), "its axis 'sgd/run' has")])


def test_an_extension_checks_the_stored_spacing():
    with Folder() as folder:
        path = os.path.join(folder, "run.h5")
        for words, wrong in ((["--saves", 5], (0.3, 1e-300, np.nan, -1)),
                             (["--saves", 5, "--save-spacing", "log"], (1.5, 1.0, np.inf)),
                             (["--save-at", "1,1.5,2"], ())):
            popflow("run", "markov", "--t-end", 2, *words, "-o", path, "--force", code=0)
            for step in wrong:
                shutil.copy(path, folder + "/copy.h5")
                with h5py.File(folder + "/copy.h5", "r+") as file:
                    file["restart"].attrs.modify("spacing_step", step)
                ended = popflow("resume", "copy.h5", "--t-end", 3, code=3, folder=folder)
                check("copy.h5 is damaged: its group 'restart' states that the times are" in ended.err,
                      ended.err)
            shutil.copy(path, folder + "/copy.h5")
            with h5py.File(folder + "/copy.h5", "r+") as file:
                file["restart"].attrs["spacing"] = "nonsense"
            ended = popflow("resume", "copy.h5", "--t-end", 3, code=3, folder=folder)
            check("the times are nonsense" in ended.err, ended.err)
            popflow("resume", path, "--t-end", 3, code=0)
            popflow("resume", path, "--t-end", 3.2, code=0)
            popflow("resume", path, "--t-end", 5, code=0)


def test_unreadable_metadata_are_reported_as_damage():
    with Folder() as folder:
        path = begun(folder, "run", "joma-joint", *LONG)
        with open(path, "rb") as file:
            data = bytearray(file.read())
        # HDF5 stores a checksum of the block that contains this text.
        at = data.find(b"the run has not ended")
        check(at > 0, "the text was not found")
        data[at] ^= 1
        with open(path, "wb") as file:
            file.write(data)
        ended = popflow("resume", path, code=3, timeout=60)
        check(f"'{path}' is damaged: the attribute 'status_message' cannot be read" in ended.err,
              ended.err)
        check("cannot write" not in ended.err, ended.err)


def lock_of_whole_file():
    """Returns a lock of the whole open file, like popflow's."""
    return struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


def test_a_command_waits_for_a_lock_that_is_released_soon():
    """A killed process may leave a child that ends shortly after it and keeps files open until
    then."""
    with Folder() as folder:
        path = os.path.join(folder, "run.h5")
        popflow("run", "markov", "--t-end", 2, "-o", path, code=0)
        for words in (["resume", path, "--t-end", 4], ["run", "markov", "-o", path, "--force"]):
            file = open(path, "r+b")
            fcntl.fcntl(file, fcntl.F_OFD_SETLK, lock_of_whole_file())
            popflow(*words, code=5)  # this lock is never released
            threading.Timer(0.25, file.close).start()
            began = time.monotonic()
            popflow(*words, code=0)
            check(time.monotonic() - began > 0.2, "the file was not locked")


if __name__ == "__main__":
    run_all()
