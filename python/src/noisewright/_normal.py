# SPDX-License-Identifier: Apache-2.0
"""Bounds on the normal law, in integers: docs/proofs/latent-privacy.md."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import factorial

from noisewright._exact import ceil, div_up, floor, shift_up
from noisewright._meter import Meter
from noisewright._tablefile import Spec

# Binary places of the bounds of normal_tail.
NORMAL_BITS = 160
# Where the tail, below 2^-190, is less than a unit of them.
_END = 16
_PEAK_BITS = 352
# 1/√(2π), cut off.
_PEAK_DIGITS = (
    "39894228040143267793994605993438186847585863116493465766592582967065792589930183850125233390730693643030255886"
)
# Binary places of masses; the recursion loses less than 2^40 units of them.
_MASS_BITS = 232
# What gaussian_distance does for a cell.
DISTANCE_WORK = 1 << 13

# An interval of numbers >= 0, in units of 2^-232.
_Span = tuple[int, int]


def _peak() -> tuple[int, int]:
    """Bounds on the density at 0, 1/√(2π), times 2^352."""
    low = (int(_PEAK_DIGITS) << _PEAK_BITS) // 10 ** len(_PEAK_DIGITS)
    return low, low + 2


def normal_tail(a: Fraction) -> tuple[int, int]:
    """Bounds on 2^160·(1 - Φ(a)) for a >= 0, by the series (Abramowitz & Stegun 26.2.10)

    Φ(a) - 1/2 = 1/√(2π) · Σ_k (-1)^k·a·(a²/2)^k / (k!·(2k+1)).
    """
    if a >= _END:
        return 0, 1
    q = float(a)
    bits = int(NORMAL_BITS + 40 + 0.75 * q * q)
    low_a = (a.numerator << bits) // a.denominator
    high_a = low_a + 1
    low_y, high_y = low_a * low_a >> bits + 1, shift_up(high_a * high_a, bits + 1)
    low_term, high_term, low_sum, high_sum, k = low_a, high_a, 0, 0, 0
    while True:
        d = 2 * k + 1
        if k % 2 == 0:
            low_sum, high_sum = low_sum + low_term // d, high_sum + div_up(high_term, d)
        else:
            low_sum, high_sum = low_sum - div_up(high_term, d), high_sum - low_term // d
        low_term = (low_term * low_y >> bits) // (k + 1)
        high_term = div_up(shift_up(high_term * high_y, bits), k + 1)
        # From k = a²/2 on the terms fall, and what is left is less than the next one.
        if k > q * q / 2 + 1 and high_term <= 2:
            low_sum, high_sum = max(low_sum - 2, 0), high_sum + 2
            break
        k += 1
    low_peak, high_peak = _peak()
    down = bits + _PEAK_BITS - NORMAL_BITS
    half = 1 << NORMAL_BITS - 1
    return max(half - shift_up(high_sum * high_peak, down), 0), half - (low_sum * low_peak >> down)


def _times(a: _Span, b: _Span) -> _Span:
    return a[0] * b[0] >> _MASS_BITS, shift_up(a[1] * b[1], _MASS_BITS)


def _span(low: Fraction, high: Fraction) -> _Span:
    return floor(low * (1 << _MASS_BITS)), ceil(high * (1 << _MASS_BITS))


def _alternating(x: Fraction, weight: Callable[[int], Fraction]) -> _Span:
    """Bounds on Σ_k (-x)^k/k!·weight(k) for 0 <= x <= 1/2 and weights that do not increase, by
    partial sums."""
    total, power, k = Fraction(0), Fraction(1), 0
    while True:
        before, term = total, power * weight(k)
        total = total + term if k % 2 == 0 else total - term
        if term < Fraction(1, 1 << _MASS_BITS):
            return _span(min(before, total), max(before, total))
        k += 1
        power = power * x / k


def _masses(h: Fraction, reach: int) -> tuple[list[tuple[int, int]], int]:
    """Bounds, times 2^160, on the probabilities that normal noise of deviation 1, rounded to
    multiples of h <= 1/8, is 0, h, … up to the reach, and one from above on that of what is beyond,
    on one side.

    With φ the density and x = jh the mass is φ(x)·Σ_m v^m·h/(2m)!·∫₀¹ s^(2m)·e^(-(hs)²/8) ds, v =
    (xh/2)², and φ(x) = φ(0)·q^(j²), q = e^(-h²/2).
    """
    y = h * h / 2
    y_span, h_span = _span(y, y), _span(h, h)
    coefficients: list[_Span] = []
    m = 0
    while (size := factorial(2 * m)).bit_length() <= _MASS_BITS:
        moment = _alternating(h * h / 8, lambda k, m=m: Fraction(1, 2 * (m + k) + 1))  # type: ignore[misc]
        f = Fraction(1, size)
        coefficients.append(_times(_times(moment, h_span), _span(f, f)))
        m += 1
    # The last one stands for all that follow: together less than twice the first of them.
    coefficients.append(_span(Fraction(0), Fraction(2, size) * h))
    q = _alternating(y, lambda _: Fraction(1))
    qq = _times(q, q)
    low, high = _peak()
    density = (low << _MASS_BITS) >> _PEAK_BITS, shift_up(high << _MASS_BITS, _PEAK_BITS)
    ratio, masses = q, []  # q^(2j+1)
    for j in range(reach + 1):
        if h * j >= _END:
            masses.append((0, 1))
            continue
        root = y_span[0] * j, y_span[1] * j
        v = _times(root, root)
        total = coefficients[-1]
        for c in reversed(coefficients[:-1]):
            product = _times(total, v)
            total = product[0] + c[0], product[1] + c[1]
        mass = _times(total, density)
        masses.append((mass[0] >> _MASS_BITS - NORMAL_BITS, shift_up(mass[1], _MASS_BITS - NORMAL_BITS)))
        density = _times(density, ratio)
        ratio = _times(ratio, qq)
    return masses, normal_tail(h * (2 * reach + 1) / 2)[1]


def gaussian_distance(spec: Spec, sigma: float, meter: Meter) -> Fraction:
    """A bound on the total variation distance of a table without offset and tail from normal noise
    of the deviation, rounded to the table's cells; it is at least eight cells."""
    meter.spend(DISTANCE_WORK * len(spec.weights))
    first, count = spec.first_cell, len(spec.weights)
    half = max(-first, first + count - 1)
    masses, beyond = _masses(spec.step * spec.points / Fraction(sigma), half)
    total = 2 * beyond
    for j, (low, high) in enumerate(masses):
        for cell in {j, -j}:
            w = spec.weights[cell - first] if 0 <= cell - first < count else 0
            if cell == 0:
                w += spec.atom
            w <<= NORMAL_BITS - 64
            total += max(high - w, w - low)
    return Fraction(total, 1 << NORMAL_BITS + 1)
