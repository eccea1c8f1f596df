# SPDX-License-Identifier: Apache-2.0
"""Intervals for shares from a sum of two binomial counts, rounded outwards: docs/proofs/shares.md.

The program computes the same by the same steps; bounds may differ in the last digits, as the logarithms of two
libraries do, for which the rounding has room.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from math import exp, factorial, isqrt, log, pi, sqrt

import numpy as np

from noisewright._words import Floats

# Half a unit in the last place of 1. Exponentials and logarithms are good to an ulp or two.
_ROUNDOFF = 2.0**-53
# The part of the variance of a binomial variable by which that of the sum may be less where the bounds are
# those of the former: they are wider by half of it.
_ENOUGH = 0.04
# A probability that is left out where masses of a sum are smaller, and added again as a whole.
_NEGLIGIBLE = 2.0**-90

Event = tuple[float, float]  # a probability and its complement, each right to a roundoff


def interval(count: int, n: int, alpha: float, p: Event, q: Event) -> tuple[float, float]:
    """Bounds on the share of n people of whom count answered with a set that has their category: the sets of those
    who are in it have it with the probability p, and those of others with q. Each fails with a probability of at
    most alpha, for any data."""
    alpha *= 1 - 8 * _ROUNDOFF
    first, last = 0, n
    if alpha <= 0.25 and min(n * q[0], n * p[1]) * (1 - 8 * _ROUNDOFF) >= 1:  # Hoeffding (1956)
        lower, upper = _mapped(count, n, alpha, p[0], q[0])
        mean = count / n
        share = min(max((mean - q[0]) / (p[0] - q[0]), 0), 1)
        if share * (1 - share) * (p[0] - q[0]) ** 2 <= _ENOUGH * mean * (1 - mean):
            return _cut(lower, upper)
        # Below and above these no number of people is to be looked at.
        first = int(min(max(lower, 0), 1) * n * (1 - 2 * _ROUNDOFF))
        last = n - int(min(max(1 - upper, 0), 1) * n * (1 - 2 * _ROUNDOFF))
    least = first + _search(n - first, lambda i: _sum_tail(count, first + i, n, p, q) > alpha)
    most = last - _search(last, lambda i: _sum_tail(n - count, n - last + i, n, q[::-1], p[::-1]) > alpha)
    return _cut(least / n * (1 - 2 * _ROUNDOFF), most / n * (1 + 2 * _ROUNDOFF))


def _search(n: int, holds: Callable[[int], bool]) -> int:
    """The first of n numbers that it holds for, and for all that follow; n if none."""
    return bisect_left(range(n), True, key=holds)


def _cut(lower: float, upper: float) -> tuple[float, float]:
    return min(max(lower, 0.0), 1.0), max(min(upper, 1.0), 0.0)


def _mapped(count: int, n: int, alpha: float, p: float, q: float) -> tuple[float, float]:
    """Bounds of Clopper and Pearson on the mean of a count, as those on a share."""
    low = _binomial_lower(count, n, alpha)
    high = 1 - _binomial_lower(n - count, n, alpha) * (1 - 4 * _ROUNDOFF)
    lower, upper = (low - q) / (p - q), (high - q) / (p - q)
    slack = 16 * _ROUNDOFF / (p - q)
    return lower - slack * (1 + abs(lower)), upper + slack * (1 + abs(upper))


def _binomial_lower(count: int, n: int, alpha: float) -> float:
    """A probability with P(Bin(n, theta) >= count) <= alpha, the largest below count/n but for 2^-34 of it."""
    low, high = 0.0, count / n * (1 - 2 * _ROUNDOFF)
    while high - low > 2.0**-34 * high:
        theta = low + (high - low) / 2
        if _binomial_tail(count, n, theta) <= alpha:
            low = theta
        else:
            high = theta
    return low


def _binomial_tail(c: int, n: int, theta: float) -> float:
    """At least P(Bin(n, theta) >= c), for 0 < theta < c/n: the terms fall, by factors that fall."""
    total, term, terms, odds = 1.0, 1.0, 1, theta / (1 - theta)
    for i in range(c, n):
        ratio = (n - i) / (i + 1) * odds
        term *= ratio
        total += term
        terms += 1
        if term < 2.0**-60 * total and ratio < 1 - 2.0**-20:
            total += term * ratio / (1 - ratio) * (1 + 2.0**-20)  # all that follows is less
            break
    return _mass(c, n, (theta, 1 - theta)) * total * (1 + 8 * _ROUNDOFF * (terms + 16))


def _mass(c: int, n: int, event: Event) -> float:
    """At least P(Bin(n, theta) = c) (Loader 2000): the exponent is -n times the divergence of c/n from theta, and
    what Stirling's formula lacks."""
    theta, rest = event
    own = c * log(c / (n * theta)) if c else 0.0
    other = (n - c) * log((n - c) / (n * rest)) if c < n else 0.0
    e, factor = 0.0, 1.0
    if 0 < c < n:
        e = _stirling(n) - _stirling(c) - _stirling(n - c)
        factor = sqrt(n / (2 * pi * c * (n - c)))
    # Each logarithm is of a number right to 4 roundoffs, and is right to 4 itself.
    slack = 8 * _ROUNDOFF * (n + abs(own) + abs(other)) + 2.0**-40
    return exp(e - own - other + slack) * factor * (1 + 16 * _ROUNDOFF)


def _stirling(n: int) -> float:
    """log(n!) - (n + 1/2) log n + n - log(2 pi)/2, right to 2^-43."""
    if n < 16:
        return log(factorial(n)) - (n + 0.5) * log(n) + n - 0.5 * log(2 * pi)
    z = 1 / (n * n)  # the error is below the first term that is left out, 1/(1188 n^9)
    return (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z / 1680))) / n


def _sum_tail(c: int, m: int, n: int, p: Event, q: Event) -> float:
    """At least P(X + Y >= c), for independent X of m events with the probability p and Y of n-m with q."""
    first, x = _masses(m, p)
    from_y, y = _masses(n - m, q)
    tails = np.append(np.cumsum(y[::-1])[::-1], 0.0)
    need = np.clip(c - first - from_y - np.arange(x.size), 0, y.size)
    return float(x @ tails[need]) * (1 + 32 * _ROUNDOFF * (x.size + y.size + 16)) + 2 * _NEGLIGIBLE * (n + 1)


def _masses(n: int, event: Event) -> tuple[int, Floats]:
    """The masses of Bin(n, theta) from a number on, without those below negligible: from the most probable one on
    they fall. They are at least what they stand for but for 8 roundoffs for each in the list."""
    theta, rest = event
    mode = min(int((n + 1) * theta), n)
    top, odds = _mass(mode, n, event), theta / rest
    # Further from the mode than 44 and 12 deviations masses are negligible, by Bernstein's inequality.
    reach = 64 + 12 * isqrt(int(n * theta * rest) + 1)
    down = np.arange(mode, max(mode - reach, 0), -1, dtype=np.float64)
    up = np.arange(mode, min(mode + reach, n), dtype=np.float64)
    below = top * np.cumprod(down / (n - down + 1) / odds)
    above = top * np.cumprod((n - up) / (up + 1) * odds)
    below, above = below[below >= _NEGLIGIBLE], above[above >= _NEGLIGIBLE]
    return mode - below.size, np.concatenate([below[::-1], [top], above])
