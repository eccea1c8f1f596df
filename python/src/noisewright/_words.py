# SPDX-License-Identifier: Apache-2.0
"""The words of randomness: uniform 64-bit integers from the system.

Nothing is kept between calls, neither words nor a key. So there is nothing that a process
could repeat after a fork, that two threads could share, or that could be read out of memory
later; a call costs a system call in exchange, which arrays do not feel. Where `cryptography`
is installed, a large request is the keystream of AES-256 in counter mode under a key that the
system gave for this request alone.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from noisewright.errors import EntropyError

if TYPE_CHECKING:
    from collections.abc import Callable

Uint64s = npt.NDArray[np.uint64]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Words(Protocol):
    """Gives so many fresh words, never one twice."""

    def __call__(self, count: int) -> Uint64s: ...


def _cipher() -> Callable[[int], Uint64s] | None:
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError:
        return None

    def keystream(count: int) -> Uint64s:
        # A key is used once, so the counter may begin at 0. The room for two words more is what the cipher asks for.
        encryptor = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(bytes(16))).encryptor()
        words = np.empty(count + 2, dtype="<u8")
        if encryptor.update_into(bytes(8 * count), words.data.cast("B")) != 8 * count:
            raise AssertionError("a keystream that is not as long as was asked for")
        return words[:count].astype(np.uint64, copy=False)

    return keystream


_keystream = _cipher()

# Below this many words a system call costs less than a key.
_LEAST_KEYED = 1 << 11


def system_words(count: int) -> Uint64s:
    """Words of the system, or under a fresh key of it."""
    try:
        if _keystream is not None and count >= _LEAST_KEYED:
            return _keystream(count)
        raw = os.urandom(8 * count)
    except (OSError, NotImplementedError) as err:
        raise EntropyError(f"the system gives no randomness: {err}") from err
    # A copy, as bytes cannot be written to, and little-endian on every machine.
    return np.frombuffer(raw, dtype="<u8").astype(np.uint64)


def generator() -> str:
    """What the words come from, for logs."""
    return "the system's generator" if _keystream is None else "AES-256-CTR, a key of the system for each request"
