package noise

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"testing"
)

// BenchmarkBaselines builds each baseline and evaluates its closed form: the work
// of one row of a comparison.
func BenchmarkBaselines(b *testing.B) {
	p := Parameters{0.5, 1e-6, 1}
	for _, baseline := range Baselines() {
		b.Run(baseline.Name, func(b *testing.B) {
			for b.Loop() {
				m, err := baseline.New(p, L1{})
				if err != nil {
					b.Fatal(err)
				}
				if _, _, err := m.ExpectedLoss(L1{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkNumericalLoss is the same work for a loss without a closed form.
func BenchmarkNumericalLoss(b *testing.B) {
	for _, epsilon := range []float64{0.01, 1} {
		p := Parameters{epsilon, 1e-6, 1}
		for _, baseline := range Baselines() {
			m, err := baseline.New(p, L1{})
			if err != nil {
				continue
			}
			b.Run(fmt.Sprintf("%s/epsilon=%g", baseline.Name, epsilon), func(b *testing.B) {
				var relative float64
				for b.Loop() {
					value, bound, err := m.ExpectedLoss(opaque{L1{}})
					if err != nil {
						b.Fatal(err)
					}
					relative = bound / value
				}
				b.ReportMetric(relative*1e15, "relative-error-e15")
			})
		}
	}
}

// BenchmarkAwanDongLoss has 10^12 tails to sum.
func BenchmarkAwanDongLoss(b *testing.B) {
	for b.Loop() {
		if _, err := AwanDongLoss(1e-13, 1e-12, L2{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoss is what a certificate asks of a loss for every cell: 2^20+1
// points per cell and 64 cells per unit, cells all over the loss.
func BenchmarkLoss(b *testing.B) {
	const points = 1<<20 + 1
	fine := new(big.Rat).SetFloat64(0x1p-26)
	step := big.NewRat(1, 64)
	large := []Segment{{Knot: math.Inf(-1), Slope: -5000}}
	for i := range maxKnots - 1 {
		large = append(large, Segment{Knot: float64(i-5000) / 16, Slope: float64(i) - 4999.5})
	}
	losses := map[string]Loss{"pwl of 9999 knots": must2(NewPWL(large))}
	for _, name := range []string{
		"l1", "l2", "huber:2", "exceed:3", "pwl:-inf,-2;-1,-0.5;0,1;5,3,2", "l1:0.7 + exceed:3:0.3", "lp:3", "lp:1.5", "lp:1.1",
	} {
		losses[name] = must2(ParseLoss(name))
	}
	for _, name := range slices.Sorted(maps.Keys(losses)) {
		l := losses[name]
		for method, f := range map[string]func(j int64){
			"LowerNode":  func(j int64) { l.LowerNode(j, step) },
			"GridMeanUp": func(j int64) { l.GridMeanUp(j*points-points/2, points, fine) },
			"CellMean":   func(j int64) { l.CellMean(float64(j)/64, 1.0/64) },
		} {
			b.Run(method+"/"+name, func(b *testing.B) {
				j := int64(-1000)
				for b.Loop() {
					f(j)
					if j++; j > 1000 {
						j = -1000
					}
				}
			})
		}
		if l == losses["pwl of 9999 knots"] {
			continue // Growth looks at every knot: about a tenth of a second
		}
		b.Run("Growth/"+name, func(b *testing.B) {
			for b.Loop() {
				l.Growth(400, step)
			}
		})
	}
}
