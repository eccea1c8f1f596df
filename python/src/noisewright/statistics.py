# SPDX-License-Identifier: Apache-2.0
"""Statistics of a data set, released by the program: ``noisewright release batch``.

The program reads the data as CSV from a pipe; what it sees of a frame is in noisewright._rows. Nothing is charged
unless all statistics of a call fit into the ledger together.
"""

from __future__ import annotations

import dataclasses
import json
import math
import operator
import os
import tempfile
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from noisewright import _rows
from noisewright._display import Fields
from noisewright.answers import Answer, Release, answer_of
from noisewright.errors import InvalidError
from noisewright.ledger import Ledger
from noisewright.program import Number, ProgramError, _flags, _float, _report, _run, _text, _warned

Bounds = tuple[Number, Number]
CHOICES = ("top", "best")  # name keys or options


Keys = Iterable[Hashable] | Literal["private"]


@dataclasses.dataclass(frozen=True)
class Statistic:
    """What is asked of the rows of a data set. Made by count, sum, mean and their like, and by release_value."""

    kind: str
    fields: Mapping[str, Any]  # of the program's query
    keys: tuple[Hashable, ...] = ()  # as they were given
    epsilon: Number | None = None
    delta: Number | None = None
    weight: Number | None = None  # None is 1
    error: str | None = None  # wanted

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(f'{name}={value!r}' for name, value in self.fields.items())})"


_Budget = tuple[Number | None, Number | None, Number | None, str | None]  # epsilon, delta, weight, error


def _statistic(
    kind: str,
    own: Mapping[str, Any],
    where: str | None,
    by: str | None,
    keys: Keys | None,
    max_per_person: int | None,
    budget: _Budget,
) -> Statistic:
    if not isinstance(where, (str, type(None))):
        raise InvalidError(f"where = a {type(where).__name__}, want a text such as 'age >= 65', about each row")
    found = kind in ("count", "histogram")
    private = found and isinstance(keys, str) and keys == "private"
    if isinstance(keys, str) and not private:
        raise InvalidError(f"keys = {keys!r}, want a list of keys{', or private' if found else ''}")
    given = () if keys is None or private else tuple(keys)
    try:
        texts = [_rows.text(key) for key in given]
    except InvalidError as err:
        raise InvalidError(f"keys: {err}") from err
    fields = {**own, "where": where, "by": by, "keys": texts or None, "private_keys": private or None}
    fields["max_per_person"] = max_per_person
    fields = {name: value for name, value in fields.items() if value is not None}
    return Statistic(kind, Fields(fields), given, *budget)


def count(
    where: str | None = None,
    *,
    by: str | None = None,
    keys: Keys | None = None,
    max_per_person: int | None = None,
    loss: Literal["l1", "l2"] = "l1",
    epsilon: Number | None = None,
    delta: Number | None = None,
    weight: Number | None = None,
    error: str | None = None,
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
    return _statistic("count", {"loss": loss}, where, by, keys, max_per_person, (epsilon, delta, weight, error))


def histogram(
    by: str | None = None,
    keys: Keys | None = None,
    *,
    column: str | None = None,
    edges: Iterable[Number] | None = None,
    where: str | None = None,
    max_per_person: int | None = None,
    loss: Literal["l1", "l2"] = "l1",
    epsilon: Number | None = None,
    delta: Number | None = None,
    weight: Number | None = None,
    error: str | None = None,
) -> Statistic:
    """The number of rows with each of the keys of a column, or with a value of one between edges.

    keys="private", where nobody knows them, answers for those that enough rows, or persons, have, with half of epsilon
    and of delta, which is above 0, for which these are.

    >>> histogram("city", ["Ulm", "Jena"])
    histogram(loss='l1', by='city', keys=['Ulm', 'Jena'])
    >>> histogram(column="age", edges=[0, 18, 65, 120])
    histogram(loss='l1', column='age', edges=[0.0, 18.0, 65.0, 120.0])
    """
    own: dict[str, Any] = {"loss": loss, "column": column}
    own["edges"] = None if edges is None else [_number("edges", edge) for edge in edges]
    return _statistic("histogram", own, where, by, keys, max_per_person, (epsilon, delta, weight, error))


def sum(
    column: str,
    bounds: Bounds | str,
    *,
    rows: int | None = None,
    where: str | None = None,
    by: str | None = None,
    keys: Iterable[Hashable] | None = None,
    max_per_person: int | None = None,
    missing: Literal["drop", "middle"] = "drop",
    loss: Literal["l1", "l2"] = "l1",
    epsilon: Number | None = None,
    delta: Number | None = None,
    weight: Number | None = None,
    error: str | None = None,
) -> Statistic:
    """The sum of a column, each value clipped to the bounds.

    bounds="private", where nobody knows any, finds powers of two in the data, with a fifth of epsilon.
    "prior:lognormal,MU,SIGMA" looks at no data: the logarithms of about so many rows are believed to be normal.
    """
    own = {"loss": loss, **_valued(column, bounds, missing), "rows": rows and _integer("rows", rows)}
    return _statistic("sum", own, where, by, keys, max_per_person, (epsilon, delta, weight, error))


def mean(
    column: str,
    bounds: Bounds | str,
    *,
    rows: int | None = None,
    where: str | None = None,
    by: str | None = None,
    keys: Iterable[Hashable] | None = None,
    max_per_person: int | None = None,
    missing: Literal["drop", "middle"] = "drop",
    loss: Literal["l1", "l2"] = "l1",
    epsilon: Number | None = None,
    delta: Number | None = None,
    weight: Number | None = None,
) -> Statistic:
    """The average of a column, each value clipped to the bounds, which are those of sum; what is no number is missing.
    Of truth values, with the bounds (0, 1), it is a share.

    >>> mean("age", bounds=(0, 120), by="city", keys=["Ulm"])
    mean(loss='l1', column='age', lower=0.0, upper=120.0, missing='drop', by='city', keys=['Ulm'])
    """
    own = {"loss": loss, **_valued(column, bounds, missing), "rows": rows and _integer("rows", rows)}
    return _statistic("mean", own, where, by, keys, max_per_person, (epsilon, delta, weight, None))


def variance(
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
    weight: Number | None = None,
) -> Statistic:
    """The mean squared distance of the values of a column from their mean, each clipped to the bounds."""
    own = {"loss": loss, **_valued(column, bounds, missing)}
    return _statistic("variance", own, where, by, keys, max_per_person, (epsilon, delta, weight, None))


def distinct(
    column: str,
    *,
    where: str | None = None,
    by: str | None = None,
    keys: Iterable[Hashable] | None = None,
    max_per_person: int | None = None,
    loss: Literal["l1", "l2"] = "l1",
    epsilon: Number | None = None,
    delta: Number | None = None,
    weight: Number | None = None,
    error: str | None = None,
) -> Statistic:
    """The number of different texts in a column; missing ones do not count.

    >>> distinct("city", error="5@0.95")
    distinct(loss='l1', column='city')
    """
    own = {"loss": loss, "column": _column(column)}
    return _statistic("distinct", own, where, by, keys, max_per_person, (epsilon, delta, weight, error))


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
    weight: Number | None = None,
    error: str | None = None,
) -> Statistic:
    """One of so many numbers, evenly spaced between the bounds, whose rank is near that of the quantile.

    It costs epsilon alone, and has no share of a delta.
    """
    own = {"probability": _number("probability", probability), "candidates": _integer("candidates", candidates)}
    own |= _valued(column, bounds, missing)
    return _statistic("quantile", own, where, by, keys, max_per_person, (epsilon, 0, weight, error))


def median(column: str, bounds: Bounds, **more: Any) -> Statistic:
    """The quantile of probability 1/2.

    >>> median("age", (0, 120), candidates=121)
    quantile(probability=0.5, candidates=121, column='age', lower=0.0, upper=120.0, missing='drop')
    """
    return quantile(column, 0.5, bounds, **more)


def top(
    by: str,
    keys: Iterable[Hashable],
    k: int = 1,
    *,
    where: str | None = None,
    max_per_person: int | None = None,
    epsilon: Number | None = None,
    weight: Number | None = None,
) -> Statistic:
    """Those k of the keys of a column that most rows have, the first one first, without their counts. A person counts
    once for each of his keys, which by default are all.

    It costs epsilon alone, and has no share of a delta.

    >>> top("city", ["Ulm", "Jena", "Kiel"], 2)
    top(k=2, by='city', keys=['Ulm', 'Jena', 'Kiel'])
    """
    return _statistic("top", {"k": _integer("k", k)}, where, by, keys, max_per_person, (epsilon, 0, weight, None))


def best(
    options: Mapping[str, str],
    k: int = 1,
    *,
    where: str | None = None,
    max_per_person: int | None = None,
    epsilon: Number | None = None,
    weight: Number | None = None,
) -> Statistic:
    """The name of the option whose condition holds for most rows, or of k of them, as top names keys.

    >>> best({"young": "age < 30", "buyers": 'buys == "yes"'}).fields["options"][0]
    {'name': 'young', 'where': 'age < 30'}
    """
    if not isinstance(options, Mapping) or not all(isinstance(x, str) for pair in options.items() for x in pair):
        raise InvalidError(
            f"options = a {type(options).__name__}, want a dict of names and conditions, which are texts"
        )
    own = {"k": _integer("k", k), "options": [{"name": name, "where": w} for name, w in options.items()]}
    return _statistic("best", own, where, None, None, max_per_person, (epsilon, 0, weight, None))


def _column(column: str) -> str:
    if not isinstance(column, str):
        raise InvalidError(f"column = {column!r}, want the name of a column, a text")
    return column


def _valued(column: str, bounds: Bounds | str, missing: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"column": _column(column)}
    if isinstance(bounds, str):
        return {**fields, "bounds": bounds, "missing": missing}
    try:
        lower, upper = bounds
    except (TypeError, ValueError):
        raise InvalidError(f"bounds = {bounds!r}, want two numbers, lower and upper") from None
    return {**fields, "lower": _number("bounds", lower), "upper": _number("bounds", upper), "missing": missing}


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
    the path of a Parquet or CSV file; the names of its columns are public. Without a ledger nothing adds up what calls
    cost. releases says how many calls like this one, such as one a month, epsilon and delta are for together: each of
    them is charged its part.

    epsilon and delta are for all statistics of the call together, unless each statistic has its own. One with an error,
    such as "5@0.95", gets the least epsilon with which its answer is within 5 of the exact one with a probability of
    0.95 (of a quantile, within 5 rows); the others share what is left by their weights. Parts of dozens of statistics
    are larger than those of the sum, by exact composition. If the errors take more than the total, ExceededError says
    how much is missing.

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
    total = _total(statistics, epsilon, delta)
    queries = _queries(statistics, bool(total), neighbors, person, max_per_person, releases)
    flags, rows = source(data, delimiter, one_line)
    flags += total
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
        answers = tuple(map(answer_of, statistics, report["answers"]))
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
        return answer_of(Statistic("value", Fields(fields)), report)
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
    shared: bool,
    neighbors: str | None,
    person: str | None,
    max_per_person: int | None,
    releases: int,
) -> list[dict[str, Any]]:
    common: dict[str, Any] = {"neighbors": neighbors, "person": person}
    if person is not None:
        common["max_per_person"] = None if max_per_person is None else _integer("max_per_person", max_per_person)
        if max_per_person is None and not all("max_per_person" in s.fields or s.kind in CHOICES for s in statistics):
            raise InvalidError("max_per_person = None, want how many rows of a person count at most")
    common = {name: value for name, value in common.items() if value is not None}
    times = _integer("releases", releases)
    return [{"kind": s.kind, **_budget(s, shared), "releases": times, **common, **s.fields} for s in statistics]


def _total(statistics: Sequence[Statistic], epsilon: Number | None, delta: Number | None) -> list[str]:
    """The flags of a total that the statistics share, none where each has its own."""
    if epsilon is None:
        if delta is not None or any(s.epsilon is None for s in statistics):
            raise InvalidError("epsilon is missing, want that of the call, or one of every statistic with its delta")
        return []
    if any(s.epsilon is not None or s.delta for s in statistics):
        raise InvalidError("epsilon of the call and of a statistic, want one of them")
    _number("epsilon", epsilon)
    return list(_flags(epsilon=epsilon, delta=0 if delta is None else delta))


def _budget(s: Statistic, shared: bool) -> dict[str, Any]:
    """What the program is told about what a statistic may cost."""
    if not shared:
        if s.weight is not None or s.error is not None:
            raise InvalidError("weight or error of a statistic, want epsilon of the call, of which it is a part")
        return {"epsilon": _number("epsilon", s.epsilon or 0), "delta": _number("delta", s.delta or 0)}
    if not isinstance(s.error, (str, type(None))):
        raise InvalidError(f"error = {s.error!r}, want a text such as '5@0.95', the error and its probability")
    if s.weight is not None and _number("weight", s.weight) <= 0:
        raise InvalidError(f"weight = {s.weight!r}, want a number above 0")
    part = {"error": s.error, "weight": None if s.weight is None else _number("weight", s.weight)}
    return {name: value for name, value in part.items() if value is not None}
