# SPDX-License-Identifier: Apache-2.0
"""Frames as the CSV text that the program reads: one text for each value, whatever library holds it.

Equal values have equal text in all kinds of frames, so a ledger knows them as the same data. A missing value (None,
NaN, NaT, NA, null) is an empty field; a truth value is 1 or 0; a float that is an integer is written without a point;
text is as it is; a time is ISO 8601, with a time zone as UTC and Z. Nothing is rounded, and errors quote no value.
"""

from __future__ import annotations

import datetime
import os
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewright.errors import InvalidError

CHUNK = 1 << 16  # rows
WANT = "text, numbers, truth values, dates or times"

Cells = list[str]
Columns = Sequence[Cells]


def text(value: Any) -> str:
    """The text of one value, as a column has it."""
    for kind, write in _EXACT:
        if isinstance(value, kind):
            return write(value)
    if type(value).__name__ in ("NAType", "NaTType"):
        return ""
    raise InvalidError(f"a value of type {type(value).__name__}, want {WANT}")


def _float(value: Any) -> str:
    return repr(float(value)).removesuffix(".0") if value == value else ""


def _moment(value: datetime.datetime) -> str:
    if value != value:  # NaT
        return ""
    zone = ""
    if value.tzinfo is not None:
        try:
            value, zone = value.astimezone(datetime.timezone.utc).replace(tzinfo=None), "Z"
        except OverflowError:  # before the year 1 or after 9999
            return ""
    return _short(value.isoformat()) + zone


def _whole(value: Any) -> str:
    try:
        return str(int(value))
    except ValueError:  # longer than Python writes out
        return ""


def _short(moment: str) -> str:
    return moment.rstrip("0").rstrip(".") if "." in moment else moment


# Subclasses come first.
_EXACT: Sequence[tuple[type | tuple[type, ...], Callable[[Any], str]]] = (
    (str, str),
    (type(None), lambda _: ""),
    ((bool, np.bool_), lambda value: "1" if value else "0"),
    ((int, np.integer), _whole),
    ((float, np.float64, np.float32, np.float16), _float),
    (Decimal, lambda value: "" if value.is_nan() else str(value)),
    (datetime.datetime, _moment),
    (np.datetime64, lambda value: _moments(np.array([value]))[0]),
    (datetime.date, lambda value: value.isoformat()),
    (datetime.time, lambda value: _short(value.isoformat()) if value.tzinfo is None else value.isoformat()),
    (uuid.UUID, str),
)


def _floats(values: Sequence[float]) -> Cells:
    lines = "\n".join(map(repr, values)) + "\n"
    return lines.replace(".0\n", "\n").replace("nan\n", "\n").split("\n")[:-1]


def _quoted(values: Sequence[str]) -> Cells:
    joined = "".join(values)
    if not any(mark in joined for mark in _MARKS):
        return list(values)
    return ['"' + v.replace('"', '""') + '"' if any(mark in v for mark in _MARKS) else v for v in values]


_MARKS = ('"', ",", "\n", "\r", "\ufeff")

# What a column of one type is written by at once, with what stands for a missing value meanwhile.
_FAST: Mapping[type, tuple[Any, Callable[[Sequence[Any]], Cells]]] = {
    str: ("", _quoted),
    int: (0, lambda values: list(map(_whole, values))),
    float: (0.0, _floats),
    bool: (False, lambda values: ["1" if v else "0" for v in values]),
}


def _cells(values: Sequence[Any]) -> Cells:
    """The texts of Python's values, in quotes where CSV wants them."""
    kinds = set(map(type, values))
    missing = type(None) in kinds and len(kinds) <= 2
    if missing:
        kinds.discard(type(None))
    kind = next(iter(kinds), str)
    if len(kinds) > 1 or kind not in _FAST:
        return _quoted([text(value) for value in values])
    stand_in, write = _FAST[kind]
    if not missing:
        return write(values)
    out = write([stand_in if v is None else v for v in values])
    return ["" if v is None else cell for v, cell in zip(values, out, strict=True)]


def _moments(values: npt.NDArray[Any], zone: str = "") -> Cells:
    return ["" if m == "NaT" else _short(m) + zone for m in np.datetime_as_string(values).tolist()]


def _array(values: npt.NDArray[Any], zone: str = "") -> Cells:
    """The texts of an array of numpy."""
    if values.ndim != 1:
        raise InvalidError(f"an array of {values.ndim} dimensions, want one")
    if values.dtype.kind == "M":
        return _moments(values, zone)
    if (values.dtype.kind == "f" and values.dtype.itemsize > 8) or values.dtype.kind in "mcVS":
        raise InvalidError(f"values of type {values.dtype}, want {WANT}")
    if isinstance(values, np.ma.MaskedArray):
        return _cells([None if m else v for v, m in zip(values.data.tolist(), np.ma.getmaskarray(values), strict=True)])
    return _cells(values.tolist())


def _pandas(series: Any) -> Cells:
    kind = type(series.dtype).__name__
    if kind == "CategoricalDtype":
        texts = [*_pandas(series.cat.categories.to_series()), ""]  # -1 is missing
        return [texts[code] for code in series.cat.codes.tolist()]
    if kind == "DatetimeTZDtype":
        return _moments(series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), "Z")
    if kind == "ArrowDtype":
        return _arrow(series.array.__arrow_array__())
    if kind == "SparseDtype":
        series = series.sparse.to_dense()
    elif not isinstance(series.dtype, np.dtype):  # that of pandas itself, where NA is a value
        values = series.to_numpy(dtype=object, copy=True)  # not those of the frame
        values[series.isna().to_numpy()] = None
        return _cells(values.tolist())
    return _array(series.to_numpy())


def _polars(series: Any) -> Cells:
    name = str(series.dtype).partition("(")[0]
    if name in ("Categorical", "Enum"):
        series = series.cast(str)
    elif name == "Datetime":
        unit, zone = series.dtype.time_unit, "Z" if series.dtype.time_zone else ""
        instants = series.to_physical()
        values = instants.fill_null(0).to_numpy().astype(f"M8[{unit}]")
        values[instants.is_null().to_numpy()] = np.datetime64("NaT")
        return _moments(values, zone)
    return _cells(series.to_list())


def _arrow(column: Any) -> Cells:
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_timestamp(column.type):
        unit, zone = column.type.unit, "Z" if column.type.tz else ""
        return _moments(column.cast(pa.timestamp(unit)).to_numpy(zero_copy_only=False), zone)
    if pa.types.is_duration(column.type):
        raise InvalidError(f"values of type {column.type}, want {WANT}")
    return _cells(column.to_pylist())


Chunks = Iterator[list[tuple[Callable[[Any], Cells], Any]]]


def _chunks(data: Any) -> tuple[list[Any], Chunks]:
    """The names of the columns, and parts of rows: for every column, what writes it, and it."""
    if isinstance(data, (str, os.PathLike)):
        data = _parquet(data)
    library = _library(data)
    if library == "polars":
        frame = data.collect() if hasattr(type(data), "collect") else data
        frame = frame.to_frame() if hasattr(type(frame), "to_frame") else frame
        parts = (part.get_columns() for part in frame.iter_slices(CHUNK))
        return list(frame.columns), ([(_polars, s) for s in part] for part in parts)
    if library == "pandas":
        frame = data.to_frame() if hasattr(type(data), "to_frame") else data
        if frame.columns.nlevels > 1:
            raise InvalidError("columns of several levels, want one name for each")
        starts, width = range(0, len(frame), CHUNK), range(frame.shape[1])
        return list(frame.columns), ([(_pandas, frame.iloc[i : i + CHUNK, j]) for j in width] for i in starts)
    if library == "duckdb":
        return _duckdb(data)
    if library == "pyarrow" or (hasattr(type(data), "__arrow_c_stream__") and "pyarrow" in sys.modules):
        import pyarrow as pa

        if hasattr(type(data), "scanner"):  # a dataset
            data = data.scanner().to_reader()
        elif not isinstance(data, (pa.RecordBatchReader, pa.Table)):
            data = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else pa.table(data)
        batches = data.to_batches(CHUNK) if isinstance(data, pa.Table) else data
        return list(data.schema.names), ([(_arrow, column) for column in batch.columns] for batch in batches)
    if isinstance(data, Mapping):
        return list(data), iter([[(_plain, column) for column in data.values()]])
    want = "a DataFrame of pandas or polars, an Arrow table, a DuckDB relation, a dict of columns, or a file"
    raise InvalidError(f"data = a {type(data).__name__}, want {want}")


def _library(data: Any) -> str:
    """Where a frame comes from, also one of a class of a user's own."""
    for cls in type(data).__mro__:
        library = cls.__module__.partition(".")[0].lstrip("_")
        if library in ("pandas", "polars", "duckdb", "pyarrow"):
            return library
    return ""


def _plain(column: Any) -> Cells:
    if type(column).__module__.partition(".")[0] in ("pandas", "polars"):
        return _pandas(column) if hasattr(column, "iloc") else _polars(column)
    return _array(column) if isinstance(column, np.ndarray) else _cells(list(column))


def _parquet(path: Any) -> Any:
    """A Parquet file, read by what is installed, never all of it at once if that can do so."""
    name = os.fspath(path)
    if not os.path.exists(name):
        raise InvalidError(f"{name}: no such file, want a Parquet file")
    try:
        try:
            from pyarrow import dataset

            return dataset.dataset(name, format="parquet")
        except ImportError:
            pass
        try:
            import polars

            return polars.scan_parquet(name)
        except ImportError:
            pass
        try:
            import duckdb

            return duckdb.from_parquet(name)
        except ImportError:
            pass
    except Exception as err:
        raise InvalidError(f"{name}: no Parquet file: {str(err).splitlines()[0]}") from err
    raise InvalidError(f"{name}: reading Parquet needs pyarrow, polars or duckdb, want one of them installed")


def _duckdb(relation: Any) -> tuple[list[Any], Chunks]:
    """A relation, in SQL that keeps what a conversion to Python would lose: large integers, time zones, nanoseconds."""
    names, writers, sql = list(relation.columns), [], []
    for name, kind in zip(names, map(str, relation.types), strict=True):
        quoted, write = '"' + name.replace('"', '""') + '"', _cells
        if kind in ("HUGEINT", "UHUGEINT"):
            quoted = f"CAST({quoted} AS VARCHAR)"
        elif kind == "TIMESTAMP WITH TIME ZONE":
            quoted, write = f"epoch_us({quoted})", lambda values: _epochs(values, "us", "Z")
        elif kind.startswith("TIMESTAMP"):
            quoted, write = f"epoch_ns({quoted})", lambda values: _epochs(values, "ns", "")
        sql.append(quoted)
        writers.append(write)
    rows = relation.project(", ".join(f"{s} AS c{i}" for i, s in enumerate(sql)))

    def chunks() -> Chunks:
        if _has_pyarrow():
            reader = getattr(rows, "to_arrow_reader", None) or rows.fetch_record_batch
            for batch in reader(CHUNK):
                columns = (column.to_pylist() for column in batch.columns)
                yield list(zip(writers, columns, strict=True))
            return
        everything = rows.fetchall()
        for i in range(0, len(everything), CHUNK):
            yield list(zip(writers, zip(*everything[i : i + CHUNK], strict=True), strict=True))

    return names, chunks()


def _has_pyarrow() -> bool:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True


def _epochs(values: Sequence[int | None], unit: str, zone: str) -> Cells:
    array = np.array([0 if v is None else v for v in values], dtype=np.int64).astype(f"M8[{unit}]")
    array[[v is None for v in values]] = np.datetime64("NaT")
    return _moments(array, zone)


def csv(data: Any) -> Iterator[bytes]:
    """A frame as CSV: a header, a comma between fields, a line feed after a row.

    Raises InvalidError, with the name of the column, for what has no text.
    """
    columns, chunks = _chunks(data)
    names = [str(name) for name in columns]
    if not names:
        raise InvalidError("data = a frame without columns, want one at least")
    if any("\n" in name or "\r" in name for name in names):
        raise InvalidError("the name of a column has a line break, want a header of one line")
    header = _quoted(names)
    yield _encoded([",".join(header) if len(header) > 1 else _alone(header)[0]])
    for chunk in chunks:
        written = []
        for name, (write, values) in zip(names, chunk, strict=True):
            try:
                written.append(write(values))
            except InvalidError as err:
                raise InvalidError(f"column {name!r}: {err}") from err
        if len({len(cells) for cells in written}) > 1:
            raise InvalidError("columns of different lengths, want one value of each in a row")
        # An empty line would be no row.
        rows = map(",".join, zip(*written, strict=True)) if len(written) > 1 else iter(_alone(written[0]))
        yield _encoded(rows)


def _alone(cells: Cells) -> Cells:
    return [cell or '""' for cell in cells]


def _encoded(lines: Iterable[str]) -> bytes:
    return "\n".join(chain(lines, [""])).encode(errors="replace")  # half a character is a ?


def columns(data: Any, wanted: Sequence[str]) -> list[Cells]:
    """The texts of columns, all in memory and without quotes."""
    found, chunks = _chunks(data)
    names = [str(name) for name in found]
    for name in wanted:
        if names.count(name) != 1:
            raise InvalidError(f"column {name!r} is there {names.count(name)} times, want it once")
    at = [names.index(name) for name in wanted]
    out: list[Cells] = [[] for _ in wanted]
    for chunk in chunks:
        for cells, i in zip(out, at, strict=True):
            write, values = chunk[i]
            cells += map(_unquoted, write(values))
    return out


def _unquoted(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if cell.startswith('"') else cell
