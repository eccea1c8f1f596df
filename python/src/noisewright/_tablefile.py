# SPDX-License-Identifier: Apache-2.0
"""The table file, version 1, read strictly: docs/table-format.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from noisewright._claims import (
    LOSS,
    MAX_EXPONENT,
    MAX_MULTIPLIERS,
    PRIVACY,
    Claim,
    Privacy,
    check_claims,
    check_epsilon_delta,
    privacy,
    want,
)
from noisewright._exact import power_of_two
from noisewright._law import MAX_INTEGER, Law
from noisewright._loss import L2_LOSS, Loss
from noisewright._lossnames import exceed, parse_loss
from noisewright._strictjson import (
    SIGNED,
    WIDE,
    Decimal,
    Fields,
    Flag,
    Many,
    Real,
    Record,
    Text,
    Whole,
    check_format,
    read,
)
from noisewright.errors import FormatError

FORMAT = "noisewright-table"
MAX_SIZE = 64 << 20
MAX_CELLS = 1 << 18
_MAX_SHIFT_WORK = 1 << 32
_MAX_REACH = 1 << 52
_MAX_QUANTILES = 16
_MAX_TAIL_RATIO = (1 << 64) - (1 << 44)
_MAX_TAIL_TERMS = 1 << 16
_MAX_TAIL_RUNS = 1 << 10

_RUN = Record({"first_cell": Whole(), "multipliers": Many(SIGNED, MAX_MULTIPLIERS)})
_FILE = Record(
    {
        "format": Text(),
        "version": Whole(),
        "privacy": PRIVACY,
        "query?": Text(),
        "total?": Record({"releases": Whole(), "epsilon": Real(), "delta": Real()}),
        "loss": LOSS,
        "constraints?": Record(
            {
                "symmetric?": Flag(),
                "monotone?": Flag(),
                "unbiased?": Flag(),
                "lower?": Real(),
                "upper?": Real(),
                "max_variance?": Real(),
                "quantiles?": Many(Record({"probability": Real(), "magnitude": Real()}), _MAX_QUANTILES),
                "max_distinguishing?": Real(),
            }
        ),
        "grid": Record(
            {
                "granularity_exponent": Whole(),
                "unit?": Real(),
                "points_per_cell": WIDE,
                "offset?": WIDE,
                "cells_per_sensitivity": Whole(),
                "first_cell": Whole(),
            }
        ),
        "weights": Many(Decimal(), MAX_CELLS),
        "atom": Decimal(),
        "tail_ratio?": Decimal(),
        "certificate": Record(
            {
                "delta": Text(),
                "expected_loss": Text(),
                "lower_bound": Text(),
                "dual?": Record(
                    {
                        "cells_per_sensitivity": Whole(),
                        "exponent": Whole(),
                        "mirrored": Flag(),
                        "edges?": Flag(),
                        "spread?": Flag(),
                        "shifts": Many(
                            Record(
                                {
                                    "shift": Whole(),
                                    "first_cell": Whole(),
                                    "multipliers": Many(SIGNED, MAX_MULTIPLIERS),
                                }
                            ),
                            MAX_CELLS,
                        ),
                        "monotone_right?": _RUN,
                        "monotone_left?": _RUN,
                        "mean?": Real(),
                        "variance?": Real(),
                        "quantiles?": Many(Real(), _MAX_QUANTILES),
                    }
                ),
            }
        ),
    }
)

CLAIMS = (Claim("delta"), Claim("expected_loss"), Claim("lower_bound", up=False))


@dataclass(frozen=True)
class Constraints:
    """What the noise keeps beside its privacy; see docs/table-format.md."""

    symmetric: bool = False
    monotone: bool = False
    unbiased: bool = False
    lower: float | None = None
    upper: float | None = None
    max_variance: float = 0
    quantiles: tuple[tuple[float, float], ...] = ()  # probability, magnitude
    max_distinguishing: float = 0

    def moments(self) -> list[tuple[Loss, Fraction]]:
        """The losses that the quantiles bound, and the bounds."""
        return [(exceed(t), 1 - Fraction(p)) for p, t in self.quantiles]

    def mirrored(self) -> bool:
        """Whether the constraints are the same for the mirror image."""
        if self.lower is None or self.upper is None:
            return self.lower is self.upper
        return self.lower == -self.upper


@dataclass(frozen=True)
class Spec:
    """The content of a table, well-formed."""

    privacy: Privacy
    query: str
    loss: Loss
    constraints: Constraints
    exponent: int
    unit: float
    points: int  # S
    offset: int
    cells: int  # K
    first_cell: int
    weights: tuple[int, ...]
    atom: int
    tail_ratio: int
    dual: Fields | None
    certificate: Fields
    total: Fields | None

    @cached_property
    def step(self) -> Fraction:
        return power_of_two(self.exponent) * Fraction(self.unit)

    @property
    def period(self) -> int:
        """The distance in points at which the tail repeats."""
        return self.cells * self.points

    @cached_property
    def reach(self) -> int:
        """The largest |n| over the points of the cells."""
        return max(abs(self.first_point(0)), abs(self.first_point(len(self.weights)) - 1))

    @property
    def limit(self) -> int:
        """The largest rounded value whose sum with any noise is a float64."""
        return MAX_INTEGER - self.reach

    def first_point(self, i: int) -> int:
        """The least point of the i-th cell."""
        return self.offset + (self.first_cell + i) * self.points - (self.points - 1) // 2

    def side(self, i: int) -> int:
        """-1 or 1 if the i-th cell stands for a tail, else 0."""
        if not self.tail_ratio:
            return 0
        return -1 if i < self.cells else int(i >= len(self.weights) - self.cells)

    def block_runs(self) -> list[tuple[int, int, int]]:
        """The runs of block cells that weigh the same, and something: first, count, side."""
        runs: list[tuple[int, int, int]] = []
        for i, w in enumerate(self.weights):
            side = self.side(i)
            if not side or not w:
                continue
            if runs:
                first, count, before = runs[-1]
                if before == side and first + count == i and self.weights[first] == w:
                    runs[-1] = first, count + 1, side
                    continue
            runs.append((i, 1, side))
        return runs

    def law(self) -> Law:
        block = self.cells if self.tail_ratio else 0
        return Law(self.weights, self.atom, self.points, self.first_point(0), self.tail_ratio, block)


def decode(value: Any) -> Spec:
    """The table that a file holds."""
    f = read(value, _FILE)
    check_format(f, FORMAT)
    grid, certificate = f["grid"], f["certificate"]
    if f.get("query") == "":
        raise FormatError('query = "", want real, integer or lattice, or no such field')
    if f.get("tail_ratio") == 0:
        raise FormatError('tail_ratio = "0", want a number above 0, or no such field')
    total = f.get("total")
    if total is not None and not any(total.values()):
        raise FormatError("total.releases = 0, want an integer above 0, or no field total")
    c = dict(f.get("constraints", {}))
    c["quantiles"] = tuple((q["probability"], q["magnitude"]) for q in c.get("quantiles", ()))
    spec = Spec(
        privacy=privacy(f["privacy"]),
        query=f.get("query", "real"),
        loss=parse_loss(f["loss"]["name"]),
        constraints=Constraints(**c),
        exponent=grid["granularity_exponent"],
        unit=grid.get("unit", 1.0) or 1.0,
        points=grid["points_per_cell"],
        offset=grid.get("offset", 0),
        cells=grid["cells_per_sensitivity"],
        first_cell=grid["first_cell"],
        weights=f["weights"],
        atom=f["atom"],
        tail_ratio=f.get("tail_ratio", 0),
        dual=certificate.get("dual"),
        certificate=certificate,
        total=total,
    )
    _check_law(spec)
    check_claims(certificate, CLAIMS)
    if spec.dual is not None:
        _check_dual(spec.dual)
    if total is not None:
        want(1 <= total["releases"] <= 1 << 24, "total.releases", total["releases"], "an integer from 1 to 2^24")
        want(total["epsilon"] >= 0, "total.epsilon", total["epsilon"], "a finite number >= 0")
        want(0 <= total["delta"] < 1, "total.delta", total["delta"], "0 <= delta < 1")
    return spec


def integer_noise(p: Privacy, weights: tuple[int, ...], first: int, tail_ratio: int) -> Spec:
    """Noise on the integers for a sensitivity of 1, as a table without claims."""
    check_epsilon_delta(p.epsilon, p.delta)
    spec = Spec(
        privacy=p,
        query="integer",
        loss=L2_LOSS,
        constraints=Constraints(symmetric=True),
        exponent=0,
        unit=1.0,
        points=1,
        offset=0,
        cells=1,
        first_cell=first,
        weights=weights,
        atom=0,
        tail_ratio=tail_ratio,
        dual=None,
        certificate=Fields({}),
        total=None,
    )
    _check_law(spec)
    return spec


def _check_law(spec: Spec) -> None:
    _check_query(spec)
    _check_constraints(spec.constraints)
    _check_grid(spec)
    if spec.tail_ratio:
        _check_tail(spec)
    weight = sum(spec.weights) + spec.atom
    want(weight == 1 << 64, "weights", f"a sum of {weight} with the atom", "exactly 2^64")


def _check_query(s: Spec) -> None:
    d = s.privacy.sensitivity
    match s.query:
        case "real":
            want(s.unit == 1, "unit", s.unit, "1, as the query is not rounded to a lattice")
        case "integer":
            want(s.unit == 1 and s.exponent == 0, "granularity_exponent", s.exponent, "0, and a unit of 1")
            want(d == math.trunc(d), "sensitivity", d, "an integer for an integer query")
        case "lattice":
            want(s.exponent == 0, "granularity_exponent", s.exponent, "0 for a lattice query")
            want(1e-250 <= s.unit <= 1e250, "unit", s.unit, "a number from 1e-250 to 1e250 (query units)")
        case _:
            want(False, "query", repr(s.query[:40]), "real, integer or lattice")


def _check_constraints(c: Constraints) -> None:
    if c.lower is not None or c.upper is not None:
        low = -math.inf if c.lower is None else c.lower
        high = math.inf if c.upper is None else c.upper
        want(low < high and low <= 0 <= high, "support", f"{low:g},{high:g}", "two ends around 0, not both 0")
    want(c.max_variance >= 0, "max_variance", c.max_variance, "a finite number > 0 (query units squared)")
    for p, t in c.quantiles:
        want(0 < p < 1, "quantiles", f"{p:g},{t:g}", "a probability above 0 and below 1 first")
        want(1e-60 <= t <= 1e60, "quantiles", f"{p:g},{t:g}", "a magnitude from 1e-60 to 1e60 second")
    p = c.max_distinguishing
    want(p == 0 or 0 < p < 1, "max_distinguishing", p, "a probability above 0 and below 1")


def _check_grid(s: Spec) -> None:
    n = len(s.weights)
    want(abs(s.offset) <= _MAX_REACH, "offset", s.offset, "at most 2^52 in absolute value")
    want(abs(s.exponent) <= 900, "granularity_exponent", s.exponent, "an integer from -900 to 900")
    want(1 <= s.points <= 1 << 40 and s.points % 2 == 1, "points_per_cell", s.points, "an odd number from 1 to 2^40")
    want(n >= 1, "weights", f"{n} cells", f"1 to {MAX_CELLS} cells")
    works = 1 <= s.cells <= MAX_CELLS and s.cells * n <= _MAX_SHIFT_WORK
    want(works, "cells_per_sensitivity", s.cells, f"1 to {MAX_CELLS}, and at most 2^32 times the number of cells")
    want(abs(s.first_cell) <= MAX_CELLS, "first_cell", s.first_cell, f"at most {MAX_CELLS} in absolute value")
    far = max(abs(s.first_cell), abs(s.first_cell + n - 1)) + 2 + abs(s.offset) // s.points
    want(far * s.points <= _MAX_REACH, "points_per_cell", s.points, "noise within 2^52 grid points of 0")


def _check_tail(s: Spec) -> None:
    """The blocks that repeat lie on either side of 0, with a cell between them, and the loss of
    a tail is known."""
    n, k = len(s.weights), s.cells
    want(s.tail_ratio <= _MAX_TAIL_RATIO, "tail_ratio", s.tail_ratio, f"at most {_MAX_TAIL_RATIO}")
    inside = n >= 2 * k + 1 and s.first_point(k) <= 0 < s.first_point(n - k)
    want(inside, "tail_ratio", s.tail_ratio, f"a table whose point 0 is in none of the first and last {k} cells")
    for loss in [s.loss, *(q for q, _ in s.constraints.moments())]:
        for part in loss.tail_parts():
            beyond = part.polynomial_beyond()
            if beyond is None:
                # Summed up to less than 1000/(1-ρ) periods.
                most = int(2.0**61 / 1000 * (float((1 << 64) - s.tail_ratio) * 2.0**-64))
                want(
                    s.period <= most, "points_per_cell", s.points, f"fewer points for a tail with the loss {part.name}"
                )
                runs = len(s.block_runs())
                want(
                    runs <= _MAX_TAIL_RUNS,
                    "weights",
                    f"{runs} runs of equal weights in a tail",
                    f"at most {_MAX_TAIL_RUNS}",
                )
            else:
                near = beyond[0] <= _MAX_TAIL_TERMS * s.points * s.step
                want(near, "loss", part.name, f"one that is a polynomial from {_MAX_TAIL_TERMS} cells on")


def _check_dual(d: Fields) -> None:
    k, far = d["cells_per_sensitivity"], 1 << 30
    want(1 <= k <= MAX_CELLS, "dual.cells_per_sensitivity", k, f"1 to {MAX_CELLS}")
    want(abs(d["exponent"]) <= MAX_EXPONENT, "dual.exponent", d["exponent"], f"-{MAX_EXPONENT} to {MAX_EXPONENT}")
    seen: set[int] = set()
    left, price = MAX_MULTIPLIERS, 0
    for s in d["shifts"]:
        shift = s["shift"]
        left -= len(s["multipliers"])
        want(left >= 0, "dual.multipliers", "too many", f"at most {MAX_MULTIPLIERS} in all")
        want(1 <= abs(shift) <= k, "dual.shift", shift, f"1 to {k} in absolute value")
        want(shift not in seen and not (d["mirrored"] and -shift in seen), "dual.shift", shift, "each shift once")
        seen.add(shift)
        want(abs(s["first_cell"]) <= far, "dual.first_cell", s["first_cell"], f"at most {far} in absolute value")
        price += max(s["multipliers"], default=0)
        want(price <= 1 << 61, "dual.multipliers", "too large", "the largest of each shift to sum to at most 2^61")
    right, left_run = d.get("monotone_right"), d.get("monotone_left")
    for run in (right, left_run):
        if run is None:
            continue
        want(0 <= run["first_cell"] <= far, "dual.monotone.first_cell", run["first_cell"], f"0 to {far}")
        left -= len(run["multipliers"])
        want(left >= 0, "dual.multipliers", "too many", f"at most {MAX_MULTIPLIERS} in all")
        most = max(run["multipliers"], default=0)
        want(most <= 1 << 61, "dual.monotone.multipliers", most, "numbers from 0 to 2^61")
    mean = d.get("mean", 0)
    if d.get("spread"):
        want(right is None and left_run is None, "dual.spread", "true", "false with such multipliers")
    if d.get("edges"):
        want(right is None and left_run is None and not mean, "dual.edges", "true", "false with such multipliers")
    if d["mirrored"]:
        want(left_run is None and not mean, "dual.mirrored", "true", "false with multipliers without mirror image")
    for v in [d.get("variance", 0), *d.get("quantiles", [])]:
        want(v >= 0, "dual moment multiplier", v, "a finite number >= 0")
