// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/noisewright/noisewright/dp"
)

func TestEvaluate(t *testing.T) {
	m := smallModel()
	d := encoded(t, smallRecords("n,a,0,q,2", "n,b,1,p,5", "n,c,-4,s,7.5", "n,a,-4,s,7.5"), small())
	var wrong int
	for row := range d.Len() {
		if m.Predict(d, row) != d.Class(row) {
			wrong++
		}
	}
	e, err := m.Evaluate(d) // a schema that is equal
	if err != nil || e.Rows != 4 || e.Wrong != wrong || e.Rate != float64(wrong)/4 || e.Level != 0.95 || wrong == 0 || wrong == 4 {
		t.Errorf("%+v, %v, want %d wrong of 4", e, err, wrong)
	}
	other := small()
	other.Features[0].Bounds.Upper = 11
	unlabeled := encoded(t, smallRecords("n,a,0,q,2"), small())
	unlabeled.classes = nil
	for _, bad := range []*Data{encoded(t, smallRecords(), small()), encoded(t, smallRecords("n,a,0,q,2"), other), unlabeled} {
		if e, err := m.Evaluate(bad); !errors.Is(err, dp.ErrInvalid) || e.Rows != 0 {
			t.Errorf("%+v, %v, want an error", e, err)
		}
	}
}

// TestClopperPearson: the ends are where the tails of the binomial distribution are 2.5 %
// (Clopper & Pearson 1934), and the interval covers any probability as often as it says.
func TestClopperPearson(t *testing.T) {
	const n = 40
	var lower, upper [n + 1]float64
	for k := range n + 1 {
		lower[k], upper[k] = clopperPearson(k, n, 0.95)
		if k > 0 {
			if tail := 1 - (distuv.Binomial{N: n, P: lower[k]}).CDF(float64(k-1)); math.Abs(tail-0.025) > 1e-9 {
				t.Errorf("%d of %d: a tail of %v above %v", k, n, tail, lower[k])
			}
		}
		if k < n {
			if tail := (distuv.Binomial{N: n, P: upper[k]}).CDF(float64(k)); math.Abs(tail-0.025) > 1e-9 {
				t.Errorf("%d of %d: a tail of %v below %v", k, n, tail, upper[k])
			}
		}
	}
	if lower[0] != 0 || upper[n] != 1 {
		t.Errorf("%v to %v", lower[0], upper[n])
	}
	for i := range 100 {
		p, covered := (float64(i)+0.5)/100, 0.0
		for k := range n + 1 {
			if lower[k] <= p && p <= upper[k] {
				covered += (distuv.Binomial{N: n, P: p}).Prob(float64(k))
			}
		}
		if covered < 0.95 {
			t.Errorf("a probability of %v is covered with %v", p, covered)
		}
	}
	if low, high := clopperPearson(1000, 10_000_000, 0.95); !(low < 1e-4 && 1e-4 < high && high-low < 2e-5) {
		t.Errorf("%v to %v", low, high)
	}
}
