# SPDX-License-Identifier: Apache-2.0
"""Statistics of data sets, released with the best proven noise; and tables, kernels, local randomizers and bundles of
noisewright: verified, drawn from and used.

import noisewright as nw
ledger = nw.Ledger.create("city.ledger", epsilon=2, delta=1e-6)  # the total for all that is ever released
answers = nw.release(frame, nw.count("age >= 65"), nw.mean("hours", bounds=(0, 60)), ledger=ledger, epsilon=0.5)
print(answers, ledger.left())

release                           count, sum, mean, variance, distinct, histogram, quantile, median, top and best of a
                                  frame; Ledger keeps a total
release_value                     of a number of your own
release_plan, release_series      all answers of a plan: a series, ranges or tables about the same people, charged once,
                                  at once or one period after another
learn, noisewright.sklearn        private classifiers
design, calibrate, compare        noise for a release, or for many; load reads and proves files
account                           the total of several releases; to_dp_accounting, from_dp_accounting
design_encoder, train_encoder     private vectors; evaluate_encoder measures, noisewright.torch trains around the noise
"""

from noisewright._bundlecheck import BundleCertificate
from noisewright._claims import Privacy
from noisewright._load import load
from noisewright._version import __version__
from noisewright._words import generator
from noisewright.accounting import from_dp_accounting, to_dp_accounting
from noisewright.additive import AdditiveKernel
from noisewright.answers import Answer, Charge, Estimate, Release
from noisewright.bundle import Bundle
from noisewright.counts import Strategy, StrategyCertificate
from noisewright.encoders import design_encoder, evaluate_encoder, train_encoder
from noisewright.errors import (
    BeyondError,
    EntropyError,
    Error,
    ExceededError,
    FalseClaimError,
    FormatError,
    InvalidError,
    NoPromiseError,
    NotPrivateError,
    OtherDataError,
    PrivacyWarning,
    UnprovedError,
    WorkError,
)
from noisewright.joint import BallNoise, JointCertificate, PlaneNoise
from noisewright.kernel import Kernel, KernelCertificate
from noisewright.learning import Guarantee, Model, Schema, learn
from noisewright.ledger import Ledger
from noisewright.plan import Plan, PlanAnswers, PlanCertificate
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
    catalogue,
    compare,
    design,
)
from noisewright.randomizer import Randomizer, RandomizerCertificate
from noisewright.statistics import (
    Statistic,
    best,
    count,
    distinct,
    histogram,
    mean,
    median,
    quantile,
    release,
    release_value,
    sum,
    top,
    variance,
)
from noisewright.subset import SubsetCertificate, SubsetSelection
from noisewright.table import Table, TableCertificate
from noisewright.workload import Periods, PlanRelease, release_plan, release_series

__all__ = [
    "AdditiveKernel",
    "Answer",
    "BallNoise",
    "BeyondError",
    "Bundle",
    "BundleCertificate",
    "Calibration",
    "Charge",
    "Comparison",
    "Constraints",
    "Design",
    "Effort",
    "EntropyError",
    "Error",
    "Estimate",
    "ExceededError",
    "FalseClaimError",
    "FormatError",
    "Guarantee",
    "InvalidError",
    "JointCertificate",
    "Kernel",
    "KernelCertificate",
    "Ledger",
    "Mechanism",
    "Model",
    "NoPromiseError",
    "NotPrivateError",
    "OtherDataError",
    "Periods",
    "Plan",
    "PlanAnswers",
    "PlanCertificate",
    "PlanRelease",
    "PlaneNoise",
    "Privacy",
    "PrivacyWarning",
    "ProgramError",
    "ProgramMissingError",
    "Randomizer",
    "RandomizerCertificate",
    "Release",
    "Schema",
    "Statistic",
    "Strategy",
    "StrategyCertificate",
    "SubsetCertificate",
    "SubsetSelection",
    "Table",
    "TableCertificate",
    "Total",
    "UnprovedError",
    "WorkError",
    "__version__",
    "account",
    "best",
    "calibrate",
    "catalogue",
    "compare",
    "count",
    "design",
    "design_encoder",
    "distinct",
    "evaluate_encoder",
    "from_dp_accounting",
    "generator",
    "histogram",
    "learn",
    "load",
    "mean",
    "median",
    "quantile",
    "release",
    "release_plan",
    "release_series",
    "release_value",
    "sum",
    "to_dp_accounting",
    "top",
    "train_encoder",
    "variance",
]
