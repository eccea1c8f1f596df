# SPDX-License-Identifier: Apache-2.0
"""The names of losses in files, as docs/table-format.md lists them."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

from noisewright._loss import (
    HALF,
    L1_LOSS,
    L2_LOSS,
    ZERO,
    Combination,
    Loss,
    Piecewise,
    Power,
    Quadratic,
)
from noisewright.errors import InvalidError

_MAX_TERMS = 32
_MAX_KNOTS = 10000
_LEAST, _MOST = 1e-60, 1e60
_ONE = Fraction(1)


def _two_slopes(name: str, left: Fraction, right: Fraction) -> Loss:
    return Piecewise(name, [0.0], [(ZERO, -left, ZERO), (ZERO, right, ZERO)])


def _around(name: str, t: float, outer: Quadratic, inner: Quadratic) -> Loss:
    """outer(|x|) for |x| > t and inner(x) within."""
    return Piecewise(name, [-t, t], [(outer[0], -outer[1], outer[2]), inner, outer])


def _power(name: str, v: list[float]) -> Loss:
    if v[0] == 1:
        return _two_slopes(name, _ONE, _ONE)
    if v[0] == 2:
        return Piecewise(name, [], [(ZERO, ZERO, _ONE)])
    return Power(name, v[0])


def _huber(name: str, v: list[float]) -> Loss:
    t = Fraction(v[0])
    return _around(name, v[0], (-t * t / 2, t, ZERO), (ZERO, ZERO, HALF))


_NOTHING: Quadratic = (ZERO, ZERO, ZERO)

# By kind: how many numbers it has, which of them hold, and the loss of a name and these.
_KINDS: dict[str, tuple[int, Callable[[float], bool], Callable[[str, list[float]], Loss]]] = {
    "l1": (0, lambda _: True, lambda _n, _v: L1_LOSS),
    "l2": (0, lambda _: True, lambda _n, _v: L2_LOSS),
    "lp": (1, lambda p: 1 <= p <= 64, _power),
    "pinball": (
        1,
        lambda tau: _LEAST <= tau < 1,
        lambda name, v: _two_slopes(name, 1 - Fraction(v[0]), Fraction(v[0])),
    ),
    "asymmetric": (
        2,
        lambda x: _LEAST <= x <= _MOST,
        lambda name, v: _two_slopes(name, Fraction(v[0]), Fraction(v[1])),
    ),
    "huber": (1, lambda t: _LEAST <= t <= _MOST, _huber),
    "deadzone": (
        1,
        lambda t: _LEAST <= t <= _MOST,
        lambda name, v: _around(name, v[0], (Fraction(-v[0]), _ONE, ZERO), _NOTHING),
    ),
    "exceed": (
        1,
        lambda t: _LEAST <= t <= _MOST,
        lambda name, v: _around(name, v[0], (_ONE, ZERO, ZERO), _NOTHING),
    ),
}


def exceed(magnitude: float) -> Loss:
    """1 for |x| > magnitude, else 0."""
    return _make("exceed", f"exceed:{magnitude!r}", [magnitude])


def parse_loss(name: str) -> Loss:
    """The loss of a name: terms joined by " + ", each a kind with its parameters and perhaps a
    weight."""
    terms = name.split(" + ")
    if len(terms) > _MAX_TERMS:
        raise InvalidError(f"loss = a sum of {len(terms)} terms, want at most {_MAX_TERMS}")
    parsed = [_term(t) for t in terms]
    if len(parsed) == 1:
        return parsed[0]
    return _sum(name, parsed)


def _term(text: str) -> Loss:
    kind, _, rest = text.partition(":")
    weight = ""
    if kind == "pwl":
        values = rest.split(":") if ":" in text else []
        count = 1
    elif kind in _KINDS:
        count = _KINDS[kind][0]
        values = rest.split(":", count + 1) if ":" in text else []
        if count > 1 and values:
            first = values[0].split(",", count)
            if len(first) == count:
                values = first + values[1:]
    else:
        raise InvalidError(f"loss = {text[:60]!r}, want one of {', '.join(sorted([*_KINDS, 'pwl']))}")
    if len(values) == count + 1 and values[count]:
        weight = values.pop()
    if len(values) != count:
        raise InvalidError(f"loss = {text[:60]!r}, want {kind} with {count} parameters, or with a weight after them")
    if kind == "pwl":
        loss: Loss = _pwl(f"pwl:{values[0]}", values[0])
    else:
        loss = _make(kind, text, [_number(kind, v) for v in values])
    if not weight:
        return loss
    factor = _number(kind, weight)
    if not _LEAST <= factor <= _MOST:
        raise InvalidError(f"{kind}: weight = {weight[:60]}, want a number from 1e-60 to 1e60")
    return loss if factor == 1 else Combination(text, [(loss, factor)])


def _make(kind: str, name: str, values: list[float]) -> Loss:
    _, holds, build = _KINDS[kind]
    for v in values:
        if not holds(v):
            raise InvalidError(f"{kind}: parameter = {v!r}, want one in the range of docs/table-format.md")
    return build(name, values)


def _sum(name: str, losses: list[Loss]) -> Loss:
    """Piecewise terms are added to one loss, which has tighter lower nodes than the sum of theirs."""
    exactly: list[tuple[Piecewise, Fraction]] = []
    others: list[tuple[Loss, float]] = []
    for loss in losses:
        parts = [(p, f) for p, f, _ in loss.parts] if isinstance(loss, Combination) else [(loss, 1.0)]
        for part, factor in parts:
            if isinstance(part, Piecewise):
                exactly.append((part, Fraction(factor)))
            else:
                others.append((part, factor))
    knots = sum(len(p.knots) for p, _ in exactly)
    if knots > _MAX_KNOTS:
        raise InvalidError(f"sum: number of knots = {knots}, want at most {_MAX_KNOTS}")
    symmetric = all(loss.symmetric for loss in losses)
    if exactly:
        whole = _sum_piecewise(name, exactly)
        if not others:
            return whole
        others.append((whole, 1.0))
    out = Combination(name, others)
    out.symmetric = symmetric  # of every term, not only of the sum of some
    return out


def _sum_piecewise(name: str, terms: Sequence[tuple[Piecewise, Fraction]]) -> Piecewise:
    """The weighted sum of piecewise losses."""
    knots = sorted({x for loss, _ in terms for x in loss.knots})
    at = [sum((w * loss.at_down(x) for loss, w in terms), ZERO) for x in knots]
    pieces: list[Quadratic] = []
    for i in range(len(knots) + 1):
        # The piece of every term that ends at knot i or beyond.
        held = [(loss.pieces[bisect_left(loss.knots, knots[i]) if i < len(knots) else -1], w) for loss, w in terms]
        c0, c1, c2 = (sum((q[k] * w for q, w in held), ZERO) for k in range(3))
        pieces.append((c0, c1, c2))
    return Piecewise(name, [float(x) for x in knots], pieces, at)


def _number(kind: str, text: str) -> float:
    """0 or a decimal number of moderate size."""
    try:
        if text.strip("0123456789-.eE"):
            raise ValueError
        v = float(text)
        if math.isinf(v) or (v == 0 and any(c in "123456789" for c in text.lower().partition("e")[0])):
            raise ValueError
    except ValueError:
        raise InvalidError(f"{kind}: {text[:60]!r}, want a decimal number such as 0.5 or 2e-3") from None
    if v != 0 and not _LEAST <= abs(v) <= _MOST:
        raise InvalidError(f"{kind}: {text[:60]}, want 0 or a number of size 1e-60 to 1e60")
    return v + 0.0  # no negative zero


def _segment(text: str) -> tuple[float, float, float]:
    values = text.split(",", 3)
    if len(values) not in (2, 3):
        raise InvalidError(f"pwl: segment = {text[:60]!r}, want knot,slope or knot,slope,jump")
    knot = -math.inf if values[0] == "-inf" else _number("pwl", values[0])
    slope = _number("pwl", values[1])
    jump = _number("pwl", values[2]) if len(values) == 3 and values[2] else 0.0
    return knot, slope, jump


def _pwl(name: str, text: str) -> Loss:
    """A piecewise linear loss whose infimum is 0."""
    parts = text.split(";", _MAX_KNOTS)
    segments = [_segment(p) for p in parts]
    if not 2 <= len(segments) <= _MAX_KNOTS:
        raise InvalidError(f"pwl: number of segments = {len(segments)}, want 2 to {_MAX_KNOTS}")
    first, last = segments[0], segments[-1]
    if first[0] != -math.inf or first[2] != 0:
        raise InvalidError("pwl: first segment, want the knot -inf and no jump")
    if not (first[1] < 0 < last[1]):
        raise InvalidError("pwl: want a first slope < 0 and a last slope > 0, for otherwise the loss does not grow")
    if not all(b[0] > a[0] for a, b in pairwise(segments)):
        raise InvalidError("pwl: want knots in ascending order")
    knots = [s[0] for s in segments[1:]]
    pieces: list[Quadratic] = [(-Fraction(knots[0]) * Fraction(first[1]), Fraction(first[1]), ZERO)]
    lowest: Fraction | None = None
    for i, (knot, slope, jump) in enumerate(segments[1:]):
        x = Fraction(knot)
        value = pieces[i][0] + pieces[i][1] * x if i > 0 else ZERO
        right = value + Fraction(jump)
        least = min(value, right)
        lowest = least if lowest is None else min(lowest, least)
        pieces.append((right - Fraction(slope) * x, Fraction(slope), ZERO))
    level = lowest if lowest is not None else ZERO
    return Piecewise(name, knots, [(c0 - level, c1, c2) for c0, c1, c2 in pieces])
