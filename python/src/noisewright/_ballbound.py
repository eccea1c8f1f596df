# SPDX-License-Identifier: Apache-2.0
"""The lower bound that the dual of noise on balls proves: docs/ball-format.md and docs/proofs/ball.md."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import isqrt

from noisewright._claims import MAX_EXPONENT, MAX_MULTIPLIERS, want
from noisewright._exact import RATIO_BITS, angle_down, div_up, exp_up, floor, power_of_two
from noisewright._meter import Meter
from noisewright._strictjson import SIGNED, WIDE, Fields, Many, Record

_MAX_KNOTS = 512
_MAX_PARTS = 64
_MAX_SHIFTS = 16
_MAX_RADIUS = 1 << 29
_MAX_PRICE = 1 << 61
_MEAN_BITS = 64  # of what is averaged over directions
_SLOPE_BITS = 64  # more, of slopes
_ONE = 1 << _MEAN_BITS

DUAL = Record(
    {
        "exponent": WIDE,
        "parts": WIDE,
        "radii": Many(WIDE, 1 << 10),
        "shifts": Many(
            Record(
                {
                    "length": WIDE,
                    "rows": Many(
                        Record({"knot": WIDE, "first": WIDE, "multipliers": Many(SIGNED, _MAX_KNOTS)}), _MAX_KNOTS
                    ),
                }
            ),
            _MAX_SHIFTS,
        ),
    }
)

Bounds = tuple[int, int]


def check_dual(dual: Fields, dimension: int, power: float, steps: Fraction) -> None:
    """Whether a dual is well-formed, for a sensitivity of so many steps."""
    want(dimension <= 3, "dual.radii", "such", "no dual for more than three coordinates")
    want(power in (1, 2), "dual.radii", "such", "no dual for a loss other than l1 and l2")
    want(abs(dual["exponent"]) <= MAX_EXPONENT, "dual.exponent", dual["exponent"], f"-{MAX_EXPONENT} to {MAX_EXPONENT}")
    want(1 <= dual["parts"] <= _MAX_PARTS, "dual.parts", dual["parts"], f"1 to {_MAX_PARTS}")
    radii, longest = dual["radii"], floor(steps)
    n = len(radii)
    want(2 <= n <= _MAX_KNOTS and radii[0] == 0, "dual.radii", "such", f"2 to {_MAX_KNOTS} numbers of steps from 0")
    ascends = all(a < b for a, b in pairwise(radii)) and radii[-1] <= _MAX_RADIUS
    want(ascends, "dual.radii", "such", f"ascending numbers of steps to {_MAX_RADIUS}")
    before = price = count = 0
    for shift in dual["shifts"]:
        length, last, largest = shift["length"], -1, 0
        want(before < length <= longest, "dual.length", length, f"ascending numbers of steps to {longest}")
        before = length
        for row in shift["rows"]:
            knot, first, multipliers = row["knot"], row["first"], row["multipliers"]
            want(last < knot < n, "dual.knot", knot, f"ascending numbers from 0 to {n - 1}")
            want(0 <= first <= n - len(multipliers), "dual.first", first, f"knots from 0 to {n - 1}")
            last, count, largest = knot, count + len(multipliers), max((largest, *multipliers))
        price += largest
        want(count <= MAX_MULTIPLIERS, "dual.multipliers", "too many", f"at most {MAX_MULTIPLIERS}")
        want(price <= _MAX_PRICE, "dual.multipliers", "too large", "the largest of all shifts to sum to at most 2^61")


class _Shift:
    """The gains Y_ij - e^ε·Y_ji of a shift, from below, and by how much their slope grows at each knot."""

    def __init__(self, shift: Fields, radii: tuple[int, ...], ratio: int) -> None:
        n = len(radii)
        self.length: int = shift["length"]
        y = [[0] * n for _ in range(n)]
        for row in shift["rows"]:
            y[row["knot"]][row["first"] : row["first"] + len(row["multipliers"])] = row["multipliers"]
        self.price = max(map(max, y))
        # What is beyond the last knot sees only what has no multiplier there.
        ends = (*radii[1:], radii[-1])
        self.ends = all(not y[i][-1] or ends[i] <= radii[-1] - self.length for i in range(n))
        self.gain = [[(y[i][j] << RATIO_BITS) - ratio * y[j][i] for j in range(n)] for i in range(n)]
        squares = [r * r for r in radii]
        self.bend = []
        for row in self.gain:
            slopes = [((row[j + 1] - row[j]) << _SLOPE_BITS) // (squares[j + 1] - squares[j]) for j in range(n - 1)]
            self.bend.append([b - a for a, b in zip((0, *slopes), (*slopes, 0), strict=True)])


class _View:
    """How knots look from a distance, for a shift: bounds on the probability of being nearer, and on the mean ramp."""

    def __init__(self, dimension: int, pi: int, r: int, s: int, radii: tuple[int, ...]) -> None:
        self.nearer: list[Bounds] = []
        self.ramp: list[Bounds] = []
        before, last = (0, 0), 0
        for x in radii:
            p, g = _inside(dimension, pi, r, s, x)
            self.nearer.append(p)
            if x > 0:
                width = x * x - last * last
                self.ramp.append(((g[0] - before[1]) // width, div_up(g[1] - before[0], width)))
            before, last = g, x

    def mean(self, gain: list[int]) -> Bounds:
        low = high = gain[-1] << _MEAN_BITS
        for a, b, (least, most) in zip(gain, gain[1:], self.ramp, strict=False):
            rise = b - a
            low -= rise * (most if rise >= 0 else least)
            high -= rise * (least if rise >= 0 else most)
        return low, high


def _inside(dimension: int, pi: int, r: int, s: int, x: int) -> tuple[Bounds, Bounds]:
    """Bounds on P(r' < x) and on the mean of (x² - r'²)₊, times 2^64, r'² = r² + s² - 2rs·t."""
    c, h = r * r + s * s - x * x, 2 * r * s
    if c >= h:
        return (0, 0), (0, 0)
    if c <= -h:
        return (_ONE, _ONE), (-c << _MEAN_BITS, -c << _MEAN_BITS)
    if dimension == 3:
        p, g = (h - c) << _MEAN_BITS, (h - c) ** 2 << _MEAN_BITS
        return (p // (2 * h), div_up(p, 2 * h)), (g // (4 * h), div_up(g, 4 * h))
    square = h * h - c * c
    low = angle_down(abs(c), square, h, _MEAN_BITS)
    high = low + 2
    if c < 0:
        low, high = pi - high, pi + 4 - low
    root = isqrt(square << 2 * _MEAN_BITS)
    ends = sorted((c * low, c * high))
    least, most = max(0, root - ends[1]), root + 1 - ends[0]
    return (
        ((low << _MEAN_BITS) // (pi + 4), min(_ONE, div_up(high << _MEAN_BITS, pi))),
        ((least << _MEAN_BITS) // (pi + 4), div_up(most << _MEAN_BITS, pi)),
    )


def lower_bound(
    dual: Fields, dimension: int, power: float, epsilon: float, delta: float, step: Fraction, meter: Meter
) -> Fraction:
    """What the dual proves of the loss of all noise that keeps the promise."""
    radii, parts = dual["radii"], dual["parts"]
    n = len(radii)
    meter.spend(40 * ((n - 1) * parts + 1) * (n * len(dual["shifts"]) + 1))
    ratio, unit = exp_up(epsilon, RATIO_BITS), power_of_two(dual["exponent"])
    shifts = [_Shift(shift, radii, ratio) for shift in dual["shifts"]]
    if not all(shift.ends for shift in shifts):
        return Fraction(0)
    pi = 2 * angle_down(0, 1, 1, _MEAN_BITS)

    def look(r: int) -> list[_View]:
        return [_View(dimension, pi, r, shift.length, radii) for shift in shifts]

    least = Fraction(radii[-1] * step) ** int(power)
    first = look(0)
    for i in range(n - 1):
        width = radii[i + 1] - radii[i]
        for k in range(parts):
            x, y = (radii[i] + width * part // parts for part in (k, k + 1))
            if x < y:
                second = look(y)
                least = min(least, _between(i, x, y, radii, shifts, (first, second), int(power), step, unit))
                first = second
    return max(Fraction(0), least - sum(s.price for s in shifts) * unit * Fraction(delta))


def _between(
    i: int,
    x: int,
    y: int,
    radii: tuple[int, ...],
    shifts: list[_Shift],
    views: tuple[list[_View], list[_View]],
    power: int,
    step: Fraction,
    unit: Fraction,
) -> Fraction:
    """A lower bound on the bracket for radii from x to y."""
    h, width = y - x, radii[i + 1] ** 2 - radii[i] ** 2
    left = [radii[i + 1] ** 2 - r * r for r in (x, y)]
    right = [width - a for a in left]
    value, tilt_low, tilt_high, inner = [0, 0], [0, 0], [0, 0], [0, 0]
    crossed = 0
    for k, shift in enumerate(shifts):
        for e in range(2):
            own, following = (views[e][k].mean(shift.gain[j]) for j in (i, i + 1))
            value[e] += left[e] * own[0] + right[e] * following[0]
            tilt_low[e] += following[0] - own[1]
            tilt_high[e] += following[1] - own[0]
        up = down = 0
        for j, r in enumerate(radii):
            p, q = views[0][k].nearer[j], views[1][k].nearer[j]
            turns = x * x <= shift.length**2 - r * r < y * y
            if not (p[1] or q[1] or turns):
                continue
            both = min(p[0], q[0]), min(p[1], q[1])
            cross, grow, fall = max(p[1], q[1]) - both[0], 0, 0
            for e in range(2):
                bend = left[e] * shift.bend[i][j] + right[e] * shift.bend[i + 1][j]
                inner[e] += (bend - width) * both[bend < width]
                grow, fall = max(grow, bend + width), max(fall, width - bend)
            up += grow * cross
            down += fall * (cross + (_ONE if turns else 0))
        crossed += up * h * (x + y + 2 * shift.length) + down * h * h
    bent = h * h * max(tilt_high) + (y * y - x * x) * (tilt_high[1] - tilt_low[0])
    scale = unit / (width << RATIO_BITS + _MEAN_BITS)
    bend_most = scale * Fraction((bent << _SLOPE_BITS) - h * h * min(inner), 1 << _SLOPE_BITS)
    if power == 2:
        bend_most += (h * step) ** 2
    low = min((r * step) ** power + scale * v for r, v in zip((x, y), value, strict=True))
    return low - (max(Fraction(0), bend_most) + scale * Fraction(crossed, 1 << _SLOPE_BITS)) / 4
