package oracle

import (
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
)

// TestAwanDongTails: the law that the tails describe has mass 1, wastes no
// privacy at a shift of 1, and has the losses that AwanDongLoss sums in another
// way.
func TestAwanDongTails(t *testing.T) {
	for _, epsilon := range []float64{0, 1e-6, 0.01, 0.3, 1, 4, 20} {
		for _, delta := range []float64{0, 1e-9, 1e-4, 0.02, 0.3, 0.5, 0.8, 0.99} {
			if epsilon <= 1e-6 && delta < 1e-6 {
				continue // too long a list, or no such noise
			}
			tails, err := noise.AwanDongTails(epsilon, delta)
			if err != nil {
				t.Fatal(err)
			}
			// p(0), p(1), …; p(-k) = p(k).
			p := []float64{1 - 2*tails[0]}
			for k, tail := range tails {
				next := 0.0
				if k+1 < len(tails) {
					next = tails[k+1]
				}
				if !(tail > next) {
					t.Fatalf("(%g, %g): tails %g, %g do not decrease", epsilon, delta, tail, next)
				}
				p = append(p, tail-next)
			}
			at := func(k int) float64 {
				if k < 0 {
					k = -k
				}
				if k < len(p) {
					return p[k]
				}
				return 0
			}
			var mass, first, second, divergence exact.Sum
			for k := -len(p); k <= len(p); k++ {
				x := float64(k)
				mass.Add(at(k))
				first.Add(at(k) * math.Abs(x))
				second.Add(at(k) * x * x)
				divergence.Add(math.Max(0, at(k)-math.Exp(epsilon)*at(k-1)))
			}
			near(t, "mass", mass.Value(), 1, 1e-13)
			if !(math.Abs(divergence.Value()-delta) <= 1e-12) {
				t.Errorf("(%g, %g): hockey-stick at 1 is %g", epsilon, delta, divergence.Value())
			}
			v1, err1 := AwanDongLoss(epsilon, delta, loss.L1{})
			v2, err2 := AwanDongLoss(epsilon, delta, loss.L2{})
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			near(t, "first moment", first.Value(), v1, 1e-10)
			near(t, "second moment", second.Value(), v2, 1e-10)
		}
	}
}

// TestAwanDongSmallest: no other private integer noise has a smaller tail. The
// others: geometric noise with an atom, and uniform integer noise.
func TestAwanDongSmallest(t *testing.T) {
	for _, epsilon := range []float64{0.2, 1, 3} {
		for _, delta := range []float64{1e-6, 0.01, 0.2, 0.6} {
			tails, err := noise.AwanDongTails(epsilon, delta)
			if err != nil {
				t.Fatal(err)
			}
			q := math.Exp(-epsilon)
			n := math.Ceil((1/delta - 1) / 2) // 2n+1 >= 1/δ points
			for i, tail := range tails {
				k := float64(i + 1)
				if geometric := (1 - delta) * math.Pow(q, k) / (1 + q); tail > geometric*(1+1e-12) {
					t.Errorf("(%g, %g): T_%g = %g, geometric noise with an atom has %g", epsilon, delta, k, tail, geometric)
				}
				if uniform := math.Max(0, n-k+1) / (2*n + 1); tail > uniform*(1+1e-12) {
					t.Errorf("(%g, %g): T_%g = %g, uniform noise has %g", epsilon, delta, k, tail, uniform)
				}
			}
		}
	}
}

// TestTulapOptimalForZeroEpsilon: at ε = 0 and δ = 1/(2n+1) the integer optimum
// is uniform on 2n+1 points, and Tulap noise is the uniform mechanism.
func TestTulapOptimalForZeroEpsilon(t *testing.T) {
	must := must(t)
	for _, n := range []float64{1, 2, 50, 1e6} {
		p := dp.Privacy{Epsilon: 0, Delta: 1 / (2*n + 1), Sensitivity: 2}
		near(t, "integer l1", must(AwanDongLoss(0, p.Delta, loss.L1{})), n*(n+1)/(2*n+1), 1e-12)
		near(t, "integer l2", must(AwanDongLoss(0, p.Delta, loss.L2{})), n*(n+1)/3, 1e-12)
		near(t, "Tulap l1", must(TulapLoss(p, loss.L1{})), lossOf(t, "uniform", p, loss.L1{}), 1e-12)
		near(t, "Tulap l2", must(TulapLoss(p, loss.L2{})), lossOf(t, "uniform", p, loss.L2{}), 1e-12)
	}
}

// TestLowerBoundExact: for ε = 0, l1 and 1/(2δ) an integer the lower bound meets
// the uniform mechanism.
func TestLowerBoundExact(t *testing.T) {
	for _, n := range []float64{1, 2, 7} {
		p := dp.Privacy{Epsilon: 0, Delta: 1 / (2 * n), Sensitivity: 1.5}
		near(t, "lower bound", must(t)(LowerBound(p, loss.L1{})), lossOf(t, "uniform", p, loss.L1{}), 1e-14)
	}
	// With δ near 1 and l2 the bound would be negative.
	if v := must(t)(LowerBound(dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: 1}, loss.L2{})); v != 0 {
		t.Errorf("lower bound %g, want 0", v)
	}
}
