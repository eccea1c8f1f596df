# SPDX-License-Identifier: Apache-2.0
"""Local randomizers, answers to one person's value: docs/local-format.md."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewright import _randomizercheck, _randomizerfile
from noisewright._claims import gap
from noisewright._exact import decimal_down, decimal_up
from noisewright._frames import clipped, column_like
from noisewright._law import Cells, draw_rows
from noisewright._meter import Meter
from noisewright._proof import Provable
from noisewright._rounding import below, float_values, unmasked
from noisewright._words import Floats, Int64s, Words, system_words
from noisewright.errors import InvalidError


@dataclass(frozen=True)
class RandomizerCertificate:
    """What exact arithmetic found in a randomizer; losses are in the units of the loss."""

    delta_upper: Fraction
    worst_nodes: tuple[int, int]
    mean_loss: Fraction
    worst_loss: Fraction
    bias: Fraction
    lower_bound: Fraction
    objective: str  # mean or worst, the loss that the lower bound is about
    work: int = field(compare=False)

    @property
    def gap(self) -> float | None:
        """How far the loss of the objective is above the bound, relative to that; None if the bound
        is 0 and the loss is not."""
        return gap(self.worst_loss if self.objective == "worst" else self.mean_loss, self.lower_bound)

    @property
    def claims(self) -> dict[str, str]:
        """The strongest true claims, as decimals of 15 digits."""
        return {
            "delta": decimal_up(self.delta_upper),
            "mean_loss": decimal_up(self.mean_loss),
            "worst_loss": decimal_up(self.worst_loss),
            "bias": decimal_up(self.bias),
            "lower_bound": decimal_down(self.lower_bound),
        }


class Randomizer(Provable[RandomizerCertificate]):
    """Answers to one bounded value or category, private between any two of them. It is immutable
    and safe for threads and forks. Made by noisewright.load."""

    def __init__(self, source: bytes, spec: _randomizerfile.Spec) -> None:
        super().__init__(source)
        self._spec = spec
        self._laws = [Cells(row) for row in spec.rows]
        self._nodes, self._answers = np.array(spec.nodes), np.array(spec.answers)
        self._labels = {label: i for i, label in enumerate(spec.labels)}

    def __repr__(self) -> str:
        low, high = self.range
        values = f"{self.kind} values from {low} to {high}"
        if self._spec.category:
            values = f"{len(self._labels)} categories"
        return f"<Randomizer: epsilon={self.epsilon}, delta={self.delta}, {values}>"

    @property
    def epsilon(self) -> float:
        """The promised epsilon between any two values."""
        return self._spec.epsilon

    @property
    def delta(self) -> float:
        """The promised delta."""
        return self._spec.delta

    @property
    def kind(self) -> str:
        """What the values are: real, integer or category."""
        return self._spec.kind

    @property
    def range(self) -> tuple[float, float]:
        """The ends of the range of values; 0 and 0 for categories."""
        return self._spec.lower, self._spec.upper

    @property
    def labels(self) -> list[str]:
        """The categories; none for numbers."""
        return list(self._spec.labels)

    @property
    def unbiased(self) -> bool:
        """Whether the mean of the answers to a value is the value."""
        return self._spec.demands.unbiased

    @property
    def answers(self) -> list[float] | list[str]:
        """All that is ever answered."""
        return list(self._spec.answer_labels) if self._spec.category else list(self._spec.answers)

    def _prove(self, meter: Meter) -> RandomizerCertificate:
        return RandomizerCertificate(**_randomizercheck.verify(self._spec, meter))

    def release(self, x: Any) -> Any:
        """Private answers to values, or categories, each of a person of its own.

        Raises InvalidError if a value is none that the randomizer takes, without saying which;
        nothing is released then. Clip numbers to the range first.
        """
        values = unmasked(x)
        chosen = self._indices(values, system_words)
        answers = np.array(self._spec.answer_labels) if self._spec.category else self._answers
        released = answers[chosen]
        return released.item() if values.ndim == 0 else released

    def _indices(self, values: npt.NDArray[Any], words: Words) -> Int64s:
        """The answers to values, by their indices."""
        self.verify()
        if self._spec.category:
            try:
                rows = np.array([self._labels[str(v)] for v in values.ravel()], dtype=np.int64)
            except KeyError:
                raise InvalidError(f"a value is none of the randomizer's {len(self._labels)} categories") from None
            return draw_rows(self._laws, rows.reshape(values.shape), words)
        return draw_rows(self._laws, self._rounded(float_values(values), words), words)

    def _rounded(self, x: Floats, words: Words) -> Int64s:
        """The node of each value, rounded at random between two, with exact probabilities."""
        low, high = self.range
        if not bool(np.all((x >= low) & (x <= high))):
            raise InvalidError(f"a value is not a number in the randomizer's range, want {low:g} to {high:g}")
        node = np.searchsorted(self._nodes, x, side="right") - 1
        if self.kind == "integer":
            if not bool(np.all(self._nodes[node] == x)):
                raise InvalidError("a value is no integer, want integers")
            return node
        above = np.minimum(node + 1, len(self._nodes) - 1)
        a, b = self._nodes[node], self._nodes[above]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(x == a, 0.0, (x - a) / (b - a))

        def exactly(i: int) -> Fraction:
            start, end = Fraction(float(a.flat[i])), Fraction(float(b.flat[i]))
            value = Fraction(float(x.flat[i]))
            return (value - start) / (end - start) if value != start else Fraction(0)

        rounded: Int64s = node + below(share, words, exactly)
        return rounded

    def privatize(self, series: Any) -> Any:
        """Clips a column of pandas, polars or numbers to the range, and answers each value; of
        categories, which have no range, answers each."""
        if self._spec.category:
            return column_like(series, self.release)
        low, high = self.range
        whole = self.kind == "integer"
        return column_like(series, lambda values: self.release(clipped(values, low, high, whole)))
