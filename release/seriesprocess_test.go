// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/plan"
	"github.com/noisewright/noisewright/release/ledger"
)

// seriesWorker is set for a process that these tests start: the ledger that it releases a series from.
const seriesWorker = "NOISEWRIGHT_TEST_SERIES"

const seriesPeriods = 12

func workedSeries(tb testing.TB) (w Workload, periods []string) {
	w = Workload{
		Plan:  planOf(tb, plan.Workload{Kind: plan.Prefix, Cells: seriesPeriods}, 0.01, dp.AddRemove, 1),
		Cells: []Cells{{Column: "day", Every: "month", From: "2020-01"}},
	}
	for i := range seriesPeriods {
		periods = append(periods, fmt.Sprintf("2020-%02d", i+1))
	}
	return w, periods
}

// TestSeriesWorker is what such a process does: it asks for periods in their order, over and over, about data in
// which rows arrive late, and prints each answer once it has it.
func TestSeriesWorker(t *testing.T) {
	path := os.Getenv(seriesWorker)
	if path == "" {
		t.Skip("it is for processes that other tests start")
	}
	l, err := ledger.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	w, periods := workedSeries(t)
	for range 3 {
		for _, p := range periods {
			rows := "day\n" + strings.Repeat(p+"-01\n", rand.IntN(5)) + strings.Repeat("2020-01-02\n", rand.IntN(5))
			m, err := w.Period(t.Context(), l, strings.NewReader(rows), p)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Printf("answer %s %v\n", p, m.Sums)
		}
	}
}

func startSeries(tb testing.TB, path string) (cmd *exec.Cmd, out *bytes.Buffer) {
	tb.Helper()
	cmd, out = exec.Command(os.Args[0], "-test.run=^TestSeriesWorker$"), new(bytes.Buffer)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), seriesWorker+"="+path), out, out
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, out
}

// keepAnswers wants each period to be printed with one answer only, whoever printed it, which begins with that of the
// period before.
func keepAnswers(tb testing.TB, known map[string]string, out string) (lines int) {
	tb.Helper()
	for line := range strings.Lines(out) {
		period, sums, ok := strings.Cut(strings.TrimPrefix(line, "answer "), " ")
		if !ok || !strings.HasPrefix(line, "answer ") || !strings.HasSuffix(sums, "]\n") {
			continue
		}
		lines++
		if before, there := known[period]; there && before != sums {
			tb.Fatalf("%s was answered with %s and %s", period, before, sums)
		}
		known[period] = sums
	}
	for i := 2; i <= seriesPeriods; i++ {
		now, before := known[fmt.Sprintf("2020-%02d", i)], known[fmt.Sprintf("2020-%02d", i-1)]
		if now != "" && before != "" && !strings.HasPrefix(now, strings.TrimSuffix(before, "]\n")+" ") {
			tb.Fatalf("%d: %s after %s", i, now, before)
		}
	}
	return lines
}

func spentOnSeries(tb testing.TB, l *ledger.Ledger) {
	tb.Helper()
	s, err := l.Spent(tb.Context())
	if err != nil || s.Uses > 1 || s.Releases > 1 && s.Uses != 1 || s.Releases > seriesPeriods+1 {
		tb.Fatalf("spent %+v, %v", s, err)
	}
}

// TestSeriesProcesses has eight processes at once: no period is drawn twice, and the series is charged once.
func TestSeriesProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	l, path := seriesLedger(t, 1)
	var outs []*bytes.Buffer
	var cmds []*exec.Cmd
	for range 8 {
		cmd, out := startSeries(t, path)
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	known, lines := map[string]string{}, 0
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err, outs[i])
		}
		lines += keepAnswers(t, known, outs[i].String())
	}
	if spentOnSeries(t, l); len(known) != seriesPeriods || lines != 8*3*seriesPeriods {
		t.Errorf("%d periods, %d answers", len(known), lines)
	}
}

// TestSeriesKilled kills processes at random moments, two at a time on one ledger, 200 in all: no period has
// two answers, none is there without its charge, and what was left is taken up again.
func TestSeriesKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const kills = 200
	rng := rand.New(rand.NewPCG(5, 6))
	answers, pending := 0, 0
	var l *ledger.Ledger
	var path string
	var known map[string]string
	for done := 0; done < kills; done += 2 {
		if done%20 == 0 {
			known = map[string]string{}
			l, path = seriesLedger(t, 1)
		}
		var cmds []*exec.Cmd
		var outs []*bytes.Buffer
		for range 2 {
			cmd, out := startSeries(t, path)
			cmds, outs = append(cmds, cmd), append(outs, out)
		}
		time.Sleep(20*time.Millisecond + time.Duration(rng.Int64N(int64(100*time.Millisecond))))
		for i, cmd := range cmds {
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			answers += keepAnswers(t, known, outs[i].String())
		}
		spentOnSeries(t, l)
		s, err := l.Spent(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pending += s.Pending
		if done%20 == 18 {
			w, periods := workedSeries(t)
			for _, p := range periods {
				m, err := w.Period(t.Context(), l, strings.NewReader("day\n"), p)
				if err != nil {
					t.Fatal(err)
				}
				keepAnswers(t, known, fmt.Sprintf("answer %s %v\n", p, m.Sums))
			}
			if s, err = l.Spent(t.Context()); err != nil || s.Pending != 0 || s.Uses != 1 || s.Releases != seriesPeriods+1 {
				t.Fatalf("spent %+v, %v", s, err)
			}
		}
	}
	if answers == 0 {
		t.Error("no process printed an answer before it was killed")
	}
	t.Logf("%d kills, %d answers printed, %d left only charged", kills, answers, pending)
}
