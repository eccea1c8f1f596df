# SPDX-License-Identifier: Apache-2.0
"""Ledgers: what was released about a set of people, and a total that it does not exceed."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, overload

from noisewright._display import Fields, Rows
from noisewright.errors import InvalidError
from noisewright.program import Number, Release, _call, _flags, _name, _result


@dataclasses.dataclass(frozen=True)
class Terms:
    """What a ledger was made for."""

    epsilon: float
    delta: float
    neighbors: str
    unit: str  # row, or person:COLUMN
    adaptive: bool
    delimiter: str  # of the files of CSV
    one_line: bool


@dataclasses.dataclass(frozen=True)
class Record:
    """A release in a ledger. answered is None where it was charged alone; the same call takes it up again."""

    id: int
    summary: str
    query: str  # JSON
    data: int  # equal numbers are equal data
    costs: tuple[Mapping[str, Any], ...]  # epsilon and delta of a use, how many times, and the SHA-256 of its table
    charged: str
    answered: str | None
    answer: Mapping[str, Any] | None


@dataclasses.dataclass(frozen=True)
class Records(Rows, Sequence[Record]):
    """All releases of a ledger, in the order of their charges."""

    terms: Terms
    records: tuple[Record, ...]

    @overload
    def __getitem__(self, at: int) -> Record: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Record]: ...
    def __getitem__(self, at: int | slice) -> Record | Sequence[Record]:
        return self.records[at]

    def __len__(self) -> int:
        return len(self.records)

    def rows(self) -> list[dict[str, Any]]:
        """A row for every release."""
        return [
            {
                "release": r.id,
                "charged": r.charged,
                "answered": r.answered is not None,
                "summary": r.summary,
                "epsilon": max((c["epsilon"] for c in r.costs), default=0.0),
                "uses": sum(c["times"] for c in r.costs),
            }
            for r in self.records
        ]

    def __repr__(self) -> str:
        return (
            "\n".join(f"{r['release']}: {r['summary']}, charged {r['charged']}" for r in self.rows()) or "no releases"
        )

    def _repr_html_(self) -> str:
        t = self.terms
        return self.table(f"a total of epsilon {t.epsilon}, delta {t.delta} for a {t.unit}, {t.neighbors}")


@dataclasses.dataclass(frozen=True)
class Spent:
    """What was charged together: spent_epsilon at spent_delta is proved; basic ones are the sums."""

    spent_epsilon: float
    spent_delta: float
    basic_epsilon: float
    basic_delta: float
    releases: int
    pending: int  # charged, and not answered
    uses: int  # of noise


class Ledger(os.PathLike[str]):
    """A ledger, by its file.

    It is the file that counts, which the program reads and writes; this object has its name alone, and is as safe as
    the file for threads and processes.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        epsilon: Number,
        delta: Number,
        *,
        neighbors: Literal["add-remove", "replace"] = "add-remove",
        person: str | None = None,
        adaptive: bool = False,
        delimiter: str | None = None,
        one_line: bool = False,
        allow_delta: bool = False,
    ) -> Ledger:
        """Makes a ledger, a new file, with a total for everything that is ever released about the people.

        The total holds if what is asked, and its epsilon, delta and loss, were not chosen in view of earlier answers;
        otherwise say adaptive=True: epsilons and deltas are then added up.

        With person, the column that tells persons apart, persons are hidden, and not rows. delimiter and one_line say
        what a row is of files of CSV; frames go with neither.
        """
        flags = [*_flags(epsilon=epsilon, delta=delta), f"--neighbors={neighbors}"]
        flags += [] if person is None else [f"--unit=person:{person}"]
        flags += ["--adaptive"] if adaptive else []
        flags += [] if delimiter is None else [f"--delimiter={delimiter}"]
        flags += ["--one-line"] if one_line else []
        flags += ["--allow-delta"] if allow_delta else []
        _call("ledger create", *flags, "--", os.fspath(path))
        return cls(path)

    def __fspath__(self) -> str:
        return self._path

    def __repr__(self) -> str:
        return f"Ledger({self._path!r})"

    def show(self) -> Records:
        """The terms, and every release, with its answer."""
        report = self._asked("show")
        records = []
        for r in report["releases"]:
            answer = None if r["answer"] is None else Fields(json.loads(r["answer"]))
            costs = tuple(map(Fields, r["costs"]))
            records.append(_result(Record, r, costs=costs, answer=answer))
        return Records(_result(Terms, report), tuple(records))

    @property
    def terms(self) -> Terms:
        """What it was made for."""
        return self.show().terms

    def total(self) -> Spent:
        """What was charged so far, together."""
        return _result(Spent, self._asked("total"))

    def left(self, delta: Number = 0) -> float:
        """The largest epsilon of one more release with this delta that the ledger takes, rounded down."""
        return float(self._asked("left", *_flags(delta=delta))["epsilon"])

    def times(self, epsilon: Number | None = None, delta: Number = 0, *, table: Release | None = None) -> int:
        """How many more releases it takes: of an epsilon and a delta, or that draw from a table once.

        In the place of a table may stand what from_dp_accounting returns.
        """
        if (epsilon is None) == (table is None):
            raise InvalidError("epsilon or table, want one of them")
        if isinstance(table, str) and (promise := re.fullmatch("dp:epsilon=(.*),delta=(.*)", table)):
            epsilon, delta, table = promise[1], promise[2], None
        if table is None:
            return int(self._asked("left", *_flags(epsilon=epsilon, delta=delta))["times"])
        with tempfile.TemporaryDirectory(prefix="noisewright-") as folder:
            name = _name(table, Path(folder) / "table.json")
            return int(self._asked("left", f"--table={name}")["times"])

    def _asked(self, command: str, *flags: str) -> dict[str, Any]:
        return _call(f"ledger {command}", *flags, "--", self._path)

    def _repr_html_(self) -> str:
        return self.show()._repr_html_()
