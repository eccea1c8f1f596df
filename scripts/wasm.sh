#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fetches HiGHS as WebAssembly for builds with the tag highswasm: the npm package
# highs, checked against the hashes below. Its version is not that of HiGHS. It leaves its license and two files
# beside lp/highs/wasm.go, which embeds them: highs.wasm, and highs.names, because the module calls its
# imports and exports by letters that only the JavaScript beside it explains.
set -eu

package=1.15.3
version=1.15.1
package_sha256=218533577886c69023739024bb92cfc2831ba45ff1fd1fd981753c04cded9793
wasm_sha256=528be4365bea1d4188988646b244263f50320df55782e14d6af5bce7cd45c840

root=$(cd "$(dirname "$0")/.." && pwd)
target=$root/lp/highs

say() { printf 'wasm: %s\n' "$*" >&2; }
die() { printf 'wasm: error: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# hashed SHA256 FILE reports whether the file is there and has the hash.
hashed() {
	[ -f "$2" ] || return 1
	if have sha256sum; then sum=$(sha256sum "$2"); else sum=$(shasum -a 256 "$2"); fi
	[ "${sum%% *}" = "$1" ]
}

have sha256sum || have shasum || die "sha256sum and shasum are missing: install one of them"
if hashed $wasm_sha256 "$target/highs.wasm" && [ "$(head -n 1 "$target/highs.names" 2>/dev/null)" = "version $version" ] &&
	[ -s "$target/highs.license" ]; then
	exit 0
fi
have npm || die "npm is missing: install it (Debian and Homebrew: npm); it fetches HiGHS as WebAssembly"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say "fetching HiGHS $version as WebAssembly with npm"
(cd "$work" && npm pack --silent "highs@$package" </dev/null >npm.log 2>&1) || {
	sed 's/^/    /' "$work/npm.log" >&2
	die "npm could not fetch highs $package, see above"
}
archive=$work/highs-$package.tgz
hashed $package_sha256 "$archive" || die "the npm package highs $package does not have the hash $package_sha256"
tar -xzf "$archive" -C "$work"
built=$work/package/build
hashed $wasm_sha256 "$built/highs.wasm" || die "highs.wasm of highs $package does not have the hash $wasm_sha256"
{
	echo "version $version"
	# var wasmImports={a:___cxa_throw,b:_exit,…}
	grep -o 'var wasmImports={[^}]*}' "$built/highs.js" | sed 's/.*{//; s/}//' | tr ',' '\n' |
		sed -n 's/^\(.*\):_\(.*\)$/import \2 \1/p'
	# _Highs_run=Module["_Highs_run"]=wasmExports["N"], _malloc=…; the constructors
	# have no name but a place: initRuntime calls them.
	grep -oE '_[A-Za-z_]+"\]=wasmExports\["[^"]*"\]' "$built/highs.js" |
		sed 's/^_\([A-Za-z_]*\)"\]=wasmExports\["\(.*\)"\]$/export \1 \2/'
	grep -oE '[^A-Za-z_]memory=wasmMemory=wasmExports\["[^"]*"\]' "$built/highs.js" |
		sed 's/.*\["\(.*\)"\]$/export memory \1/'
	grep -o 'function initRuntime(){[^}]*}' "$built/highs.js" |
		sed -n 's/.*wasmExports\["\(.*\)"\]().*/export constructors \1/p'
} >"$work/names"
mv "$work/names" "$target/highs.names"
mv "$work/package/LICENSE" "$target/highs.license"
mv "$built/highs.wasm" "$target/highs.wasm"
say "HiGHS $version in lp/highs"
