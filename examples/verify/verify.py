"""Recomputes what a table file claims: a second implementation of
`noisewright verify`, written from docs/table-format.md, in exact fractions.
It does not refuse malformed files as the program does.

    python3 verify.py table.json …

The exit code is 0 if all that the tables state holds, otherwise 3.
"""

import json
import sys
from bisect import bisect_left, bisect_right
from collections import defaultdict
from fractions import Fraction
from functools import lru_cache
from math import ceil, isqrt


def number(x):
    """The exact value of the float64 nearest to a number or a decimal."""
    return Fraction(float(x))


def exp_bounds(x, bits=96):
    """Two multiples of 2^-bits, one at most and one at least e^x, for x >= 0."""
    term, total, n = Fraction(1), Fraction(0), 0
    while n <= 2 * x or term * 2 ** (bits + 8) > 1:
        total += term
        n += 1
        term *= x / n
    # From here on terms halve at least, so the rest is at most twice the next.
    down = total * 2**bits // 1
    up = -((total + 2 * term) * 2**bits // -1)
    return Fraction(down, 2**bits), Fraction(up, 2**bits)


def rounded(x, side, bits=192):
    """x >= 0 to a relative 2^-bits or so, rounded up (side 1) or down."""
    shift = bits - x.numerator.bit_length() + x.denominator.bit_length()
    if shift < 0 or x.denominator.bit_length() <= bits:
        return x
    return Fraction(-side * (-side * x * 2**shift // 1), 2**shift)


def repeated(x, n, side):
    """x^n for 0 <= x <= 1 and an integer n, rounded up (side 1) or down."""
    result = Fraction(1)
    for bit in f"{n:b}":
        result = rounded(result * result * (x if bit == "1" else 1), side)
    return result


@lru_cache(maxsize=2**16)
def power(x, p, side):
    """A bound on x^p from above (side 1) or below, for x >= 0 and p >= 1: a
    float64 has finitely many digits, and every one of them is a square root."""
    if x == 0:
        return Fraction(0)
    result, rest = x ** (p // 1), p % 1
    while rest:
        shift = 200 - (x.numerator.bit_length() - x.denominator.bit_length()) // 2
        square = x * Fraction(4) ** shift
        x = Fraction(isqrt(square // 1) if side < 0 else isqrt(-(-square // 1)) + 1) / Fraction(2) ** shift
        rest *= 2
        if rest >= 1:
            result, rest = rounded(result * x, side), rest - 1
    return rounded(result, side)


class Power:
    """|x|^p, p other than 1 and 2. All its numbers are bounds, rounded outwards:
    means from above, the others from below."""

    knots = []

    def __init__(self, p):
        self.p = p

    def __call__(self, x):
        return power(abs(x), self.p, -1)

    def limit(self, x, _):
        return self(x)

    def increasing(self):
        return True

    def symmetric(self):
        return True

    def mean(self, first, last, step):
        """Points far from 0 count as the mean of |x|^p half a step about them."""
        near = 64 * ceil(self.p) if last - first >= 4 else max(-first, last)
        total = sum(power(abs(n) * step, self.p, 1) for n in range(max(first, -near), min(last, near) + 1))
        for low, high in ((max(first, near + 1), last), (max(-last, near + 1), -first)):
            if low <= high:
                a, b = (low - Fraction(1, 2)) * step, (high + Fraction(1, 2)) * step
                total += (b * power(b, self.p, 1) - a * power(a, self.p, -1)) / ((self.p + 1) * step)
        return total / (last - first + 1)

    def node(self, j, step):
        j = abs(j)
        values = [self.tangent(i, j, step) for i in (j - 1, j) if i >= 0]
        return min(values)

    def tangent(self, i, j, step):
        """The value at node j of the tangent for the interval from node i to i+1."""
        touch = Fraction(i) if self.p > 3 and i < self.p - 1 else i + Fraction(1, 2)
        if touch == 0:
            return Fraction(0)
        factor = 1 + self.p * (j - touch) / touch
        return factor * power(touch * step, self.p, -1 if factor > 0 else 1)


class Sum:
    """A weighted sum, of a piecewise quadratic loss and powers."""

    def __init__(self, parts, symmetric):
        self.parts = parts
        self.knots = [x for _, loss in parts for x in loss.knots]
        self.symmetric = lambda: symmetric

    def __call__(self, x):
        return sum(w * loss(x) for w, loss in self.parts)

    def mean(self, *run):
        return sum(w * loss.mean(*run) for w, loss in self.parts)

    def node(self, j, step):
        return sum(w * loss.node(j, step) for w, loss in self.parts)

    def limit(self, x, side):
        return sum(w * loss.limit(x, side) for w, loss in self.parts)

    def increasing(self):
        return all(loss.increasing() for _, loss in self.parts)


def parts(loss):
    """The terms of a loss, with their weights."""
    return loss.parts if isinstance(loss, Sum) else [(Fraction(1), loss)]


class Loss:
    """A loss made of quadratics: pieces[i] = (c0, c1, c2) between knots[i-1] and
    knots[i]. At a knot it has the lower of the two values, or at[i] if given."""

    def __init__(self, knots, pieces, at=None):
        self.knots, self.pieces = knots, pieces
        self.at = at or [min(value(p, x), value(q, x)) for x, p, q in zip(knots, pieces, pieces[1:])]
        # Upward jumps to the right of knots, and to their left.
        self.up = [value(p, x) - a for x, p, a in zip(knots, pieces[1:], self.at)]
        self.down = [value(p, x) - a for x, p, a in zip(knots, pieces, self.at)]

    def __call__(self, x):
        i = bisect_left(self.knots, x)
        if i < len(self.knots) and self.knots[i] == x:
            return self.at[i]
        return value(self.pieces[i], x)

    def mean(self, first, last, step):
        """The average of c(n*step) over the integers n = first ... last."""
        total, start = Fraction(0), first
        for i in range(bisect_left(self.knots, first * step), len(self.knots) + 1):
            end = last
            if i < len(self.knots) and self.knots[i] <= last * step:
                end = self.knots[i] // step
                if end * step == self.knots[i]:
                    total += self.at[i]
                    end -= 1
            total += run(self.pieces[i], start, end, step)
            if i == len(self.knots) or self.knots[i] > last * step:
                break
            start = self.knots[i] // step + 1
        return total / (last - first + 1)

    def node(self, j, step):
        """The node l_j of a function below c that is linear between nodes."""
        left, x, right = (j - 1) * step, j * step, (j + 1) * step
        excess = max(0, self.excess(left, x), self.excess(x, right))
        # A jump counts from the first node whose whole interval is behind it.
        behind = sum(self.up[: bisect_right(self.knots, left)])
        ahead = sum(self.down[bisect_left(self.knots, right) :])
        return self.continuous(x) - excess + behind + ahead

    def continuous(self, x):
        """c without its jumps, at x."""
        i = bisect_left(self.knots, x)
        return value(self.pieces[i], x) - sum(self.up[:i]) - sum(self.down[i:])

    def excess(self, a, b):
        """How far the chord from a to b is above the continuous part, at most."""
        low, high = self.continuous(a), self.continuous(b)
        slope = (high - low) / (b - a)
        inside = [x for x in self.knots if a < x < b]
        for i in range(bisect_right(self.knots, a), bisect_left(self.knots, b) + 1):
            _, c1, c2 = self.pieces[i]
            if c2 > 0:  # where the parabola has the chord's slope
                x = (slope - c1) / (2 * c2)
                start = max(a, self.knots[i - 1]) if i > 0 else a
                end = min(b, self.knots[i]) if i < len(self.knots) else b
                if start < x < end:
                    inside.append(x)
        return max((low + slope * (x - a) - self.continuous(x) for x in inside), default=0)

    def limit(self, x, side):
        """The limit of c at x from the right (side 1) or from the left."""
        return value(self.pieces[(bisect_right if side > 0 else bisect_left)(self.knots, x)], x)

    def increasing(self):
        """Whether c does not decrease away from 0 on either side."""
        ends = [-float("inf"), *self.knots, float("inf")]
        for (_, c1, c2), a, b in zip(self.pieces, ends, ends[1:]):
            # The slope is linear: its sign at the ends of each half decides.
            for side, start, end in ((1, max(a, 0), b), (-1, -min(b, 0), -a)):
                if start < end:
                    far = start + 1 if end == float("inf") else end
                    slopes = [side * c1 + 2 * c2 * x for x in (start, far)]
                    if min(slopes) < 0 or (end == float("inf") and c2 < 0):
                        return False
        for x, at in zip(self.knots, self.at):
            inner, outer = (self.limit(x, -1), self.limit(x, 1)) if x >= 0 else (self.limit(x, 1), self.limit(x, -1))
            if x != 0 and not inner <= at <= outer or x == 0 and at > min(inner, outer):
                return False
        return True

    def symmetric(self):
        mirrored = [(c0, -c1, c2) for c0, c1, c2 in reversed(self.pieces)]
        knots = [-x for x in reversed(self.knots)]
        return self.pieces == mirrored and self.knots == knots and self.at == self.at[::-1]


def value(piece, x):
    c0, c1, c2 = piece
    return c0 + (c1 + c2 * x) * x


def run(piece, first, last, step):
    """The sum of a quadratic at n*step over the integers n = first ... last."""
    n = last - first + 1
    if n <= 0:
        return 0
    c0, c1, c2 = piece
    middle = Fraction(first + last, 2)
    return n * (c0 + c1 * middle * step + c2 * (middle**2 + Fraction(n * n - 1, 12)) * step**2)


def parse_loss(name):
    """A loss from its name: terms KIND:PARAMETERS:WEIGHT joined by " + "."""
    terms = []
    for term in name.split(" + "):
        kind, *rest = term.split(":")
        parameters = {"l1": 0, "l2": 0}.get(kind, 1)
        if not parameters <= len(rest) <= parameters + 1:
            raise SystemExit(f"unknown loss {term}, want KIND:PARAMETERS or KIND:PARAMETERS:WEIGHT")
        weight = number(rest[parameters]) if len(rest) > parameters else Fraction(1)
        terms.append((weight, parse_kind(kind, rest[0] if parameters else "")))
    if len(terms) == 1 and terms[0][0] == 1:
        return terms[0][1]
    powers = [(w, loss) for w, loss in terms if isinstance(loss, Power)]
    if not powers:
        return add(terms)
    pieces = [(w, loss) for w, loss in terms if not isinstance(loss, Power)]
    together = [(Fraction(1), add(pieces))] if pieces else []
    return Sum(powers + together, all(loss.symmetric() for _, loss in terms))


def add(terms):
    """The weighted sum of losses made of quadratics."""
    knots = sorted({x for _, loss in terms for x in loss.knots})
    pieces = []
    for i in range(len(knots) + 1):
        column = [(w, loss.pieces[bisect_right(loss.knots, knots[i - 1]) if i else 0]) for w, loss in terms]
        pieces.append(tuple(sum(w * piece[k] for w, piece in column) for k in range(3)))
    return Loss(knots, pieces, [sum(w * loss(x) for w, loss in terms) for x in knots])


def parse_kind(kind, text):
    zero, one, half = (0, 0, 0), (1, 0, 0), Fraction(1, 2)
    if kind in ("l1", "lp") and text in ("", "1"):
        return Loss([Fraction(0)], [(0, -1, 0), (0, 1, 0)])
    if kind in ("l2", "lp") and text in ("", "2"):
        return Loss([], [(0, 0, 1)])
    if kind == "lp":
        return Power(number(text))
    if kind == "pinball":
        tau = number(text)
        return Loss([Fraction(0)], [(0, tau - 1, 0), (0, tau, 0)])
    if kind == "asymmetric":
        left, right = map(number, text.split(","))
        return Loss([Fraction(0)], [(0, -left, 0), (0, right, 0)])
    if kind == "pwl":
        return piecewise_linear([list(map(str.strip, s.split(","))) for s in text.split(";")])
    if kind not in ("huber", "deadzone", "exceed"):
        raise SystemExit(f"unknown loss {kind}:{text}")
    t = number(text)
    if kind == "huber":
        return Loss([-t, t], [(-t * t / 2, -t, 0), (0, 0, half), (-t * t / 2, t, 0)])
    if kind == "deadzone":
        return Loss([-t, t], [(-t, -1, 0), zero, (-t, 1, 0)])
    return Loss([-t, t], [one, zero, one])


def piecewise_linear(segments):
    """From knot, slope and jump of every segment; its least value is 0."""
    knots = [number(s[0]) for s in segments[1:]]
    slope = number(segments[0][1])
    pieces, level, least = [(-knots[0] * slope, slope, 0)], Fraction(0), []
    for i, (x, segment) in enumerate(zip(knots, segments[1:])):
        if i:
            level = value(pieces[-1], x)
        right = level + (number(segment[2]) if any(segment[2:]) else 0)
        least.append(min(level, right))
        slope = number(segment[1])
        pieces.append((right - slope * x, slope, 0))
    return Loss(knots, [(c0 - min(least), c1, c2) for c0, c1, c2 in pieces])


class Table:
    def __init__(self, file):
        self.epsilon, self.delta, self.sensitivity = (
            number(file["privacy"][name]) for name in ("epsilon", "delta", "sensitivity")
        )
        self.query = file.get("query", "real")
        self.loss = parse_loss(file["loss"]["name"])
        self.constraints = file.get("constraints", {})
        grid = file["grid"]
        self.step = number(grid.get("unit", 1)) * Fraction(2) ** grid["granularity_exponent"]
        self.points, self.cells = grid["points_per_cell"], grid["cells_per_sensitivity"]
        self.first_cell, self.offset = grid["first_cell"], grid.get("offset", 0)
        self.weights, self.atom = [int(w) for w in file["weights"]], int(file["atom"])
        self.rho = Fraction(int(file.get("tail_ratio", 0)), 2**64)
        self.claims = file["certificate"]
        self.total = file.get("total")
        self.e_down, self.e_up = exp_bounds(self.epsilon)

    def cell(self, i):
        """The first and the last point of the i-th cell."""
        first = self.offset + (self.first_cell + i) * self.points - (self.points - 1) // 2
        return first, first + self.points - 1

    def side(self, i):
        """1 or -1 if the i-th cell is a block of a tail, else 0."""
        if not self.rho:
            return 0
        return -1 if i < self.cells else int(i >= len(self.weights) - self.cells)

    def expected(self, loss):
        total = self.atom * loss(Fraction(0))
        for factor, part in parts(loss):
            for i, w in enumerate(self.weights):
                if not self.side(i):
                    total += factor * w * part.mean(*self.cell(i), self.step) if w else 0
                elif not isinstance(part, Power):
                    total += factor * w * self.tail_mean(part, i) if w else 0
            if isinstance(part, Power):
                runs = self.runs()
                for first, last in runs:
                    mean = self.power_tail(part, self.cell(first)[0], self.cell(last)[1], self.side(first), len(runs))
                    total += factor * self.weights[first] * (last - first + 1) * mean
        return total / 2**64

    def runs(self):
        """The first and last cell of the runs of equal weights in a tail's blocks."""
        runs = []
        for i, w in enumerate(self.weights):
            if not w or not self.side(i):
                continue
            if runs and runs[-1][1] == i - 1 and self.side(i - 1) == self.side(i) and self.weights[i - 1] == w:
                runs[-1][1] = i
            else:
                runs.append([i, i])
        return runs

    def power_tail(self, loss, first, last, side, runs):
        """An upper bound on the mean power of points of a block with their
        repetitions: chords, and what is left as a geometric series."""
        period = self.cells * self.points
        mean = lambda m: rounded(loss.mean(first + side * m * period, last + side * m * period, self.step), 1)
        nearest = min(abs(first), abs(last))
        rho, rest, odds = self.rho, 1 - self.rho, self.rho / (1 - self.rho)
        total, weight, m, near = Fraction(0), Fraction(1), 0, mean(0)
        while True:
            length = 1 + m // max(8, 512 // runs)
            far = max(near, mean(m + length))
            r = repeated(rho, length - 1, -1)
            chord = near * (1 - rho * r) + (far - near) / length * (odds * (1 - r) - (length - 1) * rho * r)
            total = rounded(total + weight * chord, 1)
            weight = rounded(weight * repeated(rho, length, 1), 1)
            m, near = m + length, far
            if weight * near * 2**60 > total:
                continue
            q = rho * power(1 + Fraction(period, nearest + m * period), loss.p, 1)
            if q < 1:
                return total + weight * near * rest / (1 - q)

    def tail_mean(self, loss, i):
        """The average loss of a block with its repetitions."""
        (first, last), side = self.cell(i), self.side(i)
        move = side * self.cells * self.points
        mean = lambda m: loss.mean(first + m * move, last + m * move, self.step)
        bend = max((abs(x) for x in loss.knots), default=0)
        total, power, m = Fraction(0), Fraction(1), 0
        while min(abs(first + m * move), abs(last + m * move)) * self.step <= bend and bend:
            total += (1 - self.rho) * power * mean(m)
            power, m = power * self.rho, m + 1
        # From here on the mean is a quadratic in m: Newton's differences.
        a, b, c = mean(m), mean(m + 1), mean(m + 2)
        odds = self.rho / (1 - self.rho)
        return total + power * (a + (b - a) * odds + (c - 2 * b + a) * odds**2)

    def unrolled(self, i):
        """The probability of the i-th cell times 2^64, i any integer."""
        n, periods = len(self.weights), 0
        if self.rho and not 0 <= i < n:
            periods = -(i // self.cells) if i < 0 else (i - n) // self.cells + 1
            i += periods * self.cells * (1 if i < 0 else -1)
        if not 0 <= i < n:
            return 0
        return self.weights[i] * ((1 - self.rho) * self.rho**periods if self.side(i) else 1)

    def worst(self, part, unit=1):
        """The largest sum of part(weight, its partner's) over all shifts, and the
        atom, as a probability; part is in this unit."""
        n, worst = len(self.weights), Fraction(0)
        ends = [0, *(i for i in range(1, n) if self.weights[i] != self.weights[i - 1]), n]
        if not self.rho and len(ends) ** 2 < self.cells:
            return (self.atom + Fraction(self.worst_of_runs(part, ends)) / unit) / 2**64
        p = {i: self.unrolled(i) for i in range(-2 * self.cells, n + 2 * self.cells)}
        for k in range(1, self.cells + 1):
            for shift in (k, -k):
                term = lambda j: part(p[j], p[j - shift])
                if not self.rho:
                    total = sum(map(term, range(n)))
                else:
                    # Where a cell and its partner are both in a tail, the
                    # terms of one period stand for all of them.
                    first, last = self.cells + min(0, shift), n - self.cells + max(0, shift)
                    tails = [*range(first - self.cells, first), *range(last, last + self.cells)]
                    total = sum(map(term, range(first, last))) + sum(map(term, tails)) / (1 - self.rho)
                worst = max(worst, total)
        return (self.atom + Fraction(worst) / unit) / 2**64

    def worst_of_runs(self, part, ends):
        """The same of weights that are runs of equal ones, without a tail. The cells of one run
        whose partners are in another change linearly with the shift until ends meet, so the
        largest sum is at the difference of two ends, or at the first or the last shift."""
        weight = lambda i: self.weights[i] if 0 <= i < ends[-1] else 0
        shifts = {1, self.cells} | {b - a for a in ends for b in ends if 0 < b - a < self.cells}
        worst = 0
        for shift in (side * k for k in shifts for side in (1, -1)):
            cuts = sorted({*ends, *(e + shift for e in ends if 0 < e + shift < ends[-1])})
            worst = max(worst, sum((b - a) * part(weight(a), weight(a - shift)) for a, b in zip(cuts, cuts[1:])))
        return worst

    def certified_delta(self):
        e, unit = int(self.e_down * 2**96), 2**96  # integers are faster
        return self.worst(lambda w, partner: max(0, w * unit - e * partner), unit)

    def support(self):
        """The indices of the cells with weight, from the first to the last."""
        if self.rho:
            return range(len(self.weights))
        used = [i for i, w in enumerate(self.weights) if w]
        return range(used[0], used[-1] + 1) if used else range(0, 1)

    def keeps(self):
        """Pairs of a constraint stated and whether it holds."""
        c, inside = self.constraints, self.support()
        lowest, highest = self.cell(inside[0])[0], self.cell(inside[-1])[1]
        weights = [self.weights[i] for i in inside]
        if c.get("symmetric"):
            yield "symmetric", weights == weights[::-1] and lowest == -highest
        if c.get("monotone"):
            if self.rho:
                inside = range(-1, len(self.weights) + 1)
            pairs = ((i, i + 1) if self.cell(i + 1)[0] > 0 else (i + 1, i) for i in inside[:-1])
            falls = all(self.unrolled(a) >= self.unrolled(b) for a, b in pairs)
            yield "monotone", falls and lowest <= 0 <= highest
            inside = self.support()
        if c.get("unbiased"):
            move = 2 * self.cells * self.points * self.rho / (1 - self.rho)
            yield "unbiased", sum(self.weights[i] * (sum(self.cell(i)) + self.side(i) * move) for i in inside) == 0
        if self.atom:
            lowest, highest = min(lowest, 0), max(highest, 0)
        if "lower" in c:
            yield "lower", not self.rho and lowest * self.step >= number(c["lower"])
        if "upper" in c:
            yield "upper", not self.rho and highest * self.step <= number(c["upper"])
        if c.get("max_variance"):
            yield "max_variance", self.expected(parse_loss("l2")) <= number(c["max_variance"])
        for loss, bound in self.quantiles():
            yield "quantiles", self.expected(loss) <= bound
        if c.get("max_distinguishing"):
            found = self.worst(lambda w, partner: w if partner == 0 else 0)
            yield "max_distinguishing", found <= number(c["max_distinguishing"])

    def quantiles(self):
        """The losses that the quantiles bound, and the bounds."""
        for q in self.constraints.get("quantiles", []):
            yield parse_kind("exceed", q["magnitude"]), 1 - number(q["probability"])

    def lower_bound(self):
        dual = self.claims.get("dual")
        return max(0, self.dual_bound(dual)) if dual else Fraction(0)

    def dual_bound(self, dual):
        """The bound the multipliers prove, or 0 if they are not the problem's."""
        c, cells = self.constraints, dual["cells_per_sensitivity"]
        step, only_points = self.sensitivity / cells, False
        if self.query != "real":
            stride = -(self.sensitivity // -self.step) // cells
            if stride == 0:
                return 0
            step, only_points = stride * self.step, stride == 1

        edges = dual.get("edges", False)
        if edges and (self.query != "real" or not self.loss.increasing() or c.get("unbiased")):
            return 0
        mirror = -1 if edges else 0  # the mirror image of cell j is mirror - j

        # The Lagrangian: the loss, the moments and the mean.
        mean, moments, cost = number(dual.get("mean", 0)), [(1, self.loss)], Fraction(0)
        if mean and not c.get("unbiased") or dual.get("variance") and not c.get("max_variance"):
            return 0
        if dual.get("variance"):
            moments.append((number(dual["variance"]), parse_loss("l2")))
            cost += moments[-1][0] * number(c["max_variance"])
        quantiles = list(self.quantiles())
        if len(dual.get("quantiles", [])) > len(quantiles):
            return 0
        for multiplier, (loss, bound) in zip(map(number, dual.get("quantiles", [])), quantiles):
            moments.append((multiplier, loss))
            cost += multiplier * bound

        def one_sided(j):
            if edges:  # at the end nearer to 0, seen from inside the cell
                value_of = lambda loss: loss.limit((j if j >= 0 else j + 1) * step, 1 if j >= 0 else -1)
            elif only_points:
                value_of = lambda loss: loss(j * step)
            else:
                value_of = lambda loss: loss.node(j, step)
            return sum(w * value_of(loss) for w, loss in moments) + mean * j * step

        def lagrangian(j):
            return (one_sided(j) + one_sided(mirror - j)) / 2 if c.get("symmetric") else one_sided(j)

        # The multipliers.
        unit = Fraction(2) ** dual["exponent"]
        own, other, price = defaultdict(int), defaultdict(int), 0
        sides = (1, -1) if dual["mirrored"] else (1,)
        for shift in dual["shifts"]:
            k, y = shift["shift"], [int(m) for m in shift["multipliers"]]
            price += len(sides) * max(y, default=0)
            for side in sides:
                for j, m in enumerate(y, shift["first_cell"]):
                    own[j if side == 1 else mirror - j] += m
                    other[j - k if side == 1 else mirror - j + k] += m
        # The first or the last cell of which monotone noise need not weigh more
        # than the next is the middle one, unless both sides of it are alike.
        alike = only_points or c.get("symmetric") or (self.loss.symmetric() and mirrored_support(c))
        for name, side in (("monotone_right", 1), ("monotone_left", -1)):
            if (steps := dual.get(name)) is None:
                continue
            if not c.get("monotone") or steps["first_cell"] < (0 if alike else 1):
                return 0
            for j, m in enumerate(map(int, steps["multipliers"]), steps["first_cell"]):
                for s in sides if side == 1 else (-1,):
                    own[s * j] -= m
                    own[s * (j + 1)] += m

        # The nodes that noise on the support reaches.
        first, last = -float("inf"), float("inf")
        if "lower" in c:
            first = number(c["lower"]) / step
            first = -(first // -1) if only_points else first // 1
        if "upper" in c:
            last = number(c["upper"]) / step
            last = last // 1 if only_points else -(last // -1) - edges

        # An atom at 0 counts at every shift.
        least = [price * unit] if edges else []
        touched = {0, *own, *other}
        for j in touched:
            if first <= j <= last:
                least.append(lagrangian(j) + (own[j] - self.e_up * other[j]) * unit)

        # Further cells have no multipliers. On either side the first one from which
        # the Lagrangian does not fall any more stands for all beyond. Its increments
        # grow outwards but at the knots, and near 0 for a power.
        turns = {int(abs(x) / step) + d for _, loss in moments for x in loss.knots for d in range(-3, 4)}
        turns |= {i for _, loss in parts(self.loss) if isinstance(loss, Power) for i in range(ceil(loss.p) + 3)}

        def only_rises(j, side):
            beyond = {abs(j), *(i for i in turns if i > abs(j))}
            return all(lagrangian(side * (i + 1)) >= lagrangian(side * i) for i in beyond)

        for side in (1, -1):
            if first <= side * (2**21 + 1) <= last and not only_rises(2**21 + 1, side):
                return 0
            j = side
            while first <= j <= last:
                if j not in touched:
                    least.append(lagrangian(j))
                    if (j & -j == abs(j) or abs(j) > 2**21) and only_rises(j, side):
                        break
                if abs(j) > 2**21:
                    return 0
                j += side
        if not least:
            return 0
        return min(least) - self.delta * price * unit - cost


def mirrored_support(constraints):
    """Whether the support, if there is one, is the same for x and -x."""
    if "lower" in constraints and "upper" in constraints:
        return number(constraints["lower"]) == -number(constraints["upper"])
    return "lower" not in constraints and "upper" not in constraints


def verify(path):
    """Prints what a table's file states and whether it holds."""
    with open(path, encoding="utf-8") as f:
        table = Table(json.load(f))
    delta, loss, bound = table.certified_delta(), table.expected(table.loss), table.lower_bound()
    claims = table.claims
    checks = {
        "weights sum to 2^64": sum(table.weights) + table.atom == 2**64,
        "cells cover the sensitivity": table.sensitivity <= table.cells * table.points * table.step,
        "certified delta <= delta": delta <= table.delta,
        "certificate.delta": Fraction(claims["delta"]) >= delta,
        "certificate.expected_loss": Fraction(claims["expected_loss"]) >= loss,
        "certificate.lower_bound": Fraction(claims["lower_bound"]) <= bound,
    }
    for name, good in table.keeps():
        checks["constraints." + name] = good and checks.get("constraints." + name, True)
    print(f"delta {float(delta):.12g}  expected loss {float(loss):.12g}  lower bound {float(bound):.12g}")
    for name, good in checks.items():
        print("holds:" if good else "FALSE:", name)
    if table.total:
        print("not checked: total")
    return all(checks.values())


if __name__ == "__main__":
    sys.exit(0 if all([verify(path) for path in sys.argv[1:]]) else 3)
