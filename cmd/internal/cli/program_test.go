// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/cmd/internal/scripttest"
	"github.com/noisewright/noisewright/tables"
)

// writeTable writes a sound table into a new directory.
func writeTable(tb testing.TB, epsilon, delta, sensitivity float64) (path string, t *tables.Table) {
	tb.Helper()
	t, err := geometricTable(epsilon, delta, sensitivity, "l1")
	if err != nil {
		tb.Fatal(err)
	}
	path = filepath.Join(tb.TempDir(), "t.json")
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	if err := errors.Join(t.Encode(f), f.Close()); err != nil {
		tb.Fatal(err)
	}
	return path, t
}

// run runs the program to its end.
func run(tb testing.TB, stdin string, args ...string) (stdout, stderr string, code int) {
	tb.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command("noisewright", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		tb.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// TestPrivatizeKeepsBytes changes the fields of one column, of which only the
// noisy number remains, and nothing else.
func TestPrivatizeKeepsBytes(t *testing.T) {
	table, _ := writeTable(t, 1, 1e-3, 100)
	// In want, # is the noisy number.
	for name, c := range map[string]struct{ in, want string }{
		"plain":           {"a,x\n1,2\n3,4\n", "a,x\n1,#\n3,#\n"},
		"no last newline": {"a,x\n1,2\n3,4", "a,x\n1,#\n3,#"},
		"crlf":            {"a,x\r\n1,2\r\n3,4\r\n", "a,x\r\n1,#\r\n3,#\r\n"},
		"mixed ends":      {"a,x\r\n1,2\n3,4\r\n\n\r\n", "a,x\r\n1,#\n3,#\r\n\n\r\n"},
		"byte order mark": {"\xef\xbb\xbfx,a\r\n2,1\r\n", "\xef\xbb\xbfx,a\r\n#,1\r\n"},
		"quotes":          {"\"a\",\"x\"\n\"1\",\"2\"\n", "\"a\",\"x\"\n\"1\",#\n"},
		"quoted text": {
			"a,x,b\n\"1,\n\"\"2\r\n\",2,\" y \"\n, 3\t,\n", "a,x,b\n\"1,\n\"\"2\r\n\",#,\" y \"\n,#,\n",
		},
		"needless quotes": {"a,x\n\"plain\",2\n\"\",4\n", "a,x\n\"plain\",#\n\"\",#\n"},
		"spaces in names": {"a, x \n1, 2 \n", "a, x \n1,#\n"},
		"one column":      {"x\n1\n-2.5e1\n", "x\n#\n#\n"},
		"not UTF-8":       {"a,x\n\xff\xfe\x00,2\n", "a,x\n\xff\xfe\x00,#\n"},
		"header only":     {"a,x", "a,x"},
		// Padding and quotes that depend on the private value.
		"right-aligned": {"a,x\n1,   7\n2, 100\n", "a,x\n1,#\n2,#\n"},
		"padded quotes": {"x,a\n\" 7\t\",1\n\"100\",2\n 5 ,3\r\n", "x,a\n#,1\n#,2\n#,3\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := run(t, c.in, "privatize", "--table", table, "--column", "x", "--lower", "0", "--upper", "100", "-")
			rest, ok := strings.CutPrefix(stderr, "total: epsilon 1, delta 0.001 for the column of a row\n")
			if alone := !strings.Contains(c.in, "a"); code != 0 || !ok || alone != (rest == "") || !alone && !strings.HasPrefix(rest, "not protected: the other columns, as they were: a") {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			// Match bytes, not runes: the files need not be UTF-8.
			want := strings.ReplaceAll(regexp.QuoteMeta(latin1(c.want)), `#`, `-?\d+(\.\d+)?(e[-+]\d+)?`)
			if !regexp.MustCompile(`\A` + want + `\z`).MatchString(latin1(stdout)) {
				t.Errorf("%q became %q, want %q", c.in, stdout, c.want)
			}
		})
	}
	stdout, stderr, code := run(t, "\xff\xfea\x00", "privatize", "--table", table, "--column", "x", "--lower", "0", "--upper", "1", "-")
	if code != 2 || stdout != "" || !strings.Contains(stderr, "standard input: the file is UTF-16 text, want UTF-8") {
		t.Errorf("UTF-16: exit code %d, %q, %q", code, stdout, stderr)
	}
}

// TestPrivatizeOnAllCores: what does not depend on chance has the same bytes on one and on several cores: answers by
// memory, everything else of a row, counts, and the first row that is wrong. Noise stays with its row.
func TestPrivatizeOnAllCores(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	table, of := writeTable(t, 1, 1e-3, 1)
	step, _ := of.Grid().Step().Float64()
	reach := float64(of.Reach()+1) * step
	secret := scripttest.TextFile(t, "secret", strings.Repeat("5e", 32))
	const rows = 30_000 // several pieces for each of the cores
	var in strings.Builder
	in.WriteString("row,city,hours\n")
	for i := range rows {
		fmt.Fprintf(&in, "%d,%s,%d\r\n", i, []string{"Ulm", "Bonn", "Kiel"}[i*i%3], i%2*1000)
	}
	memory := []string{"privatize", "-", "--column", "city", "--categories", "Ulm,Bonn,Kiel", "--epsilon", "2", "--person", "row", "--secret", secret}
	number := []string{"privatize", "--table", table, "--column", "hours", "--lower", "999", "--upper", "1000", "--report", "-"}
	broken := strings.Replace(in.String(), "\n20000,", "\n20000,,", 1) + "x\n"
	var before [3]string
	for _, cores := range []string{"1", "2", "5"} {
		t.Setenv("GOMAXPROCS", cores)
		private, errs, code := run(t, in.String(), memory...)
		if code != 0 {
			t.Fatal(errs)
		}
		noisy, counted, code := run(t, in.String(), number...)
		if code != 0 {
			t.Fatal(counted)
		}
		i := 0
		for line := range strings.Lines(strings.TrimPrefix(noisy, "row,city,hours\n")) {
			cells := strings.Split(strings.TrimSuffix(line, "\r\n"), ",")
			x, err := strconv.ParseFloat(cells[len(cells)-1], 64)
			if err != nil || cells[0] != strconv.Itoa(i) || math.Abs(x-float64(999+i%2)) > reach {
				t.Fatalf("row %d on %s cores is %q", i, cores, line)
			}
			i++
		}
		nothing, refused, code := run(t, broken, number...)
		if i != rows || code != 2 || nothing != "" {
			t.Errorf("%d rows on %s cores; exit code %d and %d bytes of a broken file", i, cores, code, len(nothing))
		}
		now := [3]string{private, counted, refused}
		if cores != "1" && now != before {
			t.Errorf("%s cores say %.200q, one %.200q", cores, now, before)
		}
		before = now
	}
	if !strings.Contains(before[1], "clipped: 15000 of 30000 values") || !strings.Contains(before[2], "row 20001 (line 20002): 4 fields, want 3") {
		t.Errorf("%q, %q", before[1], before[2])
	}
}

// TestPrivatizePointsOnAllCores: each coordinate of a row has its own noise, of the one draw of that row.
func TestPrivatizePointsOnAllCores(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const (
		file = "../../../python/tests/data/files/ball-two.json"
		rows = 20_000
	)
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	made, err := ball.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	spec := made.Spec()
	reach := math.Ldexp(float64(spec.Radii[len(spec.Radii)-1]+1), spec.StepExponent)
	var in strings.Builder
	in.WriteString("y,row,x\n")
	for i := range rows {
		fmt.Fprintf(&in, "%d,%d,%d\n", -i*100-7, i, i*100)
	}
	for _, cores := range []string{"1", "5"} {
		t.Setenv("GOMAXPROCS", cores)
		out, errs, code := run(t, in.String(), "privatize", file, "--columns", "x,y", "--unclipped", "-")
		if code != 0 {
			t.Fatal(errs)
		}
		i, moved, apart := 0, 0, map[[2]float64]bool{}
		for line := range strings.Lines(strings.TrimPrefix(out, "y,row,x\n")) {
			cells := strings.Split(strings.TrimSpace(line), ",")
			y, errY := strconv.ParseFloat(cells[0], 64)
			x, errX := strconv.ParseFloat(cells[2], 64)
			off := [2]float64{x - float64(i*100), y + float64(i*100+7)}
			if errX != nil || errY != nil || cells[1] != strconv.Itoa(i) || math.Hypot(off[0], off[1]) > 2*reach {
				t.Fatalf("row %d on %s cores is %q", i, cores, line)
			}
			if off[0] != 0 && off[1] != 0 {
				moved++
			}
			apart[off] = true
			i++
		}
		if i != rows || moved < rows*9/10 || len(apart) < rows*9/10 {
			t.Errorf("%s cores: %d rows, %d moved in both coordinates, %d different noises", cores, i, moved, len(apart))
		}
	}
}

// TestPrivatizeRefusesBareCR has lines that end in a carriage return: all of
// the file looks like a header, and must not be printed.
func TestPrivatizeRefusesBareCR(t *testing.T) {
	table, _ := writeTable(t, 1, 1e-3, 100)
	for _, in := range []string{"a,x\r1,2\r3,4\r", "a,x\r1,2", "a,x\r", "a,x\r\r\n1,2\r\n", "a\rb,x\n1,2\n"} {
		for _, column := range []string{"x", "y"} {
			stdout, stderr, code := run(t, in, "privatize", "--table", table, "--column", column, "--lower", "0", "--upper", "1", "-")
			want := "error: standard input: the header has a carriage return without a line feed, want lines that end in LF or CR LF\n"
			if code != 2 || stdout != "" || stderr != want {
				t.Errorf("%q: exit code %d, %q, %q", in, code, stdout, stderr)
			}
		}
	}
}

// latin1 maps every byte to a rune.
func latin1(s string) string {
	r := make([]rune, len(s))
	for i := range len(s) {
		r[i] = rune(s[i])
	}
	return string(r)
}

// TestSampleFormatsAgree reads both formats back and wants draws on the grid.
func TestSampleFormatsAgree(t *testing.T) {
	path, table := writeTable(t, 1, 1e-3, 1)
	step := math.Ldexp(1, table.Grid().GranularityExponent)
	limit := float64(table.Reach()) * step
	check := func(x float64) {
		if x != math.Round(x/step)*step || math.Abs(x) > limit {
			t.Fatalf("%v is no point of the table", x)
		}
	}
	const n = 10_000
	text, _, _ := run(t, "", "sample", "--table", path, "-n", "10000")
	lines := strings.Fields(text)
	for _, s := range lines {
		var x float64
		if err := jsonNumber(s, &x); err != nil {
			t.Fatal(err)
		}
		check(x)
	}
	raw, _, _ := run(t, "", "sample", "--table", path, "-n", "10000", "--format", "f64le")
	for i := 0; i < len(raw); i += 8 {
		check(math.Float64frombits(binary.LittleEndian.Uint64([]byte(raw[i:]))))
	}
	if len(lines) != n || len(raw) != 8*n {
		t.Errorf("%d lines and %d bytes, want %d draws", len(lines), len(raw), n)
	}
}

// start starts the program and returns its ends.
func start(t *testing.T, args ...string) (cmd *exec.Cmd, stdin io.WriteCloser, stdout io.ReadCloser, stderr *bytes.Buffer) {
	t.Helper()
	cmd = exec.Command("noisewright", args...)
	stderr = new(bytes.Buffer)
	cmd.Stderr = stderr
	var err error
	if stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if stdout, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, stdin, stdout, stderr
}

// TestSampleStopsOnBrokenPipe takes a few of very many draws.
func TestSampleStopsOnBrokenPipe(t *testing.T) {
	path, _ := writeTable(t, 1, 1e-3, 1)
	cmd, _, stdout, stderr := start(t, "sample", "--table", path, "-n", "1000000000000")
	for r, i := bufio.NewReader(stdout), 0; i < 10; i++ {
		if _, err := r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if err := stdout.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("%v, stderr %q; want a silent end", err, stderr)
	}
}

// TestInterruptLeavesNothing interrupts privatize and design half way.
func TestInterruptLeavesNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no SIGINT to send")
	}
	path, _ := writeTable(t, 1, 1e-3, 100)
	commands := map[string][]string{
		"privatize": {"privatize", "--table", path, "--column", "x", "--lower", "0", "--upper", "100", "-"},
	}
	if hasSolver() {
		commands["design"] = []string{"design", "--epsilon", "10", "--delta", "1e-9", "--sensitivity", "1", "--loss", "l1", "--gap", "1e-6", "--time-limit", "10m"}
	}
	for name, args := range commands {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cmd, stdin, _, stderr := start(t, append(args, "-o", filepath.Join(dir, "out"))...)
			if _, err := io.WriteString(stdin, "a,x\n1,2\n3,4\n5,"); err != nil {
				t.Fatal(err)
			}
			// Its temporary file says that it is at work.
			for wait := time.Now().Add(20 * time.Second); len(entries(t, dir)) == 0; time.Sleep(5 * time.Millisecond) {
				if time.Now().After(wait) {
					t.Fatal("no temporary file")
				}
			}
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				_ = cmd.Wait() // the exit code is looked at below
				close(done)
			}()
			select {
			case <-done:
			case <-time.After(20 * time.Second):
				t.Fatal("still running")
			}
			if code := cmd.ProcessState.ExitCode(); code != 130 {
				t.Errorf("exit code %d, want 130", code)
			}
			if got, want := stderr.String(), "error: interrupted\n"; got != want {
				t.Errorf("stderr %q, want %q", got, want)
			}
			if left := entries(t, dir); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
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
