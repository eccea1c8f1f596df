# SPDX-License-Identifier: Apache-2.0
"""Prints the tables of docs/benchmarks.md that put the Python package beside OpenDP, diffprivlib
and PyDP: the time of a draw, a million rows, and the error at equal privacy.

    pip install ./python opendp==0.16.0 diffprivlib==0.6.6 'scikit-learn<1.7' python-dp==1.1.5 pandas cryptography
    python3 cmd/papers/peers/python.py --program bin/noisewright

Times are processor times, the least of several runs. An error is the mean |noise| at sensitivity 1:
of noisewright the certified one, of peers that of so many draws ± its standard error.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

ROWS = 1_000_000

# What a process does to a CSV file of a million rows; {} is a file of a table or nothing.
PROGRAMS = {
    "pandas alone": "x",
    "noisewright": "noisewright.load({table!r}).privatize(x, 0, 1)",
    "diffprivlib Laplace": "[m.randomise(float(v)) for v in x.clip(0, 1)]",
    "PyDP Laplace": "[m.add_noise(float(v)) for v in x.clip(0, 1)]",
    "OpenDP Laplace": "m(x.clip(0, 1).tolist())",
}
IMPORTS = {
    "pandas alone": "",
    "noisewright": "import noisewright",
    "diffprivlib Laplace": "from diffprivlib.mechanisms import Laplace; m = Laplace(epsilon=1.0, delta=0.0, sensitivity=1.0)",
    "PyDP Laplace": "from pydp.algorithms.numerical_mechanisms import LaplaceMechanism; m = LaplaceMechanism(epsilon=1.0, sensitivity=1.0)",
    "OpenDP Laplace": "import opendp.prelude as dp; dp.enable_features('contrib'); "
    "m = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float), scale=1.0)",
}


def least(action, count, runs=5):
    """ns of processor time each."""
    best = float("inf")
    for _ in range(runs):
        start = time.process_time()
        action()
        best = min(best, time.process_time() - start)
    return best / count * 1e9


def opendp_vector(scale):
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float), scale=scale)


def opendp_canonical(epsilon, delta):
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain, distance = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    return dp.m.make_canonical_noise(domain, distance, d_in=1.0, d_out=(epsilon, delta))


def mechanisms(epsilon, delta):
    """What peers have for a privacy: a name, and what draws noise for so many zeros."""
    from diffprivlib import mechanisms as ibm
    from pydp.algorithms.numerical_mechanisms import GaussianMechanism, LaplaceMechanism

    yield "OpenDP Laplace", 2_000, lambda n, m=opendp_vector(1 / epsilon): m([0.0] * n)
    yield "OpenDP canonical noise", 500, lambda n, m=opendp_canonical(epsilon, delta): [m(0.0) for _ in range(n)]
    ibm_laplace = ibm.Laplace(epsilon=epsilon, delta=delta, sensitivity=1.0)
    yield "diffprivlib Laplace, with delta", 10_000, lambda n: [ibm_laplace.randomise(0.0) for _ in range(n)]
    staircase = ibm.Staircase(epsilon=epsilon, sensitivity=1.0)
    yield "diffprivlib Staircase", 10_000, lambda n: [staircase.randomise(0.0) for _ in range(n)]
    analytic = ibm.GaussianAnalytic(epsilon=epsilon, delta=delta, sensitivity=1.0)
    yield "diffprivlib analytic Gaussian", 10_000, lambda n: [analytic.randomise(0.0) for _ in range(n)]
    google = LaplaceMechanism(epsilon=epsilon, sensitivity=1.0)
    yield "PyDP Laplace", 10_000, lambda n: [google.add_noise(0.0) for _ in range(n)]
    normal = GaussianMechanism(epsilon, delta, 1.0)
    yield "PyDP Gaussian", 10_000, lambda n: [normal.add_noise(0.0) for _ in range(n)]


def times(table):
    print("| a noisy number | ns |\n| --- | --- |")
    zeros = np.zeros(ROWS)
    print(f"| noisewright `sample`, an array | {least(lambda: table.sample(ROWS), ROWS):.0f} |")
    print(f"| noisewright `add_noise`, an array | {least(lambda: table.add_noise(zeros), ROWS):.0f} |")
    print(f"| noisewright `add_noise`, one number | {least(lambda: [table.add_noise(0.0) for _ in range(1000)], 1000):.0f} |")
    for name, count, draw in mechanisms(table.privacy.epsilon, table.privacy.delta):
        print(f"| {name} | {least(lambda draw=draw, count=count: draw(count), count):.0f} |")


def rows(table):
    print("\n| a CSV file of a million rows | s | MiB |\n| --- | --- | --- |")
    with tempfile.TemporaryDirectory() as scratch:
        source = os.path.join(scratch, "in.csv")
        with open(source, "w", encoding="utf-8") as f:
            f.write("x\n" + "\n".join(f"{v:.4f}" for v in np.random.default_rng(1).random(ROWS)) + "\n")
        for name, program in PROGRAMS.items():
            code = (
                f"import pandas, resource; {IMPORTS[name]}\nx = pandas.read_csv({source!r})['x']\n"
                f"y = {program.format(table=table)}\npandas.DataFrame({{'x': y}}).to_csv({source + '.out'!r}, index=False)\n"
                "u = resource.getrusage(resource.RUSAGE_SELF); print(u.ru_utime + u.ru_stime, u.ru_maxrss / 1024)"
            )
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            seconds, size = map(float, done.stdout.split())
            print(f"| {name} | {seconds:.1f} | {size:.0f} |", flush=True)


def errors(program, scratch):
    print("\n| epsilon, delta | mechanism | mean \\|noise\\| |\n| --- | --- | --- |")
    for epsilon, delta in ((1, 0.05), (2, 1e-6), (5, 1e-6), (10, 0.05)):
        path = design(program, scratch, epsilon, delta)
        certificate = load(path).verify()
        print(f"| {epsilon}, {delta} | noisewright | {float(certificate.expected_loss):.4f}, certified |")
        for name, count, draw in mechanisms(float(epsilon), delta):
            noise = np.abs(np.asarray(draw(count)))
            print(f"| {epsilon}, {delta} | {name} | {noise.mean():.4f} ± {noise.std() / count**0.5:.4f} |", flush=True)


def design(program, scratch, epsilon, delta):
    path = os.path.join(scratch, f"{epsilon}-{delta}.json")
    command = [program, "design", "--epsilon", str(epsilon), "--delta", str(delta), "--sensitivity", "1", "--loss", "l1"]
    subprocess.run([*command, "--quiet", "-o", path], check=True)
    return path


def load(path):
    import noisewright

    return noisewright.load(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="noisewright")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        path = design(options.program, scratch, 1, 1e-6)
        with open(path, encoding="utf-8") as f:
            print(f"{len(json.load(f)['weights'])} cells, epsilon 1, delta 1e-6\n")
        times(load(path))
        rows(path)
        errors(options.program, scratch)


if __name__ == "__main__":
    main()
