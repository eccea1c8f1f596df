#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes all of a release in dist, for PLATFORMs such as linux/amd64, and the same bytes for the same commit:
#
#   noisewright-VERSION-OS-ARCH        static programs (scripts/static.sh)
#   LICENSES.txt, sbom.cdx.json        what is inside them (scripts/licenses.sh); LICENSE and NOTICE are ours
#   noisewright-VERSION-share.tar.gz   manual pages and completions for bash, zsh and fish, for /usr/local/share
#   noisewright-VERSION-*.whl, .tar.gz wheels with the program inside, and the sources of the Python package
#   noisewright_VERSION_ARCH.deb       Debian packages
#   SHA256SUMS
#
# It needs Go, npm, GNU tar and Python with venv, and fetches HiGHS, hatchling and nfpm. packaging/Dockerfile
# makes an image of what is in dist.
set -eu
umask 022
export LC_ALL=C

cd "$(dirname "$0")/.."
GO=${GO:-go}
. scripts/version.sh
HATCHLING=hatchling==1.33.0
NFPM=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4

sh scripts/static.sh build "$@"
cp LICENSE NOTICE dist
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "dist: manual pages and completions"
share=$work/share
mkdir -p "$share/man/man1" "$share/doc/noisewright" \
	"$share/bash-completion/completions" "$share/zsh/vendor-completions" "$share/fish/vendor_completions.d"
sh scripts/static.sh program "$work/noisewright"
"$work/noisewright" man -o "$share/man/man1"
gzip -n9 "$share"/man/man1/*.1
"$work/noisewright" completion bash >"$share/bash-completion/completions/noisewright"
"$work/noisewright" completion zsh >"$share/zsh/vendor-completions/_noisewright"
"$work/noisewright" completion fish >"$share/fish/vendor_completions.d/noisewright.fish"
cp dist/NOTICE dist/LICENSES.txt dist/sbom.cdx.json "$share/doc/noisewright"
cp LICENSE "$share/doc/noisewright/copyright"
find "$share" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf - share |
	gzip -n9 >"dist/noisewright-$VERSION-share.tar.gz"

echo "dist: Python package"
git ls-files -z python | tar --null -T - -cf - | tar -C "$work" -xf -
cp LICENSE NOTICE "$work/python"
echo "__version__ = \"$VERSION\"" >"$work/python/src/noisewright/_version.py"
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install -q --disable-pip-version-check "$HATCHLING"
hatchling() { (cd "$work/python" && "$work/venv/bin/python" -m hatchling build -d "$root/dist" "$@" 2>"$work/log") || { cat "$work/log" >&2; exit 1; }; }
hatchling -t sdist
cp dist/LICENSES.txt dist/sbom.cdx.json "$work/python"

# wheel PROGRAM OS/ARCH makes the wheel. Static programs ask for no libc; Go 1.26 asks for macOS 12.
wheel() {
	case $2 in
	linux/amd64) tag=manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64 ;;
	linux/arm64) tag=manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64 ;;
	darwin/amd64) tag=macosx_12_0_x86_64 ;;
	darwin/arm64) tag=macosx_12_0_arm64 ;;
	windows/amd64) tag=win_amd64 ;;
	windows/arm64) tag=win_arm64 ;;
	*) echo "dist: no wheel for $2" && return ;;
	esac
	NOISEWRIGHT_PROGRAM=$1 NOISEWRIGHT_TAG=py3-none-$tag hatchling -t wheel
}

# deb PROGRAM ARCH makes the package.
deb() {
	(cd "$work" && PROGRAM=$1 ARCH=$2 SHARE=$share GOFLAGS= CGO_ENABLED=0 \
		"$GO" run "$NFPM" package -f "$root/packaging/nfpm.yaml" -p deb -t "$root/dist/noisewright_${VERSION}_$2.deb" >"$work/log") || { cat "$work/log" >&2; exit 1; }
}

for platform; do
	program=$root/dist/noisewright-$VERSION-${platform%/*}-${platform#*/}
	[ "${platform%/*}" != windows ] || program=$program.exe
	wheel "$program" "$platform"
	[ "${platform%/*}" != linux ] || deb "$program" "${platform#*/}"
done

cd dist
sha256sum $(ls | grep -vx SHA256SUMS) >SHA256SUMS
echo "dist: $(wc -l <SHA256SUMS) files of version $VERSION, commit $COMMIT"
