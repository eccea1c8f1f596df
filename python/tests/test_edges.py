# SPDX-License-Identifier: Apache-2.0
"""What a file states and promises, moved by next to nothing to either side of what is proved: in the
direction that says less it is accepted, and in the other refused."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
import shutil
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from conftest import BUNDLES, EXPECTED, FILES, file

import noisewright as nw
from noisewright import _bundlecheck
from noisewright._divergence import ratio_down
from noisewright._exact import RATIO_BITS, float_down, float_up
from noisewright._load import parse

SOUND = [
    p
    for p in FILES
    if EXPECTED["files"][p.stem]["code"] == 0
    and p.stat().st_size < 12_000
    and not p.stem.startswith(("local-nodes", "plan-"))
]
# What certificates call a number, and what a proof does.
NAMES = {"delta": "delta_upper"}
DUALS = ("integer-tail", "additive", "kernel")  # files with one
TINY = "0." + "0" * 300 + "1"


def decimal(x: Fraction, places: int, up: bool) -> str:
    """A plain decimal that is not below x, or not above it."""
    n = -(-x * 10**places // 1) if up else x * 10**places // 1
    digits = str(n).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}"


def replaced(text: str, field: str, value: str) -> bytes:
    """Another string, or number, in the first place of a field that holds one."""
    kind = r'"[0-9.]*"' if value.startswith('"') else r"[0-9][-+0-9.eE]*"
    out, n = re.subn(rf'("{field}":\s*){kind}', lambda m: m[1] + value, text, count=1)
    assert n == 1
    return out.encode()


def holds(raw: bytes) -> None:
    parse(raw).verify()


@pytest.mark.parametrize("path", SOUND, ids=lambda p: p.stem)
def test_claims_to_the_last_digit(path: Path) -> None:
    text = path.read_text()
    found: Any = nw.load(path).verify()
    claims = [name for name in json.loads(text)["certificate"] if name != "dual"]
    for name in claims:
        truth: Fraction = getattr(found, NAMES.get(name, name))
        below = decimal(truth - Fraction(1, 10**100), 100, up=False) if truth else None
        above = decimal(truth + Fraction(1, 10**100), 100, up=True)
        exact = decimal(truth, 700, up=name != "lower_bound")
        weaker, stronger = (below, above) if name == "lower_bound" else (above, below)
        for value in (weaker, exact):
            if value is not None:
                holds(replaced(text, name, f'"{value}"'))
        if stronger is not None:
            with pytest.raises(nw.FalseClaimError, match=name):
                holds(replaced(text, name, f'"{stronger}"'))
    delta: Fraction = found.delta_upper
    if delta:
        holds(replaced(text, "delta", repr(float_up(delta))))
        with pytest.raises(nw.NotPrivateError):
            holds(replaced(text, "delta", repr(math.nextafter(float_down(delta), 0))))


def table(**changes: Any) -> bytes:
    """Three cells of points 2^-10 apart, with changes to its fields."""
    points = changes.pop("points", 3)
    cells = changes.pop("cells", 1)
    quarter = 1 << 62
    made: dict[str, Any] = {
        "format": "noisewright-table",
        "version": 1,
        "privacy": {"epsilon": 1, "delta": 0.9, "sensitivity": changes.pop("sensitivity", points * cells / 1024)},
        "query": "real",
        "loss": {"name": "l1"},
        "grid": {
            "granularity_exponent": -10,
            "points_per_cell": points,
            "cells_per_sensitivity": cells,
            "first_cell": -1,
        },
        "weights": [str(quarter), str(2 * quarter), str(quarter)],
        "atom": "0",
        "certificate": {"delta": "0.9", "expected_loss": "100", "lower_bound": "0"},
    }
    made["grid"] |= changes.pop("grid", {})
    return json.dumps(made | changes).encode()


@pytest.mark.parametrize(("points", "cells"), [(1, 1), (3, 1), (1025, 1), (5, 2)])
def test_sensitivity_reaches(points: int, cells: int) -> None:
    weights = [str(1 << 60)] * 16
    reach = points * cells / 1024
    holds(table(points=points, cells=cells, sensitivity=reach, weights=weights))
    with pytest.raises(nw.NotPrivateError, match="sensitivity"):
        holds(table(points=points, cells=cells, sensitivity=math.nextafter(reach, math.inf), weights=weights))


@pytest.mark.parametrize("atom", [0, 1 << 62])
def test_constraints_at_their_bounds(atom: int) -> None:
    quarter = 1 << 62
    noise = {"weights": [str(quarter), str(2 * quarter - atom), str(quarter)], "atom": str(atom)}

    def keeps(constraints: dict[str, Any], **changes: Any) -> bool:
        try:
            holds(table(**{**noise, **changes}, constraints=constraints))
        except nw.FalseClaimError as err:
            assert "constraints" in str(err)
            return False
        return True

    end = 4 / 1024
    assert keeps({"lower": -end, "upper": end})
    assert not keeps({"upper": math.nextafter(end, 0)})
    assert not keeps({"lower": math.nextafter(-end, 0)})
    assert keeps({"lower": -1, "upper": 0}, grid={"first_cell": -3})
    # A support holds 0, and so the atom.
    for bounds in ({"upper": -5e-324}, {"lower": 5e-324}):
        with pytest.raises(nw.InvalidError):
            holds(table(**noise, constraints=bounds))
    assert keeps({"symmetric": True, "unbiased": True, "monotone": True}) == (atom == 0 or atom == quarter)
    moved = {"weights": [str(quarter + 1), str(2 * quarter - atom), str(quarter - 1)]}
    assert not keeps({"symmetric": True}, **moved)
    assert not keeps({"unbiased": True}, **moved)
    outside = {"weights": [str(quarter + 1), str(quarter - 2), str(quarter + 1)], "atom": str(quarter)}
    assert keeps({"symmetric": True, "unbiased": True}, **outside)
    assert not keeps({"monotone": True}, **outside)
    if atom:  # 1/12 for each of the points -4 … 4 but 0
        assert keeps({"max_variance": 5 / 2**20})
        assert not keeps({"max_variance": math.nextafter(5 / 2**20, 0)})
        within = float_down(Fraction(5, 6))
        magnitude = 3 / 1024
        assert keeps({"quantiles": [{"probability": within, "magnitude": magnitude}]})
        assert not keeps({"quantiles": [{"probability": math.nextafter(within, 1), "magnitude": magnitude}]})
        assert keeps({"max_distinguishing": 0.5})
        assert not keeps({"max_distinguishing": math.nextafter(0.5, 0)})


@pytest.mark.parametrize("zeros", [(0, 0), (0, 1), (1, 0), (0, 3), (2, 0), (2, 3)])
def test_support_is_that_of_weights(zeros: tuple[int, int]) -> None:
    """Cells of no weight at either end are not part of the noise, and no others are left out."""
    before, after = zeros
    quarter = 1 << 62
    weights = [0] * before + [quarter, 2 * quarter, quarter] + [0] * after
    noise: dict[str, Any] = {"weights": [str(w) for w in weights], "grid": {"first_cell": -1 - before}}
    end = 4 / 1024
    holds(
        table(**noise, constraints={"symmetric": True, "unbiased": True, "monotone": True, "lower": -end, "upper": end})
    )
    for bounds in ({"lower": math.nextafter(-end, 0)}, {"upper": math.nextafter(end, 0)}):
        with pytest.raises(nw.FalseClaimError, match="support"):
            holds(table(**noise, constraints=bounds))


def test_quantile_to_the_last_unit() -> None:
    """Half of the noise is beyond 1/1024, and half is what may be."""
    for within, keeps in ((0.5, True), (math.nextafter(0.5, 1), False)):
        raw = table(constraints={"quantiles": [{"probability": within, "magnitude": 1 / 1024}]})
        if keeps:
            holds(raw)
        else:
            with pytest.raises(nw.FalseClaimError, match="quantiles"):
                holds(raw)


@pytest.mark.parametrize(("far", "middle", "unbiased"), [(2, 2, True), (2, 3, False), (1, 2, False), (3, 1, False)])
@pytest.mark.parametrize("mirrored", [False, True])
def test_mean_of_a_tail(far: int, middle: int, unbiased: bool, mirrored: bool) -> None:
    """With a ratio of 1/2 a tail from 1 on has the mean 2, from 2 on 3: 4 of 2 on one side are as much as
    2 of 3 and 2 of 1 on the other."""
    unit = 1 << 59
    weights = [4 * unit, 0, middle * unit, far * unit]
    weights[1] = (1 << 64) - sum(weights)
    raw = table(
        points=1,
        cells=1,
        sensitivity=1,
        query="integer",
        grid={"granularity_exponent": 0, "first_cell": -2 if mirrored else -1},
        weights=[str(w) for w in (weights[::-1] if mirrored else weights)],
        tail_ratio=str(1 << 63),
        certificate={"delta": "0.9", "expected_loss": "100", "lower_bound": "0"},
        constraints={"unbiased": True},
    )
    if unbiased:
        holds(raw)
    else:
        with pytest.raises(nw.FalseClaimError, match="unbiased"):
            holds(raw)


@pytest.mark.parametrize("mirrored", [False, True])
def test_monotone_tail(mirrored: bool) -> None:
    """Where a block ends, the next period of it begins, ratio times as likely as it."""
    for last, monotone in (((1 << 39) + 1, True), (1 << 39, True), ((1 << 39) - 1, False)):
        block = [1 << 40, last]
        other = [1 << 40, 1 << 40]
        sides = [other, block] if not mirrored else [block[::-1], other]
        middle = (1 << 64) - sum(map(sum, sides))
        raw = table(
            points=1,
            cells=2,
            sensitivity=2,
            query="integer",
            grid={"granularity_exponent": 0, "first_cell": -2},
            weights=[str(w) for w in [*sides[0], middle, *sides[1]]],
            tail_ratio=str(1 << 63),
            privacy={"epsilon": 60, "delta": 0.99, "sensitivity": 2},
            certificate={"delta": "0.99", "expected_loss": "100", "lower_bound": "0"},
            constraints={"monotone": True},
        )
        if monotone:
            holds(raw)
        else:
            with pytest.raises(nw.FalseClaimError, match="monotone"):
                holds(raw)


def response(epsilon: float, weight: int, form: str = "randomizer", **changes: Any) -> bytes:
    """Randomized response with this weight of the other answer."""
    truth, other = str((1 << 64) - weight), str(weight)
    made: dict[str, Any] = {"format": f"noisewright-{form}", "version": 1}
    if form == "kernel":
        made |= {
            "privacy": {"epsilon": epsilon, "delta": 0, "sensitivity": 1},
            "queries": {"lower": 0, "upper": 1},
            "loss": {"name": "l1"},
            "edges": [0, 0.5, 1],
            "nodes": [0, 1],
            "certificate": {"delta": "0", "expected_loss": "1", "max_loss": "1", "lower_bound": "0"},
        }
    else:
        made |= {
            "epsilon": epsilon,
            "delta": 0,
            "values": {"kind": "integer", "lower": 0, "upper": 1},
            "objective": "mean",
            "demands": {"unbiased": False},
            "loss": {"name": "l1"},
            "nodes": [0, 1],
            "answers": [0, 1],
            "certificate": {"delta": "0", "mean_loss": "100", "worst_loss": "100", "bias": "1", "lower_bound": "0"},
        }
    made["rows"] = [[truth, other], [other, truth]]
    return json.dumps(made | changes).encode()


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("form", ["randomizer", "kernel"])
def test_pure_to_a_unit(form: str, epsilon: float) -> None:
    ratio = ratio_down(epsilon)
    least = -(-(1 << 64 + RATIO_BITS) // (ratio + (1 << RATIO_BITS)))
    holds(response(epsilon, least, form))
    with pytest.raises(nw.NotPrivateError):
        holds(response(epsilon, least - 1, form))
    with pytest.raises(nw.NotPrivateError):
        holds(response(math.nextafter(epsilon, 0), least, form))


def test_unbiased_exactly() -> None:
    """Answers of 1/4 and 3/4 with weights of 3/4 and 1/4, so that means are nodes, and next to it."""
    quarter = 1 << 62
    demands = {"unbiased": True}
    answers = [-0.5, 1.5]
    holds(response(2.0, quarter, answers=answers, demands=demands))
    for rows, values in (
        ([[3 * quarter + 1, quarter - 1], [quarter, 3 * quarter]], answers),
        ([[3 * quarter, quarter], [quarter - 1, 3 * quarter + 1]], answers),
        ([[3 * quarter, quarter], [quarter, 3 * quarter]], [-0.5, math.nextafter(1.5, 2)]),
        ([[3 * quarter, quarter], [quarter, 3 * quarter]], [math.nextafter(-0.5, 0), 1.5]),
    ):
        made = json.loads(response(2.0, quarter, answers=values, demands=demands))
        made["rows"] = [[str(w) for w in row] for row in rows]
        with pytest.raises(nw.FalseClaimError, match="unbiased"):
            holds(json.dumps(made).encode())


def test_cap_to_a_unit() -> None:
    text = file("local-worst").read_text()
    worst = parse(text.encode()).verify().worst_loss  # type: ignore[union-attr]
    made = json.loads(text)
    for cap, keeps in ((float_up(worst), True), (math.nextafter(float_down(worst), 0), False)):
        made["demands"]["cap"] = cap
        made["certificate"].pop("dual", None)
        made["certificate"]["lower_bound"] = "0"
        raw = json.dumps(made).encode()
        if keeps:
            holds(raw)
        else:
            with pytest.raises(nw.FalseClaimError, match="cap"):
                holds(raw)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_lower_bound_of_response(epsilon: float) -> None:
    """No bound on the loss of randomized response is above the optimum, 1/(e^ε + 1)."""
    # e^ε from above, to 2^-300.
    term, e, n = Fraction(1), Fraction(1), 0
    while term > Fraction(1, 1 << 300):
        n += 1
        term *= Fraction(epsilon) / n
        e += term
    e += 2 * term
    optimum = 1 / (e + 1)
    made = json.loads(file("categories").read_text())
    made["epsilon"] = epsilon
    made["values"] = {"kind": "category", "lower": 0, "upper": 0, "labels": ["a", "b"]}
    made["answer_labels"] = ["a", "b"]
    made["costs"] = [[0, 1], [1, 0]]
    half = str(1 << 63)
    made["rows"] = [[half, half], [half, half]]
    made["certificate"] = {"delta": "0", "mean_loss": "1", "worst_loss": "1", "bias": "0", "lower_bound": "0"}
    best = Fraction(0)
    for i in range(-30, 31):
        total = 0.5 / (math.exp(epsilon) + 1) * (1 + i * (2.0**-53 if abs(i) < 20 else 1e-4))
        made["certificate"]["dual"] = {"nodes": [], "totals": [total, total]}
        found: Fraction = parse(json.dumps(made).encode()).verify().lower_bound
        assert found <= optimum
        best = max(best, found)
    assert optimum - best < Fraction(1, 1 << 48)


@pytest.mark.parametrize("path", [b for b in BUNDLES if EXPECTED["bundles"][b.name]["code"] == 0], ids=lambda p: p.name)
def test_promises_of_bundles(path: Path, tmp_path: Path) -> None:
    """A promise of what is proved is kept, and one a unit in the last place below it is not."""
    found: Any = nw.load(path).verify()
    text = (path / "bundle.json").read_text()
    copy = tmp_path / "bundle"
    shutil.copytree(path, copy)
    for name, truth in (("epsilon", found.epsilon_upper), ("delta", found.delta_upper)):
        if not truth or (name == "epsilon" and json.loads(text)["noise"].get("composition") == "l2"):
            continue  # nothing below 0; a delta is at the epsilon that is promised
        for value, kept in ((float_up(truth), True), (math.nextafter(float_down(truth), 0), False)):
            changed, n = re.subn(rf'("privacy":\s*{{[^}}]*"{name}":\s*)[0-9.e+-]+', rf"\g<1>{value!r}", text)
            assert n == 1
            (copy / "bundle.json").write_text(changed)
            if kept:
                nw.load(copy)
            else:
                with pytest.raises(nw.NotPrivateError, match=name):
                    nw.load(copy)


@pytest.mark.parametrize(("sensitivity", "both"), [(9.0, False), (math.nextafter(9, 10), True), (10.0, True)])
def test_cells_at_the_sensitivity(sensitivity: float, both: bool) -> None:
    """Cells are compared from the sensitivity on at which a value of one has a neighbor in the other."""
    bins = 1 << 11
    left = [1 << 54] * (bins // 2) + [0] * (bins // 2)
    rows = [left, [1 << 53] * bins, left[::-1]]
    made = {
        "format": "noisewright-additive-kernel",
        "version": 1,
        "privacy": {"epsilon": 0, "delta": 0.9999999, "sensitivity": sensitivity},
        "loss": {"name": "l1"},
        "edges": [0, 9],
        "weight": [1, 1, 1],
        "grid": {"granularity_exponent": 0, "points_per_bin": 1, "first_bin": -bins // 2},
        "rows": [[str(w) for w in row] for row in rows],
        "certificate": {"delta": "1", "expected_loss": "5000", "max_loss": "5000", "lower_bound": "0"},
    }
    if both:  # noise that the other cannot have
        with pytest.raises(nw.NotPrivateError):
            holds(json.dumps(made).encode())
    else:
        holds(json.dumps(made).encode())


@pytest.mark.parametrize(("offset", "keeps"), [(-1, True), (1, True), (2, False)])
def test_monotone_noise_holds_0(offset: int, keeps: bool) -> None:
    """Noise that falls from a point beside 0 on is not monotone: it rises from 0 to there."""
    eighths = [4, 2, 1, 1]
    for mirrored in (False, True):
        weights = [str(w << 61) for w in (eighths[::-1] if mirrored else eighths)]
        grid = {
            "granularity_exponent": 0,
            "first_cell": -3 if mirrored else 0,
            "offset": -offset if mirrored else offset,
        }
        raw = table(
            sensitivity=3,
            query="integer",
            grid=grid,
            weights=weights,
            constraints={"monotone": True},
            privacy={"epsilon": 3, "delta": 0.99, "sensitivity": 3},
            certificate={"delta": "0.99", "expected_loss": "100", "lower_bound": "0"},
        )
        if keeps:
            holds(raw)
        else:
            with pytest.raises(nw.FalseClaimError, match="monotone"):
                holds(raw)


def test_range_of_encodings_holds_their_errors() -> None:
    """The distance of encodings between bounds, by all signs, and what their computation may be off, exactly."""
    rng = random.Random(5)
    for z, n in [(1, 1), (2, 3), (4, 2)]:

        def draw(count: int, low: float = -3.0, high: float = 3.0) -> list[float]:
            return [rng.uniform(low, high) for _ in range(count)]

        spec = SimpleNamespace(
            lower=np.array(draw(n, -9, -4)),
            upper=np.array(draw(n, 4, 9)),
            mean=np.array(draw(n)),
            offset=np.array(draw(z)),
            encoder=np.array([draw(n) for _ in range(z)]),
            axes=draw(z, 1, 9),
        )
        step = 2.0**-10
        widths = [Fraction(u) - Fraction(v) for u, v in zip(spec.upper.tolist(), spec.lower.tolist(), strict=True)]
        rows = [[Fraction(w) * d for w, d in zip(row, widths, strict=True)] for row in spec.encoder.tolist()]
        distance = max(
            sum(
                (abs(sum((s * row[j] for s, row in zip(signs, rows, strict=True)), Fraction(0))) for j in range(n)),
                Fraction(0),
            )
            for signs in itertools.product([1, -1], repeat=z)
        )
        total = Fraction(0)
        for row, o, axis in zip(spec.encoder.tolist(), spec.offset.tolist(), spec.axes, strict=True):
            for w, u, v, m in zip(row, spec.upper.tolist(), spec.lower.tolist(), spec.mean.tolist(), strict=True):
                total += abs(Fraction(w)) * max(abs(Fraction(u) - Fraction(m)), abs(Fraction(v) - Fraction(m)))
            total += abs(Fraction(o)) + Fraction(axis) + Fraction(step)
        errors = 4 * (n + 16) * Fraction(2) ** -52 * total
        rounded = (z + n + 8) * Fraction(2) ** -51 * total  # of the signs
        found = Fraction(_bundlecheck._range_with_errors(cast("Any", spec), step))
        more = errors + 2 * rounded + distance * Fraction(2) ** -48
        assert distance + errors * Fraction(999, 1000) < found < distance + more


def shifted(**changes: Any) -> dict[str, Any]:
    """Changes to the first shift, or pair, of a dual."""
    return {"first of all": changes}


@pytest.mark.parametrize(
    ("name", "change", "good"),
    [
        *((name, {"exponent": e}, abs(e) <= 2000) for name in DUALS for e in (2000, -2000, 2001, -2001)),
        *((name, {"caps": n}, n == 0) for name in ("additive", "kernel") for n in (0, 1, 99)),
        *(("integer-tail", {"cells_per_sensitivity": k}, False) for k in (0, 1 << 30)),
        *(("integer-tail", shifted(shift=s), False) for s in (0, 99, -99)),
        *(("integer-tail", shifted(first_cell=c), abs(c) <= 1 << 30) for c in (1 << 30, (1 << 30) + 1, -(1 << 30) - 1)),
        *(("integer-tail", shifted(multipliers=[str(m)]), m <= 1 << 61) for m in (1 << 61, (1 << 61) + 1)),
        *(("additive", shifted(gain=k), False) for k in (-1, 99)),
        *(("additive", shifted(lose=k), False) for k in (-1, 99)),
        *(("additive", shifted(shift=s), False) for s in (10**6, -(10**6))),
        ("additive", shifted(gain=0, lose=0, shift=0), False),
        *(("additive", shifted(**{x: str((1 << 61) + 1)}), False) for x in ("below", "above")),
        *(("kernel", shifted(gain=k), False) for k in (-1, 10**4)),
        *(("kernel", shifted(lose=k), False) for k in (-1, 10**4)),
        ("kernel", shifted(gain=0, lose=0), False),
        ("kernel", shifted(first=-1), False),
        ("kernel", {"cells": 0}, False),
        *((name, {"twice": True}, False) for name in DUALS),
    ],
)
def test_duals_are_of_neighbors(name: str, change: dict[str, Any], good: bool) -> None:
    """What is refused before it is computed with: multipliers of no neighbors would prove too much."""
    made = json.loads(file(name).read_bytes())
    dual = made["certificate"]["dual"]
    listed = dual["pairs" if name == "kernel" else "shifts"]
    del listed[1:]
    listed[0] |= change.pop("first of all", {})
    if change.pop("twice", False):
        listed.append(listed[0])
    if "caps" in change:
        change["caps"] = ["1"] * change["caps"]
    dual |= change
    raw = json.dumps(made).encode()
    if good:
        parse(raw)
    else:
        with pytest.raises(nw.InvalidError, match="dual"):
            parse(raw)


def test_kernel_pairs_within_the_sensitivity() -> None:
    """Two cells of a dual are as far apart as the sensitivity reaches, and no further."""
    made = json.loads(file("kernel").read_bytes())
    dual = made["certificate"]["dual"]
    width = Fraction(made["queries"]["upper"] - made["queries"]["lower"]) / dual["cells"]
    reach = int(Fraction(made["privacy"]["sensitivity"]) / width)
    assert 0 < reach < dual["cells"] - 1
    pair = dual["pairs"][0] | {"multipliers": []}
    for lose, good in ((reach, True), (reach + 1, False)):
        dual["pairs"] = [pair | {"gain": 0, "lose": lose}]
        raw = json.dumps(made).encode()
        if good:
            parse(raw)
        else:
            with pytest.raises(nw.InvalidError, match=r"dual\.pairs"):
                parse(raw)
