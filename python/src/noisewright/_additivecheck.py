# SPDX-License-Identifier: Apache-2.0
"""The exact check of everything that an additive kernel claims: docs/proofs/additive-kernels.md."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from noisewright._additivefile import CLAIMS, Spec, largest
from noisewright._claims import hold_claims, hold_delta
from noisewright._divergence import Weights, probability, ratio_down
from noisewright._exact import RATIO_BITS, bits_of, exp_up, floor_at, power_of_two
from noisewright._kernelcheck import hold_cap
from noisewright._loss import ZERO, Loss
from noisewright._meter import Meter, rational_work
from noisewright._strictjson import Fields

# Bounds the search for the node from which a loss grows.
_MAX_TAIL = 1 << 12


def verify(spec: Spec, meter: Meter) -> dict[str, Any]:
    """What is found in a kernel that keeps its promise and states nothing false."""
    delta, cells = _worst(spec, meter)
    losses = _losses(spec, spec.loss, meter)
    expected = sum((share * loss for share, loss in zip(spec.shares(), losses, strict=True)), ZERO)
    most = max(losses)
    capped = most if spec.cap_loss is None else max(_losses(spec, spec.cap_loss, meter))
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


def _worst(spec: Spec, meter: Meter) -> tuple[Fraction, tuple[int, int]]:
    """The largest divergence between answers to values within the sensitivity. A shift by k bins
    and r points has the divergence (S-r)·D_k + r·D_{k+1}, over S: it is linear between whole bins."""
    size, count = spec.points, len(spec.cells)
    ratio = ratio_down(spec.privacy.epsilon)
    rows = [Weights(row, ratio) for row in spec.rows]
    worst, at = 0, (0, 0)
    for gain, (gain_first, gain_last) in enumerate(spec.cells):
        meter.spend(count)
        for lose, (lose_first, lose_last) in enumerate(spec.cells):
            low, high = max(gain_first - lose_last, -spec.distance), min(gain_last - lose_first, spec.distance)
            if low > high:
                continue
            first, last = low // size, high // size + 1
            meter.spend((last - first + 1) * len(spec.rows[gain]) + 64)
            d = [rows[gain].shifted(rows[lose], -k) for k in range(first, last + 1)]
            for shift in (low, high, *(k * size for k in range(first + 1, -(-high // size)))):
                k, r = divmod(shift, size)
                h = d[k - first] * (size - r) + d[k - first + 1] * r
                if h > worst:
                    worst, at = h, (gain, lose)
    return probability(worst) / size, at


def _losses(spec: Spec, loss: Loss, meter: Meter) -> list[Fraction]:
    """The expectation of a loss in each cell."""
    work = loss.work(bits_of(spec.step) + 64)
    bins = len(spec.rows[0])
    meter.spend(work.in_pass + bins * work.bound)
    costs = [loss.grid_mean_up(spec.first_point(j), spec.points, spec.step) for j in range(bins)]
    meter.spend(len(spec.rows) * bins * rational_work(2 * max(map(bits_of, costs))))
    return [sum((w * c for w, c in zip(row, costs, strict=True) if w), ZERO) / (1 << 64) for row in spec.rows]


def _lower_bound(spec: Spec, meter: Meter) -> Fraction:
    """The bound that the multipliers prove on noise of any shape for these cells."""
    d = spec.dual
    if d is None:
        return ZERO
    step = Fraction(spec.privacy.sensitivity) / d["nodes_per_sensitivity"]
    capped = bool(spec.cap and d["caps"])
    losses = [spec.loss, spec.cap_loss or spec.loss] if capped else [spec.loss]
    extent = _extent(d)
    ends = [_end(losses, step, extent[0] - 1, -1, meter), _end(losses, step, extent[1] + 1, 1, meter)]
    if ends[0] is None or ends[1] is None:
        return ZERO
    first, count = ends[0], ends[1] - ends[0] + 1
    works = [loss.work(bits_of(step) + 32) for loss in losses]
    meter.spend(sum(2 * w.in_pass + count * w.bound for w in works))
    nodes = [[loss.lower_node(j, step) for j in range(first, first + count)] for loss in losses]
    meter.spend(len(d["shifts"]) * (2 * count + len(spec.weight)))
    exponent: int = d["exponent"]
    unit, up, places = power_of_two(exponent), exp_up(spec.privacy.epsilon), RATIO_BITS - exponent
    total = caps = 0
    for k, share in enumerate(spec.shares()):
        kappa = d["caps"][k] if capped else 0
        caps += kappa
        own, other = _coefficients(d, k, first, count)
        meter.spend(count * len(losses) * rational_work(bits_of(share) + max(map(bits_of, nodes[0]))))
        least: int | None = None
        for j in range(count):
            cost = share * nodes[0][j]
            if kappa:
                cost += kappa * unit * nodes[1][j]
            c = floor_at(cost, places) + (own[j] << RATIO_BITS) - other[j] * up
            least = c if least is None else min(least, c)
        total += least or 0
    price = sum(map(largest, d["shifts"]))
    bound = total * power_of_two(-places) - price * unit * Fraction(spec.privacy.delta)
    bound -= caps * unit * Fraction(spec.cap)
    return max(bound, ZERO)


def _extent(d: Fields) -> tuple[int, int]:
    """Nodes before and after which the multipliers in all brackets are the same."""
    first = last = 0
    for m in d["shifts"]:
        end = m["first"] + len(m["multipliers"]) - 1
        first = min(first, m["first"], m["first"] + m["shift"])
        last = max(last, end, end + m["shift"])
    return first, last


def _end(losses: list[Loss], step: Fraction, j: int, side: int, meter: Meter) -> int | None:
    """The first node outwards from which no loss falls; None if it is too far out."""
    for _ in range(_MAX_TAIL + 1):
        grows = True
        for loss in losses:
            meter.spend(loss.work(bits_of(step) + 32).growth)
            grows = grows and loss.growth(j, step) >= 0
        if grows:
            return j
        j += side
    return None


def _coefficients(d: Fields, cell: int, first: int, count: int) -> tuple[list[int], list[int]]:
    """For one cell and each node the multipliers that come without the factor e^ε and with it."""
    own, other = [0] * count, [0] * count
    for m in d["shifts"]:
        if m["gain"] == cell:
            own = [a + b for a, b in zip(own, _multipliers(m, first, count), strict=True)]
        if m["lose"] == cell:
            other = [a + b for a, b in zip(other, _multipliers(m, first - m["shift"], count), strict=True)]
    return own, other


def _multipliers(m: Fields, first: int, count: int) -> list[int]:
    """Those of so many nodes from the first on."""
    start = first - m["first"]
    below = min(max(-start, 0), count)
    inside: tuple[int, ...] = m["multipliers"][max(start, 0) : max(start + count, 0)]
    return [m["below"]] * below + [*inside] + [m["above"]] * (count - below - len(inside))
