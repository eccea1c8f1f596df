# SPDX-License-Identifier: Apache-2.0
"""The additive kernel file, version 1, read strictly: docs/additive-format.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

from noisewright._claims import (
    LOSS,
    MAX_EXPONENT,
    MAX_MULTIPLIERS,
    PRIVACY,
    Claim,
    Privacy,
    check_claims,
    check_rows,
    privacy,
    want,
)
from noisewright._exact import ceil, floor, power_of_two
from noisewright._kernelfile import cap_of
from noisewright._law import MAX_INTEGER
from noisewright._loss import Loss
from noisewright._lossnames import parse_loss
from noisewright._strictjson import SIGNED, WIDE, Decimal, Fields, Many, Real, Record, Text, Whole, check_format, read

FORMAT = "noisewright-additive-kernel"
MAX_SIZE = 128 << 20
_MAX_CELLS = 1 << 10
_MAX_BINS = 1 << 14
_MAX_WEIGHTS = 1 << 21
_MAX_SHIFTS = 1 << 18
_MAX_NODE = 1 << 16
# Stands for the end of a cell that has none.
_BEYOND = 1 << 60

_FILE = Record(
    {
        "format": Text(),
        "version": Whole(),
        "privacy": PRIVACY,
        "loss": LOSS,
        "lower?": Real(),
        "upper?": Real(),
        "edges": Many(Real(), _MAX_CELLS),
        "weight": Many(Real(), _MAX_CELLS),
        "instance_cap?": Real(),
        "instance_cap_loss?": LOSS,
        "grid": Record({"granularity_exponent": Whole(), "points_per_bin": WIDE, "first_bin": Whole()}),
        "rows": Many(Many(Decimal(), _MAX_WEIGHTS), _MAX_WEIGHTS),
        "certificate": Record(
            {
                "delta": Text(),
                "expected_loss": Text(),
                "max_loss": Text(),
                "lower_bound": Text(),
                "dual?": Record(
                    {
                        "nodes_per_sensitivity": Whole(),
                        "exponent": Whole(),
                        "caps": Many(SIGNED, _MAX_CELLS),
                        "shifts": Many(
                            Record(
                                {
                                    "gain": Whole(),
                                    "lose": Whole(),
                                    "shift": Whole(),
                                    "first": Whole(),
                                    "below": SIGNED,
                                    "above": SIGNED,
                                    "multipliers": Many(SIGNED, MAX_MULTIPLIERS),
                                }
                            ),
                            _MAX_SHIFTS,
                        ),
                    }
                ),
            }
        ),
    }
)

CLAIMS = (Claim("delta"), Claim("expected_loss"), Claim("max_loss"), Claim("lower_bound", up=False))


@dataclass(frozen=True)
class Spec:
    """The content of an additive kernel, well-formed."""

    privacy: Privacy
    loss: Loss
    edges: tuple[float, ...]  # the first and the last may be infinite
    weight: tuple[float, ...]
    cap: float
    cap_loss: Loss | None
    exponent: int
    points: int  # S
    first_bin: int
    rows: tuple[tuple[int, ...], ...]
    dual: Fields | None
    certificate: Fields

    @cached_property
    def step(self) -> Fraction:
        return power_of_two(self.exponent)

    @cached_property
    def distance(self) -> int:
        """How many points rounded values may be apart, ⌈sensitivity/step⌉."""
        return ceil(Fraction(self.privacy.sensitivity) / self.step)

    @cached_property
    def limit(self) -> int:
        """The largest rounded value whose sum with any noise is a float64."""
        return MAX_INTEGER - max(-self.first_point(0), self.first_point(len(self.rows[0])) - 1)

    def first_point(self, i: int) -> int:
        """The least point of the i-th bin."""
        return (self.first_bin + i) * self.points - self.points // 2

    def rounded(self, x: float) -> int:
        """⌊x/step + 1/2⌋."""
        return floor(Fraction(x) / self.step + Fraction(1, 2))

    @cached_property
    def cells(self) -> tuple[tuple[int, int], ...]:
        """The first and last points of the cells. An edge is rounded as values are, which keeps
        the order."""
        cells = []
        for k, (low, high) in enumerate(pairwise(self.edges)):
            first = -_BEYOND if math.isinf(low) else self.rounded(low)
            last = _BEYOND if math.isinf(high) else self.rounded(high)
            if k + 2 < len(self.edges):
                last -= 1
            cells.append((first, last))
        return tuple(cells)

    def shares(self) -> list[Fraction]:
        """The weight of each cell over that of all."""
        weights = [Fraction(w) for w in self.weight]
        total = sum(weights)
        return [w / total for w in weights]

    def node_shifts(self, gain: int, lose: int) -> tuple[int, int] | None:
        """The first and the last whole difference, in nodes of the dual, that values of two cells
        can have within the sensitivity; None if there is none."""
        nodes = self.dual["nodes_per_sensitivity"] if self.dual else 1
        per_unit = nodes / Fraction(self.privacy.sensitivity)
        low, high = Fraction(-nodes), Fraction(nodes)
        if not math.isinf(self.edges[gain]) and not math.isinf(self.edges[lose + 1]):
            d = (Fraction(self.edges[gain]) - Fraction(self.edges[lose + 1])) * per_unit
            if d >= nodes:
                return None
            low = max(low, d)
        if not math.isinf(self.edges[gain + 1]) and not math.isinf(self.edges[lose]):
            d = (Fraction(self.edges[gain + 1]) - Fraction(self.edges[lose])) * per_unit
            if d <= -nodes:
                return None
            high = min(high, d)
        first, last = ceil(low), floor(high)
        return (first, last) if first <= last else None


def decode(value: Any) -> Spec:
    """The additive kernel that a file holds."""
    f = read(value, _FILE)
    check_format(f, FORMAT)
    grid, certificate = f["grid"], f["certificate"]
    cap, cap_loss = cap_of(f)
    spec = Spec(
        privacy=privacy(f["privacy"]),
        loss=parse_loss(f["loss"]["name"]),
        edges=(f.get("lower", -math.inf), *f["edges"], f.get("upper", math.inf)),
        weight=f["weight"],
        cap=cap,
        cap_loss=cap_loss,
        exponent=grid["granularity_exponent"],
        points=grid["points_per_bin"],
        first_bin=grid["first_bin"],
        rows=f["rows"],
        dual=certificate.get("dual"),
        certificate=certificate,
    )
    want(abs(spec.exponent) <= 900, "grid.granularity_exponent", spec.exponent, "an integer from -900 to 900")
    want(1 <= spec.points <= 1 << 30, "grid.points_per_bin", spec.points, "an integer from 1 to 2^30")
    want(abs(spec.first_bin) <= 1 << 20, "grid.first_bin", spec.first_bin, "at most 2^20 in absolute value")
    near = spec.distance <= _MAX_BINS * spec.points
    want(near, "sensitivity", spec.privacy.sensitivity, f"at most {_MAX_BINS} bins of the grid")
    _check_cells(spec)
    check_claims(certificate, CLAIMS)
    if spec.dual is not None:
        _check_dual(spec, spec.dual)
    return spec


def _check_cells(s: Spec) -> None:
    n = len(s.edges) - 1
    want(n <= _MAX_CELLS, "edges", f"{n + 1} edges", f"2 to {_MAX_CELLS + 1}")
    before: int | None = None
    for i, x in enumerate(s.edges):
        if math.isinf(x):
            continue
        field = f"edges[{i}]"
        want(i == 0 or x > s.edges[i - 1], field, x, "numbers in ascending order")
        point = s.rounded(x)
        want(abs(point) <= MAX_INTEGER, field, x, "at most 2^53 steps of the grid")
        want(before is None or point > before, field, x, "edges at least a step of the grid apart")
        before = point
    for k, w in enumerate(s.weight):
        want(w >= 0, f"weight[{k}]", w, "a finite number >= 0")
    fits = len(s.weight) == n and any(w > 0 for w in s.weight)
    want(fits, "weight", f"{len(s.weight)} numbers", f"{n}, one per cell, and one of them above 0")
    want(len(s.rows) == n, "rows", f"{len(s.rows)} rows", f"{n}, one per cell")
    bins, most = len(s.rows[0]), min(_MAX_BINS, _MAX_WEIGHTS // n)
    want(1 <= bins <= most, "rows[0]", f"{bins} weights", f"1 to {most}")
    check_rows(s.rows, bins, "as the first")


def _check_dual(s: Spec, d: Fields) -> None:
    cells, nodes = len(s.edges) - 1, d["nodes_per_sensitivity"]
    want(1 <= nodes <= _MAX_BINS, "dual.nodes_per_sensitivity", nodes, f"1 to {_MAX_BINS}")
    want(abs(d["exponent"]) <= MAX_EXPONENT, "dual.exponent", d["exponent"], f"-{MAX_EXPONENT} to {MAX_EXPONENT}")
    want(len(d["caps"]) in (0, cells), "dual.caps", f"{len(d['caps'])} multipliers", f"none or {cells}, one per cell")
    seen: set[tuple[int, int, int]] = set()
    left, price = MAX_MULTIPLIERS, 0
    spans: dict[tuple[int, int], tuple[int, int] | None] = {}
    for m in d["shifts"]:
        gain, lose, shift = m["gain"], m["lose"], m["shift"]
        name = f"shift {shift} of cells {gain} and {lose}"
        want(0 <= gain < cells and 0 <= lose < cells, "dual.shifts", name, f"two of {cells} cells")
        if (gain, lose) not in spans:
            spans[gain, lose] = s.node_shifts(gain, lose)
        span = spans[gain, lose]
        had = span is not None and span[0] <= shift <= span[1] and not (gain == lose and shift == 0)
        want(had, "dual.shifts", name, "one that values of the cells can have within the sensitivity")
        want((gain, lose, shift) not in seen, "dual.shifts", name, "each once")
        seen.add((gain, lose, shift))
        left -= len(m["multipliers"])
        want(left >= 0, "dual.multipliers", "too many", f"at most {MAX_MULTIPLIERS} in all")
        inside = abs(m["first"]) <= _MAX_NODE and m["first"] + len(m["multipliers"]) <= _MAX_NODE
        want(inside, "dual.first", m["first"], f"nodes from {-_MAX_NODE} to {_MAX_NODE}")
        price += largest(m)
        want(price <= 1 << 61, "dual.multipliers", "too large", "the largest of each shift to sum to at most 2^61")
    price += sum(d["caps"])
    want(price <= 1 << 61, "dual.caps", "too large", "numbers, with the prices of all shifts, of at most 2^61")


def largest(m: Fields) -> int:
    """The price of a shift of the dual: its largest multiplier."""
    most: int = max((m["below"], m["above"], *m["multipliers"]))
    return most
