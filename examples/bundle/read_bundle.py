"""Reads a bundle of noisewright (docs/bundle-format.md) with numpy alone, encodes
and decodes. The encodings it prints are clipped but WITHOUT NOISE: they are for
tests and evaluation, never for release.

    echo '[[70, 35], [40, 12]]' | python3 read_bundle.py DIRECTORY
"""

import json
import math
import sys
from pathlib import Path

import numpy as np


def read(directory):
    """The fields of bundle.json and the arrays by their names."""
    directory = Path(directory)
    bundle = json.loads((directory / "bundle.json").read_text(encoding="utf-8"))
    if bundle["format"] != "noisewright-bundle" or bundle["version"] not in (1, 2):
        raise ValueError("not a bundle of version 1 or 2")
    for path in directory.glob("*.npy"):
        bundle[path.stem] = np.load(path, allow_pickle=False)
    if bundle["noise"]["composition"] in ("l1", "l2"):
        table = json.loads((directory / "tables" / "00.json").read_text())
        bundle["step"] = 2.0 ** table["grid"]["granularity_exponent"]
    if bundle["noise"]["composition"] == "norm":
        bundle["step"] = 2.0 ** (math.frexp(bundle["noise"]["tau"])[1] - 33)
    names = sorted((directory / "randomizers").glob("*.json"), key=lambda path: int(path.stem))
    bundle["randomizers"] = [json.loads(path.read_text()) for path in names]
    return bundle


def encode(b, x):
    """The clipped encoding, without noise."""
    x = np.clip(np.asarray(x, float), -1e90, 1e90)
    if b["feature_bounds"]:
        x = np.clip(x, b["feature_lower"], b["feature_upper"])
    u, s = b["encoder"] @ (x - b["mean"]) + b["offset"], b["axes"]
    if b["domain"] == "ball":
        u = u / max(1.0, np.linalg.norm(u / s))
    u = np.clip(u, -s, s)
    if "step" not in b:
        return u
    t, limit = u / b["step"], np.floor(s / b["step"])
    n = np.clip(np.floor(t + 0.5), -limit, limit)
    # A rounded point outside the ball is replaced by one closer to 0.
    shrink = 1.0
    while b["domain"] == "ball" and norm(n, s, b["step"]) > 1 - (len(s) + 8) * 2.0**-52:
        n, shrink = np.trunc(t * shrink), shrink - 2.0**-20
    return n * b["step"]


def norm(n, s, step):
    """The sum that decides about the ball, in its order; numpy's has another."""
    total = 0.0
    for n_i, s_i in zip(n, s):
        if n_i:
            r = float(n_i * (step / s_i))
            total += r * r
    return total


def probabilities(b, i, u):
    """Those of the answers of the randomizer of coordinate i to its clipped encoding u."""
    r = b["randomizers"][b["noise"]["randomizer_of"][i]]
    nodes = r["nodes"]
    k = min(max(int(np.searchsorted(nodes, u)), 1), len(nodes) - 1)
    t = (u - nodes[k - 1]) / (nodes[k] - nodes[k - 1])
    low, high = (np.array([int(w) for w in r["rows"][j]], float) / 2.0**64 for j in (k - 1, k))
    return (1 - t) * low + t * high


def decode(b, u):
    """The reconstruction of the features from what was released."""
    if not b.get("lookup"):
        return b["decoder_offset"] + b["decoder"] @ u
    edges, x = b["lookup_edges"], b["decoder_offset"]
    for i, u_i in enumerate(u):
        x = x + b["lookup_values"][i * (edges.shape[1] + 1) + np.searchsorted(edges[i], u_i, side="right")]
    return x


if __name__ == "__main__":
    bundle = read(sys.argv[1])
    encoded = [encode(bundle, x) for x in json.load(sys.stdin)]
    decoded = [decode(bundle, u) for u in encoded]
    result = {"encoded": [list(u) for u in encoded], "decoded": [list(x) for x in decoded]}
    if bundle["randomizers"]:
        result["probabilities"] = [[list(probabilities(bundle, i, u_i)) for i, u_i in enumerate(u)] for u in encoded]
    print(json.dumps(result))
