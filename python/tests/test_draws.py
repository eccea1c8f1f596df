# SPDX-License-Identifier: Apache-2.0
"""Draws are those of the program from the same words: golden draws of `noisewright export`."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import EXPECTED, FILES, REPOSITORY, file
from reference import STREAM, Taken, entry, load_json, offset, rounded_up, table_draws
from test_subset import seeded

import noisewright as nw
from noisewright._law import _PIECE, Cells, Law, geometric, times_high, uniform
from noisewright._rounding import checked_sum, words_from

GOLDEN = [p for p in FILES if "draws" in EXPECTED["files"][p.stem]]
OF = {kind: [p for p in GOLDEN if f'"noisewright-{kind}"' in p.read_text()[:60]] for kind in ("table", "randomizer")}
ADDITIVE = [p for p in GOLDEN if '"noisewright-additive-kernel"' in p.read_text()[:60]]


def test_there_are_golden_draws_of_all_kinds() -> None:
    texts = [p.read_text() for p in OF["table"]]
    assert sum('"tail_ratio"' in t for t in texts) >= 5
    assert sum('"atom":"0"' not in t for t in texts) >= 1
    assert sum('"lower"' in t and '"upper"' not in t for t in texts) >= 1
    for query in ("integer", "lattice"):
        assert sum(f'"query":"{query}"' in t for t in texts) >= 2
    assert len(ADDITIVE) >= 2
    kinds = {load_json(p)["values"]["kind"] for p in OF["randomizer"]}
    assert kinds == {"real", "integer", "category"}


@pytest.mark.parametrize("path", OF["table"], ids=lambda p: p.stem)
def test_table(path: Path) -> None:
    want, spec, taken = EXPECTED["files"][path.stem]["draws"], load_json(path), Taken()
    assert table_draws(spec, len(want), taken) == want
    table = nw.load(path)
    assert isinstance(table, nw.Table)
    skip = (1,) if spec["grid"]["points_per_cell"] == 1 else ()
    assert table._law.draw(len(want), taken.words(skip)).tolist() == want


def test_table_of_the_program() -> None:
    """The export that the program's own test holds."""
    export = load_json(REPOSITORY / "sampler" / "testdata" / "export.json")
    golden, grid = export["golden"], export["grid"]
    weights = [int(c["weight"]) for c in export["cells"]]
    size, n = grid["points_per_cell"], len(golden["draws"])
    law = Law(weights, int(export["atom"]["weight"]), size, export["cells"][0]["first_point"])
    # Another seed than that of the stream: its first words are stated.
    words = np.array([int(w) for w in golden["words"]], dtype=np.uint64)
    by_purpose = np.concatenate([words[0::2], words[1::2]])
    assert law.draw(len(words) // 2, words_from(by_purpose)).tolist() == golden["draws"][: len(words) // 2]
    assert n == 1000


def test_pieces() -> None:
    """Many draws are pieces of draws, one after another, with words of their own."""
    law = Law([1 << 62, 1 << 63], 1 << 62, 1000, -500)
    count = 2 * _PIECE + 7
    got, want = law.draw(count, seeded(1)), seeded(1)
    pieces = [law.draw(size, want) for size in (_PIECE, _PIECE, 7)]
    assert np.array_equal(got, np.concatenate(pieces))


@pytest.mark.parametrize("path", ADDITIVE, ids=lambda p: p.stem)
def test_additive_kernel(path: Path) -> None:
    kernel, spec = nw.load(path), load_json(path)
    assert isinstance(kernel, nw.AdditiveKernel)
    grid = spec["grid"]
    size = grid["points_per_bin"]
    for cell, want in enumerate(EXPECTED["files"][path.stem]["draws"]):
        taken, weights, draws = Taken(), [*map(int, spec["rows"][cell])], []
        for _ in want:
            j = entry(weights, taken.word(0, 0))
            draws.append((grid["first_bin"] + j) * size - size // 2 + offset(taken, size, 1))
        assert draws == want
        cells = np.full(len(want), cell)
        assert kernel._noise(cells, taken.words((1,) if size == 1 else ())).tolist() == want


@pytest.mark.parametrize("path", OF["randomizer"], ids=lambda p: p.stem)
def test_randomizer(path: Path) -> None:
    randomizer, spec = nw.load(path), load_json(path)
    assert isinstance(randomizer, nw.Randomizer)
    golden = EXPECTED["files"][path.stem]["draws"]
    values, want = [d["value"] for d in golden], [d["answer"] for d in golden]
    taken, answers = Taken(), []
    rows = [[int(w) for w in row] for row in spec["rows"]]
    nodes = spec.get("nodes", [])
    for x in values:
        i = int(x) if spec["values"]["kind"] == "category" else max(k for k, node in enumerate(nodes) if node <= x)
        if spec["values"]["kind"] == "real":
            theta = Fraction(0)
            if x != nodes[i]:
                theta = (Fraction(x) - Fraction(nodes[i])) / (Fraction(nodes[i + 1]) - Fraction(nodes[i]))
            i += rounded_up(taken, theta)
        answers.append(entry(rows[i], taken.word(1, 0)))
    assert answers == want
    given: Any = values
    if spec["values"]["kind"] == "category":
        given = [spec["values"]["labels"][int(x)] for x in values]
    assert randomizer._indices(np.array(given), taken.words()).tolist() == want


@pytest.mark.parametrize("path", [p for p in FILES if p.stem.startswith("kernel")], ids=lambda p: p.stem)
def test_kernel(path: Path) -> None:
    if EXPECTED["files"][path.stem]["code"]:
        with pytest.raises(nw.Error):
            nw.load(path)
        return
    kernel, spec = nw.load(path), load_json(path)
    assert isinstance(kernel, nw.Kernel)
    edges = spec["edges"]
    values = np.linspace(edges[0], edges[-1], 301)
    values[:3] = edges[0], edges[-1], edges[1]
    words = STREAM[: values.size]
    cells = [min(sum(e <= x for e in edges) - 1, len(edges) - 2) for x in values]
    want = [entry([*map(int, spec["rows"][k])], int(u)) for k, u in zip(cells, words, strict=True)]
    assert kernel._answers(values, words_from(words)).tolist() == want


def test_large_requests_draw_alike() -> None:
    """Many words are looked up by a guide, few by a search: the entries are the same."""
    rng = np.random.default_rng(1)
    for weights in ([1, 0, 0, (1 << 64) - 3, 2, 0], [1 << 62] * 4, [0, 3, (1 << 64) - 3, 0]):
        cells = Cells(weights)
        u = rng.integers(0, 1 << 64, 20_000, dtype=np.uint64)
        u[:8] = 0, 1, 2, 3, (1 << 64) - 1, (1 << 64) - 2, (1 << 64) - 3, 1 << 63
        want = np.array([entry(weights, int(w)) for w in u])
        assert (cells.entries(u) == want).all()
        assert (np.concatenate([cells.entries(part) for part in np.split(u, 200)]) == want).all()


def test_products_of_words() -> None:
    rng = np.random.default_rng(2)
    v = rng.integers(0, 1 << 64, 2000, dtype=np.uint64)
    v[:3] = 0, (1 << 64) - 1, 1 << 63
    for s in (1, 3, 1025, (1 << 32) - 1, (1 << 32) + 1, (1 << 40) - 1, (1 << 64) - 1):
        assert times_high(v, s).tolist() == [int(x) * s >> 64 for x in v]


def test_rejection_is_exact() -> None:
    """Words whose low product is below 2^64 mod S are replaced, and those alone."""
    size = (1 << 40) - 1
    least = (1 << 64) % size
    bad = next(w for w in range(10_000_000) if w * size % (1 << 64) < least)
    good = next(w for w in range(bad + 1, bad + 10) if w * size % (1 << 64) >= least)
    stream = np.array([bad, good, bad, bad, 1 << 63], dtype=np.uint64)
    assert uniform(2, size, words_from(stream)).tolist() == [(1 << 63) * size >> 64, good * size >> 64]


def test_geometric_counts_words_below() -> None:
    stream = np.array([5, 9, 3, 9, 9, 2, 9], dtype=np.uint64)
    # Three draws: 5, 3 and 9 … in rounds.
    assert geometric(3, 6, words_from(np.array([5, 3, 9, 9, 2, 9], dtype=np.uint64))).tolist() == [1, 2, 0]
    assert geometric(1, 6, words_from(stream[:2])).tolist() == [1]


def test_far_draws_of_a_tail_release_nothing() -> None:
    table = nw.load(file("tail"))
    assert isinstance(table, nw.Table)
    period = table._spec.period
    rounds = (1 << 53) // period + 1  # too many to draw one by one: the count is what a draw of them would have
    far = Law([1, (1 << 64) - 2, 1], 0, 1, -1, 1 << 63, 1)
    stream = np.array([0, *[0] * 40, (1 << 64) - 1], dtype=np.uint64)
    assert far.draw(1, words_from(stream)).tolist() == [-41]
    assert checked_sum(np.array([1 << 53, -(1 << 53)], dtype=np.int64)).size == 2
    for n in ((1 << 53) + 1, -rounds * period - 1):
        with pytest.raises(nw.BeyondError):
            checked_sum(np.array([0, n], dtype=np.int64))
