#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Finds or fetches HiGHS, the LP solver, and writes .deps/pkgconfig/highs.pc,
# which the Makefile puts first on PKG_CONFIG_PATH. Nothing is installed outside
# .deps. Done once; later runs only look at the result.
#
# Tried in this order, or one of them forced with HIGHS_FROM:
#   system     the HiGHS development package pkg-config knows (1.7 or later)
#   highsbox   the prebuilt library of the Python package of that name, fetched
#              with pip against the hashes in scripts/highsbox.txt
#   source     the C++ sources in the Rust crate highs-sys, fetched with cargo,
#              checked against the hash below and built with cmake
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
deps=$root/.deps
pc=$deps/pkgconfig/highs.pc
stamp=$deps/highs.stamp
highs_from=${HIGHS_FROM:-auto}
least=1.7
crate_version=1.15.0
crate_sha256=e4da0c52322648e2360a5a8896d23301fa5ed99ed7607c5faf229bd0bbb30d3f
cc=${CC:-cc}

say() { printf 'deps: %s\n' "$*" >&2; }
die() { printf 'deps: error: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

case $highs_from in
auto | system | highsbox | source) ;;
*) die "HIGHS_FROM = $highs_from, want auto, system, highsbox or source" ;;
esac

# The stamp is the origin and the tree's own path, which highs.pc holds.
if [ -f "$pc" ] && [ -f "$stamp" ]; then
	read -r done_from <"$stamp"
	done_root=$(sed -n 2p "$stamp")
	done_lib=$(sed -n 3p "$stamp")
	if [ "$done_root" = "$root" ] && [ -e "$done_lib" ] &&
		{ [ "$highs_from" = auto ] || [ "$highs_from" = "$done_from" ]; }; then
		exit 0
	fi
fi

have pkg-config || die "pkg-config is missing: install it (Debian: pkg-config, Homebrew: pkgconf)"
have "$cc" || die "the C compiler $cc is missing: install one (Debian: gcc, macOS: xcode-select --install), or set CC"

mkdir -p "$deps/pkgconfig"
work=$deps/work
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT
rm -f "$pc" "$stamp"

# PKG_CONFIG_PATH without our own directory, for the look at the system.
outer_path=$(printf %s "${PKG_CONFIG_PATH:-}" | tr ':' '\n' | grep -Fxv "$deps/pkgconfig" | tr '\n' ':' || true)
system_pkg_config() { PKG_CONFIG_PATH=${outer_path%:} pkg-config "$@"; }

# library DIR prints the shared or static HiGHS library in DIR.
library() {
	for file in "$1"/libhighs.so "$1"/libhighs.dylib "$1"/libhighs.a "$1"/libhighs.dll.a; do
		if [ -e "$file" ]; then
			printf '%s\n' "$file"
			return 0
		fi
	done
	return 1
}

# write_pc ORIGIN VERSION LIBDIR INCLUDEDIR [MORE LIBS] writes highs.pc. The run
# path lets a binary find the library from any directory.
write_pc() {
	cat >"$pc" <<PC
# Written by scripts/deps.sh ($1).
libdir=$3
includedir=$4

Name: HiGHS
Description: Linear Optimization Software
URL: https://github.com/ERGO-Code/HiGHS
Version: $2
Libs: "-L\${libdir}" "-Wl,-rpath,\${libdir}" -lhighs${5:+ $5}
Cflags: "-I\${includedir}"
PC
}

# probe compiles, links and runs a program against highs.pc and prints the
# version of the library.
probe() {
	cat >"$work/probe.c" <<'C'
#include <stdio.h>
#include "interfaces/highs_c_api.h"
int main(void) { return puts(Highs_version()) < 0; }
C
	flags=$(PKG_CONFIG_PATH=$deps/pkgconfig pkg-config --cflags --libs highs) || return 1
	# pkg-config quotes for the shell.
	eval "$cc -o \"\$work/probe\" \"\$work/probe.c\" $flags" >"$work/probe.log" 2>&1 && "$work/probe" 2>>"$work/probe.log"
}

# finish ORIGIN LIBDIR checks highs.pc and stamps it.
finish() {
	if ! found=$(probe); then
		say "HiGHS from $1 does not compile, link or run:"
		sed 's/^/    /' "$work/probe.log" >&2
		rm -f "$pc"
		return 1
	fi
	printf '%s\n%s\n%s\n' "$1" "$root" "$(library "$2")" >"$stamp"
	say "HiGHS $found from $1"
}

from_system() {
	if ! system_pkg_config --exists highs; then
		why="pkg-config knows no package highs (Homebrew: highs; Debian: libhighs-dev)"
		return 1
	fi
	version=$(system_pkg_config --modversion highs)
	if ! system_pkg_config --atleast-version=$least highs; then
		why="the system's HiGHS is $version, want $least or later"
		return 1
	fi
	libdir=$(system_pkg_config --variable=libdir highs)
	includedir=$(system_pkg_config --variable=includedir highs)
	# Some packages name the parent of the folder with the headers.
	if [ ! -f "$includedir/interfaces/highs_c_api.h" ] && [ -f "$includedir/highs/interfaces/highs_c_api.h" ]; then
		includedir=$includedir/highs
	fi
	if ! library "$libdir" >/dev/null; then
		why="the system's highs.pc names $libdir, which has no library highs"
		return 1
	fi
	more=
	case $(library "$libdir") in *.a) more=$(system_pkg_config --static --libs-only-l highs | sed 's/-lhighs//')" -lstdc++ -lm -lpthread" ;; esac
	write_pc system "$version" "$libdir" "$includedir" "$more"
	finish system "$libdir" || { why="the system's HiGHS $version does not work"; return 1; }
}

from_highsbox() {
	python=
	for p in python3 python; do
		if have $p && $p -m pip --version >/dev/null 2>&1; then
			python=$p
			break
		fi
	done
	if [ -z "$python" ]; then
		why="python3 with pip is missing (Debian: python3-pip)"
		return 1
	fi
	say "fetching prebuilt HiGHS (highsbox) with pip"
	if ! $python -m pip --disable-pip-version-check download --quiet --require-hashes --no-deps \
		--only-binary :all: --dest "$work/wheel" -r "$root/scripts/highsbox.txt" </dev/null >"$work/pip.log" 2>&1; then
		sed 's/^/    /' "$work/pip.log" >&2
		why="pip found no fitting highsbox, see above"
		return 1
	fi
	$python -m zipfile -e "$work"/wheel/highsbox-*.whl "$work/unpacked"
	dist=$(find "$work/unpacked" -type d -name highs_dist | head -n 1)
	if [ ! -f "$dist/include/highs/interfaces/highs_c_api.h" ]; then
		why="the highsbox package is not laid out as expected"
		return 1
	fi
	rm -rf "$deps/highsbox"
	mkdir -p "$deps/highsbox/lib"
	mv "$dist/include" "$deps/highsbox/include"
	# The BLAS beside it serves an interior point method we do not use.
	find "$dist" -name 'libhighs*' ! -type d -exec mv {} "$deps/highsbox/lib/" \;
	version=$(sed -n 's/^highsbox==\([0-9.]*\).*/\1/p' "$root/scripts/highsbox.txt")
	write_pc highsbox "$version" "$deps/highsbox/lib" "$deps/highsbox/include/highs"
	finish highsbox "$deps/highsbox/lib" || { why="the prebuilt HiGHS does not work here"; return 1; }
}

from_source() {
	for tool in cargo cmake c++; do
		if ! have $tool; then
			why="$tool is missing, and a build from source needs cargo, cmake and a C++ compiler"
			return 1
		fi
	done
	say "fetching the HiGHS sources with cargo"
	# A package with nothing in it, never compiled: cargo checks the crate
	# against its index and leaves the hash beside the unpacked files.
	mkdir -p "$work/crate"
	cat >"$work/crate/Cargo.toml" <<TOML
[package]
name = "highs-source"
version = "0.0.0"
edition = "2021"

[lib]
path = "none.rs"

[dependencies]
highs-sys = { version = "=$crate_version", default-features = false }
TOML
	: >"$work/crate/none.rs"
	if ! cargo vendor --quiet --manifest-path "$work/crate/Cargo.toml" "$work/vendor" </dev/null >"$work/cargo.log" 2>&1; then
		sed 's/^/    /' "$work/cargo.log" >&2
		why="cargo could not fetch highs-sys, see above"
		return 1
	fi
	if ! grep -q "\"package\":\"$crate_sha256\"" "$work/vendor/highs-sys/.cargo-checksum.json"; then
		why="the crate highs-sys $crate_version does not have the hash $crate_sha256"
		return 1
	fi
	source=$work/vendor/highs-sys/HiGHS
	version=$(sed -n 's/^HIGHS_[MP][A-Z]*=//p' "$source/Version.txt" | head -n 3 | paste -sd . -)
	say "building HiGHS $version with cmake, some minutes"
	jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
	rm -rf "$deps/highs"
	if ! {
		cmake -S "$source" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON \
			-DCMAKE_INSTALL_PREFIX="$deps/highs" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_CXX_EXE=OFF \
			-DBUILD_TESTING=OFF -DBUILD_EXAMPLES=OFF -DBUILD_SHARED_EXTRAS_LIB=OFF -DZLIB=OFF &&
			cmake --build "$work/build" --parallel "$jobs" && cmake --install "$work/build"
	} </dev/null >"$work/cmake.log" 2>&1; then
		tail -n 30 "$work/cmake.log" | sed 's/^/    /' >&2
		why="the build failed, see above"
		return 1
	fi
	write_pc source "$version" "$deps/highs/lib" "$deps/highs/include/highs"
	finish source "$deps/highs/lib" || { why="the HiGHS just built does not work"; return 1; }
}

if [ "$highs_from" != auto ]; then
	"from_$highs_from" || die "no HiGHS from $highs_from: $why"
	exit 0
fi
for origin in system highsbox source; do
	if "from_$origin"; then
		exit 0
	fi
	say "not from $origin: $why"
done
die "found no HiGHS; install its development package and run make deps again"
