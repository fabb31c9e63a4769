"""Sets of samples that lie in a file beside the plug-in: dataset() and file()."""

from __future__ import annotations

import csv
import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .building import ADVICE, cache, own, require_writable
from .errors import ModelError
from .laws import Law
from .symbols import told

MAGIC = b"popflow samples\n"
HEADER = np.dtype([("magic", "S16"), ("numbers", "<u8", 4), ("digest", "S32"), ("rest", "S48")])
MOST_SAMPLES, MOST_BYTES = 10_000_000, 2**33
BLOCK = 4_000_000  # numbers that are converted at once


@dataclass
class Table:
    """Samples in a file: the rows of the training set, then those of the test set. A row has the
    numbers of all arrays and, if the samples are weighted, ends with the sample's probability."""

    place: str
    digest: str
    train: int
    test: int
    columns: int
    checksum: int
    hashes: tuple[str, str]  # of the training set and the test set
    weighted: bool
    estimates: bool = False  # whether the samples estimate the population of a stream()

    @property
    def path(self) -> Path:
        return Path(self.place)

    def numbers(self) -> np.memmap:
        return np.memmap(self.path, dtype="<f8", mode="r", offset=HEADER.itemsize,
                         shape=(self.train + self.test, self.columns))

    def in_words(self) -> dict[str, str]:
        """Returns what result files keep of the samples."""
        if self.estimates:
            return {"population": "estimated", "population_samples": str(self.train)}
        return {"train_samples": str(self.train), "train_hash": self.hashes[0],
                **({"test_samples": str(self.test), "test_hash": self.hashes[1]}
                   if self.test else {})}


def file(path: str | os.PathLike[str], variable: str | Sequence[str] | None = None) -> np.ndarray:
    """Returns an array of a file: npz, npy, CSV, netCDF or HDF5.

    `variable` names the array or, in CSV files, one or more columns; a CSV file without names has
    no header, and is one matrix. In files of HDF5, names may be paths: "group/array".
    """
    place = Path(path)
    kind = place.suffix.lower()
    try:
        if kind == ".npy":
            return np.load(place, mmap_mode="r", allow_pickle=False)
        if kind == ".csv":
            return columns_of(place, variable)
        if kind == ".npz":
            with np.load(place, allow_pickle=False) as arrays:
                return named(arrays, arrays.files, variable, place)
        if kind in (".nc", ".nc4", ".h5", ".hdf5", ".he5"):
            import h5py
            with h5py.File(place, "r") as arrays:
                names: list[str] = []
                arrays.visititems(lambda name, item: names.append(name)
                                  if isinstance(item, h5py.Dataset) else None)
                return np.asarray(named(arrays, names, variable, place))
    except (OSError, ValueError) as problem:
        raise ModelError(f"the data in {place} cannot be read: {problem}") from None
    raise ModelError(f"{place} is no file of data: its name must end with .npz, .npy, .csv, .nc, "
                     ".h5 or .hdf5; give arrays of other files as NumPy arrays")


def named(arrays: Any, names: Sequence[str], variable: Any, place: Path) -> np.ndarray:
    if variable is None and len(names) == 1:
        variable = names[0]
    if variable not in names:
        raise ModelError(f"{place} has no array {variable}; it has {', '.join(names) or 'none'}")
    return arrays[variable][()] if hasattr(arrays[variable], "id") else arrays[variable]


def columns_of(place: Path, variable: Any) -> np.ndarray:
    with open(place, newline="") as text:
        first: list[str] = next(csv.reader(text), [])
    if variable is None:
        return np.loadtxt(place, delimiter=",", ndmin=2)
    names = [name.strip() for name in first]
    wanted = [variable] if isinstance(variable, str) else list(variable)
    missing = [name for name in wanted if name not in names]
    if missing:
        raise ModelError(f"{place} has no column {missing[0]}; its first line has "
                         f"{', '.join(names)}")
    found = np.loadtxt(place, delimiter=",", skiprows=1, ndmin=2,
                       usecols=[names.index(name) for name in wanted])
    return found[:, 0] if isinstance(variable, str) else found


def dataset(*arrays: Any, test: Any = None, probability: Any = None,
            sampling: str = "replacement", drop_last: bool = False) -> Law:
    """A set of samples that is stored in a file beside the plug-in: row i of every array belongs to
    sample i.

    `test` holds the arrays of the test set, in the same order. `probability` has a weight for each
    sample. In "epochs" training visits every sample once in each pass. A batch may span two passes;
    with `drop_last` it does not: each pass leaves out the samples of its order that would not fill
    a last batch.
    """
    if drop_last and sampling != "epochs":
        raise ModelError("dataset() has drop_last=True, which needs sampling='epochs'")
    if sampling not in ("replacement", "epochs"):
        raise ModelError(f"the sampling of dataset() is {sampling!r}; it must be 'replacement' or "
                         "'epochs'")
    if probability is not None and sampling == "epochs":
        raise ModelError("dataset() has probabilities, but training in epochs visits all samples "
                         "equally often: leave out probability=, or sampling='epochs'")
    train = checked(arrays, "dataset()")
    tests = checked(test if isinstance(test, (list, tuple)) else (test,), "the test set") \
        if test is not None else []
    shapes = [array.shape[1:] for array in train]
    if tests and [array.shape[1:] for array in tests] != shapes:
        raise ModelError("the samples of the test set are "
                         f"{', '.join(told(array.shape[1:]) for array in tests)}; like those of "
                         f"the training set they must be {', '.join(map(told, shapes))}")
    chances = None
    if probability is not None:
        (chances,) = checked((probability,), "the probability of dataset()")
        if chances.shape != (len(train[0]),) or (np.asarray(chances) < 0).any() \
                or not np.sum(chances) > 0:
            raise ModelError(f"the probability of dataset() is {told(chances.shape)}; it must be "
                             f"a vector of {len(train[0])} numbers that are not negative, and not "
                             "all 0")
    table = stored(train, tests, chances)
    law = Law("finite", epochs=sampling == "epochs", drop_last=bool(drop_last))
    numbers, begin = table.numbers(), 0
    for shape in shapes:
        size = int(np.prod(shape, dtype=int))
        part = numbers[:, begin:begin + size]
        law.arrays.append(part.reshape(len(numbers), *shape))
        begin += size
    law.table = table
    return law


def checked(arrays: Sequence[Any], what: str) -> list[np.ndarray]:
    """Returns arrays of numbers with a row for each sample, not copied."""
    found = []
    for number, array in enumerate(arrays):
        try:
            values = np.asarray(array)
        except (TypeError, ValueError):
            values = np.asarray(None)
        if values.dtype.kind not in "biuf" or np.ma.is_masked(array):
            raise ModelError(f"array {number} of {what} is {type(array).__name__}; it must be "
                             "numbers")
        if values.ndim == 0 or len(values) == 0:
            raise ModelError(f"array {number} of {what} has no rows; a row is a sample")
        found.append(values)
    rows = [len(values) for values in found]
    if not rows:
        raise ModelError(f"{what} has no arrays; give one or more, with a row for each sample")
    if len(set(rows)) > 1:
        raise ModelError(f"the arrays of {what} have {', '.join(map(str, rows))} rows; all must "
                         "have a row for each sample")
    return found


def blocks(arrays: Sequence[np.ndarray], what: str) -> Iterator[np.ndarray]:
    """Yields rows of all arrays side by side, as doubles. Refuses numbers that are not finite."""
    width = sum(int(np.prod(array.shape[1:], dtype=int)) for array in arrays)
    step = max(1, BLOCK // max(width, 1))
    for begin in range(0, len(arrays[0]), step):
        block = np.hstack([np.asarray(array[begin:begin + step], dtype="<f8").reshape(
            len(array[begin:begin + step]), -1) for array in arrays])
        if not np.isfinite(block).all():
            row, column = (int(i) for i in np.argwhere(~np.isfinite(block))[0])
            raise ModelError(f"sample {begin + row} of {what} is {block[row, column]} at its "
                             f"number {column}; all numbers must be finite")
        yield np.ascontiguousarray(block)


def stored(train: list[np.ndarray], tests: list[np.ndarray], chances: np.ndarray | None
           ) -> Table:
    """Returns the file of a set of samples, in the cache by its content."""
    sets = [(train, "dataset()")]
    if tests:
        sets.append((tests, "the test set"))
    if chances is not None:
        sets[0] = ([*train, np.asarray(chances, float) / np.sum(chances, dtype=float)], "dataset()")
        if tests:
            sets[1] = ([*tests, np.full(len(tests[0]), 1 / len(tests[0]))], "the test set")
    counts = [len(arrays[0]) for arrays, _ in sets] + [0] * (2 - len(sets))
    columns = sum(int(np.prod(array.shape[1:], dtype=int)) for array in sets[0][0])
    size = HEADER.itemsize + 8 * sum(counts) * columns
    if sum(counts) > MOST_SAMPLES or size > MOST_BYTES:
        raise ModelError(f"dataset() has {sum(counts)} samples of {columns} numbers, {size >> 20} "
                         f"MiB; it takes up to {MOST_SAMPLES} samples and {MOST_BYTES >> 20} MiB")
    whole, checksum, position, hashes = hashlib.blake2b(digest_size=16), 0, 0, []
    whole.update(repr((counts, columns, chances is not None)).encode())
    for arrays, what in sets:
        part = hashlib.blake2b(digest_size=16)
        for block in blocks(arrays, what):
            whole.update(block.data)
            part.update(block.data)
            checksum = (checksum + checksum_of(block, position)) % 2**64
            position += block.size
        hashes.append(part.hexdigest())
    table = Table(str(own(own(cache()) / "samples") / f"{whole.hexdigest()}.samples"),
                  whole.hexdigest(), counts[0], counts[1], columns, checksum,
                  (hashes[0], hashes[1] if tests else ""), chances is not None)
    if not is_whole(table):
        write(table, sets)
    return table


def checksum_of(block: np.ndarray, position: int) -> int:
    """Sum of the numbers' bits times odd weights, which any single wrong number changes."""
    words = block.reshape(-1).view("<u8")
    weights = np.arange(position, position + words.size, dtype=np.uint64) * 2 + 1
    return int(np.sum(words * weights, dtype=np.uint64))


def header(table: Table) -> bytes:
    made = np.zeros((), HEADER)
    made["magic"], made["digest"] = MAGIC, table.digest.encode()
    made["numbers"] = (table.train, table.test, table.columns, table.checksum)
    return made.tobytes()


def is_whole(table: Table) -> bool:
    """Returns whether the file has its header, its size and its sum."""
    size = HEADER.itemsize + 8 * (table.train + table.test) * table.columns
    try:
        if table.path.stat().st_size != size:
            return False
        with open(table.path, "rb") as handle:
            if handle.read(HEADER.itemsize) != header(table):
                return False
        words, found = np.memmap(table.path, dtype="<f8", mode="r", offset=HEADER.itemsize), 0
        for begin in range(0, words.size, BLOCK):
            found = (found + checksum_of(words[begin:begin + BLOCK], begin)) % 2**64
        return found == table.checksum
    except (OSError, ValueError):
        return False


def write(table: Table, sets: Sequence[tuple[list[np.ndarray], str]]) -> None:
    """Writes the file of samples: to another name first, so that no process sees a part."""
    require_writable(table.path.parent)
    try:
        handle, name = tempfile.mkstemp(prefix="samples-", dir=table.path.parent)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(header(table))
                for arrays, what in sets:
                    for block in blocks(arrays, what):
                        out.write(block.data)
                out.flush()
                os.fsync(out.fileno())
            os.replace(name, table.path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise ModelError(f"the samples cannot be written to the cache: {error}; {ADVICE}") from None


def beside(table: Table, folder: Path) -> None:
    """Links the file of samples into the folder of a plug-in; copies it if the file system has no
    links."""
    target = folder / table.path.name
    try:
        if target.exists() and os.path.samefile(target, table.path):
            return
        name = tempfile.mktemp(prefix="samples-", dir=folder)
        try:
            os.link(table.path, name)
        except OSError:
            import shutil
            shutil.copyfile(table.path, name)
        os.replace(name, target)
    except OSError as error:
        raise ModelError(f"the samples cannot be put beside the plug-in: {error}; "
                         f"{ADVICE}") from None
