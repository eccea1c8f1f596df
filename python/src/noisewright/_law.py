# SPDX-License-Identifier: Apache-2.0
"""Laws with integer weights, and exact draws from them (docs/proofs/sampling.md)."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from noisewright._words import Int64s, Uint64s, Words
from noisewright.errors import EntropyError

_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_BUCKET_SHIFT = np.uint64(48)
_BUCKETS = 1 << 16

MAX_INTEGER = 1 << 53
# So many draws at a time stay in the cache of a processor.
_PIECE = 1 << 15
# Stands for draws further out than 2^54 points, whose sum with any accepted value is beyond 2^53.
_FAR = 1 << 55


def times_high(v: Uint64s, s: int) -> Uint64s:
    """The high words of the products v·s, for 0 <= s < 2^64, by halves of 32 bits."""
    low, high = v & _LOW, v >> _32
    s_low, s_high = np.uint64(s & 0xFFFFFFFF), np.uint64(s >> 32)
    cross = high * s_low
    if not s_high:
        short: Uint64s = (cross + ((low * s_low) >> _32)) >> _32  # below 2^64: (2^32-1)² + 2^32-1
        return short
    other = low * s_high
    middle = ((low * s_low) >> _32) + (cross & _LOW) + (other & _LOW)
    long: Uint64s = high * s_high + (cross >> _32) + (other >> _32) + (middle >> _32)
    return long


class Cells:
    """Weights of entries that sum to 2^64: draws the index of one.

    The entry of a word is the first whose last word is not below it, entry i owning as many
    words as its weight; entries of weight 0 own none.
    """

    def __init__(self, weights: Sequence[int]) -> None:
        ends = list(accumulate(weights))
        if ends[-1] != 1 << 64:
            raise AssertionError("weights of a law do not sum to 2^64")
        # Entries of weight 0 before the first with weight would own a word below 0.
        self.skip = next(i for i, end in enumerate(ends) if end > 0)
        self.last = np.array([end - 1 for end in ends[self.skip :]], dtype=np.uint64)
        self._guide: Int64s | None = None

    def entries(self, u: Uint64s) -> Int64s:
        """The entries of words."""
        if u.size < _BUCKETS >> 4:
            found: Int64s = np.searchsorted(self.last, u, side="left").astype(np.int64) + self.skip
            return found
        if self._guide is None:
            least = np.arange(_BUCKETS, dtype=np.uint64) << _BUCKET_SHIFT
            self._guide = np.searchsorted(self.last, least, side="left").astype(np.int64)
        k: Int64s = self._guide[(u >> _BUCKET_SHIFT).astype(np.int64)]
        behind = np.flatnonzero(self.last[k] < u)
        if behind.size:
            k[behind] = np.searchsorted(self.last, u[behind], side="left")
        k += self.skip
        return k

    def draw(self, count: int, words: Words) -> Int64s:
        """So many entries; each takes a word."""
        return self.entries(words(count))


def uniform(count: int, size: int, words: Words) -> Int64s:
    """So many uniform integers from 0 to size-1 (Lemire 2019): each takes a word, and another
    for each that is discarded."""
    if size == 1:
        return np.zeros(count, dtype=np.int64)
    v = words(count)
    reject = np.uint64((1 << 64) % size)
    while True:
        bad = np.flatnonzero(v * np.uint64(size) < reject)
        if not bad.size:
            return times_high(v, size).astype(np.int64)
        v[bad] = words(bad.size)


def geometric(count: int, ratio: int, words: Words) -> Int64s:
    """So many numbers of words below the ratio before the first that is not."""
    periods = np.zeros(count, dtype=np.int64)
    alive = np.arange(count)
    limit = np.uint64(ratio)
    while alive.size:
        alive = alive[words(alive.size) < limit]
        periods[alive] += 1
    return periods


class Law:
    """A table made ready for drawing: cells of points, an atom at 0, and tails."""

    def __init__(
        self,
        weights: Sequence[int],
        atom: int,
        points: int,
        first_point: int,
        tail_ratio: int = 0,
        block: int = 0,
    ) -> None:
        self._cells = Cells([*weights, atom])
        self._count = len(weights)
        self._points = points
        self._first = first_point
        self._ratio = tail_ratio
        self._block = block  # cells at either end that stand for a tail
        self._period = block * points

    def draw(self, count: int, words: Words) -> Int64s:
        """So many draws, as grid points. Draws of a tail may be beyond 2^53, and then are
        at most 2^56 in magnitude."""
        if count <= _PIECE:
            return self._piece(count, words)
        out = np.empty(count, dtype=np.int64)
        for start in range(0, count, _PIECE):
            piece = out[start : start + _PIECE]
            piece[:] = self._piece(piece.size, words)
        return out

    def _piece(self, count: int, words: Words) -> Int64s:
        entry = self._cells.draw(count, words)
        n = uniform(count, self._points, words)
        n += self._first + entry * self._points
        n[entry == self._count] = 0
        if self._ratio:
            left = entry < self._block
            outside = np.flatnonzero(left | ((entry >= self._count - self._block) & (entry < self._count)))
            periods = geometric(outside.size, self._ratio, words)
            # The product of more than 2^54 points is not computed: it might not fit.
            move = np.where(periods > (1 << 54) // self._period, _FAR, periods * self._period)
            n[outside] += np.where(left[outside], -move, move)
        return n

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "one"}

    @cached_property
    def one(self) -> Callable[[], int]:
        """A function that draws once, as draw does with the same words, without what arrays cost."""
        last, skip, count, points = self._cells.last.tolist(), self._cells.skip, self._count, self._points
        first, ratio, block, period = self._first, self._ratio, self._block, self._period
        word, reject, read = (1 << 64) - 1, (1 << 64) % points, int.from_bytes

        def draw() -> int:
            try:
                both = read(os.urandom(16), "little")
                entry = bisect_left(last, both & word) + skip
                place = (both >> 64) * points
                while place & word < reject:
                    place = read(os.urandom(8), "little") * points
                if entry == count:
                    return 0
                n: int = first + entry * points + (place >> 64)
                if ratio and (entry < block or entry >= count - block):
                    periods = 0
                    while read(os.urandom(8), "little") < ratio:
                        periods += 1
                    move = _FAR if periods > (1 << 54) // period else periods * period
                    n += -move if entry < block else move
                return n
            except (OSError, NotImplementedError) as err:
                raise EntropyError(f"the system gives no randomness: {err}") from err

        return draw


def draw_rows(laws: Sequence[Cells], rows: Int64s, words: Words) -> Int64s:
    """An entry of the law of each row, each by a word of its own."""
    u = words(rows.size)
    out = np.empty(rows.size, dtype=np.int64)
    flat = rows.ravel()
    order = np.argsort(flat, kind="stable")
    starts = np.flatnonzero(np.diff(flat[order], prepend=-1))
    for chosen in np.split(order, starts[1:]):
        if chosen.size:
            out[chosen] = laws[int(flat[chosen[0]])].entries(u[chosen])
    return out.reshape(rows.shape)
