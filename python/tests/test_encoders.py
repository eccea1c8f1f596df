# SPDX-License-Identifier: Apache-2.0
"""Encoders of vectors by the program, as from its command line."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frames import KINDS, frame

import noisewright as nw


def people(n: int = 300) -> dict[str, list[Any]]:
    random = np.random.default_rng(1)
    x = random.normal(size=(n, 3)) @ np.array([[1, 0.5, 0], [0, 1, 0.5], [0, 0, 1]])
    columns: dict[str, list[Any]] = {f"x{i}": np.round(x[:, i], 4).tolist() for i in range(3)}
    columns["ill"] = np.where(x[:, 0] + random.normal(size=n) / 2 > 0, "yes", "no").tolist()
    return columns


def files(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


DESIGN = {"epsilon": 2, "delta": 1e-5, "weights": "x0=2", "exclude": "ill", "noise": "gaussian", "clip": 0.9}
TRAIN = {"target": "ill", "coordinates": 1, "noise": "laplace", "steps": 5, "restarts": 1, "seed": 3}


@pytest.mark.parametrize("i", range(2))
def test_as_the_program(i: int, called: str, tmp_path: Path) -> None:
    """A bundle is, byte for byte, that of the same flags and the same rows in a file."""
    data = people()
    (tmp_path / "people.csv").write_bytes(b"".join(nw._rows.csv(data)))
    options = [DESIGN, TRAIN | {"epsilon": 3, "delta": 1e-6}][i]
    command = ["latent design", "encoder train task-aware"][i]
    flags = [f"--{name}={value}" for name, value in options.items()]
    program = [called, *command.split(), "--data=people.csv", "-o", "theirs", *flags]
    subprocess.run(program, cwd=tmp_path, check=True, capture_output=True)
    asked: dict[str, Any] = dict(options)
    for kind in KINDS:
        rows, out = frame(kind, data, tmp_path), tmp_path / kind
        makes = nw.design_encoder, functools.partial(nw.train_encoder, "task-aware")
        made = makes[i](rows, out, **asked)
        assert files(out) == files(tmp_path / "theirs")
        assert made.promise == (options["epsilon"], options["delta"])
        assert made.privatize(np.zeros(3)).shape == (made.coordinates,)


def test_filters_and_attackers(called: str, tmp_path: Path) -> None:
    data = people()
    data["old"] = data["ill"][::-1]
    rest: dict[str, Any] = {"target": "ill", "private": ["old"], "noise": "none", "steps": 2, "starts": 1}
    made = nw.train_encoder("minimax", data, tmp_path / "filter", **rest, coordinates=1)
    assert made.promise is None
    (tmp_path / "people.csv").write_bytes(b"".join(nw._rows.csv(data)))
    found = nw.evaluate_encoder(
        tmp_path / "filter", data, target="ill", private="old", attack="linear", train=tmp_path / "people.csv", draws=2
    )
    assert found["attacks"]


@pytest.mark.parametrize(
    ("system", "options", "match"),
    [
        ("best", {}, "^system = 'best', want"),
        ("task-aware", {"target": "ill"}, "epsilon"),
        ("task-aware", {**TRAIN, "epsilon": 0, "delta": 0}, "epsilon"),
        ("task-aware", {**TRAIN, "epsilon": 1, "target": "job"}, "job"),
        ("task-aware", {**TRAIN, "epsilon": 1, "colour": "red"}, "colour"),
        ("task-aware", {**TRAIN, "epsilon": object()}, "not a number"),
    ],
)
def test_refused(system: Any, options: dict[str, Any], match: str, called: str, tmp_path: Path) -> None:
    with pytest.raises(nw.InvalidError, match=match) as e:
        nw.train_encoder(system, people(), tmp_path / "out", **options)
    assert "\n" not in str(e.value) and not (tmp_path / "out").exists()


def test_replaced_only_if_asked(called: str, tmp_path: Path) -> None:
    options: dict[str, Any] = dict(DESIGN)
    nw.design_encoder(people(), tmp_path / "out", **options)
    before = files(tmp_path / "out")
    with pytest.raises(nw.InvalidError, match="force=True"):
        nw.design_encoder(people(299), tmp_path / "out", **options)
    assert files(tmp_path / "out") == before
    nw.design_encoder(people(299), tmp_path / "out", **options, force=True)
    assert files(tmp_path / "out") != before


def test_features_by_name(called: str, tmp_path: Path) -> None:
    """A frame's columns are found by their names, whatever their order and what else is there."""
    data = people()
    made = nw.design_encoder(data, tmp_path / "out", **DESIGN)  # type: ignore[arg-type]
    names = [f"x{i}" for i in range(3)]
    x = np.array([data[name] for name in names]).T
    turned = {name: data[name] for name in ["ill", *names[::-1]]}
    for kind in ("dict", "pandas", "polars"):
        rows: Any = turned if kind == "dict" else frame(kind, turned, tmp_path)
        rows = rows.collect() if kind == "polars" else rows
        assert (made.encode(rows) == made.encode(x)).all() and made.privatize(rows).shape == (300, made.coordinates)
        if kind == "pandas":
            assert (made.encode(rows.drop(columns="ill").iloc[1]) == made.encode(x[1])).all()
            with pytest.raises(nw.InvalidError, match=r"^features lack 'x1', want x0, x1, x2"):
                made.privatize(rows.drop(columns="x1"))
