package studio

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/noisewright/noisewright/cmd/internal/portrait"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/lp"
)

// measured is what designs print as JSON: the loss is rounded up, the bound down.
type measured struct {
	ExpectedLoss *float64 `json:"expected_loss"`
	LowerBound   *float64 `json:"lower_bound"`
}

type step struct {
	Command string          `json:"command"`
	Epsilon float64         `json:"epsilon"`
	Loss    *portrait.Bound `json:"loss"`
}

type solved struct {
	// Epsilon is the smallest one found at which designed noise has a proven expected loss of
	// at most Accept.
	Epsilon string          `json:"epsilon"`
	Accept  string          `json:"accept"`
	Loss    *portrait.Bound `json:"loss"`
	// Below is an epsilon at and below which no noise has so small a loss, as the lower
	// bound proves; 0: none was found, or epsilon is of several releases together, and the
	// bound of one of them says nothing about other ways to share it.
	Below float64 `json:"below,omitempty"`
}

const (
	solveWidth = 1.005 // of the bracket, at the end: a ratio of epsilons
	solveTime  = "10s" // of one design
)

// solve searches for the smallest epsilon with an expected loss of at most Accept, by
// bisection: the loss of the best noise does not increase with epsilon.
func (s *study) solve(ctx context.Context) error {
	accept, err := strconv.ParseFloat(s.Accept, 64)
	if err != nil || !check.Finite(accept) || accept <= 0 {
		return check.Field("studio", "accept", check.Shortened(s.Accept), "a finite number above 0, in the units of the loss")
	}
	low, high := lp.MinEpsilon, float64(lp.MaxEpsilon)
	answer := solved{Accept: s.Accept}
	// try reports whether designed noise at epsilon is good enough.
	try := func(epsilon float64) (ok bool, err error) {
		m, text, err := s.measure(ctx, epsilon)
		if err != nil {
			return false, err
		}
		if m.LowerBound != nil && *m.LowerBound > accept && !(s.Together && s.count > 1) {
			designed, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return false, err
			}
			answer.Below = max(answer.Below, designed)
		}
		if m.ExpectedLoss == nil || *m.ExpectedLoss > accept {
			return false, nil
		}
		answer.Epsilon, answer.Loss = text, portrait.FloatUp(*m.ExpectedLoss)
		return true, nil
	}
	// Designs at small epsilons are fast, so the bracket is found from below.
	for probe := 0.5; ; probe = math.Min(2*probe, high) {
		ok, err := try(probe)
		if err != nil {
			return err
		}
		if ok {
			high = probe
			break
		}
		if low = probe; probe == high {
			return check.Field("studio", "accept", s.Accept, fmt.Sprintf("an expected loss that an epsilon of at most %d reaches", int(lp.MaxEpsilon)))
		}
	}
	for high/low > solveWidth {
		middle := math.Sqrt(low * high)
		ok, err := try(middle)
		switch {
		case err != nil:
			return err
		case ok:
			high = middle
		default:
			low = middle
		}
	}
	return s.send("found", answer)
}

func (s *study) measure(ctx context.Context, epsilon float64) (m measured, text string, err error) {
	text = strconv.FormatFloat(epsilon, 'g', 5, 64)
	args, err := s.design(map[string]string{"epsilon": text, "gap": sweepGap, "time-limit": solveTime})
	if err != nil {
		return m, text, err
	}
	if err := s.run.object(ctx, append(args, "--json", "--quiet"), "", &m); err != nil {
		return m, text, err
	}
	if m.ExpectedLoss == nil {
		return m, text, errors.New("the expected loss is not a number here")
	}
	return m, text, s.send("step", step{commandLine(args), epsilon, portrait.FloatUp(*m.ExpectedLoss)})
}
