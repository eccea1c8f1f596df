# SPDX-License-Identifier: Apache-2.0
"""Arrays of float64s in NumPy's format, version 1.0 or 2.0, read strictly."""

from __future__ import annotations

import re

import numpy as np

from noisewright._words import Floats
from noisewright.errors import FormatError

_MAGIC = b"\x93NUMPY"
_MAX_HEADER = 1 << 12
# Python allows any blanks between the parts of a dictionary, and either kind of quotes.
_BLANKS = b" \t\n\r\f"
_ENTRY = re.compile(
    rb"[ \t\n\r\f]*(?:'(\w+)'|\"(\w+)\")[ \t\n\r\f]*:[ \t\n\r\f]*"
    rb"('[^'\"\\]*'|\"[^'\"\\]*\"|True|False|\([0-9, \t\n\r\f]*\))[ \t\n\r\f]*([,}])"
)
_NAMES = {b"descr", b"fortran_order", b"shape"}
_DECIMAL = re.compile(rb"(?:0|[1-9][0-9]{0,17})\Z")


def _dictionary(header: bytes) -> dict[bytes, bytes]:
    """The three fields of a header, each of which is there once, in any order."""
    rest = header.lstrip(_BLANKS)
    if not rest.startswith(b"{"):
        raise FormatError("the header is not that of an array")
    rest, end = rest[1:], b","
    fields: dict[bytes, bytes] = {}
    while end == b",":
        after = rest.lstrip(_BLANKS)
        if fields and after.startswith(b"}"):
            rest = after[1:]
            break
        match = _ENTRY.match(rest)
        if match is None or (match[1] or match[2]) in fields:
            raise FormatError("the header is not that of an array")
        fields[match[1] or match[2]] = match[3]
        rest, end = rest[match.end() :], match[4]
    if set(fields) != _NAMES or rest.strip(_BLANKS):
        raise FormatError("the header is not that of an array")
    return fields


def _lengths(text: bytes) -> list[int]:
    """Those of a tuple, in which one number alone has a comma behind it."""
    parts = [part.strip(_BLANKS) for part in text[1:-1].split(b",")]
    if len(parts) > 1 and not parts[-1]:
        parts.pop()
    elif len(parts) == 1:
        parts = []  # a number in parentheses
    if not text.startswith(b"(") or not parts or not all(_DECIMAL.match(part) and int(part) >= 1 for part in parts):
        raise FormatError(f"shape = {text[:60]!r}, want a tuple of positive lengths")
    return [int(part) for part in parts]


def read_array(raw: bytes, most: int, shape: tuple[int, ...]) -> Floats:
    """The array of a file, which has the shape, -1 standing for any length from 1 on, and at most
    so many numbers."""
    if raw[:6] != _MAGIC or len(raw) < 8:
        raise FormatError("not a NumPy file")
    major, minor = raw[6], raw[7]
    if major not in (1, 2) or minor:
        raise FormatError(f"version = {major}.{minor}, want 1.0 or 2.0")
    start = 8 + 2 * major
    length = int.from_bytes(raw[8:start], "little")
    if length > _MAX_HEADER:
        raise FormatError(f"header of {length} bytes, want at most {_MAX_HEADER}")
    if len(raw) < start + length:
        raise FormatError("the file ends early")
    fields = _dictionary(raw[start : start + length])
    if fields[b"descr"][1:-1] != b"<f8" or fields[b"fortran_order"] != b"False":
        raise FormatError("want numbers of type <f8 in C order")
    lengths = _lengths(fields[b"shape"])
    fits = len(lengths) == len(shape) and all(w in (-1, s) for s, w in zip(lengths, shape, strict=True))
    if not fits:
        raise FormatError(f"shape = {tuple(lengths)}, want {shape} (-1: any)")
    entries = 1
    for n in lengths:
        entries *= n
        if entries > most:
            raise FormatError(f"shape = {tuple(lengths)}, want a product of at most {most}")
    if len(raw) != start + length + 8 * entries:
        raise FormatError(f"{len(raw) - start - length} bytes of numbers, want {8 * entries}")
    array = np.frombuffer(raw, dtype="<f8", offset=start + length).astype(np.float64).reshape(lengths)
    array.flags.writeable = False  # what is proved of it stays so
    return array
