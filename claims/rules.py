"""Changes of the verdicts under other training rules: momentum 0.9 and Adam against plain steps.

  python3 -m claims.rules               all rules, all reduced forms; stores the verdicts
  python3 -m claims.rules adam 14 17    one rule, some claims
  python3 -m claims.rules --page        only makes the table of docs/claims/rules.md

Claims with a reduced form (claims/reduced.py) are measured under all three rules. For the other
claims the table has the stored verdict of an earlier short form with --optimizer in every command,
or the reason why the claim applies to gradient flow alone.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import popflow

from . import reduced, results
from .claim import VERDICTS, by_verdict
from .page import PAGES, cells

RULES = {"sgd": reduced.PLAIN, "momentum": reduced.MOMENTUM, "adam": reduced.ADAM}
PLACE = PAGES / "rules.md"
KEPT = Path(__file__).with_name("results") / "rules.json"
BEGIN, END = "<!-- made by claims.rules -->", "<!-- end of what claims.rules made -->"

PRECONDITIONED = "the paper's steps are preconditioned and projected, and Adam needs raw gradients"
INTEGRATED = ("the integrated form eliminates the attention, which is exact only along gradient "
              "flow")
L1 = "l1 exists for plain steps only"
LOSS = "a statement about the loss function, independent of the training rule"
#: Why a claim has no verdict under a rule.
ALONE: dict[tuple[int, str], str] = {
    **{(number, "adam"): PRECONDITIONED for number in (1, 2, 5, 6, 7, 8, 9)},
    **{(number, rule): reason for rule in ("momentum", "adam")
       for number, reason in ((3, L1), (4, L1), (12, INTEGRATED), (15, INTEGRATED), (24, LOSS))}}


def measured(number: int, rule: str) -> dict[str, Any]:
    """Returns the verdict of a claim's reduced form under a rule."""
    with tempfile.TemporaryDirectory() as folder:
        popflow.folder(folder)
        numbers = reduced.FORMS[number](RULES[rule])
    return {"form": "reduced", "verdict": by_verdict(numbers)}


def load() -> dict[str, dict[str, dict[str, Any]]]:
    return json.loads(KEPT.read_text()) if KEPT.exists() else {}


def keep(number: int, rule: str, found: dict[str, Any]) -> None:
    kept = load()
    kept.setdefault(f"{number:02}", {})[rule] = found
    KEPT.write_text(results.spread(kept, 2) + "\n")


#: Number of conditions that a cell may name.
NAMED = 3


def sentences(said: dict[str, list[str]]) -> str:
    """Returns verdicts in short sentences, such as "Holds in 9 of 10 conditions. Not: N = 3."

    Names at most three conditions: those with the rarest verdicts."""
    if len(said) < 2:
        return next(iter(said), "no number decides").capitalize()
    said = {words: said[words] for words in VERDICTS if words in said}
    count = sum(map(len, said.values()))
    commonest = max(said, key=lambda words: len(said[words]))
    named = [(words, place) for words in sorted(said, key=lambda words: len(said[words]))
             for place in said[words] if count <= NAMED or words != commonest][:NAMED]
    parts = []
    for words, all_of in said.items():
        some = [place for place in all_of if (words, place) in named]
        start = words.capitalize() if words != "does not hold" or not parts else "Not"
        whole = f" of {count} conditions" if not parts else ""
        if count <= NAMED or (parts and some == all_of):
            parts.append(f"{start}: {'; '.join(some)}.")
        else:
            listed = ": " if some == all_of else ", such as " if some else ""
            parts.append(f"{start} in {len(all_of)}{whole}{listed}{'; '.join(some)}.")
    return " ".join(parts)


def table() -> str:
    lines = [cells("", "Form", "Plain steps or their flow", "Momentum 0.9", "Adam",
                   "Changes under"),
             cells(*["---"] * 6)]
    kept = load()
    for number in range(1, 26):
        under = kept.get(f"{number:02}", {})
        plain = under.get("sgd")
        row, changed = [], []
        for rule in ("momentum", "adam"):
            if rule in under:
                row.append(sentences(under[rule]["verdict"]))
                if plain and under[rule]["verdict"] != plain["verdict"]:
                    changed.append(rule.replace("adam", "Adam"))
            else:
                row.append(f"None: {ALONE.get((number, rule), 'not measured')}")
        known = ((plain["form"], sentences(plain["verdict"])) if plain else
                 ("", f"As on [its page]({number:02}.md)"))
        lines.append(cells(str(number), *known, *row, ", ".join(changed)))
    return "\n".join(lines) + "\n"


def page(before: str) -> str:
    head, mark, rest = before.partition(BEGIN)
    if not mark:
        raise SystemExit(f"{PLACE} lacks the line {BEGIN}")
    return f"{head}{BEGIN}\n\n{table()}\n{END}{rest.partition(END)[2]}"


def main(words: list[str]) -> None:
    if "--page" not in words:
        rules = [rule for rule in RULES if rule in words] or list(RULES)
        numbers = [int(word) for word in words if word.isdigit()] or list(reduced.FORMS)
        for number in numbers:
            for rule in rules:
                if (number, rule) not in ALONE:
                    found = measured(number, rule)
                    print(number, rule, found, flush=True)
                    keep(number, rule, found)
    PLACE.write_text(page(PLACE.read_text()))


if __name__ == "__main__":
    main(sys.argv[1:])
