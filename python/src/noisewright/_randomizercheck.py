# SPDX-License-Identifier: Apache-2.0
"""The exact check of everything that a local randomizer claims: docs/proofs/local-privacy.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import Any

from noisewright._claims import hold_claims, hold_delta
from noisewright._divergence import Rows, probability, ratio_down
from noisewright._exact import at, bits_of, ceil_at, decimal_up, div_up, float_up, floor_at
from noisewright._loss import L2_LOSS, ZERO
from noisewright._meter import Meter, rational_work
from noisewright._pricing import lower_bound
from noisewright._randomizerfile import CLAIMS, Spec
from noisewright.errors import FalseClaimError

# Binary places of costs beyond the size of a cost.
_COST_DIGITS = 128
# How often an interval between nodes is halved to bound the loss in it, at most, and within
# which part of a loss that was found it is not.
_WORST_HALVINGS = 6
_WORST_BITS = 14

RowSum = Callable[[int], int]


def verify(spec: Spec, meter: Meter) -> dict[str, Any]:
    """What is found in a randomizer that keeps its promise and states nothing false."""
    delta, nodes = _worst(spec, meter)
    bias = _bias(spec, meter)
    costs = _Costs(spec, meter)
    mean, worst = costs.atoms() if spec.kind != "real" else (costs.density_mean(), costs.worst())
    bound = lower_bound(spec, cost_bits(spec), meter)
    hold_delta(spec.delta, delta, f"between the nodes {nodes[0]} and {nodes[1]}")
    if spec.demands.unbiased and bias:
        raise FalseClaimError(
            f"unbiased answers are promised but the mean of those to a node is off by {decimal_up(bias)}"
        )
    if spec.demands.cap and worst > Fraction(spec.demands.cap):
        raise FalseClaimError(f"cap = {spec.demands.cap!r} is promised but only {decimal_up(worst)} is proved")
    hold_claims(spec.certificate, CLAIMS, (delta, mean, worst, bias, bound))
    return {
        "delta_upper": delta,
        "worst_nodes": nodes,
        "mean_loss": mean,
        "worst_loss": worst,
        "bias": bias,
        "lower_bound": bound,
        "objective": "worst" if spec.worst else "mean",
        "work": meter.used,
    }


def _worst(spec: Spec, meter: Meter) -> tuple[Fraction, tuple[int, int]]:
    """The largest divergence between the laws of two nodes."""
    n, answers = len(spec.rows), len(spec.rows[0])
    meter.spend(2 * n * answers)
    rows = Rows(spec.rows, ratio_down(spec.epsilon))
    if rows.pure():
        return ZERO, (0, 0)
    meter.spend(2 * n * n * answers)
    worst, nodes = 0, (0, 0)
    for gain in range(n):
        h, other = rows.worst_of(gain, [k for k in range(n) if k != gain])
        if h > worst:
            worst, nodes = h, (gain, other)
    return probability(worst), nodes


def grid_bits(*lists: Sequence[float]) -> int:
    """The least b >= 0 such that all numbers are multiples of 2^-b."""
    return max((Fraction(x).denominator.bit_length() - 1 for numbers in lists for x in numbers), default=0)


def _on_grid(numbers: Sequence[float], bits: int) -> list[int]:
    return [floor_at(Fraction(x), bits) for x in numbers]


def _bias(spec: Spec, meter: Meter) -> Fraction:
    """The largest distance of the mean of a node's answers from the node."""
    if spec.category:
        return ZERO
    bits = grid_bits(spec.answers, spec.nodes)
    meter.spend(len(spec.rows) * len(spec.answers) * (20 + bits // 16))
    answers, nodes = _on_grid(spec.answers, bits), _on_grid(spec.nodes, bits)
    most = max(abs(sum(map(mul, row, answers)) - (x << 64)) for row, x in zip(spec.rows, nodes, strict=True))
    return at(most, 64 + bits)


def cost_bits(spec: Spec) -> int:
    """The binary places of costs: some beyond the largest cost of a label, or the loss of an error
    as large as the range."""
    if spec.loss is None:
        top = max((c for row in spec.costs for c in row), default=0.0)
    else:
        # Bounds, rounded up once: where parameters are large a float64 would cancel to nothing.
        width = Fraction(spec.upper) - Fraction(spec.lower)
        top = max(float_up(spec.loss.ramp_mean_up(x, x)) for x in (width, -width))
    if not 0 < top < math.inf:
        return _COST_DIGITS
    return _COST_DIGITS - (math.frexp(top)[1] - 1)


@dataclass(frozen=True)
class _Stretch:
    """A part of an interval between nodes: the values at which the upper node has a share from
    k/2^halvings to (k+1)/2^halvings, and the sums of costs of both nodes at its ends."""

    k: int
    halvings: int
    lower: tuple[int, int]
    higher: tuple[int, int]

    def halved(self, lower: int, higher: int) -> tuple[_Stretch, _Stretch]:
        """Both halves, given the sums of costs in the middle."""
        k, h = 2 * self.k, self.halvings + 1
        return (
            _Stretch(k, h, (self.lower[0], lower), (self.higher[0], higher)),
            _Stretch(k + 1, h, (lower, self.lower[1]), (higher, self.higher[1])),
        )

    def at_start(self) -> int:
        """The loss at its lower end, rounded down."""
        return self.lower[0] * ((1 << self.halvings) - self.k) + self.higher[0] * self.k >> self.halvings

    def highest(self) -> int:
        """A bound on the loss: the sums are convex and so below their chords, and the loss is at
        most the quadratic that interpolates between the chords."""
        k, rest = self.k, (1 << self.halvings) - self.k
        low, high = self.lower[1] - self.lower[0], self.higher[1] - self.higher[0]
        q0 = rest * self.lower[0] + k * self.higher[0]
        q1 = rest * low + k * high - self.lower[0] + self.higher[0]
        q2 = high - low
        most = max(q0, q0 + q1 + q2)
        if 0 < q1 < -2 * q2:  # the top is inside
            most = q0 + div_up(q1 * q1, -4 * q2)
        return -(-most >> self.halvings)


class _Costs:
    """Sums of products of weights and costs, rounded up to multiples of 2^-bits."""

    def __init__(self, spec: Spec, meter: Meter) -> None:
        self.spec, self.meter, self.bits = spec, meter, cost_bits(spec)
        self._work = 100
        self._moments: list[tuple[Fraction, Fraction, Fraction]] = []
        self._answers = [Fraction(y) for y in spec.answers]
        if spec.loss is L2_LOSS:
            self._find_moments()
        elif spec.loss is not None:
            size = max(bits_of(Fraction(x)) for x in (*spec.nodes, *spec.answers))
            work = spec.loss.work(size + _WORST_HALVINGS)
            self._work += work.bound
            meter.spend(work.in_pass * len(spec.answers))

    def _find_moments(self) -> None:
        """Of squared errors the moments Σ_j W_ij·y_j^k of every row tell all."""
        bits = grid_bits(self.spec.answers)
        answers = _on_grid(self.spec.answers, bits)
        squares = [y * y for y in answers]
        self.meter.spend(len(self.spec.rows) * len(answers) * (60 + bits // 8))
        for row in self.spec.rows:
            first, second = sum(map(mul, row, answers)), sum(map(mul, row, squares))
            self._moments.append((Fraction(1 << 64), at(first, bits), at(second, 2 * bits)))

    def atoms(self) -> tuple[Fraction, Fraction]:
        """The mean and the largest loss where every value is a node."""
        mean = worst = ZERO
        for i, share in enumerate(self.spec.shares()):
            if self.spec.category:
                self.meter.spend(100 * len(self.spec.answer_labels))
                total = sum(
                    w * ceil_at(Fraction(c), self.bits)
                    for w, c in zip(self.spec.rows[i], self.spec.costs[i], strict=True)
                )
            else:
                total = self._costs(Fraction(self.spec.nodes[i]))(i)
            loss = at(total, 64 + self.bits)
            worst = max(worst, loss)
            mean += share * loss
        return mean, worst

    def _costs(self, x: Fraction) -> RowSum:
        """Sums of costs at a value."""
        return self._ramps(x, x)

    def _ramps(self, start: Fraction, end: Fraction) -> RowSum:
        """Sums of mean costs over values between two ends, with a weight that falls linearly to 0
        at the second one."""
        if self._moments:
            return self._square_ramps(start, end)
        loss = self.spec.loss
        if loss is None:
            raise AssertionError("categories have no loss")
        self.meter.spend(self._work * len(self._answers))
        costs = [ceil_at(loss.ramp_mean_up(y - start, y - end), self.bits) for y in self._answers]
        return lambda i: sum(map(mul, self.spec.rows[i], costs))

    def _square_ramps(self, start: Fraction, end: Fraction) -> RowSum:
        """With d = start - end the mean of (y-x)² is (y-start)² + 2/3·d·(y-start) + d²/6."""
        d = start - end

        def total(i: int) -> int:
            self.meter.spend(12 * rational_work(256))
            m0, m1, m2 = self._moments[i]
            first = m1 - m0 * start  # of y - start
            square = m2 - (m1 + first) * start
            return ceil_at(square + first * d * Fraction(2, 3) + d * d * m0 / 6, self.bits)

        return total

    def density_mean(self) -> Fraction:
        """The loss averaged over the density: between nodes both have a share that is linear."""
        nodes, pieces = [Fraction(x) for x in self.spec.nodes], self.spec.densities()
        total = p = 0
        for i in range(len(nodes) - 1):
            a, width = nodes[i], nodes[i + 1] - nodes[i]
            while a < nodes[i + 1]:
                while pieces[p].end <= a:
                    p += 1
                b = min(nodes[i + 1], pieces[p].end)
                if density := pieces[p].density:
                    part = ZERO
                    for end, sums in ((a, self._ramps(a, b)), (b, self._ramps(b, a))):
                        up = (end - nodes[i]) / width
                        part += sums(i + 1) * up + sums(i) * (1 - up)
                    total += ceil_at(part * density * (b - a), -1)
                a = b
        return at(total, 64 + self.bits)

    def worst(self) -> Fraction:
        """A bound on the expected loss of every value."""
        nodes = [Fraction(x) for x in self.spec.nodes]
        sums = [self._costs(x) for x in nodes]
        own = [s(i) for i, s in enumerate(sums)]
        top = max(own)  # the largest loss found
        bound = 0
        for i in range(len(nodes) - 1):
            width = nodes[i + 1] - nodes[i]
            parts = [_Stretch(0, 0, (own[i], sums[i + 1](i)), (sums[i](i + 1), own[i + 1]))]
            while parts:
                p = parts.pop()
                high = p.highest()
                if high <= top + (top >> _WORST_BITS) or p.halvings == _WORST_HALVINGS:
                    bound = max(bound, high)
                    continue
                middle = self._costs(Fraction(2 * p.k + 1, 2 << p.halvings) * width + nodes[i])
                low, up = p.halved(middle(i), middle(i + 1))
                top = max(top, up.at_start())
                parts += (up, low)
        return at(bound, 64 + self.bits)
