# SPDX-License-Identifier: Apache-2.0
"""The verdicts and the digits of the program, on every file, and on what tampering makes of them."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import BUNDLES, DATA, EXPECTED, FILES, REPOSITORY, file
from tampering import bundle_tamperings, tampered

import noisewright as nw
from noisewright._exact import decimal_down, decimal_up, float_down, float_up
from noisewright._load import parse
from noisewright._meter import Meter
from noisewright._npy import read_array
from noisewright._randomizercheck import cost_bits
from noisewright._tablecheck import _expected

# What the program's package makes of vectors with the bundles, by TestEncodingsForPython there.
ENCODINGS = json.loads((DATA / "encodings.json").read_text())


_OF_SETS = ("total_variance", "largest_variance", "worst_variance")


def code(verify: Any) -> int:
    """The exit code that the program would have."""
    try:
        verify()
    except (nw.NotPrivateError, nw.FalseClaimError):
        return 3
    except (nw.FormatError, nw.InvalidError):
        return 2
    except (nw.NoPromiseError, nw.UnprovedError):
        return 1
    return 0


def verified(raw: bytes) -> Any:
    made = parse(raw)
    return made.verify()


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_file(path: Path) -> None:
    want = EXPECTED["files"][path.stem]
    if path.stem == "lattice-total":
        assert nw.load(path).claimed_total is not None  # type: ignore[union-attr]
    assert code(lambda: nw.load(path)) == want["code"]
    if want["code"] or path.stem.startswith("plan-"):  # whose bounds are its own: test_plan.py
        return
    found = nw.load(path).verify()
    compared = 0
    for name in (
        "delta_upper",
        "expected_loss",
        "max_loss",
        "mean_loss",
        "worst_loss",
        "bias",
        "lower_bound",
        *_OF_SETS,
    ):
        value = want.get(name, want.get(f"{name}_upper"))
        exact = getattr(found, name, None)
        if value is None or exact is None:
            continue
        assert isinstance(exact, Fraction)
        outwards = float_down(exact) if name == "lower_bound" else float_up(exact)
        assert value in (outwards, exact.numerator / exact.denominator), name
        compared += 1
    assert compared >= (2 if path.stem.startswith("ball-") else 3)  # no lower bound is known of balls
    if "worst_shift" in want:
        assert found.worst_shift == want["worst_shift"]  # type: ignore[union-attr]
    stated = json.loads(path.read_text())["certificate"]
    # Files state their strongest claims, but for those that were changed by hand.
    agree = [stated[name] == digits for name, digits in found.claims.items()]  # type: ignore[union-attr]
    assert sum(agree) >= len(agree) - 1


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_tampered(path: Path) -> None:
    want = EXPECTED["files"][path.stem]["tampered"]
    for name, raw in tampered(path.read_bytes()):
        if name == "delta lower" and path.stem in ("plan-composed", "plan-l2", "plan-residuals"):
            continue  # of which this package proves less than the program
        assert code(lambda raw=raw: verified(raw)) == want[name], name


@pytest.mark.parametrize("path", BUNDLES, ids=lambda p: p.name)
def test_bundle(path: Path, tmp_path: Path) -> None:
    want = EXPECTED["bundles"][path.name]
    assert code(lambda: nw.load(path)) == want["code"]
    if want["code"] == 0:
        found = nw.load(path).verify()
        for name in ("epsilon_upper", "delta_upper"):
            exact = getattr(found, name)
            assert want[name] in (float_up(exact), exact.numerator / exact.denominator), name
    for i, (name, change) in enumerate(bundle_tamperings()):
        copy = tmp_path / str(i)
        if change(path, copy):
            assert code(lambda copy=copy: nw.load(copy)) == want["tampered"][name], name
        shutil.rmtree(copy, ignore_errors=True)


def test_headers_of_arrays() -> None:
    """What the program reads as an array, whoever wrote it, and what it refuses."""
    cases = json.loads((REPOSITORY / "internal/files/testdata/headers.json").read_text())
    assert len(cases) >= 30
    for header, good in cases.items():
        text = header.encode()
        raw = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(16)
        if good:
            assert read_array(raw, 1 << 20, (2,)).tolist() == [0, 0], header
            continue
        with pytest.raises(nw.FormatError):
            read_array(raw, 1 << 20, (2,))


@pytest.mark.parametrize(("bundle", "law"), [("local-unbiased", "randomizers"), ("designed", "tables")])
def test_laws_of_a_bundle(bundle: str, law: str, tmp_path: Path) -> None:
    """As the program reads them: of the kind that their folder says, their fields in any order."""
    copy = tmp_path / "bundle"
    shutil.copytree(DATA_BUNDLE.parent / bundle, copy)
    path = copy / law / "00.json"
    fields = json.loads(path.read_text())
    path.write_text(json.dumps(dict(reversed(fields.items()))))
    assert nw.load(copy).proved
    path.write_bytes(file("real" if law == "randomizers" else "local-unbiased").read_bytes())
    with pytest.raises(nw.FormatError, match=r"00\.json"):
        nw.load(copy)


def test_bundle_with_biased_answers(tmp_path: Path) -> None:
    """The kind says what the randomizers promise, and is held against it with the promise."""
    copy = tmp_path / "bundle"
    shutil.copytree(DATA_BUNDLE.parent / "local-unbiased", copy)
    path = copy / "randomizers" / "00.json"
    law = json.loads(path.read_text())
    law["demands"]["unbiased"] = False
    del law["certificate"]["dual"]
    law["certificate"]["lower_bound"] = "0"
    path.write_text(json.dumps(law))
    with pytest.raises(nw.NotPrivateError, match=r"randomizers\[0\] may be biased"):
        nw.load(copy)
    text = (copy / "bundle.json").read_text()
    (copy / "bundle.json").write_text(text.replace('"local-unbiased"', '"local"'))
    assert nw.load(copy).proved


def test_version_2_of_version_1(tmp_path: Path) -> None:
    copy = tmp_path / "bundle"
    shutil.copytree(DATA_BUNDLE.parent / "designed", copy)
    path = copy / "bundle.json"
    fields = json.loads(path.read_text())
    fields |= {"version": 2, "lookup": False, "layers": [], "head": [], "output": "features", "outputs": []}
    fields["noise"] |= {"randomizers": 0, "randomizer_of": []}
    path.write_text(json.dumps(fields))
    with pytest.raises(nw.FormatError, match="nothing of version 2"):
        nw.load(copy)


def test_program_agrees(program: str) -> None:
    """What is expected is what the program of today says."""
    for path in FILES:
        done = subprocess.run([program, "verify", "--json", str(path)], capture_output=True, text=True, check=False)
        want = EXPECTED["files"][path.stem]
        assert done.returncode == want["code"], path.stem
        if want["code"] == 0:
            report = json.loads(done.stdout)
            assert report["delta_upper"] == want["delta_upper"], path.stem


def test_files_of_the_repository() -> None:
    """Tables that the program's own tests and documents use."""
    for name in (
        "docs/example-table.json",
        "account/testdata/table-1-1e-6.json",
        "account/testdata/table-0.1-1e-9.json",
    ):
        table = nw.load(REPOSITORY / name)
        assert isinstance(table, nw.Table)
        stated = json.loads((REPOSITORY / name).read_text())["certificate"]
        assert {k: stated[k] for k in table.verify().claims} == table.verify().claims
    for name in ("uniform-1", "uniform-3"):
        path = REPOSITORY / "latent/internal/blocks/testdata" / f"{name}.json"
        randomizer = nw.load(path)
        assert isinstance(randomizer, nw.Randomizer)
        stated = json.loads(path.read_text())["certificate"]
        assert stated["mean_loss"] == randomizer.verify().claims["mean_loss"]


@pytest.mark.parametrize(("exponent", "sensitivity"), [(-900, 1e-280), (900, 1e255)])
def test_losses_beyond_all_floats(exponent: int, sensitivity: float) -> None:
    """Of more digits than Python converts to text at once."""
    table = json.loads(file("real").read_text())
    table["loss"]["name"] = "lp:64"
    table["grid"]["granularity_exponent"] = exponent
    table["privacy"]["sensitivity"] = sensitivity
    table["certificate"] = {"delta": "0.1", "expected_loss": "0", "lower_bound": "0"}
    with pytest.raises(nw.FalseClaimError, match="expected_loss"):
        verified(json.dumps(table).encode())
    if exponent < 0:
        table["certificate"]["expected_loss"] = "1"
        assert set(verified(json.dumps(table).encode()).claims["expected_loss"][:10000]) == set("0.")


@pytest.mark.parametrize(
    ("loss", "upper", "places"),
    [
        ("l2", 4.0, 124),
        ("lp:1.5", 4.0, 125),
        ("asymmetric:64,1", 1.0, 122),
        ("huber:1", 3 * 2.0**-28, 182),
        ("huber:1", 3 * 2.0**-32, 190),
        ("huber:1:0.5 + lp:3", 2.0**-68, 266),
        ("lp:64", 2.0**-20, 128 + 1074),
        ("lp:64", 2.0**20, 128),
        ("deadzone:2", 1.0, 128),
    ],
)
def test_places_of_costs(loss: str, upper: float, places: int) -> None:
    """They follow the exact loss, also where a float64 of it cancels, underflows or overflows."""
    randomizer = parse(small_range(loss, upper))
    assert isinstance(randomizer, nw.Randomizer)
    assert cost_bits(randomizer._spec) == places


def test_loss_of_a_small_range() -> None:
    """On a range far below its parameter huber:1 is half of the square, and nothing of that is lost."""
    huber = Fraction(verified(small_range("huber:1", 4 * 2.0**-70)).mean_loss)
    half = Fraction(verified(small_range("l2", 4 * 2.0**-70)).mean_loss) / 2
    assert half <= huber <= half * (1 + Fraction(1, 10**30))


def small_range(loss: str, upper: float) -> bytes:
    """A randomizer for values from 0 up, with two answers of odds 3 to 1, and weak claims."""
    often, seldom = str(3 << 62), str(1 << 62)
    return json.dumps(
        {
            "format": "noisewright-randomizer",
            "version": 1,
            "epsilon": 1.0986122887,
            "delta": 0,
            "values": {"kind": "real", "lower": 0, "upper": upper},
            "objective": "mean",
            "demands": {"unbiased": False},
            "loss": {"name": loss},
            "nodes": [0, upper],
            "answers": [upper / 4, upper * 3 / 4],
            "rows": [[often, seldom], [seldom, often]],
            "certificate": {"delta": "0", "mean_loss": "1", "worst_loss": "1", "bias": "1", "lower_bound": "0"},
        }
    ).encode()


@pytest.mark.parametrize("e", [-30000, -5000, -1100, -40, 0, 40, 5000, 30000])
def test_decimals(e: int) -> None:
    tens, twos = Fraction(10) ** e, Fraction(2) ** e
    for r in (tens, tens * (1 - Fraction(10) ** -20), twos, twos * Fraction(7, 3)):
        low, high = (Fraction(Decimal(text)) for text in (decimal_down(r), decimal_up(r)))
        assert low <= r <= high
        assert high - low <= r / 10**14


@pytest.mark.parametrize("blank", ["\x1c", "\x1f", "\u200b", " ", "\x85", "\u2003", "\u3000"])
def test_blanks_of_labels(blank: str) -> None:
    """As the program: a file separator is a character, a space of Unicode a blank."""
    raw = json.loads(file("categories").read_text())
    raw["answer_labels"][0] += blank
    text = json.dumps(raw).encode()
    if blank in "\x1c\x1f\u200b":
        made = parse(text)
        assert isinstance(made, nw.Randomizer) and blank in str(made.answers[0])
    else:
        with pytest.raises(nw.InvalidError, match=r"answer_labels\[0\]"):
            parse(text)


def test_formats_are_told_by_the_first_bytes() -> None:
    """As the program tells them: a kernel whose format stands further behind is no kernel."""
    raw = file("kernel").read_bytes()
    name = raw.index(b"noisewright-kernel") + len(b"noisewright-kernel") + 1
    assert isinstance(parse(b" " * (512 - name) + raw), nw.Kernel)
    with pytest.raises(nw.FormatError):
        parse(b" " * (513 - name) + raw)
    assert isinstance(parse(raw.replace(b'"format"', b'"f\\u006frmat"', 1)), nw.Kernel)


def test_speed() -> None:
    """Some 1,800 cells, 178 to a sensitivity, take far less CPU time than a second."""
    raw = file("atom").read_bytes()
    start = time.process_time()
    verified(raw)
    assert time.process_time() - start < 5  # generous: other processes share the caches


def test_loading_verifies_unless_told_otherwise(tmp_path: Path) -> None:
    path = file("biased-false")
    with pytest.raises(nw.FalseClaimError):
        nw.load(path)
    table = nw.load(path, verify=False)
    assert isinstance(table, nw.Table)
    assert not table.proved
    with pytest.raises(nw.FalseClaimError):
        table.sample(3)
    with pytest.raises(nw.FalseClaimError):
        table.add_noise(0.0)
    longer = tmp_path / "longer.json"
    longer.write_text(file("real").read_text().replace('"sensitivity":1}', '"sensitivity":1000}'))
    table = nw.load(longer, verify=False)
    assert isinstance(table, nw.Table)
    with pytest.raises(nw.NotPrivateError, match="sensitivity = 1000"):
        table.profile(1)
    with pytest.raises(nw.WorkError, match="not checked"):
        nw.load(file("real"), work=100)


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        nw.load(tmp_path / "nothing.json")
    with pytest.raises(FileNotFoundError):
        nw.load(tmp_path)  # a directory without bundle.json
    deep = tmp_path / "deep.json"
    deep.write_bytes(b"[" * 100_000)
    with pytest.raises(nw.FormatError):
        nw.load(deep)


@pytest.mark.parametrize("name", ["noisewright-model", "noisewright-schema"])
def test_files_of_other_formats_say_which(tmp_path: Path, name: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"format": name, "version": 1, "kind": "logistic"}))
    with pytest.raises(nw.FormatError, match=rf"model\.json: format = '{name}', want one of 'noisewright-table', "):
        nw.load(path)


def test_bundles_are_folders() -> None:
    with pytest.raises(nw.FormatError, match=r"'noisewright-bundle'.* or a bundle's folder"):
        nw.load(DATA_BUNDLE / "bundle.json")


def test_errors_name_the_file() -> None:
    for path in (file("integer-false"), DATA_BUNDLE.parent / "local-false"):
        with pytest.raises((nw.NotPrivateError, nw.FalseClaimError)) as err:
            nw.load(path)
        assert str(err.value).startswith(f"{path}: ")


def test_representations() -> None:
    names = ("real", "kernel", "additive-bounded", "categories")
    shown = {name: repr(nw.load(file(name), verify=False)) for name in names}
    assert shown["real"].startswith("<Table: epsilon=1.0, delta=") and "query=real" in shown["real"]
    assert shown["kernel"].startswith("<Kernel: epsilon=") and " values from " in shown["kernel"]
    assert shown["additive-bounded"].startswith("<AdditiveKernel: epsilon=")
    assert shown["categories"].startswith("<Randomizer: epsilon=") and "categories>" in shown["categories"]
    assert repr(nw.load(DATA_BUNDLE)).startswith("<Bundle: epsilon=")
    filters = next(path for path in BUNDLES if path.name == "filter")
    assert repr(nw.load(filters, verify=False)).startswith("<Bundle: no promise, ")


def test_repeated_names_are_found_at_any_depth(tmp_path: Path) -> None:
    text = file("real").read_text().replace('"epsilon":1,', '"epsilon":1,"epsilon":1,', 1)
    with pytest.raises(nw.FormatError, match=r"privacy\.epsilon stands twice"):
        parse(text.encode())


@pytest.mark.parametrize("name", ["real", "kernel", "additive", "local-unbiased"])
def test_optional(name: str) -> None:
    """As the program reads them: fields that a file calls optional change nothing of what is proved."""
    cases = json.loads((REPOSITORY / "internal/strictjson/testdata/optional.json").read_text())
    assert len(cases) >= 30
    text = file(name).read_text()
    want = verified(text.encode())
    for more, good in cases.items():
        raw = text.replace(',"version":', f',{more}"version":', 1).encode()
        if good:
            assert verified(raw) == want, more
            continue
        with pytest.raises(nw.FormatError):
            parse(raw)


def test_strings_are_text() -> None:
    text = file("real").read_bytes()
    for name in (b"l\xe9", b"l\xed\xa0\x80", b"\\ud83d", b"\\ude00", b"\\ud83dx", b"\\uD83D\\u0041"):
        with pytest.raises(nw.FormatError, match="not JSON"):
            parse(text.replace(b'"l1"', b'"' + name + b'"'))
    with pytest.raises(nw.Error, match="loss"):  # whole, but no loss
        parse(text.replace(b'"l1"', b'"\\ud83d\\ude00\\\\ud800"'))


def test_exact_composition_needs_an_accountant() -> None:
    bundle = nw.load(DATA_BUNDLE, verify=False)
    assert isinstance(bundle, nw.Bundle)
    object.__setattr__(bundle._spec, "composition", "exact")
    object.__setattr__(bundle._spec, "promise", (0.01, 1e-9))
    with pytest.raises(nw.UnprovedError):
        bundle.verify()
    with pytest.raises(nw.NotPrivateError):
        bundle.verify(accountant=lambda tables, promise: 1e-8)
    assert bundle.verify(accountant=lambda tables, promise: 1e-10).delta_upper == Fraction(1e-10)


DATA_BUNDLE = BUNDLES[[b.name for b in BUNDLES].index("designed")]


def test_threads_find_the_same() -> None:
    """A loss keeps the last power that it bounded, and threads share the loss."""
    table = nw.load(file("power-sum-tail"))
    assert isinstance(table, nw.Table)
    want = table.expected_loss_of(table.loss)
    spec = table._spec

    def expected(_: int) -> Fraction:
        return _expected(spec, spec.loss, Meter(1 << 62))

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(expected, range(8))) == {want}


@pytest.mark.parametrize("path", [p for p in BUNDLES if not p.name.endswith("-false")], ids=lambda p: p.name)
def test_bundle_encodes_and_decodes(path: Path) -> None:
    """As the program's package does; where a sum is rounded another way, a grid may be too."""
    want = {name: np.array(rows) for name, rows in ENCODINGS[path.name].items()}
    bundle = nw.load(path, verify=False)
    assert isinstance(bundle, nw.Bundle)
    found = bundle.encode(want["inputs"])
    step = bundle._spec.step if bundle.composition == "norm" else 0.0
    if bundle.composition in ("l1", "l2"):
        step = bundle.laws[0].step  # type: ignore[union-attr]
    far = np.abs(found - want["encoded"])
    assert far.max() <= 1e-12 + 1.01 * step
    assert (far.max(axis=1) <= 1e-12).mean() > 0.9
    assert np.allclose(bundle.decode(want["encoded"]), want["decoded"], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        *(
            ("layers", '"relu"', '"softplus"'),
            ("layers", '"l1-ball"', '"l3-ball"'),
            ("layers", '"classes"', '"logits"'),
        ),
        *(("filter", '"kind": "none"', '"kind": "laplace"'), ("filter", '"version": 2', '"version": 3')),
        ("filter", '"privacy": null', '"privacy": {"epsilon": 1, "delta": 0}'),
    ],
)
def test_words_of_a_bundle(name: str, before: str, after: str, tmp_path: Path) -> None:
    copy = tmp_path / "bundle"
    shutil.copytree(DATA_BUNDLE.parent / name, copy)
    text = (copy / "bundle.json").read_text()
    assert before in text
    (copy / "bundle.json").write_text(text.replace(before, after, 1))
    with pytest.raises((nw.FormatError, nw.InvalidError)):
        nw.load(copy, verify=False)
