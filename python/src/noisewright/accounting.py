# SPDX-License-Identifier: Apache-2.0
"""Totals as privacy loss distributions of Google's dp_accounting, and back; both ways pessimistic."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from noisewright._words import Floats
from noisewright.errors import InvalidError
from noisewright.ledger import Ledger
from noisewright.program import Number, ProgramError, Release, _account, _float

_MOST_DOTS = 100_000
_DOTS_AT_ONCE = 4000


def to_dp_accounting(
    *releases: Release | Ledger, times: int | Sequence[int] = 1, step: float = 0.02, most: float = 20
) -> Any:
    """The total of releases, as of account, or of a ledger, as a ``PrivacyLossDistribution`` of dp_accounting.

    Its delta is at no epsilon below the total's: at multiples of the step, up to the most, deltas are those that the
    program proves, rounded up, and between them they lie on chords (Doroshenko et al. 2022, "Connect the Dots"). Losses
    beyond the most count as certain. Of a ledger's releases only the promises are taken. What dp_accounting makes of
    the distribution is computed in floating point, with errors that it does not bound. To compose it with another, give
    that one the step as its value_discretization_interval.
    """
    if not (math.isfinite(step) and math.isfinite(most) and 0 < step <= most <= 700 and most / step <= _MOST_DOTS):
        raise InvalidError(
            f"step = {step!r} and most = {most!r}, want 0 < step <= most <= 700, with at most {_MOST_DOTS} steps"
        )
    try:
        from dp_accounting.pld import pld_pmf
        from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
    except ImportError as err:
        raise InvalidError("dp_accounting is not installed, want it for its distributions") from err
    names, counts = _named(releases, times)
    dots: Floats = step * np.arange(math.floor(most / step) + 1, dtype=np.float64)
    deltas = _deltas(names, counts, dots, step)
    points, values = _convex(step, deltas)
    return PrivacyLossDistribution(pld_pmf.create_pmf_pessimistic_connect_dots(step, points, values))


def _named(releases: Iterable[Release | Ledger], times: int | Sequence[int]) -> tuple[list[Release], list[int]]:
    """The releases, with those of ledgers as promises, and how often each is made."""
    listed = list(releases)
    counts = [times] * len(listed) if isinstance(times, int) else list(times)
    if len(counts) != len(listed):
        raise InvalidError(f"times = {len(counts)} numbers, want one, or one for each of {len(listed)} releases")
    names: list[Release] = []
    often: list[int] = []
    for release, n in zip(listed, counts, strict=True):
        if not isinstance(release, Ledger):
            names.append(release)
            often.append(n)
            continue
        for cost in (cost for record in release.show() for cost in record.costs):
            names.append(f"dp:epsilon={cost['epsilon']!r},delta={cost['delta']!r}")
            often.append(n * cost["times"])
    if not names:
        raise InvalidError("releases = none, want one at least")
    return names, often


def _deltas(names: Sequence[Release], counts: Sequence[int], dots: Floats, step: float) -> Floats:
    """Proven deltas at the dots, with what the masses lose to rounding: these are differences of differences of
    deltas, divided by the step."""
    found: list[float] = []
    for i in range(0, dots.size, _DOTS_AT_ONCE):  # of a command line
        part = dots[i : i + _DOTS_AT_ONCE].tolist()
        found += _account(names, counts, epsilon=0, profile=part).get("profile", ())
    deltas = np.array(found, dtype=np.float64)
    if deltas.shape != dots.shape:
        raise ProgramError("the program printed no profile: take both from one version", 0)
    padded: Floats = np.minimum(np.nextafter(deltas, 1) + 2.0**-48 / step, 1)
    return padded


def _convex(step: float, deltas: Floats) -> tuple[Any, Floats]:
    """Points, in steps, and deltas of the largest convex function of e^epsilon that is nowhere above those given. True
    deltas are convex, so it is not below them. Below 0 they follow from taking P for Q and Q for P:
    delta(-e) = 1 - e^-e·(1 - delta(e))."""
    top = deltas.size - 1
    shrink = np.exp(-step * np.arange(top, 0, -1)) * (1 - 2.0**-50)
    below = 1 - shrink * (1 - deltas[:0:-1])
    values = np.minimum.accumulate(np.minimum(np.concatenate([below, deltas]), 1))
    points = np.arange(-top, top + 1)
    x = np.exp(step * points)
    hull: list[int] = []
    for i in range(points.size):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            if (values[b] - values[a]) * (x[i] - x[a]) < (values[i] - values[a]) * (x[b] - x[a]):
                break
            hull.pop()
        hull.append(i)
    return points[hull], values[hull]


def from_dp_accounting(distribution: Any, delta: Number) -> str:
    """What a distribution of dp_accounting promises at a delta, as a release for account and Ledger.times.

    Its epsilon is rounded up beyond what floating point may lose. A distribution that is not pessimistic is refused.

    >>> from dp_accounting.pld import privacy_loss_distribution
    >>> gaussian = privacy_loss_distribution.from_gaussian_mechanism(4, value_discretization_interval=0.01)
    >>> from_dp_accounting(gaussian, 1e-6).partition(",")[2]
    'delta=1e-06'
    """
    at = _float(delta)
    if not 0 <= at < 1:
        raise InvalidError(f"delta = {delta!r}, want a number of at least 0 and below 1")
    for pmf in (getattr(distribution, "_pmf_remove", None), getattr(distribution, "_pmf_add", None)):
        if not getattr(pmf, "_pessimistic_estimate", False):
            want = "a pessimistic PrivacyLossDistribution of dp_accounting"
            raise InvalidError(f"distribution = a {type(distribution).__name__}, want {want}")
    # Some 1e5 masses, each with an error of some 1e-16, and the convolutions that made them.
    wanted = at - 1e-11 if at > 2e-11 else at / 2
    epsilon = float(distribution.get_epsilon_for_delta(wanted))
    if not math.isfinite(epsilon):
        raise InvalidError(f"delta = {delta!r}, want more: the distribution has no finite epsilon there")
    return f"dp:epsilon={max(epsilon, 0.0) * (1 + 2**-40) + 2**-40!r},delta={at!r}"
