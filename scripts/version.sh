# SPDX-License-Identifier: Apache-2.0
# Says what is built, for scripts that read this file in the root of the repository: VERSION, from
# cmd/internal/cli/version.go if the environment has none, COMMIT, and SOURCE_DATE_EPOCH, that of the commit.

VERSION=${VERSION:-$(sed -n 's/^\tnumber = "\(.*\)"$/\1/p' cmd/internal/cli/version.go)}
COMMIT=$(git rev-parse HEAD 2>/dev/null || echo unknown)
[ -z "$(git status --porcelain 2>/dev/null)" ] || COMMIT=$COMMIT-modified
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export VERSION COMMIT SOURCE_DATE_EPOCH

printf %s "$VERSION" | grep -Eqx '[0-9]+\.[0-9]+\.[0-9]+' || { echo "VERSION = $VERSION, want X.Y.Z" >&2; exit 1; }
tags=$(git tag --points-at HEAD 'v[0-9]*' 2>/dev/null || true)
case " $(echo $tags) " in '  ' | *" v$VERSION "*) ;; *) echo "VERSION = $VERSION, but this commit has the tag" $tags >&2; exit 1 ;; esac
