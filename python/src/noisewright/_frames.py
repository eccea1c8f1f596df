# SPDX-License-Identifier: Apache-2.0
"""Columns of pandas and polars, which are not imported for it, and arrays."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewright._rounding import unmasked
from noisewright.errors import InvalidError


def column_like(column: Any, release: Callable[[npt.NDArray[Any]], Any]) -> Any:
    """What release makes of the values of a column, as such a column: a Series of its name and
    index, or an array."""
    if hasattr(type(column), "columns"):
        raise InvalidError(f"a {type(column).__name__} of columns, want one column at a time")
    cls: Any
    for cls in type(column).__mro__:  # of a class of a user's own its library's
        library = cls.__module__.partition(".")[0]
        if library == "pandas":
            if bool(cls.isna(column).any()):
                raise InvalidError("a value is missing, want none: fill it, as leaving it out tells who lacks it")
            return cls(release(_values(column.to_numpy())), index=column.index, name=column.name)
        if library == "polars":
            if cls.null_count(column):
                raise InvalidError("a value is missing, want none: fill it, as leaving it out tells who lacks it")
            return cls(column.name, release(_values(column.to_numpy())))
    return release(unmasked(column))


def _values(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if values.dtype != object:
        return values
    return np.array([float(v) if isinstance(v, Decimal) else v for v in values.tolist()])  # of a nullable type too


def clipped(values: npt.NDArray[Any], lower: float, upper: float, whole: bool) -> npt.NDArray[Any]:
    """Values within a range: integers stay integers if the range is one of whole numbers."""
    kind = values.dtype.kind
    if kind in "iu" and whole:
        limits = np.iinfo(values.dtype)
        if lower > limits.max or upper < limits.min:  # all values are on one side
            return np.full(values.shape, int(lower if lower > limits.max else upper), dtype=np.int64)
        whole_values: npt.NDArray[Any] = np.clip(values, max(int(lower), limits.min), min(int(upper), limits.max))
        return whole_values
    if kind not in "iuf":
        raise InvalidError(f"values of type {values.dtype}, want numbers")
    if kind == "f" and bool(np.isnan(values).any()):
        raise InvalidError("a value is not a number, want numbers")
    floats: npt.NDArray[Any] = np.clip(values.astype(np.float64), lower, upper)
    return floats
