# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/expected.json: what the program says of every file in tests/data and of what
tampering.py makes of them, and its golden draws.

    python tests/make_expected.py ../bin/noisewright

The files are from the scripts in cmd/internal/cli/testdata/script, and from the program's commands.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tampering import bundle_tamperings, tampered

DATA = Path(__file__).parent / "data"
DRAWS = 200


def run(program: str, *arguments: str) -> tuple[int, Any]:
    """The exit code and what is printed as JSON."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None


def verdict(program: str, *arguments: str) -> dict[str, Any]:
    """The exit code, and the numbers of a verdict that is good."""
    code, report = run(program, *arguments)
    if code != 0:
        return {"code": code}
    numbers = {k: v for k, v in report.items() if isinstance(v, float | int) and not isinstance(v, bool)}
    return {"code": 0, **{k: numbers[k] for k in sorted(numbers) if k != "schema"}}


def file_expectation(program: str, path: Path) -> dict[str, Any]:
    out = verdict(program, "verify", "--json", str(path))
    if out["code"] == 0 and "noisewright-kernel" not in path.read_text()[:100]:
        code, export = run(program, "export", str(path), "--draws", str(DRAWS))
        if code == 0 and "cells" in export and "draws" not in export["golden"]:
            out["draws"] = [cell["draws"] for cell in export["cells"]]
        elif code == 0:
            out["draws"] = export["golden"]["draws"]
    out["tampered"] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name, text in tampered(path.read_bytes()):
            changed = Path(scratch, "changed.json")
            changed.write_bytes(text)
            out["tampered"][name] = verdict(program, "verify", "--json", str(changed))["code"]
    return out


def bundle_expectation(program: str, path: Path) -> dict[str, Any]:
    out = verdict(program, "latent", "verify", "--json", str(path))
    out["tampered"] = {}
    for name, change in bundle_tamperings():
        with tempfile.TemporaryDirectory() as scratch:
            copy = Path(scratch, "bundle")
            if change(path, copy):
                out["tampered"][name] = verdict(program, "latent", "verify", "--json", str(copy))["code"]
    return out


def main(program: str) -> None:
    expected = {
        "files": {p.stem: file_expectation(program, p) for p in sorted((DATA / "files").glob("*.json"))},
        "bundles": {p.name: bundle_expectation(program, p) for p in sorted((DATA / "bundles").iterdir())},
    }
    text = json.dumps(expected, separators=(",", ":")).replace('},"', '},\n"')
    (DATA / "expected.json").write_text(text + "\n")
    print(hashlib.sha256(text.encode()).hexdigest()[:16], len(text))


if __name__ == "__main__":
    main(sys.argv[1])
