#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes targets one after another, whether or not one fails, and says at the end which did, and what they
# said of it. It fails if one did.
#
#   phases.sh NAME TARGET…
set -u

name=$1
shift
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

failed=
for target; do
	begin=$(date +%s)
	{
		"${MAKE:-make}" --no-print-directory "$target" </dev/null 2>&1
		echo $? >"$work/code"
	} | tee "$work/$target"
	if [ "$(cat "$work/code")" -eq 0 ]; then
		echo "$name: $target passed in $(($(date +%s) - begin)) s"
	else
		echo "$name: $target FAILED after $(($(date +%s) - begin)) s"
		failed="$failed $target"
	fi
done

if [ -z "$failed" ]; then
	echo "$name: all passed:" "$@"
	exit 0
fi
for target in $failed; do
	echo "$name: FAILED: make $target"
	# What of Go, pytest and a nested run says what failed; or else the last that was said.
	grep -E '^ *(--- FAIL|FAIL|FAILED|panic:)|: FAILED: |^mutants: (SURVIVED|stale)|\[build failed\]|^E  ' "$work/$target" >"$work/said" || tail -n 5 "$work/$target" >"$work/said"
	head -n 40 "$work/said" | sed 's/^/    /'
done
exit 1
