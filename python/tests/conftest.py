# SPDX-License-Identifier: Apache-2.0
"""What tests share: the files in data, and what the program says of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent / "data"
FILES = sorted((DATA / "files").glob("*.json"))
BUNDLES = sorted((DATA / "bundles").iterdir())
EXPECTED: dict[str, Any] = json.loads((DATA / "expected.json").read_text())
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def program() -> str:
    """The program: NOISEWRIGHT, bin/noisewright of the repository, or that of PATH."""
    built = REPOSITORY / "bin" / "noisewright"
    found = os.environ.get("NOISEWRIGHT") or (str(built) if built.exists() else shutil.which("noisewright"))
    if not found:
        pytest.skip("the program is not built (make build, or set NOISEWRIGHT)")
    return found


@pytest.fixture
def called(program: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The program, which the functions of the package call too."""
    monkeypatch.setenv("NOISEWRIGHT", program)
    return program


@pytest.fixture(scope="session")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The program with the random words of the seed in NOISEWRIGHT_TEST_SEED."""
    go = shutil.which("go")
    if not go:
        pytest.skip("go is not installed, which builds the program with a seed")
    path = tmp_path_factory.mktemp("seeded") / "noisewright"
    build = [go, "build", "-o", str(path), "./cmd/internal/seeded"]
    subprocess.run(build, cwd=REPOSITORY, check=True, capture_output=True)
    return str(path)


def file(name: str) -> Path:
    """A file of data."""
    return DATA / "files" / f"{name}.json"
