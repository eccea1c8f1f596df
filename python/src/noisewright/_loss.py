# SPDX-License-Identifier: Apache-2.0
"""Losses c(x) and their bounds, in fractions. A bound has its direction in its name; all are exact
but those of powers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from noisewright._exact import floor, pow_down, power_of_two
from noisewright._meter import rational_work

Quadratic = tuple[Fraction, Fraction, Fraction]

ZERO = Fraction(0)
HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Work:
    """What the bounds of a loss cost, see the program's loss.Work."""

    bound: int
    in_pass: int
    growth: int


class Loss(ABC):
    """The cost of noise, in the units that it defines."""

    name: str
    symmetric: bool
    unimodal: bool

    @abstractmethod
    def at(self, x: float) -> float:
        """c(x), nearly."""

    @abstractmethod
    def at_down(self, x: Fraction) -> Fraction:
        """A lower bound on c(x)."""

    @abstractmethod
    def grid_mean_up(self, first: int, count: int, step: Fraction) -> Fraction:
        """An upper bound on the mean of c(n·step) over so many n from the first on."""

    @abstractmethod
    def ramp_mean_up(self, start: Fraction, end: Fraction) -> Fraction:
        """An upper bound on the mean of c from the start to the end, with a weight that falls
        linearly to 0 there."""

    @abstractmethod
    def lower_node(self, j: int, step: Fraction) -> Fraction:
        """The value at node j·step of a function that is linear between nodes and below c."""

    @abstractmethod
    def growth(self, j: int, step: Fraction) -> Fraction:
        """A lower bound on how much c and its lower nodes grow per cell from j != 0 outwards."""

    @abstractmethod
    def limit_down(self, x: Fraction, side: int) -> Fraction:
        """A lower bound on the limit of c at x from the right (side 1) or the left."""

    @abstractmethod
    def ceiling_up(self, low: Fraction, high: Fraction) -> Fraction:
        """An upper bound on c from low to high."""

    @abstractmethod
    def tangent_down(self, x: Fraction) -> tuple[Fraction, Fraction] | None:
        """Value and slope at x of a line below c that touches it there; None if c is not convex."""

    @abstractmethod
    def work(self, argument: int) -> Work:
        """The work of bounds for arguments of so many bits."""

    def polynomial_beyond(self) -> tuple[Fraction, int] | None:
        """Where outside c is one polynomial on either side, and its degree."""
        return None

    def power_bound(self) -> float | None:
        """A power faster than which c does not grow, if c is convex on either side of 0."""
        return None

    def tail_parts(self) -> list[Loss]:
        """Losses that sum to this one, each a polynomial far out or bounded by a power."""
        return [self]


def _value(q: Quadratic, x: Fraction) -> Fraction:
    c0, c1, c2 = q
    if not c2:
        return c0 + c1 * x if c1 else c0
    return (c2 * x + c1) * x + c0


def _slope(q: Quadratic, x: Fraction) -> Fraction:
    return 2 * q[2] * x + q[1]


def _mirrored(q: Quadratic) -> Quadratic:
    return q[0], -q[1], q[2]


def _run(q: Quadratic, first: int, last: int, step: Fraction) -> Fraction:
    """The sum of q(n·step) from the first to the last n."""
    if last < first:
        return ZERO
    n, twice = last - first + 1, first + last
    total = q[0] * n
    if q[1]:
        total += q[1] * step * (n * twice // 2)
    if q[2]:
        total += q[2] * step * step * (n * (3 * twice * twice + n * n - 1) // 12)
    return total


class Piecewise(Loss):
    """Polynomials of degree 2 at most between knots; at a knot the lower of the two values, or a
    lower one that is given."""

    def __init__(
        self, name: str, knots: Sequence[float], pieces: Sequence[Quadratic], at: Sequence[Fraction] | None = None
    ) -> None:
        self.name = name
        self.knots: list[Fraction] = []
        self.at_knots: list[Fraction] = []
        self.pieces = [pieces[0]]
        for i, x in enumerate(map(Fraction, knots)):
            left, right = self.pieces[-1], pieces[i + 1]
            value = min(_value(left, x), _value(right, x))
            dip = at is not None and at[i] < value
            if at is not None:
                value = min(value, at[i])
            if left == right and not dip:
                continue  # nothing happens here
            self.knots.append(x)
            self.at_knots.append(value)
            self.pieces.append(right)
        n = len(self.knots)
        # c is a continuous part, and for every knot a jump to its right and one to its left:
        # those of the knots before i, and of the knots from i on.
        self._up, self._down = [ZERO] * (n + 1), [ZERO] * (n + 1)
        for i in range(n):
            self._up[i + 1] = self._up[i] + _value(self.pieces[i + 1], self.knots[i]) - self.at_knots[i]
        for i in reversed(range(n)):
            self._down[i] = self._down[i + 1] + _value(self.pieces[i], self.knots[i]) - self.at_knots[i]
        self._continuous = [(p[0] - self._up[i] - self._down[i], p[1], p[2]) for i, p in enumerate(self.pieces)]
        self.symmetric = self._is_symmetric()
        self.unimodal = self._rises(1) and self._rises(-1)
        self._convex = self._is_convex()

    def _is_symmetric(self) -> bool:
        return (
            all(p == _mirrored(q) for p, q in zip(self.pieces, reversed(self.pieces), strict=True))
            and all(x == -y for x, y in zip(self.knots, reversed(self.knots), strict=True))
            and self.at_knots == self.at_knots[::-1]
        )

    def _is_convex(self) -> bool:
        for i, p in enumerate(self.pieces):
            if p[2] < 0:
                return False
            if i == len(self.knots):
                break
            x, after = self.knots[i], self.pieces[i + 1]
            if not _value(p, x) == _value(after, x) == self.at_knots[i] or _slope(p, x) > _slope(after, x):
                return False
        return True

    def _rises(self, sign: int) -> bool:
        """Whether c does not fall away from 0 on the side of the sign."""
        for i, p in enumerate(self.pieces):
            near = self.knots[i - 1] if i > 0 else None
            far = self.knots[i] if i < len(self.knots) else None
            if sign < 0:
                near, far = far, near
            if far is not None and far * sign <= 0:
                continue  # on the other side
            if near is None or near * sign < 0:
                near = ZERO
            if _slope(p, near) * sign < 0:
                return False
            if far is not None and (_slope(p, far) * sign < 0 or _value(p, far) > self.at_down(far)):
                return False
        return True

    def at(self, x: float) -> float:
        return float(self.at_down(Fraction(x)))

    def at_down(self, x: Fraction) -> Fraction:
        i = bisect_left(self.knots, x)
        if i < len(self.knots) and self.knots[i] == x:
            return self.at_knots[i]
        return _value(self.pieces[i], x)

    def limit_down(self, x: Fraction, side: int) -> Fraction:
        return _value(self.pieces[(bisect_right if side > 0 else bisect_left)(self.knots, x)], x)

    def grid_mean_up(self, first: int, count: int, step: Fraction) -> Fraction:
        last = first + count - 1
        total = ZERO
        i = bisect_left(self.knots, first * step)
        while i < len(self.knots) and self.knots[i] <= last * step:
            x = self.knots[i] / step
            end = floor(x)
            following = end + 1
            if x == end:
                total += self.at_knots[i]
                end -= 1
            total += _run(self.pieces[i], first, end, step)
            first = following
            i += 1
        return (total + _run(self.pieces[i], first, last, step)) / count

    def ramp_mean_up(self, start: Fraction, end: Fraction) -> Fraction:
        d = end - start
        if not d:
            return self.at_down(start)
        low, high = min(start, end), max(start, end)
        total = ZERO
        for i in range(bisect_right(self.knots, low), bisect_left(self.knots, high) + 1):
            a = max(low, self.knots[i - 1]) if i > 0 else low
            b = min(high, self.knots[i]) if i < len(self.knots) else high
            # The integral of p(x)(end-x), by s = end-x.
            p = self.pieces[i]
            e0, e1, e2 = _value(p, end) / 2, -_slope(p, end) / 3, p[2] / 4
            s, t = end - a, end - b
            total += ((e2 * s + e1) * s + e0) * s * s - ((e2 * t + e1) * t + e0) * t * t
        if d < 0:
            total = -total
        return 2 * total / (d * d)

    def scaled(self, scale: int, bits: int) -> Callable[[int], int]:
        """⌈c(n/scale)·2^bits⌉ as a function of n."""
        # A knot is below n/scale exactly if its floor is below n.
        floors = [floor(x * scale) for x in self.knots]
        at = {floor(x * scale): v for x, v in zip(self.knots, self.at_knots, strict=True) if not x * scale % 1}
        q = lcm(*(c.denominator for p in self.pieces for c in p))
        pieces = [(int(c0 * q) * scale * scale, int(c1 * q) * scale, int(c2 * q)) for c0, c1, c2 in self.pieces]
        unit = q * scale * scale

        def value(n: int) -> int:
            if n in at:
                return -floor(-at[n] * (1 << bits))
            a0, a1, a2 = pieces[bisect_left(floors, n)]
            return -(-(((a2 * n + a1) * n + a0) << bits) // unit)

        return value

    def integral(self, x: Fraction) -> Fraction:
        """The integral of c from 0 to x."""
        total, a, b = ZERO, min(ZERO, x), max(ZERO, x)
        for i in range(bisect_right(self.knots, a), bisect_left(self.knots, b) + 1):
            start = max(a, self.knots[i - 1]) if i > 0 else a
            end = min(b, self.knots[i]) if i < len(self.knots) else b
            c0, c1, c2 = self.pieces[i]
            total += ((c2 * end / 3 + c1 / 2) * end + c0) * end - ((c2 * start / 3 + c1 / 2) * start + c0) * start
        return -total if x < 0 else total

    def lower_node(self, j: int, step: Fraction) -> Fraction:
        return self._lower_node(j * step, step)

    def _lower_node(self, x: Fraction, step: Fraction) -> Fraction:
        left, right = x - step, x + step
        low, high = bisect_right(self.knots, left), bisect_left(self.knots, right)
        if low == high:
            p = self._continuous[low]
            node = _value(p, x)
            if p[2] > 0:
                node -= p[2] * step * step / 4
        else:
            middle = bisect_left(self.knots, x)
            node = _value(self._continuous[middle], x)
            inner = self._excess(left, x, _value(self._continuous[low], left), node, low, middle)
            upto = bisect_right(self.knots, x)
            outer = self._excess(x, right, node, _value(self._continuous[high], right), upto, high)
            node -= max(inner, outer)
        return node + self._up[low] + self._down[high]

    def _excess(self, a: Fraction, b: Fraction, ga: Fraction, gb: Fraction, low: int, high: int) -> Fraction:
        """How far the chord from (a, ga) to (b, gb) is above the continuous part, at most."""
        slope = (gb - ga) / (b - a)
        most = ZERO
        for i in range(low, high + 1):
            p = self._continuous[i]
            if i < high:
                x = self.knots[i]
                most = max(most, (x - a) * slope + ga - _value(p, x))
            if p[2] > 0:
                touch = (slope - p[1]) / (2 * p[2])
                start = self.knots[i - 1] if i > low else a
                end = self.knots[i] if i < high else b
                if start < touch < end:
                    most = max(most, (touch - a) * slope + ga - _value(p, touch))
        return most

    def growth(self, j: int, step: Fraction) -> Fraction:
        # Between knots the increments are linear in j, so only cells near a knot, and j itself,
        # can have the least one.
        side = -1 if j < 0 else 1
        cells = {abs(j)}
        for knot in self.knots:
            n = floor(side * knot / step)
            cells.update(c for c in range(n - 3, n + 4) if c > abs(j))
        at = {
            n: (self._lower_node(side * n * step, step), self.at_down(side * n * step)) for n in self._with_next(cells)
        }
        return min(min(at[n + 1][0] - at[n][0], at[n + 1][1] - at[n][1]) for n in cells)

    @staticmethod
    def _with_next(cells: Iterable[int]) -> set[int]:
        return {c + d for c in cells for d in (0, 1)}

    def ceiling_up(self, low: Fraction, high: Fraction) -> Fraction:
        if self.unimodal:
            return max(self.at_down(low), self.at_down(high))
        most = ZERO
        for i in range(bisect_left(self.knots, low), bisect_right(self.knots, high) + 1):
            a = max(low, self.knots[i - 1]) if i > 0 else low
            b = min(high, self.knots[i]) if i < len(self.knots) else high
            p = self.pieces[i]
            most = max(most, _value(p, a), _value(p, b))
            if p[2] < 0:
                top = -p[1] / (2 * p[2])
                if a < top < b:
                    most = max(most, _value(p, top))
        return most

    def tangent_down(self, x: Fraction) -> tuple[Fraction, Fraction] | None:
        if not self._convex:
            return None
        left, right = bisect_left(self.knots, x), bisect_right(self.knots, x)
        slope = _slope(self.pieces[left], x)
        if left != right:
            slope = (slope + _slope(self.pieces[right], x)) / 2
        return _value(self.pieces[left], x), slope

    def work(self, argument: int) -> Work:
        n = len(self.knots)
        operations = 10 if n <= 1 else 25 + n.bit_length()
        bound = operations * rational_work(2 * argument)
        return Work(bound, n * bound, (14 * n + 4) * bound)

    def polynomial_beyond(self) -> tuple[Fraction, int] | None:
        return max(map(abs, self.knots), default=ZERO), 2


class L1(Piecewise):
    """|x|: a Piecewise with shorter formulas."""

    def __init__(self) -> None:
        one = Fraction(1)
        super().__init__("l1", [0.0], [(ZERO, -one, ZERO), (ZERO, one, ZERO)])

    def grid_mean_up(self, first: int, count: int, step: Fraction) -> Fraction:
        last = first + count - 1
        if first >= 0:
            total = (first + last) * count // 2
        elif last <= 0:
            total = -(first + last) * count // 2
        else:
            total = (first * (first - 1) + last * (last + 1)) // 2
        return Fraction(total * step.numerator, count * step.denominator)

    def at_down(self, x: Fraction) -> Fraction:
        return abs(x)

    def lower_node(self, j: int, step: Fraction) -> Fraction:
        return abs(j) * step

    def growth(self, j: int, step: Fraction) -> Fraction:
        return step


class L2(Piecewise):
    """x²: a Piecewise with shorter formulas."""

    def __init__(self) -> None:
        super().__init__("l2", [], [(ZERO, ZERO, Fraction(1))])

    def at_down(self, x: Fraction) -> Fraction:
        return x * x

    def lower_node(self, j: int, step: Fraction) -> Fraction:
        return (4 * j * j - 1) * step * step / 4

    def growth(self, j: int, step: Fraction) -> Fraction:
        return (2 * abs(j) + 1) * step * step


L1_LOSS, L2_LOSS = L1(), L2()

# The relative precision of bounds on powers is 2^-96.
_POWER_BITS = 96
_POWER_EXCESS = 1 + power_of_two(1 - _POWER_BITS)
_SINGLE_POINTS = 4
_SINGLE_REACH = 64


class Power(Loss):
    """|x|^p for p > 1 other than 2."""

    symmetric = unimodal = True

    def __init__(self, name: str, p: float) -> None:
        self.name, self.p = name, p
        self._exact = Fraction(p)
        self._last: tuple[Fraction, Fraction, Fraction] | None = None

    def _bounds(self, x: Fraction) -> tuple[Fraction, Fraction]:
        """Bounds on x^p from below and above; neighboring cells share their ends."""
        last = self._last  # read once: another thread may replace it
        if last is not None and last[0] == x:
            return last[1], last[2]
        down = pow_down(x, self.p, _POWER_BITS)
        up = down * _POWER_EXCESS
        self._last = x, down, up
        return down, up

    def at(self, x: float) -> float:
        try:
            return math.pow(abs(x), self.p)
        except OverflowError:
            return math.inf

    def at_down(self, x: Fraction) -> Fraction:
        if self.p == int(self.p):
            return abs(x) ** int(self.p)
        return self._bounds(abs(x))[0]

    def limit_down(self, x: Fraction, side: int) -> Fraction:
        return self.at_down(x)

    def grid_mean_up(self, first: int, count: int, step: Fraction) -> Fraction:
        last = first + count - 1
        low, high = first, last  # what is added point by point
        total = ZERO
        if count > _SINGLE_POINTS:
            near = _SINGLE_REACH * math.ceil(self.p)
            low, high = max(first, -near), min(last, near)
            total += self._integral(max(first, near + 1), last, step)
            total += self._integral(max(-last, near + 1), -first, step)
        for n in range(low, high + 1):
            total += self._bounds(abs(n) * step)[1]
        return total / count

    def _integral(self, first: int, last: int, step: Fraction) -> Fraction:
        """An upper bound on the sum from the first to the last point > 0: c is convex."""
        if first > last:
            return ZERO
        low, high = (first - HALF) * step, (last + HALF) * step
        area = -self._bounds(low)[0] * low
        area += self._bounds(high)[1] * high
        return area / ((self._exact + 1) * step)

    def ramp_mean_up(self, start: Fraction, end: Fraction) -> Fraction:
        a, b, d = abs(start), abs(end), end - start
        if abs(d) * (1 << 16) <= a:
            # The difference below would lose its digits; the chord is close enough.
            return (2 * self._bounds(a)[1] + self._bounds(b)[1]) / 3
        p1, p2 = self._exact + 1, self._exact + 2
        factor = b / p1
        if start * end > 0:
            factor = -factor
        factor = (factor + a / p2) * a
        total = factor * self._bounds(a)[0 if factor < 0 else 1]
        total += b * b * self._bounds(b)[1] / (p1 * p2)
        return 2 * total / (d * d)

    def lower_node(self, j: int, step: Fraction) -> Fraction:
        # The lower of the tangents that meet in the node. Of two that touch in the middle of
        # their intervals it is the one that c″ is larger on.
        j = abs(j)
        if j == 0:
            return self._tangent(0, 0, step)
        if self._inner(j) or (not self._inner(j - 1) and self.p < 2):
            return self._tangent(j - 1, 1, step)
        if self._inner(j - 1):
            return min(self._tangent(j - 1, 1, step), self._tangent(j, 0, step))
        return self._tangent(j, 0, step)

    def _inner(self, n: int) -> bool:
        """Whether the tangent of [n, n+1] touches in n."""
        return self.p > 3 and n < self.p - 1

    def _tangent(self, n: int, end: int, step: Fraction) -> Fraction:
        """The value at node n+end of the tangent for [n, n+1]."""
        touch = Fraction(n)
        if not self._inner(n):
            touch += HALF
        elif n == 0:
            return touch
        factor = (n + end - touch) * self._exact / touch + 1
        down, up = self._bounds(touch * step)
        return factor * (up if factor < 0 else down)

    def growth(self, j: int, step: Fraction) -> Fraction:
        # From cell p+1 on it is c'(j·step)·step, less 2^-32 of it for the roundings.
        j = abs(j)
        regular = math.ceil(self.p) + 1
        least = pow_down(max(j, regular) * step, self.p - 1, _POWER_BITS)
        least *= self._exact * step * Fraction((1 << 32) - 1, 1 << 32)
        for i in range(j, regular):
            node = self.lower_node(i + 1, step) - self.lower_node(i, step)
            value = self.at_down((i + 1) * step) - self.at_down(i * step)
            least = min(least, node, value)
        return least

    def ceiling_up(self, low: Fraction, high: Fraction) -> Fraction:
        return max(self.ramp_mean_up(low, low), self.ramp_mean_up(high, high))

    def tangent_down(self, x: Fraction) -> tuple[Fraction, Fraction]:
        if not x:
            return ZERO, ZERO
        value = self._bounds(abs(x))[0]
        return value, value * self._exact / x

    def work(self, argument: int) -> Work:
        digits, fraction = 0, self.p - int(self.p)
        if fraction > 0:
            digits = Fraction(fraction).denominator.bit_length() - 1
        power = 1500 + 350 * digits
        words = int(argument * self.p / 64) + 1
        bound = 2 * power + 12 * rational_work(3 * argument) + words * words // 4
        near = 2 * _SINGLE_REACH * math.ceil(self.p)
        return Work(bound, near * (power + 4 * rational_work(argument)), 6 * (math.ceil(self.p) + 2) * bound)

    def power_bound(self) -> float:
        return self.p


class Combination(Loss):
    """A weighted loss, or a sum that is not all piecewise: every bound is the sum of the parts'."""

    def __init__(self, name: str, parts: Sequence[tuple[Loss, float]]) -> None:
        self.name = name
        self.parts = [(loss, factor, Fraction(factor)) for loss, factor in parts]
        self.symmetric = all(loss.symmetric for loss, _ in parts)
        self.unimodal = all(loss.unimodal for loss, _ in parts)

    def at(self, x: float) -> float:
        return math.fsum(factor * loss.at(x) for loss, factor, _ in self.parts)

    def at_down(self, x: Fraction) -> Fraction:
        return sum((w * loss.at_down(x) for loss, _, w in self.parts), ZERO)

    def limit_down(self, x: Fraction, side: int) -> Fraction:
        return sum((w * loss.limit_down(x, side) for loss, _, w in self.parts), ZERO)

    def grid_mean_up(self, first: int, count: int, step: Fraction) -> Fraction:
        return sum((w * loss.grid_mean_up(first, count, step) for loss, _, w in self.parts), ZERO)

    def ramp_mean_up(self, start: Fraction, end: Fraction) -> Fraction:
        return sum((w * loss.ramp_mean_up(start, end) for loss, _, w in self.parts), ZERO)

    def lower_node(self, j: int, step: Fraction) -> Fraction:
        return sum((w * loss.lower_node(j, step) for loss, _, w in self.parts), ZERO)

    def growth(self, j: int, step: Fraction) -> Fraction:
        return sum((w * loss.growth(j, step) for loss, _, w in self.parts), ZERO)

    def ceiling_up(self, low: Fraction, high: Fraction) -> Fraction:
        if self.unimodal:
            return max(self.ramp_mean_up(low, low), self.ramp_mean_up(high, high))
        return sum((w * loss.ceiling_up(low, high) for loss, _, w in self.parts), ZERO)

    def tangent_down(self, x: Fraction) -> tuple[Fraction, Fraction] | None:
        value = slope = ZERO
        for loss, _, w in self.parts:
            line = loss.tangent_down(x)
            if line is None:
                return None
            value, slope = value + w * line[0], slope + w * line[1]
        return value, slope

    def work(self, argument: int) -> Work:
        works = [loss.work(argument) for loss, _, _ in self.parts]
        return Work(sum(w.bound for w in works), sum(w.in_pass for w in works), sum(w.growth for w in works))

    def polynomial_beyond(self) -> tuple[Fraction, int] | None:
        return self.parts[0][0].polynomial_beyond() if len(self.parts) == 1 else None

    def power_bound(self) -> float | None:
        return self.parts[0][0].power_bound() if len(self.parts) == 1 else None

    def tail_parts(self) -> list[Loss]:
        if len(self.parts) == 1:
            return [self]
        return [loss if factor == 1 else Combination(loss.name, [(loss, factor)]) for loss, factor, _ in self.parts]
