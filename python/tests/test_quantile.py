# SPDX-License-Identifier: Apache-2.0
"""Quantiles, intervals and the profile, beside brute force and the program."""

from __future__ import annotations

import json
import math
import subprocess
from fractions import Fraction

import pytest
from conftest import file

import noisewright as nw
from noisewright._quantile import quantile_point


def load(name: str) -> nw.Table:
    table = nw.load(file(name))
    assert isinstance(table, nw.Table)
    return table


def probabilities(table: nw.Table) -> dict[int, Fraction]:
    """Those of all points of a table of few points, with the periods of a tail to 2^-64."""
    s = table._spec
    rho = Fraction(s.tail_ratio, 1 << 64)
    periods = 2 + math.ceil(64 * math.log(2) / -math.log(rho)) if rho else 1
    p: dict[int, Fraction] = {0: Fraction(s.atom, 1 << 64)}
    for i, w in enumerate(s.weights):
        side = s.side(i)
        for m in range(periods if side else 1):
            share = Fraction(w, s.points << 64) * ((1 - rho) * rho**m if side else 1)
            for n in range(s.first_point(i), s.first_point(i) + s.points):
                at = n + side * m * s.period
                p[at] = p.get(at, Fraction(0)) + share
    return p


@pytest.mark.parametrize("name", ["integer", "integer-tail-large-epsilon", "lattice-coarse", "one-sided"])
def test_quantiles_by_brute_force(name: str) -> None:
    table = load(name)
    law = probabilities(table)
    total, ends = Fraction(0), {}
    for n in sorted(law):
        total += law[n]
        ends[n] = total
    assert 1 - total < Fraction(1, 1 << 60)
    levels = [Fraction(k, 64) for k in range(1, 64)]
    if not table._spec.tail_ratio:  # else the ends are known to 2^-64
        levels += [e for e in ends.values() if 0 < e < 1]
    for p in levels:
        assert quantile_point(table._spec, p, strictly=False) == next(n for n, e in ends.items() if e >= p)
        assert quantile_point(table._spec, p, strictly=True) == next(n for n, e in ends.items() if e > p)


@pytest.mark.parametrize("name", ["real", "tail", "integer", "lattice-l2", "power-sum-tail"])
def test_intervals_of_the_program(name: str, program: str) -> None:
    table = load(name)
    for y, level in ((0.0, 0.95), (7 * table.step, 0.5), (-3 * table.step, 0.999)):
        arguments = [program, "interval", "--table", str(file(name)), "--level", str(level), "--json", "--", repr(y)]
        report = json.loads(subprocess.run(arguments, capture_output=True, text=True, check=True).stdout)
        assert table.interval(y, level) == (report["lower"], report["upper"])


def test_intervals_hold_the_value() -> None:
    table = load("real")
    lower, upper = table.interval(0.0, 0.9)
    assert lower < -table.quantile(0.94) < 0 < table.quantile(0.94) < upper
    assert table.quantile(0.5) == 0
    for bad in (0.0, 1.0, -1.0, math.nan):
        with pytest.raises(nw.InvalidError):
            table.quantile(bad)
        with pytest.raises(nw.InvalidError):
            table.interval(0.0, bad)
    for y in (table.step / 2, math.nan, math.inf, 1e300):
        with pytest.raises(nw.InvalidError, match="multiple"):
            table.interval(y, 0.9)


@pytest.mark.parametrize("name", ["real", "tail", "integer-tail-large-epsilon", "atom"])
def test_profile(name: str) -> None:
    """It falls, is the certified delta at the table's epsilon, and is the divergence by its
    definition at 0."""
    table = load(name)
    assert table.profile(table.privacy.epsilon) == table.verify().delta_upper
    values = [table.profile(e) for e in (0, 0.5, 1, 2)]
    assert values == sorted(values, reverse=True)
    if name == "integer-tail-large-epsilon":
        law = probabilities(table)
        reach = table._spec.period
        shifts = [k for k in range(-reach, reach + 1) if k]
        moved = [sum(max(Fraction(0), p - law.get(n - k, Fraction(0))) for n, p in law.items()) for k in shifts]
        assert abs(max(moved) - table.profile(0)) < Fraction(1, 1 << 60)
    for bad in (-1, 101, math.nan):
        with pytest.raises(nw.InvalidError):
            table.profile(bad)
