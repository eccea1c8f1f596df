# SPDX-License-Identifier: Apache-2.0
"""Private encoders of feature vectors, made and measured by the program: ``noisewright latent`` and ``encoder``.

The further options of a function are the flags that the program describes in ``noisewright latent design --help`` and
its like, with _ for -: a number or text, True for a flag without a value, a list for one that may be repeated.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Literal

from noisewright import _rows
from noisewright._load import load
from noisewright.bundle import Bundle
from noisewright.errors import InvalidError
from noisewright.program import Number, ProgramError, _call, _flags


def design_encoder(
    data: Any, path: str | os.PathLike[str], *, epsilon: Number, delta: Number = 0, **options: Any
) -> Bundle:
    """Designs the encoder, noise and decoder of least loss for a task, (epsilon, delta)-private for each person, and
    writes the bundle to the path. data, which is not protected, is as for release: a row for each person, a column for
    each feature. What comes back was loaded, and so verified.

    Options are those of noisewright latent design: task, weights, columns, exclude, domain, clip, noise, force, …
    """
    return _made("latent design", data, path, dict(options, epsilon=epsilon, delta=delta))


def train_encoder(
    system: Literal["task-aware", "minimax", "vlm"],
    data: Any,
    path: str | os.PathLike[str],
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    **options: Any,
) -> Bundle:
    """Trains the encoder of a published system, and writes the bundle to the path. data, which is not protected, is as
    for release. Without noise (noise="none") it is a filter, which promises nothing.

    Options are those of noisewright encoder train: target, private, columns, coordinates, noise, steps, seed, force, …
    """
    if system not in ("task-aware", "minimax", "vlm"):
        raise InvalidError(f"system = {system!r}, want task-aware, minimax or vlm")
    return _made(f"encoder train {system}", data, path, dict(options, epsilon=epsilon, delta=delta))


def evaluate_encoder(path: str | os.PathLike[str], data: Any, **options: Any) -> dict[str, Any]:
    """What is lost on people that the bundle at the path was not made from, and what attackers find out, as the program
    reports it. Nothing of it is private.

    Options are those of noisewright encoder evaluate: target, private, attack, train, draws, seed, …
    """
    flags, rows = _data(data)
    return _call("encoder evaluate", f"--bundle={os.fspath(path)}", *flags, *_options(options), data=rows)


def _made(command: str, data: Any, path: str | os.PathLike[str], options: Mapping[str, Any]) -> Bundle:
    flags, rows = _data(data)
    _call(command, *flags, f"--output={os.path.abspath(path)}", *_options(options), data=rows)
    made = load(path, verify=options.get("noise") != "none")  # which promises nothing
    if not isinstance(made, Bundle):
        raise ProgramError(f"{command} wrote no bundle", 0)
    return made


def _data(data: Any) -> tuple[list[str], Iterator[bytes] | None]:
    if isinstance(data, (str, os.PathLike)) and not os.fspath(data).endswith((".parquet", ".pq")):
        return [f"--data={os.path.abspath(data)}"], None
    return ["--data=-"], _rows.csv(data)


def _options(options: Mapping[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        flag = name.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(one, bool):
                yield f"--{flag}={str(one).lower()}"
            elif isinstance(one, (str, os.PathLike)):
                yield f"--{flag}={os.fspath(one)}"
            elif isinstance(one, (int, float, Decimal, type(None))):
                yield from _flags(**{flag: one})
            else:
                raise InvalidError(f"{name} = a {type(one).__name__}, want a number, a text, a path, True or a list")
