# SPDX-License-Identifier: Apache-2.0
"""Exact quantiles of the noise of a table: docs/proofs/interval.md."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate

from noisewright._exact import Rounded, power_of_two
from noisewright._law import MAX_INTEGER
from noisewright._tablefile import Spec
from noisewright.errors import InvalidError


class _Distribution:
    """P(N <= n) of a table, in units of 2^-64/S, in which the points of cells are integers."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.ends = [0, *accumulate(spec.weights)]

    def before(self, count: int) -> int:
        """The weight of the first so many points, those of a block with their repetitions."""
        cells, rest = divmod(count, self.spec.points)
        total = self.ends[cells] * self.spec.points
        return total + self.spec.weights[cells] * rest if rest else total

    def compare(self, n: int, p: Fraction) -> int:
        """The sign of P(N <= n) - p, exactly."""
        s, cells = self.spec, len(self.spec.weights)
        if s.tail_ratio:
            inner = s.first_point(s.cells)
            if n < inner:
                periods, place = divmod(inner - 1 - n, s.period)
                return self._tail(self.before(s.period - place), self.before(s.period), periods, p)
            inner = s.first_point(cells - s.cells)
            if n >= inner:
                periods, place = divmod(n - inner, s.period)
                all_points = self.before(cells * s.points)
                block = all_points - self.before(inner - s.first_point(0))
                outside = all_points - self.before(inner - s.first_point(0) + place + 1)
                return -self._tail(outside, block, periods, s.points * (1 << 64) - p)
        count = n - s.first_point(0) + 1
        total = self.before(min(max(count, 0), cells * s.points))
        if n >= 0:
            total += s.atom * s.points
        return (total > p) - (total < p)

    def _tail(self, part: int, block: int, m: int, p: Fraction) -> int:
        """The sign of ρ^m·((1-ρ)·part + ρ·block) - p: to some precision that tells. Both are
        multiples of powers of two, so equal ones are found equal at some precision, too."""
        ratio = self.spec.tail_ratio
        factor = ((1 << 64) - ratio) * part + ratio * block
        scaled = p * (1 << 64)
        # A multiple of a power of two: exact with as many bits as it has.
        want = Rounded.of(scaled, scaled.numerator.bit_length(), 1)
        prec = 192
        while True:
            signs = []
            for side in (-1, 1):
                value = Rounded(factor, 0, prec, side) * _power(Fraction(ratio, 1 << 64), m, prec, side)
                signs.append(value.compare(want))
            if signs[0] == signs[1]:
                return signs[0]
            prec *= 2


def _power(x: Fraction, n: int, prec: int, side: int) -> Rounded:
    result, base = Rounded(1, 0, prec, side), Rounded.of(x, prec, side)
    while n > 0:
        if n & 1:
            result = result * base
        base = base * base
        n >>= 1
    return result


def quantile_point(spec: Spec, p: Fraction, strictly: bool) -> int | None:
    """The least point n with P(N <= n) >= p, or above p; None if it is beyond 2^53."""
    law = _Distribution(spec)
    units = p * spec.points * power_of_two(64)
    far = MAX_INTEGER + 1
    low, high = -far, far
    while low < high:
        middle = low + (high - low) // 2
        if law.compare(middle, units) >= int(strictly):
            high = middle
        else:
            low = middle + 1
    return low if -far < low < far else None


def outermost(spec: Spec, y: float) -> tuple[int, int]:
    """The range of integers that a released y may stand for: y is n·step, up to a relative 2^-51
    for a lattice, whose multiples may have been rounded."""
    step = float(spec.step)
    tolerance = 2.0**-51 * abs(y) if spec.query == "lattice" else 0.0
    slack = 6  # exceeds the roundings
    nearest = y / step
    found = []
    if abs(nearest) <= MAX_INTEGER + slack:
        around = round(nearest)
        found = [
            n
            for n in range(around - slack, around + slack + 1)
            if abs(n * step - y) <= tolerance and abs(n) <= MAX_INTEGER and not math.isnan(y)
        ]
    if not found:
        raise InvalidError(f"value = {y!r}, want a multiple of the table's step, {step!r}, as it is after the noise")
    return found[0], found[-1]
