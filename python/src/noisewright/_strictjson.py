# SPDX-License-Identifier: Apache-2.0
"""Files of JSON, read strictly: no field is unknown, missing or repeated, none is null that is
not meant to be, numbers are written plainly and fit, and nothing follows. Unknown fields of the
outermost object are skipped if a field "optional" before them names them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from noisewright.errors import FormatError


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


@dataclass(frozen=True)
class Text:
    """A string."""


@dataclass(frozen=True)
class Flag:
    """true or false."""


@dataclass(frozen=True)
class Real:
    """A number in the range of float64."""


@dataclass(frozen=True)
class Whole:
    """An integer written without point or exponent."""

    least: int = -(1 << 31)
    most: int = (1 << 31) - 1


WIDE = Whole(-(1 << 53), 1 << 53)


@dataclass(frozen=True)
class Decimal:
    """A string of the digits of an integer from 0 on."""

    most: int = (1 << 64) - 1


SIGNED = Decimal((1 << 63) - 1)


@dataclass(frozen=True)
class Many:
    """An array of at most so many elements."""

    of: Kind
    most: int


@dataclass(frozen=True)
class Record:
    """An object with these fields, in any order. A name that ends in ? may be missing, and one
    that ends in ! may be null."""

    fields: dict[str, Kind]
    known: dict[str, tuple[Kind, bool, bool]] = field(init=False)

    def __post_init__(self) -> None:
        known = {
            name.rstrip("?!"): (kind, name.endswith("?"), name.endswith("!")) for name, kind in self.fields.items()
        }
        object.__setattr__(self, "known", known)


Kind = Text | Flag | Real | Whole | Decimal | Many | Record

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # of an escape, whole or half
_DIGITS = re.compile(r"(?:0|[1-9][0-9]{0,19})\Z")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")  # so that none differs from another by its case
_OPTIONAL = "optional"
_MAX_OPTIONAL = 64
_MAX_DEPTH = 16  # of arrays and objects in a value that is skipped
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,18})\Z")


class _Object(list[tuple[str, Any]]):
    """The fields of an object as they stand in a file."""


def _no_constant(name: str) -> Any:
    raise FormatError(f"not JSON: {name}")


def parse(raw: bytes, max_size: int) -> Any:
    """The value that a file holds, for read; its objects keep repeated fields."""
    if len(raw) > max_size:
        raise FormatError(f"file is larger than {max_size} bytes")
    try:
        text = raw.decode("utf-8")
        value = json.loads(
            text, object_pairs_hook=_Object, parse_int=_Number, parse_float=_Number, parse_constant=_no_constant
        )
        if _SURROGATE.search(text):
            _hold_text(value)
        return value
    except (ValueError, RecursionError) as err:
        if isinstance(err, FormatError):
            raise
        raise FormatError(f"not JSON: {err}") from err


def _hold_text(value: Any) -> None:
    """Refuses strings with half of a surrogate pair, which are no text."""
    if isinstance(value, str):
        value.encode("utf-8")
    elif isinstance(value, tuple | list):
        for part in value:
            _hold_text(part)


_HEAD = re.compile(rb'[ \t\r\n]*\{[ \t\r\n]*("(?:[^"\\]|\\.)*")[ \t\r\n]*:[ \t\r\n]*("(?:[^"\\]|\\.)*")')


def format_of(raw: bytes) -> str | None:
    """What the first field of a file says about its format, None if that is another field or not in
    the first 512 bytes."""
    head = _HEAD.match(raw, 0, 512)
    if head is None or parse(head[1], 512) != "format":
        return None
    name: str = parse(head[2], 512)
    return name


class Fields(Mapping[str, Any]):
    """The fields of an object, which nobody changes once a file is read."""

    __slots__ = ("_fields",)

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = dict(fields)

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


def read(value: Any, kind: Kind, path: str = "") -> Any:
    """The value as its kind says: str, bool, float, int, a tuple, or Fields. None of them can be
    changed, so what was proved stays proved."""
    match kind:
        case Record():
            return _record(value, kind, path)
        case Many(of, most):
            if isinstance(value, _Object) or not isinstance(value, list):
                raise _wrong(path, value, "an array")
            if len(value) > most:
                raise FormatError(f"{path} has more than {most} elements")
            if isinstance(of, Decimal):  # by far the most elements
                return tuple(_decimal(v, of, path, i) for i, v in enumerate(value))
            return tuple(read(v, of, f"{path}[{i}]") for i, v in enumerate(value))
        case Decimal():
            return _decimal(value, kind, path)
        case Text():
            if not isinstance(value, str) or isinstance(value, _Number):
                raise _wrong(path, value, "a string")
            if any("\ud800" <= c <= "\udfff" for c in value):
                raise _wrong(path, value, "a text in UTF-8")
            return value
        case Flag():
            if not isinstance(value, bool):
                raise _wrong(path, value, "true or false")
            return value
        case Real():
            if not isinstance(value, _Number):
                raise _wrong(path, value, "a number")
            x = float(value)
            if math.isinf(x):
                raise _wrong(path, value, "a number in the range of float64")
            return x
        case Whole(least, most):
            if not isinstance(value, _Number) or not _WHOLE.match(value) or not least <= int(value) <= most:
                raise _wrong(path, value, f"an integer from {least} to {most}")
            return int(value)


def _decimal(value: Any, kind: Decimal, path: str, i: int | None = None) -> int:
    if type(value) is str and _DIGITS.match(value):
        n = int(value)
        if n <= kind.most:
            return n
    where = path if i is None else f"{path}[{i}]"
    raise _wrong(where, value, f"a decimal string of an integer from 0 to {kind.most}")


def _record(value: Any, kind: Record, path: str) -> Fields:
    if not isinstance(value, _Object):
        raise _wrong(path, value, "an object")
    out: dict[str, Any] = {}
    named: dict[str, bool] | None = None  # the names that the file calls optional, and whether one was skipped
    for name, v in value:
        where = f"{path}.{name}" if path else name
        if name not in kind.known:
            if not path and name == _OPTIONAL:
                if named is not None:
                    raise FormatError(f"{name} stands twice")
                named = _optional(v)
                continue
            if named and name in named:
                if named[name]:
                    raise FormatError(f"{name} stands twice")
                named[name] = True
                _skip(v, name)
                continue
            raise FormatError(f"{_clip(name)!r} in {path or 'the outermost object'} is not a field of the format")
        if name in out:
            raise FormatError(f"{where} stands twice")
        of, _, null = kind.known[name]
        out[name] = None if null and v is None else read(v, of, where)
    for name, (_, optional, _) in kind.known.items():
        if name not in out and not optional:
            raise FormatError(f"{path + '.' if path else ''}{name} is missing")
    return Fields(out)


def _optional(value: Any) -> dict[str, bool]:
    out: dict[str, bool] = {}
    for i, name in enumerate(read(value, Many(Text(), _MAX_OPTIONAL), _OPTIONAL)):
        if name in out or name == _OPTIONAL or not _NAME.match(name):
            want = f"another name, of up to {_MAX_OPTIONAL} small letters, digits and _"
            raise _wrong(f"{_OPTIONAL}[{i}]", name, want)
        out[name] = False
    return out


def _skip(value: Any, path: str, depth: int = 0) -> None:
    if isinstance(value, list):
        if depth == _MAX_DEPTH:
            raise FormatError(f"{path} has arrays and objects more than {_MAX_DEPTH} deep in each other")
        for part in value:
            _skip(part[1] if isinstance(value, _Object) else part, path, depth + 1)


def check_format(fields: Fields, name: str, versions: tuple[int, ...] = (1,)) -> None:
    """Refuses a file of another format or version."""
    if fields["format"] != name:
        raise FormatError(f"format = {_clip(fields['format'])!r}, want {name!r}")
    if fields["version"] not in versions:
        raise FormatError(
            f"version = {fields['version']}, want {' or '.join(map(str, versions))}, which this package reads"
        )


def _wrong(path: str, value: Any, want: str) -> FormatError:
    if isinstance(value, _Object):
        text = "an object"
    elif isinstance(value, list):
        text = "an array"
    elif isinstance(value, str):
        text = _clip(value) if isinstance(value, _Number) else repr(_clip(value))
    else:
        text = {None: "null", True: "true", False: "false"}[value]
    return FormatError(f"{path or 'the outermost object'} = {text}, want {want}")


def _clip(text: str) -> str:
    return text if len(text) <= 60 else text[:60] + "…"
