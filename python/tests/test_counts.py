# SPDX-License-Identifier: Apache-2.0
"""Strategies for counts: draws by their laws, estimates with the right means, and files that are none.

False-alarm rates are 1e-9 each, seeds being fixed where draws are counted.
"""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from conftest import file
from test_subset import seeded
from test_verify import code, verified

import noisewright as nw
from noisewright import _countsfile
from noisewright._exact import exp_up

NAMES = ["counts-prefix", "counts-marginals", "counts-queries", "counts-ranges"]


def strategy(name: str) -> nw.Strategy:
    made = nw.load(file(name))
    assert isinstance(made, nw.Strategy)
    return made


@pytest.mark.parametrize("name", NAMES)
def test_draws(name: str) -> None:
    """Chi-square of 60,000 draws: a probability of .1 that is off by a tenth is seen."""
    s, n = strategy(name), 60_000
    categories = list(s.categories)
    for x in (0, len(categories) - 1):
        drawn = s._indices(np.full(n, categories[x]), seeded(x))
        want = np.array([w / 2**64 * n for w in s._spec.rows[x]])
        few = want < 20  # together
        got = np.bincount(drawn, minlength=want.size)
        want, got = np.append(want[~few], want[few].sum()), np.append(got[~few], got[few].sum())
        chi, k = float(((got - want)[want > 0] ** 2 / want[want > 0]).sum()), want.size - 1
        assert chi < k * (1 - 2 / (9 * k) + 6.0 * (2 / (9 * k)) ** 0.5) ** 3  # Wilson & Hilferty


@pytest.mark.parametrize("name", NAMES)
def test_estimates(name: str) -> None:
    """Each answer counts what makes the mean right, and answers have the variance that is certified."""
    s = strategy(name)
    certificate = s.verify()
    m, laws = len(s._spec.rows[0]), np.array(s._spec.rows, dtype=float) / 2**64
    counts = np.array([list(s.estimates([y]).values()) for y in range(m)])  # of each answer
    queries = np.array(list(s.queries.values()))
    assert list(s.estimates([0])) == list(s.queries)
    assert np.allclose(laws @ counts, queries.T, rtol=0, atol=1e-11)
    variances = laws @ (counts**2).sum(axis=1) - (queries**2).sum(axis=0)
    assert np.isclose(variances.mean(), float(certificate.total_variance), rtol=1e-10)
    assert np.isclose(variances.max(), float(certificate.worst_variance), rtol=1e-10)
    assert certificate.gap is None if name == "counts-ranges" else 0 < (certificate.gap or 0) < 0.002
    assert "Strategy" in repr(s) and s.epsilon > 0
    answers = s.release(np.array(list(s.categories) * 3))
    assert answers.shape == (3 * len(s.categories),) and isinstance(s.release(next(iter(s.categories))), int)
    assert list(s.privatize(np.array(list(s.categories)))) != []


def test_dearest() -> None:
    """Of all vectors of two entries, one by one, in fractions."""
    source = np.random.default_rng(1)
    for k in (2, 3, 5):
        a = source.integers(-9, 9, (k, k))
        mass, prices = (a @ a.T).tolist(), source.integers(0, 50, k).tolist()
        e = Fraction(exp_up(1.5), 1 << 96)
        best = None
        for v in product((Fraction(1), e), repeat=k):
            mean = sum(v, Fraction(0)) / k
            quad = sum((v[i] * v[j] * mass[i][j] for i in range(k) for j in range(k)), Fraction(0))
            value = quad / mean**2 - sum((x * p for x, p in zip(v, prices, strict=True)), Fraction(0)) / mean
            best = value if best is None else max(best, value)
        assert _countsfile._dearest(1.5, mass, prices) == best


def test_refused() -> None:
    s = strategy("counts-prefix")
    for bad in ("5", "-1", "x", 1.5):
        with pytest.raises(nw.InvalidError, match="none of the strategy's 5"):
            s.release(np.array([bad]))
    for bad in ("-1", "a", len(s._spec.rows[0])):
        with pytest.raises(nw.InvalidError, match="none of the strategy's, want"):
            s.estimates([bad])
    with pytest.raises(nw.InvalidError, match="none, want one"):
        s.estimates([])
    assert code(lambda: nw.load(file("counts-false"))) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"count": 1},
        {"count": 129},
        {"count": 6},
        {"labels": ["a", "b", "c", "d", "e"]},
        {"epsilon": 0},
        {"workload": {"kind": "suffix"}},
        {"workload": {"kind": "prefix", "sizes": [5]}},
        {"workload": {"kind": "marginals", "sizes": [5]}},
        {"workload": {"kind": "marginals", "sizes": [2, 3]}},
        {"workload": {"kind": "queries", "names": ["a"], "queries": [[1, 0]]}},
        {"workload": {"kind": "queries", "names": ["a"], "queries": [[0, 0, 0, 0, 0]]}},
        {"workload": {"kind": "queries", "names": ["a"], "queries": [[1e7, 0, 0, 0, 0]]}},
        {"workload": {"kind": "queries", "names": ["a", "a"], "queries": [[1, 0, 0, 0, 0]] * 2}},
        {"workload": {"kind": "prefix", "names": ["a"]}},
        {"rows": [["18446744073709551616"]] * 5},
        {"rows": [[str(1 << 63), str(1 << 63)]] * 5},
        {"rows": [["0", str(1 << 63), str(1 << 63), "0", "0"]] * 5},
    ],
)
def test_malformed(change: dict[str, Any]) -> None:
    text = json.loads(file("counts-prefix").read_text())
    with pytest.raises((nw.InvalidError, nw.FormatError)):
        verified(json.dumps({**text, **change}).encode())


def test_equal_laws() -> None:
    """Answers that do not tell categories apart have no estimate."""
    text = json.loads(file("counts-prefix").read_text())
    text["rows"] = [[str(1 << 62), str(1 << 62), str(1 << 62), str(1 << 61), str(1 << 61)]] * 5
    assert code(lambda: verified(json.dumps(text).encode())) == 3
