# SPDX-License-Identifier: Apache-2.0
"""The file of noise in the plane, version 1, read strictly, and its check: docs/plane-format.md."""

from __future__ import annotations

from collections.abc import Iterator
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
    hold_claims,
    hold_delta,
    privacy,
    want,
)
from noisewright._divergence import Weights, probability, ratio_down
from noisewright._exact import RATIO_BITS, bits_of, ceil, exp_up, floor, power_of_two
from noisewright._law import MAX_INTEGER
from noisewright._loss import L1_LOSS, L2_LOSS
from noisewright._lossnames import parse_loss
from noisewright._meter import Meter, rational_work
from noisewright._strictjson import SIGNED, WIDE, Decimal, Fields, Many, Record, Text, Whole, check_format, read

FORMAT = "noisewright-plane"
MAX_SIZE = 1 << 26
_MAX_RINGS = 127
_MAX_CELLS = 64
_MAX_POINTS = 1 << 40
_MAX_STEP_EXPONENT = 900
_MAX_NODE = 255
_MAX_PRICE = 1 << 61

_DUAL = Record(
    {
        "cells_per_sensitivity": WIDE,
        "exponent": WIDE,
        "shifts": Many(
            Record(
                {
                    "x": WIDE,
                    "y": WIDE,
                    "rows": Many(
                        Record({"x": WIDE, "first": WIDE, "multipliers": Many(SIGNED, MAX_MULTIPLIERS)}),
                        2 * _MAX_NODE + 1,
                    ),
                }
            ),
            2 * _MAX_CELLS * _MAX_CELLS,
        ),
    }
)
_FILE = Record(
    {
        "format": Text(),
        "version": Whole(),
        "privacy": PRIVACY,
        "norm": Text(),
        "query": Text(),
        "loss": LOSS,
        "grid": Record({"granularity_exponent": WIDE, "points_per_cell": WIDE, "cells_per_sensitivity": WIDE}),
        "weights": Many(Decimal(), (_MAX_RINGS + 1) ** 2),
        "certificate": Record({"delta": Text(), "expected_loss": Text(), "lower_bound": Text(), "dual?": _DUAL}),
    }
)
CLAIMS = (Claim("delta"), Claim("expected_loss"), Claim("lower_bound", up=False))


@dataclass(frozen=True)
class Spec:
    """The content of noise in the plane, well-formed."""

    privacy: Privacy
    norm: str
    integer: bool
    absolute: bool  # the loss: l1, or l2
    exponent: int  # of the step 2^exponent
    points: int  # of a cell, along each axis
    cells: int  # per sensitivity
    rings: int
    weights: tuple[int, ...]
    dual: Fields | None
    certificate: Fields

    @property
    def span(self) -> bool:
        return self.norm == "span"

    @property
    def turned(self) -> bool:
        """Whether noise is added to the sum and the difference of the numbers."""
        return self.norm == "l1" and not self.integer

    @property
    def step(self) -> float:
        return 2.0**self.exponent

    @property
    def limit(self) -> int:
        """Of rounded values: answers are float64s."""
        return (MAX_INTEGER // 2 if self.turned else MAX_INTEGER) - (self.rings + 1) * self.points

    @cached_property
    def law(self) -> dict[tuple[int, int], int]:
        """The weights of cells of which all others are images."""
        return dict(zip(originals(self.rings, self.span), self.weights, strict=True))

    def shifts(self, most: int) -> Iterator[tuple[int, int]]:
        """Those within so many cells, but for images."""
        for k, m in originals(most, self.span):
            size = k if self.norm == "linf" or self.turned else k - min(0, m) if self.span else k + m
            if 0 < size <= most:
                yield k, m


def originals(rings: int, span: bool) -> Iterator[tuple[int, int]]:
    """Cells of which all others in so many rings are images, in the order of weights."""
    return ((i, j) for i in range(rings + 1) for j in range(-i if span else 0, i + 1))


def original(i: int, j: int, span: bool) -> tuple[int, int]:
    """That of which a cell is an image."""
    if span:
        return max((i, j), (j, i), (-i, -j), (-j, -i), key=lambda c: (c[0] >= abs(c[1]), c))
    i, j = abs(i), abs(j)
    return max(i, j), min(i, j)


def images(i: int, j: int, span: bool) -> int:
    """How many cells are images of one, itself included."""
    signs = ((1, 1), (-1, -1)) if span else ((1, 1), (1, -1), (-1, 1), (-1, -1))
    return len({(a * x, b * y) for a, b in signs for x, y in ((i, j), (j, i))})


def decode(value: Any) -> Spec:
    """Noise from the parsed file."""
    fields = read(value, _FILE)
    check_format(fields, FORMAT)
    certificate, norm, query, grid = (fields[name] for name in ("certificate", "norm", "query", "grid"))
    check_claims(certificate, CLAIMS)
    p = privacy(fields["privacy"])
    want(norm in ("linf", "l1", "span"), "norm", repr(norm[:40]), "linf or l1 or span")
    want(query in ("real", "integer"), "query", repr(query[:40]), "real or integer")
    integer = query == "integer"
    want(integer or norm != "span", "norm", norm, "linf or l1 for real values")
    loss = parse_loss(fields["loss"]["name"])
    want(loss is L1_LOSS or loss is L2_LOSS, "loss", repr(fields["loss"]["name"][:60]), "l1 or l2")
    e, points, cells = (grid[n] for n in ("granularity_exponent", "points_per_cell", "cells_per_sensitivity"))
    most = 0 if integer else _MAX_STEP_EXPONENT
    want(abs(e) <= most, "granularity_exponent", e, f"-{most} to {most}")
    want(1 <= points <= _MAX_POINTS and points % 2 == 1, "points_per_cell", points, f"odd, 1 to {_MAX_POINTS}")
    want(1 <= cells <= _MAX_CELLS, "cells_per_sensitivity", cells, f"1 to {_MAX_CELLS}")
    weights, span = fields["weights"], norm == "span"
    sizes = [(r + 1) ** 2 if span else (r + 1) * (r + 2) // 2 for r in range(_MAX_RINGS + 1)]
    want(len(weights) in sizes, "weights", len(weights), f"those of at most {_MAX_RINGS} whole rings of cells")
    rings = sizes.index(len(weights))
    s = Spec(p, norm, integer, loss is L1_LOSS, e, points, cells, rings, weights, certificate.get("dual"), certificate)
    want(not (s.turned and s.absolute), "loss", "l1", "l2 for real values and the norm l1")
    square = norm == "linf" or s.turned
    want(square or points == 1, "points_per_cell", points, f"1 for whole numbers and the norm {norm}")
    total = sum(w * images(*cell, span) for cell, w in s.law.items())
    want(total == 1 << 64, "weights", f"a sum of {total} over all cells", "exactly 2^64")
    sensitivity = Fraction(p.sensitivity)
    want(not integer or sensitivity.denominator == 1, "sensitivity", p.sensitivity, "a whole number")
    needed = ceil(sensitivity / power_of_two(e)) + s.turned
    want(needed <= cells * points, "sensitivity", p.sensitivity, "one that the cells cover")
    if s.dual is not None:
        _check_dual(s, s.dual)
    return s


def _check_dual(s: Spec, dual: Fields) -> None:
    k, price, count = dual["cells_per_sensitivity"], 0, 0
    most = min(_MAX_CELLS, floor(Fraction(s.privacy.sensitivity))) if s.integer else _MAX_CELLS
    want(1 <= k <= most, "dual.cells_per_sensitivity", k, f"1 to {most}")
    want(abs(dual["exponent"]) <= MAX_EXPONENT, "dual.exponent", dual["exponent"], f"-{MAX_EXPONENT} to {MAX_EXPONENT}")
    allowed = set(s.shifts(k))
    for shift in dual["shifts"]:
        at = shift["x"], shift["y"]
        want(at in allowed, "dual.shifts", at, "shifts within the sensitivity, each once")
        allowed.remove(at)
        last, largest = -_MAX_NODE - 1, 0
        for row in shift["rows"]:
            x, first, multipliers = row["x"], row["first"], row["multipliers"]
            want(last < x <= _MAX_NODE, "dual.rows", x, f"ascending nodes from -{_MAX_NODE} to {_MAX_NODE}")
            inside = first >= -_MAX_NODE and first + len(multipliers) - 1 <= _MAX_NODE
            want(inside, "dual.first", first, f"nodes from -{_MAX_NODE} to {_MAX_NODE}")
            last, count, largest = x, count + len(multipliers), max((largest, *multipliers))
        price += largest
        want(count <= MAX_MULTIPLIERS, "dual.multipliers", "too many", f"at most {MAX_MULTIPLIERS}")
        want(price <= _MAX_PRICE, "dual.multipliers", "too large", "the largest of all shifts to sum to at most 2^61")


def verify(s: Spec, meter: Meter) -> dict[str, Any]:
    """What exact arithmetic finds, against which promise and claims are held."""
    delta = _delta(s, meter)
    hold_delta(s.privacy.delta, delta, "between two pairs of numbers")
    proved = [delta, _expected(s, meter), _bound(s, meter)]
    hold_claims(s.certificate, CLAIMS, proved)
    names = ("delta_upper", "expected_loss", "lower_bound")
    return {**dict(zip(names, proved, strict=True)), "work": meter.used}


def _delta(s: Spec, meter: Meter) -> Fraction:
    """The largest divergence between the noise and itself moved: all cells are in a row, with so many empty
    ones after each line that a shift in the plane is one of the row."""
    r = s.rings
    line = 2 * r + 1 + s.cells
    row = [0] * (line * (2 * r + 1))
    for i in range(-r, r + 1):
        for j in range(-r, r + 1):
            row[line * (i + r) + j + r] = s.law[original(i, j, s.span)]
    law, worst = Weights(row, ratio_down(s.privacy.epsilon)), 0
    for k, m in s.shifts(s.cells):
        meter.spend(len(row) + 64)
        worst = max(worst, law.shifted(law, k * line + m))
    return probability(worst)


def _expected(s: Spec, meter: Meter) -> Fraction:
    """The mean loss of both coordinates, each uniform in a cell."""
    meter.spend(20 * len(s.weights))
    points, step = s.points, power_of_two(s.exponent)
    if s.absolute:
        mean = [Fraction(points * i) if i else Fraction(points * points - 1, 4 * points) for i in range(s.rings + 1)]
    else:
        mean = [Fraction((points * i) ** 2) + Fraction(points * points - 1, 12) for i in range(s.rings + 1)]
        step *= step
    along = [0] * (s.rings + 1)  # the weight of cells with |i|, and that of those with |j|
    for (i, j), w in s.law.items():
        n = images(i, j, s.span)
        along[i] += w * n
        along[abs(j)] += w * n
    loss = sum((m * w for m, w in zip(mean, along, strict=True)), Fraction(0)) * step / (1 << 64)
    return loss / 2 if s.turned else loss


def _bound(s: Spec, meter: Meter) -> Fraction:
    """What the dual proves; of nodes further out than multipliers reach none is the least (docs/proofs/plane.md)."""
    if s.dual is None:
        return Fraction(0)
    own: dict[tuple[int, int], int] = {}
    taken: dict[tuple[int, int], int] = {}
    extent = count = price = 0
    for shift in s.dual["shifts"]:
        k, m, largest = shift["x"], shift["y"], 0
        for row in shift["rows"]:
            x = row["x"]
            for y, value in enumerate(row["multipliers"], row["first"]):
                if value:
                    count, largest = count + 1, max(largest, value)
                    extent = max(extent, abs(x), abs(y), abs(x - k), abs(y - m))
                    gain, lose = original(x, y, s.span), original(x - k, y - m, s.span)
                    own[gain] = own.get(gain, 0) + value
                    taken[lose] = taken.get(lose, 0) + value
        price += largest
    nodes = (extent + 1) ** 2 if s.span else (extent + 1) * (extent + 2) // 2
    sensitivity = Fraction(s.privacy.sensitivity)
    meter.spend(10 * count + nodes * 6 * rational_work(2 * bits_of(sensitivity) + 2 * RATIO_BITS + 200))
    beta = sensitivity / s.dual["cells_per_sensitivity"]
    if s.integer:
        beta = Fraction(floor(beta))
    exactly = s.integer and beta == 1
    if s.absolute:
        values = [i * beta for i in range(extent + 1)]
    else:
        values = [(i * beta) ** 2 - (0 if exactly else beta * beta / 4) for i in range(extent + 1)]
    unit, up = power_of_two(s.dual["exponent"]), exp_up(s.privacy.epsilon)
    least: Fraction | None = None
    for cell in originals(extent, s.span):
        bracket = values[cell[0]] + values[abs(cell[1])]
        moved = (own.get(cell, 0) << RATIO_BITS) - taken.get(cell, 0) * up
        if moved:
            bracket += moved * unit / (images(*cell, s.span) << RATIO_BITS)
        least = bracket if least is None else min(least, bracket)
    assert least is not None
    bound = max(Fraction(0), least - price * unit * Fraction(s.privacy.delta))
    return bound / 2 if s.turned else bound
