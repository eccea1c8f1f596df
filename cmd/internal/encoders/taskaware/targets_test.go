// SPDX-License-Identifier: Apache-2.0

package taskaware

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
)

// TestSeveralTargets: where one number must serve two targets, the one whose loss counts more is
// told, the bundle decodes to both, and the gradient of the sum is that of differences.
func TestSeveralTargets(t *testing.T) {
	const n = 200
	r := encoders.Rand(1, "people", 0)
	d := &encoders.Data{Features: []string{"a", "b"}, X: dense.NewMatrix(n, 2), Target: encoders.Column{Name: "sick", Classes: []string{"no", "yes"}}, More: []encoders.Column{{Name: "score"}}}
	for i := range n {
		a, b := r.NormFloat64(), r.NormFloat64()
		copy(d.X.Data[2*i:], []float64{a, b})
		label := 0
		if a > 0 {
			label = 1
		}
		d.Target.Labels = append(d.Target.Labels, label)
		d.More[0].Values = append(d.More[0].Values, 1000+30*b)
	}
	body, noise := noiseOf(t, noise.Laplace, bundle.Box, 1, 20)
	var losses [2][]float64
	for k, weights := range [][]float64{{1, 0.01}, {0.01, 1}} {
		d.Weights = weights
		result, err := Train(t.Context(), d, body, noise, Options{Steps: 200, Restarts: 1}, encoders.Run{})
		if err != nil {
			t.Fatal(err)
		}
		losses[k] = result.HeldOut.Parts
		if sum := weights[0]*losses[k][0] + weights[1]*losses[k][1]; math.Abs(sum-result.HeldOut.Loss) > 1e-9 {
			t.Errorf("loss %g, want the sum %g", result.HeldOut.Loss, sum)
		}
		b, err := result.Bundle()
		if err != nil {
			t.Fatal(err)
		}
		if s := b.Spec(); s.Output != bundle.Values || !slices.Equal(s.Outputs, []string{"sick = no", "sick = yes", "score"}) {
			t.Errorf("output %s of %q", s.Output, s.Outputs)
		}
		if _, err := result.Evaluate(d, 1, 1); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("evaluated with %v, want an error of the targets", err)
		}
	}
	// A constant answer has the cross entropy .69 and the squared error 1.
	if sick, score := losses[0], losses[1]; sick[0] > 0.3 || sick[1] < 0.8 || score[0] < 0.6 || score[1] > 0.3 {
		t.Errorf("losses %v with the class first, %v with the number first", sick, score)
	}
	if _, err := TrainTask(t.Context(), d, TaskOptions{}); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("a task network of two targets: %v", err)
	}
	gradientOfSum(t, d)
}

func gradientOfSum(t *testing.T, d *encoders.Data) {
	t.Helper()
	d.Weights = []float64{2, 0.5}
	all := d.Pick([]int{0, 1, 2, 3, 4}).Wanted()
	out, slope, none := dense.NewMatrix(5, 3), dense.NewMatrix(5, 3), dense.Matrix{}
	for i := range out.Data {
		out.Data[i] = float64(i%4) - 1
	}
	all.Loss(out, slope)
	const step = 1e-5
	for i, v := range out.Data {
		out.Data[i] = v + step
		up := all.Loss(out, none)
		out.Data[i] = v - step
		down := all.Loss(out, none)
		out.Data[i] = v
		if want := (up - down) / (2 * step); math.Abs(slope.Data[i]-want) > 1e-4*(1+math.Abs(want)) {
			t.Errorf("gradient %g of output %d, want %g", slope.Data[i], i, want)
		}
	}
}
