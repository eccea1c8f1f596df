# SPDX-License-Identifier: Apache-2.0
"""The rules by which words become draws, one word at a time, as docs and `noisewright export` state
them: slow, and apart from the package. They also give the order in which the package takes words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from conftest import DATA

from noisewright._rounding import words_from
from noisewright._words import Words

# The first words of the stream of the program's default seed.
STREAM = np.frombuffer(bytes.fromhex((DATA / "stream.hex").read_text()), dtype="<u8").astype(np.uint64)


class Taken:
    """Words that draws took, so that the package, which takes the first word of all draws, then the
    second, …, can be given the same."""

    def __init__(self, words: list[int] | None = None) -> None:
        self.source: Iterator[int] = iter(STREAM.tolist() if words is None else words)
        self.rounds: list[list[list[int]]] = []  # by purpose, by round

    def word(self, purpose: int, attempt: int) -> int:
        while len(self.rounds) <= purpose:
            self.rounds.append([])
        while len(self.rounds[purpose]) <= attempt:
            self.rounds[purpose].append([])
        w = next(self.source)
        self.rounds[purpose][attempt].append(w)
        return w

    def words(self, skip: tuple[int, ...] = ()) -> Words:
        """The same words, in the package's order, without those of some purposes."""
        chosen = [r for i, rounds in enumerate(self.rounds) if i not in skip for r in rounds]
        return words_from(np.array([w for r in chosen for w in r], dtype=np.uint64))


def entry(weights: list[int], u: int) -> int:
    """The first entry with u below the sum of the weights up to it."""
    return next(i for i, end in enumerate(accumulate(weights)) if u < end)


def offset(taken: Taken, size: int, purpose: int) -> int:
    """A uniform offset (Lemire 2019)."""
    attempt = 0
    while True:
        high, low = divmod(taken.word(purpose, attempt) * size, 1 << 64)
        if low >= (1 << 64) % size:
            return high
        attempt += 1


def table_draws(file: dict[str, Any], count: int, taken: Taken) -> list[int]:
    """Draws of a table, by its file."""
    g, n = file["grid"], len(file["weights"])
    weights = [*map(int, file["weights"]), int(file["atom"])]
    size, k, ratio = g["points_per_cell"], g["cells_per_sensitivity"], int(file.get("tail_ratio", 0))
    draws = []
    for _ in range(count):
        i = entry(weights, taken.word(0, 0))
        point = g.get("offset", 0) + (g["first_cell"] + i) * size - (size - 1) // 2 + offset(taken, size, 1)
        if i == n:
            draws.append(0)
            continue
        side = -1 if i < k else int(i >= n - k)
        attempt = 0
        while ratio and side and taken.word(2, attempt) < ratio:
            point += side * k * size
            attempt += 1
        draws.append(point)
    return draws


def rounded_up(taken: Taken, theta: Fraction) -> bool:
    """Whether the number 0.w₁w₂… is below theta, by as many words as tell, to more than there are
    in a test."""
    w = taken.word(0, 0)
    digit = (theta.numerator << 64) // theta.denominator
    if w == digit:
        raise AssertionError("a tie of 2^-64")
    return w < digit


Simulate = Callable[[dict[str, Any], int, Taken], list[int]]


def load_json(path: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found
