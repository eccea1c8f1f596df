# SPDX-License-Identifier: Apache-2.0
"""Private classifiers, learned by the program: ``noisewright learn``."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import tempfile
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from noisewright import _rows
from noisewright._display import Fields
from noisewright._words import Floats, Int64s
from noisewright.answers import Charge
from noisewright.errors import FormatError, InvalidError
from noisewright.ledger import Ledger
from noisewright.program import Number, _flags, _report, _result, _run, _warned
from noisewright.statistics import _number, charged, source

_GRID = 1 << 24  # steps from 0 to 1 of a number mapped to [-1, 1]


@dataclasses.dataclass(frozen=True)
class Schema:
    """What is public about records: the classes of the target, and of every feature the bounds, a tuple of two numbers,
    or the categories, a list. None of it may be chosen in view of the records.

    >>> Schema("buys", ["no", "yes"], {"age": (18, 100), "city": ["Ulm", "Jena"]}).features["age"]
    (18, 100)
    """

    target: str
    classes: Sequence[Hashable]
    features: Mapping[str, tuple[Any, Any] | Sequence[Hashable]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", tuple(self.classes))
        object.__setattr__(self, "features", Fields(dict(self.features)))

    def encode(self) -> str:
        """Its file, as docs/learn.md has it."""
        features = []
        for name, known in self.features.items():
            if isinstance(known, tuple):
                if len(known) != 2:
                    raise InvalidError(f"feature {name!r} = {known!r}, want (lower, upper), or a list of categories")
                lower, upper = (_number(f"feature {name!r}", end) for end in list[Any](known))
                features.append({"name": name, "bounds": {"lower": lower, "upper": upper}})
            else:
                if len(known) == 2 and all(isinstance(n, (int, float)) and not isinstance(n, bool) for n in known):
                    a, b = known
                    want = f"({a}, {b}) for bounds, or texts, [{str(a)!r}, {str(b)!r}], for two categories"
                    raise InvalidError(f"feature {name!r} = {known!r}, want {want}")
                features.append({"name": name, "categories": list(map(_rows.text, known))})
        classes = list(map(_rows.text, self.classes))
        head = {"format": "noisewright-schema", "version": 1, "target": self.target, "classes": classes}
        return json.dumps(head | {"features": features})

    @classmethod
    def _decode(cls, fields: Mapping[str, Any]) -> Schema:
        features: dict[str, Any] = {}
        for f in fields["features"]:
            bounds = f.get("bounds")
            features[f["name"]] = (bounds["lower"], bounds["upper"]) if bounds else list(f["categories"])
        return cls(fields["target"], fields["classes"], features)


@dataclasses.dataclass(frozen=True)
class Guarantee:
    """What a model promises for the records it was learned from, as its file says: all its releases together."""

    epsilon: float
    delta: float
    neighbors: str
    noise: str
    deviation: float  # of the noise of a release, where a record counts 1
    releases: int


class Model:
    """A classifier that may be published. What is done with it costs nothing."""

    def __init__(self, source: bytes, classes: Sequence[Hashable] | None = None, charge: Charge | None = None) -> None:
        self._source, self._charge = source, charge
        try:
            fields = json.loads(source)
            if fields["format"] != "noisewright-model" or fields["version"] != 1:
                raise FormatError("file is no noisewright-model of version 1")
            self._kind = str(fields["kind"])
            self._parameters: Mapping[str, Any] = fields[self._kind.replace("-", "_")]
            self._schema = Schema._decode(fields["schema"])
            self._guarantee = _result(Guarantee, fields["guarantee"]) if fields["guarantee"] else None
        except (ValueError, KeyError, TypeError) as err:
            raise FormatError(f"file is no model: {err}") from err
        self._labels = tuple(self._schema.classes if classes is None else classes)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """A model from its file."""
        return cls(Path(path).read_bytes())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes its file."""
        Path(path).write_bytes(self._source)

    @property
    def source(self) -> bytes:
        """Its file."""
        return self._source

    @property
    def kind(self) -> str:
        """naive-bayes or logistic."""
        return self._kind

    @property
    def schema(self) -> Schema:
        """What was public about the records."""
        return self._schema

    @property
    def guarantee(self) -> Guarantee | None:
        """What it promises."""
        return self._guarantee

    @property
    def charge(self) -> Charge | None:
        """What the ledger says, where it was learned now and there is one."""
        return self._charge

    def __repr__(self) -> str:
        g = self.guarantee
        promise = "no guarantee" if g is None else f"epsilon={g.epsilon}, delta={g.delta}"
        return f"<Model: {self.kind} of {self.schema.target}, {promise}>"

    def predict(self, data: Any) -> npt.NDArray[Any]:
        """The classes of records, as the program predicts them: of a frame with the columns of the features.

        Numbers beyond the bounds are moved to these; a value that is missing or no category is refused.
        """
        best: npt.NDArray[Any] = np.asarray(self._labels)[self._scores(data).argmax(axis=1)]
        return best

    def predict_proba(self, data: Any) -> Floats:
        """The probabilities of the classes, as the model has them: a column for each class of the schema."""
        scores = self._scores(data)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares: Floats = odds / odds.sum(axis=1, keepdims=True)
        return shares

    def _scores(self, data: Any) -> Floats:
        """For each record a number for each class; the largest one is predicted."""
        columns = _rows.columns(data, list(self.schema.features))
        encoded = [
            _units(name, column, known) if isinstance(known, tuple) else _codes(name, column, known)
            for column, (name, known) in zip(columns, self.schema.features.items(), strict=True)
        ]
        rows = len(columns[0])
        return (self._bayes if self._kind == "naive-bayes" else self._logistic)(encoded, rows)

    def _bayes(self, columns: Sequence[Any], rows: int) -> Floats:
        scores = np.tile(np.log(self._parameters["counts"]), (rows, 1))
        for column, f in zip(columns, self._parameters["features"], strict=True):
            if f.get("cells"):
                cells = np.array(f["cells"], dtype=np.float64)
                scores += np.log(cells / cells.sum(axis=1, keepdims=True)).T[column]
            else:
                x, variances = column[:, None] - np.array(f["means"]), np.array(f["variances"])
                scores -= (x * x / variances + np.log(variances)) / 2
        return scores

    def _logistic(self, columns: Sequence[Any], rows: int) -> Floats:
        odds = np.full(rows, float(self._parameters["intercept"]))
        for column, known, c in zip(
            columns, self.schema.features.values(), self._parameters["coefficients"], strict=True
        ):
            odds += c[0] * column if isinstance(known, tuple) else np.array(c)[column]
        return np.stack([np.zeros(rows), odds], axis=1)


def _units(name: str, texts: Sequence[str], bounds: tuple[Any, Any]) -> Floats:
    """Numbers mapped from the bounds to multiples of 2^-24 from -1 to 1."""
    lower, upper = (float(end) for end in bounds)
    try:
        values = np.array([float(t) for t in texts], dtype=np.float64)
    except ValueError:
        values = np.array([math.nan])
    if not bool(np.isfinite(values).all()):
        raise InvalidError(f"column {name!r}: a value is no number, want one from {lower} to {upper}")
    scaled = ((np.clip(values, lower, upper) - lower) / (upper - lower) * 2 - 1) * _GRID
    whole = np.floor(np.abs(scaled))
    rounded: Floats = np.sign(scaled) * (whole + (np.abs(scaled) - whole >= 0.5)) / _GRID
    return rounded


def _codes(name: str, texts: Sequence[str], categories: Sequence[Any]) -> Int64s:
    codes = {str(category): i for i, category in enumerate(categories)}
    try:
        return np.array([codes[t.strip()] for t in texts], dtype=np.int64)
    except KeyError:
        raise InvalidError(f"column {name!r}: a value is no category of the schema") from None


def learn(
    data: Any,
    schema: Schema,
    kind: Literal["nb", "pcd"] = "nb",
    *,
    epsilon: Number,
    delta: Number,
    ledger: str | os.PathLike[str] | Ledger | None = None,
    neighbors: Literal["add-remove", "replace"] = "add-remove",
    noise: Literal["auto", "designed", "gaussian", "laplace"] = "auto",
    rounds: int | None = None,
    per_round: int | None = None,
    step_size: Number | None = None,
    penalty: Number | None = None,
    new_data: bool = False,
    allow_delta: bool = False,
    time_limit: str | None = None,
    delimiter: str | None = None,
    one_line: bool = False,
) -> Model:
    """Learns a classifier of records so that it is (epsilon, delta)-private for them: naive Bayes (nb), or logistic
    regression by proximal coordinate descent (pcd), for which rounds, per_round, step_size and penalty (lambda) are.

    Data, ledger and new_data are as for release.
    """
    if kind not in ("nb", "pcd"):
        raise InvalidError(f"kind = {kind!r}, want nb or pcd")
    flags, rows = source(data, delimiter, one_line)
    flags += [*charged(ledger, new_data), f"--neighbors={neighbors}", f"--noise={noise}"]
    flags += _flags(epsilon=epsilon, delta=delta, rounds=rounds, per_round=per_round, step_size=step_size)
    flags += _flags(**{"lambda": penalty, "time_limit": time_limit})
    flags += ["--allow-delta"] if allow_delta else []
    with tempfile.TemporaryDirectory(prefix="noisewright-") as folder:
        public, made = Path(folder) / "schema.json", Path(folder) / "model.json"
        public.write_text(schema.encode(), encoding="utf-8")
        run = _run(f"learn {kind}", *flags, f"--schema={public}", f"--output={made}", data=rows)
        model = made.read_bytes()
    _warned(run.warnings)
    charge = _report(run.stdout).get("ledger")
    return Model(model, schema.classes, Charge(**charge) if charge else None)
