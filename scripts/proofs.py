#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of proofs/, which scripts/proofs.sh runs once they are built.

proofs.py theorems PROGRAM FILE...     the theorems of table files hold in Coq, and false ones do not
proofs.py mutants PROGRAM CHECKER N SEED FILE...
                                       verify, the Python package and noisewright-check give the same verdict on privacy
proofs.py conjuncts                    no condition of the checker of privacy is without use: without it a proof breaks
"""

import collections
import copy
import json
import math
import random
import re
import shutil
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

PROOFS = Path(__file__).resolve().parent.parent / "proofs"
WORDS = {0: "private", 2: "malformed", 3: "not proved private"}


def coqc(file, folder=PROOFS):
    command = ["coqc", "-q", "-Q", str(folder), "Noisewright", str(file)]
    return subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)


def fail(text):
    sys.exit(f"proofs: {text}")


# --- Theorems ---


def changed(claim, units):
    """A claim with so many units more in the last digit."""
    d = Decimal(claim)
    return f"{d + units * Decimal(1).scaleb(d.as_tuple().exponent):f}"


def theorems(program, files):
    with tempfile.TemporaryDirectory() as work:

        def holds(text, what):
            table, theorem = Path(work, "table.json"), Path(work, "Table.v")
            table.write_text(text)
            subprocess.run([program, "certificate", "--coq", "--force", table, "-o", theorem], check=True)
            out = coqc(theorem)
            if out.returncode not in (0, 1):
                fail(f"{what}: coqc ended with {out.returncode}: {out.stderr}")
            # A proof that fails ends with this, and nothing else may.
            if out.returncode == 1 and 'Unable to unify "true" with "false"' not in out.stderr:
                fail(f"{what}: {out.stderr}")
            return out.returncode == 0, theorem.read_text()

        for file in files:
            text = Path(file).read_text()
            claims = json.loads(text)["certificate"]
            ok, theorem = holds(text, file)
            if not ok:
                fail(f"{file}: its theorems do not hold")
            false = [("delta", -1)]
            false += [("expected_loss", -1)] * ("Theorem expected" in theorem) + [("lower_bound", 1)] * ("Theorem optimal" in theorem)
            for name, units in false:
                claim = claims[name]
                if set(claim) <= set("0."):
                    continue
                forged = text.replace(f'"{name}":"{claim}"', f'"{name}":"{changed(claim, units)}"')
                if forged == text:
                    fail(f"{file}: there is no {name} to change")
                if holds(forged, file)[0]:
                    fail(f"{file}: {name} = {changed(claim, units)} is proved, one unit of the last digit from {claim}")
            print(f"proofs: theorems of {file} hold, {len(false)} false ones do not")


# --- Mutants ---


def weaken(table):
    """Claims that say nothing, so that the verdict is that on privacy."""
    table["certificate"] = {"delta": "1", "expected_loss": "9" * 60, "lower_bound": "0"}
    table.pop("constraints", None)
    table.pop("total", None)


def moved(rng, w, most):
    i, j = rng.randrange(len(w)), rng.randrange(len(w))
    d = rng.randrange(min(w[i], most) + 1)
    w[i] -= d
    w[j] += d


def mutate(rng, table, claimed):
    t = copy.deepcopy(table)
    weaken(t)
    w, grid, privacy = [int(x) for x in t["weights"]], t["grid"], t["privacy"]
    kind = rng.choice("move small swap epsilon delta tight claim sensitivity K S zero atom reverse offset first sum ratio text".split())
    match kind:
        case "move":
            moved(rng, w, 1 << 64)
        case "small":
            moved(rng, w, 1 << rng.randrange(50))
        case "swap":
            i, j = rng.randrange(len(w)), rng.randrange(len(w))
            w[i], w[j] = w[j], w[i]
        case "epsilon":
            privacy["epsilon"] *= rng.choice([0.5, 0.999999, 1 - 2**-50, 1 + 2**-50, 1.000001, 2])
        case "delta":
            privacy["delta"] *= rng.choice([0.5, 0.9, 0.999999, 1 + 2**-50, 1.1])
        case "tight":  # within 8 units of the last place of what is certified
            d = float(claimed)
            for _ in range(rng.randrange(9)):
                d = math.nextafter(d, rng.choice([0, 1]))
            privacy["delta"] = d
        case "claim":  # within a few digits of it
            digits = rng.choice([12, 14, 15, 16])
            t["certificate"]["delta"] = f"{Decimal(claimed) * (1 + rng.randrange(-8, 9) * Decimal(10) ** -digits):f}"
        case "sensitivity":
            privacy["sensitivity"] *= rng.choice([0.5, 0.999, 1 + 2**-52, 1.0001, 2])
        case "K":
            grid["cells_per_sensitivity"] = max(1, grid["cells_per_sensitivity"] + rng.choice([-1, 1, 5]))
        case "S":
            grid["points_per_cell"] += rng.choice([-2, -1, 2])
        case "zero":
            i = rng.randrange(len(w))
            w[len(w) // 2], w[i] = w[len(w) // 2] + w[i] * (i != len(w) // 2), w[i] * (i == len(w) // 2)
        case "atom":
            i = rng.randrange(len(w))
            d = rng.randrange((w[i] >> rng.randrange(40)) + 1)
            w[i] -= d
            t["atom"] = str(int(t["atom"]) + d)
        case "reverse":
            w.reverse()
        case "offset":
            grid["offset"] = rng.randrange(-1000, 1000)
        case "first":
            grid["first_cell"] += rng.randrange(-3, 4)
        case "sum":
            w[rng.randrange(len(w))] += rng.choice([-1, 1])
        case "ratio" if "tail_ratio" in t:
            t["tail_ratio"] = str(max(1, int(t["tail_ratio"]) + rng.choice([-1, 1]) * (1 << rng.randrange(60))))
    t["weights"] = [str(x) for x in w]
    text = json.dumps(t, separators=(",", ":")).encode()
    if kind == "text":  # a few bytes
        text = bytearray(text)
        head = min(len(text), 500)
        for _ in range(rng.randrange(1, 3)):
            i = rng.choice([rng.randrange(head), rng.randrange(len(text) - 200, len(text))])
            match rng.randrange(3):
                case 0:
                    del text[i]
                case 1:
                    text[i] = rng.choice(b'0123456789.-+eE"{}[]:, \\')
                case 2:
                    text.insert(i, rng.choice(b'0123456789.-+eE"{}[]:, '))
        text = bytes(text)
    return kind, text


def python_verdict(path):
    import noisewright as nw

    try:
        nw.load(path)
    except nw.NotPrivateError:
        return 3
    except (nw.FormatError, nw.InvalidError):
        return 2
    except nw.FalseClaimError:
        return 3
    return 0


def mutants(program, checker, n, seed, files):
    rng = random.Random(seed)
    tables = [json.loads(Path(f).read_text()) for f in files]
    claims = [t["certificate"]["delta"] for t in tables]
    count, differ = collections.Counter(), []
    with tempfile.TemporaryDirectory() as work:
        for begin in range(0, n, 100):
            batch = []
            for i in range(begin, min(begin + 100, n)):
                k = rng.randrange(len(tables))
                kind, text = mutate(rng, tables[k], claims[k])
                path = Path(work, f"{i}.json")
                path.write_bytes(text)
                batch.append((path, kind, text))
            said = subprocess.run([checker, *(str(p) for p, _, _ in batch)], capture_output=True, text=True, check=False).stdout
            verdicts = dict(line.split(": ", 1) for line in said.splitlines())
            for path, kind, text in batch:
                go = WORDS[subprocess.run([program, "verify", "--quiet", path], capture_output=True, check=False).returncode]
                python = WORDS[python_verdict(path)]
                ours = verdicts[str(path)]
                count[go] += 1
                if not go == python == ours:
                    differ.append(f"{kind}: verify {go}, Python {python}, noisewright-check {ours}: {text[:400].decode(errors='replace')}")
                path.unlink()
    print(f"proofs: {n} mutants, seed {seed}: " + ", ".join(f"{v} {k}" for k, v in sorted(count.items())))
    if differ:
        fail(f"{len(differ)} verdicts differ\n" + "\n".join(differ[:20]))


# --- Conjuncts ---

# Where conditions are, and which files rest on them.
CONDITIONS = [("Check.v", ["well_formed", "check"], ["Check", "Law", "Close", "Private"])]


def definitions(text, name):
    """The span of a definition, up to the blank line or comment after it."""
    m = re.search(rf"^(Definition|Fixpoint) {name}\b.*?\.\n(?=\n|\(\*|Definition|Fixpoint|Lemma|\Z)", text, re.M | re.S)
    if not m:
        fail(f"there is no definition {name}")
    return m


def without(body):
    """The definition without one of its conjuncts, each in turn; of a conditional one branch is a conjunct."""
    begin = body.index(":=") + 2
    parts = re.split(r"(&&)", body[begin:])
    for i in range(0, len(parts), 2):
        if len(parts) == 1:
            continue
        part = parts[i]
        # What a conjunct opens or closes beyond itself stays.
        lead = re.match(r"(?s)\s*(.*=>|.*\bin\b)?\s*", part).group(0) if i == 0 else " "
        tail = re.search(r"(\s*\n\s*(end|match)\b.*|\.\n?)?$", part, re.S).group(0)
        kept = parts.copy()
        kept[i] = lead + "true" + tail
        yield part[len(lead) if i == 0 else 0 : len(part) - len(tail)].strip(), body[:begin] + "".join(kept)


def conjuncts():
    dropped = 0
    for file, names, files in CONDITIONS:
        text = Path(PROOFS, file).read_text()
        for name in names:
            m = definitions(text, name)
            for what, body in without(m.group(0)):
                with tempfile.TemporaryDirectory() as work:
                    for built in PROOFS.glob("*.v*"):
                        shutil.copy(built, work)
                    Path(work, file).write_text(text[: m.start()] + body + text[m.end() :])
                    first = coqc(Path(work, file), work) if file != files[0] + ".v" else None
                    for f in files:
                        out = coqc(Path(work, f + ".v"), work)
                        if out.returncode:
                            break
                    else:
                        fail(f"{file}: {name} without {what}: every proof still holds")
                    if "Syntax error" in out.stderr or first and first.returncode:
                        fail(f"{file}: {name} without {what} is no definition: {out.stderr}")
                    dropped += 1
                    print(f"proofs: {name} without {what}: {f}.v breaks", flush=True)
    print(f"proofs: {dropped} conditions, none without use")


match sys.argv[1:]:
    case ["theorems", program, *files]:
        theorems(program, files)
    case ["mutants", program, checker, n, seed, *files]:
        mutants(program, checker, int(n), int(seed), files)
    case ["conjuncts"]:
        conjuncts()
    case _:
        sys.exit(__doc__)
