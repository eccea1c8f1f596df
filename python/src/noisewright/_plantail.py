# SPDX-License-Identifier: Apache-2.0
"""How far the answers of a plan may be from the truth: docs/proofs/plan.md, Intervals. The errors are sums of
independent noises times numbers; normal noise alone has its quantile, and of all else the characteristic function is
inverted, with a bound on what is left out. In float64, rounded outwards by a part in 10^6."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from noisewright._plancheck import component, inverse, matrix
from noisewright._planfile import L2, PARTITION, RESIDUALS, Noise, Set, Spec, Workload, subsets
from noisewright._words import Floats

_SMOOTH = 16  # uniform numbers that are added to an error, for its characteristic function to end
_MOST_TERMS = 1 << 14  # of a series
_MOST_NODES = 1 << 16
_MOST_WORK = 1 << 26
_CHUNK = 64
_REST = 1e-4  # of the miss: what may be beyond a period, and left out of a series

Terms = tuple[tuple[float, int], ...]
"""Numbers that noises are multiplied with, the largest first, and how many noises."""


@dataclass(frozen=True)
class Part:
    """What the noise of a measurement has in an error."""

    law: Characteristic | None  # None: normal noise, of a variance, with rounding in addition
    terms: Terms = ()
    normal: float = 0.0
    rounding: float = 0.0


class Characteristic:
    """A law's characteristic function E cos(θη), and its moment generating function."""

    def __init__(self, noise: Noise) -> None:
        self.weights = np.array([w / 2**64 for w in noise.weights])
        self.ratio, self.rest = noise.tail_ratio / 2**64, ((1 << 64) - noise.tail_ratio) / 2**64
        self.last = last = len(self.weights) - 1
        explicit = last if noise.tail_ratio else last + 1
        n = np.arange(explicit, dtype=np.float64)
        self.mean = float(2 * (self.weights[:explicit] * n).sum())
        fourth = float(2 * (self.weights[:explicit] * n**4).sum())
        if noise.tail_ratio:
            far = last + 1 / self.rest
            self.mean += 2 * self.weights[last] * far
            fourth += 48 * self.weights[last] * far**4
        self.mean *= 1 + 1e-9
        self._fourth, self._explicit, self._n = fourth, explicit, n
        self.off = 2.0**-50 * (last + 8 + self.mean)
        falls = last == 1 and bool(noise.tail_ratio)
        self.geometric = falls and float(self._direct(np.array([math.pi]))[0][0]) > self.off
        if self.geometric:
            self.off = 2.0**-48
            self.possible = True
            return
        # Between nodes d apart Hermite's cubic is off by at most d⁴·max|φ⁗|/384, and |φ⁗| <= E η⁴.
        near = 1e-14
        nodes = math.ceil(math.pi / (384 * near / fourth) ** 0.25) + 1
        self.possible = nodes <= _MOST_NODES and nodes * (last + 1) <= _MOST_WORK
        self._nodes = nodes
        self._step = math.pi / (nodes - 1)
        self.off = 2 * self.off * (1 + self.mean * self._step) + near * (1 + 1e-6)

    def _direct(self, theta: Floats) -> tuple[Floats, Floats]:
        """E cos(θη) and E -η·sin(θη)."""
        value, slope = np.zeros(theta.size), np.zeros(theta.size)
        for i, p in enumerate(self.weights[: self._explicit]):
            p = p * (2 if i else 1)
            value += p * np.cos(theta * i)
            slope -= p * i * np.sin(theta * i)
        if self._explicit == self.last:  # (1 - ρ)e^(i·last·θ)/(1 - ρe^(iθ)), and its derivative
            p, half = 2 * self.weights[self.last], np.sin(theta / 2)
            turn = self.ratio * (np.cos(theta) + 1j * np.sin(theta))
            bottom = self.rest + 2 * self.ratio * half**2 - 1j * turn.imag
            part = self.rest * np.exp(1j * theta * self.last) / bottom
            value += p * part.real
            slope -= p * (self.last * part + part * turn / bottom).imag
        return value, slope

    @cached_property
    def _table(self) -> tuple[Floats, Floats]:
        return self._direct(np.arange(self._nodes) * self._step)

    def __call__(self, theta: Floats) -> Floats:
        """The values at θ >= 0, off by at most self.off and the mean times the error of θ."""
        if self.geometric:
            x = 2 * np.sin(theta / 2) ** 2  # 1 - cos θ: nothing is lost where ρ is near 1
            found: Floats = self.weights[0] + 2 * self.weights[1] * self.rest * (self.rest - x) / (
                self.rest**2 + 2 * self.ratio * x
            )
            return found
        theta = np.abs(np.remainder(theta + math.pi, 2 * math.pi) - math.pi)
        values, slopes = self._table
        k = np.minimum((theta / self._step).astype(np.int64), self._nodes - 2)
        x = theta / self._step - k
        y = 1 - x
        cubic: Floats = (
            values[k] * y * y * (1 + 2 * x)
            + values[k + 1] * x * x * (1 + 2 * y)
            + self._step * x * y * (slopes[k] * y - slopes[k + 1] * x)
        )
        return cubic

    @property
    def end(self) -> float:
        """Up to which the moment generating function is finite here."""
        end = 600 / self.last
        return min(end, -0.98 * math.log(self.ratio)) if self._explicit == self.last else end

    def cumulant(self, s: Floats) -> Floats:
        """The logarithm of E cosh(sη), a little too large, for 0 <= s <= end."""
        total = 4 * (np.sinh(np.multiply.outer(s, self._n[1:]) / 2) ** 2 @ self.weights[1 : self._explicit])
        if self._explicit == self.last:
            for t in (s, -s):
                side = (self.rest * np.expm1(t * self.last) + self.ratio * np.expm1(t)) / (1 - self.ratio * np.exp(t))
                total = total + self.weights[self.last] * (side + 2.0**-48 * np.abs(side))
        grown: Floats = np.log1p(total * (1 + 1e-12)) * (1 + 1e-12)
        return grown


def grouped(numbers: Sequence[tuple[float, int]]) -> Terms:
    """Those that are the same but for rounding as one, without those that are 0."""
    out: list[tuple[float, int]] = []
    for h, count in sorted(numbers, reverse=True):
        if out and h > out[-1][0] * (1 - 1e-10):
            out[-1] = out[-1][0], out[-1][1] + count
        elif h > 0 and not (out and h <= 1e-13 * out[0][0]):
            out.append((h, count))
    return tuple(out)


class Radii:
    """Radii at a probability of a miss, on both sides together."""

    def __init__(self, spec: Spec, miss: float) -> None:
        self.spec, self.miss = spec, miss
        self._laws = [None if m.noise is None else Characteristic(m.noise) for m in spec.measurements]
        self._known: dict[tuple[Part, ...], float] = {}

    def all(self) -> Floats:
        """Those of all queries, of marginals of the cells of each table."""
        made = self._of_tables() if self.spec.marginals else self._dense()
        return np.array(made, dtype=np.float64)

    def _of(self, parts: Sequence[Part]) -> float:
        key = tuple(parts)
        if key not in self._known:
            self._known[key] = self._radius(key)
        return self._known[key]

    def _radius(self, parts: tuple[Part, ...]) -> float:
        normal, rounding = sum(p.normal for p in parts), sum(p.rounding for p in parts)
        noisy = tuple(p for p in parts if p.terms)
        if not noisy:
            quantile = -NormalDist().inv_cdf(self.miss / 2)
            return (math.sqrt(normal) * quantile * (1 + 1e-9) + rounding) * (1 + 1e-6)
        rest = self.miss * _REST
        start, far = chernoff(noisy, normal, self.miss), chernoff(noisy, normal, rest)
        whole = self.spec.whole is not None
        if any(p.law is None or not p.law.possible for p in noisy):
            found = start + rounding
        elif whole and len(noisy[0].terms) == 1 and abs(noisy[0].terms[0][0] - 1) < 1e-9:
            law = noisy[0].law
            assert law is not None
            return of_sum(law, noisy[0].terms[0][1], self.miss, math.floor(start), math.ceil(far), rest)
        else:
            found = inverted(noisy, normal, self.miss, start, far, rest) + rounding
        found *= 1 + 1e-6
        return math.floor(found) if whole else found

    def _dense(self) -> list[float]:
        """The numbers are rows of W·M⁻¹·Aᵀ·Ω."""
        s, w, n = self.spec, self.spec.workload, self.spec.workload.cells
        inv = inverse(matrix(s))
        blocks = [inv @ _rows(s, i).T * m.weight for i, m in enumerate(s.measurements)]
        if w.kind == "matrix":
            queries = [np.array(w.rows, dtype=np.float64) @ block for block in blocks]
        else:
            ends = np.array(list(w.intervals))
            sums = [np.vstack([np.zeros((1, block.shape[1])), block.cumsum(axis=0)]) for block in blocks]
            queries = [total[ends[:, 1]] - total[ends[:, 0]] for total in sums]
        out = []
        for q in range(w.queries):
            parts = []
            for m, law, of in zip(s.measurements, self._laws, queries, strict=True):
                h = np.abs(of[q])
                if m.kind == L2:
                    parts.append(Part(None, (), float((h * m.deviation) @ (h * m.deviation)), float(h.sum() / 2)))
                else:
                    parts.append(Part(law, grouped([(x, 1) for x in h.tolist()])))
            out.append(self._of(parts))
        assert n
        return out

    def _of_tables(self) -> list[float]:
        s, w = self.spec, self.spec.workload
        out = []
        for of in w.sets:
            weights: list[dict[Set, float]] = [{} for _ in s.measurements]
            normal = rounding = 0.0
            for b in subsets(of):
                others = w.others(of, b)
                if s.measurements[0].kind == RESIDUALS:
                    m = s.measurements[0]
                    d = m.deviations[m.sets.index(b)] * (1 + 2.0**-46)
                    normal += d * d * math.prod(1 - 1 / k for k in w.shape(b)) / others**2
                    rounding += 0.5 / others
                    continue
                for i, share in enumerate(component(s, b)[1]):
                    if share:
                        weights[i][b] = float(share) / others
            parts = [Part(None, (), normal, rounding)]
            for m, law, mine in zip(s.measurements, self._laws, weights, strict=True):
                if mine and m.attributes is not None:
                    parts.append(Part(law, table_terms(w, m.attributes, of, mine)))
            out.append(self._of(parts))
        return out


def _rows(s: Spec, i: int) -> Floats:
    m, n = s.measurements[i], s.workload.cells
    if m.kind != PARTITION:
        return np.array(m.rows, dtype=np.float64)
    made: Floats = (np.arange(s.blocks(m))[:, np.newaxis] == np.arange(n) // m.block).astype(np.float64)
    return made


def table_terms(w: Workload, measured: Set, of: Set, weights: dict[Set, float]) -> Terms:
    """What a cell of a table multiplies the cells of a measured one with: Σ weight_B·Π_B ([same value] - 1/n), one
    number for each choice of where they agree."""
    both = tuple(a for a in of if a in measured)
    values = np.array([weights.get(b, 0.0) for b in subsets(both)])
    counts = [w.others(measured, both)]
    for i, n in enumerate(w.shape(both)):
        pairs = values.reshape(-1, 2, 1 << i)
        without, with_it = pairs[:, 0].copy(), pairs[:, 1].copy()
        pairs[:, 0], pairs[:, 1] = without - with_it / n, without + with_it * (1 - 1 / n)
        counts = [c * (n - 1) for c in counts] + counts
    return grouped(list(zip(np.abs(values).tolist(), counts, strict=True)))


def _arrays(terms: Terms) -> tuple[Floats, Floats]:
    found: Floats = np.array(terms, dtype=np.float64)
    return found[:, 0], found[:, 1]


def chernoff(parts: Sequence[Part], normal: float, miss: float) -> float:
    """A radius of an error: any rate λ gives one, (K(λ) + ln(2/miss))/λ."""
    laws = [(p.law, *_arrays(p.terms)) for p in parts if p.law is not None]
    need, top = math.log(2 / miss), min(law.end / h[0] for law, h, _ in laws)
    near = 1e-3 * top
    variance = normal + sum(2 * float(counts @ law.cumulant(near * h)) for law, h, counts in laws) / near**2
    guess = math.sqrt(2 * need / variance)
    low, high = guess / 64, min(64 * guess, top) * (1 - 1e-9)
    best = math.inf
    for _ in range(2):  # a grid, and a finer one about the best of it
        rates = np.geomspace(min(low, high / 2), high, 24)
        total = rates**2 * normal / 2
        for law, h, counts in laws:
            total = total + law.cumulant(np.multiply.outer(rates, h)) @ counts
        bounds = (total + need) / rates
        at = int(bounds.argmin())
        best = min(best, float(bounds[at]))
        low, high = float(rates[max(at - 1, 0)]), float(rates[min(at + 1, rates.size - 1)])
    return best * (1 + 1e-9)


def inverted(parts: Sequence[Part], normal: float, miss: float, start: float, far: float, rest: float) -> float:
    """A radius of at most start, which is one: with Y of at most a, P(|X| > t) <= P(|X + Y| > t - a), by its Fourier
    series on [-L, L]; rest bounds P(|X| >= far)."""
    a = start / (256 if _falls(parts) else 64)
    length = (far + start) / 2
    made = series(parts, normal, a, length, miss * _REST)
    if made is None or made[1] + rest > miss / 16:
        return start
    coefficients, slack = made[0], made[1] + rest
    frequencies = np.arange(1, coefficients.size + 1) * (math.pi / length)

    def beyond(t: float) -> float:
        s = t - a
        return float(1 - s / length - coefficients @ np.sin(frequencies * s) + slack)

    low, high = a, start
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        if beyond(middle) <= miss:
            high = middle
        else:
            low = middle
    return high


def _falls(parts: Sequence[Part]) -> bool:
    return all(p.law is not None and p.law.geometric for p in parts)


def series(parts: Sequence[Part], normal: float, a: float, length: float, cut: float) -> tuple[Floats, float] | None:
    """2/(πj) times the characteristic function of X + Y at πj/L, up to where what is left is below the cut, and a bound
    on that and all rounding; None if that is too far."""
    largest, falls = max(p.terms[0][0] for p in parts), _falls(parts)
    laws = [(p.law, *_arrays(p.terms)) for p in parts if p.law is not None]

    def after(u: Floats) -> Floats:  # what is left of Y alone
        left: Floats = 2 / math.pi * (1 / _SMOOTH + math.pi / (u * length)) * (_SMOOTH / (a * u)) ** _SMOOTH
        return left

    out: list[Floats] = []
    slack = total = 0.0
    for first in range(1, _MOST_TERMS, _CHUNK):
        j = np.arange(first, first + _CHUNK, dtype=np.float64)
        u = j * (math.pi / length)
        value, off = np.exp(-u * u * normal / 2), np.full(_CHUNK, 2.0**-46)
        for law, h, counts in laws:
            theta = np.multiply.outer(u, h)
            value = value * (law(theta) ** counts).prod(axis=1)
            off = off + (law.off + 2.0**-50 * theta * law.mean + 2.0**-51) @ counts
        x = a * u / _SMOOTH
        y, scale = (np.sin(x) / x) ** _SMOOTH, 2 / (math.pi * j)
        made = scale * value * y
        wrong = scale * (np.minimum(1, np.abs(y) + 2.0**-40) * off + 2.0**-46 * j * np.abs(value * y))
        left = after(u)
        if falls:
            end = np.maximum(2 * math.pi / largest - u, u)
            still = 2 / math.pi * (np.log(end / u) + 1 / j) * (np.abs(value) + off) + after(end)
            left = np.where(u * largest < math.pi, np.minimum(left, still), left)
        enough = np.flatnonzero(left <= cut)
        keep = int(enough[0]) + 1 if enough.size else _CHUNK
        out.append(made[:keep])
        slack += float(wrong[:keep].sum())
        total += float(np.abs(made[:keep]).sum())
        if enough.size:
            return np.concatenate(out), slack + float(left[enough[0]]) + 2.0**-52 * (first + keep) * total
    return None


def of_sum(law: Characteristic, n: int, miss: float, start: int, far: int, rest: float) -> float:
    """The least whole number that a sum of n noises exceeds in magnitude with a probability of at most the miss; start
    is such a number, and rest bounds the probability of far or more."""
    size = 2 * math.ceil((far + start) / 2) + 1
    if size > _MOST_TERMS:
        return start
    j = np.arange(1, (size + 1) // 2, dtype=np.float64)
    theta = 2 * math.pi * j / size
    values = law(theta) ** n
    wrong = max(2.0**-46, float(n * (law.off + 2.0**-50 * theta.max() * law.mean + 2.0**-51)))
    half = theta / 2

    def beyond(r: int) -> float:
        kernel = 2 * np.sin((2 * r + 1) * half) / np.sin(half)
        slack = ((np.abs(kernel) + 1) * (wrong + 2.0**-46 * np.abs(values) * j)).sum()
        return float(1 - (2 * r + 1 + values @ kernel) / size + slack / size + rest)

    low, high = -1, start
    while high - low > 1:
        middle = (low + high) // 2
        if beyond(middle) <= miss:
            high = middle
        else:
            low = middle
    return float(high)
