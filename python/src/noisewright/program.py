# SPDX-License-Identifier: Apache-2.0
"""Designs, calibrations, totals and comparisons, made by the program noisewright.

The program is the one that NOISEWRIGHT names, or else that beside Python (in the folder of scripts of its
environment, where a wheel puts it), or else that on PATH. Numbers are passed on as they are written:
a Decimal or a string keeps all its digits, a float those that read back as itself. Bounds in the results are
float64s that the program rounded outwards.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import numbers
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, Union

from noisewright import _tablefile
from noisewright._display import Rows
from noisewright._load import load
from noisewright._version import __version__
from noisewright.errors import Error, ExceededError, FalseClaimError, InvalidError, OtherDataError, PrivacyWarning
from noisewright.table import Table

Number: TypeAlias = int | float | Decimal | str
"""A number, or its text."""


class Loaded(Protocol):
    """A table, a kernel or a randomizer."""

    @property
    def source(self) -> bytes:
        """Its file."""


Release: TypeAlias = Union[str, "os.PathLike[str]", Loaded, "Design", "Calibration"]
"""A file, what was loaded from one or designed, or a mechanism such as ``laplace:epsilon=1``."""

SCHEMA = 3  # of the JSON that the program prints

INSTALL = (
    "install a wheel of noisewright that has the program, or put the program on PATH, or its path into NOISEWRIGHT "
    "(`make build` in a copy of https://github.com/noisewright/noisewright makes bin/noisewright)"
)


class ProgramMissingError(Error, FileNotFoundError):
    """There is no program to call."""


class ProgramError(Error):
    """The program ended without a result, with this exit code. The message is its own."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@dataclasses.dataclass(frozen=True)
class Constraints:
    """What noise is held to beside its privacy; magnitudes are in units of the query."""

    symmetric: bool = False
    monotone: bool = False
    unbiased: bool = False
    support: tuple[Number, Number] | None = None
    max_variance: Number | None = None
    quantiles: Sequence[tuple[Number, Number]] = ()  # probabilities and magnitudes
    max_distinguishing: Number | None = None

    def flags(self) -> Iterator[str]:
        """What the program is told."""
        for name in ("symmetric", "monotone", "unbiased"):
            if getattr(self, name):
                yield f"--{name}"
        if self.support is not None:
            yield f"--support={_joined(self.support)}"
        for pair in self.quantiles:
            yield f"--quantile={_joined(pair)}"
        yield from _flags(max_variance=self.max_variance, max_distinguishing=self.max_distinguishing)

    def held(self) -> _tablefile.Constraints:
        """As a table states them."""
        ends = (None, None) if self.support is None else (_float(end) for end in self.support)
        lower, upper = (None if end is None or math.isinf(end) else end for end in ends)
        return _tablefile.Constraints(
            symmetric=bool(self.symmetric),
            monotone=bool(self.monotone),
            unbiased=bool(self.unbiased),
            lower=lower,
            upper=upper,
            max_variance=_float(self.max_variance or 0),
            quantiles=tuple((_float(p), _float(t)) for p, t in self.quantiles),
            max_distinguishing=_float(self.max_distinguishing or 0),
        )


@dataclasses.dataclass(frozen=True)
class Effort:
    """How long to search. What is None is the program's default."""

    gap: Number | None = None  # (expected loss - lower bound)/lower bound
    max_cells: int | None = None
    time_limit: str | None = None  # with its unit: 500ms, 60s, 5m

    def flags(self) -> Iterator[str]:
        """What the program is told."""
        yield from _flags(gap=self.gap, max_cells=self.max_cells, time_limit=self.time_limit)


@dataclasses.dataclass(frozen=True)
class Design:
    """A designed table. status is optimal, or limit where the search ended before the gap was reached."""

    table: Table
    epsilon: float
    delta: float
    sensitivity: float
    loss: str
    query: str
    step: float | None  # of what is published; None: as fine as needed
    delta_upper: float
    expected_loss: float  # rounded up
    lower_bound: float  # of all noise that keeps the constraints, rounded down
    gap: float | None
    cells: int
    cells_per_sensitivity: int
    rounds: int
    seconds: float
    status: Literal["optimal", "limit"]


@dataclasses.dataclass(frozen=True)
class Calibration:
    """The table of one of several releases, and what they cost together. Losses are those of a release.

    Only releases of this table add up to the total: other noise of its release_epsilon and release_delta may cost much
    more. For values and statistics under a ledger say releases=… and the total there instead.
    """

    table: Table
    releases: int
    epsilon: float  # of all releases, as asked for
    delta: float
    epsilon_upper: float  # as proved at delta
    epsilon_lower: float
    release_epsilon: float
    release_delta: float
    sensitivity: float
    loss: str
    noise: str
    exponent: float | None  # of noise of the kind exponential-power
    expected_loss: float  # rounded up
    alternatives: Mapping[str, float]
    gaussian_crossover: int | None  # the number of releases from which on Gaussian noise has the smaller loss


@dataclasses.dataclass(frozen=True)
class Total:
    """What several releases cost together: epsilon at delta is proved, the lower bounds are of the one at the other."""

    epsilon: float
    epsilon_lower: float
    delta: float
    delta_lower: float
    basic_epsilon: float | None
    releases: int


@dataclasses.dataclass(frozen=True)
class Mechanism:
    """A mechanism of a comparison; one that does not apply has no loss, and its note says why."""

    name: str
    note: str
    loss: float | None = None
    error_bound: float | None = None
    suboptimality: float | None = None  # loss/lower bound - 1


@dataclasses.dataclass(frozen=True)
class Comparison(Rows):
    """Expected losses beside the lower bound on those of all noise, None if there is none."""

    lower_bound: float | None
    mechanisms: tuple[Mechanism, ...]

    def rows(self) -> list[dict[str, Any]]:
        """A row for every mechanism."""
        return [dataclasses.asdict(m) for m in self.mechanisms]

    def __repr__(self) -> str:
        lines = [f"lower bound: {self.lower_bound}"]
        lines += [f"{m.name}: {m.note if m.loss is None else f'{m.loss:.7g}'}" for m in self.mechanisms]
        return "\n".join(lines)

    def __getitem__(self, name: str) -> Mechanism:
        for mechanism in self.mechanisms:
            if mechanism.name == name:
                return mechanism
        raise KeyError(name)


def design(
    epsilon: Number,
    delta: Number,
    sensitivity: Number,
    loss: str | Iterable[str] = "l1",
    *,
    query: Literal["real", "integer"] = "real",
    step: Number | None = None,
    constraints: Constraints | None = None,
    effort: Effort | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Design:
    """Designs the noise of least expected loss, to a certified gap; several losses are added up.

    With a step, multiples of it are published. With a path, the table is written there too. What comes back was
    loaded, and so verified in exact arithmetic, and is what was asked for. Raises InvalidError for bad input, with
    the program's sentences, and ProgramError if there is no such noise or the search failed. Warns with PrivacyWarning.
    """
    flags = _problem(epsilon, delta, sensitivity, loss, query, step, constraints, effort)
    report, table = _designed("design", flags, path)
    p = table.privacy
    _hold(table, {"epsilon": (p.epsilon, epsilon), "delta": (p.delta, delta)}, sensitivity, query, step, constraints)
    return _result(Design, report, table=table)


def catalogue(
    epsilon: Number,
    delta: Number,
    loss: str = "l1",
    *,
    query: Literal["real", "integer"] = "real",
    path: str | os.PathLike[str] | None = None,
) -> Table:
    """Finds noise of sensitivity 1 that was designed before and comes with the program, for common parameters.

    With a path, the table is written there too. What comes back was loaded, and so verified in exact arithmetic, and is
    what was asked for. Raises InvalidError where there is none, with a sentence that lists the parameters there are.
    """
    flags = [*_flags(epsilon=epsilon, delta=delta), f"--loss={loss}", f"--query={query}"]
    _, table = _designed("catalogue", flags, path)
    p = table.privacy
    _hold(table, {"epsilon": (p.epsilon, epsilon), "delta": (p.delta, delta)}, 1, query, None, None)
    if table.loss != loss:
        raise ProgramError(f"the program wrote a table with loss = {table.loss}, want {loss} as was asked for", 0)
    return table


def calibrate(
    releases: int,
    epsilon: Number,
    delta: Number,
    sensitivity: Number,
    loss: str | Iterable[str] = "l1",
    *,
    noise: Literal["auto", "designed", "truncated-laplace", "gaussian", "exponential-power"] = "auto",
    query: Literal["real", "integer"] = "real",
    step: Number | None = None,
    constraints: Constraints | None = None,
    effort: Effort | None = None,
    path: str | os.PathLike[str] | None = None,
    allow_delta: bool = False,
) -> Calibration:
    """Designs the table of a release of which so many are together (epsilon, delta)-private. Otherwise as design."""
    flags = _problem(epsilon, delta, sensitivity, loss, query, step, constraints, effort)
    flags += ["--allow-delta"] if allow_delta else []
    report, table = _designed("calibrate", [f"--releases={releases}", f"--noise={noise}", *flags], path)
    total = table.claimed_total or {}
    asked = {"releases": releases, "epsilon": epsilon, "delta": delta}
    _hold(table, {name: (total.get(name), n) for name, n in asked.items()}, sensitivity, query, step, constraints)
    return _result(Calibration, report, table=table, exponent=report.get("exponent"))


def account(
    *releases: Release, times: int | Sequence[int] = 1, delta: Number | None = None, epsilon: Number | None = None
) -> Total:
    """The total epsilon of releases at a total delta, or the total delta at an epsilon: give one of them.

    A release is a file, what was loaded or designed, or a mechanism in words: laplace:epsilon=1, gaussian:sigma=3,
    or dp:epsilon=1,delta=1e-6 for a promise alone; noisewright account --help has them all.
    times says how often each release is made: one number for all, or one for each.
    """
    counts = list(times) if isinstance(times, Iterable) else [times]
    return _result(Total, _account(releases, counts, delta=delta, epsilon=epsilon))


def _account(
    releases: Sequence[Release], times: Sequence[int], profile: Sequence[float] = (), **at: Number | None
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="noisewright-") as folder:
        names = [_name(release, Path(folder) / f"{i}.json") for i, release in enumerate(releases)]
        flags = [f"--times={_joined(times)}", *_flags(**at)]
        flags += [f"--profile={_joined(profile)}"] if profile else []
        return _call("account", *flags, "--", *names)


def compare(
    epsilon: Number | None = None,
    delta: Number | None = None,
    sensitivity: Number | None = None,
    loss: str | Iterable[str] | None = None,
    *,
    table: str | os.PathLike[str] | Table | Design | Calibration | None = None,
    query: Literal["real", "integer"] = "real",
    step: Number | None = None,
    constraints: Constraints | None = None,
    effort: Effort | None = None,
) -> Comparison:
    """Compares a new design, or a table that there is, with the classical mechanisms."""
    with tempfile.TemporaryDirectory(prefix="noisewright-") as folder:
        flags = _problem(epsilon, delta, sensitivity, loss or (), query, step, constraints, effort)
        if table is not None:
            flags.append(f"--table={_name(table, Path(folder) / 'table.json')}")
        elif loss is None:
            flags.append("--loss=l1")
        report = _call("compare", *flags)
    if not isinstance(report.get("mechanisms"), list) or "lower_bound" not in report:
        raise ProgramError("the program printed another Comparison than this package reads", 0)
    mechanisms = tuple(_result(Mechanism, m) for m in report["mechanisms"])
    return Comparison(report["lower_bound"], mechanisms)


def program() -> str:
    """The path of the program; raises ProgramMissingError if there is none."""
    if named := os.environ.get("NOISEWRIGHT"):
        if found := shutil.which(named):
            return found
        raise ProgramMissingError(f"NOISEWRIGHT = {named!r} is not a program that can be run: {INSTALL}")
    for folder in (os.path.dirname(sys.executable), sysconfig.get_path("scripts"), None):
        if found := shutil.which("noisewright", path=folder):
            return found
    raise ProgramMissingError(f"the program noisewright is neither beside {sys.executable} nor on PATH: {INSTALL}")


def _check_version(path: str) -> None:
    """Refuses a program of another release. What is no release is judged by what it prints."""
    info = os.stat(path)
    found, own = _version(path, info.st_mtime_ns, info.st_size), _own_version()
    if found and own and found.split(".")[:2] != own.split(".")[:2]:
        raise ProgramError(
            f"the program {path} is of version {found} and the package of {own}: take both from one version", 0
        )


@functools.cache
def _version(path: str, *_: int) -> str | None:
    """The release that a program says it is of."""
    run = subprocess.run([path, "version", "--json"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    try:
        return _released(json.loads(run.stdout)["version"])
    except (ValueError, KeyError, TypeError):
        return None


def _own_version() -> str | None:
    return _released(__version__)


def _released(version: str) -> str | None:
    found = re.fullmatch(r"v?(\d+\.\d+\.\d+)", version)
    return found[1] if found else None


_T = TypeVar("_T")


def _result(cls: type[_T], report: Mapping[str, Any], **more: Any) -> _T:
    """A dataclass from the fields of a report; what a field has no default for must be there."""
    names = [f.name for f in dataclasses.fields(cls)]  # type: ignore[arg-type]
    values = {name: report[name] for name in names if name in report} | more
    try:
        return cls(**values)
    except TypeError as err:
        raise ProgramError(f"the program printed another {cls.__name__} than this package reads: {err}", 0) from err


def _problem(
    epsilon: Number | None,
    delta: Number | None,
    sensitivity: Number | None,
    loss: str | Iterable[str],
    query: str,
    step: Number | None,
    constraints: Constraints | None,
    effort: Effort | None,
) -> list[str]:
    for name, value, kind in (("constraints", constraints, Constraints), ("effort", effort, Effort)):
        if not isinstance(value, (kind, type(None))):
            raise InvalidError(f"{name} = a {type(value).__name__}, want {kind.__name__}(…)")
    losses = [loss] if isinstance(loss, str) else list(loss)
    flags = [*_flags(epsilon=epsilon, delta=delta, sensitivity=sensitivity, step=step)]
    flags += [f"--loss={name}" for name in losses]
    if query != "real":
        flags.append(f"--query={query}")
    flags += (constraints or Constraints()).flags()
    flags += (effort or Effort()).flags()
    return flags


def _designed(command: str, flags: Sequence[str], path: str | os.PathLike[str] | None) -> tuple[dict[str, Any], Table]:
    """Runs a command that writes a table, and loads it. What is printed of it has to hold."""
    with _output(path) as out:
        run = _run(command, *flags, f"--output={out}")
        report, made = _report(run.stdout), load(out)
    _warned((w for w in run.warnings if not w.startswith("stopped ")), 4)  # that is the status
    if not isinstance(made, Table):
        raise ProgramError(f"{command} wrote no table", 0)
    proved = made.verify()
    for name, side, exact in (
        ("delta_upper", 1, proved.delta_upper),
        ("expected_loss", 1, proved.expected_loss),
        ("lower_bound", -1, proved.lower_bound),
    ):
        value = report.get(name)  # null is beyond all floats
        if value is not None and not (_is_number(value) and side * Fraction(value) >= side * exact):
            raise ProgramError(f"the program printed {name} = {value!r}, which is not true of the table it wrote", 0)
    return report, made


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _hold(
    table: Table,
    promise: Mapping[str, tuple[float | None, Number]],
    sensitivity: Number,
    query: str,
    step: Number | None,
    constraints: Constraints | None,
) -> None:
    """Refuses a table other than the one that was asked for."""
    compared: dict[str, tuple[object, object]] = {name: (x, _float(asked)) for name, (x, asked) in promise.items()}
    compared["sensitivity"] = table.privacy.sensitivity, _float(sensitivity)
    compared["query"] = table.query, query if step is None else "lattice"
    if step is not None:
        compared["step"] = table.step, _float(step)
    compared["constraints"] = table._spec.constraints, (constraints or Constraints()).held()
    for name, (found, wanted) in compared.items():
        if found != wanted:
            raise ProgramError(f"the program wrote a table with {name} = {found}, want {wanted} as was asked for", 0)


def _float(value: Number) -> float:
    """A number as the program rounds it."""
    text = _text(value)
    return float.fromhex(text) if "x" in text.lower() else float(text)


@contextmanager
def _output(path: str | os.PathLike[str] | None) -> Iterator[str]:
    if path is not None:
        yield os.path.abspath(path)
        return
    with tempfile.TemporaryDirectory(prefix="noisewright-") as folder:
        yield str(Path(folder) / "table.json")


def _call(command: str, *arguments: str, data: Iterable[bytes] | None = None) -> dict[str, Any]:
    """Runs a command and reads its report. A search that ended at a limit has one as well."""
    report: dict[str, Any] = _report(_run(command, *arguments, data=data).stdout)
    return report


@dataclasses.dataclass(frozen=True)
class _Run:
    stdout: str
    warnings: tuple[str, ...]


def _run(command: str, *arguments: str, data: Iterable[bytes] | None = None) -> _Run:
    """Runs a command with data in its standard input, and raises its sentences as errors."""
    path = program()
    _check_version(path)
    with subprocess.Popen(
        [path, *command.split(), "--json", *arguments],
        stdin=subprocess.DEVNULL if data is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            _feed(process, data)
            # Names of files may be anything.
            out, err = (raw.decode("utf-8", "replace") for raw in process.communicate())
        except BaseException:
            process.kill()  # before it sees an end of the data: a part of them is no data
            process.wait()
            if process.stdin is not None:
                with suppress(OSError):
                    process.stdin.close()
            raise
    if process.returncode in (0, 4) and out:
        return _Run(out, tuple(_lines(err, "warning: ")))
    message = "\n".join(_lines(err, "error: "))
    message = message or f"noisewright {command} ended with the exit code {process.returncode} and no word"
    if process.returncode == 2 and "no word" not in message:
        raise (OtherDataError if SAME_DATA in message else InvalidError)(message)
    if process.returncode == 3:
        exceeded = re.search("would exceed the total|errors that are wanted take|too small for so many", message)
        raise (ExceededError if exceeded else FalseClaimError)(message)
    raise ProgramError(message, process.returncode)


def _warned(sentences: Iterable[str], stacklevel: int = 3) -> None:
    """Warns the caller of a function of this package."""
    for sentence in sentences:
        warnings.warn(sentence, PrivacyWarning, stacklevel=stacklevel)


def _feed(process: subprocess.Popen[bytes], data: Iterable[bytes] | None) -> None:
    if process.stdin is None or data is None:
        return
    with suppress(BrokenPipeError):  # it has ended, and says why
        for part in data:
            process.stdin.write(part)


def _lines(text: str, label: str) -> Iterator[str]:
    """The sentences of a kind, in the words of this package."""
    for line in text.splitlines():
        if line.startswith(label):
            line = _OURS.sub("", line.removeprefix(label))
            for flag, word in _WORDS:
                line = line.replace(flag, word)
            line = re.sub(r"\bunit = row, want person:(\S+) as", r"person = None, want \1 as", line)
            yield re.sub(r"(?<!\w)--([a-z][a-z-]+)", lambda flag: flag[1].replace("-", "_"), line)


# Files that the user has not named.
_OURS = re.compile(r"^(?:standard input|\S*noisewright-[^/\\]+[/\\](?:queries|schema)\.json): ")

SAME_DATA = "new_data=True"
_WORDS = (
    ("a run without --same-data", f"{SAME_DATA} where they are of the same people"),
    ("--allow-delta", "allow_delta=True"),
    ("want another folder", "want another path, or force=True"),
    ("--query integer", 'query="integer"'),
    ("(see ledger create)", "(see noisewright.Ledger)"),
    ("(see --person)", "(see person)"),
)


def _report(text: str) -> dict[str, Any]:
    try:
        report: dict[str, Any] = json.loads(text)
    except ValueError as err:
        raise ProgramError(f"the program printed no report: {err}", 0) from err
    if not isinstance(report, dict):
        raise ProgramError("the program printed no report, but other JSON", 0)
    if report.get("schema") != SCHEMA:
        raise ProgramError(
            f"the program prints schema {report.get('schema')}, want {SCHEMA}: take both from one version", 0
        )
    return report


def _flags(**values: Number | None) -> Iterator[str]:
    for name, value in values.items():
        if value is not None:
            yield f"--{name.replace('_', '-')}={_text(value)}"


def _text(value: Number) -> str:
    """A number as the program reads it."""
    if isinstance(value, bool) or not isinstance(value, (str, Decimal, numbers.Real)):
        raise InvalidError(f"{value!r} is not a number, want an int, a float, a Decimal or a string")
    if isinstance(value, (str, Decimal)):
        return str(value)
    return str(int(value)) if isinstance(value, numbers.Integral) else repr(float(value))


def _joined(values: Iterable[Number]) -> str:
    return ",".join(_text(value) for value in values)


def _name(release: Release, path: Path) -> str:
    """The name of a release on the command line; what is in memory is written to the path."""
    if isinstance(release, (str, os.PathLike)):
        return os.fspath(release)
    made = release.table if isinstance(release, (Design, Calibration)) else release
    source = getattr(made, "source", None)
    if not isinstance(source, bytes):
        want = "a file, what was loaded or designed, or a mechanism such as laplace:epsilon=1"
        raise InvalidError(f"release = a {type(release).__name__}, want {want}")
    path.write_bytes(source)
    return str(path)
