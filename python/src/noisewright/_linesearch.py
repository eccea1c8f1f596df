# SPDX-License-Identifier: Apache-2.0
"""A bound from below on a function of the answer to a value, over all answers there may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from noisewright._meter import Meter

# How many parts the range, and as much on either side, are cut into.
_CORE_PARTS = 128
# How often the distance from the range is doubled to find where the function rises.
_MOST_OUTWARD = 64
# A value below 0 is found to 2^-8 of it, at least.
_SHORTFALL_BITS = 8
_MOST_PARTS = 1 << 15


@dataclass
class LineSearch:
    """Answers are in units of a grid."""

    # A bound over the part from u to v, and one on the value in its middle.
    over: Callable[[int, int], tuple[int, int]]
    # A bound over all answers beyond y on a side, and whether there is one.
    outside: Callable[[int, int], tuple[int, bool]]
    # Points that are inside no part.
    breaks: list[int]
    # How much closer to the truth is not worth the work.
    tolerance: int
    # How low a value may be before the bound is of no use.
    useful: int | None
    # All answers, if they are few.
    lattice: list[int]
    # The range of the values, and that of the answers if they have one.
    values: tuple[int, int]
    bounds: tuple[int, int] | None
    meter: Meter

    def least(self) -> int | None:
        """A lower bound on the least value and 0; None if none is known, or none of use."""
        if self.lattice:
            return min(0, *(self.over(y, y)[0] for y in self.lattice))
        found = self._points()
        if found is None:
            return None
        points, least = found
        seen = 0  # the least value in a middle
        open_parts: list[tuple[int, int, int]] = []

        def look(u: int, v: int) -> tuple[int, int, int]:
            nonlocal seen
            low, middle = self.over(u, v)
            seen = min(seen, middle)
            return u, v, low

        for u, v in pairwise(points):
            self.meter.spend(1)
            open_parts.append(look(u, v))
        count = len(open_parts)
        while open_parts:
            if self.useful is not None and -seen >= self.useful:
                return None
            enough = seen - max(-seen >> _SHORTFALL_BITS, self.tolerance)
            halves = []
            for u, v, low in open_parts:
                if low < enough and (u + v) % 2 == 0 and count < _MOST_PARTS:
                    self.meter.spend(1)
                    middle = (u + v) // 2
                    halves += [look(u, middle), look(middle, v)]
                    count += 2
                else:
                    least = min(least, low)
            open_parts = halves
        return least

    def _points(self) -> tuple[list[int], int] | None:
        """The ends of the parts to start with, and a bound over what is beyond them and 0."""
        width = self.values[1] - self.values[0]
        low, high = self.bounds or (self.values[0] - width, self.values[1] + width)
        points = {low, high}
        points.update((high - low) * i // _CORE_PARTS + low for i in range(1, _CORE_PARTS))
        points.update(b for b in self.breaks if self.bounds is None or low < b < high)
        ordered = sorted(points)
        if self.bounds is not None:
            return (ordered * 2 if len(ordered) == 1 else ordered), 0
        tails = 0
        for side in (-1, 1):
            end = ordered[0] if side < 0 else ordered[-1]
            step = width * side
            for n in range(_MOST_OUTWARD + 1):
                beyond, found = self.outside(end, side)
                if found:
                    tails = min(tails, beyond)
                    break
                if n == _MOST_OUTWARD:
                    return None
                self.meter.spend(1)
                end += step
                step *= 2
                ordered.append(end)
            ordered.sort()
        return ordered, tails
