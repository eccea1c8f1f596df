# SPDX-License-Identifier: Apache-2.0
"""Prints the table of docs/benchmarks.md that puts `noisewright learn nb` beside the
GaussianNB of diffprivlib.

    pip install diffprivlib==0.6.6 'scikit-learn<1.8' pandas
    python3 cmd/papers/peers/learn.py --ecoli ecoli.csv --abalone abalone.csv

The first file needs the columns mcg, gvh, aac, alm1, alm2 and class, of which cp is told
from the rest; the second the seven measures and Class_Rings, of which up to 9 are told
from more. Both get the same splits, four fifths for training, and the same bounds.
diffprivlib has no delta: its promise is epsilon, for neighbors that differ by a record
added or removed. No noise here takes a seed.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import tempfile
import warnings

import numpy as np
import pandas as pd
from diffprivlib.models import GaussianNB

warnings.filterwarnings("ignore")
ECOLI = dict.fromkeys(["mcg", "gvh", "aac", "alm1", "alm2"], (0.0, 1.0))
ABALONE = {
    "Length": (0.0, 1.0), "Diameter": (0.0, 1.0), "Height": (0.0, 1.2), "Whole weight": (0.0, 3.0),
    "Shucked weight": (0.0, 1.5), "Viscera weight": (0.0, 1.0), "Shell weight": (0.0, 1.1),
}

parser = argparse.ArgumentParser(description="Compare noisewright learn nb with diffprivlib.")
parser.add_argument("--ecoli", metavar="FILE", required=True, help="CSV file of the ecoli data")
parser.add_argument("--abalone", metavar="FILE", required=True, help="CSV file of the abalone data")
parser.add_argument("--noisewright", metavar="PATH", default="bin/noisewright", help="the program")
parser.add_argument("--splits", type=int, default=20, help="random splits")
parser.add_argument("--draws", type=int, default=3, help="fits for each split")
args = parser.parse_args()
folder = pathlib.Path(tempfile.mkdtemp())


def schema(bounds):
    features = [{"name": name, "bounds": {"lower": lower, "upper": upper}} for name, (lower, upper) in bounds.items()]
    text = {"format": "noisewright-schema", "version": 1, "target": "target", "classes": ["no", "yes"], "features": features}
    (folder / "schema.json").write_text(json.dumps(text))


def ours(train, test, epsilon, delta, noise="auto"):
    """The error in percent of a fit by the program."""
    train.to_csv(folder / "train.csv", index=False)
    test.to_csv(folder / "test.csv", index=False)
    budget = [] if noise == "none" else ["--epsilon", str(epsilon), "--delta", str(delta)]
    command = [args.noisewright, "learn", "nb", "--data", folder / "train.csv", "--test", folder / "test.csv", "--schema", folder / "schema.json"]
    command += ["--noise", noise, *budget, "--cache", folder / "cache", "-o", folder / "model.json", "--json"]
    return 100 * json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["test"]["rate"]


def theirs(train, test, epsilon, bounds):
    """The error in percent of a fit by diffprivlib."""
    names = list(bounds)
    lower, upper = zip(*bounds.values())
    model = GaussianNB(epsilon=epsilon, bounds=(np.array(lower), np.array(upper)), priors=None)
    model.fit(train[names].to_numpy(), train["target"].to_numpy())
    return 100 * float(np.mean(model.predict(test[names].to_numpy()) != test["target"].to_numpy()))


def text(errors):
    """The mean over splits, with its standard error."""
    means = [statistics.mean(e) for e in errors]
    return f"{statistics.mean(means):.2f} ± {statistics.stdev(means) / math.sqrt(len(means)):.2f}"


def row(*cells):
    print("|", " | ".join(cells), "|", flush=True)


row("data", "ε", "without noise", "`learn nb`, δ = 0", "`learn nb`, δ = 1e-5", "diffprivlib")
row(*["---"] * 6)
for name, file, column, bounds, positive in (
    ("ecoli", args.ecoli, "class", ECOLI, lambda c: c == "cp"),
    ("abalone", args.abalone, "Class_Rings", ABALONE, lambda c: c > 9),
):
    data = pd.read_csv(file)
    data["target"] = np.where(positive(data[column]), "yes", "no")
    data = data[[*bounds, "target"]]
    schema(bounds)
    for epsilon in (1, 3, 10):
        random = np.random.default_rng(1)
        columns = [[], [], [], []]
        for _ in range(args.splits):
            order = random.permutation(len(data))
            test, train = data.iloc[order[: len(data) // 5]], data.iloc[order[len(data) // 5 :]]
            columns[0].append([ours(train, test, 0, 0, "none")])
            columns[1].append([ours(train, test, epsilon, 0) for _ in range(args.draws)])
            columns[2].append([ours(train, test, epsilon, 1e-5) for _ in range(args.draws)])
            columns[3].append([theirs(train, test, epsilon, bounds) for _ in range(args.draws)])
        row(name, str(epsilon), *(text(c) for c in columns))
