# SPDX-License-Identifier: Apache-2.0
"""The device side of a bundle: encoding, clipping to a body, decoding. Operations that the proof
rests on are rounded by themselves, as docs/bundle-format.md wants it: products are never fused
with sums, so encodings are those of the program but for the last digits of e^x and tanh."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from noisewright._bundlefile import MAX_MAGNITUDE, Category, Layer, Spec
from noisewright._words import Floats
from noisewright.errors import InvalidError

# Beyond all that features are encoded to; its quotients with axes are float64s.
_MAX_SCALED = 1e240


def _affine(matrix: Floats, x: Floats, offset: Floats) -> Floats:
    """matrix·x + offset of every row of x, summed from left to right."""
    total = np.zeros((len(x), len(matrix)))
    for j in range(matrix.shape[1]):
        total += x[:, j, None] * matrix[:, j]
    total += offset
    return total


def _clamped(x: Floats, limit: Floats | float) -> Floats:
    """x within ±limit, and 0 for NaN."""
    return np.where(np.isnan(x), 0.0, np.clip(x, -np.asarray(limit), limit))


def _forward(layers: Sequence[Layer], h: Floats) -> Floats:
    for layer in layers:
        x = _affine(layer.weights, h, layer.bias)
        match layer.activation:
            case "sigmoid":
                e = np.exp(-np.abs(x))
                x = np.where(x < 0, e, 1.0) / (1 + e)
            case "relu":
                x = np.maximum(x, 0.0)
            case "tanh":
                x = np.tanh(x)
        h = _clamped(x, MAX_MAGNITUDE)
    return h


def encode(spec: Spec, x: Floats) -> Floats:
    """The clipped encodings of rows of features, WITHOUT NOISE."""
    x = np.clip(x, -MAX_MAGNITUDE, MAX_MAGNITUDE)
    if spec.lower is not None and spec.upper is not None:
        x = np.clip(x, spec.lower, spec.upper)
    u = _affine(spec.encoder, _forward(spec.layers, x - spec.mean), spec.offset)
    if spec.category:
        return _cells(spec.category, u)
    return into_body(u, spec.domain, spec.axes, spec.step)


def into_body(u: Floats, domain: str, axes: Floats, step: float) -> Floats:
    """Rows in the body, and with a step on its grid, exactly."""
    if domain in ("ball", "l1-ball"):
        u = _scaled_back(_clamped(u, _MAX_SCALED), axes, domain == "ball")
    u = _clamped(u, axes)
    return _to_grid(u, domain, axes, step) if step else u


def _cells(category: Category, scores: Floats) -> Floats:
    """The cell of rows of scores: by the first class of the largest, and by how much that is above
    all others."""
    scores = _clamped(scores, MAX_MAGNITUDE)
    top = scores.argmax(axis=1)
    rest = scores.copy()
    rest[np.arange(len(top)), top] = -np.inf
    margin = scores.max(axis=1) - rest.max(axis=1)
    level = (category.edges[top] <= margin[:, None]).sum(axis=1)
    cells: Floats = (top * category.levels + level).astype(np.float64)[:, None]
    return cells


def _scaled_back(u: Floats, axes: Floats, squares: bool) -> Floats:
    """Divides by the norm of rows, √Σ(u_i/s_i)² or Σ|u_i|/s_i, where that is above 1."""
    most = np.max(np.abs(u / axes), axis=1, keepdims=True)
    safe = np.where(most > 0, most, 1.0)
    norm = np.zeros((len(u), 1))
    for i, s in enumerate(axes):  # relative to the most, so that no square overflows
        r = u[:, i, None] / s / safe
        norm += r * r if squares else np.abs(r)
    if squares:
        norm = np.sqrt(norm)
    norm = np.where(most > 0, norm, 1.0)
    return np.where((most > 0) & (most > 1 / norm), u / safe / norm, u)


def _to_grid(u: Floats, domain: str, axes: Floats, step: float) -> Floats:
    """Rounds to the nearest point of the grid within the limits; one that lies outside a ball is
    replaced by u rounded towards 0, made shorter until that is inside."""
    limits = np.floor(axes / step)
    t = u / step  # exact, or too close to 0 to matter
    n = np.clip(np.floor(t + 0.5), -limits, limits)
    if domain in ("ball", "l1-ball"):
        parts, member = np.where(limits > 0, step / axes, 0.0), 1 - float(len(limits) + 8) * 2.0**-52
        if domain == "l1-ball" and axes.min() == axes.max():
            parts, member = np.ones(len(limits)), float(limits[0])  # a sum of integers, exact
        shrink = 1.0
        outside = np.flatnonzero(~_holds(n, parts, member, domain == "ball"))
        while outside.size:
            n[outside] = np.trunc(t[outside] * shrink)
            shrink -= 2.0**-20
            outside = outside[~_holds(n[outside], parts, member, domain == "ball")]
    return np.asarray(n * step + 0.0)  # no negative zero


def _holds(n: Floats, parts: Floats, member: float, squares: bool) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Whether points of the grid are inside. It may say no to one at the border, and never says yes
    to one outside."""
    total = np.zeros(len(n))
    for i, part in enumerate(parts):
        r = n[:, i] * part
        total += r * r if squares else np.abs(r)
    return np.asarray(total <= member)


def decode(spec: Spec, u: Floats) -> Floats:
    """What is decoded from rows that were released."""
    y: Floats
    if spec.category and spec.decoder is not None:
        answers = u[:, 0]
        if not bool(np.all((answers >= 0) & (answers < spec.decoder.shape[1]) & (answers == np.floor(answers)))):
            raise InvalidError(f"released, want numbers of answers, from 0 to {spec.decoder.shape[1] - 1}")
        y = spec.decoder.T[answers.astype(np.int64)] + spec.decoder_offset
    elif spec.lookup is not None:
        edges, values = spec.lookup
        y = np.tile(spec.decoder_offset, (len(u), 1))
        for i in range(u.shape[1]):
            bins = np.searchsorted(edges[i], u[:, i], side="right")
            y += values[i * (edges.shape[1] + 1) + bins]
    elif spec.decoder is not None:
        y = _affine(spec.decoder, _forward(spec.head, u), spec.decoder_offset)
    else:
        raise AssertionError("neither a decoder nor a lookup")
    if spec.output == "classes":
        y = np.clip(y, -np.finfo(float).max, np.finfo(float).max)
        e = np.exp(y - y.max(axis=1, keepdims=True))
        y = e / e.sum(axis=1, keepdims=True)
    return y
