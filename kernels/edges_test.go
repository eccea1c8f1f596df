// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// TestMaxLossFromItsDefinition: the bound on the largest loss is the largest over parts of cells, of means
// of the largest cost in each, rounded up in the last of its places and no more: also where cells are far
// from nodes, so that differences are no float64s, and parts no dyadic numbers.
func TestMaxLossFromItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	for trial := range 2 {
		if testing.Short() && trial == 0 {
			continue // slow
		}
		edges := []float64{0, 0.25, 0.5, 0.75, 1}
		nodes := []float64{-0x1p53 - 2, -0x1p53, 0.25, 0.7}
		if trial%2 == 0 { // 51 parts
			edges, nodes = []float64{0}, nil
			for i := range 40 {
				edges, nodes = append(edges, float64(i+1)/10), append(nodes, float64(i)/10+1.0/30)
			}
		}
		rows := make([][]uint64, len(nodes))
		for i := range rows {
			rows[i] = make([]uint64, len(nodes))
			heavy := rng.IntN(len(nodes))
			if trial%2 == 1 { // far away for the last cells only
				heavy = len(nodes) - 1 - i
			}
			for j := range nodes {
				if j != heavy {
					rows[i][j] = 1 + rng.Uint64N(1000)*rng.Uint64N(2)
					rows[i][heavy] -= rows[i][j]
				}
			}
		}
		s := Spec{
			Privacy: dp.Privacy{Epsilon: 1, Delta: 1 - 0x1p-53, Sensitivity: 0.001}, Queries: Queries{Lower: edges[0], Upper: edges[len(edges)-1]},
			Loss: loss.L1, Edges: edges, Nodes: nodes, Rows: rows,
		}
		k, err := New(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		parts := limits.KernelParts(len(nodes))
		want := new(big.Rat)
		for c, row := range rows {
			from, to := exact.Rational(edges[c]), exact.Rational(edges[c+1])
			at := func(part int) *big.Rat {
				x := new(big.Rat).Sub(to, from)
				return x.Mul(x, big.NewRat(int64(part), int64(parts))).Add(x, from)
			}
			for part := range parts {
				sum := new(big.Rat)
				for j, w := range row {
					most := new(big.Rat)
					for _, x := range []*big.Rat{at(part), at(part + 1)} {
						if d := new(big.Rat).Sub(exact.Rational(nodes[j]), x); d.Abs(d).Cmp(most) > 0 {
							most = d
						}
					}
					sum.Add(sum, most.Mul(most, new(big.Rat).SetInt(new(big.Int).SetUint64(w))))
				}
				if sum.Mul(sum, exact.PowerOfTwo(-64)).Cmp(want) > 0 {
					want = sum
				}
			}
		}
		found := k.Certify().MaxLoss
		off := new(big.Rat).Sub(found, want)
		if off.Sign() < 0 || off.Cmp(exact.PowerOfTwo(1-peakBits)) > 0 {
			f, _ := off.Float64()
			t.Errorf("trial %d: largest loss %s, off by %g", trial, found.FloatString(30), f)
		}
	}
}

// TestPureToAUnit: laws of cells within the sensitivity that are e^epsilon apart are private with delta = 0,
// and with a unit less weight not; those further apart may be anything.
func TestPureToAUnit(t *testing.T) {
	for _, epsilon := range []float64{0.1, 1, 5} {
		e := new(big.Rat).SetFrac(exact.ExpDown(epsilon, exact.RatioBits), new(big.Int).Lsh(big.NewInt(1), exact.RatioBits))
		least := exact.Ceil(new(big.Rat).Quo(exact.PowerOfTwo(64), e.Add(e, big.NewRat(1, 1)))).Uint64()
		for less := range uint64(2) {
			w := least - less
			s := Spec{
				Privacy: dp.Privacy{Epsilon: epsilon, Sensitivity: 1}, Queries: Queries{Upper: 3}, Loss: loss.L1,
				Edges: []float64{0, 1, 3}, Nodes: []float64{0, 2}, Rows: [][]uint64{{-w, w}, {w, -w}},
			}
			if _, err := newKernel(t, s).Verify(); errors.Is(err, proof.ErrNotPrivate) != (less == 1) {
				t.Errorf("epsilon %g, %d units less: %v", epsilon, less, err)
			}
		}
	}
}

// TestDualAdd: pairs are added one after another.
func TestDualAdd(t *testing.T) {
	var d Dual
	d.Add(1, 2, 3, []int64{4, 5})
	d.Add(2, 1, 0, []int64{6})
	if want := []dualPair{{1, 2, 3, []int64{4, 5}}, {2, 1, 0, []int64{6}}}; !reflect.DeepEqual(d.Pairs, want) {
		t.Errorf("%+v, want %+v", d.Pairs, want)
	}
}
