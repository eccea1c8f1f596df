// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/latent/internal/blocks"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// What additive says of probabilities agrees with the exact quantiles of tables, with and
// without cells of several points, an atom and a tail.
func TestAdditiveAgreesWithQuantiles(t *testing.T) {
	joint := bundle.Spec{Noise: noise.Laplace, Promise: bundle.Promise{Epsilon: 2}, Domain: bundle.Box, Axes: []float64{0.3, 0.2}}
	if err := joint.Calibrate(); err != nil {
		t.Fatal(err)
	}
	cut, err := cutLaplace(t.Context(), 1, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	staircase, err := shapes.Staircase(cut.Problem(), 0, tables.Grid{})
	if err != nil {
		t.Fatal(err)
	}
	for name, table := range map[string]*tables.Table{"laplace": joint.Tables[0], "cut": cut, "staircase": staircase.Mechanism()} {
		a := newAdditive(table)
		for _, p := range []float64{1e-9, 1e-4, 0.03, 0.2, 0.4, 0.5, 0.7, 0.9, 0.999, 1 - 1e-7} {
			q, err := table.Quantile(p)
			if err != nil {
				t.Fatal(err)
			}
			n := int64(math.Round(q / a.step))
			if below, upTo := a.under(n), a.under(n+1); !(below <= p*(1+1e-9) && upTo >= p*(1-1e-9)) {
				t.Errorf("%s: quantile %g of %g: %g is below it and %g up to it", name, q, p, below, upTo)
			}
		}
		if m, v := a.moments(0.25); m != 0.25+a.mean || v != a.variance {
			t.Errorf("%s: moments %g, %g", name, m, v)
		}
	}
}

// What channels say of releases is what is drawn, within 4.9 standard errors, which is a
// false alarm once in 10^6 of each of 80 comparisons if they were normal.
func TestChannelsAgreeWithDraws(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 0))
	p := named(Problem{Data: randomData(r, 300, 4), Promise: bundle.Promise{Epsilon: 6, Delta: 1e-3}, Domain: bundle.Box, Clip: 0.95})
	res := design(t, p, Options{})
	for _, kind := range []bundle.Kind{bundle.Local, noise.Laplace} {
		b, err := res.Bundle(res.Best(kind))
		if err != nil {
			t.Fatal(err)
		}
		noisy, err := proved(t, b).NewDeterministicPrivatizer([32]byte{3}, sampler.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := b.Spec()
		list := channels(&s)
		for row := range 3 {
			x := p.Data.(interface{ RawRowView(int) []float64 }).RawRowView(row)
			u, err := b.Encode(nil, x)
			if err != nil {
				t.Fatal(err)
			}
			const draws = 4000
			edge := 0.1
			count, mean := make([]float64, len(u)), make([]float64, len(u))
			for range draws {
				private, err := noisy.Privatize(nil, x)
				if err != nil {
					t.Fatal(err)
				}
				for k, v := range private {
					mean[k] += v / draws
					if v < edge {
						count[k]++
					}
				}
			}
			for k, c := range list {
				want, variance := c.moments(u[k])
				if math.Abs(mean[k]-want) > 4.9*math.Sqrt(variance/draws) {
					t.Errorf("%s, row %d: mean %g, want %g", kind, row, mean[k], want)
				}
				below := c.below(u[k], edge)
				if math.Abs(count[k]/draws-below) > 4.9*math.Sqrt(below*(1-below)/draws)+1e-9 {
					t.Errorf("%s, row %d: %g are below, want %g", kind, row, count[k]/draws, below)
				}
			}
		}
	}
}

// A response interpolates between nodes as a randomizer does.
func TestResponse(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 0))
	var values []float64
	for range 200 {
		values = append(values, 2*r.Float64()-1)
	}
	m, err := blocks.NewLaw(values, values, 1).Randomizer(3)
	if err != nil {
		t.Fatal(err)
	}
	a, answers := newResponse(m), m.Spec().Answers
	nodes := append(m.Spec().Nodes, 0.123, -0.77)
	for k, x := range nodes[:len(nodes)-1] {
		for _, x := range []float64{x, x/2 + nodes[k+1]/2} {
			p := m.PMFAt(x)
			mean, square, below := 0., 0., 0.
			for j, y := range answers {
				mean += p[j] * y
				square += p[j] * y * y
				if y < 0.2 {
					below += p[j]
				}
			}
			if got, v := a.moments(x); math.Abs(got-mean) > 1e-12 || math.Abs(v-(square-mean*mean)) > 1e-12 {
				t.Errorf("value %g: mean %g and variance %g, want %g and %g", x, got, v, mean, square-mean*mean)
			}
			if got := a.below(x, 0.2); math.Abs(got-below) > 1e-12 {
				t.Errorf("value %g: %g is below, want %g", x, got, below)
			}
		}
	}
}

// A lookup is better than an affine decoder where what is to be known is no linear function
// of what is sent, on the training data and on rows held out, and its predictions hold.
func TestLookup(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 0))
	data := randomData(r, 600, 3)
	for i := range 600 {
		data.Set(i, 1, math.Abs(data.At(i, 0)-3)+0.1*r.NormFloat64())
	}
	p := named(Problem{Data: data, Promise: bundle.Promise{Epsilon: 8, Delta: 1e-3}, Domain: bundle.Box, Clip: 0.98})
	res := design(t, p, Options{Store: testStore(t)})
	for _, kind := range []bundle.Kind{bundle.Local, bundle.Designed, noise.Laplace, noise.Gaussian} {
		b, err := res.Bundle(res.Best(kind))
		if err != nil {
			t.Fatal(err)
		}
		found, heldAffine, heldLookup, err := res.Lookup(b)
		if err != nil {
			t.Fatal(err)
		}
		affine, lookup := b.Spec().Predicted.TrainingLoss, found.Spec().Predicted.TrainingLoss
		if !(heldLookup < heldAffine && lookup < affine && heldLookup > lookup*(1-0.02)) {
			t.Errorf("%s: lookup %g and affine %g; on rows held out %g and %g", kind, lookup, affine, heldLookup, heldAffine)
		}
		if !(math.Abs(heldAffine-affine) < 0.1*affine) {
			t.Errorf("%s: affine %g, and %g on rows held out", kind, affine, heldAffine)
		}
		noisy, err := proved(t, found).NewDeterministicPrivatizer([32]byte{7}, sampler.Options{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := Evaluate(t.Context(), noisy, data, 100)
		if err != nil {
			t.Fatal(err)
		}
		wantNear(t, string(kind)+": prediction", e.Predicted.Total, lookup, 1e-9)
		wantNear(t, string(kind)+": sum of outputs", sum(e.Predicted.Output), e.Predicted.Total, 1e-9)
		if low, high := e.Interval(4.5); !(low <= lookup && lookup <= high) {
			t.Errorf("%s: measured %g to %g, want %g", kind, low, high, lookup)
		}
	}
}

// Functions of the coordinates of spherical noise are correlated, and nothing here knows how.
func TestNoLookupOfSphericalNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 0))
	p := named(Problem{Data: randomData(r, 100, 4), Promise: bundle.Promise{Epsilon: 40}, Domain: bundle.Ball, Clip: 0.9})
	res := design(t, p, Options{Kinds: []bundle.Kind{bundle.Spherical}})
	c := res.Best(bundle.Spherical)
	b, err := res.Bundle(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := res.Lookup(b); c.Z < 2 || !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("a lookup of %d coordinates: %v, want ErrInvalid", c.Z, err)
	}
}

// duchi is the unbiased randomizer of two answers (Duchi, Jordan & Wainwright 2018) for
// epsilon = log 3, where they are exactly ±2; it keeps any larger one.
func duchi(_ context.Context, epsilon float64) (*local.Verified, error) {
	const low, answer = uint64(1) << 62, 2
	r, err := local.New(context.Background(), local.Spec{
		Epsilon: epsilon, Values: local.Values{Kind: local.Real, Lower: -1, Upper: 1}, Objective: local.Worst, Loss: loss.L2,
		Nodes: []float64{-1, 1}, Answers: []float64{-answer, answer}, Rows: [][]uint64{{3 * low, low}, {low, 3 * low}},
		Demands: local.Demands{Unbiased: true},
	})
	if err != nil {
		return nil, err
	}
	return r.Verify()
}

// With unbiased randomizers the affine decoder is a factor, and the loss has a closed form:
// answers ±A to a value t have mean t and variance A² − t².
func TestUnbiased(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 0))
	for _, d := range domains {
		p := named(Problem{Data: randomData(r, 300, 1), Promise: bundle.Promise{Epsilon: 2}, Domain: d, Clip: 0.9})
		p.Low, p.High = []float64{2}, []float64{4.5}
		res := design(t, p, Options{Unbiased: duchi, Kinds: []bundle.Kind{bundle.LocalUnbiased}})
		c := res.Best(bundle.LocalUnbiased)
		if c == nil || c.Z != 1 || c.Epsilon[0] != 2 {
			t.Fatalf("%s: candidate %+v", d, c)
		}
		b, err := res.Bundle(c)
		if err != nil {
			t.Fatal(err)
		}
		proved(t, b)
		units, err := encodedRows(b, p.Data)
		if err != nil {
			t.Fatal(err)
		}
		rows, _ := p.Data.Dims()
		answer := b.Spec().Randomizers[b.Spec().RandomizerOf[0]].Spec().Answers[1]
		x, u := mat.Col(nil, 0, p.Data), mat.Col(nil, 0, units)
		mean := sum(u) / float64(rows)
		covariance := 0.
		for i := range rows {
			covariance += x[i] * (u[i] - mean) / float64(rows)
		}
		gain := covariance * covariance / (answer*answer - mean*mean) // the task is the identity
		wantNear(t, string(d)+": loss", c.Loss, res.BaselineLoss-gain, 1e-9)
	}
}

// The benchmark has as many coordinates as were asked for, and may be worse for it.
func TestBenchmarkCoordinates(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r := rand.New(rand.NewPCG(12, 0))
	for _, d := range domains {
		p := named(Problem{Data: randomData(r, 200, 4), Promise: bundle.Promise{Epsilon: 3, Delta: 1e-3}, Domain: d, Clip: 0.9})
		free := design(t, p, Options{})
		for z := 1; z <= 4; z++ {
			res := design(t, p, Options{Coordinates: z})
			for _, kind := range []bundle.Kind{noise.Laplace, noise.Gaussian} {
				c := find(t, res, kind, privacyAgnostic)
				if c.Z != z {
					t.Errorf("%s, %s: the benchmark has %d coordinates, want %d", d, kind, c.Z, z)
				}
				if best := find(t, free, kind, taskAware); !(c.Loss >= best.Loss*(1-1e-9)) {
					t.Errorf("%s, %s: %d coordinates have the loss %g, the best %g", d, kind, z, c.Loss, best.Loss)
				}
			}
		}
		for _, z := range []int{-1, 5} {
			if _, err := Design(t.Context(), p, Options{Coordinates: z}); !errors.Is(err, dp.ErrInvalid) {
				t.Errorf("%s: %d coordinates: %v, want ErrInvalid", d, z, err)
			}
		}
	}
}
