# SPDX-License-Identifier: Apache-2.0
"""Arguments that are no arrays, lie about themselves, or are too large; and what can be changed
after a proof."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import BUNDLES, file

import noisewright as nw


class Raising:
    """No array, and it says why with a private value."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("secret 4711")


class Changing:
    """Another value each time it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __array__(self, *_: Any, **__: Any) -> Any:
        self.asked += 1
        return np.array([0.5] * self.asked)


class Lying(np.ndarray[Any, Any]):
    """An array that says of itself what is not so."""

    @property
    def ndim(self) -> int:
        return 0

    def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("secret 4711")

    def astype(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("secret 4711")


def releases() -> list[Callable[[Any], Any]]:
    table, kernel, additive = (nw.load(file(name)) for name in ("real", "kernel", "additive"))
    randomizer, labels, bundle = (nw.load(path) for path in (file("local-unbiased"), file("categories"), BUNDLES[0]))
    assert isinstance(table, nw.Table) and isinstance(kernel, nw.Kernel) and isinstance(additive, nw.AdditiveKernel)
    assert isinstance(randomizer, nw.Randomizer) and isinstance(labels, nw.Randomizer) and isinstance(bundle, nw.Bundle)
    return [
        table.add_noise,
        lambda x: table.privatize(x, 0, 1),
        lambda x: table.interval(x, 0.9),
        kernel.release,
        kernel.privatize,
        additive.release,
        additive.privatize,
        randomizer.release,
        randomizer.privatize,
        labels.release,
        bundle.privatize,
        bundle.decode,
    ]


@pytest.mark.parametrize(
    "values",
    [[[0.5], [0.5, 0.5]], [0.5, [0.5]], Raising(), [0.5, None], ["secret 4711"], "secret 4711", {0.5}, object(), 1j],
    ids=lambda v: type(v).__name__,
)
def test_no_array(values: Any) -> None:
    for i, release in enumerate(releases()):
        with pytest.raises(nw.InvalidError) as caught:
            release(values)
        assert "4711" not in str(caught.value), i
        assert caught.value.__suppress_context__ or caught.value.__context__ is None, i


def test_is_asked_once() -> None:
    table = nw.load(file("real"))
    assert isinstance(table, nw.Table)
    changing = Changing()
    assert table.add_noise(changing).shape == (1,)
    assert changing.asked == 1


def test_subclasses_are_arrays() -> None:
    table = nw.load(file("real"))
    assert isinstance(table, nw.Table)
    lying = np.array([0.5, 0.5]).view(Lying)
    out = table.add_noise(lying)
    assert type(out) is np.ndarray and out.shape == (2,)
    assert table.privatize(lying, 0, 1).shape == (2,)


def test_series_of_a_class_of_its_own() -> None:
    pd = pytest.importorskip("pandas")

    class Mine(pd.Series):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__([0.5, None], name="hours")

    table = nw.load(file("real"))
    assert isinstance(table, nw.Table)
    with pytest.raises(nw.InvalidError, match="missing"):
        table.privatize(Mine(), 0, 1)
    with pytest.raises(nw.InvalidError, match="missing"):
        nw.load(file("kernel")).privatize(Mine())  # type: ignore[call-arg, union-attr]


@pytest.mark.parametrize("shape", [2**62, (2**31, 2**31), (0, 2**62), 10**30, (1,) * 33, (2**40, 2)])
def test_shapes_too_large(shape: Any) -> None:
    table = nw.load(file("real"))
    assert isinstance(table, nw.Table)
    for draw in (table.sample, table.sample_steps):
        with pytest.raises(nw.InvalidError, match="want at most 32 and 2\\^40"):
            draw(shape)


@pytest.mark.parametrize("x", ["a", None, [1, 2], 10**400, 1j, object()], ids=lambda x: str(x)[:9])
def test_parameters_that_are_no_numbers(x: Any) -> None:
    table, additive = nw.load(file("real")), nw.load(file("additive"))
    assert isinstance(table, nw.Table) and isinstance(additive, nw.AdditiveKernel)
    for call in (
        lambda: table.quantile(x),
        lambda: table.profile(x),
        lambda: table.interval(0.0, x),
        lambda: table.privatize([0.5], x, 1),
        lambda: table.privatize([0.5], 0, x),
        lambda: additive.privatize([0.5], x),
    ):
        with pytest.raises(nw.InvalidError):
            call()


@pytest.mark.parametrize(
    "path",
    [
        *map(file, ("real", "bounded", "integer-tail-l2", "kernel", "additive", "local-unbiased", "categories")),
        *(path for path in BUNDLES if path.stem != "layers-false"),  # malformed
    ],
    ids=lambda path: path.stem,
)
def test_nothing_is_changed_after_the_proof(path: Path) -> None:
    """All that a proof is about is of tuples, Fields and arrays that are not written to."""
    seen: set[int] = set()

    def walk(x: Any, path: str) -> None:
        if id(x) in seen:
            return
        seen.add(id(x))
        assert not isinstance(x, (list, dict, set, bytearray)), path
        if isinstance(x, np.ndarray):
            assert not x.flags.writeable, path
        elif isinstance(x, tuple):
            for i, part in enumerate(x):
                walk(part, f"{path}[{i}]")
        elif hasattr(x, "keys"):
            with pytest.raises(TypeError):
                x["epsilon"] = 0.0
            for key in x:
                walk(x[key], f"{path}.{key}")
        elif type(x).__module__.endswith("file"):  # a specification or a part of one
            for key, part in vars(x).items():
                walk(part, f"{path}.{key}")
        elif hasattr(x, "_spec"):
            walk(x._spec, f"{path}.spec")

    made = nw.load(path, verify=False)
    walk(made, path.stem)
    assert len(seen) > 10
