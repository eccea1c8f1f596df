# SPDX-License-Identifier: Apache-2.0
"""Results as rows: dicts, DataFrames, HTML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from noisewright import _rows


class Fields(Mapping[str, Any]):
    """A mapping that nobody changes."""

    __slots__ = ("_fields",)

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = dict(fields)

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return repr(self._fields)


class Rows:
    """What has rows."""

    def rows(self) -> list[dict[str, Any]]:
        """All of it in rows, as dicts."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """A DataFrame of pandas, with the rows."""
        import pandas

        return pandas.DataFrame(self.rows())

    def to_polars(self) -> Any:
        """A DataFrame of polars, with the rows; keys are texts, as columns of polars have one type."""
        import polars

        texts = [{k: _rows.text(v) if k == "key" and v is not None else v for k, v in r.items()} for r in self.rows()]
        return polars.DataFrame(texts, infer_schema_length=None)

    def table(self, caption: str) -> str:
        """HTML of the rows."""
        rows = self.rows()
        head = "".join(f"<th>{escape(name)}</th>" for name in (rows[0] if rows else {}))
        body = "".join("<tr>" + "".join(f"<td>{_html(v)}</td>" for v in row.values()) + "</tr>" for row in rows)
        return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _html(value: Any) -> str:
    return "" if value is None else escape(f"{value:.7g}" if isinstance(value, float) else str(value))
