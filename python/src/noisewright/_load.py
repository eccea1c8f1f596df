# SPDX-License-Identifier: Apache-2.0
"""One door for all files."""

from __future__ import annotations

import os
import stat
from typing import Any

from noisewright import (
    _additivefile,
    _ballfile,
    _bundlefile,
    _countsfile,
    _kernelfile,
    _planefile,
    _planfile,
    _randomizerfile,
    _strictjson,
    _subsetfile,
    _tablefile,
)
from noisewright.additive import AdditiveKernel
from noisewright.bundle import Bundle
from noisewright.counts import Strategy
from noisewright.errors import Error, FormatError
from noisewright.joint import BallNoise, PlaneNoise
from noisewright.kernel import Kernel
from noisewright.plan import Plan
from noisewright.randomizer import Randomizer
from noisewright.subset import SubsetSelection
from noisewright.table import Table

Made = Table | Kernel | AdditiveKernel | Randomizer | SubsetSelection | Strategy | Plan | BallNoise | PlaneNoise
FORMATS = (
    _tablefile.FORMAT,
    _kernelfile.FORMAT,
    _additivefile.FORMAT,
    _randomizerfile.FORMAT,
    _subsetfile.FORMAT,
    _countsfile.FORMAT,
    _planfile.FORMAT,
    _ballfile.FORMAT,
    _planefile.FORMAT,
)


def read_file(path: str | os.PathLike[str], max_size: int) -> bytes:
    """A regular file, opened without waiting for a pipe, of a size that is allowed."""
    name = os.fspath(path)
    descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as f:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FormatError(f"{name} is no regular file, want one")
        raw = f.read(max_size + 1)
    if len(raw) > max_size:
        raise FormatError(f"{name} is larger than {max_size} bytes")
    return raw


def parse(raw: bytes) -> Made:
    """What the bytes of a file hold: a table unless its first field says another format."""
    value: Any = _strictjson.parse(raw, _additivefile.MAX_SIZE)
    match _strictjson.format_of(raw):
        case _kernelfile.FORMAT:
            return Kernel(_sized(raw, _kernelfile.MAX_SIZE), _kernelfile.decode(value))
        case _additivefile.FORMAT:
            return AdditiveKernel(raw, _additivefile.decode(value))
        case _randomizerfile.FORMAT:
            return Randomizer(_sized(raw, _randomizerfile.MAX_SIZE), _randomizerfile.decode(value))
        case _subsetfile.FORMAT:
            return SubsetSelection(_sized(raw, _subsetfile.MAX_SIZE), _subsetfile.decode(value))
        case _countsfile.FORMAT:
            return Strategy(_sized(raw, _countsfile.MAX_SIZE), _countsfile.decode(value))
        case _planfile.FORMAT:
            return Plan(_sized(raw, _planfile.MAX_SIZE), _planfile.decode(value))
        case _ballfile.FORMAT:
            return BallNoise(_sized(raw, _ballfile.MAX_SIZE), _ballfile.decode(value))
        case _planefile.FORMAT:
            return PlaneNoise(_sized(raw, _planefile.MAX_SIZE), _planefile.decode(value))
        case str(other) if other != _tablefile.FORMAT:
            folder = ", or a bundle's folder" if other == _bundlefile.FORMAT else ""
            raise FormatError(f"format = {other[:60]!r}, want one of {', '.join(map(repr, FORMATS))}{folder}")
        case _:
            return Table(_sized(raw, _tablefile.MAX_SIZE), _tablefile.decode(value))


def _sized(raw: bytes, most: int) -> bytes:
    if len(raw) > most:
        raise FormatError(f"file is larger than {most} bytes")
    return raw


def _bundle(path: str | os.PathLike[str]) -> Bundle:
    """The bundle in a directory."""

    def file(name: str, most: int) -> bytes:
        return read_file(os.path.join(path, *name.split("/")), most)

    def law(name: str) -> _bundlefile.Law:
        # The folder says which it is, so that its fields may have any order.
        try:
            if name.startswith("tables/"):
                raw = file(name, _tablefile.MAX_SIZE)
                return Table(raw, _tablefile.decode(_strictjson.parse(raw, _tablefile.MAX_SIZE)))
            if name.startswith("balls/"):
                raw = file(name, _ballfile.MAX_SIZE)
                return BallNoise(raw, _ballfile.decode(_strictjson.parse(raw, _ballfile.MAX_SIZE)))
            raw = file(name, _randomizerfile.MAX_SIZE)
            return Randomizer(raw, _randomizerfile.decode(_strictjson.parse(raw, _randomizerfile.MAX_SIZE)))
        except Error as err:
            raise type(err)(f"{name}: {err}") from err

    return Bundle(_bundlefile.decode(file, law))


def load(path: str | os.PathLike[str], *, verify: bool = True, work: int | None = None) -> Made | Bundle:
    """Reads a table, a kernel, an additive kernel, a local randomizer, a subset selection, a strategy for
    counts, a plan, noise on balls or in the plane, or the bundle in a directory, and proves what it promises
    and states; but see Table.claimed_total.

    `work` is the most elementary operations that the check may take, by default as many as the
    program takes some ten seconds for. With verify=False nothing is proved until verify is
    called, which drawing does.

    Raises FormatError or InvalidError for what is malformed, NotPrivateError if the privacy
    promise is not kept, FalseClaimError if another statement does not hold, WorkError if the
    check would take too long, and OSError. Of bundles see also Bundle.verify: a filter has nothing
    to prove, and is loaded with verify=False.
    """
    raw = None if os.path.isdir(path) else read_file(path, _additivefile.MAX_SIZE)
    try:
        made = _bundle(path) if raw is None else parse(raw)
        if verify:
            made.verify(work=work)
    except Error as err:
        raise type(err)(f"{os.fspath(path)}: {err}") from err
    return made
