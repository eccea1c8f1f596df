# SPDX-License-Identifier: Apache-2.0
"""Vectors of noise of the density exp(-‖x‖₂/scale), rounded to integers, drawn exactly by
comparisons of uniform numbers: docs/proofs/spherical.md."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from noisewright._law import MAX_INTEGER
from noisewright._words import Floats, Int64s, Words
from noisewright.errors import BeyondError

_BLOCK = 512


def _stream(words: Words) -> Iterator[int]:
    while True:
        yield from words(_BLOCK).tolist()


class _Uniform:
    """The first digits, in base 2^64, of a number that is uniform on [0, 1); those that no
    comparison has asked for are not drawn yet."""

    __slots__ = ("digits",)

    def __init__(self) -> None:
        self.digits: list[int] = []

    def digit(self, i: int, words: Iterator[int]) -> int:
        while len(self.digits) <= i:
            self.digits.append(next(words))
        return self.digits[i]

    def below(self, other: _Uniform, words: Iterator[int]) -> bool:
        i = 0
        while (a := self.digit(i, words)) == (b := other.digit(i, words)):
            i += 1
        return a < b


class _Normal:
    """The magnitude of a normal deviate, whole + fraction (Karney 2016, Algorithm N)."""

    def __init__(self, words: Iterator[int]) -> None:
        self._words = words
        while True:
            self.whole, self.fraction = 0, _Uniform()
            while self._half():
                self.whole += 1
            # Kept with the probabilities exp(-k(k-1)/2) and exp(-x(2k+x)/2).
            if all(self._half() for _ in range(self.whole * (self.whole - 1))) and all(
                self._even(self.fraction, part=True) for _ in range(self.whole + 1)
            ):
                return

    def _half(self) -> bool:
        """True with probability exp(-1/2)."""
        first = _Uniform()
        return first.digit(0, self._words) >= 1 << 63 or not self._even(first, part=False)

    def _even(self, first: _Uniform, part: bool) -> bool:
        """Whether a run of uniform numbers below the first, each below the one before, has an even
        number of terms; for a part it ends at a term without its event, too."""
        last, even = first, True
        while True:
            following = _Uniform()
            if not following.below(last, self._words) or (part and not self._event()):
                return even
            last, even = following, not even

    def _event(self) -> bool:
        """True with probability (2k+x)/(2k+2)."""
        n = 2 * self.whole + 2
        while True:
            chance, low = divmod(next(self._words) * n, 1 << 64)
            if low < (1 << 64) % n:
                continue
            if chance < n - 2:
                return True
            return chance != n - 1 and _Uniform().below(self.fraction, self._words)

    def low(self, places: int) -> int:
        """Its digits up to so many places; one unit of the last is above it."""
        self.fraction.digit(places - 1, self._words)
        value = self.whole
        for d in self.fraction.digits[:places]:
            value = value << 64 | d
        return value


def spherical(dimension: int, scale: float, words: Words) -> Int64s:
    """One draw, in steps, of so many coordinates for a scale in steps: independent normal deviates
    times the norm of one more of them, known to as many digits as decide every coordinate."""
    mantissa, exponent = math.frexp(scale)
    whole, shift = int(math.ldexp(mantissa, 53)), 53 - exponent
    stream = _stream(words)
    normals = [_Normal(stream) for _ in range(2 * dimension + 1)]
    signs = [next(stream) >> 63 for _ in range(dimension)]
    out = np.zeros(dimension, dtype=np.int64)
    undecided, places = list(range(dimension)), 1
    while undecided:
        lows = [v.low(places) for v in normals[dimension:]]
        low = math.isqrt(sum(x * x for x in lows)) * whole
        high = (math.isqrt(sum((x + 1) ** 2 for x in lows)) + 1) * whole
        bits, left = 128 * places + shift, []
        for i in undecided:
            x = normals[i].low(places)
            n = ((x * low >> bits - 1) + 1) >> 1
            if n != ((x + 1) * high >> bits - 1) + 1 >> 1:
                left.append(i)
                continue
            if n.bit_length() > 52:
                raise BeyondError(f"a result is beyond {MAX_INTEGER} steps, want fewer")
            out[i] = -n if signs[i] else n
        undecided, places = left, places + 1
    return out


def normals(deviations: Floats, words: Words) -> Int64s:
    """Normal deviates of these standard deviations, each at least 2^-40, rounded to the nearest integers: known to as
    many digits as decide that."""
    stream = _stream(words)
    return np.array([_rounded(d, stream) for d in deviations.tolist()], dtype=np.int64)


def _rounded(deviation: float, stream: Iterator[int]) -> int:
    mantissa, exponent = math.frexp(deviation)
    whole, shift = int(math.ldexp(mantissa, 53)), 53 - exponent
    normal, negative, places = _Normal(stream), next(stream) >> 63, 1
    while True:
        x, bits = normal.low(places), 64 * places + shift
        n = ((x * whole >> bits - 1) + 1) >> 1
        if n == (((x + 1) * whole >> bits - 1) + 1) >> 1:
            if n.bit_length() > 52:
                raise BeyondError(f"a result is beyond {MAX_INTEGER} steps, want fewer")
            return -n if negative else n
        places += 1
