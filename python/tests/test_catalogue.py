# SPDX-License-Identifier: Apache-2.0
"""The catalogue of the program: found, written, proved, and drawn from with the golden draws of examples/."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import REPOSITORY
from reference import Taken, load_json, table_draws

import noisewright as nw

GOLDEN = REPOSITORY / "examples" / "golden"
NAMES = sorted(p.stem for p in (REPOSITORY / "tables" / "catalogue").glob("*.json"))
WORDS = [int(line) for line in (GOLDEN / "words.txt").read_text().split()]
DRAWS = [[int(n) for n in line.split()] for line in (GOLDEN / "draws.txt").read_text().splitlines()]


@pytest.mark.parametrize(("name", "want"), list(zip(NAMES, DRAWS, strict=True)))
def test_golden_draws(name: str, want: list[int]) -> None:
    """By the rules one word at a time, and by the package with the same words in its order."""
    path = REPOSITORY / "tables" / "catalogue" / f"{name}.json"
    taken = Taken(WORDS)
    spec = load_json(path)
    assert table_draws(spec, len(want), taken) == want
    table = nw.load(path)
    assert isinstance(table, nw.Table)
    skip = (1,) if spec["grid"]["points_per_cell"] == 1 else ()
    assert table._law.draw(len(want), taken.words(skip)).tolist() == want


def test_found(called: str, tmp_path: Path) -> None:
    path = tmp_path / "count.json"
    table = nw.catalogue(1, "1e-6", "l1", query="integer", path=path)
    assert (table.privacy.epsilon, table.privacy.delta, table.privacy.sensitivity) == (1, 1e-6, 1)
    assert (table.query, table.loss) == ("integer", "l1")
    stored = REPOSITORY / "tables" / "catalogue" / "integer-l1-epsilon-1-delta-1e-06.json"
    assert path.read_bytes() == table.source == stored.read_bytes()
    assert np.array(table.add_noise(np.arange(50))).shape == (50,)
    assert nw.catalogue(0.1, 0, "l2").loss == "l2"
    with pytest.raises(nw.InvalidError, match=r"epsilon = 0\.7, want one of the catalogue: 0\.1, 0\.25, "):
        nw.catalogue(0.7, 0)
    with pytest.raises(nw.InvalidError, match="is there already"):
        nw.catalogue(1, 0, path=path)
