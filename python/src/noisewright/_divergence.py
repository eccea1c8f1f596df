# SPDX-License-Identifier: Apache-2.0
"""Hockey-stick divergences of integer weights, exactly, in numpy.

A weight w exceeds E·v exactly if v is below a threshold, the least integer that is not below w/E.
It is found once for every weight, in Python's integers; a comparison of 64 bits then decides
every pair. Sums are made of limbs of 22 bits: of up to 2^31 of them every partial sum is below
2^53, so float64 products and sums of any order, which are fast, are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from noisewright._exact import RATIO_BITS, div_up, exp_down
from noisewright._words import Floats

Bools = npt.NDArray[np.bool_]

_LIMB = 22
_MASK = (1 << _LIMB) - 1

# What the limbs of a word count.
_UNITS = np.array([1.0, 2.0**_LIMB, 2.0 ** (2 * _LIMB)])

# An E so large that nothing of two words exceeds E·v unless v = 0.
INFINITY = 1 << 256


def ratio_down(epsilon: float) -> int:
    """A bound below e^ε, times 2^96."""
    return exp_down(epsilon)


def thresholds(weights: Sequence[int], ratio: int) -> list[int]:
    """For every w the number such that w > E·v for the v below it, E = ratio/2^96 >= 1."""
    known: dict[int, int] = {}
    out = []
    for w in weights:
        t = known.get(w)
        if t is None:
            t = known[w] = div_up(w << RATIO_BITS, ratio)
        out.append(t)
    return out


def limbs(weights: Sequence[int], words: int = 1) -> Floats:
    """The limbs of integers of so many words, a row for each limb, the lowest first."""
    parts = np.array([[w >> 64 * i & ((1 << 64) - 1) for w in weights] for i in range(words)], dtype=np.uint64)
    out = np.zeros((3 * words, len(weights)))
    for i in range(words):
        for k in range(3):  # 22, 22 and 20 bits
            out[3 * i + k] = (parts[i] >> np.uint64(k * _LIMB)) & np.uint64(_MASK)
    return out


def joined(sums: npt.ArrayLike, words: int = 1) -> int:
    """The integer of sums of limbs."""
    values = [int(x) for x in np.asarray(sums)]
    return sum(values[3 * i + k] << 64 * i + k * _LIMB for i in range(words) for k in range(3))


class Weights:
    """Weights made ready for divergences at a ratio."""

    def __init__(self, weights: Sequence[int], ratio: int, words: int = 1) -> None:
        self.size = len(weights)
        self.words = words
        self._ratio = ratio
        mask = (1 << 64) - 1
        ts = thresholds(weights, ratio)
        self._values = [np.array([w >> 64 * i & mask for w in weights], dtype=np.uint64) for i in range(words)]
        self._least = [np.array([t >> 64 * i & mask for t in ts], dtype=np.uint64) for i in range(words)]
        self._limbs = limbs(weights, words)

    def _exceeds(self, own: slice, partner: Weights, other: slice) -> Bools:
        low: Bools = partner._values[0][other] < self._least[0][own]
        if self.words == 1:
            return low
        v, t = partner._values[1][other], self._least[1][own]
        both: Bools = (v < t) | ((v == t) & low)
        return both

    def excess(self, own: slice, partner: Weights, other: slice) -> int:
        """Σ (w - E·v)₊ over pairs of own weights and a partner's, times 2^96."""
        chosen = self._exceeds(own, partner, other).astype(np.float64)
        gain = joined(self._limbs[:, own] @ chosen, self.words)
        price = joined(partner._limbs[:, other] @ chosen, self.words)
        return (gain << RATIO_BITS) - price * self._ratio

    def total(self, own: slice) -> int:
        """Σ w."""
        return joined(self._limbs[:, own].sum(axis=1), self.words)

    def divergence(self, partner: Weights) -> int:
        """Σ_j (w_j - E·v_j)₊, times 2^96."""
        return self.excess(slice(None), partner, slice(None))

    def shifted(self, partner: Weights, k: int) -> int:
        """Σ_j (w_j - E·v_{j-k})₊, times 2^96, with v 0 outside its indices."""
        n = self.size
        low, high = min(max(k, 0), n), max(min(n + k, n), 0)
        if low >= high:
            return self.total(slice(None)) << RATIO_BITS
        alone = self.total(slice(0, low)) + self.total(slice(high, n))
        return (alone << RATIO_BITS) + self.excess(slice(low, high), partner, slice(low - k, high - k))


def probability(units: int) -> Fraction:
    """A sum of weights times 2^96."""
    return Fraction(units, 1 << 64 + RATIO_BITS)


class Rows:
    """The laws of the rows of a kernel, over the same answers, made ready for divergences."""

    def __init__(self, rows: Sequence[Sequence[int]], ratio: int) -> None:
        self._rows, self._ratio = rows, ratio
        self._values = np.array(rows, dtype=np.uint64)
        self._limbs = np.stack([limbs(row) for row in rows])

    def pure(self) -> bool:
        """Whether no weight of an answer is more than E times another one."""
        low, high = self._values.min(axis=0), self._values.max(axis=0)
        least = np.array(thresholds([int(w) for w in high], self._ratio), dtype=np.uint64)
        return not bool(np.any(low < least))

    def worst_of(self, gain: int, lose: Sequence[int]) -> tuple[int, int]:
        """The largest Σ_j (p_j - E·q_j)₊, times 2^96, p that row and q one of others, and which."""
        least = np.array(thresholds(self._rows[gain], self._ratio), dtype=np.uint64)
        worst, at = -1, -1
        batch = max(1, (1 << 20) // len(least))
        for start in range(0, len(lose), batch):
            chosen = list(lose[start : start + batch])
            exceeds = (self._values[chosen] < least).astype(np.float64)
            gains = exceeds @ self._limbs[gain].T
            prices = np.einsum("ij,ikj->ik", exceeds, self._limbs[chosen])
            # Nearly, to 2^16 units of a sum of at most 2^64: the worst is among those near it.
            near = gains @ _UNITS - (prices @ _UNITS) * (self._ratio / (1 << RATIO_BITS))
            for i in np.flatnonzero(near >= near.max() - 2.0**20):
                h = (joined(gains[i]) << RATIO_BITS) - joined(prices[i]) * self._ratio
                if h > worst:
                    worst, at = h, chosen[i]
        return worst, at
