"""Means of smooth functions of up to four normal numbers by Gauss-Hermite rules: what they
integrate, how many points they take, and their C++.

A *call* is the mean of an *integrand* g(u, t) over u ~ N(m, Q), where t are numbers that do not
depend on the data. It computes the mean and its derivatives, which are means too: E g_i by m_i,
E g_ij by Q_ij, half of E g_ii by Q_ii (Price's theorem), and E dg/dt by t. All are finite and right
where Q is singular.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..derive.hermite import (
    CUT,
    CUT_OF_DOUBLED,
    LADDER,
    TARGET,
    TARGET_OF_LINES,
    can_take,
    change,
    change_along_lines,
    doubled,
    mean,
    rule,
)
from ..errors import ModelError
from .printing import Printer

LANES = 16  # kLanes of the headers: rules are padded to whole packs
MOST_RAISED = 2  # forms of calls whose points also suit variances of 1
WAYS = ("The ways out: smaller variances, a function without kinks or poles near the real line, "
        "the mean by population_loss(), or an estimate from samples by stream()")


@dataclass
class Integrand:
    """A function of u (`forms` numbers) and t (`beside` numbers), as columns u and out: the value,
    and the derivatives that a call needs."""

    name: str
    forms: int
    beside: int
    given: Any
    out: Any
    function: Any  # CasADi's

    @property
    def arguments(self) -> int:
        return self.forms + self.forms * (self.forms + 1) // 2 + self.beside

    @property
    def results(self) -> int:
        return 1 + self.arguments


@dataclass
class Call:
    """A mean: its integrand, its arguments m, Q (upper triangle, row by row) and t, and the symbols
    of its results."""

    integrand: Integrand
    arguments: list[Any]
    results: Any
    told: str  # the product and the term that contains it, for messages

    def of_numbers(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The mean, the covariance and t among the numbers of the arguments."""
        k = self.integrand.forms
        covariance = np.zeros((k, k))
        covariance[np.triu_indices(k)] = numbers[k:k + k * (k + 1) // 2]
        return numbers[:k], covariance + np.triu(covariance, 1).T, numbers[k + k * (k + 1) // 2:]

    def value(self, numbers: np.ndarray, points: int, is_doubled: bool) -> np.ndarray:
        centre, covariance, beside = self.of_numbers(numbers)
        with np.errstate(all="ignore"):
            return mean(self.at(beside), centre, covariance, points, is_doubled)

    def change_along_lines(self, numbers: np.ndarray, points: int) -> float:
        centre, covariance, beside = self.of_numbers(numbers)
        with np.errstate(all="ignore"):
            return change_along_lines(self.at(beside), centre, covariance, points)

    def at(self, beside: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The integrand, for a column of u for each point."""
        def found(u: np.ndarray) -> np.ndarray:
            given = np.vstack([u, np.repeat(beside[:, None], u.shape[1], axis=1)])
            return np.asarray(self.integrand.function.map(u.shape[1])(given))
        return found


@dataclass
class Integrals:
    """Integrands of a plug-in's state, and the points of their calls, by the number of forms."""

    ca: Any
    least: int  # points that the user asked for
    integrands: dict[str, Integrand] = field(default_factory=dict)
    points: dict[int, int] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)  # of integrands, as C++

    def integrand(self, expression: Any, variables: Sequence[Any], beside: Sequence[Any],
                  printer: Printer) -> Integrand:
        """The integrand of an expression. Products that differ in the names of their variables
        only share one."""
        ca = self.ca
        u = [ca.SX.sym(f"u_{i}") for i in range(len(variables))]
        t = [ca.SX.sym(f"t_{i}") for i in range(len(beside))]
        (value,) = ca.substitute([expression], [ca.vertcat(*variables, *beside)],
                                 [ca.vertcat(*u, *t)])
        key = f"{len(u)} {len(t)} {value}"
        if key in self.integrands:
            return self.integrands[key]
        slopes = [ca.gradient(value, one) for one in u]
        seconds = [ca.gradient(slopes[i], u[j]) * (0.5 if i == j else 1.0)
                   for i in range(len(u)) for j in range(i, len(u))]
        out = ca.vertcat(value, *slopes, *seconds, *[ca.gradient(value, one) for one in t])
        given = ca.vertcat(*u, *t)
        found = Integrand(f"integrand_{len(self.integrands)}", len(u), len(t), given, out,
                          ca.Function("g", [given], [ca.densify(out)]))
        struct = found.name.title().replace("_", "")
        self.functions.append(
            printer.function(found.name, [("u", given)], out)
            + f"  struct {struct} {{\n"
            f"    static constexpr std::size_t forms = {found.forms}, beside = {found.beside};\n"
            "    template <class N>\n"
            "    static POPFLOW_MATH_INLINE void compute(const N* u, N* out) {\n"
            f"      {found.name}(u, out);\n    }}\n  }};\n")
        self.integrands[key] = found
        return found

    # ---- Points.

    def choose(self, calls: Sequence[Call], numbers: Sequence[np.ndarray]) -> None:
        """Chooses points for calls with the numbers of their arguments at the start, so that no
        mean or derivative changes by more than TARGET when the points are doubled. Calls of one or
        two forms also take the points that suit variances of 1, if some do: a run that starts at
        small weights leaves the start."""
        seen: set[tuple[str, bytes]] = set()
        for call, own in zip(calls, numbers):
            key = (call.integrand.name, own.tobytes())
            if key in seen:
                continue
            seen.add(key)
            forms = call.integrand.forms
            least = self.points.get(forms) or self.fewest(forms)
            found, largest = self.enough(call, own, least)
            if found is None:
                _, covariance, _ = call.of_numbers(own)
                raise ModelError(
                    f"the mean over normal data has no closed form here, and no Gauss-Hermite rule "
                    f"gives it: {call.told} changes by {largest:.1e} when the points of the "
                    f"largest rule are doubled, and may change by {TARGET:g}. The forms have the "
                    f"variances {', '.join(f'{v:.3g}' for v in np.diag(covariance))} at the start. "
                    f"{WAYS}")
            self.points[forms] = max(least, found)
            if forms <= MOST_RAISED:
                raised, _ = self.enough(call, self.raised(call, own), self.points[forms])
                if raised is not None:
                    self.points[forms] = raised

    def fewest(self, forms: int) -> int:
        """The points that the user asked for, if a rule can have as many."""
        wanted = [points for points in LADDER if points < self.least] + \
            [next(points for points in LADDER if points >= self.least)]
        return next(points for points in reversed(wanted) if can_take(points, forms))

    @staticmethod
    def enough(call: Call, numbers: np.ndarray, least: int) -> tuple[int | None, float]:
        """The fewest points that are enough, at least `least`; None, and the change of the largest
        rule, if none are."""
        largest = float("inf")
        for points in LADDER:
            if points < least:
                continue
            if not can_take(points, call.integrand.forms):
                break
            largest = change(call.value(numbers, points, False),
                             call.value(numbers, doubled(points), True))
            if largest <= TARGET:
                largest = max(largest, call.change_along_lines(numbers, points))
                if largest <= TARGET_OF_LINES:
                    return points, largest
            if np.isnan(largest):
                break
        return None, largest

    @staticmethod
    def raised(call: Call, numbers: np.ndarray) -> np.ndarray:
        """The numbers of a call with variances of at least 1, and the same correlations."""
        k = call.integrand.forms
        centre, covariance, beside = call.of_numbers(numbers)
        size = np.sqrt(np.diag(covariance))
        factor = np.where(size > 0, np.maximum(size, 1.0) / np.where(size > 0, size, 1.0), 0.0)
        covariance = covariance * np.outer(factor, factor) + np.diag(1.0 * (size == 0))
        return np.concatenate([centre, covariance[np.triu_indices(k)], beside])

    # ---- C++.

    def tables(self) -> str:
        """The nodes and weights of all rules."""
        text = ""
        for forms, points in sorted(self.points.items()):
            for name, given in ((f"rule_{forms}", (points, False)),
                                (f"doubled_{forms}", (doubled(points), True))):
                nodes, weights = rule(*given)
                cut = CUT_OF_DOUBLED if given[1] else CUT
                rows = -(-len(nodes) // LANES) * LANES
                for what, values in (("nodes", nodes), ("weights", weights)):
                    padded = np.concatenate([values, np.zeros(rows - len(values))])
                    text += (f"  alignas(64) static constexpr double {name}_{what}[] = {{"
                             + ", ".join(float(value).hex() for value in padded) + "};\n")
                text += (f"  static constexpr hermite::Rule {name}{{{cut!r}, {len(nodes)}, "
                         f"{name}_nodes, "
                         f"{name}_weights}};\n")
        return text

    def mean_code(self, name: str, calls: Sequence[Call], count: int) -> str:
        """A function of the arguments of calls, in order of their integrands, and `count` results:
        NAME with the rules, and NAME_change, which writes the largest change by doubled points.
        NAME_given writes the calls' arguments, and NAME_of the results."""
        lines, given, made = [], 0, 0
        for integrand in self.integrands.values():
            own = sum(call.integrand is integrand for call in calls)
            if not own:
                continue
            struct, forms = integrand.name.title().replace("_", ""), integrand.forms
            lines.append(f"    for (std::size_t i = 0; i < {own}; ++i)\n"
                         f"      mean_by_rule<{struct}>(is_doubled ? doubled_{forms} : "
                         f"rule_{forms}, given.data() + {given} + i * {integrand.arguments}, "
                         f"made.data() + {made} + i * {integrand.results});\n")
            given, made = given + own * integrand.arguments, made + own * integrand.results
        return (f"  static void {name}_by(const double* s, double* out, bool is_doubled) {{\n"
                f"    thread_local std::vector<double> given({given}), made({made});\n"
                f"    {name}_given(s, given.data());\n" + "".join(lines)
                + f"    {name}_of(s, made.data(), out);\n  }}\n"
                f"  static void {name}(const double* s, double* out) {{\n"
                f"    {name}_by(s, out, false);\n  }}\n"
                f"  static void {name}_change(const double* s, double* out) {{\n"
                f"    thread_local std::vector<double> one({count}), other({count});\n"
                f"    {name}_by(s, one.data(), false);\n    {name}_by(s, other.data(), true);\n"
                f"    *out = hermite::change({count}, one.data(), other.data());\n  }}\n")


