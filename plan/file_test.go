// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
)

func encoded(tb testing.TB, p *Plan) string {
	tb.Helper()
	var b bytes.Buffer
	if err := p.Encode(&b); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func TestRoundTrip(t *testing.T) {
	for name, s := range larger12(t) {
		text := encoded(t, made(t, s))
		back, err := Decode(strings.NewReader(text))
		if err != nil {
			t.Fatal(name, err)
		}
		if again := encoded(t, back); again != text {
			t.Errorf("%s: decoded and encoded:\n%s\nwant\n%s", name, again, text)
		}
		if _, err := back.Verify(); err != nil {
			t.Error(name, err)
		}
	}
}

// TestTampered: a change to a file is refused as what it is.
func TestTampered(t *testing.T) {
	list := larger12(t)
	texts := map[string]string{}
	for name, s := range list {
		texts[name] = encoded(t, made(t, s))
	}
	for _, c := range []struct {
		of, from, to string
		want         error
	}{
		{"levels", `"epsilon":1.5`, `"epsilon":1.19`, proof.ErrNotPrivate},
		{"levels", `"neighbors":"add-remove"`, `"neighbors":"replace"`, proof.ErrNotPrivate},
		{"levels", `"neighbors":"add-remove"`, `"neighbors":"other"`, check.ErrInvalid},
		{"levels", `"max_per_person":1`, `"max_per_person":2`, proof.ErrNotPrivate},
		{"levels", `"max_per_person":1`, `"max_per_person":0`, check.ErrInvalid},
		{"levels", `"weight":2`, `"weight":4`, proof.ErrFalseClaim},
		{"levels", `"weight":2`, `"weight":0`, check.ErrInvalid},
		{"levels", `"weight":2`, `"weight":2000000000`, check.ErrInvalid},
		{"levels", `"block":3`, `"block":0`, check.ErrInvalid},
		{"levels", `"block":3`, `"block":4`, proof.ErrFalseClaim},
		{"levels", `"block":1,`, `"block":2,`, check.ErrInvalid}, // does not tell cells apart
		{"levels", `"kind":"ranges","cells":7`, `"kind":"ranges","cells":8`, check.ErrInvalid},
		{"levels", `"kind":"ranges"`, `"kind":"prefix"`, check.ErrInvalid},
		{"levels", `"kind":"ranges","cells":7`, `"kind":"ranges","cells":7,"cells":7`, proof.ErrFormat},
		{"levels", `"variances":["`, `"variances":["-`, proof.ErrFalseClaim},
		{"levels", `"variances":["3`, `"variances":["2`, proof.ErrFalseClaim},
		{"levels", `"mean_squared_error":"`, `"mean_squared_error":"0.`, check.ErrInvalid},
		{"levels", `"epsilon":0.7`, `"epsilon":0.69`, check.ErrInvalid}, // of a law
		{"levels", `"tail_ratio":"9`, `"tail_ratio":"8`, check.ErrInvalid},
		{"l1", `[7,0,0,0]`, `[9,0,0,0]`, proof.ErrNotPrivate},
		{"l1", `[7,0,0,0]`, `[0,0,0,0]`, check.ErrInvalid},
		{"l1", `[7,0,0,0]`, `[7,0,0]`, check.ErrInvalid},
		{"l1", `"matrix-l1"`, `"matrix-l2"`, check.ErrInvalid},
		{"l2", `"deviation":11`, `"deviation":4`, proof.ErrNotPrivate},
		{"l2", `"deviation":11`, `"deviation":12`, proof.ErrFalseClaim},
		{"l2", `[5,1,2]`, `[9,1,2]`, proof.ErrNotPrivate},
		{"l2", `[0,4,1]`, `[5,1,2]`, check.ErrInvalid},
		{"l2", `"delta":0.01`, `"delta":1e-12`, proof.ErrNotPrivate},
		{"tables", `"size":3`, `"size":4`, proof.ErrFalseClaim},
		{"tables", `"attributes":[1,2]`, `"attributes":[2]`, check.ErrInvalid}, // is not enough
		{"tables", `"attributes":[1,2]`, `"attributes":[2,1]`, check.ErrInvalid},
		{"tables", `"attributes":[1,2]`, `"attributes":[1,3]`, check.ErrInvalid},
		{"residuals", `"deviations":[4,`, `"deviations":[0.4,`, proof.ErrNotPrivate},
		{"residuals", `"deviations":[4,`, `"deviations":[5,`, proof.ErrFalseClaim},
		{"residuals", `"deviations":[4,`, `"deviations":[`, check.ErrInvalid},
		{"residuals", `[[],[0],`, `[[0],[0],`, check.ErrInvalid},
		{"residuals", `"format":"noisewright-plan"`, `"format":"noisewright-table"`, proof.ErrFormat},
	} {
		if !strings.Contains(texts[c.of], c.from) {
			t.Errorf("%s has no %s: %s", c.of, c.from, texts[c.of])
			continue
		}
		p, err := Decode(strings.NewReader(strings.Replace(texts[c.of], c.from, c.to, 1)))
		if err == nil {
			_, err = p.Verify()
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s with %s in place of %s: %v, want %v", c.of, c.to, c.from, err, c.want)
		} else if len(check.Sentences(err)[0]) > 300 {
			t.Errorf("a long sentence: %v", err)
		}
	}
}

// FuzzDecode: whatever a file says, it is refused or is written again as it was read.
func FuzzDecode(f *testing.F) {
	for _, s := range larger12(f) {
		f.Add(encoded(f, made(f, s)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Decode(strings.NewReader(text))
		if err != nil {
			if !errors.Is(err, proof.ErrFormat) && !errors.Is(err, dp.ErrInvalid) {
				t.Errorf("%v, want ErrFormat or ErrInvalid", err)
			}
			return
		}
		back, err := Decode(strings.NewReader(encoded(t, p)))
		if err != nil || encoded(t, back) != encoded(t, p) {
			t.Errorf("what was read is not read again: %v", err)
		}
		_, _ = proof.Verify(t.Context(), p, proof.Options{Work: 1 << 22})
	})
}

// TestInvert: the inverse that is proved is within its slack of that in rationals, and what has none is refused.
func TestInvert(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 7; n++ {
		for _, most := range []int64{3, 1000, 1 << 20} {
			rows := make([][]int64, n+2)
			for i := range rows {
				rows[i] = make([]int64, n)
				for j := range n {
					rows[i][j] = r.Int64N(2*most) - most
				}
			}
			s := Spec{Workload: Workload{Kind: Prefix, Cells: n}}
			m, ok := s.gram(&Measurement{Kind: L2, Rows: rows})
			if !ok {
				t.Fatal("too large")
			}
			v, err := invert(m)
			if err != nil {
				t.Fatal(err)
			}
			want := inRationals(m)
			unit := new(big.Int).Lsh(big.NewInt(1), uint(v.places))
			largest := new(big.Rat)
			for i := range n {
				for j := range n {
					d := new(big.Rat).SetFrac(big.NewInt(v.z[i][j]), unit)
					d.Sub(d, want[i][j]).Abs(d)
					if d.Cmp(v.slack) > 0 {
						t.Errorf("an entry is off by %s, more than %s", d.FloatString(30), v.slack.FloatString(30))
					}
					if a := new(big.Rat).Abs(want[i][j]); a.Cmp(largest) > 0 {
						largest = a
					}
				}
			}
			if ratio := new(big.Rat).Quo(v.slack, largest); ratio.Cmp(big.NewRat(1, 1e9)) > 0 {
				t.Errorf("n = %d, up to %d: the slack is %s of the largest entry", n, most, ratio.FloatString(15))
			}
		}
	}
	for _, m := range [][][]int64{{{0}}, {{1, 1}, {1, 1}}, {{4, 2, 2}, {2, 1, 1}, {2, 1, 5}}, {{1, 2}, {2, 1}}} {
		if _, err := invert(m); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v has the inverse %v, want ErrInvalid", m, err)
		}
	}
}

// inRationals inverts a matrix by elimination.
func inRationals(m [][]int64) [][]*big.Rat {
	n := len(m)
	a := make([][]*big.Rat, n)
	for i := range a {
		a[i] = make([]*big.Rat, 2*n)
		for j := range a[i] {
			a[i][j] = new(big.Rat)
			if j < n {
				a[i][j].SetInt64(m[i][j])
			} else if j-n == i {
				a[i][j].SetInt64(1)
			}
		}
	}
	for c := range n { // positive definite: no pivot is 0
		pivot := new(big.Rat).Set(a[c][c])
		for j := range a[c] {
			a[c][j].Quo(a[c][j], pivot)
		}
		for i := range a {
			if f := new(big.Rat).Set(a[i][c]); i != c {
				for j := range a[i] {
					a[i][j].Sub(a[i][j], new(big.Rat).Mul(f, a[c][j]))
				}
			}
		}
	}
	for i := range a {
		a[i] = a[i][n:]
	}
	return a
}

// TestWide: sums of products are those of big integers.
func TestWide(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		var x wide
		want := new(big.Int)
		for range 5 {
			a, b := int64(r.Uint64())>>1, int64(r.Uint64())>>(2+r.IntN(60))
			x.addProduct(a, b)
			want.Add(want, new(big.Int).Mul(big.NewInt(a), big.NewInt(b)))
		}
		y := wide{int64(r.Uint64()) >> 4, r.Uint64()}
		if got := x.plus(y, -1).plus(y, 1).big(); got.Cmp(want) != 0 {
			t.Fatalf("%s, want %s", got, want)
		}
		f, _ := new(big.Float).SetInt(want).Float64()
		if got := x.float(); math.Abs(got-f) > 1e-15*math.Abs(f) {
			t.Fatalf("%g, want %g", got, f)
		}
	}
}

// TestGeometric: noise is private at its epsilon, has nearly the variance 2q/(1−q)², and no epsilon that is
// less by a part in 10^9 is kept.
func TestGeometric(t *testing.T) {
	for _, epsilon := range []float64{0x1p-18, 1.0 / 4096, 0.1, 1, 3, 20, 40} {
		l := geometric(t, epsilon)
		table, err := l.table()
		if err != nil {
			t.Fatal(err)
		}
		c := table.Certify()
		if c.DeltaUpper.Sign() != 0 || table.Mean().Sign() != 0 {
			t.Errorf("epsilon %g: delta %s, mean %s", epsilon, c.DeltaUpper, table.Mean())
		}
		x := math.Expm1(-epsilon)
		if v, _ := c.ExpectedLoss.Float64(); math.Abs(v*x*x/(2*(1+x))-1) > 1e-6 && epsilon < 20 {
			t.Errorf("epsilon %g: variance %g, want %g", epsilon, v, 2*(1+x)/(x*x))
		}
		if epsilon > 30 {
			continue
		}
		l.Epsilon *= 1 - 1e-9
		if table, err = l.table(); err != nil || epsilon < 10 && epsilon > 1e-3 && table.Certify().DeltaUpper.Sign() == 0 {
			t.Errorf("epsilon %g: less is kept, %v", epsilon, err)
		}
	}
	for _, epsilon := range []float64{0, -1, math.NaN(), 41, 0x1p-19} {
		if _, err := Geometric(epsilon); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("epsilon %g: %v", epsilon, err)
		}
	}
}

// TestDrawer: which words become which numbers, at the ends of every one.
func TestDrawer(t *testing.T) {
	l := Law{Weights: []uint64{10, 7, 1<<63 - 12}, TailRatio: 1 << 63}
	d := newDrawer(&l)
	for _, c := range []struct {
		words []uint64
		want  int64
	}{
		{[]uint64{0}, 0},
		{[]uint64{9}, 0},
		{[]uint64{10}, 1},
		{[]uint64{11}, -1},
		{[]uint64{23}, -1},
		{[]uint64{24, 1 << 63}, 2},
		{[]uint64{24, 1<<63 - 1, math.MaxUint64}, 3},
		{[]uint64{25, 0, 0, 1 << 63}, -4},
		{[]uint64{math.MaxUint64, 1 << 63}, -2},
	} {
		at := 0
		got, err := d.draw(func() (uint64, error) {
			at++
			return c.words[at-1], nil
		})
		if err != nil || got != c.want || at != len(c.words) {
			t.Errorf("%v: %d, %v, after %d words, want %d", c.words, got, err, at, c.want)
		}
	}
	for _, c := range []struct {
		ratio uint64
		words []uint64
		want  int64
	}{{0, []uint64{25}, -2}, {1, []uint64{25, 1}, -2}, {1, []uint64{24, 0, 1}, 3}} { // without a tail, and the least one
		l.TailRatio = c.ratio
		d, at := newDrawer(&l), 0
		if got, err := d.draw(func() (uint64, error) { at++; return c.words[at-1], nil }); err != nil || got != c.want || at != len(c.words) {
			t.Errorf("%v: %d, %v, after %d words, want %d", c.words, got, err, at, c.want)
		}
	}
	broken := errors.New("broken")
	if _, err := d.draw(func() (uint64, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("%v, want the error of the word", err)
	}
	if bits.Len64(l.Weights[2]) != 63 {
		t.Error("the weights do not sum to 2^64")
	}
}

// TestWorkloads: what is read, and what is refused with one sentence.
func TestWorkloads(t *testing.T) {
	for text, want := range map[string]int{
		"prefix:12": 12, "ranges:5": 15, "identity:1": 1, "marginals:a=2,b=3:2": 11, "marginals:a=2,b=3,c=4:1": 9,
	} {
		if w, err := ParseWorkload(text); err != nil || w.Queries() != want {
			t.Errorf("%s: %d queries, %v, want %d", text, w.Queries(), err, want)
		}
	}
	for _, text := range []string{
		"", "prefix", "prefix:", "prefix:0", "prefix:x", "prefix:2049", "other:3", "marginals:a,b:2", "marginals:a=2:2", "marginals:a=2,b=3",
		"marginals:a=2,b=3:0", "marginals:a=1,b=3:1", "marginals:a=2,a=3:1", "marginals:=2:1", "marginals:a=3000,b=3000:2",
	} {
		if _, err := ParseWorkload(text); !errors.Is(err, dp.ErrInvalid) || strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("%q: %v, want one sentence", text, err)
		}
	}
	for _, w := range []Workload{
		{Kind: Identity, Cells: 6},
		{Kind: Prefix, Cells: 6},
		{Kind: Ranges, Cells: 6},
		{Kind: Matrix, Cells: 3, Rows: [][]int64{{1, -2, 3}, {0, 5, -1}, {4, 0, 0}}},
	} {
		n := w.Cells
		want := make([][]float64, n)
		for i := range want {
			want[i] = make([]float64, n)
		}
		for _, row := range rowsOf(&w) {
			for i, a := range row {
				for j, b := range row {
					want[i][j] += float64(a * b)
				}
			}
		}
		for i, row := range w.Gram() {
			for j, x := range row {
				if x != want[i][j] {
					t.Errorf("%s: %v at %d, %d, want %v", w.Kind, x, i, j, want[i][j])
				}
			}
		}
	}
}

// TestMeasureRefuses: cells that are not of the input, before a word is asked for.
func TestMeasureRefuses(t *testing.T) {
	p := made(t, larger12(t)["levels"])
	none := func() (uint64, error) { t.Fatal("a word was drawn"); return 0, nil }
	for _, cells := range [][]int64{nil, make([]int64, 6), {0, 0, 0, 0, 0, 0, p.limit + 1}, {-p.limit - 1, 0, 0, 0, 0, 0, 0}} {
		if y, err := p.Measure(cells, none); y != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v: %v, %v", cells, y, err)
		}
	}
	for _, in := range []proof.Value{proof.Row{1, 2, 3, 4, 5, 6, 0.5}, proof.Row{1}, proof.Number(1), nil, proof.Row{0, 0, 0, 0, 0, 0, math.NaN()}} {
		if y, err := p.Draw(in, none); y != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v: %v, %v", in, y, err)
		}
	}
	if err := p.Decode(make([]int64, 3), nil); !errors.Is(err, dp.ErrInvalid) {
		t.Error(err)
	}
	broken := errors.New("broken")
	if y, err := p.Measure(make([]int64, 7), func() (uint64, error) { return 0, broken }); y != nil || !errors.Is(err, broken) {
		t.Errorf("%v, %v", y, err)
	}
}

// TestRounded: the variance of rounded normal noise is at most σ² + 1/12, and close to it but for small σ.
func TestRounded(t *testing.T) {
	for _, sigma := range []float64{0.05, 0.2, 0.3, 0.5, 1, 2.5} {
		v := 0.0
		for n := 1; n < 60; n++ {
			x := float64(n)
			mass := math.Erfc((x-0.5)/(sigma*math.Sqrt2))/2 - math.Erfc((x+0.5)/(sigma*math.Sqrt2))/2
			v += 2 * x * x * mass
		}
		bound, _ := rounded(sigma).Float64()
		if v > bound+1e-12 || sigma >= 0.5 && v < bound-0.01 {
			t.Errorf("σ = %g: the variance is %g, the bound %g", sigma, v, bound)
		}
	}
	if got, want := rounded(3), big.NewRat(109, 12); got.Cmp(want) != 0 {
		t.Errorf("%s, want %s", got, want)
	}
	for _, squared := range []float64{1e-12, 0.3, 1, 2, 1e9} {
		r := exact.Rational(multiplier(exact.Rational(squared)))
		r.Mul(r, r).Mul(r, exact.Rational(squared))
		if f, _ := r.Float64(); r.Cmp(big.NewRat(1, 1)) > 0 || f < 1-1e-14 {
			t.Errorf("%g: %g", squared, f)
		}
	}
}

// TestShifts: noise that is not pure is refused where a person may change a number by more than 1.
func TestShifts(t *testing.T) {
	law := func() *Law { l := *triangle(); return &l }
	pair := Workload{Kind: Marginals, Attributes: attributes(2, 2), Sets: [][]int{{0}}}
	for _, c := range []struct {
		m     Measurement
		w     Workload
		most  int
		taken bool
	}{
		{Measurement{Kind: Partition, Block: 1}, Workload{Kind: Prefix, Cells: 4}, 3, true},
		{Measurement{Kind: Partition, Block: 2}, Workload{Kind: Prefix, Cells: 4}, 1, true},
		{Measurement{Kind: Partition, Block: 2}, Workload{Kind: Prefix, Cells: 4}, 2, false},
		{Measurement{Kind: Partition, Attributes: &[]int{0, 1}}, pair, 3, true},
		{Measurement{Kind: Partition, Attributes: &[]int{0}}, pair, 1, true},
		{Measurement{Kind: Partition, Attributes: &[]int{0}}, pair, 2, false},
		{Measurement{Kind: L1, Rows: [][]int64{{1, 0}, {0, 1}}}, Workload{Kind: Prefix, Cells: 2}, 1, false},
	} {
		c.m.Weight, c.m.Noise = 1, law()
		s := Spec{Budget: dp.Budget{Epsilon: 5, Delta: 0.9}, Neighbors: dp.AddRemove, MaxPerPerson: c.most, Workload: c.w, Measurements: []Measurement{c.m}}
		if c.m.Block == 2 { // tells cells apart with another
			s.Measurements = append(s.Measurements, Measurement{Kind: Partition, Block: 1, Weight: 1, Noise: geometric(t, 0.5)})
		}
		if _, err := New(s); (err == nil) != c.taken || err != nil && !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%+v with %d cells a person: %v, want it taken: %v", c.m, c.most, err, c.taken)
		}
	}
}

// TestDeviations: no residual has a deviation below d·‖h‖, and none one that is a part in 2^49 above.
func TestDeviations(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	w := Workload{Kind: Marginals, Attributes: attributes(7, 11, 5)}
	for range 50 {
		d := math.Exp(4*r.Float64() - 1)
		i := 0
		_ = w.deviations([]int{0, 1, 2}, d, func(got float64) error {
			square := big.NewRat(1, 1)
			for _, k := range []int64{int64(i/40) + 1, int64(i/4%10) + 1, int64(i%4) + 1} {
				square.Mul(square, big.NewRat(k*(k+1), 1))
			}
			square.Mul(square, exact.Rational(d)).Mul(square, exact.Rational(d))
			x := exact.Rational(got)
			x.Mul(x, x)
			if most := new(big.Rat).Mul(square, new(big.Rat).Add(big.NewRat(1, 1), exact.PowerOfTwo(-47))); x.Cmp(square) < 0 || x.Cmp(most) > 0 {
				t.Fatalf("residual %d of deviation %g has %g", i, d, got)
			}
			i++
			return nil
		})
		if i != 6*10*4 {
			t.Fatalf("%d residuals", i)
		}
	}
}

// TestVariancesUpper: no variance is below that in rationals, however little.
func TestVariancesUpper(t *testing.T) {
	for _, name := range []string{"levels", "l1", "l2"} {
		p := made(t, larger12(t)[name])
		s := &p.spec
		var grams [][][]int64
		factor := new(big.Rat)
		for i := range s.Measurements {
			g, _ := s.gram(&s.Measurements[i])
			grams = append(grams, g)
			f := new(big.Rat).SetInt64(s.Measurements[i].Weight)
			if f.Mul(f, p.laws[i].variance).Cmp(factor) > 0 {
				factor = f
			}
		}
		m, err := s.matrix(grams)
		if err != nil {
			t.Fatal(err)
		}
		inverse := inRationals(m)
		found := p.Proof().Certificate().Variances
		for q, row := range rowsOf(&s.Workload) {
			want := new(big.Rat)
			for i, a := range row {
				for j, b := range row {
					want.Add(want, new(big.Rat).Mul(inverse[i][j], big.NewRat(a*b, 1)))
				}
			}
			if want.Mul(want, factor); found[q].Cmp(want) < 0 {
				t.Errorf("%s: query %d has the variance %s, above %s", name, q, want.FloatString(25), found[q].FloatString(25))
			}
		}
	}
}

// rowsOf returns the queries as rows.
func rowsOf(w *Workload) [][]int64 {
	if w.Kind == Matrix {
		return w.Rows
	}
	out := make([][]int64, w.Queries())
	w.intervals(func(q, a, b int) {
		out[q] = make([]int64, w.Cells)
		for i := a; i < b; i++ {
			out[q][i] = 1
		}
	})
	return out
}

// TestDeviationsAtTheEnds: of one residual the deviation is not below d·√2 for any d, and that of a total is d.
func TestDeviationsAtTheEnds(t *testing.T) {
	w := Workload{Kind: Marginals, Attributes: attributes(2, 2)}
	r := rand.New(rand.NewPCG(13, 14))
	for range 300 {
		d := math.Exp(4*r.Float64() - 1)
		for n, want := range []float64{1, 2, 4} {
			count := 0
			_ = w.deviations([]int{0, 1}[:n], d, func(got float64) error {
				count++
				x, square := exact.Rational(got), exact.Rational(d)
				square.Mul(square, square).Mul(square, exact.Rational(want))
				if x.Mul(x, x).Cmp(square) < 0 || n == 0 && got != d {
					t.Errorf("the residual of %d attributes of deviation %g has %g", n, d, got)
				}
				return nil
			})
			if count != 1 {
				t.Errorf("%d residuals of %d attributes of two values", count, n)
			}
		}
	}
}

// TestComponentOfResiduals: its variance is σ²(1 + 2^-47) + 1/(12·2^|B|), and at least that of each residual, over
// the square of its row's norm.
func TestComponentOfResiduals(t *testing.T) {
	p := made(t, larger12(t)["residuals"])
	m := &p.spec.Measurements[0]
	for k, set := range m.Sets {
		v, _ := p.component(set)
		d := exact.Rational(m.Deviations[k])
		d.Mul(d, d)
		want := new(big.Rat).Mul(d, new(big.Rat).Add(big.NewRat(1, 1), exact.PowerOfTwo(-47)))
		if want.Add(want, big.NewRat(1, 12<<len(set))); v.Cmp(want) != 0 {
			t.Errorf("%v: the variance %s, want %s", set, v, want)
		}
		_ = p.spec.Workload.deviations(set, m.Deviations[k], func(got float64) error {
			x := exact.Rational(got)
			x.Mul(x, x)
			norm, _ := new(big.Rat).Quo(x, d).Float64() // k(k + 1) of each attribute, a whole number
			of := new(big.Rat).Add(x, big.NewRat(1, 12))
			if of.Quo(of, exact.Rational(math.Round(norm))); of.Cmp(v) > 0 {
				t.Errorf("%v: the variance %s of a row, above %s", set, of, v)
			}
			return nil
		})
	}
}
