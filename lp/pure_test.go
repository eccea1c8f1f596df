package lp_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/noise"
)

func TestX(t *testing.T) {
	for _, loss := range []noise.Loss{noise.L1{}, noise.L2{}} {
		for _, eps := range []float64{0.001, 0.01, 0.1, 1, 5, 20} {
			r, err := lp.Design(context.Background(), lp.Problem{Epsilon: eps, Sensitivity: 1, Loss: loss}, lp.Options{NewSolver: highs.New})
			want, _ := noise.StaircaseLoss(noise.Parameters{Epsilon: eps, Sensitivity: 1}, loss)
			if r == nil {
				fmt.Println(eps, err)
				continue
			}
			el, _ := r.Certificate.ExpectedLoss.Float64()
			lb, _ := r.Certificate.LowerBound.Float64()
			fmt.Printf("%s %g: %.9g [%.9g, %.9g] up %+.2e low %+.2e gap %.2e K=%d K'=%d cells %d %v %v\n", loss.Name(), eps, want, lb, el, el/want-1, lb/want-1, r.Gap, r.Table.Grid().CellsPerSensitivity, r.Table.Dual().CellsPerSensitivity, r.Table.Cells(), r.Elapsed, err)
		}
	}
}
func TestY(t *testing.T) {
	for _, loss := range []noise.Loss{noise.L1{}, noise.L2{}} {
		for _, k := range []int64{1, 3, 10, 100, 1000} {
			for _, eps := range []float64{0.001, 0.01, 0.1, 1, 3, 5, 10, 20} {
				r, err := lp.Design(context.Background(), lp.Problem{Epsilon: eps, Sensitivity: float64(k), Loss: loss, Query: noise.IntegerQuery}, lp.Options{NewSolver: highs.New})
				_, want, _ := noise.DiscreteStaircase(eps, k, loss)
				if r == nil {
					fmt.Println(k, eps, err)
					continue
				}
				el, _ := r.Certificate.ExpectedLoss.Float64()
				lb, _ := r.Certificate.LowerBound.Float64()
				fmt.Printf("%s K=%d %g: %.9g [%.9g, %.9g] up %+.2e low %+.2e gap %.2e K=%d K'=%d cells %d %v %v\n", loss.Name(), k, eps, want, lb, el, el/want-1, lb/want-1, r.Gap, r.Table.Grid().CellsPerSensitivity, r.Table.Dual().CellsPerSensitivity, r.Table.Cells(), r.Elapsed, err)
			}
		}
	}
}
