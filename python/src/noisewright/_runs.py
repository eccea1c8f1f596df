# SPDX-License-Identifier: Apache-2.0
"""Divergences of all shifts of weights that are runs of equal ones, by few of them.

For two runs, the number of cells of one whose partner, k cells away, is in the other is linear in
k between the shifts at which ends of runs meet. So is the divergence of a shift between all
differences of ends: the largest is at one of these, and the first shift that has it too
(docs/proofs/table-privacy.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from noisewright._exact import RATIO_BITS

# How many comparisons a pair of runs costs as much as.
_PER_PAIR = 20


class Runs:
    """Weights as runs of equal ones: where runs begin, where the last one ends, and their weights."""

    def __init__(self, weights: Sequence[int]) -> None:
        n = len(weights)
        starts = [0, *(i for i in range(1, n) if weights[i] != weights[i - 1])]
        self.ends = [*starts, n]
        self.values = [weights[i] for i in starts]

    def mirrored(self) -> Runs:
        """The weights in the other direction."""
        out = object.__new__(Runs)
        out.ends = [self.ends[-1] - end for end in reversed(self.ends)]
        out.values = self.values[::-1]
        return out

    def work(self, last: int) -> tuple[int, bool]:
        """What the shifts up to the last cost, and whether that is less than by cells."""
        r, cells = len(self.ends), self.ends[-1]
        work = _PER_PAIR * min(r * r // 2 + 2, last) * 2 * r + last * _PER_PAIR
        return work, r < cells // 4 and work < last * cells // 4

    def meetings(self, last: int) -> list[int]:
        """The shifts from 1 to last at which ends meet, and these two."""
        between = {b - a for i, b in enumerate(self.ends) for a in self.ends[:i] if b - a < last}
        return sorted(between | {1, last})

    def worst(self, ratio: int, last: int) -> tuple[int, int]:
        """The largest divergence of the shifts from 1 to last, times 2^96, and the first that has
        it."""
        worst, at = -1, 0
        for k in self.meetings(last):
            if (h := self.divergence(k, ratio)) > worst:
                worst, at = h, k
        return worst, at

    def divergence(self, k: int, ratio: int) -> int:
        """Σ_j (w_j - E·w_{j-k})₊, times 2^96, for 0 < k up to the number of weights."""
        ends, values = self.ends, self.values
        gain = price = own = partner = j = 0
        while j < ends[-1]:
            end = ends[own + 1]
            w = values[own]
            if j < k:  # no partner
                end = min(end, k)
                gain += w * (end - j)
            else:
                end = min(end, ends[partner + 1] + k)
                q = values[partner]
                if w << RATIO_BITS > ratio * q:
                    gain += w * (end - j)
                    price += q * (end - j)
                if end == ends[partner + 1] + k:
                    partner += 1
            j = end
            if j == ends[own + 1]:
                own += 1
        return (gain << RATIO_BITS) - price * ratio
