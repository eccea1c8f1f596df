# SPDX-License-Identifier: Apache-2.0
"""The bundle, versions 1 to 4, read strictly: docs/bundle-format.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewright._claims import check_epsilon_delta, want
from noisewright._npy import read_array
from noisewright._strictjson import Fields, Flag, Many, Real, Record, Text, Whole, check_format, parse, read
from noisewright._words import Floats
from noisewright.errors import Error, FormatError
from noisewright.joint import BallNoise
from noisewright.randomizer import Randomizer
from noisewright.table import Table

FORMAT = "noisewright-bundle"
MAX_SIZE = 16 << 20
_MAX_FEATURES = 1 << 16
_MAX_COORDINATES = 1 << 12
_MAX_ENTRIES = 1 << 24
_MAX_LAYERS = 16
MAX_MAGNITUDE = 1e90
_LEAST_AXIS, _MOST_AXIS = 1e-60, 1e60
_MAX_TEXT = 1 << 10
_MAX_STEPS = 1 << 40
_MAX_LEVELS = 1 << 8
_MAX_CELLS = 1 << 10
_MAX_ANSWERS = 1 << 13

_DOMAINS = ("ball", "l1-ball", "box", "bounds", "cells")
_KINDS = (
    "category",
    "designed",
    "truncated-laplace",
    "staircase",
    "laplace",
    "gaussian",
    "spherical",
    "ball",
    "local",
    "local-unbiased",
    "none",
)
_COMPOSITIONS = {
    "basic": None,
    "exact": None,
    "l1": "laplace",
    "l2": "gaussian",
    "norm": "spherical",
    "ball": "ball",
    "none": "none",
}
_ACTIVATIONS = ("identity", "sigmoid", "relu", "tanh")

_LAYERS = Many(Record({"width": Whole(), "activation": Text()}), _MAX_LAYERS)
_FILE = Record(
    {
        "format": Text(),
        "version": Whole(),
        "privacy!": Record({"epsilon": Real(), "delta": Real()}),
        "features": Many(Text(), _MAX_FEATURES),
        "feature_bounds": Flag(),
        "coordinates": Whole(),
        "domain": Text(),
        "clip_origin": Text(),
        "noise": Record(
            {
                "kind": Text(),
                "composition": Text(),
                "tau": Real(),
                "tables": Whole(),
                "table_of": Many(Whole(), _MAX_COORDINATES),
                "randomizers?": Whole(),
                "randomizer_of?": Many(Whole(), _MAX_COORDINATES),
            }
        ),
        "task": Flag(),
        "predicted": Record({"training_loss": Real(), "theory_loss": Real()}),
        "lookup?": Flag(),
        "layers?": _LAYERS,
        "head?": _LAYERS,
        "output?": Text(),
        "outputs?": Many(Text(), _MAX_FEATURES),
        "cells?": Record({"levels": Whole(), "decisions": Many(Whole(), _MAX_ANSWERS)}),
    }
)


@dataclass(frozen=True)
class Layer:
    """A dense layer: of h it makes activation(weights·h + bias)."""

    weights: Floats
    bias: Floats
    activation: str


@dataclass(frozen=True)
class Category:
    """How scores of classes choose a cell, and what the answers to it mean."""

    edges: Floats  # margins at which the levels of each class begin, but the first
    shares: Floats  # the joint law of cell and class
    decisions: tuple[int, ...]  # the class of each answer

    @property
    def levels(self) -> int:
        """How many cells each class has."""
        return int(self.edges.shape[1]) + 1


@dataclass(frozen=True)
class Spec:
    """The content of a bundle, well-formed."""

    promise: tuple[float, float] | None  # epsilon and delta; none for a filter
    features: tuple[str, ...]
    lower: Floats | None
    upper: Floats | None
    mean: Floats
    layers: tuple[Layer, ...]
    encoder: Floats
    offset: Floats
    axes: Floats  # none of the kind category
    domain: str
    kind: str
    composition: str
    tau: float
    tables: tuple[Table, ...]
    table_of: tuple[int, ...]
    randomizers: tuple[Randomizer, ...]
    randomizer_of: tuple[int, ...]
    ball: BallNoise | None  # of the kind ball alone
    head: tuple[Layer, ...]
    decoder: Floats | None
    decoder_offset: Floats
    lookup: tuple[Floats, Floats] | None  # edges and values
    output: str
    outputs: tuple[str, ...]
    category: Category | None  # of the kind category alone

    @property
    def randomized(self) -> bool:
        return self.kind in ("local", "local-unbiased", "category")

    @property
    def coordinates(self) -> int:
        """How many numbers are released."""
        return 1 if self.category else len(self.axes)

    @property
    def step(self) -> float:
        """The step of the grid of joint noise; 0 for noise of each coordinate."""
        if self.composition == "norm":
            return norm_step(self.tau)
        if self.ball:
            return self.ball.step
        return self.tables[0].step if self.composition in ("l1", "l2") else 0.0


def norm_step(tau: float) -> float:
    """The step of the grid for the scale tau: 2^32 to 2^33 of them are in it."""
    return math.ldexp(1, math.frexp(tau)[1] - 33)


Law = Table | Randomizer | BallNoise


def decode(file: Callable[[str, int], bytes], law: Callable[[str], Law]) -> Spec:
    """The bundle of a directory, given how to read a file and the law in one. Errors name the
    file."""
    try:
        f = read(parse(file("bundle.json", MAX_SIZE), MAX_SIZE), _FILE)
        check_format(f, FORMAT, (1, 2, 3, 4))
        _check_file(f)
    except Error as err:
        raise type(err)(f"bundle.json: {err}") from err
    reader = _Arrays(f, file)
    noise = f["noise"]
    tables = [law(f"tables/{k:02d}.json") for k in range(noise["tables"])]
    randomizers = [law(f"randomizers/{k:02d}.json") for k in range(noise.get("randomizers", 0))]
    balls = [law("balls/00.json")] if noise["composition"] == "ball" else []
    spec = Spec(
        promise=None if f["privacy"] is None else (f["privacy"]["epsilon"], f["privacy"]["delta"]),
        features=f["features"],
        domain=f["domain"],
        kind=noise["kind"],
        composition=noise["composition"],
        tau=noise["tau"],
        tables=tuple(t for t in tables if isinstance(t, Table)),
        table_of=noise["table_of"],
        randomizers=tuple(m for m in randomizers if isinstance(m, Randomizer)),
        randomizer_of=noise.get("randomizer_of", ()),
        ball=next((b for b in balls if isinstance(b, BallNoise)), None),
        output=f.get("output", "features"),
        outputs=reader.outputs,
        **reader.arrays(),
    )
    _check(spec, f)
    return spec


class _Arrays:
    """Reads the arrays of a bundle, of shapes that its file tells."""

    def __init__(self, fields: Fields, file: Callable[[str, int], bytes]) -> None:
        self._fields, self._file = fields, file
        output = fields.get("output", "features")
        self.outputs: tuple[str, ...] = fields["features"] if output == "features" else fields.get("outputs", ())

    def _array(self, name: str, *shape: int) -> Floats:
        try:
            array = read_array(self._file(f"{name}.npy", (1 << 16) + 8 * _MAX_ENTRIES), _MAX_ENTRIES, shape)
        except FormatError as err:
            raise FormatError(f"{name}.npy: {err}") from err
        want(bool(np.all(np.abs(array) <= MAX_MAGNITUDE)), f"{name}.npy", "too large, or no number", "at most 1e90")
        return array

    def _layers(self, name: str, of: str, width: int) -> tuple[tuple[Layer, ...], int]:
        layers = []
        for i, layer in enumerate(self._fields.get(of, ()), 1):
            rows = layer["width"]
            weights, bias = self._array(f"{name}_{i}_weights", rows, width), self._array(f"{name}_{i}_bias", rows)
            layers.append(Layer(weights, bias, layer["activation"]))
            width = rows
        return tuple(layers), width

    def arrays(self) -> dict[str, Any]:
        f, k = self._fields, len(self.outputs)
        n, z = len(f["features"]), f["coordinates"]
        want(k >= 1, "outputs", "none", "at least one name")
        layers, encoded = self._layers("layer", "layers", n)
        head, decoded = self._layers("head", "head", z)
        scores, category = z, None
        if "cells" in f:
            scores, category = k, self._category(f["cells"], k)
            decoded = len(category.decisions)
        bounds, lookup = f["feature_bounds"], None
        if f.get("lookup"):
            edges, values = self._array("lookup_edges", z, -1), self._array("lookup_values", -1, k)
            bins = edges.shape[1] + 1
            want(len(values) == z * bins, "lookup_values", f"{len(values)} rows", f"{z * bins}")
            want(bool(np.all(edges[:, :-1] <= edges[:, 1:])), "lookup_edges", "descending", "edges that do not descend")
            lookup = edges, values
        if f["task"]:
            self._array("task", -1, n)
        lower, upper = (self._array(f"feature_{end}", n) if bounds else None for end in ("lower", "upper"))
        if lower is not None and upper is not None:
            want(bool(np.all(lower <= upper)), "feature_lower", "above feature_upper", "at most that")
        return {
            "mean": self._array("mean", n),
            "layers": layers,
            "encoder": self._array("encoder", scores, encoded),
            "offset": self._array("offset", scores),
            "axes": _none(0) if category else self._array("axes", z),
            "category": category,
            "head": head,
            "decoder": None if lookup else self._array("decoder", k, decoded),
            "decoder_offset": self._array("decoder_offset", k),
            "lookup": lookup,
            "lower": lower,
            "upper": upper,
        }

    def _category(self, cells: Fields, k: int) -> Category:
        levels, edges = cells["levels"], _none(k, 0)
        if levels > 1:
            edges = self._array("cell_edges", k, levels - 1)
            rising = np.diff(edges, axis=1, prepend=0.0)
            want(bool(np.all(rising >= 0)), "cell_edges", "below 0 or falling", "edges from 0 on that do not fall")
        shares = self._array("cell_shares", k * levels, k)
        # Summed in order, as other readers do.
        total = math.fsum(shares.ravel().tolist())
        whole = bool(np.all(shares >= 0)) and abs(total - 1) <= 1e-9
        want(whole, "cell_shares", "below 0 or of another sum", "numbers at least 0 of the sum 1")
        good = all(0 <= d < k for d in cells["decisions"])
        want(good, "decisions", "no index of a class", f"0 to {k - 1}")
        return Category(edges, shares, cells["decisions"])


def _none(*shape: int) -> Floats:
    """Returns an array without entries, which nothing can be written to, as those that are read."""
    array = np.zeros(shape)
    array.flags.writeable = False
    return array


def _second_only(domain: str, kind: str, composition: str) -> bool:
    return domain == "l1-ball" or kind == "none" or composition in ("none", "norm", "ball")


def _check_file(f: Fields) -> None:
    """Holds the fields against each other that say which files there are, and how large they may
    be."""
    noise, version = f["noise"], f["version"]
    new = [noise.get("randomizers"), noise.get("randomizer_of"), *map(f.get, ("lookup", "layers", "head", "outputs"))]
    there = [x is not None for x in new] + [f.get("output", "") != ""]
    if any(t != (version >= 2) for t in there):
        raise FormatError(f"version = {version}, want all of the fields of version 2 from it on, and none of them in 1")
    _check_cells(f)
    if {version == 4, noise["kind"] == "ball", noise["composition"] == "ball"} not in ({True}, {False}):
        raise FormatError(
            f"version = {version}, want 4 with the kind ball and the composition ball, or none of the three"
        )
    if version == 1 and _second_only(f["domain"], noise["kind"], noise["composition"]):
        raise FormatError(
            "version = 1, want 2 for the domain l1-ball, the kind none and the compositions norm and none"
        )
    second = noise.get("randomizers") or f.get("lookup") or f.get("layers") or f.get("head")
    second = second or _second_only(f["domain"], noise["kind"], noise["composition"])
    if version == 2 and not second and f["output"] == "features":
        raise FormatError("version = 2, want 1 for a bundle with nothing of version 2")
    if (f["privacy"] is None) != (noise["kind"] == "none"):
        raise FormatError("privacy = null or noise.kind = none without the other, want both or neither")
    z, counts = f["coordinates"], (noise["tables"], noise.get("randomizers", 0))
    lawless = noise["composition"] in ("norm", "none", "ball")
    if version == 4 and counts != (0, 0):
        raise FormatError(f"tables and randomizers = {counts}, want none for the composition ball")
    if not (1 <= z <= _MAX_COORDINATES and min(counts) >= 0 and max(counts) <= z and (lawless or max(counts) >= 1)):
        raise FormatError(
            f"coordinates = {z} and laws = {counts}, want 1 law to one for each of at most 4096 coordinates"
        )
    n, made = len(f["features"]), len(f["outputs"]) if "cells" in f else z
    if n < 1 or made * n > _MAX_ENTRIES:
        raise FormatError(f"features = {n} names for {made} numbers, want at least 1 and at most 2^24 entries")
    left = _MAX_ENTRIES
    for name, width in (("layers", n), ("head", z)):
        for layer in f.get(name, ()):
            rows = layer["width"]
            if not 1 <= rows <= min(_MAX_FEATURES, left // width):
                raise FormatError(
                    f"width = {rows} of a layer, want 1 to 65536, and at most 2^24 entries of all weights"
                )
            left -= width * rows
            width = rows


def _check_cells(f: Fields) -> None:
    """Holds the cells against the version and the noise."""
    noise, cells, of_category = f["noise"], f.get("cells"), f["noise"]["kind"] == "category"
    if {f["version"] == 3, cells is not None, of_category, f["domain"] == "cells"} not in ({True}, {False}):
        raise FormatError(
            f"version = {f['version']}, want 3 with the field cells, the kind category and the domain cells, or none"
        )
    if cells is None:
        return
    counts = f["coordinates"], noise["tables"], noise["randomizers"]
    if counts != (1, 0, 1) or f["head"] or f["lookup"] or f["task"]:
        raise FormatError(
            f"coordinates, tables and randomizers = {counts}, want 1, 0, 1 and no head, lookup or task for a category"
        )
    levels, k, answers = cells["levels"], len(f["outputs"]), len(cells["decisions"])
    if not (1 <= levels <= _MAX_LEVELS and k >= 2 and k * levels <= _MAX_CELLS and answers >= 1):
        raise FormatError(
            f"levels, classes, decisions = {levels}, {k}, {answers}, want at least 1, 2 and 1, at most 1024 cells"
        )


def _check_names(field: str, names: tuple[str, ...]) -> None:
    good = all(0 < len(name.encode()) <= _MAX_TEXT for name in names) and len(set(names)) == len(names)
    want(good, field, "names that are empty, too long or not distinct", f"names of 1 to {_MAX_TEXT} bytes of their own")


def _check(s: Spec, f: Fields) -> None:
    _check_names("features", s.features)
    want(len(f["clip_origin"].encode()) <= _MAX_TEXT, "clip_origin", "too long", f"at most {_MAX_TEXT} bytes")
    sizes = bool(np.all((s.axes >= _LEAST_AXIS) & (s.axes <= _MOST_AXIS)))
    want(sizes, "axes", "out of range", "numbers from 1e-60 to 1e60")
    want(s.domain in _DOMAINS, "domain", repr(s.domain[:40]), ", ".join(_DOMAINS))
    want(s.domain != "bounds" or s.lower is not None, "feature_lower", "none", "bounds of the features")
    want(s.domain != "bounds" or not s.layers, "layers", "some", "none for the domain bounds")
    want(s.lookup is None or not s.head, "head", "some", "none beside a lookup")
    for layer in (*s.layers, *s.head):
        want(layer.activation in _ACTIVATIONS, "activation", repr(layer.activation[:40]), ", ".join(_ACTIVATIONS))
    want(s.output in ("features", "values", "classes"), "output", repr(s.output[:40]), "features, values or classes")
    if s.output == "features":
        want(not f.get("outputs"), "outputs", "some", "none, unless the output is values or classes")
    else:
        least = 2 if s.output == "classes" else 1
        want(len(s.outputs) >= least, "outputs", f"{len(s.outputs)} names", f"at least {least}")
        _check_names("outputs", s.outputs)
        want(not f["task"], "task", "one", "none, unless the output is the features")
    for name, x in f["predicted"].items():
        want(x >= 0, f"predicted.{name}", x, "a finite number at least 0 (squared task units)")
    _check_noise(s)


def _check_noise(s: Spec) -> None:
    want(s.kind in _KINDS, "noise.kind", repr(s.kind[:40]), ", ".join(_KINDS))
    want(s.composition in _COMPOSITIONS, "noise.composition", repr(s.composition[:40]), ", ".join(_COMPOSITIONS))
    needs = _COMPOSITIONS[s.composition]
    want(needs in (None, s.kind), "noise.kind", s.kind, f"{needs} for the composition {s.composition}")
    want(s.kind != "none" or s.composition == "none", "noise.composition", s.composition, "none for the kind none")
    if s.category:
        want(s.output == "classes", "output", s.output, "classes for the kind category")
    if s.randomized:
        want(s.composition == "basic", "noise.composition", s.composition, "basic for local randomizers")
    if s.composition in ("l2", "norm"):
        want(_LEAST_AXIS <= s.tau <= _MOST_AXIS, "noise.tau", s.tau, "a number from 1e-60 to 1e60")
    else:
        want(s.tau == 0, "noise.tau", s.tau, "0, that is none, unless the composition is l2 or norm")
    if s.promise is not None:
        check_epsilon_delta(*s.promise)
    if s.composition in ("norm", "ball", "none"):
        lawless = not (s.tables or s.table_of or s.randomizers or s.randomizer_of)
        want(lawless, "tables", "some laws", f"none for the composition {s.composition}")
        if s.composition == "norm":
            _check_steps(s, [norm_step(s.tau)] * len(s.axes))
        if s.ball:
            z = len(s.axes)
            want(s.ball.dimension == z, "balls[0]", f"noise of {s.ball.dimension} coordinates", f"one of {z}")
            _check_steps(s, [s.ball.step] * z)
        return
    laws, of = (s.randomizers, s.randomizer_of) if s.randomized else (s.tables, s.table_of)
    others = (s.tables or s.table_of) if s.randomized else (s.randomizers or s.randomizer_of)
    want(not others, "noise", "tables and randomizers", "one of the two")
    most = 1 if s.step else s.coordinates
    want(1 <= len(laws) <= most, "noise", f"{len(laws)} laws", f"1 to {most}")
    want(len(of) == s.coordinates, "noise", f"{len(of)} indices of laws", f"{s.coordinates}, one per coordinate")
    want(set(of) == set(range(len(laws))), "noise", "indices of laws", "every law used, and no other")
    for k, m in enumerate(s.randomizers):
        kind = "category" if s.category else "real"
        want(m.kind == kind, f"randomizers[{k}]", f"one for values of kind {m.kind}", f"one of kind {kind}")
        if s.category:
            sizes = len(m.labels), len(m.answers)
            wanted = len(s.category.shares), len(s.category.decisions)
            want(sizes == wanted, f"randomizers[{k}]", f"{sizes} categories and answers", f"{wanted}")
    for k, t in enumerate(s.tables):
        want(t.query == "real", f"tables[{k}]", f"one for a query of kind {t.query}", "one for a real query")
    if s.tables:
        _check_steps(s, [s.tables[t].step for t in s.table_of])


def _check_steps(s: Spec, steps: list[float]) -> None:
    for i, step in enumerate(steps):
        want(step <= _MOST_AXIS, "tables", f"one with steps of {step:g}", "steps of at most 1e60")
        axis = float(s.axes[i])
        want(axis / step <= _MAX_STEPS, f"axes[{i}]", axis, f"at most 2^40 steps of {step:g}")
