package taskspace_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/taskspace"
)

// corner maxima of ‖W(x − x′)‖₁ and ‖W(x − x′)‖₂², over all corners of the box
// and in exact arithmetic.
func cornerMaxima(w *mat.Dense, widths []float64) (l1, l2Squared *big.Rat) {
	rows, cols := w.Dims()
	products := make([][]*big.Rat, rows)
	for i := range products {
		products[i] = make([]*big.Rat, cols)
		for j := range cols {
			products[i][j] = new(big.Rat).Mul(new(big.Rat).SetFloat64(w.At(i, j)), new(big.Rat).SetFloat64(widths[j]))
		}
	}
	l1, l2Squared = new(big.Rat), new(big.Rat)
	for corner := range 1 << cols {
		one, two := new(big.Rat), new(big.Rat)
		for i := range rows {
			entry := new(big.Rat)
			for j := range cols {
				if corner>>j&1 == 0 {
					entry.Add(entry, products[i][j])
				} else {
					entry.Sub(entry, products[i][j])
				}
			}
			one.Add(one, new(big.Rat).Abs(entry))
			two.Add(two, new(big.Rat).Mul(entry, entry))
		}
		if one.Cmp(l1) > 0 {
			l1 = one
		}
		if two.Cmp(l2Squared) > 0 {
			l2Squared = two
		}
	}
	return l1, l2Squared
}

func randomMap(rng *rand.Rand, rows, cols int) (w *mat.Dense, widths []float64) {
	w = randomMatrix(rng, rows, cols)
	widths = make([]float64, cols)
	for j := range widths {
		widths[j] = math.Exp(3 * rng.NormFloat64())
		if rng.IntN(6) == 0 {
			widths[j] = 0
		}
	}
	return w, widths
}

// Never below the exact maximum over the corners, and hardly above it.
func TestSensitivityAgainstCorners(t *testing.T) {
	rng := newRand(30)
	for range 60 {
		rows, cols := 1+rng.IntN(7), 1+rng.IntN(7)
		w, widths := randomMap(rng, rows, cols)
		wantL1, wantL2Squared := cornerMaxima(w, widths)
		l1, err := taskspace.SensitivityL1(w, widths)
		if err != nil {
			t.Fatal(err)
		}
		l2, err := taskspace.SensitivityL2(w, widths)
		if err != nil {
			t.Fatal(err)
		}
		got1, got2 := new(big.Rat).SetFloat64(l1.Value), new(big.Rat).SetFloat64(l2.Value)
		if !l1.Exact || !l2.Exact || got1.Cmp(wantL1) < 0 || got2.Mul(got2, got2).Cmp(wantL2Squared) < 0 {
			t.Errorf("%d×%d: bounds %+v and %+v, below the maxima or not exact", rows, cols, l1, l2)
		}
		want1, _ := wantL1.Float64()
		want2, _ := wantL2Squared.Float64()
		wantClose(t, "l1", l1.Value, want1, 0, 1e-13)
		wantClose(t, "l2", l2.Value, math.Sqrt(want2), 0, 1e-13)

		ranges, err := taskspace.CoordinateRanges(w, widths)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range ranges {
			want, _ := cornerMaxima(w.Slice(i, i+1, 0, cols).(*mat.Dense), widths)
			if new(big.Rat).SetFloat64(got).Cmp(want) < 0 {
				t.Errorf("range %g of a row is below the exact one", got)
			}
			value, _ := want.Float64()
			wantClose(t, "range", got, value, 1e-300, 1e-13)
		}
	}
}

// Where enumeration is out of reach, no pair of corners may be farther apart than
// the bound: a local search over signs looks for one. The bound is to beat the plain
// sum of ranges.
func TestSensitivityBoundsOfLargeMaps(t *testing.T) {
	rng := newRand(31)
	for _, size := range []struct{ rows, cols int }{{40, 60}, {60, 40}, {3, 200}, {100, 100}} {
		w, widths := randomMap(rng, size.rows, size.cols)
		l1, err := taskspace.SensitivityL1(w, widths)
		if err != nil {
			t.Fatal(err)
		}
		l2, err := taskspace.SensitivityL2(w, widths)
		if err != nil {
			t.Fatal(err)
		}
		if l2.Exact || l1.Exact != (size.rows == 3) {
			t.Errorf("%v: exact %v (l1) and %v (l2)", size, l1.Exact, l2.Exact)
		}
		plain := 0.
		for i := range size.rows {
			for j, v := range w.RawRowView(i) {
				plain += math.Abs(v) * widths[j]
			}
		}
		if l1.Value > plain*(1+1e-12) {
			t.Errorf("%v: l1 bound %g above the sum of ranges %g", size, l1.Value, plain)
		}
		found1, found2 := 0., 0.
		for range 200 {
			d := mat.NewVecDense(size.cols, nil)
			for j, width := range widths {
				d.SetVec(j, width*float64(1-2*rng.IntN(2)))
			}
			image, back := mat.NewVecDense(size.rows, nil), mat.NewVecDense(size.cols, nil)
			for range 10 { // the best corner for the signs of the image, in turn
				image.MulVec(w, d)
				found1, found2 = max(found1, mat.Norm(image, 1)), max(found2, mat.Norm(image, 2))
				for i := range size.rows {
					image.SetVec(i, math.Copysign(1, image.AtVec(i)))
				}
				back.MulVec(w.T(), image)
				for j, width := range widths {
					d.SetVec(j, math.Copysign(width, back.AtVec(j)))
				}
			}
		}
		if found1 > l1.Value || found2 > l2.Value {
			t.Errorf("%v: corners are %g and %g apart, bounds %g and %g", size, found1, found2, l1.Value, l2.Value)
		}
		if l1.Exact {
			wantClose(t, "l1 of the best corners found", found1, l1.Value, 0, 1e-12)
		}
	}
}

// The eigenvalues of an orthogonal matrix make the spectral bound sharp: the
// image of a cube under a Hadamard matrix of order n has ℓ1 and ℓ2 radius n^1.5 and n.
func TestSpectralBound(t *testing.T) {
	h := mat.NewDense(1, 1, []float64{1})
	for range 6 {
		n, _ := h.Dims()
		next := mat.NewDense(2*n, 2*n, nil)
		next.Apply(func(i, j int, _ float64) float64 {
			v := h.At(i%n, j%n)
			if i >= n && j >= n {
				v = -v
			}
			return v
		}, next)
		h = next
	}
	widths := make([]float64, 64)
	for i := range widths {
		widths[i] = 1
	}
	l1, err := taskspace.SensitivityL1(h, widths)
	if err != nil {
		t.Fatal(err)
	}
	l2, err := taskspace.SensitivityL2(h, widths)
	if err != nil {
		t.Fatal(err)
	}
	wantClose(t, "l1", l1.Value, math.Pow(64, 1.5), 0, 1e-9)
	wantClose(t, "l2", l2.Value, 64, 0, 1e-9)
}

func TestSensitivityRefuses(t *testing.T) {
	one := mat.NewDense(1, 1, []float64{1})
	for name, test := range map[string]struct {
		w      *mat.Dense
		widths []float64
	}{
		"sizes":          {one, nil},
		"negative width": {one, []float64{-1}},
		"NaN width":      {one, []float64{math.NaN()}},
		"NaN entry":      {mat.NewDense(1, 1, []float64{math.NaN()}), []float64{1}},
		"too large":      {one, []float64{1e200}},
		"too small":      {one, []float64{1e-200}},
		"underflow":      {mat.NewDense(1, 1, []float64{1e-200}), []float64{1e-200}},
	} {
		if _, err := taskspace.SensitivityL1(test.w, test.widths); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: error %v, want ErrInvalid", name, err)
		}
		if _, err := taskspace.SensitivityL2(test.w, test.widths); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: error %v, want ErrInvalid", name, err)
		}
	}
	zero, err := taskspace.SensitivityL1(mat.NewDense(2, 2, nil), []float64{1, 1})
	if err != nil || zero.Value != 0 || !zero.Exact {
		t.Errorf("the zero map: %+v, %v", zero, err)
	}
}

func BenchmarkSensitivity(b *testing.B) {
	for _, size := range []struct{ rows, cols int }{{8, 1000}, {24, 24}, {100, 1000}, {1000, 1000}} {
		w, widths := randomMap(newRand(32), size.rows, size.cols)
		for name, f := range map[string]func(mat.Matrix, []float64) (taskspace.Sensitivity, error){
			"l1": taskspace.SensitivityL1, "l2": taskspace.SensitivityL2,
		} {
			b.Run(fmt.Sprintf("%s/%dx%d", name, size.rows, size.cols), func(b *testing.B) {
				for b.Loop() {
					if _, err := f(w, widths); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
