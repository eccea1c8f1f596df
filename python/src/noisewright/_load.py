"""One door for all files."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from noisewright import _strictjson, _tablefile
from noisewright.errors import FormatError
from noisewright.table import Table


def read_file(path: str | os.PathLike[str], max_size: int) -> bytes:
    """A regular file, opened without waiting for a pipe; at most a byte more than its largest
    size."""
    name = os.fspath(path)
    try:
        descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as err:
        if isinstance(err, FileNotFoundError | PermissionError | IsADirectoryError):
            raise
        raise FormatError(f"{name} cannot be opened: {err}") from err
    with os.fdopen(descriptor, "rb") as f:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FormatError(f"{name} is no regular file, want one")
        return f.read(max_size + 1)


def load(path: str | os.PathLike[str], *, verify: bool = True, work: int | None = None) -> Any:
    """Reads a table and proves what it promises.

    `work` is the most elementary operations that the check may take, some ten seconds of the
    program's if none is given. With verify=False nothing is proved until verify is called, which
    drawing does.
    """
    raw = read_file(Path(path), _tablefile.MAX_SIZE)
    value = _strictjson.parse(raw, _tablefile.MAX_SIZE)
    table = Table(raw, _tablefile.decode(value))
    if verify:
        table.verify(work)
    return table
