# SPDX-License-Identifier: Apache-2.0
"""Python on the pages: the code of docs/python.md runs from top to bottom; the notebook; other pages."""

import doctest
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import noisewright

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
    # Code, and what the page shows that it prints.
    found = re.findall(r"^```python\n(.*?)^```\n(?:\n((?:    [^$ ][^\n]*\n)+))?", PAGE, re.MULTILINE | re.DOTALL)
    assert len(found) > 10
    skipped: list[str] = []
    for code, shown in found:
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
        printed = capsys.readouterr().out
        for line in shown.splitlines():
            assert masked(line.strip()) in masked(printed)
        if accuracy := re.search(r"accuracy ([\d.]+)", printed):
            assert float(accuracy[1]) > 0.9  # of one draw for 170 people; test_torch.py has the mean of many
    if Path("device").exists():
        shell(called, "noisewright latent verify bundle", *re.findall(r"^    \$ (.*)", PAGE, re.MULTILINE))
    if skipped:
        pytest.skip(f"not installed: {', '.join(dict.fromkeys(skipped))}")


def masked(text: str) -> str:
    """Numbers are all alike: noise is fresh."""
    return re.sub(r"-?\d[\d.]*", "#", text)


def blocks(page: str, tag: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{tag}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def shell(program: str, *commands: str) -> None:
    """Runs commands as a page has them, with the program on PATH."""
    path = f"{Path(program).parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands:
        subprocess.run(["sh", "-ec", command], check=True, capture_output=True, env={**os.environ, "PATH": path})


def test_plans(called: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of docs/plans.md, with the files that the commands above it make."""
    monkeypatch.chdir(tmp_path)
    shell(called, *blocks("docs/plans.md", "")[:4])
    (code,) = blocks("docs/plans.md", "python")
    exec(compile(code, "docs/plans.md", "exec"), {})


def test_readme(called: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shell(
        called,
        "noisewright design --epsilon 1 --delta 1e-6 --sensitivity 1 --loss l1 --quiet -o table.json",
        "noisewright plan design --workload marginals:sex=2,age=100:1 --epsilon 1 --delta 1e-7 -o tables.json",
    )
    (code,) = blocks("python/README.md", "python")
    frame = {"sex": ["F", "M"] * 500, "age": [i % 100 for i in range(1000)]}
    namespace: dict[str, Any] = {"frame": frame}
    exec(compile(code, "python/README.md", "exec"), namespace)
    assert abs(namespace["answers"][0].value - 350) < 60


def test_bundle_of_a_page(called: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/latent.md: the bundle of its first section encodes and decodes as it says."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/latent.md").read_text(encoding="utf-8")
    start, _, _ = text.partition("The devices check the bundle")
    shell(called, *re.findall(r"^    \$ (.*)", start, re.MULTILINE))
    (example,) = re.findall(r"(?:^    .*\n)*^    >>> .*\n(?:^    .*\n)*", text, re.MULTILINE)
    name = "docs/latent.md"
    test = doctest.DocTestParser().get_doctest(example, {"noisewright": noisewright}, name, name, 0)
    printed: list[str] = []
    assert doctest.DocTestRunner().run(test, out=printed.append).failed == 0, "".join(printed)


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
