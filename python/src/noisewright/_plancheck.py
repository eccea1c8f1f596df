# SPDX-License-Identifier: Apache-2.0
"""The exact check of everything that a plan promises and states: docs/proofs/plan.md."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewright import _composed
from noisewright._claims import hold_claims
from noisewright._exact import decimal_up, parse_decimal
from noisewright._meter import Meter
from noisewright._planfile import CLAIMS, L1, L2, MAX_CELLS, PARTITION, RESIDUALS, Measurement, Rows, Set, Spec, subsets
from noisewright._words import Floats, Int64s
from noisewright.errors import FalseClaimError, NotPrivateError

Integers = npt.NDArray[np.object_]  # Python's, of any size

_MAX_GRAM = 1 << 52
_LIMB = 21
_MASK = (1 << _LIMB) - 1


def verify(s: Spec, meter: Meter) -> dict[str, Any]:
    """What exact and outward-rounded arithmetic finds, against which promise and claims are held."""
    delta = delta_upper(s, meter)
    variances, mean = _of_tables(s, meter) if s.marginals else _dense(s, meter)
    if delta > Fraction(s.delta):
        raise NotPrivateError(f"delta = {s.delta!r} is promised but only {decimal_up(delta)} is proved")
    for i, (text, truth) in enumerate(zip(s.certificate["variances"], variances, strict=True)):
        stated = parse_decimal(text)
        if stated is None or stated < truth:
            where = f"certificate.variances[{i}] = {text[:50]!r}"
            raise FalseClaimError(f"{where} is stated but only {decimal_up(truth)} is proved")
    proved = (delta, mean, max(variances))
    hold_claims(s.certificate, CLAIMS, proved)
    names = ("delta_upper", "mean_squared_error", "max_squared_error")
    return {**dict(zip(names, proved, strict=True)), "variances": tuple(variances), "work": meter.used}


def gram(s: Spec, m: Measurement) -> Int64s:
    """The inner products of the columns of a measurement's rows."""
    n = s.workload.cells
    if m.kind == PARTITION:
        block = np.arange(n) // m.block
        return np.asarray((block[:, np.newaxis] == block).astype(np.int64))
    rows = np.array(m.rows, dtype=np.float64)
    made = rows.T @ rows  # up to 2^13 products of 2^40: exactly
    if made.diagonal().max() > _MAX_GRAM:
        raise FalseClaimError("measurements = rows with products above 2^52, want smaller numbers")
    return np.asarray(made.astype(np.int64))


def delta_upper(s: Spec, meter: Meter) -> Fraction:
    """A bound on the delta of one release of everything: the sum of those of the measurements where their epsilons
    allow that, else exact composition."""
    laws: list[tuple[_composed.Law, int]] = []
    epsilon = delta = squared = Fraction(0)
    for m in s.measurements:
        if m.kind == RESIDUALS:
            squared += sum(
                (residual_distance(s, of) / Fraction(d) ** 2 for of, d in zip(m.sets, m.deviations, strict=True)),
                Fraction(0),
            )
            continue
        if m.kind == L2:
            meter.spend(s.workload.cells**2 * len(m.rows))
            squared += distance(s, gram(s, m)) / Fraction(m.deviation) ** 2
            continue
        assert m.noise is not None
        if m.kind == L1:
            times, each = 1, Fraction(m.noise.epsilon) * distance_l1(s, m.rows, meter)
        else:
            times, each = s.touched, Fraction(m.noise.epsilon)
            if s.largest_change(m) == 1:
                times = min(times, s.blocks(m))
        epsilon, delta = epsilon + times * each, delta + times * m.noise.proved
        if m.noise.proved:
            laws.append((_composed.shifted_by_one(m.noise.table), times))
        elif each:
            laws.append((_composed.response(times * each), 1))
    if not squared and epsilon <= Fraction(s.epsilon) and delta < 1:
        return delta
    return _composed.divergence(laws, squared, s.epsilon, meter)


def distance_l1(s: Spec, rows: Rows, meter: Meter) -> int:
    """A bound on the ℓ1 distance of the answers to neighbors."""
    columns = np.array(rows, dtype=np.int64)
    norms = np.abs(columns).sum(axis=0)
    if s.touched != 2:
        return int(np.sort(norms)[-s.touched :].sum())
    meter.spend(columns.size * s.workload.cells)
    sign = -1 if s.neighbors == "replace" else 1
    most = int(norms.max())
    for j in range(1, s.workload.cells):
        most = max(most, int(np.abs(columns[:, :j] + sign * columns[:, j : j + 1]).sum(axis=0).max()))
    return most


def distance(s: Spec, products: Int64s) -> int:
    """A bound on the square of the ℓ2 distance of the answers to neighbors, by the inner products of columns."""
    norms, n = products.diagonal(), len(products)
    if s.touched == 1 or (s.touched == 2 and n == 1):
        return int(norms.max())
    if s.touched > 2:
        largest: list[int] = np.sort(norms)[-s.touched :].tolist()
        return sum(largest) * min(s.touched, n)
    sign = -1 if s.neighbors == "replace" else 1
    pairs = norms[:, np.newaxis] + norms + 2 * sign * products
    return max(int(norms.max()), int(pairs[~np.eye(n, dtype=np.bool_)].max()))


def residual_distance(s: Spec, of: Set) -> Fraction:
    """A bound on the square of the distance of neighbors in the residuals of a set, with rows of norm 1."""
    sizes = s.workload.shape(of)
    own = prod((Fraction(n - 1, n) for n in sizes), start=Fraction(1))
    if s.touched == 1:
        return own
    if s.touched == 2 and s.neighbors == "replace":
        if not of:
            return Fraction(1)
        # Two cells that differ in some attributes have the product of 1 - 1/n and -1/n over them; one at least differs.
        most = max(
            Fraction(1, n) * prod((Fraction(k - 1, k) for j, k in enumerate(sizes) if j != i), start=Fraction(1))
            for i, n in enumerate(sizes)
        )
        return 2 * (own + most)
    return own * s.touched**2


def matrix(s: Spec) -> Int64s:
    """The sum of the measurements' inner products times their weights."""
    grams = [gram(s, m) for m in s.measurements]
    most = sum(int(g.diagonal().max()) * m.weight for g, m in zip(grams, s.measurements, strict=True))
    if most > _MAX_GRAM:
        raise FalseClaimError("measurements = weights times squares of rows above 2^52, want smaller numbers")
    return sum((m.weight * g for g, m in zip(grams, s.measurements, strict=True)), np.zeros_like(grams[0]))


def pieces(s: Spec) -> list[int]:
    """The sizes of what is left where more cells than a matrix may have are cut between blocks of all partitions."""
    n = s.workload.cells
    if n <= MAX_CELLS:
        return [n]
    cuts = [at for at in range(1, n) if all(at % m.block == 0 for m in s.measurements)]
    sizes: list[int] = np.diff([0, *cuts, n]).tolist()
    return sizes


_RANK = "measurements = rows without full rank, want measurements that tell all cells apart"


def inverse(m: Int64s) -> Floats:
    """About the inverse of a matrix that is clearly positive definite."""
    try:
        lower = np.linalg.cholesky(m.astype(np.float64))
    except np.linalg.LinAlgError:
        raise FalseClaimError(_RANK) from None
    if (lower.diagonal() ** 2 <= 2.0**-45 * m.diagonal()).any():
        raise FalseClaimError(_RANK)
    half = np.linalg.solve(lower, np.eye(len(m)))
    found: Floats = half.T @ half
    return found


def _limbs(x: Int64s) -> list[Floats]:
    return [(x & _MASK).astype(float), (x >> _LIMB & _MASK).astype(float), (x >> 2 * _LIMB).astype(float)]


def exactly(a: Int64s, b: Int64s) -> Integers:
    """The product of two matrices of at most 2^11 in between. Parts have at most 21 bits, so that float64 sums of their
    products are exact in any order."""
    sums: list[Any] = [0] * 5
    for i, x in enumerate(_limbs(a)):
        for j, y in enumerate(_limbs(b)):
            sums[i + j] = sums[i + j] + (x @ y).astype(np.int64)
    total: Integers = sums[4].astype(object)
    for part in reversed(sums[:4]):
        total = (total << _LIMB) + part
    return total


def _inverted(m: Int64s) -> tuple[Int64s, int, Fraction]:
    """Integers Z, places and a bound on all entries of M⁻¹ - Z·2^-places."""
    f, n = inverse(m), len(m)
    exponent = int(np.frexp(np.abs(f).max())[1])
    places = 61 - exponent
    if not np.isfinite(f).all() or not 1 <= places <= 120:
        raise FalseClaimError(_RANK)
    z = np.rint(np.ldexp(f, places)).astype(np.int64)
    unit = np.eye(n, dtype=np.int64).astype(object) << places
    rest = (unit - exactly(m, z)).astype(float)  # a step of Newton's
    z = z + np.rint(f @ rest).astype(np.int64)
    z = np.tril(z) + np.tril(z, -1).T
    rest = np.abs(unit - exactly(m, z))
    norm, entry = int(max(rest.sum(axis=1))), int(rest.max())
    size = int(max(np.abs(z).astype(object).sum(axis=1)))
    one = 1 << places
    if one <= 2 * norm:
        raise FalseClaimError(_RANK)
    return z, places, Fraction(size * entry, (one - norm) * one)


def _dense(s: Spec, meter: Meter) -> tuple[list[Fraction], Fraction]:
    """The variances of all queries, and their mean."""
    w, n = s.workload, s.workload.cells
    meter.spend(n * n * sum(len(m.rows) + 1 for m in s.measurements) + 8 * sum(size**3 for size in pieces(s)))
    z, places, slack = _inverted(matrix(s))
    factor = max(m.weight * m.variance for m in s.measurements)
    if w.kind == "matrix":
        rows = np.array(w.rows, dtype=np.int64)
        forms: list[int] = (exactly(rows, z) * rows).sum(axis=1).tolist()
        norms: list[int] = np.abs(rows).sum(axis=1).tolist()
    else:
        sums = np.zeros((n + 1, n + 1), dtype=object)
        sums[1:, 1:] = z.astype(object).cumsum(axis=0).cumsum(axis=1)
        ends = np.array(list(w.intervals))
        a, b = ends[:, 0], ends[:, 1]
        forms = (sums[b, b] - sums[a, b] - sums[b, a] + sums[a, a]).tolist()
        norms = (b - a).tolist()
    # All over one denominator: of factor, of the places and of the slack.
    unit = 1 << places
    high, low = factor.numerator, factor.denominator * unit * slack.denominator
    by_form, by_norm = high * slack.denominator, high * slack.numerator * unit
    tops = [form * by_form + norm * norm * by_norm for form, norm in zip(forms, norms, strict=True)]
    return [Fraction(top, low) for top in tops], Fraction(sum(tops), low * len(tops))


def component(s: Spec, b: Set) -> tuple[Fraction, list[Fraction]]:
    """The variance of the estimate of a component in a direction of norm 1, before it is projected, and the shares of
    the measured tables in it, none of residuals."""
    first = s.measurements[0]
    if first.kind == RESIDUALS:
        d = Fraction(first.deviations[first.sets.index(b)])
        return d * d * (1 + Fraction(1, 1 << 47)) + Fraction(1, 12 << len(b)), []
    weights, variance = [], Fraction(0)
    for m in s.measurements:
        assert m.attributes is not None and m.noise is not None
        weights.append(Fraction(0))
        if set(b) <= set(m.attributes):
            n = s.workload.others(m.attributes, b)
            weights[-1] = Fraction(m.weight, n)
            variance += n * m.noise.variance * weights[-1] ** 2
    total = sum(weights, Fraction(0))
    return variance / total**2, [x / total for x in weights]


def _of_tables(s: Spec, meter: Meter) -> tuple[list[Fraction], Fraction]:
    """The variances of a cell of each table, and the mean over all cells."""
    meter.spend(1 << 20)
    w = s.workload
    known: dict[Set, Fraction] = {}
    variances = []
    for of in w.sets:
        total = Fraction(0)
        for b in subsets(of):
            if b not in known:
                known[b] = component(s, b)[0] * prod((Fraction(n - 1, n) for n in w.shape(b)), start=Fraction(1))
            total += known[b] / w.others(of, b) ** 2
        variances.append(total)
    mean = sum((v * w.size(of) for v, of in zip(variances, w.sets, strict=True)), Fraction(0)) / w.queries
    return variances, mean
