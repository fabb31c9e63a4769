"""Folders that nobody but their owner can change: they hold code that runs, and a session's
files."""

from __future__ import annotations

import functools
import grp
import os
import pwd
import stat
from pathlib import Path

from .errors import OutputError

MOST_LINKS = 40


def private_folder(path: Path) -> Path:
    """Returns a folder of mode 700 that belongs to the user; makes it and its parents if needed.

    Raises OutputError with the reason if somebody else could replace the folder or has been able to
    write to it.
    """
    try:
        for folder in [*reversed(path.parents), path]:
            if not folder.is_dir():
                folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as problem:
        raise OutputError(f"the folder {path} cannot be used: "
                          f"{problem.strerror or problem}") from None
    require_private(path)
    return path


def require_private(path: Path) -> None:
    """Raises OutputError with the reason unless a folder is the user's own and private."""
    try:
        *parents, (_, own) = steps(path)
        for place, found in parents:
            reason = danger(found)
            if reason:
                raise refused(path, place, reason)
        if not stat.S_ISDIR(own.st_mode):
            raise refused(path, path, "is no folder")
        if os.path.islink(path):
            raise refused(path, path, "is a symbolic link")
        if own.st_uid != os.geteuid():
            raise refused(path, path, f"belongs to {user(own.st_uid)}, not to "
                                      f"{user(os.geteuid())}")
        reason = writable_by(own)
        if reason:
            raise refused(path, path, reason)
        if own.st_mode & 0o077:
            os.chmod(path, 0o700)  # others could read the folder, but not write to it
    except OSError as problem:
        raise OutputError(f"the folder {path} cannot be used: "
                          f"{problem.strerror or problem}") from None


def refused(path: Path, place: Path | str, reason: str) -> OutputError:
    where = "it" if os.fspath(place) == os.fspath(path) else f"{place}"
    return OutputError(f"the folder {path} is not safe: {where} {reason}")


def steps(path: Path) -> list[tuple[str, os.stat_result]]:
    """Returns each folder and each symbolic link on the way to a path, with its status."""
    waiting = list(reversed(Path(os.path.abspath(path)).parts))
    found: list[tuple[str, os.stat_result]] = []
    at, links = "", 0
    while waiting:
        part = waiting.pop()
        at = os.path.dirname(at) if part == ".." else os.path.join(at, part)
        status = os.lstat(at)
        found.append((at, status))
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > MOST_LINKS:
                raise OutputError(f"the path {path} has too many symbolic links")
            target = os.readlink(at)
            at = os.path.dirname(at)
            waiting.extend(reversed(Path(target).parts))
    return found


def danger(found: os.stat_result) -> str:
    """Returns why a folder or link lets others replace what lies below; empty if none can."""
    if found.st_uid not in (0, os.geteuid(), unmapped_user()):
        return f"belongs to {user(found.st_uid)}"
    if stat.S_ISLNK(found.st_mode) or found.st_mode & stat.S_ISVTX:
        return ""
    return writable_by(found)


def writable_by(found: os.stat_result) -> str:
    """Returns who else may write to a folder; empty if nobody may."""
    if found.st_mode & stat.S_IWOTH:
        return "can be written by everybody"
    if found.st_mode & stat.S_IWGRP and not is_own_group(found.st_gid):
        return f"can be written by the group {group(found.st_gid)}"
    return ""


@functools.cache
def unmapped_user() -> int:
    """Returns the number that stands for root in containers without root, else root's."""
    try:
        if Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"]:
            return 0
        return int(Path("/proc/sys/kernel/overflowuid").read_text())
    except (OSError, ValueError):
        return 0


def is_own_group(number: int) -> bool:
    """Returns whether a group consists of the user alone, as the group of the same name does where
    each user has one."""
    if number == 0:
        return True  # its members are administrators
    try:
        own, members = pwd.getpwuid(os.geteuid()), grp.getgrgid(number)
    except KeyError:
        return False
    return number == own.pw_gid and members.gr_name == own.pw_name and \
        set(members.gr_mem) <= {own.pw_name}


def user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
