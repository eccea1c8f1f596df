#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/beam.sh ENGINE runs integrations/beam/trial on prism, flink or spark: counts, sums
# and means of ROWS rows, with public partitions and with selected ones, a CSV file with
# noise in every row; and CRASHES pipelines each with one statistic, with three and with rows,
# in which a bundle fails once behind every step. CRASHES_ONLY=1 leaves out the former, and
# WHAT=three all but the pipelines with three.
# Jars go to .deps/beam-ENGINE, by Maven; nothing is installed elsewhere but java and maven,
# by apt-get, where they are missing and this is root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
engine=${1:?which engine: prism, flink or spark}
rows=${ROWS:-1000000}
crashes=${CRASHES:-3}
port=${BEAM_PORT:-18099}
deps=$PWD/.deps/beam-$engine
work=$(mktemp -d)
server=
cleanup() {
	# With its workers, which are of its process group.
	if [ -n "$server" ]; then kill -- -"$server" 2>/dev/null || true; fi
	rm -rf "$work"
}
trap cleanup EXIT

java_tools() {
	if command -v java >/dev/null && command -v mvn >/dev/null; then return; fi
	if ! command -v apt-get >/dev/null || ((EUID != 0)); then
		echo "beam: java (11 or 17) and mvn are missing: install them, such as Debian's default-jdk-headless and maven" >&2
		exit 1
	fi
	echo "beam: installing java and maven"
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends default-jdk-headless maven >/dev/null
}

# jars fetches them once for each version of the pom.
jars() {
	local pom=integrations/beam/engines/$engine/pom.xml
	if cmp -s "$pom" "$deps/pom.xml"; then return; fi
	echo "beam: jars of $engine into .deps, some 200 MB"
	rm -rf "$deps"
	mkdir -p "$deps/lib"
	mvn -B -q -f "$pom" org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
		-DincludeScope=runtime -DoutputDirectory="$deps/lib"
	cp "$pom" "$deps/pom.xml"
}

# start starts the job server, which runs the engine inside.
start() {
	local main opens=() package
	if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
		echo "beam: port $port is taken: want another, BEAM_PORT=…" >&2
		exit 1
	fi
	for package in lang lang.invoke lang.reflect io net nio time util util.concurrent; do
		opens+=("--add-opens=java.base/java.$package=ALL-UNNAMED")
	done
	opens+=(--add-opens=java.base/sun.nio.ch=ALL-UNNAMED)
	case $engine in
	flink)
		# Without a restart strategy a job ends with its first failure.
		printf 'restart-strategy: fixed-delay\nrestart-strategy.fixed-delay.attempts: 100\nrestart-strategy.fixed-delay.delay: 100 ms\n' >"$work/flink-conf.yaml"
		main=(org.apache.beam.runners.flink.FlinkJobServerDriver '--flink-master=[local]' --flink-conf-dir="$work")
		;;
	spark) # two cores, a hundred attempts at a task
		main=(org.apache.beam.runners.spark.SparkJobServerDriver '--spark-master-url=local[2,100]')
		;;
	esac
	set -m # a process group of its own, in a directory that workers may write to
	env -C "$work" java -Xmx3g "${opens[@]}" -cp "$deps/lib/*" "${main[@]}" --job-host=127.0.0.1 --job-port="$port" \
		--artifact-port=0 --expansion-port=0 --artifacts-dir="$work/artifacts" >"$work/server.log" 2>&1 &
	server=$!
	set +m
	for _ in $(seq 120); do
		if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then return; fi
		if ! kill -0 "$server" 2>/dev/null; then break; fi
		sleep 1
	done
	echo "beam: the job server of $engine does not start:" >&2
	tail -n 20 "$work/server.log" >&2
	exit 1
}

# trial runs one, with what the SDK logs kept for a failure.
trial() {
	echo "beam: trial $*"
	mkdir -p "$work/data"
	"$work/trial" -dir "$work/data" -rows "$rows" "$@" "${runner[@]}" 2>"$work/trial.log" || {
		code=$?
		grep -v ' INFO ' "$work/trial.log" | tail -n 40 >&2
		exit "$code"
	}
}

export CGO_ENABLED=0
(cd integrations/beam && go build -o "$work/trial" ./trial)
if [ "$engine" = prism ]; then
	runner=(--runner=prism)
else
	java_tools
	jars
	start
	runner=(--runner=universal --endpoint="127.0.0.1:$port" --environment_type=LOOPBACK)
fi
if [ -z "${CRASHES_ONLY:-}" ]; then
	trial -mode aggregate
	trial -mode select
	trial -mode privatize
fi
for what in ${WHAT:-one three rows}; do
	trial -mode crash -what "$what" -times "$crashes" -rows 20000
done
if [ "$engine" = flink ]; then
	# Workers in processes of their own, to be killed. Spark's runner waits for ever for one
	# that was killed.
	(cd integrations/beam && go build -o "$work/boot" github.com/apache/beam/sdks/v2/go/container)
	runner=(--runner=universal --endpoint="127.0.0.1:$port" --environment_type=PROCESS
		--environment_config="{\"command\":\"$work/boot\"}" --worker_binary="$work/trial")
	trial -mode crash -what three -times "$((crashes < 3 ? crashes : 3))" -rows 20000 -kill
fi
