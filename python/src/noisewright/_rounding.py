# SPDX-License-Identifier: Apache-2.0
"""Query values as float64s, and their rounding to the grid: docs/proofs/rounding.md and
docs/proofs/lattice.md, bit for bit as the program does."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewright._law import MAX_INTEGER
from noisewright._words import Floats, Int64s, Uint64s, Words
from noisewright.errors import BeyondError, InvalidError

# Above the distance of a probability, and of the first word of a random number, as float64s
# from what they stand for: three roundings of relative 2^-53, and the digits beyond the word.
_ROUND_ERROR = 2.0**-49

# Of one array: numpy's most axes before version 2, and 8 TiB of draws.
_MOST_AXES = 32
_MOST_DRAWS = 1 << 40


def unmasked(x: Any) -> npt.NDArray[Any]:
    """An array of values none of which is masked: numpy would use what is below the mask.

    It is asked for once: what x says of itself afterwards, of another class, is not relied on.
    """
    try:
        if isinstance(x, np.ma.MaskedArray) and bool(np.ma.getmaskarray(x).any()):
            raise InvalidError("a value is missing, want none")
        return np.asarray(x)
    except (InvalidError, MemoryError):
        raise
    except Exception:
        # What it says may quote a value: not ours to pass on.
        raise InvalidError(f"values in a {type(x).__name__} that is no array, want numbers in one shape") from None


def number(field: str, x: Any) -> float:
    """A parameter as a float64."""
    try:
        return float(x)
    except Exception:
        raise InvalidError(f"{field} = a {type(x).__name__} that is no float64, want a number") from None


def float_values(x: Any) -> Floats:
    """An array of query values as float64s, exactly; a copy only where one is needed.

    What has another type, or integers that are no float64s, is refused, and what is masked.
    """
    values = unmasked(x)
    if values.dtype.kind == "f" and values.dtype.itemsize <= 8:
        return values.astype(np.float64, copy=False)
    if values.dtype.kind in "iu":
        if values.size and (int(values.max()) > MAX_INTEGER or int(values.min()) < -MAX_INTEGER):
            raise InvalidError("an integer is too large, want magnitudes of at most 2^53")
        return values.astype(np.float64)
    if values.dtype.kind == "b":
        return values.astype(np.float64)
    raise InvalidError(f"values of type {values.dtype}, want floats of at most 64 bits or integers")


def dimensions(shape: Any) -> tuple[int, ...]:
    """A shape as numpy takes it: an integer or several."""
    try:
        sizes = tuple(map(operator.index, shape)) if np.iterable(shape) else (operator.index(shape),)
    except Exception:
        raise InvalidError(f"shape = a {type(shape).__name__}, want an integer or a tuple of them") from None
    if any(size < 0 for size in sizes):
        raise InvalidError(f"shape = {sizes}, want an integer or a tuple of them, none negative")
    if len(sizes) > _MOST_AXES or math.prod(max(size, 1) for size in sizes) > _MOST_DRAWS:
        raise InvalidError(f"shape = {len(sizes)} axes or too many draws, want at most {_MOST_AXES} and 2^40")
    return sizes


def to_grid(x: Floats, step: float, limit: int) -> Int64s:
    """⌊x/step + 1/2⌋ for a step that is a power of two, exactly. Halves go up. Error messages say
    nothing of a value but that there is one beyond the limit."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        t = x * (1 / step)  # exact unless it underflows, and then too close to 0 to matter
        if not bool(np.all(np.abs(t) <= MAX_INTEGER)):  # of NaN too
            raise too_large(step, limit)
        floor = np.floor(t)
        n: Int64s = floor.astype(np.int64) + (t - floor >= 0.5)
    if not bool(np.all((n <= limit) & (n >= -limit))):
        raise too_large(step, limit)
    return n


def at_random(x: Floats, step: float, limit: int, words: Words) -> Int64s:
    """One of the integers next to x/step, with expectation x/step exactly."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        nearest = np.rint(x / step)
        if not bool(np.all(np.abs(nearest) < limit)):
            raise too_large(step, limit)
        rest = _rest(x, nearest, step)
    away = below(np.abs(rest) / step, words, lambda i: Fraction(abs(float(rest.flat[i]))) / Fraction(step))
    n: Int64s = nearest.astype(np.int64) + np.where(np.signbit(rest), -1, 1) * away
    return n


def _rest(x: Floats, n: Floats, step: float) -> Floats:
    """x - n·step, which is a float64, exactly.

    The product is split into its nearest float64 and the rest of it (Dekker 1971). That
    nearest one is between x/2 and 2x, or n is 0, so the first difference is exact (Sterbenz 1974), and
    the second one is the number wanted.
    """
    split = 134217729.0  # 2^27 + 1
    product = n * step
    a = split * n
    a_high = a - (a - n)
    a_low = n - a_high
    b = split * step
    b_high = b - (b - step)
    b_low = step - b_high
    lost = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return (x - product) - lost


def below(probability: Floats, words: Words, exact: Any) -> npt.NDArray[np.bool_]:
    """Whether random numbers, the fractions 0.w₁w₂… in base 2^64, are below probabilities that
    are given nearly; exact(i) is number i as a fraction, for one number in some 2^47."""
    first = words(probability.size).reshape(probability.shape)
    distance = first.astype(np.float64) * 2.0**-64 - probability
    result: npt.NDArray[np.bool_] = distance < 0
    for i in np.flatnonzero(np.abs(distance) <= _ROUND_ERROR):
        result.flat[i] = _below_exactly(int(first.flat[i]), exact(i), words)
    return result


def _below_exactly(w: int, theta: Fraction, words: Words) -> bool:
    rest = theta.numerator
    while True:
        digit, rest = divmod(rest << 64, theta.denominator)
        if w != digit:
            return w < digit
        if rest == 0:
            return False  # no number is below what has no more digits
        w = int(words(1)[0])


def too_large(step: float, limit: int) -> InvalidError:
    most = f"{float(limit) * step:g} ({limit} steps of {step:g})"
    return InvalidError(f"a value is not a number or too large, want a magnitude of at most {most}")


def checked_sum(n: Int64s) -> Int64s:
    """Sums of values and draws, unless the noise of a tail makes one too large."""
    if n.size and (int(n.max()) > MAX_INTEGER or int(n.min()) < -MAX_INTEGER):
        raise BeyondError("a result is beyond 2^53 steps, want fewer")
    return n


def words_from(stream: Uint64s) -> Words:
    """Words that are known beforehand, FOR TESTS AND STUDIES ONLY: whoever knows them can take
    the noise off again."""
    place = 0

    def take(count: int) -> Uint64s:
        nonlocal place
        if place + count > stream.size:
            raise InvalidError(f"{stream.size} words, want more")
        place += count
        taken: Uint64s = stream[place - count : place].copy()
        return taken

    return take
