# SPDX-License-Identifier: Apache-2.0
"""The kernel file, version 1, read strictly: docs/kernel-format.md."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from noisewright._claims import (
    LOSS,
    MAX_EXPONENT,
    MAX_MULTIPLIERS,
    MAX_PIECES,
    PRIVACY,
    Claim,
    Density,
    Privacy,
    check_claims,
    check_rows,
    check_weight,
    densities,
    privacy,
    want,
)
from noisewright._loss import Loss
from noisewright._lossnames import parse_loss
from noisewright._strictjson import SIGNED, Decimal, Fields, Flag, Many, Real, Record, Text, Whole, check_format, read
from noisewright.errors import FormatError

FORMAT = "noisewright-kernel"
MAX_SIZE = 64 << 20
MAX_CELLS = 1 << 10

PIECES = Many(Record({"from": Real(), "weight": Real()}), MAX_PIECES)
_FILE = Record(
    {
        "format": Text(),
        "version": Whole(),
        "privacy": PRIVACY,
        "queries": Record({"lower": Real(), "upper": Real(), "weight?": PIECES}),
        "loss": LOSS,
        "instance_cap?": Real(),
        "instance_cap_loss?": LOSS,
        "edges": Many(Real(), MAX_CELLS + 1),
        "nodes": Many(Real(), MAX_CELLS),
        "rows": Many(Many(Decimal(), MAX_CELLS), MAX_CELLS),
        "certificate": Record(
            {
                "delta": Text(),
                "expected_loss": Text(),
                "max_loss": Text(),
                "lower_bound": Text(),
                "dual?": Record(
                    {
                        "cells": Whole(),
                        "exponent": Whole(),
                        "mirrored": Flag(),
                        "caps": Many(SIGNED, MAX_CELLS),
                        "pairs": Many(
                            Record(
                                {
                                    "gain": Whole(),
                                    "lose": Whole(),
                                    "first": Whole(),
                                    "multipliers": Many(SIGNED, MAX_MULTIPLIERS),
                                }
                            ),
                            MAX_CELLS * MAX_CELLS,
                        ),
                    }
                ),
            }
        ),
    }
)

CLAIMS = (Claim("delta"), Claim("expected_loss"), Claim("max_loss"), Claim("lower_bound", up=False))


@dataclass(frozen=True)
class Spec:
    """The content of a kernel, well-formed."""

    privacy: Privacy
    lower: float
    upper: float
    weight: tuple[Fields, ...]
    loss: Loss
    cap: float  # 0: none
    cap_loss: Loss | None  # None: the loss
    edges: tuple[float, ...]
    nodes: tuple[float, ...]
    rows: tuple[tuple[int, ...], ...]
    dual: Fields | None
    certificate: Fields

    def densities(self) -> list[Density]:
        """The law of the query values."""
        return densities(self.lower, self.upper, self.weight)


def cap_of(fields: Fields) -> tuple[float, Loss | None]:
    """The instance cap of a file, and its loss."""
    cap, loss = fields.get("instance_cap"), fields.get("instance_cap_loss")
    if cap is not None and not cap > 0:
        raise FormatError(f"instance_cap = {cap!r}, want a number above 0")
    want(cap is not None or loss is None, "instance_cap_loss", "one", "none without an instance_cap")
    return cap or 0.0, None if loss is None else parse_loss(loss["name"])


def decode(value: Any) -> Spec:
    """The kernel that a file holds."""
    f = read(value, _FILE)
    check_format(f, FORMAT)
    queries, certificate = f["queries"], f["certificate"]
    cap, cap_loss = cap_of(f)
    spec = Spec(
        privacy=privacy(f["privacy"]),
        lower=queries["lower"],
        upper=queries["upper"],
        weight=queries.get("weight", ()),
        loss=parse_loss(f["loss"]["name"]),
        cap=cap,
        cap_loss=cap_loss,
        edges=f["edges"],
        nodes=f["nodes"],
        rows=f["rows"],
        dual=certificate.get("dual"),
        certificate=certificate,
    )
    check_weight(spec.lower, spec.upper, spec.weight)
    n = len(spec.nodes)
    want(n >= 1, "nodes", f"{n} nodes", f"1 to {MAX_CELLS}")
    for name, numbers in (("edges", spec.edges), ("nodes", spec.nodes)):
        want(all(a < b for a, b in pairwise(numbers)), name, "not ascending", "numbers in ascending order")
    want(len(spec.edges) == n + 1, "edges", f"{len(spec.edges)} edges", f"{n + 1}, one more than nodes")
    ends = spec.edges[0] == spec.lower and spec.edges[n] == spec.upper
    want(ends, "edges", f"{spec.edges[0]!r} to {spec.edges[n]!r}", "the first and last to be the ends of the range")
    want(len(spec.rows) == n, "rows", f"{len(spec.rows)} rows", f"{n}, one per cell")
    check_rows(spec.rows, n, "one per node")
    check_claims(certificate, CLAIMS)
    if spec.dual is not None:
        _check_dual(spec, spec.dual)
    return spec


def _check_dual(s: Spec, d: Fields) -> None:
    n, exponent = d["cells"], d["exponent"]
    want(1 <= n <= MAX_CELLS, "dual.cells", n, f"1 to {MAX_CELLS}")
    want(abs(exponent) <= MAX_EXPONENT, "dual.exponent", exponent, f"-{MAX_EXPONENT} to {MAX_EXPONENT}")
    want(len(d["caps"]) in (0, n), "dual.caps", f"{len(d['caps'])} multipliers", f"none or {n}, one per cell")
    width = (Fraction(s.upper) - Fraction(s.lower)) / n
    reach = min(Fraction(s.privacy.sensitivity) / width, Fraction(n))
    seen: set[tuple[int, int]] = set()
    left, price = MAX_MULTIPLIERS, 0
    for m in d["pairs"]:
        gain, lose = m["gain"], m["lose"]
        name = f"cells {gain} and {lose}"
        apart = 0 <= gain < n and 0 <= lose < n and 0 < abs(gain - lose) <= reach
        want(apart, "dual.pairs", name, f"two of {n} cells, at most {int(reach)} apart")
        again = (gain, lose) in seen or (d["mirrored"] and (n - 1 - gain, n - 1 - lose) in seen)
        want(not again, "dual.pairs", name, "each pair once")
        seen.add((gain, lose))
        left -= len(m["multipliers"])
        want(left >= 0, "dual.multipliers", "too many", f"at most {MAX_MULTIPLIERS} in all")
        inside = m["first"] >= 0 and m["first"] + len(m["multipliers"]) <= n
        want(inside, "dual.first", m["first"], f"outputs within 0 to {n - 1}")
        price += max(m["multipliers"], default=0)
        want(price <= 1 << 61, "dual.multipliers", "too large", "the largest of each pair to sum to at most 2^61")
    price += sum(d["caps"])
    want(price <= 1 << 61, "dual.caps", "too large", "numbers, with the prices of all pairs, of at most 2^61")
