package oracle_test

import (
	"fmt"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/oracle"
	"github.com/noisewright/noisewright/loss"
)

func ExampleTruncatedLaplaceDelta() {
	// A bound rounded up to 8 buys a smaller δ than the 10⁻³ asked for.
	fmt.Printf("%.3g\n", oracle.TruncatedLaplaceDelta(1, 1, 8))
	// Output: 0.000288
}

func ExampleStaircaseLoss() {
	value, ok := oracle.StaircaseLoss(dp.Privacy{Epsilon: 1, Sensitivity: 10}, loss.L2{})
	fmt.Printf("%.6f %v\n", value, ok)
	// Output: 191.810353 true
}

func ExampleDiscreteStaircase() {
	step, value, err := oracle.DiscreteStaircase(1, 3, loss.L1{})
	fmt.Printf("step %d of 3, E|X| = %.6f, %v\n", step, value, err)
	// Output: step 2 of 3, E|X| = 2.860832, <nil>
}

func ExampleAwanDongLoss() {
	variance, err := oracle.AwanDongLoss(1, 1e-3, loss.L2{})
	fmt.Printf("%.5f %v\n", variance, err)
	// Output: 1.77390 <nil>
}

func ExampleTulapLoss() {
	value, err := oracle.TulapLoss(dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}, loss.L1{})
	fmt.Printf("%.6f %v\n", value, err)
	// Output: 0.717583 <nil>
}

func ExampleLowerBound() {
	p := dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}
	lower, err := oracle.LowerBound(p, loss.L1{})
	if err != nil {
		fmt.Println(err)
		return
	}
	published, err := oracle.NearOptimalLowerBound(p)
	fmt.Printf("%.6f, near-optimal lower bound %.6f, %v\n", lower, published, err)
	// Output: 0.588607, near-optimal lower bound 0.259611, <nil>
}

func ExampleNearOptimalRoundedUp() {
	// At (0, 0.49) the published expression is above the loss of noise that
	// exists.
	p := dp.Privacy{Epsilon: 0, Delta: 0.49, Sensitivity: 1}
	up, err := oracle.NearOptimalRoundedUp(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	uniform, err := oracle.AdditiveOptimum(p, loss.L1{})
	fmt.Printf("%.2f > %.2f, %v\n", up, uniform, err)
	// Output: 0.98 > 0.51, <nil>
}

func ExampleAdditiveOptimum() {
	for _, delta := range []float64{0.25, 0.75} {
		v, err := oracle.AdditiveOptimum(dp.Privacy{Epsilon: 0, Delta: delta, Sensitivity: 1}, loss.L1{})
		fmt.Println(v, err)
	}
	// Output:
	// 1 <nil>
	// 0.25 <nil>
}
