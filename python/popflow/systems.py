"""Systems that the program offers, with their options as signatures and docstrings."""

from __future__ import annotations

import inspect
import keyword
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from . import commands, executable

TYPES: dict[str, Any] = {"number": float, "whole": int, "word": str, "flag": bool,
                         "file": commands.PathLike, "text": str}


class System:
    """A system: its reference page, and the commands with its options as arguments."""

    def __init__(self, name: str):
        self.name = name

    @cached_property
    def page(self) -> str:
        """Returns the reference page: equations, parameters, observables, events."""
        return executable.ask("systems", self.name)

    @cached_property
    def description(self) -> dict[str, Any]:
        """Returns the reference page as data, with the options of the commands."""
        return executable.ask_json("systems", self.name)

    @cached_property
    def run(self) -> Callable[..., Any]:
        return self._with_options(commands.run)

    @cached_property
    def sweep(self) -> Callable[..., Any]:
        return self._with_options(commands.sweep)

    @cached_property
    def compare(self) -> Callable[..., Any]:
        return self._with_options(commands.compare)

    @cached_property
    def verify(self) -> Callable[..., Any]:
        return self._with_options(commands.verify)

    def _with_options(self, command: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the command for this system, with signature and docstring from its page."""
        def bound(*arguments: Any, **options: Any) -> Any:
            return command(self.name, *arguments, **options)

        bound.__name__ = command.__name__
        bound.__qualname__ = f"{self.name}.{command.__name__}"
        own = list(inspect.signature(command).parameters.values())[1:]
        theirs = self.description["commands"][command.__name__]["options"]
        taken = {*(parameter.name for parameter in own), *commands.RESERVED}
        options = [option for option in [*self.description["options"], *theirs]
                   if argument(option["name"]) not in taken]
        own[-1:] = map(parameter, options)
        bound.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
        bound.__doc__ = "\n\n".join(
            [f"{self.description['title']}.", inspect.getdoc(command) or "",
             "\n".join(map(described, options))])
        return bound

    def __repr__(self) -> str:
        return self.page


def parameter(option: Mapping[str, Any]) -> inspect.Parameter:
    """Returns an option as a parameter of a signature."""
    kind = TYPES.get(option["type"], str)
    default = option.get("default")
    if kind is bool:
        default = False
    elif default is not None and kind in (int, float):
        default = kind(float(default))
    return inspect.Parameter(argument(option["name"]), inspect.Parameter.KEYWORD_ONLY,
                             default=default, annotation=kind | None if default is None else kind)


def argument(option: str) -> str:
    """Returns the Python name of an option."""
    name = option.replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


def described(option: Mapping[str, Any]) -> str:
    kind = "|".join(option.get("words") or []) or option["type"]
    default = option.get("default") or option.get("default_note")
    head = f"{argument(option['name'])} : {kind}" + (f", default {default}" if default else "")
    return head + "\n" + textwrap.indent(textwrap.fill(option.get("meaning", ""), 92), "    ")


class Systems(Mapping):
    """Systems by name, also as attributes (with _ for -)."""

    @cached_property
    def _titles(self) -> dict[str, str]:
        return {system["name"]: system["title"] for system in executable.ask_json("systems")}

    @cached_property
    def _systems(self) -> dict[str, System]:
        return {name: System(name) for name in self._titles}

    def __getitem__(self, name: str) -> System:
        return self._systems[name]

    def __getattr__(self, name: str) -> System:
        if name.startswith("_"):
            raise AttributeError(name)
        for own in (name, name.replace("_", "-")):
            if own in self._systems:
                return self._systems[own]
        raise AttributeError(f"no system {name}; there are: {', '.join(self._systems)}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._systems)

    def __len__(self) -> int:
        return len(self._systems)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name.replace("-", "_") for name in self._systems)]

    def __repr__(self) -> str:
        return "\n".join(f"{name:18} {title}" for name, title in self._titles.items())
