# SPDX-License-Identifier: Apache-2.0
"""What releases of integer noise, of randomized response and of normal noise cost together, exactly: the hockey-stick
divergence of the product of their pairs of laws (docs/proofs/composition.md), from above."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from fractions import Fraction

from noisewright._exact import RATIO_BITS, exp_down, exp_up
from noisewright._meter import Meter
from noisewright._normal import NORMAL_BITS, normal_tail
from noisewright._tablefile import Spec

# An atom has the weights p and q by the two laws; those of a law sum to its unit, or below it.
Atom = tuple[int, int]
Law = tuple[list[Atom], int]

_MOST_EXPONENT = 700
# A logarithm of the ratio of two integers in float64 is right to this.
_CLOSE = 1e-9
_ROOT_BITS = 200
# What is counted for an atom, and for the two normal tails of one.
_ATOM_WORK, _TAIL_WORK = 100, 1 << 14


def shifted_by_one(table: Spec) -> Law:
    """The pair of symmetric noise on the integers and the same noise plus 1; what is equally likely to be of either in
    a tail is one atom."""
    half = len(table.weights) // 2
    weights, end, ratio = list(table.weights), table.weights[-1], table.tail_ratio
    if not ratio:
        return _merged(zip([*weights, 0], [0, *weights], strict=True)), 1 << 64
    one = 1 << 64
    inner = [w * one for w in weights[1 : 2 * half]]
    points = [end * (one - ratio), *inner, end * (one - ratio)]  # of -half … half by themselves
    atoms = [(end * one, end * ratio), (end * ratio, end * one)]
    return _merged([*atoms, *zip(points[1:], points[:-1], strict=True)]), one * one


def response(epsilon: Fraction) -> Law:
    """Randomized response, which is the worst of all that is (epsilon, 0)-private. Its e^epsilon is rounded up."""
    high = _float_up(epsilon)
    if high > _MOST_EXPONENT:
        return [(1, 0)], 1
    p, q = exp_up(high), 1 << RATIO_BITS
    return [(p, q), (q, p)], p + q


def _float_up(x: Fraction) -> float:
    try:
        f = float(x)
    except OverflowError:
        return math.inf
    return f if Fraction(f) >= x else math.nextafter(f, math.inf)


def _merged(atoms: Iterable[Atom]) -> list[Atom]:
    """Atoms with the same ratio as one, which changes no divergence. What only the other law has costs nothing."""
    sums: dict[tuple[int, int], Atom] = {}
    for p, q in atoms:
        if p:
            g = math.gcd(p, q)
            before = sums.get((p // g, q // g), (0, 0))
            sums[p // g, q // g] = before[0] + p, before[1] + q
    return list(sums.values())


def _product(a: Law, b: Law, meter: Meter) -> Law:
    meter.spend(len(a[0]) * len(b[0]) * _ATOM_WORK)
    return _merged((p * r, q * s) for p, q in a[0] for r, s in b[0]), a[1] * b[1]


def _losses(atoms: Sequence[Atom]) -> list[float]:
    return [math.log(p) - math.log(q) if q else math.inf for p, q in atoms]


def divergence(laws: Sequence[tuple[Law, int]], squared: Fraction, epsilon: float, meter: Meter) -> Fraction:
    """A bound on the delta at epsilon of laws, each so many times, and of normal noise over a distance of which this is
    the square, in deviations."""
    sides: list[Law] = [([(1, 1)], 1), ([(1, 1)], 1)]
    for law, times in laws:
        for _ in range(times):
            small = 0 if squared or len(sides[0][0]) <= len(sides[1][0]) else 1
            sides[small] = _product(sides[small], law, meter)
    if squared:
        return min(Fraction(1), _with_normal(sides[0], squared, epsilon, meter))
    return min(Fraction(1), _of_two(sides[0], sides[1], epsilon, meter))


def _of_two(left: Law, right: Law, epsilon: float, meter: Meter) -> Fraction:
    """Σ (p·r - e^ε·q·s)₊ over the atoms (p, q) of one and (r, s) of the other."""
    meter.spend((len(left[0]) + len(right[0])) * _ATOM_WORK)
    ratio = exp_down(epsilon)
    order = sorted(zip(_losses(right[0]), right[0], strict=True))
    losses, atoms = [x for x, _ in order], [a for _, a in order]
    above = [(0, 0)]  # sums of those from each on
    for r, s in reversed(atoms):
        above.append((above[-1][0] + r, above[-1][1] + s))
    above.reverse()
    total = 0
    for loss, (p, q) in zip(_losses(left[0]), left[0], strict=True):
        # Where float64 decides the sign, sums do; each of the others by itself.
        first, last = (bisect_left(losses, epsilon - loss + side) for side in (-_CLOSE, _CLOSE))
        r, s = above[last]
        total += (p * r << RATIO_BITS) - ratio * q * s
        total += sum(max(0, (p * r << RATIO_BITS) - ratio * q * s) for r, s in atoms[first:last])
    return Fraction(total, left[1] * right[1] << RATIO_BITS)


def _with_normal(law: Law, squared: Fraction, epsilon: float, meter: Meter) -> Fraction:
    """Σ p·T(x - μ/2) - e^ε·q·T(x + μ/2), T the normal law's upper tail and x = (ε - ln(p/q))/μ (Balle & Wang 2018)."""
    meter.spend(len(law[0]) * _TAIL_WORK)
    scaled = -(-(squared.numerator << 2 * _ROOT_BITS) // squared.denominator)
    mu = Fraction(math.isqrt(scaled - 1) + 1, 1 << _ROOT_BITS)  # the bound grows with it
    ratio, total = exp_down(epsilon), 0
    for p, q in law[0]:
        if not q:
            total += p << NORMAL_BITS + RATIO_BITS
            continue
        loss = Fraction(0) if p == q else Fraction(math.log(p) - math.log(q))
        off = Fraction(0) if p == q else Fraction(_CLOSE) / 1000 * (1 + abs(loss))
        x = Fraction(epsilon) - loss
        gain = _tail((x - off) / mu - mu / 2)[1]
        price = _tail((x + off) / mu + mu / 2)[0]
        total += (p * gain << RATIO_BITS) - ratio * q * price
    return Fraction(max(total, 0), law[1] << NORMAL_BITS + RATIO_BITS)


def _tail(a: Fraction) -> tuple[int, int]:
    """Bounds on 2^160·(1 - Φ(a))."""
    if a >= 0:
        return normal_tail(a)
    low, high = normal_tail(-a)
    return (1 << NORMAL_BITS) - high, (1 << NORMAL_BITS) - low
