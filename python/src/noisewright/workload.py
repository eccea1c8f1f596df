# SPDX-License-Identifier: Apache-2.0
"""All answers of a plan about a data set, released by the program: ``noisewright release workload`` and ``series``."""

from __future__ import annotations

import csv
import dataclasses
import datetime
import io
import os
import tempfile
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from noisewright import _rows
from noisewright._display import Rows
from noisewright.answers import Charge
from noisewright.errors import InvalidError
from noisewright.ledger import Ledger
from noisewright.plan import Plan, PlanAnswers
from noisewright.program import Number, ProgramError, _flags, _name, _report, _run, _warned
from noisewright.statistics import _integer, _number, charged, source


@dataclasses.dataclass(frozen=True, repr=False)
class PlanRelease(Rows):
    """The answers of a plan about a data set, one for each query."""

    columns: tuple[str, ...]
    answers: PlanAnswers
    measured: tuple[int, ...]  # what the release told: Plan.answers computes all else from it, at no cost
    plan_hash: str  # SHA-256 of the plan's file
    epsilon: float
    delta: float
    neighbors: str
    unit: str
    not_protected: tuple[str, ...]
    charge: Charge | None
    period: str | None = None  # of a series: the last one that is over

    def __len__(self) -> int:
        return len(self.answers)

    def rows(self) -> list[dict[str, Any]]:
        """A row for every answer: its cells, of marginals a column for each attribute, empty if it is not in the table;
        the value, its intervals and its variance."""
        return [
            {**dict(zip(self.columns, of, strict=True)), **{k: v for k, v in row.items() if k != "query"}}
            for of, row in zip(self.answers.names, self.answers.rows(), strict=True)
        ]

    def __repr__(self) -> str:
        return repr(self.answers)


@dataclasses.dataclass(frozen=True)
class Periods:
    """Cells that are the periods of the dates in a column: day, week, month, quarter or year.

    start is the day on which the first one begins; zone, such as Europe/Berlin, that of the calendar, and of times
    without an offset.

    >>> Periods("month", "2026-01")
    Periods(every='month', start='2026-01', zone='UTC')
    """

    every: Literal["day", "week", "month", "quarter", "year"]
    start: str | datetime.date
    zone: str = "UTC"


Cells = Iterable[Hashable] | Periods


def release_plan(
    data: Any,
    plan: str | os.PathLike[str] | Plan,
    keys: Mapping[str, Cells] | None = None,
    *,
    edges: Mapping[str, Iterable[Number]] | None = None,
    where: str | None = None,
    person: str | None = None,
    max_per_person: int | None = None,
    level: Number = 0.95,
    non_negative: bool = False,
    ledger: str | os.PathLike[str] | Ledger | None = None,
    allow_delta: bool = False,
    delimiter: str | None = None,
    one_line: bool = False,
) -> PlanRelease:
    """Releases all answers of a plan about a data set, which cost the plan's epsilon and delta once, all together.

    keys says which column has the cells, and its values in the order of the plan's cells, or Periods of its dates;
    edges the same of numbers, the cells being between two of them. For marginals each attribute has its own. They are
    public, and so are not to be read off the data. A row with another value is in no cell and does not count.

    A person may be in as many cells as the plan says. By default a unit is a row, which is in one. If persons have
    several rows, name their column: a person then counts once in each of as many cells, chosen at random.

    The same plan, columns and data have the same answers again in the same ledger, at no cost. data and ledger are
    those of release, and so are errors and warnings.
    """
    flags = _cells(keys, edges) + _asked(where, person, max_per_person, level, non_negative, allow_delta)
    return _released("release workload", data, plan, flags, ledger, delimiter, one_line)


def release_series(
    data: Any,
    plan: str | os.PathLike[str] | Plan,
    period: str,
    keys: Mapping[str, Cells] | None = None,
    *,
    ledger: str | os.PathLike[str] | Ledger,
    edges: Mapping[str, Iterable[Number]] | None = None,
    where: str | None = None,
    person: str | None = None,
    max_per_person: int | None = None,
    level: Number = 0.95,
    non_negative: bool = False,
    allow_delta: bool = False,
    delimiter: str | None = None,
    one_line: bool = False,
) -> PlanRelease:
    """Releases the answers of a plan about the periods up to this one, which is over. The ledger is charged for the
    whole plan with the first period, and for nothing after it. The plan measures each period by itself: noisewright
    plan design --series.

    keys names the periods, in their order, which is that of their releases. A period is counted once, with noise that
    is drawn once: whoever asks again gets the same answer, whatever the data are. So a row that arrives for a period
    that was released does not count, and nothing shows it.

    data has the rows of this period, and may have others. With person, who counts in the earliest of as many periods as
    the plan has room for, it has all up to now. Rows that have counted must not move to another period, and of a person
    not go: what is said of privacy is wrong then.

    Otherwise as release_plan.
    """
    if ledger is None:
        raise InvalidError("ledger = None, want one, which keeps what each period was answered")
    if not isinstance(period, str):
        raise InvalidError(f"period = {period!r}, want the name of one, a text")
    flags = _cells(keys, edges) + _asked(where, person, max_per_person, level, non_negative, allow_delta)
    return _released("release series", data, plan, [f"--period={period}", *flags], ledger, delimiter, one_line)


def _cells(keys: Mapping[str, Cells] | None, edges: Mapping[str, Iterable[Number]] | None) -> list[str]:
    """The flags of cells."""
    flags = []
    for name, values in (keys or {}).items():
        if isinstance(values, Periods):
            if len(keys or {}) + len(edges or {}) > 1:
                raise InvalidError(f"keys of {name!r} = periods, want no other column beside them")
            start = values.start.isoformat() if isinstance(values.start, datetime.date) else values.start
            flags += [f"--by={name}", f"--every={values.every}", f"--from={start}", f"--zone={values.zone}"]
            continue
        if isinstance(values, str):
            raise InvalidError(f"keys of {name!r} = {values!r}, want a list of keys")
        flags.append("--keys=" + _list(name, [_rows.text(v) for v in values]))
    for name, numbers in (edges or {}).items():
        flags.append("--edges=" + _list(name, [repr(_number("edges", x)) for x in numbers]))
    return flags


def _asked(
    where: str | None,
    person: str | None,
    max_per_person: int | None,
    level: Number,
    non_negative: bool,
    allow_delta: bool,
) -> list[str]:
    flags = [f"--{word}={text}" for word, text in (("where", where), ("person", person)) if text is not None]
    flags += _flags(level=level)
    if max_per_person is not None:
        flags.append(f"--max-per-person={_integer('max_per_person', max_per_person)}")
    return flags + [flag for flag, given in (("--non-negative", non_negative), ("--allow-delta", allow_delta)) if given]


def _released(
    command: str,
    data: Any,
    plan: str | os.PathLike[str] | Plan,
    flags: list[str],
    ledger: str | os.PathLike[str] | Ledger | None,
    delimiter: str | None,
    one_line: bool,
) -> PlanRelease:
    more, rows = source(data, delimiter, one_line)
    flags += more + charged(ledger, new_data=True)
    with tempfile.TemporaryDirectory(prefix="noisewright-") as folder:
        named = _name(plan, Path(folder) / "plan.json")
        run = _run(command, f"--plan={named}", *flags, data=rows)
    _warned(run.warnings, 4)
    report = _report(run.stdout)
    try:
        return _made(report)
    except (KeyError, TypeError) as err:
        raise ProgramError(f"the program printed another PlanRelease than this package reads: {err!r}", 0) from err


def _list(column: str, fields: list[str]) -> str:
    """COLUMN=A,B,C as a line of CSV."""
    if not isinstance(column, str) or not column or "=" in column:
        raise InvalidError(f"column = {column!r}, want the name of a column, a text without =")
    if not fields:
        raise InvalidError(f"keys or edges of {column!r} = none, want those of the plan's cells")
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([f"{column}={fields[0]}", *fields[1:]])
    return line.getvalue()


def _made(report: Mapping[str, Any]) -> PlanRelease:
    of = report["answers"]
    columns = ("value", "lower", "upper", "lower_of_all", "upper_of_all", "variance")
    value, lower, upper, lowest, highest, variance = np.array(
        [[a[name] for name in columns] for a in of], dtype=float
    ).T
    names = tuple(tuple(a["of"]) for a in of)
    answers = PlanAnswers(names, value, lower, upper, lowest, highest, variance, report["level"])
    same = ("epsilon", "delta", "neighbors", "unit")
    return PlanRelease(
        columns=tuple(report["columns"]),
        answers=answers,
        measured=tuple(report["measured"]),
        plan_hash=report["plan"],
        not_protected=tuple(report["not_protected"]),
        charge=Charge(**report["ledger"]) if report.get("ledger") else None,
        period=report.get("period"),
        **{name: report[name] for name in same},
    )
