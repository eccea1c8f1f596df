# SPDX-License-Identifier: Apache-2.0
"""The file of a strategy for counts, version 1, read strictly, and its check: docs/counts-format.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewright._claims import (
    MAX_EPSILON,
    Claim,
    check_claims,
    check_labels,
    check_rows,
    hold_claims,
    hold_delta,
    want,
)
from noisewright._exact import RATIO_BITS, exp_down, exp_up
from noisewright._meter import Meter, rational_work
from noisewright._strictjson import WIDE, Decimal, Fields, Many, Real, Record, Text, Whole, check_format, read
from noisewright.errors import FalseClaimError

FORMAT = "noisewright-counts"
MAX_SIZE = 1 << 24
_MAX_CATEGORIES = 128
_MAX_QUERIES = 1 << 14
_MAX_WEIGHTS = 1 << 18
_MAX_PROVED = 16
_KINDS = ("prefix", "ranges", "marginals", "queries")
SCORE_BITS, FIXED_BITS, _NORM_BITS = 32, 256, 128

Integers = npt.NDArray[np.object_]  # Python's, of any size

_FILE = Record(
    {
        "format": Text(),
        "version": Whole(),
        "epsilon": Real(),
        "count?": WIDE,
        "labels?": Many(Text(), _MAX_CATEGORIES),
        "workload": Record(
            {
                "kind": Text(),
                "sizes?": Many(WIDE, _MAX_CATEGORIES),
                "names?": Many(Text(), _MAX_QUERIES),
                "queries?": Many(Many(Real(), _MAX_WEIGHTS), _MAX_QUERIES),
            }
        ),
        "rows": Many(Many(Decimal(), _MAX_WEIGHTS), _MAX_WEIGHTS),
        "certificate": Record(
            {
                "delta": Text(),
                "total_variance": Text(),
                "worst_variance": Text(),
                "lower_bound": Text(),
                "dual?": Record(
                    {"slopes": Many(Many(Real(), _MAX_WEIGHTS), _MAX_PROVED), "prices": Many(Real(), _MAX_PROVED)}
                ),
            }
        ),
    }
)
CLAIMS = (Claim("delta"), Claim("total_variance"), Claim("worst_variance"), Claim("lower_bound", up=False))


@dataclass(frozen=True)
class Spec:
    """The content of a strategy, well-formed."""

    epsilon: float
    labels: tuple[str, ...]  # none: 0, 1, …
    categories: int
    kind: str  # of the workload
    sizes: tuple[int, ...]
    names: tuple[str, ...]  # of queries
    queries: tuple[tuple[float, ...], ...]  # of the kind queries
    rows: tuple[tuple[int, ...], ...]
    slopes: tuple[tuple[float, ...], ...]  # none: no bound
    prices: tuple[float, ...]
    certificate: Fields

    def matrix(self) -> npt.NDArray[np.float64]:
        """The coefficients of all queries for each category."""
        k = self.categories
        if self.kind == "queries":
            return np.array(self.queries)
        if self.kind == "marginals":
            cells = np.arange(k).reshape(self.sizes)
            index = [np.unravel_index(np.arange(k), self.sizes)[a] for a in range(cells.ndim)]
            return np.array([index[a] == v for a, n in enumerate(self.sizes) for v in range(n)], dtype=np.float64)
        numbers = np.arange(k)
        return np.array(
            [
                (numbers >= first) & (numbers <= last)
                for first in range(k if self.kind == "ranges" else 1)
                for last in range(first, k)
                if last - first < k - 1
            ],
            dtype=np.float64,
        )

    def titles(self) -> list[str]:
        """What the queries are called."""
        k = self.categories
        labels = self.labels or tuple(map(str, range(k)))
        if self.kind == "prefix":
            return [f"up to {label}" for label in labels[:-1]]
        if self.kind == "ranges":
            return [
                labels[first] if first == last else f"{labels[first]} to {labels[last]}"
                for first in range(k)
                for last in range(first, k)
                if last - first < k - 1
            ]
        if self.kind == "marginals":
            many = len(self.sizes)
            return [
                "x".join(str(v) if a == b else "*" for b in range(many))
                for a, n in enumerate(self.sizes)
                for v in range(n)
            ]
        return list(self.names)


def decode(value: Any) -> Spec:
    """A strategy from the parsed file."""
    fields = read(value, _FILE)
    check_format(fields, FORMAT)
    certificate, workload = fields["certificate"], fields["workload"]
    check_claims(certificate, CLAIMS)
    epsilon, labels, count = fields["epsilon"], tuple(fields.get("labels", ())), fields.get("count", 0)
    want(0 < epsilon <= MAX_EPSILON, "epsilon", epsilon, f"a number above 0, at most {MAX_EPSILON}")
    if labels:
        want(count == 0, "count", count, "none beside labels")
        check_labels("labels", labels)
        want(len(labels) >= 2, "labels", "one", f"2 to {_MAX_CATEGORIES}")
    else:
        want(2 <= count <= _MAX_CATEGORIES, "count", count, f"from 2 to {_MAX_CATEGORIES} categories")
    k = len(labels) or count
    kind, sizes = workload["kind"], tuple(workload.get("sizes", ()))
    names, queries = tuple(workload.get("names", ())), tuple(map(tuple, workload.get("queries", ())))
    _check_workload(k, kind, sizes, names, queries)
    rows = tuple(map(tuple, fields["rows"]))
    want(len(rows) == k, "rows", f"{len(rows)} rows", f"{k}, one for each category")
    m = len(rows[0])
    want(k <= m and m * k <= _MAX_WEIGHTS, "rows", f"{m} answers", f"{k} to {_MAX_WEIGHTS // k} for {k} categories")
    check_rows(rows, m, "one per answer")
    want(all(map(any, zip(*rows, strict=True))), "rows", "weights of an answer that are 0", "one above 0")
    dual = certificate.get("dual", {"slopes": (), "prices": ()})
    slopes, prices = tuple(map(tuple, dual["slopes"])), tuple(dual["prices"])
    if "dual" in certificate:
        want(k <= _MAX_PROVED, "dual", "one", f"none for more than {_MAX_PROVED} categories")
        want(len(prices) == k, "dual.prices", f"{len(prices)} prices", f"{k}, one for each category")
        square = len(slopes) == k and all(len(row) == k for row in slopes)
        want(square, "dual.slopes", "such", f"{k} rows of {k} numbers")
    return Spec(epsilon, labels, k, kind, sizes, names, queries, rows, slopes, prices, certificate)


def _check_workload(
    k: int, kind: str, sizes: tuple[int, ...], names: tuple[str, ...], queries: tuple[tuple[float, ...], ...]
) -> None:
    want(kind in _KINDS, "workload.kind", repr(kind[:40]), " or ".join(_KINDS))
    want(kind == "marginals" or not sizes, "workload.sizes", "some", "none but for marginals")
    want(kind == "queries" or not (names or queries), "workload.queries", "some", f"none for the kind {kind}")
    if kind == "marginals":
        good = len(sizes) >= 2 and all(2 <= n <= _MAX_CATEGORIES for n in sizes) and math.prod(sizes) == k
        want(good, "workload.sizes", list(sizes), f"two sizes or more, of 2 or more, whose product is {k}")
    if kind == "queries":
        check_labels("workload.names", names)
        want(len(queries) == len(names), "workload.queries", len(queries), f"{len(names)}, one for each name")
        for i, row in enumerate(queries):
            want(len(row) == k, f"workload.queries[{i}]", f"{len(row)} coefficients", f"{k}, one for each category")
            sized = all(x == 0 or 1e-6 <= abs(x) <= 1e6 for x in row)
            want(
                sized and any(row),
                f"workload.queries[{i}]",
                "such",
                "numbers 0 or of a size from 1e-6 to 1e6, not all 0",
            )


def _scale(numbers: list[float]) -> int:
    """The least b such that all numbers are multiples of 2^-b."""
    return max((Fraction(x).denominator.bit_length() - 1 for x in numbers), default=0)


def _whole(rows: Any, bits: int) -> Integers:
    """The numbers in units of 2^-bits."""
    return np.array([[int(Fraction(x) * (1 << bits)) for x in row] for row in rows], dtype=object)


class Decoder:
    """What an answer counts for the shares of categories: about B⁻¹·c_y in units of 2^-288."""

    def __init__(self, rows: tuple[tuple[int, ...], ...], meter: Meter) -> None:
        k, answers = len(rows), len(rows[0])
        meter.spend(k * k * (answers + 3 * k) * 25)
        weights = np.array(rows, dtype=object)
        self.scores: Integers = (weights << SCORE_BITS) // weights.sum(axis=0)
        b = self.scores.dot(weights.T) << (FIXED_BITS - 64 - SCORE_BITS)
        self.inverse = _inverted(b)
        residual = self.inverse.dot(b) - _unit(k, 2 * FIXED_BITS)
        largest = max(abs(x) for x in self.inverse.flat)
        worst = max(sum(abs(x) for x in row) for row in residual)
        if worst.bit_length() > 2 * FIXED_BITS - 64:
            raise FalseClaimError(_NO_ESTIMATE)
        self.off = (worst * largest >> (2 * FIXED_BITS - 1)) + 1  # of every entry of the inverse

    def columns(self) -> npt.NDArray[np.float64]:
        """Those counts to the nearest float64, for each category and answer."""
        unit = 1 << FIXED_BITS + SCORE_BITS
        return np.array([[x / unit for x in row] for row in self.inverse.dot(self.scores)])

    def norms(self, gram: Integers, bits: int, meter: Meter) -> Integers:
        """Bounds from above on the squared norm of what each answer counts for the queries, in units of
        2^-128; gram is in units of 2^-bits."""
        k, answers = self.scores.shape
        meter.spend(k * k * (answers + 4 * k) * 25)
        down = 2 * FIXED_BITS + bits - _NORM_BITS
        h = self.inverse.T.dot(gram.dot(self.inverse)) >> down
        largest, size = max(abs(x) for x in self.inverse.flat), sum(abs(x) for x in gram.flat)
        slack = ((2 * largest + self.off) * self.off * size >> down) + 2
        norms: Integers = ((self.scores * h.dot(self.scores)).sum(axis=0) >> 2 * SCORE_BITS) + 1 + slack
        return norms


_NO_ESTIMATE = "rows: no unbiased estimate follows, want answers that tell all categories apart"


def _unit(k: int, bits: int) -> Integers:
    return np.array([[1 << bits if i == j else 0 for j in range(k)] for i in range(k)], dtype=object)


def _inverted(b: Integers) -> Integers:
    """About the inverse by elimination, all in units of 2^-256 and rounded down."""
    k = len(b)
    a = np.hstack([b, _unit(k, FIXED_BITS)])
    for i in range(k):
        pivot = a[i, i]
        if pivot <= 0 or pivot.bit_length() <= FIXED_BITS - 100:
            raise FalseClaimError(_NO_ESTIMATE)
        a[i] = (a[i] << FIXED_BITS) // pivot
        for j in range(k):
            if j != i:
                a[j] = a[j] - (a[j, i] * a[i] >> FIXED_BITS)
    return a[:, k:]


def verify(s: Spec, meter: Meter) -> dict[str, Any]:
    """What exact and outward-rounded arithmetic finds, against which promise and claims are held."""
    k, m = s.categories, len(s.rows[0])
    delta = _delta(s, meter)
    hold_delta(0.0, delta, "between two categories")
    queries = s.matrix()
    meter.spend(len(queries) * k * k * (25 if s.kind == "queries" else 1))
    fraction = _scale([x for row in s.queries for x in row])
    if s.kind == "queries":
        coefficients = _whole(s.queries, fraction)
        gram = coefficients.T.dot(coefficients)
    else:
        whole = queries.astype(np.int64)
        gram = (whole.T @ whole).astype(object)
    decoder = Decoder(s.rows, meter)
    norms = decoder.norms(gram, 2 * fraction, meter)
    unit = 1 << 64 + _NORM_BITS
    variances = [
        Fraction(int(np.dot(np.array(row, dtype=object), norms)), unit) - Fraction(int(gram[j, j]), 1 << 2 * fraction)
        for j, row in enumerate(s.rows)
    ]
    bound = _bound(s, gram, 2 * fraction, meter) if s.slopes else Fraction(0)
    proved = [delta, sum(variances, Fraction(0)) / k, max(variances), bound]
    hold_claims(s.certificate, CLAIMS, proved)
    names = ("delta_upper", "total_variance", "worst_variance", "lower_bound")
    assert m >= k
    return {**dict(zip(names, proved, strict=True)), "work": meter.used}


def _delta(s: Spec, meter: Meter) -> Fraction:
    """The largest divergence between the laws of two categories."""
    down = exp_down(s.epsilon)
    k, m = s.categories, len(s.rows[0])
    meter.spend(2 * k * m)
    if all((max(c) << RATIO_BITS) <= down * min(c) for c in zip(*s.rows, strict=True)):
        return Fraction(0)
    top = 0
    for gain in s.rows:
        meter.spend(2 * k * m)
        for lose in s.rows:
            excess = sum(max(0, (a << RATIO_BITS) - down * b) for a, b in zip(gain, lose, strict=True))
            top = max(top, excess)
    return Fraction(top, 1 << 64 + RATIO_BITS)


def _bound(s: Spec, gram: Integers, bits: int, meter: Meter) -> Fraction:
    """The lower bound by the slopes and prices, at least 0."""
    k = s.categories
    scale = _scale([*s.prices, *(x for row in s.slopes for x in row)])
    size = max(
        (Fraction(x).numerator.bit_length() + Fraction(x).denominator.bit_length() for row in s.slopes for x in row),
        default=0,
    )
    meter.spend(k**3 * rational_work(2 * size + 200) + (1 << k) * (k + 10) * (20 + size // 8))
    slopes = _whole(s.slopes, scale)
    steep = slopes.dot(gram)  # in units of 2^-(scale + bits)
    mass = steep.dot(slopes.T)  # of 2^-(2·scale + bits), as prices are
    fraction = 2 * scale + bits
    prices = [int(Fraction(x) * (1 << fraction)) for x in s.prices]
    value = (
        Fraction(2 * int(np.trace(steep)), 1 << scale + bits)
        - Fraction(sum(prices), 1 << fraction)
        - Fraction(int(np.trace(gram)), k << bits)
    )
    return max(Fraction(0), value - _dearest(s.epsilon, mass.tolist(), prices) / (1 << fraction))


def _dearest(epsilon: float, mass: list[list[int]], prices: list[int]) -> Fraction:
    """The largest vᵀMv/(πv)² - μv/(πv) over all v with entries 1 and E >= e^epsilon: 1 + c·1_S for sets S that
    follow each other by one element."""
    k = len(prices)
    of = [sum(row) for row in mass]
    constant, base = sum(of) << 2 * RATIO_BITS, sum(prices) << RATIO_BITS
    c = exp_up(epsilon) - (1 << RATIO_BITS)
    twice, square = c << RATIO_BITS + 1, c * c
    scales = [(k << RATIO_BITS) + n * c for n in range(k + 1)]
    tops: list[int | None] = [None] * (k + 1)
    inner, line, quad, paid, n, gray = [0] * k, 0, 0, 0, 0, 0
    for code in range(1, (1 << k) + 1):
        value = k * (constant + twice * line + square * quad) - (base + c * paid) * scales[n]
        top = tops[n]
        if top is None or value > top:
            tops[n] = value
        j = (code & -code).bit_length() - 1
        if j == k:
            break
        gray ^= 1 << j
        row = mass[j]
        if gray >> j & 1:
            quad += 2 * inner[j] + row[j]
            line, paid, n = line + of[j], paid + prices[j], n + 1
            inner = [x + y for x, y in zip(inner, row, strict=True)]
        else:
            quad += row[j] - 2 * inner[j]
            line, paid, n = line - of[j], paid - prices[j], n - 1
            inner = [x - y for x, y in zip(inner, row, strict=True)]
    return max(Fraction(k * top, scales[n] ** 2) for n, top in enumerate(tops) if top is not None)
