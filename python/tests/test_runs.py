# SPDX-License-Identifier: Apache-2.0
"""Divergences by runs of equal weights are those by cells."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

from noisewright import _tablecheck
from noisewright._divergence import Weights, probability, ratio_down
from noisewright._exact import RATIO_BITS
from noisewright._meter import Meter
from noisewright._runs import Runs


def some_weights(source: random.Random, runs: int, longest: int) -> list[int]:
    out: list[int] = []
    for _ in range(source.randint(1, runs)):
        w = source.choice([0, source.getrandbits(60) >> source.randint(0, 50), source.getrandbits(60)])
        out += [w] * source.randint(1, longest)
    return out


def test_every_shift() -> None:
    source = random.Random(8)
    for _ in range(200):
        weights = some_weights(source, 8, 12)
        ratio = ratio_down(3 * source.random())
        cells, runs = Weights(weights, ratio), Runs(weights)
        for side, law in enumerate((runs, runs.mirrored())):
            found = {k: cells.shifted(cells, -k if side else k) for k in range(1, len(weights) + 1)}
            assert found == {k: law.divergence(k, ratio) for k in found}
            last = source.randint(1, len(weights))
            worst = max(found[k] for k in range(1, last + 1))
            assert law.worst(ratio, last) == (worst, next(k for k in found if found[k] == worst))


def test_tables_of_few_runs() -> None:
    """The bound, the shift that has it and the limit of work, for tables that are and are not
    their mirror images, and one that is shorter than its sensitivity."""
    source = random.Random(9)
    for trial in range(12):
        half = some_weights(source, 4, 300)
        weights = half + [7] * 401 + (half[::-1] if trial % 2 else some_weights(source, 4, 300))
        table: Any = SimpleNamespace(weights=weights, cells=300 if trial < 10 else 5000, tail_ratio=0, atom=11)
        n, last = len(weights), min(table.cells, len(weights))
        meter = Meter(n * last // 4 * 2)
        delta, shift = _tablecheck.worst_shift(table, 1.5, meter)
        cells = Weights(weights, ratio_down(1.5))
        both = (1,) if weights == weights[::-1] else (1, -1)
        found = {k * side: cells.shifted(cells, k * side) for k in range(1, last + 1) for side in both}
        worst = max(found.values())
        assert delta == probability(worst + (11 << RATIO_BITS))
        assert shift == next(k for k in found if found[k] == worst)
        assert meter.used < n * last // 4 * len(both)


def test_work_is_what_runs_take() -> None:
    weights = [1] * 20000 + [7] * 4000 + [1] * 20000
    work, few = Runs(weights).work(11000)
    assert few
    assert work < 1_000_000
    assert not Runs([1, 2, 3, 4]).work(3)[1]
