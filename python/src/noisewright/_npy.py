"""Arrays of float64s in NumPy's format, version 1.0 or 2.0, read strictly."""

from __future__ import annotations

import re

import numpy as np

from noisewright._words import Floats
from noisewright.errors import FormatError

_MAGIC = b"\x93NUMPY"
_MAX_HEADER = 1 << 12
_DICTIONARY = re.compile(rb"\{'descr': '([^']*)', 'fortran_order': (True|False), 'shape': \(([0-9, ]*)\),? *\} *\n?\Z")


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
    match = _DICTIONARY.match(raw[start : start + length])
    if match is None or len(raw) < start + length:
        raise FormatError("the header is not that of an array")
    descr, order, text = match.groups()
    if descr != b"<f8" or order != b"False":
        raise FormatError("want numbers of type <f8 in C order")
    lengths = []
    for part in text.removesuffix(b",").split(b","):
        if not re.fullmatch(rb" *[0-9]{1,18} *", part) or int(part) < 1:
            raise FormatError(f"shape = ({text[:60].decode()}), want positive lengths")
        lengths.append(int(part))
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
