# SPDX-License-Identifier: Apache-2.0
"""What files have in common: claims, and parts of their formats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from noisewright._exact import decimal_down, decimal_up, parse_decimal, to_float
from noisewright._strictjson import Fields, Real, Record, Text
from noisewright.errors import FalseClaimError, FormatError, InvalidError, NotPrivateError

MAX_EPSILON = 100
MAX_EXPONENT = 2000
MAX_MULTIPLIERS = 1 << 21
MAX_PIECES = 1 << 12
_MAX_LABEL = 1 << 10  # in bytes

PRIVACY = Record({"epsilon": Real(), "delta": Real(), "sensitivity": Real()})
LOSS = Record({"name": Text()})


@dataclass(frozen=True)
class Privacy:
    """Answers to two values at most the sensitivity apart are (epsilon, delta)-indistinguishable.
    The float64s are meant exactly; the sensitivity is in query units."""

    epsilon: float
    delta: float
    sensitivity: float


def want(condition: bool, field: str, value: Any, rule: str) -> None:
    """Refuses a field."""
    if not condition:
        raise InvalidError(f"{field} = {value}, want {rule}")


def check_epsilon_delta(epsilon: float, delta: float) -> None:
    want(0 <= epsilon <= MAX_EPSILON, "epsilon", epsilon, f"a number from 0 to {MAX_EPSILON}")
    want(0 <= delta < 1, "delta", delta, "a probability, at least 0 and below 1")


def privacy(fields: Fields) -> Privacy:
    p = Privacy(**fields)
    check_epsilon_delta(p.epsilon, p.delta)
    want(0 < p.sensitivity < math.inf, "sensitivity", p.sensitivity, "a finite number > 0 (query units)")
    return p


@dataclass(frozen=True)
class Claim:
    """A number that a file states, and its direction."""

    name: str
    up: bool = True


def check_claims(certificate: Fields, claims: Sequence[Claim]) -> None:
    """Refuses claims that are not decimals."""
    if all(certificate[c.name] == "" for c in claims):
        raise FormatError(f"certificate.{claims[0].name} is empty, want a plain decimal number")
    for c in claims:
        text = certificate[c.name]
        want(parse_decimal(text) is not None, f"certificate.{c.name}", repr(text[:50]), "a plain decimal number >= 0")


def hold_claims(certificate: Fields, claims: Sequence[Claim], proved: Sequence[Fraction]) -> None:
    """Holds the claims against what is proved, in the same order."""
    for c, truth in zip(claims, proved, strict=True):
        text = certificate[c.name]
        stated = parse_decimal(text)
        if stated is None:
            raise InvalidError(f"certificate.{c.name} = {text!r}")
        if c.up and stated < truth:
            raise FalseClaimError(f"certificate.{c.name} = {text} is stated but {decimal_up(truth)} is the truth")
        if not c.up and stated > truth:
            raise FalseClaimError(f"certificate.{c.name} = {text} is stated but only {decimal_down(truth)} is proved")


def hold_delta(delta: float, proved: Fraction, where: str) -> None:
    """Holds the promised delta against what is proved."""
    if proved > Fraction(delta):
        raise NotPrivateError(f"delta = {delta!r} is promised but only {decimal_up(proved)} is proved, {where}")


def gap(loss: Fraction, bound: Fraction) -> float | None:
    """How far a loss is above a lower bound, relative to that; None if the bound is 0 and the
    loss is not."""
    if bound <= 0:
        return None if loss else 0.0
    return to_float((loss - bound) / bound)


def check_rows(rows: Sequence[Sequence[int]], weights: int, each: str) -> None:
    """Refuses rows that are not laws of so many weights."""
    for k, row in enumerate(rows):
        want(len(row) == weights, f"rows[{k}]", f"{len(row)} weights", f"{weights}, {each}")
        want(sum(row) == 1 << 64, f"rows[{k}]", f"a sum of {sum(row)}", "exactly 2^64")


# The characters with the property White_Space of Unicode: str.strip takes away more of them.
_BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def check_labels(name: str, labels: Sequence[str]) -> None:
    """Refuses labels that are not texts, each once."""
    want(len(labels) >= 1, name, "none", "at least one label")
    seen: set[str] = set()
    for i, label in enumerate(labels):
        good = 0 < len(label.encode()) <= _MAX_LABEL and label not in seen and label.strip(_BLANKS) == label
        rule = f"a text of 1 to {_MAX_LABEL} bytes that no other label has, without blanks around it"
        want(good, f"{name}[{i}]", repr(label[:60]), rule)
        seen.add(label)


@dataclass(frozen=True)
class Density:
    """A piece of a density."""

    start: Fraction
    end: Fraction
    density: Fraction


def check_weight(lower: float, upper: float, weight: Sequence[Fields]) -> None:
    """Refuses a bad range of values or density on it."""
    finite = math.isfinite(lower) and math.isfinite(upper) and math.isfinite(upper - lower)
    want(finite and lower < upper, "range", f"{lower!r} to {upper!r}", "finite numbers, lower below upper")
    for i, p in enumerate(weight):
        want(p["weight"] >= 0, f"weight[{i}].weight", p["weight"], "a finite number >= 0")
        if i == 0:
            want(p["from"] == lower, "weight[0].from", p["from"], f"{lower!r}, the lower end of the range")
        else:
            ascends = weight[i - 1]["from"] < p["from"] < upper
            want(ascends, f"weight[{i}].from", p["from"], "ascending numbers inside the range")
    if weight:
        want(any(p["weight"] > 0 for p in weight), "weight", "0 everywhere", "a piece with a weight above 0")


def densities(lower: float, upper: float, weight: Sequence[Fields]) -> list[Density]:
    """The density whose pieces are given up to a factor: the integrals sum to 1."""
    starts = [(Fraction(p["from"]), Fraction(p["weight"])) for p in weight] or [(Fraction(lower), Fraction(1))]
    ends = [s for s, _ in starts[1:]] + [Fraction(upper)]
    total = sum(((e - s) * w for (s, w), e in zip(starts, ends, strict=True)), Fraction(0))
    return [Density(s, e, w / total) for (s, w), e in zip(starts, ends, strict=True)]
