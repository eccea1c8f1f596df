"""A function of Spark that makes a column private, row by row.

    noisy = private_column(noisewright.load("hours.json"), 0, 100)
    people.withColumn("hours", noisy("hours")).write.parquet("private")

Spark computes a column again when a task fails or when a frame is used twice, and then draws again. Write the
result, or checkpoint it, before anything reads it: what was computed again would be a second release.
"""

from collections.abc import Callable

import pandas as pd
from pyspark.sql import Column
from pyspark.sql.functions import pandas_udf

import noisewright


def private_column(table: noisewright.Table, lower: float, upper: float) -> Callable[[str], Column]:
    """A function of a column that clips it to [lower, upper], no wider than the sensitivity, and adds noise."""

    @pandas_udf("double")
    def private(values: pd.Series) -> pd.Series:
        return table.privatize(values, lower, upper)

    return private.asNondeterministic()  # or else the optimizer may call it twice for one row, or once for two
