# SPDX-License-Identifier: Apache-2.0
"""The proof of a bundle's promise: docs/proofs/latent-privacy.md and docs/proofs/spherical.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from noisewright._bundlefile import Law, Spec
from noisewright._exact import RATIO_BITS, decimal_up, exp_down, exp_up, pow_up
from noisewright._loss import ZERO
from noisewright._meter import Meter
from noisewright._normal import NORMAL_BITS, gaussian_distance, normal_tail
from noisewright.errors import Error, FalseClaimError, NoPromiseError, NotPrivateError, UnprovedError
from noisewright.randomizer import Randomizer
from noisewright.table import Table

# The relative precision of square roots.
_ROOT_BITS = 128
# The work of trying all patterns of signs, at most.
_MAX_SIGN_WORK = 1 << 30
_LEAST_STEPS = 8

# Given the table of every coordinate and the promise, (epsilon, delta): an upper bound on the delta
# at epsilon of all their noise together.
Accountant = Callable[[Sequence[Table], tuple[float, float]], float]


@dataclass(frozen=True)
class BundleCertificate:
    """What is proved of a release: neither number is above the promise."""

    epsilon_upper: Fraction
    delta_upper: Fraction


def verify(spec: Spec, accountant: Accountant | None, work: int | None) -> BundleCertificate:
    """The proof of a bundle that keeps its promise."""
    if spec.promise is None:
        raise NoPromiseError("noise.kind = none: it adds no noise and promises nothing")
    meter = Meter(work)
    _prove_laws(spec, meter)
    match spec.composition:
        case "l1":
            proved = _l1(spec)
        case "l2":
            proved = _l2(spec, meter)
        case "norm":
            root = pow_up(_distance_l2(spec), 0.5, _ROOT_BITS)
            proved = root / Fraction(spec.tau), ZERO
        case "ball":
            proved = _ball(spec)
        case _:
            proved = _coordinates(spec, accountant)
    for name, promised, found in zip(("epsilon", "delta"), spec.promise, proved, strict=True):
        if found > Fraction(promised):
            only = f"only {decimal_up(found)} is proved for the composition {spec.composition}"
            raise NotPrivateError(f"{name} = {promised!r} is promised but {only}")
    return BundleCertificate(*proved)


def _prove_laws(spec: Spec, meter: Meter) -> None:
    """Verifies the tables or randomizers, each with the work that those before have left."""
    balls = [] if spec.ball is None else [spec.ball]
    kinds: list[tuple[str, Sequence[Law]]] = [
        ("tables", spec.tables),
        ("randomizers", spec.randomizers),
        ("balls", balls),
    ]
    for what, laws in kinds:
        for k, law in enumerate(laws):
            try:
                meter.spend(law.verify(max(meter.limit - meter.used, 1)).work)
            except (NotPrivateError, FalseClaimError) as err:
                raise NotPrivateError(f"{what}[{k}]: {err}") from err
            if spec.kind == "local-unbiased" and isinstance(law, Randomizer) and not law.unbiased:
                raise NotPrivateError(f"{what}[{k}] may be biased, want one that promises unbiased answers")


def _coordinates(spec: Spec, accountant: Accountant | None) -> tuple[Fraction, Fraction]:
    """Composes the coordinates: clipped values of coordinate i lie within ±s_i."""
    epsilon = delta = ZERO
    if spec.category:  # the randomizer takes every cell, which a reader checks
        return Fraction(spec.randomizers[0].epsilon), Fraction(spec.randomizers[0].delta)
    for i, axis in enumerate(map(float, spec.axes)):
        if spec.randomized:
            m = spec.randomizers[spec.randomizer_of[i]]
            low, high = m.range
            if not low <= -axis <= axis <= high:
                raise NotPrivateError(
                    f"axes[{i}] = {axis!r}, want a range of its randomizer, {low!r} to {high!r}, that holds it"
                )
            epsilon, delta = epsilon + Fraction(m.epsilon), delta + Fraction(m.delta)
            continue
        p = spec.tables[spec.table_of[i]].privacy
        if 2 * axis > p.sensitivity:
            raise NotPrivateError(
                f"axes[{i}] = {axis!r}, want at most half of {p.sensitivity!r}, the sensitivity of its table"
            )
        epsilon, delta = epsilon + Fraction(p.epsilon), delta + Fraction(p.delta)
    if spec.composition != "exact" or spec.promise is None:
        return epsilon, delta
    if accountant is None:
        if epsilon <= Fraction(spec.promise[0]) and delta <= Fraction(spec.promise[1]):
            return epsilon, delta
        raise UnprovedError(
            "composition = exact is proved by the program alone, want noisewright latent verify, or an accountant"
        )
    found = accountant([spec.tables[t] for t in spec.table_of], spec.promise)
    if not 0 <= found < math.inf:
        raise NotPrivateError(f"composition = exact has delta = {found!r}, want a number at least 0")
    return Fraction(spec.promise[0]), Fraction(found)


def _sides(axes: Sequence[float], step: float) -> list[Fraction]:
    """The largest distances of clipped coordinates on the grid: 2⌊s_i/g⌋·g, exactly."""
    return [Fraction(2 * math.floor(a / step) * step) for a in axes]


def _l1(spec: Spec) -> tuple[Fraction, Fraction]:
    """Bounds the ℓ1 distance of two clipped encodings and charges it by steps."""
    table = spec.tables[0]
    t = table._spec
    if t.privacy.delta != 0 or t.points != 1 or t.cells != 1:
        raise NotPrivateError(
            "tables[0], want one with delta 0 and 1 cell of 1 point per sensitivity for the composition l1"
        )
    axes, step = [float(a) for a in spec.axes], spec.step
    if spec.domain == "l1-ball":
        distance = _sides([max(axes)], step)[0]
    elif spec.domain == "ball":
        # max Σ|u_i - u'_i| = 2·√Σs_i², by Cauchy & Schwarz.
        distance = pow_up(sum((Fraction(2 * a) ** 2 for a in axes), ZERO), 0.5, _ROOT_BITS)
    else:
        distance = sum(_sides(axes, step), ZERO)
    if spec.domain == "bounds":
        distance = min(distance, Fraction(_range_with_errors(spec, step)) + len(axes) * Fraction(step))
    return distance / t.step * Fraction(t.privacy.epsilon), ZERO


def _range_with_errors(spec: Spec, step: float) -> float:
    """A bound on the ℓ1 distance of two encodings as they are computed, before they are rounded to
    the grid."""
    if spec.lower is None or spec.upper is None:
        raise Error("no bounds of the features")
    lower, upper = spec.lower.tolist(), spec.upper.tolist()
    mean, offset = spec.mean.tolist(), spec.offset.tolist()
    rows: list[list[float]] = spec.encoder.tolist()
    n, total = len(mean), 0.0
    spans = [max(abs(lo - m), abs(hi - m)) for lo, hi, m in zip(lower, upper, mean, strict=True)]
    for row, o, axis in zip(rows, offset, map(float, spec.axes), strict=True):
        for w, span in zip(row, spans, strict=True):
            total += abs(w) * span
        total += abs(o) + axis + step
    slack = 4 * float(n + 16) * 2.0**-52 * total
    return (range_l1(rows, lower, upper) + slack) * (1 + 2.0**-50)


def range_l1(encoder: Sequence[Sequence[float]], lower: Sequence[float], upper: Sequence[float]) -> float:
    """An upper bound on the ℓ1 distance of encodings of features between bounds: the largest over
    signs σ of Σ_j |Σ_i σ_i·W_ij|·(hi_j - lo_j), or of the sum of all where there are too many."""
    z, n = len(encoder), len(lower)
    scaled: list[list[float]] = [[]] * z
    total = 0.0
    for i, weights in enumerate(encoder):
        row = 0.0
        scaled[(i + 1) % z] = [w * (hi - lo) for w, lo, hi in zip(weights, lower, upper, strict=True)]
        for x in scaled[(i + 1) % z]:
            row += abs(x)
        total += row
    slack = float(z + n + 8) * 2.0**-51 * total
    most = total
    if z <= 30 and z * n <= _MAX_SIGN_WORK >> (z - 1):
        most = _sign_maximum(scaled)
    return most + slack + 2.0**-900


def _sign_maximum(rows: list[list[float]]) -> float:
    """The largest ℓ1 norm of ±r_0 ± r_1 … over all signs, the first +: signs are a tree, and each
    partial sum is computed once from its parent's."""
    columns = len(rows[0])

    def norm(a: list[float], b: list[float]) -> float:
        plus = minus = 0.0
        for x, y in zip(a, b, strict=True):
            plus += abs(x + y)
            minus += abs(x - y)
        return max(plus, minus)

    if len(rows) == 1:
        return norm([0.0] * columns, rows[0])

    def visit(above: list[float], depth: int) -> float:
        row = rows[depth]
        if depth == len(rows) - 1:
            return norm(above, row)
        added = visit([x + y for x, y in zip(above, row, strict=True)], depth + 1)
        return max(added, visit([x - y for x, y in zip(above, row, strict=True)], depth + 1))

    return visit(rows[0], 1)


def _distance_l2(spec: Spec) -> Fraction:
    """A bound on the square of the ℓ2 distance of two clipped encodings."""
    axes, step = [float(a) for a in spec.axes], spec.step
    if spec.domain == "ball":
        return Fraction(2 * max(axes)) ** 2
    if spec.domain == "l1-ball":
        return _sides([max(axes)], step)[0] ** 2
    return sum((side * side for side in _sides(axes, step)), ZERO)


def _ball(spec: Spec) -> tuple[Fraction, Fraction]:
    """The promise of noise on balls, for at least the ℓ2 distance of two clipped encodings."""
    if spec.ball is None:
        raise Error("no noise on balls")
    p, squared = spec.ball.privacy, _distance_l2(spec)
    if squared > Fraction(p.sensitivity) ** 2:
        raise NotPrivateError(
            f"axes = a body in which encodings may be {decimal_up(pow_up(squared, 0.5, _ROOT_BITS))} apart, "
            f"want at most {p.sensitivity!r}, the sensitivity of balls[0] in the ℓ2 norm"
        )
    return Fraction(p.epsilon), Fraction(p.delta)


def _l2(spec: Spec, meter: Meter) -> tuple[Fraction, Fraction]:
    """The formula for normal noise at the ℓ2 distance, and what the table differs from it, which is
    charged to every coordinate."""
    t = spec.tables[0]._spec
    if t.points != 1 or t.offset or t.tail_ratio or spec.promise is None:
        raise NotPrivateError("tables[0], want one with 1 point per cell, no offset and no tail for the composition l2")
    if not spec.tau >= _LEAST_STEPS * spec.step:
        raise NotPrivateError(
            f"tau = {spec.tau!r}, want at least {_LEAST_STEPS} steps of {spec.step!r}, those of tables[0]"
        )
    epsilon = spec.promise[0]
    delta = _gaussian_delta(epsilon, _distance_l2(spec), spec.tau)
    factor = Fraction(len(spec.axes) * (exp_up(epsilon) + (1 << RATIO_BITS)), 1 << RATIO_BITS)
    return Fraction(epsilon), delta + factor * gaussian_distance(t, spec.tau, meter)


def _gaussian_delta(epsilon: float, squared: Fraction, tau: float) -> Fraction:
    """A bound on the δ at epsilon of normal noise of deviation tau on vectors of a squared distance
    (Balle & Wang 2018, Theorem 8): Φ(μ/2 - ε/μ) - e^ε·Φ(-μ/2 - ε/μ), μ = distance/tau."""
    if not squared:
        return ZERO
    mu = pow_up(squared / Fraction(tau) ** 2, 0.5, _ROOT_BITS)
    u, v = Fraction(epsilon) / mu - mu / 2, Fraction(epsilon) / mu + mu / 2
    # Φ(-u), rounded up.
    first = normal_tail(u)[1] if u >= 0 else (1 << NORMAL_BITS) - normal_tail(-u)[0]
    second = normal_tail(v)[0] * exp_down(epsilon) >> RATIO_BITS
    return Fraction(first - second, 1 << NORMAL_BITS)
