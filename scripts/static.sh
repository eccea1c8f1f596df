#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds, tests or lints with HiGHS as WebAssembly, the tag highswasm, without cgo:
#
#   static.sh build OS/ARCH…   static programs, LICENSES.txt, sbom.cdx.json and SHA256SUMS in dist
#   static.sh program FILE      the program for this machine
#   static.sh test             the tests of lp/highs, and one design through the program
#   static.sh lint LINTER      golangci-lint on lp/highs
#
# Where HiGHS as WebAssembly cannot be fetched, build and program fail, test and lint say so and are done.
set -eu

task=$1
shift
cd "$(dirname "$0")/.."
GO=${GO:-go}
export CGO_ENABLED=0 GOFLAGS=-tags=highswasm

if [ "$task" = build ] || [ "$task" = program ]; then
	sh scripts/wasm.sh
elif ! sh scripts/wasm.sh; then
	echo "$task: HiGHS as WebAssembly is skipped"
	exit 0
fi

. scripts/version.sh

# program FILE builds the program for GOOS and GOARCH: the same bytes for the same commit, wherever that is.
program() {
	cli=github.com/noisewright/noisewright/cmd/internal/cli
	"$GO" build -trimpath -buildvcs=false -ldflags="-s -w -buildid= -X $cli.number=$VERSION -X $cli.commit=$COMMIT" -o "$1" ./cmd/noisewright
}

case $task in
build)
	rm -rf dist
	mkdir dist
	for platform; do
		os=${platform%/*} arch=${platform#*/} suffix=
		[ "$os" != windows ] || suffix=.exe
		file=dist/noisewright-$VERSION-$os-$arch$suffix
		echo "static: $file"
		GOOS=$os GOARCH=$arch program "$file"
	done
	sh scripts/licenses.sh dist "$VERSION" "$@"
	cd dist
	if command -v sha256sum >/dev/null; then sha256sum noisewright-*; else shasum -a 256 noisewright-*; fi >SHA256SUMS
	;;
program)
	program "$1"
	;;
test)
	echo "test: lp/highs with HiGHS as WebAssembly"
	"$GO" test -timeout "${TEST_TIMEOUT:-45m}" ./lp/highs
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	program "$work/noisewright"
	# Twice: without a cache of machine code, and with what the first run left in it.
	for table in first.json second.json; do
		env -i HOME="$work" "$work/noisewright" design --query integer --epsilon 1 --delta 0.1 --sensitivity 2 --loss l1 -o "$work/$table" >"$work/design"
		"$work/noisewright" verify "$work/$table" >"$work/verify"
	done
	cmp "$work/first.json" "$work/second.json"
	echo "test: a static program designed noise for counts, and verified it"
	;;
lint)
	echo "lint: lp/highs with HiGHS as WebAssembly"
	"$1" run ./lp/highs
	;;
*)
	echo "static.sh: $task, want build, program, test or lint" >&2
	exit 2
	;;
esac
