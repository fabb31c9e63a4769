"""Exact means of small formulas of normal numbers z ~ N(m, Q), as functions of m and Q.

A formula is expanded to a sum of products of *atoms*: the numbers z, and functions of one affine
combination of them. Each product has a mean in closed form:

- exponentials shift the mean: E exp(u) G(z) = E exp(u) * E G(z + cov(z, u));
- factors z become derivatives: E z G = E z * E G + sum cov(z, u) E dG/du (Stein, which is Isserlis'
  theorem for polynomials);
- erf(u) is the mean of sign(sqrt(2) u + g) over one more normal number g, so that all that remains
  are pairs of sign, abs and their derivatives (arcsine and arc-cosine kernels, or those of kinks.py
  where a mean is not 0).

- other smooth functions are integrated by Gauss-Hermite rules (hermite.py), with exponentials and
  factors z as above.

The functions abs, sign, 2 delta, ... are the orders 0, 1, 2, ... of one family: each is the
derivative of the one before. The mean of orders j and k has the derivatives j + 1, k + 1 by the
covariance and (j + 2, k) / 2 by a variance (Price's theorem).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..derive.forms import Forms, replaced
from ..derive.hermite import MOST_FORMS
from ..errors import ModelError
from ..symbols import Symbol, in_order
from .hermite import Call, Integrals
from .kinks import ShiftedPair
from .lowering import Lowering
from .printing import Printer

MOST_TERMS = 50_000
HIGHEST = 8  # power of a formula that is expanded
ORDER = {"abs": 0, "sign": 1, "erf": 1}
KINKS = ("abs", "sign")
# Functions that Gauss-Hermite rules integrate, beside quotients and powers.
SMOOTH = {"tanh", "arctan", "log", "log1p", "expm1", "sqrt", "sinh", "cosh", "arcsinh", "hypot",
          "arcsin", "arccos", "exp", "erf", "sin", "cos", "softplus"}
WAYS = ("give it by population_loss(), estimate it from samples by stream(), or take it by "
        "quadrature(points) from data of up to four numbers")


@dataclass
class Affine:
    """An affine combination of the numbers z."""

    parts: dict[int, Any]
    offset: Any
    label: str


class NoClosedForm(ModelError):
    """A product of functions without a mean in closed form."""


class Formula:
    """A sum of products of atoms: the coefficient of each product, by the sorted places of its
    atoms among those of Moments."""

    def __init__(self, terms: dict[tuple[int, ...], Any], label: str) -> None:
        self.terms, self.label = terms, label


@dataclass
class Smooth:
    """A smooth function of the variables of affine combinations, given by their places."""

    value: Any
    of: frozenset[int]


@dataclass
class Kernel:
    """A function in closed form with its derivatives by hand: they are right at correlations of 1
    and -1, and at variances of 0."""

    symbol: Any
    value: Any
    slopes: list[tuple[Any, Any]]  # an argument, and the derivative by it


class Moments:
    """Means of formulas of forms. `mean` and `cov` are those of the numbers z."""

    def __init__(self, lowering: Lowering, mean: Sequence[Any], cov: Any, integrals: Integrals,
                 printer: Printer) -> None:
        self.lowering, self.ca = lowering, lowering.ca
        self.integrals, self.printer = integrals, printer
        self.smooths: list[Smooth] = []
        self.smooth_places: dict[str, int] = {}
        self.smooth_names: dict[int, str] = {}
        self.variables: dict[int, Any] = {}  # of affine combinations, by their places
        self.calls: list[Call] = []
        self.call_places: dict[str, int] = {}
        self.means, self.covariance = list(mean), cov
        self.atoms: list[tuple[str, Any]] = []  # ("z", place) or (function, place of an affine)
        self.places: dict[tuple[str, Any], int] = {}
        self.affines: list[Affine] = []
        self.affine_places: dict[Any, int] = {}
        self.names: dict[int, str] = {}  # of the numbers z, for messages
        self.kernels: list[Kernel] = []
        self.kernel_places: dict[str, int] = {}
        self.pairs: dict[str, ShiftedPair] = {}
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
        """A function of a formula, which must be affine if the function has a kink."""
        found = self.affine(of)
        if found is None and kind not in KINKS:
            values, places = self.values_of([of], node)
            (value,) = values
            return self.smooth(self.ca.exp(-value * value) if kind == "gauss" else
                               getattr(self.ca, kind)(value), places, node)
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
        root = with_softplus(root)
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
            rows = of[0].reshape(-1, of[0].shape[-1])
            return array_of([self.log_sum_exp(row, node) for row in rows], node.shape)
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

    def log_sum_exp(self, row: Any, node: Symbol) -> Formula:
        """z_K + log(1 + sum of exp(z_i - z_K)), which is a function of differences."""
        last, ca = row[-1], self.ca
        differences = [self.added(one, last, told_difference(one, last), -1.0) for one in row[:-1]]
        values, places = self.values_of(differences, node)
        total = sum((ca.exp(value) for value in values), ca.SX(0))
        return self.added(last, self.smooth(ca.log1p(total), places, node), node.label)

    # ---- Smooth functions without a closed form.

    def variable(self, place: int) -> Any:
        if place not in self.variables:
            self.variables[place] = self.ca.SX.sym(f"v_{place}")
        return self.variables[place]

    def values_of(self, formulas: Sequence[Formula], node: Symbol) -> tuple[list[Any], set[int]]:
        """Formulas as expressions in the variables of affine combinations, whose places are
        returned too. The linear part of a formula is a single variable."""
        places: set[int] = set()
        values = []
        for formula in formulas:
            linear = {key: value for key, value in formula.terms.items()
                      if len(key) <= 1 and all(self.atoms[place][0] == "z" for place in key)}
            part = self.affine(Formula(linear, formula.label))
            assert part is not None
            value = part.offset
            if part.parts:
                places.add(self.affine_place(part))
                value = self.variable(self.affine_place(part))
            for key, coefficient in formula.terms.items():
                if key not in linear:
                    for place in key:
                        own, of = self.atom_value(place, node)
                        coefficient, places = coefficient * own, places | of
                    value = value + coefficient
            values.append(value)
        return values, places

    def atom_value(self, place: int, node: Symbol | None) -> tuple[Any, set[int]]:
        """An atom as an expression, and the places of its affine combinations."""
        ca, (kind, of) = self.ca, self.atoms[place]
        if kind == "smooth":
            return self.smooths[of].value, set(self.smooths[of].of)
        if kind in KINKS:
            assert node is not None
            raise refusal(node, f"{node.op} of a function with a kink",
                          "Gauss-Hermite rules do not converge there")
        if kind == "z":
            of = self.affine_place(Affine({of: ca.SX(1)}, ca.SX(0), self.names.get(of, f"z[{of}]")))
        u = self.variable(of)
        return (u if kind == "z" else ca.exp(-u * u) if kind == "gauss" else
                getattr(ca, kind)(u)), {of}

    def smooth(self, value: Any, places: set[int], node: Symbol, label: str = "") -> Formula:
        """A smooth function as a formula. `label` names it, if it is a part of the node."""
        if not places:
            return Formula({(): value}, node.label)
        if len(places) > MOST_FORMS:
            raise refusal(node, f"a function of {len(places)} linear forms of the data",
                          f"Gauss-Hermite rules take up to {MOST_FORMS}")
        key = str(value)
        if key not in self.smooth_places:
            self.smooth_places[key] = len(self.smooths)
            self.smooths.append(Smooth(value, frozenset(places)))
            self.smooth_names[self.smooth_places[key]] = label or node.label
        return Formula({(self.atom("smooth", self.smooth_places[key]),): self.ca.SX(1)}, node.label)

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
        if op == "/":
            (value,), places = self.values_of(of[1:], node)
            inverse = self.smooth(1 / value, places, node, f"1 / ({of[1].label})")
            return self.multiplied(of[0], inverse, label)
        if op in SMOOTH or op == "**":
            values, places = self.values_of(of, node)
            value = ca.log1p(ca.exp(values[0])) if op == "softplus" else \
                self.lowering.lowered(node, values)
            return self.smooth(value, places, node)
        raise refusal(node, f"{op} of the data", "means over forms take products, powers, smooth "
                      "functions, abs, sign, maximum, minimum and comparisons")

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
        functions = [place for place in key if self.atoms[place][0] not in ("z", "exp")]
        others = [self.atoms[place] for place in key if self.atoms[place][0] != "z"]
        kinds = {kind for kind, _ in others}
        shift = self.combined([self.affines[of] for kind, of in others if kind == "exp"])
        factor = self.ca.SX(1)
        if shift.parts:
            factor = self.ca.exp(self.mean_of(shift) + self.covariance_of(shift, shift) / 2)
        means = {i: self.means[i] + self.cov_z(i, shift) for i in range(len(self.means))} \
            if shift.parts else dict(enumerate(self.means))
        if "smooth" in kinds and kinds.intersection(KINKS):
            raise self.refused(key, label, "a product with a function that has a kink, for which "
                               "Gauss-Hermite rules do not converge")
        if "smooth" not in kinds:
            try:
                return factor * self.in_closed_form(zs, others, means, key, label)
            except NoClosedForm:
                if kinds.intersection(KINKS):
                    raise
        product, places = self.ca.SX(1), set[int]()
        for place in functions:
            value, of = self.atom_value(place, None)
            product, places = product * value, places | of
        if len(places) > MOST_FORMS:
            raise self.refused(key, label, f"a function of {len(places)} linear forms of the data; "
                               f"Gauss-Hermite rules take up to {MOST_FORMS}")
        return factor * self.by_rule(zs, product, sorted(places), means, f"{self.told(key)}, in "
                                     f"the term {label},")

    def in_closed_form(self, zs: list[int], others: list[tuple[str, Any]], means: dict[int, Any],
                       key: Sequence[int], label: str) -> Any:
        """The mean of a product of numbers z and functions, without exponentials."""
        waves = [(kind, self.affines[of]) for kind, of in others if kind in ("sin", "cos")]
        kinks = [(kind, of) for kind, of in others if kind in ORDER]
        if waves and kinks:
            raise self.refused(key, label, "a product of sin or cos with a function that has a "
                               "kink, or erf")
        if waves:
            total = self.ca.SX(0)
            for scale, kind, of in summed_waves(waves, self.combined):
                total = total + scale * self.stein(zs, [(kind, of, 0)], means, key, label)
            return total
        return self.stein(zs, [(kind, self.affines[of], ORDER[kind])
                               for kind, of in kinks], means, key, label)

    def by_rule(self, zs: list[int], product: Any, places: list[int], means: dict[int, Any],
                told: str) -> Any:
        """The mean of numbers z times a smooth function of affine combinations: factors z become
        derivatives, and the rest is integrated by a rule."""
        ca = self.ca
        variables = [self.variable(place) for place in places]
        if zs:
            first, rest = zs[0], zs[1:]
            found = ca.SX(0)
            if not means[first].is_zero():
                found = means[first] * self.by_rule(rest, product, places, means, told)
            for k, other in enumerate(rest):
                cov = self.covariance[first, other]
                if not cov.is_zero() and other not in rest[:k]:
                    found = found + rest.count(other) * cov * self.by_rule(
                        rest[:k] + rest[k + 1:], product, places, means, told)
            for place, variable in zip(places, variables):
                cov = self.cov_z(first, self.affines[place])
                if not cov.is_zero():
                    found = found + cov * self.by_rule(rest, ca.gradient(product, variable), places,
                                                       means, told)
            return found
        free = {str(one): one for one in ca.symvar(product)}
        used = [(place, one) for place, one in zip(places, variables) if str(one) in free]
        for _, one in used:
            free.pop(str(one))
        if not used:
            return product
        beside = list(free.values())
        of = [self.affines[place] for place, _ in used]
        arguments = [*(self.mean_of(one, means) for one in of),
                     *(self.covariance_of(of[i], of[j]) for i in range(len(of))
                       for j in range(i, len(of))), *beside]
        integrand = self.integrals.integrand(product, [one for _, one in used], beside,
                                             self.printer)
        key = f"{integrand.name} {arguments}"
        if key not in self.call_places:
            self.call_places[key] = len(self.kernels)
            results = ca.SX.sym(f"call_{len(self.calls)}", integrand.results)
            self.calls.append(Call(integrand, arguments, results, told))
            symbol = ca.SX.sym(f"kernel_{len(self.kernels)}")
            self.kernels.append(Kernel(symbol, results[0], [
                (argument, results[1 + i]) for i, argument in enumerate(arguments)]))
        return self.kernels[self.call_places[key]].symbol

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
        if len(functions) == 2:
            (kind1, j, m, a), (kind2, k, n, b) = stats
            scale = (np.sqrt(2.0) if kind1 == "erf" else 1.0) * \
                (np.sqrt(2.0) if kind2 == "erf" else 1.0)
            c = scale * self.covariance_of(functions[0][1], functions[1][1])
            if c.is_zero():  # independent: also where a student is orthogonal to all teachers
                return self.single(j, a, m, kind1 == "erf") * self.single(k, b, n, kind2 == "erf")
            if not (m.is_zero() and n.is_zero()):
                return self.shifted_pair(j, k, (m, n), (a, b), c)
            if (j + k) % 2:
                return self.ca.SX(0)
            found = self.pair(j, k, a, b, c)
            return self.shifted_pair(j, k, (m, n), (a, b), c) if found is None else found
        raise self.refused(key, label, "a product of more functions than exact means take")

    # ---- Closed forms.

    def kernel(self, value: Any, slopes: list[tuple[Any, Any]], name: str = "") -> Any:
        name = name or str(value)
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

    def pair(self, j: int, k: int, a: Any, b: Any, c: Any) -> Any:
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

    def shifted_pair(self, j: int, k: int, means: tuple[Any, Any], variances: tuple[Any, Any],
                     c: Any) -> Any:
        """The mean of orders j and k of |u| and |v| for any means."""
        name = f"pair {means} {variances} {c}"
        if name not in self.pairs:
            self.pairs[name] = ShiftedPair(
                self.ca, lambda order, a, m: self.single_value(order, a, m, False), means,
                variances, c)
        of = self.pairs[name].value
        return self.kernel(of(j, k), [
            (means[0], of(j + 1, k)), (means[1], of(j, k + 1)), (variances[0], of(j + 2, k) / 2),
            (variances[1], of(j, k + 2) / 2), (c, of(j + 1, k + 1))], f"{j} {k} {name}")

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
                         self.smooth_names[of] if kind == "smooth" else
                         f"{kind}({self.affines[of].label})")
        return " * ".join(words)

    def refused(self, key: Sequence[int], label: str, why: str) -> NoClosedForm:
        """The error that names a product without a closed form, and the term that contains it."""
        return NoClosedForm(f"the mean over normal data has no closed form here: expanded, the "
                            f"term {label} contains {self.told(key)}, {why}. The ways out: {WAYS}")

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


def with_softplus(root: Symbol) -> Symbol:
    """A formula with q + softplus(p - q) in the place of logistic_loss() and np.logaddexp(): their
    stable forms have branches, which closed forms would take for kinks."""
    while True:
        for node in in_order([root]):
            pair = of_softplus(node)
            if pair is not None:
                p, q = pair
                difference = p - q
                new = q + Symbol("softplus", (difference,), difference.shape, node.label)
                (root,) = replaced([root], {id(node): new})
                break
        else:
            return root


def of_softplus(node: Symbol) -> tuple[Symbol, Symbol] | None:
    """The symbols p and q of where(c, p, q) + log1p(exp(-abs(p - q)))."""
    if node.op != "+" or node.args[0].op != "where" or node.args[1].op != "log1p" \
            or node.args[1].args[0].op != "exp":
        return None
    chosen, inner = node.args[0], node.args[1].args[0].args[0]
    condition, p, q = chosen.args
    if inner.op == "neg" and inner.args[0].op == "where":  # logistic_loss()
        other, m, negative = inner.args[0].args
        is_one = (negative.op == q.op == "neg" and alike(negative.args[0], m)
                  and alike(q.args[0], m) and p.op == "constant" and not p.value.any())
    elif inner.op == "where":  # np.logaddexp()
        other, low, high = inner.args
        is_one = low.op == high.op == "-" and all(
            alike(one, wanted) for one, wanted in zip([*low.args, *high.args], [q, p, p, q]))
    else:
        return None
    return (p, q) if is_one and alike(other, condition) else None


def alike(a: Symbol, b: Symbol) -> bool:
    """Returns whether two formulas are the same function of the same symbols."""
    return a is b or (a.digest() == b.digest() and Forms.same(a, b))


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
