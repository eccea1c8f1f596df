#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fetches axe-core, the accessibility rules that the browser tests hold the pages against, into
# .deps, pinned by hash. It is MPL-2.0 and half a megabyte, so it is no part of the sources.
# Without npm it says so and fails; the tests then leave these rules out.
set -eu
cd "$(dirname "$0")/.."
version=4.10.3
sum=880970c081707360e64f34cea25ff91892f5bc95675b0776925b9709dd8a68bb
target=.deps/axe.min.js

check() { echo "$sum  $1" | sha256sum -c --status 2>/dev/null || [ "$(shasum -a 256 "$1" 2>/dev/null | cut -d' ' -f1)" = "$sum" ]; }

if [ -f "$target" ] && check "$target"; then
	exit 0
fi
if ! command -v npm >/dev/null; then
	echo "axe: npm is missing, want it to fetch axe-core $version" >&2
	exit 1
fi
mkdir -p .deps
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm pack "axe-core@$version" --silent --pack-destination "$dir" >/dev/null 2>&1 || {
	echo "axe: axe-core $version was not fetched" >&2
	exit 1
}
tar -xzf "$dir/axe-core-$version.tgz" -C "$dir" package/axe.min.js
check "$dir/package/axe.min.js" || {
	echo "axe: the file of axe-core $version has another hash than $sum" >&2
	exit 1
}
mv "$dir/package/axe.min.js" "$target"
