# SPDX-License-Identifier: Apache-2.0
"""Noise follows the law, and none is drawn twice: by threads, after fork, after spawn."""

from __future__ import annotations

import math
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from conftest import REPOSITORY, file

import noisewright as nw
from noisewright import _words

FINE = REPOSITORY / "account" / "testdata" / "table-1-1e-6.json"  # some 10^8 points: draws differ


def fine() -> nw.Table:
    table = nw.load(FINE)
    assert isinstance(table, nw.Table)
    return table


@pytest.fixture(params=["system", "keyed"])
def source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Both sources of words."""
    if request.param == "system":
        monkeypatch.setattr(_words, "_keystream", None)
    elif _words._keystream is None:
        pytest.skip("cryptography is not installed")
    yield request.param


def repeats(draws: list[Any]) -> int:
    """How many of the draws, in runs of 4, came before: independent ones have none."""
    runs = np.concatenate([np.asarray(d).reshape(-1, 4) for d in draws])
    return len(runs) - len(np.unique(runs, axis=0))


def chi_square_excess(counts: Any, probabilities: Any) -> float:
    """Pearson's statistic of cells that expect at least 20, by Wilson and Hilferty (1931) about a
    standard normal deviate."""
    total = counts.sum()
    expected = probabilities * total
    large = expected >= 20
    statistic = ((counts[large] - expected[large]) ** 2 / expected[large]).sum()
    rest, rest_expected = counts[~large].sum(), expected[~large].sum()
    cells = int(large.sum())
    if rest_expected >= 20:
        statistic += (rest - rest_expected) ** 2 / rest_expected
        cells += 1
    k = cells - 1
    return float(((statistic / k) ** (1 / 3) - (1 - 2 / (9 * k))) / math.sqrt(2 / (9 * k)))


def test_chi_square(source: str) -> None:
    """1e7 draws over all cells, and over the points of a cell. The limit of 6.5 deviations has a
    false alarm below 1e-10, far above the error of the approximation; an effect of 1 % in a cell of
    probability 1 % shifts it by some 10."""
    table = fine()
    s = table._spec
    cells = np.zeros(len(s.weights), dtype=np.int64)
    points = np.zeros(97, dtype=np.int64)
    for _ in range(10 if source == "keyed" else 1):
        n = table.sample_steps(1_000_000) - s.first_point(0)
        cells += np.bincount(n // s.points, minlength=len(cells))
        points += np.bincount(n % s.points % 97, minlength=97)
    weights = np.array(s.weights, dtype=np.float64) * 2.0**-64
    assert s.atom == 0
    assert chi_square_excess(cells, weights) < 6.5
    each = np.array([len(range(r, s.points, 97)) for r in range(97)]) / s.points
    assert chi_square_excess(points, each) < 6.5


@pytest.mark.parametrize("name", ["tail", "integer-tail-l2", "asymmetric-tail"])
def test_chi_square_of_tails(name: str) -> None:
    table = nw.load(file(name))
    assert isinstance(table, nw.Table)
    s = table._spec
    low, high = s.first_point(0) - 6 * s.period, s.first_point(len(s.weights)) + 6 * s.period
    n = table.sample_steps(300_000)
    cells = np.clip((n - low) // s.points, -1, (high - low) // s.points) + 1
    rho, size = s.tail_ratio / 2**64, (high - low) // s.points
    p = np.zeros(size + 2)
    for i, w in enumerate(s.weights):
        at = (s.first_point(i) - low) // s.points + 1
        if not s.side(i):
            p[at] += w
            continue
        for m in range(7):
            p[at + s.side(i) * m * s.cells] += w * (1 - rho) * rho**m
        p[0 if s.side(i) < 0 else -1] += w * rho**7
    assert chi_square_excess(np.bincount(cells, minlength=size + 2), p / 2.0**64) < 6.5


def test_chi_square_of_answers() -> None:
    """A real value between nodes mixes the laws of both."""
    randomizer = nw.load(file("local-worst"))
    assert isinstance(randomizer, nw.Randomizer)
    spec = randomizer._spec
    a, b = spec.nodes[1], spec.nodes[2]
    x = a + 0.3 * (b - a)
    theta = (x - a) / (b - a)
    rows = np.array(spec.rows, dtype=np.float64) * 2.0**-64
    drawn = np.searchsorted(np.array(spec.answers), randomizer.release(np.full(200_000, x)))
    counts = np.bincount(drawn, minlength=len(spec.answers))
    assert chi_square_excess(counts, (1 - theta) * rows[1] + theta * rows[2]) < 6.5


def test_spherical_noise_has_its_law() -> None:
    """The norm of d coordinates has the mean d·tau and the variance d·tau²; six deviations."""
    bundle = nw.load(file("real").parents[1] / "bundles" / "norm-ball")
    assert isinstance(bundle, nw.Bundle)
    x = np.zeros((400, len(bundle.features)))
    noise = bundle.privatize(x) - bundle.encode(x)
    d, tau = bundle.coordinates, bundle._spec.tau
    norms = np.linalg.norm(noise, axis=1) / tau
    assert abs(norms.mean() - d) < 6 * math.sqrt(d / 400)
    assert np.abs(noise.mean(axis=0) / tau).max() < 6 * math.sqrt(d + 1) / 20


def test_threads(source: str) -> None:
    table = fine()
    barrier = threading.Barrier(8)

    def draw(_: int) -> Any:
        barrier.wait()
        return [table.sample_steps(4000) for _ in range(4)]

    with ThreadPoolExecutor(8) as pool:
        draws = [d for many in pool.map(draw, range(8)) for d in many]
    assert repeats(draws) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork(source: str) -> None:
    """Parent and children draw apart, and a child draws at once, whatever was drawn before."""
    table = fine()
    before = table.sample_steps(4000)
    table.add_noise(0.0)
    ends = []
    for _ in range(3):
        read, write = os.pipe()
        if os.fork() == 0:
            try:
                os.close(read)
                raw = np.concatenate([table.sample_steps(4000), table.sample_steps(4)]).tobytes()
                os.write(write, raw)  # less than a pipe holds
            finally:
                os._exit(0)
        os.close(write)
        ends.append(read)
    children = []
    for read in ends:
        with os.fdopen(read, "rb") as f:
            children.append(np.frombuffer(f.read(), dtype=np.int64))
    for _ in ends:
        os.wait()
    assert all(c.size == 4004 for c in children)
    assert repeats([before, table.sample_steps(4000), *children]) == 0


def worker(count: int) -> Any:
    return fine().sample_steps(count)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_processes(method: str) -> None:
    table = fine()
    with multiprocessing.get_context(method).Pool(2) as pool:
        draws = pool.map(worker, [2000] * 4, chunksize=1)
    assert repeats([table.sample_steps(2000), *draws]) == 0


def test_a_pickled_table_draws_anew() -> None:
    import pickle

    table = fine()
    other = pickle.loads(pickle.dumps(table))
    assert repeats([table.sample_steps(4000), other.sample_steps(4000)]) == 0


def test_without_randomness_nothing_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: int) -> bytes:
        raise OSError("no device")

    table = fine()
    monkeypatch.setattr("os.urandom", fails)
    for draw in (lambda: table.sample(10), lambda: table.sample(100_000), lambda: table.add_noise(0.0)):
        release: Callable[[], Any] = draw
        with pytest.raises(nw.EntropyError):
            release()


def test_numpy_is_enough() -> None:
    """Nothing else is imported, but cryptography if it is there."""
    code = """
import sys
class Only:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("cryptography", "pandas", "polars", "torch", "scipy"):
            raise ImportError(name)
sys.meta_path.insert(0, Only())
import noisewright
table = noisewright.load(sys.argv[1])
print(table.sample(70000).size, noisewright.generator())
"""
    done = subprocess.run([sys.executable, "-c", code, str(FINE)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "70000 the system's generator"
