// SPDX-License-Identifier: Apache-2.0

//go:build highswasm

package highs

import (
	"os"
	"path/filepath"
	"runtime/debug"
)

// cacheDir is the folder for machine code that later runs execute, and for nothing else:
// noisewright/highs in the user's cache directory, by a path without symbolic links. It is
// nothing if there is none, or somebody else could write to it, or it is not known which
// version of the compiler the code is of, as in tests.
func cacheDir() string {
	base, err := os.UserCacheDir()
	if err != nil || !compilerKnown() {
		return ""
	}
	return trustedFolder(base)
}

// trustedFolder makes cacheDir below a cache directory.
func trustedFolder(base string) string {
	dir := filepath.Join(base, "noisewright", "highs")
	if os.MkdirAll(dir, 0o700) != nil {
		return ""
	}
	dir, err := filepath.EvalSymlinks(dir) // whoever can move a link cannot lead elsewhere later
	if err != nil || !trusted(dir) {
		return ""
	}
	return dir
}

func compilerKnown() bool {
	info, has := debug.ReadBuildInfo()
	if !has {
		return false
	}
	for _, m := range info.Deps {
		if m.Path == "github.com/tetratelabs/wazero" {
			return m.Replace == nil && m.Version != ""
		}
	}
	return false
}
