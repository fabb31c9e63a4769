#!/usr/bin/python3
# label: fast
"""Memory layout of the running program."""

import os

from runs import Folder, Skipped, check, run_all, sanitized, start, until_there


def flags_of_heap(process):
    """Returns the kernel's flags of the heap; "hg" allows large pages."""
    flags, heap = [], False
    with open(f"/proc/{process.pid}/smaps") as maps:
        for line in maps:
            if "-" in line.split()[0]:
                heap = "[heap]" in line
            elif heap and line.startswith("VmFlags:"):
                flags.append(line.split()[1:])
    return flags


def test_the_heap_allows_large_pages():
    if sanitized() or not os.path.exists("/sys/kernel/mm/transparent_hugepage/enabled"):
        raise Skipped("the heap is the sanitizer's, or the system has no large pages")
    with Folder() as folder:
        path = os.path.join(folder, "run.h5")
        process = start("run", "joma-joint", "--t-end", 1e9, "-o", path)
        try:
            until_there(path, process)  # the program has run for a while by then
            flags = flags_of_heap(process)
        finally:
            process.kill()
            process.wait()
        check(any("hg" in of for of in flags), f"the flags of the heap are {flags}")


if __name__ == "__main__":
    run_all()
