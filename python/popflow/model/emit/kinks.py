"""Means of products of two functions with a kink, of normal numbers with any means.

u and v have the means m and n, the variances a and b and the covariance c. The orders 0, 1, 2, ...
are |u|, sign(u), 2 delta(u), ...: each is the derivative of the one before (moments.py). An order j
from 2 on conditions on u = 0, which leaves a single function of v. The product of two signs is
that of Owen (1956): s s' - 4 T(h, x) - 4 T(k, y), where

    T(h, x) = 1 / (2 pi) * integral from 0 to x of exp(-h^2 (1 + t^2) / 2) / (1 + t^2) dt

with h = m / sqrt(a), k = n / sqrt(b), x = (k - r h) / (h sqrt(1 - r^2)) and y likewise. Products
with |u| follow from |u| = u sign(u) and Stein's lemma.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Any

import numpy as np

# Points for T with x up to 1. The error of 12 is below 1e-16, that of 10 is 2e-14.
POINTS, WEIGHTS = np.polynomial.legendre.leggauss(12)


class ShiftedPair:
    """The means of all orders. `single` has the mean of one function by order, variance and
    mean."""

    sizes: list[Any]  # standard deviations, or 1 where they are 0
    scaled: list[Any]  # means over standard deviations, h and k
    root: Any  # sqrt(1 - r^2) with r = c / sqrt(a b)
    rises: list[Any]  # k - r h and h - r k
    swapped: ShiftedPair

    def __init__(self, ca: Any, single: Callable[[int, Any, Any], Any], means: tuple[Any, Any],
                 variances: tuple[Any, Any], covariance: Any, swapped: ShiftedPair | None = None
                 ) -> None:
        self.ca, self.single = ca, single
        self.means, self.variances, self.c = means, variances, covariance
        self.known: dict[tuple[int, int], Any] = {}
        if swapped is not None:
            self.swapped = swapped
            self.sizes, self.scaled = swapped.sizes[::-1], swapped.scaled[::-1]
            self.root, self.rises = swapped.root, swapped.rises[::-1]
            return
        a, b = variances
        self.sizes = [ca.sqrt(ca.if_else(one > 0, one, 1)) for one in (a, b)]
        self.scaled = [mean / size for mean, size in zip(means, self.sizes)]
        square = a * b - covariance * covariance
        # All parts use the same root and rises, so that rounding errors cancel near |r| = 1.
        self.root = ca.if_else(square > 0, ca.sqrt(ca.if_else(square > 0, square, 1)), 0) / (
            self.sizes[0] * self.sizes[1])
        self.rises = self.rises_of(*self.scaled)
        self.swapped = ShiftedPair(ca, single, (means[1], means[0]), (b, a), covariance, self)

    def rises_of(self, h: Any, k: Any) -> list[Any]:
        """k - r h and h - r k, from the same difference: rounding errors cannot give them signs
        that do not fit each other near |r| = 1."""
        ca = self.ca
        side = ca.if_else(self.c >= 0, 1, -1)
        r = ca.fabs(self.c) / (self.sizes[0] * self.sizes[1])
        less = self.root * self.root / (1 + r)  # 1 - |r|
        difference = k - side * h
        return [difference + side * less * h, side * (less * k - difference)]

    def value(self, j: int, k: int) -> Any:
        """The mean of order j of |u| times order k of |v|."""
        if (j, k) not in self.known:
            self.known[j, k] = self.computed(j, k)
        return self.known[j, k]

    def computed(self, j: int, k: int) -> Any:
        (m, _), (a, _) = self.means, self.variances
        if j >= 2:
            return self.at_zero(j, k)
        if k >= 2 or (j, k) == (1, 0):
            return self.swapped.value(k, j)
        if (j, k) == (1, 1):
            return self.signs()
        if (j, k) == (0, 1):
            return m * self.value(1, 1) + a * self.value(2, 1) + self.c * self.value(1, 2)
        return m * self.value(1, 0) + a * self.value(2, 0) + self.c * self.value(1, 1)

    def at_zero(self, j: int, k: int) -> Any:
        """Order j from 2 on: derivatives by m of the density of u at 0, times the mean given that
        u is 0."""
        ca, (m, n), (a, b) = self.ca, self.means, self.variances
        slope = self.c / ca.if_else(a > 0, a, 1)
        mean = ca.if_else(b > 0, self.sizes[1] * self.rises[0], n)
        variance = ca.if_else(b > 0, b * self.root * self.root, 0)
        found = ca.SX(0)
        for i in range(j - 1):
            found = found + comb(j - 2, i) * self.single(j - i, a, m) * (-slope) ** i * \
                self.single(k + i, variance, mean)
        return ca.if_else(a > 0, found, 0)

    def signs(self) -> Any:
        ca, (m, n), (a, b) = self.ca, self.means, self.variances
        lone = self.single(1, a, m) * self.single(1, b, n)
        # The limit at m = n = 0 is that along h = k.
        are_zero = ca.logic_and(m == 0, n == 0)
        near = [ca.if_else(are_zero, 1, one) for one in self.scaled]
        signs = [ca.if_else(one >= 0, 1, -1) for one in near]
        found = signs[0] * signs[1]
        for i, rise in enumerate(self.rises_of(*near)):
            value = self.owen(ca.fabs(self.scaled[i]), ca.fabs(rise), ca.fabs(near[i]),
                              ca.if_else(are_zero, 0, ca.fabs(rise)))
            found = found - 4 * ca.if_else(rise >= 0, 1, -1) * signs[i] * value
        return ca.if_else(ca.logic_and(a > 0, b > 0), found, lone)

    def owen(self, h: Any, rise: Any, size: Any, own_rise: Any) -> Any:
        """T(h, x) for h from 0 on and x = rise / (size root). Above 1, T(h, x) is (1 - erf(h /
        sqrt(2)) erf(q / sqrt(2))) / 4 - T(q, 1 / x), with q = own_rise / root = h x."""
        ca, root = self.ca, self.root
        run = size * root
        is_low = rise <= run
        above = ca.if_else(is_low, run, rise)
        x = ca.if_else(is_low, rise, run) / ca.if_else(above > 0, above, 1)
        q = own_rise / ca.if_else(root > 0, root, 1)
        edge = ca.if_else(root > 0, ca.erf(q / np.sqrt(2)), 1)
        s = ca.if_else(is_low, h, q)
        found, half = ca.SX(0), -s * s / 2
        for point, weight in zip((POINTS + 1) / 2, WEIGHTS / 2):
            d = 1 + (point * x) ** 2
            found = found + weight * ca.exp(half * d) / d
        found = found * x / (2 * np.pi)
        return ca.if_else(is_low, found, (1 - ca.erf(h / np.sqrt(2)) * edge) / 4 - found)
