"""Results that print in a form of their own: a dataset with a display."""

from __future__ import annotations

from html import escape
from typing import Any

import xarray


class Result:
    """Dataset of a file. Subclasses say how it prints and add attributes.

    xarray advises against subclasses of Dataset, so a result holds a dataset and passes everything
    else on to it. Functions of xarray and isinstance() take the result for a Dataset. Selections
    and other derived data are plain datasets; `dataset` is the whole as a plain one.
    """

    __slots__ = ("dataset",)

    def __init__(self, dataset: xarray.Dataset):
        object.__setattr__(self, "dataset", dataset)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return xarray.Dataset

    def __getattr__(self, name: str) -> Any:
        if name == "dataset":  # not set yet, while unpickling
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.dataset, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.dataset, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *dir(self.dataset)})

    def __reduce__(self) -> tuple:
        return type(self), (self.dataset,)

    def __enter__(self) -> Result:
        return self

    def load(self, **options: Any) -> Result:
        """Reads all data into memory."""
        self.dataset.load(**options)
        return self

    def copy(self, *arguments: Any, **options: Any) -> Result:
        return type(self)(self.dataset.copy(*arguments, **options))

    def __copy__(self) -> Result:
        return self.copy()

    def __deepcopy__(self, memo: dict | None = None) -> Result:
        return self.copy(deep=True)

    def __repr__(self) -> str:
        return repr(self.dataset)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def plain(value: Any) -> Any:
    return value.dataset if issubclass(type(value), Result) else value


def forwarded(name: str) -> Any:
    """Returns a method that calls the dataset's. Python looks up special methods in the class."""
    def method(self: Result, *arguments: Any, **options: Any) -> Any:
        return getattr(self.dataset, name)(*map(plain, arguments), **options)
    method.__name__ = name
    return method


COMPARED = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__format__"}
for _name in sorted(COMPARED | set(dir(xarray.Dataset)) - set(dir(object))):
    special = _name.startswith("__") and callable(getattr(xarray.Dataset, _name))
    if special and _name not in vars(Result):
        setattr(Result, _name, forwarded(_name))
