# SPDX-License-Identifier: Apache-2.0
"""All answers of a plan about a data set, released by the program: ``noisewright release workload``."""

from __future__ import annotations

import csv
import dataclasses
import io
import os
import tempfile
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from noisewright import _rows
from noisewright._display import Rows
from noisewright.errors import InvalidError
from noisewright.ledger import Ledger
from noisewright.plan import Plan, PlanAnswers
from noisewright.program import Number, ProgramError, _flags, _name, _report, _run, _warned
from noisewright.statistics import Charge, _integer, _number, charged, source


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


def release_plan(
    data: Any,
    plan: str | os.PathLike[str] | Plan,
    keys: Mapping[str, Iterable[Hashable]] | None = None,
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

    keys says which column has the cells, and its values in the order of the plan's cells; edges the same of numbers,
    the cells being between two of them. For marginals each attribute has its own. They are public, and so are not to
    be read off the data. A row with another value is in no cell and does not count.

    A person may be in as many cells as the plan says. By default a unit is a row, which is in one. If persons have
    several rows, name their column: a person then counts once in each of as many cells, chosen at random.

    The same plan, columns and data have the same answers again in the same ledger, at no cost. data and ledger are
    those of release, and so are errors and warnings.
    """
    flags = []
    for name, values in (keys or {}).items():
        if isinstance(values, str):
            raise InvalidError(f"keys of {name!r} = {values!r}, want a list of keys")
        flags.append("--keys=" + _list(name, [_rows.text(v) for v in values]))
    for name, numbers in (edges or {}).items():
        flags.append("--edges=" + _list(name, [repr(_number("edges", x)) for x in numbers]))
    flags += [f"--{word}={text}" for word, text in (("where", where), ("person", person)) if text is not None]
    flags += list(_flags(level=level))
    if max_per_person is not None:
        flags.append(f"--max-per-person={_integer('max_per_person', max_per_person)}")
    flags += [flag for flag, given in (("--non-negative", non_negative), ("--allow-delta", allow_delta)) if given]
    more, rows = source(data, delimiter, one_line)
    flags += more + charged(ledger, new_data=True)
    with tempfile.TemporaryDirectory(prefix="noisewright-") as folder:
        named = _name(plan, Path(folder) / "plan.json")
        run = _run("release workload", f"--plan={named}", *flags, data=rows)
    _warned(run.warnings)
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
        **{name: report[name] for name in same},
    )
