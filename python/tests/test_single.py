# SPDX-License-Identifier: Apache-2.0
"""Single numbers, which are drawn without arrays: the same law, word for word."""

from __future__ import annotations

import math
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import FILES, REPOSITORY, file

import noisewright as nw
from noisewright._law import Law
from noisewright._rounding import words_from
from noisewright.errors import Error, InvalidError


def is_table(path: Path) -> bool:
    try:
        return isinstance(nw.load(path, verify=False), nw.Table)
    except Error:
        return False


TABLES = list(filter(is_table, FILES))


class Stream:
    """Words in the place of the system's, and how many of them were taken."""

    def __init__(self, words: Any) -> None:
        self.raw: bytes = words.astype("<u8").tobytes()
        self.place = 0

    def __call__(self, size: int) -> bytes:
        self.place += size
        return self.raw[self.place - size : self.place]


def same_as_arrays(law: Law, stream: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    """One draw both ways; arrays take no word where all cells are single points."""
    system = Stream(stream)
    monkeypatch.setattr("os.urandom", system)
    one = law.one()
    words = np.delete(stream, 1) if law._points == 1 else stream
    assert one == int(law.draw(1, words_from(words))[0])
    return one


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_the_law_of_arrays(path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 draws of random words each, and the words at the ends of cells."""
    table = nw.load(path, verify=False)
    assert isinstance(table, nw.Table)
    law, random = table._law, np.random.default_rng(1)
    for _ in range(2000):
        same_as_arrays(law, random.integers(0, 2**64, 64, dtype=np.uint64), monkeypatch)
    for end in law._cells.last[[0, -1, law._cells.last.size // 2]]:
        for first in {int(end), max(int(end) - 1, 0), min(int(end) + 1, 2**64 - 1), 0}:
            stream = random.integers(0, 2**64, 64, dtype=np.uint64)
            stream[0] = first
            same_as_arrays(law, stream, monkeypatch)


def test_rejected_words_and_far_tails(monkeypatch: pytest.MonkeyPatch) -> None:
    law = Law([2**62, 2**63, 2**62], 0, 7, -10, tail_ratio=2**64 - 2**40, block=1)
    random = np.random.default_rng(2)
    stream = random.integers(0, 2**64, 500, dtype=np.uint64)
    stream[:3] = [2**63, 0, pow(7, -1, 2**64)]  # times 7 they are 0 and 1, below 2^64 mod 7 = 2, and so rejected
    same_as_arrays(law, stream, monkeypatch)
    stream[0] = 0  # the left tail, which goes on as long as words are small
    stream[1] = 2**62
    stream[2:400] = 5
    stream[400] = 2**64 - 1
    assert same_as_arrays(law, stream, monkeypatch) < -1000
    far = Law([2**62, 2**63, 2**62], 0, 1, -1, tail_ratio=2**64 - 1, block=1)
    far._period = 2**53
    assert same_as_arrays(far, stream, monkeypatch) == -1 - (1 << 55)


@pytest.mark.parametrize(
    "path",
    [p for p in TABLES if p.stem in ("real", "tail", "integer", "atom")],
    ids=lambda path: path.stem,
)
def test_values_as_arrays(path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same rounding, results and errors."""
    table = nw.load(path)
    assert isinstance(table, nw.Table)
    huge = float(table._spec.limit) * table.step
    values = [
        0.0,
        -0.0,
        1.5,
        0.25,
        -7.0,
        3,
        -3,
        5e-324,
        table.step / 2,
        -table.step / 2,
        table.step * 1.5,
        huge,
        -huge,
        huge * 1.01,
        2.0**80,
        math.nan,
        math.inf,
        -math.inf,
        2**53 + 1,
        10**400,
        True,
    ]

    def outcome(x: Any) -> Any:
        try:
            noisy = table.add_noise(x)
        except Error as err:
            return type(err), str(err)
        return noisy if math.isnan(noisy) else (type(noisy), noisy)

    stream = np.random.default_rng(3).integers(0, 2**64, 64, dtype=np.uint64)
    for x in values:
        monkeypatch.setattr("os.urandom", Stream(stream))
        one = outcome(x)
        monkeypatch.setattr("os.urandom", Stream(np.delete(stream, 1) if table.points_per_cell == 1 else stream))
        array = outcome(np.array(x))
        assert one == array or (type(x) is int and x > 2**53), x
        assert not (isinstance(one, tuple) and issubclass(one[0], Error)) or issubclass(
            one[0], (InvalidError, nw.BeyondError)
        )


def test_unproved_tables_are_not_drawn_from() -> None:
    false = nw.load(file("one-sided-false"), verify=False)
    assert isinstance(false, nw.Table)
    with pytest.raises((nw.NotPrivateError, nw.FalseClaimError)):
        false.add_noise(1.0)


def test_pickled_tables() -> None:
    table = nw.load(file("real"))
    assert isinstance(table, nw.Table)
    table.add_noise(1.0)
    again = pickle.loads(pickle.dumps(table))
    assert isinstance(again.add_noise(1.0), float)


def test_work_of_one_number() -> None:
    """A clock of work: the calls that one number takes, of Python's functions and others."""
    table = nw.load(REPOSITORY / "account" / "testdata" / "table-1-1e-6.json")
    assert isinstance(table, nw.Table)
    table.add_noise(1.0)
    calls: list[str] = []
    sys.setprofile(lambda _, event, __: calls.append(event) if event in ("call", "c_call") else None)
    table.add_noise(1.0)
    sys.setprofile(None)
    assert 3 <= len(calls) - 1 <= 8, calls  # without that of setprofile
