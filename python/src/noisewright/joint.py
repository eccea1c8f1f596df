# SPDX-License-Identifier: Apache-2.0
"""Noise for several numbers at once: on balls, docs/ball-format.md, and in the plane, docs/plane-format.md."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewright import _ballfile, _planefile
from noisewright._claims import Privacy, gap
from noisewright._exact import decimal_down, decimal_up
from noisewright._law import Cells, uniform
from noisewright._meter import Meter
from noisewright._proof import Provable
from noisewright._rounding import float_values, to_grid
from noisewright._words import Floats, Int64s, Uint64s, Words, system_words
from noisewright.errors import InvalidError

_LOW, _32 = np.uint64(0xFFFFFFFF), np.uint64(32)


@dataclass(frozen=True)
class JointCertificate:
    """What was found about noise for several numbers; losses are in the units of the loss."""

    delta_upper: Fraction
    expected_loss: Fraction
    lower_bound: Fraction  # 0: none was proved
    work: int = field(compare=False)

    @property
    def gap(self) -> float | None:
        """(expected_loss - lower_bound) / lower_bound; None without a bound."""
        return gap(self.expected_loss, self.lower_bound)

    @property
    def claims(self) -> dict[str, str]:
        """The strongest true claims, as decimals of 15 digits."""
        return {
            "delta": decimal_up(self.delta_upper),
            "expected_loss": decimal_up(self.expected_loss),
            "lower_bound": decimal_down(self.lower_bound),
        }


class _Joint(Provable[JointCertificate]):
    """What both have in common."""

    _spec: _ballfile.Spec | _planefile.Spec

    @property
    def privacy(self) -> Privacy:
        """The promise."""
        return self._spec.privacy

    @property
    def step(self) -> float:
        """The distance of neighboring grid points."""
        return self._spec.step

    def _vectors(self, x: npt.ArrayLike, dimension: int) -> Floats:
        """Values whose last axis is that of the coordinates."""
        values = float_values(x)
        if values.ndim == 0 or values.shape[-1] != dimension:
            raise InvalidError(f"values = the shape {values.shape}, want a last axis of {dimension} numbers")
        return values

    def _private(self, x: npt.ArrayLike) -> npt.NDArray[Any]:
        self.verify()
        return self._answers(x, system_words)

    @abstractmethod
    def _answers(self, x: npt.ArrayLike, words: Words) -> npt.NDArray[Any]: ...


class BallNoise(_Joint):
    """Noise for vectors of two to eight coordinates and a sensitivity in the Euclidean norm. It is immutable
    and safe for threads and forks. Made by noisewright.load."""

    _spec: _ballfile.Spec

    def __init__(self, source: bytes, spec: _ballfile.Spec) -> None:
        super().__init__(source)
        self._spec = spec
        self._cells = Cells(spec.weights)
        self._radii = np.array(spec.radii, dtype=np.uint64)

    def __repr__(self) -> str:
        p, s = self.privacy, self._spec
        of = f"epsilon={p.epsilon}, delta={p.delta}, sensitivity={p.sensitivity}"
        return f"<BallNoise: {of}, {s.dimension} coordinates, loss={s.loss}>"

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self._spec.dimension

    def add_noise(self, x: npt.ArrayLike) -> Floats:
        """Private answers to vectors along the last axis, rounded to the grid, plus noise: for vectors up to the
        sensitivity apart. Raises InvalidError if a number is NaN or too large, without saying which; nothing is
        released then."""
        return self._private(x)

    def _prove(self, meter: Meter) -> JointCertificate:
        return JointCertificate(**_ballfile.verify(self._spec, meter))

    def _answers(self, x: npt.ArrayLike, words: Words) -> Floats:
        values = self._vectors(x, self.dimension)
        steps = to_grid(values, self.step, _ballfile.LIMIT)
        noise = self._noise(steps.size // self.dimension, words).reshape(steps.shape)
        answers: Floats = np.multiply(steps + noise, self.step)
        return answers

    def _noise(self, count: int, words: Words) -> Int64s:
        """So many points of balls, rounded to the grid (docs/proofs/ball.md)."""
        twice = 2 * self._radii[self._cells.draw(count, words)]  # in half steps
        noise = np.zeros((count, self.dimension), dtype=np.int64)
        open_ = np.flatnonzero(twice)
        while open_.size:
            r = twice[open_]
            at = np.stack([_below(2 * r, words).astype(np.int64) for _ in range(self.dimension)], axis=1)
            at -= r.astype(np.int64)[:, None]
            near = np.where(at < 0, ~at, at).astype(np.uint64)
            far = near + np.uint64(1)
            near, far = (near * near).sum(axis=1), (far * far).sum(axis=1)
            inside = far <= r * r
            for i in np.flatnonzero(~inside & (near < r * r)):
                inside[i] = _refined(at[i].tolist(), int(r[i]), words)
            noise[open_[inside]] = (at[inside] + 1) >> 1
            open_ = open_[~inside]
        return noise


def _below(sizes: Uint64s, words: Words) -> Uint64s:
    """Uniform integers below sizes that are below 2^32 (Lemire 2019)."""
    v = words(sizes.size)
    reject = (np.uint64(0) - sizes) % sizes
    while (bad := np.flatnonzero(v * sizes < reject)).size:
        v[bad] = words(bad.size)
    high: Uint64s = ((v >> _32) * sizes + ((v & _LOW) * sizes >> _32)) >> _32
    return high


def _refined(at: list[int], radius: int, words: Words) -> bool:
    """Whether a point of a cell is in the ball, by more digits of its coordinates."""
    while True:
        radius <<= 64
        at = [(a << 64) + int(words(1)[0]) for a in at]
        ends = [sorted((abs(a), abs(a + 1))) for a in at]
        if sum(far * far for _, far in ends) <= radius * radius:
            return True
        if sum(near * near for near, _ in ends) >= radius * radius:
            return False


class PlaneNoise(_Joint):
    """Noise for two numbers that one person changes together. It is immutable and safe for threads and forks.
    Made by noisewright.load."""

    _spec: _planefile.Spec

    def __init__(self, source: bytes, spec: _planefile.Spec) -> None:
        super().__init__(source)
        self._spec = spec
        self._cells = Cells([w * _planefile.images(*cell, spec.span) for cell, w in spec.law.items()])
        self._places = np.array(list(spec.law), dtype=np.int64)

    def __repr__(self) -> str:
        p, s = self.privacy, self._spec
        of = f"epsilon={p.epsilon}, delta={p.delta}, sensitivity={p.sensitivity}"
        return f"<PlaneNoise: {of}, norm={s.norm}, query={self.query}>"

    @property
    def norm(self) -> str:
        """That of the sensitivity: linf, l1 or span."""
        return self._spec.norm

    @property
    def query(self) -> str:
        """What the numbers are: real or integer."""
        return "integer" if self._spec.integer else "real"

    def add_noise(self, x: npt.ArrayLike) -> npt.NDArray[Any]:
        """Private answers to pairs of numbers along the last axis, rounded to the grid, plus noise; integers if the
        query is of integers. Raises InvalidError if a number is NaN, too large, or no integer where one is
        wanted, without saying which; nothing is released then."""
        return self._private(x)

    def _prove(self, meter: Meter) -> JointCertificate:
        return JointCertificate(**_planefile.verify(self._spec, meter))

    def _answers(self, x: npt.ArrayLike, words: Words) -> npt.NDArray[Any]:
        s, values = self._spec, self._vectors(x, 2)
        if s.integer and not bool(np.all(values == np.floor(values))):
            raise InvalidError("a number is no whole number, as the noise wants both")
        steps = to_grid(values, self.step, s.limit)
        noise = self._noise(steps.size // 2, words).reshape(steps.shape)
        if s.integer:
            return steps + noise
        step = self.step
        if s.turned:
            noise = np.stack([noise[..., 0] + noise[..., 1], noise[..., 0] - noise[..., 1]], axis=-1)
            steps, step = 2 * steps, step / 2
        answers: Floats = np.multiply(steps + noise, step)
        return answers

    def _noise(self, count: int, words: Words) -> Int64s:
        """So many draws in steps: a cell up to its images, which image, and where in the cell."""
        cell = self._places[self._cells.draw(count, words)]
        v = words(count).astype(np.int64)  # whose lowest bits are the same
        second = 1 if self._spec.span else 2
        swapped = np.where((v & 1)[:, None] == 1, cell[:, ::-1], cell)
        signs = 1 - 2 * np.stack([v >> 1 & 1, v >> second & 1], axis=1)
        noise: Int64s = swapped * signs
        points = self._spec.points
        if points > 1:
            for i in range(2):
                noise[:, i] = noise[:, i] * points - points // 2 + uniform(count, points, words)
        return noise
