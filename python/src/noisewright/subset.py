# SPDX-License-Identifier: Apache-2.0
"""Subset selections, sets of categories as answers: docs/subset-format.md."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewright import _subsetfile
from noisewright._binomial import interval
from noisewright._claims import gap
from noisewright._exact import decimal_down, decimal_up
from noisewright._frames import column_like
from noisewright._law import uniform
from noisewright._meter import Meter
from noisewright._proof import Provable
from noisewright._rounding import unmasked
from noisewright._words import Floats, Int64s, Uint64s, Words, system_words
from noisewright.errors import InvalidError

# White_Space of Unicode, which the ends of a name are without. str.strip() also takes U+001C to U+001F.
_BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


@dataclass(frozen=True)
class SubsetCertificate:
    """What exact arithmetic found in a subset selection; variances are times the number of people."""

    delta_upper: Fraction
    total_variance: Fraction
    largest_variance: Fraction
    lower_bound: Fraction
    objective: str  # total or largest, the variance that the lower bound is about
    work: int = field(compare=False)

    @property
    def gap(self) -> float | None:
        """How far the variance of the objective is above the bound, relative to that."""
        return gap(self.largest_variance if self.objective == "largest" else self.total_variance, self.lower_bound)

    @property
    def claims(self) -> dict[str, str]:
        """The strongest true claims, as decimals of 15 digits."""
        return {
            "delta": decimal_up(self.delta_upper),
            "total_variance": decimal_up(self.total_variance),
            "largest_variance": decimal_up(self.largest_variance),
            "lower_bound": decimal_down(self.lower_bound),
        }


class SubsetSelection(Provable[SubsetCertificate]):
    """Answers to one category by a set of categories, private between any two of them, for the shares
    of all. It is immutable and safe for threads and forks. Made by noisewright.load."""

    def __init__(self, source: bytes, spec: _subsetfile.Spec) -> None:
        super().__init__(source)
        self._spec = spec
        self._numbers = {label: i for i, label in enumerate(spec.labels)}

    def __repr__(self) -> str:
        s = self._spec
        return f"<SubsetSelection: epsilon={s.epsilon}, {s.categories} categories, sets of {s.size} of {s.points}>"

    @property
    def epsilon(self) -> float:
        """The promised epsilon between any two categories."""
        return self._spec.epsilon

    @property
    def categories(self) -> list[str] | range:
        """The labels; numbers from 0 on if there are none."""
        return list(self._spec.labels) or range(self._spec.categories)

    @property
    def size(self) -> int:
        """How many points a set has."""
        return self._spec.size

    @property
    def modulus(self) -> int:
        """The prime of affine sets; 0 if all sets of the size are answers."""
        return self._spec.modulus

    def _prove(self, meter: Meter) -> SubsetCertificate:
        objective = "largest" if self._spec.largest else "total"
        return SubsetCertificate(**_subsetfile.verify(self._spec, meter), objective=objective)

    def release(self, x: Any, people: Any = None, seed: str | None = None) -> Any:
        """Private answers to categories, each of a person of its own: labels, ranks, or texts a:b.

        With people, the names of these persons, and a public seed, sets a:b have the turns a of the
        persons, and b alone is the answer. Raises InvalidError if a value is none of the categories,
        without saying which; nothing is released then.
        """
        values = unmasked(x)
        turns = None
        if people is not None or seed is not None:
            turns = self.turns(people, seed)
            if turns.size != values.size:
                raise InvalidError(f"people = {turns.size} names, want one for each of {values.size} values")
        a, b = self._codes(self._category_numbers(values), system_words, turns)
        released: npt.NDArray[Any] = b
        if self._spec.modulus and turns is None:
            released = np.array([f"{i}:{j}" for i, j in zip(a.tolist(), b.tolist(), strict=True)], dtype=np.str_)
        elif not self._spec.ranked and self._spec.labels:
            released = np.array(self._spec.labels)[b]
        released = released.reshape(values.shape)
        return released.item() if values.ndim == 0 else released

    def privatize(self, series: Any) -> Any:
        """Answers each category of a column of pandas, polars or an array."""
        return column_like(series, self.release)

    def turns(self, people: Any, seed: str | None) -> Int64s:
        """The public turns a of persons by their names, for sets a:b: a function of a seed that all may know,
        of one question, and the name, as the program has it."""
        m = self._spec.modulus
        if not m:
            raise InvalidError(
                "answers without a modulus have no part that could be public, want neither people nor seed"
            )
        names = [] if people is None else [str(name).strip(_BLANKS) for name in unmasked(people).ravel().tolist()]
        if not seed or not names or "" in names:
            raise InvalidError("people and seed: want a name of each person's own, and a text that all may know")
        return np.array([_turn(seed, name, m) for name in names], dtype=np.int64)

    def shares(self, answers: Any, people: Any = None, seed: str | None = None) -> Floats:
        """Unbiased estimates of the shares of all categories from one answer of each person: they may be
        below 0 or above 1. People and seed are those of release, if it had any."""
        counts, n = self._tally(answers, people, seed)
        p, q = self._spec.probabilities()
        return (counts / n - float(q)) / float(p - q)

    def intervals(
        self, answers: Any, level: float = 0.95, people: Any = None, seed: str | None = None, marginal: bool = False
    ) -> Floats:
        """Lower and upper bounds on the shares of all categories, a row for each, that hold together with the
        probability `level`, or each by itself if marginal, for any data: from the law of the answers, with no normal
        approximation, rounded outwards. The other arguments are those of shares."""
        if not 0 < level < 1:
            raise InvalidError(f"level = {level}, want a number above 0 and below 1")
        counts, n = self._tally(answers, people, seed)
        alpha = (1 - level) / (2 if marginal else 2 * self._spec.categories)
        p, q = ((float(e), float(1 - e)) for e in self._spec.probabilities())
        bounds = {c: interval(c, n, alpha, p, q) for c in set(counts.tolist())}
        return np.array([bounds[c] for c in counts.tolist()])

    def _tally(self, answers: Any, people: Any, seed: str | None) -> tuple[Int64s, int]:
        """How many answers have each category, and how many answers there are."""
        flat = unmasked(answers).ravel()
        if people is not None or seed is not None:
            flat = self._turned(flat, people, seed)
        if not flat.size:
            raise InvalidError("answers = none, want one of each person")
        return self._counts(flat), flat.size

    def _category_numbers(self, values: npt.NDArray[Any]) -> Int64s:
        k = self._spec.categories
        texts = [str(v) for v in values.ravel().tolist()]
        numbers = [self._numbers.get(text, -1) if self._numbers else _number(text, k) for text in texts]
        if -1 in numbers:
            raise InvalidError(f"a value is none of the selection's {k} categories")
        return np.array(numbers, dtype=np.int64)

    def _turned(self, answers: npt.NDArray[Any], people: Any, seed: str | None) -> npt.NDArray[Any]:
        """The sets a:b of answers b."""
        turns = self.turns(people, seed)
        if turns.size != answers.size:
            raise InvalidError(f"people = {turns.size} names, want one for each of {answers.size} answers")
        names = unmasked(people).ravel().tolist()
        if len({str(name) for name in names}) < len(names):
            raise InvalidError("a person is there twice, want one answer of each")
        whole = [f"{a}:{b}" for a, b in zip(turns.tolist(), answers.tolist(), strict=True)]
        return np.array(whole, dtype=np.str_)

    def _codes(self, x: Int64s, words: Words, turns: Int64s | None = None) -> tuple[Int64s, Int64s]:
        """The answers to categories by their numbers: a, which turns may be, or 0, and b, or the rank
        or the one category."""
        self.verify()
        s, m = self._spec, self._spec.points
        inside = words(x.size) < np.uint64(s.inside)
        if s.ranked:
            return np.zeros_like(x), self._ranks(x, inside, words)
        within, without = uniform(x.size, s.size, words), uniform(x.size, m - s.size, words)
        t = np.where(inside, within, s.size + without)
        a = np.ones_like(x) if turns is None else turns
        if s.modulus and turns is None:
            a = 1 + uniform(x.size, m - 1, words)
        b: Int64s = (x - a * t % m) % m  # the product is below 2^63
        return (a if s.modulus else np.zeros_like(x)), b

    def _ranks(self, x: Int64s, inside: npt.NDArray[np.bool_], words: Words) -> Int64s:
        """The ranks of sets: points that are not x, each once, and x in place of the last if it is inside."""
        drawn = x[:, np.newaxis]
        for _ in range(self._spec.size):
            y = uniform(x.size, self._spec.points, words)
            while (again := np.flatnonzero((drawn == y[:, np.newaxis]).any(axis=1))).size:
                y[again] = uniform(again.size, self._spec.points, words)
            drawn = np.column_stack([drawn, y])
        members = np.sort(np.where(inside[:, np.newaxis], drawn[:, :-1], drawn[:, 1:]), axis=1)
        ranks = np.zeros(x.size, dtype=np.uint64)
        for i, below in enumerate(self._below):
            ranks += below[members[:, i]]
        return ranks.astype(np.int64)

    @cached_property
    def _below(self) -> list[Uint64s]:
        """How many sets of i+1 points there are below each point, for ranks."""
        rows, row = [], [1] * (self._spec.points + 1)
        for _ in range(self._spec.size):
            sums = [0]
            for fewer in row[:-1]:
                sums.append(sums[-1] + fewer)
            row = sums
            rows.append(np.array([min(n, (1 << 64) - 1) for n in row], dtype=np.uint64))
        return rows

    def _counts(self, answers: npt.NDArray[Any]) -> Int64s:
        """How many answers have each category."""
        s, m, counts = self._spec, self._spec.points, np.zeros(self._spec.points, dtype=np.int64)
        if s.modulus:
            codes = np.array([_code(str(y), m) for y in answers.tolist()], dtype=np.int64)
            a, b = codes[:, 0], codes[:, 1]
            for _ in range(s.size):
                counts += np.bincount(b, minlength=m)
                b = (b + a) % m
            return counts[: s.categories]
        if not s.ranked:
            return np.bincount(self._category_numbers(answers), minlength=m)
        sets = int(self._below[-1][m])
        ranks = [_number(str(y), sets) for y in answers.tolist()]
        if -1 in ranks:
            raise InvalidError(f"an answer is no rank, want an integer from 0 to {sets - 1}")
        rest = np.array(ranks, dtype=np.uint64)
        for below in reversed(self._below):
            j = np.searchsorted(below[:-1], rest, side="right") - 1
            rest = rest - below[j]
            counts += np.bincount(j, minlength=m)
        return counts


def _number(text: str, count: int) -> int:
    """The number below count that a text is, or -1."""
    plain = text.isascii() and text.isdigit() and (text == "0" or text[0] != "0") and len(text) <= 20
    return int(text) if plain and int(text) < count else -1


def _turn(seed: str, name: str, modulus: int) -> int:
    """1 + a number below modulus - 1, by words of HMAC-SHA-256: see Selection.Turn of the program."""
    key, size = hashlib.sha256(seed.encode()).digest(), modulus - 1
    for i in count():
        texts = (b"turn", name.encode(), str(i).encode())
        message = b"".join(len(text).to_bytes(8, "little") + text for text in texts)
        product = size * int.from_bytes(hmac.digest(key, message, "sha256")[:8], "little")
        if product % (1 << 64) >= (1 << 64) % size:
            return 1 + (product >> 64)
    raise AssertionError("numbers end")


def _code(text: str, modulus: int) -> tuple[int, int]:
    a, _, b = text.partition(":")
    pair = _number(a, modulus), _number(b, modulus)
    if pair[0] < 1 or pair[1] < 0:
        raise InvalidError(f"an answer is no set as a:b, want a from 1 and b from 0 to {modulus - 1}")
    return pair
