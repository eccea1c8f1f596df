# SPDX-License-Identifier: Apache-2.0
"""Writes bundles (docs/bundle-format.md) with one table for each coordinate of a box, or with noise on balls for a
ball."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypedDict

import numpy as np

from noisewright._load import load
from noisewright._words import Floats
from noisewright.errors import InvalidError
from noisewright.joint import BallNoise
from noisewright.table import Table

Activation = Literal["identity", "sigmoid", "relu", "tanh"]


@dataclass(frozen=True)
class Layer:
    """f(A·h + b): weights A of a row for each number that the layer makes, bias b."""

    weights: Floats
    bias: Floats
    activation: Activation = "identity"


class Promise(TypedDict):
    """The privacy of a release, in total."""

    epsilon: float
    delta: float


@dataclass(frozen=True)
class Content:
    """What a bundle says. The last layer of each side is the affine map at its end, without activation."""

    promise: Promise
    features: Sequence[str]
    mean: Floats
    encoder: Sequence[Layer]
    axes: Floats
    tables: Sequence[Table]
    table_of: Sequence[int]
    decoder: Sequence[Layer]
    output: Literal["features", "values", "classes"]
    outputs: Sequence[str]
    clip_origin: str
    ball: BallNoise | None = None  # in the place of tables
    arrays: dict[str, Floats] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.arrays.update(mean=self.mean, axes=self.axes)
        for name, layers in (("layer", self.encoder), ("head", self.decoder)):
            for i, layer in enumerate(layers[:-1], 1):
                self.arrays.update({f"{name}_{i}_weights": layer.weights, f"{name}_{i}_bias": layer.bias})
        self.arrays.update(encoder=self.encoder[-1].weights, offset=self.encoder[-1].bias)
        self.arrays.update(decoder=self.decoder[-1].weights, decoder_offset=self.decoder[-1].bias)

    def fields(self) -> dict[str, object]:
        """bundle.json; version 1 where that can say it."""
        kind, composition = ("ball", "ball") if self.ball else ("designed", "basic")
        noise: dict[str, object] = {"kind": kind, "composition": composition, "tau": 0}
        noise |= {"tables": len(self.tables), "table_of": list(self.table_of)}
        fields: dict[str, object] = {
            "format": "noisewright-bundle",
            "version": 1,
            "privacy": self.promise,
            "features": list(self.features),
            "feature_bounds": False,
            "coordinates": len(self.axes),
            "domain": "ball" if self.ball else "box",
            "clip_origin": self.clip_origin,
            "noise": noise,
            "task": False,
            "predicted": {"training_loss": 0, "theory_loss": 0},
        }
        if self.ball or len(self.encoder) > 1 or len(self.decoder) > 1 or self.output != "features":
            noise |= {"randomizers": 0, "randomizer_of": []}
            fields |= {
                "version": 4 if self.ball else 2,
                "lookup": False,
                "output": self.output,
                "outputs": list(self.outputs),
            }
            for name, layers in (("layers", self.encoder), ("head", self.decoder)):
                fields[name] = [{"width": len(layer.bias), "activation": layer.activation} for layer in layers[:-1]]
        return fields


def write_bundle(path: str | os.PathLike[str], content: Content) -> None:
    """Writes a new directory, which appears whole or not at all, and only if its promise is proved."""
    path = Path(path)
    if path.exists() or path.is_symlink():
        raise FileExistsError(f"{str(path)!r} is there already, want the name of a new folder")
    work = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.absolute().parent))
    try:
        text = json.dumps(content.fields(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        (work / "bundle.json").write_text(text, encoding="utf-8")
        for name, array in content.arrays.items():
            if not np.isfinite(array).all():
                raise InvalidError(f"{name} has an entry that is not finite, want numbers: is the network trained?")
            np.save(work / f"{name}.npy", np.ascontiguousarray(array, dtype="<f8"))
        laws = work / ("balls" if content.ball else "tables")
        laws.mkdir()
        made: Sequence[Table | BallNoise] = [content.ball] if content.ball else content.tables
        for k, law in enumerate(made):
            (laws / f"{k:02d}.json").write_bytes(law.source)
        load(work)  # which proves the promise
        work.chmod(0o777 & ~_umask())
        work.rename(path)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
