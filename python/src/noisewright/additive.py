# SPDX-License-Identifier: Apache-2.0
"""Additive kernels, noise whose law depends on the cell of the query value:
docs/additive-format.md."""

from __future__ import annotations

import math
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from noisewright import _additivecheck, _additivefile
from noisewright._claims import Privacy
from noisewright._frames import clipped, column_like
from noisewright._law import Cells, draw_rows, uniform
from noisewright._meter import Meter
from noisewright._proof import Provable
from noisewright._rounding import float_values, number, to_grid
from noisewright._words import Floats, Int64s, Words, system_words
from noisewright.errors import InvalidError
from noisewright.kernel import KernelCertificate


class AdditiveKernel(Provable[KernelCertificate]):
    """Noise that is added, one law for each cell of the query value. It is immutable and safe for
    threads and forks. Made by noisewright.load."""

    def __init__(self, source: bytes, spec: _additivefile.Spec) -> None:
        super().__init__(source)
        self._spec = spec
        self._laws = [Cells(row) for row in spec.rows]
        self._firsts = np.array([first for first, _ in spec.cells], dtype=np.int64)

    def __repr__(self) -> str:
        p = self.privacy
        of = f"epsilon={p.epsilon}, delta={p.delta}, sensitivity={p.sensitivity}"
        return f"<AdditiveKernel: {of}, values from {self.edges[0]} to {self.edges[-1]}, loss={self.loss}>"

    @property
    def privacy(self) -> Privacy:
        """The promise."""
        return self._spec.privacy

    @property
    def edges(self) -> list[float]:
        """The ends of the cells, ascending; the first and the last may be infinite."""
        return list(self._spec.edges)

    @property
    def loss(self) -> str:
        """The name of the loss that the kernel was designed for."""
        return self._spec.loss.name

    @property
    def step(self) -> float:
        """The distance of neighboring grid points."""
        return float(self._spec.step)

    def _prove(self, meter: Meter) -> KernelCertificate:
        return KernelCertificate(**_additivecheck.verify(self._spec, meter))

    @overload
    def release(self, x: float) -> float: ...
    @overload
    def release(self, x: npt.ArrayLike) -> Floats: ...
    def release(self, x: Any) -> Any:
        """Private answers to query values: each rounded to the grid, plus noise of its cell.

        Where the kernel has a lowest or a highest value, clip to it first. Raises InvalidError if
        a value is NaN, in no cell or too large, without saying which; nothing is released then.
        """
        values = float_values(x)
        released = np.multiply(self._released(values, system_words), self.step)
        return float(released.flat[0]) if values.ndim == 0 else released

    def _released(self, values: Floats, words: Words) -> Int64s:
        self.verify()
        n = to_grid(values, self.step, self._spec.limit)
        if not bool(np.all((n >= self._spec.cells[0][0]) & (n <= self._spec.cells[-1][1]))):
            low, high = self.edges[0], self.edges[-1]
            raise InvalidError(f"a query value is in no cell of the kernel, want {low:g} to {high:g}")
        cells = np.searchsorted(self._firsts, n, side="right") - 1
        return n + self._noise(cells, words)

    def _noise(self, cells: Int64s, words: Words) -> Int64s:
        bins = draw_rows(self._laws, cells, words)
        points = uniform(bins.size, self._spec.points, words).reshape(bins.shape)
        drawn: Int64s = self._spec.first_point(0) + bins * self._spec.points + points
        return drawn

    def privatize(self, series: Any, lower: float = -math.inf, upper: float = math.inf) -> Any:
        """Clips a column of pandas, polars or numbers to a range, within that of the cells, and
        answers each value."""
        lower, upper = number("lower", lower), number("upper", upper)
        low, high = max(lower, self.edges[0]), min(upper, self.edges[-1])
        if not low < high:
            raise InvalidError(f"range = {lower!r} to {upper!r}, want one of the kernel's values, lower below upper")
        return column_like(series, lambda values: self.release(clipped(values, low, high, whole=False)))
