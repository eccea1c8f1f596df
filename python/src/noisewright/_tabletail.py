# SPDX-License-Identifier: Apache-2.0
"""Tables whose ends repeat for ever: docs/proofs/tail.md."""

from __future__ import annotations

from fractions import Fraction

from noisewright._divergence import Weights
from noisewright._exact import Rounded, bits_of, div_up, pow_up
from noisewright._loss import ZERO, Loss
from noisewright._meter import Meter, rational_work
from noisewright._tablefile import Spec

_TAIL_BITS = 192
# How much of a sum the bound on the rest of its series may be: 2^-60.
_TAIL_PRECISION = 60
_TAIL_PERIODS = 512
_LEAST_PERIODS = 8


class Periodic:
    """A law with a tail, unrolled, in units of 2^-128: its cells, those of the blocks with the
    probability of their own place alone, and the blocks with the next period, over 1-ρ."""

    def __init__(self, spec: Spec, ratio: int = 0, mirrored: bool = False) -> None:
        k, rho, all_weights = spec.cells, spec.tail_ratio, spec.weights
        self.k = k
        self.cells = [w * ((1 << 64) - rho) if spec.side(i) else w << 64 for i, w in enumerate(all_weights)]
        left, right = all_weights[:k], all_weights[-k:]
        self.left = [w * rho for w in left] + [w << 64 for w in left]
        self.right = [w << 64 for w in right] + [w * rho for w in right]
        if mirrored:
            self.cells.reverse()
            self.left, self.right = self.right[::-1], self.left[::-1]
        if ratio:
            self._laws = [Weights(law, ratio, words=2) for law in (self.cells, self.left, self.right)]

    def hockey_stick(self, k: int) -> int:
        """Σ_j (p_j - E·p_{j-k})₊ over the infinite law, times 2^(128+96): where j and j-k are both
        in one tail, one period over 1-ρ is the whole sum."""
        block, n = self.k, len(self.cells)
        cells, left, right = self._laws
        first, end = block, n - block + k
        return (
            cells.excess(slice(first, end), cells, slice(first - k, end - k))
            + left.excess(slice(block, 2 * block), left, slice(block - k, 2 * block - k))
            + right.excess(slice(k, k + block), right, slice(0, block))
        )


def tail_sum(spec: Spec, part: Loss, meter: Meter) -> Fraction:
    """2^64 times the expected loss of the blocks and all that they stand for."""
    if part.polynomial_beyond() is not None:
        return _polynomial_tail(spec, part, meter)
    power = part.power_bound()
    if power is None:
        raise AssertionError("a loss without a tail")
    runs = spec.block_runs()
    total = _up(ZERO)
    for run in runs:
        total = total + _power_tail(spec, part, power, run, len(runs), meter)
    return total.fraction()


def _polynomial_tail(spec: Spec, part: Loss, meter: Meter) -> Fraction:
    """Σ_m W·(1-ρ)ρ^m·f(m), f(m) the mean loss m periods further out: one by one to where f is
    a polynomial, and from there on by Newton's differences."""
    beyond = part.polynomial_beyond()
    if beyond is None:
        raise AssertionError("a loss without a polynomial")
    point_bits = bits_of(spec.step) + 53
    work = part.work(point_bits).bound + 4 * rational_work(point_bits + 2 * _TAIL_BITS)
    ratio = Fraction(spec.tail_ratio, 1 << 64)
    start = beyond[0] / spec.step
    total, orders = ZERO, [ZERO] * 3
    for i, w in enumerate(spec.weights):
        side = spec.side(i)
        if not side or not w:
            continue
        first = spec.first_point(i)

        def mean(m: int, first: int = first, side: int = side) -> Fraction:
            return part.grid_mean_up(first + side * m * spec.period, spec.points, spec.step)

        nearest = first if side > 0 else -(first + spec.points - 1)
        power, m = Fraction(w), 0
        while abs(nearest + m * spec.period) <= start:
            meter.spend(work)
            total += mean(m) * power * (1 - ratio)
            power = _round_up(power * ratio)
            m += 1
        meter.spend(3 * work)
        f0, f1, f2 = mean(m), mean(m + 1), mean(m + 2)
        for k, difference in enumerate((f0, f1 - f0, f2 - 2 * f1 + f0)):
            orders[k] += power * difference
    odds = ratio / (1 - ratio)
    return total + orders[0] + orders[1] * odds + orders[2] * odds * odds


def _round_up(x: Fraction) -> Fraction:
    """x rounded up to a multiple of 2^-192, to keep its size in check."""
    if x.denominator.bit_length() <= _TAIL_BITS:
        return x
    return Fraction(div_up(x.numerator << _TAIL_BITS, x.denominator), 1 << _TAIL_BITS)


def _up(x: Fraction) -> Rounded:
    return Rounded.of(x, _TAIL_BITS, 1)


def _power(x: Fraction, n: int, side: int) -> Rounded:
    """x^n, rounded."""
    result, base = Rounded(1, 0, _TAIL_BITS, side), Rounded.of(x, _TAIL_BITS, side)
    while n > 0:
        if n & 1:
            result = result * base
        base = base * base
        n >>= 1
    return result


def _chord(near: Rounded, far: Rounded, ratio: Fraction, n: int) -> Rounded:
    """Σ_{i<n} (1-ρ)ρ^i·(near + (far-near)·i/n), rounded up."""
    one = Rounded(1, 0, _TAIL_BITS, 1)
    last, following = _power(ratio, n - 1, -1), _power(ratio, n, -1)
    total = (one - following) * near
    if n == 1:
        return total
    slope = (one - last) * _up(ratio / (1 - ratio)) - following.times(n - 1)
    slope = slope * (far - near)
    return total + slope.over(n)


def _power_tail(spec: Spec, part: Loss, power: float, run: tuple[int, int, int], runs: int, meter: Meter) -> Rounded:
    """Σ_m W·(1-ρ)ρ^m·f(m) of a run of cells, rounded up: f is convex, so below its chords, and
    what is left falls at least geometrically."""
    first_cell, cells, side = run
    ratio, period = Fraction(spec.tail_ratio, 1 << 64), spec.period
    first, points = spec.first_point(first_cell), cells * spec.points
    nearest = first if side > 0 else -(first + points - 1)
    single = max(_LEAST_PERIODS, _TAIL_PERIODS // runs)
    work = part.work(bits_of(spec.step) + 53 + 64).bound + 20 * rational_work(4 * _TAIL_BITS)
    total, weight = _up(ZERO), Rounded(1, 0, _TAIL_BITS, 1)
    near, m = _up(part.grid_mean_up(first, points, spec.step)), 0
    while True:
        meter.spend(2 * work)
        length = 1 + m // single
        far = _up(part.grid_mean_up(first + side * (m + length) * period, points, spec.step))
        if far < near:
            far = near  # both are rounded
        total = total + _chord(near, far, ratio, length) * weight
        weight = weight * _power(ratio, length, 1)
        m += length
        near = far
        rest = weight * near
        if rest.m and rest.magnitude() >= total.magnitude() - _TAIL_PRECISION:
            continue
        q = pow_up(Fraction(nearest + (m + 1) * period, nearest + m * period), power, _TAIL_BITS) * ratio
        if q >= 1:
            continue
        total = total + rest * _up((1 - ratio) / (1 - q))
        break
    return total.times(spec.weights[first_cell]).times(cells)
