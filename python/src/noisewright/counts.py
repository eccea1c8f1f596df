# SPDX-License-Identifier: Apache-2.0
"""Strategies for workloads of counts of categories: docs/counts-format.md."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewright import _countsfile
from noisewright._claims import gap
from noisewright._exact import decimal_down, decimal_up
from noisewright._frames import column_like
from noisewright._law import Cells, draw_rows
from noisewright._meter import Meter
from noisewright._proof import Provable
from noisewright._rounding import unmasked
from noisewright._words import Floats, Int64s, Words, system_words
from noisewright.errors import InvalidError


@dataclass(frozen=True)
class StrategyCertificate:
    """What was found about a strategy; variances are of all queries together, times the number of people."""

    delta_upper: Fraction
    total_variance: Fraction  # for equally frequent categories
    worst_variance: Fraction  # for any data
    lower_bound: Fraction  # 0: none was proved
    work: int = field(compare=False)

    @property
    def gap(self) -> float | None:
        """How far the total variance is above the bound, relative to that; None without a bound."""
        return gap(self.total_variance, self.lower_bound)

    @property
    def claims(self) -> dict[str, str]:
        """The strongest true claims, as decimals of 15 digits."""
        return {
            "delta": decimal_up(self.delta_upper),
            "total_variance": decimal_up(self.total_variance),
            "worst_variance": decimal_up(self.worst_variance),
            "lower_bound": decimal_down(self.lower_bound),
        }


class Strategy(Provable[StrategyCertificate]):
    """Answers to one category by a number, private between any two categories, for a workload of counts.
    It is immutable and safe for threads and forks. Made by noisewright.load."""

    def __init__(self, source: bytes, spec: _countsfile.Spec) -> None:
        super().__init__(source)
        self._spec = spec
        self._laws = [Cells(row) for row in spec.rows]
        self._numbers = {label: i for i, label in enumerate(spec.labels or map(str, range(spec.categories)))}

    def __repr__(self) -> str:
        s = self._spec
        return f"<Strategy: epsilon={s.epsilon}, {s.categories} categories, workload {s.kind}>"

    @property
    def epsilon(self) -> float:
        """The promised epsilon between any two categories."""
        return self._spec.epsilon

    @property
    def categories(self) -> list[str] | range:
        """The labels; numbers from 0 on if there are none."""
        return list(self._spec.labels) or range(self._spec.categories)

    @property
    def queries(self) -> dict[str, Floats]:
        """The coefficients of each query for the categories, by its name."""
        return dict(zip(self._spec.titles(), self._spec.matrix(), strict=True))

    def _prove(self, meter: Meter) -> StrategyCertificate:
        return StrategyCertificate(**_countsfile.verify(self._spec, meter))

    def release(self, x: Any) -> Any:
        """Private answers to categories, each of a person of its own: numbers from 0 on.

        Raises InvalidError if a value is none of the categories, without saying which; nothing is
        released then.
        """
        values = unmasked(x)
        released = self._indices(values, system_words)
        return released.item() if values.ndim == 0 else released

    def _indices(self, values: npt.NDArray[Any], words: Words) -> Int64s:
        self.verify()
        try:
            rows = np.array([self._numbers[str(v)] for v in values.ravel().tolist()], dtype=np.int64)
        except KeyError:
            raise InvalidError(f"a value is none of the strategy's {self._spec.categories} categories") from None
        return draw_rows(self._laws, rows.reshape(values.shape), words)

    def privatize(self, series: Any) -> Any:
        """Answers each category of a column of pandas, polars or an array."""
        return column_like(series, self.release)

    def estimates(self, answers: Any) -> dict[str, float]:
        """Unbiased estimates of all queries, by their names, from one answer of each person. Intervals are
        printed by `noisewright local interval`."""
        m = len(self._spec.rows[0])
        flat = [str(y) for y in unmasked(answers).ravel().tolist()]
        if not flat:
            raise InvalidError("answers = none, want one of each person")
        numbers = {str(i): i for i in range(m)}
        try:
            counts = np.bincount([numbers[y] for y in flat], minlength=m)
        except KeyError:
            raise InvalidError(f"an answer is none of the strategy's, want an integer from 0 to {m - 1}") from None
        means = self._spec.matrix() @ (self._columns @ counts) / len(flat)
        return dict(zip(self._spec.titles(), means.tolist(), strict=True))

    @cached_property
    def _columns(self) -> Floats:
        return _countsfile.Decoder(self._spec.rows, Meter(1 << 62)).columns()
