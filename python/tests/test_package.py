# SPDX-License-Identifier: Apache-2.0
"""The wheel, and that the package is typed, small and alone."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_wheel(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.iterdir()
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as z:
        names = z.namelist()
        (described,) = [n for n in names if n.endswith("METADATA")]
        needs = [line for line in z.read(described).decode().splitlines() if line.startswith("Requires-Dist")]
    assert "noisewright/py.typed" in names
    assert not [n for n in names if "test" in n]
    assert [n for n in needs if "extra" not in n] == ["Requires-Dist: numpy>=1.23"]
