# SPDX-License-Identifier: Apache-2.0
"""The exact check of everything that a kernel claims: docs/proofs/kernel-privacy.md and
docs/proofs/kernel-lower-bound.md."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from operator import mul
from typing import Any

from noisewright._claims import hold_claims, hold_delta
from noisewright._divergence import Rows, probability, ratio_down
from noisewright._exact import RATIO_BITS, bits_of, ceil_at, decimal_up, exp_up, floor_at, power_of_two
from noisewright._kernelfile import CLAIMS, Spec
from noisewright._loss import ZERO, Loss, Piecewise
from noisewright._meter import Meter, rational_work
from noisewright.errors import FalseClaimError

_NUMBER_BITS = 128
# Fractional bits to which the costs of the largest loss are rounded up.
_PEAK_BITS = 192
# Bounds the search for the place from which a loss grows.
_MAX_TAIL = 1 << 12


def verify(spec: Spec, meter: Meter) -> dict[str, Any]:
    """What is found in a kernel that keeps its promise and states nothing false."""
    delta, cells = _worst(spec, meter)
    expected = _expected(spec, meter)
    most = _max_loss(spec, spec.loss, meter)
    capped = most if spec.cap_loss is None else _max_loss(spec, spec.cap_loss, meter)
    bound = _lower_bound(spec, meter)
    hold_delta(spec.privacy.delta, delta, f"between the cells {cells[0]} and {cells[1]}")
    hold_cap(spec.cap, capped)
    hold_claims(spec.certificate, CLAIMS, (delta, expected, most, bound))
    return {
        "delta_upper": delta,
        "worst_cells": cells,
        "expected_loss": expected,
        "max_loss": most,
        "lower_bound": bound,
        "work": meter.used,
    }


def hold_cap(cap: float, found: Fraction) -> None:
    """Holds an instance cap against the largest loss."""
    if cap and found > Fraction(cap):
        raise FalseClaimError(f"instance_cap = {cap!r} is promised but only {decimal_up(found)} is proved")


def _worst(spec: Spec, meter: Meter) -> tuple[Fraction, tuple[int, int]]:
    """The largest divergence between the laws of cells that hold values within the sensitivity:
    cells k < m with edge m - edge k+1 below it, as a cell does not hold its upper edge."""
    n = len(spec.nodes)
    meter.spend(n * n // 2 * rational_work(2 * _NUMBER_BITS))
    edges, limit = [Fraction(x) for x in spec.edges], Fraction(spec.privacy.sensitivity)
    partners: list[list[int]] = [[] for _ in range(n)]
    pairs = 0
    for k in range(n):
        for m in range(k + 1, n):
            if edges[m] - edges[k + 1] >= limit:
                break
            partners[k].append(m)
            partners[m].append(k)
            pairs += 1
    meter.spend(2 * n * pairs)
    rows = Rows(spec.rows, ratio_down(spec.privacy.epsilon))
    worst, cells = 0, (0, 0)
    for gain, lose in enumerate(partners):
        h, other = rows.worst_of(gain, lose)
        if h > worst:
            worst, cells = h, (gain, other)
    return probability(worst), cells


def _largest_bits(spec: Spec) -> int:
    return max(bits_of(Fraction(x)) for x in (*spec.nodes, *spec.edges))


def interval_mean_up(loss: Loss) -> Callable[[Fraction, Fraction], Fraction]:
    """An upper bound on the mean of c between two points: a constant weight is the mean of two
    ramps; of a piecewise loss it is the difference of integrals."""
    if not isinstance(loss, Piecewise):
        return lambda a, b: (loss.ramp_mean_up(a, b) + loss.ramp_mean_up(b, a)) / 2
    known: dict[Fraction, Fraction] = {}

    def integral(x: Fraction) -> Fraction:
        if x not in known:
            known[x] = loss.integral(x)
        return known[x]

    return lambda a, b: (integral(a) - integral(b)) / (a - b)


def _expected(spec: Spec, meter: Meter) -> Fraction:
    """Σ_k Σ_j P_k(j)·∫ c(node_j - φ) w(φ) dφ over cell k."""
    nodes, pieces = [Fraction(x) for x in spec.nodes], spec.densities()
    size = 2 * max(_largest_bits(spec), *(bits_of(p.end) for p in pieces))
    work = spec.loss.work(size)
    meter.spend(work.in_pass * len(nodes))
    mean = interval_mean_up(spec.loss)
    total, p = ZERO, 0
    for k, row in enumerate(spec.rows):
        a, end = Fraction(spec.edges[k]), Fraction(spec.edges[k + 1])
        while a < end:
            while pieces[p].end <= a:
                p += 1
            b = min(end, pieces[p].end)
            mass = (b - a) * pieces[p].density
            if mass:
                meter.spend(len(nodes) * (2 * work.bound + 6 * rational_work(2 * size)))
                costs = sum((w * mean(y - a, y - b) for w, y in zip(row, nodes, strict=True) if w), ZERO)
                total += mass * costs
            a = b
    return total / (1 << 64)


def _ceilings(loss: Loss, scale: int) -> Callable[[int, int], int]:
    """The bound on c from a point to another, which are integers over the scale, rounded up to
    2^-192; each value of a unimodal loss is found once."""
    if not loss.unimodal:
        return lambda a, b: ceil_at(loss.ceiling_up(Fraction(a, scale), Fraction(b, scale)), _PEAK_BITS)
    known: dict[int, int] = {}
    find: Callable[[int], int]
    if isinstance(loss, Piecewise):
        find = loss.scaled(scale, _PEAK_BITS)
    else:
        find = lambda n: ceil_at(loss.ceiling_up(Fraction(n, scale), Fraction(n, scale)), _PEAK_BITS)  # noqa: E731

    def value(n: int) -> int:
        v = known.get(n)
        if v is None:
            v = known[n] = find(n)
        return v

    return lambda a, b: max(value(a), value(b))


def _max_loss(spec: Spec, loss: Loss, meter: Meter) -> Fraction:
    """A bound on the expected loss of every query value, on parts of each cell: on the part from
    a to b node j costs at most the largest c from node_j - b to node_j - a."""
    n = len(spec.nodes)
    work = loss.work(2 * _largest_bits(spec))
    meter.spend(work.in_pass * n)
    parts = min(max(2048 // n, 4), 64)
    # All nodes and ends of parts are integers over this.
    scale = parts * max(Fraction(x).denominator for x in (*spec.nodes, *spec.edges))
    nodes, edges = ([int(Fraction(x) * scale) for x in numbers] for numbers in (spec.nodes, spec.edges))
    most = 0
    ceiling = _ceilings(loss, scale)
    for k, row in enumerate(spec.rows):
        chosen = [(w, y) for w, y in zip(row, nodes, strict=True) if w]
        weights = [w for w, _ in chosen]
        step = (edges[k + 1] - edges[k]) // parts
        for a in range(edges[k], edges[k + 1], step):
            b = a + step
            meter.spend(work.bound * len(chosen))
            costs = [ceiling(y - b, y - a) for _, y in chosen]
            most = max(most, sum(map(mul, weights, costs)))
    return Fraction(most, 1 << 64 + _PEAK_BITS)


def _lower_bound(spec: Spec, meter: Meter) -> Fraction:
    """The bound that the multipliers prove on every private mechanism of any shape."""
    d = spec.dual
    if d is None:
        return ZERO
    n: int = d["cells"]
    step = (Fraction(spec.upper) - Fraction(spec.lower)) / n
    costs = _cell_costs(spec.loss, step, n, meter)
    capped = costs
    if spec.cap and spec.cap_loss is not None:
        capped = _cell_costs(spec.cap_loss, step, n, meter)
    if costs is None or capped is None:
        return ZERO
    own, other = [[0] * n for _ in range(n)], [[0] * n for _ in range(n)]
    price = 0
    for m in d["pairs"]:
        gain, lose = m["gain"], m["lose"]
        for j, y in enumerate(m["multipliers"], m["first"]):
            own[gain][j] += y
            other[lose][j] += y
            if d["mirrored"]:
                own[n - 1 - gain][n - 1 - j] += y
                other[n - 1 - lose][n - 1 - j] += y
        price += max(m["multipliers"], default=0)
    if d["mirrored"]:
        price *= 2
    exponent: int = d["exponent"]
    up, places = exp_up(spec.privacy.epsilon), RATIO_BITS - exponent
    total = caps = 0
    for k, weight in enumerate(_least_masses(spec, n, step)):
        kappa = d["caps"][k] if spec.cap and d["caps"] else 0
        caps += kappa
        charge = kappa * power_of_two(exponent)
        least: int | None = None
        for j in range(n):
            meter.spend(rational_work(bits_of(weight) + bits_of(costs[k][j])))
            cost = weight * costs[k][j]
            if kappa:
                cost += charge * capped[k][j]
            c = floor_at(cost, places) + (own[k][j] << RATIO_BITS) - other[k][j] * up
            least = c if least is None else min(least, c)
        total += least or 0
    unit = power_of_two(exponent)
    bound = total * power_of_two(-places) - price * unit * Fraction(spec.privacy.delta)
    if spec.cap:
        bound -= caps * unit * Fraction(spec.cap)
    return max(bound, ZERO)


def _cell_costs(loss: Loss, step: Fraction, n: int, meter: Meter) -> list[list[Fraction]] | None:
    """The cost of an output in cell j for a query in cell k; the first and the last cell stand for
    all outputs beyond them too. None if the loss has no bound on an end."""
    work = loss.work(bits_of(step) + 16)
    meter.spend(2 * work.in_pass + (2 * n - 1) * work.bound)
    nodes = {i: loss.lower_node(i, step) for i in range(1 - n, n)}
    tails = {}
    for side in (-1, 1):
        # Where the loss grows from one cell to the next and ever after, the nearest is the least.
        end = max(n - 1, 1)
        while True:
            if end >= _MAX_TAIL + n:
                return None
            meter.spend(work.growth + work.bound)
            if loss.growth(side * end, step) >= 0:
                break
            end += 1
        least, low = [ZERO] * n, loss.lower_node(side * end, step)
        for i in range(end - 1, -1, -1):
            if i + 1 < n:
                least[i + 1] = low
            low = min(low, nodes[side * i] if i < n else loss.lower_node(side * i, step))
        least[0] = low
        tails[side] = least
    rows = []
    for k in range(n):
        row = [nodes[j - k] for j in range(n)]
        row[0] = min(row[0], tails[-1][k])
        row[-1] = min(row[-1], tails[1][n - 1 - k])
        rows.append(row)
    return rows


def _least_masses(spec: Spec, n: int, step: Fraction) -> list[Fraction]:
    """What equal cells weigh if the law of the queries has its least density there all over them."""
    pieces, masses, p = spec.densities(), [], 0
    start = Fraction(spec.lower)
    for _ in range(n):
        end = start + step
        while pieces[p].end <= start:
            p += 1
        least, i = pieces[p].density, p + 1
        while i < len(pieces) and pieces[i].start < end:
            least = min(least, pieces[i].density)
            i += 1
        masses.append(least * step)
        start = end
    return masses
