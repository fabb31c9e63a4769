"""Reads the program's progress: {"done": 0.4, "seconds_left": 9, "text": ""} or {"note": "..."}."""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any


class Progress:
    """Progress bar by tqdm in terminals and notebooks; nothing elsewhere or without tqdm."""

    def __init__(self, title: str, show: bool | None = None):
        self.title, self.bar = title, None
        self.show = watched() if show is None else show

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: Any) -> None:
        if self.bar is not None:
            self.bar.close()

    def complete(self) -> None:
        """Completes the bar, even if the last progress line was below 100%."""
        if self.bar is not None:
            self.bar.n = 1.0
            self.bar.set_postfix_str("")

    def take(self, line: str) -> bool:
        """Shows a line of progress; returns False if the line is no progress."""
        if not line.startswith("{"):
            return False
        try:
            state = json.loads(line)
            done, left = float(state["done"]), state.get("seconds_left")
            text = str(state.get("text", "")) + ("" if left is None else f", {clock(left)} left")
        except (ValueError, KeyError, TypeError):
            return False
        if self.show and self.bar is None:
            self.bar = new_bar(self.title)
            self.show = self.bar is not None
        if self.bar is not None:
            self.bar.set_postfix_str(text, refresh=False)
            self.bar.n = min(max(done, 0.0), 1.0)
            self.bar.refresh()
        return True


def plain(line: str) -> str:
    """Returns the text of a line: of a note, of a warning (marked as such), or the line itself."""
    try:
        said = json.loads(line) if line.startswith("{") else {}
    except ValueError:
        return line
    if "warning" in said:
        return f"warning: {said['warning']}"
    return str(said.get("note", line))


def clock(seconds: float) -> str:
    """Returns a duration as 3:25 or 1:03:25."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def watched() -> bool:
    """Returns whether Python runs in a terminal or a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def new_bar(title: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # without ipywidgets a notebook shows a text bar
            from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=1.0, desc=title, bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}"
                "{postfix}")
