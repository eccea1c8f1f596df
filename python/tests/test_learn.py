# SPDX-License-Identifier: Apache-2.0
"""Private classifiers: the program's models and predictions, and estimators of scikit-learn."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frames import KINDS, frame, needs, releases_of

import noisewright as nw
from noisewright.errors import FormatError, InvalidError

pytestmark = pytest.mark.filterwarnings("ignore::noisewright.PrivacyWarning")

SCHEMA = nw.Schema("buys", ["no", "yes"], {"age": (18, 100), "hours": (0, 60.5), "city": ["Ulm", "Jena"]})


def people(n: int = 500) -> dict[str, list[Any]]:
    random = np.random.default_rng(1)
    age, hours = 18 + random.integers(0, 82, n), np.round(60 * random.random(n), 1)
    city = np.where(random.random(n) < 0.3, "Ulm", "Jena")
    z = (age - 45) / 10 - (hours - 30) / 20 + (city == "Ulm")
    buys = np.where(random.random(n) < 1 / (1 + np.exp(-z)), "yes", "no")
    return {"age": age.tolist(), "hours": hours.tolist(), "city": city.tolist(), "buys": buys.tolist()}


@pytest.mark.parametrize(("kind", "i"), [("nb", 0), ("nb", 1), ("nb", 3), ("pcd", 2), ("pcd", 4)])
def test_as_the_program(kind: Any, i: int, seeded: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model of the same words of randomness is the same file, and predicts the same."""
    monkeypatch.setenv("NOISEWRIGHT", seeded)
    monkeypatch.setenv("NOISEWRIGHT_TEST_SEED", f"learn {i}")
    records = people()
    (tmp_path / "people.csv").write_bytes(b"".join(nw._rows.csv(records)))
    (tmp_path / "schema.json").write_text(SCHEMA.encode())
    budget = ["--epsilon=1", "--delta=1e-6", "--noise=gaussian"]
    program = [seeded, "learn", kind, "--data=people.csv", "--schema=schema.json", *budget, "-o", "model.json"]
    subprocess.run(program, cwd=tmp_path, check=True, capture_output=True)
    model = nw.learn(frame(KINDS[i], records, tmp_path), SCHEMA, kind, epsilon=1, delta=1e-6, noise="gaussian")
    assert model.source == (tmp_path / "model.json").read_bytes()
    assert model.guarantee is not None and 0.9 < model.guarantee.epsilon <= 1
    predict = [seeded, "learn", "predict", "--model=model.json", "--data=people.csv", "-o", "-"]
    told = subprocess.run(predict, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.split()[1:]
    assert model.predict(records).tolist() == told
    shares = model.predict_proba(frame(KINDS[i], records, tmp_path))
    assert np.allclose(shares.sum(axis=1), 1) and ((shares[:, 1] > 0.5) == (np.array(told) == "yes")).all()
    model.save(tmp_path / "again.json")
    assert nw.Model.load(tmp_path / "again.json").predict(records).tolist() == told


def test_ledgers(called: str, tmp_path: Path) -> None:
    ledger = nw.Ledger.create(tmp_path / "l", 1, 1e-6)
    options: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "noise": "gaussian"}
    first = nw.learn(people(), SCHEMA, ledger=ledger, **options)
    again = nw.learn(people(), SCHEMA, ledger=ledger, **options)
    assert first.source == again.source and again.charge is not None and again.charge.replayed
    with pytest.raises(nw.ExceededError):
        nw.learn(people(), SCHEMA, "pcd", ledger=ledger, **options)
    assert releases_of(called, tmp_path / "l") == 1


def test_bad_input(called: str) -> None:
    records = people(20)
    for schema, match in (
        (nw.Schema("buy", ["no", "yes"], {"age": (0, 1)}), 'no column "buy"'),
        (nw.Schema("buys", ["no"], {"age": (0, 1)}), "classes = 1, want from 2"),
        (nw.Schema("buys", ["no", "yes"], {"age": (1, 0)}), "want lower below upper"),
        (nw.Schema("buys", ["no", "yes"], {"age": (1, 2, 3)}), r"want \(lower, upper\), or a list of categories"),
    ):
        with pytest.raises(InvalidError, match=match):
            nw.learn(records, schema, epsilon=1, delta=0, noise="laplace")
    with pytest.raises(InvalidError, match="kind = 'svm', want nb or pcd"):
        nw.learn(records, SCHEMA, "svm", epsilon=1, delta=0)  # type: ignore[arg-type]
    model = nw.learn(records, SCHEMA, epsilon=1, delta=0, noise="laplace")
    for change, match in (
        ({"city": ["Bonn"] * 20}, "column 'city': a value is no category of the schema"),
        ({"age": [None] * 20}, r"column 'age': a value is no number, want one from 18.0 to 100.0"),
    ):
        with pytest.raises(InvalidError, match=match):
            model.predict({**records, **change})
    with pytest.raises(InvalidError, match="column 'age' is there 0 times, want it once"):
        model.predict({"city": ["Ulm"]})
    with pytest.raises(FormatError):
        nw.Model(b"{}")
    with pytest.raises(dataclasses.FrozenInstanceError):
        SCHEMA.target = "x"  # type: ignore[misc]


def test_labels_of_any_type(called: str) -> None:
    records = people()
    records["buys"] = [label == "yes" for label in records["buys"]]
    schema = nw.Schema("buys", [False, True], {"age": (18, 100), "city": ["Ulm", "Jena"]})
    model = nw.learn(records, schema, epsilon=5, delta=0, noise="laplace")
    assert model.predict(records).dtype == bool
    assert (model.predict(records) == np.array(records["buys"])).mean() > 0.7


# What check_estimator asks that does not hold of private learning, and why.
EXPECTED = {
    "check_classifiers_train": "wants a good fit of few records",
    "check_classifier_data_not_an_array": "fits twice, with fresh noise",
    "check_dtype_object": "wants other words for objects that have no text",
    "check_fit_idempotent": "fits twice, with fresh noise",
    "check_supervised_y_2d": "fits twice, with fresh noise",
}


@pytest.mark.parametrize("name", ["NoisewrightNB", "NoisewrightLogistic"])
@pytest.mark.filterwarnings("ignore")
def test_check_estimator(name: str, called: str) -> None:
    needs("sklearn")
    from sklearn.utils.estimator_checks import check_estimator

    import noisewright.sklearn as estimators

    fewer = {"rounds": 10} if name == "NoisewrightLogistic" else {}
    made = getattr(estimators, name)(epsilon=5, noise="gaussian", public_data=True, **fewer)
    checks = check_estimator(made, expected_failed_checks=EXPECTED, on_fail=None)
    failed = {c["check_name"]: repr(c["exception"]) for c in checks if c["status"] == "failed"}
    assert not failed and len(checks) > 30


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_estimators(called: str, tmp_path: Path) -> None:
    needs("sklearn")
    pandas = needs("pandas")[0]
    from sklearn.base import clone
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    from noisewright.sklearn import NoisewrightLogistic, NoisewrightNB

    records = pandas.DataFrame(people(2000))
    X, y = records[["age", "hours", "city"]], records["buys"]
    ledger = nw.Ledger.create(tmp_path / "l", 10, 1e-6)
    bounds, categories = {"age": (18, 100), "hours": (0, 60)}, {"city": ["Ulm", "Jena"]}
    for kind in (NoisewrightNB, NoisewrightLogistic):
        made = kind(
            3, 1e-7, bounds=bounds, categories=categories, classes=["yes", "no"], ledger=ledger, noise="gaussian"
        )
        fitted = clone(made).fit(X, y)
        assert fitted.score(X, y) > 0.7 and fitted.classes_.tolist() == ["no", "yes"]
        assert not hasattr(made, "model_") and fitted.model_.guarantee.epsilon <= 3
        assert (fitted.predict(X) == fitted.classes_[fitted.predict_proba(X).argmax(axis=1)]).all()
    assert releases_of(called, tmp_path / "l") == 2
    pipeline = make_pipeline(
        FunctionTransformer(lambda X: X[["age", "hours"]]),
        NoisewrightNB(5, 0, bounds=[(18, 100), (0, 60)], classes=["no", "yes"], noise="laplace"),
    )
    assert pipeline.fit(X, y).score(X, y) > 0.6
    for arguments, match in (
        (
            {"classes": ["no", "yes"]},
            "bounds of 'age' = None, want bounds or categories: give them, or say public_data=True",
        ),
        ({"bounds": (0, 100)}, "classes = None, want the classes that there may be: give them"),
        ({"bounds": [(0, 1)], "classes": ["no", "yes"]}, "bounds = 1 pairs, want one for each of 3 features"),
    ):
        with pytest.raises(InvalidError, match=match):
            NoisewrightNB(**arguments).fit(X, y)
