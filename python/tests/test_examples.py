# SPDX-License-Identifier: Apache-2.0
"""The examples, where the packages that they are for are installed."""

import importlib
import json
import math
import os
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewright

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "python" / "examples"


@pytest.fixture
def table() -> Any:
    return noisewright.load(ROOT / "docs" / "example-table.json")


@pytest.fixture(autouse=True)
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))


def example(name: str, *needs: str) -> Any:
    """An example, or a skip that names what is missing."""
    for package in needs:
        pytest.importorskip(package, reason=f"{package} is not installed")
    sys.modules.pop(name, None)
    return importlib.import_module(name)


def private(noisy: Any, values: Any, table: Any) -> None:
    """Each value has noise of its own, of the law of the table: its mean, its size, and few that are equal."""
    noise = np.asarray(noisy, dtype=float) - values
    spread = float(table.expected_loss_of("l2")) ** 0.5
    assert abs(noise.mean()) < 7 * spread / len(noise) ** 0.5
    assert abs((noise**2).mean() / spread**2 - 1) < 7 * 2 / len(noise) ** 0.5
    assert len(np.unique(noise)) > 0.9 * len(noise)


def test_duckdb(table: Any) -> None:
    udf = example("duckdb_udf", "duckdb", "pyarrow")
    connection = udf.duckdb.connect()
    connection.execute("SET threads = 2")
    connection.execute("CREATE TABLE people AS SELECT range % 3 AS city, 0.25 AS share FROM range(20000)")
    udf.register(connection, "noisy", table, 0, 1)
    # The column is constant, and so is a literal: either might be computed once.
    for column in ("share", "0.25"):
        noisy = connection.sql(f"SELECT noisy({column}) AS y FROM people").fetchnumpy()["y"]
        private(noisy, 0.25, table)
    clipped = connection.sql("SELECT noisy(share * 1000) AS y FROM people").fetchnumpy()["y"]
    private(clipped, 1, table)
    connection.execute("INSERT INTO people VALUES (0, NULL)")
    with pytest.raises(Exception, match="noisy: a value is missing"):
        connection.sql("SELECT noisy(share) FROM people").fetchall()
    udf.register(connection, "wide", table, 0, 2)
    with pytest.raises(Exception, match=r"upper - lower = 2.0, want at most 1.0, the sensitivity"):
        connection.sql("SELECT wide(0.25)").fetchall()


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyspark.sql import SparkSession

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(EXAMPLES), str(ROOT / "python" / "src")]))
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    try:
        session = builder.getOrCreate()
    except Exception as err:
        pytest.skip(f"Spark does not start, which needs Java: {type(err).__name__}")
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.mark.filterwarnings("ignore")
def test_spark(table: Any, spark: Any) -> None:
    udf = example("spark_udf", "pyspark", "pandas")
    noisy = udf.private_column(table, 0, 1)
    people = spark.range(0, 20000, 1, 4).selectExpr("0.25 AS share", "id % 3 AS city")
    # Four partitions are drawn by workers that were forked, and two columns by the same ones.
    rows = people.withColumn("a", noisy("share")).withColumn("b", noisy("share")).select("a", "b").toPandas()
    private(rows.to_numpy().ravel(), 0.25, table)


def test_sklearn(table: Any) -> None:
    features = example("sklearn_transformer", "sklearn")
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    random = np.random.default_rng(1)
    y = random.integers(0, 2, 20000)
    X = np.column_stack([y, 5.0 + random.random(20000)])
    step = features.PrivateFeatures([table, table], [0, 5], [1, 6])
    noisy = clone(step).fit_transform(X, y)
    private(noisy[:, 0], X[:, 0], table)
    private(noisy[:, 1], X[:, 1], table)
    score = make_pipeline(step, LogisticRegression()).fit(X, y).score(X, y)
    # The best that a threshold can do: right where the noise is below half the sensitivity.
    assert 0.6 < score < 0.9
    with pytest.raises(ValueError, match="zip"):
        features.PrivateFeatures([table], [0], [1]).transform(X)
    with pytest.raises(ValueError):
        step.transform(np.array([[math.nan, 1.0]]))


def integer_table(table: Any, folder: Path) -> Any:
    """The laws of a table of three integers, with which counts differ by at most 1."""
    made = json.loads(table.source)
    third = str(2**64 // 3)
    made["weights"] = [third, str(2**64 - 2 * int(third)), third]
    made |= {"query": "integer", "privacy": {"epsilon": 1, "delta": 0.4, "sensitivity": 1}}
    made["grid"] = {"granularity_exponent": 0, "points_per_cell": 1, "cells_per_sensitivity": 1, "first_cell": -1}
    made["certificate"] = {"delta": "0.34", "expected_loss": "0.67", "lower_bound": "0"}
    path = folder / "count.json"
    path.write_text(json.dumps(made))
    return noisewright.load(path)


def test_opendp(table: Any, tmp_path: Path) -> None:
    measurement = example("opendp_measurement", "opendp")
    dp = measurement.dp
    dp.enable_features("contrib", "honest-but-curious")
    real = measurement.make_table(table)
    private([real(0.25) for _ in range(3000)], 0.25, table)
    assert real.map(0.0) == (0, 0) and real.map(0.5) == real.map(1.0) == (1, 0.1)
    assert real.map(1.0000001) == (math.inf, 1)
    assert real.check(1.0, (1.0, 0.1)) and not real.check(1.0, (1.0, 0.09))

    counts = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    release = dp.t.make_count(*counts) >> measurement.make_table(integer_table(table, tmp_path))
    assert release.map(1) == (1, 0.4) and release.map(2) == (math.inf, 1)
    assert {release(["a", "b"]) for _ in range(200)} == {1, 2, 3}


@pytest.mark.filterwarnings("ignore")
def test_dp_accounting(table: Any) -> None:
    pld = example("dp_accounting_pld", "dp_accounting")
    for step in (0.1, 0.01):
        distribution = pld.loss_distribution(table, step)
        for epsilon in (0, 0.005, 0.5, 1, 1.3333, 2, 50):
            exact = table.profile(epsilon)
            assert Fraction(float(distribution.get_delta_for_epsilon(epsilon))) >= exact
            assert distribution.get_delta_for_epsilon(epsilon) <= float(exact) + step**2


@pytest.mark.filterwarnings("ignore")
def test_dp_accounting_beside_the_program(table: Any, called: str) -> None:
    """The total of twelve is above what is proved to be needed, and near what the program proves."""
    pld = example("dp_accounting_pld", "dp_accounting")
    twelve = pld.loss_distribution(table).self_compose(12)
    total = noisewright.account(table, times=12, epsilon=8)
    assert total.delta_lower <= twelve.get_delta_for_epsilon(8) <= total.delta + 1e-3
