#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the site of the documentation in site/: pages, a search that works without a server, and a page for
# every command. Links to files that are no pages go to the repository. A dead link is an error.
set -eu
command -v python3 >/dev/null || { echo "site: skipped: there is no python3"; exit 0; }
cd "$(dirname "$0")/.."
env=.deps/site
pages=.site/pages
files=https://github.com/noisewright/noisewright/blob/main

want=mkdocs-material==9.8.1
if [ "$(cat "$env/made" 2>/dev/null)" != "$want" ]; then
	echo "site: installing $want into $env"
	rm -rf "$env"
	python3 -m venv "$env" || { echo "site: skipped: python3 has no venv"; exit 0; }
	"$env/bin/pip" install -q --disable-pip-version-check "$want" || { echo "site: skipped: pip cannot install $want"; exit 0; }
	echo "$want" >"$env/made"
fi

rm -rf .site
mkdir -p "$pages/commands"
cp -R docs/. "$pages"
cp SECURITY.md "$pages/SECURITY.md"
cp README.md "$pages/index.md"
bin/noisewright man --markdown -o "$pages/commands" --force
# The command is the title, and not beside one made of the file's name; what mkdocs does not read as escaped.
sed -i.old -e '1s/^## /# /' -e 's/\\&/\&amp;/g; s/\\|/|/g' "$pages"/commands/*.md

# From the place of a page in the repository to its place in the site, and to the repository otherwise. The
# list of all pages makes way for the first page.
mv "$pages/README.md" "$pages/pages.md"
sed -i.old -e 's#](docs/README\.md#](pages.md#g; s#](docs/#](#g' -e "s#](\(LICENSE\|[A-Z]*\.md\|proofs/README\.md\|cmd/[^)]*\))#]($files/\1)#g" \
	-e "s#]($files/SECURITY\.md)#](SECURITY.md)#g" "$pages/index.md"
sed -i.old -e 's#](docs/#](#g' "$pages/SECURITY.md"
for page in "$pages"/*.md; do
	sed -i.old -e 's#](\.\./README\.md#](index.md#g; s#](\.\./SECURITY\.md#](SECURITY.md#g; s#](README\.md#](pages.md#g' -e "s#](\.\./#]($files/#g" "$page"
done
for page in "$pages"/proofs/*.md; do
	sed -i.old -e 's#](\.\./\.\./SECURITY\.md#](../SECURITY.md#g; s#](\.\./README\.md#](../pages.md#g' -e "s#](\.\./\.\./#]($files/#g" "$page"
done
find .site -name '*.old' -exec rm {} +

# A warning is an error, but not with --quiet, which drops it.
if ! NO_MKDOCS_2_WARNING=1 "$env/bin/mkdocs" build --strict --clean >.site/log 2>&1; then
	grep -v '^INFO\|^  - ' .site/log >&2
	exit 1
fi
rm -rf .site
echo "site: site/index.html"
