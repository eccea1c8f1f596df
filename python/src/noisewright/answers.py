# SPDX-License-Identifier: Apache-2.0
"""What the program answers about a data set, as results."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from noisewright import _rows
from noisewright._display import Fields, Rows
from noisewright.errors import InvalidError

if TYPE_CHECKING:
    from noisewright.statistics import Statistic


@dataclasses.dataclass(frozen=True)
class Charge:
    """What the ledger says of an answer: its number there, when it was charged, and whether the ledger had it already,
    so that it cost nothing."""

    release: int
    charged: str
    replayed: bool


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A private answer, with an interval that contains the exact one with a probability of at least the level."""

    key: Hashable  # None where there is one answer only
    value: float  # of top and best the place of the key, from 1
    lower: float
    upper: float
    rank_error: int | None = (
        None  # of quantiles: how many rows may be between, at the level; the interval is the bounds
    )
    count_error: int | None = None  # of top and best: no count is so far below the largest of those not named before
    clipped: tuple[float, float] | None = None  # bounds that were found: the interval is of the noise alone
    bias: float | None = None  # what clipping to bounds from a prior adds on average, if the prior is right

    def _exact(self) -> bool:
        """Whether the interval is about the exact answer."""
        return self.rank_error is None and self.count_error is None

    def __str__(self) -> str:
        if self.rank_error is not None:
            return f"{self.value:g} (at most {self.rank_error} rows from it)"
        if self.count_error is not None:
            return f"place {self.value:g} (less than {self.count_error} below the largest count not named before)"
        text = f"{self.value:g} ({self.lower:g} to {self.upper:g})"
        if self.clipped is not None:
            text += ", of values clipped to {:g} to {:g}".format(*self.clipped)
        return text if self.bias is None else f"{text}, which adds {self.bias:.3g} on average if the prior is right"


@dataclasses.dataclass(frozen=True, repr=False)
class Answer(Rows, Sequence[Estimate]):
    """The answer to a statistic: an estimate for each key, or a single one."""

    statistic: Statistic
    estimates: tuple[Estimate, ...]
    level: float
    epsilon: float
    delta: float
    releases: int
    neighbors: str
    unit: str
    mechanism: str
    mean_error: float | None
    tables: tuple[str, ...]
    not_protected: tuple[str, ...]
    query: Mapping[str, Any]
    charge: Charge | None

    @overload
    def __getitem__(self, at: int) -> Estimate: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Estimate]: ...
    def __getitem__(self, at: int | slice) -> Estimate | Sequence[Estimate]:
        return self.estimates[at]

    def __len__(self) -> int:
        return len(self.estimates)

    def rows(self) -> list[dict[str, Any]]:
        """A row for every estimate: the statistic, its key, the value and its interval, or the error of its rank or
        count, what values were clipped to if that was found, and what it cost."""
        return [
            {"statistic": self.name, "key": e.key, "value": e.value}
            | {"lower": e.lower if e._exact() else None, "upper": e.upper if e._exact() else None}
            | {"rank_error": e.rank_error, "count_error": e.count_error, "mean_error": self.mean_error}
            | dict(zip(("clipped_lower", "clipped_upper"), e.clipped or (None, None), strict=True))
            | {"epsilon": self.epsilon, "delta": self.delta}
            for e in self.estimates
        ]

    def __repr__(self) -> str:
        return "\n".join(f"{self._named(e)}: {e}" for e in self.estimates) or f"{self.name}: no keys"

    def _named(self, e: Estimate) -> str:
        return self.name if e.key is None else f"{self.name}: {e.key}"

    @property
    def name(self) -> str:
        """The statistic in words."""
        q = self.query
        parts = [(" of ", q.get("column")), (" by ", q.get("by")), (" where ", q.get("where")), (" ", q.get("name"))]
        kind = "median" if q.get("probability") == 0.5 else q["kind"]
        return str(kind) + "".join(word + part for word, part in parts if part)

    def _single(self) -> Estimate:
        if len(self.estimates) != 1:
            raise InvalidError(f"{self.name} has {len(self.estimates)} values, want one: see estimates, or to_dict")
        return self.estimates[0]

    @property
    def value(self) -> float:
        """The value, if there is one only."""
        return self._single().value

    @property
    def interval(self) -> tuple[float, float]:
        """Where the exact answer is with a probability of at least the level, if there is one only."""
        return self._single().lower, self._single().upper

    def __float__(self) -> float:
        return float(self.value)

    def to_dict(self) -> dict[Hashable, float]:
        """The values by key, in their order; of top and best the places of what was named."""
        return {e.key: e.value for e in self.estimates}


@dataclasses.dataclass(frozen=True, repr=False)
class Release(Rows, Sequence[Answer]):
    """The answers to the statistics of a call, in their order."""

    answers: tuple[Answer, ...]

    @overload
    def __getitem__(self, at: int) -> Answer: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Answer]: ...
    def __getitem__(self, at: int | slice) -> Answer | Sequence[Answer]:
        return self.answers[at]

    def __len__(self) -> int:
        return len(self.answers)

    def rows(self) -> list[dict[str, Any]]:
        """A row for every estimate: the statistic, its key, the value and its interval, and what it cost."""
        return [row for a in self.answers for row in a.rows()]

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.answers))

    def _repr_html_(self) -> str:
        a = self.answers[0]
        hidden = f"hides {a.unit}, {a.neighbors}; intervals contain the exact answer with a probability of {a.level}"
        return self.table(hidden)

    def plot(self, ax: Any = None) -> Any:
        """The values with their intervals, by matplotlib; returns its axes."""
        import matplotlib.pyplot

        ax = ax or matplotlib.pyplot.subplots(layout="constrained", figsize=(6, 0.5 + 0.3 * len(self.rows())))[1]
        shown = [(a._named(e), e) for a in self.answers for e in a.estimates][::-1]
        for at, (_, e) in enumerate(shown):
            if e._exact():
                ax.plot([e.lower, e.upper], [at, at], color="tab:gray")
            ax.plot(e.value, at, "o", color="tab:blue")
        ax.set_yticks(range(len(shown)), [name for name, _ in shown])
        return ax


def answer_of(statistic: Statistic, report: Mapping[str, Any]) -> Answer:
    """An answer as the program prints it, with the keys as they were given."""
    keys = {_rows.text(key): key for key in statistic.keys}
    values: dict[str, Any] = {
        "statistic": statistic,
        "estimates": tuple(_estimate(e, keys) for e in report["answers"]),
        "tables": tuple(report["tables"]),
        "not_protected": tuple(report["not_protected"]),
        "query": Fields(report["query"]),
        "charge": Charge(**report["ledger"]) if report.get("ledger") else None,
    }
    same = ("level", "epsilon", "delta", "releases", "neighbors", "unit", "mechanism", "mean_error")
    return Answer(**values, **{name: report[name] for name in same})


def _estimate(e: Mapping[str, Any], keys: Mapping[str, Hashable]) -> Estimate:
    found, clipped = e.get("key", ""), e.get("clipped") or {}
    return Estimate(
        keys.get(found, found or None),
        e["value"],
        e["lower"],
        e["upper"],
        rank_error=e.get("rank_error"),
        count_error=e.get("count_error"),
        clipped=(clipped["lower"], clipped["upper"]) if clipped else None,
        bias=clipped.get("bias_by_prior"),
    )
