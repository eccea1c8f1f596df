package ratio

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// falseAlarm is the probability with which each statistical test fails by chance.
const falseAlarm = 1e-9

func pairNoise(t testing.TB, epsilon float64) (*tables.Verified, int64) {
	t.Helper()
	v, points, err := NewPairNoise(epsilon)
	if err != nil {
		t.Fatal(err)
	}
	return v, points
}

// small returns a table of a few weights, in 64ths.
func small(t testing.TB, p dp.Problem, g tables.Grid, atom uint64, weights ...uint64) *tables.Verified {
	t.Helper()
	for i := range weights {
		weights[i] <<= 58
	}
	p.Loss = loss.L1
	tab, err := tables.New(tables.Spec{Problem: p, Grid: g, Weights: weights, Atom: atom << 58})
	if err != nil {
		t.Fatal(err)
	}
	v, err := tab.Verify()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func drawer(t testing.TB, v *tables.Verified, seed byte) *sampler.Sampler {
	t.Helper()
	s, err := sampler.NewDeterministic(v, [32]byte{seed}, sampler.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func draw(t testing.TB, s *sampler.Sampler) float64 {
	t.Helper()
	n, err := s.SampleInt()
	if err != nil {
		t.Fatal(err)
	}
	return float64(n)
}

// TestTime prints.
func TestTime(t *testing.T) {
	for _, eps := range []float64{0.001, 0.01, 0.1, 1, 10} {
		v, points := pairNoise(t, eps)
		l := NewLaw(v, 1/float64(points))
		m := Pair(0, 1, l, l)
		n := 1000 / eps
		lo, hi, err := m.Interval(0.3*n*float64(points), 0.7*n*float64(points), 0.95)
		av, wo := m.Errors()
		fmt.Println(eps, points, v.Table().Cells(), len(l.before), len(l.bins), lo, hi, err, (hi-lo)/2*n*eps, av*eps, wo*eps)
	}
}

func BenchmarkInterval(b *testing.B) {
	v, points := pairNoise(b, 1)
	l := NewLaw(v, 1/float64(points))
	m := Pair(0, 1, l, l)
	for b.Loop() {
		if _, _, err := m.Interval(300*float64(points), 700*float64(points), 0.95); err != nil {
			b.Fatal(err)
		}
	}
}

var _ = errors.Is
var _ = math.Pi
var _ = big.NewInt
var _ = rand.N[int]
var _ = distuv.Binomial{}
var _ = shapes.Laplace
