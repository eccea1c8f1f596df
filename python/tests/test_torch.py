# SPDX-License-Identifier: Apache-2.0
"""Noise in PyTorch: laws, gradients, forks, and bundles that the program reads as they are meant."""

import copy
import csv
import json
import multiprocessing
import re
import subprocess
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewright
from noisewright import InvalidError

torch = pytest.importorskip("torch", reason="torch is not installed")
nw = pytest.importorskip("noisewright.torch")
nn = torch.nn

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def table() -> Any:
    return noisewright.load(ROOT / "docs" / "example-table.json")


def run(program: str, *arguments: object) -> str:
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=True).stdout


def two_sample(a: Any, b: Any, cells: int = 40) -> None:
    """Chi-square of two samples of one law, on its quantiles: a false alarm has a probability of 1e-9 or so."""
    edges = np.unique(np.quantile(np.concatenate([a, b]), np.linspace(0, 1, cells + 1)[1:-1]))
    x, y = (np.bincount(np.searchsorted(edges, s), minlength=len(edges) + 1) for s in (a, b))
    used = x + y > 0
    x, y = x[used], y[used]
    statistic = ((x * np.sqrt(len(b) / len(a)) - y * np.sqrt(len(a) / len(b))) ** 2 / (x + y)).sum()
    freedom = used.sum() - 1
    # The quantile 1 - 1e-9 of a chi-square by Wilson and Hilferty (1931).
    assert statistic < freedom * (1 - 2 / (9 * freedom) + 6.0 * np.sqrt(2 / (9 * freedom))) ** 3


def test_training_draws_the_law_of_releases(table: Any) -> None:
    noise = nw.TableNoise(table, 2, 0.5)
    encoding = torch.tensor([[0.25, -3.0]], dtype=torch.float64).expand(50_000, 2)
    trained, released = noise(encoding).numpy(), noise.release(encoding).numpy()
    for i, value in enumerate((0.25, -0.5)):
        two_sample(trained[:, i], released[:, i])
        assert abs(released[:, i].mean() - value) < 7 * released[:, i].std() / np.sqrt(50_000)
    again = noise.release(encoding).numpy()
    assert (again != released).any(axis=1).mean() > 0.9
    steps = released / table.step
    assert (steps == np.round(steps)).all()


def test_training_follows_the_seed_and_release_does_not(table: Any) -> None:
    noise = nw.TableNoise(table, 3, 0.5)
    x = torch.zeros(100, 3)
    draws = []
    for _ in range(2):
        torch.manual_seed(7)
        draws.append((noise(x), noise.release(x)))
    assert torch.equal(draws[0][0], draws[1][0]) and not torch.equal(draws[0][1], draws[1][1])
    assert draws[0][0].dtype == draws[0][1].dtype == torch.float32
    noise.eval()
    assert noise(x).abs().sum() > 0


def test_gradient_is_that_of_the_clip(table: Any) -> None:
    for leak in (0.0, 0.1):
        x = torch.tensor([[-2.0, -0.5, 0.1, 0.5, 0.6]], requires_grad=True)
        nw.TableNoise(table, 5, 0.5, leak=leak)(x).sum().backward()
        assert torch.allclose(x.grad, torch.tensor([[leak, 1.0, 1.0, 1.0, leak]]))
    # The leak moves no value.
    x = torch.full((1, 5), 9.0, requires_grad=True)
    torch.manual_seed(3)
    plain = nw.TableNoise(table, 5, 0.5)(x)
    torch.manual_seed(3)
    assert torch.equal(plain, nw.TableNoise(table, 5, 0.5, leak=0.1)(x))


def test_is_a_module(table: Any) -> None:
    noise = nw.TableNoise(table, 2, 0.5)
    network = nn.Sequential(nn.Linear(4, 2), noise, nn.Linear(2, 1))
    assert "coordinates=2, epsilon=2" in repr(network)
    twin = copy.deepcopy(network)
    twin.load_state_dict(network.state_dict())
    assert twin(torch.zeros(3, 4)).shape == (3, 1)
    assert noise(torch.zeros(2)).shape == (2,) and noise.release(torch.zeros(5, 3, 2)).shape == (5, 3, 2)
    assert noise.epsilon == 2 and noise.delta == 2 * Fraction(0.1)


def test_bad_arguments(table: Any) -> None:
    for arguments, message in (
        ((table, 0, 0.5), "coordinates = 0"),
        ((table, 2, 0.6), "clip = 0.6, want above 0 and at most half the sensitivity 1"),
        ((table, 2, [0.5]), "clip = 1 and tables = 2"),
        (([table], 2, 0.5), "clip = 2 and tables = 1"),
        ((table, 2, float("nan")), "clip = nan"),
        ((table, 2, 0.5, 2.0), "leak = 2"),
    ):
        with pytest.raises(InvalidError, match=message):
            nw.TableNoise(*arguments)
    noise = nw.TableNoise(table, 2, 0.5)
    for call in (noise, noise.release):
        with pytest.raises(InvalidError, match="want 2 numbers in the last axis"):
            call(torch.zeros(5, 3))
    with pytest.raises(InvalidError, match="not a number"):
        noise.release(torch.tensor([[0.0, float("nan")]]))
    with pytest.raises(InvalidError, match="coordinates = 0"):
        nw.design(1, 0.1, 0, 1.0)


@pytest.fixture
def balls() -> Any:
    """Noise in the plane, of sensitivity 1."""
    return noisewright.load(ROOT / "python" / "tests" / "data" / "bundles" / "ball" / "balls" / "00.json")


def test_joint_noise_has_the_law_of_releases(balls: Any) -> None:
    """Training and releases draw the noise itself, around vectors in the ball."""
    noise = nw.JointNoise(balls, 0.5)
    assert (noise.coordinates, noise.epsilon, noise.delta) == (2, 8, Fraction(0.0001))
    inside, outside = (0.25, -0.125), (-3.0, 4.0)
    for value, clipped in ((inside, inside), (outside, (-0.3, 0.4))):
        encoding = torch.tensor([value], dtype=torch.float64).expand(50_000, 2)
        trained, released = noise(encoding).numpy(), noise.release(encoding).numpy()
        own = balls.add_noise(np.tile(clipped, (50_000, 1)))
        for drawn in (trained, released):
            for k in range(2):
                two_sample(drawn[:, k], own[:, k])
            two_sample(np.hypot(*(drawn - clipped).T), np.hypot(*(own - clipped).T))
        steps = released / balls.step
        assert (steps == np.round(steps)).all()
        assert (noise.release(encoding).numpy() != released).any(axis=1).mean() > 0.9


def test_joint_noise_stays_in_the_ball(balls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What noise is added to in a release is in the ball, exactly, whatever comes in."""
    noise = nw.JointNoise(balls, 0.5)
    monkeypatch.setattr(balls, "_private", lambda rows: rows)
    rng = np.random.default_rng(5)
    sizes = 10.0 ** rng.integers(-20, 300, size=(4000, 1))
    for u in noise.release(torch.from_numpy(rng.normal(size=(4000, 2)) * sizes)).numpy():
        assert sum(Fraction(x) ** 2 for x in u) <= Fraction(1, 4)
        assert all((Fraction(x) / Fraction(balls.step)).denominator == 1 for x in u)


def test_joint_noise_trains(balls: Any) -> None:
    noise = nw.JointNoise(balls, 0.5)
    x = torch.tensor([[0.1, 0.2], [3.0, 4.0], [0.0, 0.0]], dtype=torch.float64, requires_grad=True)
    noise(x)[:, 0].sum().backward()
    # d(r·u_0/|u|)/du = r/|u|·(1 - u_0², -u_0·u_1) with u/|u| = (0.6, 0.8).
    assert torch.allclose(x.grad, torch.tensor([[1.0, 0.0], [0.064, -0.048], [1.0, 0.0]], dtype=torch.float64))
    torch.manual_seed(7)
    one = noise(x)
    torch.manual_seed(7)
    assert torch.equal(one, noise(x)) and not torch.equal(noise.release(x), noise.release(x))
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        assert noise(x.to(dtype)).dtype == noise.release(x.to(dtype)).dtype == dtype
    assert noise.release(torch.zeros(5, 3, 2)).shape == (5, 3, 2) and "coordinates=2, epsilon=8" in repr(noise)


def test_joint_noise_refuses(balls: Any) -> None:
    for clip in (0.0, -1.0, float(np.nextafter(0.5, 1)), float("nan")):
        with pytest.raises(InvalidError, match="at most half the sensitivity 1"):
            nw.JointNoise(balls, clip)
    noise = nw.JointNoise(balls, 0.5)
    for call in (noise, noise.release):
        with pytest.raises(InvalidError, match="want 2 numbers in the last axis"):
            call(torch.zeros(5, 3))
    for bad in (float("nan"), float("inf")):
        with pytest.raises(InvalidError, match="not a number"):
            noise.release(torch.tensor([[0.0, bad]]))
    noise.axes[:] = 0.51
    for call in (noise, noise.release):
        with pytest.raises(InvalidError, match="at most half the sensitivity 1"):
            call(torch.zeros(5, 2))


def test_joint_noise_is_exported(balls: Any, tmp_path: Path) -> None:
    noise = nw.JointNoise(balls, 0.5)
    encoder, decoder = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)), nn.Linear(2, 3)
    noise.export(tmp_path / "plain")
    noise.export(
        tmp_path / "net", {"epsilon": 9, "delta": 0.01}, encoder=encoder, decoder=decoder, classes=["a", "b", "c"]
    )
    plain: Any = noisewright.load(tmp_path / "plain")
    net: Any = noisewright.load(tmp_path / "net")
    assert plain.promise == (8, 0.0001) and net.promise == (9, 0.01)
    assert (plain.domain, plain.composition, plain.features) == ("ball", "ball", ["u1", "u2"])
    x = torch.randn(50, 4)
    want = noise.release(encoder(x)) * 0 + encoder(x) * (0.5 / encoder(x).norm(dim=1, keepdim=True).clamp(min=0.5))
    assert np.allclose(net.encode(x.numpy()), want.detach().numpy(), atol=1e-5)
    with pytest.raises(InvalidError, match=r"want 8\.0 at least, that of the noise"):
        noise.export(tmp_path / "less", {"epsilon": 7.9, "delta": 0.01})
    assert not (tmp_path / "less").exists()


def test_joint_noise_as_the_program_reads_it(balls: Any, called: str, tmp_path: Path) -> None:
    nw.JointNoise(balls, 0.5).export(tmp_path / "b")
    assert "the promise is proved" in run(called, "latent", "verify", tmp_path / "b")


def test_types(table: Any) -> None:
    """What comes out is of the type that went in, to fit the decoder; noise on integers would be cut off."""
    noise = nw.TableNoise(table, 2, 0.5, leak=0.1)
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        x = torch.tensor([0.25, 3.0], dtype=dtype, requires_grad=True)
        y = noise(x)
        y.sum().backward()
        assert y.dtype == noise.release(x).dtype == x.grad.dtype == dtype
        assert torch.equal(x.grad, torch.tensor([1.0, 0.1], dtype=dtype))
        assert not torch.equal(noise.release(x), noise.release(x))
    for kind in (torch.int64, torch.uint8, torch.bool, torch.complex64):
        for call in (noise, noise.release):
            with pytest.raises(InvalidError, match="want floats"):
                call(torch.ones(2).to(kind))


def test_attributes_that_were_set(table: Any) -> None:
    """A release has noise for the clip that it is clipped to, whoever sets attributes."""
    noise = nw.TableNoise(table, 2, 0.5)
    noise.axes = np.array([0.5, 5.0])
    with pytest.raises(InvalidError, match=r"clip = 5\.0"):
        noise.release(torch.ones(2))
    noise = nw.TableNoise(table, 2, 0.5)
    noise.table_of = [0]
    with pytest.raises(ValueError):
        noise.release(torch.ones(1))


# What forks draw.


class Noisy:
    """Items that are drawn by whoever is asked for them."""

    def __init__(self, noise: Any) -> None:
        self.noise = noise

    def __len__(self) -> int:
        return 64

    def __getitem__(self, i: int) -> Any:
        x = torch.zeros(8, dtype=torch.float64)
        return torch.stack([self.noise.release(x), self.noise(x)])


def distinct(rows: Any) -> None:
    """No row of noise is there twice: two are the same by chance with a probability below 2^-100."""
    rows = [tuple(row) for row in rows]
    assert len(set(rows)) == len(rows)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("context", multiprocessing.get_all_start_methods())
def test_workers_of_a_data_loader(table: Any, context: str) -> None:
    if context == "forkserver":
        pytest.skip("a forkserver starts its workers as spawn does")
    noise = nw.TableNoise(table, 8, 0.5)
    noise(torch.zeros(8)), noise.release(torch.zeros(8))  # what a fork would repeat
    loader = torch.utils.data.DataLoader(Noisy(noise), batch_size=8, num_workers=2, multiprocessing_context=context)
    passes = 2 if context == "fork" else 1
    rows = torch.cat([batch.reshape(-1, 8) for _ in range(passes) for batch in loader])
    distinct(rows.tolist())


def client(noise: Any, out: Any) -> None:
    x = torch.zeros(4, 8, dtype=torch.float64)
    out.put(torch.cat([noise(x), noise.release(x)]).tolist())


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_forked_clients(table: Any) -> None:
    """Clients of a federated training that were forked, whom nobody seeds anew."""
    noise = nw.TableNoise(table, 8, 0.5)
    noise(torch.zeros(8)), noise.release(torch.zeros(8))
    fork = multiprocessing.get_context("fork")
    queue = fork.SimpleQueue()
    clients = [fork.Process(target=client, args=(noise, queue)) for _ in range(4)]
    for process in clients:
        process.start()
    rows = [row for _ in clients for row in queue.get()]
    for process in clients:
        process.join(60)
        assert process.exitcode == 0
    x = torch.zeros(4, 8, dtype=torch.float64)
    distinct(rows + torch.cat([noise(x), noise.release(x)]).tolist())


# Bundles.


def test_export_alone(table: Any, called: str, tmp_path: Path) -> None:
    noise = nw.TableNoise([table, table], 2, [0.5, 0.25])
    noise.export(tmp_path / "bundle")
    said = json.loads(run(called, "latent", "verify", "--json", tmp_path / "bundle"))
    assert said["valid"] is True
    fields = json.loads((tmp_path / "bundle" / "bundle.json").read_text())
    assert fields["version"] == 1 and fields["privacy"] == {"epsilon": 2, "delta": 0.2}
    assert fields["features"] == ["u1", "u2"] and fields["noise"]["table_of"] == [0, 0]
    with pytest.raises(FileExistsError):
        noise.export(tmp_path / "bundle")
    assert [p.name for p in tmp_path.iterdir()] == ["bundle"]


def test_promise(table: Any, tmp_path: Path) -> None:
    noise = nw.TableNoise(table, 3, 0.5)
    # Three times the float64 0.1 is more than the float64 0.3.
    with pytest.raises(InvalidError, match=r"promise delta = 0.3, want 0.30000000000000004 at least"):
        noise.export(tmp_path / "bundle", promise={"epsilon": 3, "delta": 0.3})
    with pytest.raises(InvalidError, match=r"promise epsilon = 2.5, want 3.0 at least"):
        noise.export(tmp_path / "bundle", promise={"epsilon": Decimal("2.5"), "delta": 0.4})
    with pytest.raises(InvalidError, match="promise = epsilon, want epsilon and delta"):
        noise.export(tmp_path / "bundle", promise={"epsilon": 3})
    assert not list(tmp_path.iterdir())
    noise.export(tmp_path / "bundle", promise={"epsilon": "3", "delta": Decimal("0.30000000000000004")})


def test_shares_keep_the_promise(called: str, tmp_path: Path) -> None:
    noise = nw.design(1, 0.1, 3, 1.0, effort=noisewright.Effort(gap=0.1))
    assert noise.epsilon <= 1 and noise.delta <= Fraction(0.1)
    noise.export(tmp_path / "bundle", promise={"epsilon": 1, "delta": 0.1})
    assert json.loads(run(called, "latent", "verify", "--json", tmp_path / "bundle"))["valid"] is True


NETWORKS = [
    lambda: nn.Sequential(nn.Linear(5, 7), nn.Sigmoid(), nn.Linear(7, 3)),
    lambda: nn.Sequential(nn.Linear(5, 8), nn.Linear(8, 4, bias=False), nn.ReLU(), nn.Linear(4, 3), nn.Tanh()),
    lambda: nn.Sequential(nn.Sequential(nn.Linear(5, 4), nn.Tanh()), nn.Linear(4, 3)),
    lambda: nn.Sequential(nn.Tanh(), nn.Sigmoid(), nn.Linear(5, 3)),
    lambda: nn.Linear(5, 3),
]


@pytest.mark.parametrize("make", NETWORKS)
@pytest.mark.parametrize("scaled", [False, True])
def test_networks_as_the_program_computes_them(
    table: Any, called: str, tmp_path: Path, make: Any, scaled: bool
) -> None:
    """The encoder by a bundle whose noise was taken out, the decoder by decoding; within 1e-6 of torch."""
    encoder, decoder = make(), nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 2))
    x = torch.rand(40, 5) * 4 - 2
    mean, scale = ([0.5, 0, 1, 2, -1], [2, 1, 0.5, 4, 0.1]) if scaled else (None, None)
    noise = nw.TableNoise(table, 3, 0.5)
    folder = tmp_path / "bundle"
    noise.export(folder, encoder=encoder, decoder=decoder, values=["a", "b"], mean=mean, scale=scale)
    assert json.loads(run(called, "latent", "verify", "--json", folder))["valid"] is True
    assert json.loads((folder / "bundle.json").read_text())["features"] == ["x1", "x2", "x3", "x4", "x5"]

    filtered = json.loads((folder / "bundle.json").read_text())
    filtered["privacy"] = None
    filtered["noise"] |= {"kind": "none", "composition": "none", "tables": 0, "table_of": []}
    (folder / "bundle.json").write_text(json.dumps(filtered))
    write_csv(tmp_path / "in.csv", ["x1", "x2", "x3", "x4", "x5"], x.double().tolist())
    encoded = read_csv(run(called, "latent", "privatize", "--bundle", folder, tmp_path / "in.csv"))
    ready = (x - torch.tensor(mean)) / torch.tensor(scale) if scaled else x
    with torch.no_grad():
        expected = encoder(ready).clamp(-0.5, 0.5)
    assert np.abs(encoded - expected.numpy()).max() < 1e-6

    write_csv(tmp_path / "u.csv", ["u1", "u2", "u3"], encoded.tolist())
    decoded = read_csv(run(called, "latent", "decode", "--bundle", folder, tmp_path / "u.csv"))
    with torch.no_grad():
        assert np.abs(decoded - decoder(torch.from_numpy(encoded).float()).numpy()).max() < 1e-6


class Twice(nn.Linear):  # type: ignore[misc, name-defined]
    """A layer that is not what its weights say."""

    def forward(self, x: Any) -> Any:
        return 2 * super().forward(x)


def test_networks_that_no_bundle_has(table: Any, tmp_path: Path) -> None:
    noise = nw.TableNoise(table, 3, 0.5)
    for arguments, message in (
        ({"encoder": nn.Sequential(nn.Linear(5, 3), nn.GELU())}, "encoder = a network with GELU, want Linear"),
        ({"encoder": nn.Sequential(Twice(5, 3))}, "encoder = a network with Twice, want Linear"),
        ({"encoder": nn.Linear(5, 2)}, "encoder = 2 outputs, want 3"),
        ({"encoder": nn.Linear(5, 3), "features": ["a", "b"]}, "encoder = a Linear of 5 inputs, want 2"),
        ({"decoder": nn.Linear(2, 2)}, "decoder = a Linear of 2 inputs, want 3"),
        ({"decoder": nn.Linear(3, 2), "classes": ["a", "b", "c"]}, "decoder = 2 outputs, want 3"),
        ({"classes": ["a", "b", "c"], "values": ["a", "b", "c"]}, "classes and values"),
        ({"encoder": nn.Linear(5, 3), "mean": [0, 0]}, "mean"),
        ({"encoder": nn.Linear(5, 3), "scale": [1, 1, 1, 1, 0]}, "scale"),
    ):
        with pytest.raises(noisewright.Error, match=message):
            noise.export(tmp_path / "bundle", **arguments)
    broken = nn.Linear(5, 3)
    with torch.no_grad():
        broken.weight[0, 0] = float("nan")
    with pytest.raises(InvalidError, match=r"encoder.* not finite"):
        noise.export(tmp_path / "bundle", encoder=broken)
    assert not list(tmp_path.iterdir())


def write_csv(path: Path, header: list[str], rows: list[list[float]]) -> None:
    with path.open("w", newline="") as f:
        csv.writer(f).writerows([header, *rows])


def read_csv(text: str) -> Any:
    return np.array([[float(x) for x in row] for row in list(csv.reader(text.splitlines()))[1:]])


# The program of the page.


def people() -> tuple[Any, Any]:
    """Wisconsin's breast cancers, from the data sets beside the repository or those of scikit-learn."""
    path = ROOT.parent / "shared" / "data" / "wdbc" / "wdbc.csv"
    if path.exists():
        with path.open() as f:
            rows = list(csv.reader(f))[1:]
        return torch.tensor([[float(x) for x in row[2:]] for row in rows]), torch.tensor(
            [row[1] == "B" for row in rows]
        )
    datasets = pytest.importorskip("sklearn.datasets", reason="neither the data set wdbc nor scikit-learn is there")
    features, labels = datasets.load_breast_cancer(return_X_y=True)
    return torch.tensor(features, dtype=torch.float32), torch.tensor(labels) == 1


def test_program_of_the_page(called: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It tells 95 % of the people held out right at epsilon 10, its bundle is proved, and what the program draws from
    it has the law of what release draws."""
    (program,) = re.findall(r"^```python\n(import torch, noisewright.torch.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(program.splitlines()) == 9
    monkeypatch.chdir(tmp_path)
    features, labels = people()
    labels = labels.long()
    inputs = (features - features[:399].mean(0)) / features[:399].std(0)
    right = []
    for seed in range(3):
        torch.manual_seed(seed)
        made: dict[str, Any] = {"X": inputs[:399], "y": labels[:399]}
        exec(program.replace('"bundle"', f'"bundle{seed}"'), made)
        with torch.no_grad():
            encoded = made["enc"](inputs[399:])
            for _ in range(20):
                said = made["dec"](made["noise"].release(encoded)).argmax(1)
                right.append((said == labels[399:]).float().mean().item())
    assert np.mean(right) >= 0.95
    assert json.loads(run(called, "latent", "verify", "--json", "bundle0"))["valid"] is True

    # Four people, one of whom is clipped, 10,000 times each.
    four = torch.cat([encoded[:3], torch.tensor([[3.0, -0.5]])]).double()
    rows = four.repeat(10_000, 1)
    write_csv(tmp_path / "encoded.csv", ["u1", "u2"], rows.tolist())
    sent = read_csv(run(called, "latent", "privatize", "--bundle", "bundle2", "encoded.csv"))
    released = made["noise"].release(rows).numpy()
    for person in range(4):
        for i in range(2):
            two_sample(sent[person::4, i], released[person::4, i])
        # The two numbers of a person have noise that is independent.
        assert abs(np.corrcoef(sent[person::4].T)[0, 1]) < 0.07
