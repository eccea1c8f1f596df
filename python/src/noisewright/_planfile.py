# SPDX-License-Identifier: Apache-2.0
"""The file of a plan, version 1, read strictly: docs/plan-format.md."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

from noisewright import _tablefile
from noisewright._claims import MAX_EPSILON, Claim, Privacy, check_claims, check_labels, want
from noisewright._exact import decimal_up
from noisewright._loss import L2_LOSS
from noisewright._meter import Meter
from noisewright._strictjson import WIDE, Decimal, Fields, Many, Real, Record, Text, Whole, check_format, read
from noisewright._tablecheck import _expected, worst_shift

FORMAT = "noisewright-plan"
MAX_SIZE = 64 << 20
MAX_CELLS = 1 << 10  # of rows of numbers
MAX_SERIES = 1 << 11  # of which blocks are measured
MAX_QUERIES = 1 << 22
_MAX_ATTRIBUTES = 64
_MAX_SETS = 1 << 12
_MAX_SUBSETS = 1 << 18
_MAX_MEASUREMENTS = 1 << 12
_MAX_WEIGHTS = 1 << 14
_MAX_ROWS = 2 * MAX_QUERIES // MAX_CELLS
_MAX_WEIGHT = 1 << 30
_MAX_NUMBER = 1 << 20  # of a row
_MIN_DEVIATION, _MAX_DEVIATION = 2.0**-20, 2.0**40

PARTITION, L1, L2, RESIDUALS = "partition", "matrix-l1", "matrix-l2", "residuals"
_KINDS = ("identity", "prefix", "ranges", "matrix", "marginals")

_ROWS = Many(Many(WIDE, MAX_CELLS), _MAX_ROWS)
_SET = Many(WIDE, MAX_CELLS)
_FILE = Record(
    {
        "format": Text(),
        "version": Whole(),
        "epsilon": Real(),
        "delta": Real(),
        "neighbors": Text(),
        "max_per_person": Whole(),
        "workload": Record(
            {
                "kind": Text(),
                "cells?": Whole(),
                "rows?": _ROWS,
                "attributes?": Many(Record({"name": Text(), "size": Whole()}), _MAX_ATTRIBUTES),
                "sets?": Many(_SET, _MAX_SETS),
            }
        ),
        "measurements": Many(
            Record(
                {
                    "kind": Text(),
                    "block?": Whole(),
                    "attributes?": Many(Whole(), _MAX_ATTRIBUTES),
                    "rows?": _ROWS,
                    "weight?": WIDE,
                    "noise?": Record(
                        {
                            "epsilon": Real(),
                            "delta": Real(),
                            "weights": Many(Decimal(), _MAX_WEIGHTS),
                            "tail_ratio?": Decimal(),
                        }
                    ),
                    "deviation?": Real(),
                    "sets?": Many(_SET, _MAX_SETS),
                    "deviations?": Many(Real(), _MAX_SETS),
                }
            ),
            _MAX_MEASUREMENTS,
        ),
        "certificate": Record(
            {
                "delta": Text(),
                "mean_squared_error": Text(),
                "max_squared_error": Text(),
                "variances": Many(Text(), MAX_QUERIES),
            }
        ),
    }
)
CLAIMS = (Claim("delta"), Claim("mean_squared_error"), Claim("max_squared_error"))

Set = tuple[int, ...]
Rows = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Noise:
    """Symmetric noise on the integers, as the table that it is."""

    epsilon: float
    delta: float
    weights: tuple[int, ...]  # of 0, 1, 2, …
    tail_ratio: int
    table: _tablefile.Spec
    proved: Fraction  # the delta at a shift by one
    variance: Fraction  # from above


@dataclass(frozen=True)
class Measurement:
    """Sums of cells with independent noise."""

    kind: str
    block: int
    attributes: Set | None
    rows: Rows
    weight: int
    noise: Noise | None
    deviation: float
    sets: tuple[Set, ...]
    deviations: tuple[float, ...]

    @property
    def variance(self) -> Fraction:
        """Of a number, from above; not of residuals. That of rounded normal noise is at most 1/12 more."""
        return self.noise.variance if self.noise else Fraction(self.deviation) ** 2 + Fraction(1, 12)


@dataclass(frozen=True)
class Workload:
    """Which sums of cells are asked."""

    kind: str
    cells: int  # 0 of marginals
    rows: Rows
    names: tuple[str, ...]  # of attributes
    sizes: tuple[int, ...]
    sets: tuple[Set, ...]

    @property
    def queries(self) -> int:
        match self.kind:
            case "ranges":
                return self.cells * (self.cells + 1) // 2
            case "matrix":
                return len(self.rows)
            case "marginals":
                return sum(map(self.size, self.sets))
        return self.cells

    @property
    def intervals(self) -> Iterator[tuple[int, int]]:
        """The cells from a to b - 1 of each query, of identity, prefix and ranges."""
        n = self.cells
        match self.kind:
            case "identity":
                return ((a, a + 1) for a in range(n))
            case "prefix":
                return ((0, b) for b in range(1, n + 1))
        return ((a, b) for a in range(n) for b in range(a + 1, n + 1))

    def shape(self, of: Set) -> tuple[int, ...]:
        """The sizes of the attributes of a set."""
        return tuple(self.sizes[a] for a in of)

    def size(self, of: Set) -> int:
        """The cells of a table."""
        return math.prod(self.shape(of))

    def others(self, of: Set, sub: Set) -> int:
        """The cells of a table of the attributes of a set that are not in its subset."""
        return self.size(of) // self.size(sub)


@dataclass(frozen=True)
class Spec:
    """The content of a plan, well-formed."""

    epsilon: float
    delta: float
    neighbors: str
    max_per_person: int
    workload: Workload
    measurements: tuple[Measurement, ...]
    certificate: Fields

    @property
    def touched(self) -> int:
        """In how many cells neighbors differ at most."""
        return self.max_per_person * (2 if self.neighbors == "replace" else 1)

    @property
    def marginals(self) -> bool:
        return self.workload.kind == "marginals"

    def blocks(self, m: Measurement) -> int:
        """How many blocks a partition has."""
        return -(-self.workload.cells // m.block) if m.attributes is None else self.workload.size(m.attributes)

    def largest_change(self, m: Measurement) -> int:
        """By how much the count of a block may change at most."""
        if m.kind != PARTITION:
            return self.touched
        if m.attributes is None:
            return min(m.block, self.max_per_person)
        return 1 if len(m.attributes) == len(self.workload.names) else self.max_per_person

    @property
    def measured(self) -> list[Set]:
        """The sets of attributes that are measured."""
        return _measured(self.measurements)

    @cached_property
    def bases(self) -> list[Set]:
        """The measured sets that are in no other one: their tables go in."""
        every = self.measured
        return [
            of
            for i, of in enumerate(every)
            if not any(set(of) <= set(b) and (len(b) > len(of) or j < i) for j, b in enumerate(every))
        ]

    @property
    def inputs(self) -> int:
        """How many counts go in."""
        return sum(map(self.workload.size, self.bases)) if self.marginals else self.workload.cells

    @cached_property
    def limit(self) -> int:
        """What bounds a count, so that no sum of 2^60 or more is measured."""
        largest = max([1.0, *(float(sum(map(abs, row))) for m in self.measurements for row in m.rows)])
        if not self.marginals:
            return int(min(2.0**40, 2.0**60 / max(largest, self.workload.cells)))
        sums = (math.prod(2.0 * n for n in self.workload.shape(of)) for of in self.bases)
        return int(min(2.0**40, 2.0**60 / max(largest, *sums)))

    @property
    def whole(self) -> Noise | None:
        """The noise of the cells, or of one table, if that is all that is measured: answers are sums of it."""
        first = self.measurements[0]
        alone = (
            len(self.measurements) == 1
            and first.kind == PARTITION
            and (first.attributes is not None or first.block == 1)
        )
        return first.noise if alone else None


def subsets(of: Set) -> Iterator[Set]:
    """Every subset of a set."""
    for mask in range(1 << len(of)):
        yield tuple(a for i, a in enumerate(of) if mask >> i & 1)


def decode(value: Any) -> Spec:
    """A plan from the parsed file."""
    f = read(value, _FILE)
    check_format(f, FORMAT)
    certificate, epsilon, delta = f["certificate"], f["epsilon"], f["delta"]
    check_claims(certificate, CLAIMS)
    want(0 < epsilon <= MAX_EPSILON, "epsilon", epsilon, f"a number above 0, at most {MAX_EPSILON}")
    want(0 <= delta < 1, "delta", delta, "a probability, at least 0 and below 1")
    neighbors, most = f["neighbors"], f["max_per_person"]
    want(neighbors in ("add-remove", "replace"), "neighbors", repr(neighbors[:40]), "add-remove or replace")
    want(1 <= most <= MAX_CELLS, "max_per_person", most, f"1 to {MAX_CELLS} cells")
    workload = _workload(f["workload"])
    given = f["measurements"]
    want(len(given) >= 1, "measurements", len(given), f"1 to {_MAX_MEASUREMENTS}")
    stated = len(workload.sets) if workload.kind == "marginals" else workload.queries
    found = len(certificate["variances"])
    want(found == stated, "certificate.variances", f"{found} numbers", str(stated))
    measurements = tuple(_measurement(f"measurements[{i}]", m, workload) for i, m in enumerate(given))
    s = Spec(epsilon, delta, neighbors, most, workload, measurements, certificate)
    for i, m in enumerate(measurements):
        if m.noise is not None:
            at = f"measurements[{i}].noise.delta"
            pure = m.kind == L1 or s.largest_change(m) > 1
            want(
                not m.noise.proved or not pure,
                at,
                m.noise.delta,
                "0 where a person may change an answer by more than 1",
            )
            want(m.noise.proved <= Fraction(m.noise.delta), at, m.noise.delta, f"at least {decimal_up(m.noise.proved)}")
    if s.marginals:
        _check_measured(s)
    return s


def _workload(w: Fields) -> Workload:
    kind, cells, rows = w["kind"], w.get("cells", 0), w.get("rows", ())
    attributes, sets = w.get("attributes", ()), w.get("sets", ())
    want(kind in _KINDS, "workload.kind", repr(kind[:40]), " or ".join(_KINDS))
    want(
        bool(rows) == (kind == "matrix"), "workload.rows", f"{len(rows)} rows", "rows of a matrix, and of no other kind"
    )
    made = Workload(
        kind,
        cells,
        tuple(rows),
        tuple(a["name"] for a in attributes),
        tuple(a["size"] for a in attributes),
        tuple(sets),
    )
    if kind != "marginals":
        want(not attributes and not sets, "workload.attributes", len(attributes), "none but of marginals")
        most = MAX_CELLS if kind == "matrix" else MAX_SERIES
        want(1 <= cells <= most, "workload.cells", cells, f"1 to {most}")
        want(len(rows) <= _MAX_ROWS // 2, "workload.rows", f"{len(rows)} rows", f"at most {_MAX_ROWS // 2}")
        _check_rows("workload.rows", rows, cells)
        return made
    want(cells == 0, "workload.cells", cells, "none of marginals, whose attributes have sizes")
    want(len(attributes) >= 1, "workload.attributes", len(attributes), f"1 to {_MAX_ATTRIBUTES}")
    for i, n in enumerate(made.sizes):
        want(2 <= n <= MAX_QUERIES, f"workload.attributes[{i}].size", n, f"2 to {MAX_QUERIES}")
    check_labels("workload.attributes", made.names)
    _check_sets("workload.sets", made, sets)
    return made


def _check_rows(field: str, rows: Rows, cells: int) -> None:
    for i, row in enumerate(rows):
        good = len(row) == cells and any(row) and all(abs(a) <= _MAX_NUMBER for a in row)
        rule = f"{cells}, one for each cell, of at most {_MAX_NUMBER} and not all 0"
        want(good, f"{field}[{i}]", f"{len(row)} numbers", rule)


def _check_sets(field: str, w: Workload, sets: Sequence[Set]) -> None:
    """Refuses sets of attributes that stand twice, or whose tables have too many cells together."""
    want(1 <= len(sets) <= _MAX_SETS, field, len(sets), f"1 to {_MAX_SETS} sets of attributes")
    total, seen = 0, set()
    for i, of in enumerate(sets):
        ascends = all(a < b for a, b in pairwise(of)) and all(0 <= a < len(w.names) for a in of)
        rule = f"numbers of attributes from 0 to {len(w.names) - 1}, ascending"
        want(ascends, f"{field}[{i}]", list(of), rule)
        want(of not in seen, f"{field}[{i}]", list(of), "each set once")
        seen.add(of)
        total += w.size(of)
        want(total <= MAX_QUERIES, f"{field}[{i}]", list(of), f"tables of at most {MAX_QUERIES} cells together")


def _measurement(at: str, f: Fields, w: Workload) -> Measurement:
    marginals, kind = w.kind == "marginals", f["kind"]
    kinds = (PARTITION, RESIDUALS) if marginals else (PARTITION, L1, L2)
    want(kind in kinds, f"{at}.kind", repr(kind[:40]), " or ".join(kinds))
    block, weight, deviation = f.get("block", 0), f.get("weight", 0), f.get("deviation", 0.0)
    attributes, rows, noise = f.get("attributes"), f.get("rows", ()), f.get("noise")
    sets, deviations = f.get("sets", ()), f.get("deviations", ())
    part = kind == PARTITION
    for name, there, wanted in (
        ("block", block != 0, part and not marginals),
        ("attributes", attributes is not None, part and marginals),
        ("rows", bool(rows), kind in (L1, L2)),
        ("noise", noise is not None, kind in (PARTITION, L1)),
        ("deviation", deviation != 0, kind == L2),
        ("sets", bool(sets), kind == RESIDUALS),
        ("weight", weight != 0, kind != RESIDUALS),
    ):
        words = ("none", "one")
        want(there == wanted, f"{at}.{name}", words[there], f"{words[wanted]} for this kind and workload")
    want(len(deviations) == len(sets), f"{at}.deviations", len(deviations), f"{len(sets)}, one for each set")
    want(0 <= weight <= _MAX_WEIGHT, f"{at}.weight", weight, f"1 to {_MAX_WEIGHT}")
    want(0 <= block <= MAX_SERIES, f"{at}.block", block, f"1 to {MAX_SERIES}")
    want(kind not in (L1, L2) or w.cells <= MAX_CELLS, f"{at}.rows", w.cells, f"at most {MAX_CELLS} cells")
    for d in chain(deviations, (deviation,) if deviation else ()):
        want(_MIN_DEVIATION <= d <= _MAX_DEVIATION, f"{at}.deviation", d, "a number from 2^-20 to 2^40")
    _check_rows(f"{at}.rows", rows, w.cells)
    if attributes is not None:
        _check_sets(f"{at}.attributes", w, [attributes])
    if kind == RESIDUALS:
        _check_sets(f"{at}.sets", w, sets)
    law = None if noise is None else _noise(f"{at}.noise", noise)
    return Measurement(kind, block, attributes, tuple(rows), weight, law, deviation, tuple(sets), tuple(deviations))


def _noise(at: str, f: Fields) -> Noise:
    """The law as a table of integers, with what is proved of it."""
    weights, ratio = f["weights"], f.get("tail_ratio", 0)
    good = len(weights) >= 2 and weights[-1] > 0
    want(good, f"{at}.weights", f"{len(weights)} weights", f"2 to {_MAX_WEIGHTS}, the last of them above 0")
    table = _tablefile.integer_noise(
        Privacy(f["epsilon"], f["delta"], 1.0), (*weights[:0:-1], *weights), 1 - len(weights), ratio
    )
    free = Meter(1 << 62)
    delta = worst_shift(table, f["epsilon"], free)[0]
    return Noise(f["epsilon"], f["delta"], weights, ratio, table, delta, _expected(table, L2_LOSS, free))


def _measured(measurements: Sequence[Measurement]) -> list[Set]:
    out: list[Set] = []
    for m in measurements:
        out += m.sets if m.attributes is None else [m.attributes]
    return out


def _check_measured(s: Spec) -> None:
    """Refuses measurements of marginals that do not tell all parts of the queries."""
    w, every = s.workload, s.measured
    residuals = [m for m in s.measurements if m.kind == RESIDUALS]
    alone = not residuals or len(s.measurements) == 1
    want(alone, "measurements", len(s.measurements), "no other one beside residuals")
    _check_sets("measurements", w, every)
    subs = sum(1 << len(of) for of in chain(every, w.sets))
    want(subs <= _MAX_SUBSETS, "workload.sets", f"{subs} subsets", f"at most {_MAX_SUBSETS} of all sets")
    for m in residuals:
        for k, (of, d) in enumerate(zip(m.sets, m.deviations, strict=True)):
            rule = "at most 2^40 by the cells of the table"
            want(d * w.size(of) <= _MAX_DEVIATION, f"measurements[0].deviations[{k}]", d, rule)
    there = set(every)
    for i, of in enumerate(w.sets):
        told = all(sub in there for sub in subsets(of)) if residuals else any(set(of) <= set(a) for a in every)
        want(told, f"workload.sets[{i}]", list(of), "attributes that are measured together")
