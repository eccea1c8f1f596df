# SPDX-License-Identifier: Apache-2.0
"""Bundles, private encoders with their noise: docs/bundle-format.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewright import _bundlecheck, _bundlefile, _encode
from noisewright._bundlecheck import Accountant, BundleCertificate
from noisewright._rounding import float_values
from noisewright._spherical import spherical
from noisewright._words import Floats, Words, system_words
from noisewright.errors import InvalidError
from noisewright.randomizer import Randomizer
from noisewright.table import Table


class Bundle:
    """An encoder, a clipping rule, noise and a decoder. It is immutable and safe for threads and
    forks. Made by noisewright.load of a directory."""

    def __init__(self, spec: _bundlefile.Spec) -> None:
        self._spec = spec
        self._certificate: BundleCertificate | None = None

    def __repr__(self) -> str:
        promise = "no promise" if self.promise is None else "epsilon={}, delta={}".format(*self.promise)
        counts = f"{len(self.features)} features, {self.coordinates} released, {len(self.outputs)} outputs"
        return f"<Bundle: {promise}, {counts}>"

    @property
    def promise(self) -> tuple[float, float] | None:
        """(epsilon, delta) of a release, between any two inputs; None for a filter."""
        return self._spec.promise

    @property
    def features(self) -> list[str]:
        """The names of the features."""
        return list(self._spec.features)

    @property
    def outputs(self) -> list[str]:
        """The names of what decode returns."""
        return list(self._spec.outputs)

    @property
    def coordinates(self) -> int:
        """How many numbers are released."""
        return self._spec.coordinates

    @property
    def axes(self) -> Floats:
        """What each coordinate is clipped to, either way; none where a category is released."""
        axes: Floats = self._spec.axes.copy()
        return axes

    @property
    def domain(self) -> str:
        """The body that encodings are clipped to: ball, l1-ball, box or bounds; or cells, of which one
        is released."""
        return self._spec.domain

    @property
    def composition(self) -> str:
        """How the promise follows from the noise."""
        return self._spec.composition

    @property
    def laws(self) -> list[Table] | list[Randomizer]:
        """The table or the randomizer of each coordinate; none for the compositions norm and ball and for
        filters."""
        s = self._spec
        if s.randomized:
            return [s.randomizers[k] for k in s.randomizer_of]
        return [s.tables[k] for k in s.table_of]

    @property
    def proved(self) -> bool:
        """Whether the bundle was verified."""
        return self._certificate is not None

    def verify(self, accountant: Accountant | None = None, work: int | None = None) -> BundleCertificate:
        """Proves the promise, once, and returns what is proved.

        Raises NotPrivateError if it is not proved, NoPromiseError for a filter, WorkError if that
        takes more elementary operations than `work`. The exact composition of tables is for an
        accountant, which returns an upper bound on the delta of their tables together; without one
        it is UnprovedError, unless basic composition is enough.
        """
        if self._certificate is None:
            self._certificate = _bundlecheck.verify(self._spec, accountant, work)
        return self._certificate

    def encode(self, x: Any) -> Floats:
        """The clipped encoding of features, WITHOUT NOISE AND UNSAFE FOR RELEASE: a vector, or a
        row for each row of features; see privatize."""
        values, single = self._features(x)
        u = _encode.encode(self._spec, values)
        return u[0] if single else u

    def privatize(self, x: Any) -> Floats:
        """Private encodings of features: a vector, or a row for each row of features. Each spends
        the whole promise on its person. Of a frame, or a dict of columns, features are taken by name;
        those of an array are in the order of features.

        Raises InvalidError if a feature is not a finite number, without saying which; nothing is
        released then.
        """
        self.verify()
        values, single = self._features(x)
        released = self._release(_encode.encode(self._spec, values), system_words)
        return released[0] if single else released

    def decode(self, u: npt.ArrayLike) -> Floats:
        """What is decoded from released numbers, which costs no privacy."""
        values, single = self._rows(u, self.coordinates, "coordinates")
        y = _encode.decode(self._spec, values)
        return y[0] if single else y

    def decide(self, u: npt.ArrayLike) -> list[str]:
        """The class that each row of released numbers stands for: of a category that of its answer,
        which costs may have chosen, and otherwise the most probable one."""
        s = self._spec
        if s.output != "classes":
            raise InvalidError(f"output = {s.output}, want classes to decide on")
        values, _ = self._rows(u, self.coordinates, "coordinates")
        likely = _encode.decode(s, values).argmax(axis=1)
        if s.category:
            likely = np.array(s.category.decisions)[values[:, 0].astype(np.int64)]
        return [s.outputs[k] for k in likely]

    def _features(self, x: Any) -> tuple[Floats, bool]:
        names: Any = x if isinstance(x, Mapping) else getattr(x, "columns", None)
        if names is None and hasattr(type(x), "index") and hasattr(type(x), "loc"):  # a row of a frame of pandas
            names = x.index if set(map(str, x.index)) & set(self.features) else None
        if names is not None:
            named = {str(name): name for name in names}
            if missing := [name for name in self.features if name not in named]:
                raise InvalidError(f"features lack {missing[0]!r}, want {', '.join(self.features)}")
            x = np.stack([float_values(x[named[name]]) for name in self.features], axis=-1)
        return self._rows(x, len(self._spec.features), "features")

    def _rows(self, x: Any, width: int, what: str) -> tuple[Floats, bool]:
        values = float_values(x)
        single = values.ndim == 1
        values = np.atleast_2d(values)
        if values.ndim != 2 or values.shape[1] != width:
            raise InvalidError(f"{what} = an array of shape {values.shape}, want {width} of them, or rows of so many")
        if not bool(np.all(np.isfinite(values))):
            raise InvalidError(f"one of the {what} is not a finite number, want one")
        return values, single

    def _release(self, u: Floats, words: Words) -> Floats:
        s = self._spec
        released = np.empty_like(u)
        if s.composition == "norm":
            for i, row in enumerate(u):
                noise = spherical(len(row), s.tau / s.step, words)
                released[i] = ((row / s.step).astype(np.int64) + noise) * s.step
            return released
        if s.ball:
            return s.ball._answers(u, words)
        if s.category:
            m = s.randomizers[0]
            released[:, 0] = m._indices(np.array(m.labels)[u[:, 0].astype(np.int64)], words)
            return released
        for i in range(u.shape[1]):
            if s.randomized:
                m = s.randomizers[s.randomizer_of[i]]
                released[:, i] = m.release(u[:, i])
            else:
                released[:, i] = s.tables[s.table_of[i]].add_noise(u[:, i])
        return released
