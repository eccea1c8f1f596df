// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/release/ledger"
)

// worker is set for a process that these tests start: this test binary, which then releases
// from the ledger that it names; with halted set too, it halts between a charge and its answer.
const (
	worker = "NOISEWRIGHT_TEST_LEDGER"
	halted = "NOISEWRIGHT_TEST_HALTED"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(worker); path != "" {
		if err := work(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// distinct is how many different queries the workers ask; one that halts asks one more.
const distinct = 400

// work asks random queries until the total is reached or it is killed, and prints every
// answer once it has it: the number of the query and a random word.
func work(path string) error {
	ctx := context.Background()
	l, err := ledger.Open(ctx, path)
	if err != nil {
		return err
	}
	defer l.Close()
	if os.Getenv(halted) != "" {
		_, err := l.Release(ctx, query(distinct, pure(1)), func(context.Context) ([]byte, error) {
			fmt.Println("charged")
			time.Sleep(time.Hour)
			return nil, errors.New("nobody killed this process")
		})
		return err
	}
	for refused := 0; refused < 20; {
		i := rand.IntN(distinct)
		r, err := l.Release(ctx, query(i, pure(1)), func(context.Context) ([]byte, error) {
			runtime.Gosched()
			return fmt.Appendf(nil, "%016x", rand.Uint64()), nil
		})
		switch {
		case errors.Is(err, account.ErrExceeded):
			refused++
		case err != nil:
			return err
		default:
			if _, err := fmt.Printf("%d %s\n", i, r.Answer); err != nil {
				return err
			}
		}
	}
	return nil
}

// start starts a worker.
func start(tb testing.TB, path string, env ...string) (cmd *exec.Cmd, out io.Reader, errs *bytes.Buffer) {
	tb.Helper()
	cmd, errs = exec.Command(os.Args[0]), new(bytes.Buffer)
	cmd.Env, cmd.Stderr = append(append(os.Environ(), worker+"="+path), env...), errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, out, errs
}

// stored wants every printed line to be the answer of its query in the ledger.
func stored(tb testing.TB, l *ledger.Ledger, printed []string) {
	tb.Helper()
	list, err := l.Records(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	answers := map[string]bool{}
	for _, r := range list {
		number := strings.TrimSuffix(strings.TrimPrefix(r.Text, `{"query":`), "}")
		if r.Answer != nil {
			answers[number+" "+string(r.Answer)] = true
		}
	}
	for _, line := range printed {
		if !answers[line] {
			tb.Fatalf("%q was printed, and is not in the ledger", line)
		}
	}
	if s, err := l.Spent(tb.Context()); err != nil || s.Epsilon > l.Terms().Epsilon || s.Releases < len(list) {
		tb.Fatalf("%+v, %v, of a total of %+v", s, err, l.Terms())
	}
}

// TestProcesses has eight processes at once: together they spend the total and no more, and
// equal queries have equal answers.
func TestProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const total = 100
	l, path := create(t, account.Terms{Epsilon: total})
	type end struct {
		lines []string
		err   error
	}
	ends := make(chan end)
	for range 8 {
		cmd, out, errs := start(t, path)
		go func() {
			text, err := io.ReadAll(out)
			if err = errors.Join(err, cmd.Wait()); err != nil {
				err = fmt.Errorf("%w: %s", err, errs)
			}
			ends <- end{strings.Fields(strings.ReplaceAll(string(text), " ", ",")), err}
		}()
	}
	var printed []string
	for range 8 {
		e := <-ends
		if e.err != nil {
			t.Error(e.err)
		}
		for _, line := range e.lines {
			printed = append(printed, strings.ReplaceAll(line, ",", " "))
		}
	}
	stored(t, l, printed)
	s, err := l.Spent(t.Context())
	if err != nil || s.Epsilon != total || s.Releases != total || s.Pending != 0 {
		t.Errorf("%+v, %v, want %d releases of epsilon 1", s, err, total)
	}
	if len(printed) <= total {
		t.Errorf("%d answers printed, want some of them more than once", len(printed))
	}
}

// TestKilled kills releasing processes, one between a charge and its answer and others at
// random moments, two at a time on one ledger. After each kill the ledger opens, which checks
// it, and has every answer that was printed.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const kills = 200
	rng := rand.New(rand.NewPCG(3, 4))
	pending, printed, hot := 0, 0, 0
	for done := 0; done < kills; {
		l, path := create(t, account.Terms{Epsilon: distinct + 2})
		var lines []string
		c, outC, _ := start(t, path, halted+"=1")
		if line, err := bufio.NewReader(outC).ReadString('\n'); err != nil || line != "charged\n" {
			t.Fatalf("%q, %v, want a process that has charged", line, err)
		}
		if err := c.Process.Kill(); err != nil || c.Wait() == nil {
			t.Fatal("a process ended before it was killed: ", err)
		}
		done++
		for range 20 {
			a, outA, _ := start(t, path)
			b, outB, _ := start(t, path)
			first := bufio.NewReader(outA)
			line, err := first.ReadString('\n') // it is at work
			if err != nil {
				t.Fatal("a process ended early: ", err)
			}
			lines = append(lines, strings.TrimSpace(line))
			time.Sleep(time.Duration(rng.Int64N(int64(25 * time.Millisecond))))
			for _, p := range []struct {
				cmd *exec.Cmd
				out io.Reader
			}{{a, first}, {b, outB}} {
				if err := p.cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(p.out)
				if err != nil {
					t.Fatal(err)
				}
				if p.cmd.Wait() == nil {
					t.Fatal("a process ended before it was killed")
				}
				whole := text[:bytes.LastIndexByte(text, '\n')+1]
				for line := range strings.Lines(string(whole)) {
					lines = append(lines, strings.TrimSpace(line))
				}
				if _, err := os.Stat(path + "-journal"); err == nil {
					hot++
				}
				stored(t, open(t, path), lines)
				done++
			}
		}
		s, err := l.Spent(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.Pending == 0 {
			t.Error("nothing is only charged, though a process was killed before its answer")
		}
		pending += s.Pending
		printed += len(lines)
		// What was only charged is taken up again.
		list, err := l.Records(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			if _, err := l.Release(t.Context(), r.Charge, says("again")); err != nil {
				t.Fatal(err)
			}
		}
		if s, err = l.Spent(t.Context()); err != nil || s.Pending != 0 || s.Releases != len(list) {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	t.Logf("%d kills, %d answers printed, %d releases left only charged, %d journals left", kills, printed, pending, hot)
}
