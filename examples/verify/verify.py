"""Recomputes what a table file claims: a second implementation of
`noisewright verify`, written from docs/table-format.md, in exact fractions.
It does not refuse malformed files as the program does.

    python3 verify.py table.json
"""

import json
import sys
from collections import defaultdict
from fractions import Fraction


def exp_bounds(x, bits=96):
    """Two multiples of 2^-bits, one at most and one at least e^x, for x >= 0."""
    term, total, n = Fraction(1), Fraction(0), 0
    while n <= 2 * x or term * 2 ** (bits + 8) > 1:
        total += term
        n += 1
        term *= x / n
    # From here on terms halve at least, so the rest is at most twice the next.
    down = total * 2**bits // 1
    up = -((total + 2 * term) * 2**bits // -1)
    return Fraction(down, 2**bits), Fraction(up, 2**bits)


def mean_loss(name, center, half, step):
    """The average of c(n*step) over the integers n within half of center,
    where center is 0 or further from 0 than half."""
    if name == "l1":
        mean = abs(center) if center else Fraction(half * (half + 1), 2 * half + 1)
        return mean * step
    if name == "l2":
        return (center**2 + Fraction(half * (half + 1), 3)) * step**2
    raise SystemExit(f"unknown loss {name}")


def node(name, j, step):
    """The node l_j of a piecewise linear function below the loss."""
    return abs(j) * step if name == "l1" else (j**2 - Fraction(1, 4)) * step**2


def certified_delta(table, e_down):
    weights = [int(w) for w in table["weights"]]
    n, worst = len(weights), Fraction(0)
    for k in range(1, table["grid"]["cells_per_sensitivity"] + 1):
        for shift in (k, -k):
            total = Fraction(0)
            for j, w in enumerate(weights):
                partner = weights[j - shift] if 0 <= j - shift < n else 0
                total += max(0, w - e_down * partner)
            worst = max(worst, total)
    return (int(table["atom"]) + worst) / 2**64


def expected_loss(table):
    grid, name = table["grid"], table["loss"]["name"]
    points, step = grid["points_per_cell"], Fraction(2) ** grid["granularity_exponent"]
    total = int(table["atom"]) * mean_loss(name, 0, 0, step)
    for j, w in enumerate(table["weights"], grid["first_cell"]):
        total += int(w) * mean_loss(name, j * points, (points - 1) // 2, step)
    return total / 2**64


def lower_bound(table, delta, sensitivity, e_up):
    dual = table["certificate"].get("dual")
    if dual is None:
        return Fraction(0)
    unit = Fraction(2) ** dual["exponent"]
    step = sensitivity / dual["cells_per_sensitivity"]
    own, other, price = defaultdict(int), defaultdict(int), 0
    for shift in dual["shifts"]:
        k, y = shift["shift"], [int(m) for m in shift["multipliers"]]
        sides = (1, -1) if dual["mirrored"] else (1,)
        price += len(sides) * max(y, default=0)
        for side in sides:
            for j, m in enumerate(y, shift["first_cell"]):
                own[side * j] += m
                other[side * (j - k)] += m
    # Beyond the cells with multipliers l_j only grows.
    reach = max(map(abs, [*own, *other]), default=0) + 1
    least = min(
        node(table["loss"]["name"], j, step) + (own[j] - e_up * other[j]) * unit
        for j in range(-reach, reach + 1)
    )
    return max(0, least - delta * price * unit)


def main(path):
    with open(path, encoding="utf-8") as f:
        table = json.load(f)
    epsilon, delta, sensitivity = (
        Fraction(float(table["privacy"][name])) for name in ("epsilon", "delta", "sensitivity")
    )
    grid, claims = table["grid"], table["certificate"]
    e_down, e_up = exp_bounds(epsilon)
    step = Fraction(2) ** grid["granularity_exponent"]
    found_delta = certified_delta(table, e_down)
    found_loss = expected_loss(table)
    found_bound = lower_bound(table, delta, sensitivity, e_up)
    checks = {
        "weights sum to 2^64": sum(map(int, [*table["weights"], table["atom"]])) == 2**64,
        "cells cover the sensitivity": sensitivity <= grid["cells_per_sensitivity"] * grid["points_per_cell"] * step,
        "certified delta <= delta": found_delta <= delta,
        "certificate.delta": Fraction(claims["delta"]) >= found_delta,
        "certificate.expected_loss": Fraction(claims["expected_loss"]) >= found_loss,
        "certificate.lower_bound": Fraction(claims["lower_bound"]) <= found_bound,
    }
    print(f"delta {float(found_delta):.12g}  expected loss {float(found_loss):.12g}  lower bound {float(found_bound):.12g}")
    for name, good in checks.items():
        print("holds:" if good else "FALSE:", name)
    return 0 if all(checks.values()) else 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
