# SPDX-License-Identifier: Apache-2.0
"""The file of noise on balls, version 1, read strictly, and its check: docs/ball-format.md."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import Any

from noisewright._ballbound import DUAL, check_dual, lower_bound
from noisewright._claims import LOSS, PRIVACY, Claim, Privacy, check_claims, hold_claims, hold_delta, privacy, want
from noisewright._exact import RATIO_BITS, angle_down, div_up, exp_down, floor, pow_up, power_of_two
from noisewright._loss import L1_LOSS, L2_LOSS, Combination
from noisewright._lossnames import parse_loss
from noisewright._meter import Meter, rational_work
from noisewright._strictjson import WIDE, Decimal, Fields, Many, Record, Text, Whole, check_format, read

FORMAT = "noisewright-ball"
MAX_SIZE = 1 << 23
LIMIT = 1 << 52  # of rounded values, in steps
_MAX_BALLS = 1 << 10
_MAX_RADIUS = 1 << 29
_MAX_STEP_EXPONENT = 200
_PLACES = 96  # of volumes
_POWER_BITS = 128

_FILE = Record(
    {
        "format": Text(),
        "version": Whole(),
        "dimension": Whole(),
        "privacy": PRIVACY,
        "loss": LOSS,
        "step_exponent": Whole(),
        "radii": Many(WIDE, _MAX_BALLS),
        "weights": Many(Decimal(), _MAX_BALLS),
        "certificate": Record({"delta": Text(), "expected_loss": Text(), "lower_bound": Text(), "dual?": DUAL}),
    }
)
CLAIMS = (Claim("delta"), Claim("expected_loss"), Claim("lower_bound", up=False))


@dataclass(frozen=True)
class Spec:
    """The content of noise on balls, well-formed."""

    dimension: int
    privacy: Privacy
    loss: str
    power: float  # of the norm
    exponent: int  # of the step 2^exponent
    radii: tuple[int, ...]
    weights: tuple[int, ...]
    certificate: Fields
    dual: Fields | None

    @property
    def step(self) -> float:
        return 2.0**self.exponent

    @cached_property
    def reach(self) -> int:
        """The steps that two values a sensitivity apart may be apart when both are rounded."""
        x = Fraction(self.privacy.sensitivity) / power_of_two(self.exponent)
        n = floor(x)
        while n < x or (n - x) ** 2 < self.dimension:
            n += 1
        return n


def decode(value: Any) -> Spec:
    """Noise from the parsed file."""
    fields = read(value, _FILE)
    check_format(fields, FORMAT)
    check_claims(fields["certificate"], CLAIMS)
    d, e, radii, weights = (fields[name] for name in ("dimension", "step_exponent", "radii", "weights"))
    want(2 <= d <= 8, "dimension", d, "a number of coordinates from 2 to 8")
    want(abs(e) <= _MAX_STEP_EXPONENT, "step_exponent", e, f"-{_MAX_STEP_EXPONENT} to {_MAX_STEP_EXPONENT}")
    want(len(radii) >= 1, "radii", "none", "at least one")
    ascends = all(a < b for a, b in zip((-1, *radii), radii, strict=False)) and radii[-1] <= _MAX_RADIUS
    want(ascends, "radii", "such", f"ascending numbers of steps from 0 to {_MAX_RADIUS}")
    want(len(weights) == len(radii), "weights", f"{len(weights)} weights", f"{len(radii)}, one for each radius")
    want(all(weights) and sum(weights) == 1 << 64, "weights", "such", "numbers above 0 with the sum 2^64")
    name = fields["loss"]["name"]
    s = Spec(
        d,
        privacy(fields["privacy"]),
        name,
        _power(name),
        e,
        radii,
        weights,
        fields["certificate"],
        fields["certificate"].get("dual"),
    )
    want(s.reach < 1 << 31, "step_exponent", e, "one with a sensitivity of less than 2^31 steps")
    if s.dual is not None:
        check_dual(s.dual, d, s.power, Fraction(s.privacy.sensitivity) / power_of_two(e))
    return s


def _power(name: str) -> float:
    """The power of the norm that a loss is."""
    loss = parse_loss(name)
    if loss is L1_LOSS or loss is L2_LOSS:
        return 1.0 if loss is L1_LOSS else 2.0
    single = name.startswith("lp:") and " + " not in name and not isinstance(loss, Combination)
    want(single, "loss", repr(name[:60]), "l1, l2 or lp:P, of the norm of the noise")
    return float(name.split(":")[1])


def verify(s: Spec, meter: Meter) -> dict[str, Any]:
    """What outward-rounded arithmetic finds, against which promise and claims are held."""
    bits = s.dimension * (s.radii[-1].bit_length() + s.reach.bit_length() + 2)
    meter.spend((2 * len(s.radii) + 1) * 100 * rational_work(_PLACES + bits))
    delta = _delta(s)
    hold_delta(s.privacy.delta, delta, "between values a sensitivity apart")
    step, p = power_of_two(s.exponent), Fraction(s.power)
    moments = (w * pow_up(r * step, s.power, _POWER_BITS) for r, w in zip(s.radii, s.weights, strict=True))
    loss = sum(moments, Fraction(0)) * s.dimension / (s.dimension + p) / (1 << 64)
    proved = [delta, loss, Fraction(0)]
    if s.dual is not None:
        proved[2] = lower_bound(s.dual, s.dimension, s.power, s.privacy.epsilon, s.privacy.delta, step, meter)
    hold_claims(s.certificate, CLAIMS, proved)
    names = ("delta_upper", "expected_loss", "lower_bound")
    return {**dict(zip(names, proved, strict=True)), "work": meter.used}


def _delta(s: Spec) -> Fraction:
    """The divergence between the noise and itself moved by the reach.

    The density falls outwards. So the points of ring i that count with (f_i - E·f_j)₊ are those beyond the
    ball k_i around the other center, the last with f_i <= E·f_k: they gain f_i, and what of ring j is in rings i
    with k_i < j around the first center costs E·f_j.
    """
    first = s.radii[0] == 0
    atom = s.weights[0] if first else 0
    radii, weights = (0, *s.radii[first:]), s.weights[first:]
    n, ratio = len(weights), exp_down(s.privacy.epsilon)
    powers = [r**s.dimension for r in radii]
    places = _PLACES + powers[n].bit_length()
    density = [0] * (n + 2)  # of rings from 1 on, in units of 2^-places, short of less than n of them
    for j in range(n, 0, -1):
        density[j] = (weights[j - 1] << places) // powers[j] + density[j + 1]
    lens = _Lenses(s.dimension, radii, s.reach)
    reached, k = [0], 0
    for i in range(1, n + 1):
        while k < n and density[i] << RATIO_BITS <= ratio * density[k + 1]:
            k += 1
        reached.append(k)
    gain = price = outer = 0
    for i in range(1, n + 1):
        whole = powers[i] - powers[i - 1] << _PLACES
        gain += (whole - lens.of(i, reached[i])[0] + lens.of(i - 1, reached[i])[1]) * density[i]
    for j in range(1, n + 1):
        while outer < n and reached[outer + 1] < j:
            outer += 1
        price += max(0, lens.of(outer, j)[0] - lens.of(outer, j - 1)[1]) * density[j]
    gain += n * powers[n] << _PLACES
    excess = Fraction(max(0, (gain << RATIO_BITS) - ratio * price), 1 << RATIO_BITS + _PLACES + places)
    return min(Fraction(1), (excess + atom) / (1 << 64))


# Of the volumes of caps, times 32 in odd and 105 in even dimensions.
_ODD, _EVEN = (16, 8, 6, 5), (105, 70, 56, 48)


class _Lenses:
    """The volumes of intersections of balls around two centers, over that of a ball of radius 1."""

    def __init__(self, dimension: int, radii: tuple[int, ...], apart: int) -> None:
        self._d, self._radii, self._apart = dimension, radii, apart
        self._scale = (2 * apart) ** dimension
        self._known: dict[tuple[int, int], tuple[int, int]] = {}
        if dimension % 2 == 0:
            self._bits = _PLACES + (radii[-1] ** dimension).bit_length() + 12
            self._pi = 2 * angle_down(0, 1, 1, self._bits)  # to less than 4 above it

    def of(self, i: int, j: int) -> tuple[int, int]:
        """Bounds on the volume for two radii, times 2^96."""
        key = (min(i, j), max(i, j))
        if key not in self._known:
            self._known[key] = self._measure(self._radii[key[0]], self._radii[key[1]])
        return self._known[key]

    def _measure(self, a: int, b: int) -> tuple[int, int]:
        s, d = self._apart, self._d
        if a + s <= b:
            return a**d << _PLACES, a**d << _PLACES
        if a + b <= s:
            return 0, 0
        # All lengths times 2s, so that they are whole.
        first = a * a - b * b + s * s
        caps = [(2 * s * a, first), (2 * s * b, 2 * s * s - first)]
        w = caps[0][0] ** 2 - first**2
        return self._odd(caps, w) if d % 2 else self._even(caps, w)

    def _odd(self, caps: list[tuple[int, int]], w: int) -> tuple[int, int]:
        d = self._d
        total = sum(_ODD[0] * r**d - h * _series(_ODD, w, r, d - 1) for r, h in caps) << _PLACES
        scale = 2 * _ODD[0] * self._scale
        return total // scale, div_up(total, scale)

    def _even(self, caps: list[tuple[int, int]], w: int) -> tuple[int, int]:
        low = high = factor = 0
        for r, h in caps:
            angle = angle_down(abs(h), w, r, self._bits)
            least, most = (angle, angle + 2) if h >= 0 else (self._pi - angle - 2, self._pi + 4 - angle)
            low += _EVEN[0] * least * r**self._d
            high += _EVEN[0] * most * r**self._d
            factor += h * _series(_EVEN, w, r, self._d - 2)
        root = isqrt(w << 2 * self._bits)
        low -= (root + 1 if factor >= 0 else root) * factor
        high -= (root if factor >= 0 else root + 1) * factor
        scale = _EVEN[0] * self._scale
        return (max(0, low) << _PLACES) // (scale * (self._pi + 4)), div_up(high << _PLACES, scale * self._pi)


def _series(c: tuple[int, ...], w: int, r: int, most: int) -> int:
    """Σ_k c_k·w^k·r^(most-2k)."""
    return sum(c[k] * w**k * r ** (most - 2 * k) for k in range(most // 2 + 1))
