"""Bounds on compositions from Google's dp_accounting, for TestDPAccounting.

Usage: python3 golden.py [FOLDER] > dp_accounting.json

FOLDER holds the tables, and is that of this file if absent. Of every
composition the delta at some epsilons is printed as [optimistic, pessimistic].
A table's worst shift is the full one, either way alike. Of the subsampled
Gaussian it is the epsilon at a delta, by connecting the dots, for its other
estimates are far off.
"""

import json
import math
import os
import sys

from dp_accounting.pld import privacy_loss_distribution as pld

def both(make):
    return [make(False), make(True)]


def gaussian(sigma, h):
    return both(lambda up: pld.from_gaussian_mechanism(
        sigma, pessimistic_estimate=up, value_discretization_interval=h))


def laplace(epsilon, h):
    return both(lambda up: pld.from_laplace_mechanism(
        1 / epsilon, pessimistic_estimate=up, value_discretization_interval=h))


def discrete_laplace(epsilon, sensitivity, h):
    return both(lambda up: pld.from_discrete_laplace_mechanism(
        epsilon / sensitivity, sensitivity=sensitivity, pessimistic_estimate=up,
        value_discretization_interval=h))


def discrete_gaussian(sigma, sensitivity, h):
    return both(lambda up: pld.from_discrete_gaussian_mechanism(
        sigma, sensitivity=sensitivity, pessimistic_estimate=up,
        value_discretization_interval=h))


def randomized_response(epsilon, categories, h):
    # Google's parameter is the probability of a random answer.
    noise = categories / (math.exp(epsilon) + categories - 1)
    return both(lambda up: pld.from_randomized_response(
        noise, categories, pessimistic_estimate=up, value_discretization_interval=h))


def dp(epsilon, delta, h):
    from dp_accounting.pld import common
    p = common.DifferentialPrivacyParameters(epsilon, delta)
    return both(lambda up: pld.from_privacy_parameters(
        p, value_discretization_interval=h))


def table(folder, name, h):
    with open(os.path.join(folder, name + ".json")) as f:
        t = json.load(f)
    weights = [int(w) for w in t["weights"]]
    k = t["grid"]["cells_per_sensitivity"]

    def law(shift):
        return {i + shift: math.log(w * 2.0**-64) for i, w in enumerate(weights) if w}
    return both(lambda up: pld.from_two_probability_mass_functions(
        law(k), law(0), pessimistic_estimate=up, value_discretization_interval=h))


def cases(folder):
    yield "gaussian:sigma=1", 10, gaussian(1, 1e-4), [5, 15, 25]
    yield "gaussian:sigma=30", 1000, gaussian(30, 1e-5), [1, 3, 6]
    yield "laplace:epsilon=0.1", 100, laplace(0.1, 1e-4), [1, 3, 5]
    yield "laplace:epsilon=2", 5, laplace(2, 1e-4), [2, 6, 9]
    yield "discrete-laplace:epsilon=1,sensitivity=1", 20, discrete_laplace(1, 1, 1e-4), [5, 10, 15]
    yield "discrete-laplace:epsilon=1,sensitivity=7", 20, discrete_laplace(1, 7, 1e-4), [5, 10, 15]
    yield "discrete-gaussian:sigma=3,sensitivity=2", 15, discrete_gaussian(3, 2, 1e-4), [3, 8, 14]
    yield "discrete-gaussian:sigma=50,sensitivity=5", 100, discrete_gaussian(50, 5, 1e-4), [1, 3, 6]
    yield "randomized-response:epsilon=0.5,categories=6", 40, randomized_response(0.5, 6, 1e-4), [2, 5, 10]
    yield "dp:epsilon=0.2,delta=1e-7", 50, dp(0.2, 1e-7, 1e-4), [2, 4, 8]
    yield "table-0.1-1e-9", 2, table(folder, "table-0.1-1e-9", 1e-5), [0.05, 0.1, 0.19]
    yield "table-0.1-1e-9", 100, table(folder, "table-0.1-1e-9", 1e-5), [1, 3, 6]
    yield "table-1-1e-6", 3, table(folder, "table-1-1e-6", 1e-5), [0.5, 1.5, 2.9]
    yield "table-1-1e-6", 50, table(folder, "table-1-1e-6", 1e-4), [5, 15, 30]


# Standard deviation over the norm, rate, steps, delta, step of the grid.
SUBSAMPLED = [
    (0.7, 64 / 45000, 54000, 1e-5, 1e-4),
    (1.1, 64 / 45000, 8500, 1e-5, 1e-5),
    (1, 0.01, 1000, 1e-5, 1e-4),
    (2, 0.1, 100, 1e-6, 1e-4),
    (0.56, 0.001, 10000, 1e-5, 1e-4),
    (1.1, 0.001, 30000, 1e-5, 1e-5),
    (1, 0.01, 1, 1e-5, 1e-5),
    (0.5, 0.01, 2, 1e-5, 1e-4),
    (0.3, 0.2, 50, 1e-6, 1e-4),
    (1, 0.999, 10, 1e-5, 1e-4),
]


def subsampled():
    for sigma, rate, times, delta, h in SUBSAMPLED:
        law = pld.from_gaussian_mechanism(
            sigma, sampling_prob=rate, value_discretization_interval=h, use_connect_dots=True)
        total = law.self_compose(times) if times > 1 else law
        yield {"mechanism": "subsampled-gaussian:sigma=%r,rate=%r" % (sigma, rate), "times": times,
               "target": delta, "epsilon": float(total.get_epsilon_for_delta(delta))}


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    out = []
    for name, times, laws, epsilons in cases(folder):
        sums = [law.self_compose(times) if times > 1 else law for law in laws]
        for epsilon in epsilons:
            low, high = (s.get_delta_for_epsilon(epsilon) for s in sums)
            out.append({"mechanism": name, "times": times, "epsilon": epsilon,
                        "delta": [float(low), float(high)]})
    # A mixture: one release each of five mechanisms.
    parts = [gaussian(2, 1e-4), laplace(0.5, 1e-4), discrete_laplace(0.7, 3, 1e-4),
             randomized_response(0.3, 4, 1e-4), table(folder, "table-1-1e-6", 1e-4)]
    mixture = "gaussian:sigma=2 laplace:epsilon=0.5 discrete-laplace:epsilon=0.7,sensitivity=3 " \
        "randomized-response:epsilon=0.3,categories=4 table-1-1e-6"
    for epsilon in [1, 2, 3, 4]:
        deltas = []
        for up in [0, 1]:
            total = parts[0][up]
            for part in parts[1:]:
                total = total.compose(part[up])
            deltas.append(float(total.get_delta_for_epsilon(epsilon)))
        out.append({"mechanism": mixture, "times": 1, "epsilon": epsilon, "delta": deltas})
    out += subsampled()
    print("[\n" + ",\n".join(json.dumps(o) for o in out) + "\n]")


if __name__ == "__main__":
    main()
