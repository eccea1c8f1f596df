# SPDX-License-Identifier: Apache-2.0
"""Bundles that answer with a category: cells, laws of answers, decisions."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import DATA

import noisewright as nw


def decisions() -> nw.Bundle:
    bundle = nw.load(DATA / "bundles" / "two-classes")
    assert isinstance(bundle, nw.Bundle)
    return bundle


def test_cells() -> None:
    """The first of equal scores is the class, and an edge belongs to the level above it."""
    bundle = decisions()
    category = bundle._spec.category
    assert category is not None
    assert bundle.coordinates == 1
    assert bundle.domain == "cells"
    assert bundle.laws == list(bundle._spec.randomizers)
    rng = np.random.default_rng(3)
    x = rng.normal(0.8, 3.0, (500, len(bundle.features)))
    spec = bundle._spec
    scores = (x - spec.mean) @ spec.encoder.T + spec.offset
    cells = bundle.encode(x)[:, 0]
    for row, cell in zip(scores, cells, strict=True):
        top = int(np.argmax(row))
        level = sum(float(e) <= row[top] - row[1 - top] for e in category.edges[top])
        assert cell == top * category.levels + level
    assert set(cells) == set(range(2 * category.levels))


def test_answers_have_their_law() -> None:
    """Of each cell, by chi-square: six deviations of it, a false alarm in some 1e7 runs."""
    bundle = decisions()
    rng = np.random.default_rng(4)
    x = rng.normal(0.8, 2.0, (40, len(bundle.features)))
    cells = bundle.encode(x)[:, 0].astype(int)
    for cell in sorted(set(cells)):
        one = x[cells == cell][:1]
        n = 20_000
        drawn = bundle.privatize(np.repeat(one, n, axis=0))[:, 0].astype(int)
        law = np.array(bundle._spec.randomizers[0]._spec.rows[cell], dtype=np.float64) * 2.0**-64
        counts = np.bincount(drawn, minlength=len(law))
        square = float(((counts - n * law) ** 2 / (n * law)).sum())
        free = len(law) - 1
        assert square < free + 7 * np.sqrt(2 * free) + 14, cell


def test_decodes_and_decides() -> None:
    bundle = decisions()
    category, spec = bundle._spec.category, bundle._spec
    assert category is not None and spec.decoder is not None
    answers = np.arange(len(category.decisions), dtype=np.float64)[:, None]
    posterior = bundle.decode(answers)
    np.testing.assert_allclose(posterior, np.exp(spec.decoder.T) / np.exp(spec.decoder.T).sum(axis=1, keepdims=True))
    assert bundle.decide(answers) == [spec.outputs[k] for k in category.decisions]
    for wrong in (-1.0, 0.5, float(len(answers))):
        with pytest.raises(nw.InvalidError, match="numbers of answers"):
            bundle.decode([wrong])


def test_decide_wants_classes() -> None:
    bundle = nw.load(DATA / "bundles" / "gaussian")
    assert isinstance(bundle, nw.Bundle)
    with pytest.raises(nw.InvalidError, match="classes to decide on"):
        bundle.decide([0.0] * bundle.coordinates)
