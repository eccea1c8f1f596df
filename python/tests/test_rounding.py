# SPDX-License-Identifier: Apache-2.0
"""Rounding to the grid, what is refused, and columns."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from conftest import file

import noisewright as nw
from noisewright._rounding import at_random, below, float_values, to_grid, words_from


def load(name: str) -> nw.Table:
    table = nw.load(file(name))
    assert isinstance(table, nw.Table)
    return table


def hard_values() -> list[float]:
    """Where the obvious ⌊x/g + 0.5⌋ is wrong, halves, ends, and numbers of all sizes."""
    near_half = math.nextafter(0.5, 0)
    values = [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, near_half, -near_half, math.nextafter(0.5, 1), 5e-324, -5e-324]
    values += [2.0**52 - 0.5, 2.0**51 + 0.5, -(2.0**51) - 0.5, 2.0**52 + 1, 2.0**53 - 1, -(2.0**53) + 1, 2.0**53]
    rng = np.random.default_rng(3)
    values += (rng.standard_normal(300) * 2.0 ** rng.integers(-60, 52, 300)).tolist()
    values += (rng.integers(-1000, 1000, 200) / 2).tolist()
    return values


@pytest.mark.parametrize("exponent", [-900, -30, -10, 0, 3, 850])
def test_to_the_grid(exponent: int) -> None:
    step = 2.0**exponent
    values = [v * step for v in hard_values()]
    want = [math.floor(Fraction(v) / Fraction(step) + Fraction(1, 2)) for v in values]
    assert to_grid(np.array(values), step, 1 << 53).tolist() == want


def test_too_large() -> None:
    step = 2.0**-10
    for x in (math.nan, math.inf, -math.inf, 101 * step, -100.51 * step, 1e300):
        with pytest.raises(nw.InvalidError) as caught:
            to_grid(np.array([0.0, x]), step, 100)
        assert "101" not in str(caught.value).replace("100 steps", "")  # nothing of the value
    assert to_grid(np.array([100.49, -100.5]) * step, step, 100).tolist() == [100, -100]


def test_at_random_is_exact() -> None:
    """The first word decides as the exact comparison does, and the rest is exact for large values."""
    rng = np.random.default_rng(4)
    for step in (0.1, 1.0, 0.3, 1e-200, 7e200):
        x = np.concatenate(
            [rng.standard_normal(200) * step * 2.0 ** rng.integers(0, 51, 200), np.array([0.0, step, 2.5 * step])]
        )
        u = rng.integers(0, 1 << 64, x.size, dtype=np.uint64)
        want = []
        for value, w in zip(x.tolist(), u.tolist(), strict=True):
            n = round(value / step)
            rest = Fraction(value) - n * Fraction(step)
            away = w < abs(rest) / Fraction(step) * (1 << 64) - Fraction(1, 1 << 40)
            want.append(n + (away if rest > 0 else -away))
        assert at_random(x, step, 1 << 53, words_from(u)).tolist() == want


def test_ties_of_words_are_decided_by_the_next() -> None:
    theta = Fraction(1, 3)
    digit = (1 << 64) // 3
    for following, want in ((digit - 1, True), (digit + 1, False)):
        words = words_from(np.array([digit, following], dtype=np.uint64))
        assert bool(below(np.array([1 / 3]), words, lambda _: theta)[0]) is want
    half = words_from(np.array([1 << 63], dtype=np.uint64))
    assert not below(np.array([0.5]), half, lambda _: Fraction(1, 2))[0]  # no more digits are below


@pytest.mark.parametrize("name", ["real", "integer", "lattice-l2", "tail", "one-sided", "asymmetric-tail"])
def test_results_are_multiples_of_the_step(name: str) -> None:
    table = load(name)
    x = np.array([[0.0, 3.0], [-7.0, 11.0]])
    y = table.add_noise(x)
    assert y.shape == (2, 2)
    assert y.dtype == np.float64
    steps = y / table.step
    assert np.abs(steps - np.rint(steps)).max() < 1e-6
    assert isinstance(table.add_noise(5.0), float)
    assert table.sample((2, 3)).shape == (2, 3)
    assert isinstance(table.sample(), float)
    if name == "one-sided":
        assert (table.sample(1000) >= 0).all()


def test_types() -> None:
    real, integer = load("real"), load("integer")
    for dtype in (np.float64, np.float32, np.float16, np.int64, np.int8, np.uint16, np.bool_):
        values = np.array([0, 1, 1], dtype=dtype)
        assert real.add_noise(values).dtype == np.float64
        kind = integer.add_noise(values).dtype.kind
        assert kind == ("i" if values.dtype.kind in "iu" else "f")
    assert isinstance(integer.add_noise(3), int)
    assert real.add_noise([]).shape == (0,)
    # float32 values are what they are as float64s.
    third = np.float32(1 / 3)
    assert float_values(np.array([third]))[0] == float(third)
    for bad in (np.array([1 << 60]), np.array(["a"]), np.array([1j]), np.array([1 << 63], dtype=np.uint64)):
        with pytest.raises(nw.InvalidError):
            real.add_noise(bad)
    if np.dtype(np.longdouble).itemsize > 8:
        with pytest.raises(nw.InvalidError):
            real.add_noise(np.array([1], dtype=np.longdouble))


def test_refusals_say_nothing_of_values() -> None:
    real, integer = load("real"), load("integer")
    for table, x in ((real, 123.0e300), (real, math.nan), (real, math.inf), (integer, 12.375), (integer, 2.0**53)):
        with pytest.raises(nw.InvalidError) as caught:
            table.add_noise(np.array([1.0, x]))
        assert "123" not in str(caught.value)
        assert "12.3" not in str(caught.value)
    kernel = nw.load(file("kernel"))
    assert isinstance(kernel, nw.Kernel)
    low, high = kernel.range
    for x in (low - 1, high + 1, math.nan):
        with pytest.raises(nw.InvalidError):
            kernel.release(np.array([low, x]))
    categories = nw.load(file("categories"))
    assert isinstance(categories, nw.Randomizer)
    with pytest.raises(nw.InvalidError) as caught:
        categories.release("a disease")
    assert "disease" not in str(caught.value)


def test_clips_wider_than_the_sensitivity_are_refused() -> None:
    table = load("real")  # of sensitivity 1
    for lower, upper in ((0.0, 1.5), (1.0, 1.0), (2.0, 1.0), (-math.inf, 0.0), (0.0, math.nan), (1e300, 1e300 + 1)):
        with pytest.raises(nw.InvalidError):
            table.privatize([0.5], lower, upper)
    # Wider by the rounding of decimals alone: the range becomes narrower.
    assert Fraction(1.1) - Fraction(0.1) > 1
    assert Fraction(table._range(0.1, 1.1)[1]) - Fraction(0.1) <= 1
    # Ends that numpy made are the numbers that they are: 100 - (-100) is -56 in int8.
    for kind, end in ((np.int8, 100), (np.int16, 20000), (np.int64, 1 << 62), (np.float32, 1)):
        with pytest.raises(nw.InvalidError, match="sensitivity"):
            table.privatize([0.5], kind(-end), kind(end))
    assert table.privatize([0.5], np.float32(0), np.uint8(1)).shape == (1,)
    with pytest.raises(nw.InvalidError):
        load("integer").privatize([1], 0.5, 1.5)


class Exactly:
    """A table that adds nothing, to see what it is given."""

    def __init__(self, table: nw.Table, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(nw.Table, "add_noise", lambda _, x: np.asarray(x))
        self.table = table


def test_privatize(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Exactly(load("real"), monkeypatch).table
    values: Any = [-5.0, 0.25, 7.0, math.inf, -math.inf]
    want = [0.0, 0.25, 1.0, 1.0, 0.0]
    assert table.privatize(values, 0, 1).tolist() == want
    with pytest.raises(nw.InvalidError):
        table.privatize([0.5, math.nan], 0, 1)
    with pytest.raises(nw.InvalidError):
        table.privatize(["a"], 0, 1)
    whole = Exactly(load("integer"), monkeypatch).table
    clipped = whole.privatize(np.array([-9, 0, 1, 1 << 62]), 0, 1)
    assert clipped.tolist() == [0, 0, 1, 1]
    assert clipped.dtype.kind == "i"
    assert whole.privatize(np.array([250], dtype=np.uint8), -1, 0).tolist() == [0]


def test_shapes() -> None:
    table = load("real")
    shape: Any
    for shape, want in ((2, (2,)), (np.int64(2), (2,)), ((2, 3), (2, 3)), ([2, 3], (2, 3)), (0, (0,)), ((), ())):
        assert np.shape(table.sample(shape)) == want
    bad: Any
    for bad in (-1, (2, -3), 1.5, "3", (1.5,)):
        with pytest.raises(nw.InvalidError, match=r"shape = .* want an integer or a tuple of them"):
            table.sample(bad)


def test_intervals_are_of_one_value() -> None:
    values: Any = [0.0, 1.0]
    with pytest.raises(nw.InvalidError, match=r"y = an array of shape \(2,\), want one released value"):
        load("real").interval(values, 0.95)


def test_pandas() -> None:
    pd = pytest.importorskip("pandas")
    table = load("real")
    series = pd.Series([0.1, 0.9, 3.0], index=["a", "b", "c"], name="hours")
    out = table.privatize(series, 0, 1)
    assert isinstance(out, pd.Series)
    assert list(out.index) == ["a", "b", "c"]
    assert out.name == "hours"
    assert table.privatize(pd.Series([1, 2], dtype="Int64"), 0, 1).size == 2
    whole = load("integer").privatize(pd.Series([1, 0]), 0, 1)
    assert whole.dtype.kind == "i"
    for missing in (pd.Series([0.5, None]), pd.Series([1, None], dtype="Int64")):
        with pytest.raises(nw.InvalidError, match="missing"):
            table.privatize(missing, 0, 1)
    for frame in (pd.DataFrame({"a": [0.5], "b": [1.0]}), pd.DataFrame({"a": [0.5]})):
        with pytest.raises(nw.InvalidError, match="a DataFrame of columns, want one column at a time"):
            table.privatize(frame, 0, 1)
    assert table.privatize(pd.Series([0.5], index=["columns"]), 0, 1).size == 1
    kernel = nw.load(file("kernel"))
    assert isinstance(kernel, nw.Kernel)
    assert set(kernel.privatize(pd.Series([-1e9, 1e9]))) <= set(kernel.nodes)
    colors = nw.load(file("categories"))
    assert isinstance(colors, nw.Randomizer)
    label = str(colors.answers[0])
    assert colors.privatize(pd.Series([label] * 3, name="c")).isin(colors.answers).all()


def test_polars() -> None:
    pl = pytest.importorskip("polars")
    table = load("real")
    out = table.privatize(pl.Series("hours", [0.1, 0.9, 3.0]), 0, 1)
    assert isinstance(out, pl.Series)
    assert out.name == "hours"
    assert out.len() == 3
    with pytest.raises(nw.InvalidError, match="missing"):
        table.privatize(pl.Series([0.5, None]), 0, 1)


def test_additive_kernels_clip() -> None:
    kernel = nw.load(file("additive-bounded"))
    assert isinstance(kernel, nw.AdditiveKernel)
    low, high = kernel.edges[0], kernel.edges[-1]
    inside = max(low, -1e3) if math.isfinite(low) else min(high, 1e3)
    assert kernel.privatize([inside, inside]).shape == (2,)
    outside = low - 1 if math.isfinite(low) else high + 1
    with pytest.raises(nw.InvalidError):
        kernel.release(outside)


def test_masked_values_are_missing() -> None:
    """numpy keeps a number below a mask, which is nobody's to release."""
    kernel, randomizer, labels = (nw.load(file(name)) for name in ("kernel", "local-unbiased", "categories"))
    assert isinstance(kernel, nw.Kernel)
    assert isinstance(randomizer, nw.Randomizer) and isinstance(labels, nw.Randomizer)
    table = load("real")
    low, label = kernel.range[0], labels.answers[0]

    def releases(mask: list[bool]) -> list[Callable[[], Any]]:
        return [
            lambda: table.add_noise(np.ma.masked_array([0.5, 0.5], mask)),
            lambda: table.privatize(np.ma.masked_array([0.5, 0.5], mask), 0, 1),
            lambda: kernel.release(np.ma.masked_array([low, low], mask)),
            lambda: kernel.privatize(np.ma.masked_array([low, low], mask)),
            lambda: randomizer.release(np.ma.masked_array([0.0, 0.0], mask)),
            lambda: labels.release(np.ma.masked_array([label, label], mask)),
        ]

    for release in releases([False, True]):
        with pytest.raises(nw.InvalidError, match="missing"):
            release()
    for release in releases([False, False]):
        assert release().shape == (2,)
