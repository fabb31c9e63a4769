"""Measures claims and says which hold.

  scripts/claims              all claims, in their short forms: some minutes
  scripts/claims 3 14         some claims
  scripts/claims --long       at the papers' sizes, where the short form is smaller: hours
  scripts/claims --write      stores the numbers, and makes docs/claims.md from them
  scripts/claims --check      fails if a verdict differs from the stored one
  scripts/claims --page       only makes docs/claims.md from the stored numbers
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile

import popflow

from . import page, results
from .claim import CLAIMS, Claim


def main() -> int:
    given = arguments()
    if given.page:
        page.write()
        return 0
    form = "long" if given.long else "short"
    verdicts, others = [], 0
    for number in given.claims or sorted(CLAIMS):
        claim = CLAIMS[number]
        if given.long and not claim.has_long and not given.claims:
            continue
        if given.check and form not in results.load(number):
            verdicts.append(f"{claim.number:3} {claim.says}: no result is stored; --write stores "
                            f"one")
            continue
        result = measured(claim, given.long)
        verdicts.append(f"{claim.number:3} {claim.says}: {result.verdict()}")
        before = results.load(number).get(form)
        if given.check and before and before.verdict() != result.verdict():
            others += 1
            verdicts[-1] += f" (stored: {before.verdict()})"
        if given.write:
            results.keep(number, form, result)
    print("\n" + "\n".join(verdicts))
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
    parser.add_argument("--page", action="store_true",
                        help="only make the page, from the stored numbers")
    given = parser.parse_args()
    for number in given.claims:
        if number not in CLAIMS:
            parser.error(f"there is no claim {number}; claims are {min(CLAIMS)} to {max(CLAIMS)}")
    return given


def measured(claim: Claim, long: bool) -> results.Result:
    """Measures a claim and prints its numbers."""
    print(f"\n{claim.number}. {claim.says} ({claim.paper})\n", flush=True)
    began = processor_time()
    with tempfile.TemporaryDirectory() as folder:
        popflow.folder(folder)
        numbers = claim.measure(long)
    result = results.Result(numbers, processor_time() - began, processor=True)
    for number in numbers:
        rule = page.must(number)
        print(f"   {number.what}{page.at(number)}: {page.value(number.found)}"
              + (f"; must be {rule}: {page.mark(number)}" if rule else ""))
    print(f"   => {result.verdict()} ({page.lasted(result)})", flush=True)
    return result


def processor_time() -> float:
    """Returns the processor time in seconds, over all cores, of this process and of the programs
    that it has run. Unlike elapsed time, it hardly depends on the machine's other work."""
    return sum(os.times()[:4])


if __name__ == "__main__":
    sys.exit(main())
