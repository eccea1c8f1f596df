// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"testing"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// TestNextToJumps: where the next grid on which a jump lies well would not be done in time, one next to it that is
// better than the last is taken.
func TestNextToJumps(t *testing.T) {
	l, err := loss.New("exceed", 4.67)
	if err != nil {
		t.Fatal(err)
	}
	p := dp.Problem{
		Privacy: dp.Privacy{Epsilon: 0.587, Delta: 4.06e-6, Sensitivity: 1}, Loss: l,
		Constraints: dp.Constraints{Unbiased: true},
	}
	const k, reach, missed = 20, 22.3, 4e-5
	for took, most := range map[time.Duration]int{time.Millisecond: 2 * k * 3, 150 * time.Millisecond: 30} {
		o := meet.Options{Gap: 1e-3, TimeLimit: time.Second, Clock: func() time.Duration { return 0 }}
		d, err := newDesigner(p, &meet.Search{Options: o, Best: 0.06234, Bound: 0.06223})
		if err != nil {
			t.Fatal(err)
		}
		d.lower.bound.(*lower).kind = betweenNodes
		s := &d.upper
		s.grid, s.reach, s.took, s.slows = s.bound.extent(k, reach), reach, took, 2
		before := d.jumpsMiss(s, k)
		if !d.finerInTime(s, missed, 1.5) {
			t.Errorf("after %v nothing is done in time", took)
			continue
		}
		if s.grid.k <= k || s.grid.k > most || d.jumpsMiss(s, s.grid.k) >= before {
			t.Errorf("after %v: %d cells per sensitivity miss %g, %d missed %g", took, s.grid.k, d.jumpsMiss(s, s.grid.k), k, before)
		}
		if most == 30 {
			s.took = 10 * time.Second
			if at := s.grid.k; d.finerInTime(s, missed, 1.5) || s.grid.k != at {
				t.Errorf("with programs of %v, %d cells per sensitivity are thought to be done in time", s.took, s.grid.k)
			}
		}
	}
}
