#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds proofs/ with Coq, and has coqchk check what was built by itself and list what is assumed, which has to be
# proofs/axioms.txt: Coq's classical real numbers. Where there is no Coq it says so and is done.
set -eu
cd "$(dirname "$0")/../proofs"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

fail() {
	echo "proofs: $1" >&2
	exit 1
}

for tool in coqc coq_makefile coqchk; do
	command -v $tool >/dev/null || {
		echo "proofs: proofs/ is skipped: there is no $tool (on Debian: apt-get install coq libcoq-stdlib ocaml-nox ocaml-findlib libzarith-ocaml-dev)"
		exit 0
	}
done

# Also what coqchk would find, but by name.
if grep -nE '^[[:space:]]*(Axiom|Axioms|Parameter|Parameters|Conjecture|Admitted)\b|\b(admit|Admitted)\b|bypass_check' ./*.v; then
	fail "a statement is assumed above, want a proof"
fi
lines=$(wc -l <Statement.v)
[ "$lines" -le 120 ] || fail "Statement.v has $lines lines, want at most 120"

echo "proofs: coqc"
coq_makefile -f _CoqProject -o Makefile.coq
"${MAKE:-make}" --no-print-directory -f Makefile.coq >"$work/built" 2>&1 || { cat "$work/built" >&2; fail "a proof does not build"; }

# The theories by themselves; they load all others.
echo "proofs: coqchk"
modules=$(sed -n 's/^\(.*\)\.v$/Noisewright.\1/p' _CoqProject)
# shellcheck disable=SC2086 # one argument a module
coqchk -silent -o -Q . Noisewright $modules >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "coqchk refuses what was built"; }
sed -n '/^\* Axioms:/,/^ *$/p' "$work/said" | sed '1d; s/^ *//; /^$/d' | sort >"$work/axioms"
LC_ALL=C sort "$work/axioms" | diff -u axioms.txt - || fail "what is assumed is not what proofs/axioms.txt lists"
[ "$(grep -c '<none>' "$work/said")" -eq 3 ] || { cat "$work/said" >&2; fail "coqchk lists something unsafe"; }
echo "proofs: $(echo "$modules" | wc -l) files, assumed: classical real numbers"
