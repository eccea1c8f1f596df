# SPDX-License-Identifier: Apache-2.0
"""Prints the tables of docs/benchmarks.md that put `noisewright release` beside
OpenDP and diffprivlib: mean absolute errors, and processor times.

    pip install opendp==0.16.0 diffprivlib==0.6.6 pandas
    python3 cmd/papers/peers/release.py --adult adult.csv.gz --household days.csv.gz

The first file needs the columns age and workclass, the second h18. All releases
have delta = 0. An error is a distance to the exact answer of the file: the mean
over the runs ± its standard error. No noise here takes a seed, so that another
run prints other figures, within these errors.
"""

import argparse
import json
import math
import resource
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import opendp.prelude as dp
import pandas as pd
from diffprivlib import tools

dp.enable_features("contrib")
INTEGER = [dp.atom_domain(T="i64")]
KEYS = "Private,Self-emp-not-inc,Self-emp-inc,Federal-gov,Local-gov,State-gov,Without-pay,Never-worked,?".split(",")
MORE = 10  # times as many runs of a peer, which need no process each
PROCESSES = 9  # of which the median time is printed

# What a process of a peer runs: it reads a file and makes one release, for epsilon = 1.
PANDAS = "import pandas; age = pandas.read_csv({!r}, usecols=['age'])['age'].to_numpy(copy=True); "
DIFFPRIVLIB = PANDAS + "from diffprivlib import tools; "
OPENDP = PANDAS + (
    "import opendp.prelude as dp; dp.enable_features('contrib'); change = dp.symmetric_distance(); "
    "rows = dp.vector_domain(dp.atom_domain(T='i64')), change; count = rows >> dp.t.then_count(); "
    "total = rows >> dp.t.then_clamp((-50, 50)) >> dp.t.then_sum(); "
    "mean = (dp.vector_domain(dp.atom_domain(bounds=(0.0, 100.0)), len(age)), change) >> dp.t.then_mean(); "
    "noise = dp.m.then_laplace; "
)
PROGRAMS = {
    "pandas alone": [PANDAS] * 3,
    "OpenDP": [
        OPENDP + "print((count >> noise(1.0))(age[age >= 65]))",
        OPENDP + "print(50 + (total >> noise(100.0))(age - 50) / (count >> noise(2.0))(age))",
        OPENDP + "print((mean >> noise(100 / len(age)))(age.astype(float)))",
    ],
    "diffprivlib": [
        DIFFPRIVLIB + "print(tools.count_nonzero(age >= 65, epsilon=1))",
        None,
        DIFFPRIVLIB + "print(tools.mean(age, epsilon=1, bounds=(0, 100)))",
    ],
}


def opendp(data, domain, statistic, epsilon, changes=1):
    """A release with the least Laplace noise that OpenDP's privacy map allows.
    To replace a row is two changes: one removed, one added."""
    statistic = (dp.vector_domain(*domain), dp.symmetric_distance()) >> statistic
    release = dp.binary_search_chain(lambda scale: statistic >> dp.m.then_laplace(scale), changes, float(epsilon), T=float)
    return lambda: release(data)


def opendp_mean(values, upper, epsilon, share):
    """A mean over a private number of rows, as an expert builds it of OpenDP's
    parts: a sum, of differences to the middle of the bounds, for a share of
    epsilon, over a count, for the rest. The sum is one of integers, in thousandths:
    OpenDP counts the sensitivity of this sum of floats twice as large."""
    middle = round(500 * upper)
    thousandths = np.rint(1000 * values).astype(np.int64) - middle
    total = opendp(thousandths, INTEGER, dp.t.then_clamp((-middle, middle)) >> dp.t.then_sum(), share * epsilon)
    count = opendp(thousandths, INTEGER, dp.t.then_count(), (1 - share) * epsilon)
    return lambda: min(max((middle + total() / max(count(), 1)) / 1000, 0), upper)


def run(command):
    return subprocess.run(command, check=True, capture_output=True).stdout


def error(release, exact, runs):
    """The mean absolute error of all answers of all runs, as text."""
    errors = [np.abs(np.subtract(release(), exact)).mean() for _ in range(runs)]
    deviation = statistics.stdev(errors) / math.sqrt(runs)
    digits = 1 - math.floor(math.log10(deviation)) if deviation else 2
    return f"{statistics.mean(errors):.{digits}f} ± {deviation:.{digits}f}"


def seconds(command):
    """Processor seconds of a process, as text."""
    times = []
    for _ in range(PROCESSES):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(command)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return f"{statistics.median(times):.2f}"


def row(*cells):
    print("|", " | ".join(cells), "|", flush=True)


parser = argparse.ArgumentParser(description="Compare noisewright release with OpenDP and diffprivlib.")
parser.add_argument("--adult", metavar="FILE", required=True, help="CSV file of the Adult data, perhaps compressed")
parser.add_argument("--household", metavar="FILE", required=True, help="CSV file of the household data, perhaps compressed")
parser.add_argument("--noisewright", metavar="PATH", default="bin/noisewright", help="the program")
parser.add_argument("--runs", type=int, default=200, help=f"releases of the program behind each error; {MORE} times as many of a peer")
args = parser.parse_args()
adult = pd.read_csv(args.adult)
age, power = adult["age"].to_numpy(float, copy=True), pd.read_csv(args.household)["h18"].to_numpy(float, copy=True)
old, work = age >= 65, pd.Categorical(adult["workclass"], KEYS).codes.astype(np.int64)
replace = ["--neighbors", "replace"]
count = ["count", "--data", args.adult, "--where", "age >= 65"]
histogram = ["histogram", "--data", args.adult, "--by", "workclass", "--keys", ",".join(KEYS)]
mean_age = ["mean", "--data", args.adult, "--column", "age", "--lower", "0", "--upper", "100"]
mean_power = ["mean", "--data", args.household, "--column", "h18", "--lower", "0", "--upper", "10"]
folder = tempfile.TemporaryDirectory()


def ours(statistic, epsilon, tables):
    return [args.noisewright, "release", *statistic, "--epsilon", str(epsilon), "--delta", "0", "--tables", tables, "--json", "--quiet"]


def errors(name, epsilon, statistic, exact, of_opendp, of_diffprivlib):
    """A row of errors; there may be several releases of OpenDP, and none of diffprivlib."""

    def release():
        return [answer["value"] for answer in json.loads(run(ours(statistic, epsilon, folder.name)))["answers"]]

    theirs = ["; ".join(error(f, exact, MORE * args.runs) for f in peer) or "–" for peer in (of_opendp, of_diffprivlib)]
    row(name, str(epsilon), error(release, exact, args.runs), *theirs)


row("statistic, neighbors", "ε", f"`release`, {args.runs:,} runs", f"OpenDP, {MORE * args.runs:,}", f"diffprivlib, {MORE * args.runs:,}")
row(*["---"] * 5)
for e in (0.1, 1, 3):
    theirs = opendp(work[old], INTEGER, dp.t.then_count(), e)
    errors("count of age ≥ 65, add or remove", e, count, sum(old), [theirs], [lambda: tools.count_nonzero(old, epsilon=e)])
    bins = {"bins": len(KEYS), "range": (-0.5, len(KEYS) - 0.5)}
    theirs = opendp(work, INTEGER, dp.t.then_count_by_categories([*range(len(KEYS))], null_category=False), e)
    other = [lambda: tools.histogram(work, epsilon=e, **bins)[0]]
    errors("histogram of workclass, add or remove", e, histogram, np.bincount(work, minlength=len(KEYS)), [theirs], other)
    for name, statistic, values, upper in ("age", mean_age, age, 100.0), ("hour 18", mean_power, power, 10.0):
        exact = np.clip(values, 0, upper).mean()
        theirs = [opendp_mean(values, upper, e, share) for share in (0.5, 0.75)]
        errors(f"mean of {name}, add or remove", e, statistic, exact, theirs, [])
        theirs = opendp(values, [dp.atom_domain(bounds=(0.0, upper)), len(values)], dp.t.then_mean(), e, changes=2)
        other = [lambda: tools.mean(values, epsilon=e, bounds=(0, upper))]
        errors(f"mean of {name}, replace", e, statistic + replace, exact, [theirs], other)

print()
row("processor seconds, ε = 1", "count of age ≥ 65", "mean of age, add or remove", "mean of age, replace")
row(*["---"] * 4)
for name, tables in ("`release`, tables kept", folder.name), ("`release`, `--tables -`", "-"):
    row(name, *(seconds(ours(statistic, 1, tables)) for statistic in (count, mean_age, mean_age + replace)))
for name, texts in PROGRAMS.items():
    row(name, *(seconds([sys.executable, "-c", text.format(args.adult)]) if text else "–" for text in texts))
