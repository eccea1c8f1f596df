// SPDX-License-Identifier: Apache-2.0

package local

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// logThree is a little above ln 3, the epsilon of odds of 3 to 1.
const logThree = 1.0986122887

const quarter = 1 << 62 // of all weights

// twoAnswers is the mechanism of Duchi, Jordan and Wainwright (2018) for values in
// [-1, 1]: answers ±(e^ε+1)/(e^ε−1), which is 2, with odds of 3 to 1 at the ends, and no
// need of nodes in between.
func twoAnswers() Spec {
	return Spec{
		Epsilon: logThree, Values: Values{Kind: Real, Lower: -1, Upper: 1}, Objective: Worst,
		Demands: Demands{Unbiased: true}, Loss: loss.L2,
		Nodes: []float64{-1, 1}, Answers: []float64{-2, 2},
		Rows: [][]uint64{{3 * quarter, quarter}, {quarter, 3 * quarter}},
	}
}

// response is randomized response (Warner 1965) among k labels.
func response(k int, epsilon float64) Spec {
	odds := math.Exp(epsilon)
	wrong := uint64(0x1p64 / (odds + float64(k) - 1))
	s := Spec{Epsilon: epsilon * (1 + 1e-12), Values: Values{Kind: Category}, Objective: Mean}
	for i := range k {
		label := string(rune('a' + i))
		s.Values.Labels, s.AnswerLabels = append(s.Values.Labels, label), append(s.AnswerLabels, label)
		row, costs := make([]uint64, k), make([]float64, k)
		for j := range row {
			row[j], costs[j] = wrong, 1
		}
		row[i], costs[i] = -wrong*uint64(k-1), 0
		s.Rows, s.Costs = append(s.Rows, row), append(s.Costs, costs)
	}
	return s
}

func newRandomizer(tb testing.TB, s Spec) *Randomizer {
	tb.Helper()
	r, err := New(tb.Context(), s)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func encoded(tb testing.TB, r *Randomizer) string {
	tb.Helper()
	var b bytes.Buffer
	if err := r.Encode(&b); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func float(r *big.Rat) float64 {
	f, _ := r.Float64()
	return f
}

// TestTwoAnswers: the variance of Duchi's mechanism is ((e^ε+1)/(e^ε−1))² − x², and no
// mechanism with answers between its two has less at 0.
func TestTwoAnswers(t *testing.T) {
	s := twoAnswers()
	r := newRandomizer(t, s)
	c := r.Certify()
	if c.DeltaUpper.Sign() != 0 || c.Bias.Sign() != 0 {
		t.Errorf("delta %v, bias %v, want 0", c.DeltaUpper, c.Bias)
	}
	if got := float(c.WorstLoss); math.Abs(got-4) > 1e-3 || got < 4 {
		t.Errorf("worst loss %g, want 4", got)
	}
	if got := float(c.MeanLoss); math.Abs(got-(4-1./3)) > 1e-12 {
		t.Errorf("mean loss %g, want 4 - 1/3", got)
	}
	for _, x := range []float64{-1, -0.3, 0, 0.75} {
		if got := r.LossAt(x); math.Abs(got-(4-x*x)) > 1e-12 {
			t.Errorf("loss at %g is %g, want %g", x, got, 4-x*x)
		}
	}
	s.Demands.Lower, s.Demands.Upper = -2, 2
	s.Dual = &Dual{Nodes: []float64{-1, 0, 1}, Weights: []float64{0, 1, 0}, Totals: []float64{-6, 4, -6}, Means: []float64{-6, 0, 6}}
	if got := float(newRandomizer(t, s).Certify().LowerBound); got > 4 || got < 3.999 {
		t.Errorf("lower bound %g for answers from -2 to 2, want 4", got)
	}
}

// TestResponse: randomized response errs with probability (k−1)/(e^ε+k−1), and a dual
// with that value proves that no mechanism errs less.
func TestResponse(t *testing.T) {
	const k, epsilon = 5, 1.5
	s := response(k, epsilon)
	odds := math.Exp(epsilon)
	want := (k - 1) / (odds + k - 1)
	// G(j) = φ(−λ) + 4φ(1/5 − λ) = 0 for every answer.
	price := (k - 1.) / k / (odds + k - 1)
	s.Dual = &Dual{Totals: []float64{price, price, price, price, price}}
	c := newRandomizer(t, s).Certify()
	if c.DeltaUpper.Sign() != 0 || c.Bias.Sign() != 0 || math.Abs(float(c.MeanLoss)-want) > 1e-12 || math.Abs(float(c.WorstLoss)-want) > 1e-12 {
		t.Errorf("%+v, want delta 0 and losses of %g", c.Claims(), want)
	}
	if got := float(c.LowerBound); math.Abs(got-want) > 1e-10 {
		t.Errorf("lower bound %g, want %g", got, want)
	}
}

// TestNotPrivate: a promise that is not kept is refused, and so is unbiasedness, and a cap.
func TestNotPrivate(t *testing.T) {
	for _, c := range []struct {
		change func(s *Spec)
		want   error
		says   string
	}{
		{func(s *Spec) { s.Epsilon = 1.0986 }, proof.ErrNotPrivate, "between the nodes"},
		{func(s *Spec) { s.Answers[0] = -2.5 }, proof.ErrFalseClaim, "unbiased"},
		{func(s *Spec) { s.Demands.Cap = 3.99 }, proof.ErrFalseClaim, "cap = 3.99"},
	} {
		s := twoAnswers()
		c.change(&s)
		v, err := newRandomizer(t, s).Verify()
		if v != nil || !errors.Is(err, c.want) || errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, %v, want %v that says %q", v, err, c.want, c.says)
		}
	}
	for _, r := range []*Randomizer{nil, {}} {
		if v, err := r.Verify(); v != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v, %v, want ErrInvalid", v, err)
		}
	}
}
