// SPDX-License-Identifier: Apache-2.0

package taskspace_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/taskspace"
	"github.com/noisewright/noisewright/latent/bundle"
)

func constant(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }

// mustDecoder returns the best decoder for the moments of data.
func mustDecoder(t testing.TB, e *taskspace.Encoder, data mat.Matrix, variances []float64) *taskspace.Decoder {
	t.Helper()
	d, err := taskspace.NewDecoder(e.Moments(data), variances)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func mustLoss(t testing.TB, task *mat.Dense, e *taskspace.Encoder, d *taskspace.Decoder, data mat.Matrix, variances []float64) taskspace.Loss {
	t.Helper()
	loss, err := taskspace.ExpectedLoss(task, e, d, data, variances)
	if err != nil {
		t.Fatal(err)
	}
	return loss
}

// With the radius of the largest training norm nothing is clipped, and the loss on
// the training data is the closed form, for each of the joint noises.
func TestLossIsTheClosedForm(t *testing.T) {
	rng := newRand(40)
	for _, n := range []int{1, 3, 6} {
		data, task := randomData(rng, 1500, n), randomMatrix(rng, n, n)
		m := mustMoments(t, data)
		c := mustCoordinates(t, m, task)
		y := c.Transform(data)
		ball, box := taskspace.BallRadii(y, 1), taskspace.CoordinateRadii(y, 1)
		r := ball[n-1] * (1 + 1e-12)
		for _, epsilon := range []float64{1, 20, 400} {
			laplace, err := taskspace.Waterfill(c.Lambda, r, epsilon)
			if err != nil {
				t.Fatal(err)
			}
			tau := 2 / epsilon
			// In a ball all coordinates are released alike.
			k := 4 * r * r * tau * tau
			gaussian := taskspace.Scaling{Z: n, Sigma2: constant(n, 1), Loss: k / (1 + k) * sumOf(c.Lambda)}
			boxed := taskspace.GaussianBox(c.Lambda, box, tau)
			for _, test := range []struct {
				name     string
				domain   bundle.Domain
				scaling  taskspace.Scaling
				radii    []float64
				variance float64
			}{
				{"laplace ball", bundle.Ball, laplace, constant(n, r), 2 / (epsilon * epsilon)},
				{"gaussian ball", bundle.Ball, gaussian, constant(n, r), tau * tau},
				{"gaussian box", bundle.Box, boxed, box, tau * tau},
			} {
				e := c.Encoder(test.domain, test.scaling.SemiAxes(), test.radii)
				variances := constant(test.scaling.Z, test.variance)
				d := mustDecoder(t, e, data, variances)
				loss := mustLoss(t, task, e, d, data, variances)
				wantClose(t, test.name, loss.Total, test.scaling.Loss, 0, 1e-9)
				wantClose(t, test.name+" by output", sumOf(loss.Output), loss.Total, 0, 1e-12)

				fromMoments := e.UnclippedMoments(m)
				if d, err = taskspace.NewDecoder(fromMoments, variances); err != nil {
					t.Fatal(err)
				}
				wantClose(t, test.name+" from moments", sumOf(c.Lambda)-fromMoments.Gain(task, d), test.scaling.Loss, 0, 1e-9)
			}
		}
	}
}

// A case with everything in it: offset, clipping of features and coordinates.
func clippedCase(t testing.TB, domain bundle.Domain) (e *taskspace.Encoder, data *mat.Dense, variances []float64) {
	rng := newRand(41)
	const n, z = 4, 3
	data = randomData(rng, 1100, n)
	m := mustMoments(t, data)
	c := mustCoordinates(t, m, nil)
	e = c.Encoder(bundle.Box, []float64{.5, .3, .2}, []float64{1.5, 1, 2})
	e.Domain = domain
	e.Offset = []float64{.1, -.05, .02}
	for j := range n {
		deviation := math.Sqrt(m.Covariance.At(j, j))
		e.Low, e.High = append(e.Low, m.Mean[j]-2*deviation), append(e.High, m.Mean[j]+1.5*deviation)
	}
	return e, data, []float64{.02, .05, .01}
}

// The loss is convex in the decoder, so that a decoder no perturbation of which
// loses less is optimal; for every task.
func TestDecoderIsOptimal(t *testing.T) {
	for _, domain := range []bundle.Domain{bundle.Box, bundle.Ball} {
		e, data, variances := clippedCase(t, domain)
		rng := newRand(42)
		d := mustDecoder(t, e, data, variances)
		for _, task := range []*mat.Dense{taskspace.Identity(4), randomMatrix(rng, 2, 4), randomMatrix(rng, 6, 4)} {
			best := mustLoss(t, task, e, d, data, variances).Total
			for range 50 {
				size := math.Exp(-8 * rng.Float64())
				perturbed := &taskspace.Decoder{Matrix: mat.DenseCopyOf(d.Matrix), Offset: slices.Clone(d.Offset)}
				perturbed.Matrix.Apply(func(_, _ int, v float64) float64 { return v + size*rng.NormFloat64() }, d.Matrix)
				for j := range perturbed.Offset {
					perturbed.Offset[j] += size * rng.NormFloat64()
				}
				if got := mustLoss(t, task, e, perturbed, data, variances).Total; got < best*(1-1e-13) {
					t.Fatalf("%s: a perturbation of size %g loses %.17g, below %.17g", domain, size, got, best)
				}
			}
		}
	}
}

// The expectation against drawn noise, two-sided at 6.2 standard errors (Student's
// t with 999 degrees of freedom): a false-alarm rate of 1e-9 for each of two cases.
// A bias of 2% of the noise's part would show.
func TestExpectedLossAgainstDraws(t *testing.T) {
	for _, domain := range []bundle.Domain{bundle.Box, bundle.Ball} {
		e, data, variances := clippedCase(t, domain)
		rng := newRand(43)
		task := randomMatrix(rng, 2, 4)
		d := mustDecoder(t, e, data, variances)
		want := mustLoss(t, task, e, d, data, variances)
		u := e.Encode(data)
		const repeats = 1000
		rows, z := u.Dims()
		released, decoded := mat.NewVecDense(z, nil), mat.NewVecDense(4, nil)
		output := mat.NewVecDense(2, nil)
		// One number per repeat, a mean over all rows: they are independent.
		var total, squares float64
		for range repeats {
			mean := 0.
			for i := range rows {
				for k, v := range variances {
					sign := float64(1 - 2*rng.IntN(2)) // Laplace noise of variance v
					released.SetVec(k, u.At(i, k)+sign*rng.ExpFloat64()*math.Sqrt(v/2))
				}
				decoded.MulVec(d.Matrix, released)
				for j := range 4 {
					decoded.SetVec(j, data.At(i, j)-d.Offset[j]-decoded.AtVec(j))
				}
				output.MulVec(task, decoded)
				mean += mat.Dot(output, output) / float64(rows)
			}
			total += mean
			squares += mean * mean
		}
		mean := total / repeats
		standardError := math.Sqrt((squares/repeats - mean*mean) / (repeats - 1))
		wantClose(t, "mean of drawn losses", want.Total, mean, 6.2*standardError, 0)
		if 6.2*standardError > .02*want.Noise {
			t.Errorf("the test would miss a bias of 2%% of the noise: standard error %g, noise %g", standardError, want.Noise)
		}
	}
}

// The gain is what ExpectedLoss on the same data says.
func TestGain(t *testing.T) {
	for _, domain := range []bundle.Domain{bundle.Box, bundle.Ball} {
		e, data, variances := clippedCase(t, domain)
		task := randomMatrix(newRand(46), 3, 4)
		m, d := e.Moments(data), mustDecoder(t, e, data, variances)
		var spread mat.Dense
		spread.Product(task, mustMoments(t, data).Covariance, task.T())
		wantClose(t, "loss", mat.Trace(&spread)-m.Gain(task, d), mustLoss(t, task, e, d, data, variances).Total, 0, 1e-11)
	}
}

func TestEncodeClips(t *testing.T) {
	e := &taskspace.Encoder{
		Rows: mat.NewDense(2, 2, []float64{1, 0, 0, 2}), Mean: []float64{1, 1}, Offset: []float64{0, .5},
		Low: []float64{-10, -10}, High: []float64{10, 3}, Axes: []float64{1, 2},
	}
	data := mat.NewDense(4, 2, []float64{1, 1, 4, 8, 1.5, 1, 1.75, 1.75})
	for _, test := range []struct {
		domain bundle.Domain
		want   []float64
	}{
		{bundle.Box, []float64{0, .5, 1, 2, .5, .5, .75, 2}},
		// (3, 4.5) is 3.75 axes out, (.75, 2) is 1.25: 3² + 2.25² = 3.75².
		{bundle.Ball, []float64{0, .5, 3 / 3.75, 4.5 / 3.75, .5, .5, .75 / 1.25, 2 / 1.25}},
	} {
		e.Domain = test.domain
		u := e.Encode(data)
		for i, want := range test.want {
			wantClose(t, "u", u.At(i/2, i%2), want, 1e-15, 0)
		}
	}
	if data.At(1, 1) != 8 {
		t.Error("Encode changed its data")
	}
}

func TestDecoderRefuses(t *testing.T) {
	e, data, variances := clippedCase(t, bundle.Box)
	d := mustDecoder(t, e, data, variances)
	loss := func(data mat.Matrix) error {
		_, err := taskspace.ExpectedLoss(taskspace.Identity(4), e, d, data, variances)
		return err
	}
	decoder := func(variances ...float64) error {
		duplicate := &taskspace.Encoder{Rows: mat.NewDense(2, 4, []float64{1, 0, 0, 0, 1, 0, 0, 0}), Mean: e.Mean}
		_, err := taskspace.NewDecoder(duplicate.Moments(data), variances)
		return err
	}
	for name, err := range map[string]error{
		"columns":      loss(data.Slice(0, 5, 0, 3)),
		"empty data":   loss(new(mat.Dense)),
		"NaN":          loss(mat.NewDense(1, 4, []float64{0, 0, math.NaN(), 0})),
		"NaN variance": decoder(1, math.NaN()),
		"infinite":     decoder(math.Inf(1), 1),
		"singular":     decoder(0, 0),
	} {
		if !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: error %v, want ErrInvalid", name, err)
		}
	}
}

func BenchmarkExpectedLoss(b *testing.B) {
	rng := newRand(45)
	const n, z = 1000, 20
	data := randomMatrix(rng, 2000, n)
	e := &taskspace.Encoder{Rows: randomMatrix(rng, z, n), Mean: make([]float64, n), Axes: constant(z, 20)}
	variances := constant(z, 1)
	d := mustDecoder(b, e, data, variances)
	task := taskspace.Identity(n)
	for b.Loop() {
		mustLoss(b, task, e, d, data, variances)
	}
}
