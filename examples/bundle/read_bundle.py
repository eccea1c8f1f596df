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


ACTIVATIONS = {
    "identity": lambda x: x,
    "sigmoid": lambda x: np.where(x < 0, np.exp(np.minimum(x, 0)), 1) / (1 + np.exp(-np.abs(x))),
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
}

# What this reader knows, and whether there is noise; anything else is refused.
DOMAINS = ("ball", "l1-ball", "box", "bounds")
COMPOSITIONS = ("basic", "exact", "l1", "l2", "norm", "none")
KINDS = ("designed", "truncated-laplace", "staircase", "laplace", "gaussian", "spherical", "local", "local-unbiased", "none")


def known(bundle):
    """Refuses what this reader would misunderstand. Whether a promise is kept is not its
    matter: noisewright latent verify proves that."""
    if bundle["format"] != "noisewright-bundle" or bundle["version"] not in (1, 2):
        raise ValueError("not a bundle of version 1 or 2")
    if bundle["version"] == 1:
        bundle.update(layers=[], head=[], output="features", outputs=[], lookup=False)
    noise = bundle["noise"]
    words = [
        (bundle["domain"], DOMAINS), (noise["composition"], COMPOSITIONS), (noise["kind"], KINDS),
        (bundle["output"], ("features", "values", "classes")),
    ]
    words += [(layer["activation"], ACTIVATIONS) for layer in bundle["layers"] + bundle["head"]]
    for word, words_known in words:
        if word not in words_known:
            raise ValueError(f"{word!r}, want one of {', '.join(words_known)}")
    filters = (bundle["privacy"] is None, noise["kind"] == "none", noise["composition"] == "none")
    if any(filters) != all(filters):
        raise ValueError("a promise without noise, or noise without a promise")
    if bundle["layers"] and bundle["domain"] == "bounds" or bundle["head"] and bundle["lookup"]:
        raise ValueError("layers with bounds, or a head beside a lookup")
    return bundle


def read(directory):
    """The fields of bundle.json and the arrays by their names."""
    directory = Path(directory)
    bundle = known(json.loads((directory / "bundle.json").read_text(encoding="utf-8")))
    for path in directory.glob("*.npy"):
        bundle[path.stem] = np.load(path, allow_pickle=False)
    if bundle["noise"]["composition"] in ("l1", "l2"):
        table = json.loads((directory / "tables" / "00.json").read_text())
        bundle["step"] = 2.0 ** table["grid"]["granularity_exponent"]
    if bundle["noise"]["composition"] == "norm":
        bundle["step"] = 2.0 ** (math.frexp(bundle["noise"]["tau"])[1] - 33)
    names = sorted((directory / "randomizers").glob("*.json"), key=lambda path: int(path.stem))
    bundle["randomizers"] = [json.loads(path.read_text()) for path in names]
    for side, name, width in (("layers", "layer", len(bundle["features"])), ("head", "head", bundle["coordinates"])):
        for i, layer in enumerate(bundle[side], 1):
            layer["weights"], layer["bias"] = bundle[f"{name}_{i}_weights"], bundle[f"{name}_{i}_bias"]
            if layer["weights"].shape != (layer["width"], width) or layer["bias"].shape != (layer["width"],):
                raise ValueError(f"{name}_{i}: not {layer['width']} numbers of {width}")
            width = layer["width"]
    return bundle


def through(layers, h):
    """What layers make of h."""
    for layer in layers:
        h = ACTIVATIONS[layer["activation"]](layer["weights"] @ h + layer["bias"])
        h = np.clip(h, -1e90, 1e90)
    return h


def encode(b, x):
    """The clipped encoding, without noise."""
    x = np.clip(np.asarray(x, float), -1e90, 1e90)
    if b["feature_bounds"]:
        x = np.clip(x, b["feature_lower"], b["feature_upper"])
    u, s = b["encoder"] @ through(b["layers"], x - b["mean"]) + b["offset"], b["axes"]
    if b["domain"] in ("ball", "l1-ball"):
        u = u / max(1.0, np.linalg.norm(u / s, 2 if b["domain"] == "ball" else 1))
    u = np.clip(u, -s, s)
    if "step" not in b:
        return u
    t, limit = u / b["step"], np.floor(s / b["step"])
    n = np.clip(np.floor(t + 0.5), -limit, limit)
    # A rounded point outside the ball is replaced by one closer to 0.
    shrink = 1.0
    while b["domain"] in ("ball", "l1-ball") and not inside(b, n, limit):
        n, shrink = np.trunc(t * shrink), shrink - 2.0**-20
    return n * b["step"]


def inside(b, n, limit):
    """Whether the sum that decides about the ball does so, in its order; numpy's has another."""
    s = b["axes"]
    if b["domain"] == "l1-ball" and min(s) == max(s):
        return sum(abs(n)) <= limit[0]
    total = 0.0
    for n_i, s_i in zip(n, s):
        if n_i:
            r = float(n_i * (b["step"] / s_i))
            total += r * r if b["domain"] == "ball" else abs(r)
    return total <= 1 - (len(s) + 8) * 2.0**-52


def probabilities(b, i, u):
    """Those of the answers of the randomizer of coordinate i to its clipped encoding u."""
    r = b["randomizers"][b["noise"]["randomizer_of"][i]]
    nodes = r["nodes"]
    k = min(max(int(np.searchsorted(nodes, u)), 1), len(nodes) - 1)
    t = (u - nodes[k - 1]) / (nodes[k] - nodes[k - 1])
    low, high = (np.array([int(w) for w in r["rows"][j]], float) / 2.0**64 for j in (k - 1, k))
    return (1 - t) * low + t * high


def decode(b, u):
    """The features, the values, or the probabilities of the classes, from what was released."""
    if not b["lookup"]:
        y = b["decoder_offset"] + b["decoder"] @ through(b["head"], np.asarray(u, float))
    else:
        edges, y = b["lookup_edges"], b["decoder_offset"]
        for i, u_i in enumerate(u):
            y = y + b["lookup_values"][i * (edges.shape[1] + 1) + np.searchsorted(edges[i], u_i, side="right")]
    if b["output"] == "classes":
        y = np.exp(y - max(y))
        y = y / sum(y)
    return y


if __name__ == "__main__":
    bundle = read(sys.argv[1])
    encoded = [encode(bundle, x) for x in json.load(sys.stdin)]
    decoded = [decode(bundle, u) for u in encoded]
    result = {"encoded": [list(u) for u in encoded], "decoded": [list(x) for x in decoded]}
    result["outputs"] = bundle["outputs"] or bundle["features"]
    if bundle["privacy"] is None:
        print("a filter: it adds no noise and promises nothing", file=sys.stderr)
    if bundle["randomizers"]:
        result["probabilities"] = [[list(probabilities(bundle, i, u_i)) for i, u_i in enumerate(u)] for u in encoded]
    print(json.dumps(result))
