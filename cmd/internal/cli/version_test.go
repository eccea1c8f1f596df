package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	build := func(module string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: module}, Settings: settings}
	}
	const hash = "0123456789abcdef0123456789abcdef01234567"
	for want, info := range map[string]*debug.BuildInfo{
		"noisewright unknown (go":                     nil,
		"noisewright (devel) (go":                     build("(devel)"),
		"noisewright v1.2.3 (go":                      build("v1.2.3"),
		"noisewright v1.2.3 (commit " + hash + ", go": build("v1.2.3", debug.BuildSetting{Key: "vcs.revision", Value: hash}, debug.BuildSetting{Key: "vcs.modified", Value: "false"}),
		"noisewright v1.2.4-0.20260102030405-0123456789ab+dirty (commit " + hash + ", modified, go": build("v1.2.4-0.20260102030405-0123456789ab+dirty",
			debug.BuildSetting{Key: "vcs.revision", Value: hash}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}),
		"noisewright v0.0.0-20260102030405-0123456789ab (commit 0123456789ab, go": build("v0.0.0-20260102030405-0123456789ab"),
		"noisewright v1.0.0-rc.1 (go": build("v1.0.0-rc.1"),
	} {
		if got := newVersion(info).String(); !strings.HasPrefix(got, want) {
			t.Errorf("version %q, want %q", got, want)
		}
	}
}

func TestShortVersion(t *testing.T) {
	for want, v := range map[string]version{
		"v1.2.3":       {Module: "v1.2.3", Commit: "0123456789abcdef0123456789abcdef01234567"},
		"0123456789ab": {Module: "v0.0.0-20260102030405-0123456789ab+dirty", Commit: "0123456789abcdef0123456789abcdef01234567"},
		"(devel)":      {Module: "(devel)"},
	} {
		if got := v.short(); got != want {
			t.Errorf("short version of %q is %q, want %q", v.Module, got, want)
		}
	}
}

// TestBuildHasCommit builds the program as make does, without the solver, and wants it
// to know its commit.
func TestBuildHasCommit(t *testing.T) {
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
