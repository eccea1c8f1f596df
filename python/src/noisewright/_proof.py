# SPDX-License-Identifier: Apache-2.0
"""What tables, kernels and local randomizers have in common: a file, and its proof."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Generic, TypeVar

from noisewright._meter import Meter

Certificate = TypeVar("Certificate")


class Provable(ABC, Generic[Certificate]):
    """A file that is verified once, at the latest before it is drawn from."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._certificate: Certificate | None = None

    @abstractmethod
    def _prove(self, meter: Meter) -> Certificate: ...

    @property
    def source(self) -> bytes:
        """The file."""
        return self._source

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file."""
        Path(path).write_bytes(self._source)

    @property
    def proved(self) -> bool:
        """Whether it was verified."""
        return self._certificate is not None

    def verify(self, work: int | None = None) -> Certificate:
        """Recomputes what the file claims, once, in exact arithmetic, and returns it.

        Raises NotPrivateError if the promise is not kept, FalseClaimError if something else does
        not hold, WorkError if that takes more elementary operations than `work`.
        """
        if self._certificate is None:
            self._certificate = self._prove(Meter(work))
        return self._certificate
