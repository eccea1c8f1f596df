# SPDX-License-Identifier: Apache-2.0
"""What the program sees of frames: one text for each value, in all kinds of frames, or one sentence."""

from __future__ import annotations

import datetime
import hashlib
import itertools
import math
import sys
import uuid
import zoneinfo
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frames import KINDS, frame, needs

import noisewright as nw
from noisewright import _rows
from noisewright.errors import InvalidError

pytestmark = pytest.mark.filterwarnings("ignore::noisewright.PrivacyWarning")

UTC = datetime.timezone.utc
ULM = zoneinfo.ZoneInfo("Europe/Berlin")
MOMENT = datetime.datetime(2024, 5, 1, 12, 30)

# Columns with their texts. None is missing everywhere.
COLUMNS: dict[str, tuple[list[Any], list[str]]] = {
    "integers": ([3, None, -(2**53) - 1, 2**63 - 1], ["3", "", "-9007199254740993", "9223372036854775807"]),
    "floats": ([0.1, math.nan, 3.0, -1e300], ["0.1", "", "3", "-1e+300"]),
    "more floats": ([None, 1e16, -0.0, 5e-324], ["", "1e+16", "-0", "5e-324"]),
    "infinite": ([math.inf, -math.inf, 1.5, None], ["inf", "-inf", "1.5", ""]),
    "truth": ([True, False, None, True], ["1", "0", "", "1"]),
    "text": (["Ulm", None, "", ' a "b",\nc'], ["Ulm", "", "", '" a ""b"",\nc"']),
    "moments": (
        [MOMENT, None, MOMENT.replace(microsecond=1500), MOMENT.replace(hour=0, minute=0)],
        ["2024-05-01T12:30:00", "", "2024-05-01T12:30:00.0015", "2024-05-01T00:00:00"],
    ),
    "zones": (
        [MOMENT.replace(tzinfo=ULM), None, MOMENT.replace(month=1, tzinfo=ULM), MOMENT.replace(year=1970, tzinfo=ULM)],
        ["2024-05-01T10:30:00Z", "", "2024-01-01T11:30:00Z", "1970-05-01T11:30:00Z"],
    ),
    "days": (
        [datetime.date(2024, 5, 1), None, datetime.date(1, 1, 1), datetime.date(2024, 2, 29)],
        ["2024-05-01", "", "0001-01-01", "2024-02-29"],
    ),
    "decimals": (
        [Decimal("1.50"), None, Decimal("-0.01"), Decimal("900719925474099.31")],
        ["1.50", "", "-0.01", "900719925474099.31"],
    ),
}


def csv(data: Any) -> str:
    return b"".join(_rows.csv(data)).decode()


def wanted(names: list[str]) -> str:
    rows = zip(*(COLUMNS[name][1] for name in names), strict=True)
    return "".join(",".join(row) + "\n" for row in [tuple(names), *rows])


@pytest.mark.parametrize("kind", [*KINDS, "dict"])
def test_one_text_in_all_frames(kind: str, tmp_path: Path) -> None:
    columns: dict[str, Any] = {name: values for name, (values, _) in COLUMNS.items()}
    if kind == "pandas":
        needs("pandas")
        # Integers with missing values would be floats there already; these are objects.
        columns["integers"] = np.array(columns["integers"], dtype=object)
    if kind == "polars":
        (polars,) = needs("polars")
        columns["decimals"] = polars.Series(columns["decimals"], dtype=polars.Decimal(20, 2))
        columns["zones"] = polars.Series(columns["zones"], dtype=polars.Datetime("us", "Europe/Berlin"))
    assert csv(frame(kind, columns, tmp_path)) == wanted(list(COLUMNS))


def test_columns_of_libraries() -> None:
    """What only one of them has; times to the nanosecond."""
    pandas, polars, pyarrow = needs("pandas", "polars", "pyarrow")
    nano = "2024-05-01T12:30:00.000000001"
    pairs: list[tuple[Any, list[str]]] = [
        (pandas.Series(["b", None, "a"], dtype="category"), ["b", "", "a"]),
        (pandas.Series([2, None, 1], dtype="category"), ["2", "", "1"]),
        (pandas.Series([2**62 + 1, None], dtype="Int64"), [str(2**62 + 1), ""]),
        (pandas.Series([1.5, None], dtype="Float64"), ["1.5", ""]),
        (pandas.Series([True, None], dtype="boolean"), ["1", ""]),
        (pandas.Series(["a", None], dtype="string"), ["a", ""]),
        (pandas.Series([2**62 + 1, None], dtype=pandas.ArrowDtype(pyarrow.int64())), [str(2**62 + 1), ""]),
        (pandas.Series([1.0, 0.0, math.nan], dtype=pandas.SparseDtype(float)), ["1", "0", ""]),
        (pandas.Series(np.array([nano, "NaT"], dtype="M8[ns]")), [nano, ""]),
        (
            pandas.Series(np.array([nano], dtype="M8[ns]")).dt.tz_localize("Europe/Berlin"),
            ["2024-05-01T10:30:00.000000001Z"],
        ),
        (pandas.Series([pandas.NA, pandas.NaT, None, math.nan], dtype=object), ["", "", "", ""]),
        (
            pandas.Series([1, "1", Decimal("NaN"), uuid.UUID(int=1)], dtype=object),
            ["1", "1", "", str(uuid.UUID(int=1))],
        ),
        (pandas.Series([pandas.Timestamp(nano, tz="UTC"), MOMENT], dtype=object), [nano + "Z", "2024-05-01T12:30:00"]),
        (np.array([0.1], dtype=np.float32), [repr(float(np.float32(0.1)))]),
        (np.array([2**64 - 1], dtype=np.uint64), [str(2**64 - 1)]),
        (np.ma.masked_array([1, 2], [True, False]), ["", "2"]),
        (np.array(["2024-05-01"], dtype="M8[D]"), ["2024-05-01"]),
        (polars.Series(["b", None, "a"], dtype=polars.Categorical), ["b", "", "a"]),
        (polars.Series(["b"], dtype=polars.Enum(["a", "b"])), ["b"]),
        (polars.Series([0, None]).cast(polars.Datetime("ns")), ["1970-01-01T00:00:00", ""]),
        (polars.Series([None, None]), ["", ""]),
        (polars.Series([datetime.time(1, 2, 3, 400)]), ["01:02:03.0004"]),
        (pyarrow.array(["b", None, "b"]).dictionary_encode().to_pandas(), ["b", "", "b"]),
    ]
    for column, texts in pairs:
        cells = [cell or '""' for cell in texts]
        assert csv({"c": column}) == "\n".join(["c", *cells, ""]), column
    assert csv(pandas.Series([1], name="c")) == csv(polars.Series("c", [1])) == "c\n1\n"
    arrow = pyarrow.table({"c": pyarrow.array(["b", None, "b"]).dictionary_encode()})
    assert csv(arrow) == 'c\nb\n""\nb\n' == csv(arrow.to_batches()[0]) == csv(arrow.to_reader())


def test_duckdb_keeps_what_python_would_lose(monkeypatch: pytest.MonkeyPatch) -> None:
    """With pyarrow and without it."""
    (duckdb,) = needs("duckdb")
    big = 2**126 + 1
    relation = duckdb.sql(
        f"SELECT {big}::HUGEINT AS h, 1.10::DECIMAL(9, 2) AS d, TIMESTAMPTZ '2024-05-01 12:30:00.5+02' AS z, "
        'TIMESTAMP_NS \'2024-05-01 12:30:00.000000001\' AS n, 0.1::FLOAT AS f, \'a"b\' AS "q""", true AS t, NULL AS e'
    )
    row = f'{big},1.10,2024-05-01T10:30:00.5Z,2024-05-01T12:30:00.000000001,{float(np.float32(0.1))},"a""b",1,'
    assert csv(relation) == f'h,d,z,n,f,"q""",t,e\n{row}\n'
    monkeypatch.setattr(_rows, "_has_pyarrow", lambda: False)
    assert csv(relation) == f'h,d,z,n,f,"q""",t,e\n{row}\n'


def refused() -> list[tuple[Callable[[], Any], str]]:
    return [
        (lambda: {"c": [{1}]}, "column 'c': a value of type set, want text, numbers, truth values, dates or times"),
        (lambda: {"c": [[1, 2]]}, "column 'c': a value of type list"),
        (lambda: {"c": [b"a"]}, "column 'c': a value of type bytes"),
        (lambda: {"c": [1j]}, "column 'c': a value of type complex"),
        (lambda: {"c": [datetime.timedelta(1)]}, "column 'c': a value of type timedelta"),
        (lambda: {"c": np.array([1], dtype="m8[s]")}, "column 'c': values of type timedelta64"),
        (lambda: {"c": np.array([1], dtype=complex)}, "column 'c': values of type complex128"),
        (lambda: {"c": np.zeros((2, 2))}, "column 'c': an array of 2 dimensions, want one"),
        (lambda: {"c": [1], "d": [1, 2]}, "columns of different lengths"),
        (lambda: {"a\nb": [1]}, "the name of a column has a line break"),
        (dict, "data = a frame without columns"),
        (lambda: [1, 2], "data = a list, want a DataFrame"),
        (lambda: needs("pandas")[0].DataFrame({("a", "b"): [1]}), "columns of several levels"),
        (
            lambda: needs("pandas")[0].DataFrame({"c": needs("pandas")[0].period_range("2024", periods=1)}),
            "column 'c': a value of type Period",
        ),
        (lambda: needs("pandas")[0].DataFrame({"c": [1]}).astype("m8[s]"), "column 'c': values of type timedelta64"),
        (lambda: needs("polars")[0].DataFrame({"c": [[1]]}), "column 'c': a value of type list"),
        (lambda: needs("polars")[0].DataFrame({"c": [{"a": 1}]}), "column 'c': a value of type dict"),
        (
            lambda: needs("pyarrow")[0].table({"c": needs("pyarrow")[0].array([1], "duration[s]")}),
            "column 'c': values of type duration",
        ),
        (lambda: "none.parquet", "none.parquet: no such file, want a Parquet file"),
        (lambda: __file__.replace("test_rows.py", "bad.parquet"), "no such file"),
    ]


@pytest.mark.parametrize("i", range(len(refused())))
def test_refused(i: int) -> None:
    make, match = refused()[i]
    with pytest.raises(InvalidError) as err:
        csv(make())
    assert match in str(err.value) and "\n" not in str(err.value)


def test_a_file_that_is_no_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.parquet"
    path.write_text("no")
    with pytest.raises(InvalidError, match=r"a.parquet: no Parquet file: |reading Parquet needs"):
        csv(path)
    for name in ("pyarrow", "pyarrow.dataset", "polars", "duckdb"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        InvalidError, match="reading Parquet needs pyarrow, polars or duckdb, want one of them installed"
    ):
        csv(path)


def test_readers_of_parquet_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("pyarrow", "polars", "duckdb")
    names = ["integers", "floats", "truth", "text", "moments", "days"]
    path = frame("parquet", {name: COLUMNS[name][0] for name in names}, tmp_path)
    found = [csv(path)]
    for gone in ("pyarrow.dataset", "polars"):
        monkeypatch.setitem(sys.modules, gone, None)
        found.append(csv(path))
    assert found == [wanted(names)] * 3


def test_a_single_column_has_no_empty_lines(called: str) -> None:
    """An empty line would be no row, where it has to count."""
    missing: dict[str, list[Any]] = {"a": [None, 1, None]}
    assert csv(missing) == 'a\n""\n1\n""\n'
    assert csv({"": [None]}) == '""\n""\n'
    counted = nw.release(missing, nw.count(), epsilon=20)
    assert counted[0].value == 3


def test_chunks_are_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns: dict[str, Any] = {"i": list(range(1000)), "t": [f"{i}," for i in range(1000)]}
    whole = {kind: hashlib.sha256(csv(frame(kind, columns, tmp_path)).encode()).hexdigest() for kind in KINDS}
    monkeypatch.setattr(_rows, "CHUNK", 7)
    parts = {kind: hashlib.sha256(csv(frame(kind, columns, tmp_path)).encode()).hexdigest() for kind in KINDS}
    assert whole == parts and len(set(whole.values())) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_program_reads_values_as_they_are(kind: str, called: str, tmp_path: Path) -> None:
    """At epsilon 20 a count is exact but for noise of probability below 1e-8: so are the answers here, each by a column
    of its own. The false alarm of all of them is below 1e-6."""
    columns: dict[str, list[Any]] = {
        "big": [2**53 + 1, 2**53 + 3, 7, None] * 5,
        "amount": [Decimal("1.10"), Decimal("2.20"), None, Decimal("3.30")] * 5,
        "when": [MOMENT, MOMENT + datetime.timedelta(1), None, MOMENT] * 5,
        "zone": [m and m.replace(tzinfo=UTC) for m in (MOMENT, MOMENT + datetime.timedelta(1), None, MOMENT)] * 5,
        "city": ["Ulm", "Jena", None, "Ulm"] * 5,
        "share": [0.25, math.nan, None, 0.75] * 5,
        "there": [True, False, None, True] * 5,
    }
    if kind == "pandas":
        (pandas,) = needs("pandas")
        columns["big"] = pandas.array(columns["big"], dtype="Int64")
        columns["city"] = pandas.Categorical(columns["city"])
    data = frame(kind, columns, tmp_path)
    conditions = {
        'big == "9007199254740993"': 5,
        "big > 9007199254740992": 5,  # as float64s, of which the first is rounded to even
        'amount == "1.10"': 5,
        "amount >= 2.2": 10,
        'when < "2024-05-02"': 15,  # the missing ones are empty texts
        'hasPrefix(zone, "2024-05-01") && hasSuffix(zone, "Z")': 10,
        'city == ""': 5,
        "share < 1": 10,
        "there == 1": 10,
    }
    if kind == "polars":
        data = data.with_columns(needs("polars")[0].col("amount").cast(needs("polars")[0].Decimal(9, 2)))
    counts = [nw.release(data, nw.count(where), epsilon=20)[0].value for where in conditions]
    assert counts == list(conditions.values())
    assert nw.release(data, nw.histogram("there", [True, False]), epsilon=20)[0].to_dict() == {True: 10, False: 5}


def test_texts_of_keys() -> None:
    values: list[tuple[Any, str]] = [
        (None, ""),
        ("a", "a"),
        (True, "1"),
        (np.bool_(False), "0"),
        (3, "3"),
        (np.int8(3), "3"),
        (3.0, "3"),
        (np.float32(0.5), "0.5"),
        (Decimal("1.0"), "1.0"),
        (MOMENT, "2024-05-01T12:30:00"),
        (datetime.date(2024, 1, 2), "2024-01-02"),
        (np.datetime64("2024-01-02"), "2024-01-02"),
    ]
    for value, text in values:
        assert _rows.text(value) == text
        assert csv({"c": [value, "x"]}) == f"c\n{text or chr(34) * 2}\nx\n"
    kinds = [v for v, _ in values]
    for pair in itertools.combinations(kinds, 2):
        assert csv({"c": list(pair), "d": [1, 2]}).count("\n") == 3


@pytest.mark.parametrize(
    "dtype", ["str", "string", "object", "category", "Int64", "boolean", "float64", "datetime64[ns]"]
)
def test_frames_stay_as_they_are(dtype: str) -> None:
    (pandas,) = needs("pandas")
    texts = dtype in ("str", "string", "object", "category")
    values = ["x", None, "y", None] if texts else pandas.array([1, None, 0, None], dtype="Int64")
    given = pandas.Series(values).astype(dtype) if dtype != "datetime64[ns]" else pandas.to_datetime([1, None, 0, None])
    data = pandas.DataFrame({"s": given})
    before = data.copy(deep=True)
    first = b"".join(_rows.csv(data))
    assert data.equals(before) and data.s.isna().tolist() == [False, True, False, True]
    assert b"".join(_rows.csv(data)) == first == b"".join(_rows.csv({"s": data.s}))
    assert data.equals(before)


def test_single_cells_raise_nothing() -> None:
    """What one row has does not decide whether there is an answer."""
    early = datetime.datetime(1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
    for cell, written in ((early, b""), (10**5000, b""), ("\ud800", b"?")):
        for column in ([cell, "x"], [cell, cell]):
            assert b"".join(_rows.csv({"a": column, "b": [1, 2]})).splitlines()[1] == written + b",1"
