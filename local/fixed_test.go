// SPDX-License-Identifier: Apache-2.0

package local

import (
	"math/big"
	"testing"

	"github.com/noisewright/noisewright/loss"
)

// parsed is the loss with a name.
func parsed(tb testing.TB, name string) loss.Loss {
	tb.Helper()
	l, err := loss.Parse(name)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// TestCostBits: the binary places follow the exact loss of an error as large as the range, also
// where a float64 of it cancels, underflows or overflows.
func TestCostBits(t *testing.T) {
	for _, c := range []struct {
		loss         string
		lower, upper float64
		want         int
	}{
		{"l1", 0, 1, 128},
		{"l2", 0, 4, 124},
		{"lp:1.5", 0, 4, 125},
		{"asymmetric:1,64", 0, 1, 122},
		{"asymmetric:64,1", 0, 1, 122},
		{"huber:1", 0, 0x3p-28, 182},
		{"huber:1", 0, 0x3p-32, 190},
		{"huber:1", 0, 0x1p-68, 265},
		{"huber:1:0.5 + lp:3", 0, 0x1p-68, 266},
		{"lp:64", 0, 0x1p-20, 128 + 1074},
		{"lp:64", 0, 0x1p20, 128},
		{"deadzone:2", 0, 1, 128},
		// The range is 1 less 2^-60, and rounding up gives 1.
		{"l1", 0x1p-60, 1, 128},
	} {
		s := Spec{Values: Values{Kind: Real, Lower: c.lower, Upper: c.upper}, Loss: parsed(t, c.loss)}
		if got := s.costBits(); got != c.want {
			t.Errorf("%s from %g to %g: %d binary places, want %d", c.loss, c.lower, c.upper, got, c.want)
		}
	}
}

// TestLossOfSmallRange: on a range far below its parameter huber:1 is half of the square, and the
// mean loss is that, up to digits beyond all claims.
func TestLossOfSmallRange(t *testing.T) {
	const step = 0x1p-70
	s := Spec{
		Epsilon: logThree, Values: Values{Kind: Real, Upper: 4 * step}, Objective: Mean, Loss: parsed(t, "huber:1"),
		Nodes: []float64{0, 4 * step}, Answers: []float64{step, 3 * step},
		Rows: [][]uint64{{3 * quarter, quarter}, {quarter, 3 * quarter}},
	}
	got := newRandomizer(t, s).Certify().MeanLoss
	s.Loss = loss.L2
	want := newRandomizer(t, s).Certify().MeanLoss
	want.Mul(want, big.NewRat(1, 2))
	if excess := new(big.Rat).Sub(got, want); excess.Sign() < 0 || float(excess) > 1e-30*float(want) {
		t.Errorf("mean loss %g, want %g, or above it by 1e-30 of it", float(got), float(want))
	}
}
