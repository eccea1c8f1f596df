#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of proofs/, which scripts/proofs.sh runs once they are built.

proofs.py theorems PROGRAM FILE...     the theorems of table files hold in Coq, and false ones do not
proofs.py designs PROGRAM FILE...      the theorems of designs hold, those of false claims do not, and how long it takes
proofs.py large PROGRAM CHECKER        a large table is checked by runs, in the kernel and by noisewright-check, in time
proofs.py ledgers PROGRAM              ledgers charge, refuse and print the sums that composition is proved for
proofs.py mutants PROGRAM CHECKER N SEED FILE...
                                       verify, the Python package and noisewright-check give the same verdict on privacy
proofs.py formats PROGRAM CHECKER N SEED FILE...
                                       they agree which files are malformed, where JSON, numbers, names and losses are changed
proofs.py conjuncts [N SEED|NAME...]   no condition of the checkers is without use: without it a proof breaks; of all, of N of each
                                       file, or of the definitions named
"""

import collections
import copy
import json
import math
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

PROOFS = Path(__file__).resolve().parent.parent / "proofs"
WORDS = {0: "private", 2: "malformed", 3: "not proved private"}


def coqc(file, folder=PROOFS, timeout=500):
    command = ["coqc", "-q", "-Q", str(folder), "Noisewright", str(file)]
    # Beside the file, where it leaves caches.
    return subprocess.run(command, cwd=Path(file).parent, capture_output=True, text=True, timeout=timeout, check=False)


def fail(text):
    sys.exit(f"proofs: {text}")


# --- Theorems ---


def changed(claim, units):
    """A claim with so many units more in the last digit."""
    d = Decimal(claim)
    return f"{d + units * Decimal(1).scaleb(d.as_tuple().exponent):f}"


def holds(program, text, what):
    """Whether Coq proves the theorems of a file, and the theorems; None of a malformed file."""
    with tempfile.TemporaryDirectory() as work:
        table, theorem = Path(work, "table.json"), Path(work, "Table.v")
        table.write_text(text)
        code = subprocess.run([program, "certificate", "--coq", table, "-o", theorem], capture_output=True, check=False).returncode
        if code == 2:
            return None, ""
        out = coqc(theorem)
        # A checker that does not answer true ends with this, and nothing else may.
        refused = r'The term\s+"eq_refl"\s+has\s+type\s+"true\s+=\s+true"\s+while.*"(private_as|loses_at_most|no_less_than|answers_private_as|biased_as|loses_never_more|loses_on_average|kernel_private_as|selection_private_as|total_as|largest_as|below_formula_as)\s'
        if code or out.returncode and not (out.returncode == 1 and re.search(refused, out.stderr, re.S)):
            fail(f"{what}: certificate ended with {code}, coqc with {out.returncode}: {out.stderr}")
        return out.returncode == 0, theorem.read_text()


# Which claims each theorem is about, and by how many units they are false.
CLAIMS = [("privacy", "delta", -1), ("expected", "expected_loss", -1), ("optimal", "lower_bound", 1), ("average", "mean_loss", -1), ("bias", "bias", -1),
          ("total", "total_variance", -1), ("widest", "largest_variance", -1), ("formula", "lower_bound", 1)]


def false_claims(file, theorem):
    """What is false in place of what a file says: a field, and what stands there and what does not."""
    claims = file["certificate"]
    told = [(name, units) for label, name, units in CLAIMS if f"Theorem {label} " in theorem and name in claims]
    false = [(name, f'"{claims[name]}"', f'"{changed(claims[name], units)}"') for name, units in told if not set(claims[name]) <= set("0.")]
    if "Theorem largest " in theorem:
        worst = claims["worst_loss"]
        if file["values"]["kind"] == "real":  # where verify stops at chords that are a relative 2^-14 above the loss
            false.append(("worst_loss", f'"{worst}"', f'"{Decimal(worst) * (1 - Decimal(2) ** -13):f}"'))
        else:
            false.append(("worst_loss", f'"{worst}"', f'"{changed(worst, -1)}"'))
    if "rows" in file or "inside" in file:
        # More privacy than there is, and for values further apart.
        promised = file.get("privacy", file)
        factors = [("epsilon", 0.999), ("sensitivity", 1.001)]
        false += [(name, json.dumps(promised[name]), json.dumps(promised[name] * f)) for name, f in factors if name in promised]
    if "values" in file:  # a randomizer: two answers change places for one value
        row = file["rows"][0]
        other = row[1:2] + row[:1] + row[2:]
        false.append(("rows", "[" + json.dumps(row, separators=(",", ":")), "[" + json.dumps(other, separators=(",", ":"))))
    return false


def theorem_of(program, file):
    """What is proved of a file, in words: of one that verify refuses not all may be, and of any other all has to."""
    text = Path(file).read_text()
    code = subprocess.run([program, "verify", "--quiet", file], capture_output=True, check=False).returncode
    ok, theorem = holds(program, text, file)
    if code == 2 or ok is None:
        if code != 2 or ok is not None:
            fail(f"{file}: verify ends with {code}, and certificate does not think so")
        return f"{file} is malformed, and has no theorem"
    if code:
        if ok and "Not machine-checked" not in theorem:
            fail(f"{file}: verify ends with {code}, and everything in it is proved")
        return f"{file} is false, and " + ("what is covered of it is true" if ok else "not proved")
    if not ok:
        fail(f"{file}: its theorems do not hold")
    false = false_claims(json.loads(text), theorem)
    for name, old, new in false:
        forged = text.replace(f'"{name}":{old}', f'"{name}":{new}', 1)
        if forged == text:
            fail(f"{file}: there is no {name} to change")
        if holds(program, forged, file)[0] is not False:
            fail(f"{file}: {name} = {new} is proved in place of {old}")
    return f"theorems of {file} hold, {len(false)} false ones do not"


def theorems(program, files):
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for said in pool.map(lambda f: theorem_of(program, f), files):
            print("proofs: " + said, flush=True)


# --- Designs ---


def fraction(claim):
    n, d = Fraction(claim).as_integer_ratio()
    return f"({n} # {d})"


def better(table, name, direction):
    """A claim of a table that is too good, by one unit of its last digit; None if it is 0, for nothing is better."""
    claim = table["certificate"][name]
    if set(claim) <= set("0."):
        return None
    if name != "delta" and "lp:" in table["loss"]["name"]:
        # Claimed are bounds on higher powers, a hundred millionth too large, say, and Coq has them exactly: a unit less may be true.
        return f"{Decimal(claim) * (1 + direction * Decimal('1e-6')):f}"
    return changed(claim, direction)


def refutations(table, theorem):
    """Theorems that each claim, if it were better, is not proved: of those that the file has a theorem of."""
    goals = []
    # As if the file claimed that delta; all else is what was decoded.
    record = "; ".join(f"{f} := {f} f" for f in "the_table the_loss claimed_loss claimed_bound the_dual constrained totaled".split())
    forged = f"match decoded with Some f => private_ok {{| claimed_delta := %s; {record} |}} | None => true end"
    for name, direction, said, goal in (
        ("delta", -1, "privacy", forged),
        ("expected_loss", -1, "expected", "loses_at_most decoded %s"),
        ("lower_bound", 1, "optimal", "no_less_than decoded %s"),
    ):
        claim = better(table, name, direction)
        if claim and f"Theorem {said}" in theorem:
            goals.append(goal % fraction(claim))
    return [f"Goal {g} = false. Proof. vm_compute. reflexivity. Qed.\n" for g in goals]


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def proved(program, file, timeout):
    """What is proved of a table file, how many better claims are not, and the CPU seconds of coqc."""
    with tempfile.TemporaryDirectory() as work:
        theorem = Path(work, "Table.v")
        subprocess.run([program, "certificate", "--coq", file, "-o", theorem], capture_output=True, check=True)
        text = theorem.read_text()
        goals = refutations(json.loads(Path(file).read_text()), text)
        theorem.write_text(text + "".join(goals))
        before = cpu_of_children()
        out = coqc(theorem, timeout=timeout)
        if out.returncode:
            fail(f"{file}: a theorem does not hold, or one of a better claim does: {out.stderr[-2000:]}")
        has = [what for what, name in (("privacy", "privacy"), ("loss", "expected"), ("bound", "optimal")) if f"Theorem {name}" in text]
        return has, len(goals), cpu_of_children() - before


def designs(program, files):
    count, seconds, refuted = collections.Counter(), [], 0
    for file in files:  # one after another, for the time of each
        has, false, cpu = proved(program, file, 3000)
        count.update(has)
        refuted += false
        seconds.append(cpu)
        print(f"proofs: {Path(file).name}: {', '.join(has)}; {false} better claims refused; {cpu:.1f} CPU s", flush=True)
    seconds.sort()
    print(f"proofs: {len(files)} designs: " + ", ".join(f"{n} {what}" for what, n in count.items()) +
          f" proved, {refuted} better claims refused; CPU s: median {seconds[len(seconds) // 2]:.1f}, largest {seconds[-1]:.1f}")


# Arguments of design. The first table has some 27,900 cells, 1,024 per sensitivity, in 33 runs: shift by shift and cell by cell the
# kernel takes minutes, and is stopped. The other is a table of the default size.
LARGE = [
    "--query integer --sensitivity 1024 --epsilon 1 --delta 1e-6 --loss l1",
    "--sensitivity 1 --epsilon 1 --delta 1e-6 --loss l1",
]


def large(program, checker):
    with tempfile.TemporaryDirectory() as work:
        for args in LARGE:
            table = Path(work, "table.json")
            table.unlink(missing_ok=True)
            subprocess.run([program, "design", *args.split(), "-o", table], capture_output=True, check=True)
            grid = json.loads(table.read_text())
            before = cpu_of_children()
            if subprocess.run([checker, table], capture_output=True, check=False).returncode:
                fail(f"noisewright-check refuses design {args}")
            took = cpu_of_children() - before
            _, refused, cpu = proved(program, table, 500)
            print(f"proofs: {len(grid['weights'])} cells, {grid['grid']['cells_per_sensitivity']} per sensitivity: {cpu:.1f} CPU s in the kernel, "
                  f"{refused} better claims refused; noisewright-check {1000 * took:.0f} ms")


# --- Ledgers ---

# The total, and the releases asked for, each with an epsilon and a delta. Of 0.1 + 0.4 in float64 the nearest float64 is 0.5, and
# the sum more; of 0.1 + 0.2 the nearest is 0.30000000000000004, and the sum less, but more than 0.3.
LEDGERS = [
    (0.5, 1e-5, [(0.1, 1e-6), (0.4, 1e-6), (0.3, 1e-6), (0.1, 1e-6)]),
    (0.30000000000000004, 1e-5, [(0.1, 1e-6), (0.2, 1e-6)]),
    (0.3, 1e-5, [(0.1, 1e-6), (0.2, 1e-6), (0.1, 1e-6), (0.1, 1e-6)]),
    (2, 3e-6, [(0.1, 1e-6), (0.1, 1e-6), (0.1, 1e-6), (0.1, 1e-8)]),
]


def rational(x):
    n, d = float(x).as_integer_ratio()
    return f"({n} # {d})"


def budgets(charges):
    return "[" + "; ".join(f"({rational(e)}, {rational(d)})" for e, d in charges) + "]"


def claims_of_ledger(program, work, total, asked):
    """What a ledger that adds up did and printed, as claims about `total` of Answers.v."""

    def run(*args):
        return subprocess.run([program, *args], cwd=work, capture_output=True, text=True, check=False)

    Path(work, "people.csv").write_text("a\n1\n2\n3\n")
    file = f"{len(list(Path(work).glob('*.ledger')))}.ledger"
    epsilon, delta = total
    if run("ledger", "create", file, "--adaptive", "--epsilon", repr(epsilon), "--delta", repr(delta)).returncode:
        fail(f"there is no ledger of {total}")
    claims, charged = [], []
    for i, (e, d) in enumerate(asked):  # another condition each time, as the same query costs nothing again
        out = run("release", "count", "--data", "people.csv", "--where", f"a >= {i}", "--epsilon", repr(e), "--delta", repr(d), "--ledger", file)
        if out.returncode and "would exceed" not in out.stderr:
            fail(f"a release ended with {out.returncode}: {out.stderr}")
        accepted = out.returncode == 0
        claims.append(f"within {budgets([*charged, (e, d)])} {rational(epsilon)} {rational(delta)} = {str(accepted).lower()}")
        charged += [(e, d)] * accepted
    shown = json.loads(run("ledger", "show", file, "--json").stdout)["releases"]
    costs = [(c["epsilon"], c["delta"]) for r in shown for c in r["costs"] for _ in range(c["times"])]
    if costs != charged:
        fail(f"a ledger shows {costs}, charged were {charged}")
    said = json.loads(run("ledger", "total", file, "--json").stdout)
    up = [said["basic_epsilon"], said["basic_delta"]]
    below = [math.nextafter(x, 0) for x in up]
    # Printed are the least float64s that are not below the sums.
    claims.append(f"within {budgets(costs)} {rational(up[0])} {rational(up[1])} = true")
    claims.append(f"within {budgets(costs)} {rational(below[0])} 1 = false")
    claims.append(f"within {budgets(costs)} 1000 {rational(below[1])} = false")
    return claims


def ledgers(program):
    with tempfile.TemporaryDirectory() as work:
        claims = [c for e, d, asked in LEDGERS for c in claims_of_ledger(program, work, (e, d), asked)]
        theorem = Path(work, "Ledger.v")
        head = "From Coq Require Import ZArith QArith List.\nFrom Noisewright Require Import Answers.\nImport ListNotations.\nOpen Scope Q_scope.\n"
        head += "Definition within l e d := (Qle_bool (fst (total l)) e && Qle_bool (snd (total l)) d)%bool.\n"
        theorem.write_text(head + "".join(f"Goal {c}. vm_compute. reflexivity. Qed.\n" for c in claims))
        out = coqc(theorem)
        if out.returncode:
            line = int(re.findall(r"^File .*, line (\d+)", out.stderr, re.M)[-1])
            fail(f"a ledger does not keep or print the sums: {theorem.read_text().splitlines()[line - 1]}")
    refused = sum(c.endswith("false") for c in claims) - 2 * len(LEDGERS)
    if refused != 4:
        fail(f"{refused} releases are refused, want 4")
    print(f"proofs: {len(LEDGERS)} ledgers keep and print the sums of their charges, by {len(claims)} claims")


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


def mutate_selection(rng, selection):
    s = copy.deepcopy(selection)
    s["certificate"] = {"delta": "1", "total_variance": "9" * 60, "largest_variance": "9" * 60, "lower_bound": "0"}
    match rng.choice("inside far epsilon size modulus count".split()):
        case "inside":  # within 8 units of the most that is private
            s["inside"] = str(int(s["inside"]) + rng.randrange(-8, 9))
        case "far":
            s["inside"] = str(min((1 << 64) - 1, int(s["inside"]) + rng.choice([-1, 1]) * (1 << rng.randrange(64))))
        case "epsilon":
            s["epsilon"] *= rng.choice([0.5, 1 - 2**-50, 1, 1 + 2**-50, 2, 60])
        case "size":
            s["size"] += rng.choice([-1, 1, 2, 40])
        case "modulus":
            s["modulus"] = rng.choice([0, s["modulus"] + 2, 83, 211, 223, 221, 7919, 2147483659, 2147483661])
        case "count" if "count" in s:
            s["count"] = rng.choice([2, s["count"] + 1, s["modulus"], s["modulus"] + 1, 1 << 31, (1 << 31) + 1])
    return "selection", json.dumps(s, separators=(",", ":")).encode()


def mutate(rng, table, claimed):
    if "inside" in table:
        return mutate_selection(rng, table)
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
    whole = json.dumps(t, separators=(",", ":")).encode()
    text = bytearray(whole)
    if kind == "text":  # a few bytes
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
    # Not a claim of a loss or a bound that says something.
    return kind, whole if re.search(rb'"lower_bound":"[0.]*[1-9]|"expected_loss":"[0-9]*\.', text) else bytes(text)


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


def compare(program, checker, n, seed, make, words):
    """Has n files, each with its kind, judged by all three, whose exit codes words puts into words."""
    rng = random.Random(seed)
    count, differ, undecided = collections.Counter(), [], 0
    with tempfile.TemporaryDirectory() as work:
        for begin in range(0, n, 100):
            batch = []
            for i in range(begin, min(begin + 100, n)):
                kind, text = make(rng)
                path = Path(work, f"{i}.json")
                path.write_bytes(text)
                batch.append((path, kind, text))
            said = subprocess.run([checker, "-seconds", "3", *(str(p) for p, _, _ in batch)], capture_output=True, text=True, timeout=500, check=False).stdout
            verdicts = dict(line.split(": ", 1) for line in said.splitlines())
            codes = {word: code for code, word in WORDS.items()}
            for path, kind, text in batch:
                go = words[subprocess.run([program, "verify", "--quiet", path], capture_output=True, check=False).returncode]
                python, word = words[python_verdict(path)], verdicts[str(path)]
                late = word == "not decided in time"
                ours = go if late else words[codes[word]]
                count[go] += 1
                undecided += late
                if not go == python == ours:
                    differ.append(f"{kind}: verify {go}, Python {python}, noisewright-check {ours}: {text[:400].decode(errors='replace')}")
                path.unlink()
    print(f"proofs: {n} files, seed {seed}: " + ", ".join(f"{v} {k}" for k, v in sorted(count.items())) + f"; {undecided} too large for noisewright-check")
    if undecided > n // 50:
        fail(f"noisewright-check did not decide {undecided} files")
    if differ:
        fail(f"{len(differ)} verdicts differ\n" + "\n".join(differ[:20]))


def mutants(program, checker, n, seed, files):
    tables = [json.loads(Path(f).read_text()) for f in files]
    claims = [t["certificate"]["delta"] for t in tables]

    def make(rng):
        k = rng.randrange(len(tables))
        return mutate(rng, tables[k], claims[k])

    compare(program, checker, n, seed, make, WORDS)


# --- Formats ---

# Not 2^18, which K may be: noisewright-check would take long for it where weights are not few runs.
NUMBERS = """0 -0 0.0 1 1.0 1e0 1E+0 1e-0 01 -1 +1 .5 5. 1e 1e+ 0x1 1_0 NaN Infinity true null "1" "" 1e400 -1e400 1e-400 4.9e-324 2.4703e-324
    2.4703282292062327e-324 2.4703282292062328e-324 2.2250738585072011e-308 1.7976931348623157e308 1.7976931348623159e308 1e999999999999 1e-999999999999
    9007199254740993 9007199254740992 9007199254740993.00000000000000000000001 0.1000000000000000055511151231257828 0.9999999999999999444888 0.99999999999999994
    2147483647 2147483648 -2147483648 -2147483649 4503599627370496 4503599627370497 262145 1073741824 1073741825 2097152 96 100
    100.00000000000001 100.000000000000001 2000 -2000 2001 0.7 [] {} [1] \\u0031""".split()
STRINGS = ["", *"""0 00 01 -1 +1 1. .1 1 1.5 1e3 18446744073709551615 18446744073709551616 9223372036854775807 9223372036854775808 18446744073692 x é \\u0031
    \\u00e9 \\ud800 \\q real integer lattice Real""".split()]
LOSSES = """l1 l2 L1 l3 l1:2 l1:0 l1:-1 l1:1e-61 l1:1e60 l1:1e61 l2:.5 l2: lp lp:2 lp:2.0 lp:02 lp:1.5 lp:64 lp:64.5 lp:.9 lp:3:2 lp:1 lp:1e0 lp:1E0 lp:1e+0 lp:+2
    pinball:.5 pinball:0 pinball:1 pinball:.1:3 asymmetric:1,2 asymmetric:1 asymmetric:1,2,3 asymmetric:1,-2 asymmetric:1,2:3 huber:1 huber:0 huber:-1 deadzone:.5
    exceed:1 exceed:1.:2 pwl:-inf,-1;0,1 pwl:-inf,-1,;0,1, pwl:-inf,-1,0;0,1,1 pwl:-inf,-1,1;0,1 pwl:-inf,1;0,1 pwl:-inf,-1;0,-1 pwl:0,1 pwl:-inf,-1;0,1;0,2
    pwl:-inf,-1;-1,0,2;1,3:2 pwl:-Inf,-1;0,1 huber:1e-60 huber:1e-61 huber:00 pinball:0.99999999999999999""".split()


def malform(rng, text):
    """A table with one thing changed that has to do with how it is written, or what may stand where."""
    kind = rng.choice(("same " * 5 + "number number string loss loss loss claim claim drop twice unknown optional swap space space escape cut append bytes").split())

    def sub(pattern, make):
        found = list(re.finditer(pattern, text))
        if not found:
            return text
        m = rng.choice(found)
        return text[: m.start(1)] + make(m.group(1)) + text[m.end(1) :]

    member = r'[{,]("[a-z_]+":(?:-?[\d.e+-]+|"[^"]*"|true|false|\[[^][]*\]|\{[^{}]*\}))'
    match kind:
        case "number":
            text = sub(r":(-?[\d.]+(?:e[+-]?\d+)?|true|false)(?=[,}])", lambda _: rng.choice(NUMBERS))
        case "same":
            text = sub(r":(-?[\d.]+)(?=[,}])", lambda v: rng.choice([v + "e0", v + "E+00", v + "e-0", v + ".0" * ("." not in v), v + "0" * ("." in v) * 40, v]))
        case "string":
            text = sub(r'"([\d.a-z-]*)"(?=[],}])', lambda _: rng.choice(STRINGS))
        case "loss":
            loss = " + ".join(rng.choice(LOSSES) for _ in range(rng.choice([1, 1, 1, 2, 3])))
            text = sub(r'"name":"([^"]*)"', lambda _: rng.choice([loss, loss, loss, " " + loss, loss + " ", loss + " +", loss.replace(" + ", "+"), ""]))
        case "claim":
            claims = ["", ".", "1.", ".1", "00.1", "1e-3", "-0", "0.", "0" * 799 + "1", "0." + "0" * 798 + "1", "0." + "0" * 799, "1,5", " 1"]
            text = sub(r'"(?:delta|expected_loss|lower_bound|total_variance|largest_variance)":"([^"]*)"', lambda _: rng.choice(claims))
        case "drop":
            text = sub(member + "(?=,)", lambda _: "").replace("{,", "{").replace(",,", ",")
        case "twice":
            text = sub(member, lambda f: f + "," + f)
        case "unknown":
            names = ["a", "A", "epsilon", "", "optional", "Weights", "tail_ratio", "total", "constraints", "query"]
            text = sub(member, lambda f: f'"{rng.choice(names)}":{rng.choice(NUMBERS + ["[{}]"])},' + f)
        case "optional":
            names = ['"a"', '"a","b"', '"a","a"', '"A"', '""', '"1a"', '"optional"', '"epsilon"', '"weights"', '"query"', "1", "", f'"{"a" * 64}"', f'"{"a" * 65}"']
            lists = [f'"optional":[{rng.choice(names)}]', '"optional":{}', '"optional":null']
            field = rng.choice(["", ',"a":1', ',"a":{"b":[null,1e400]}', ',"a":1,"a":2', ',"b":01', ',"a":1,"b":2', ',"query":"real"', ',"a":"\u00e9"'])
            first = rng.choice(lists) + field
            text = rng.choice(["{" + first + "," + text[1:], text[:-1].rstrip()[:-1] + "," + first + "}", "{" + field[1:] + "," * bool(field) + lists[0] + "," + text[1:]])
        case "swap":
            text = sub(r'[\[,]("\d+","\d+")', lambda pair: pair.replace('","', rng.choice(['",,"', '" "', '",["', '",null,"', '","-', '",1,"', '",\n"'])))
        case "space":
            text = sub(r"([][{}:,])", lambda c: rng.choice([" ", "\n", "\t", "\r", "\f", "\v", "\0", "\u00a0", "\ufeff", "//", "/**/"]) + c)
        case "escape":
            escapes = [r"\u%04x", r"\u%04X", r"\U%04x", r"\x%02x", r"\u%03x", r"\u0000%04x"]
            text = sub(r'(?<=")([a-z])(?=[a-z0-9_]*")', lambda c: rng.choice(escapes) % ord(c))
        case "cut":
            text = text[: rng.randrange(len(text))]
        case "append":
            text += rng.choice([" ", "\n\n", "{}", "x", "\0", "]", ",", "null"])
    data = text.encode()
    if kind == "bytes":  # that are no text, or break the JSON
        i = rng.choice([0, rng.randrange(min(len(data), 400)), rng.randrange(len(data))])
        data = data[:i] + rng.choice([b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x00", b"\x7f", b"\xc0\xaf", b"[" * 20000, b'{"a":' * 20000]) + data[i:]
    return kind, data


def labels_beyond_ascii(data):
    """Whether it is a file with labels that noisewright-check does not read."""
    try:
        return not all(label.isascii() for label in json.loads(data)["labels"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def formats(program, checker, n, seed, files):
    texts = []
    for f in files:
        t = json.loads(Path(f).read_text())
        # What a loss or a dual that does not fit would claim; that is no question of the format.
        t["certificate"] |= {"delta": "0.5", "lower_bound": "0"} | {c: "9" * 60 for c in t["certificate"] if c.endswith(("_loss", "_variance"))}
        texts.append(json.dumps(t, separators=(",", ":")))
    words = {code: "malformed" if code == 2 else "well-formed" for code in WORDS}

    def make(rng):
        while True:
            kind, data = malform(rng, rng.choice(texts))
            if not labels_beyond_ascii(data):
                return kind, data

    compare(program, checker, n, seed, make, words)


# --- Conjuncts ---

# Where conditions are, and which files rest on them.
CONDITIONS = [
    ("Check.v", ["well_formed", "slide", "unit_step", "check"], ["Check", "Law", "Close", "Private"]),
    ("Runs.v", ["gather", "more", "tail_of", "slide_runs", "check_runs"], ["Runs"]),
    ("Sampler.v", ["entry", "discarded", "place", "periods", "outwards", "draw", "draws"], ["Sampler", "Drawn"]),
    ("Exp.v", ["exp_up_fine"], ["Exp"]),
    ("Ramps.v", ["ramp_at", "ramps_of_pieces", "smaller_of", "ramps_of_term"], ["Ramps"]),
    ("Rising.v", ["newton_of"], ["Rising"]),
    ("Loss.v", ["nearer", "rises", "series", "tail_loss", "loss_ok"], ["Loss"]),
    ("Judge.v", ["word_on", "judge"], ["Judge"]),
    ("Shares.v", ["no_divisor", "is_prime", "sets_made", "private_sets", "total_ok", "largest_ok", "sizes_ok"], ["Shares"]),
    ("CertifySelection.v", ["selection_private_as"], ["CertifySelection"]),
    ("Nodes.v", ["jointed", "outside", "larger", "peak", "cleared", "grows", "nodes_ok", "alike", "paired", "any_nodes_ok"], ["Nodes"]),
    ("Bound.v", ["on_nodes", "node_value", "all_above", "bound_ok"], ["Bound"]),
    ("Convex.v", ["slopes_rise", "convex_term", "convex_loss"], ["Convex"]),
    ("Rows.v", ["ascends", "row_ok", "well_made", "rows_close", "private_rows", "near_node", "biased_at_most"], ["Rows"]),
    ("RowLoss.v", ["fine_ramps", "numbered", "all_nodes", "scale_of", "node_losses", "worst_of_nodes", "average_ok", "mean_ok"], ["RowLoss"]),
    ("Chords.v", ["nowhere_negative", "parts_ok", "intervals_ok", "worst_of_reals", "worst_ok"], ["Chords"]),
    ("Cells.v", ["cells_made", "apart_or_close", "all_pairs", "private_cells"], ["Cells"]),
    ("CertifyKernel.v", ["kernel_private_as"], ["CertifyKernel"]),
    ("CertifyRandomizer.v", ["answers_private_as", "biased_as", "loses_never_more", "loses_on_average"], ["CertifyRandomizer"]),
    ("Certificate.v", ["private_as", "loses_at_most", "no_less_than"], ["Certificate"]),
]
OPENS = {"(": ")", "[": "]", "{|": "|}", "match": "end"}
PREDICATE = re.compile(r"\b(?:forallb|of_file \w+) \(fun$")
TOKENS = re.compile(r"\(\*.*?\*\)|\{\||\|\}|\|\||&&|=>|:=|[()\[\];,|]|\b(?:match|with|end|in|if|then|else)\b", re.S)


def definition(text, name):
    """The span of a definition, up to the blank line or comment after it."""
    m = re.search(rf"^(Definition|Fixpoint) {name}\b.*?\.\n(?=\n|\(\*|Definition|Fixpoint|Lemma|Theorem|\Z)", text, re.M | re.S)
    if not m:
        fail(f"there is no definition {name}")
    return m.span()


def conditions(text, begin, end):
    """The spans of what a definition tests: of each conjunction the parts, what an if asks, and, if the definition is one of a
    truth value, of a match the cases that are no constant true, what is to hold of each entry or of a file, or, if that is all, the whole."""
    head = text.index(":=", begin, end) + 2
    truth = ": bool" in text[begin:head]
    found = set()

    def emit(parts, asked):
        for a, b in parts if len(parts) > 1 or asked else []:
            what = text[a:b].strip()
            if what not in ("", "true"):
                a = text.index(what, a, b)
                found.add((a, a + len(what)))

    # What is open: its end, the conjuncts since its last separator, where the next begins, that separator, and whether it is a
    # function to truth values.
    stack = [["", [], head, ":=", False]]
    for m in TOKENS.finditer(text, head, text.rindex(".", begin, end)):
        token, top = m.group(), stack[-1]
        if token.startswith("(*"):
            continue
        if token in OPENS:
            stack.append([OPENS[token], [], m.end(), token, bool(PREDICATE.search(text, head, m.end() + 3))])
            continue
        parts = [*top[1], (top[2], m.start())]
        if token == "&&":
            top[1:3] = parts, m.end()
            continue
        case = truth and top[0] == "end" and top[3] == "=>" and token in ("|", "end")
        each = truth and token == top[0] == ")" and top[4]
        emit(parts, case or each or token == "then")
        if token == top[0]:
            stack.pop()
        else:
            top[1:4] = [], m.end(), token
    emit([*stack[0][1], (stack[0][2], text.rindex(".", begin, end))], truth and not found)
    return sorted(found)


def broken(file, files, text, first, last):
    """The first of the files that does not build once text stands in one of them, whose definition has the lines first to last."""
    with tempfile.TemporaryDirectory() as work:
        for built in PROOFS.glob("*.vo"):
            if built.stem not in files:
                Path(work, built.name).symlink_to(built)
        for f in files:
            shutil.copy(Path(PROOFS, f + ".v"), work)
        Path(work, file).write_text(text)
        for f in files:
            out = coqc(Path(work, f + ".v"), work)
            if out.returncode:
                if "inconsistent assumptions" in out.stderr or "Cannot find a physical path" in out.stderr:
                    fail(f"{f}.v needs a file that is not built again once {file} is changed: {out.stderr}")
                line = int(re.findall(r"^File .*, line (\d+)", out.stderr, re.M)[-1])  # warnings come before it
                if f + ".v" == file and first <= line <= last:
                    fail(f"{file}: what is left is no definition: {out.stderr}")
                return f
    return None


def conjuncts(only, n=0, seed=0):
    tasks, rng = [], random.Random(seed)
    for file, names, files in CONDITIONS:
        text, of_file = Path(PROOFS, file).read_text(), []
        for name in (n for n in names if n in only or not only):
            begin, end = definition(text, name)
            lines = text.count("\n", 0, begin) + 1, text.count("\n", 0, end)
            found = conditions(text, begin, end)
            if not found:
                fail(f"{file}: {name} has no condition")
            for a, b in found:
                what = f"{name} without {' '.join(text[a:b].split())}"
                of_file.append((what, (file, files, text[:a] + "true" + text[b:], *lines)))
        tasks += rng.sample(of_file, min(n, len(of_file))) if n else of_file
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        useless = []
        for (what, _), f in zip(tasks, pool.map(lambda t: broken(*t[1]), tasks)):
            print(f"proofs: {what}: {f}.v breaks" if f else f"proofs: {what}: EVERY PROOF STILL HOLDS", flush=True)
            useless += [] if f else [what]
    if useless:
        fail(f"{len(useless)} of {len(tasks)} conditions are of no use")
    print(f"proofs: {len(tasks)} conditions, none without use")


match sys.argv[1:]:
    case ["theorems", program, *files]:
        theorems(program, files)
    case ["designs", program, *files]:
        designs(program, files)
    case ["large", program, checker]:
        large(program, checker)
    case ["ledgers", program]:
        ledgers(program)
    case ["mutants", program, checker, n, seed, *files]:
        mutants(program, checker, int(n), int(seed), files)
    case ["formats", program, checker, n, seed, *files]:
        formats(program, checker, int(n), int(seed), files)
    case ["conjuncts", n, seed] if n.isdigit():
        conjuncts([], int(n), int(seed))
    case ["conjuncts", *names]:
        conjuncts(names)
    case _:
        sys.exit(__doc__)
