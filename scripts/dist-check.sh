#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks what scripts/dist.sh left in dist, as somebody has it who has nothing else, and says how long each took:
#
#   contents   the hashes; and that LICENSES.txt and sbom.cdx.json have every module of every program
#              and that what the image's recipe copies is there
#   scratch    the program for this machine alone in a file system of its own, where it designs noise and verifies it
#   wheel      in a bare Debian without Go and a compiler: pip installs the wheel, and Python designs noise
#              and releases statistics of 50,000 rows
#   deb        there too: the package is installed, with its manual page
#   go         go install, with empty caches, from a module proxy in a folder, at the tag of the version
#   again      a second build, of a clone in another folder, gives the same bytes; longer, so only if named
#
# dist-check.sh [CHECK…] runs those, or all but the last. It needs root, for chroot, and debootstrap for Debian (or
# DEBIAN, a folder that has one with python3-venv); where one is missing it says what it does in its place.
set -eu
export LC_ALL=C

cd "$(dirname "$0")/.."
GO=${GO:-go}
. scripts/version.sh
root=$PWD
arch=$("$GO" env GOARCH)
program=$root/dist/noisewright-$VERSION-linux-$arch
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

die() { printf 'dist-check: error: %s\n' "$*" >&2; exit 1; }
isroot() { [ "$(id -u)" = 0 ]; }
[ -f dist/SHA256SUMS ] || die "there is no dist: run make dist"

# uses PROGRAM designs noise and verifies it, by a command in front of the program.
uses() {
	"$@" design --epsilon 1 --delta 1e-6 --sensitivity 1 --loss l1 -o table.json
	"$@" verify table.json
	"$@" version | grep -F "noisewright $VERSION ("
}

contents() {
	(cd dist && sha256sum --quiet -c SHA256SUMS && ls | grep -vx SHA256SUMS) >"$work/files"
	sed 's/^[0-9a-f]*  //' dist/SHA256SUMS | diff - "$work/files" || die "SHA256SUMS is not about the files in dist"
	for file in dist/noisewright-"$VERSION"-*-*64 dist/noisewright-"$VERSION"-*.exe; do
		[ ! -f "$file" ] || "$GO" version -m "$file"
	done >"$work/inside"
	awk '$1 == "dep" {print $2, $3}' "$work/inside" | sort -u >"$work/modules"
	[ "$(wc -l <"$work/modules")" -gt 20 ] || die "the programs have few modules"
	! grep -q '=>' "$work/inside" || die "a program has a module that is replaced"
	while read -r module version; do
		grep -qF "\"pkg:golang/$module@$version\"" dist/sbom.cdx.json || die "sbom.cdx.json lacks $module $version"
		grep -qF "==== $module $version: " dist/LICENSES.txt || die "LICENSES.txt lacks $module $version"
	done <"$work/modules"
	for file in $(sed -n "s/^COPY --chmod=[0-9]* \(.*\) [^ ]*$/\1/; s/\${VERSION}/$VERSION/; s/\${TARGETARCH}/$arch/p" packaging/Dockerfile); do
		[ -f "dist/$file" ] || die "packaging/Dockerfile copies $file, which is not in dist"
	done
	echo "$(wc -l <dist/SHA256SUMS) files; $(wc -l <"$work/modules") modules, all with a license and in the SBOM"
}

scratch() {
	mkdir "$work/scratch" && cp "$program" "$work/scratch/noisewright"
	enter=$(command -v chroot) user=
	isroot || user="unshare -r"
	uses $user env -i "$enter" "$work/scratch" /noisewright
	[ "$(ls "$work/scratch")" = "$(printf 'noisewright\ntable.json')" ] || die "files beside the program: $(ls "$work/scratch")"
}

# debian makes a Debian that has Python, and no Go and no compiler.
debian() {
	[ ! -d "$work/debian" ] || return 0
	if [ -n "${DEBIAN-}" ]; then
		cp -a "$DEBIAN" "$work/debian"
	else
		isroot && command -v debootstrap >/dev/null || return 1
		debootstrap --variant=minbase --include=python3-venv bookworm "$work/debian" >"$work/log" 2>&1 || { tail "$work/log" >&2; return 1; }
	fi
	for tool in go cc gcc clang; do
		! chroot "$work/debian" sh -c "command -v $tool" || die "that Debian has $tool"
	done
}

wheel() {
	cat >"$work/use.py" <<'END'
import os, tempfile
import numpy as np, pandas as pd
import noisewright as nw

os.chdir(tempfile.mkdtemp())
design = nw.design(epsilon=1, delta=1e-6, sensitivity=1)
print(f"designed noise of expected loss {design.expected_loss:.4f}, at least {design.lower_bound:.4f}, by {nw.program.program()}")
people = pd.DataFrame({"age": np.arange(50_000) % 100, "city": np.where(np.arange(50_000) % 3 == 0, "Ulm", "Bonn")})
ledger = nw.Ledger.create("city.ledger", epsilon=2, delta=1e-6)
print(nw.release(people, nw.count(where='city == "Ulm"'), nw.mean("age", bounds=(0, 100)), ledger=ledger, epsilon=1, delta=1e-7))
END
	file=$(ls dist/*manylinux*"$(uname -m)"*.whl)
	if ! debian; then
		echo "no Debian to be had: in a virtual environment with an empty PATH"
		python3 -m venv "$work/venv"
		"$work/venv/bin/python" -m pip install -q --disable-pip-version-check "$file[pandas]"
		env -i HOME="$work" PATH= "$work/venv/bin/python" "$work/use.py"
		return
	fi
	python=$(chroot "$work/debian" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
	mkdir -p "$work/debian/wheels"
	# What is downloaded here is installed there, without a network.
	python3 -m venv "$work/venv"
	"$work/venv/bin/python" -m pip download -q --disable-pip-version-check --only-binary :all: --python-version "$python" \
		--platform "manylinux_2_28_$(uname -m)" --platform "manylinux_2_17_$(uname -m)" -d "$work/debian/wheels" "$file[pandas]"
	cp "$work/use.py" "$work/debian/use.py"
	chroot "$work/debian" python3 -m venv /venv
	chroot "$work/debian" env -i HOME=/root PATH=/usr/bin:/bin /venv/bin/python -m pip install -q --disable-pip-version-check \
		--no-index --find-links /wheels 'noisewright[pandas]'
	env -i HOME=/root PATH=/usr/sbin:/usr/bin:/bin chroot "$work/debian" /venv/bin/python /use.py
	echo "in Debian $(cat "$work/debian/etc/debian_version"), Python $python"
}

deb() {
	if ! debian; then
		echo "no Debian to be had: the package is only listed"
		dpkg-deb -c "dist/noisewright_${VERSION}_$arch.deb" | grep ' ./usr/bin/noisewright$'
		return
	fi
	cp "dist/noisewright_${VERSION}_$arch.deb" "$work/debian/noisewright.deb"
	chroot "$work/debian" dpkg -i /noisewright.deb
	uses chroot "$work/debian" noisewright
	chroot "$work/debian" dpkg -L noisewright | grep -x /usr/share/man/man1/noisewright-design.1.gz
}

go_install() {
	module=github.com/noisewright/noisewright
	git clone -q --no-local . "$work/clone"
	git -C "$work/clone" -c user.name=check -c user.email= tag -f "v$VERSION" >/dev/null
	# Go makes the archive of the module from the tag, as a proxy does; then that is the only place to have it from,
	# and this machine's cache that of its requirements.
	GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=url.file://$work/clone.insteadOf GIT_CONFIG_VALUE_0=https://$module \
		GOMODCACHE=$work/made GOPROXY=direct GONOSUMDB=$module GOFLAGS=-modcacherw "$GO" -C "$work" mod download "$module@v$VERSION"
	"$GO" mod download
	begin=$(date +%s)
	env -i PATH="$PATH" HOME="$work/home" GOTOOLCHAIN=local GOFLAGS=-modcacherw GONOSUMDB=$module CGO_ENABLED=0 \
		GOPROXY="file://$work/made/cache/download,file://$("$GO" env GOMODCACHE)/cache/download" GOSUMDB=off \
		"$GO" -C "$work" install "$module/cmd/noisewright@v$VERSION"
	echo "go install took $(($(date +%s) - begin)) s"
	cd "$work"
	uses "$work/home/go/bin/noisewright"
	"$work/home/go/bin/noisewright" version | grep -F "noisewright $VERSION (go"
}

again() {
	git clone -q --no-local . "$work/again"
	set -- $(ls dist | sed -n "s/^noisewright-$VERSION-\([a-z]*\)-\([a-z]*64\)\(.exe\)\{0,1\}$/\1\/\2/p")
	(cd "$work/again" && sh scripts/dist.sh "$@")
	diff dist/SHA256SUMS "$work/again/dist/SHA256SUMS" || die "a second build gives other bytes"
	echo "a second build, for $*, gives the same bytes"
}

[ $# -gt 0 ] || set -- contents scratch wheel deb go
for check; do
	begin=$(date +%s)
	echo "dist-check: $check"
	case $check in
	go) (go_install) ;;
	contents | scratch | wheel | deb | again) (cd "$root" && "$check") ;;
	*) die "there is no check $check" ;;
	esac
	echo "dist-check: $check passed in $(($(date +%s) - begin)) s"
done
