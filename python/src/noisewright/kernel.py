# SPDX-License-Identifier: Apache-2.0
"""Kernels, noise that depends on the query value: docs/kernel-format.md."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from noisewright import _kernelcheck, _kernelfile
from noisewright._claims import Privacy, gap
from noisewright._exact import decimal_down, decimal_up
from noisewright._frames import clipped, column_like
from noisewright._law import Cells, draw_rows
from noisewright._meter import Meter
from noisewright._proof import Provable
from noisewright._rounding import float_values
from noisewright._words import Floats, Int64s, Words, system_words
from noisewright.errors import InvalidError


@dataclass(frozen=True)
class KernelCertificate:
    """What exact arithmetic found in a kernel; losses are in the units of the loss."""

    delta_upper: Fraction
    worst_cells: tuple[int, int]
    expected_loss: Fraction
    max_loss: Fraction
    lower_bound: Fraction
    work: int = field(compare=False)

    @property
    def gap(self) -> float | None:
        """(expected_loss - lower_bound) / lower_bound; None if the bound is 0 and the loss is not."""
        return gap(self.expected_loss, self.lower_bound)

    @property
    def claims(self) -> dict[str, str]:
        """The strongest true claims, as decimals of 15 digits."""
        return {
            "delta": decimal_up(self.delta_upper),
            "expected_loss": decimal_up(self.expected_loss),
            "max_loss": decimal_up(self.max_loss),
            "lower_bound": decimal_down(self.lower_bound),
        }


class Kernel(Provable[KernelCertificate]):
    """Answers to a query of a range, one law for each cell of it. It is immutable and safe for
    threads and forks. Made by noisewright.load."""

    def __init__(self, source: bytes, spec: _kernelfile.Spec) -> None:
        super().__init__(source)
        self._spec = spec
        self._laws = [Cells(row) for row in spec.rows]
        self._edges, self._nodes = np.array(spec.edges), np.array(spec.nodes)

    def __repr__(self) -> str:
        p, (low, high) = self.privacy, self.range
        of = f"epsilon={p.epsilon}, delta={p.delta}, sensitivity={p.sensitivity}"
        return f"<Kernel: {of}, values from {low} to {high}, loss={self.loss}>"

    @property
    def privacy(self) -> Privacy:
        """The promise."""
        return self._spec.privacy

    @property
    def range(self) -> tuple[float, float]:
        """The ends of the query's range."""
        return self._spec.lower, self._spec.upper

    @property
    def loss(self) -> str:
        """The name of the loss that the kernel was designed for."""
        return self._spec.loss.name

    @property
    def nodes(self) -> list[float]:
        """The answers, ascending."""
        return list(self._spec.nodes)

    def _prove(self, meter: Meter) -> KernelCertificate:
        return KernelCertificate(**_kernelcheck.verify(self._spec, meter))

    @overload
    def release(self, x: float) -> float: ...
    @overload
    def release(self, x: npt.ArrayLike) -> Floats: ...
    def release(self, x: Any) -> Any:
        """Private answers to query values in the range; clip them first.

        Raises InvalidError if a value is NaN or outside, without saying which; nothing is
        released then.
        """
        values = float_values(x)
        nodes = self._nodes[self._answers(values, system_words)]
        return float(nodes.flat[0]) if values.ndim == 0 else nodes

    def _answers(self, values: Floats, words: Words) -> Int64s:
        self.verify()
        if not bool(np.all((values >= self._edges[0]) & (values <= self._edges[-1]))):
            low, high = self.range
            raise InvalidError(f"a query value is not a number in the kernel's range, want {low:g} to {high:g}")
        cells = np.minimum(np.searchsorted(self._edges, values, side="right") - 1, len(self._laws) - 1)
        return draw_rows(self._laws, cells, words)

    def privatize(self, series: Any) -> Any:
        """Clips a column of pandas, polars or numbers to the range, and answers each value."""
        low, high = self.range
        return column_like(series, lambda values: self.release(clipped(values, low, high, whole=False)))
