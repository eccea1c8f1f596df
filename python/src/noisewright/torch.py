# SPDX-License-Identifier: Apache-2.0
"""Private encoders in PyTorch: the noise of proven tables, or on balls, as a layer, and its export as a bundle.

    noise = noisewright.torch.design(epsilon=10, delta=1e-6, coordinates=2, clip=1.0)
    loss = cross_entropy(decoder(noise(encoder(x))), y)
    noise.export("bundle", promise={"epsilon": 10, "delta": 1e-6}, encoder=encoder, decoder=decoder)

The privacy never depends on the training: encodings are clipped at every call, and the noise is that of the clip.
What a training draws is not released and follows torch's generator; release draws from the system.
"""

from __future__ import annotations

import dataclasses
import math
import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor, nn

from noisewright import program
from noisewright._bundlewriter import Activation, Content, Layer, Promise, write_bundle
from noisewright._encode import into_body
from noisewright._words import Floats, Uint64s, Words, system_words
from noisewright.errors import InvalidError
from noisewright.joint import BallNoise
from noisewright.program import Constraints, Effort, Number
from noisewright.table import Table

__all__ = ["JointNoise", "TableNoise", "design"]

# As that of the designs of `noisewright encoder train`.
EFFORT = Effort(gap=0.005, time_limit="20s")

_ACTIVATIONS: dict[type[nn.Module], Activation] = {nn.Sigmoid: "sigmoid", nn.ReLU: "relu", nn.Tanh: "tanh"}


class _Noise(nn.Module):
    """What both have in common."""

    axes: Floats
    _body: str
    _least: str  # what the least promise is

    @property
    def coordinates(self) -> int:
        return len(self.axes)

    @property
    @abstractmethod
    def epsilon(self) -> Fraction: ...

    @property
    @abstractmethod
    def delta(self) -> Fraction: ...

    @abstractmethod
    def _laws(self) -> tuple[Sequence[Table], Sequence[int], BallNoise | None]:
        """Distinct tables and which of them each coordinate has, or noise on balls."""

    def export(
        self,
        path: str | os.PathLike[str],
        promise: Mapping[str, Number] | None = None,
        *,
        encoder: nn.Module | None = None,
        decoder: nn.Module | None = None,
        features: Sequence[str] | None = None,
        classes: Sequence[str] | None = None,
        values: Sequence[str] | None = None,
        mean: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
    ) -> None:
        """Writes a bundle, a new folder, and proves its promise before it appears.

        The promise is that of ``noisewright latent verify``: its exact numbers, or the least that are true if there
        is none. Without an encoder the features are the encodings, u1, u2, …; with one (nn.Sequential of Linear,
        Sigmoid, ReLU and Tanh) those that it reads, x1, x2, … if ``features`` does not name them. A decoder of the
        same kind reads what was released; it says the logits of ``classes``, or ``values``. The device computes
        encoder((x - mean)/scale). All of this is published, and what was trained on is not protected.
        """
        z = self.coordinates
        wide = len(features) if features is not None else _inputs(encoder, z)
        layers = _layers("encoder", encoder, wide)
        if scale is not None:
            layers[0] = dataclasses.replace(layers[0], weights=layers[0].weights / _row("scale", scale, wide, 0.0))
        if len(layers[-1].bias) != z:
            raise InvalidError(f"encoder = {len(layers[-1].bias)} outputs, want {z} as the noise has coordinates")
        if classes is not None and values is not None:
            raise InvalidError("classes and values, want one of them: what a decoder says is either")
        own = [f"u{i}" for i in range(1, z + 1)]
        names = classes if classes is not None else values
        head = _layers("decoder", decoder, z)
        if names is None:
            names = own if decoder is None else [f"y{i}" for i in range(1, len(head[-1].bias) + 1)]
        if len(names) != len(head[-1].bias):
            raise InvalidError(f"decoder = {len(head[-1].bias)} outputs, want {len(names)} as there are names")
        plain = encoder is None and decoder is None and classes is None and values is None
        tables, table_of, ball = self._laws()
        content = Content(
            promise=self._promise(promise),
            features=features or (own if encoder is None else [f"x{i}" for i in range(1, wide + 1)]),
            mean=np.zeros(wide) if mean is None else _row("mean", mean, wide),
            encoder=layers,
            axes=self.axes,
            tables=tables,
            table_of=table_of,
            ball=ball,
            decoder=head,
            output="features" if plain else "classes" if classes is not None else "values",
            outputs=[] if plain else names,
            clip_origin=f"declared: {self._body} of radius "
            + ", ".join(f"{r:g}" for r in dict.fromkeys(self.axes.tolist())),
        )
        write_bundle(path, content)

    def _promise(self, promise: Mapping[str, Number] | None) -> Promise:
        if promise is None:
            return {"epsilon": _float_up(self.epsilon), "delta": _float_up(self.delta)}
        if set(promise) != {"epsilon", "delta"}:
            raise InvalidError(f"promise = {', '.join(sorted(promise)) or 'nothing'}, want epsilon and delta")
        out: Promise = {"epsilon": float(promise["epsilon"]), "delta": float(promise["delta"])}
        for name, promised, proved in (("epsilon", out["epsilon"], self.epsilon), ("delta", out["delta"], self.delta)):
            if not proved <= promised:
                least = _float_up(proved)
                raise InvalidError(f"promise {name} = {promised!r}, want {least!r} at least, {self._least}")
        return out

    def _check_shape(self, encoding: Tensor) -> None:
        shape = tuple(encoding.shape)
        if not shape or shape[-1] != self.coordinates:
            raise InvalidError(f"encoding = shape {shape}, want {self.coordinates} numbers in the last axis")
        if not encoding.is_floating_point():
            raise InvalidError(f"encoding = numbers of type {encoding.dtype}, want floats: noise has fractions")

    def extra_repr(self) -> str:
        """Shows the layer in the print of a network."""
        return f"coordinates={self.coordinates}, epsilon={float(self.epsilon):g}, delta={float(self.delta):g}"


class TableNoise(_Noise):
    """Clips each coordinate i of the last axis to ±clip_i and adds noise of its table.

    A table is for all coordinates or there is one for each; of real queries, and of a sensitivity of 2·clip_i at
    least. The gradient is that of the clip, 1 inside and ``leak`` outside (0 unless a training gets stuck there).
    The noise is the same in training and evaluation.
    """

    _body, _least = "box", "the sum of the tables'"

    def __init__(
        self, tables: Table | Sequence[Table], coordinates: int, clip: float | Sequence[float], leak: float = 0.0
    ) -> None:
        super().__init__()
        distinct = [tables] if isinstance(tables, Table) else list(dict.fromkeys(tables))
        if coordinates < 1:
            raise InvalidError(f"coordinates = {coordinates}, want 1 at least")
        axes = [float(clip)] * coordinates if isinstance(clip, (int, float)) else [float(c) for c in clip]
        of = [0] * coordinates if isinstance(tables, Table) else [distinct.index(table) for table in tables]
        if len(axes) != coordinates or len(of) != coordinates:
            raise InvalidError(f"clip = {len(axes)} and tables = {len(of)}, want one or {coordinates} of each")
        if not 0 <= leak <= 1:
            raise InvalidError(f"leak = {leak}, want a number from 0 to 1")
        for axis, k in zip(axes, of, strict=True):
            _check(distinct[k], axis)
        self.tables, self.table_of = distinct, of
        self.axes: Floats = np.array(axes, dtype=np.float64)
        self.leak = leak

    def _laws(self) -> tuple[Sequence[Table], Sequence[int], BallNoise | None]:
        return self.tables, self.table_of, None

    @property
    def epsilon(self) -> Fraction:
        """The exact epsilon of a release: the sum over the coordinates, which is basic composition."""
        return sum((Fraction(self.tables[k].privacy.epsilon) for k in self.table_of), Fraction())

    @property
    def delta(self) -> Fraction:
        """The exact delta of a release."""
        return sum((Fraction(self.tables[k].privacy.delta) for k in self.table_of), Fraction())

    def forward(self, encoding: Tensor) -> Tensor:
        """Clipped and noisy encodings (…, Z), to train and evaluate with: NOT FOR RELEASE."""
        self._check_shape(encoding)
        axes = torch.from_numpy(self.axes).to(encoding.device, encoding.dtype)
        clipped = torch.clamp(encoding.detach(), -axes, axes)
        noise = self._noisy(np.zeros(tuple(encoding.shape)), _training_words)
        slope = torch.full_like(clipped, self.leak).masked_fill(clipped == encoding, 1.0)
        through = slope * (encoding - encoding.detach())  # 0, with the gradient of the clip
        return clipped + through + torch.from_numpy(noise).to(encoding.device, encoding.dtype)

    def release(self, encoding: Tensor) -> Tensor:
        """Private encodings (…, Z), which may leave the device: noise of the system's randomness, drawn anew at
        every call. Each call spends the promise again. Refuses NaN."""
        self._check_shape(encoding)
        for axis, k in zip(self.axes.tolist(), self.table_of, strict=True):
            _check(self.tables[k], axis)  # again, as attributes can be set
        values = encoding.detach().to("cpu", torch.float64).numpy()
        noisy = self._noisy(np.clip(values, -self.axes, self.axes), system_words)
        return torch.from_numpy(noisy).to(encoding.device, encoding.dtype)

    def _noisy(self, values: Floats, words: Words) -> Floats:
        out = np.empty(values.shape)
        for k, table in enumerate(self.tables):
            mine = [i for i, of in enumerate(self.table_of) if of == k]
            out[..., mine] = table._released(values[..., mine], words) * table.step
        return out


class JointNoise(_Noise):
    """Clips the vectors of the last axis to the ball of radius clip around 0, and adds noise on balls.

    The noise is of as many coordinates, and of a sensitivity of 2·clip at least (``noisewright design-ball``). A
    vector outside is scaled back along its ray, and so is the gradient.
    """

    _body, _least = "ball", "that of the noise"

    def __init__(self, noise: BallNoise, clip: float) -> None:
        super().__init__()
        self.noise = noise
        self.axes = np.full(noise.dimension, float(clip))
        self._clip()

    def _clip(self) -> float:
        """The radius, held against the sensitivity again, as attributes can be set."""
        clip, most = float(self.axes[0]), self.noise.privacy.sensitivity
        if not (0 < 2 * clip <= most and bool(np.all(self.axes == clip)) and self.coordinates == self.noise.dimension):
            raise InvalidError(f"clip = {clip!r}, want above 0 and at most half the sensitivity {most!r}")
        return clip

    def _laws(self) -> tuple[Sequence[Table], Sequence[int], BallNoise | None]:
        return [], [], self.noise

    @property
    def epsilon(self) -> Fraction:
        """The exact epsilon of a release."""
        return Fraction(self.noise.privacy.epsilon)

    @property
    def delta(self) -> Fraction:
        """The exact delta of a release."""
        return Fraction(self.noise.privacy.delta)

    def forward(self, encoding: Tensor) -> Tensor:
        """Clipped and noisy encodings (…, Z), to train and evaluate with: NOT FOR RELEASE."""
        self._check_shape(encoding)
        clip = self._clip()
        norm = torch.linalg.vector_norm(encoding, dim=-1, keepdim=True)
        noise = self.noise._answers(np.zeros(tuple(encoding.shape)), _training_words)
        noisy = torch.from_numpy(noise).to(encoding.device, encoding.dtype)
        clipped: Tensor = encoding * (clip / norm.clamp(min=clip))
        return clipped + noisy

    def release(self, encoding: Tensor) -> Tensor:
        """Private encodings (…, Z), which may leave the device: noise of the system's randomness, drawn anew at
        every call. Each call spends the promise again. Refuses NaN."""
        self._check_shape(encoding)
        self._clip()
        values = encoding.detach().to("cpu", torch.float64).numpy()
        if not np.isfinite(values).all():
            raise InvalidError("one of the values is not a number, or infinite, want numbers")
        rows = into_body(values.reshape(-1, self.coordinates), "ball", self.axes, self.noise.step)
        noisy = self.noise._private(rows).reshape(values.shape)
        return torch.from_numpy(noisy).to(encoding.device, encoding.dtype)


def design(
    epsilon: Number,
    delta: Number,
    coordinates: int,
    clip: float,
    loss: str = "l2",
    *,
    leak: float = 0.0,
    constraints: Constraints | None = None,
    effort: Effort = EFFORT,
) -> TableNoise:
    """Designs a table for coordinates clipped to ±clip, each with an equal share of epsilon and delta.

    The shares are rounded down, so that their exact sum keeps the promise. The program noisewright designs it
    (noisewright.design). For several coordinates joint noise is better: JointNoise, and docs/encoders.md.
    """
    if coordinates < 1:
        raise InvalidError(f"coordinates = {coordinates}, want 1 at least")
    one, small = (_float_down(Fraction(float(total)) / coordinates) for total in (epsilon, delta))
    made = program.design(one, small, 2 * clip, loss, constraints=constraints, effort=effort)
    return TableNoise(made.table, coordinates, clip, leak)


def _check(table: Table, clip: float) -> None:
    if table.query != "real":
        raise InvalidError(f"query = {table.query} of a table, want real")
    if not 0 < 2 * clip <= table.privacy.sensitivity:
        most = table.privacy.sensitivity
        raise InvalidError(f"clip = {clip!r}, want above 0 and at most half the sensitivity {most!r}")


def _inputs(encoder: nn.Module | None, coordinates: int) -> int:
    """The number of features of an encoder, which its first linear layer tells."""
    for module in _modules(encoder):
        if isinstance(module, nn.Linear):
            width: int = module.in_features
            return width
    return coordinates


def _modules(network: nn.Module | None) -> list[nn.Module]:
    if isinstance(network, nn.Sequential) and type(network).forward is nn.Sequential.forward:
        return [inner for module in network for inner in _modules(module)]
    return [] if network is None else [network]


def _layers(name: str, network: nn.Module | None, width: int) -> list[Layer]:
    """A network as layers; the last has no activation. What stands alone is made complete by an identity."""
    layers: list[Layer] = []
    for module in _modules(network):
        if isinstance(module, nn.Linear) and type(module).forward is nn.Linear.forward:
            if module.in_features != width:
                raise InvalidError(f"{name} = a Linear of {module.in_features} inputs, want {width}")
            weights = _array(module.weight)
            bias = np.zeros(len(weights)) if module.bias is None else _array(module.bias)
            layers.append(Layer(weights, bias))
            width = len(bias)
        elif type(module) in _ACTIVATIONS:
            last = layers.pop() if layers and layers[-1].activation == "identity" else _identity(width)
            layers.append(Layer(last.weights, last.bias, _ACTIVATIONS[type(module)]))
        else:
            raise InvalidError(f"{name} = a network with {type(module).__name__}, want Linear, Sigmoid, ReLU and Tanh")
    if not layers or layers[-1].activation != "identity":
        layers.append(_identity(width))
    return layers


def _row(name: str, values: Sequence[float], width: int, above: float = -math.inf) -> Floats:
    """A number for each feature."""
    row = np.array(values, dtype=np.float64)
    if row.shape != (width,) or not (np.isfinite(row) & (row > above)).all():
        rule = "" if above == -math.inf else f" above {above:g}"
        raise InvalidError(f"{name} = shape {row.shape}, want {width} finite numbers{rule}, one for each feature")
    return row


def _identity(width: int) -> Layer:
    return Layer(np.eye(width), np.zeros(width))


def _array(parameter: Tensor) -> Floats:
    array: Floats = parameter.detach().to("cpu", torch.float64).numpy()
    return array


def _float_down(x: Fraction) -> float:
    """The largest float64 that is not above x."""
    near = float(x)
    return math.nextafter(near, -math.inf) if near > x else near


def _float_up(x: Fraction) -> float:
    """The least float64 that is not below x."""
    return -_float_down(-x)


class _Fork:
    """Knows whether this process still has the generator of the process it was forked from."""

    def __init__(self) -> None:
        self.latest: int | None = None  # the seed when this process last forked
        self.inherited: int | None = None  # that of the process it comes from
        self.own: torch.Generator | None = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._before, after_in_child=self._after)

    def _before(self) -> None:
        # Here and not in the child, where another thread may have left the generator locked.
        self.latest = torch.initial_seed()

    def _after(self) -> None:
        self.inherited, self.own = self.latest, None

    def generator(self) -> torch.Generator | None:
        """None for torch's own, which a DataLoader seeds anew in its workers. Who forks otherwise does not, and
        every child would draw the same: so it gets a generator of its own."""
        if self.inherited is None or self.inherited != torch.initial_seed():
            return None
        if self.own is None:
            self.own = torch.Generator().manual_seed(int.from_bytes(os.urandom(7), "little"))
        return self.own


_fork = _Fork()


def _training_words(count: int) -> Uint64s:
    """Words that follow torch.manual_seed. They are good enough to train with, and for no release."""
    drawn = torch.empty(count, dtype=torch.int64).random_(-(1 << 63), None, generator=_fork.generator())
    words: Uint64s = drawn.numpy().view(np.uint64)
    return words
