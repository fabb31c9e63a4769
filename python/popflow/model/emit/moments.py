"""Exact means of small formulas of normal numbers z ~ N(m, Q), as functions of m and Q.

A formula is expanded to a sum of products of *atoms*: the numbers z, and functions of one affine
combination of them. Each product has a mean in closed form:

- exponentials shift the mean: E exp(u) G(z) = E exp(u) * E G(z + cov(z, u));
- factors z become derivatives: E z G = E z * E G + sum cov(z, u) E dG/du (Stein, which is Isserlis'
  theorem for polynomials);
- erf(u) is the mean of sign(sqrt(2) u + g) over one more normal number g, so that all that remains
  are pairs of sign, abs and their derivatives (arcsine and arc-cosine kernels).

The functions abs, sign, 2 delta, ... are the orders 0, 1, 2, ... of one family: each is the
derivative of the one before. The mean of orders j and k has the derivatives j + 1, k + 1 by the
covariance and (j + 2, k) / 2 by a variance (Price's theorem).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from ..symbols import Symbol, in_order
from .lowering import Lowering

MOST_TERMS = 50_000
HIGHEST = 8  # power of a formula that is expanded
ORDER = {"abs": 0, "sign": 1, "erf": 1}
WAYS = ("give it by population_loss(), estimate it from samples by stream(), or take it by "
        "quadrature(points) from data of up to four numbers")


@dataclass
class Affine:
    """An affine combination of the numbers z."""

    parts: dict[int, Any]
    offset: Any
    label: str


class Formula:
    """A sum of products of atoms: the coefficient of each product, by the sorted places of its
    atoms among those of Moments."""

    def __init__(self, terms: dict[tuple[int, ...], Any], label: str) -> None:
        self.terms, self.label = terms, label


@dataclass
class Kernel:
    """A function in closed form with its derivatives by hand: they are right at correlations of 1
    and -1, and at variances of 0."""

    symbol: Any
    value: Any
    slopes: list[tuple[Any, Any]]  # an argument, and the derivative by it


class Moments:
    """Means of formulas of forms. `mean` and `cov` are those of the numbers z."""

    def __init__(self, lowering: Lowering, mean: Sequence[Any], cov: Any) -> None:
        self.lowering, self.ca = lowering, lowering.ca
        self.means, self.covariance = list(mean), cov
        self.atoms: list[tuple[str, Any]] = []  # ("z", place) or (function, place of an affine)
        self.places: dict[tuple[str, Any], int] = {}
        self.affines: list[Affine] = []
        self.affine_places: dict[Any, int] = {}
        self.names: dict[int, str] = {}  # of the numbers z, for messages
        self.kernels: list[Kernel] = []
        self.kernel_places: dict[str, int] = {}
        self.values: dict[int, np.ndarray] = {}  # of the formula that is expanded

    # ---- Formulas as sums of products.

    def atom(self, kind: str, of: Any) -> int:
        if (kind, of) not in self.places:
            self.places[kind, of] = len(self.atoms)
            self.atoms.append((kind, of))
        return self.places[kind, of]

    def number(self, value: Any, label: str) -> Formula:
        return Formula({(): self.ca.SX(value)}, label)

    def added(self, a: Formula, b: Formula, label: str, sign: float = 1.0) -> Formula:
        terms = dict(a.terms)
        for key, value in b.terms.items():
            new = terms[key] + sign * value if key in terms else sign * value
            if new.is_zero():
                terms.pop(key, None)
            else:
                terms[key] = new
        return Formula(terms, label)

    def multiplied(self, a: Formula, b: Formula, label: str) -> Formula:
        if len(a.terms) * len(b.terms) > MOST_TERMS:
            raise ModelError(f"the term {label} has {len(a.terms) * len(b.terms)} products when it "
                             f"is expanded; exact means take up to {MOST_TERMS}. The ways out: "
                             f"{WAYS}")
        terms: dict[tuple[int, ...], Any] = {}
        for first, c in a.terms.items():
            for second, d in b.terms.items():
                value = c * d
                if not value.is_zero():
                    for key, factor in self.simplified(first + second).items():
                        terms[key] = terms.get(key, self.ca.SX(0)) + value * factor
        return Formula(terms, label)

    def simplified(self, key: tuple[int, ...]) -> dict[tuple[int, ...], Any]:
        """A product of atoms, in which |u|^2 is u^2, |u| sign(u) is u, and sign(u)^2 is 1."""
        of_affine: dict[Any, list[int]] = {}
        for place in key:
            kind, of = self.atoms[place]
            if kind in ("abs", "sign"):
                of_affine.setdefault(of, []).append(place)
        double = next((places[:2] for places in of_affine.values() if len(places) > 1), None)
        if double is None:
            return {tuple(sorted(key)): self.ca.SX(1)}
        left = list(key)
        for place in double:
            left.remove(place)
        found = Formula({(): self.ca.SX(1)}, "")
        for place in double:
            if self.atoms[place][0] == "abs":
                found = self.multiplied(found, self.polynomial(self.atoms[place][1]), "")
        return self.multiplied(found, Formula({tuple(left): self.ca.SX(1)}, ""), "").terms \
            if left else found.terms

    def polynomial(self, place: int) -> Formula:
        """An affine combination as a formula."""
        one = self.affines[place]
        terms: dict[tuple[int, ...], Any] = {(self.atom("z", i),): value
                                             for i, value in one.parts.items()}
        if not one.offset.is_zero():
            terms[()] = one.offset
        return Formula(terms, one.label)

    def affine(self, one: Formula) -> Affine | None:
        """The formula as an affine combination of the numbers z, if it is one."""
        parts, offset = {}, self.ca.SX(0)
        for key, value in one.terms.items():
            if len(key) == 0:
                offset = value
            elif len(key) == 1 and self.atoms[key[0]][0] == "z":
                parts[self.atoms[key[0]][1]] = value
            else:
                return None
        return Affine(parts, offset, one.label)

    def affine_place(self, one: Affine) -> int:
        key = (tuple((i, str(c)) for i, c in sorted(one.parts.items())), str(one.offset))
        if key not in self.affine_places:
            self.affine_places[key] = len(self.affines)
            self.affines.append(one)
        return self.affine_places[key]

    def function(self, kind: str, of: Formula, node: Symbol) -> Formula:
        """A function of a formula, which must be affine."""
        found = self.affine(of)
        if found is None:
            raise refusal(node, f"{kind} of what is not linear in the data",
                          f"exact means take {kind} of linear forms only")
        if not found.parts and kind == "gauss":
            return self.number(self.ca.exp(-found.offset**2), node.label)
        if not found.parts:
            return self.number(getattr(self.ca, "fabs" if kind == "abs" else kind)(found.offset),
                               node.label)
        return Formula({(self.atom(kind, self.affine_place(found)),): self.ca.SX(1)}, node.label)

    def expanded(self, root: Symbol, leaves: dict[int, Any]) -> list[Formula]:
        """The entries of a formula. `leaves` has arrays of formulas by the ids of symbols."""
        values = self.values = {}
        for node in in_order([root]):
            if id(node) in leaves:
                values[id(node)] = leaves[id(node)]
                continue
            of = [values[id(arg)] for arg in node.args]
            values[id(node)] = self.node(node, of)
        return list(values[id(root)].ravel())

    def node(self, node: Symbol, of: list[np.ndarray]) -> np.ndarray:
        op, label = node.op, node.label
        if op == "constant":
            return array_of([self.number(float(v), label) for v in node.value.ravel()], node.shape)
        if op == "take":
            return array_of(of[0].ravel()[np.ravel(node.value)], node.shape)
        if op == "join":
            return array_of([one for part in of for one in part.ravel()], node.shape)
        if op == "sum":
            rows = of[0].reshape(-1, of[0].shape[-1])
            return array_of([self.total(row, label) for row in rows], node.shape)
        if op == "matmul":
            lefts = of[0].reshape(-1, *((1,) + of[0].shape)[-2:])
            rights = of[1].reshape(-1, *(of[1].shape + (1,) * (of[1].ndim == 1))[-2:])
            found = [self.total([self.multiplied(a, b, label) for a, b in zip(row, column)], label)
                     for left, right in zip(lefts, rights) for row in left for column in right.T]
            return array_of(found, node.shape)
        if op == "logsumexp":
            raise refusal(node, f"log-sum-exp of {node.args[0].label}",
                          "softmax and cross_entropy have no closed form")
        if op == "max":
            rows = of[0].reshape(-1, of[0].shape[-1])
            return array_of([self.largest(row, node) for row in rows], node.shape)
        base = of_square(node)
        if base is not None and id(base) in self.values:
            of = [self.values[id(base)]]
        count = int(np.prod(node.shape, dtype=int))
        wide = [np.broadcast_to(one, node.shape).ravel() for one in of]
        return array_of([self.entry(node, [one[k] for one in wide]) for k in range(count)],
                        node.shape)

    def total(self, row: Any, label: str) -> Formula:
        found = Formula({}, label)
        for one in row:
            found = self.added(found, one, label)
        return found

    def largest(self, row: Any, node: Symbol) -> Formula:
        found = row[0]
        for one in row[1:]:
            difference = self.added(found, one, told_difference(found, one), -1.0)
            size = self.function("abs", difference, node)
            total = self.added(self.added(found, one, node.label), size, node.label)
            found = self.multiplied(self.number(0.5, node.label), total, node.label)
        return found

    def entry(self, node: Symbol, of: list[Formula]) -> Formula:
        ca, op, label = self.ca, node.op, node.label
        if op == "+" or op == "-":
            return self.added(of[0], of[1], label, 1.0 if op == "+" else -1.0)
        if op == "neg":
            return self.added(Formula({}, label), of[0], label, -1.0)
        if op == "*":
            return self.multiplied(of[0], of[1], label)
        free = [all(key == () for key in one.terms) for one in of]
        numbers = [one.terms.get((), ca.SX(0)) if is_free else None
                   for one, is_free in zip(of, free)]
        if all(free):
            return Formula({(): self.lowering.lowered(node, numbers)}, label)
        if op == "/" and free[1]:
            return Formula({key: value / numbers[1] for key, value in of[0].terms.items()}, label)
        if op == "**" and free[1] and numbers[1].is_constant():
            power = float(numbers[1])
            if power > HIGHEST:
                raise refusal(node, f"a power above {HIGHEST}", "powers are expanded up to that")
            if power.is_integer() and 0 <= power <= HIGHEST:
                found = self.number(1.0, label)
                for _ in range(int(power)):
                    found = self.multiplied(found, of[0], label)
                return found
        if op in ("maximum", "minimum"):
            sign = 1.0 if op == "maximum" else -1.0
            both = of if sign == 1.0 else [
                self.multiplied(self.number(sign, label), one, f"-({one.label})") for one in of]
            return self.multiplied(self.number(sign, label), self.largest(both, node), label)
        if op in ("<", "<=", ">", ">="):
            difference = self.added(of[0], of[1], told_difference(of[0], of[1]), -1.0)
            side = self.function("sign", difference, node)
            return self.added(self.number(0.5, label), self.multiplied(
                self.number(0.5 if op[0] == ">" else -0.5, label), side, label), label)
        if op == "and":
            return self.multiplied(of[0], of[1], label)
        if op == "or":
            return self.added(self.added(of[0], of[1], label),
                              self.multiplied(of[0], of[1], label), label, -1.0)
        if op in ("==", "!="):
            return self.number(0.0 if op == "==" else 1.0, label)
        if op == "where":
            yes = self.multiplied(of[0], of[1], label)
            no = self.multiplied(self.added(self.number(1.0, label), of[0], label, -1.0), of[2],
                                 label)
            return self.added(yes, no, label)
        if of_square(node) is not None:
            return self.function("gauss", of[0], node)
        if op in ("abs", "sign", "erf", "exp", "sin", "cos"):
            return self.function(op, of[0], node)
        raise refusal(node, f"{op} of the data", "exact means take products, whole powers, exp, "
                      "sin, cos, erf, abs, sign, maximum, minimum and comparisons of linear forms")

    # ---- Means.

    def mean(self, one: Formula) -> Any:
        """The mean of a formula."""
        found = self.ca.SX(0)
        for key, coefficient in one.terms.items():
            found = found + coefficient * self.mean_of_product(key, one.label)
        return found

    def mean_of_product(self, key: Sequence[int], label: str) -> Any:
        """The mean of a product. Each exp(-u^2) is a change of the law: with s the variance of u,
        E exp(-u^2) G = (1 + 2 s)^(-1/2) exp(-(E u)^2 / (1 + 2 s)) E' G, where E' has less variance
        along u."""
        ca, before = self.ca, (self.means, self.covariance)
        factor = ca.SX(1)
        for place in key:
            kind, of = self.atoms[place]
            if kind == "gauss":
                u = self.affines[of]
                q = ca.vertcat(*[self.cov_z(i, u) for i in range(len(self.means))])
                m, s = self.mean_of(u), 1 + 2 * self.covariance_of(u, u)
                factor = factor * ca.exp(-m * m / s) / ca.sqrt(s)
                self.means = [mean - 2 * m * q[i] / s for i, mean in enumerate(self.means)]
                self.covariance = self.covariance - 2 * ca.mtimes(q, q.T) / s
        left = [place for place in key if self.atoms[place][0] != "gauss"]
        found = factor * self.mean_without_gauss(left, label)
        self.means, self.covariance = before
        return found

    def mean_without_gauss(self, key: Sequence[int], label: str) -> Any:
        zs = [self.atoms[place][1] for place in key if self.atoms[place][0] == "z"]
        others = [self.atoms[place] for place in key if self.atoms[place][0] != "z"]
        shift = self.combined([self.affines[of] for kind, of in others if kind == "exp"])
        waves = [(kind, self.affines[of]) for kind, of in others if kind in ("sin", "cos")]
        kinks = [(kind, of) for kind, of in others if kind in ORDER]
        if waves and kinks:
            raise self.refused(key, label, "a product of sin or cos with a function that has a "
                               "kink, or erf")
        factor = self.ca.SX(1)
        if shift.parts:
            factor = self.ca.exp(self.mean_of(shift) + self.covariance_of(shift, shift) / 2)
        means = {i: self.means[i] + self.cov_z(i, shift) for i in range(len(self.means))} \
            if shift.parts else dict(enumerate(self.means))
        if waves:
            total = self.ca.SX(0)
            for scale, kind, of in summed_waves(waves, self.combined):
                total = total + scale * self.stein(zs, [(kind, of, 0)], means, key, label)
            return factor * total
        return factor * self.stein(zs, [(kind, self.affines[of], ORDER[kind])
                                        for kind, of in kinks], means, key, label)

    def stein(self, zs: list[int], functions: list[tuple[str, Affine, int]],
              means: dict[int, Any], key: Sequence[int], label: str) -> Any:
        """The mean of a product of numbers z and functions (kind, argument, order)."""
        if not zs:
            return self.without_z(functions, means, key, label)
        first, rest = zs[0], zs[1:]
        found = means[first] * self.stein(rest, functions, means, key, label) \
            if not means[first].is_zero() else self.ca.SX(0)
        for k, other in enumerate(rest):
            cov = self.covariance[first, other]
            if not cov.is_zero() and other not in rest[:k]:
                left = rest[:k] + rest[k + 1:]
                found = found + rest.count(other) * cov * self.stein(left, functions, means, key,
                                                                     label)
        for k, (kind, of, order) in enumerate(functions):
            cov = self.cov_z(first, of)
            if not cov.is_zero():
                slope = functions[:k] + [(kind, of, order + 1)] + functions[k + 1:]
                factor = np.sqrt(2.0) if kind == "erf" else 1.0
                found = found + factor * cov * self.stein(rest, slope, means, key, label)
        return found

    def without_z(self, functions: list[tuple[str, Affine, int]], means: dict[int, Any],
                  key: Sequence[int], label: str) -> Any:
        if not functions:
            return self.ca.SX(1)
        stats = []
        for kind, of, order in functions:
            m, a = self.mean_of(of, means), self.covariance_of(of, of)
            if kind == "erf":
                m, a = np.sqrt(2.0) * m, 2 * a + 1
            stats.append((kind, order, m, a))
        if len(functions) == 1:
            kind, order, m, a = stats[0]
            if kind in ("sin", "cos"):
                phase = order + (3 if kind == "sin" else 0)
                values = [self.ca.cos(m), -self.ca.sin(m), -self.ca.cos(m), self.ca.sin(m)]
                return self.ca.exp(-a / 2) * values[phase % 4]
            return self.single(order, a, m, kind == "erf")
        zero = all(m.is_zero() for _, _, m, _ in stats)
        if len(functions) == 2 and zero:
            (kind1, j, _, a), (kind2, k, _, b) = stats
            scale = (np.sqrt(2.0) if kind1 == "erf" else 1.0) * \
                (np.sqrt(2.0) if kind2 == "erf" else 1.0)
            c = scale * self.covariance_of(functions[0][1], functions[1][1])
            if (j + k) % 2:
                return self.ca.SX(0)
            if c.is_zero():  # independent: also where a student is orthogonal to all teachers
                return self.single(j, a, self.ca.SX(0), kind1 == "erf") * \
                    self.single(k, b, self.ca.SX(0), kind2 == "erf")
            found = self.pair(j, k, a, b, c, "erf" in (kind1, kind2))
            if found is not None:
                return found
        why = ("a product of two functions of numbers whose mean is not 0" if len(functions) == 2
               and not zero else "a product of more functions, or of more of their derivatives, "
               "than exact means take")
        raise self.refused(key, label, why)

    # ---- Closed forms.

    def kernel(self, value: Any, slopes: list[tuple[Any, Any]]) -> Any:
        name = str(value)
        if name not in self.kernel_places:
            self.kernel_places[name] = len(self.kernels)
            symbol = self.ca.SX.sym(f"kernel_{len(self.kernels)}")
            self.kernels.append(Kernel(symbol, value, slopes))
        return self.kernels[self.kernel_places[name]].symbol

    def single(self, order: int, a: Any, m: Any, smooth: bool) -> Any:
        """The mean of order k of |u| for u ~ N(m, a)."""
        value = self.single_value(order, a, m, smooth)
        if smooth or value.is_constant():
            return value
        return self.kernel(value, [(a, self.single_value(order + 2, a, m, smooth) / 2),
                                   (m, self.single_value(order + 1, a, m, smooth))])

    def single_value(self, order: int, a: Any, m: Any, smooth: bool) -> Any:
        ca = self.ca
        if m.is_zero() and order % 2:
            return ca.SX(0)
        positive = 1 if smooth else a > 0
        safe = a if smooth else ca.if_else(a > 0, a, 1)
        root = ca.sqrt(safe)
        t = m / root
        density = ca.exp(-t * t / 2) * np.sqrt(2 / np.pi) / root  # 2 delta
        if order == 0:
            found, at_zero = m * ca.erf(t / np.sqrt(2.0)) + safe * density, ca.fabs(m)
        elif order == 1:
            found, at_zero = ca.erf(t / np.sqrt(2.0)), ca.sign(m)
        else:
            before, hermite = ca.SX(0), ca.SX(1)
            for k in range(order - 2):
                before, hermite = hermite, t * hermite - k * before
            found, at_zero = density * hermite * (-1 / root) ** (order - 2), ca.SX(0)
        return found if smooth else ca.if_else(positive, found, at_zero)

    def pair(self, j: int, k: int, a: Any, b: Any, c: Any, smooth: bool) -> Any:
        """The mean of orders j and k of |u| and |v| for means 0, variances a, b and covariance c;
        None: not known."""
        value = self.pair_value(j, k, a, b, c)
        if value is None:
            return None
        slopes = [(a, self.pair_value(j + 2, k, a, b, c)), (b, self.pair_value(j, k + 2, a, b, c)),
                  (c, self.pair_value(j + 1, k + 1, a, b, c))]
        if any(slope is None for _, slope in slopes):
            return None
        return self.kernel(value, [(slopes[0][0], slopes[0][1] / 2),
                                   (slopes[1][0], slopes[1][1] / 2), slopes[2]])

    def pair_value(self, j: int, k: int, a: Any, b: Any, c: Any) -> Any:
        ca = self.ca
        if j > k:
            return self.pair_value(k, j, b, a, c)
        # D and the angle come from the same number, so that their errors cancel near |r| = 1.
        square = a * b - c * c
        root = ca.if_else(square > 0, ca.sqrt(ca.if_else(square > 0, square, 1)), 0)
        safe = ca.if_else(square > 0, root, 1)
        angle = ca.if_else(square > 0, ca.atan(c / safe), ca.sign(c) * (np.pi / 2))  # asin r
        two = 2 / np.pi

        def over(number: Any, by: Any) -> Any:
            return ca.if_else(by > 0, number / ca.if_else(by > 0, by, 1), 0)

        inverse = ca.if_else(square > 0, 1 / safe, 0)
        table = {(0, 0): lambda: two * (root + c * angle), (1, 1): lambda: two * angle,
                 (0, 2): lambda: two * over(root, b), (2, 2): lambda: two * inverse,
                 (1, 3): lambda: -two * c * over(inverse, b),
                 (0, 4): lambda: two * (over(a * inverse, b) - 2 * over(root, b * b)),
                 (3, 3): lambda: two * c * inverse**3, (2, 4): lambda: -two * a * inverse**3}
        return table[j, k]() if (j, k) in table else None

    # ---- Affine combinations.

    def combined(self, parts: Sequence[Affine], signs: Sequence[float] | None = None) -> Affine:
        found = Affine({}, self.ca.SX(0), " + ".join(one.label for one in parts))
        for one, sign in zip(parts, signs or [1.0] * len(parts)):
            for i, value in one.parts.items():
                found.parts[i] = found.parts.get(i, self.ca.SX(0)) + sign * value
            found.offset = found.offset + sign * one.offset
        return found

    def cov_z(self, i: int, of: Affine) -> Any:
        found = self.ca.SX(0)
        for j, value in of.parts.items():
            found = found + self.covariance[i, j] * value
        return found

    def covariance_of(self, a: Affine, b: Affine) -> Any:
        found = self.ca.SX(0)
        for i, value in a.parts.items():
            found = found + value * self.cov_z(i, b)
        return found

    def mean_of(self, of: Affine, means: dict[int, Any] | None = None) -> Any:
        found = of.offset
        for i, value in of.parts.items():
            found = found + value * (self.means[i] if means is None else means[i])
        return found

    def told(self, key: Sequence[int]) -> str:
        """A product in words."""
        words = []
        for place in key:
            kind, of = self.atoms[place]
            words.append(f"({self.names.get(of, f'z[{of}]')})" if kind == "z" else
                         f"{kind}({self.affines[of].label})")
        return " * ".join(words)

    def refused(self, key: Sequence[int], label: str, why: str) -> ModelError:
        """The error that names a product without a closed form, and the term that contains it."""
        return ModelError(f"the mean over normal data has no closed form here: expanded, the term "
                          f"{label} contains {self.told(key)}, {why}. The ways out: {WAYS}")

    # ---- Results.

    def with_kernels(self, expression: Any) -> Any:
        symbols = [one.symbol for one in self.kernels]
        (found,) = self.ca.substitute([expression], symbols, [one.value for one in self.kernels]) \
            if symbols else [expression]
        return found

    def gradient(self, value: Any, by: Any) -> Any:
        """The derivative of a mean by a column, with the slopes of the kernels by hand."""
        ca = self.ca
        found = ca.gradient(value, by)
        arguments, adjoints = [], []
        if self.kernels:
            outer = ca.gradient(value, ca.vertcat(*[one.symbol for one in self.kernels]))
            for k, one in enumerate(self.kernels):
                for argument, slope in one.slopes:
                    arguments.append(argument)
                    adjoints.append(outer[k] * slope)
            found = found + ca.jtimes(ca.vertcat(*arguments), by, ca.vertcat(*adjoints), True)
        return found


def summed_waves(waves: list[tuple[str, Affine]], combined: Any
                 ) -> list[tuple[float, str, Affine]]:
    """A product of sines and cosines as a sum."""
    found = [(1.0, *waves[0])]
    for kind, of in waves[1:]:
        new = []
        for scale, other, u in found:
            plus, minus = combined([u, of]), combined([u, of], [1.0, -1.0])
            if (other, kind) == ("cos", "cos"):
                new += [(scale / 2, "cos", minus), (scale / 2, "cos", plus)]
            elif (other, kind) == ("sin", "sin"):
                new += [(scale / 2, "cos", minus), (-scale / 2, "cos", plus)]
            elif (other, kind) == ("sin", "cos"):
                new += [(scale / 2, "sin", plus), (scale / 2, "sin", minus)]
            else:
                new += [(scale / 2, "sin", plus), (-scale / 2, "sin", minus)]
        found = new
    return found


def of_square(node: Symbol) -> Symbol | None:
    """The symbol u of exp(-(u * u))."""
    if node.op == "exp" and node.args[0].op == "neg":
        square = node.args[0].args[0]
        if square.op == "*" and square.args[0] is square.args[1]:
            return square.args[0]
        if square.op == "**" and square.args[1].op == "constant" \
                and (square.args[1].value == 2).all():
            return square.args[0]
    return None


def array_of(formulas: Sequence[Formula], shape: Sequence[int]) -> np.ndarray:
    found = np.empty(len(formulas), dtype=object)
    found[:] = formulas
    return found.reshape(tuple(shape))


def told_difference(one: Formula, other: Formula) -> str:
    return one.label if not other.terms or all(value.is_zero() for value in other.terms.values()) \
        else f"{one.label} - {other.label}"


def refusal(node: Symbol, what: str, why: str) -> ModelError:
    return ModelError(f"the mean over normal data has no exact form here: the term {node.label} is "
                      f"{what}; {why}. The ways out: {WAYS}")
