# SPDX-License-Identifier: Apache-2.0
"""Bounds with a direction, in integers and fractions, digit for digit those of the program."""

from __future__ import annotations

import math
import re
from fractions import Fraction

# Fractional bits of the bounds on e^ε: a relative error below 2^-95.
RATIO_BITS = 96

_GUARD_BITS = 64
_MAX_EXPONENT = 700


def power_of_two(e: int) -> Fraction:
    """2^e."""
    return Fraction(1 << e) if e >= 0 else Fraction(1, 1 << -e)


def floor(x: Fraction) -> int:
    return x.numerator // x.denominator


def ceil(x: Fraction) -> int:
    return -(-x.numerator // x.denominator)


def shift_up(x: int, n: int) -> int:
    """⌈x/2^n⌉."""
    return -(-x >> n)


def div_up(x: int, d: int) -> int:
    """⌈x/d⌉ for d > 0."""
    return -(-x // d)


def shift(x: int, bits: int) -> int:
    """⌊x·2^bits⌋."""
    return x << bits if bits >= 0 else x >> -bits


def floor_at(x: Fraction, bits: int) -> int:
    """⌊x·2^bits⌋."""
    if bits >= 0:
        return (x.numerator << bits) // x.denominator
    return x.numerator // (x.denominator << -bits)


def ceil_at(x: Fraction, bits: int) -> int:
    """⌈x·2^bits⌉."""
    return -floor_at(-x, bits)


def at(x: int, bits: int) -> Fraction:
    """x·2^-bits."""
    return Fraction(x, 1 << bits) if bits >= 0 else Fraction(x << -bits)


def bits_of(x: Fraction) -> int:
    """The size of a fraction."""
    return x.numerator.bit_length() + x.denominator.bit_length()


def _exp_bounds(x: float, frac: int) -> tuple[int, int]:
    """Integers around e^x·2^frac: Taylor's series of x halved until it is small, every term
    rounded down, and up, and the sums squared back."""
    if not abs(x) <= _MAX_EXPONENT:
        raise AssertionError(f"exponent {x}")
    if x == 0:
        return 1 << frac, 1 << frac
    a = abs(x)
    prec = frac + 2 * (math.ceil(1.45 * a) + 2) + _GUARD_BITS
    halvings, y = 0, a
    while y >= 1 / 256:
        halvings, y = halvings + 1, y / 2
    num, den = a.as_integer_ratio()
    y_low, y_high = (num << prec) // (den << halvings), div_up(num << prec, den << halvings)
    low = high = term_low = term_high = 1 << prec
    n = 1
    while True:
        term_low = term_low * y_low // (n << prec)
        term_high = div_up(term_high * y_high, n << prec)
        low, high = low + term_low, high + term_high
        if term_low == 0:
            high += term_high  # what is left is at most 1/128 of the last term
            break
        n += 1
    for _ in range(halvings):
        low, high = low * low >> prec, shift_up(high * high, prec)
    if x < 0:
        low, high = (1 << 2 * prec) // high, div_up(1 << 2 * prec, low)
    return low >> prec - frac, shift_up(high, prec - frac)


def exp_down(x: float, frac: int = RATIO_BITS) -> int:
    """An integer M with M·2^-frac <= e^x < (M+2)·2^-frac, |x| <= 700."""
    return _exp_bounds(x, frac)[0]


def exp_up(x: float, frac: int = RATIO_BITS) -> int:
    """An integer M with (M-2)·2^-frac < e^x <= M·2^-frac, |x| <= 700."""
    return _exp_bounds(x, frac)[1]


class Rounded:
    """A number mantissa·2^exponent of so many bits at most, whose operations are rounded up
    (side 1) or down (side -1)."""

    __slots__ = ("e", "m", "prec", "side")

    def __init__(self, m: int, e: int, prec: int, side: int) -> None:
        drop = m.bit_length() - prec
        if drop > 0:
            m = m >> drop if side < 0 else shift_up(m, drop)
            e += drop
        self.m, self.e, self.prec, self.side = m, e, prec, side

    @classmethod
    def of(cls, x: Fraction, prec: int, side: int) -> Rounded:
        """x >= 0, rounded."""
        num, den = x.numerator, x.denominator
        if den & (den - 1) == 0:
            return cls(num, 1 - den.bit_length(), prec, side)
        s = max(prec + 2 + den.bit_length() - num.bit_length(), 0)
        m = (num << s) // den
        # One bit below the last one says that there is more, which rounds it up or is cut off.
        return cls(2 * m + 1, -s - 1, prec, side)

    def to(self, prec: int) -> Rounded:
        """The same number, rounded to other precision."""
        return Rounded(self.m, self.e, prec, self.side)

    def __mul__(self, other: Rounded) -> Rounded:
        return Rounded(self.m * other.m, self.e + other.e, self.prec, self.side)

    def times(self, n: int) -> Rounded:
        """The product with an integer n >= 0."""
        return Rounded(self.m * n, self.e, self.prec, self.side)

    def over(self, n: int) -> Rounded:
        """The quotient by an integer n > 0."""
        return Rounded.of(self.fraction() / n, self.prec, self.side)

    def __add__(self, other: Rounded) -> Rounded:
        e = min(self.e, other.e)
        return Rounded((self.m << self.e - e) + (other.m << other.e - e), e, self.prec, self.side)

    def __sub__(self, other: Rounded) -> Rounded:
        e = min(self.e, other.e)
        return Rounded((self.m << self.e - e) - (other.m << other.e - e), e, self.prec, self.side)

    def compare(self, other: Rounded) -> int:
        """The sign of the difference from another number, neither below 0, however small they are."""
        if self.m and other.m and self.magnitude() != other.magnitude():
            return 1 if self.magnitude() > other.magnitude() else -1
        e = min(self.e, other.e) if self.m and other.m else 0
        a, b = (x.m << x.e - e if e else x.m for x in (self, other))
        return (a > b) - (a < b)

    def __lt__(self, other: Rounded) -> bool:
        return self.compare(other) < 0

    def magnitude(self) -> int:
        """e with 2^(e-1) <= number < 2^e, for a number above 0."""
        return self.m.bit_length() + self.e

    def fraction(self) -> Fraction:
        return Fraction(self.m) * power_of_two(self.e) if self.e < 0 else Fraction(self.m << self.e)

    def root(self) -> Rounded:
        """The square root of a number above 0."""
        size = self.m.bit_length() + self.e
        s = 2 * self.prec + (size & 1)  # size - s is even
        m = self.m << s - self.m.bit_length()
        r = math.isqrt(m)
        if self.side > 0 and r * r != m:
            r += 1
        return Rounded(r, (size - s) // 2, self.prec, self.side)


_POW_GUARD_BITS = 16
_MAX_POWER = 1 << 12


def _pow(x: Fraction, p: float, bits: int, side: int) -> Fraction:
    """A bound on x^p: squares and products for the whole part of p, and a square root for every
    binary digit of its fraction, each rounded in one direction."""
    if x < 0 or not 0 <= p <= _MAX_POWER:
        raise AssertionError(f"power {p} of {x}")
    if p == 0:
        return Fraction(1)
    if x == 0:
        return Fraction(0)
    prec = bits + _POW_GUARD_BITS
    base = Rounded.of(x, prec, side)
    whole = int(p)
    fraction = p - whole
    result = Rounded(1, 0, prec, side)
    if fraction > 0:
        mantissa, exponent = math.frexp(fraction)
        digits = int(math.ldexp(mantissa, 53))
        for k in range(53 - exponent, 0, -1):
            # Each root halves the error so far, so a step may be done with fewer digits.
            enough = max(prec - k + 1, 64)
            if digits & 1:
                result = result.to(enough) * base.to(enough)
            digits >>= 1
            if result.m << max(result.e, 0) != 1 << max(-result.e, 0):  # 1 is its own root
                result = result.to(enough).root()
    power = Rounded(1, 0, prec, side)
    for bit in range(_MAX_POWER.bit_length() - 1, -1, -1):
        power = power * power
        if whole >> bit & 1:
            power = power * base
    return (power * result).fraction()


def pow_down(x: Fraction, p: float, bits: int) -> Fraction:
    """A number y <= x^p within x^p·2^-bits, which does not decrease in x >= 0."""
    return _pow(x, p, bits, -1)


def pow_up(x: Fraction, p: float, bits: int) -> Fraction:
    """A number y >= x^p within x^p·2^-bits, which does not decrease in x >= 0."""
    return _pow(x, p, bits, 1)


_PLAIN = re.compile(r"(?:0|[1-9][0-9]*)(?:\.[0-9]+)?\Z")
_MAX_DECIMAL = 800
_DIGITS = 15


def parse_decimal(text: str) -> Fraction | None:
    """The value of a plain decimal such as 0.25, None for other text."""
    if len(text) > _MAX_DECIMAL or not _PLAIN.match(text):
        return None
    whole, _, part = text.partition(".")
    return Fraction(int(whole + part), 10 ** len(part))


def _decimal(r: Fraction, up: bool) -> str:
    if r == 0:
        return "0"
    # By bits: Python prints no integer of more than 4300 digits.
    e = math.ceil((r.numerator.bit_length() - r.denominator.bit_length() + 1) * math.log10(2))
    while r < Fraction(10) ** e:
        e -= 1
    places = _DIGITS - 1 - e
    scaled = r * Fraction(10) ** places
    s = str(ceil(scaled) if up else floor(scaled))
    if places <= 0:
        return s + "0" * -places
    s = s.rjust(places + 1, "0")
    whole, part = s[:-places], s[-places:].rstrip("0")
    return f"{whole}.{part}" if part else whole


def decimal_up(r: Fraction) -> str:
    """A plain decimal of at most 15 significant digits that is not below r >= 0."""
    return _decimal(r, True)


def decimal_down(r: Fraction) -> str:
    """A plain decimal of at most 15 significant digits that is not above r >= 0."""
    return _decimal(r, False)


def float_up(r: Fraction) -> float:
    """The least float64 that is not below r."""
    try:
        f = r.numerator / r.denominator
    except OverflowError:
        f = math.inf if r > 0 else -math.inf
    if math.isinf(f):
        return f if f > 0 else math.nextafter(f, math.inf)
    return f if Fraction(f) >= r else math.nextafter(f, math.inf)


def float_down(r: Fraction) -> float:
    """The largest float64 that is not above r."""
    return 0 - float_up(-r)


def to_float(r: Fraction) -> float:
    """The nearest float64; infinite beyond them."""
    try:
        return r.numerator / r.denominator
    except OverflowError:
        return math.inf if r > 0 else -math.inf


_ANGLE_HALVINGS = 5
_ANGLE_GUARD = 14 + _ANGLE_HALVINGS


def angle_down(c: int, square: int, r: int, bits: int) -> int:
    """M with M·2^-bits <= θ <= (M+2)·2^-bits for the angle θ <= π/2 of the cosine c/r and the sine √square/r.

    The angle of tan(θ/2) = sin θ/(1 + cos θ) is halved again and again, then Leibniz's series summed. In units of the
    last place, roots and quotients leave the tangent off by at most 5/2, as each halving leaves half of what came
    before; a term of the series by 2, of less than 128: the sum by less than 2^9, the angle by 2^15, of 2^18 that
    half a place is.
    """
    places = bits + _ANGLE_GUARD
    one = 1 << places
    t = math.isqrt(square << 2 * places) // (r + c)
    for _ in range(_ANGLE_HALVINGS):
        t = (t << places) // (one + math.isqrt(one * one + t * t))
    t2, total, k = t * t >> places, 0, 1
    while t:
        total += t // k if k % 4 == 1 else -(t // k)
        t, k = t * t2 >> places, k + 2
    return ((total << _ANGLE_HALVINGS + 1) - (1 << _ANGLE_GUARD - 1)) >> _ANGLE_GUARD
