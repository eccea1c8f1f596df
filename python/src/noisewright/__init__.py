"""Tables, kernels, local randomizers and bundles of noisewright: verified, drawn from and used.

table = noisewright.load("table.json")
y = table.add_noise(x)
"""

from noisewright._load import load
from noisewright.errors import (
    BeyondError,
    EntropyError,
    Error,
    FalseClaimError,
    FormatError,
    InvalidError,
    NotPrivateError,
    WorkError,
)
from noisewright.table import Table

__all__ = [
    "BeyondError",
    "EntropyError",
    "Error",
    "FalseClaimError",
    "FormatError",
    "InvalidError",
    "NotPrivateError",
    "Table",
    "WorkError",
    "load",
]
