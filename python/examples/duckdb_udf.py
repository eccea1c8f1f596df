# SPDX-License-Identifier: Apache-2.0
"""A function of SQL that makes a column private, row by row.

    register(connection, "noisy_hours", noisewright.load("hours.json"), 0, 100)
    connection.sql("SELECT city, noisy_hours(hours) AS hours FROM 'people.parquet'").write_parquet("private.parquet")

Every call is a release: a query that runs twice spends its epsilon twice. Missing values are refused: what is missing
would be published as it is. Say what becomes of them, as in noisy_hours(coalesce(hours, 0)).
"""

import duckdb
import pyarrow as pa
from duckdb.sqltypes import DOUBLE

import noisewright


def register(
    connection: duckdb.DuckDBPyConnection, name: str, table: noisewright.Table, lower: float, upper: float
) -> None:
    """Registers name(x), which clips x to [lower, upper], no wider than the sensitivity, and adds noise."""

    def private(column: pa.ChunkedArray) -> pa.Array:
        if column.null_count:
            raise noisewright.InvalidError(f"{name}: a value is missing, want none")
        return pa.array(table.privatize(column.to_numpy(), lower, upper))

    # With side effects it is called for every row, and else perhaps once for all rows of one value. Missing values come
    # here too, to be refused.
    connection.create_function(
        name, private, [DOUBLE], DOUBLE, type="arrow", null_handling="special", side_effects=True
    )
