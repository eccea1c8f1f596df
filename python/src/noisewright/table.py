# SPDX-License-Identifier: Apache-2.0
"""Tables of additive noise: docs/table-format.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from noisewright import _tablecheck, _tablefile
from noisewright._claims import Privacy, gap
from noisewright._exact import decimal_down, decimal_up, float_down, float_up, to_float
from noisewright._frames import clipped, column_like
from noisewright._law import MAX_INTEGER
from noisewright._meter import Meter
from noisewright._proof import Provable
from noisewright._quantile import outermost, quantile_point
from noisewright._rounding import at_random, checked_sum, dimensions, float_values, number, to_grid, too_large, unmasked
from noisewright._words import Floats, Int64s, Words, system_words
from noisewright.errors import BeyondError, InvalidError

Shape = int | tuple[int, ...]


@dataclass(frozen=True)
class TableCertificate:
    """What exact arithmetic found in a table. Bounds have their direction in the name; losses
    are in the units of the loss."""

    delta_upper: Fraction
    worst_shift: int  # in cells
    expected_loss: Fraction
    lower_bound: Fraction
    work: int = field(compare=False)  # elementary operations, see load

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
            "lower_bound": decimal_down(self.lower_bound),
        }


class Table(Provable[TableCertificate]):
    """Noise on a grid, with its privacy promise. It is immutable and safe for threads, and after
    a fork parent and child draw different noise.

    Values are in query units. Made by noisewright.load.
    """

    def __init__(self, source: bytes, spec: _tablefile.Spec) -> None:
        super().__init__(source)
        self._spec = spec
        self._law = spec.law()
        self._single = spec.query != "lattice"  # so that single numbers need no arrays

    def __repr__(self) -> str:
        p = self.privacy
        of = f"epsilon={p.epsilon}, delta={p.delta}, sensitivity={p.sensitivity}"
        return f"<Table: {of}, query={self.query}, loss={self.loss}>"

    @property
    def privacy(self) -> Privacy:
        """The promise."""
        return self._spec.privacy

    @property
    def query(self) -> str:
        """What values the query takes: real, integer or lattice."""
        return self._spec.query

    @property
    def loss(self) -> str:
        """The name of the loss that the noise was designed for."""
        return self._spec.loss.name

    @property
    def step(self) -> float:
        """The distance of neighboring grid points."""
        return float(self._spec.step)

    @property
    def claimed_total(self) -> dict[str, float] | None:
        """What the table is said to be made for, if that is several releases: releases, epsilon and
        delta together. It is a claim that nothing here proves; `noisewright verify` does."""
        return dict(self._spec.total) if self._spec.total else None

    @property
    def largest(self) -> float:
        """The largest magnitude that add_noise accepts."""
        return self._spec.limit * self.step

    def _prove(self, meter: Meter) -> TableCertificate:
        return TableCertificate(**_tablecheck.verify(self._spec, meter))

    def pmf(self) -> tuple[Int64s, Floats, float]:
        """The first points of the cells, their probabilities and that of the atom at 0, as
        float64s, for plots and simulations. Those of the blocks of a tail include all its
        repetitions."""
        s = self._spec
        points = np.array([s.first_point(i) for i in range(len(s.weights))], dtype=np.int64)
        return points, np.array(s.weights, dtype=np.float64) * 2.0**-64, s.atom * 2.0**-64

    @property
    def points_per_cell(self) -> int:
        """How many points of the grid a cell has, all equally likely."""
        return self._spec.points

    def profile(self, epsilon: float) -> Fraction:
        """An upper bound on the delta of the noise at another epsilon, from 0 to 100.

        Raises NotPrivateError if the table, loaded with verify=False, is not for its sensitivity.
        """
        epsilon = number("epsilon", epsilon)
        if not 0 <= epsilon <= 100:
            raise InvalidError(f"epsilon = {epsilon!r}, want 0 to 100")
        return _tablecheck.profile(self._spec, epsilon)

    def expected_loss_of(self, loss: str) -> Fraction:
        """The expectation of any loss, by its name as in files; an upper bound for lp:P."""
        return _tablecheck.expected_loss(self._spec, loss)

    def quantile(self, p: float) -> float:
        """The least x with P(noise <= x) >= p, exactly; 0 < p < 1."""
        p = number("p", p)
        if not 0 < p < 1:
            raise InvalidError(f"p = {p!r}, want a number above 0 and below 1")
        n = quantile_point(self._spec, Fraction(p), strictly=False)
        if n is None:
            raise InvalidError(f"p = {p!r}, want one that the noise keeps within 2^53 steps of 0")
        return n * self.step

    def interval(self, y: float, level: float) -> tuple[float, float]:
        """An interval that holds the true value behind a released y with a probability of at
        least the level, whatever the value is; rounded outwards."""
        level = number("level", level)
        if not 0 < level < 1:
            raise InvalidError(f"level = {level!r}, want a number above 0 and below 1")
        released = float_values(y)
        if released.ndim != 0:
            raise InvalidError(f"y = an array of shape {released.shape}, want one released value")
        low, high = outermost(self._spec, float(released))
        side = (1 - Fraction(level)) / 2
        a = quantile_point(self._spec, side, strictly=True)
        b = quantile_point(self._spec, 1 - side, strictly=False)
        if a is None or b is None:
            raise InvalidError(f"level = {level!r}, want one that the noise keeps within 2^53 steps of 0")
        slack = {"real": 1, "lattice": 2, "integer": 0}[self.query]  # in half steps
        half = self._spec.step / 2
        return float_down((2 * (low - b) - slack) * half), float_up((2 * (high - a) + slack) * half)

    @overload
    def sample(self, shape: None = None) -> float: ...
    @overload
    def sample(self, shape: Shape) -> Floats: ...
    def sample(self, shape: Shape | None = None) -> float | Floats:
        """Draws noise, exactly: an array of the shape, or a number."""
        steps = self.sample_steps(1 if shape is None else shape)
        noise = np.multiply(steps, self.step)
        return float(noise[0]) if shape is None else noise

    def sample_steps(self, shape: Shape) -> Int64s:
        """Draws noise as grid points n; the noise is n·step."""
        self.verify()
        sizes = dimensions(shape)
        return checked_sum(self._law.draw(math.prod(sizes), system_words)).reshape(sizes)

    @overload
    def add_noise(self, x: float) -> float: ...
    @overload
    def add_noise(self, x: npt.ArrayLike) -> npt.NDArray[Any]: ...
    def add_noise(self, x: Any) -> Any:
        """Rounds values to the grid as the proof wants it, and adds noise to each of them.

        A number gives a number, an array one of its shape: float64s, which the results are
        exactly; integers if the values are and the table is for integer queries. The promise
        holds for values that differ by at most the sensitivity between neighbors, as float64s.

        Raises InvalidError if a value is NaN, infinite, too large for the grid, or no integer
        where that is wanted, without saying which or what it is; nothing is released then.
        """
        kind = type(x)
        if (kind is float or (kind is int and -MAX_INTEGER <= x <= MAX_INTEGER)) and self._single:
            return self._add_one(x)
        given = unmasked(x)
        released = self._released(float_values(given), system_words)
        if self.query == "integer" and given.dtype.kind in "iu":
            return int(released.flat[0]) if given.ndim == 0 else released
        noisy = np.multiply(released, self.step)
        return float(noisy.flat[0]) if given.ndim == 0 else noisy

    @cached_property
    def _add_one(self) -> Callable[[float], float]:
        """add_noise of a number, without what arrays cost; not for lattices."""
        self.verify()
        step, most, whole, draw = float(self._spec.step), self._spec.limit, self.query == "integer", self._law.one
        inverse = 1 / step

        def add(x: float) -> float:
            t = x * inverse  # as to_grid
            if not -MAX_INTEGER <= t <= MAX_INTEGER:
                raise too_large(step, most)
            n = floor(t)
            if t - n >= 0.5:
                n += 1
            if not -most <= n <= most:
                raise too_large(step, most)
            if whole and t != n:
                raise InvalidError("a value is no integer, want integers for an integer query")
            n += draw()
            if not -MAX_INTEGER <= n <= MAX_INTEGER:
                raise BeyondError("a result is beyond 2^53 steps, want fewer")
            return n if whole and type(x) is int else n * step

        return add

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_add_one"}

    def add_noise_steps(self, x: npt.ArrayLike) -> Int64s:
        """add_noise, the results given as the integers of which they are multiples of the step."""
        return self._released(float_values(x), system_words)

    def _released(self, values: Floats, words: Words) -> Int64s:
        self.verify()
        s = self._spec
        if s.query == "lattice":
            n = at_random(values, self.step, s.limit, words)
        else:
            if s.query == "integer" and not bool(np.all((values == np.trunc(values)) | ~np.isfinite(values))):
                raise InvalidError("a value is no integer, want integers for an integer query")
            n = to_grid(values, self.step, s.limit)
        return checked_sum(n + self._law.draw(values.size, words).reshape(values.shape))

    def privatize(self, series: Any, lower: float, upper: float) -> Any:
        """Clips a column of pandas, polars or numbers to a range, and adds noise to each value: each is private by
        itself, and each further column or run costs its person as much again.

        The range may not be wider than the sensitivity; infinite values are clipped, missing
        ones refused. Results come as what the column is: a Series with its name and index, or
        an array.
        """
        lower, upper = self._range(lower, upper)
        whole = self.query == "integer"
        return column_like(series, lambda values: self.add_noise(clipped(values, lower, upper, whole)))

    def _range(self, lower: float, upper: float) -> tuple[float, float]:
        """The range as the table allows it, as float64s: differences of numpy's small integers
        would overflow. The upper end is lowered where the range is wider than the sensitivity by
        the rounding of decimals alone."""
        lower, upper = number("lower", lower), number("upper", upper)
        if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
            raise InvalidError(f"range = {lower!r} to {upper!r}, want finite numbers, lower below upper")
        width, most = Fraction(upper) - Fraction(lower), Fraction(self.privacy.sensitivity)
        if width > most:
            if to_float(width) != self.privacy.sensitivity:
                found = f"upper - lower = {to_float(width)!r}"
                raise InvalidError(f"{found}, want at most {self.privacy.sensitivity!r}, the sensitivity of the table")
            upper = float_down(Fraction(lower) + most)
        for name, end in (("lower", lower), ("upper", upper)):
            if self.query == "integer" and end != math.trunc(end):
                raise InvalidError(f"{name} = {end!r}, want an integer, as the table is for integer queries")
            if abs(Fraction(end)) > self._spec.limit * self._spec.step:
                raise InvalidError(
                    f"{name} = {end!r}, want a magnitude of at most {self.largest!r}, what the grid holds"
                )
        return lower, upper
