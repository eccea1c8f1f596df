#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds proofs/ with Coq, and has coqchk check what was built by itself and list what is assumed, which has to be
# proofs/axioms.txt: Coq's classical real numbers. Then noisewright-check is extracted, into .deps/proofs, and scripts/proofs.py
# tries the theorems of the THEOREMS smallest tables among the tests' files, of DESIGNS designs of random problems, or the first of
# PROBLEMS_FILE, and of a large table; ledgers; checkers without one of their conditions, CONDITIONS of each file, or all if
# that is 0; and TABLE_MUTANTS tables and TABLE_FORMATS malformed ones of which verify, the Python package and noisewright-check have
# to say the same. A test of sampler compares its draws with those of the extracted definition. Where there is no Coq it says so and
# is done.
#
#   proofs.sh PROGRAM
set -eu
program=$(realpath "$1")
cd "$(dirname "$0")/../proofs"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

fail() {
	echo "proofs: $1" >&2
	exit 1
}

install="on Debian: apt-get install coq libcoq-stdlib ocaml-nox ocaml-findlib libzarith-ocaml-dev"
for tool in coqc coq_makefile coqchk; do
	command -v $tool >/dev/null || { echo "proofs: proofs/ is skipped: there is no $tool ($install)"; exit 0; }
done
[ -e "$(coqc -where)/theories/Reals/Reals.vo" ] || { echo "proofs: proofs/ is skipped: Coq's standard library is not there ($install)"; exit 0; }
version=$(coqc --print-version | cut -d' ' -f1)

# Also what coqchk would find, but by name.
if grep -nE '^[[:space:]]*(Axiom|Axioms|Parameter|Parameters|Conjecture|Admitted)\b|\b(admit|Admitted)\b|bypass_check' ./*.v; then
	fail "a statement is assumed above, want a proof"
fi
for file in Statement.v Answers.v; do
	lines=$(wc -l <$file)
	[ "$lines" -le 120 ] || fail "$file has $lines lines, want at most 120"
done

# The names in the map of README.md.
for name in $(sed -n 's/^|.*| \(`[^|]*\) |[^|]*\.v[^|]* |$/\1/p' README.md | grep -o '`[^`]*`' | tr -d '\140'); do
	case $name in l1 | edges | l2 | lp | pinball | asymmetric | huber | deadzone | exceed) continue ;; esac
	grep -qE "^(Theorem|Lemma|Definition) $name\b" ./*.v || fail "README.md: there is no theorem $name"
done

echo "proofs: coqc $version"
coq_makefile -f _CoqProject -o Makefile.coq
"${MAKE:-make}" --no-print-directory -j"$(getconf _NPROCESSORS_ONLN)" -f Makefile.coq >"$work/built" 2>&1 || {
	cat "$work/built" >&2
	fail "a proof does not build with Coq $version (they are written for 8.16)"
}

# The theories by themselves; they load all others.
echo "proofs: coqchk"
modules=$(sed -n 's/^\(.*\)\.v$/Noisewright.\1/p' _CoqProject)
# shellcheck disable=SC2086 # one argument a module
coqchk -silent -o -Q . Noisewright $modules >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "coqchk refuses what was built"; }
sed -n '/^\* Axioms:/,/^ *$/p' "$work/said" | sed '1d; s/^ *//; /^$/d' | sort >"$work/axioms"
LC_ALL=C sort "$work/axioms" | diff -u axioms.txt - || fail "what is assumed is not what proofs/axioms.txt lists"
[ "$(grep -c '<none>' "$work/said")" -eq 3 ] || { cat "$work/said" >&2; fail "coqchk lists something unsafe"; }
echo "proofs: $(echo "$modules" | wc -l) files, assumed: classical real numbers"

cd ..
files=$(grep -l '"noisewright-table"' docs/*.json python/tests/data/files/*.json | xargs ls -S)
# shellcheck disable=SC2086 # one argument a file
python3 scripts/proofs.py theorems "$program" $(echo "$files" | tail -n "${THEOREMS:-28}") $(grep -lE '"noisewright-(randomizer|kernel|subset)"' python/tests/data/files/*.json)
if [ "${DESIGNS:-0}" -gt 0 ]; then
	"${GO:-go}" run ./lp/internal/problems -program "$program" ${PROBLEMS_FILE:+-file "$PROBLEMS_FILE"} -n "$DESIGNS" \
		-only "$(seq -s, 1 "$DESIGNS")" -tables "$work" >"$work/designed" || { cat "$work/designed" >&2; fail "problems are not designed"; }
	# shellcheck disable=SC2046 # one argument a file
	python3 scripts/proofs.py designs "$program" $(ls "$work"/[0-9]*.json)
fi
python3 scripts/proofs.py ledgers "$program"
python3 scripts/proofs.py conjuncts "${CONDITIONS:-2}" "${TABLE_MUTANTS_SEED:-1}"

echo "proofs: noisewright-check"
command -v ocamlfind >/dev/null && ocamlfind query zarith >/dev/null 2>&1 || {
	echo "proofs: noisewright-check and what compares it are skipped: there is no ocamlfind, or no zarith ($install)"
	exit 0
}
checker=.deps/proofs
mkdir -p $checker
cp proofs/checker/*.v proofs/checker/*.ml $checker
build() {
	ocamlfind ocamlopt -package zarith,unix -linkpkg -w -a checked.mli checked.ml "$1.ml" -o "noisewright-$2"
}
(cd $checker && coqc -Q ../../proofs Noisewright Extract.v >/dev/null && build main check && build draw draw) >"$work/said" 2>&1 || {
	cat "$work/said" >&2
	fail "noisewright-check does not build"
}
NOISEWRIGHT_DRAW=$PWD/$checker/noisewright-draw "${GO:-go}" test -count=1 -run '^TestExtractedDraws$' ./sampler >"$work/said" 2>&1 || {
	cat "$work/said" >&2
	fail "the sampler and Sampler.v draw differently"
}
echo "proofs: the sampler draws what Sampler.v draws"
python3 scripts/proofs.py large "$program" $checker/noisewright-check
python=.deps/python/bin/python
[ -x $python ] || { echo "proofs: what compares noisewright-check is skipped: make test-python has not made an environment for python/"; exit 0; }
valid=$(echo "$files" | grep -Ev 'false|moved|ratio-zero' | tail -n 25; grep -l '"noisewright-subset"' python/tests/data/files/*.json | grep -v false)
export PYTHONPATH=python/src
# shellcheck disable=SC2086
$python scripts/proofs.py mutants "$program" $checker/noisewright-check "${TABLE_MUTANTS:-300}" "${TABLE_MUTANTS_SEED:-1}" $valid
# shellcheck disable=SC2086
$python scripts/proofs.py formats "$program" $checker/noisewright-check "${TABLE_FORMATS:-300}" "${TABLE_MUTANTS_SEED:-1}" $valid
