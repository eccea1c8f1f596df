# SPDX-License-Identifier: Apache-2.0
"""Statistics of frames: the program's answers, and nothing charged where nothing is answered."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import pickle
import random
import subprocess
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from frames import KINDS, frame, needs, releases_of

import noisewright as nw
from noisewright import statistics
from noisewright.errors import ExceededError, InvalidError, OtherDataError, PrivacyWarning

pytestmark = pytest.mark.filterwarnings("ignore:no ledger:noisewright.PrivacyWarning")

DRAW = random.Random(1)
PEOPLE: dict[str, list[Any]] = {
    "id": [i % 200 for i in range(300)],
    "city": [DRAW.choice(["Ulm", "Jena", 'St. "X", Bad']) for _ in range(300)],
    "age": [DRAW.choice([None, *range(18, 90)]) for _ in range(300)],
    "hours": [DRAW.choice([None, DRAW.random() * 60, float(DRAW.randrange(60))]) for _ in range(300)],
}
KEYS = ["Ulm", "Jena", 'St. "X", Bad', "Bonn"]
KEYS_FLAG = '--keys=Ulm,Jena,"St. ""X"", Bad",Bonn'
IDS_FLAG = "--keys=" + ",".join(map(str, range(40)))
PERSON = ["--person=id", "--max-per-person=2"]
OF_HOURS = ["--column=hours", "--lower=0", "--upper=60"]
OF_AGE = ["--column=age", "--lower=0", "--upper=120"]
BY_CITY: dict[str, Any] = {"by": "city", "keys": KEYS}
HOURS: tuple[str, tuple[int, int]] = ("hours", (0, 60))
AGE: tuple[str, tuple[int, int]] = ("age", (0, 120))
PERSONS: dict[str, Any] = {"person": "id", "max_per_person": 2}
REPLACE: dict[str, Any] = {"neighbors": "replace"}

# Statistics, more arguments of release, and the same as flags of the program. Each at epsilon 1 and delta 1e-6 or 0.
QUERIES: list[tuple[statistics.Statistic, dict[str, Any], list[str]]] = [
    (nw.count(), {}, ["count"]),
    (nw.count("age >= 65"), {}, ["count", "--where=age >= 65"]),
    (nw.count('city == "Ulm" && hours < 30'), {}, ["count", '--where=city == "Ulm" && hours < 30']),
    (nw.count(**BY_CITY), {}, ["count", "--by=city", KEYS_FLAG]),
    (nw.count(loss="l2"), {"delta": 1e-6}, ["count", "--loss=l2"]),
    (nw.count(), PERSONS, ["count", *PERSON]),
    (nw.count(), REPLACE, ["count", "--neighbors=replace"]),
    (nw.count(), {"releases": 12, "delta": 1e-6}, ["count", "--releases=12"]),
    (nw.sum(*HOURS), {}, ["sum", *OF_HOURS]),
    (nw.sum(*AGE, where="hours > 10"), {"delta": 1e-6}, ["sum", *OF_AGE, "--where=hours > 10"]),
    (nw.sum(*AGE, missing="middle"), REPLACE, ["sum", *OF_AGE, "--missing=middle", "--neighbors=replace"]),
    (nw.sum(*HOURS, **BY_CITY), {}, ["sum", *OF_HOURS, "--by=city", KEYS_FLAG]),
    (nw.sum("hours", (-0.5, "1e1")), {}, ["sum", "--column=hours", "--lower=-0.5", "--upper=10"]),
    (nw.mean(*HOURS), {}, ["mean", *OF_HOURS]),
    (nw.mean(*AGE), {"delta": 1e-6}, ["mean", *OF_AGE]),
    (nw.mean(*AGE), PERSONS, ["mean", *OF_AGE, *PERSON]),
    (nw.mean(*AGE, missing="middle"), REPLACE, ["mean", *OF_AGE, "--missing=middle", "--neighbors=replace"]),
    (nw.mean("hours", (0, Decimal("59.5"))), {}, ["mean", "--column=hours", "--lower=0", "--upper=59.5"]),
    (nw.histogram("city", KEYS), {}, ["histogram", "--by=city", KEYS_FLAG]),
    (nw.histogram("city", KEYS), PERSONS, ["histogram", "--by=city", KEYS_FLAG, *PERSON]),
    (nw.histogram("id", [0, 1, 5]), {}, ["histogram", "--by=id", "--keys=0,1,5"]),
    (nw.histogram(column="age", edges=[0, 18, 65, 120]), {}, ["histogram", "--column=age", "--edges=0,18,65,120"]),
    (nw.median(*AGE), {}, ["quantile", *OF_AGE, "--probability=0.5"]),
    (
        nw.quantile("hours", "0.9", (0, 60), candidates=61),
        {},
        ["quantile", *OF_HOURS, "--probability=0.9", "--candidates=61"],
    ),
    (nw.median(*AGE, **BY_CITY), PERSONS, ["quantile", *OF_AGE, "--probability=0.5", "--by=city", KEYS_FLAG, *PERSON]),
    (nw.variance(*AGE), {}, ["variance", *OF_AGE]),
    (
        nw.variance(*AGE, **BY_CITY, missing="middle"),
        {**PERSONS, **REPLACE},
        ["variance", *OF_AGE, "--by=city", KEYS_FLAG, "--missing=middle", "--neighbors=replace", *PERSON],
    ),
    (nw.distinct("city"), {}, ["distinct", "--column=city"]),
    (
        nw.distinct("city", where="age > 30", loss="l2"),
        PERSONS,
        ["distinct", "--column=city", "--where=age > 30", "--loss=l2", *PERSON],
    ),
    (nw.top("city", KEYS, 2), {}, ["top", "--by=city", KEYS_FLAG, "--k=2"]),
    (
        nw.top("id", range(40), 3, where="age > 30"),
        {"person": "id"},
        ["top", "--by=id", IDS_FLAG, "--k=3", "--where=age > 30", "--person=id"],
    ),
    (
        nw.best({"old": "age >= 65", "busy": "hours > 30"}),
        REPLACE,
        ["best", "--option=old=age >= 65", "--option=busy=hours > 30", "--neighbors=replace"],
    ),
    (
        nw.best({"old": "age >= 65", "busy": "hours==30"}, 2),
        PERSONS,
        ["best", "--option=old=age >= 65", "--option=busy=hours==30", "--k=2", *PERSON],
    ),
    (nw.mean("hours", "private"), {}, ["mean", "--column=hours", "--bounds=private"]),
    (
        nw.sum("hours", "private", where="age > 30"),
        {"delta": 1e-6, **PERSONS},
        ["sum", "--column=hours", "--bounds=private", "--where=age > 30", *PERSON],
    ),
    (
        nw.mean("hours", "prior:lognormal,3,1", rows=300),
        {},
        ["mean", "--column=hours", "--bounds=prior:lognormal,3,1", "--rows=300"],
    ),
    (
        nw.sum("hours", "prior:lognormal,3,0.5", rows=100),
        REPLACE,
        ["sum", "--column=hours", "--bounds=prior:lognormal,3,0.5", "--rows=100", "--neighbors=replace"],
    ),
    (nw.histogram("city", "private"), {"delta": 1e-4}, ["histogram", "--by=city", "--private-keys"]),
    (
        nw.count(by="city", keys="private"),
        {"delta": 1e-4, **PERSONS},
        ["count", "--by=city", "--private-keys", *PERSON],
    ),
]


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@pytest.mark.parametrize("i", range(len(QUERIES)))
def test_as_the_program(i: int, seeded: str, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases of every kind over five kinds of frames, for the same words of randomness."""
    statistic, more, flags = QUERIES[i]
    data = frame(KINDS[i % 5], PEOPLE, tmp_path)
    (pandas,) = needs("pandas")
    pandas.DataFrame(PEOPLE).to_csv(tmp_path / "people.csv", index=False)
    monkeypatch.setenv("NOISEWRIGHT_TEST_SEED", str(i))
    monkeypatch.setenv("NOISEWRIGHT", seeded)
    delta = more.get("delta", 0)
    common = [f"--data={tmp_path / 'people.csv'}", "--epsilon=1", f"--delta={delta}", "--json"]
    common += [f"--tables={tables}"] if statistic.kind not in ("quantile", *statistics.CHOICES) else []
    for _ in range(2):  # the first one keeps new tables, and draws the names of files
        run = subprocess.run([seeded, "release", *flags, *common], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
    wanted = json.loads(run.stdout)
    (found,) = nw.release(data, statistic, tables=tables, **{"epsilon": 1, "delta": 0, **more})
    texts = [None if e.key is None else str(e.key) for e in found]
    assert [
        (k, e.value, e.lower, e.upper, e.rank_error, e.count_error, e.clipped, e.bias)
        for k, e in zip(texts, found, strict=True)
    ] == [
        (
            *(e.get("key"), e["value"], e["lower"], e["upper"], e.get("rank_error"), e.get("count_error")),
            (e["clipped"]["lower"], e["clipped"]["upper"]) if "clipped" in e else None,
            e.get("clipped", {}).get("bias_by_prior"),
        )
        for e in wanted["answers"]
    ]
    assert found.mechanism == wanted["mechanism"] and list(found.tables) == wanted["tables"]
    assert dict(found.query) == wanted["query"] and list(found.not_protected) != []


def test_seeds_matter(seeded: str, tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOISEWRIGHT", seeded)
    values = set()
    for seed in range(8):
        monkeypatch.setenv("NOISEWRIGHT_TEST_SEED", str(seed))
        values.add(nw.release(PEOPLE, nw.sum(*HOURS), epsilon=1, tables=tables)[0].value)
    assert len(values) == 8


def test_a_file_of_csv(called: str, tmp_path: Path) -> None:
    """The program reads it, and knows it as the frame's text."""
    needs("pandas")
    path = tmp_path / "people.csv"
    path.write_bytes(b"".join(nw._rows.csv(PEOPLE)))
    ledger = nw.Ledger.create(tmp_path / "l", 1, 0)
    first = nw.release(path, nw.count(), ledger=ledger, epsilon=0.5)
    again = nw.release(frame("pandas", PEOPLE, tmp_path), nw.count(), ledger=str(tmp_path / "l"), epsilon=0.5)
    assert again[0].charge is not None and again[0].charge.replayed and first[0].value == again[0].value
    (tmp_path / "semi.csv").write_text("a;b\n1;2\n")
    assert len(nw.release(tmp_path / "semi.csv", nw.count("a == 1"), epsilon=1, delimiter=";", one_line=True)) == 1
    with pytest.raises(InvalidError, match="delimiter or one_line is given"):
        nw.release(PEOPLE, nw.count(), epsilon=1, delimiter=";")


def test_ledgers_of_other_files(called: str, tmp_path: Path) -> None:
    """What a row is, is the ledger's to say: the text of a frame is not read in another way."""
    others: list[tuple[dict[str, Any], str]] = [
        ({"delimiter": ";"}, "delimiter = ',', want ';' as in the ledger"),
        ({"one_line": True}, "one-line = false, want true as in the ledger"),
    ]
    for terms, match in others:
        path = tmp_path / next(iter(terms))
        ledger = nw.Ledger.create(path, 1, 0, **terms)
        with pytest.raises(InvalidError, match=match):
            nw.release(PEOPLE, nw.count(), ledger=ledger, epsilon=0.5)
        with pytest.raises(InvalidError, match=match):
            nw.learn(PEOPLE, nw.Schema("city", ["Ulm", "Jena"], {"id": (0, 9)}), epsilon=1, delta=0, ledger=ledger)
        assert releases_of(called, path) == 0
    (tmp_path / "semi.csv").write_text("a;b\n1;2\n")
    nw.release(tmp_path / "semi.csv", nw.count("a == 1"), epsilon=1, ledger=tmp_path / "delimiter")


def test_all_or_none(called: str, tmp_path: Path) -> None:
    ledger = nw.Ledger.create(tmp_path / "l", 1, 0)
    with pytest.raises(ExceededError, match="would exceed the total of epsilon 1, delta 0"):
        nw.release(PEOPLE, nw.count(epsilon=0.6), nw.mean(*HOURS, epsilon=0.6), ledger=ledger)
    with pytest.raises(
        InvalidError, match=r'query 2: column: no column "pay", want one of "id", "city", "age", "hours"'
    ):
        nw.release(PEOPLE, nw.count(), nw.mean("pay", (0, 1)), ledger=ledger, epsilon=0.1)
    assert releases_of(called, tmp_path / "l") == 0
    made = nw.release(PEOPLE, nw.count(), nw.mean(*HOURS), ledger=ledger, epsilon=1)
    assert [a.epsilon for a in made] == [0.5, 0.5] and releases_of(called, tmp_path / "l") == 2
    # What the ledger has costs nothing, also beside what does not fit.
    again = nw.release(PEOPLE, nw.count(), nw.mean(*HOURS), ledger=ledger, epsilon=1)
    assert [a.estimates for a in again] == [a.estimates for a in made]
    assert all(a.charge is not None and a.charge.replayed for a in again)
    with pytest.raises(ExceededError):
        nw.release(PEOPLE, nw.count(epsilon=0.5), nw.count("age > 1", epsilon=0.5), ledger=ledger)
    assert releases_of(called, tmp_path / "l") == 2


def test_changed_frames(called: str, tmp_path: Path) -> None:
    """Data that the ledger does not know are refused, by release and learn, unless that is meant."""
    ledger = nw.Ledger.create(tmp_path / "l", 3, 0)
    nw.release(PEOPLE, nw.count(), ledger=ledger, epsilon=1)
    changed = {**PEOPLE, "age": [*PEOPLE["age"][:-1], 17]}
    schema = nw.Schema("city", ["Ulm", "Jena"], {"id": (0, 200)})
    with pytest.raises(OtherDataError, match=r"data = other bytes than in all 1 releases of .*, or new_data=True"):
        nw.release(changed, nw.count(), ledger=ledger, epsilon=1)
    with pytest.raises(OtherDataError, match="new_data=True"):
        nw.learn(changed, schema, epsilon=1, delta=0, ledger=ledger, noise="laplace")
    assert releases_of(called, tmp_path / "l") == 1
    nw.release(changed, nw.count(), ledger=ledger, epsilon=1, new_data=True)
    nw.release(changed, nw.count("age > 20"), ledger=ledger, epsilon=0.5)
    assert releases_of(called, tmp_path / "l") == 3


def test_a_frame_that_breaks_in_the_middle(called: str, tmp_path: Path) -> None:
    """The program has read a part then. A part of the data is no data: it is killed before it sees an end."""
    (pandas,) = needs("pandas")
    many = pandas.DataFrame({"age": [30] * 200_000, "what": [*["a"] * 199_999, {1}]})
    ledger = nw.Ledger.create(tmp_path / "l", 3, 0)
    with pytest.raises(InvalidError, match="column 'what': a value of type set, want text, numbers"):
        nw.release(many, nw.count(), ledger=ledger, epsilon=1)
    assert releases_of(called, tmp_path / "l") == 0


WRONG: list[tuple[dict[str, Any], tuple[Any, ...], str]] = [
    ({"epsilon": 1}, (), "statistics = none"),
    ({"epsilon": 1}, ("count",), "statistic = a str, want count"),
    ({}, (nw.count(),), "epsilon is missing, want that of the call"),
    ({"epsilon": 1}, (nw.count(epsilon=1),), "epsilon of the call and of a statistic, want one of them"),
    ({"epsilon": "much"}, (nw.count(),), "epsilon = 'much', want a finite number"),
    ({"epsilon": float("nan")}, (nw.count(),), "epsilon = nan, want a finite number"),
    ({"epsilon": -1}, (nw.count(),), "epsilon = -1, want"),
    ({"epsilon": 1}, (nw.count(weight=0),), "weight = 0, want a number above 0"),
    ({}, (nw.count(epsilon=1, weight=2),), "weight or error of a statistic, want epsilon of the call"),
    ({}, (nw.count(epsilon=1, error="5@0.95"),), "weight or error of a statistic, want epsilon of the call"),
    ({"epsilon": 1}, (nw.count(error="5"),), "error of statistic 1 = 5, want an error and its probability"),
    ({"epsilon": 1}, (nw.count(error=5),), r"error = 5, want a text such as '5@0.95'"),  # type: ignore[arg-type]
    ({"epsilon": 1}, (nw.count(error="5@0.95", weight=2),), "either a weight or an error"),
    ({"epsilon": 1}, (nw.count(), nw.top("city", KEYS, 9)), "query 2: k = 9, want an integer from 1 to 4"),
    ({"epsilon": 1}, (nw.variance("age", "private"),), "bounds = private, want none but for a sum or a mean"),  # type: ignore[arg-type]
    ({"epsilon": 1}, (nw.mean("age", "privat"),), "bounds = privat, want private or prior:lognormal,MU,SIGMA"),
    ({"epsilon": 1}, (nw.mean("age", "prior:lognormal,3,1"),), "rows = 0, want from 1 to"),
    ({"epsilon": 1}, (nw.histogram("city", "private"),), "delta = 0, want above 0"),
    ({"epsilon": 1, "delta": 1e-6}, (nw.count(keys="private"),), "by = none, want the column of the keys"),
    ({"epsilon": 1}, (nw.best({"a": "agee > 3"}),), "unknown name agee"),
    ({"epsilon": 1}, (nw.count("agee > 3"),), "unknown name agee"),
    ({"epsilon": 1}, (nw.mean("age", (3, 1)),), "bounds = 3, 1, want lower below upper"),
    ({"epsilon": 1}, (nw.count(by="city"),), "keys = none, want the keys"),
    ({"epsilon": 1, "person": "id"}, (nw.count(),), "max_per_person|max-per-person"),
    ({"epsilon": 1, "person": "name", "max_per_person": 1}, (nw.count(),), 'no column "name"'),
    ({"epsilon": 1, "delta": 0.2}, (nw.count(),), "delta = 0.2, want less than 0.1, or allow_delta=True"),
    ({"epsilon": 1, "ledger": "none.ledger"}, (nw.count(),), r"ledger = 'none.ledger', want a file that Ledger.create"),
    ({"epsilon": 1, "neighbors": "near"}, (nw.count(),), "neighbors = "),
]


@pytest.mark.parametrize(("arguments", "asked", "match"), WRONG)
def test_bad_input(called: str, arguments: dict[str, Any], asked: tuple[Any, ...], match: str) -> None:
    with pytest.raises(InvalidError, match=match) as err:
        nw.release(PEOPLE, *asked, **arguments)
    assert "\n" not in str(err.value) and "--" not in str(err.value)


def test_bad_statistics() -> None:
    wrong: list[tuple[Any, tuple[Any, ...], str]] = [
        (nw.mean, ("age", 3), "bounds = 3, want two numbers"),
        (nw.mean, ("age", (0, float("inf"))), "bounds = inf, want a finite number"),
        (nw.histogram, ("city", "Ulm"), "keys = 'Ulm', want a list of keys, or private"),
        (nw.top, ("city", "private"), "keys = 'private', want a list of keys$"),
        (nw.top, ("city", ["Ulm"], 0), "k = 0, want an integer of at least 1"),
        (nw.best, (["age > 3"],), "options = a list, want a dict of names and conditions"),
        (nw.best, ({"old": 65},), "options = a dict, want a dict of names and conditions, which are texts"),
        (nw.distinct, (3,), "column = 3, want the name of a column"),
        (nw.histogram, ("city", [{1}]), "keys: a value of type set"),
    ]
    for make, arguments, match in wrong:
        with pytest.raises(InvalidError, match=match):
            make(*arguments)


def test_ledgers(called: str, tmp_path: Path) -> None:
    persons = nw.Ledger.create(tmp_path / "p", Decimal("2.5"), "1e-6", person="id", adaptive=True)
    assert dataclasses.astuple(persons.terms) == (2.5, 1e-6, "add-remove", "person:id", True, ",", False)
    with pytest.raises(InvalidError, match=r"person = None, want id as in the ledger"):
        nw.release(PEOPLE, nw.count(), ledger=persons, epsilon=1)
    with pytest.raises(InvalidError, match="neighbors = "):
        nw.release(PEOPLE, nw.count(), ledger=persons, epsilon=1, **PERSONS, **REPLACE)
    nw.release(PEOPLE, nw.count("age > 3"), ledger=persons, epsilon=1, **PERSONS)
    (record,) = persons.show()
    assert record.summary == "count where age > 3" and record.answer is not None
    assert record.answer["kind"] == "count" and record.costs[0]["epsilon"] == 1
    assert persons.left() == 1.5 and persons.times(0.5) == 3 and persons.total().releases == 1
    laplace = nw.design(1, 0, 1, query="integer")
    assert persons.times(table=laplace) == 1
    with pytest.raises(InvalidError, match="epsilon or table, want one of them"):
        persons.times()
    with pytest.raises(InvalidError, match="exists, want the name of a new file"):
        nw.Ledger.create(tmp_path / "p", 1, 0)
    (tmp_path / "text").write_text("no ledger")
    with pytest.raises(InvalidError, match="no ledger, want a file made by ledger create"):
        nw.release(PEOPLE, nw.count(), ledger=tmp_path / "text", epsilon=1)
    assert os.fspath(persons) == str(tmp_path / "p") and "epsilon 2.5" in persons._repr_html_()


def test_results(called: str) -> None:
    pandas, polars = needs("pandas", "polars")
    keys = [False, 3, "<b>"]
    made = nw.release({"k": [False, 3, "<b>"], "age": [1, 2, 3]}, nw.histogram("k", keys), nw.median(*AGE), epsilon=9)
    counts, median = made
    assert list(counts.to_dict()) == keys
    with pytest.raises(InvalidError, match="histogram by k has 3 values, want one"):
        float(counts)
    assert float(median) == median.value and median[0].rank_error is not None
    with pytest.raises(dataclasses.FrozenInstanceError):
        median.epsilon = 3  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(made)).rows() == made.rows()
    with pytest.raises(TypeError):
        median.query["epsilon"] = 3  # type: ignore[index]
    as_pandas, as_polars = made.to_pandas(), made.to_polars()
    assert isinstance(as_pandas, pandas.DataFrame) and isinstance(as_polars, polars.DataFrame)
    assert as_pandas["key"].tolist()[:3] == keys and as_polars["key"].to_list() == ["0", "3", "<b>", None]
    assert as_pandas["value"].tolist() == as_polars["value"].to_list() == [*counts.to_dict().values(), median.value]
    assert "&lt;b&gt;" in made._repr_html_() and "<b>" not in made._repr_html_()
    assert repr(made).startswith("histogram by k: False: ")


@pytest.mark.filterwarnings("ignore")
def test_plot(called: str) -> None:
    (matplotlib,) = needs("matplotlib")
    matplotlib.use("agg")
    made = nw.release(PEOPLE, nw.histogram("city", KEYS), nw.median(*AGE), epsilon=1)
    axes = made.plot()
    assert [t.get_text() for t in axes.get_yticklabels()][-1] == "histogram by city: Ulm"
    assert len(axes.lines) == 2 * len(KEYS) + 1  # the quantile has no interval


def test_warnings(called: str) -> None:
    with pytest.warns(PrivacyWarning, match=r"no ledger: nothing adds up .* \(see noisewright.Ledger\)") as found:
        nw.release(PEOPLE, nw.count(), epsilon=1)
    assert found[0].filename == __file__
    with pytest.warns(PrivacyWarning, match="epsilon = 11 promises little"):
        nw.release(PEOPLE, nw.count(epsilon=5), nw.count("age > 1", epsilon=6))


def test_parts_of_a_total(called: str, tmp_path: Path) -> None:
    """Errors that are wanted, weights, and the sums, as the program divides them."""
    asked = [
        nw.count("age >= 40", error="30@0.95"),
        nw.mean(*AGE, weight=Decimal("0.5")),
        nw.top("city", KEYS),
        nw.distinct("id", error="15@0.95"),
    ]
    ledger = nw.Ledger.create(tmp_path / "l", 1, 1e-6)
    made = nw.release(PEOPLE, *asked, ledger=ledger, epsilon=1, delta=1e-6, tables=tmp_path / "t")
    count, mean, top, distinct = made
    assert count[0].upper - count.value <= 30 and count.epsilon < 0.15 and distinct[0].upper - distinct.value <= 15
    assert mean.epsilon == top.epsilon / 2 and top.delta == 0
    assert count.delta == mean.delta == distinct.delta == pytest.approx(1e-6 / 3)
    assert Fraction(0.999) < sum(Fraction(a.epsilon) for a in made) <= 1
    assert ledger.left() < 1e-3
    with pytest.raises(ExceededError, match=r"take epsilon .* together, and the total is 0.1: .* is missing"):
        nw.release(PEOPLE, *asked, epsilon=0.1)
    with pytest.raises(InvalidError, match=r"error = 5@0.95, want a weight in its place: of a mean"):
        nw.release(PEOPLE, dataclasses.replace(nw.mean(*AGE), error="5@0.95"), epsilon=1, tables=tmp_path / "t")


def test_many_parts(called: str, tmp_path: Path) -> None:
    """Of dozens, parts are larger than those of the sum, and fit into a ledger together."""
    ledger = nw.Ledger.create(tmp_path / "l", 1, 1e-6)
    asked = [nw.best({"young": f"age < {n}", "old": f"age >= {n}"}) for n in range(20, 80)]
    made = nw.release(PEOPLE, *asked, ledger=ledger, epsilon=1, delta=1e-6)
    assert len(made) == 60 and all(a.epsilon > 1.2 / 60 for a in made) and len(ledger.show()) == 60


def test_choices(called: str) -> None:
    """Names as they were given, in their order, and no more of the count than what it may lack."""
    data = {"page": [7] * 900 + [None] * 500 + ["a"] * 100}
    (top,) = nw.release(data, nw.top("page", ["a", None, 7, True], 2), epsilon=5)
    assert list(top.to_dict()) == [7, None] and top.rows()[0]["lower"] is None
    assert repr(top).startswith("top by page: 7: place 1 (less than ")
    (all_of_them,) = nw.release(data, nw.top("page", ["a", None, 7], 3), epsilon=5)
    assert list(all_of_them.to_dict()) == [7, None, "a"]


def test_bounds_and_keys_that_are_found(called: str) -> None:
    data = {"pay": [float(i % 50) for i in range(4000)], "city": ["Ulm"] * 3999 + ["Hof"]}
    found, prior = nw.release(
        data, nw.mean("pay", "private"), nw.sum("pay", "prior:lognormal,3,0.5", rows=4000), epsilon=4
    )
    assert found[0].clipped == (0, 64) and found[0].bias is None and "clipped to 0 to 64" in repr(found)
    assert prior[0].bias is not None and prior[0].bias < 0 and "if the prior is right" in repr(prior)
    assert found.rows()[0]["clipped_upper"] == 64
    (cities,) = nw.release(data, nw.histogram("city", "private"), epsilon=1, delta=1e-6)
    assert list(cities.to_dict()) == ["Ulm"]
    (none,) = nw.release({"city": ["Hof"]}, nw.histogram("city", "private"), epsilon=1, delta=1e-6)
    assert len(none) == 0 and repr(none) == "histogram by city: no keys"


def test_values(called: str, tmp_path: Path) -> None:
    """A number of one's own: drawn anew and charged at every call, with integers where asked for."""
    ledger = nw.Ledger.create(tmp_path / "l", 1, 1e-6)
    asked: dict[str, Any] = {
        "epsilon": 0.25,
        "delta": 1e-8,
        "query": "integer",
        "name": "patients",
        "tables": tmp_path / "t",
    }
    answers = [nw.release_value(-(10**6), 2, ledger=ledger, **asked) for _ in range(4)]
    values = [a.value for a in answers]
    assert len(set(values)) > 1 and all(v == int(v) and abs(v + 10**6) < 1000 for v in values)
    assert [a.charge is not None and a.charge.replayed for a in answers] == [False] * 4
    assert len(ledger.show()) == 4 and answers[0].name == "value patients"
    assert answers[0].interval[0] <= values[0] <= answers[0].interval[1]
    with pytest.raises(nw.ExceededError):
        nw.release_value(1, 2, ledger=ledger, **asked)
    wide, narrow = (nw.release_value("0.5", s, epsilon=1, tables=tmp_path / "t").mean_error for s in (10, 1))
    assert wide is not None and narrow is not None and 9.9 < wide / narrow < 10.1


def test_exact_numbers_are_no_arguments(called: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    start = subprocess.Popen

    def watched(command: list[str], **more: Any) -> Any:
        seen.append(command)
        return start(command, **more)

    monkeypatch.setattr(subprocess, "Popen", watched)
    answer = nw.release_value("-7654321.5", 2, epsilon=1, tables=tmp_path / "t")
    people = frame("pandas", {"hours": [7654321.5, 7654321.25]}, tmp_path)
    nw.release(people, nw.sum("hours", (0, 10**7)), nw.mean("hours", (0, 10**7)), epsilon=1, tables=tmp_path / "t")
    assert len(seen) >= 2 and abs(answer.value + 7654321.5) < 1000
    assert not any("7654321" in word for command in seen for word in command)


@pytest.mark.parametrize(
    ("x", "sensitivity", "more", "match"),
    [
        (math.nan, 1, {}, "not a decimal number"),
        ("many", 1, {}, "not a decimal number"),
        (1, 0, {}, r"sensitivity = 0, want a number above 0$"),
        (1, 1, {"epsilon": -1}, "epsilon"),
        (1, 1, {"ledger": "nowhere"}, "Ledger.create"),
        (1, 1, {"unit": "house"}, "unit = house"),
        (1.5, 1, {"query": "integer"}, 'query="integer"'),
    ],
)
def test_values_refused(x: Any, sensitivity: Any, more: Any, match: str, called: str) -> None:
    with pytest.raises(nw.InvalidError, match=match):
        nw.release_value(x, sensitivity, **{"epsilon": 1, **more})


def test_truth_values_are_shares(called: str, tmp_path: Path) -> None:
    for kind in KINDS:
        data = frame(kind, {"here": [True] * 300 + [False] * 100}, tmp_path)
        share, hours = nw.release(data, nw.mean("here", (0, 1)), nw.sum("here", (0, 1)), epsilon=9)
        assert 0.7 < share.value < 0.8 and 290 < hours.value < 310


@pytest.mark.parametrize(
    ("ask", "match"),
    [
        (lambda: nw.count(where=[True, False]), "^where = a list, want a text"),  # type: ignore[arg-type]
        (lambda: nw.median("age", (0, 1), candidates=0.5), "^candidates = 0.5, want an integer"),
        (lambda: nw.release(PEOPLE, nw.count(), epsilon=1, releases=0), "^releases = 0, want an integer"),
        (lambda: nw.release(PEOPLE, nw.count(), epsilon=1, person="id"), "^max_per_person = None, want"),
        (lambda: nw.release(PEOPLE, nw.count(), epsilon=1, ledger=True), "^ledger = True, want a Ledger"),  # type: ignore[arg-type]
        (lambda: nw.Schema("y", ["no", "yes"], {"age": [0, 100]}).encode(), r"want \(0, 100\) for bounds"),
    ],
)
def test_words_of_python(ask: Any, match: str, called: str) -> None:
    with pytest.raises(InvalidError, match=match):
        ask()


def test_short_texts(called: str) -> None:
    made = nw.release(PEOPLE, nw.count(), nw.histogram("city", KEYS), epsilon=1)
    assert repr(made) == "\n".join(map(repr, made)) and repr(made[0]).startswith("count: ")
    assert made[0].to_pandas()["value"].tolist() == [made[0].value]
