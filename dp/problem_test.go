// SPDX-License-Identifier: Apache-2.0

package dp

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/loss"
)

// TestProblemValidate: a problem is more than its privacy, and all that is wrong is
// said at once.
func TestProblemValidate(t *testing.T) {
	good := Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 2}
	for _, p := range []Problem{
		{Privacy: good, Loss: loss.L1},
		{Privacy: good, Loss: loss.L1, Query: IntegerQuery},
		{Privacy: good, Loss: loss.L1, Query: LatticeQuery, Step: 0.3},
	} {
		if err := p.Validate(); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
	for _, c := range []struct {
		p    Problem
		says []string // for each line
	}{
		{Problem{}, []string{"sensitivity = 0", "loss = none"}},
		{Problem{Privacy: Privacy{1, 0.1, 0.5}, Query: IntegerQuery, Step: 1}, []string{"sensitivity = 0.5", "step = 1", "loss"}},
		{Problem{Privacy: good, Query: LatticeQuery, Loss: loss.L2}, []string{"step = 0"}},
		{Problem{Privacy: good, Query: LatticeQuery, Step: math.Inf(1), Loss: loss.L2}, []string{"step = +Inf"}},
		{Problem{Privacy: good, Query: "text", Loss: loss.L2, Constraints: Constraints{MaxVariance: -1}}, []string{`query = "text"`, "max-variance = -1"}},
	} {
		err := c.p.Validate()
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", c.p, err)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != len(c.says) {
			t.Errorf("%+v: %q, want %q", c.p, lines, c.says)
			continue
		}
		for i, says := range c.says {
			if !strings.HasPrefix(lines[i], "dp: "+says) {
				t.Errorf("%+v: %q, want %q", c.p, lines[i], says)
			}
		}
	}
}
