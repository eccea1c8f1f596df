# SPDX-License-Identifier: Apache-2.0
"""Changes the checks of the Python package in one small place at a time and runs their tests, as
internal/mutants does for Go: a change that no test fails for, a survivor, is code that nothing
defends. The tree stays as it is. Survivors that need no test are in internal/mutants/argued.txt.

    mutants.py [--sample 12] [--seed 1] [--time 240] [--match '_tablecheck']
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("python/src/noisewright")
LIST = Path("internal/mutants/argued.txt")
TESTS = ["tests/test_brute.py", "tests/test_edges.py", "tests/test_runs.py", "tests/test_verify.py"]
SLOW = "not beyond_all_floats and not local-nodes and not power-sum and not program"

COMPARISONS: dict[type[ast.cmpop], list[type[ast.cmpop]]] = {
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
# Names of which the other one rounds, bounds or goes in the other direction.
OPPOSITES = [("up", "down"), ("ceil", "floor"), ("min", "max"), ("left", "right"), ("lower", "upper")]


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What stands in the place of a node, with the name of the mutation."""
    made = copy.deepcopy(node)
    match made:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            for other in COMPARISONS[type(op)]:
                made.ops = [other()]
                yield f"{type(op).__name__} to {other.__name__}", made
        case ast.BinOp() if type(made.op) in ARITHMETIC:
            before = type(made.op)
            made.op = ARITHMETIC[before]()
            yield f"{before.__name__} to {ARITHMETIC[before].__name__}", made
        case ast.BoolOp():
            made.op = ast.And() if isinstance(made.op, ast.Or) else ast.Or()
            yield "and or", made
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield f"no {type(made.op).__name__}", made.operand
        case ast.Constant(value=int()) if not isinstance(made.value, bool):
            made.value += 1
            yield "one more", made
        case ast.Name() | ast.Attribute():
            field = "id" if isinstance(made, ast.Name) else "attr"
            name = getattr(made, field)
            for a, b in OPPOSITES + [(b, a) for a, b in OPPOSITES]:
                if re.search(rf"(^|_){a}(_|$)", name):
                    setattr(made, field, re.sub(rf"(^|_){a}(_|$)", rf"\g<1>{b}\g<2>", name))
                    yield f"{a} to {b}", made
                    return
        case ast.Raise() | ast.Expr(value=ast.Call()):
            yield "removed", ast.Pass()


def around(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> ast.AST:
    """The expression or the statement that says what a node means: a number and a name are part of one."""
    while isinstance(node, ast.Constant | ast.Name | ast.Attribute):
        node = parents[node]
    return node


def function_of(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    """The function or the class that a node is in, or the name that the module gives."""
    names: list[str] = []
    while not isinstance(node, ast.Module):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        if isinstance(node, ast.Assign) and isinstance(parents[node], ast.Module):
            names.append(ast.unparse(node.targets[0]))
        node = parents[node]
    return ".".join(reversed(names)) or "-"


def mutants(path: Path) -> Iterator[tuple[str, str, str]]:
    """The key of each mutant of a file, what it is called, and its source."""
    source = (ROOT / path).read_text()
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def place(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    seen: dict[tuple[str, str, str], int] = {}
    words: set[int] = set()  # of messages, types and work
    for node in ast.walk(tree):
        if id(node) in words:
            words.update(map(id, ast.iter_child_nodes(node)))
            continue
        if isinstance(node, ast.JoinedStr | ast.arg | ast.AnnAssign) and not getattr(node, "value", None):
            words.update(map(id, ast.iter_child_nodes(node)))
        if isinstance(node, ast.Call) and re.search(r"Error$|^_broken$|spend$|work$", ast.unparse(node.func)):
            words.update(map(id, ast.iter_child_nodes(node)))
        if isinstance(node, ast.FunctionDef) and node.returns:
            words.add(id(node.returns))
        for name, made in changes(node):
            if "spend(" in ast.unparse(node) and name == "removed":
                continue
            function, outer = function_of(node, parents), around(node, parents)
            whole = isinstance(outer, ast.FunctionDef | ast.ClassDef)
            said = " ".join(((not whole and ast.get_source_segment(source, outer)) or lines[node.lineno - 1]).split())
            times = seen[function, name, said] = seen.get((function, name, said), 0) + 1
            label = name if times == 1 else f"{name} ({times})"
            assert node.end_lineno is not None and node.end_col_offset is not None
            start, end = place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)
            text = ast.unparse(ast.fix_missing_locations(made))
            changed = source[:start] + (text if isinstance(made, ast.Pass) else f"({text})") + source[end:]
            yield (
                "\t".join((path.as_posix(), function, label, said)),
                f"{path}:{node.lineno}: {function} | {label} | {said}",
                changed,
            )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int, default=12)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--time", type=float, default=240)
    parser.add_argument("--match", default="")
    parser.add_argument("--stale", action="store_true", help="try none, and fail if an entry of the list is stale")
    given = parser.parse_args()
    entries = [line.split("\t") for line in (ROOT / LIST).read_text().splitlines() if line.startswith("python/")]
    argued = {"\t".join(fields[:4]) for fields in entries}

    def known(key: str) -> set[str]:
        file, function, _, text = key.split("\t")
        return argued & {key, f"{file}\t{function}\t*\t{text}", f"{file}\t{function}\t*\t*"}

    found = [m for path in sorted((ROOT / PACKAGE).glob("_*check.py")) for m in mutants(path.relative_to(ROOT))]
    stale = argued.difference(*(known(key) for key, *_ in found))
    for key in sorted(stale):
        print(f"mutants: stale, to be deleted or renewed in {LIST}: {key}")
    if given.stale:
        return 1 if stale else 0
    queue = [m for m in found if not known(m[0]) and re.search(given.match, m[1])]
    queue.sort(key=lambda m: hashlib.sha256(f"{given.seed}{m[0]}".encode()).digest())
    tried, survived, end = 0, 0, time.monotonic() + given.time
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "python/src", folder, dirs_exist_ok=True)
        test = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-k", SLOW, *TESTS]
        environment = os.environ | {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}

        def fails() -> bool | None:
            """Whether the tests fail, or do not end though ten times as long as they take; None: no time left."""
            left, enough = end - time.monotonic(), 10 * taken + 10
            try:
                done = subprocess.run(
                    test,
                    cwd=ROOT / "python",
                    env=environment,
                    stdout=subprocess.DEVNULL,
                    timeout=max(0, min(left, enough)),
                )
            except subprocess.TimeoutExpired:
                return True if enough < left else None
            return done.returncode != 0

        taken = given.time
        begin = time.monotonic()
        if unchanged := fails():
            print("mutants: python: the tests fail as they are")
            return 1
        taken = time.monotonic() - begin
        sample = queue[: given.sample or None]
        for key, name, changed in sample if unchanged is False else []:
            path = Path(folder, "noisewright", Path(key.split("\t")[0]).name)
            before = path.read_text()
            path.write_text(changed)
            killed = fails()
            path.write_text(before)
            if killed is None:
                break
            tried += 1
            if not killed:
                survived += 1
                print(f"mutants: SURVIVED {name}", flush=True)
    rest = f", {len(sample) - tried} not reached in {given.time:g} s" if tried < len(sample) else ""
    print(f"mutants: python: {len(found)}, {len(queue)} not argued, {tried} tried, {survived} survived{rest}")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
