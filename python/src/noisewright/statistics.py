# SPDX-License-Identifier: Apache-2.0
"""Statistics of a data set, released by the program: ``noisewright release batch``.

The program reads the data as CSV from a pipe; what it sees of a frame is in noisewright._rows. Nothing is charged
unless all statistics of a call fit into the ledger together.
"""

from __future__ import annotations

import builtins
import dataclasses
import json
import math
import operator
import os
import tempfile
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, overload

from noisewright import _rows
from noisewright._display import Fields, Rows
from noisewright._exact import float_down
from noisewright.errors import InvalidError
from noisewright.ledger import Ledger
from noisewright.program import Number, ProgramError, _flags, _float, _report, _run, _text, _warned

Bounds = tuple[Number, Number]


@dataclasses.dataclass(frozen=True)
class Statistic:
    """What is asked of the rows of a data set. Made by count, sum, mean, histogram, quantile, and release_value."""

    kind: str
    fields: Mapping[str, Any]  # of the program's query
    keys: tuple[Hashable, ...] = ()  # as they were given
    epsilon: Number | None = None
    delta: Number | None = None
    weight: Number = 1

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(f'{name}={value!r}' for name, value in self.fields.items())})"


def _statistic(
    kind: str,
    own: Mapping[str, Any],
    where: str | None,
    by: str | None,
    keys: Iterable[Hashable] | None,
    max_per_person: int | None,
    budget: tuple[Number | None, Number | None, Number],
) -> Statistic:
    if not isinstance(where, (str, type(None))):
        raise InvalidError(f"where = a {type(where).__name__}, want a text such as 'age >= 65', about each row")
    given = () if keys is None else tuple(keys)
    if isinstance(keys, str):
        raise InvalidError(f"keys = {keys!r}, want a list of keys")
    try:
        texts = [_rows.text(key) for key in given]
    except InvalidError as err:
        raise InvalidError(f"keys: {err}") from err
    fields = {**own, "where": where, "by": by, "keys": texts or None, "max_per_person": max_per_person}
    fields = {name: value for name, value in fields.items() if value is not None}
    return Statistic(kind, Fields(fields), given, *budget)


def count(
    where: str | None = None,
    *,
    by: str | None = None,
    keys: Iterable[Hashable] | None = None,
    max_per_person: int | None = None,
    loss: Literal["l1", "l2"] = "l1",
    epsilon: Number | None = None,
    delta: Number | None = None,
    weight: Number = 1,
) -> Statistic:
    """The number of rows, of those that a condition holds for, or of each of the keys of a column.

    A condition is a text about the columns of a row: age >= 65 and city in ["Ulm", "Jena"], with == != < <= > >=, and,
    or, not, in, matches and parentheses. Text stands in quotes, a missing value is "", a truth value 1 or 0. Times are
    compared as the texts that they are written by, YYYY-MM-DDTHH:MM:SS, with a Z, and in UTC, if they have a time zone:
    when < "2026-05-01T12:00:00Z". A row for which it cannot be decided, such as age > 5 where there is no age, or not
    (age > 5), does not count.

    >>> count(where="age >= 65")
    count(loss='l1', where='age >= 65')
    """
    return _statistic("count", {"loss": loss}, where, by, keys, max_per_person, (epsilon, delta, weight))


def histogram(
    by: str | None = None,
    keys: Iterable[Hashable] | None = None,
    *,
    column: str | None = None,
    edges: Iterable[Number] | None = None,
    where: str | None = None,
    max_per_person: int | None = None,
    loss: Literal["l1", "l2"] = "l1",
    epsilon: Number | None = None,
    delta: Number | None = None,
    weight: Number = 1,
) -> Statistic:
    """The number of rows with each of the keys of a column, or with a value of one between edges.

    >>> histogram("city", ["Ulm", "Jena"])
    histogram(loss='l1', by='city', keys=['Ulm', 'Jena'])
    >>> histogram(column="age", edges=[0, 18, 65, 120])
    histogram(loss='l1', column='age', edges=[0.0, 18.0, 65.0, 120.0])
    """
    own: dict[str, Any] = {"loss": loss, "column": column}
    own["edges"] = None if edges is None else [_number("edges", edge) for edge in edges]
    return _statistic("histogram", own, where, by, keys, max_per_person, (epsilon, delta, weight))


def sum(
    column: str,
    bounds: Bounds,
    *,
    where: str | None = None,
    by: str | None = None,
    keys: Iterable[Hashable] | None = None,
    max_per_person: int | None = None,
    missing: Literal["drop", "middle"] = "drop",
    loss: Literal["l1", "l2"] = "l1",
    epsilon: Number | None = None,
    delta: Number | None = None,
    weight: Number = 1,
) -> Statistic:
    """The sum of a column, each value clipped to the bounds."""
    own = {"loss": loss, **_valued(column, bounds, missing)}
    return _statistic("sum", own, where, by, keys, max_per_person, (epsilon, delta, weight))


def mean(
    column: str,
    bounds: Bounds,
    *,
    where: str | None = None,
    by: str | None = None,
    keys: Iterable[Hashable] | None = None,
    max_per_person: int | None = None,
    missing: Literal["drop", "middle"] = "drop",
    loss: Literal["l1", "l2"] = "l1",
    epsilon: Number | None = None,
    delta: Number | None = None,
    weight: Number = 1,
) -> Statistic:
    """The average of a column, each value clipped to the bounds; what is no number is missing. Of truth values, with
    the bounds (0, 1), it is a share.

    >>> mean("age", bounds=(0, 120), by="city", keys=["Ulm"])
    mean(loss='l1', column='age', lower=0.0, upper=120.0, missing='drop', by='city', keys=['Ulm'])
    """
    own = {"loss": loss, **_valued(column, bounds, missing)}
    return _statistic("mean", own, where, by, keys, max_per_person, (epsilon, delta, weight))


def quantile(
    column: str,
    probability: Number,
    bounds: Bounds,
    *,
    candidates: int = 1001,
    where: str | None = None,
    by: str | None = None,
    keys: Iterable[Hashable] | None = None,
    max_per_person: int | None = None,
    missing: Literal["drop", "middle"] = "drop",
    epsilon: Number | None = None,
    weight: Number = 1,
) -> Statistic:
    """One of so many numbers, evenly spaced between the bounds, whose rank is near that of the quantile.

    It costs epsilon alone, and has no share of a delta.
    """
    own = {"probability": _number("probability", probability), "candidates": _integer("candidates", candidates)}
    own |= _valued(column, bounds, missing)
    return _statistic("quantile", own, where, by, keys, max_per_person, (epsilon, 0, weight))


def median(column: str, bounds: Bounds, **more: Any) -> Statistic:
    """The quantile of probability 1/2.

    >>> median("age", (0, 120), candidates=121)
    quantile(probability=0.5, candidates=121, column='age', lower=0.0, upper=120.0, missing='drop')
    """
    return quantile(column, 0.5, bounds, **more)


def _valued(column: str, bounds: Bounds, missing: str) -> dict[str, Any]:
    if not isinstance(column, str):
        raise InvalidError(f"column = {column!r}, want the name of a column, a text")
    try:
        lower, upper = bounds
    except (TypeError, ValueError):
        raise InvalidError(f"bounds = {bounds!r}, want two numbers, lower and upper") from None
    return {
        "column": column,
        "lower": _number("bounds", lower),
        "upper": _number("bounds", upper),
        "missing": missing,
    }


def _number(field: str, value: Number) -> float:
    try:
        number = _float(value)
    except (InvalidError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InvalidError(f"{field} = {value!r}, want a finite number")
    return number


def _integer(field: str, value: Any) -> int:
    try:
        if (number := operator.index(value)) >= 1:
            return number
    except TypeError:
        pass
    raise InvalidError(f"{field} = {value!r}, want an integer of at least 1")


@dataclasses.dataclass(frozen=True)
class Charge:
    """What the ledger says of an answer: its number there, when it was charged, and whether the ledger had it already,
    so that it cost nothing."""

    release: int
    charged: str
    replayed: bool


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A private answer, with an interval that contains the exact one with a probability of at least the level."""

    key: Hashable  # None where there is one answer only
    value: float
    lower: float
    upper: float
    rank_error: int | None = (
        None  # of quantiles: how many rows may be between, at the level; the interval is the bounds
    )


@dataclasses.dataclass(frozen=True, repr=False)
class Answer(Rows, Sequence[Estimate]):
    """The answer to a statistic: an estimate for each key, or a single one."""

    statistic: Statistic
    estimates: tuple[Estimate, ...]
    level: float
    epsilon: float
    delta: float
    releases: int
    neighbors: str
    unit: str
    mechanism: str
    mean_error: float | None
    tables: tuple[str, ...]
    not_protected: tuple[str, ...]
    query: Mapping[str, Any]
    charge: Charge | None

    @overload
    def __getitem__(self, at: int) -> Estimate: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Estimate]: ...
    def __getitem__(self, at: int | slice) -> Estimate | Sequence[Estimate]:
        return self.estimates[at]

    def __len__(self) -> int:
        return len(self.estimates)

    def rows(self) -> list[dict[str, Any]]:
        """A row for every estimate: the statistic, its key, the value and its interval, or the error of its rank, and
        what it cost."""
        return [
            {"statistic": self.name, "key": e.key, "value": e.value}
            | ({"lower": e.lower, "upper": e.upper} if e.rank_error is None else {"lower": None, "upper": None})
            | {"rank_error": e.rank_error, "mean_error": self.mean_error}
            | {"epsilon": self.epsilon, "delta": self.delta}
            for e in self.estimates
        ]

    def __repr__(self) -> str:
        return "\n".join(f"{_named(r)}: {_said(r)}" for r in self.rows())

    @property
    def name(self) -> str:
        """The statistic in words."""
        q = self.query
        parts = [(" of ", q.get("column")), (" by ", q.get("by")), (" where ", q.get("where")), (" ", q.get("name"))]
        kind = "median" if q.get("probability") == 0.5 else q["kind"]
        return str(kind) + "".join(word + part for word, part in parts if part)

    def _single(self) -> Estimate:
        if len(self.estimates) != 1:
            raise InvalidError(f"{self.name} has {len(self.estimates)} values, want one: see estimates, or to_dict")
        return self.estimates[0]

    @property
    def value(self) -> float:
        """The value, if there is one only."""
        return self._single().value

    @property
    def interval(self) -> tuple[float, float]:
        """Where the exact answer is with a probability of at least the level, if there is one only."""
        return self._single().lower, self._single().upper

    def __float__(self) -> float:
        return float(self.value)

    def to_dict(self) -> dict[Hashable, float]:
        """The values by key."""
        return {e.key: e.value for e in self.estimates}


@dataclasses.dataclass(frozen=True, repr=False)
class Release(Rows, Sequence[Answer]):
    """The answers to the statistics of a call, in their order."""

    answers: tuple[Answer, ...]

    @overload
    def __getitem__(self, at: int) -> Answer: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Answer]: ...
    def __getitem__(self, at: int | slice) -> Answer | Sequence[Answer]:
        return self.answers[at]

    def __len__(self) -> int:
        return len(self.answers)

    def rows(self) -> list[dict[str, Any]]:
        """A row for every estimate: the statistic, its key, the value and its interval, and what it cost."""
        return [row for a in self.answers for row in a.rows()]

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.answers))

    def _repr_html_(self) -> str:
        a = self.answers[0]
        hidden = f"hides {a.unit}, {a.neighbors}; intervals contain the exact answer with a probability of {a.level}"
        return self.table(hidden)

    def plot(self, ax: Any = None) -> Any:
        """The values with their intervals, by matplotlib; returns its axes."""
        import matplotlib.pyplot

        ax = ax or matplotlib.pyplot.subplots(layout="constrained", figsize=(6, 0.5 + 0.3 * len(self.rows())))[1]
        rows = self.rows()[::-1]
        for at, r in enumerate(rows):
            if r["rank_error"] is None:
                ax.plot([r["lower"], r["upper"]], [at, at], color="tab:gray")
            ax.plot(r["value"], at, "o", color="tab:blue")
        ax.set_yticks(range(len(rows)), list(map(_named, rows)))
        return ax


def _named(row: Mapping[str, Any]) -> str:
    return str(row["statistic"]) if row["key"] is None else f"{row['statistic']}: {row['key']}"


def _said(row: Mapping[str, Any]) -> str:
    if row["rank_error"] is not None:
        return f"{row['value']:g} (at most {row['rank_error']} rows from it)"
    return f"{row['value']:g} ({row['lower']:g} to {row['upper']:g})"


def release(
    data: Any,
    *statistics: Statistic,
    ledger: str | os.PathLike[str] | Ledger | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    neighbors: Literal["add-remove", "replace"] | None = None,
    person: str | None = None,
    max_per_person: int | None = None,
    releases: int = 1,
    new_data: bool = False,
    allow_delta: bool = False,
    delimiter: str | None = None,
    one_line: bool = False,
    tables: str | os.PathLike[str] | None = None,
) -> Release:
    """Releases statistics of a data set, all of them or none.

    data is a DataFrame of pandas or polars (a LazyFrame too), an Arrow table, a DuckDB relation, a dict of columns, or
    the path of a Parquet or CSV file; the names of its columns are public. epsilon and delta are for all statistics of
    the call together, divided by their weights, unless each statistic has its own. Without a ledger nothing adds up
    what calls cost. releases says how many calls like this one, such as one a month, epsilon and delta are for
    together: each of them is charged its part.

    A ledger answers the same statistic of the same data again at no cost. Data that it does not know, while it knows
    others, are refused with OtherDataError: the frame has changed, or the ledger is of another data set. Say
    new_data=True where they are other data of the same people.

    Raises InvalidError for bad input and ExceededError if the statistics do not fit into the ledger together; nothing
    is charged then. Warns with PrivacyWarning.
    """
    for s in statistics:
        if not isinstance(s, Statistic):
            raise InvalidError(f"statistic = a {type(s).__name__}, want count(…), mean(…) or another of them")
    if not statistics:
        raise InvalidError("statistics = none, want count(…), mean(…) or another of them")
    queries = _queries(statistics, _budgets(statistics, epsilon, delta), neighbors, person, max_per_person, releases)
    flags, rows = source(data, delimiter, one_line)
    flags += charged(ledger, new_data)
    flags += ["--allow-delta"] if allow_delta else []
    flags += [] if tables is None else [f"--tables={os.fspath(tables)}"]
    with tempfile.TemporaryDirectory(prefix="noisewright-") as folder:
        path = Path(folder) / "queries.json"
        path.write_text(json.dumps(queries), encoding="utf-8")
        run = _run("release batch", f"--queries={path}", *flags, data=rows)
    report = _report(run.stdout)
    _warned(run.warnings)
    try:
        answers = tuple(map(_answer, statistics, report["answers"]))
    except (KeyError, TypeError) as err:
        raise ProgramError(f"the program printed another Release than this package reads: {err!r}", 0) from err
    return Release(answers)


def release_value(
    x: Number,
    sensitivity: Number,
    *,
    epsilon: Number,
    delta: Number = 0,
    query: Literal["real", "integer"] = "real",
    name: str | None = None,
    loss: Literal["l1", "l2"] = "l1",
    neighbors: Literal["add-remove", "replace"] | None = None,
    unit: str | None = None,
    releases: int = 1,
    ledger: str | os.PathLike[str] | Ledger | None = None,
    allow_delta: bool = False,
    tables: str | os.PathLike[str] | None = None,
) -> Answer:
    """Releases a number of your own. The sensitivity, how far one unit can change it, in its units, is your word:
    nothing checks it. query="integer" is for what could be integers only. unit is row, or person:COLUMN, as a ledger
    says it. The program reads the number from a pipe, so that no list of processes shows it.

    Every call is charged to the ledger, also for the same number. releases says how many releases of this kind, such as
    one a month, epsilon and delta are for together: each is charged its part. Raises and warns as release does.
    """
    flags = list(_flags(sensitivity=sensitivity, epsilon=epsilon, delta=delta, releases=releases))
    folder = None if tables is None else os.fspath(tables)
    flags += _flags_of_words(query=query, loss=loss, name=name, neighbors=neighbors, unit=unit, tables=folder)
    flags += charged(ledger, new_data=True) + (["--allow-delta"] if allow_delta else [])
    run = _run("release value", *flags, "-", data=[_text(x).encode()])
    _warned(run.warnings)
    report = _report(run.stdout)
    fields = {"name": name, "sensitivity": sensitivity, "query": query, "loss": loss}
    try:
        return _answer(Statistic("value", Fields(fields)), report)
    except (KeyError, TypeError) as err:
        raise ProgramError(f"the program printed another Answer than this package reads: {err!r}", 0) from err


def source(data: Any, delimiter: str | None, one_line: bool) -> tuple[list[str], Iterator[bytes] | None]:
    """The flags of data, and what to put into the pipe: files of CSV are read by the program itself."""
    if isinstance(data, (str, os.PathLike)):
        name = os.fspath(data)
        if not name.endswith((".parquet", ".pq")):
            flags = ["--data=" + ("./-" if name == "-" else name), *_flags_of_words(delimiter=delimiter)]
            return flags + (["--one-line"] if one_line else []), None
    if delimiter is not None or one_line:
        raise InvalidError("delimiter or one_line is given, want them for a file of CSV only")
    return ["--data=-", "--delimiter=,", "--one-line=false"], _rows.csv(data)  # as the rows are, whatever a ledger says


def charged(ledger: str | os.PathLike[str] | None, new_data: bool) -> list[str]:
    """The flags of a ledger to charge."""
    if ledger is None:
        return []
    if not isinstance(ledger, (str, os.PathLike)):
        raise InvalidError(f"ledger = {ledger!r}, want a Ledger, or the path of its file")
    if not os.path.exists(ledger):
        raise InvalidError(f"ledger = {os.fspath(ledger)!r}, want a file that Ledger.create has made")
    return [f"--ledger={os.fspath(ledger)}", *([] if new_data else ["--same-data"])]


def _flags_of_words(**values: str | None) -> list[str]:
    return [f"--{name.replace('_', '-')}={value}" for name, value in values.items() if value is not None]


def _queries(
    statistics: Sequence[Statistic],
    budgets: Iterable[tuple[float, float]],
    neighbors: str | None,
    person: str | None,
    max_per_person: int | None,
    releases: int,
) -> list[dict[str, Any]]:
    common: dict[str, Any] = {"neighbors": neighbors, "person": person}
    if person is not None:
        common["max_per_person"] = None if max_per_person is None else _integer("max_per_person", max_per_person)
        if max_per_person is None and not all("max_per_person" in s.fields for s in statistics):
            raise InvalidError("max_per_person = None, want how many rows of a person count at most")
    common = {name: value for name, value in common.items() if value is not None}
    times = _integer("releases", releases)
    return [
        {"kind": s.kind, "epsilon": epsilon, "delta": delta, "releases": times, **common, **s.fields}
        for s, (epsilon, delta) in zip(statistics, budgets, strict=True)
    ]


def _budgets(
    statistics: Sequence[Statistic], epsilon: Number | None, delta: Number | None
) -> Iterator[tuple[float, float]]:
    """What each statistic may cost: its own, or a share of the total, rounded down; a quantile has none of a delta."""
    if epsilon is None:
        if delta is not None or any(s.epsilon is None for s in statistics):
            raise InvalidError("epsilon is missing, want that of the call, or one of every statistic with its delta")
        for s in statistics:
            yield _number("epsilon", s.epsilon or 0), _number("delta", s.delta or 0)
        return
    if any(s.epsilon is not None or s.delta for s in statistics):
        raise InvalidError("epsilon of the call and of a statistic, want one of them")
    weights = [Fraction(_number("weight", s.weight)) for s in statistics]
    if min(weights) <= 0:
        raise InvalidError("weight = 0 or less, want numbers above 0")
    noisy = [Fraction(0) if s.kind == "quantile" else w for s, w in zip(statistics, weights, strict=True)]
    yield from zip(_shares("epsilon", epsilon, weights), _shares("delta", delta or 0, noisy), strict=True)


def _shares(field: str, total: Number, weights: Sequence[Fraction]) -> list[float]:
    whole, all_weights = Fraction(_number(field, total)), builtins.sum(weights)
    return [float_down(whole * w / all_weights) if all_weights else 0.0 for w in weights]


def _answer(statistic: Statistic, report: Mapping[str, Any]) -> Answer:
    """An answer as the program prints it, with the keys as they were given."""
    estimates = report["answers"]
    by_key = bool(statistic.keys) and len(estimates) == len(statistic.keys)
    keys = statistic.keys if by_key else [e.get("key") for e in estimates]
    values: dict[str, Any] = {
        "statistic": statistic,
        "estimates": tuple(
            Estimate(key, e["value"], e["lower"], e["upper"], e.get("rank_error"))
            for key, e in zip(keys, estimates, strict=True)
        ),
        "tables": tuple(report["tables"]),
        "not_protected": tuple(report["not_protected"]),
        "query": Fields(report["query"]),
        "charge": Charge(**report["ledger"]) if report.get("ledger") else None,
    }
    same = ("level", "epsilon", "delta", "releases", "neighbors", "unit", "mechanism", "mean_error")
    return Answer(**values, **{name: report[name] for name in same})
