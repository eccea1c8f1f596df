// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// people writes a file of people of two classes.
func people(tb testing.TB) string {
	tb.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	var text strings.Builder
	text.WriteString("a,b,c,sick\n")
	for i := range 60 {
		class := []string{"no", "yes"}[i%2]
		fmt.Fprintf(&text, "%.4f,%.4f,%.4f,%s\n", 2*float64(i%2)+r.NormFloat64(), r.NormFloat64(), r.NormFloat64(), class)
	}
	path := filepath.Join(tb.TempDir(), "people.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// stopped starts the program, and stops it by the signal once the checkpoint is there, or
// is another one.
func stopped(tb testing.TB, signal os.Signal, checkpoint string, args ...string) (stderr string, code int) {
	tb.Helper()
	state := filepath.Join(checkpoint, "checkpoint.json")
	before, _ := os.ReadFile(state)
	var out bytes.Buffer
	cmd := exec.Command("noisewright", args...)
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			tb.Fatalf("it ended before it was stopped: %v, %s", err, &out)
		case <-time.After(time.Millisecond):
		}
		if now, err := os.ReadFile(state); err == nil && !bytes.Equal(now, before) {
			break
		}
	}
	if err := cmd.Process.Signal(signal); err != nil {
		tb.Fatal(err)
	}
	if err := <-ended; err == nil {
		tb.Error("it ended as if it had not been stopped")
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// files are the files of a directory and those below, by their names.
func files(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir)] = string(content)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// TestEncoderTrainResumes kills a training in the middle, goes on, interrupts that, and goes
// on again: the bundle is that of an unbroken run, bit for bit.
func TestEncoderTrainResumes(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	dir, data := t.TempDir(), people(t)
	args := func(bundle string, more ...string) []string {
		return append([]string{
			"encoder", "train", "task-aware", "--data", data, "--target", "sick", "--epsilon", "4", "--noise", "laplace",
			"--coordinates", "1,2", "--steps", "1500", "--restarts", "2", "-o", filepath.Join(dir, bundle),
		}, more...)
	}
	unbroken, stderr, code := run(t, "", args("whole")...)
	if code != 0 {
		t.Fatal(stderr)
	}
	// Of the first choice, which is trained first.
	checkpoint := filepath.Join(dir, "broken.checkpoint", "1-laplace-l1-ball")
	often := []string{"--checkpoint-every", "1ms"}
	stopped(t, os.Kill, checkpoint, args("broken", often...)...)
	if _, err := os.Stat(filepath.Join(dir, "broken")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a bundle after the kill: %v", err)
	}
	if _, stderr, code := run(t, "", args("broken")...); code != 2 || !strings.Contains(stderr, "is there already") || !strings.Contains(stderr, "hint: --resume goes on from it") {
		t.Errorf("without --resume: exit code %d, %s", code, stderr)
	}
	if _, stderr, code := run(t, "", args("broken", "--resume", "--seed", "2")...); code != 2 || !strings.Contains(stderr, "it is of other data, other options") {
		t.Errorf("with another seed: exit code %d, %s", code, stderr)
	}
	stderr, code = stopped(t, os.Interrupt, checkpoint, args("broken", append(often, "--resume")...)...)
	if code != 130 || !strings.Contains(stderr, "interrupted") {
		t.Errorf("interrupted: exit code %d, %s", code, stderr)
	}
	resumed, stderr, code := run(t, "", args("broken", "--resume")...)
	if code != 0 {
		t.Fatal(stderr)
	}
	if got := strings.ReplaceAll(resumed, "broken", "whole"); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(unbroken), " ") {
		t.Errorf("printed\n%s, want\n%s", resumed, unbroken)
	}
	want, got := files(t, filepath.Join(dir, "whole")), files(t, filepath.Join(dir, "broken"))
	if len(want) < 5 || len(got) != len(want) {
		t.Errorf("%d files, want %d", len(got), len(want))
	}
	for name, content := range want {
		if got[name] != content {
			t.Errorf("%s is another one", name)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.checkpoint")); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}
