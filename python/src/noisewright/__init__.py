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
from noisewright.program import (
    Calibration,
    Comparison,
    Constraints,
    Design,
    Effort,
    Mechanism,
    ProgramError,
    ProgramMissingError,
    Total,
    account,
    calibrate,
    compare,
    design,
)
from noisewright.table import Table

__all__ = [
    "BeyondError",
    "Calibration",
    "Comparison",
    "Constraints",
    "Design",
    "Effort",
    "EntropyError",
    "Error",
    "FalseClaimError",
    "FormatError",
    "InvalidError",
    "Mechanism",
    "NotPrivateError",
    "ProgramError",
    "ProgramMissingError",
    "Table",
    "Total",
    "WorkError",
    "account",
    "calibrate",
    "compare",
    "design",
    "load",
]
