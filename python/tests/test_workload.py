# SPDX-License-Identifier: Apache-2.0
"""Plans of frames: the program's answers, and series that are charged once."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import file
from test_plan import loaded

import noisewright as nw

ROWS: dict[str, list[Any]] = {
    "month": [1 + i % 7 for i in range(90)],
    "who": [i // 2 for i in range(90)],
    "size": [i % 25 for i in range(90)],
}


def test_release_as_the_program(seeded: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same answers as the program's for the same words of randomness."""
    monkeypatch.setenv("NOISEWRIGHT", seeded)
    monkeypatch.setenv("NOISEWRIGHT_TEST_SEED", "5")
    data = tmp_path / "rows.csv"
    data.write_text("month,who,size\n" + "\n".join(",".join(map(str, row)) for row in zip(*ROWS.values(), strict=True)))
    path = file("plan-levels")
    for more, flags in (
        ({"keys": {"month": range(1, 8)}}, ["--by=month", "--keys=1,2,3,4,5,6,7"]),
        (
            {"edges": {"size": [0, 2, 4, 8, 12, 16, 20, 24]}, "level": 0.5},
            ["--by=size", "--edges=0,2,4,8,12,16,20,24", "--level=0.5"],
        ),
        (
            {"keys": {"month": range(1, 8)}, "where": "size > 3", "non_negative": True},
            ["--by=month", "--keys=1,2,3,4,5,6,7", "--where=size > 3", "--non-negative"],
        ),
    ):
        command = [seeded, "release", "workload", f"--plan={path}", f"--data={data}", "--json", *flags]
        run = subprocess.run(command, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        wanted = json.loads(run.stdout)
        with pytest.warns(nw.PrivacyWarning, match="no ledger"):
            found = nw.release_plan(ROWS, path, **more)
        assert found.measured == tuple(wanted["measured"]) and found.plan_hash == wanted["plan"]
        assert [r["value"] for r in found.rows()] == [a["value"] for a in wanted["answers"]]
        assert list(found.answers.lower_of_all) == [a["lower_of_all"] for a in wanted["answers"]]
        assert next(iter(found.rows()[0])) == wanted["columns"][0] and len(found) == 28
        if "non_negative" not in more:  # what is measured tells all else
            again = loaded("plan-levels").answers(np.array(found.measured), wanted["level"])
            assert np.allclose(again.values, found.answers.values, rtol=1e-12, atol=1e-9)
            assert np.allclose(again.upper, found.answers.upper, rtol=0.01)


def test_series(called: str, tmp_path: Path) -> None:
    """Charged once for all periods; each is answered once, whatever rows arrive later, as the program answers it."""
    path, months = tmp_path / "series.json", {"month": ["jan", "feb", "mar"]}
    design = [
        called,
        "plan",
        "design",
        "--workload=prefix:3",
        "--series",
        "--epsilon=1",
        "--delta=0",
        f"--output={path}",
    ]
    subprocess.run(design, check=True, capture_output=True)
    ledger = nw.Ledger.create(tmp_path / "a.ledger", epsilon=1, delta=0)
    rows = {"month": ["jan"] * 300}
    jan = nw.release_series(rows, path, "jan", months, ledger=ledger)
    assert jan.period == "jan" and len(jan) == 1 and abs(jan.answers.values[0] - 300) < 60 and ledger.left() == 0
    late = {"month": ["jan"] * 900 + ["feb"] * 200}
    feb = nw.release_series(late, path, "feb", months, ledger=ledger, level=0.5)
    assert (
        feb.measured[0] == jan.measured[0]
        and abs(feb.measured[1] - 200) < 60
        and feb.answers.names[1] == ("up to feb",)
    )
    assert feb.charge is not None and not feb.charge.replayed and len(ledger.show()) == 3
    again = nw.release_series({"month": ["x"]}, path, "jan", months, ledger=os.fspath(ledger))
    assert again.measured == jan.measured and again.charge is not None and again.charge.replayed
    flags = [
        "--by=month",
        "--keys=jan,feb,mar",
        "--period=feb",
        f"--ledger={os.fspath(ledger)}",
        "--data=/dev/null",
        "--json",
    ]
    run = subprocess.run(
        [called, "release", "series", f"--plan={path}", *flags], capture_output=True, text=True, check=True
    )
    assert tuple(json.loads(run.stdout)["measured"]) == feb.measured
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"period": "may"}, "period = may, want one of the 3 of the plan, jan to mar"),
        ({"period": 3}, "period = 3, want the name of one"),
        ({"ledger": None}, "ledger = None, want one"),
        ({"keys": {"month": ["jan", "feb", "dec"]}, "period": "feb"}, "period = feb, want jan, the first one"),
        ({"keys": {"month": nw.Periods("year", "2999")}, "period": "2999"}, "period = 2999, want one that is over"),
        (
            {"keys": {"month": nw.Periods("month", "2024-01-05")}, "period": "2024-01"},
            "from = 2024-01-05, want the day",
        ),
        ({"keys": {"month": nw.Periods("year", "2024"), "b": ["1"]}}, "periods, want no other column beside them"),
        (
            {"plan": file("plan-levels"), "keys": {"month": range(1, 8)}, "period": "1"},
            "want one of prefix, ranges or identity that measures each cell by itself",
        ),
    ]
    for arguments, match in wrong:
        with pytest.raises(nw.InvalidError, match=match) as err:
            nw.release_series(rows, **{"plan": path, "period": "mar", "keys": months, "ledger": ledger, **arguments})
        assert "\n" not in str(err.value) and "--" not in str(err.value)
    assert len(ledger.show()) == 3


def test_periods(called: str, tmp_path: Path) -> None:
    """Cells of dates, of a series and of a release of all."""
    path = tmp_path / "series.json"
    design = [
        called,
        "plan",
        "design",
        "--workload=identity:2",
        "--series",
        "--epsilon=8",
        "--delta=0",
        f"--output={path}",
    ]
    subprocess.run(design, check=True, capture_output=True)
    when = [datetime.datetime(2026, 1, 31, 23, 30, tzinfo=datetime.timezone.utc)] * 500
    when += [datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)] * 100
    for zone, january, start in (("UTC", 600, "2026-01"), ("Europe/Berlin", 100, datetime.date(2026, 1, 1))):
        ledger = nw.Ledger.create(tmp_path / zone.replace("/", "-"), epsilon=8, delta=0)
        months = {"when": nw.Periods("month", start, zone)}
        made = nw.release_series({"when": when}, path, "2026-01", months, ledger=ledger)
        assert abs(made.measured[0] - january) < 20 and made.answers.names == (("2026-01",),)
        with pytest.warns(nw.PrivacyWarning, match="no ledger"):
            whole = nw.release_plan({"when": when}, path, months)
        assert abs(whole.measured[0] - january) < 20 and whole.answers.names[1] == ("2026-02",)


def test_release_with_a_ledger(called: str, tmp_path: Path) -> None:
    ledger = nw.Ledger.create(tmp_path / "a.ledger", epsilon=2, delta=1e-6)
    made = loaded("plan-levels")
    first = nw.release_plan(ROWS, made, {"month": range(1, 8)}, ledger=ledger)
    again = nw.release_plan(ROWS, made, {"month": range(1, 8)}, ledger=ledger, level=0.5)
    assert first.charge is not None and not first.charge.replayed and again.charge is not None and again.charge.replayed
    with pytest.warns(nw.PrivacyWarning, match="no ledger"):
        of_persons = nw.release_plan(ROWS, made, {"month": range(1, 8)}, person="who", max_per_person=1)
    assert of_persons.unit == "person:who" and of_persons.charge is None and first.unit == "row"
    assert first.measured == again.measured and ledger.left() < 0.6
    with pytest.raises(nw.ExceededError):
        nw.release_plan(ROWS, made, {"month": [1, 2, 3, 4, 5, 6, 8]}, ledger=ledger)
    for keys, word in (
        ({"month": "1234567"}, "list of keys"),
        ({"mo=nth": [1]}, "without ="),
        ({"month": []}, "none"),
        ({"month": [1]}, "keys"),
    ):
        with pytest.raises(nw.InvalidError, match=word):
            nw.release_plan(ROWS, made, keys, ledger=ledger)
