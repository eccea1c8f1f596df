# SPDX-License-Identifier: Apache-2.0
"""Changes to files that a check has to find, or a reader to refuse, each with a name. Which is
which is what the program says."""

from __future__ import annotations

import json
import re
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_OF_SETS = ("count", "modulus", "size", "inside")


def _moved(weights: list[str], up: int, down: int, by: int) -> bool:
    """Moves weight from one entry to another, if there is so much."""
    if up == down or int(weights[down]) < by or int(weights[up]) + by >= 1 << 64:
        return False
    weights[up], weights[down] = str(int(weights[up]) + by), str(int(weights[down]) - by)
    return True


def _laws(file: dict[str, Any]) -> list[list[str]]:
    return [file["weights"]] if "weights" in file else file.get("rows", [])


def _digit(text: str, by: int) -> str:
    """A decimal with its last digit that is not 0 changed."""
    digits = list(text)
    for i in reversed(range(len(digits))):
        if digits[i] in "12345678":
            digits[i] = str(int(digits[i]) + by)
            return "".join(digits)
    return text


def tampered(raw: bytes) -> Iterator[tuple[str, bytes]]:
    """What is made of a file, with what was done."""
    text = raw.decode()

    def changed(change: Callable[[dict[str, Any]], bool]) -> bytes | None:
        file = json.loads(text)
        return json.dumps(file).encode() if change(file) else None

    def move(kind: int) -> Callable[[dict[str, Any]], bool]:
        def change(file: dict[str, Any]) -> bool:
            if not _laws(file):
                return False
            law = _laws(file)[len(_laws(file)) // 2]
            heavy = max(range(len(law)), key=lambda i: int(law[i]))
            other = 0 if heavy else len(law) - 1
            if kind == 2:
                law[other] = str(int(law[other]) + 1)
                return True
            return _moved(law, other, heavy, 1 if kind == 0 else int(law[heavy]) // 2)

        return change

    def claim(name: str, by: int) -> Callable[[dict[str, Any]], bool]:
        def change(file: dict[str, Any]) -> bool:
            before = file["certificate"][name]
            file["certificate"][name] = _digit(before, by)
            return bool(file["certificate"][name] != before)

        return change

    def promise(name: str, factor: float) -> Callable[[dict[str, Any]], bool]:
        def change(file: dict[str, Any]) -> bool:
            home = file.get("privacy", file)
            if name not in home:
                return False
            home[name] *= factor
            return True

        return change

    def number(name: str, by: int) -> Callable[[dict[str, Any]], bool]:
        def change(file: dict[str, Any]) -> bool:
            if name not in file or "inside" not in file:
                return False
            file[name] = type(file[name])(int(file[name]) + by)
            return True

        return change

    claims = [name for name in json.loads(text)["certificate"] if name not in ("dual", "variances")]
    changes: list[tuple[str, bytes | None]] = [
        ("a unit moved", changed(move(0))),
        ("half moved", changed(move(1))),
        ("a unit more", changed(move(2))),
        *((f"{name} lower", changed(claim(name, -1))) for name in claims),
        *((f"{name} higher", changed(claim(name, 1))) for name in claims),
        *((f"{name} {by:+d}", changed(number(name, by))) for name in _OF_SETS for by in (-1, 1)),
        ("a share moved", re.sub(r'"share":0\.[0-9]', '"share":0.0', text, count=1).encode()),
        ("epsilon halved", changed(promise("epsilon", 0.5))),
        ("delta halved", changed(promise("delta", 0.5))),
        ("sensitivity doubled", changed(promise("sensitivity", 2.0))),
        ("cut off", raw[: len(raw) // 2]),
        ("data after", raw + b"{}"),
        ("a field twice", text.replace('"version"', '"version":1,"version"', 1).encode()),
        ("a field unknown", text.replace('"version"', '"verzion":1,"version"', 1).encode()),
        ("a field missing", re.sub(r'"certificate":', '"certificates":', text, count=1).encode()),
        ("null", re.sub(r'"delta":[^,}]*', '"delta":null', text, count=1).encode()),
        ("a fraction for an integer", text.replace('"version":1', '"version":1.0', 1).encode()),
        ("another version", text.replace('"version":1', '"version":2', 1).encode()),
        ("a string for a number", re.sub(r'"epsilon":([^,}]*)', r'"epsilon":"\1"', text, count=1).encode()),
        ("a leading zero", re.sub(r'\["([1-9])', r'["0\1', text, count=1).encode()),
        ("a plus sign", re.sub(r'\["([1-9])', r'["+\1', text, count=1).encode()),
        ("not UTF-8", raw.replace(b'"version"', b'"versio\xff"', 1)),
        ("another loss", re.sub(r'"loss":\{"name":"[^"]*"', '"loss":{"name":"l0"', text, count=1).encode()),
    ]
    for name, out in changes:
        if out is not None and out != raw:
            yield name, out


Change = Callable[[Path, Path], bool]


def _text_change(file: str, pattern: str, by: str) -> Change:
    def change(source: Path, copy: Path) -> bool:
        shutil.copytree(source, copy)
        path = copy / file
        if not path.exists():
            return False
        before = path.read_text()
        after = re.sub(pattern, by, before, count=1)
        path.write_text(after)
        return after != before

    return change


def _array_change(file: str, place: int, value: bytes) -> Change:
    def change(source: Path, copy: Path) -> bool:
        shutil.copytree(source, copy)
        path = copy / file
        if not path.exists():
            return False
        raw = bytearray(path.read_bytes())
        raw[place : place + len(value)] = value
        path.write_bytes(raw)
        return True

    return change


def bundle_tamperings() -> list[tuple[str, Change]]:
    """Changes to a copy of a bundle, which say whether they changed something."""
    huge = struct.pack("<d", 10.0)
    return [
        ("wider axes", _array_change("axes.npy", 128, huge)),
        ("an axis that is no number", _array_change("axes.npy", 128, struct.pack("<d", float("nan")))),
        ("floats of 4 bytes", _array_change("axes.npy", 22, b"<f4")),
        ("a larger encoder", _array_change("encoder.npy", 128, huge)),
        ("less epsilon", _text_change("bundle.json", r'"epsilon": ([0-9.e-]+)', r'"epsilon": 0.0001')),
        ("less delta", _text_change("bundle.json", r'"delta": 0\.[0-9e-]+', r'"delta": 1e-300')),
        ("another domain", _text_change("bundle.json", r'"domain": "[a-z0-9-]*"', '"domain": "box"')),
        ("an unknown domain", _text_change("bundle.json", r'"domain": "[a-z0-9-]*"', '"domain": "cube"')),
        ("an unknown field", _text_change("bundle.json", r'"task"', '"tasks": 1, "task"')),
        ("a field twice", _text_change("bundle.json", r'"task"', '"task": false, "task"')),
        ("another width", _text_change("bundle.json", r'"width": [0-9]+', '"width": 3')),
        ("a smaller tau", _text_change("bundle.json", r'"tau": [1-9][0-9.]*', '"tau": 0.1')),
        ("a worse table", _text_change("tables/00.json", r'"epsilon":[0-9.e-]+', '"epsilon":0.000001')),
        ("a worse randomizer", _text_change("randomizers/00.json", r'"epsilon":[0-9.e-]+', '"epsilon":0.01')),
        ("no table", _text_change("tables/00.json", r'"format"', '"formats"')),
        ("an axis a unit longer", _array_change("axes.npy", 128, struct.pack("<d", 0.5000000000000001))),
        ("a worse ball", _text_change("balls/00.json", r'"epsilon":[0-9.e-]+', '"epsilon":0.01')),
        (
            "a ball for a unit less",
            _text_change("balls/00.json", r'"sensitivity":1', '"sensitivity":0.9999999999999999'),
        ),
        (
            "a ball for a unit more",
            _text_change("balls/00.json", r'"sensitivity":1', '"sensitivity":1.0000000000000002'),
        ),
        ("a ball of more coordinates", _text_change("balls/00.json", r'"dimension":[0-9]', '"dimension":8')),
        (
            "a false claim of a ball",
            _text_change("balls/00.json", r'"expected_loss":"[0-9.e-]+', '"expected_loss":"0.001'),
        ),
        ("no ball", _text_change("balls/00.json", r'"format"', '"formats"')),
        ("version 2 with a ball", _text_change("bundle.json", r'"version": 4', '"version": 2')),
        ("version 3 with a ball", _text_change("bundle.json", r'"version": 4', '"version": 3')),
        ("version 4 without a ball", _text_change("bundle.json", r'"version": [1-3]', '"version": 4')),
        ("another composition", _text_change("bundle.json", r'"composition": "[a-z0-9]*"', '"composition": "ball"')),
        ("the norm alone", _text_change("bundle.json", r'"composition": "ball"', '"composition": "norm"')),
        ("a ball of no kind", _text_change("bundle.json", r'"kind": "ball"', '"kind": "spherical"')),
        ("other levels", _text_change("bundle.json", r'"levels": [0-9]+', '"levels": 1')),
        ("a decision that is no class", _text_change("bundle.json", r'"decisions": \[\s*[0-9]+', '"decisions": [7')),
        ("no cells", _text_change("bundle.json", r'"cells": \{[^}]*\}', '"cell": 1')),
        ("an older version with cells", _text_change("bundle.json", r'"version": 3', '"version": 2')),
        ("an edge below 0", _array_change("cell_edges.npy", 128, struct.pack("<d", -1.0))),
        ("another edge", _array_change("cell_edges.npy", 128, struct.pack("<d", 0.0))),
        ("shares of another sum", _array_change("cell_shares.npy", 128, struct.pack("<d", 0.9))),
    ]
