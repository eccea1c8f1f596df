// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	build := func(module string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: module}, Settings: settings}
	}
	const hash = "0123456789abcdef0123456789abcdef01234567"
	plain, known := "noisewright "+number+" (", "noisewright "+number+" (commit "+hash+", "
	for _, c := range []struct {
		want string
		info *debug.BuildInfo
	}{
		{plain + "commit unknown, go", nil},
		{plain + "commit unknown, go", build("(devel)")},
		{plain + "commit unknown, go", build("v9.9.9")},
		{plain + "go", build("v" + number)},
		{known + "go", build("v"+number, debug.BuildSetting{Key: "vcs.revision", Value: hash}, debug.BuildSetting{Key: "vcs.modified", Value: "false"})},
		{known + "modified, go", build("v1.2.4-0.20260102030405-0123456789ab+dirty",
			debug.BuildSetting{Key: "vcs.revision", Value: hash}, debug.BuildSetting{Key: "vcs.modified", Value: "true"})},
		{plain + "commit 0123456789ab, go", build("v0.0.0-20260102030405-0123456789ab")},
	} {
		if got := newVersion(c.info).String(); !strings.HasPrefix(got, c.want) {
			t.Errorf("version %q, want %q", got, c.want)
		}
	}
}

// TestOneVersion: what is released together has one version.
func TestOneVersion(t *testing.T) {
	for file, pattern := range map[string]string{
		"python/src/noisewright/_version.py": `(?m)^__version__ = "(.*)"$`,
		"CITATION.cff":                       `(?m)^version: (.*)$`,
		"integrations/beam/go.mod":           `noisewright/noisewright v(\S*)`,
		"CHANGELOG.md":                       `(?m)^## (\d\S*)$`,
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", file))
		if m := regexp.MustCompile(pattern).FindSubmatch(text); m == nil || string(m[1]) != number {
			t.Errorf("%s: version %q, %v, want %s", file, m, err, number)
		}
	}
}

// TestBuildHasCommit builds the program as make does, without the solver, and wants it
// to know its commit.
func TestBuildHasCommit(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	commit, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Skip("no git, or no working copy of it:", err)
	}
	if info, err := os.Stat(filepath.Join("..", "..", "..", ".git")); err != nil || !info.IsDir() {
		t.Skip("go does not look for the commit of a linked worktree")
	}
	program := filepath.Join(t.TempDir(), "noisewright")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=auto", "-o", program, "github.com/noisewright/noisewright/cmd/noisewright")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command(program, "version", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var v version
	if err := json.Unmarshal(out, &v); err != nil || v.Commit != strings.TrimSpace(string(commit)) {
		t.Errorf("%v: %s, want commit %s", err, out, commit)
	}
}
