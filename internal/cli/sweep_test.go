package cli_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"testing"
	"time"
)

var sweep = flag.Int("designs", 0, "random problems of TestSweepOfDesigns that are designed for with a time limit, at two gaps each, and held to it")

// TestSweepOfDesigns runs the program on random problems with a time limit: it is kept
// to 10 % and 0.3 s, and a smaller gap reaches what a larger one does, up to 10 %. Both
// are about a quiet machine, so what fails is tried again, and without -designs there
// are a few problems with much slack.
func TestSweepOfDesigns(t *testing.T) {
	if !hasSolver() || testing.Short() {
		t.Skip("needs a solver and time")
	}
	n, limit, most := *sweep, 2*time.Second, 2*time.Second*11/10+300*time.Millisecond
	if n == 0 {
		n, limit, most = 6, time.Second, 10*time.Second
	}
	r := rand.New(rand.NewPCG(10, 2))
	for range n {
		problem := randomDesign(r)
		coarse, fine := []string{"1e-2", "1e-3"}[r.IntN(2)], []string{"1e-4", "1e-6"}[r.IntN(2)]
		var large, small float64
		for try := range 3 {
			var took [2]time.Duration
			large, took[0] = designInTime(t, limit, append(problem, "--gap", coarse))
			small, took[1] = designInTime(t, limit, append(problem, "--gap", fine))
			worse := small > 1.1*large
			late := max(took[0], took[1]) > most
			if !worse && !late {
				break
			}
			t.Logf("try %d: %v: gap %s reaches %.3g in %v, gap %s %.3g in %v", try, problem, coarse, large, took[0], fine, small, took[1])
			if try == 2 && (late || *sweep > 0) {
				t.Errorf("%v: late %v, worse %v", problem, late, worse)
			}
		}
	}
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
func designInTime(t *testing.T, limit time.Duration, args []string) (gap float64, took time.Duration) {
	t.Helper()
	cmd := exec.Command("noisewright", append([]string{"design", "--json", "--quiet", "--time-limit", limit.String()}, args...)...)
	began := time.Now()
	out, err := cmd.Output()
	took = time.Since(began)
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 0 && cmd.ProcessState.ExitCode() != 4 {
		t.Logf("%v: %v", args, err)
		return math.Inf(1), took
	}
	var report struct{ Gap *float64 }
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	if report.Gap == nil {
		return math.Inf(1), took
	}
	return *report.Gap, took
}
