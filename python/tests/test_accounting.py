# SPDX-License-Identifier: Apache-2.0
"""Totals as distributions of dp_accounting, and back: pessimistic both ways."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import REPOSITORY
from frames import needs

import noisewright as nw
from noisewright.errors import InvalidError

pytestmark = pytest.mark.filterwarnings("ignore")

TOTALS: list[tuple[list[Any], Any]] = [
    (["laplace:epsilon=0.5"], 1),
    (["gaussian:sigma=4", "laplace:epsilon=0.3"], [6, 2]),
    (["dp:epsilon=0.5,delta=1e-3"], 3),
    ([REPOSITORY / "account" / "testdata" / "table-1-1e-6.json"], 2),
    (["subsampled-gaussian:sigma=1,rate=0.01"], 50),
]


@pytest.mark.parametrize(("releases", "times"), TOTALS)
def test_pessimistic(releases: list[Any], times: Any, called: str) -> None:
    """At dots and between them, no delta is below what the program proves to be needed, or far above what it proves."""
    needs("dp_accounting")
    made = nw.to_dp_accounting(*releases, times=times, step=0.1, most=10)
    for epsilon in (0, 0.1, 0.15, 0.5, 0.97, 1.99, 3.333):
        proved = nw.account(*releases, times=times, epsilon=epsilon)
        delta = made.get_delta_for_epsilon(epsilon)
        assert proved.delta_lower <= delta <= proved.delta + 0.1**2 / 4


def test_the_worst_of_both_directions(called: str) -> None:
    """Randomized response has the whole profile at two points, also below 0."""
    needs("dp_accounting")
    from dp_accounting.pld import privacy_loss_distribution

    ours = nw.to_dp_accounting("randomized-response:epsilon=1", step=0.1, most=3)
    theirs = privacy_loss_distribution.from_randomized_response(2 / (1 + np.e), 2, value_discretization_interval=0.1)
    for epsilon in (-0.95, -0.5, 0, 0.5, 0.95, 1.5):
        a, b = ours.get_delta_for_epsilon(epsilon), theirs.get_delta_for_epsilon(epsilon)
        assert b - 1e-9 <= a <= b + 1e-6
    for times in (2, 10):
        a, b = (d.self_compose(times).get_delta_for_epsilon(1.5) for d in (ours, theirs))
        assert b - 1e-9 <= a <= b + 1e-4


def test_ledgers(called: str, tmp_path: Path) -> None:
    needs("dp_accounting")
    ledger = nw.Ledger.create(tmp_path / "l", 1, 1e-6)
    with pytest.raises(InvalidError, match="releases = none"):
        nw.to_dp_accounting(ledger)
    nw.release({"a": [1, 2]}, nw.count(), nw.mean("a", (0, 3)), ledger=ledger, epsilon=0.5, delta=1e-7)
    made = nw.to_dp_accounting(ledger)
    assert ledger.total().spent_epsilon - 1e-6 <= made.get_epsilon_for_delta(1e-6) <= 0.51


def test_back(called: str) -> None:
    needs("dp_accounting")
    from dp_accounting.pld import privacy_loss_distribution

    gaussian = privacy_loss_distribution.from_gaussian_mechanism(4, value_discretization_interval=0.01)
    ten = nw.from_dp_accounting(gaussian.self_compose(10), 1e-6)
    total = nw.account(ten, delta=1e-6)
    exact = nw.account("gaussian:sigma=4", times=10, delta=1e-6)
    assert exact.epsilon_lower <= total.epsilon <= exact.epsilon * 1.05
    both = nw.from_dp_accounting(nw.to_dp_accounting("gaussian:sigma=4", times=10), 1e-6)
    assert exact.epsilon_lower <= nw.account(both, delta=1e-6).epsilon <= exact.epsilon * 1.01
    with pytest.raises(InvalidError, match="delta = 2, want a number of at least 0 and below 1"):
        nw.from_dp_accounting(gaussian, 2)
    with pytest.raises(InvalidError, match="no finite epsilon there"):
        nw.from_dp_accounting(
            privacy_loss_distribution.from_gaussian_mechanism(1, value_discretization_interval=0.01), 1e-300
        )
    optimistic = privacy_loss_distribution.from_gaussian_mechanism(
        4, pessimistic_estimate=False, value_discretization_interval=0.01
    )
    with pytest.raises(InvalidError, match="want a pessimistic PrivacyLossDistribution"):
        nw.from_dp_accounting(optimistic, 1e-6)
    with pytest.raises(InvalidError, match="distribution = a float, want a pessimistic PrivacyLossDistribution"):
        nw.from_dp_accounting(1.0, 1e-6)


def test_bad_input() -> None:
    for step, most in ((0, 1), (1, 0.5), (1e-9, 1), (1, 1e4), (float("nan"), 1)):
        with pytest.raises(InvalidError, match="want 0 < step <= most <= 700"):
            nw.to_dp_accounting("laplace:epsilon=1", step=step, most=most)
    with pytest.raises(InvalidError, match="times = 2 numbers, want one, or one for each of 1 releases"):
        nw.to_dp_accounting("laplace:epsilon=1", times=[1, 2])


def test_text_for_ledgers(called: str, tmp_path: Path) -> None:
    """What from_dp_accounting returns stands for its promise, digit by digit."""
    ledger = nw.Ledger.create(tmp_path / "l", 2, 1e-4)
    assert ledger.times(table="dp:epsilon=0.5,delta=1e-06") == ledger.times(0.5, 1e-6) > 1


def test_many_dots(called: str) -> None:
    needs("dp_accounting")
    fine, coarse = (nw.to_dp_accounting("laplace:epsilon=1", step=step, most=5) for step in (5e-4, 1e-3))
    assert 0.99 < fine.get_epsilon_for_delta(1e-3) <= coarse.get_epsilon_for_delta(1e-3) + 1e-9
