# SPDX-License-Identifier: Apache-2.0
"""Plans: what is proved of them by definition and against the program, draws by their laws, and intervals.

False-alarm rates are 1e-9 each, seeds being fixed where draws are counted.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import EXPECTED, FILES, file
from test_agree import refused_alike
from test_edges import decimal, holds, replaced
from test_subset import seeded as seeded_words
from test_verify import code, verified

import noisewright as nw
from noisewright import _composed, _plancheck, _planfile, _plantail
from noisewright._exact import decimal_up, exp_down, float_down, float_up
from noisewright._load import parse
from noisewright._meter import Meter
from noisewright._spherical import normals
from noisewright._words import Floats

PLANS = [p for p in FILES if p.stem.startswith("plan-") and EXPECTED["files"][p.stem]["code"] == 0]
TRIANGLE = {"epsilon": 0.7, "delta": 0.1875, "weights": [str(w << 60) for w in (6, 4, 1)]}


def plan(raw: bytes) -> nw.Plan:
    made = parse(raw)
    assert isinstance(made, nw.Plan)
    return made


def loaded(name: str) -> nw.Plan:
    made = nw.load(file(name))
    assert isinstance(made, nw.Plan)
    return made


def written(workload: dict[str, Any], measurements: list[dict[str, Any]], count: int, **changes: Any) -> bytes:
    """A plan of loose claims."""
    certificate = {"delta": "1", "mean_squared_error": "1" + "0" * 9, "max_squared_error": "1" + "0" * 9}
    fields: dict[str, Any] = {
        "format": "noisewright-plan",
        "version": 1,
        "epsilon": 1.5,
        "delta": 0.9,
        "neighbors": "add-remove",
        "max_per_person": 1,
        "workload": workload,
        "measurements": measurements,
        "certificate": {**certificate, "variances": ["1" + "0" * 9] * count},
    }
    return json.dumps({**fields, **changes}).encode()


@pytest.mark.parametrize("path", PLANS, ids=lambda p: p.stem)
def test_as_the_program(path: Path) -> None:
    """The sums of epsilons and deltas are the same; compositions here are exact, and so below its bounds; variances are
    off by what claims allow for."""
    found = loaded(path.stem).verify()
    want = EXPECTED["files"][path.stem]
    stated = json.loads(path.read_text())["certificate"]
    if path.stem in ("plan-levels", "plan-l1", "plan-tables", "plan-replace"):
        assert decimal_up(found.delta_upper) == stated["delta"]
    else:
        assert 0.99 * want["delta_upper"] < found.delta_upper <= Fraction(stated["delta"])
    for ours, theirs, claim in (
        (found.mean_squared_error, want["expected_loss"], stated["mean_squared_error"]),
        (found.max_squared_error, want["max_loss"], stated["max_squared_error"]),
    ):
        assert math.isclose(ours, theirs, rel_tol=1e-12) and 0 < Fraction(claim) / ours - 1 < 2e-9
    assert len(found.variances) == len(stated["variances"])
    assert found.lower_bound == 0 and found.work > 0


@pytest.mark.parametrize("path", PLANS, ids=lambda p: p.stem)
def test_claims_to_the_last_digit(path: Path) -> None:
    text, found = path.read_text(), loaded(path.stem).verify()
    truths = {"mean_squared_error": found.mean_squared_error, "max_squared_error": found.max_squared_error}
    if path.stem != "plan-l2":  # whose promise stands before, with the same name
        truths["delta"] = found.delta_upper
    for name, truth in truths.items():
        above = decimal(truth + Fraction(1, 10**100), 100, up=True)
        holds(replaced(text, name, f'"{above}"'))
        if truth:
            below = decimal(truth - Fraction(1, 10**100), 100, up=False)
            with pytest.raises(nw.FalseClaimError, match=name):
                holds(replaced(text, name, f'"{below}"'))
    for i, truth in enumerate(found.variances):
        changed = json.loads(text)
        changed["certificate"]["variances"][i] = decimal(truth + Fraction(1, 10**100), 100, up=True)
        holds(json.dumps(changed).encode())
        changed["certificate"]["variances"][i] = decimal(truth - Fraction(1, 10**100), 100, up=False)
        with pytest.raises(nw.FalseClaimError, match=rf"variances\[{i}\]"):
            holds(json.dumps(changed).encode())
    delta = found.delta_upper
    if delta:
        holds(replaced(text, "delta", repr(float_up(delta))))
        with pytest.raises(nw.NotPrivateError):
            holds(replaced(text, "delta", repr(math.nextafter(float_down(delta), 0))))


def naive(laws: list[_composed.Law], epsilon: float) -> Fraction:
    """The divergence by all combinations of atoms."""
    ratio, total, unit = Fraction(exp_down(epsilon), 1 << 96), Fraction(0), math.prod(u for _, u in laws)
    for atoms in itertools.product(*(law for law, _ in laws)):
        total += max(Fraction(0), math.prod(p for p, _ in atoms) - ratio * math.prod(q for _, q in atoms))
    return total / unit


def small_laws() -> list[_composed.Law]:
    source = random.Random(3)
    laws: list[_composed.Law] = [_composed.response(Fraction(1, 2)), _composed.response(Fraction(0))]
    for _ in range(3):
        weights = [source.randrange(1, 50) for _ in range(4)]
        atoms = [(w, v) for w, v in zip(weights, source.sample(weights, 4), strict=True)]
        laws.append(([*atoms, (5, 0), (0, 5)], sum(weights) + 5))
    return laws


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.5, 1.0, 2.7])
def test_divergence_by_definition(epsilon: float) -> None:
    laws = small_laws()
    for chosen in itertools.chain(
        itertools.combinations_with_replacement(laws, 1), itertools.combinations_with_replacement(laws, 3)
    ):
        found = _composed.divergence([(law, 1) for law in chosen], Fraction(0), epsilon, Meter())
        assert found == naive(list(chosen), epsilon)
    several = _composed.divergence([(laws[2], 3), (laws[0], 2)], Fraction(0), epsilon, Meter())
    assert several == naive([laws[2]] * 3 + [laws[0]] * 2, epsilon)


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
@pytest.mark.parametrize("squared", [Fraction(1, 9), Fraction(2)])
def test_divergence_with_normal_noise(epsilon: float, squared: Fraction) -> None:
    """Against a sum over the density, at 40,000 points that are right to 1e-9."""
    mu = math.sqrt(squared)
    x = (np.arange(40_000) + 0.5) / 40_000 * 24 - 12
    one, other = (np.exp(-((x - m) ** 2) / 2) / math.sqrt(2 * math.pi) * 24 / 40_000 for m in (mu, 0.0))
    for laws in ([], [small_laws()[0]], small_laws()[2:4]):
        wanted = 0.0
        for atoms in itertools.product(*(law for law, _ in laws)):
            p = math.prod(p / unit for (p, _), (_, unit) in zip(atoms, laws, strict=True))
            q = math.prod(q / unit for (_, q), (_, unit) in zip(atoms, laws, strict=True))
            wanted += float(np.maximum(p * one - math.exp(epsilon) * q * other, 0).sum())
        found = _composed.divergence([(law, 1) for law in laws], squared, epsilon, Meter())
        assert abs(found - wanted) < 1e-8, laws


@pytest.mark.parametrize("ratio", [0, 1 << 62, (1 << 64) - (1 << 50)])
@pytest.mark.parametrize("half", [1, 3])
def test_atoms_of_a_shift(ratio: int, half: int) -> None:
    """Of the law, one number after the other, as far as the tail has weight."""
    weights = [1 << 60] * half + [((1 << 64) - (2 * half - 1) * (1 << 60)) // 2]
    if half == 1:
        weights = [1 << 62, 3 << 61]
    noise = _planfile._noise("noise", nw_fields(weights, ratio))
    rho, far = ratio / 2**64, half + (400 if ratio < 1 << 63 else 0)
    law: dict[int, float] = {}
    for i, w in enumerate(weights):
        for sign in (1, -1):
            law[sign * i] = w / 2**64
    if ratio:
        for i in range(far - half + 1):
            for sign in (1, -1):
                law[sign * (half + i)] = weights[-1] / 2**64 * (1 - rho) * rho**i
    atoms, unit = _composed.shifted_by_one(noise.table)
    assert sum(p for p, _ in atoms) == unit
    if far == half and ratio:
        return  # the tail is too long to list
    for epsilon in (0.0, 0.5, 1.2):
        wanted = sum(max(0.0, p - math.exp(epsilon) * law.get(n - 1, 0.0)) for n, p in law.items())
        assert math.isclose(
            _composed.divergence([((atoms, unit), 1)], Fraction(0), epsilon, Meter()), wanted, abs_tol=1e-12
        )


def nw_fields(weights: list[int], ratio: int) -> Any:
    return {"epsilon": 1.0, "delta": 0.99, "weights": tuple(weights), "tail_ratio": ratio}


def inverted_exactly(matrix: Any) -> list[list[Fraction]]:
    n = len(matrix)
    a = [[Fraction(int(x)) for x in row] + [Fraction(int(i == j)) for j in range(n)] for i, row in enumerate(matrix)]
    for i in range(n):
        pivot = next(k for k in range(i, n) if a[k][i])
        a[i], a[pivot] = a[pivot], a[i]
        a[i] = [x / a[i][i] for x in a[i]]
        for k in range(n):
            if k != i:
                a[k] = [x - a[k][i] * y for x, y in zip(a[k], a[i], strict=True)]
    return [row[n:] for row in a]


@pytest.mark.parametrize("name", ["plan-levels", "plan-l1", "plan-l2", "plan-composed"])
def test_variances_in_rationals(name: str) -> None:
    s = loaded(name)._spec
    inverse = inverted_exactly(_plancheck.matrix(s))
    factor = max(m.weight * m.variance for m in s.measurements)
    rows = s.workload.rows or [[int(a <= i < b) for i in range(s.workload.cells)] for a, b in s.workload.intervals]
    for row, found in zip(rows, loaded(name).verify().variances, strict=True):
        truth = factor * sum((x * y * inverse[i][j] for i, x in enumerate(row) for j, y in enumerate(row)), Fraction(0))
        assert truth <= found <= truth * (1 + Fraction(1, 10**12))


def test_many_cells(program: str, tmp_path: Path) -> None:
    """Cells and blocks of four, weighing 1 and 2: the inverse of I + 2J is I - 2J/9, and I - 2J/5 at the end."""
    noise = json.loads(file("plan-levels").read_text())["measurements"][0]["noise"]
    partitions = [{"kind": "partition", "block": b, "weight": w, "noise": noise} for b, w in ((1, 1), (4, 2))]
    raw = written({"kind": "identity", "cells": 1030}, partitions, 1030)
    found = plan(raw).verify()
    variance = plan(raw)._spec.measurements[0].variance
    for q, truth in enumerate(found.variances):
        exact = 2 * variance * (1 - Fraction(2, 9 if q < 1028 else 5))
        assert exact <= truth <= exact * (1 + Fraction(1, 10**12))
    assert refused_alike(program, tmp_path, [raw]) == 0
    row = [1] + [0] * 1029
    for bad in (
        written({"kind": "identity", "cells": 2049}, partitions, 2049),
        written({"kind": "matrix", "cells": 1030, "rows": [row]}, partitions, 1),
        written(
            {"kind": "identity", "cells": 1030},
            [{"kind": "matrix-l2", "rows": [row], "weight": 1, "deviation": 3}],
            1030,
        ),
    ):
        assert refused_alike(program, tmp_path, [bad]) == 1


def test_exact_products() -> None:
    source = np.random.default_rng(1)
    a = source.integers(-(1 << 52), 1 << 52, (3, 2048))
    b = source.integers(-(1 << 62), 1 << 62, (2048, 4))
    assert (_plancheck.exactly(a, b) == a.astype(object) @ b.astype(object)).all()


def changes(cells: int, most: int, replace: bool) -> Iterator[tuple[int, ...]]:
    """All differences of neighbors."""
    sides = [c for c in itertools.product((0, 1), repeat=cells) if sum(c) <= most]
    for u in sides:
        for v in sides if replace else [(0,) * cells]:
            yield tuple(x - y for x, y in zip(u, v, strict=True))


@pytest.mark.parametrize(("most", "neighbors"), [(1, "add-remove"), (2, "add-remove"), (1, "replace"), (2, "replace")])
def test_distances(most: int, neighbors: str) -> None:
    source = np.random.default_rng(most)
    for _ in range(20):
        rows = source.integers(-4, 5, (3, 4))
        rows[0, 0] = 1
        rows[1, 1] = rows[2, 2] = 3
        texts = [[int(x) for x in row] for row in rows]
        raw = written(
            {"kind": "prefix", "cells": 4},
            [{"kind": "matrix-l2", "rows": texts, "weight": 1, "deviation": 3}],
            4,
            max_per_person=most,
            neighbors=neighbors,
        )
        s = plan(raw)._spec
        differences = [np.array(c) for c in changes(4, most, neighbors == "replace")]
        l1 = max(int(np.abs(rows @ c).sum()) for c in differences)
        l2 = max(int(((rows @ c) ** 2).sum()) for c in differences)
        found = (
            _plancheck.distance_l1(s, s.measurements[0].rows, Meter()),
            _plancheck.distance(s, _plancheck.gram(s, s.measurements[0])),
        )
        assert found == (l1, l2) if s.touched <= 2 else found[0] >= l1 and found[1] >= l2


@pytest.mark.parametrize("path", PLANS, ids=lambda p: p.stem)
def test_answers(path: Path) -> None:
    """What is measured without noise is answered exactly; with it, answers have the right means and the variances that
    are proved, of 1,500 draws."""
    made = loaded(path.stem)
    s, w = made._spec, made._spec.workload
    source = np.random.default_rng(7)
    if s.marginals:
        table = source.integers(0, 50, w.sizes)
        exact = np.concatenate(
            [table.sum(axis=tuple(a for a in range(table.ndim) if a not in of)).ravel() for of in w.sets]
        )
        cells = made._counts(table)
    else:
        cells = source.integers(0, 50, w.cells)
        rows = w.rows or [[int(a <= i < b) for i in range(w.cells)] for a, b in w.intervals]
        exact = np.array(rows) @ cells
    draws, words = 1500, seeded_words(5)
    errors = np.array([made._decode(made._measured(cells, words)) for _ in range(draws)]) - exact
    found = made.answers(made.release(cells))
    variances = found.variances
    deviation = np.sqrt(variances / draws)
    assert (np.abs(errors.mean(axis=0)) < 7 * deviation).all()
    assert (errors.var(axis=0) < variances * 1.35).all() and (errors.var(axis=0) > variances * 0.6).any()
    assert len(found) == w.queries == len(made.queries) == len(found.rows()) and "to" in repr(found)
    assert (found.lower_of_all <= found.lower).all() and (found.upper <= found.upper_of_all).all()
    # An interval of level 0.8 misses at most a fifth, to 6.1 standard errors, and a thirtieth at least.
    most = made.answers(made.release(cells), 0.8)
    radii = (most.upper - most.lower) / 2
    missed = (np.abs(errors) > radii * (1 + 1e-9)).mean(axis=0)
    assert (missed < 0.2 + 6.1 * math.sqrt(0.16 / draws)).all() and (missed > 1 / 30).all()


def test_rounded_normal_noise() -> None:
    """Chi-square of 20,000 draws."""
    for deviation in (0.6, 3.0):
        drawn = normals(np.full(20_000, deviation), seeded_words(2))
        reach = math.ceil(3 * deviation)
        ends = (np.arange(-reach, reach + 2) - 0.5) / deviation
        below = np.array([0.5 * math.erfc(-x / math.sqrt(2)) for x in ends])
        want = np.concatenate([[below[0]], np.diff(below), [1 - below[-1]]]) * drawn.size
        got = np.bincount(np.clip(drawn, -reach - 1, reach + 1) + reach + 1, minlength=want.size)
        chi, k = float(((got - want) ** 2 / want).sum()), want.size - 1
        assert chi < k * (1 - 2 / (9 * k) + 6.0 * (2 / (9 * k)) ** 0.5) ** 3  # Wilson & Hilferty


def outcomes(made: nw.Plan) -> tuple[Floats, Floats]:
    """The errors of all queries for every combination of the triangle's noises, and its probability."""
    masses = {0: 6, 1: 4, -1: 4, 2: 1, -2: 1}
    n = sum(made._sizes())
    every = list(itertools.product(masses, repeat=n))
    errors = np.array([made._decode(np.array(y)) for y in every])
    return np.abs(errors), np.array([math.prod(masses[x] for x in y) / 16**n for y in every])


@pytest.mark.parametrize("kind", ["levels", "cells", "tables"])
def test_radii_exactly(kind: str) -> None:
    """Of all outcomes, no error is beyond its radius with more than the probability that is asked for; and the radius
    is 4 % above the least one at most."""
    blocks = {"levels": (1, 2), "cells": (1,), "tables": ()}[kind]
    measurements: list[dict[str, Any]]
    measurements = [{"kind": "partition", "block": b, "weight": 3 - i, "noise": TRIANGLE} for i, b in enumerate(blocks)]
    workload: dict[str, Any] = {"kind": "prefix", "cells": 3 if kind == "levels" else 5}
    if kind == "tables":
        workload = {"kind": "marginals", "attributes": [{"name": n, "size": 2} for n in "ab"], "sets": [[0], [0, 1]]}
        sets: list[list[int]] = [[0, 1], [0]]
        measurements = [{"kind": "partition", "attributes": a, "weight": len(a), "noise": TRIANGLE} for a in sets]
    raw = written(workload, measurements, 2 if kind == "tables" else workload["cells"], epsilon=4.0, delta=0.99)
    made = plan(raw)
    made.verify()
    errors, probabilities = outcomes(made)
    for miss in (0.3, 0.05, 1e-3):
        radii = made.radii(miss)
        if kind == "tables":
            radii = np.repeat(radii, [2, 4])
        for q, radius in enumerate(radii):
            assert probabilities[errors[:, q] > radius + 1e-9].sum() <= miss
            order = np.unique(np.round(errors[:, q], 9))
            least = next(x for x in order if probabilities[errors[:, q] > x + 1e-9].sum() <= miss)
            assert radius == least if kind == "cells" else radius <= 1.04 * least + 1e-9


def test_radii_of_many_cells() -> None:
    """A sum of 30 noises: the least whole number by their convolution."""
    workload = {"kind": "prefix", "cells": 30}
    made = plan(written(workload, [{"kind": "partition", "block": 1, "weight": 1, "noise": TRIANGLE}], 30))
    made.verify()
    one = np.array([1, 4, 6, 4, 1]) / 16
    for miss in (0.5, 0.05, 1e-6):
        radii, law = made.radii(miss), np.ones(1)
        for radius in radii:
            law = np.convolve(law, one)
            middle = law.size // 2
            beyond = [1 - law[middle - r : middle + r + 1].sum() for r in range(middle + 1)]
            assert radius == next(r for r, p in enumerate(beyond) if p <= miss)


def test_characteristic_functions() -> None:
    for weights, ratio in (
        ([6 << 60, 4 << 60, 1 << 60], 0),
        ([1 << 62, 1 << 62, 1 << 61], 7 << 61),
        ([1 << 60, 15 << 59], 1 << 61),
    ):
        law = _plantail.Characteristic(_planfile._noise("noise", nw_fields(weights, ratio)))
        assert not law.geometric and law.possible
        rho = ratio / 2**64
        for theta in (0.0, 1e-4, 0.3, 2.0, math.pi, 4.0, 100.0):
            want, last = weights[0] / 2**64, len(weights) - 1
            for i, w in enumerate(weights[1:], 1):
                f = np.exp(1j * theta * i)
                if i == last and ratio:
                    f *= (1 - rho) / (1 - rho * np.exp(1j * theta))
                want += w / 2**63 * float(f.real)
            assert abs(float(law(np.array([theta]))[0]) - want) < law.off + 1e-12 < 1e-9


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 0},
        {"epsilon": 101},
        {"delta": 1},
        {"neighbors": "both"},
        {"max_per_person": 0},
        {"max_per_person": 1025},
        {"workload": {"kind": "suffix", "cells": 7}},
        {"workload": {"kind": "ranges", "cells": 8}},
        {"workload": {"kind": "ranges", "cells": 7, "rows": [[1] * 7]}},
        {"workload": {"kind": "ranges", "cells": 7, "sets": [[0]]}},
        {"workload": {"kind": "matrix", "cells": 7, "rows": [[0] * 7] * 28}},
        {"workload": {"kind": "matrix", "cells": 7, "rows": [[1] * 6] * 28}},
        {"workload": {"kind": "matrix", "cells": 7, "rows": [[1 << 21] * 7] * 28}},
        {"measurements": []},
    ],
)
def test_malformed(change: dict[str, Any], program: str, tmp_path: Path) -> None:
    text = json.dumps({**json.loads(file("plan-levels").read_text()), **change}).encode()
    assert refused_alike(program, tmp_path, [text]) == 1
    assert code(lambda: verified(text)) == 2


def mutated(source: random.Random, value: Any) -> Any:
    """The same with one number, text or part of it changed."""
    if isinstance(value, dict) and value:
        name = source.choice(list(value))
        return {**value, name: mutated(source, value[name])}
    if isinstance(value, list):
        if not value or source.random() < 0.1:
            return [*value, *value[:1]] if source.random() < 0.5 else value[1:]
        i = source.randrange(len(value))
        return [*value[:i], mutated(source, value[i]), *value[i + 1 :]]
    if isinstance(value, str) and value.replace(".", "").isdigit():
        i = source.randrange(len(value))
        return value[:i] + source.choice("0123456789") + value[i + 1 :]
    if isinstance(value, str):
        return source.choice(
            ["replace", "add-remove", "prefix", "identity", "matrix-l1", "matrix-l2", "partition", value]
        )
    if isinstance(value, int):
        return value + source.choice([-1, 1, 2, 10])
    return value * source.choice([0.5, 0.9, 1.1, 2.0])


@pytest.mark.parametrize("path", PLANS, ids=lambda p: p.stem)
def test_mutated_files(path: Path, program: str, tmp_path: Path) -> None:
    """The program and this package judge them alike."""
    source = random.Random(len(path.stem))
    whole = json.loads(path.read_text())
    made = [mutated(source, whole) for _ in range(24)]
    if path.stem in ("plan-composed", "plan-l2", "plan-residuals"):  # of which less is proved here
        for file in made:
            file["certificate"] = {**file["certificate"], "delta": whole["certificate"]["delta"]}
    assert refused_alike(program, tmp_path, [json.dumps(file).encode() for file in made]) >= 4


def test_refused() -> None:
    made = loaded("plan-levels")
    for bad in ([1] * 6, [0.5] * 7, ["a"] * 7, [[1] * 7], [1 << 60] * 7, [float("nan")] * 7):
        with pytest.raises(nw.InvalidError, match="the cells are not 7 whole numbers"):
            made.release(bad)
    with pytest.raises(nw.InvalidError, match="want the 10 integers"):
        made.answers([1, 2])
    for level in (0, 1, 2):
        with pytest.raises(nw.InvalidError, match="level"):
            made.answers(made.release([0] * 7), level)
        with pytest.raises(nw.InvalidError, match="miss"):
            made.radii(level)
    assert made.max_per_person == 1 and made.neighbors == "add-remove" and made.workload == "ranges"
    assert loaded("plan-tables").attributes == {"a0": 2, "a1": 3, "a2": 4} and made.epsilon == 1.5 and made.delta == 0
    assert code(lambda: nw.load(file("plan-false"))) == 3
