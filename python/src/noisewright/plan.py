# SPDX-License-Identifier: Apache-2.0
"""Plans, many sums about the same people as one release: docs/plan-format.md."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewright import _plancheck, _planfile
from noisewright._display import Rows
from noisewright._exact import float_up
from noisewright._meter import Meter
from noisewright._planfile import L2, PARTITION, RESIDUALS, Measurement, Set, subsets
from noisewright._plantail import Radii
from noisewright._proof import Provable
from noisewright._rounding import unmasked
from noisewright._spherical import normals
from noisewright._words import Floats, Int64s, Words, system_words
from noisewright.errors import InvalidError


@dataclass(frozen=True)
class PlanCertificate:
    """What was found about a plan: bounds from above, proved."""

    delta_upper: Fraction  # of one release of everything, at the plan's epsilon
    mean_squared_error: Fraction  # over all queries; answers are unbiased
    max_squared_error: Fraction
    variances: tuple[Fraction, ...]  # of the queries, of marginals of the cells of each table
    work: int = field(compare=False)

    @property
    def lower_bound(self) -> Fraction:
        """No bound on the errors of all mechanisms is known."""
        return Fraction(0)


@dataclass(frozen=True, repr=False)
class PlanAnswers(Rows):
    """The answers to all queries of a plan, with an interval for each that has the exact answer with a probability of
    at least the level by itself, and one of a set in which all exact answers are together with it."""

    names: tuple[tuple[str, ...], ...]
    values: Floats
    lower: Floats
    upper: Floats
    lower_of_all: Floats
    upper_of_all: Floats
    variances: Floats  # rounded up
    level: float

    def __len__(self) -> int:
        return len(self.names)

    def rows(self) -> list[dict[str, Any]]:
        """A row for every answer."""
        columns = (self.values, self.lower, self.upper, self.lower_of_all, self.upper_of_all, self.variances)
        keys = ("value", "lower", "upper", "lower_of_all", "upper_of_all", "variance")
        return [
            {
                "query": ", ".join(filter(None, name)) or "all",
                **{k: float(c[i]) for k, c in zip(keys, columns, strict=True)},
            }
            for i, name in enumerate(self.names)
        ]

    def __repr__(self) -> str:
        return "\n".join(f"{r['query']}: {r['value']:g} ({r['lower']:g} to {r['upper']:g})" for r in self.rows())


class Plan(Provable[PlanCertificate]):
    """Sums of cells that are measured with noise, all together private, and the answers that follow from them. It is
    immutable and safe for threads and forks. Made by noisewright.load, and by `noisewright plan design`.

    A person is in at most max_per_person cells, once in each: what is said of privacy is wrong where that does not
    hold. release_plan counts the cells of a frame, keeps that bound and charges a ledger; release here is for counts
    of your own, and charges nothing.
    """

    def __init__(self, source: bytes, spec: _planfile.Spec) -> None:
        super().__init__(source)
        self._spec = spec

    def __repr__(self) -> str:
        s = self._spec
        return f"<Plan: epsilon={s.epsilon}, delta={s.delta}, {s.workload.kind} of {s.workload.queries} queries>"

    @property
    def epsilon(self) -> float:
        """The promised epsilon of one release of everything."""
        return self._spec.epsilon

    @property
    def delta(self) -> float:
        """The promised delta of one release of everything."""
        return self._spec.delta

    @property
    def neighbors(self) -> str:
        """add-remove: a person more or less; replace: a person in other cells."""
        return self._spec.neighbors

    @property
    def max_per_person(self) -> int:
        """In how many cells a person may be, once in each."""
        return self._spec.max_per_person

    @property
    def workload(self) -> str:
        """identity, prefix, ranges, matrix or marginals."""
        return self._spec.workload.kind

    @property
    def attributes(self) -> dict[str, int]:
        """Of marginals, how many values each attribute has."""
        return dict(zip(self._spec.workload.names, self._spec.workload.sizes, strict=True))

    @property
    def queries(self) -> list[tuple[str, ...]]:
        """What the queries are called, with cells by their numbers from 1 on; of marginals with attributes."""
        return list(self._names())

    def _names(self) -> Iterator[tuple[str, ...]]:
        w = self._spec.workload
        if w.kind == "marginals":
            for of in w.sets:
                for at in np.ndindex(*w.shape(of)):
                    yield tuple(f"{w.names[a]} {i + 1}" for a, i in zip(of, at, strict=True))
            return
        if w.kind == "matrix":
            yield from ((f"query {q + 1}",) for q in range(len(w.rows)))
            return
        yield from ((f"{a + 1} to {b}" if b - a > 1 else str(b),) for a, b in w.intervals)

    def _prove(self, meter: Meter) -> PlanCertificate:
        return PlanCertificate(**_plancheck.verify(self._spec, meter))

    def release(self, cells: Any) -> Int64s:
        """What the plan measures of the counts of its cells, with noise of exactly the laws that were proved: all that
        a release tells. Every call is a release of its own, and costs the plan's epsilon and delta.

        cells are whole numbers: of a series one for each cell; of marginals the counts of all combinations, an array
        with an axis for each attribute, or the measured tables one after another (docs/plan-format.md).
        """
        self.verify()
        return self._measured(self._counts(cells), system_words)

    def _counts(self, cells: Any) -> Int64s:
        s, w = self._spec, self._spec.workload
        given = unmasked(cells)
        want = f"{s.inputs} whole numbers of at most {s.limit} in magnitude"
        if s.marginals and given.shape == w.sizes and given.ndim > 1:
            axes = range(given.ndim)
            tables = [given.sum(axis=tuple(a for a in axes if a not in b)).ravel() for b in s.bases]
            given = np.concatenate(tables)
        good = given.shape == (s.inputs,) and given.dtype.kind in "iuf" and bool((given == np.trunc(given)).all())
        if not good or bool((np.abs(given) > s.limit).any()):
            raise InvalidError(f"the cells are not {want}")
        counts: Int64s = given.astype(np.int64)
        return counts

    def _measured(self, cells: Int64s, words: Words) -> Int64s:
        out: list[Int64s] = []
        for m in self._spec.measurements:
            out += self._exactly_with_noise(m, cells, words)
        return np.concatenate(out)

    def _exactly_with_noise(self, m: Measurement, cells: Int64s, words: Words) -> Iterator[Int64s]:
        w = self._spec.workload
        if m.kind == RESIDUALS:
            for of, d in zip(m.sets, m.deviations, strict=True):
                exact = _residuals(self._table(cells, of)).ravel()
                yield exact + normals(_deviations(w.shape(of), d), words)
            return
        if m.attributes is not None:
            exact = self._table(cells, m.attributes).ravel()
        elif m.kind == PARTITION:
            exact = np.add.reduceat(cells, np.arange(0, w.cells, m.block))
        else:
            exact = np.array(m.rows, dtype=np.int64) @ cells
        if m.kind == L2:
            yield exact + normals(np.full(exact.size, m.deviation), words)
            return
        assert m.noise is not None
        yield exact + m.noise.table.law().draw(exact.size, words)

    def _table(self, cells: Int64s, of: Set) -> Int64s:
        """The table of a set, from the first of the input that has its attributes."""
        w, at = self._spec.workload, 0
        for b in self._spec.bases:
            if set(of) <= set(b):
                table = cells[at : at + w.size(b)].reshape(w.shape(b))
                summed: Int64s = table.sum(axis=tuple(i for i, a in enumerate(b) if a not in of))
                return summed
            at += w.size(b)
        raise AssertionError("a measured set is in no base")

    def answers(self, measured: Any, level: float = 0.95) -> PlanAnswers:
        """The answers to all queries from what release returned, with intervals. All are of one estimate of the cells,
        so that they agree with each other, and sums with their parts. It costs nothing."""
        if not 0 < level < 1:
            raise InvalidError(f"level = {level!r}, want a probability above 0 and below 1")
        values = self._decode(np.asarray(measured))
        s = self._spec
        repeats = [s.workload.size(of) for of in s.workload.sets] if s.marginals else [1] * values.size
        each, every = (np.repeat(self._radii(miss), repeats) for miss in (1 - level, (1 - level) / values.size))
        variances = np.repeat([float_up(v) for v in self.verify().variances], repeats)
        return PlanAnswers(
            tuple(self._names()),
            values, values - each, values + each, values - every, values + every, variances, level,
        )  # fmt: skip

    def radii(self, miss: float) -> Floats:
        """How far answers may be from the truth: farther with a probability of at most the miss, on both sides
        together. One for each query, of marginals for the cells of each table. In float64, rounded outwards by a part
        in 10^6."""
        if not 0 < miss < 1:
            raise InvalidError(f"miss = {miss!r}, want a probability above 0 and below 1")
        return self._radii(miss)

    def _radii(self, miss: float) -> Floats:
        self.verify()
        return Radii(self._spec, miss).all()

    def _decode(self, y: npt.NDArray[Any]) -> Floats:
        s = self._spec
        sizes = list(self._sizes())
        if y.shape != (sum(sizes),) or y.dtype.kind not in "iu":
            raise InvalidError(f"measured = an array of shape {y.shape}, want the {sum(sizes)} integers of a release")
        parts = np.split(y.astype(np.float64), np.cumsum(sizes)[:-1])
        values = self._decode_tables(parts) if s.marginals else self._decode_dense(parts)
        return np.rint(values) + 0.0 if s.whole is not None else values

    def _sizes(self) -> Iterator[int]:
        """How many numbers the measurements have, of residuals each set."""
        s = self._spec
        for m in s.measurements:
            if m.kind == RESIDUALS:
                yield from (math.prod(n - 1 for n in s.workload.shape(of)) for of in m.sets)
            else:
                yield s.blocks(m) if m.kind == PARTITION else len(m.rows)

    def _decode_dense(self, parts: Sequence[Floats]) -> Floats:
        s, w = self._spec, self._spec.workload
        right = np.zeros(w.cells)
        for m, y in zip(s.measurements, parts, strict=True):
            if m.kind == PARTITION:
                right += m.weight * y[np.arange(w.cells) // m.block]
            else:
                right += m.weight * (np.array(m.rows, dtype=np.float64).T @ y)
        matrix = _plancheck.matrix(s)
        inverse, whole = _plancheck.inverse(matrix), matrix.astype(np.float64)
        x = inverse @ right
        x += inverse @ (right - whole @ x)
        if w.kind == "matrix":
            return np.array(w.rows, dtype=np.float64) @ x
        sums = np.concatenate([[0.0], np.cumsum(x)])
        ends = np.array(list(w.intervals))
        found: Floats = sums[ends[:, 1]] - sums[ends[:, 0]]
        return found

    def _decode_tables(self, parts: Sequence[Floats]) -> Floats:
        w = self._spec.workload
        known: dict[Set, Floats] = {}
        out = []
        for of in w.sets:
            table = np.zeros(w.shape(of))
            for b in subsets(of):
                if b not in known:
                    known[b] = self._component(parts, b)
                spread = tuple(n if a in b else 1 for a, n in zip(of, w.shape(of), strict=True))
                table += known[b].reshape(spread) / w.others(of, b)
            out.append(table.ravel())
        return np.concatenate(out)

    def _component(self, parts: Sequence[Floats], b: Set) -> Floats:
        s, w = self._spec, self._spec.workload
        first = s.measurements[0]
        if first.kind == RESIDUALS:
            y = parts[first.sets.index(b)].reshape([n - 1 for n in w.shape(b)])
            for axis in range(len(b)):
                y = _from_residuals(y, axis)
            return y
        total = np.zeros(w.shape(b))
        for m, y, share in zip(s.measurements, parts, _plancheck.component(s, b)[1], strict=True):
            if share and m.attributes is not None:
                table = y.reshape(w.shape(m.attributes))
                total += float(share) * table.sum(axis=tuple(i for i, a in enumerate(m.attributes) if a not in b))
        for axis in range(len(b)):
            total = total - total.mean(axis=axis, keepdims=True)
        return total


def _residuals(table: Int64s) -> Int64s:
    """Products with rows (1, …, 1, -k, 0, …), k ones, along each axis."""
    for axis in range(table.ndim):
        lines = np.moveaxis(table, axis, -1)
        k = np.arange(1, lines.shape[-1])
        table = np.moveaxis(lines.cumsum(axis=-1)[..., :-1] - k * lines[..., 1:], -1, axis)
    return table


def _from_residuals(y: Floats, axis: int) -> Floats:
    lines = np.moveaxis(y, axis, -1)
    k = np.arange(1, lines.shape[-1] + 1)
    x = lines / (k * (k + 1.0))
    later = np.zeros((*lines.shape[:-1], k.size + 1))  # sums of those after each
    later[..., :-1] = x[..., ::-1].cumsum(axis=-1)[..., ::-1]
    out = later.copy()
    out[..., 1:] -= k * x
    return np.moveaxis(out, -1, axis)


def _deviations(shape: Sequence[int], d: float) -> Floats:
    """Of the residuals of a set: d·√Π k(k+1), rounded up."""
    squares = np.ones(1)
    for n in shape:
        k = np.arange(1, n, dtype=np.float64)
        squares = np.multiply.outer(squares, k * (k + 1)).ravel()
    out = d * np.sqrt(squares)  # the products are at most 2^44, and exact
    for _ in range(3):
        out = np.where(squares > 1, np.nextafter(out, math.inf), out)
    return out
