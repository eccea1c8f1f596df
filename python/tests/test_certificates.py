# SPDX-License-Identifier: Apache-2.0
"""Certificates of every kind that designs write, and changes of them on both sides of each rule of lower bounds: the
program, the package and a checker that is written from docs/table-format.md alone say the same of all."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Callable
from fractions import Fraction
from math import nextafter
from pathlib import Path
from typing import Any

import pagechecker
import pytest
from test_agree import judged
from test_edges import decimal
from test_verify import code, verified

from noisewright._exact import float_down, float_up

# These take some three seconds; NOISEWRIGHT_CERTIFICATES=300 asks for more.
COUNT = int(os.environ.get("NOISEWRIGHT_CERTIFICATES", "26"))
Json = dict[str, Any]
Change = Callable[[random.Random, Json], bool]

KINDS = [
    "--epsilon 3 --delta 0.1 --loss huber:0.5 --sensitivity 1",  # a staircase with an atom
    "--epsilon 4.5 --delta 0.01 --loss asymmetric:2,1 --sensitivity 1",  # multipliers in closed form, cells off 0
    "--epsilon 1 --delta 0.05 --loss asymmetric:1,2 --monotone --sensitivity 1",  # an edge at 0, a light middle cell
    "--epsilon 1 --delta 0.05 --loss asymmetric:2,1 --monotone --query integer --sensitivity 60",  # the same on points
    "--epsilon 1 --delta 0.2 --loss exceed:0.6 --unbiased --monotone --sensitivity 1",  # cells between the nodes
    "--epsilon 1 --delta 0.2 --loss exceed:0.6 --monotone --sensitivity 1",
    "--epsilon 1 --delta 0.2 --loss exceed:9 --symmetric --query integer --sensitivity 20",
    "--epsilon 1 --delta 0.2 --loss exceed:31 --query integer --sensitivity 51",  # spread, cells between the nodes
    "--epsilon 1 --delta 0.2 --loss deadzone:37 --query integer --sensitivity 101",  # spread
    "--epsilon 1 --delta 0.2 --loss asymmetric:2,1 --step 0.009 --unbiased --sensitivity 1",  # spread, with a mean
    "--epsilon 1 --delta 0.2 --loss asymmetric:1,3 --unbiased --sensitivity 1",
    "--epsilon 1 --delta 0.2 --loss l1 --query integer --sensitivity 6 --monotone",
    "--epsilon 1 --delta 0.2 --loss huber:0.5 --monotone --symmetric --sensitivity 1",
    "--epsilon 1 --delta 0.2 --loss pinball:0.7 --support -3,8 --sensitivity 1",
]


@pytest.fixture(scope="module")
def certificates(program: str, tmp_path_factory: pytest.TempPathFactory) -> list[Json]:
    folder = tmp_path_factory.mktemp("certificates")
    made = []
    for i, flags in enumerate(KINDS):
        path = folder / f"{i}.json"
        options = ["--quiet", "--gap=0.5", "--max-cells=150", "--time-limit=20s", f"--output={path}"]
        done = subprocess.run(
            [program, "design", *options, *flags.split()], capture_output=True, text=True, check=False
        )
        if "LP solver" in done.stderr:
            pytest.skip("the program has no LP solver")
        assert done.returncode in (0, 4), done.stderr
        made.append(json.loads(path.read_text()))
    return made


def flag(name: str) -> Change:
    def change(_: random.Random, file: Json) -> bool:
        dual = file["certificate"]["dual"]
        dual[name] = not dual.get(name, False)
        return True

    return change


def stated(name: str, value: Any) -> Change:
    """A constraint more, or without it; the ends in sensitivities."""

    def change(_: random.Random, file: Json) -> bool:
        demands = file.setdefault("constraints", {})
        if name in demands:
            del demands[name]
        else:
            demands[name] = value if value is True else value * file["privacy"]["sensitivity"]
        if not demands:
            del file["constraints"]
        return True

    return change


def run(side: str, first: int | None) -> Change:
    """Multipliers of monotony from another cell on, of other size, or none."""

    def change(source: random.Random, file: Json) -> bool:
        dual = file["certificate"]["dual"]
        if first is None:
            return dual.pop(side, None) is not None
        unit = max(int(m) for s in dual["shifts"] for m in s["multipliers"])
        new = [str(source.randrange(1 + unit // 50)) for _ in range(3)]
        found = dual.setdefault(side, {"first_cell": first, "multipliers": new})
        found["first_cell"] = first
        return True

    return change


def both_runs(source: random.Random, file: Json) -> bool:
    """Multipliers of the middle cell, which are equal, or differ by one."""
    dual = file["certificate"]["dual"]
    unit = max(int(m) for s in dual["shifts"] for m in s["multipliers"])
    first = source.randrange(1 + unit // 100)
    dual["monotone_right"] = {"first_cell": 0, "multipliers": [str(first), "1"]}
    dual["monotone_left"] = {"first_cell": 0, "multipliers": [str(first + source.randrange(2))]}
    dual["mirrored"] = False
    file.setdefault("constraints", {})["monotone"] = True
    return True


def shift(source: random.Random, file: Json) -> bool:
    source.choice(file["certificate"]["dual"]["shifts"])["first_cell"] += source.choice((-1, 1))
    return True


def multiplier(source: random.Random, file: Json) -> bool:
    y = source.choice(file["certificate"]["dual"]["shifts"])["multipliers"]
    i = source.randrange(len(y))
    y[i] = str(source.choice((int(y[i]) + 1, int(y[i]) * 9 // 10, max(int(y[i]) - 1, 0), 0)))
    return True


def nodes(source: random.Random, file: Json) -> bool:
    """Other nodes, and with as many as there are points."""
    dual = file["certificate"]["dual"]
    least = max(abs(s["shift"]) for s in dual["shifts"])
    points = int(file["privacy"]["sensitivity"])
    dual["cells_per_sensitivity"] = max(least - 1, 1, source.choice((least, least + 1, points - 1, points, points + 1)))
    return True


def mean(source: random.Random, file: Json) -> bool:
    file["certificate"]["dual"]["mean"] = source.choice((0, 0.25, -0.5, 1))
    return True


def real(_: random.Random, file: Json) -> bool:
    return file["grid"].get("unit", 0) in (0, 1) and file.pop("query", None) is not None


def delta(source: random.Random, file: Json) -> bool:
    """A promise at what the table has, or next below it."""
    try:
        exact = pagechecker.Table(json.dumps(file).encode()).certified_delta()
    except pagechecker.MalformedError:
        return False
    if exact < 1:
        file["privacy"]["delta"] = source.choice((float_up(exact), nextafter(float_down(exact), 0)))
    return exact < 1


def weight(source: random.Random, file: Json) -> bool:
    """A unit, or more, from a cell to the next, as in the middle of a table; or into the atom."""
    weights = file["weights"]
    middle = max(range(len(weights)), key=lambda i: int(weights[i]))
    i = source.choice((middle, source.randrange(len(weights))))
    part = source.choice((1, int(weights[i]) >> 20, int(weights[i]) // 3))
    if part > int(weights[i]):
        return False
    j = i + source.choice((-1, 1))
    weights[i] = str(int(weights[i]) - part)
    if 0 <= j < len(weights):
        weights[j] = str(int(weights[j]) + part)
    else:
        file["atom"] = str(int(file["atom"]) + part)
    return True


def offset(source: random.Random, file: Json) -> bool:
    file["grid"]["offset"] = file["grid"].get("offset", 0) + source.choice((-1, 1))
    return True


CHANGES: list[Change] = [
    *(flag(name) for name in ("edges", "spread", "mirrored")),
    *(run(side, first) for side in ("monotone_right", "monotone_left") for first in (0, 1, None)),
    *(stated(name, True) for name in ("symmetric", "monotone", "unbiased")),
    *(stated("lower", -20.0), stated("upper", 20.0)),
    *(both_runs, shift, multiplier, nodes, mean, real, delta, weight, offset),
]


def claimed(source: random.Random, file: Json) -> Json:
    """The file with claims of what it proves, to the last digit, or of a little more."""
    try:
        table = pagechecker.Table(json.dumps(file).encode())
    except pagechecker.MalformedError:
        return file
    truths = (table.certified_delta(), table.expected_loss(table.loss), table.lower_bound())
    for name, truth in zip(("delta", "expected_loss", "lower_bound"), truths, strict=True):
        file["certificate"][name] = decimal(truth, 500, up=name != "lower_bound")
    name, little = source.choice(("delta", "expected_loss", "lower_bound")), Fraction(1, 10**60)
    truth = truths[("delta", "expected_loss", "lower_bound").index(name)]
    if source.randrange(3) == 0 and truth > 0:
        false = truth + little if name == "lower_bound" else truth - little
        file["certificate"][name] = decimal(false, 500, up=name == "lower_bound")
    return file


def mutated(certificates: list[Json], count: int) -> list[bytes]:
    """One of each kind, and as many changed ones as make up the count; none depends on the count."""
    texts = [json.dumps(file).encode() for file in certificates]
    while len(texts) < count:
        n = len(texts)
        source = random.Random(n)
        file: Json = json.loads(texts[n % len(certificates)])
        first = CHANGES[n // len(certificates) % len(CHANGES)] if source.randrange(2) else source.choice(CHANGES)
        wanted = [first, *(source.choice(CHANGES) for _ in range(source.randrange(2)))]
        changed = sum(change(source, file) for change in wanted)
        stale = changed and source.randrange(4) == 0  # with the claims from before
        texts.append(json.dumps(file if stale else claimed(source, file)).encode())
    return texts[:count]


def test_three_checkers_agree(program: str, tmp_path: Path, certificates: list[Json]) -> None:
    texts = mutated(certificates, COUNT)
    seen: dict[int, int] = {}
    bounds = 0
    for text, (exit_code, report) in zip(texts, judged(program, tmp_path, texts), strict=True):
        verdict = pagechecker.verdict(text)
        assert (exit_code, code(lambda text=text: verified(text))) == (verdict, verdict), text[-1500:]
        seen[verdict] = seen.get(verdict, 0) + 1
        if verdict == 2:
            continue
        table = pagechecker.Table(text)
        if verdict == 0:
            found = verified(text)
            bound = table.lower_bound()
            assert (found.delta_upper, found.lower_bound) == (table.certified_delta(), bound), text[-1500:]
            assert found.expected_loss == table.expected_loss(table.loss), text[-1500:]
            assert report["lower_bound"] == float_down(bound)
            assert report["expected_loss"] == float_up(found.expected_loss)
            bounds += bound > 0
    assert min(seen.get(verdict, 0) for verdict in (0, 2, 3)) >= COUNT // 20, seen
    assert bounds > COUNT // 5
