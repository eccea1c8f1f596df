# SPDX-License-Identifier: Apache-2.0
"""Subset selections: draws have the law of the file, and shares come back."""

from __future__ import annotations

import json
import math
import subprocess
from fractions import Fraction
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import file
from test_verify import code, verified

import noisewright as nw
from noisewright._binomial import interval
from noisewright._load import parse
from noisewright._words import Uint64s, Words

CLAIMS = {"delta": "0", "total_variance": "1000", "largest_variance": "1000", "lower_bound": "0"}


def selection(name: str) -> nw.SubsetSelection:
    made = nw.load(file(name))
    assert isinstance(made, nw.SubsetSelection)
    return made


def made(**fields: object) -> nw.SubsetSelection:
    """A selection of weak claims."""
    spec = {
        "format": "noisewright-subset",
        "version": 1,
        "epsilon": 2,
        "objective": "total",
        "certificate": CLAIMS,
    }
    out = parse(json.dumps(spec | fields).encode())
    assert isinstance(out, nw.SubsetSelection)
    return out


def of_largest(share: float) -> dict[str, object]:
    """What a selection for the largest variance has beside."""
    return {"objective": "largest", "certificate": CLAIMS | {"dual": {"share": share}}}


def seeded(seed: int) -> Words:
    rng = np.random.default_rng(seed)

    def words(count: int) -> Uint64s:
        return rng.integers(0, 1 << 64, count, dtype=np.uint64)

    return words


def sets_of(m: int, d: int, modulus: int) -> dict[tuple[int, int], set[int]]:
    """All answers, from the definition on the page of the format."""
    if modulus:
        return {(a, b): {(a * t + b) % m for t in range(d)} for a in range(1, m) for b in range(m)}
    if d == 1:
        return {(0, j): {j} for j in range(m)}
    return {(0, sum(comb(j, i + 1) for i, j in enumerate(s))): set(s) for s in combinations(range(m), d)}


@pytest.mark.parametrize(
    ("count", "modulus", "size"), [(2, 0, 1), (8, 0, 1), (6, 0, 2), (7, 0, 3), (5, 0, 4), (6, 7, 3), (13, 13, 5)]
)
def test_draws(count: int, modulus: int, size: int) -> None:
    """Chi-square at 1e-9 for each, seeds being fixed: of 60,000 draws a share that is off by a fifth is seen."""
    m, n = modulus or count, 60_000
    s = made(count=count, modulus=modulus, size=size, inside=str(int((size / m + 0.1) * 2**64)))
    sets = sets_of(m, size, modulus)
    p = s._spec.inside / 2**64
    for x in (0, count - 1):
        codes, times = np.unique(np.column_stack(s._codes(np.full(n, x), seeded(x))), axis=0, return_counts=True)
        got = {(int(a), int(b)): int(c) for (a, b), c in zip(codes, times, strict=True)}
        assert set(got) <= set(sets)
        having = sum(x in members for members in sets.values())
        chi = 0.0
        for answer, members in sets.items():
            want = n * (p / having if x in members else (1 - p) / (len(sets) - having))
            chi += (got.get(answer, 0) - want) ** 2 / want
        k = len(sets) - 1
        limit = k * (1 - 2 / (9 * k) + 6.0 * (2 / (9 * k)) ** 0.5) ** 3  # Wilson & Hilferty, at six deviations
        assert chi < limit


@pytest.mark.parametrize("name", ["subset-affine", "subset-largest", "subset-ranked", "subset-labels"])
def test_shares(name: str) -> None:
    """Estimates are off as certified: the mean square of k errors, within six deviations or so."""
    s = selection(name)
    certificate = s.verify()
    categories = list(s.categories)
    n = 20_000
    x = np.array([categories[i * i % len(categories)] for i in range(n)])
    truth = np.array([(x == c).mean() for c in categories])
    errors = s.shares(s.release(x)) - truth
    assert (errors**2).sum() * n < float(certificate.total_variance) * (1 + 10 / len(categories) ** 0.5)
    assert abs(s.shares([s.release(categories[1])])).max() < 100
    assert certificate.gap is not None and 0 <= certificate.gap < 0.005
    assert "SubsetSelection" in repr(s) and s.epsilon > 0 and s.size >= 1 and s.modulus >= 0


def test_turns() -> None:
    """Public turns are the program's, which its tests have too, and shares come back from b alone."""
    s = selection("subset-affine")
    assert s.turns(["ann", "bob", "Zoë"], "shares-2026").tolist() == [177, 59, 124]
    assert s.turns([" ann", "\u00a0bob\t", "Zoë\u2003"], "shares-2026").tolist() == [177, 59, 124]
    assert s.turns(["ann\x1f"], "shares-2026").tolist() != [177]
    n = 20_000
    x = np.arange(n) % 7
    people = np.array([f"p{i}" for i in range(n)])
    answers = s.release(x, people, "poll")
    assert answers.dtype == np.int64 and answers.min() >= 0 and answers.max() < s.modulus
    errors = s.shares(answers, people, "poll") - np.bincount(x, minlength=200) / n
    total = float(s.verify().total_variance)
    assert total * (1 - 10 / 200**0.5) < (errors**2).sum() * n < total * (1 + 10 / 200**0.5)
    # With another seed they say nothing: the mean of all errors is that of no answers.
    assert abs(s.shares(answers, people, "another")[:7].mean()) < 0.05 < s.shares(answers, people, "poll")[:7].mean()
    for bad in (
        lambda: s.release(x, people[:5], "poll"),
        lambda: s.release(x, people, ""),
        lambda: s.release(x, None, "poll"),
        lambda: s.shares(answers, np.array(["p1"] * n), "poll"),
        lambda: s.shares(answers[:3], people, "poll"),
        lambda: s.shares(["211"], ["p1"], "poll"),
        lambda: selection("subset-ranked").release([1], ["p1"], "poll"),
    ):
        with pytest.raises(nw.InvalidError):
            bad()


def test_refused() -> None:
    affine, ranked, labels = (selection(f"subset-{name}") for name in ("affine", "ranked", "labels"))
    for s, bad in ((affine, 200), (affine, -1), (affine, "07"), (ranked, 1.5), (labels, "0"), (labels, "Red")):
        with pytest.raises(nw.InvalidError, match="none of the selection's") as refused:
            s.release(np.array([bad, bad]))
        assert str(bad) not in str(refused.value).replace("200", "") or bad == 200
    for s, bad in (
        (affine, "0:1"),
        (affine, "1:211"),
        (affine, "17"),
        (affine, "1:2:3"),
        (ranked, "-1"),
        (labels, "x"),
    ):
        with pytest.raises(nw.InvalidError):
            s.shares([bad])
    with pytest.raises(nw.InvalidError, match="none, want one"):
        affine.shares([])
    assert code(lambda: nw.load(file("subset-false"))) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"count": 1},
        {"count": 2**31 + 1},
        {"count": 5, "labels": ["a", "b"]},
        {"labels": ["a"]},
        {"labels": ["a", "a"]},
        {"count": 5, "epsilon": 0},
        {"count": 5, "size": 0},
        {"count": 5, "size": 5},
        {"count": 5, "modulus": 9},
        {"count": 5, "modulus": 3},
        {"count": 4097, "size": 2},
        {"count": 200, "size": 13},
        {"count": 5, "objective": "mean"},
        {"count": 5, "inside": str(2**64 // 5)},
        {"count": 4, "inside": str(2**62)},
        {"count": 5, "epsilon": 100.00000000000001},
        {"count": 4096, "size": 7},
        {"count": 67, "size": 30, "inside": str(2**64 - 1)},
        {"count": 2**31, "modulus": 2**31 + 2**10 + 1},
        {"count": 5, **of_largest(1.0000000000000002)},
        {"count": 5, **of_largest(-5e-324)},
        {"count": 5, **of_largest(0.5), "objective": "total"},
        {"count": 5, "certificate": CLAIMS | {"total_variance": "1e3"}},
    ],
)
def test_malformed(change: dict[str, object]) -> None:
    with pytest.raises(nw.InvalidError):
        made(**({"modulus": 0, "size": 1, "inside": str(3 * 2**62)} | change))


@pytest.mark.parametrize(
    "change",
    [
        {"labels": ["a", "b"], "inside": str(2**63 + 1)},
        {"count": 2**31},
        {"count": 2**31, "modulus": 2147483659},
        {"count": 4, "inside": str(2**62 + 1)},
        {"count": 5, "epsilon": 100},
        {"count": 4096, "size": 6},
        {"count": 200, "size": 12},
        {"count": 66, "size": 65, "inside": str(2**64 - 1)},
        {"count": 5, **of_largest(0)},
        {"count": 5, **of_largest(1)},
    ],
)
def test_well_formed(change: dict[str, object]) -> None:
    """At the ends of what is allowed."""
    assert made(**({"modulus": 0, "size": 1, "inside": str(2**63)} | change)).epsilon > 0


def test_primes() -> None:
    """Moduli are primes, all of them and nothing else: not what passes for one with three of the four bases, or
    with those before, or for who looks at the last power alone."""
    sieve = np.ones(20_000, dtype=bool)
    sieve[:2] = False
    for i in range(2, 142):
        if sieve[i]:
            sieve[i * i :: i] = False
    passing = [32817151, 746331041, 2284453, 25326001, 1373653, 2047, 29341]
    for n in [*range(2, 30), *range(3, 20_000, 7), 2**31 - 1, 2147483659, 3215031751, 2152302898, *passing]:
        prime = bool(sieve[n]) if n < 20_000 else n in (2**31 - 1, 2147483659)
        text = {"count": 2, "modulus": n, "size": 1, "inside": str(2**63 + 2**62)}
        assert (n > 2**31 + 1024) or (code(lambda text=text: made(**text)) == 0) == prime, n


def test_one_unit() -> None:
    """The largest weight is private, and a unit more is not."""
    for name in ("subset-affine", "subset-largest", "subset-ranked", "subset-labels"):
        spec = json.loads(file(name).read_text())
        for by, want in ((0, 0), (1, 3)):
            text = json.dumps(spec | {"inside": str(int(spec["inside"]) + by)}).encode()
            assert code(lambda text=text: verified(text)) == want


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 7.0])
@pytest.mark.parametrize("share", [None, 0.25])
def test_lower_bound_is_below(epsilon: float, share: float | None) -> None:
    """It is not above what e^epsilon to many more digits gives, for the best size, and next to that."""
    k = 70
    e = term = Fraction(1)
    for i in range(1, 120):
        term *= Fraction(epsilon) / i
        e += term
    large = "1000000000"
    certificate: dict[str, Any] = {"delta": "0", "total_variance": large, "largest_variance": large, "lower_bound": "0"}
    objective = "total"
    if share is not None:
        objective, certificate = "largest", certificate | {"dual": {"share": share}}
    private = str(math.floor(2**64 * e / (e + k - 1)) - 1)
    s = made(epsilon=epsilon, count=k, modulus=0, size=1, inside=private, objective=objective, certificate=certificate)
    a = Fraction(1, k) if share is None else Fraction(share)

    def mean(size: int) -> Fraction:
        """Of the variances if all have the category and if none has, by the probabilities of a set to have it."""
        p = e * size / (e * size + k - size)
        q = (size - p) / (k - 1)
        return (a * p * (1 - p) + (1 - a) * q * (1 - q)) / (p - q) ** 2

    truth = min(map(mean, range(1, k))) * (k if share is None else 1)
    assert truth * (1 - Fraction(1, 1 << 70)) < s.verify().lower_bound <= truth


def law_of_sum(m: int, n: int, p: Fraction, q: Fraction) -> list[Fraction]:
    """The law of a sum of m events with the probability p and n-m with q."""
    law = [Fraction(1)]
    for i in range(n):
        theta = p if i < m else q
        law = [(1 - theta) * a + theta * b for a, b in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)]
    return law


@pytest.mark.parametrize("name", ["subset-affine", "subset-ranked", "subset-labels"])
@pytest.mark.parametrize(("n", "alpha"), [(1, 0.1), (7, 0.3), (23, 0.05), (40, 1e-6)])
def test_intervals_hold(name: str, n: int, alpha: float) -> None:
    """Whatever share people have, each bound fails with a probability of at most alpha, in rationals."""
    p, q = selection(name)._spec.probabilities()
    events = [(float(e), float(1 - e)) for e in (p, q)]
    bounds = [interval(c, n, alpha, *events) for c in range(n + 1)]
    for m in range(n + 1):
        law, share = law_of_sum(m, n, p, q), Fraction(m, n)
        assert sum(mass for mass, (lower, _) in zip(law, bounds, strict=True) if Fraction(lower) > share) <= alpha
        assert sum(mass for mass, (_, upper) in zip(law, bounds, strict=True) if Fraction(upper) < share) <= alpha
    assert all(0 <= bound <= 1 for pair in bounds for bound in pair)
    assert bounds[0][0] == 0 and bounds[n][1] == 1


@pytest.mark.parametrize("name", ["subset-affine", "subset-largest", "subset-ranked", "subset-labels"])
@pytest.mark.parametrize("n", [9, 3000])
def test_intervals_are_those_of_the_program(name: str, n: int, program: str, tmp_path: Path) -> None:
    s = selection(name)
    categories = list(s.categories)
    answers = s.release(np.array([categories[i * i % len(categories)] for i in range(n)]))
    table = tmp_path / "answers.csv"
    table.write_text("\n".join(["c", *map(str, answers.tolist())]) + "\n")
    for level, marginal in ((0.95, False), (0.5, True)):
        flags = ["--marginal"] if marginal else []
        command = [program, "local", "interval", str(file(name)), "--column", "c", str(table), "--level", str(level)]
        done = subprocess.run([*command, "--json", *flags], capture_output=True, text=True, check=True)
        own = s.intervals(answers, level, marginal=marginal)
        theirs = json.loads(done.stdout)["shares"]
        assert own.shape == (len(theirs), 2)
        for bounds, share, estimate in zip(own, theirs, s.shares(answers), strict=True):
            assert bounds == pytest.approx([share["lower"], share["upper"]], abs=1e-12)
            assert estimate == pytest.approx(share["share"], abs=1e-12)


def test_intervals_with_turns() -> None:
    s = selection("subset-affine")
    people = [f"p{i}" for i in range(500)]
    short = s.release(np.arange(500) % 5, people, "poll")
    whole = [f"{a}:{b}" for a, b in zip(s.turns(people, "poll").tolist(), short.tolist(), strict=True)]
    assert (s.intervals(short, 0.9, people, "poll") == s.intervals(whole, 0.9)).all()
    assert (s.intervals(whole, 0.9, marginal=True)[:, 0] >= s.intervals(whole, 0.9)[:, 0]).all()
    for level in (0, 1, -1, math.nan):
        with pytest.raises(nw.InvalidError, match="level = "):
            s.intervals(whole, level)
    with pytest.raises(nw.InvalidError, match="answers = none"):
        s.intervals([])
