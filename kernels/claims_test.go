// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"errors"
	"math"
	"math/big"
	"reflect"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

const nearlyAll = 1<<64 - 1 // and 1 elsewhere

// TestNearlyAlikeErrors: cells and nodes whose distances are rounded to those of other cells have costs of their own,
// whichever comes first.
func TestNearlyAlikeErrors(t *testing.T) {
	const hair = 0x1p-60
	for _, x := range []struct {
		edges, nodes []float64
		rows         [][]uint64
		most, more   float64 // their sum is the loss, for nearly all of the mass
	}{
		{ // the node 1 is a hair more than 1 from the start of the last cell
			[]float64{-3, -2, -hair, 1},
			[]float64{-2, -1, 1},
			[][]uint64{{nearlyAll, 1, 0}, {0, nearlyAll, 1}, {0, 1, nearlyAll}},
			1, hair,
		},
		{ // the node 1 is a hair less than 1 from the start of the first cell
			[]float64{hair, 1, 2},
			[]float64{1, 2},
			[][]uint64{{nearlyAll, 1}, {1, nearlyAll}},
			1, 0,
		},
		{ // the last cell is a hair longer than 1, exactly 1 from its node
			[]float64{-5, -4, -1, hair},
			[]float64{-6, -3, -2},
			[][]uint64{{nearlyAll, 1, 0}, {0, 1 << 63, 1 << 63}, {0, 1, nearlyAll}},
			2, hair,
		},
	} {
		n := len(x.edges)
		k := newKernel(t, Spec{
			Privacy: dp.Privacy{Epsilon: 1, Delta: 0.99, Sensitivity: 1}, Loss: loss.L1,
			Queries: Queries{Lower: x.edges[0], Upper: x.edges[n-1]}, Edges: x.edges, Nodes: x.nodes, Rows: x.rows,
		})
		least := new(big.Rat).Add(exact.Rational(x.most), exact.Rational(x.more))
		least.Mul(least, new(big.Rat).SetFrac(new(big.Int).SetUint64(nearlyAll), new(big.Int).Lsh(big.NewInt(1), 64)))
		if got := k.Certify().MaxLoss; got.Cmp(least) < 0 {
			t.Errorf("edges %v: a largest loss of %s, want at least %s", x.edges, got.FloatString(25), least.FloatString(25))
		}
	}
}

// TestBothOrders: the largest divergence is the certified one, whichever of two neighbors has more.
func TestBothOrders(t *testing.T) {
	rows := [][]uint64{{1 << 63, 1 << 62, 1 << 62}, {1 << 60, nearlyAll - 1<<60 - 1<<62 + 1, 1 << 62}}
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		k := newKernel(t, Spec{
			Privacy: dp.Privacy{Epsilon: 0.5, Delta: 0.99, Sensitivity: 1}, Loss: loss.L1, Queries: Queries{Upper: 3},
			Edges: []float64{0, 1, 2, 3}, Nodes: []float64{0, 1, 2}, Rows: [][]uint64{rows[order[0]], rows[order[1]], rows[order[1]]},
		})
		want := 0.0
		for _, pair := range [][2]int{{0, 1}, {1, 0}} {
			sum := 0.0
			for j, w := range rows[pair[0]] {
				sum += math.Max(0, float64(w)-math.Exp(0.5)*float64(rows[pair[1]][j]))
			}
			want = math.Max(want, sum*0x1p-64)
		}
		if got, _ := k.Certify().DeltaUpper.Float64(); math.Abs(got/want-1) > 1e-12 {
			t.Errorf("order %v: delta %v, want %v", order, got, want)
		}
	}
}

// TestCapToItsEnd: a cap that is exactly the largest loss holds, and one a unit below it does not.
func TestCapToItsEnd(t *testing.T) {
	for limit, holds := range map[float64]bool{1: true, math.Nextafter(1, 0): false} {
		k := newKernel(t, Spec{
			Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 1}, Loss: loss.L1, Queries: Queries{Upper: 2},
			Edges: []float64{0, 1, 2}, Nodes: []float64{0.5, 1.5}, Rows: [][]uint64{{1 << 63, 1 << 63}, {1 << 63, 1 << 63}}, InstanceCap: limit,
		})
		if _, err := k.Verify(); (err == nil) != holds || !holds && !errors.Is(err, proof.ErrFalseClaim) {
			t.Errorf("a largest loss of %s for a cap of %v: %v", k.Certify().CapLoss.FloatString(20), limit, err)
		}
	}
}

// TestKernelAsAChannel: what samplers and accountants are told of a kernel.
func TestKernelAsAChannel(t *testing.T) {
	a := math.Nextafter(1, 2)
	k := newKernel(t, Spec{
		Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 1}, Loss: loss.L1, Queries: Queries{Lower: -1, Upper: 8},
		Edges: []float64{-1, 1, a, math.Nextafter(a, 2), 8}, Nodes: []float64{0.25, 1.5, 2, 3},
		Rows: [][]uint64{{1 << 62, 1 << 62, 1 << 62, 1 << 62}, {1 << 62, 1 << 62, 1 << 62, 1 << 62}, {1 << 62, 1 << 62, 1 << 62, 1 << 62}, {1 << 62, 1 << 62, 1 << 62, 1 << 62}},
	})
	if in, want := k.Inputs(), (proof.Space{Kind: proof.Numbers, Lower: -1, Upper: 8}); !reflect.DeepEqual(in, want) {
		t.Errorf("inputs %+v, want %+v", in, want)
	}
	if out, want := k.Answers(), (proof.Space{Kind: proof.Numbers, Lower: 0.25, Upper: 3}); !reflect.DeepEqual(out, want) {
		t.Errorf("answers %+v, want %+v", out, want)
	}
	if k.Points() != 0 {
		t.Errorf("%d points", k.Points())
	}
	for row := range 4 {
		if c, err := k.Choose(k.Input(row)); err != nil || c.Row != row {
			t.Errorf("the input %v of the cell %d is in %d, %v", k.Input(row), row, c.Row, err)
		}
	}
	if x, _ := proof.Float(k.Input(3)); math.Abs(x-4.5) > 1e-9 {
		t.Errorf("the middle of the last cell is %v", x)
	}
	for _, x := range []float64{math.Nextafter(-1, -2), math.Nextafter(8, 9), math.NaN(), math.Inf(1)} {
		if c, err := k.ChooseNumber(x); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v is in the cell %d, %v", x, c.Row, err)
		}
	}
	one := Spec{
		Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 1}, Loss: loss.L1, Queries: Queries{Upper: 1},
		Edges: []float64{0, 1}, Nodes: []float64{0.5}, Rows: [][]uint64{{nearlyAll}},
	}
	if _, err := New(t.Context(), one); err == nil {
		t.Error("a row that lacks a unit is a law")
	}
}
