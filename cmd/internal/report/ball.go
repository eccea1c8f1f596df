// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/loss"
)

// MeanNorm says what a loss of a norm is.
func MeanNorm(l loss.Loss) string {
	switch name := l.Name(); name {
	case "l1":
		return "the norm"
	case "l2":
		return "the squared norm"
	default:
		return "the norm to the power " + name[len("lp:"):]
	}
}

// Ball says what was found about noise on balls.
func Ball(f Finding) About {
	m := f.Mechanism.(*ball.Noise)
	c, s := m.Certify(), m.Spec()
	step := fmt.Sprintf("2^%d, %d of them at most", s.StepExponent, s.Radii[len(s.Radii)-1])
	all := summary{
		neighbors: ", between values up to the sensitivity apart in the Euclidean norm",
		values:    []shell.Row{{"coordinates", fmt.Sprint(s.Dimension)}},
		losses:    []shell.Row{{"expected loss", upper(c.ExpectedLoss) + ", the mean of " + MeanNorm(s.Loss)}},
		size:      shell.Row{"balls", fmt.Sprint(len(s.Radii))},
	}.rows(m, c.Bounds(), f.Falsehood)
	var rows []shell.Row
	var lower *float64
	for _, r := range all {
		switch r[0] {
		case "loss": // said elsewhere
			continue
		case "gap":
			if c.LowerBound.Sign() == 0 {
				continue
			}
		case "lower bound":
			if c.LowerBound.Sign() == 0 {
				r = shell.Row{"lower bound", "none: how much other noise loses is not known"}
			} else {
				lower = shell.FloatDown(c.LowerBound)
			}
		}
		rows = append(rows, r)
	}
	return About{
		Problem:   shell.Object{"dimension", s.Dimension, Promise(s.Privacy), "loss", s.Loss.Name()},
		Certified: shell.Object{"delta_upper", shell.FloatUp(c.DeltaUpper), "expected_loss", shell.FloatUp(c.ExpectedLoss), "lower_bound", lower},
		Size:      shell.Object{"balls", len(s.Radii)},
		Rows:      append(rows, shell.Row{"radii in steps of", step}),
	}
}
