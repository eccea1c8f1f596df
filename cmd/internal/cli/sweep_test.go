// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"testing"
	"time"
)

var sweep = flag.Int("designs", 0, "random problems of TestSweepOfDesigns that are designed for with a time limit, at two gaps each, and held to it")

// TestSweepOfDesigns runs the program on random problems with a time limit: it is kept
// to 10 % and 0.3 s, and a smaller gap reaches what a larger one does, up to 10 %. How far a
// design comes in some time depends on the machine's moods, and near the end on whether one
// more program is done in time: what fails is judged by five tries, of which the best with
// the smaller gap has to reach the median of those with the larger one. (That the same
// work never ends worse is a test of package lp.) Without -designs there are a few problems with much slack, and
// they are held to their time alone.
func TestSweepOfDesigns(t *testing.T) {
	if !hasSolver() || testing.Short() {
		t.Skip("needs a solver and time")
	}
	n, limit, most := *sweep, 2*time.Second, 2*time.Second*11/10+300*time.Millisecond
	if n == 0 {
		n, limit, most = 6, time.Second, 10*time.Second
	}
	r := rand.New(rand.NewPCG(10, 2))
	again := 0
	for range n {
		problem := randomDesign(r)
		coarse, fine := []string{"1e-2", "1e-3"}[r.IntN(2)], []string{"1e-4", "1e-6"}[r.IntN(2)]
		var large, small, took []float64 // gaps, and seconds of the slower one
		judge := func() (late, worse bool) {
			return median(took) > most.Seconds(), *sweep > 0 && slices.Min(small) > 1.1*median(large)
		}
		for try := range 5 {
			l, first := designInTime(t, limit, append(problem, "--gap", coarse))
			s, second := designInTime(t, limit, append(problem, "--gap", fine))
			large, small, took = append(large, l), append(small, s), append(took, max(first, second))
			if try > 0 {
				continue
			}
			if late, worse := judge(); !late && !worse {
				break
			}
			again++
		}
		if late, worse := judge(); late || worse {
			t.Errorf("%v: late %v, worse %v: gap %s reaches %.3g, gap %s %.3g, in %.2f s", problem, late, worse, coarse, large, fine, small, took)
		}
	}
	t.Logf("%d of %d problems were tried more than once", again, n)
}

// median returns the middle one of an odd number of numbers, or the upper of the two in
// the middle.
func median(x []float64) float64 {
	return slices.Sorted(slices.Values(x))[len(x)/2]
}

// randomDesign returns the flags of a random problem.
func randomDesign(r *rand.Rand) []string {
	power := func(lo, hi float64) string { return fmt.Sprintf("%.3g", math.Pow(10, lo+(hi-lo)*r.Float64())) }
	losses := []string{"l1", "l2", "lp:1.5", "lp:3", "huber:2", "pinball:0.9", "asymmetric:1,5", "exceed:1", "deadzone:0.5"}
	delta := "0"
	if r.IntN(4) > 0 {
		delta = power(-12, -0.05)
	}
	args := []string{"--epsilon", power(-3, 1.3), "--delta", delta, "--loss", losses[r.IntN(len(losses))]}
	if r.IntN(3) == 0 {
		return append(args, "--query", "integer", "--sensitivity", fmt.Sprint(int(math.Pow(10, 6*r.Float64()))))
	}
	return append(args, "--sensitivity", power(-2, 2))
}

// designInTime returns the gap that a design reaches, and how long it takes. The
// process is that of the test, started again as the program.
func designInTime(t *testing.T, limit time.Duration, args []string) (gap, seconds float64) {
	t.Helper()
	cmd := exec.Command("noisewright", append([]string{"design", "--json", "--quiet", "--time-limit", limit.String()}, args...)...)
	began := time.Now()
	out, err := cmd.Output()
	seconds = time.Since(began).Seconds()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 0 && cmd.ProcessState.ExitCode() != 4 {
		t.Fatalf("%v: %v", args, err)
	}
	var report struct{ Gap *float64 }
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	if report.Gap == nil {
		return math.Inf(1), seconds
	}
	return *report.Gap, seconds
}
