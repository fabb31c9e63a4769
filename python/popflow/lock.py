"""Lock that guards reading of files."""

from __future__ import annotations

from typing import Any

from xarray.backends.locks import HDF5_LOCK


class Lock:
    """xarray's lock for HDF5. Pickling leaves it out: the unpickling process uses its own lock.

    xarray's own lock can be pickled only if dask is installed.
    """

    def acquire(self, *arguments: Any, **options: Any) -> bool:
        return HDF5_LOCK.acquire(*arguments, **options)

    def release(self) -> None:
        HDF5_LOCK.release()

    def locked(self) -> bool:
        return HDF5_LOCK.locked()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: Any) -> None:
        self.release()
