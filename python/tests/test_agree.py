# SPDX-License-Identifier: Apache-2.0
"""Two implementations agree: this package and the program, on tables made for it, on designs of
every kind, and on forgeries of them."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from math import nextafter
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY
from test_verify import code, verified

import noisewright as nw
from noisewright._exact import float_down, float_up

LOSSES = [
    *("l1", "l2", "pinball:0.3", "asymmetric:2,0.5", "huber:0.6", "deadzone:0.4", "exceed:0.703125", "exceed:1"),
    *("lp:2:0.1", "lp:1", "lp:1.5", "lp:3", "lp:2.7:0.1", "lp:64:1e-30", "pwl:-inf,-1;-1,-3,2;0.5,0,-1;2,4"),
    *("l1:0.7 + exceed:1:0.3", "lp:4.7:0.1 + exceed:1 + pinball:0.3 + lp:1.5"),
    "exceed:1 + huber:1:2 + pinball:0.9 + l2:0.25 + pwl:-inf,-1;1,1,-0.5",
]
GRIDS: list[dict[str, Any]] = [
    {"granularity_exponent": -6, "points_per_cell": 33, "offset": -70, "cells_per_sensitivity": 2, "first_cell": -2},
    {"granularity_exponent": 0, "points_per_cell": 1, "offset": 1, "cells_per_sensitivity": 1, "first_cell": -2},
    {"granularity_exponent": 0, "unit": 0.7, "points_per_cell": 3, "cells_per_sensitivity": 1, "first_cell": -3}
    | {"offset": 2},
]
QUERIES = ("real", "integer", "lattice")


def judged(program: str, folder: Path, texts: list[bytes]) -> list[tuple[int, Any]]:
    """The exit code of the program for each file, and its report."""

    def judge(i: int) -> tuple[int, Any]:
        path = folder / f"{i}.json"
        path.write_bytes(texts[i])
        done = subprocess.run([program, "verify", "--json", str(path)], capture_output=True, check=False)
        return done.returncode, json.loads(done.stdout) if done.returncode == 0 else None

    with ThreadPoolExecutor() as pool:
        return list(pool.map(judge, range(len(texts))))


def agree(program: str, folder: Path, texts: list[bytes]) -> None:
    """Both accept the tables, with the same numbers."""
    for text, (exit_code, report) in zip(texts, judged(program, folder, texts), strict=True):
        assert exit_code == 0, text[:600]
        found = verified(text)
        for name, outwards in (("delta_upper", float_up), ("expected_loss", float_up), ("lower_bound", float_down)):
            assert report[name] == outwards(getattr(found, name)), (name, text[:600])


def refused_alike(program: str, folder: Path, texts: list[bytes]) -> int:
    """Both judge all alike; how many they refuse is returned."""
    codes = [code(lambda text=text: verified(text)) for text in texts]
    for text, want, (exit_code, _) in zip(texts, codes, judged(program, folder, texts), strict=True):
        assert exit_code == want, text[:2000]
    return len(codes) - codes.count(0)


def made(**fields: Any) -> bytes:
    """A table of loose claims."""
    table = {
        "format": "noisewright-table",
        "version": 1,
        "privacy": {"epsilon": 1, "delta": 0.9, "sensitivity": 1},
        "loss": {"name": "l1"},
        "certificate": {"delta": "0.9", "expected_loss": "1" + 20 * "0", "lower_bound": "0"},
        **fields,
    }
    return json.dumps(table).encode()


def test_losses_on_moved_grids(program: str, tmp_path: Path) -> None:
    weights = [str(w << 60) for w in (2, 4, 6, 2, 1)]
    texts = [
        made(loss={"name": name}, grid=grid, weights=weights, atom=str(1 << 60), query=query)
        for name in LOSSES
        for grid, query in zip(GRIDS, QUERIES, strict=True)
    ]
    agree(program, tmp_path, texts)


def test_delta_is_exact(program: str, tmp_path: Path) -> None:
    """A delta above the promised one by less than a float64 tells apart is refused."""
    grid = {"granularity_exponent": 0, "points_per_cell": 1, "cells_per_sensitivity": 1, "first_cell": -2}
    texts = []
    for i in range(12):
        weights = [(1 << 60) + 1234567 * i, (1 << 62) + 7654321 * i * i, 1 << 61]
        table = json.loads(made(grid=grid, weights=[str(w) for w in (*weights, (1 << 64) - sum(weights))], atom="0"))
        table["privacy"]["epsilon"] = 0.1 + 0.01 * i
        exact = verified(json.dumps(table).encode()).delta_upper
        delta = float(exact)
        table["privacy"]["delta"] = nextafter(delta, 0) if Fraction(delta) >= exact else delta
        texts.append(json.dumps(table).encode())
    assert [code(lambda text=text: verified(text)) for text in texts] == [3] * len(texts)
    assert refused_alike(program, tmp_path, texts) == len(texts)


def forged(source: random.Random, text: bytes) -> bytes:
    """A table with another number, a part of a weight elsewhere, or a constraint."""
    file = json.loads(text)
    kind = source.randrange(4)
    if kind == 0:
        weights = file["weights"]
        a, b = source.sample(range(len(weights)), 2)
        part = min(int(weights[a]) >> source.randrange(64), (1 << 64) - 1 - int(weights[b]))
        weights[a], weights[b] = str(int(weights[a]) - part), str(int(weights[b]) + part)
    elif kind == 1:
        file["constraints"] = source.choice(CONSTRAINTS)
    else:
        name = source.choice(["privacy", "grid", "certificate", "certificate", "certificate"])
        part_text = json.dumps(file[name], separators=(",", ":"))
        digits = [i for i, c in enumerate(part_text) if c.isdigit()]
        while True:
            i = source.choice(digits)
            try:
                file[name] = json.loads(part_text[:i] + str(source.randrange(10)) + part_text[i + 1 :])
                break
            except ValueError:  # a leading zero is no JSON
                continue
    return json.dumps(file, separators=(",", ":")).encode()


CONSTRAINTS: list[dict[str, Any]] = [
    *({"symmetric": True}, {"monotone": True}, {"unbiased": True}, {"lower": -3}, {"upper": 2.5}, {"max_variance": 2}),
    *({"quantiles": [{"probability": 0.9, "magnitude": 3}]}, {"max_distinguishing": 0.02}),
]


def forgeries(text: bytes, count: int) -> list[bytes]:
    source = random.Random(count * 1_000_003 + len(text))
    return [forged(source, text) for _ in range(count)]


def small_tables() -> Iterator[Path]:
    for pattern in ("docs/*.json", "*/testdata/*.json"):
        for path in REPOSITORY.glob(pattern):
            text = path.read_bytes()
            if text.startswith(b"{") and b'"noisewright-table"' in text:
                yield path


def test_tables_of_the_repository(program: str, tmp_path: Path) -> None:
    paths = list(small_tables())
    assert len(paths) >= 3
    agree(program, tmp_path, [path.read_bytes() for path in paths])
    for path in paths:
        text = path.read_bytes()
        if len(text) < 10_000:
            assert refused_alike(program, tmp_path, forgeries(text, 100)) > 20


DESIGNS: list[tuple[str, tuple[str, str] | None]] = [
    ("--loss l1:0.7 --loss exceed:2:0.3", None),
    ("--loss exceed:1", None),
    ("--loss exceed:1.2 --unbiased --monotone", None),  # cells between the nodes make no use of either
    ("--loss lp:1.5", None),
    ("--loss lp:4.5 --loss exceed:2 --monotone", ('"first_cell":-', '"first_cell":-1')),
    ("--loss lp:3 --query integer", None),
    ("--loss lp:1.2 --loss asymmetric:1,2:0.5 --step 0.3", None),
    ("--loss asymmetric:1,2 --unbiased", ('"first_cell":-', '"first_cell":-1')),
    ("--loss huber:1 --symmetric --monotone", ('"first_cell":-', '"first_cell":-1')),
    ("--loss l2 --support 0,inf", ('"lower":0', '"upper":3')),
    ("--loss pinball:0.7 --monotone --support -3,8", ('"lower":-3', '"lower":-0.5')),
    ("--loss l1 --max-variance 1.3", ('"max_variance":1.3', '"max_variance":1')),
    ("--loss l1 --quantile 0.9,2", ('"magnitude":2', '"magnitude":1')),
    ("--loss l1 --max-distinguishing 0.02", ('"max_distinguishing":0.02', '"max_distinguishing":1e-30')),
    ("--loss l1 --query integer --monotone", None),
    ("--loss asymmetric:3,1 --query integer --symmetric", None),
    ("--loss l2 --step 0.3 --unbiased", None),
    ("--loss asymmetric:1,2 --monotone", ('"monotone_left":{"first_cell":0,', '"monotone_left":{"first_cell":1,')),
    # Nodes that are no points.
    ("--loss deadzone:37 --query integer --sensitivity 101", ('"spread":true', '"edges":true')),
    ("--loss exceed:61 --query integer --sensitivity 101 --unbiased", ('"spread":true', '"spread":false')),
    ("--loss lp:3 --query integer --sensitivity 101 --symmetric", ('"query":"integer"', '"query":"real"')),
    ("--loss asymmetric:2,1 --step 0.009 --unbiased --gap 0.01", ('"spread":true', '"spread":false')),
    ("--loss l1 --epsilon 12 --delta 1e-6 --gap 0.01", None),  # of few runs of equal weights
]
TAILS = [
    "--epsilon 1 --sensitivity 1 --loss l1 --symmetric --monotone --unbiased --max-variance 3",
    "--epsilon 0.5 --sensitivity 3 --loss l2 --query integer",
    "--epsilon 1 --sensitivity 1 --loss lp:1.5 --loss l2:0.5",
    "--epsilon 0.3 --sensitivity 2 --loss lp:3.5 --query integer",
    "--epsilon 2 --sensitivity 2 --loss huber:3 --loss exceed:4 --query integer --max-distinguishing 0.1",
]


def designed(program: str, flags: str, folder: Path) -> bytes:
    path = folder / "designed.json"
    arguments = ["design", "--quiet", "--time-limit=20s", f"--output={path}", *flags.split()]
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if "LP solver" in done.stderr:
        pytest.skip("the program has no LP solver")
    assert done.returncode in (0, 4), done.stderr  # what a limit stopped is as good a table here
    text = path.read_bytes()
    stated = json.loads(text)["certificate"]
    claims = verified(text).claims
    assert {name: stated[name] for name in claims} == claims
    return text


@pytest.mark.parametrize(("flags", "false"), DESIGNS, ids=[flags for flags, _ in DESIGNS])
def test_design(program: str, tmp_path: Path, flags: str, false: tuple[str, str] | None) -> None:
    usual = "" if "--epsilon" in flags else "--epsilon 1 --delta 0.05 --gap 0.05 "
    text = designed(program, f"{usual}--sensitivity 1 {flags}", tmp_path)
    agree(program, tmp_path, [text])
    if usual:
        refused_alike(program, tmp_path, forgeries(text, 5))
    else:
        assert len(json.loads(text)["weights"]) > 1000  # which would take long cell by cell
    if false is not None:
        before, after = (part.encode() for part in false)
        assert before in text
        changed = text.replace(before, after, 1)
        assert code(lambda: verified(changed)) == 3
        assert refused_alike(program, tmp_path, [changed]) == 1


@pytest.mark.parametrize("flags", TAILS)
def test_tail(program: str, tmp_path: Path, flags: str) -> None:
    text = designed(program, f"--delta 0 {flags}", tmp_path)
    agree(program, tmp_path, [text])
    refused_alike(program, tmp_path, forgeries(text, 6))
    ratio = json.loads(text)["tail_ratio"]
    short = text.replace(f'"tail_ratio":"{ratio}"'.encode(), f'"tail_ratio":"{int(ratio) - 1}"'.encode())
    assert code(lambda: verified(short)) == 3
    assert refused_alike(program, tmp_path, [short]) == 1


def test_losses_that_there_are_not() -> None:
    text = (REPOSITORY / "docs/example-table.json").read_bytes()
    for name in ("l3:2", "huber"):
        with pytest.raises(nw.InvalidError, match=name.split(":")[0]):
            verified(text.replace(b'"name":"l1"', f'"name":"{name}"'.encode()))
