# SPDX-License-Identifier: Apache-2.0
"""Changes the checks of the Python package in one small place at a time and runs their tests, as
internal/mutants does for Go: a change that no test fails for, a survivor, is code that nothing
defends. The tree stays as it is. Survivors that need no test are in internal/mutants/argued.txt.

A first run of the tests notes which functions each calls. A mutant is a fork in which the tests that call
its function run, the quick ones first, until one fails.

    mutants.py [--sample 12] [--seed 1] [--time 240] [-j 2] [--match '_tablecheck']
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import re
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("python/src/noisewright")
LIST = Path("internal/mutants/argued.txt")
# The modules that say what is proved, and those that draw.
MODULES = [
    *("_additivecheck", "_bundlecheck", "_kernelcheck", "_randomizercheck", "_tablecheck", "_subsetfile", "subset"),
    *("_divergence", "_exact", "_runs", "_tabletail", "_lowerbound", "_pricing", "_linesearch", "_loss", "_claims"),
    *("_additivefile", "_kernelfile", "_randomizerfile", "_tablefile", "_bundlefile", "_normal", "_spherical"),
    *("_rounding", "_law"),
]
TESTS = [
    "tests/test_brute.py",
    "tests/test_draws.py",
    "tests/test_edges.py",
    "tests/test_rounding.py",
    "tests/test_runs.py",
]
TESTS += ["tests/test_single.py", "tests/test_subset.py", "tests/test_verify.py"]
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


def entered(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> int:
    """The first line of the function that runs a node, as its code has it; 0 where it runs once and for all."""
    while not isinstance(node, ast.Module):
        inside, node = node, parents[node]
        if isinstance(node, ast.FunctionDef) and inside in node.body:
            kept = any("cache" in ast.unparse(d) for d in node.decorator_list)
            return 0 if kept else min(n.lineno for n in (node, *node.decorator_list))
    return 0


def mutants(path: Path) -> Iterator[tuple[str, str, str, int]]:
    """The key of each mutant of a file, what it is called, its source, and where its function is entered."""
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
                entered(node, parents),
            )


class Changed(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Loads one module of the package from another source."""

    def __init__(self, path: Path, source: str) -> None:
        super().__init__(f"noisewright.{path.stem}", str(ROOT / path))
        self.source = source

    def find_spec(self, fullname: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        return (
            importlib.util.spec_from_file_location(self.name, self.path, loader=self) if fullname == self.name else None
        )

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.source, self.path, "exec")


def functions(code: CodeType) -> Iterator[CodeType]:
    """The outermost functions of a module and of its classes."""
    for c in code.co_consts:
        if isinstance(c, CodeType):
            yield c
            if not c.co_flags & 1:  # CO_OPTIMIZED: a function
                yield from functions(c)


def replaced(path: Path, source: str, line: int) -> bool:
    """Whether the function that holds the line has the code of another source now, wherever it is known."""
    changed = compile(source, str(ROOT / path), "exec")
    there = [c for c in functions(changed) if c.co_flags & 1 and c.co_firstlineno <= line]
    new = max(there, key=lambda c: c.co_firstlineno, default=None)
    if not line or new is None or new.co_name.startswith("<"):
        return False
    known = [f for f in gc.get_objects() if isinstance(f, FunctionType) and f.__code__.co_filename == str(ROOT / path)]
    known = [f for f in known if (f.__code__.co_firstlineno, f.__name__) == (new.co_firstlineno, new.co_name)]
    if any(len(f.__code__.co_freevars) != len(new.co_freevars) for f in known):
        return False
    for f in known:
        f.__code__ = new
    return bool(known)


class Loop:
    """The tests of one session, each mutant of which is a fork of its own."""

    def __init__(self, run: Callable[[Loop], None]) -> None:
        self.run = run

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.session = session
        self.run(self)
        return True

    def passes(self, names: Iterable[str]) -> bool:
        """Whether the tests of these names pass, the first that fails being the last that runs."""
        items = {item.nodeid: item for item in self.session.items}
        queue = [items[name] for name in names]
        for item, following in zip(queue, [*queue[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.session.testsfailed:
                return False
        return True

    def calls(self, file: Path) -> bool:
        """Writes which functions of the package each test enters, by file and line, and how long it takes."""
        tests: dict[str, tuple[float, list[str]]] = {}
        for item in self.session.items:
            entered: set[CodeType] = set()
            begin = time.process_time()
            sys.settrace(lambda frame, event, arg, entered=entered: entered.add(frame.f_code))  # type: ignore[misc]
            passed = self.passes([item.nodeid])
            sys.settrace(None)
            if not passed:
                return False
            codes = [c for c in entered if f"{PACKAGE.as_posix()}/" in c.co_filename]
            places = {f"{Path(c.co_filename).name}:{c.co_firstlineno}" for c in codes}
            tests[item.nodeid] = time.process_time() - begin, sorted(places)
        file.write_text(json.dumps(tests))
        return True


def fork(run: Callable[[], bool], seconds: float) -> int:
    """Starts a process that says whether run was true, or ends when it has run for so long, and returns its id."""
    sys.stdout.flush()
    if child := os.fork():
        return child
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    signal.alarm(int(seconds) + 1)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    try:
        os._exit(0 if run() else 1)
    finally:
        os._exit(1)


def session(run: Callable[[Loop], None]) -> None:
    """Collects the tests, and does this with them."""
    options = ["-q", "-q", "-p", "no:cacheprovider", "--capture=no", "-k", SLOW]
    pytest.main([*options, *TESTS], plugins=[Loop(run)])


def afresh(path: Path, source: str, names: list[str]) -> bool:
    """Whether the tests pass in a session of their own, in which a module has another source."""
    for name in [m for m in sys.modules if m.startswith(("noisewright", "test_", "conftest"))]:
        del sys.modules[name]
    sys.meta_path.insert(0, Changed(path, source))
    passed: list[bool] = []
    session(lambda loop: passed.append(loop.passes(names)))
    return all(passed) and bool(passed)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int, default=12, help="how many to try, 0 for all")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--time", type=float, default=240)
    parser.add_argument("-j", type=int, default=2, help="how many at a time")
    parser.add_argument("--match", default="")
    parser.add_argument("--stale", action="store_true", help="try none, and fail if an entry of the list is stale")
    given = parser.parse_args()
    entries = [line.split("\t") for line in (ROOT / LIST).read_text().splitlines() if line.startswith("python/")]
    argued = {"\t".join(fields[:4]) for fields in entries}

    def known(key: str) -> set[str]:
        file, function, _, text = key.split("\t")
        return argued & {key, f"{file}\t{function}\t*\t{text}", f"{file}\t{function}\t*\t*"}

    found = [m for name in MODULES for m in mutants(PACKAGE / f"{name}.py")]
    stale = argued.difference(*(known(key) for key, *_ in found))
    for key in sorted(stale):
        print(f"mutants: stale, to be deleted or renewed in {LIST}: {key}")
    if given.stale:
        return 1 if stale else 0
    queue = [m for m in found if not known(m[0]) and re.search(given.match, m[1])]
    if not given.match:  # the survivors of the other modules have not all been gone through
        queue = [m for m in queue if m[0].split("\t")[0].endswith("check.py")]
    queue.sort(key=lambda m: hashlib.sha256(f"{given.seed}{m[0]}".encode()).digest())
    sample = queue[: given.sample or None]
    end = time.monotonic() + given.time
    os.chdir(ROOT / "python")
    sys.path.insert(0, str(ROOT / "python/src"))
    tried: list[str] = []
    survivors: list[str] = []

    def run(loop: Loop, folder: str) -> None:
        nonlocal end
        file = Path(folder, "calls.json")
        os.waitpid(fork(lambda: loop.calls(file), 900), 0)
        end = time.monotonic() + given.time
        if not file.exists():
            print("mutants: python: the tests fail as they are")
            return
        tests: dict[str, tuple[float, list[str]]] = json.loads(file.read_text())
        running: dict[int, str] = {}
        waiting = iter(sample)
        while time.monotonic() < end:
            if len(running) < given.j and (mutant := next(waiting, None)):
                key, name, changed, line = mutant
                path = Path(key.split("\t")[0])
                place = f"{path.name}:{line}"
                those = sorted((taken, test) for test, (taken, places) in tests.items() if not line or place in places)
                names = [test for _, test in those]

                def passes(
                    path: Path = path, changed: str = changed, line: int = line, names: list[str] = names
                ) -> bool:
                    return loop.passes(names) if replaced(path, changed, line) else afresh(path, changed, names)

                running[fork(passes, 10 * sum(taken for taken, _ in those) + 10)] = name
                continue
            if not running:
                break
            child, status = os.wait()
            name = running.pop(child)
            tried.append(name)
            if status == 0:
                survivors.append(name)
                print(f"mutants: SURVIVED {name}", flush=True)
        for child in running:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    with tempfile.TemporaryDirectory() as folder:
        sys.pycache_prefix, sys.dont_write_bytecode = folder, False
        session(lambda loop: run(loop, folder))
    rest = f", {len(sample) - len(tried)} not reached in {given.time:g} s" if len(tried) < len(sample) else ""
    print(
        f"mutants: python: {len(found)}, {len(queue)} not argued, {len(tried)} tried, {len(survivors)} survived{rest}"
    )
    return 1 if survivors or (sample and not tried) else 0


if __name__ == "__main__":
    sys.exit(main())
