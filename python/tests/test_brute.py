# SPDX-License-Identifier: Apache-2.0
"""The numbers that checks of small kernels prove, in fractions, against sums over all points, shifts and
answers: the definitions of docs/proofs, written down once more and slowly."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from conftest import file

import noisewright as nw
from noisewright._additivecheck import _extent
from noisewright._exact import exp_down, exp_up
from noisewright._load import parse
from noisewright._loss import Loss, Piecewise
from noisewright._lossnames import parse_loss
from noisewright._strictjson import Fields
from noisewright._tablecheck import expected_loss

Json = dict[str, Any]

WORD = 1 << 64
MOST = 0.999999
HUGE = "999999999"


def law(rng: random.Random, count: int) -> list[str]:
    """Weights that sum to 2^64, some of them 0."""
    cuts = sorted(rng.choice((rng.randrange(1, WORD), rng.randrange(1, WORD), 0)) for _ in range(count - 1))
    row = [b - a for a, b in pairwise([0, *cuts, WORD])]
    if max(row) == WORD:  # which no weight is
        row = [WORD - 1, 1, *[0] * (count - 2)]
    rng.shuffle(row)
    return [str(w) for w in row]


def excess(p: dict[Any, Fraction], q: dict[Any, Fraction], epsilon: float) -> Fraction:
    """Σ (p - E·q)₊ with the E below e^ε that checks use."""
    ratio = Fraction(exp_down(epsilon), 1 << 96)
    return sum((max(w - ratio * q.get(z, Fraction(0)), Fraction(0)) for z, w in p.items()), Fraction(0))


def compare(made: Json, delta: Fraction, expected: Fraction, most: Fraction) -> None:
    """Holds what is proved against what is true, where the noise is private at all."""
    opened = parse(json.dumps(made).encode())
    if delta > Fraction(MOST):
        with pytest.raises(nw.NotPrivateError):
            opened.verify()
        return
    found: Any = opened.verify()
    assert (found.delta_upper, found.expected_loss, found.max_loss) == (delta, expected, most)


def additive(rng: random.Random) -> Json:
    """Noise on a few bins of a few points, with edges and a sensitivity that need be no whole bins."""
    cells, bins = rng.randint(1, 4), rng.randint(2, 6)
    made: Json = {
        "format": "noisewright-additive-kernel",
        "version": 1,
        "privacy": {"epsilon": rng.choice((0, 0.25, 2)), "delta": MOST, "sensitivity": rng.choice((1, 2.5, 7))},
        "loss": {"name": rng.choice(("l1", "l2", "pinball:0.25", "exceed:3"))},
        "edges": sorted(rng.sample([-12, -7, -2.5, 0, 3.5, 9], cells - 1)),
        "weight": [rng.choice((0, 1, 2.5)) for _ in range(cells - 1)] + [1],
        "grid": {
            "granularity_exponent": rng.choice((0, -1, 1)),
            "points_per_bin": rng.randint(1, 6),
            "first_bin": rng.randint(-bins, 1),
        },
        "rows": [law(rng, bins) for _ in range(cells)],
        "certificate": {"delta": "1", "expected_loss": HUGE, "max_loss": HUGE, "lower_bound": "0"},
    }
    made |= {name: end for name, end in (("lower", -20), ("upper", 20)) if rng.random() < 0.5}
    return made


def values_of(made: Json, step: Fraction) -> list[range]:
    """The rounded values of each cell, or enough of them."""
    ends = [made.get("lower", -40), *made["edges"], made.get("upper", 40)]
    points = [math.floor(Fraction(x) / step + Fraction(1, 2)) for x in ends]
    points[-1] += 1  # the last cell has its upper end
    return [range(a, b) for a, b in pairwise(points)]


@pytest.mark.parametrize("seed", range(40))
def test_additive_kernel_point_by_point(seed: int) -> None:
    made = additive(random.Random(seed))
    grid, privacy, loss = made["grid"], made["privacy"], parse_loss(made["loss"]["name"])
    size, step = grid["points_per_bin"], Fraction(2) ** grid["granularity_exponent"]
    laws = [
        {
            (grid["first_bin"] + j) * size - size // 2 + r: Fraction(int(w), WORD * size)
            for j, w in enumerate(row)
            for r in range(size)
        }
        for row in made["rows"]
    ]
    reach = math.ceil(Fraction(privacy["sensitivity"]) / step)
    delta = Fraction(0)
    cells = values_of(made, step)
    for p, gain in zip(laws, cells, strict=True):
        for q, lose in zip(laws, cells, strict=True):
            for s in {i - x for i in gain for x in range(i - reach, i + reach + 1) if x in lose}:
                # i + z and x + y are one answer where y = z + s.
                delta = max(delta, excess(p, {y - s: w for y, w in q.items()}, privacy["epsilon"]))
    losses = [sum((w * loss.at_down(z * step) for z, w in p.items()), Fraction(0)) for p in laws]
    shares = [Fraction(w) for w in made["weight"]]
    expected = sum((w * c for w, c in zip(shares, losses, strict=True)), Fraction(0)) / sum(shares)
    compare(made, delta, expected, max(losses))


def kernel(rng: random.Random) -> Json:
    n = rng.randint(2, 5)
    edges = sorted(rng.sample(range(-4, 6), n + 1))
    made: Json = {
        "format": "noisewright-kernel",
        "version": 1,
        "privacy": {"epsilon": rng.choice((0, 0.25, 2)), "delta": MOST, "sensitivity": rng.choice((1, 2, 5))},
        "queries": {"lower": edges[0], "upper": edges[-1]},
        "loss": {"name": rng.choice(("l1", "l2", "pinball:0.25", "pwl:-inf,-1;0,1e-58;1,-3e-59;2,1"))},
        "edges": edges,
        "nodes": sorted(rng.sample([x / 2 for x in range(-12, 14)], n)),
        "rows": [law(rng, n) for _ in range(n)],
        "certificate": {"delta": "1", "expected_loss": HUGE, "max_loss": HUGE, "lower_bound": "0"},
    }
    if rng.random() < 0.7:
        starts = [edges[0], *sorted(rng.sample([x / 4 for x in range(4 * edges[0] + 1, 4 * edges[-1])], 2))]
        made["queries"]["weight"] = [{"from": x, "weight": rng.choice((0.5, 1, 3))} for x in starts]
    return made


def densities(made: Json) -> list[tuple[Fraction, Fraction, Fraction]]:
    """Start, end and density of the pieces of the law of query values."""
    queries = made["queries"]
    pieces = queries.get("weight", [{"from": queries["lower"], "weight": 1}])
    ends = [*(Fraction(p["from"]) for p in pieces), Fraction(queries["upper"])]
    total = sum((b - a) * Fraction(p["weight"]) for (a, b), p in zip(pairwise(ends), pieces, strict=True))
    return [(a, b, Fraction(p["weight"]) / total) for (a, b), p in zip(pairwise(ends), pieces, strict=True)]


def integral(loss: Piecewise, y: Fraction, a: Fraction, b: Fraction) -> Fraction:
    """∫ c(y - φ) dφ from a to b, by Simpson's rule: c is of degree 2 at most between knots."""
    ends = sorted({a, b, *(y - x for x in loss.knots if a < y - x < b)})
    total = Fraction(0)
    for c, d in pairwise(ends):
        total += (
            (d - c) / 6 * (loss.limit_down(y - c, -1) + 4 * loss.at_down(y - (c + d) / 2) + loss.limit_down(y - d, 1))
        )
    return total


def peak(loss: Piecewise, low: Fraction, high: Fraction) -> Fraction:
    """The largest c from one point to another, rounded up to 2^-192."""
    most = max(loss.at_down(x) for x in (low, high, *(x for x in loss.knots if low < x < high)))
    return Fraction(math.ceil(most * (1 << 192)), 1 << 192)


@pytest.mark.parametrize("seed", range(40))
def test_kernel_answer_by_answer(seed: int) -> None:
    made = kernel(random.Random(seed))
    loss, limit = parse_loss(made["loss"]["name"]), Fraction(made["privacy"]["sensitivity"])
    assert isinstance(loss, Piecewise)
    edges, nodes = ([Fraction(x) for x in made[name]] for name in ("edges", "nodes"))
    laws = [{j: Fraction(int(w), WORD) for j, w in enumerate(row)} for row in made["rows"]]
    cells = list(pairwise(edges))
    delta = expected = most = Fraction(0)
    tiny = Fraction(1, 1 << 20)
    for p, (low, high) in zip(laws, cells, strict=True):
        for q, (first, last) in zip(laws, cells, strict=True):
            # The cells hold their lower edges and what is next to the upper ones.
            if any(abs(x - y) <= limit for x in (low, high - tiny) for y in (first, last - tiny)) or p is q:
                delta = max(delta, excess(p, q, made["privacy"]["epsilon"]))
        for start, end, density in densities(made):
            a, b = max(low, start), min(high, end)
            if a < b:
                expected += density * sum((w * integral(loss, nodes[j], a, b) for j, w in p.items()), Fraction(0))
        for i in range(64):
            a, b = (low + (high - low) * Fraction(k, 64) for k in (i, i + 1))
            most = max(most, sum((w * peak(loss, nodes[j] - b, nodes[j] - a) for j, w in p.items()), Fraction(0)))
    compare(made, delta, expected, most)


# |x| where the noise is, which falls once more further out, on either side.
DIPS = {"right": "pwl:-inf,-1;0,1;{0},-1;{1},2", "left": "pwl:-inf,-2;-{1},1;-{0},-1;0,1"}


def changed(name: str, seed: int, loss: str = "") -> tuple[Json, Any]:
    """A kernel whose multipliers are others, and what is proved of it. Every third time a cell of no
    weight has none."""
    rng = random.Random(seed)
    made: Json = json.loads(file(name).read_text())
    made["loss"]["name"] = loss or made["loss"]["name"]
    certificate = made["certificate"]
    certificate["lower_bound"] = "0"
    dual = certificate["dual"]
    unit = 2.0 ** -dual["exponent"]
    for m in dual.get("shifts", dual.get("pairs")):
        m["multipliers"] = [str(int(int(y) * rng.uniform(0.98, 1))) for y in m["multipliers"]]
    if seed % 3 == 0 and "shifts" in dual:
        made["weight"][0] = 0
        made["certificate"] |= {"expected_loss": HUGE, "max_loss": HUGE}
        dual["shifts"] = [m for m in dual["shifts"] if m["gain"] and m["lose"]]
    if seed % 3 == 0 and name == "kernel-sum":
        last = dual["cells"] - 1
        made["queries"]["weight"] = [{"from": 0, "weight": 1}, {"from": 4 - 4 / dual["cells"], "weight": 0}]
        made["certificate"] |= {"expected_loss": HUGE, "max_loss": HUGE}
        dual["pairs"] = [m for m in dual["pairs"] if m["gain"] != last and m["lose"] != last]
    if "instance_cap" in made:
        dual["caps"] = [str(int(rng.uniform(0, 0.01) * unit)) for _ in dual["caps"]]
    return made, parse(json.dumps(made).encode()).verify()


def bracketed(
    brackets: list[list[tuple[Fraction, int, int]]], made: Json, price: int, caps: int, unit: Fraction
) -> Fraction:
    """The bound of weak duality. What e^ε has no part in is rounded down to 96 bits below the unit."""
    above = Fraction(exp_up(made["privacy"]["epsilon"]), 1 << 96)
    fine = unit / (1 << 96)
    total = sum(
        (min(cost // fine * fine + y * unit - above * z * unit for cost, y, z in row) for row in brackets), Fraction(0)
    )
    bound = (
        total - Fraction(made["privacy"]["delta"]) * price * unit - Fraction(made.get("instance_cap", 0)) * caps * unit
    )
    return max(bound, Fraction(0))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["kernel", "kernel-cap", "kernel-cap-l2", "kernel-weighted", "kernel-sum"])
def test_lower_bound_of_kernel(name: str, seed: int) -> None:
    made, found = changed(name, seed)
    dual: Json = made["certificate"]["dual"]
    n, unit = dual["cells"], Fraction(2) ** dual["exponent"]
    start, step = Fraction(made["queries"]["lower"]), Fraction(made["queries"]["upper"] - made["queries"]["lower"]) / n
    loss = parse_loss(made["loss"]["name"])
    other = parse_loss((made.get("instance_cap_loss") or made["loss"])["name"])

    def cost(c: Loss, k: int, j: int) -> Fraction:
        beyond = range(99)  # the outer answers stand for all on their side
        offsets = {j - k, *(-k - i for i in beyond if j == 0), *(j - k + i for i in beyond if j == n - 1)}
        return min((c.lower_node(i, step) for i in offsets), default=Fraction(0))

    flows: dict[tuple[int, int, int], int] = {}
    price = 0
    for m in dual["pairs"]:
        ys = [int(y) for y in m["multipliers"]]
        for mirror in (False, True)[: 1 + dual["mirrored"]]:
            price += max(ys, default=0)
            for j, y in enumerate(ys, m["first"]):
                gain, lose = m["gain"], m["lose"]
                flows[(n - 1 - gain, n - 1 - lose, n - 1 - j) if mirror else (gain, lose, j)] = y
    caps = [int(x) for x in dual["caps"]] or [0] * n
    brackets = []
    for k in range(n):
        a, b = start + k * step, start + (k + 1) * step
        share = step * min(d for low, high, d in densities(made) if low < b and a < high)
        brackets.append(
            [
                (
                    share * cost(loss, k, j) + caps[k] * unit * cost(other, k, j),
                    sum(flows.get((k, m, j), 0) for m in range(n)),
                    sum(flows.get((m, k, j), 0) for m in range(n)),
                )
                for j in range(n)
            ]
        )
    bound = bracketed(brackets, made, price, sum(caps), unit)
    assert found.lower_bound == bound > 0


Bracket = tuple[Fraction, int, int]


def additive_brackets(made: Json) -> dict[tuple[int, int], Bracket]:
    """Of each cell and node: the cost, and the multipliers without e^ε and with it."""
    dual: Json = made["certificate"]["dual"]
    unit = Fraction(2) ** dual["exponent"]
    step = Fraction(made["privacy"]["sensitivity"]) / dual["nodes_per_sensitivity"]
    cost = parse_loss(made["loss"]["name"])
    other = parse_loss((made.get("instance_cap_loss") or made["loss"])["name"])
    caps = [int(x) for x in dual["caps"]] or [0] * len(made["weight"])

    def multiplier(m: Json, j: int) -> int:
        i = j - m["first"]
        return int(m["below"] if i < 0 else m["above"] if i >= len(m["multipliers"]) else m["multipliers"][i])

    return {
        (k, j): (
            Fraction(w) / sum(map(Fraction, made["weight"])) * cost.lower_node(j, step)
            + caps[k] * unit * other.lower_node(j, step),
            sum(multiplier(m, j) for m in dual["shifts"] if m["gain"] == k),
            sum(multiplier(m, j - m["shift"]) for m in dual["shifts"] if m["lose"] == k),
        )
        for k, w in enumerate(made["weight"])
        for j in range(-99, 100)
    }


def hold_additive(made: Json) -> None:
    dual: Json = made["certificate"]["dual"]
    price = sum(max(int(y) for y in (m["below"], m["above"], *m["multipliers"])) for m in dual["shifts"])
    found = additive_brackets(made)
    rows = [[found[k, j] for j in range(-99, 100)] for k in range(len(made["weight"]))]
    bound = bracketed(rows, made, price, sum(map(int, dual["caps"])), Fraction(2) ** dual["exponent"])
    proof: Any = parse(json.dumps(made).encode()).verify()
    assert proof.lower_bound == bound > 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("additive", ""),
        ("additive-bounded", ""),
        ("additive-cap", ""),
        *(("additive", x.format(30, 31)) for x in DIPS.values()),
    ],
)
def test_lower_bound_of_additive_kernel(name: str, loss: str, seed: int) -> None:
    hold_additive(changed(name, seed, loss)[0])


@pytest.mark.parametrize("beyond", [False, True])
@pytest.mark.parametrize("side", [-1, 1])
def test_least_bracket_is_the_outermost(side: int, beyond: bool) -> None:
    """A multiplier of the last node, or of all beyond it, that makes its bracket the least of the cell."""
    made, _ = changed("additive-cap", 1)
    dual: Json = made["certificate"]["dual"]
    lasts = [m["first"] if side < 0 else m["first"] + len(m["multipliers"]) - 1 for m in dual["shifts"]]
    m, j = max(
        ((m, last + m["shift"]) for m, last in zip(dual["shifts"], lasts, strict=True) if m["shift"] * side > 0),
        key=lambda x: side * x[1],
    )
    k, above = m["lose"], Fraction(exp_up(made["privacy"]["epsilon"]), 1 << 96)
    unit = Fraction(2) ** dual["exponent"]
    brackets = {
        x: cost / unit + y - above * z for (cell, x), (cost, y, z) in additive_brackets(made).items() if cell == k
    }
    factor = above - (beyond and m["gain"] == k)  # where it counts with e^ε, and perhaps without
    more = int((brackets[j + side * beyond] - min(brackets.values())) * Fraction(21, 20) / factor)
    if beyond:
        end = "below" if side < 0 else "above"
        m[end] = str(int(m[end]) + more)
    else:
        end_index = 0 if side < 0 else -1
        m["multipliers"][end_index] = str(int(m["multipliers"][end_index]) + more)
    hold_additive(made)
    after = {x: cost / unit + y - above * z for (cell, x), (cost, y, z) in additive_brackets(made).items() if cell == k}
    assert min(after, key=lambda x: after[x]) == j + side * beyond


@pytest.mark.parametrize(("name", "side"), [("additive", "right"), ("kernel", "left")])
def test_no_bound_where_a_loss_falls_far_out(name: str, side: str) -> None:
    assert changed(name, 1, DIPS[side].format(30, 31))[1].lower_bound > 0
    assert changed(name, 1, DIPS[side].format(10000, 10001))[1].lower_bound == 0


@pytest.mark.parametrize(
    ("shifts", "extent"),
    [([], (0, 0)), ([(5, 3)], (0, 9)), ([(-9, 3)], (-9, 0)), ([(-9, -2), (5, 3)], (-11, 9))],
)
def test_nodes_around_zero(shifts: list[tuple[int, int]], extent: tuple[int, int]) -> None:
    """Multipliers beyond 0 leave it inside of the nodes: losses grow outwards from there."""
    dual = Fields({"shifts": [{"first": a, "shift": s, "multipliers": [1, 2]} for a, s in shifts]})
    assert _extent(dual) == extent


@pytest.mark.parametrize("name", ["kernel", "additive"])
def test_multipliers_of_no_cap_prove_nothing(name: str) -> None:
    """The bound is about all mechanisms where there is no cap, so nothing is paid for one."""
    made, found = changed(name, 1)
    dual = made["certificate"]["dual"]
    cells = dual.get("cells", len(made["weight"]) if "weight" in made else 0)
    dual["caps"] = [str(1 << 50)] * cells
    assert parse(json.dumps(made).encode()).verify().lower_bound == found.lower_bound > 0


@pytest.mark.parametrize("caps", [False, True])
def test_no_bound_where_the_loss_of_a_cap_falls_far_out(caps: bool) -> None:
    made, found = changed("kernel-cap-l2", 1)
    assert found.lower_bound > 0
    if not caps:
        made["certificate"]["dual"]["caps"] = []
        assert parse(json.dumps(made).encode()).verify().lower_bound > 0
    made["instance_cap_loss"]["name"] = DIPS["right"].format(10000, 10001)
    assert parse(json.dumps(made).encode()).verify().lower_bound == 0


def test_no_multipliers_cost_nothing() -> None:
    made, _ = changed("kernel", 1)
    pair = made["certificate"]["dual"]["pairs"].pop()
    without = parse(json.dumps(made).encode()).verify().lower_bound
    made["certificate"]["dual"]["pairs"].append(pair | {"multipliers": []})
    assert parse(json.dumps(made).encode()).verify().lower_bound == without > 0


@pytest.mark.parametrize("name", ["integer-tail", "asymmetric-tail", "lattice-tail"])
@pytest.mark.parametrize("share", [0.25, 0.75])
def test_delta_of_a_tail_cell_by_cell(name: str, share: float) -> None:
    """Below its own epsilon noise with a tail has a delta: that of its cells out to where they weigh nothing."""
    made: Json = json.loads(file(name).read_bytes())
    made["privacy"] |= {"epsilon": made["privacy"]["epsilon"] * share, "delta": MOST}
    made["certificate"] |= {"delta": "1", "lower_bound": "0"}
    made["certificate"].pop("dual")
    hold_tail(made)


@pytest.mark.parametrize("mirrored", [False, True])
def test_delta_of_a_tail_of_few_runs(mirrored: bool) -> None:
    """Equal weights in blocks and between them: by runs the tail would not be seen."""
    made: Json = json.loads(file("integer-tail").read_bytes())
    k = 120
    made["privacy"] |= {"epsilon": 0.25, "delta": MOST, "sensitivity": k}
    made["grid"] |= {"cells_per_sensitivity": k, "first_cell": -180}
    light, heavy = 1 << 55, 1 << 56
    weights = [heavy] * k + [light] * k + [light] * k if mirrored else [light] * k + [light] * k + [heavy] * k
    weights[180] += WORD - sum(weights)
    made["weights"] = [str(w) for w in weights]
    made["certificate"] = {"delta": "1", "expected_loss": HUGE, "lower_bound": "0"}
    hold_tail(made)


def hold_tail(made: Json) -> None:
    epsilon = made["privacy"]["epsilon"]
    weights, k = [int(w) / WORD for w in made["weights"]], made["grid"]["cells_per_sensitivity"]
    n, ratio = len(weights), int(made["tail_ratio"]) / WORD
    law = weights[k : n - k]
    for m in range(120):
        law = (
            [w * (1 - ratio) * ratio**m for w in weights[:k]] + law + [w * (1 - ratio) * ratio**m for w in weights[-k:]]
        )
    found = parse(json.dumps(made).encode()).verify().delta_upper
    zeros = [0.0] * k
    deltas = []
    for s in range(-k, k + 1):
        other = [0.0] * (k + s) + law + [0.0] * (k - s)
        deltas.append(sum(max(p - math.exp(epsilon) * q, 0) for p, q in zip(zeros + law + zeros, other, strict=True)))
    assert float(found) == pytest.approx(max(deltas) + int(made["atom"]) / WORD, rel=1e-9)


@pytest.mark.parametrize("seed", range(60))
def test_expected_loss_point_by_point(seed: int) -> None:
    """Of tables without a tail, on whose points losses have knots and jumps."""
    rng = random.Random(seed)
    cells, points = rng.randint(8, 16), rng.choice((1, 1, 3))
    made: Json = {
        "format": "noisewright-table",
        "version": 1,
        "privacy": {"epsilon": 1, "delta": MOST, "sensitivity": 2 * points},
        "query": "integer",
        "loss": {
            "name": rng.choice(["exceed:1", "exceed:2", "l1", "l2", "deadzone:2", "pinball:0.25", "l1 + exceed:4"])
        },
        "grid": {
            "granularity_exponent": 0,
            "points_per_cell": points,
            "cells_per_sensitivity": 2,
            "first_cell": -rng.randint(2, cells - 2),
            "offset": rng.randint(-points // 2, points // 2),
        },
        "atom": str(rng.choice((0, 1 << 60))),
        "certificate": {"delta": "1", "expected_loss": HUGE, "lower_bound": "0"},
    }
    weights = [int(w) for w in law(rng, cells)]
    weights[weights.index(max(weights))] -= int(made["atom"])
    made["weights"] = [str(w) for w in weights]
    opened: Any = parse(json.dumps(made).encode())
    loss = parse_loss(made["loss"]["name"])
    want = loss.at_down(Fraction(0)) * int(made["atom"])
    for i, w in enumerate(weights):
        first = opened._spec.first_point(i)
        want += sum((loss.at_down(Fraction(x)) for x in range(first, first + points)), Fraction(0)) * w / points
    assert expected_loss(opened._spec, made["loss"]["name"]) == want / WORD
