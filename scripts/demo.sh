#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The whole path in one go: design noise, verify it, compare it with the
# classical mechanisms, plot it, and privatize a column of a CSV file. `make
# demo` builds the program and runs this.
#
# Everything is written to DEMO_OUT, ./demo-out unless set. The CSV file is the
# census data set "adult" if it lies beside the repository, as
# ../shared/data/adult/adult.csv.gz, and a small synthetic one otherwise.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
out=${DEMO_OUT:-demo-out}
program=$root/bin/noisewright
adult=$root/../shared/data/adult/adult.csv.gz
column=hours-per-week

[ -x "$program" ] || { echo "demo: error: bin/noisewright is missing, want make build first" >&2; exit 1; }
mkdir -p "$out"
cd "$out"
rm -f table.json figure.svg figure-log.png hours.json private.csv # of an earlier run: nothing is overwritten

say() { printf '\n%s\n' "$*"; }

# noisewright ARG... echoes the command and runs it.
noisewright() {
	printf '$ noisewright %s\n' "$*" >&3
	"$program" "$@"
}
exec 3>&1

say "1. Design noise for a query that one person changes by at most 1."
noisewright design --epsilon 1 --delta 1e-6 --sensitivity 1 --loss l1 -o table.json

say "2. Check every claim of the table again, in exact arithmetic."
noisewright verify table.json

say "3. Compare it with the classical mechanisms (notes cut here, whole in compare.txt)."
noisewright compare --epsilon 1 --delta 1e-6 --sensitivity 1 --loss l1 >compare.txt
cut -c 1-90 compare.txt

say "4. Draw it, with both kinds of density axis."
noisewright plot table.json -o figure.svg
noisewright plot table.json --log -o figure-log.png

if [ -f "$adult" ]; then
	data=adult.csv
	gzip -dc "$adult" >"$data"
	say "5. Privatize working hours in the census data set \"adult\": 0 to 100, so sensitivity 100."
else
	# The numbers of a fixed linear congruential generator, to be the same everywhere.
	data=synthetic.csv
	awk -v column="$column" 'BEGIN {
		print "person," column
		for (i = 1; i <= 20000; i++) {
			sum = 0
			for (j = 0; j < 4; j++) { x = (x * 16807 + 12345) % 2147483647; sum += x / 2147483647 }
			print i "," int(sum * 20)
		}
	}' >"$data"
	say "5. Privatize working hours in SYNTHETIC data, made up by this script: 0 to 100, so sensitivity 100."
fi
noisewright design --epsilon 1 --delta 1e-6 --sensitivity 100 --loss l1 --quiet -o hours.json
noisewright privatize hours.json --column "$column" --lower 0 --upper 100 "$data" -o private.csv

loss=$(sed -n 's/.*"expected_loss":"\([0-9.]*\)".*/\1/p' hours.json)
awk -F, -v column="$column" -v loss="$loss" '
	FNR == 1 { for (at = 1; at <= NF && $at != column; at++); next }
	NR == FNR { value[FNR] = $at; before += $at; next }
	{
		rows++; after += $at; d = $at - value[FNR]; error += d < 0 ? -d : d
		if (rows <= 5) { was = was sprintf("%10s", value[FNR]); is = is sprintf("%10.2f", $at) }
	}
	END {
		print "The line \"before\" can be shown because these data are not secret."
		printf "before %s ...  mean of %d: %.2f\n", was, rows, before / rows
		printf "after  %s ...  mean of %d: %.2f\n", is, rows, after / rows
		printf "mean absolute noise %.2f, the table promises %.2f\n", error / rows, loss
	}' "$data" private.csv

say "All of it is in $out."
