# SPDX-License-Identifier: Apache-2.0
"""A function of Spark that makes a column private, row by row.

    noisy = private_column(noisewright.load("hours.json"), 0, 100)
    people.withColumn("hours", noisy("hours")).write.parquet("private")

Spark computes a column again when a task fails or when a frame is used twice, and then draws again. Write the
result, or checkpoint it, before anything reads it: what was computed again would be a second release.
"""

from collections.abc import Callable

import pandas as pd
from pyspark.sql import Column
from pyspark.sql.functions import col, pandas_udf

import noisewright


def private_column(table: noisewright.Table, lower: float, upper: float) -> Callable[[str], Column]:
    """A function of a column's name, which clips it to [lower, upper], no wider than the sensitivity, and adds noise.
    Missing values are refused."""

    @pandas_udf("double")
    def private(values: pd.Series) -> pd.Series:
        return table.privatize(values, lower, upper)

    # The optimizer may call other functions twice for one row, or once for two.
    noisy = private.asNondeterministic()
    return lambda name: noisy(col(name).cast("double"))
