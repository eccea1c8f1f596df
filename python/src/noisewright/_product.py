# SPDX-License-Identifier: Apache-2.0
"""What delta takes off a bound of local randomizers by multipliers of delta = 0, whose prices are products:
docs/proofs/local-lower-bound.md. Where a place lacks something at an answer, the others make up for it in
proportion to what they have. Numbers are integers in fixed point, rounded in one direction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from noisewright._exact import shift
from noisewright._meter import Meter

# How many parts the answers are cut into at which some place lacks something, and how many are
# looked at to find these; and the parts beyond three times the range.
PARTS = 256
_HULL_PARTS = 64
_MOST_TAILS = 256
_TAIL_SHARE = 16
# The binary places of what lacks, and of shares.
_BITS = 31
_TWO = 1 << _BITS + 1

Part = tuple[int, int]


@dataclass
class Known:
    """What is known of a part: bounds on what each place lacks and has from above, and on what all
    have together from below, all times the widths."""

    lack: list[int]
    least: int
    supply: list[int]


def parts_of(
    bounds: Part | None, values: Part, enough: Callable[[int, int], bool], lacks: Callable[[Part], bool], meter: Meter
) -> list[Part] | None:
    """Parts of the line that hold all answers at which some place lacks something; None if none do."""
    tails: list[Part] = []
    if bounds is None:
        width = values[1] - values[0]
        bounds = values[0] - width, values[1] + width
        for side, start in zip((-1, 1), bounds, strict=True):
            end, out = start, width
            for n in range(_MOST_TAILS + 1):
                if enough(end, side):
                    break
                if n == _MOST_TAILS:
                    return None
                meter.spend(1)
                step = out // _TAIL_SHARE
                out += step
                following = end + side * step
                tails.append((end, following) if side > 0 else (following, end))
                end = following
    hull = []
    for part in _cut(bounds, _HULL_PARTS):
        meter.spend(1)
        if lacks(part):
            hull.append(part)
    return (_cut((hull[0][0], hull[-1][1]), PARTS) if hull else []) + tails


def _cut(ends: Part, count: int) -> list[Part]:
    low, high = ends
    return list(pairwise((high - low) * i // count + low for i in range(count + 1)))


def largest(parts: list[Known], points: list[bool], shortfall: int, meter: Meter) -> tuple[int, int] | None:
    """The sum over pairs of places of the largest product, and its binary places; None if a share may
    be 2 or more."""
    n = len(points)
    meter.spend(n * (n + 1) * len(parts))
    unit = max((d for part in parts for d in part.lack), default=0).bit_length()
    # A product is below 2^63: what lacks is at most 2^31, and a share below 2^32.
    lack = np.zeros((n, len(parts)), np.uint64)
    share = np.zeros((n + 1, len(parts)), np.uint64)
    for j, part in enumerate(parts):
        lack[:, j] = [_up(d, _BITS - unit) for d in part.lack]
        for k, have in enumerate([*part.supply, shortfall]):
            s = _quotient(have, part.least + shortfall)
            if k < n and points[k]:
                s = min(s, 1 << _BITS)
            elif s >= _TWO:
                return None
            share[k, j] = s
    total = 0
    for i, own in enumerate(lack):
        some = own.nonzero()[0]
        if some.size:
            products = (share[:, some] * own[some]).max(axis=1).tolist()
            total += sum(products) - (products[i] if points[i] else 0)
    return total, 2 * _BITS - unit


def _up(x: int, bits: int) -> int:
    """x·2^bits, rounded up."""
    return -shift(-x, bits)


def _quotient(x: int, y: int) -> int:
    """x/y times 2^31, rounded up; no more than 2 · 2^31."""
    if x == 0:
        return 0
    return _TWO if y == 0 else min(-(-(x << _BITS) // y), _TWO)
