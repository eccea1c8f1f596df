# SPDX-License-Identifier: Apache-2.0
"""The work of a check, counted by what a file says: a file decides how long its check takes."""

from __future__ import annotations

from noisewright.errors import WorkError

# The work of a check if none is asked for, the same as the program's.
DEFAULT_WORK = 1 << 31


class Meter:
    """Counts elementary operations, each about the comparison of two weights, before they are
    done, and stops a check that takes too many."""

    def __init__(self, work: int | None = None) -> None:
        self.limit = DEFAULT_WORK if work is None else work
        self.used = 0

    def spend(self, n: int) -> None:
        """Announces n operations."""
        if n > self.limit - self.used:
            most = f"{self.limit} elementary operations, the most that were allowed"
            raise WorkError(f"checking it takes more than {most}: it is not checked")
        self.used += n


def rational_work(bits: int) -> int:
    """What an operation on fractions of so many bits costs."""
    words = bits // 64 + 1
    return 100 + 4 * words * words
