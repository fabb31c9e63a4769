"""Measures claims and says which hold.

  scripts/claims              all claims, in their short forms: some minutes
  scripts/claims 3 14         some claims
  scripts/claims --long       at the papers' sizes, where the short form is smaller: hours
  scripts/claims --write      stores the numbers, and makes docs/claims.md and docs/claims of them
  scripts/claims --check      fails if a verdict differs from the stored one; without the claims
                              that take too long for every change, which it lists
  scripts/claims --check --all  the same with these claims
  scripts/claims --page       only makes these pages from the stored numbers
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed

import popflow

from . import page, results
from .claim import CLAIMS

#: Claims whose short form took more processor time than these seconds are checked nightly only.
SECONDS = 8


def main() -> int:
    given = arguments()
    if given.page:
        page.write()
        return 0
    form = "long" if given.long else "short"
    numbers = given.claims or [number for number, claim in CLAIMS.items()
                               if claim.has_long or not given.long]
    lacking = without_casadi(numbers)
    if lacking:
        said = (f"claims {', '.join(map(str, lacking))} need CasADi, which is missing: "
                "scripts/setup --models installs it")
        if given.claims:
            print(said, file=sys.stderr)
            return 2
        print(f"Left out: {said}.\n")
        numbers = [number for number in numbers if number not in lacking]
    left = nightly() if given.check and not (given.all or given.long or given.claims) else []
    stored = {number: results.load(number).get(form) for number in numbers if number not in left}
    verdicts = {}
    if given.check:
        verdicts = {number: "no result is stored; --write stores one"
                    for number, before in stored.items() if before is None}
    others = 0
    # The longest first, so that no core is idle at the end.
    todo = sorted(stored.keys() - verdicts, reverse=True,
                  key=lambda number: before.seconds if (before := stored[number]) else 0)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        running = {pool.submit(measured, number, given.long): number for number in todo}
        for done in as_completed(running):
            number = running[done]
            result, text = done.result()
            print(text, flush=True)
            verdicts[number] = result.verdict()
            before = stored[number]
            if given.check and before and not before.agrees(result):
                others += 1
                verdicts[number] += f" (stored: {before.verdict()})"
            if given.write:
                results.keep(number, form, result)
    print("\n".join(f"{number:3} {CLAIMS[number].says}: {verdicts[number]}"
                    for number in sorted(verdicts)))
    print(f"\n{processor_time():.0f} s of processor time")
    if left:
        print(f"\n{len(left)} claims are checked nightly only (--all checks them, too): "
              f"{', '.join(map(str, left))}. Their short forms take more than {SECONDS} s each.")
    if given.write:
        page.write()
    if others:
        print(f"\n{others} {'verdict differs' if others == 1 else 'verdicts differ'} from the "
              "stored ones in claims/results.", file=sys.stderr)
    return 1 if others else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/claims", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("claims", nargs="*", type=int, metavar="NUMBER",
                        help="claims to measure (default: all)")
    parser.add_argument("--long", action="store_true", help="at the papers' sizes")
    parser.add_argument("--write", action="store_true", help="store the numbers")
    parser.add_argument("--check", action="store_true", help="compare with the stored verdicts")
    parser.add_argument("--all", action="store_true",
                        help="with --check: also the claims that are checked nightly only")
    parser.add_argument("--page", action="store_true",
                        help="only make the page, from the stored numbers")
    given = parser.parse_args()
    for number in given.claims:
        if number not in CLAIMS:
            parser.error(f"there is no claim {number}; claims are {min(CLAIMS)} to {max(CLAIMS)}")
    return given


def without_casadi(numbers: Iterable[int]) -> list[int]:
    """Returns the claims among these whose models cannot be built, because CasADi is missing."""
    if importlib.util.find_spec("casadi"):
        return []
    return [number for number in numbers if CLAIMS[number].models]


def nightly() -> list[int]:
    """Returns the claims that take too long for a check of every change."""
    return [number for number in sorted(CLAIMS)
            if (before := results.load(number).get("short")) and before.seconds > SECONDS]


def measured(number: int, long: bool) -> tuple[results.Result, str]:
    """Measures a claim. Returns the result and a text with its numbers."""
    claim = CLAIMS[number]
    began = processor_time()
    with tempfile.TemporaryDirectory() as folder:
        popflow.folder(folder)
        numbers = claim.numbers(long)
    result = results.Result(numbers, processor_time() - began, processor=True)
    lines = [f"{claim.number}. {claim.says} ({claim.paper})", ""]
    for one in numbers:
        rule = page.must(one)
        lines.append(f"   {one.what}{page.at(one)}: {page.value(one.found)}"
                     + (f"; must be {rule}: {page.mark(one)}" if rule else ""))
    return result, "\n".join([*lines, f"   => {result.verdict()} ({page.lasted(result)})", ""])


def processor_time() -> float:
    """Returns the processor time in seconds, over all cores, of this process and of the programs
    that it has run. Unlike elapsed time, it hardly depends on the machine's other work."""
    return sum(os.times()[:4])


if __name__ == "__main__":
    sys.exit(main())
