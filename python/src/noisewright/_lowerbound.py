# SPDX-License-Identifier: Apache-2.0
"""The lower bound that the dual of a table proves: docs/proofs/lower-bound.md."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction

from noisewright._exact import RATIO_BITS, bits_of, ceil, exp_up, floor, floor_at, power_of_two
from noisewright._loss import L2_LOSS, ZERO, Loss
from noisewright._meter import Meter, rational_work
from noisewright._strictjson import Fields
from noisewright._tablefile import Spec

# How far beyond the multipliers a bound looks for the cell from which the loss only grows.
_MAX_WALK = 1 << 21
# What a multiplier costs beside the loss at its cell.
_MULTIPLIER_WORK = 500

# The multipliers of a cell that come without the factor e^ε, and with it.
_Coefficient = tuple[int, int]


def lower_bound(spec: Spec, meter: Meter) -> Fraction:
    """The bound on the expected loss of every noise that keeps the promise and the constraints;
    0 without multipliers, or with those of another problem."""
    if spec.dual is None:
        return ZERO
    nodes = _Nodes(spec, spec.dual)
    if not nodes.applies:
        return ZERO
    return _Minimum(nodes, spec, spec.dual, meter).bound()


class _Nodes:
    """The points of the grid of a dual, and the Lagrangian there."""

    def __init__(self, spec: Spec, dual: Fields) -> None:
        c = spec.constraints
        self.symmetric = c.symmetric
        self.edges: bool = dual.get("edges", False)  # cell j lies between nodes j and j+1
        self.points = False  # noise takes values at nodes only
        self.applies = False  # whether the multipliers are those of the problem
        real = spec.query == "real"
        spread: bool = dual.get("spread", False)  # nodes of a query on points that are not among them
        self.spread: Fraction | None = None  # the distance of the points over which noise is spread
        if self.edges and (real == spread or not spec.loss.unimodal):
            return
        if spread and (real or c.lower is not None or c.upper is not None):
            return
        sensitivity, k = Fraction(spec.privacy.sensitivity), dual["cells_per_sensitivity"]
        if real:
            self.step = sensitivity / k
        else:
            unit = Fraction(spec.unit) if spec.query == "lattice" else Fraction(1)
            points = ceil(sensitivity / unit)
            stride = points // k
            if spread:
                if not self.edges and k >= points:
                    return  # nodes have to be further apart than points
                self.spread, self.step = unit, points * unit / k
            elif stride == 0:
                return  # more cells than points per sensitivity
            else:
                self.points = stride == 1
                self.step = stride * unit
        self._limit(c.lower, c.upper)
        mean, variance, quantiles = dual.get("mean", 0), dual.get("variance", 0), dual.get("quantiles", [])
        if (mean and not c.unbiased) or (variance and not c.max_variance) or len(quantiles) > len(c.quantiles):
            return
        self.mean = Fraction(mean)
        self.moments: list[tuple[Loss, Fraction]] = [(spec.loss, Fraction(1))]
        self.constant = ZERO
        bounded = [(L2_LOSS, Fraction(c.max_variance)), *c.moments()]
        for multiplier, (loss, bound) in zip([variance, *quantiles], bounded, strict=False):
            if multiplier:
                self.moments.append((loss, Fraction(multiplier)))
                self.constant += bound * Fraction(multiplier)
        self._plain = not mean and spec.loss.symmetric
        # The middle cell of nodes between points gathers noise from both sides of 0.
        alike = self.points or c.symmetric or (spec.loss.symmetric and c.mirrored())
        runs = [dual.get(name) for name in ("monotone_right", "monotone_left")]
        first = [r["multipliers"][0] if r and r["first_cell"] == 0 and r["multipliers"] else 0 for r in runs]
        # Twice the middle cell weighs at least as much as the two next to it.
        alike = alike or first[0] == first[1]
        for run in runs:
            if run is not None and not (c.monotone and run["first_cell"] >= (0 if alike else 1)):
                return
        self.applies = True

    def _limit(self, lower: float | None, upper: float | None) -> None:
        """The nodes that noise on the support reaches."""
        self.first: int | None = None
        self.last: int | None = None
        if lower is not None:
            a = Fraction(lower) / self.step
            self.first = ceil(a) if self.points else floor(a)
        if upper is not None:
            b = Fraction(upper) / self.step
            self.last = floor(b) if self.points else ceil(b) - self.edges

    def reached(self, j: int) -> bool:
        return (self.first is None or self.first <= j) and (self.last is None or self.last >= j)

    def at(self, j: int) -> Fraction:
        """l_j of the Lagrangian."""
        return self._symmetrized(j, self._node if self.spread is None or self.edges else self._lowered)

    def _node(self, j: int) -> Fraction:
        return self._sum(lambda loss: self._one(loss, j), j * self.step)

    def _lowered(self, j: int) -> Fraction:
        """A node less κ_j of docs/proofs/lower-bound.md: so much that the mean of what is linear between such, over the
        distance of points around the nearest one, is not above the Lagrangian there."""
        assert self.spread is not None
        below, node, above = (self._node(i) for i in (j - 1, j, j + 1))
        at = j * self.step
        point = floor(at / self.spread + Fraction(1, 2)) * self.spread
        away = abs(point - at)
        rest = self.spread / 2 - away
        if rest <= 0:
            return node
        chord = node + ((below if point < at else above) - node) * away / self.step
        bend = max(below - 2 * node + above, ZERO) * rest * rest / (2 * self.spread * self.step)
        value = self._sum(lambda loss: loss.at_down(point), point)
        lowered: Fraction = node - max(chord + bend - value, ZERO) * self.step / (self.step - self.spread)
        return lowered

    def growth(self, j: int) -> Fraction:
        """A bound on how much it grows from j outwards."""
        if self.edges:
            return ZERO  # neither the loss nor the moments decrease
        return self._symmetrized(j, self._growth)

    def _growth(self, j: int) -> Fraction:
        return self._sum(lambda loss: loss.growth(j, self.step), -self.step if j < 0 else self.step)

    def _one(self, loss: Loss, j: int) -> Fraction:
        if not self.edges and not self.points:
            return loss.lower_node(j, self.step)
        if not self.edges:
            return loss.at_down(j * self.step)
        if self.spread is not None:  # the point that the end nearer to 0 is rounded to, from inside the cell
            point = floor(abs(j if j >= 0 else j + 1) * self.step / self.spread + Fraction(1, 2)) * self.spread
            return loss.at_down(point if j >= 0 else -point)
        # The end nearer to 0, seen from inside the cell.
        return loss.limit_down(j * self.step, 1) if j >= 0 else loss.limit_down((j + 1) * self.step, -1)

    def _sum(self, of: Callable[[Loss], Fraction], x: Fraction) -> Fraction:
        total = self.mean * x if self.mean else ZERO
        for loss, multiplier in self.moments:
            part = of(loss)
            total += part if multiplier == 1 else part * multiplier
        return total

    def _symmetrized(self, j: int, of: Callable[[int], Fraction]) -> Fraction:
        mirror = -1 - j if self.edges else -j
        if not self.symmetric or mirror == j or self._plain:
            return of(j)
        return (of(j) + of(mirror)) / 2


def _coefficients(dual: Fields) -> dict[int, _Coefficient]:
    """What the multipliers add to cells, without the factor e^ε and with it."""
    own: dict[int, int] = defaultdict(int)
    other: dict[int, int] = defaultdict(int)
    mirror = -1 if dual.get("edges", False) else 0
    for s in dual["shifts"]:
        k = s["shift"]
        for j, y in enumerate(s["multipliers"], s["first_cell"]):
            if not y:
                continue
            own[j] += y
            other[j - k] += y
            if dual["mirrored"]:
                own[mirror - j] += y
                other[mirror - j + k] += y
    left = "monotone_right" if dual["mirrored"] else "monotone_left"
    for name, side in (("monotone_right", 1), (left, -1)):
        run = dual.get(name)
        if run is None:
            continue
        for j, y in enumerate(run["multipliers"], run["first_cell"]):
            if y:
                own[side * j] -= y
                own[side * (j + 1)] += y
    return {j: (own.get(j, 0), other.get(j, 0)) for j in own.keys() | other.keys()}


class _Minimum:
    """The least of l_j and what the multipliers add, in units of 2^(x-96), x their exponent."""

    def __init__(self, nodes: _Nodes, spec: Spec, dual: Fields, meter: Meter) -> None:
        self.nodes, self.dual, self.meter = nodes, dual, meter
        self.delta = Fraction(spec.privacy.delta)
        self.exponent: int = dual["exponent"]
        self.up = exp_up(spec.privacy.epsilon)
        self.least: int | None = None
        size = bits_of(nodes.step) + 64
        works = [loss.work(size) for loss, _ in nodes.moments]
        twice = 2 if spec.constraints.symmetric else 1
        self._bound_work = twice * sum(w.bound + 4 * rational_work(2 * size) for w in works)
        if nodes.spread is not None and not nodes.edges:
            self._bound_work *= 5
        self._growth_work = twice * sum(w.growth for w in works)
        runs = [*dual["shifts"], *(dual[n] for n in ("monotone_right", "monotone_left") if dual.get(n) is not None)]
        count = sum(len(r["multipliers"]) for r in runs)
        meter.spend(twice * sum(4 * w.in_pass for w in works) + _MULTIPLIER_WORK * count)

    def bound(self) -> Fraction:
        if not self._over(_coefficients(self.dual)) or self.least is None:
            return ZERO
        price = sum(max(s["multipliers"], default=0) for s in self.dual["shifts"])
        if self.dual["mirrored"]:
            price *= 2
        least = self.least
        if self.nodes.edges:
            # An atom at 0 counts at every shift; its loss is at least 0.
            least = min(least, price << RATIO_BITS)
        bound = least * power_of_two(self.exponent - RATIO_BITS)
        bound -= price * power_of_two(self.exponent) * self.delta + self.nodes.constant
        return max(bound, ZERO)

    def _consider(self, j: int, own: int = 0, other: int = 0) -> None:
        if not self.nodes.reached(j):
            return
        self.meter.spend(self._bound_work)
        c = floor_at(self.nodes.at(j), RATIO_BITS - self.exponent) + (own << RATIO_BITS) - other * self.up
        if self.least is None or c < self.least:
            self.least = c

    def _grows(self, j: int) -> bool:
        self.meter.spend(self._growth_work)
        return self.nodes.growth(j) >= 0

    def _over(self, coefficients: dict[int, _Coefficient]) -> bool:
        """Considers all cells; False if it is not found where those without multipliers only
        grow."""
        for j, (own, other) in coefficients.items():
            self._consider(j, own, other)
        if 0 not in coefficients:
            self._consider(0)
        outermost = {max(coefficients, default=0), min(coefficients, default=0)}
        for side in (1, -1):
            # Growth does not decrease outwards: if there is none at the limit, there is none before.
            far = side * (_MAX_WALK + 1)
            if self.nodes.reached(far) and not self._grows(far):
                return False
            walked, j = 0, side
            while self.nodes.reached(j):
                self.meter.spend(1)
                if j not in coefficients:
                    self._consider(j)
                    walked += 1
                    last = abs(j) > _MAX_WALK
                    inside = self.nodes.spread is not None and any(side * i > side * j for i in outermost)
                    if not inside and (last or walked & (walked - 1) == 0) and self._grows(j):
                        break
                    if last:
                        return False
                j += side
        return True
