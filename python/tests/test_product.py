# SPDX-License-Identifier: Apache-2.0
"""Bounds at delta > 0 by multipliers of delta = 0, whose prices are products: of multipliers that are changed the
package and the program prove the same, to the last digit that a claim has."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import pytest
from conftest import file
from test_agree import judged
from test_edges import decimal
from test_verify import code, verified

from noisewright._meter import Meter
from noisewright._product import Known, largest

Json = dict[str, Any]
# Of a claim: bounds to so many places are told apart.
PLACES = 20


def categories() -> Json:
    """Three categories that are right or wrong, answered by one law."""
    made = json.loads(file("categories").read_text())
    made["epsilon"], made["delta"] = 1.5, 0.01
    made["values"]["labels"] = made["answer_labels"] = ["a", "b", "c"]
    made["costs"] = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    made["rows"] = [[str(2**64 // 3 + (i == 0)) for i in range(3)]] * 3
    made["certificate"] = {"delta": "0", "mean_loss": "1", "worst_loss": "1", "bias": "0"}
    made["certificate"]["dual"] = {"nodes": [], "totals": [0.1029] * 3, "product": True}
    return cast(Json, made)


def stored(name: str) -> Callable[[str, Path], Json]:
    return lambda _program, _folder: cast(Json, json.loads(file(name).read_text()))


def designed(flags: str) -> Callable[[str, Path], Json]:
    def design(program: str, folder: Path) -> Json:
        path = folder / "designed.json"
        command = ["design-kernel", "--local", "--quiet", "--gap=0.3", "--nodes=3", f"--output={path}", *flags.split()]
        done = subprocess.run([program, *command], capture_output=True, text=True, check=False)
        assert done.returncode in (0, 4), done.stderr
        return cast(Json, json.loads(path.read_text()))

    return design


SOURCES: dict[str, tuple[Callable[[str, Path], Json], int]] = {
    "points": (stored("product-integers"), 8),
    "points, answers by steps": (stored("product-steps"), 8),
    "densities, answers by steps": (stored("product"), 8),
    "categories": (lambda _program, _folder: categories(), 8),
    "densities": (designed("--range 0,1 --answers 0,1 --epsilon 1 --delta 0.01 --loss l2"), 2),
    "densities with means, answers without bounds": (
        designed("--range 0,2 --epsilon 1 --delta 0.001 --loss l2 --unbiased"),
        2,
    ),
}


def mutated(source: random.Random, made: Json) -> Json:
    """With some of its multipliers changed, by little or by much."""
    made = json.loads(json.dumps(made))
    dual = made["certificate"]["dual"]
    lists = [name for name in ("totals", "means", "weights", "caps", "point_totals") if any(dual.get(name) or [])]
    for _ in range(source.choice((1, 1, 4))):
        numbers = dual[source.choice(lists)]
        numbers[source.randrange(len(numbers))] *= 1 + source.choice((-1, 1)) * 2.0 ** -source.randrange(1, 50)
    if source.randrange(3) == 0:
        made["delta"] *= 1.5
    return made


@pytest.mark.parametrize("name", SOURCES)
def test_mutated_multipliers(program: str, tmp_path: Path, name: str) -> None:
    make, count = SOURCES[name]
    made, source = make(program, tmp_path), random.Random(name)
    assert made["certificate"]["dual"]["product"] is True
    texts, above, proved = [], 0, set()
    for i in range(count):
        changed = made if i == 0 else mutated(source, made)
        changed["certificate"]["lower_bound"] = "0"
        raw = json.dumps(changed).encode()
        bound: Fraction = verified(raw).lower_bound
        proved.add(bound)
        for more in (0, 1):
            changed["certificate"]["lower_bound"] = decimal(bound + Fraction(more, 10**PLACES), PLACES, False)
            texts.append(json.dumps(changed).encode())
        assert code(lambda texts=texts: verified(texts[-1])) == 3
        above += bound > 0
    assert [exit_code for exit_code, _ in judged(program, tmp_path, texts)] == [0, 3] * count
    # Most prove something, and all something of their own.
    assert above > count // 2
    assert len(proved) > count // 2


def test_sum_of_the_largest_products() -> None:
    """The definition, of as many as exceed 2^64 together; a point does not make up for itself."""
    source = random.Random(7)
    for n, count in ((1, 1), (2, 3), (5, 9), (9, 4)):
        points = [source.random() < 0.5 for _ in range(n)]
        parts = []
        for _ in range(count):
            lack = [source.choice((0, source.randrange(1 << 90))) for _ in range(n)]
            supply = [source.randrange(1 << 80) for _ in range(n)]
            parts.append(Known(lack, (1 << 80) // n, supply))
        shortfall = source.randrange(1 << 70)
        unit = max((max(p.lack) for p in parts), default=0).bit_length()
        total = 0
        for i in range(n):
            for k in range(n + 1):
                products = [0]
                for p in parts:
                    share = Fraction(p.supply[k] if k < n else shortfall, p.least + shortfall)
                    up = -(-(share.numerator << 31) // share.denominator)
                    if k < n and points[k]:
                        up = min(up, 1 << 31)
                    products.append(-(-p.lack[i] >> (unit - 31) if unit > 31 else -p.lack[i] << 31 - unit) * up)
                total += max(products) if i != k or not points[i] else 0
        found = largest(parts, points, shortfall, Meter())
        too_much = any(
            s >= 2 * (p.least + shortfall) for p in parts for s, q in zip(p.supply, points, strict=True) if not q
        )
        assert found == (None if too_much else (total, 62 - unit)), n
    many = [Known([1 << 31] * 8, 1, [7 << 30] * 8)]
    assert largest(many, [False] * 8, 0, Meter()) is None
    many = [Known([(1 << 31) - 1] * 8, 2, [3] * 8)]
    assert largest(many, [False] * 8, 0, Meter()) == (64 * ((1 << 31) - 1) * 3 << 30, 31)
