"""Steps that make a figure, to be run or written as a script."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import xarray

from .page import Page

Panel = list["Step"]


@dataclass(frozen=True)
class Step:
    """A call of a function of this package: the function and its arguments beyond axes and data."""

    draw: Callable[..., None]
    arguments: tuple = ()
    options: dict[str, Any] = field(default_factory=dict)

    def carry_out(self, axes: Any, data: xarray.Dataset) -> None:
        self.draw(axes, data, *self.arguments, **self.options)

    def code(self, axes: str, data: str) -> str:
        """Returns the call as a line of Python."""
        given = [axes, data, *map(python, self.arguments),
                 *(f"{name}={python(value)}" for name, value in self.options.items())]
        return f"{self.draw.__name__}({', '.join(given)})"


def python(value: Any) -> str:
    """Returns the value as Python source, with double quotes if they need no escapes."""
    text = repr(value)
    return text if '"' in text else text.replace("'", '"')


def step(draw: Callable[..., None], *arguments: Any, **options: Any) -> Step:
    """Returns a step without the options that are None."""
    return Step(draw, arguments, {name: value for name, value in options.items()
                                  if value is not None})


@dataclass
class Plan:
    """Panels of a page with their steps, and the steps for the whole page."""

    name: str  # the script's variable for the file's data
    panels: list[Panel]
    whole: list[Step] = field(default_factory=list)
    wide: bool = False  # the last panel may be wide even if it is not over time

    @property
    def wide_last(self) -> bool:
        """Returns whether the last panel, one over time, takes its whole row.

        The panel stays in the left column if a panel there has a colour bar, which needs the space.
        """
        bars = any(own.draw.__name__ in ("field", "beside", "blocks") for panel in self.panels[::2]
                   for own in panel)
        return len(self.panels) % 2 == 1 and len(self.panels) > 1 and \
            (self.whole != [] or self.wide) and not bars

    def carry_out(self, page: Page, data: xarray.Dataset) -> None:
        for axes, steps in zip(page, self.panels):
            for own in steps:
                own.carry_out(axes, data)
        for own in self.whole:
            own.carry_out(page, data)

    def functions(self) -> list[str]:
        steps = [own for panel in self.panels for own in panel] + self.whole
        return sorted({own.draw.__name__ for own in steps})

    def code(self) -> list[str]:
        lines = [own.code(f"page[{number}]", self.name)
                 for number, steps in enumerate(self.panels) for own in steps]
        return lines + [own.code("page", self.name) for own in self.whole]
