// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestTableGoesOn interrupts a table, and wants the finished designs kept
// and the rest gone; then the same command ends the work.
func TestTableGoesOn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no SIGINT to send")
	}
	if !hasSolver() {
		t.Skip("built without the LP solver")
	}
	dir := filepath.Join(t.TempDir(), "new", "folder")
	// Two quick designs; with another gap they and a third take longer than
	// the test.
	args := []string{"dro-table1", "--epsilon", "0.5,1", "--delta", "1e-9", "--gap", "2e-3", "-o", dir}
	slow := append(args[:len(args):len(args)], "--epsilon", "0.5,1,10", "--gap", "1e-6", "--time-limit", "10m")
	kept := filepath.Join(dir, "tables", "l1-epsilon-1-delta-1e-09-sensitivity-1.json")

	// One of them is there already.
	runs(t, "dro-table1", "--epsilon", "1", "--delta", "1e-9", "--gap", "2e-3", "-o", dir)
	old, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dro-table1.csv", "dro-table1.svg"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	var stderr bytes.Buffer
	cmd := exec.Command("papers", slow...)
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for wait := time.Now().Add(20 * time.Second); len(entries(t, dir)) < 3; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(wait) {
			t.Fatal("no temporary files")
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Fatalf("%v, want exit code 130", err)
	}
	if got := stderr.String(); !strings.HasSuffix(got, "error: interrupted\n") || !strings.Contains(got, "goes on from there") {
		t.Errorf("stderr %q", got)
	}
	if left := entries(t, dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	// Now with its own gap, at which it must not be made again.
	runs(t, args...)
	now, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	if string(now) != string(old) {
		t.Error("the finished design was replaced")
	}
	if left := entries(t, dir); len(left) != 3 {
		t.Errorf("want tables, csv and svg, got %v", left)
	}
	if left := entries(t, filepath.Join(dir, "tables")); len(left) != 2 {
		t.Errorf("want two tables, got %v", left)
	}
}

// runs wants a run of the program to end well.
func runs(t *testing.T, args ...string) {
	t.Helper()
	if text, err := exec.Command("papers", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}
