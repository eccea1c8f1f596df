# SPDX-License-Identifier: Apache-2.0
"""The file of a local randomizer, version 1, read strictly: docs/local-format.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from noisewright._claims import (
    LOSS,
    MAX_MULTIPLIERS,
    Claim,
    Density,
    check_claims,
    check_epsilon_delta,
    check_labels,
    check_rows,
    check_weight,
    densities,
    want,
)
from noisewright._exact import floor, to_float
from noisewright._kernelfile import PIECES
from noisewright._law import MAX_INTEGER
from noisewright._loss import ZERO, Loss
from noisewright._lossnames import parse_loss
from noisewright._strictjson import Decimal, Fields, Flag, Many, Real, Record, Text, Whole, check_format, read
from noisewright.errors import FormatError

FORMAT = "noisewright-randomizer"
MAX_SIZE = 96 << 20
_MAX_NODES = 1 << 10
_MAX_ANSWERS = 1 << 13
_MAX_WEIGHTS = 1 << 21
_MAX_LATTICE = 1 << 13

_REALS = Many(Real(), _MAX_NODES + 1)
_FILE = Record(
    {
        "format": Text(),
        "version": Whole(),
        "epsilon": Real(),
        "delta": Real(),
        "values": Record(
            {
                "kind": Text(),
                "lower": Real(),
                "upper": Real(),
                "weight?": PIECES,
                "shares?": Many(Real(), _MAX_NODES),
                "labels?": Many(Text(), _MAX_NODES),
            }
        ),
        "objective": Text(),
        "demands": Record({"unbiased": Flag(), "range?": Many(Real(), 2), "step?": Real(), "cap?": Real()}),
        "loss?": LOSS,
        "costs?": Many(Many(Real(), _MAX_ANSWERS), _MAX_ANSWERS),
        "nodes?": _REALS,
        "answers?": Many(Real(), _MAX_ANSWERS),
        "answer_labels?": Many(Text(), _MAX_ANSWERS),
        "rows": Many(Many(Decimal(), _MAX_ANSWERS), _MAX_ANSWERS),
        "certificate": Record(
            {
                "delta": Text(),
                "mean_loss": Text(),
                "worst_loss": Text(),
                "bias": Text(),
                "lower_bound": Text(),
                "dual?": Record(
                    {
                        "nodes": _REALS,
                        "weights?": _REALS,
                        "totals": _REALS,
                        "means?": _REALS,
                        "point_totals?": _REALS,
                        "point_means?": _REALS,
                        "caps?": _REALS,
                        "answers?": Many(Real(), _MAX_ANSWERS),
                        "pairs?": Many(
                            Record(
                                {
                                    "gain": Whole(),
                                    "lose": Whole(),
                                    "first": Whole(),
                                    "multipliers": Many(Real(), MAX_MULTIPLIERS),
                                }
                            ),
                            _MAX_NODES * _MAX_NODES,
                        ),
                        "product?": Flag(),
                    }
                ),
            }
        ),
    }
)

CLAIMS = (
    Claim("delta"),
    Claim("mean_loss"),
    Claim("worst_loss"),
    Claim("bias"),
    Claim("lower_bound", up=False),
)


@dataclass(frozen=True)
class Demands:
    """What the answers keep, and what the lower bound is about."""

    unbiased: bool
    lower: float = 0  # both 0: unbounded
    upper: float = 0
    step: float = 0
    cap: float = 0

    @property
    def bounded(self) -> bool:
        return self.lower != 0 or self.upper != 0

    def lattice(self, k: int) -> float:
        """Answer number k of those a step apart, to the nearest float64."""
        return to_float(Fraction(self.lower) + k * Fraction(self.step))

    def admits(self, y: float) -> bool:
        if self.bounded and not self.lower <= y <= self.upper:
            return False
        if not self.step:
            return True
        return self.lattice(floor((Fraction(y) - Fraction(self.lower)) / Fraction(self.step) + Fraction(1, 2))) == y

    def points(self) -> list[float]:
        """The answers, if they are bounded and few; otherwise none, as a bound over more answers
        is one, too."""
        if not self.step or not self.bounded or (self.upper - self.lower) / self.step > _MAX_LATTICE:
            return []
        answers, k = [], 0
        while (y := self.lattice(k)) <= self.upper:
            answers.append(y)
            k += 1
        return answers


@dataclass(frozen=True)
class Spec:
    """The content of a randomizer, well-formed."""

    epsilon: float
    delta: float
    kind: str  # real, integer or category
    lower: float
    upper: float
    weight: tuple[Fields, ...]
    share: tuple[float, ...]  # of integers and categories, up to a factor
    labels: tuple[str, ...]
    worst: bool  # the objective: the worst value's loss, or the mean
    demands: Demands
    loss: Loss | None  # none for categories
    costs: tuple[tuple[float, ...], ...]
    nodes: tuple[float, ...]
    answers: tuple[float, ...]
    answer_labels: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]
    dual: Fields | None
    certificate: Fields

    @property
    def category(self) -> bool:
        return self.kind == "category"

    @property
    def averaged(self) -> bool:
        """Whether the lower bound is about the mean of real values."""
        return self.kind == "real" and not self.worst

    @property
    def values(self) -> int:
        """How many integers or categories there are."""
        return len(self.labels) if self.category else int(self.upper - self.lower) + 1

    def densities(self) -> list[Density]:
        """The density of real values."""
        return densities(self.lower, self.upper, self.weight)

    def shares(self) -> list[Fraction]:
        """The share of each integer or category."""
        shares = [Fraction(s) for s in self.share] or [Fraction(1)] * self.values
        total = sum(shares, ZERO)
        return [s / total for s in shares]


def decode(value: Any) -> Spec:
    """The randomizer that a file holds."""
    f = read(value, _FILE)
    check_format(f, FORMAT)
    values, certificate = f["values"], f["certificate"]
    want(f["objective"] in ("mean", "worst"), "objective", repr(f["objective"][:40]), "mean or worst")
    spec = Spec(
        epsilon=f["epsilon"],
        delta=f["delta"],
        kind=values["kind"],
        lower=values["lower"],
        upper=values["upper"],
        weight=values.get("weight", ()),
        share=values.get("shares", ()),
        labels=values.get("labels", ()),
        worst=f["objective"] == "worst",
        demands=_demands(f["demands"]),
        loss=parse_loss(f["loss"]["name"]) if "loss" in f else None,
        costs=f.get("costs", ()),
        nodes=f.get("nodes", ()),
        answers=f.get("answers", ()),
        answer_labels=f.get("answer_labels", ()),
        rows=f["rows"],
        dual=certificate.get("dual"),
        certificate=certificate,
    )
    check_epsilon_delta(spec.epsilon, spec.delta)
    _check_values(spec)
    if spec.category:
        _check_categories(spec)
    else:
        _check_numbers(spec)
    n, m = (len(spec.labels), len(spec.answer_labels)) if spec.category else (len(spec.nodes), len(spec.answers))
    few = 1 <= m <= _MAX_ANSWERS and n * m <= _MAX_WEIGHTS
    want(
        few, "answers", f"{m} answers to {n} nodes", f"1 to {_MAX_ANSWERS} answers, and at most {_MAX_WEIGHTS} weights"
    )
    want(len(spec.rows) == n, "rows", f"{len(spec.rows)} rows", f"{n}, one per node or label")
    check_rows(spec.rows, m, "one per answer")
    check_claims(certificate, CLAIMS)
    if spec.dual is not None:
        _check_dual(spec, spec.dual)
    return spec


def _demands(f: Fields) -> Demands:
    bounds = f.get("range")
    if bounds is not None and (len(bounds) != 2 or not any(bounds)):
        raise FormatError(f"demands.range = {bounds}, want two numbers, not both 0")
    for name in ("step", "cap"):
        if name in f and not f[name] > 0:
            raise FormatError(f"demands.{name} = {f[name]!r}, want a number above 0")
    low, high = bounds or (0.0, 0.0)
    want(low <= high and math.isfinite(high - low), "demands.range", bounds, "finite numbers, lower not above upper")
    return Demands(f["unbiased"], low, high, f.get("step", 0.0), f.get("cap", 0.0))


def _check_values(s: Spec) -> None:
    match s.kind:
        case "real":
            check_weight(s.lower, s.upper, s.weight)
        case "integer":
            check_weight(s.lower, s.upper, ())
            for x in (s.lower, s.upper):
                want(x == math.trunc(x) and abs(x) <= MAX_INTEGER, "range", x, "integers of at most 2^53")
            want(s.upper - s.lower < _MAX_NODES, "range", f"{s.lower} to {s.upper}", f"at most {_MAX_NODES} integers")
        case "category":
            want(s.lower == 0 and s.upper == 0, "range", f"{s.lower} to {s.upper}", "none (0 to 0) for categories")
            check_labels("labels", s.labels)
            d = s.demands
            plain = not (d.unbiased or d.bounded or d.step)
            want(plain, "demands", "some on answers", "none but a cap for categories")
        case _:
            want(False, "kind", repr(s.kind[:40]), "real, integer or category")
    want(s.kind == "real" or not s.weight, "weight", f"{len(s.weight)} pieces", "none: shares weigh such values")
    want(s.category or not s.labels, "labels", f"{len(s.labels)} labels", "none: only categories have labels")
    if s.share:
        count = 0 if s.kind == "real" else s.values
        want(len(s.share) == count, "shares", f"{len(s.share)} shares", f"none or {count}")
        want(all(x >= 0 for x in s.share) and any(s.share), "shares", "negative, or 0 everywhere", "numbers >= 0")


def _check_categories(s: Spec) -> None:
    want(not s.nodes and not s.answers, "nodes", "some, or answers", "none for categories, which have labels")
    want(s.loss is None, "loss", "one", "none for categories, which have costs")
    check_labels("answer_labels", s.answer_labels)
    want(len(s.costs) == len(s.labels), "costs", f"{len(s.costs)} rows", f"{len(s.labels)}, one per label")
    for i, row in enumerate(s.costs):
        wanted = len(s.answer_labels)
        want(len(row) == wanted, f"costs[{i}]", f"{len(row)} costs", f"{wanted}, one per answer label")
        want(all(c >= 0 for c in row), f"costs[{i}]", "negative", "finite numbers >= 0")


def _check_numbers(s: Spec) -> None:
    if not s.nodes:
        raise FormatError("nodes are missing, want those of the values")
    want(not s.costs and not s.answer_labels, "costs", "some, or answer labels", "none: only categories have them")
    want(
        s.loss is not None and s.loss.tangent_down(ZERO) is not None, "loss", "none that is convex", "such as l1 or l2"
    )
    for name, numbers in (("nodes", s.nodes), ("answers", s.answers)):
        want(all(a < b for a, b in pairwise(numbers)), name, "not ascending", "numbers in ascending order")
    if s.kind == "integer":
        integers = tuple(s.lower + i for i in range(s.values))
        want(s.nodes == integers, "nodes", f"{len(s.nodes)} nodes", f"all integers from {s.lower} to {s.upper}")
    want(2 <= len(s.nodes) <= _MAX_NODES, "nodes", f"{len(s.nodes)} nodes", f"2 to {_MAX_NODES}")
    ends = s.nodes[0] == s.lower and s.nodes[-1] == s.upper
    want(ends, "nodes", f"{s.nodes[0]!r} to {s.nodes[-1]!r}", "the first and last to be the ends of the range")
    for j, y in enumerate(s.answers):
        want(s.demands.admits(y), f"answers[{j}]", y, "an answer that the demands admit")


def _check_dual(s: Spec, d: Fields) -> None:
    nodes = d["nodes"]
    n = len(nodes)
    if s.category:
        want(n == 0, "dual.nodes", f"{n} nodes", "none for categories")
    else:
        inside = n >= 1 and nodes[0] >= s.lower and nodes[-1] <= s.upper and all(a < b for a, b in pairwise(nodes))
        want(inside, "dual.nodes", f"{n} nodes", f"ascending numbers from {s.lower!r} to {s.upper!r}")
        want(s.kind != "integer" or nodes == s.nodes, "dual.nodes", f"{n} nodes", "all integers of the range")
        ends = not s.averaged or (nodes[0] == s.lower and nodes[-1] == s.upper)
        want(ends, "dual.nodes", f"{nodes[0]!r} to {nodes[-1]!r}", "the first and last to be the ends of the range")
    pure = s.averaged and (s.delta == 0 or d.get("product", False))
    places = len(s.labels) if s.category else n - 1 if s.averaged and not pure else n
    for name, wanted, given, negative in (
        ("weights", s.worst, s.worst, False),
        ("totals", True, True, True),
        ("means", False, s.demands.unbiased, True),
        ("point_totals", False, pure, True),
        ("point_means", False, pure and s.demands.unbiased, True),
        ("caps", False, s.demands.cap > 0 and not s.worst, False),
    ):
        numbers = d.get(name, [])
        m = len(numbers)
        want(m == 0 or given, f"dual.{name}", f"{m} numbers", "none, for this objective and these demands")
        want(m == places or (m == 0 and not wanted), f"dual.{name}", f"{m} numbers", f"{places}")
        want(negative or all(x >= 0 for x in numbers), f"dual.{name}", "negative", "numbers >= 0")
        if name == "weights" and wanted:
            want(any(numbers), "dual.weights", "0 everywhere", "one above 0")
    _check_pairs(s, d, places)


def _check_pairs(s: Spec, d: Fields, n: int) -> None:
    pairs, answers = d.get("pairs", ()), d.get("answers", ())
    product = d.get("product", False)
    want(s.delta > 0 or not product, "dual.product", "true", "false for delta = 0")
    want(not product or not (pairs or answers), "dual.pairs", f"{len(pairs)} pairs", "none with product")
    want(s.delta > 0 or not (pairs or answers), "dual.pairs", f"{len(pairs)} pairs", "none for delta = 0")
    want(not (s.category and answers), "dual.answers", f"{len(answers)} answers", "none for categories")
    outputs = len(s.answer_labels) if s.category else len(answers)
    few = len(answers) * n <= _MAX_WEIGHTS
    want(few, "dual.answers", f"{len(answers)} answers", f"at most {_MAX_WEIGHTS} in all for {n} nodes")
    want(all(a < b for a, b in pairwise(answers)), "dual.answers", "not ascending", "numbers in ascending order")
    seen: set[tuple[int, int]] = set()
    left = MAX_MULTIPLIERS
    for i, p in enumerate(pairs):
        gain, lose, name = p["gain"], p["lose"], f"dual.pairs[{i}]"
        two = 0 <= gain < n and 0 <= lose < n and gain != lose and (gain, lose) not in seen
        want(two, name, f"nodes {gain} and {lose}", f"two of {n} nodes, each pair once")
        seen.add((gain, lose))
        left -= len(p["multipliers"])
        want(left >= 0, "dual.multipliers", "too many", f"at most {MAX_MULTIPLIERS} in all")
        inside = p["first"] >= 0 and p["first"] + len(p["multipliers"]) <= outputs
        want(inside, f"{name}.first", p["first"], f"answers within 0 to {outputs - 1}")
        want(all(y >= 0 for y in p["multipliers"]), f"{name}.multipliers", "negative", "numbers >= 0")
