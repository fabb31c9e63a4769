"""Which verdicts change under another training rule: the short forms of the claims, measured again.

  python3 -m claims.rules               momentum and adam, all claims; keeps what it finds
  python3 -m claims.rules adam 14 17    one rule, some claims
  python3 -m claims.rules --page        only makes the table of docs/claims.md anew

Every run, sweep and comparison of a claim gets --optimizer, with the rule's default numbers and the
program's default learning rate where the claim has none. A rule that popflow refuses there has no
verdict: the table has the reason. A claim that takes more than LIMIT seconds stays as it was kept.
"""

from __future__ import annotations

import json
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import popflow

from . import results
from .claim import CLAIMS
from .page import PLACE, cells

RULES = ("momentum", "adam")
LIMIT = 400  # seconds of each claim and rule
KEPT = Path(__file__).with_name("results") / "rules.json"
BEGIN, END = "<!-- made by claims.rules -->", "<!-- end of what claims.rules made -->"


class TooLong(Exception):
    pass


def measured(number: int, rule: str) -> dict[str, Any] | None:
    """The verdict of a claim's short form under a rule, or why it has none; None if it takes too
    long."""
    def too_long(*_: Any) -> None:
        raise TooLong

    commands = {name: getattr(popflow, name) for name in ("run", "sweep", "compare")}

    def under_rule(command: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *words, **options: command(*words, **{"optimizer": rule, **options})

    before = signal.signal(signal.SIGALRM, too_long)
    began = time.monotonic()
    try:
        for name, command in commands.items():
            setattr(popflow, name, under_rule(command))
        signal.alarm(LIMIT)
        with tempfile.TemporaryDirectory() as folder:
            popflow.folder(folder)
            found = results.Result(CLAIMS[number].measure(False), 0)
        kept: dict[str, Any] = {"verdict": found.verdict()}
    except TooLong:
        return None
    except popflow.Error as error:
        kept = {"reason": " ".join(str(error).split())}
    except Exception as error:  # what the claim looks for is not there, such as an event
        kept = {"reason": f"cannot be measured: {type(error).__name__}: {error}"}
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        for name, command in commands.items():
            setattr(popflow, name, command)
    return {**kept, "seconds": round(time.monotonic() - began, 1)}


def keep(number: int, rule: str, found: dict[str, Any]) -> None:
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    kept.setdefault(f"{number:02}", {})[rule] = found
    KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def table() -> str:
    kept = json.loads(KEPT.read_text())
    lines = [cells("", "plain SGD or its flow", *RULES, "changes"), cells(*["---"] * 5)]
    for number, under in sorted(kept.items()):
        plain = results.load(int(number))["short"].verdict()
        said = [under[rule].get("verdict") or f"none: {short(under[rule]['reason'])}"
                if rule in under else "not measured" for rule in RULES]
        changed = [rule for rule in RULES if rule in under and "verdict" in under[rule]
                   and under[rule]["verdict"] != plain]
        lines.append(cells(str(int(number)), plain, *said, ", ".join(changed)))
    return "\n".join(lines) + "\n"


def short(reason: str) -> str:
    """The first sentence of a reason, without names of files."""
    text = re.sub(r"\S*/\S*", "...", reason)
    return text if len(text) < 140 else text[:137] + "..."


def page(before: str) -> str:
    head, mark, rest = before.partition(BEGIN)
    if not mark:
        raise SystemExit(f"{PLACE} lacks the line {BEGIN}")
    return f"{head}{BEGIN}\n\n{table()}\n{END}{rest.partition(END)[2]}"


def main(words: list[str]) -> None:
    if "--page" not in words:
        rules = [rule for rule in RULES if rule in words] or list(RULES)
        numbers = [int(word) for word in words if word.isdigit()] or list(range(1, 26))
        for number in numbers:
            for rule in rules:
                found = measured(number, rule)
                print(number, rule, found, flush=True)
                if found is not None:
                    keep(number, rule, found)
    PLACE.write_text(page(PLACE.read_text()))


if __name__ == "__main__":
    main(sys.argv[1:])
