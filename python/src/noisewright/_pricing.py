# SPDX-License-Identifier: Apache-2.0
"""The lower bound that the dual of a local randomizer proves, on every mechanism with any answers:
docs/proofs/local-lower-bound.md. Numbers are integers in fixed point, rounded in one direction."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

from noisewright._exact import RATIO_BITS, at, ceil, exp_up, floor_at, power_of_two, shift
from noisewright._linesearch import LineSearch
from noisewright._loss import L2_LOSS, ZERO, Combination, Loss
from noisewright._meter import Meter, rational_work
from noisewright._product import PARTS, Known, Part, largest, parts_of
from noisewright._randomizerfile import Spec
from noisewright._strictjson import Fields

_WEIGHT_BITS = 96
# How often a part of the line may be halved before it is not on the grid any more.
_HALVING_BITS = 48
# How many intervals a density is priced on, at least, and how often those between nodes are
# halved for that, and how many intervals that may make of many pieces, at most.
_LEAST_INTERVALS = 256
_MOST_HALVINGS = 8
_MOST_INTERVALS = 1 << 14
# A shortfall of 2^6 values is beyond repair, one of 2^-10 values not worth the work.
_USEFUL_BITS = 6
_NEGLIGIBLE_BITS = 10
_MOST_LOWERINGS = 3
# A shortfall is found to 2^-14 of the bound.
_TOLERANCE_BITS = 14
# More than what is lost by rounding a value and a product.
_ROUNDINGS = 2

Pair = tuple[int, int]


@dataclass
class _Place:
    """A node, or an interval on which the multipliers are densities that are linear and the weight
    is constant. A node is an interval whose ends agree and whose width counts as 2^r."""

    ends: Pair
    width: int  # in units of the grid
    weight: int  # times 2^96, and so is the cap
    cap: int
    total: Pair
    mean: Pair  # times 2^(bits+r)
    costs: list[int] = field(default_factory=list)  # of categories
    edges: Pair | None = None  # of a cell: the cost is the least in it


# A line value + slope·t below the cost of a place, over t = answer - value - center: the value in
# costs, the slope times 2^r, the center in half units of the grid.
_Line = tuple[int, int, int]


def lower_bound(spec: Spec, bits: int, meter: Meter) -> Fraction:
    """What the multipliers prove on the loss of the objective; 0 without any. Costs have so many
    binary places."""
    if spec.dual is None:
        return ZERO
    p = _Pricing(spec, spec.dual, bits, meter)
    proved = p.proved()
    if proved is None:
        return ZERO
    return max(at(proved, p.bits) - p.prices(), ZERO)


def _grid_bits(*lists: list[float]) -> int:
    return max((Fraction(x).denominator.bit_length() - 1 for numbers in lists for x in numbers), default=0)


class _Pricing:
    """The multipliers in fixed point. Lengths are in units of 2^-grid; 2^reach is at least the
    range and makes products of lengths and prices costs."""

    def __init__(self, spec: Spec, dual: Fields, bits: int, meter: Meter) -> None:
        self.spec, self.dual, self.bits, self.meter = spec, dual, bits, meter
        self.ratio = exp_up(spec.epsilon)
        self.grid = self.reach = 0
        self.places: list[_Place] = []
        self.lattice: list[int] = []
        self.useful: int | None = None
        self.subtract = ZERO
        if spec.loss is None:
            for i, w in enumerate(self._atom_weights()):
                place = self._atom(w, i)
                place.costs = [floor_at(Fraction(c), self.bits) for c in spec.costs[i]]
                self.places.append(place)
            return
        self.loss: Loss = spec.loss
        nodes, points = dual["nodes"], spec.demands.points()
        starts = [spec.lower, spec.upper, *(p["from"] for p in spec.weight)]
        bounds = [spec.demands.lower, spec.demands.upper]
        self.grid = _HALVING_BITS + _grid_bits(nodes, dual.get("answers", []), starts, points, bounds)
        self.lattice = [floor_at(Fraction(y), self.grid) for y in points]
        self.reach = -self.grid
        while power_of_two(self.reach) < Fraction(spec.upper) - Fraction(spec.lower):
            self.reach += 1
        self._line_work = self.loss.work(2 * self.grid).bound // 2 + 600
        if self.loss is L2_LOSS:
            self._line_work = 400 + self.grid * self.grid // 256
        meter.spend((len(nodes) + len(points)) * rational_work(4 * self.grid) * 8)
        if not spec.averaged:
            for i, w in enumerate(self._atom_weights()):
                x = floor_at(Fraction(nodes[i]), self.grid)
                place = self._atom(w, i)
                place.ends = (x, x)
                self.places.append(place)
        elif spec.delta > 0 and not dual.get("product"):
            self._cells()
        else:
            self._densities()
            self._points()

    def _multiplier(self, name: str, i: int) -> Fraction:
        """Number i of a list that may be empty, for zeros."""
        numbers = self.dual.get(name)
        return Fraction(numbers[i]) if numbers else ZERO

    def _atom_weights(self) -> list[Fraction]:
        """The weights of the worst case, or the shares of the values."""
        if not self.spec.worst:
            return self.spec.shares()
        weights = [Fraction(w) for w in self.dual["weights"]]
        total = sum(weights, ZERO)
        return [w / total for w in weights]

    def _charged(self, total: Fraction, mean: Fraction) -> _Place:
        """A point with multipliers and no weight, without a place."""
        t, m = floor_at(total, self.bits), floor_at(mean, self.bits + self.reach)
        return _Place((0, 0), 1 << self.grid + self.reach, 0, 0, (t, t), (m, m))

    def _atom(self, weight: Fraction, i: int) -> _Place:
        """A point with multipliers number i, without a place."""
        place = self._charged(Fraction(self.dual["totals"][i]), self._multiplier("means", i))
        place.weight = floor_at(weight, _WEIGHT_BITS)
        place.cap = floor_at(self._multiplier("caps", i), _WEIGHT_BITS)
        return place

    def _points(self) -> None:
        """The nodes that have multipliers beside the densities. They have no weight."""
        for i, x in enumerate(self.dual["nodes"]):
            total, mean = self._multiplier("point_totals", i), self._multiplier("point_means", i)
            if total or mean:
                place = self._charged(total, mean)
                y = floor_at(Fraction(x), self.grid)
                place.ends = (y, y)
                self.places.append(place)

    def _densities(self) -> None:
        """The intervals between the nodes of the dual and the starts of pieces, halved until there
        are enough."""
        nodes, pieces = [Fraction(x) for x in self.dual["nodes"]], self.spec.densities()
        halvings = 0
        while (
            (len(nodes) - 1) << halvings < _LEAST_INTERVALS
            and halvings < _MOST_HALVINGS
            and (len(nodes) + len(pieces)) << halvings < _MOST_INTERVALS
        ):
            halvings += 1
        k = 0
        for i in range(len(nodes) - 1):
            a = nodes[i]
            while a < nodes[i + 1]:
                while pieces[k].end <= a:
                    k += 1
                b = min(nodes[i + 1], pieces[k].end)
                step = (b - a) / (1 << halvings)
                for _ in range(1 << halvings):
                    self.places.append(self._interval(a, a + step, i, pieces[k].density, nodes))
                    a += step

    def _interval(self, a: Fraction, b: Fraction, i: int, density: Fraction, nodes: list[Fraction]) -> _Place:
        """That from a to b, within the nodes number i and i+1. Densities count per 2^r."""
        self.meter.spend(40 * rational_work(4 * self.grid))
        low, width = nodes[i], nodes[i + 1] - nodes[i]

        def mix(name: str, x: Fraction) -> Fraction:
            v = self._multiplier(name, i)
            return v + (self._multiplier(name, i + 1) - v) * (x - low) / width

        first, last = floor_at(a, self.grid), floor_at(b, self.grid)
        places = self.bits + self.reach
        return _Place(
            ends=(first, last),
            width=last - first,
            weight=floor_at(density, _WEIGHT_BITS + self.reach),
            cap=floor_at(mix("caps", (a + b) / 2), _WEIGHT_BITS + self.reach),
            total=(floor_at(mix("totals", a), places), floor_at(mix("totals", b), places)),
            mean=(floor_at(mix("means", a), places + self.reach), floor_at(mix("means", b), places + self.reach)),
        )

    def _cells(self) -> None:
        """The cells between the nodes of the dual, for delta > 0. The average of a mechanism over a
        cell is private, too. If it is unbiased its mean is the centroid, and its squared error there,
        less the variance of the values, is the mean loss; otherwise the least cost in the cell
        counts."""
        plain, factor = self.loss, Fraction(1)
        if isinstance(plain, Combination) and len(plain.parts) == 1:
            plain, _, factor = plain.parts[0]
        squared = self.spec.demands.unbiased and plain is L2_LOSS
        nodes = [Fraction(x) for x in self.dual["nodes"]]
        for i, (mass, centroid, variance) in enumerate(_centroids(self.spec, nodes)):
            place = self._atom(mass, i)
            x = floor_at(centroid, self.grid)
            place.ends = (x, x)
            off = centroid - at(x, self.grid)
            self.subtract -= at(place.mean[0], self.bits + self.reach) * off
            if squared:
                self.subtract += (off * off + variance) * factor * at(place.weight + place.cap, _WEIGHT_BITS)
            else:
                place.edges = (floor_at(nodes[i], self.grid), floor_at(nodes[i + 1], self.grid))
            self.places.append(place)

    def value(self) -> int:
        """Σ total + Σ mean·x over the places, rounded down."""
        total, scale = 0, self.grid + self.reach
        for q in self.places:
            total += shift((q.total[0] + q.total[1]) * q.width, -1 - scale)
            if q.costs:
                continue  # a category has no place
            # The mean of the product of two linear functions is (a(2p+q) + b(p+2q))/6.
            part = q.mean[0] * (2 * q.ends[0] + q.ends[1]) + q.mean[1] * (2 * q.ends[1] + q.ends[0])
            total += shift(part * q.width // 6, -2 * scale)
        return total

    def proved(self) -> int | None:
        """The value less the shortfall and what delta takes off; None if there is no bound, or none
        of use."""
        value = self.value()
        if value <= 0:
            return None
        if self.spec.delta > 0 and not self.dual.get("product"):  # where shortfalls cost what they are
            self.useful = value
            shortfall = self._pair_shortfall()
            return None if shortfall is None else value - shortfall
        self.useful = value << _USEFUL_BITS
        found = self._lowered(value)
        if found is None or self.spec.delta == 0:
            return None if found is None else found[0]
        price = self._product_price(found[1])
        return None if price is None else found[0] - price

    def _lowered(self, value: int) -> Pair | None:
        """The value less the shortfall, and the shortfall, with the totals lowered to where the first
        was largest. Lowering all totals costs what it takes off the value, and makes the shortfall
        smaller by up to e^ε times as much; how much to lower is found by trying."""
        first = self._shortfall()
        if first is None:
            return None
        best, lowered, following = (value - first, first), 0, first >> 3
        totals = [q.total for q in self.places]
        for _ in range(_MOST_LOWERINGS):
            following = min(following, value >> 1)
            if first <= value >> _NEGLIGIBLE_BITS:
                break
            self._lower(following - lowered)
            lowered = following
            shortfall = self._shortfall()
            if shortfall is None:
                break
            if self.value() - shortfall > best[0]:
                best = self.value() - shortfall, shortfall
                totals = [q.total for q in self.places]
            fell = first - shortfall
            if shortfall > 0 and fell > 0:
                following = following * first // fell  # the line through both shortfalls ends here
            else:
                following >>= 1
        for q, total in zip(self.places, totals, strict=True):
            q.total = total
        return best

    def _lower(self, cost: int) -> None:
        """Takes about so much off the value, by all totals but those of points beside densities."""
        chosen = [q for q in self.places if not self.spec.averaged or q.ends[0] != q.ends[1]]
        drop = shift(cost, self.grid + self.reach) // sum(q.width for q in chosen)
        for q in chosen:
            q.total = q.total[0] - drop, q.total[1] - drop

    def prices(self) -> Fraction:
        """What comes off the value: the cap times its multipliers."""
        total = sum(q.cap * q.width for q in self.places)
        cost = at(total, _WEIGHT_BITS + self.grid + self.reach)
        return cost * Fraction(self.spec.demands.cap) + self.subtract

    def _concave(self, a: int) -> int:
        """φ(a) = a₊ - e^ε·a₋, rounded down."""
        return a if a >= 0 else a * self.ratio >> RATIO_BITS

    def _integral(self, a: int, b: int, width: int) -> int:
        """The mean of φ over an interval on which its argument is linear with these ends, times
        the width, rounded down."""
        scale = self.grid + self.reach
        if a * b >= 0:
            return shift(self._concave(a + b) * width, -1 - scale)
        if a < 0:
            a, b = b, a
        # a > 0 > b: (a² - e^ε·b²)/(2(a - b)).
        return ((a * a << RATIO_BITS) - b * b * self.ratio) * width // (a - b << 1 + RATIO_BITS + scale)

    def tangent(self, q: _Place, twice: int) -> _Line:
        """A line below the cost of the place that touches it at its middle and at the answer
        twice/2, in units of the grid."""
        self.meter.spend(self._line_work)
        if q.edges is not None:
            return self._cell_tangent(q.edges, twice)
        center = twice - q.ends[0] - q.ends[1]
        if self.loss is L2_LOSS:
            value = shift(center * center, self.bits - 2 * (self.grid + 1))
            return value, shift(center, self.bits + self.reach - self.grid), center
        value_at, slope = self._tangent_down(center)
        return floor_at(value_at, self.bits), floor_at(slope, self.bits + self.reach), center

    def _tangent_down(self, center: int) -> tuple[Fraction, Fraction]:
        line = self.loss.tangent_down(at(center, self.grid + 1))
        if line is None:
            raise AssertionError("a loss that is not convex")
        return line

    def _cell_tangent(self, edges: Pair, twice: int) -> _Line:
        """The cost of a cell is the least over the values in it: if c rises at the end where it is
        higher its line there is below the cost for every value; otherwise 0 is."""
        for edge, sign in zip(edges, (-1, 1), strict=True):
            value, slope = self._tangent_down(twice - 2 * edge)
            if (slope > 0) - (slope < 0) == sign:
                return floor_at(value, self.bits), floor_at(slope, self.bits + self.reach), twice
        return 0, 0, twice

    def argument(self, q: _Place, line: _Line, end: int, y: int) -> int:
        """A lower bound on (weight + cap)·c(y - x) - total - mean·y at an end of the place."""
        value, slope, center = line
        scale = self.grid + self.reach
        t = 2 * (y if q.edges is not None else y - q.ends[end]) - center
        # The slope is rounded by less than a unit.
        cost = shift(slope * t, -scale - 1) + value - shift(abs(t), -scale - 1) - _ROUNDINGS
        a = (cost * (q.weight + q.cap) >> _WEIGHT_BITS) - q.total[end]
        if q.mean[end] == 0:
            return a
        return a - shift(q.mean[end] * y, -scale) - _ROUNDINGS

    def _gain(self, q: _Place, line: _Line, y: int) -> int:
        """The part of the place in G(y), by the line."""
        a = self.argument(q, line, 0, y)
        if q.ends[0] == q.ends[1]:
            return self._concave(a)
        return self._integral(a, self.argument(q, line, 1, y), q.width)

    def steepness(self, q: _Place, line: _Line, side: int) -> int:
        """The part of the place in the slope of G far out on a side, by the line, the signs turned
        for the left side."""
        first, last = (self._slope(q, line, side, end) for end in (0, 1))
        if q.ends[0] == q.ends[1]:
            return self._concave(first)
        return self._integral(first, last, q.width)

    def _slope(self, q: _Place, line: _Line, side: int, end: int) -> int:
        """That of argument at an end of the place, outwards on a side, rounded down."""
        slope = line[1] if side > 0 else -line[1] - 1  # rounded down as seen from there
        return shift(slope * (q.weight + q.cap), -_WEIGHT_BITS) - q.mean[end] * side

    def _category_argument(self, q: _Place, j: int) -> int:
        """argument for the answer number j to a category."""
        self.meter.spend(100)
        return shift((q.weight + q.cap) * q.costs[j], -_WEIGHT_BITS) - q.total[0]

    def _search(
        self,
        over: Callable[[int, int], Pair],
        outside: Callable[[int, int], tuple[int, bool]],
        breaks: list[int],
        tolerance: int,
    ) -> int | None:
        values, bounds = self._ends()
        search = LineSearch(over, outside, breaks, tolerance, self.useful, self.lattice, values, bounds, self.meter)
        return search.least()

    def _ends(self) -> tuple[Pair, Pair | None]:
        """Those of the values, and of the answers if they have bounds."""
        d = self.spec.demands
        low, high, first, last = (
            floor_at(Fraction(x), self.grid) for x in (self.spec.lower, self.spec.upper, d.lower, d.upper)
        )
        return (low, high), (first, last) if d.bounded else None

    def _shortfall(self) -> int | None:
        """How far G falls below 0, at most, over all answers there may be; None if no such bound
        was found."""
        if self.spec.category:
            sums = (
                sum(self._concave(self._category_argument(q, j)) for q in self.places)
                for j in range(len(self.spec.answer_labels))
            )
            return -min(0, *sums)
        low = self._search(self._over, self._outside, [], abs(self.value()) >> _TOLERANCE_BITS)
        return None if low is None else -low

    def _over(self, u: int, v: int) -> Pair:
        """A bound from u to v, and one in the middle: the lines are below the costs, φ of them is
        concave in the answer, and so its sum is least at an end."""
        twice = u + v
        low = high = middle = 0
        for q in self.places:
            line = self.tangent(q, twice)
            low += self._gain(q, line, u)
            high += self._gain(q, line, v)
            middle += self._gain(q, line, twice >> 1)
        return min(low, high), middle

    def _outside(self, y: int, side: int) -> tuple[int, bool]:
        """A bound beyond y on a side: a concave function whose slope does not end below 0 does not
        fall."""
        steep = low = 0
        for q in self.places:
            line = self.tangent(q, 2 * y)
            steep += self.steepness(q, line, side)
            low += self._gain(q, line, y)
        return low, steep >= 0

    def _product_price(self, shortfall: int) -> int | None:
        """What delta takes off, rounded up, for the shortfall; None if no bound is known."""
        ends: list[Part] | None
        if self.spec.category:
            ends = [(j, j) for j in range(len(self.spec.answer_labels))]
        elif 0 < len(self.lattice) <= PARTS:
            ends = [(y, y) for y in self.lattice]
        else:
            values, bounds = self._ends()
            ends = parts_of(bounds, values, self._enough, lambda e: any(self._part(e).lack), self.meter)
        if ends is None:
            return None
        parts = []
        for e in ends:
            part = self._part(e)
            if any(part.lack):
                part.supply = [self._most(q, e) for q in self.places]
                parts.append(part)
        points = [self.spec.category or q.ends[0] == q.ends[1] for q in self.places]
        found = largest(parts, points, shortfall, self.meter)
        return None if found is None else ceil(Fraction(self.spec.delta) * at(*found))

    def _enough(self, y: int, side: int) -> bool:
        """Whether no place lacks anything at y or beyond: no line is below 0 there, nor falls."""
        for q in self.places:
            line = self.tangent(q, 2 * y)
            if any(self.argument(q, line, e, y) < 0 or self._slope(q, line, side, e) < 0 for e in (0, 1)):
                return False
        return True

    def _part(self, ends: Part) -> Known:
        part = Known([], 0, [])
        for q in self.places:
            least = self._least(q, ends)
            part.lack.append(self._spread(q, -least) if least < 0 else 0)
            if least > 0:
                part.least += shift(least * q.width, -self.grid - self.reach)
        return part

    def _least(self, q: _Place, ends: Part) -> int:
        """A bound on a of a place over a part from below, by a line, in the corners."""
        if self.spec.category:
            return self._category_argument(q, ends[0])
        line = self.tangent(q, sum(ends))
        return min(self.argument(q, line, e, y) for y in ends for e in (0, 1))

    def _most(self, q: _Place, ends: Part) -> int:
        """A bound on a₊ of a place over a part from above: c is largest at an end of the differences,
        and what is subtracted least in a corner."""
        if self.spec.category:
            cost, paid = q.costs[ends[0]] + 1, q.total[0]
        else:
            self.meter.spend(2 * self._line_work)
            far = ends[0] - q.ends[1], ends[1] - q.ends[0]
            if self.loss is L2_LOSS:
                cost = -shift(-(max(map(abs, far)) ** 2), self.bits - 2 * self.grid)
            else:
                zs = [at(t, self.grid) for t in far]
                cost = max(-floor_at(-self.loss.ramp_mean_up(z, z), self.bits) for z in zs)
            scale = self.grid + self.reach
            paid = min(shift(q.mean[e] * y, -scale) + q.total[e] for y in ends for e in (0, 1))
        return self._spread(q, max(0, -shift(-(q.weight + q.cap) * cost, -_WEIGHT_BITS) - paid))

    def _spread(self, q: _Place, a: int) -> int:
        """a times the width of the place, rounded up."""
        return -shift(-a * q.width, -self.grid - self.reach)

    def _pair_shortfall(self) -> int | None:
        """_shortfall for delta > 0, where every node has a condition of its own and costs its own;
        with delta times the largest prices of the pairs."""
        prices, total = self._pair_prices()
        answers = [floor_at(Fraction(y), self.grid) for y in self.dual.get("answers", [])]
        tolerance = abs(self.value()) // (len(self.places) << _TOLERANCE_BITS)
        for q, own in zip(self.places, prices, strict=True):
            if self.spec.category:
                total -= min(0, *(self._category_argument(q, j) + price for j, price in enumerate(own)))
                continue
            low = self._condition_least(q, answers, own, tolerance)
            if low is None:
                return None
            total -= low
        return total

    def _condition_least(self, q: _Place, answers: list[int], prices: list[int], tolerance: int) -> int | None:
        def price(y: int) -> int:
            """Interpolated, rounded down, and constant beyond."""
            if not answers:
                return 0
            k = bisect_right(answers, y)
            if k in (0, len(answers)):
                return prices[0] if k == 0 else prices[-1]
            rise = (prices[k] - prices[k - 1]) * (y - answers[k - 1])
            return rise // (answers[k] - answers[k - 1]) + prices[k - 1]

        def condition(line: _Line, y: int) -> int:
            return self.argument(q, line, 0, y) + price(y)

        def over(u: int, v: int) -> Pair:
            line = self.tangent(q, u + v)
            return min(condition(line, u), condition(line, v)), condition(line, u + v >> 1)

        def outside(y: int, side: int) -> tuple[int, bool]:
            line = self.tangent(q, 2 * y)
            return condition(line, y), self.steepness(q, line, side) >= 0

        return self._search(over, outside, answers, tolerance)

    def _pair_prices(self) -> tuple[list[list[int]], int]:
        """Σ_k ( z_{i,k} - e^ε·z_{k,i} ) for each node at each answer, rounded down, and delta times
        the sum of the largest z of each pair, rounded up."""
        outputs = len(self.spec.answer_labels) if self.spec.category else len(self.dual.get("answers", []))
        self.meter.spend(len(self.places) * outputs * 30)
        prices = [[0] * outputs for _ in self.places]
        total = 0
        for pair in self.dual.get("pairs", []):
            self.meter.spend(200 * len(pair["multipliers"]))
            zs = [floor_at(Fraction(y), self.bits) for y in pair["multipliers"]]
            for j, z in enumerate(zs, pair["first"]):
                prices[pair["gain"]][j] += z
                prices[pair["lose"]][j] += -z * self.ratio >> RATIO_BITS
            total += max(zs, default=0)
        return prices, ceil(total * Fraction(self.spec.delta))


def _centroids(spec: Spec, edges: list[Fraction]) -> list[tuple[Fraction, Fraction, Fraction]]:
    """The mass, centroid and variance of the weight between edges that run over the range; where
    there is no weight, the last two of a uniform one."""
    out, k, pieces = [], 0, spec.densities()
    for first, last in pairwise(edges):
        moments, a = [ZERO] * 3, first
        while a < last:
            while pieces[k].end <= a:
                k += 1
            b = min(last, pieces[k].end)
            moments = [m + pieces[k].density * x for m, x in zip(moments, _powers(a, b), strict=True)]
            a = b
        mass = moments[0]
        if not mass:
            moments = _powers(first, last)
        mean = moments[1] / moments[0]
        out.append((mass, mean, moments[2] / moments[0] - mean * mean))
    return out


def _powers(a: Fraction, b: Fraction) -> list[Fraction]:
    """The integrals of 1, x and x² from a to b."""
    return [(b ** (m + 1) - a ** (m + 1)) / (m + 1) for m in range(3)]
