// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// used returns the number of coordinates used.
func used(a *Allocation) int {
	count := 0
	for _, e := range a.Epsilon {
		if e > 0 {
			count++
		}
	}
	return count
}

func split(t *testing.T, lambda, halfwidth []float64, epsilon, delta float64, f Family) *Allocation {
	t.Helper()
	a, err := Split(t.Context(), lambda, halfwidth, epsilon, delta, f)
	if err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	checkAllocation(t, a, lambda, halfwidth, epsilon, delta, f)
	return a
}

// checkAllocation checks everything but that the loss is least.
func checkAllocation(t *testing.T, a *Allocation, lambda, halfwidth []float64, epsilon, delta float64, f Family) {
	t.Helper()
	for name, sum := range map[string]struct {
		parts  []float64
		budget float64
	}{"epsilon": {a.Epsilon, epsilon}, "delta": {a.Delta, delta}} {
		total := new(big.Rat)
		for _, x := range sum.parts {
			if !(x >= 0) {
				t.Errorf("%s: share of %s = %g", f.Name, name, x)
			}
			total.Add(total, new(big.Rat).SetFloat64(x))
		}
		if total.Cmp(new(big.Rat).SetFloat64(sum.budget)) > 0 {
			t.Errorf("%s: the shares of %s sum to more than %g", f.Name, name, sum.budget)
		}
		if got, _ := total.Float64(); name == "epsilon" && used(a) > 0 && got < epsilon*(1-1e-14) {
			t.Errorf("%s: %g of epsilon = %g is used", f.Name, got, epsilon)
		}
	}
	var loss float64
	for i, l := range lambda {
		if a.Epsilon[i] == 0 {
			if a.Delta[i] != 0 || a.Variance[i] != 0 {
				t.Errorf("%s: coordinate %d is not used, but has delta %g and variance %g", f.Name, i, a.Delta[i], a.Variance[i])
			}
			loss += l
			continue
		}
		v := a.Variance[i]
		if want := variance(t, f, a.Epsilon[i], a.Delta[i]); v != want {
			t.Errorf("%s: variance %g, want %g", f.Name, v, want)
		}
		k := 4 * halfwidth[i] * halfwidth[i] * v
		loss += l * k / (1 + k)
	}
	if !near(a.Loss, loss, 1e-12) {
		t.Errorf("%s: loss %g, want %g", f.Name, a.Loss, loss)
	}
}

// bruteForce returns the least loss over a grid of all shares, for at most 3
// coordinates.
func bruteForce(t *testing.T, lambda, halfwidth []float64, epsilon, delta float64, f Family, steps, deltaSteps int) float64 {
	t.Helper()
	if f.Pure || delta == 0 {
		delta, deltaSteps = 0, 1
	}
	n := len(lambda)
	// loss[i][e][d]
	loss := make([][][]float64, n)
	for i := range loss {
		loss[i] = make([][]float64, steps+1)
		for e := range loss[i] {
			loss[i][e] = make([]float64, deltaSteps+1)
			for d := range loss[i][e] {
				loss[i][e][d] = lambda[i]
				if e > 0 && (d > 0 || delta == 0) {
					v := variance(t, f, epsilon*float64(e)/float64(steps), delta*float64(d)/float64(deltaSteps))
					k := 4 * halfwidth[i] * halfwidth[i] * v
					loss[i][e][d] = lambda[i] * k / (1 + k)
				}
			}
		}
	}
	var least func(i, e, d int) float64
	least = func(i, e, d int) float64 {
		if i == n-1 {
			return loss[i][e][d]
		}
		best := math.Inf(1)
		for x := 0; x <= e; x++ {
			for y := 0; y <= d; y++ {
				best = math.Min(best, loss[i][x][y]+least(i+1, e-x, d-y))
			}
		}
		return best
	}
	return least(0, steps, deltaSteps)
}

// randomSplit returns n coordinates.
func randomSplit(r *rand.Rand, n int) (lambda, halfwidth []float64) {
	for range n {
		lambda = append(lambda, math.Exp(3*r.Float64()))
		halfwidth = append(halfwidth, 1+2*r.Float64())
	}
	return lambda, halfwidth
}

// The oracle: nothing on a fine grid of all shares is better.
func TestSplitFindsTheBest(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r := rand.New(rand.NewPCG(5, 1))
	count := map[int]int{}
	for trial := range 60 {
		n := 1 + trial%3
		lambda, halfwidth := randomSplit(r, n)
		epsilon := math.Exp(4 * r.Float64())
		delta := math.Pow(10, -6+4.5*r.Float64())
		for _, f := range families() {
			steps, deltaSteps := 400, 40
			if n == 3 {
				steps, deltaSteps = 60, 12
			}
			a := split(t, lambda, halfwidth, epsilon, delta, f)
			count[used(a)]++
			if least := bruteForce(t, lambda, halfwidth, epsilon, delta, f, steps, deltaSteps); a.Loss > least*(1+1e-6)+1e-8*lambda[0] {
				t.Errorf("%s, λ = %v, c = %v, (%g, %g): loss %.9g with %v %v, brute force %.9g",
					f.Name, lambda, halfwidth, epsilon, delta, a.Loss, a.Epsilon, a.Delta, least)
			}
		}
	}
	if count[1] < 20 || count[2] < 20 || count[3] < 10 {
		t.Errorf("coordinates used %v: not all cases are covered", count)
	}
}

func TestSplitOfOneCoordinate(t *testing.T) {
	for _, f := range families() {
		a := split(t, []float64{3}, []float64{2}, 1.7, 1e-4, f)
		delta := 1e-4
		if f.Pure {
			delta = 0
		}
		if a.Epsilon[0] != 1.7 || a.Delta[0] != delta {
			t.Errorf("%s: shares %g, %g, want all", f.Name, a.Epsilon[0], a.Delta[0])
		}
		k := 4 * 2 * 2 * variance(t, f, 1.7, 1e-4)
		if want := 3 * k / (1 + k); !near(a.Loss, want, 1e-14) {
			t.Errorf("%s: loss %g, want %g", f.Name, a.Loss, want)
		}
	}
}

// Equal coordinates with ample ε share it equally.
func TestSplitOfEqualCoordinates(t *testing.T) {
	for _, f := range families() {
		a := split(t, []float64{1, 1, 1}, []float64{2, 2, 2}, 60, 1e-3, f)
		for i := range 3 {
			if !near(a.Epsilon[i], 20, 1e-3) || !f.Pure && !near(a.Delta[i], 1e-3/3, 0.05) {
				t.Errorf("%s: shares %v %v, want equal ones", f.Name, a.Epsilon, a.Delta)
			}
		}
	}
}

func TestSplitUnderPermutationScaleAndMore(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r := rand.New(rand.NewPCG(6, 1))
	for trial := range 40 {
		n := 2 + trial%9
		lambda, halfwidth := randomSplit(r, n)
		epsilon, delta := math.Exp(4.5*r.Float64()), math.Pow(10, -8+7*r.Float64())
		for _, f := range families() {
			base := split(t, lambda, halfwidth, epsilon, delta, f)

			shuffled, widths, order := make([]float64, n), make([]float64, n), r.Perm(n)
			for i, j := range order {
				shuffled[i], widths[i] = lambda[j], halfwidth[j]
			}
			p := split(t, shuffled, widths, epsilon, delta, f)
			for i, j := range order {
				if !near(p.Epsilon[i], base.Epsilon[j], 1e-12) || !near(p.Delta[i], base.Delta[j], 1e-12) {
					t.Errorf("%s: coordinate %d has (%g, %g), permuted (%g, %g)",
						f.Name, j, base.Epsilon[j], base.Delta[j], p.Epsilon[i], p.Delta[i])
				}
			}

			// A power of two scales λ without rounding.
			scaled := make([]float64, n)
			for i, l := range lambda {
				scaled[i] = 8 * l
			}
			s := split(t, scaled, halfwidth, epsilon, delta, f)
			if s.Loss != 8*base.Loss {
				t.Errorf("%s: 8λ has loss %g, want 8·%g", f.Name, s.Loss, base.Loss)
			}

			// The same loss and half-widths for c times as large and v c² times
			// as small: Laplace with c ε.
			if f.Name == "laplace" {
				wider := make([]float64, n)
				for i, c := range halfwidth {
					wider[i] = 4 * c
				}
				if w := split(t, lambda, wider, 4*epsilon, delta, f); !near(w.Loss, base.Loss, 1e-12) {
					t.Errorf("4c at 4ε has loss %g, want %g", w.Loss, base.Loss)
				}
			}

			// One more coordinate can be left alone.
			l, c := append([]float64{5}, lambda...), append([]float64{1.5}, halfwidth...)
			if more := split(t, l, c, epsilon, delta, f); more.Loss > (base.Loss+5)*(1+1e-9) {
				t.Errorf("%s: with one more coordinate the loss is %g, without %g + 5", f.Name, more.Loss, base.Loss)
			}
			// And one of no weight changes nothing.
			l, c = append([]float64{0}, lambda...), append([]float64{1}, halfwidth...)
			if zero := split(t, l, c, epsilon, delta, f); zero.Loss != base.Loss || zero.Epsilon[0] != 0 {
				t.Errorf("%s: λ = 0 gets %g and the loss is %g, want 0 and %g", f.Name, zero.Epsilon[0], zero.Loss, base.Loss)
			}
		}
	}
}

func TestSplitGainsFromMoreBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r := rand.New(rand.NewPCG(7, 1))
	lambda, halfwidth := randomSplit(r, 12)
	for _, f := range families() {
		last := math.Inf(1)
		for epsilon := 0.05; epsilon < 200; epsilon *= 1.3 {
			a := split(t, lambda, halfwidth, epsilon, 1e-5, f)
			if a.Loss > last*(1+1e-9) {
				t.Errorf("%s: loss %.12g at ε = %g, %.12g before", f.Name, a.Loss, epsilon, last)
			}
			last = a.Loss
		}
		if last = math.Inf(1); f.Pure {
			continue
		}
		for delta := 1e-9; delta < 0.9; delta *= 2 {
			a := split(t, lambda, halfwidth, 8, delta, f)
			if a.Loss > last*(1+1e-9) {
				t.Errorf("%s: loss %.12g at δ = %g, %.12g before", f.Name, a.Loss, delta, last)
			}
			last = a.Loss
		}
	}
}

// In the order of what the noise can do.
func TestSplitFamiliesInOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r := rand.New(rand.NewPCG(8, 1))
	for range 30 {
		lambda, halfwidth := randomSplit(r, 6)
		epsilon := math.Exp(4 * r.Float64())
		loss := map[string]float64{}
		for _, f := range families() {
			loss[f.Name] = split(t, lambda, halfwidth, epsilon, 1e-3, f).Loss
		}
		for _, worse := range []string{"laplace", "truncated-laplace", "staircase"} {
			if loss["truncated-staircase"] > loss[worse]*(1+1e-5) {
				t.Errorf("ε = %g: truncated staircase %g, %s %g", epsilon, loss["truncated-staircase"], worse, loss[worse])
			}
		}
	}
}

// The search prunes nothing it needs: many coordinates of which few matter.
func TestSplitOfManyCoordinates(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	lambda, halfwidth := randomSplit(r, 3)
	for _, f := range families() {
		few := split(t, lambda, halfwidth, 30, 1e-3, f)
		l, c := lambda, halfwidth
		for range 500 {
			l, c = append(l, 0.1*r.Float64()), append(c, 3+r.Float64())
		}
		many := split(t, l, c, 30, 1e-3, f)
		var rest float64
		for _, x := range l[3:] {
			rest += x
		}
		if many.Loss > (few.Loss+rest)*(1+1e-9) {
			t.Errorf("%s: loss %g, want at most %g", f.Name, many.Loss, few.Loss+rest)
		}
	}
}

func TestSplitOfNothing(t *testing.T) {
	a := split(t, []float64{0, 0}, []float64{1, 1}, 1, 0, Laplace())
	if used(a) != 0 || a.Loss != 0 {
		t.Errorf("%+v, want nothing used", a)
	}
}

func TestSplitRefusesBadInput(t *testing.T) {
	one := []float64{1}
	for name, c := range map[string]struct {
		lambda, halfwidth []float64
		epsilon, delta    float64
		family            Family
	}{
		"no coordinates":    {nil, nil, 1, 0, Laplace()},
		"different lengths": {one, []float64{1, 1}, 1, 0, Laplace()},
		"negative weight":   {[]float64{-1}, one, 1, 0, Laplace()},
		"weight NaN":        {[]float64{math.NaN()}, one, 1, 0, Laplace()},
		"half-width 0":      {one, []float64{0}, 1, 0, Laplace()},
		"half-width Inf":    {one, []float64{math.Inf(1)}, 1, 0, Laplace()},
		"epsilon 0":         {one, one, 0, 0.1, Laplace()},
		"epsilon Inf":       {one, one, math.Inf(1), 0.1, Laplace()},
		"delta 1":           {one, one, 1, 1, Laplace()},
		"delta NaN":         {one, one, 1, math.NaN(), Laplace()},
	} {
		if _, err := Split(t.Context(), c.lambda, c.halfwidth, c.epsilon, c.delta, c.family); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	// A family that needs δ says so itself.
	if _, err := Split(t.Context(), one, one, 1, 0, TruncatedLaplace()); err == nil {
		t.Error("truncated Laplace noise without δ")
	}
}

func TestFitIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 1))
	for range 2000 {
		parts := make([]float64, 1+r.IntN(20))
		var sum float64
		for i := range parts {
			parts[i] = math.Exp(20 * (r.Float64() - 0.5))
			sum += parts[i]
		}
		budget := sum * (1 + (r.Float64()-0.5)*1e-14)
		before := append([]float64(nil), parts...)
		fit(parts, budget)
		total := new(big.Rat)
		for i, x := range parts {
			total.Add(total, new(big.Rat).SetFloat64(x))
			if x > before[i] || x < before[i]*(1-1e-12) {
				t.Fatalf("part %g became %g", before[i], x)
			}
		}
		limit := new(big.Rat).SetFloat64(budget)
		if total.Cmp(limit) > 0 {
			t.Fatalf("sum above %g", budget)
		}
	}
}

// The joint ℓ1 mechanism on a box is a split of ε: every coordinate scaled to
// half-width s_i, Σ2s_i = 1, with Laplace noise of scale 1/ε.
func TestSplitLaplaceIsTheJointMechanismOnABox(t *testing.T) {
	lambda, halfwidth, epsilon := []float64{9, 5, 4, 1}, []float64{1, 1.5, 1.2, 2}, 25.0
	a := split(t, lambda, halfwidth, epsilon, 0, Laplace())
	var joint float64
	for i, l := range lambda {
		s := a.Epsilon[i] / (2 * epsilon)
		if s == 0 {
			joint += l
			continue
		}
		// Released: (s/c)·y + Laplace(1/ε), y of variance 1.
		signal, noise := s*s/(halfwidth[i]*halfwidth[i]), 2/(epsilon*epsilon)
		joint += l * noise / (signal + noise)
	}
	if !near(joint, a.Loss, 1e-12) || used(a) < 2 {
		t.Errorf("joint loss %g, split %g over %d coordinates", joint, a.Loss, used(a))
	}
}

func ExampleSplit() {
	lambda := []float64{16, 4, 1, 0.5}
	halfwidth := []float64{2.5, 2.5, 2.5, 2.5}
	for _, family := range []Family{Laplace(), Staircase(), TruncatedStaircase()} {
		a, err := Split(context.Background(), lambda, halfwidth, 20, 1e-3, family)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-20s loss %.3f with epsilon %.2f\n", family.Name, a.Loss, a.Epsilon)
	}
	// Output:
	// laplace              loss 7.066 with epsilon [14.51 5.49 0.00 0.00]
	// staircase            loss 1.831 with epsilon [11.05 8.95 0.00 0.00]
	// truncated-staircase  loss 1.831 with epsilon [11.05 8.95 0.00 0.00]
}

func BenchmarkSplit(b *testing.B) {
	for _, n := range []int{24, 1000} {
		r := rand.New(rand.NewPCG(11, 1))
		lambda, halfwidth := randomSplit(r, n)
		for _, f := range families() {
			b.Run(fmt.Sprintf("%s/%d", f.Name, n), func(b *testing.B) {
				for b.Loop() {
					if _, err := Split(b.Context(), lambda, halfwidth, 50, 1e-5, f); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
