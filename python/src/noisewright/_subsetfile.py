# SPDX-License-Identifier: Apache-2.0
"""The file of a subset selection, version 1, read strictly, and its check: docs/subset-format.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

from noisewright._claims import MAX_EPSILON, Claim, check_claims, check_labels, hold_claims, hold_delta, want
from noisewright._exact import RATIO_BITS, exp_down, exp_up
from noisewright._meter import Meter, rational_work
from noisewright._strictjson import WIDE, Decimal, Fields, Many, Real, Record, Text, Whole, check_format, read

FORMAT = "noisewright-subset"
MAX_SIZE = 1 << 26
_MAX_COUNT = 1 << 31
_MAX_LABELS = 1 << 20
_MAX_MODULUS = _MAX_COUNT + (1 << 10)
_MAX_RANKED = 1 << 12
_OPERATIONS = 1100  # above the number of operations on fractions of a check, as the program counts

_FILE = Record(
    {
        "format": Text(),
        "version": Whole(),
        "epsilon": Real(),
        "count?": WIDE,
        "labels?": Many(Text(), _MAX_LABELS),
        "modulus": WIDE,
        "size": WIDE,
        "inside": Decimal(),
        "objective": Text(),
        "certificate": Record(
            {
                "delta": Text(),
                "total_variance": Text(),
                "largest_variance": Text(),
                "lower_bound": Text(),
                "dual?": Record({"share": Real()}),
            }
        ),
    }
)
CLAIMS = (Claim("delta"), Claim("total_variance"), Claim("largest_variance"), Claim("lower_bound", up=False))


@dataclass(frozen=True)
class Spec:
    """The content of a selection, well-formed."""

    epsilon: float
    labels: tuple[str, ...]  # none: 0, 1, …
    categories: int
    modulus: int  # 0: all sets of the size
    size: int
    inside: int  # 2^64 times the probability that the set has the category
    largest: bool  # the objective: the largest variance of a share, or the total
    share: Fraction  # of the law of people that proves the lower bound
    certificate: Fields

    @property
    def points(self) -> int:
        """How many points sets are of."""
        return self.modulus or self.categories

    @property
    def ranked(self) -> bool:
        """Whether answers are ranks."""
        return not self.modulus and self.size > 1

    def probabilities(self) -> tuple[Fraction, Fraction]:
        """That the set has the own category, and another one."""
        p = Fraction(self.inside, 1 << 64)
        return p, (self.size - p) / (self.points - 1)


def decode(value: Any) -> Spec:
    """A selection from the parsed file."""
    fields = read(value, _FILE)
    check_format(fields, FORMAT)
    certificate = fields["certificate"]
    check_claims(certificate, CLAIMS)
    epsilon, labels, count = fields["epsilon"], tuple(fields.get("labels", ())), fields.get("count", 0)
    want(0 < epsilon <= MAX_EPSILON, "epsilon", epsilon, f"a number above 0, at most {MAX_EPSILON}")
    if labels:
        want(count == 0, "count", count, "none beside labels")
        check_labels("labels", labels)
        want(len(labels) >= 2, "labels", "one", f"2 to {_MAX_LABELS}")
    else:
        want(2 <= count <= _MAX_COUNT, "count", count, f"from 2 to {_MAX_COUNT} categories")
    objective, dual = fields["objective"], certificate.get("dual")
    want(objective in ("total", "largest"), "objective", repr(objective[:40]), "total or largest")
    k = len(labels) or count
    share = Fraction(1, k)
    if dual is not None:
        want(objective == "largest", "dual", "one", "none for the objective total")
        want(0 <= dual["share"] <= 1, "dual.share", dual["share"], "a number from 0 to 1")
        share = Fraction(dual["share"])
    m, d = fields["modulus"], fields["size"]
    prime = k <= m <= _MAX_MODULUS and _is_prime(m)
    want(m == 0 or prime, "modulus", m, f"0, or a prime from {k}, the number of categories, to {_MAX_MODULUS}")
    spec = Spec(epsilon, labels, k, m, d, fields["inside"], objective == "largest", share, certificate)
    want(1 <= d < spec.points, "size", d, f"a number from 1 to {spec.points - 1}")
    if spec.ranked:
        few = k <= _MAX_RANKED and all(comb(k, i) < 1 << 63 for i in range(1, d + 1) if i <= 64)
        want(few, "size", d, "one with fewer than 2^63 sets of at most 4096 categories")
    tells = spec.inside * spec.points > d << 64
    want(tells, "inside", spec.inside, f"more than {d}/{spec.points} of 2^64: otherwise answers say nothing of shares")
    return spec


def _is_prime(n: int) -> bool:
    """By Miller and Rabin; no composite number below 3215031751 passes for these bases (Jaeschke 1993)."""
    if n < 11:
        return n in (2, 3, 5, 7)
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7):
        x = pow(base, odd, n)
        if x not in (1, n - 1) and not any((x := x * x % n) == n - 1 for _ in range(twos - 1)):
            return False
    return True


def verify(s: Spec, meter: Meter) -> dict[str, Any]:
    """What exact arithmetic finds, against which promise and claims are held."""
    meter.spend(_OPERATIONS * rational_work(2048))
    m, d, k = s.points, s.size, s.categories
    a, b = s.inside * (m - d), ((1 << 64) - s.inside) * d
    down = exp_down(s.epsilon)
    excess = max(0, (a << RATIO_BITS) - down * b, (b << RATIO_BITS) - down * a)
    delta = Fraction(excess, (m - 1) << 64 + RATIO_BITS)
    hold_delta(0.0, delta, "between any two categories")
    p, q = s.probabilities()
    within, without = p * (1 - p) / (p - q) ** 2, q * (1 - q) / (p - q) ** 2
    c = Fraction(exp_up(s.epsilon), 1 << RATIO_BITS) - 1

    def mean(size: int) -> Fraction:
        x = (k - 1) + c * (size - 1) + s.share * c * (k - size)
        y = (k - 1) + (1 - s.share) * c * size
        return x * y / (c * c * size * (k - size)) - s.share * (1 - s.share)

    bound = mean(_least(k, mean)) * (1 if s.largest else k)
    proved = [delta, within + (k - 1) * without, max(within, without), bound]
    hold_claims(s.certificate, CLAIMS, proved)
    names = ("delta_upper", "total_variance", "largest_variance", "lower_bound")
    return {**dict(zip(names, proved, strict=True)), "work": meter.used}


def _least(k: int, value: Callable[[int], Fraction]) -> int:
    """The first size with the least value, which falls and then rises."""
    low, high = 1, k - 1
    while low < high:
        size = (low + high) // 2
        if value(size + 1) < value(size):
            low = size + 1
        else:
            high = size
    return low
