"""The lock under which files are read."""

from __future__ import annotations

from typing import Any

from xarray.backends.locks import HDF5_LOCK


class Lock:
    """xarray's own lock for HDF5, which stays behind where a dataset is pickled: whoever gets that
    has a lock already. Xarray's pickles only where dask is installed."""

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
