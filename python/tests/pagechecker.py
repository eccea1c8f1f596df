# SPDX-License-Identifier: Apache-2.0
"""The checks of docs/table-format.md, sentence by sentence: slow, and written from that page alone. They are for
tables without a tail, a total, moments or powers, of losses that do not fall away from 0, whose fields are all there
and have the right types."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Any

Polynomial = tuple[Fraction, Fraction, Fraction]  # the coefficients of 1, x and x²
FAR = 1 << 21


class MalformedError(Exception):
    """Of a file that breaks a rule of the format."""


def term(name: str) -> tuple[list[Fraction], list[Polynomial]]:
    """The knots of a loss, and its polynomials before, between and after them."""
    kind, _, rest = name.partition(":")
    t, *more = (Fraction(float(x)) for x in rest.split(",")) if rest else (Fraction(1),)
    zero, one = Fraction(0), Fraction(1)
    if kind == "l1":
        return [zero], [(zero, -one, zero), (zero, one, zero)]
    if kind == "l2":
        return [], [(zero, zero, one)]
    if kind == "pinball":
        return [zero], [(zero, t - 1, zero), (zero, t, zero)]
    if kind == "asymmetric":
        return [zero], [(zero, -t, zero), (zero, more[0], zero)]
    if kind == "huber":
        return [-t, t], [(-t * t / 2, -t, zero), (zero, zero, one / 2), (-t * t / 2, t, zero)]
    if kind == "deadzone":
        return [-t, t], [(-t, -one, zero), (zero, zero, zero), (-t, one, zero)]
    assert kind == "exceed", name
    return [-t, t], [(one, zero, zero), (zero, zero, zero), (one, zero, zero)]


class Loss:
    """A sum of terms."""

    def __init__(self, name: str) -> None:
        self.terms = [term(part) for part in name.split(" + ")]
        self.knots = sorted({k for knots, _ in self.terms for k in knots})

    def limit(self, x: Fraction, side: int) -> Fraction:
        """The limit from the left or the right; for side 0 the value, the lower of both."""

        def one(knots: list[Fraction], pieces: list[Polynomial], side: int) -> Fraction:
            a, b, c = pieces[sum(k < x or (k == x and side > 0) for k in knots)]
            return a + b * x + c * x * x

        return sum((one(*t, side) if side else min(one(*t, -1), one(*t, 1)) for t in self.terms), Fraction(0))

    def rest(self, x: Fraction) -> Fraction:
        """What is left of the loss without its jumps."""
        value = self.limit(x, 0)
        for k in self.knots:
            value -= self.right(k) * (x > k) + self.left(k) * (x < k)
        return value

    def right(self, k: Fraction) -> Fraction:
        return self.limit(k, 1) - self.limit(k, 0)

    def left(self, k: Fraction) -> Fraction:
        return self.limit(k, -1) - self.limit(k, 0)

    def below_chord(self, a: Fraction, b: Fraction) -> Fraction:
        """The largest amount by which the rest is below its chord over an interval."""
        slope = (self.rest(b) - self.rest(a)) / (b - a)
        inner = [k for k in self.knots if a < k < b]
        at = [a, *inner, b]
        for x, y in pairwise(at):
            middle = (x + y) / 2
            square = 2 * (self.rest(x) + self.rest(y) - 2 * self.rest(middle)) / (y - x) ** 2
            if square > 0:  # where the rest is parallel to the chord
                flat = middle + (slope - (self.rest(y) - self.rest(x)) / (y - x)) / (2 * square)
                inner += [flat] if x < flat < y else []
        return max([Fraction(0)] + [self.rest(a) + slope * (x - a) - self.rest(x) for x in inner])

    def node(self, j: int, beta: Fraction) -> Fraction:
        """The lower node."""
        before, at, after = ((j + i) * beta for i in (-1, 0, 1))
        value = self.rest(at) - max(self.below_chord(before, at), self.below_chord(at, after))
        for k in self.knots:
            value += self.right(k) * (k <= before) + self.left(k) * (k >= after)
        return value

    def mean(self, first: int, count: int, g: Fraction) -> Fraction:
        """The average over so many points from the first on, piece by piece."""
        total = Fraction(0)
        last = first + count - 1
        cuts = sorted({first, last + 1, *(n for k in self.knots for n in (ceil(k / g), floor(k / g) + 1))})
        for a, b in pairwise(cuts):
            if a < first or b > last + 1:
                continue
            x = (Fraction(a) + b - 1) / 2 * g  # the middle: sums are those of its neighborhood
            n = b - a
            if n == 1:
                total += self.limit(x, 0)
                continue
            step = (Fraction(n) - 1) / 2 * g
            square = (self.limit(x + step, -1) + self.limit(x - step, 1) - 2 * self.middle(x, step)) / (2 * step * step)
            total += n * self.middle(x, step) + square * g * g * Fraction(n * (n * n - 1), 12)
        return total / count

    def middle(self, x: Fraction, step: Fraction) -> Fraction:
        """The polynomial around a middle, which may be no point, of points that no knot is between."""
        assert not any(x - step < k < x + step for k in self.knots)
        return self.limit(x, 0)


def bounds_of_exp(epsilon: float) -> tuple[Fraction, Fraction]:
    if epsilon == 0:
        return Fraction(1), Fraction(1)
    exact = Fraction(Context(prec=200).exp(Decimal(epsilon)))
    return Fraction(floor(exact * 2**96), 2**96), Fraction(ceil(exact * 2**96), 2**96)


class Table:
    """A file, with the symbols of the page."""

    def __init__(self, text: bytes) -> None:
        file = json.loads(text)
        privacy, grid = file["privacy"], file["grid"]
        self.query = file.get("query", "real")
        self.loss = Loss(file["loss"]["name"])
        self.demands: dict[str, Any] = file.get("constraints", {})
        self.epsilon, self.delta, self.sensitivity = (Fraction(privacy[n]) for n in ("epsilon", "delta", "sensitivity"))
        self.down, self.up = bounds_of_exp(privacy["epsilon"])
        self.g: Fraction = Fraction(grid.get("unit", 0) or 1) * Fraction(2) ** int(grid["granularity_exponent"])
        self.size, self.offset = grid["points_per_cell"], grid.get("offset", 0)
        self.k, self.first = grid["cells_per_sensitivity"], grid["first_cell"]
        self.weights, self.atom = [int(w) for w in file["weights"]], int(file["atom"])
        self.claims = {n: Fraction(v) for n, v in file["certificate"].items() if n != "dual"}
        self.dual: dict[str, Any] | None = file["certificate"].get("dual")
        if sum(self.weights) + self.atom != 1 << 64:
            raise MalformedError("the sum")
        if self.dual is not None:
            self.well_formed(self.dual)

    def well_formed(self, dual: dict[str, Any]) -> None:
        monotone = "monotone_right" in dual or "monotone_left" in dual
        mirrored, mean = dual["mirrored"], dual.get("mean", 0) != 0
        shifts = [s["shift"] for s in dual["shifts"]]
        largest = sum(max(map(int, s["multipliers"]), default=0) for s in dual["shifts"])
        wrong = {
            "edges": dual.get("edges", False) and (monotone or mean),
            "mirrored": mirrored and ("monotone_left" in dual or mean),
            "spread": dual.get("spread", False) and monotone,
            "shift": any(not 1 <= abs(k) <= dual["cells_per_sensitivity"] for k in shifts),
            "twice": len({abs(k) if mirrored else k for k in shifts}) < len(shifts),
            "largest": largest > 1 << 61,
            "first cell": any(dual[n]["first_cell"] < 0 for n in ("monotone_right", "monotone_left") if n in dual),
        }
        for rule, broken in wrong.items():
            if broken:
                raise MalformedError(rule)

    def certified_delta(self) -> Fraction:
        scale, n = self.down.denominator, len(self.weights)
        scaled = [w * scale for w in self.weights]
        moved = [0] * self.k + [w * self.down.numerator for w in self.weights] + [0] * self.k

        def gain(k: int) -> int:
            return sum(a - b for a, b in zip(scaled, moved[self.k - k : self.k - k + n], strict=True) if a > b)

        most = max(gain(k) for k in range(-self.k, self.k + 1) if k)
        return (self.atom + Fraction(most, scale)) / 2**64

    def first_point(self, i: int) -> int:
        start: int = self.offset + (self.first + i) * self.size - (self.size - 1) // 2
        return start

    def expected_loss(self, loss: Loss) -> Fraction:
        total = self.atom * loss.limit(Fraction(0), 0)
        for i, w in enumerate(self.weights):
            if w:
                total += w * loss.mean(self.first_point(i), self.size, self.g)
        return total / 2**64

    def keeps(self) -> Iterator[bool]:
        """Whether each constraint holds."""
        cells = [i for i, w in enumerate(self.weights) if w] or [len(self.weights) - 1]
        low, high = cells[0], cells[-1]
        inner = self.weights[low : high + 1]
        lowest, highest = self.first_point(low), self.first_point(high + 1) - 1
        if self.demands.get("symmetric"):
            yield inner == inner[::-1] and lowest == -highest
        if self.demands.get("monotone"):
            yield lowest <= 0 <= highest
            for i in range(low, high):
                nearer = self.weights[i] - self.weights[i + 1]
                yield nearer >= 0 if self.first_point(i + 1) > 0 else nearer <= 0
        if self.demands.get("unbiased"):
            yield sum(w * (self.offset + (self.first + i) * self.size) for i, w in enumerate(self.weights)) == 0
        extent = (min(lowest, 0), max(highest, 0)) if self.atom else (lowest, highest)
        if "lower" in self.demands:
            yield extent[0] * self.g >= Fraction(self.demands["lower"])
        if "upper" in self.demands:
            yield extent[1] * self.g <= Fraction(self.demands["upper"])

    def lower_bound(self) -> Fraction:
        return max(Fraction(0), Bound(self, self.dual).value()) if self.dual is not None else Fraction(0)

    def holds(self) -> bool:
        delta = self.certified_delta()
        private = self.sensitivity <= self.k * self.size * self.g and delta <= self.delta
        claimed = (
            self.claims["delta"] >= delta
            and self.claims["expected_loss"] >= self.expected_loss(self.loss)
            and self.claims["lower_bound"] <= self.lower_bound()
        )
        return private and claimed and all(self.keeps())


class Bound:
    """The lower bound that a dual proves for the problem of a table."""

    def __init__(self, table: Table, dual: dict[str, Any]) -> None:
        self.table, self.dual = table, dual
        self.k: int = dual["cells_per_sensitivity"]
        self.unit = Fraction(2) ** int(dual["exponent"])
        self.edges: bool = dual.get("edges", False)
        self.spread: bool = dual.get("spread", False)
        self.ends: list[float | None] = [table.demands.get("lower"), table.demands.get("upper")]
        self.points = ceil(table.sensitivity / table.g) if table.query != "real" else 0
        self.beta: Fraction = table.sensitivity / self.k
        if self.points:
            self.beta = self.points // self.k * table.g
            if self.spread:
                self.beta = Fraction(self.points, self.k) * table.g
        self.only_nodes = self.points > 0 and self.points // self.k == 1 and not self.spread
        self.y: dict[tuple[int, int], int] = {}
        for s in dual["shifts"]:
            for i, y in enumerate(map(int, s["multipliers"])):
                k, j = s["shift"], s["first_cell"] + i
                self.y[k, j] = y
                if dual["mirrored"]:
                    self.y[-k, self.mirror(j)] = y
        self.of_shifts: dict[int, Fraction] = {}
        for (k, j), y in self.y.items():
            for at, part in ((j, Fraction(y)), (j - k, -table.up * y)):
                self.of_shifts[at] = self.of_shifts.get(at, Fraction(0)) + part
        right, left = (dual.get(n) for n in ("monotone_right", "monotone_left"))
        self.m = [self.run(right), self.run(right if dual["mirrored"] else left)]
        self.at_zero = any(run is not None and run["first_cell"] == 0 for run in (right, left))
        self.monotone = right is not None or left is not None

    @staticmethod
    def run(run: dict[str, Any] | None) -> dict[int, int]:
        return {run["first_cell"] + i: int(m) for i, m in enumerate(run["multipliers"])} if run else {}

    def mirror(self, j: int) -> int:
        return -1 - j if self.edges else -j

    def proves_nothing(self) -> bool:
        demands, dual = self.table.demands, self.dual
        symmetric = all(
            self.table.loss.limit(x, s) == self.table.loss.limit(-x, -s) for x in self.knots() for s in (-1, 1)
        )
        lower, upper = self.ends
        even = lower == upper if lower is None or upper is None else lower == -upper
        return (
            self.beta == 0
            or (self.edges and not (self.table.query == "real" or self.spread))
            or (
                self.spread
                and (not self.points or self.ends != [None, None] or (not self.edges and self.k >= self.points))
            )
            or (self.monotone and not demands.get("monotone"))
            or (dual.get("mean", 0) != 0 and not demands.get("unbiased"))
            or (dual.get("variance", 0) != 0 and not demands.get("max_variance"))
            or len(dual.get("quantiles", [])) > len(demands.get("quantiles", []))
            or (
                self.at_zero
                and not self.only_nodes
                and not demands.get("symmetric")
                and not (symmetric and even)
                and self.m[0].get(0, 0) != self.m[1].get(0, 0)
            )
        )

    def knots(self) -> list[Fraction]:
        """Those of the loss, and places between and beyond."""
        knots = sorted({Fraction(0), *self.table.loss.knots})
        between = [(a + b) / 2 for a, b in pairwise(knots)]
        return [*knots, *between, knots[0] - 1, knots[-1] + 1, knots[0] - 3, knots[-1] + 3]

    def plain(self, j: int) -> Fraction:
        """l_j before it is lowered or averaged."""
        loss, x = self.table.loss, j * self.beta
        if self.edges:
            side = 1 if j >= 0 else -1
            x = x if j >= 0 else x + self.beta
            if self.spread:
                return loss.limit(side * floor(abs(x) / self.table.g + Fraction(1, 2)) * self.table.g, 0)
            return loss.limit(x, side)
        value = loss.limit(x, 0) if self.only_nodes else loss.node(j, self.beta)
        return value + Fraction(self.dual.get("mean", 0)) * x

    def lowered(self, j: int) -> Fraction:
        if not self.spread or self.edges:
            return self.plain(j)
        at, g, beta = j * self.beta, self.table.g, self.beta
        before, here, after = (self.plain(j + i) for i in (-1, 0, 1))
        most = Fraction(0)
        for m in range(floor(at / g) - 1, ceil(at / g) + 2):
            d = abs(m * g - at)
            if 2 * d < g:
                between = here + ((after if m * g > at else before) - here) * d / beta
                c = self.table.loss.limit(m * g, 0) + Fraction(self.dual.get("mean", 0)) * m * g
                bend = max(Fraction(0), after - 2 * here + before) * (g / 2 - d) ** 2 / (2 * g * beta)
                most = max(most, between + bend - c)
        return here - most * beta / (beta - g)

    def averaged(self, j: int, of: Callable[[int], Fraction]) -> Fraction:
        value = of(j)
        return (value + of(self.mirror(j))) / 2 if self.table.demands.get("symmetric") else value

    def bracket(self, j: int) -> Fraction:
        value = self.of_shifts.get(j, Fraction(0))
        right, left = self.m
        for m, sign in ((right, 1), (left, -1)):
            if j * sign >= 0:
                value += m.get(j * sign - 1, 0) - m.get(j * sign, 0)
        value = value * self.unit + self.averaged(j, self.lowered)
        grain = self.unit / 2**96
        return floor(value / grain) * grain

    def cells(self) -> list[int] | None:
        """Those that are evaluated; none if there is no end."""
        touched = {j for (k, at), y in self.y.items() if y for j in (at, at - k)} | {0}
        touched |= {j * s for m, s in ((self.m[0], 1), (self.m[1], -1)) for i in m for j in (i, i + 1)}
        beyond = int(max(map(abs, self.table.loss.knots), default=Fraction(0)) / self.beta) + 3
        ends = []
        for side, reached in zip((-1, 1), self.reached(), strict=True):

            def rises(j: int, side: int = side) -> bool:
                return self.averaged(side * (j + 1), self.plain) >= self.averaged(side * j, self.plain)

            if reached is not None:
                ends.append(reached)
                continue
            if not rises(FAR):
                return None
            last = max(side * j for j in touched)
            end = max(beyond, last + 1)
            while not rises(end):
                end += 1
            while self.spread and end > max(last, 0) + 1 and rises(end - 1):
                end -= 1
            ends.append(side * end)
        return list(range(ends[0], ends[1] + 1))

    def reached(self) -> tuple[int | None, int | None]:
        lower, upper = (None if x is None else Fraction(x) / self.beta for x in self.ends)
        if self.edges:
            return None if lower is None else floor(lower), None if upper is None else ceil(upper) - 1
        if self.only_nodes:
            return None if lower is None else ceil(lower), None if upper is None else floor(upper)
        return None if lower is None else floor(lower), None if upper is None else ceil(upper)

    def value(self) -> Fraction:
        if self.proves_nothing():
            return Fraction(0)
        largest: dict[int, int] = {}
        for (k, _), y in self.y.items():
            largest[k] = max(largest.get(k, 0), y)
        price = sum(largest.values()) * self.unit
        cells = self.cells()
        if cells is None:
            return Fraction(0)
        least = min(map(self.bracket, cells))
        if self.edges:
            least = min(least, price)
        return least - self.table.delta * price


def verdict(text: bytes) -> int:
    """The exit code of `noisewright verify`."""
    try:
        return 0 if Table(text).holds() else 3
    except MalformedError:
        return 2
