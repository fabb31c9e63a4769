#!/usr/bin/python3
# label: slow
"""Files of unknown origin, given to the program in every way."""

import collections
import os
import random
import resource
import shutil
import subprocess

from runs import BINARY, Ended, Folder, attribute, check, h5py, need, np, popflow, run_all

SMALL = ["--vocab-size", 4, "--context-length", 12, "--saves", 4, "--t-end", 6]
P = np.array([[0.5, 0.2, 0.3], [0.25, 0.7, 0.3], [0.25, 0.1, 0.4]])


def good_run(folder, name="run.h5", *args):
    path = os.path.join(folder, name)
    popflow("run", "scb", *SMALL, *args, "-o", path, code=0)
    return path


def good_problem(path, **how):
    with h5py.File(path, "w", **how) as file:
        file["P"] = P
        file["Q_value"] = np.array([[0.5, 1, 0.25], [0.5, 0, 0.75]])
        file["Q_position"] = np.array([[0, 3, 2], [4, 0, 1]])
        file.attrs["context_length"] = 6
    return path


def change(path, action, **how):
    with h5py.File(path, "r+", **how) as file:
        action(file)
    return path


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def put(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def uses(path):
    return (["info", path], ["info", path, "--csv"], ["resume", path],
            ["resume", path, "--t-end", 9], ["run", "scb", "--problem", path, "--dry-run"],
            ["run", "scb", *SMALL, "--init-from", path, "--dry-run"])


def refused(words, *said):
    """Checks that the program refuses the file in a few printable lines."""
    done = popflow(*words)
    tells = f"popflow {' '.join(map(str, words))} ended with {done.code}: {done.err[:1000]}"
    check(done.code == 3 and done.out == "", tells)
    check(len(done.err.splitlines()) <= 5 and len(done.err) < 1500, tells)
    for word in said:
        check(word in done.err, f"{word!r} is missing: {tells}")


# ---- Links to other files

def external(file, name, target, where):
    del file[name]
    file[name] = h5py.ExternalLink(target, where)


def virtual(file):
    del file["problem/P"]
    layout = h5py.VirtualLayout((4, 4), "f8")
    layout[:] = h5py.VirtualSource("other.h5", "problem/P", (4, 4))
    file.create_virtual_dataset("problem/P", layout)


def raw(file):
    del file["problem/P"]
    secret = os.path.join(os.path.dirname(file.filename), "secret")
    file.create_dataset("problem/P", (4, 4), "f8", external=[(secret, 0, 128)])


def test_links_to_other_files_are_refused():
    changes = {
        "provenance": lambda file: external(file, "provenance", "other.h5", "/provenance"),
        "problem": lambda file: external(file, "problem", "other.h5", "/problem"),
        "time": lambda file: external(file, "time", "pipe", "/time"),
        "restart": lambda file: external(file, "restart", "/dev/stdin", "/restart"),
        "problem/P": virtual,
        "'problem/P'": raw,
    }
    with Folder() as folder:
        other = good_run(folder, "other.h5")
        put(os.path.join(folder, "secret"), P.tobytes() * 2)
        os.mkfifo(os.path.join(folder, "pipe"))
        before = contents(other)
        for named, action in changes.items():
            path = change(shutil.copy(other, os.path.join(folder, "run.h5")), action)
            for words in uses(path):
                refused(words, path, named, "no links to other files")
            check(contents(other) == before, f"{named}: another file was changed")
        listing = sorted(os.listdir(folder))
        check(listing == ["other.h5", "pipe", "run.h5", "secret"], f"left {listing}")


def test_paths_that_are_no_regular_files_are_refused():
    with Folder() as folder:
        pipe = os.path.join(folder, "pipe")
        os.mkfifo(pipe)
        os.symlink(pipe, os.path.join(folder, "link"))
        for path in (pipe, os.path.join(folder, "link"), "/dev/zero", "/dev/null", folder):
            for words in uses(path):
                refused(words, path)


# ---- Sizes

def peak_memory(*words):
    """Runs the program; returns how it ended and its peak memory in MB."""
    process = subprocess.Popen([BINARY, *map(str, words)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, errors="replace")
    err = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Ended(process.returncode, "", err), used.ru_maxrss / 1000


def test_compressed_bombs():
    with Folder() as folder:
        run = good_run(folder)

        def bomb(file, names, kind):
            size, chunk = 2**28, 2**24
            packed = None
            for name in names:
                attributes = dict(file[name].attrs) if name in file else {}
                if name in file:
                    del file[name]
                data = file.create_dataset(name, (size,), kind, chunks=(chunk,),
                                           compression="gzip", compression_opts=9)
                for key, value in attributes.items():
                    if key not in ("DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME"):
                        data.attrs[key] = value
                for at in range(0, size, chunk):
                    if packed is None:
                        data[at:at + chunk] = np.zeros(chunk, kind)
                        packed = data.id.read_direct_chunk((0,))
                    data.id.write_direct_chunk((at,), packed[1], packed[0])

        change(run, lambda file: bomb(file, ["time", "loss"], "i1"))
        check(os.path.getsize(run) < 3e6, "no bomb")
        for words in (["info", run], ["info", run, "--csv"], ["resume", run]):
            done, memory = peak_memory(*words)
            check(done.code == 3 and "'time'" in done.err, f"{words}: {done.code} {done.err}")
            check(memory < 300, f"{words} took {memory} MB")

        problem = good_problem(os.path.join(folder, "problem.h5"))
        change(problem, lambda file: bomb(file, ["mu"], "f8"))
        done, memory = peak_memory("run", "scb", "--problem", problem, "--dry-run")
        check(done.code == 3 and memory < 300, f"{done.code} {done.err} {memory} MB")


# ---- Texts

def test_texts_with_control_characters_are_shown_safely():
    with Folder() as folder:
        run = good_run(folder)
        config = attribute(run, "config", "parameters")

        def scribble(file):
            evil = "\x1b[2J\x1b]0;owned\x07\u009b31m\r"
            for name in ("title", "status", "status_message", "history", "state_fields", "outcome",
                         "source", "system", "mode"):
                file.attrs[name] = file.attrs.get(name, b"").__str__() + evil
            file.attrs["system"], file.attrs["mode"] = "scb", "flow"
            file.attrs["title"] = evil + "t" * 3_000_000
            for name in ("version", "host", "started", "ended", "revision"):
                file["provenance"].attrs[name] = np.bytes_(b"\xff\x1b[1m")
            file[evil + "name"] = np.arange(3.0)
            file["problem"][evil] = np.arange(3.0)
            file[evil + "name"].make_scale(evil)
            del file["loss"].attrs["DIMENSION_LIST"]
            file["loss"].dims[0].attach_scale(file[evil + "name"])

        change(run, scribble)
        done = popflow("info", run, code=0)
        check(len(done.out) < 150_000, f"{len(done.out)} bytes")
        wild = [c for c in done.out if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160]
        check(not wild, f"{wild[:5]}")
        check("owned" in done.out, "the rest of a text is lost")
        for words in (["resume", run], ["run", "scb", "--problem", run, "--dry-run"]):
            done = popflow(*words)
            check("\x1b" not in done.out + done.err and len(done.err) < 2000, f"{words}: {done.err}")

        # A new run's parameters are unaffected.
        other = good_run(folder, "other.h5")
        check(attribute(other, "config", "parameters") == config.replace("run.h5", "other.h5"),
              "config")


# ---- Contents on which HDF5 crashes

def wrong_scales(file):
    file["loss"].attrs["DIMENSION_LIST"] = "text"


def long_scales(file):
    file["loss"].attrs["DIMENSION_LIST"] = np.arange(100)


def many_scales(file):
    rows = np.empty(40, dtype=object)
    for i in range(40):
        rows[i] = np.array([file["time"].ref], dtype=h5py.ref_dtype)
    del file["loss"].attrs["DIMENSION_LIST"]
    file["loss"].attrs.create("DIMENSION_LIST", rows, dtype=h5py.vlen_dtype(h5py.ref_dtype))


def wrong_mark(file):
    kind = h5py.h5t.C_S1.copy()
    kind.set_size(16)
    kind.set_strpad(h5py.h5t.STR_NULLTERM)
    del file["time"].attrs["CLASS"]
    h5py.h5a.create(file["time"].id, b"CLASS", kind, h5py.h5s.create_simple((1000,)))


def test_wrong_lists_of_scales_are_ignored():
    with Folder() as folder:
        run = good_run(folder)
        for action in (wrong_scales, long_scales, many_scales, wrong_mark):
            path = change(shutil.copy(run, os.path.join(folder, "other.h5")), action)
            done = popflow("info", path)
            check(done.code == 0 and "sizes" in done.out, f"{action.__name__}: {done.code} {done.err}")


def test_a_compact_dataset_without_space_is_refused():
    with Folder() as folder:
        path = os.path.join(folder, "compact.h5")
        with h5py.File(path, "w") as file:
            for name in ("P", "mu"):
                plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                plist.set_layout(h5py.h5d.COMPACT)
                data = np.full((3, 3), 1 / 3)
                made = h5py.h5d.create(file.id, name.encode(), h5py.h5t.IEEE_F64LE,
                                       h5py.h5s.create_simple((3, 3)), plist)
                made.write(h5py.h5s.ALL, h5py.h5s.ALL, data)
        whole = contents(path)
        layout = b"\x03\x00\x48\x00" + np.float64(1 / 3).tobytes()  # version 3, compact, 72 bytes
        check(whole.count(layout) == 2, "the layout was not found")
        put(path, whole.replace(layout, b"\x03\x00\x00\x00" + layout[4:]))
        refused(["run", "scb", "--problem", path, "--dry-run"], path)
        refused(["info", path], path)


# ---- Files in new formats, and edited files

def test_newest_layouts():
    with Folder() as folder:
        problem = os.path.join(folder, "problem.h5")
        words = ["run", "scb", "--problem", problem, "--dry-run"]
        for bound in ("earliest", "v108", "v110", "latest"):
            good_problem(problem, libver=bound)
            popflow(*words, code=0)
            with h5py.File(problem, "w", libver=bound) as file:
                file.create_dataset("P", data=P, chunks=(3, 3))
                file.create_dataset("Q_value", data=np.array([[0.5, 1, 0.25], [0.5, 0, 0.75]]),
                                    chunks=(1, 1), compression="gzip")
                file.create_dataset("Q_position", data=np.array([[0, 3, 2], [4, 0, 1]]),
                                    chunks=(1, 2), maxshape=(None, None))
                file.create_dataset("V0", data=np.full((3, 3), 1 / 3), chunks=(1, 1),
                                    maxshape=(None, 3))
                file.attrs["context_length"] = 6
            popflow(*words, code=0)


def rewritten(source, target, how):
    """Copies a file with h5repack; returns whether this succeeded."""
    done = subprocess.run(["h5repack", *how, source, target], capture_output=True, text=True)
    return done.returncode == 0


def test_rewritten_runs_can_be_resumed():
    need("h5repack")
    with Folder() as folder:
        run = good_run(folder)
        expected = good_run(folder, "expected.h5")
        change(run, lambda file: file.attrs.__setitem__("status", "interrupted"))
        latest = os.path.join(folder, "latest.h5")
        check(rewritten(run, latest, ["-L", "-S", "PAGE"]) or rewritten(run, latest, ["-L"]),
              "h5repack")
        popflow("info", latest, code=0)
        popflow("resume", latest, code=0)
        check(attribute(latest, "status") == "complete", "status")
        with h5py.File(latest) as a, h5py.File(expected) as b:
            check(np.array_equal(a["loss"], b["loss"]), "loss")
        packed = os.path.join(folder, "packed.h5")
        check(rewritten(run, packed, ["-f", "GZIP=9"]), "h5repack")
        popflow("info", packed, code=0)
        popflow("run", "scb", "--problem", packed, "--dry-run", code=0)
        refused(["resume", packed], packed, "h5repack -f NONE -l CONTI")
        mended = os.path.join(folder, "mended.h5")
        check(rewritten(packed, mended, ["-f", "NONE", "-l", "CONTI"]), "h5repack")
        popflow("resume", mended, code=0)
        check(attribute(mended, "status") == "complete", "status")


def test_edited_runs_can_be_resumed():
    with Folder() as folder:
        run = good_run(folder)

        def edit(file):
            file.attrs["status"] = "interrupted"
            file.attrs["status_message"] = "cut by me"
            file.attrs["diverged_at"] = 7
            file["provenance"].attrs["resumed"] = "never"
            file["provenance"].attrs["resumed"] = np.int8(3)
            file["provenance"].attrs["ended"] = "now"
            del file["provenance"].attrs["last_resumed"]
            file.attrs["mine"] = "a note"

        change(run, edit)
        popflow("resume", run, code=0)
        check(attribute(run, "status") == "complete", "status")
        check(attribute(run, "status_message") == "reached t = 6", "status_message")
        check(np.isnan(attribute(run, "diverged_at")), "diverged_at")
        check(attribute(run, "resumed", "provenance") == 4, "resumed")
        check(attribute(run, "mine") == "a note", "a user's own attribute")
        popflow("resume", run, "--t-end", 8, code=0)
        popflow("info", run, code=0)


# ---- Random bytes

MASK = 0xFFFFFFFF


def checksum(data):
    """Returns HDF5's checksum (Jenkins' lookup3), so that a changed byte is not found by the
    checksum alone."""
    def rot(x, k):
        return (x << k | x >> (32 - k)) & MASK

    def words(at):
        part = (data[at:at + 12] + bytes(12))[:12]
        return (int.from_bytes(part[i:i + 4], "little") for i in (0, 4, 8))

    a = b = c = (0xDEADBEEF + len(data)) & MASK
    at = 0
    while len(data) - at > 12:
        x, y, z = words(at)
        a, b, c = (a + x) & MASK, (b + y) & MASK, (c + z) & MASK
        for k in (4, 6, 8, 16, 19, 4):
            a = ((a - c) & MASK) ^ rot(c, k)
            c = (c + b) & MASK
            a, b, c = b, c, a
        at += 12
    if len(data) > at:
        x, y, z = words(at)
        a, b, c = (a + x) & MASK, (b + y) & MASK, (c + z) & MASK
        for k in (14, 11, 25, 16, 4, 14, 24):
            c = ((c ^ b) - rot(b, k)) & MASK
            a, b, c = b, c, a
        c = b  # the value that was changed last
    return c


def checked_parts(data):
    """Returns the positions of parts of the structure that end in a checksum."""
    for mark in (b"\x89HDF", b"OHDR", b"OCHK", b"FRHP", b"FHDB", b"BTHD", b"BTLF", b"FADB", b"FAHD"):
        at = data.find(mark)
        while at >= 0:
            for size in range(8, min(700, len(data) - at - 4)):
                stored = int.from_bytes(data[at + size:at + size + 4], "little")
                if stored and checksum(data[at:at + size]) == stored:
                    yield at, size
                    break
            at = data.find(mark, at + 1)


def repaired(data, whole, parts):
    """Repairs checksums of parts, except those of the whole file."""
    for first, size in parts:
        part = bytes(data[first:first + size])
        if part != whole[first:first + size]:
            data[first + size:first + size + 4] = checksum(part).to_bytes(4, "little")
    return bytes(data)


def changed_at_random(whole, parts, chance):
    data = bytearray(whole)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        at = chance.randrange(min(len(data), 6000))
        if parts and chance.random() < 0.8:
            first, size = chance.choice(parts)
            at = first + chance.randrange(size)
        data[at] = chance.choice((0, 1, 2, 3, 64, 127, 128, 254, 255, chance.randrange(256)))
    return repaired(data, whole, parts)


def test_a_crash_of_the_library():
    """In a header with a correct checksum the length of a link's name is far too large: HDF5 1.10
    crashes on it, and 1.14 refuses it."""
    with Folder() as folder:
        made_with = attribute(good_run(folder), "libraries", "provenance")
        crashes = "HDF5 1.10." in made_with
        path = os.path.join(folder, "crash.h5")
        for bound in ("v108", "latest"):
            whole = contents(good_problem(path, libver=bound))
            parts = list(checked_parts(whole))
            data = bytearray(whole)
            at = whole.index(b"\x01\x00\x07Q_value")  # version, flags, length of the name
            data[at + 1] = 2  # the length now has four bytes
            put(path, repaired(data, whole, parts))
            refused(["run", "scb", "--problem", path, "--dry-run"], path,
                    "crashed on it" if crashes else "cannot be read")
            # This file lacks the attributes of a run that `info` needs.
            refused(["info", path], path,
                    "crashed on it" if crashes else "is not a file of a popflow run")


def test_random_bytes_neither_crash_nor_hang():
    with Folder() as folder:
        path = os.path.join(folder, "changed.h5")
        seeds = []
        for bound in ("earliest", "latest"):
            whole = contents(good_problem(path, libver=bound))
            seeds.append((whole, list(checked_parts(whole))))
        check(len(seeds[1][1]) >= 4, f"the checksums were not found: {seeds[1][1]}")
        seeds.append((contents(good_run(folder, "run.h5")), []))
        codes = collections.Counter()
        chance = random.Random(20240607)
        for turn in range(75):
            whole, parts = seeds[turn % len(seeds)]
            put(path, changed_at_random(whole, parts, chance))
            for words in (["info", path], ["run", "scb", "--problem", path, "--dry-run"]):
                done = popflow(*words)
                said = f"turn {turn}: {words[0]} ended with {done.code}: {done.err[:1000]}"
                check(done.code in (0, 2, 3) and len(done.err.splitlines()) <= 5, said)
                codes[done.code] += 1
        check(codes[0] > 0 and codes[3] > 0, f"codes {codes}")
        print(f"  codes {dict(codes)}")


if __name__ == "__main__":
    run_all()
