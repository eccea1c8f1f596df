# SPDX-License-Identifier: Apache-2.0
"""Noise on balls and in the plane: verdicts and draws of the program, and rules of the format pages by brute force.

Seeds are fixed where draws are counted, and false-alarm rates 1e-9.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import floor, nextafter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import EXPECTED, file
from reference import STREAM
from test_agree import refused_alike
from test_subset import seeded
from test_verify import code, verified

import noisewright as nw
from noisewright import _ballfile, _planefile
from noisewright._exact import exp_down, float_up
from noisewright._rounding import words_from

BALLS = ["ball-two", "ball-three", "ball-six"]
PLANES = ["plane-integer", "plane-l1", "plane-real", "plane-span", "plane-turned"]
COUNT = int(os.environ.get("NOISEWRIGHT_FORGERIES", "10"))  # for each file


def ball(name: str) -> nw.BallNoise:
    made = nw.load(file(name))
    assert isinstance(made, nw.BallNoise)
    return made


def plane(name: str) -> nw.PlaneNoise:
    made = nw.load(file(name))
    assert isinstance(made, nw.PlaneNoise)
    return made


def changed(name: str, change: Callable[[dict[str, Any]], Any]) -> bytes:
    value = json.loads(file(name).read_text())
    change(value)
    return json.dumps(value, separators=(",", ":")).encode()


@pytest.mark.parametrize("name", BALLS + PLANES)
def test_golden_draws(name: str) -> None:
    """One after the other, as far as the words go, from the words of the program."""
    want, made = EXPECTED["files"][name]["draws"], nw.load(file(name))
    assert isinstance(made, nw.BallNoise | nw.PlaneNoise)
    value: Any = [0, 0]
    if isinstance(made, nw.BallNoise):
        value = (np.arange(made.dimension) + 0.5) * made.step
    words, drawn = words_from(STREAM), 0
    try:
        for answer in want:
            assert made._answers(value, words).tolist() == answer
            drawn += 1
    except nw.InvalidError:  # no more words
        assert name.startswith("ball-")
    assert drawn >= (8 if name == "ball-six" else 100)


def point(radius: int, dimension: int, word: Callable[[], int]) -> list[int]:
    """A draw from a ball by the page, one word at a time, with a point as the limit of fractions."""
    r = 2 * radius
    while True:
        at = []
        for _ in range(dimension):
            while (v := word()) * 2 * r % (1 << 64) < (1 << 64) % (2 * r):
                pass
            at.append((v * 2 * r >> 64) - r)
        low, width = [Fraction(a) for a in at], Fraction(1)
        while True:
            ends = [(abs(x), abs(x + width)) for x in low]
            if sum(max(e) ** 2 for e in ends) <= r * r:
                return [(a + 1) // 2 for a in at]
            if sum(min(e) ** 2 for e in ends) >= r * r:
                break
            width /= 1 << 64
            low = [x + word() * width for x in low]


def test_points_of_small_balls() -> None:
    """Where most cells are neither in the ball nor outside: more digits decide."""
    source = json.loads(file("ball-two").read_text())
    for d, radius in product((2, 3, 5, 8), (1, 2, 3)):
        fields = {**source, "dimension": d, "radii": [radius, 9], "weights": [str((1 << 64) - 1), "1"]}
        made = nw.BallNoise(b"", _ballfile.decode(parsed(fields)))
        stream = np.random.default_rng(d * radius).integers(0, 1 << 64, 60_000, dtype=np.uint64)
        words = words_from(stream)
        rest = iter(stream.tolist())
        for _ in range(20):
            next(rest)
            assert made._noise(1, words).tolist() == [point(radius, d, lambda rest=rest: next(rest))]  # type: ignore[misc]


def parsed(fields: dict[str, Any]) -> Any:
    from noisewright._strictjson import parse

    return parse(json.dumps(fields).encode(), 1 << 26)


@pytest.mark.parametrize("name", BALLS)
def test_many_draws_of_balls(name: str) -> None:
    """The mean squared norm is that of the mixture, up to what rounding adds, and coordinates are alike."""
    made, n = ball(name), 40_000
    d, s = made.dimension, made._spec
    drawn = made._noise(n, seeded(3)).astype(float)
    radii, p = np.array(s.radii, dtype=float), np.array([w / 2**64 for w in s.weights])
    second = (drawn**2).mean(axis=0)
    want, fourth = (p @ radii**2) / (d + 2), 3 * (p @ radii**4) / ((d + 2) * (d + 4))
    assert np.all(np.abs(second - want) < 6.2 * ((fourth - want**2) / n) ** 0.5 + 1)
    assert np.all(np.abs(drawn.mean(axis=0)) < 6.2 * (want / n) ** 0.5 + 1)
    norms = (drawn**2).sum(axis=1) ** 0.5
    for k in (len(radii) // 4, len(radii) // 2):
        within = float(p @ np.minimum(1, radii[k] / np.maximum(radii, 1)) ** d)
        assert abs((norms <= radii[k]).mean() - within) < 6.2 * (within * (1 - within) / n) ** 0.5 + 1e-4


@pytest.mark.parametrize("name", PLANES)
def test_many_draws_in_the_plane(name: str) -> None:
    """Chi-square over all cells, by their weights: each image by itself."""
    made, n = plane(name), 60_000
    s = made._spec
    cells = (made._noise(n, seeded(4)) + s.points // 2) // s.points
    r, shape = s.rings, (2 * s.rings + 1, 2 * s.rings + 1)
    law = [s.law[_planefile.original(i, j, s.span)] / 2**64 * n for i, j in product(range(-r, r + 1), repeat=2)]
    got = np.bincount(np.ravel_multi_index((cells + r).T, shape), minlength=len(law))
    want = np.array(law)
    few = want < 20
    got, want = np.append(got[~few], got[few].sum()), np.append(want[~few], want[few].sum())
    k = want.size - 1
    chi = float(((got - want)[want > 0] ** 2 / want[want > 0]).sum())
    assert chi < k * (1 - 2 / (9 * k) + 6.0 * (2 / (9 * k)) ** 0.5) ** 3  # Wilson & Hilferty


@pytest.mark.parametrize("name", PLANES)
def test_plane_by_brute_force(name: str) -> None:
    """The delta over all shifts in the norm, images and all, with dictionaries of fractions; and the loss."""
    s, certificate = plane(name)._spec, plane(name).verify()
    r, k = s.rings, s.cells
    law = {(i, j): s.law[_planefile.original(i, j, s.span)] for i, j in product(range(-r, r + 1), repeat=2)}
    assert sum(law.values()) == 1 << 64
    ratio, worst = exp_down(s.privacy.epsilon), 0
    for x, y in product(range(-k, k + 1), repeat=2):
        size = {"linf": max(abs(x), abs(y)), "l1": abs(x) + abs(y), "span": max(0, x, y) - min(0, x, y)}[s.norm]
        if (max(abs(x), abs(y)) if s.turned else size) <= k:
            moved = ((w << 96) - ratio * law.get((i - x, j - y), 0) for (i, j), w in law.items())
            worst = max(worst, sum(d for d in moved if d > 0))
    assert certificate.delta_upper == Fraction(worst, 1 << 160)
    if s.points == 1:
        power = 1 if s.absolute else 2
        assert certificate.expected_loss == Fraction(
            sum(w * (abs(i) ** power + abs(j) ** power) for (i, j), w in law.items()), 1 << 64
        )


@pytest.mark.parametrize("d", [2, 3, 4, 5, 6, 7, 8])
def test_lenses(d: int) -> None:
    """Volumes by the midpoint rule over slices: each is a ball of a dimension less."""
    lens = _ballfile._Lenses(d, (0, 5, 9, 20), 7)
    for i, j in product(range(4), repeat=2):
        a, b = (0, 5, 9, 20)[i], (0, 5, 9, 20)[j]
        x = (np.arange(400_000) + 0.5) / 400_000 * 60 - 30
        square = np.minimum(a * a - x * x, b * b - (x - 7) ** 2)
        ratio = unit(d - 1) / unit(d)
        want = (np.maximum(square, 0) ** ((d - 1) / 2)).sum() * 60 / 400_000 * ratio
        low, high = lens.of(i, j)
        assert low <= high <= low + 2**40
        assert abs(low / 2**96 - want) < 1e-3 * (1 + want)


def unit(d: int) -> float:
    """The volume of the ball of radius 1."""
    return (1.0, 2.0)[d] if d < 2 else unit(d - 2) * 2 * np.pi / d


def test_reach() -> None:
    """The least integer that is Δ/g + √d, at a boundary and next to it."""
    for d, sensitivity, want in ((4, 5.0, 7), (4, nextafter(5, 6), 8), (2, 5.0, 7), (2, 0.5, 2), (3, 0.25, 2)):
        fields = json.loads(file("ball-two").read_text())
        fields |= {"dimension": d, "step_exponent": 0, "radii": [5, 9], "weights": [str((1 << 64) - 1), "1"]}
        fields["privacy"]["sensitivity"] = sensitivity
        assert _ballfile.decode(parsed(fields)).reach == want


def mutated(source: random.Random, text: str) -> bytes:
    """Another digit somewhere, most often in what is not a weight, or a weight moved."""
    if source.randrange(3) == 0:
        value = json.loads(text)
        weights = value["weights"]
        a, b = source.sample(range(len(weights)), 2)
        part = int(weights[a]) >> source.randrange(1, 60)
        weights[a], weights[b] = str(int(weights[a]) - part), str(int(weights[b]) + part)
        return json.dumps(value, separators=(",", ":")).encode()
    certificate = text.index('"certificate"')
    places = [i for i, c in enumerate(text) if c.isdigit() and (i < 400 or certificate < i < certificate + 400)]
    i = source.choice(places)
    return (text[:i] + str(source.randrange(10)) + text[i + 1 :]).encode()


@pytest.mark.parametrize("name", BALLS + PLANES)
def test_forgeries(program: str, tmp_path: Path, name: str) -> None:
    source, text = random.Random(name), file(name).read_text()
    assert refused_alike(program, tmp_path, [mutated(source, text) for _ in range(COUNT)]) >= COUNT // 5


@pytest.mark.parametrize("name", BALLS + PLANES)
def test_boundaries(program: str, tmp_path: Path, name: str) -> None:
    """Promise and claims next to what is proved, on both sides of it."""
    found = nw.load(file(name)).verify()
    assert isinstance(found, nw.JointCertificate)
    delta = float_up(found.delta_upper)
    fields = json.loads(file(name).read_text())
    texts = []
    for promised in (delta, nextafter(delta, 0)):
        fields["privacy"]["delta"] = promised
        fields["certificate"]["lower_bound"] = "0"  # which a larger delta may lower
        texts.append(json.dumps(fields).encode())
    for claim, truth in (("delta", found.delta_upper), ("expected_loss", found.expected_loss)):
        for by in (0, -1, 1):
            value = json.loads(file(name).read_text())
            whole = -(-truth.numerator * 10**60 // truth.denominator) + by
            value["certificate"][claim] = f"{whole // 10**60}.{whole % 10**60:060d}"
            texts.append(json.dumps(value).encode())
    codes = [code(lambda text=text: verified(text)) for text in texts]
    refused_alike(program, tmp_path, texts)
    assert codes == [0, 3, 0, 3, 0, 0, 3, 0]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("ball-two", lambda f: f.update(dimension=1)),
        ("ball-two", lambda f: f.update(dimension=9)),
        ("ball-two", lambda f: f.update(step_exponent=-40)),
        ("ball-two", lambda f: f.update(step_exponent=201)),
        ("ball-two", lambda f: f["radii"].__setitem__(1, f["radii"][0])),
        ("ball-two", lambda f: f["radii"].__setitem__(0, -1)),
        ("ball-two", lambda f: f["radii"].__setitem__(-1, (1 << 29) + 1)),
        ("ball-two", lambda f: f["radii"].pop()),
        ("ball-two", lambda f: f.update(radii=[], weights=[])),
        ("ball-two", lambda f: f["loss"].update(name="huber:1")),
        ("ball-two", lambda f: f["loss"].update(name="lp:2 + lp:3")),
        ("ball-two", lambda f: f["loss"].update(name="lp:2:0.5")),
        ("ball-two", lambda f: f["certificate"].update(dual=None)),
        ("plane-real", lambda f: f.update(norm="span")),
        ("plane-real", lambda f: f.update(norm="l2")),
        ("plane-real", lambda f: f.update(norm="l1")),
        ("plane-real", lambda f: f.update(query="lattice")),
        ("plane-real", lambda f: f["grid"].update(points_per_cell=2)),
        ("plane-real", lambda f: f["grid"].update(cells_per_sensitivity=65)),
        ("plane-real", lambda f: f["weights"].pop()),
        ("plane-real", lambda f: f["privacy"].update(sensitivity=1.5)),
        ("plane-turned", lambda f: f["privacy"].update(sensitivity=1.5)),
        ("plane-turned", lambda f: f["loss"].update(name="l1")),
        ("plane-l1", lambda f: f["grid"].update(points_per_cell=3)),
        ("plane-integer", lambda f: f["privacy"].update(sensitivity=1.5)),
        ("plane-integer", lambda f: f["grid"].update(granularity_exponent=1)),
        ("plane-integer", lambda f: f["certificate"]["dual"].update(cells_per_sensitivity=3)),
        ("plane-integer", lambda f: f["certificate"]["dual"].update(exponent=2001)),
        ("plane-integer", lambda f: f["certificate"]["dual"]["shifts"].append(f["certificate"]["dual"]["shifts"][0])),
        ("plane-integer", lambda f: f["certificate"]["dual"]["shifts"][0].update(x=0, y=0)),
        ("plane-integer", lambda f: f["certificate"]["dual"]["shifts"][0]["rows"][0].update(first=256)),
        ("plane-integer", lambda f: f["certificate"]["dual"]["shifts"][0]["rows"].reverse()),
        ("plane-integer", lambda f: f["certificate"]["dual"]["shifts"][0]["rows"][0].update(multipliers=["-1"])),
        (
            "plane-integer",
            lambda f: f["certificate"]["dual"]["shifts"][0]["rows"][0].update(multipliers=[str((1 << 61) + 1)]),
        ),
    ],
)
def test_malformed(program: str, tmp_path: Path, name: str, change: Callable[[dict[str, Any]], Any]) -> None:
    text = changed(name, change)
    assert code(lambda: verified(text)) == 2
    assert refused_alike(program, tmp_path, [text]) == 1


def with_dual(dimension: int, loss: str, parts: int = 3) -> dict[str, Any]:
    """Noise with multipliers near 0, where nothing is lost, and a few more: knots in 1000ths of the sensitivity."""
    fields: dict[str, Any] = json.loads(file("ball-two").read_text())
    fields.update(dimension=dimension, loss={"name": loss})
    fields["privacy"].update(delta=0.75)
    unit = int(Fraction(fields["privacy"]["sensitivity"]) / Fraction(2) ** fields["step_exponent"]) // 1000
    near = {"knot": 0, "first": 2, "multipliers": [str(1 << 34)] * 5}
    far = {"knot": 4, "first": 5, "multipliers": ["12345", "0", "1"]}
    fields["certificate"]["dual"] = {
        "exponent": -40,
        "parts": parts,
        "radii": [unit * r for r in (0, 200, 512, 700, 1100, 2000, 2450, 2600, 3430)],
        "shifts": [{"length": 512 * unit, "rows": [far]}, {"length": 1000 * unit, "rows": [near, far]}],
    }
    fields["certificate"].update(delta="0.75", expected_loss="1000000", lower_bound="0")
    return fields


def states(fields: dict[str, Any], by: int = 0) -> bytes:
    """With the bound that is proved, in 15 digits rounded down, and so many of the last digit more."""
    made = nw.BallNoise(b"", _ballfile.decode(parsed(fields)))
    found = made.verify()
    assert isinstance(found, nw.JointCertificate)
    assert found.lower_bound > 0
    whole = floor(found.lower_bound * 10**18) + by
    fields["certificate"]["lower_bound"] = f"{whole // 10**18}.{whole % 10**18:018d}"
    return json.dumps(fields, separators=(",", ":")).encode()


@pytest.mark.parametrize(("dimension", "loss"), [(2, "l1"), (2, "l2"), (3, "l1"), (3, "l2")])
def test_bounds(program: str, tmp_path: Path, dimension: int, loss: str) -> None:
    """What multipliers prove is what the program proves, to the last digit of a claim, and so if they are changed."""
    fields = with_dual(dimension, loss)
    good, false = states(fields), states(fields, 1)
    assert code(lambda: verified(good)) == 0
    assert code(lambda: verified(false)) == 3
    source, texts = random.Random(f"{dimension}{loss}"), [good, false]
    text = good.decode()
    places = [i for i, c in enumerate(text) if c.isdigit() and i > text.index('"certificate"')]
    for _ in range(COUNT):
        i = source.choice(places)
        texts.append((text[:i] + str(source.randrange(10)) + text[i + 1 :]).encode())
    assert refused_alike(program, tmp_path, texts) >= 1


@pytest.mark.parametrize(
    "change",
    [
        lambda f, _: f.update(dimension=4),
        lambda f, _: f.update(loss={"name": "lp:3"}),
        lambda _, d: d.update(exponent=2001),
        lambda _, d: d.update(parts=0),
        lambda _, d: d.update(parts=65),
        lambda _, d: d.update(radii=[0]),
        lambda _, d: d["radii"].__setitem__(0, 1),
        lambda _, d: d["radii"].__setitem__(2, d["radii"][1]),
        lambda _, d: d["radii"].__setitem__(-1, (1 << 29) + 1),
        lambda f, d: d["shifts"][1].update(length=1 + int(f["privacy"]["sensitivity"] / 2.0 ** f["step_exponent"])),
        lambda _, d: d["shifts"][0].update(length=0),
        lambda _, d: d["shifts"].reverse(),
        lambda _, d: d["shifts"][1]["rows"].reverse(),
        lambda _, d: d["shifts"][1]["rows"][1].update(knot=9),
        lambda _, d: d["shifts"][1]["rows"][1].update(first=-1),
        lambda _, d: d["shifts"][1]["rows"][1].update(first=7),
        lambda _, d: d["shifts"][1]["rows"][1].update(multipliers=["-1"]),
        lambda _, d: d["shifts"][1]["rows"][1].update(multipliers=[str((1 << 61) + 1)]),
        lambda _, d: d.update(radii=list(range(513))),
        lambda _, d: d.update(more=1),
    ],
)
def test_malformed_duals(program: str, tmp_path: Path, change: Callable[[dict[str, Any], dict[str, Any]], Any]) -> None:
    fields = with_dual(2, "l2")
    change(fields, fields["certificate"]["dual"])
    text = json.dumps(fields).encode()
    assert code(lambda: verified(text)) == 2
    assert refused_alike(program, tmp_path, [text]) == 1


def test_names_of_losses(program: str, tmp_path: Path) -> None:
    """As the program reads them."""
    names = (
        "l1",
        "l2",
        "lp:1",
        "lp:2",
        "lp:2.0",
        "lp:64",
        "lp:65",
        "lp:0.9",
        "l1:1",
        "l2:1",
        "lp:2:1",
        "l1:2",
        "l2 + l2",
    )
    texts = []
    for name in ("ball-two", "plane-real"):
        fields = json.loads(file(name).read_text())
        for loss in names:
            texts.append(json.dumps({**fields, "loss": {"name": loss}}).encode())
    refused_alike(program, tmp_path, texts)


def test_false_files() -> None:
    for name in ("ball-false", "plane-false"):
        assert code(lambda name=name: nw.load(file(name))) == 3


def test_add_noise() -> None:
    two, counts, turned = ball("ball-two"), plane("plane-integer"), plane("plane-turned")
    assert two.add_noise([0.5, 0.25]).shape == (2,) and two.add_noise(np.zeros((3, 5, 2))).shape == (3, 5, 2)
    assert two.add_noise(np.zeros((0, 2))).shape == (0, 2)
    noisy = counts.add_noise([[7, 9], [7, 9]])
    assert noisy.dtype == np.int64 and noisy.shape == (2, 2)
    assert turned.add_noise([1.0, 2.0]).dtype == np.float64
    assert "BallNoise" in repr(two) and "norm=linf" in repr(counts) and counts.norm == "linf"
    assert (two.dimension, two.privacy.epsilon, counts.query, turned.query) == (2, 5.0, "integer", "real")
    assert two.verify().gap is None and 0 < (counts.verify().gap or 0) < 0.05
    for made, bad in ((two, [1.0]), (two, 1.0), (two, [1.0, 2.0, 3.0]), (counts, [0.5, 1]), (counts, [1])):
        with pytest.raises(nw.InvalidError):
            made.add_noise(bad)
    for made, most in ((two, _ballfile.LIMIT), (turned, turned._spec.limit), (counts, counts._spec.limit)):
        for bad in (float("nan"), float("inf"), (most + 1) * made.step, -(most + 1) * made.step):
            with pytest.raises(nw.InvalidError, match=r"too large|whole"):
                made.add_noise([0.0, bad])
        made.add_noise([0.0, most * made.step])
    unproved = nw.load(file("ball-false"), verify=False)
    with pytest.raises((nw.NotPrivateError, nw.FalseClaimError)):
        unproved.add_noise([0.0, 0.0])  # type: ignore[union-attr]


def test_what_cells_cover(program: str, tmp_path: Path) -> None:
    """A sensitivity as wide as the cells: one point too wide where both numbers are rounded before they are added."""
    texts = []
    for name, want in (("plane-real", False), ("plane-turned", True)):
        fields = json.loads(file(name).read_text())
        grid = fields["grid"]
        points = grid["cells_per_sensitivity"] * grid["points_per_cell"]
        fields["privacy"]["sensitivity"] = points * 2.0 ** grid["granularity_exponent"]
        texts.append(json.dumps(fields).encode())
        assert (code(lambda: verified(texts[-1])) == 2) is want
    refused_alike(program, tmp_path, texts)
