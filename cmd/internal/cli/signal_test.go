// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// flatTable has weights that go up and down by 2, but for the first two, of which one is larger
// by the difference: no runs of equal ones, which would be checked at once. It takes
// cells × cells per sensitivity to check, twice that if there is a difference.
func flatTable(t *testing.T, perSensitivity int, difference uint64) *tables.Table {
	t.Helper()
	const cells = limits.TableCells
	s := tables.Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: float64(perSensitivity)}, Loss: loss.L1},
		Grid:    tables.Grid{PointsPerCell: 1, CellsPerSensitivity: perSensitivity, FirstCell: -cells / 2},
		Weights: make([]uint64, cells),
		Claims:  formfile.Claims{Delta: "0.5", ExpectedLoss: "100000", LowerBound: "0"},
	}
	for i := range s.Weights {
		s.Weights[i] = 1<<63/(cells/2) - 1 + 2*uint64(min(i, cells-1-i)%2)
	}
	s.Weights[0] += difference / 2
	s.Weights[1] -= difference / 2
	table, err := tables.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// slowFiles writes files whose checks take long: slow.json some minutes, heavy.json about
// as long as commands allow by default, in the directory bundle too; and a pipe to which
// nobody writes.
func slowFiles(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	join := func(name string) string { return filepath.Join(dir, name) }
	heavy := flatTable(t, 7<<10, 0)
	b, err := bundle.New(bundle.Spec{
		Features: []string{"x"}, Mean: []float64{0}, Encoder: bundle.Matrix{Rows: 1, Cols: 1, Data: []float64{1}}, Offset: []float64{0},
		Axes: []float64{1}, Domain: bundle.Box, Noise: bundle.Designed, Composition: bundle.Designed.Composition(),
		Tables: []*tables.Table{heavy}, TableOf: []int{0},
		Decoder: bundle.Matrix{Rows: 1, Cols: 1, Data: []float64{1}}, DecoderOffset: []float64{0}, Promise: bundle.Promise{Epsilon: 1, Delta: 0.5},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		proof.WriteFile(join("slow.json"), flatTable(t, 1<<14, 2)),
		proof.WriteFile(join("heavy.json"), heavy),
		b.Write(join("bundle"), false),
		os.WriteFile(join("in.csv"), []byte("x\n1\n2\n"), 0o600),
		os.Mkdir(join("out"), 0o700),
		syscall.Mkfifo(join("pipe"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestSignalsEndEveryCommand sends SIGINT or SIGTERM to commands that are at work and have
// much of it before them, or wait for input that never comes. They end at once, without any
// output.
func TestSignalsEndEveryCommand(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	dir := slowFiles(t)
	commands := []string{
		"verify --time-limit 10m slow.json",
		"verify --json --time-limit 10m slow.json",
		"verify pipe",
		"sample --table heavy.json -n 10",
		"sample --table pipe -n 10 -o out/x",
		"privatize --table heavy.json --column x in.csv -o out/x",
		"privatize --table pipe --column x in.csv",
		"interval --table heavy.json 1",
		"plot heavy.json -o out/x.svg",
		"account heavy.json --delta 0.9",
		"account pipe --delta 0.9 --json",
		"export heavy.json -o out/x",
		"latent verify --time-limit 10m bundle",
		"latent privatize --bundle bundle in.csv -o out/x",
		"latent evaluate --bundle bundle --data in.csv",
		"latent design --data pipe --epsilon 1 -o out/x",
	}
	if hasSolver() {
		const problem = " --epsilon 10 --delta 1e-9 --sensitivity 1 --loss l1 --gap 1e-6 --time-limit 10m"
		commands = append(commands, "design -o out/x"+problem, "catalogue design -o out"+problem, "compare"+problem,
			"design-kernel --epsilon 1 --delta 9e-4 --sensitivity 1 --range 0,10 --loss l1 --gap 1e-6 --time-limit 10m -o out/x")
	}
	for i, command := range commands {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			cmd := exec.Command("noisewright", strings.Fields(command)...)
			cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				_ = cmd.Wait() // the exit code is looked at below
				close(done)
			}()
			// On a machine with other work it takes long to begin. Others that were started later have ended by then.
			for range 2 {
				if err := exec.Command("noisewright", "version").Run(); err != nil {
					t.Error(err)
				}
			}
			select {
			case <-done:
				t.Fatalf("ended by itself with exit code %d: %s%s", cmd.ProcessState.ExitCode(), stdout.String(), stderr.String())
			case <-time.After(time.Second): // it has begun
			}
			signal := []os.Signal{syscall.SIGINT, syscall.SIGTERM}[i%2]
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			// 0.5 s is what is promised; machines with other work take longer.
			const limit = 5 * time.Second
			select {
			case <-done:
				t.Logf("%v after %v", time.Since(start), signal)
			case <-time.After(limit):
				_ = cmd.Process.Kill()
				t.Fatalf("still running %v after %v", limit, signal)
			}
			if code := cmd.ProcessState.ExitCode(); code != 130 || stdout.Len() > 0 || stderr.String() != "error: interrupted\n" {
				t.Errorf("exit code %d, stdout %q, stderr %q, want 130 and nothing but the error", code, stdout.String(), stderr.String())
			}
		})
	}
	t.Cleanup(func() {
		if left := entries(t, filepath.Join(dir, "out")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

// TestKilledWriterLeavesNothing kills a command while its output is hidden under another
// name. The next one removes that.
func TestKilledWriterLeavesNothing(t *testing.T) {
	dir := slowFiles(t)
	table, _ := writeTable(t, 1, 1e-3, 100)
	out := filepath.Join(dir, "out")
	args := []string{"privatize", "--force", "--table", table, "--column", "x", "--lower", "0", "--upper", "100", "-o", filepath.Join(out, "x")}
	cmd, stdin, _, _ := start(t, append(args, "-")...)
	if _, err := io.WriteString(stdin, "x,y\n1,2\n3,4\n5,"); err != nil {
		t.Fatal(err)
	}
	for wait := time.Now().Add(20 * time.Second); len(entries(t, out)) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(wait) {
			t.Fatal("no temporary file")
		}
	}
	// While that one is at work, another leaves its file alone.
	complete := append(args, filepath.Join(dir, "in.csv"))
	if _, stderr, code := run(t, "", complete...); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if left := entries(t, out); len(left) != 2 {
		t.Fatalf("beside a writer at work there are %v", left)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if left := entries(t, out); len(left) != 2 {
		t.Fatalf("a killed writer leaves %v", left)
	}
	if _, stderr, code := run(t, "", complete...); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if left := entries(t, out); len(left) != 1 || left[0] != "x" {
		t.Errorf("left behind: %v", left)
	}
}

// TestChecksHaveLimits checks files that would take minutes: with a time limit they are not
// checked, which is no verdict, and commands that draw from them refuse them.
func TestChecksHaveLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	dir := slowFiles(t)
	join := func(name string) string { return filepath.Join(dir, name) }
	for _, args := range [][]string{{"verify", join("slow.json")}, {"latent", "verify", join("bundle")}} {
		args = append(args, "--time-limit", "200ms")
		begin := time.Now()
		stdout, stderr, code := run(t, "", args...)
		file := args[len(args)-3]
		if want := "warning: " + file + ": not checked: the check did not end within 200ms\nhint: a longer --time-limit\n"; code != 4 || stdout != "verdict  not checked\n" || stderr != want {
			t.Errorf("%v: exit code %d, %q, %q", args, code, stdout, stderr)
		}
		if elapsed := time.Since(begin); elapsed > 10*time.Second {
			t.Errorf("%v took %v", args, elapsed)
		}
		stdout, _, code = run(t, "", append(args, "--json")...)
		if code != 4 || !strings.HasPrefix(stdout, `{"schema":`) || !strings.Contains(stdout, `"valid":null,"error":"`) {
			t.Errorf("%v --json: exit code %d, %q", args, code, stdout)
		}
	}
	for _, command := range []string{
		"sample --table slow.json -n 10 -o out/x", "privatize --table slow.json --column x in.csv -o out/x", "interval --table slow.json 1",
		"plot slow.json -o out/x.svg", "account slow.json --delta 0.9", "export slow.json -o out/x",
	} {
		args := strings.Fields(command)
		for i, a := range args {
			if filepath.Ext(a) == ".json" || filepath.Ext(a) == ".csv" || strings.HasPrefix(a, "out/") {
				args[i] = join(a)
			}
		}
		want := "error: " + join("slow.json") + ": checking it takes more than 2147483648 elementary operations, the most that were allowed: it is not checked\n" +
			"hint: a coarser one (design --max-cells); noisewright verify --time-limit 10m checks this one\n"
		if stdout, stderr, code := run(t, "", args...); code != 2 || stdout != "" || stderr != want {
			t.Errorf("%s: exit code %d, %q, %q", command, code, stdout, stderr)
		}
	}
	if left := entries(t, join("out")); len(left) > 0 {
		t.Errorf("written: %v", left)
	}
}

// TestPipesInPlaceOfFiles: a pipe may be named on the command line and may not stand in a
// bundle, where a file that is missing is named.
func TestPipesInPlaceOfFiles(t *testing.T) {
	table, _ := writeTable(t, 1, 1e-3, 100)
	sh := exec.Command("sh", "-c", "cat '"+table+"' | noisewright verify /dev/stdin")
	if out, err := sh.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "verdict") {
		t.Errorf("a table through /dev/stdin: %v, %s", err, out)
	}
	b := filepath.Join(slowFiles(t), "bundle")
	mean := filepath.Join(b, "mean.npy")
	if err := errors.Join(os.Remove(mean), syscall.Mkfifo(mean, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"is a pipe, want a regular file", "no such file or directory"} {
		for _, args := range [][]string{{"latent", "verify", b}, {"latent", "privatize", "--bundle", b, "-"}} {
			if _, stderr, code := run(t, "x\n1\n", args...); code != 2 || stderr != "error: bundle "+b+": mean.npy: "+want+"\n" {
				t.Errorf("%v: exit code %d, %q", args, code, stderr)
			}
		}
		if err := os.RemoveAll(mean); err != nil {
			t.Fatal(err)
		}
	}
}
