#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Designs and verifies a table for every combination of the grid below and
# prints docs/benchmarks.md's table: gap, cells, seconds. One core is enough.
#
#   sh scripts/benchmark-design.sh > table.md
set -eu
cd "$(dirname "$0")/.."
program=bin/noisewright
limit=${LIMIT:-20s}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# field NAME FILE prints a number or string of a flat JSON object.
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" "$2"; }

echo "| loss | ε | δ | expected loss | gap | cells | K | rounds | seconds | status | verify |"
echo "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
for loss in l1 l2; do
	for epsilon in 0.005 0.1 1 3 5 10; do
		for delta in 1e-9 1e-6 1e-3 0.1 0.5; do
			code=0
			"$program" design --epsilon "$epsilon" --delta "$delta" --sensitivity 1 --loss "$loss" \
				--time-limit "$limit" --json --quiet --force -o "$work/table.json" >"$work/result.json" 2>"$work/error" || code=$?
			if [ "$code" -ne 0 ] && [ "$code" -ne 4 ]; then
				cat "$work/error" >&2
				exit 1
			fi
			"$program" verify "$work/table.json" >/dev/null && verdict=ok || verdict=FALSE
			printf '| %s | %s | %s | %.6g | %.4f %% | %s | %s | %s | %.2f | %s | %s |\n' "$loss" "$epsilon" "$delta" \
				"$(field expected_loss "$work/result.json")" \
				"$(field gap "$work/result.json" | awk '{print 100*$1}')" \
				"$(field cells "$work/result.json")" "$(field cells_per_sensitivity "$work/result.json")" \
				"$(field rounds "$work/result.json")" "$(field seconds "$work/result.json")" \
				"$(field status "$work/result.json")" "$verdict"
		done
	done
done
