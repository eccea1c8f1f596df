// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/taskspace"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
)

// TestSphericalAgainstOthers: n equal, independent features of variance 1 in a ball, at equal
// guarantee. With z coordinates of unit ℓ2 distance spherical noise has the variance (z+1)/ε²
// in each, Laplace noise 2z/ε²; with one they are the same, with many Laplace noise is twice.
func TestSphericalAgainstOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, n := range []int{1, 2, 10, 50} {
		p := named(Problem{
			Mean: make([]float64, n), Covariance: taskspace.Identity(n), Domain: bundle.Ball, Radius: 3,
			Promise: bundle.Promise{Epsilon: 20, Delta: 1e-6},
		})
		res := design(t, p, Options{})
		// All coordinates are sent, or some; the best number is known in closed form.
		best := math.Inf(1)
		for z := 1; z <= n; z++ {
			q := float64(z+1) * 4 * 3 * 3 / (20 * 20)
			best = min(best, float64(z)*q/(1+q)+float64(n-z))
		}
		spherical := find(t, res, bundle.Spherical, taskAware)
		wantNear(t, "spherical loss", spherical.UnclippedLoss, best, 1e-9)
		laplace := find(t, res, noise.Laplace, taskAware)
		if n == 1 {
			wantNear(t, "loss of one coordinate", spherical.Loss, laplace.Loss, 1e-9)
		} else if !(spherical.Loss < laplace.Loss) {
			t.Errorf("%d features: spherical noise has the loss %g, Laplace noise %g", n, spherical.Loss, laplace.Loss)
		}
		if first := res.Candidates[0]; n == 1 && first.Noise == bundle.Spherical {
			t.Error("spherical noise on one coordinate is put before Laplace noise, which is the same")
		}
	}
}

// TestSphericalBox: unequal scales are no worse than equal ones.
func TestSphericalBox(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	for range 10 {
		p := randomProblem(r, bundle.Box)
		p.Radius, p.Clip = 2, 0
		res := design(t, p, Options{Kinds: []bundle.Kind{bundle.Spherical}})
		if aware, equal := find(t, res, bundle.Spherical, taskAware), find(t, res, bundle.Spherical, privacyAgnostic); aware.Loss > equal.Loss*(1+1e-12) {
			t.Errorf("task-aware %g, privacy-agnostic %g", aware.Loss, equal.Loss)
		}
	}
}

// TestLaplaceBoundsBetweenFeatures: for features between bounds the balls are those of the
// nearest face and the farthest corner, tried one by one; what is designed is not better
// than the lower bound; and for features that are coordinates of a box it is the box's.
func TestLaplaceBoundsBetweenFeatures(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	for range 20 {
		p := randomProblem(r, bundle.Bounds)
		res := design(t, p, Options{Kinds: []bundle.Kind{noise.Laplace}})
		lower, upper, ok := res.LaplaceBounds()
		loss := find(t, res, noise.Laplace, taskAware).UnclippedLoss
		if !ok || !(lower <= upper*(1+1e-12)) || !(lower <= loss*(1+1e-9)) {
			t.Errorf("bounds %g to %g (%v), a design has %g", lower, upper, ok, loss)
		}
		inside, outside, err := res.boundsBalls()
		if err != nil {
			t.Fatal(err)
		}
		n := len(p.Features)
		farthest, nearest := 0.0, math.Inf(1)
		for corner := range 1 << n {
			x := mat.NewVecDense(n, nil)
			for j := range n {
				x.SetVec(j, (p.High[j]-p.Low[j])/2*float64(1-2*(corner>>j&1)))
			}
			var y mat.VecDense
			y.MulVec(res.coordinates.Analysis, x)
			farthest = max(farthest, mat.Norm(&y, 2))
		}
		wantNear(t, "farthest corner", outside, farthest, 1e-9)
		// The ball touches a face in the direction of its normal, and crosses none.
		for j := range n {
			row := res.coordinates.Synthesis.RowView(j)
			var x mat.VecDense
			var y mat.VecDense
			y.ScaleVec(inside/mat.Norm(row, 2), row)
			x.MulVec(res.coordinates.Synthesis, &y)
			nearest = min(nearest, (p.High[j]-p.Low[j])/2/x.AtVec(j))
		}
		wantNear(t, "nearest face", nearest, 1, 1e-9)
	}
	p := named(Problem{Mean: []float64{4, 5, 6}, Covariance: taskspace.Identity(3), Task: mat.NewDense(3, 3, []float64{2, 0, 0, 0, 1, 0, 0, 0, 0.5}), Promise: bundle.Promise{Epsilon: 3}, Domain: bundle.Bounds})
	box := p
	box.Domain, box.Radius = bundle.Box, 2.5
	o := Options{Kinds: []bundle.Kind{noise.Laplace}}
	lower, upper, _ := design(t, p, o).LaplaceBounds()
	wantLower, wantUpper, _ := design(t, box, o).LaplaceBounds()
	wantNear(t, "lower bound", lower, wantLower, 1e-12)
	wantNear(t, "upper bound", upper, wantUpper, 1e-12)
}

// TestSphericalPage computes the table of docs/latent.md that compares joint noise in a ball.
func TestSphericalPage(t *testing.T) {
	page, err := os.ReadFile("../docs/latent.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| z | ε = 1: spherical |")
	if !found {
		t.Fatal("no table")
	}
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.ReplaceAll(line, " ", ""), "|")
		z, err := strconv.ParseFloat(cells[1%len(cells)], 64)
		if err != nil && rows == 0 {
			continue // the rest of the header
		} else if err != nil {
			break
		}
		rows++
		for k, epsilon := range []float64{1, 5} {
			sigma, err := noise.GaussianSigma(dp.Privacy{Epsilon: epsilon, Delta: 1e-6, Sensitivity: 1})
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []float64{z * (z + 1) / epsilon / epsilon, 2 * z * z / epsilon / epsilon, z * sigma * sigma} {
				got, err := strconv.ParseFloat(cells[2+3*k+i], 64)
				if err != nil || math.Abs(got-want) > 0.005*want {
					t.Errorf("z = %g: %g on the page, want %g (%v)", z, got, want, err)
				}
			}
		}
	}
	if rows != 6 {
		t.Errorf("%d rows, want 6", rows)
	}
}
