"""Tables, kernels, local randomizers and bundles of noisewright: verified, drawn from and used.

table = noisewright.load("table.json")  # refuses what it cannot prove
y = table.add_noise(x)
"""

from noisewright._bundlecheck import BundleCertificate
from noisewright._claims import Privacy
from noisewright._load import load
from noisewright._version import __version__
from noisewright._words import generator
from noisewright.additive import AdditiveKernel
from noisewright.bundle import Bundle
from noisewright.errors import (
    BeyondError,
    EntropyError,
    Error,
    FalseClaimError,
    FormatError,
    InvalidError,
    NoPromiseError,
    NotPrivateError,
    UnprovedError,
    WorkError,
)
from noisewright.kernel import Kernel, KernelCertificate
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
from noisewright.randomizer import Randomizer, RandomizerCertificate
from noisewright.table import Table, TableCertificate

__all__ = [
    "AdditiveKernel",
    "BeyondError",
    "Bundle",
    "BundleCertificate",
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
    "Kernel",
    "KernelCertificate",
    "Mechanism",
    "NoPromiseError",
    "NotPrivateError",
    "Privacy",
    "ProgramError",
    "ProgramMissingError",
    "Randomizer",
    "RandomizerCertificate",
    "Table",
    "TableCertificate",
    "Total",
    "UnprovedError",
    "WorkError",
    "__version__",
    "account",
    "calibrate",
    "compare",
    "design",
    "generator",
    "load",
]
