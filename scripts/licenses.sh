#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Collects and checks the licenses of all that the programs for PLATFORMs hold beside noisewright:
#
#   licenses.sh FOLDER VERSION PLATFORM…   writes LICENSES.txt and sbom.cdx.json (CycloneDX) into FOLDER
#
# licenses.tsv has what somebody found who read the texts: module, license, and a hash of the texts. A module that
# it lacks, texts that have changed, and licenses that are not in the list below end the build.
set -eu
export LC_ALL=C

folder=$1 release=$2
shift 2
cd "$(dirname "$0")/.."
GO=${GO:-go}
allowed=' Apache-2.0 BSD-2-Clause BSD-3-Clause BSL-1.0 CC-BY-4.0 FTL MIT OFL-1.1 SunPro blessing '

say() { printf 'licenses: error: %s\n' "$*" | tee -a "$work/complaints" >&2; }
hash() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -c 1-16; }
moment() { date -u -d "@$1" +%FT%TZ 2>/dev/null || date -u -r "$1" +%FT%TZ; }

# inside prints NAME, VERSION and FOLDER of what is in the programs.
inside() {
	echo "Go $("$GO" env GOVERSION) $("$GO" env GOROOT)"
	echo "HiGHS $(sed -n 's/^package=//p' scripts/wasm.sh) $PWD/lp/highs"
	for platform; do
		GOOS=${platform%/*} GOARCH=${platform#*/} "$GO" list -deps \
			-f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/noisewright
	done | sort -u
}

# texts prints the files that hold licenses.
texts() {
	for text in "$1"/LICENSE* "$1"/COPYING* "$1"/NOTICE* "$1"/PATENTS* "$1"/licenses/* "$1"/THIRD_PARTY_LICENSES/* "$1"/highs.license; do
		[ ! -f "$text" ] || echo "$text"
	done
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
inside "$@" >"$work/inside"
tab=$(printf '\t')
while read -r name version home; do
	list=$(texts "$home")
	[ -n "$list" ] || { say "$name $version has no license" && continue; }
	found=$(cat $list | hash)
	line=$(grep "^$name$tab" scripts/licenses.tsv || true)
	license=$(printf %s "$line" | cut -f 2)
	[ "$line" = "$name$tab$license$tab$found" ] || {
		say "licenses.tsv has not the licenses of $name $version, whose hash is $found: read$(echo && printf '    %s\n' $list)"
		continue
	}
	for word in $(printf %s "$license" | sed 's/ AND / /g; s/ OR / /g'); do
		case $allowed in *" $word "*) ;; *) say "$name has the license $word, which is not among$allowed" ;; esac
	done
	for text in $list; do
		printf '\n==== %s %s: %s\n\n' "$name" "$version" "${text##*/}"
		cat "$text"
	done >>"$work/LICENSES.txt"
	case $name in
	Go) purl=pkg:golang/std@${version#go} ;;
	HiGHS) purl=pkg:npm/highs@$version ;;
	*) purl=pkg:golang/$name@$version ;;
	esac
	printf '  {"type": "library", "bom-ref": "%s", "name": "%s", "version": "%s", "purl": "%s", "licenses": [{"expression": "%s"}]}\n' \
		"$purl" "$name" "${version#go}" "$purl" "$license" >>"$work/components"
done <"$work/inside"
[ ! -f "$work/complaints" ] || exit 1

refs=$(sed 's/.*"bom-ref": \("[^"]*"\).*/\1/' "$work/components" | paste -sd, -)
self=pkg:golang/github.com/noisewright/noisewright@v$release
cat >"$folder/sbom.cdx.json" <<END
{"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
 "metadata": {"timestamp": "$(moment "${SOURCE_DATE_EPOCH:-0}")", "component": {"type": "application", "bom-ref": "$self",
  "name": "noisewright", "version": "$release", "purl": "$self", "licenses": [{"license": {"id": "Apache-2.0"}}]}},
 "components": [
$(sed '$!s/$/,/' "$work/components")
 ],
 "dependencies": [{"ref": "$self", "dependsOn": [$refs]}]}
END
cp "$work/LICENSES.txt" "$folder/LICENSES.txt"
