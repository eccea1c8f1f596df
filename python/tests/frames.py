# SPDX-License-Identifier: Apache-2.0
"""The same columns as all kinds of frames, for tests."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

KINDS = ("pandas", "polars", "arrow", "duckdb", "parquet")

Columns = Mapping[str, Sequence[Any]]


def needs(*packages: str) -> list[Any]:
    return [pytest.importorskip(name, reason=f"{name} is not installed") for name in packages]


def frame(kind: str, columns: Columns, folder: Path) -> Any:
    """The columns in a frame, or a skip that names what is missing."""
    if kind == "dict":
        return dict(columns)
    if kind == "pandas":
        (pandas,) = needs("pandas")
        return pandas.DataFrame(dict(columns))
    if kind == "polars":
        (polars,) = needs("polars")
        return polars.DataFrame(dict(columns)).lazy()
    (pyarrow,) = needs("pyarrow")
    table = pyarrow.table(dict(columns))
    if kind == "duckdb":
        (duckdb,) = needs("duckdb")
        connection = duckdb.connect()
        connection.register("people", table)
        return connection.sql("SELECT * FROM people")
    if kind == "parquet":
        (parquet,) = needs("pyarrow.parquet")
        parquet.write_table(table, folder / "people.parquet")
        return folder / "people.parquet"
    return table


def releases_of(program: str, ledger: Path) -> int:
    """How many releases the program says that a ledger has."""
    shown = subprocess.run([program, "ledger", "total", str(ledger)], capture_output=True, text=True, check=True)
    return int(next(line for line in shown.stdout.splitlines() if line.startswith("releases")).split()[1].rstrip(","))
