# SPDX-License-Identifier: Apache-2.0
"""The exact check of everything that a table claims: docs/proofs/table-privacy.md."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from noisewright._claims import hold_claims, hold_delta
from noisewright._divergence import INFINITY, Weights, probability, ratio_down
from noisewright._exact import RATIO_BITS, bits_of, decimal_up, shift_up
from noisewright._loss import L2_LOSS, ZERO, Loss
from noisewright._lossnames import parse_loss
from noisewright._lowerbound import lower_bound
from noisewright._meter import Meter
from noisewright._runs import Runs
from noisewright._tablefile import CLAIMS, Spec
from noisewright._tabletail import Periodic, tail_sum
from noisewright.errors import FalseClaimError, NotPrivateError

# What a cell costs where the loss is a polynomial.
_CELL_WORK = 100


def verify(spec: Spec, meter: Meter) -> dict[str, Any]:
    """What is found in a table that keeps its promise and states nothing false."""
    delta, shift = worst_shift(spec, spec.privacy.epsilon, meter)
    expected = _expected(spec, spec.loss, meter)
    bound = lower_bound(spec, meter)
    _reaches(spec)
    _keeps(spec, meter)
    hold_delta(spec.privacy.delta, delta, f"at a shift of {shift} cells")
    hold_claims(spec.certificate, CLAIMS, (delta, expected, bound))
    return {
        "delta_upper": delta,
        "worst_shift": shift,
        "expected_loss": expected,
        "lower_bound": bound,
        "work": meter.used,
    }


def _reaches(spec: Spec) -> None:
    """Refuses a sensitivity that the shifts that are tried do not reach."""
    if Fraction(spec.privacy.sensitivity) > spec.period * spec.step:
        reach = f"{spec.cells} cells of {spec.points} points of {float(spec.step):g}"
        raise NotPrivateError(f"sensitivity = {spec.privacy.sensitivity!r} is longer than {reach}")


def profile(spec: Spec, epsilon: float) -> Fraction:
    """A bound on the delta at an epsilon, up to the sensitivity, of any table."""
    _reaches(spec)
    return worst_shift(spec, epsilon, Meter(1 << 62))[0]


def worst_shift(spec: Spec, epsilon: float, meter: Meter) -> tuple[Fraction, int]:
    """A bound on the delta at epsilon, and the shift in cells that has it."""
    return _worst(spec, ratio_down(epsilon), meter)


def _worst(spec: Spec, ratio: int, meter: Meter) -> tuple[Fraction, int]:
    n, cells = len(spec.weights), spec.cells
    alike = spec.weights == spec.weights[::-1]  # then the mirror image of a shift is as good
    sides = 1 if alike else 2
    last = min(cells, n)  # longer shifts have disjoint supports, like that by n cells
    runs = Runs(spec.weights)
    work, few = runs.work(last)
    if few and not spec.tail_ratio:
        meter.spend(sides * work)
        return _worst_run(spec, [runs, runs.mirrored()][:sides], ratio, last)
    divergences: list[Callable[[int], int]]
    if spec.tail_ratio:
        meter.spend(sides * 3 * cells * (n + cells))
        laws = [Periodic(spec, ratio, mirrored) for mirrored in (False, True)[:sides]]
        divergences = [law.hockey_stick for law in laws]
    else:
        meter.spend(sides * (last * n - last * (last - 1) // 2))
        weights = Weights(spec.weights, ratio)
        divergences = [lambda k: weights.shifted(weights, k), lambda k: weights.shifted(weights, -k)][:sides]
    worst, at = -1, 0
    for k in range(1, last + 1):
        for side, divergence in enumerate(divergences):
            h = divergence(k)
            if spec.tail_ratio:  # in units of 2^-64 times the others
                h = shift_up(h, 64)
            if h > worst:
                worst, at = h, -k if side else k
    return probability(worst + (spec.atom << RATIO_BITS)), at


def _worst_run(spec: Spec, sides: list[Runs], ratio: int, last: int) -> tuple[Fraction, int]:
    worst, at = -1, 0
    for side, runs in enumerate(sides):
        h, k = runs.worst(ratio, last)
        if h > worst or (h == worst and k < abs(at)):
            worst, at = h, -k if side else k
    return probability(worst + (spec.atom << RATIO_BITS)), at


def expected_loss(spec: Spec, loss: str) -> Fraction:
    """The expectation of a loss, or a bound above it."""
    return _expected(spec, parse_loss(loss), Meter(1 << 62))


def _expected(spec: Spec, loss: Loss, meter: Meter) -> Fraction:
    step = spec.step
    work = loss.work(bits_of(step) + 53)
    n = len(spec.weights)
    meter.spend(work.in_pass + _CELL_WORK * n)
    total = ZERO
    if spec.tail_ratio:
        for part in loss.tail_parts():
            total += tail_sum(spec, part, meter)
        left, right = spec.cells, n - spec.cells
        meter.spend(2 * spec.cells * work.bound)
    else:
        left, right = _polynomial_ends(spec, loss)
        total += _polynomial_sum(spec, loss, left - 1, -1) + _polynomial_sum(spec, loss, right, 1)
    for i in range(left, right):
        meter.spend(work.bound)
        if w := spec.weights[i]:
            total += w * loss.grid_mean_up(spec.first_point(i), spec.points, step)
    if spec.atom:
        total += spec.atom * loss.grid_mean_up(0, 1, step)
    return total / (1 << 64)


def _polynomial_ends(spec: Spec, loss: Loss) -> tuple[int, int]:
    """The cells from left on and before right outside which the loss is one polynomial on either
    side of 0."""
    n = len(spec.weights)
    beyond = loss.polynomial_beyond()
    if beyond is None:
        return 0, n
    start = beyond[0] / spec.step
    # Strictly beyond: at a knot a loss may jump.
    left = bisect_left(range(n), True, key=lambda i: 1 - spec.first_point(i + 1) <= start)
    right = bisect_left(range(n), True, key=lambda i: spec.first_point(i) > start)
    return left, max(left, right)


def _polynomial_sum(spec: Spec, loss: Loss, first: int, by: int) -> Fraction:
    """The sum of weights times mean losses over the cells from the first on, by steps: the mean
    is a polynomial of degree 2 in the number of the cell, so three of them tell all."""
    weights = spec.weights[first:] if by > 0 else spec.weights[first::-1] if first >= 0 else []
    total = sum(weights)
    if not total:
        return ZERO
    once = sum(k * w for k, w in enumerate(weights))
    pairs = sum(k * (k - 1) // 2 * w for k, w in enumerate(weights))
    f0, f1, f2 = (
        loss.grid_mean_up(spec.first_point(first) + k * by * spec.points, spec.points, spec.step) for k in range(3)
    )
    return f0 * total + (f1 - f0) * once + (f2 - 2 * f1 + f0) * pairs


def _broken(text: str) -> FalseClaimError:
    return FalseClaimError(f"constraints.{text}")


def _keeps(spec: Spec, meter: Meter) -> None:
    """Refuses noise that does not keep a constraint."""
    c = spec.constraints
    first, last = _support(spec)
    lowest, highest = spec.first_point(first), spec.first_point(last + 1) - 1
    weights = spec.weights[first : last + 1]
    if c.symmetric and not (weights == weights[::-1] and lowest == -highest):
        raise _broken("symmetric is stated, but the weights are not those of their mirror image")
    if c.monotone:
        if lowest > 0 or highest < 0:
            raise _broken("monotone is stated, but the cells with weight lie on one side of 0 and do not hold it")
        if _rises(spec, first, last):
            raise _broken("monotone is stated, but a weight is less than the next one outwards")
    if c.unbiased and _twice_mean(spec) != 0:
        raise _broken("unbiased is stated, but the mean is not 0")
    if c.lower is not None or c.upper is not None:
        if spec.tail_ratio:
            raise _broken("a support is stated, but the noise has a tail")
        if spec.atom:
            lowest, highest = min(lowest, 0), max(highest, 0)
        below = c.lower is not None and lowest * spec.step < Fraction(c.lower)
        above = c.upper is not None and highest * spec.step > Fraction(c.upper)
        if below or above:
            raise _broken(f"a support is stated, but points {lowest} to {highest} have weight")
    if c.max_variance:
        found = _expected(spec, L2_LOSS, meter)
        if found > Fraction(c.max_variance):
            raise _broken(f"max_variance = {c.max_variance!r} is stated, but it is {decimal_up(found)}")
    for (p, t), (loss, bound) in zip(c.quantiles, c.moments(), strict=True):
        if (found := _expected(spec, loss, meter)) > bound:
            raise _broken(
                f"quantiles = {p!r},{t!r} is stated, but more lies beyond with probability {decimal_up(found)}"
            )
    if c.max_distinguishing:
        found = _worst(spec, INFINITY, meter)[0]
        if found > Fraction(c.max_distinguishing):
            raise _broken(f"max_distinguishing = {c.max_distinguishing!r} is stated, but it is {decimal_up(found)}")


def _support(spec: Spec) -> tuple[int, int]:
    """The first and the last weight that is not 0, or of all if there is a tail."""
    first, last = 0, len(spec.weights) - 1
    if not spec.tail_ratio:
        while first < last and not spec.weights[first]:
            first += 1
        while last > first and not spec.weights[last]:
            last -= 1
    return first, last


def _rises(spec: Spec, first: int, last: int) -> bool:
    """Whether a weight is less than its neighbor further from 0."""
    law = Periodic(spec) if spec.tail_ratio else None
    weights = law.cells if law else spec.weights
    for i in range(first, last):
        inner, outer = (i + 1, i) if spec.first_point(i + 1) <= 0 else (i, i + 1)
        if weights[inner] < weights[outer]:
            return True
    if law is None:
        return False
    k = spec.cells
    return law.left[k] < law.left[k - 1] or law.right[k - 1] < law.right[k]


def _twice_mean(spec: Spec) -> Fraction:
    """2^65 times the mean, in steps."""
    twice = sum(w * (2 * spec.first_point(i) + spec.points - 1) for i, w in enumerate(spec.weights))
    outwards = sum(w * spec.side(i) for i, w in enumerate(spec.weights))
    ratio = Fraction(spec.tail_ratio, 1 << 64)
    return twice + 2 * spec.period * outwards * ratio / (1 - ratio)
