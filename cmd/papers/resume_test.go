// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
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

// TestFigureGoesOn interrupts figures, and wants what was finished in their files; then the same command
// ends the work, with the files of a run that was not interrupted.
func TestFigureGoesOn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no SIGINT to send")
	}
	if testing.Short() {
		t.Skip("trains networks")
	}
	for name, flags := range map[string][]string{
		"minimax-figure8": {"--faces", filterPeople(t, true), "--runs", "12"},
		"vlm-figure3":     {"--adult", smallAdult(t), "--central", "inf", "--local", "inf,10"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			args := func(folder string) []string {
				return append([]string{name, "-o", filepath.Join(dir, folder)}, flags...)
			}
			read := func(folder string) [][]string {
				f, err := os.Open(filepath.Join(dir, folder, name+".csv"))
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				all, err := csv.NewReader(f).ReadAll()
				if err != nil {
					t.Fatal(err)
				}
				return all
			}
			runs(t, args("whole")...)
			var stderr bytes.Buffer
			cmd := exec.Command("papers", args("stopped")...)
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			results := filepath.Join(dir, "stopped", name+".unfinished-*", resultsName)
			for wait := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) {
				if found, _ := filepath.Glob(results); found != nil {
					break
				}
				if time.Now().After(wait) {
					t.Fatal("no result is kept")
				}
			}
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 || !strings.Contains(stderr.String(), "the same command goes on from there") {
				t.Fatalf("%v, want exit code 130; %s", err, &stderr)
			}
			whole, part := read("whole"), read("stopped")
			if len(part) < 2 || slices.EqualFunc(whole, part, slices.Equal) {
				t.Errorf("%d records of a part, %d of all", len(part), len(whole))
			}
			runs(t, args("stopped")...)
			if again := read("stopped"); !slices.EqualFunc(whole, again, slices.Equal) {
				t.Errorf("%v, want %v", again, whole)
			}
			if left := entries(t, filepath.Join(dir, "stopped")); len(left) != 2 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestUnfinished: results that are kept are not computed again, unless options, data or the last line
// say that they are others.
func TestUnfinished(t *testing.T) {
	c, _ := options(t)
	data := filepath.Join(t.TempDir(), "data")
	computed, sum := 0, 0
	try := func(text string, option, stop int) error {
		if err := os.WriteFile(data, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		u, err := newUnfinished(&c, "figure", []string{data}, option)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var pieces []piece[int]
		for i := range 8 {
			pieces = append(pieces, piece[int]{strconv.Itoa(i), func(context.Context) (int, error) {
				if i == stop {
					cancel()
					return 0, ctx.Err()
				}
				computed++
				return 1 << i, nil
			}, func(v int) { sum += v }})
		}
		computed, sum = 0, 0
		err = work(ctx, u, pieces)
		if stop < 0 {
			err = u.ended(&c, err)
		}
		return err
	}
	t.Cleanup(func(n int) func() { return func() { runtime.GOMAXPROCS(n) } }(runtime.GOMAXPROCS(1)))
	for _, s := range []struct {
		data                        string
		option, stop, computed, sum int
	}{
		{"a", 1, 3, 3, 7},
		{"a", 1, 5, 2, 31},
		{"b", 1, 2, 2, 3},
		{"a", 2, 4, 4, 15},
		{"a", 1, -1, 3, 255},
		{"a", 1, 1, 1, 1}, // nothing is left of a run that ended
	} {
		if err := try(s.data, s.option, s.stop); errors.Is(err, context.Canceled) != (s.stop >= 0) || computed != s.computed || sum != s.sum {
			t.Errorf("%+v: computed %d, sum %d, %v", s, computed, sum, err)
		}
	}
	u, err := newUnfinished(&c, "figure", []string{data}, 1)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(u.path(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(`{"key":"1","val`)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	for _, stop := range []int{2, 4, -1} {
		want := map[int]int{2: 1, 4: 2, -1: 4}[stop]
		if err := try("a", 1, stop); computed != want {
			t.Errorf("after a line that is broken, stopped at %d: computed %d, want %d; %v", stop, computed, want, err)
		}
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
