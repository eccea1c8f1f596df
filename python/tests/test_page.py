# SPDX-License-Identifier: Apache-2.0
"""The page docs/python.md: its code runs from top to bottom, and so does the notebook."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
OURS = ("noisewright", *(path.stem for path in (ROOT / "python" / "examples").glob("*.py")))


def missing(code: str) -> list[str]:
    """Packages that code imports and that are not installed."""
    names = re.findall(r"^\s*(?:import|from) (\w+)", code, re.MULTILINE)
    return [name for name in names if name not in OURS and importlib.util.find_spec(name) is None]


@pytest.mark.filterwarnings("ignore")
def test_code_of_the_page(
    called: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Blocks that need what is not installed are left out, and so are those that use what these would have made."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    shutil.copytree(ROOT / "python" / "examples", "examples")
    namespace: dict[str, Any] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) > 10
    skipped: list[str] = []
    for code in blocks:
        if absent := missing(code):
            skipped += absent
            continue
        if "torch" in namespace:
            namespace["torch"].manual_seed(1)
            namespace["torch"].set_num_threads(1)
        try:
            exec(compile(code, "docs/python.md", "exec"), namespace)
        except NameError:
            if not skipped:
                raise
    if Path("device").exists():
        accuracy = float(re.findall(r"accuracy ([\d.]+)", capsys.readouterr().out)[-1])
        assert accuracy > 0.9  # of one draw for 170 people; test_torch.py has the mean of many
        for bundle in ("bundle", "device"):
            subprocess.run([called, "latent", "verify", bundle], check=True, capture_output=True)
    if skipped:
        pytest.skip(f"not installed: {', '.join(dict.fromkeys(skipped))}")


def test_links_of_the_page() -> None:
    for target in re.findall(r"\]\(([^)#:]+)", PAGE):
        assert (ROOT / "docs" / target).exists(), target


def test_notebook(called: str, tmp_path: Path) -> None:
    notebook = ROOT / "python" / "examples" / "notebook.py"
    if absent := missing(notebook.read_text(encoding="utf-8")):
        pytest.skip(f"not installed: {', '.join(absent)}")
    # Fewer steps of training: what is tested is that it runs.
    code = notebook.read_text(encoding="utf-8").replace("range(400)", "range(40)").replace("range(20)", "range(2)")
    (tmp_path / "notebook.py").write_text(code, encoding="utf-8")
    run = [sys.executable, "notebook.py", "."]
    source = str(ROOT / "python" / "src")
    environment = {**os.environ, "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1", "PYTHONPATH": source}
    printed = subprocess.run(run, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True).stdout
    assert len(re.findall(r"accuracy 0\.\d+", printed)) == 5
    for name in ("python-noise.svg", "python-encoder.svg"):
        assert f"figures/{name}" in PAGE
        assert "</svg>" in (tmp_path / name).read_text(encoding="utf-8")
