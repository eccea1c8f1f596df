# SPDX-License-Identifier: Apache-2.0
"""The program as functions: typed results, its sentences as exceptions, and none where there is no program."""

import json
import os
import subprocess
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import file

import noisewright
from noisewright import Constraints, Effort, InvalidError, ProgramError, ProgramMissingError, program
from noisewright.program import Number

pytestmark = pytest.mark.filterwarnings("ignore::noisewright.PrivacyWarning")


def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A program that is not ours."""
    path = tmp_path / "fake"
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)
    monkeypatch.setenv("NOISEWRIGHT", str(path))


def test_design(called: str, tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    made = noisewright.design(1, 0.1, 1, "l1", effort=Effort(gap=0.01), path=path)
    assert made.status == "optimal"
    assert made.gap is not None and made.gap <= 0.01
    assert made.lower_bound <= made.expected_loss < 0.72
    assert (made.epsilon, made.delta, made.sensitivity) == (1, 0.1, 1)
    assert (made.loss, made.query, made.step) == ("l1", "real", None)
    # What was loaded says the same in exact arithmetic, and the file is what the program wrote.
    found = made.table.verify()
    assert Fraction(made.expected_loss) >= found.expected_loss and Fraction(made.delta_upper) >= found.delta_upper
    assert Fraction(made.lower_bound) <= found.lower_bound
    assert path.read_bytes() == made.table.source


def test_design_flags(called: str) -> None:
    held = Constraints(symmetric=True, support=(-4, 4), quantiles=[(0.9, 2)])
    made = noisewright.design(Decimal("1"), "0.1", 1, ["l1:0.7", "exceed:2:0.3"], query="integer", constraints=held)
    assert made.loss == "l1:0.7 + exceed:2:0.3" and made.query == "integer" and made.step == 1
    noise = made.table.sample_steps(2000)
    assert abs(noise).max() <= 4


def test_calibrate_and_account(called: str, tmp_path: Path) -> None:
    made = noisewright.calibrate(4, 1, 1e-6, 1, "l1", noise="gaussian")
    assert made.releases == 4 and made.noise == "gaussian" and 0.9 < made.epsilon_upper <= 1
    assert made.table.claimed_total is not None
    total = noisewright.account(made.table, times=4, delta=1e-6)
    assert total.epsilon_lower <= total.epsilon <= 1
    assert total.epsilon == pytest.approx(made.epsilon_upper, rel=1e-3)
    path = tmp_path / "table.json"
    path.write_bytes(made.table.source)
    mixed = noisewright.account(path, "laplace:epsilon=1", times=[2, 1], epsilon=2)
    assert mixed.releases == 3 and 0 < mixed.delta_lower <= mixed.delta < 1e-3 and mixed.epsilon == 2


def test_compare(called: str) -> None:
    found = noisewright.compare(1, 0.1, 1, effort=Effort(gap=0.01))
    designed, laplace = found["designed"], found["laplace"]
    assert found.lower_bound is not None and laplace.loss == 1
    assert designed.loss is not None and found.lower_bound <= designed.loss < laplace.loss
    assert found["gaussian"].loss is None and "does not apply" in found["gaussian"].note
    with pytest.raises(KeyError):
        found["none"]
    of_table = noisewright.compare(table=noisewright.design(1, 0.1, 1, effort=Effort(gap=0.01)).table)
    assert of_table["table"].loss == designed.loss


def test_warnings(called: str) -> None:
    with pytest.warns(noisewright.PrivacyWarning, match="delta = 0.1 is large") as found:
        noisewright.design(1, 0.1, 1)
    assert [w.filename for w in found] == [__file__]


def test_limit(called: str) -> None:
    made = noisewright.design(1, 1e-6, 1, effort=Effort(gap="1e-6", time_limit="1ms"))
    assert made.status == "limit" and made.table.proved


def test_bad_input(called: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidError) as err:
        noisewright.design(-1, 0.1, 1, "l7", path=tmp_path / "none.json")
    assert "epsilon = -1, want" in str(err.value) and 'loss = "l7", want one of' in str(err.value)
    assert not list(tmp_path.iterdir())
    with pytest.raises(InvalidError, match="RELEASE is missing"):
        noisewright.account(delta=1e-6)
    with pytest.raises(InvalidError, match="epsilon is missing"):
        noisewright.design(None, 0.1, 1)  # type: ignore[arg-type]
    with pytest.raises(InvalidError, match="cannot be kept together"):
        noisewright.design(1, 0.1, 1, constraints=Constraints(unbiased=True, support=(0, "inf")))


def test_what_was_designed_is_a_release(called: str) -> None:
    made = noisewright.design(1, 0.1, 1, effort=Effort(gap=0.1))
    month = noisewright.calibrate(2, 1, 1e-6, 1, noise="gaussian")
    assert noisewright.account(made, month, times=np.array([1, 2]).tolist(), delta=0.2).releases == 3
    assert noisewright.account(made, times=np.int64(2), delta=0.3).releases == 2
    assert noisewright.compare(table=made)["table"].loss == noisewright.compare(table=made.table)["table"].loss


def test_wrong_types() -> None:
    wrong: Any = {"symmetric": True}
    with pytest.raises(InvalidError, match=r"constraints = a dict, want Constraints\(…\)"):
        noisewright.design(1, 0.1, 1, constraints=wrong)
    with pytest.raises(InvalidError, match=r"effort = a dict, want Effort\(…\)"):
        noisewright.design(1, 0.1, 1, effort=wrong)
    with pytest.raises(InvalidError, match="release = a list, want a file, what was loaded or designed, or a mech"):
        noisewright.account(["a.json", "b.json"], delta=1e-6)  # type: ignore[arg-type]


def test_forged_release(called: str, tmp_path: Path) -> None:
    made = json.loads(noisewright.design(1, 0.1, 1, effort=Effort(gap=0.1)).table.source)
    made["privacy"]["delta"] = 0.01
    path = tmp_path / "forged.json"
    path.write_text(json.dumps(made))
    with pytest.raises(noisewright.FalseClaimError, match="delta"):
        noisewright.account(path, delta=1e-6)


def test_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("NOISEWRIGHT", raising=False)
    with pytest.raises(ProgramMissingError, match=r"neither beside .* nor on PATH.*make build"):
        noisewright.design(1, 0.1, 1)
    monkeypatch.setenv("NOISEWRIGHT", str(tmp_path / "none"))
    with pytest.raises(ProgramMissingError, match=r"NOISEWRIGHT = .*none' is not a program.*make build"):
        noisewright.account("laplace:epsilon=1", delta=0)


@pytest.mark.skipif(os.name == "nt", reason="the fake program is a shell script")
def test_other_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, monkeypatch, "exit 1")
    with pytest.raises(ProgramError, match="exit code 1 and no word") as err:
        noisewright.account("laplace:epsilon=1", delta=0)
    assert err.value.code == 1
    fake(tmp_path, monkeypatch, "echo '{\"schema\":2}'")
    with pytest.raises(ProgramError, match="schema 2, want 3"):
        noisewright.account("laplace:epsilon=1", delta=0)
    fake(tmp_path, monkeypatch, "echo '{\"schema\":3}'")
    with pytest.raises(ProgramError, match="another Total"):
        noisewright.account("laplace:epsilon=1", delta=0)


@pytest.mark.skipif(os.name == "nt", reason="the fake program is a shell script")
def test_other_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that returns a proven table, but not the one that was asked for, or praises it."""
    path = tmp_path / "report"

    def writes(name: str, **report: object) -> None:
        path.write_text(json.dumps({"schema": 3} | report))
        for_output = 'for a in "$@"; do case $a in --output=*) out=${a#--output=};; esac; done'
        fake(tmp_path, monkeypatch, f"{for_output}\ncp '{file(name)}' \"$out\"\ncat '{path}'\n")

    def refused(epsilon: Number, delta: Number, sensitivity: Number, match: str, **more: Any) -> None:
        with pytest.raises(ProgramError, match=match):
            noisewright.design(epsilon, delta, sensitivity, **more)

    writes("real")  # epsilon 1, delta 0.1, sensitivity 1
    refused(1, 0.1, 1, match="another Design")  # the rest is right, but for the report
    refused(0.5, 0.1, 1, match="epsilon = 1.0, want 0.5")
    refused(1, Decimal("1e-6"), 1, match="delta = 0.1, want 1e-06")
    refused("1", "0x1p-3", 1, match="delta = 0.1, want 0.125")
    refused(1, 0.1, 2, match="sensitivity = 1.0, want 2.0")
    refused(1, 0.1, 1, query="integer", match="query = real, want integer")
    refused(1, 0.1, 1, step=0.5, match="query = real, want lattice")
    refused(1, 0.1, 1, constraints=Constraints(unbiased=True), match="constraints")
    with pytest.raises(ProgramError, match="releases = None, want 4"):
        noisewright.calibrate(4, 1, 0.1, 1)
    for name, value in (("delta_upper", 0.01), ("expected_loss", 0.1), ("lower_bound", 0.9), ("expected_loss", "0.1")):
        writes("real", **{name: value})
        refused(1, 0.1, 1, match=f"{name} = .*not true")
    writes("biased-false")
    with pytest.raises(noisewright.FalseClaimError):
        noisewright.design(1, 0.1, 1)
    writes("l2-plain", lower_bound=0.1)  # which proves none
    refused(1, 0.1, 1, match="lower_bound = 0.1, which is not true")
    for text in ("no JSON", "[]", "NaN"):
        fake(tmp_path, monkeypatch, f"echo '{text}'")
        with pytest.raises(ProgramError, match="no report"):
            noisewright.compare(1, 0.1, 1)
    fake(tmp_path, monkeypatch, "echo '{\"schema\":3}'")
    with pytest.raises(ProgramError, match="another Comparison"):
        noisewright.compare(1, 0.1, 1)


def test_constraints_come_back(called: str) -> None:
    for held in (
        Constraints(monotone=True, support=("-inf", Decimal("4.0")), quantiles=[("0.9", 3), (0.5, 2)]),
        Constraints(unbiased=True, max_variance="3e0"),
        Constraints(symmetric=True, max_distinguishing=0.5),
    ):
        noisewright.design(1, 0.1, 1, constraints=held, effort=Effort(gap=0.5))
    assert noisewright.design(1, 0.1, 0.75, step="0.25", effort=Effort(gap=0.5)).step == 0.25


def test_arguments_are_no_flags(called: str) -> None:
    with pytest.raises(InvalidError):
        noisewright.account("--help", delta=0)
    assert subprocess.run([called, "version"], capture_output=True, check=True).stdout


@pytest.mark.skipif(os.name == "nt", reason="the fake program is a shell script")
def test_beside_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NOISEWRIGHT first, then the folder of Python, then that of its scripts, then PATH."""
    monkeypatch.delenv("NOISEWRIGHT", raising=False)
    folders = [tmp_path / name for name in ("beside", "scripts", "path", "named")]
    for folder in folders:
        folder.mkdir()
        fake(folder, monkeypatch, "exit 1")
        (folder / "fake").rename(folder / "noisewright")
    beside, scripts, path, named = folders
    monkeypatch.setattr("sys.executable", str(beside / "python"))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(scripts) if name == "scripts" else None)
    monkeypatch.setenv("PATH", str(path))
    monkeypatch.setenv("NOISEWRIGHT", str(named / "noisewright"))
    for folder in (named, beside, scripts, path):
        assert program.program() == str(folder / "noisewright")
        monkeypatch.delenv("NOISEWRIGHT", raising=False)
        (folder / "noisewright").unlink()
    with pytest.raises(ProgramMissingError, match="neither beside"):
        program.program()


@pytest.mark.skipif(os.name == "nt", reason="the fake program is a shell script")
def test_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of another release is refused before it is told anything; one of the same, and of none, is not."""
    monkeypatch.setattr(program, "_own_version", lambda: "0.1.7")
    for version, refused in (("v0.2.0", True), ("1.1.0", True), ("v0.1.0", False), ("v0.0.0-2026-abc", False)):
        report = json.dumps({"schema": 3, "version": version})
        fake(tmp_path, monkeypatch, f"echo \"$1\" >> '{tmp_path / 'told'}'; echo '{report}'")
        with pytest.raises(ProgramError, match="take both from one version" if refused else "another Total"):
            noisewright.account("laplace:epsilon=1", delta=0)
        told = (tmp_path / "told").read_text().split()
        (tmp_path / "told").unlink()
        assert told == (["version"] if refused else ["version", "account"])
