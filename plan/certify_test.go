// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
)

// TestSumsOfCosts: where the sums of epsilons and of deltas keep the promise, delta is the sum, exactly; else it is
// what composition bounds it by, from above.
func TestSumsOfCosts(t *testing.T) {
	third := triangle()
	table, err := third.table()
	if err != nil {
		t.Fatal(err)
	}
	uses := func(n int, epsilon, delta float64) spent {
		return spent{uses: n, epsilon: exact.Rational(epsilon), delta: exact.Rational(delta), law: &law{table: table}}
	}
	normal := spent{squared: big.NewRat(1, 4)}
	// composed bounds n uses of the triangle by themselves, and one pure use of a further epsilon.
	composed := func(n int, further, epsilon float64) float64 {
		loss, err := account.LossOf(table)
		if err != nil {
			t.Fatal(err)
		}
		list := []account.Release{{PLD: loss, Times: n}}
		if further > 0 {
			pure, err := account.Approximate(further, 0)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, account.Release{PLD: pure, Times: 1})
		}
		c, err := account.Compose(list, account.Options{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.Delta(epsilon)
		if err != nil || b.Upper > 1 || n > 1 && b.Lower == b.Upper {
			t.Fatalf("%v, %v: bounds that say nothing", b, err)
		}
		return b.Upper
	}
	pure := func(n int, epsilon float64) spent { return uses(n, epsilon, 0) }
	s := Spec{Budget: dp.Budget{Epsilon: 1}}
	below := math.Nextafter(0.25, 1)
	for i, c := range []struct {
		costs []spent
		want  float64 // -1 for a bound that is held against others below
	}{
		{[]spent{uses(2, 0.5, 0.25)}, 0.5},
		{[]spent{uses(4, 0.25, 0.125)}, 0.5},
		{[]spent{uses(1, 0.5, 0.75)}, 0.75},
		{[]spent{uses(1, 0.5, 0.25), uses(2, 0.25, 0.0625), pure(1, 0.0)}, 0.375},
		{[]spent{uses(4, 0.25, 0.25)}, composed(4, 0, 1)}, // the sum is 1
		{[]spent{uses(4, 0.25, 0.3)}, composed(4, 0, 1)},
		{[]spent{uses(4, below, 0.125)}, composed(4, 0, 1)}, // a unit in the last place beyond
		{[]spent{uses(3, 0.5, 0.125), pure(3, 0.25)}, composed(3, 0.75, 1)},
		{[]spent{normal}, -1},
	} {
		got, err := s.deltaUpper(c.costs)
		if err != nil {
			t.Fatal(err)
		}
		if c.want >= 0 && got.Cmp(exact.Rational(c.want)) != 0 {
			t.Errorf("case %d: a delta of %s, want %g", i, got.FloatString(20), c.want)
		}
	}
	// Balle & Wang: h(1) = Φ(μ/2 − 1/μ) − e·Φ(−μ/2 − 1/μ) with μ = 1/2.
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	want := phi(0.25-2) - math.E*phi(-0.25-2)
	if got, err := s.deltaUpper([]spent{normal}); err != nil || math.Abs(exact.FloatUp(got)/want-1) > 1e-9 || exact.FloatUp(got) < want*(1-1e-13) {
		t.Errorf("of normal noise of twice the distance delta is %s, %v, want %g", got, err, want)
	}
}

// TestPureUses: pure uses are composed as their sum, rounded up: no epsilon below the sum is kept with a delta of 0.
func TestPureUses(t *testing.T) {
	for _, epsilon := range []float64{0.1, 0.3, 0.7, 1.1} {
		for uses := 1; uses <= 7; uses++ {
			all := new(big.Rat).SetInt64(int64(uses))
			all.Mul(all, exact.Rational(epsilon))
			c, err := compose([]spent{{uses: uses, epsilon: exact.Rational(epsilon), delta: new(big.Rat)}})
			if err != nil {
				t.Fatal(err)
			}
			for e := exact.FloatUp(all); ; e = math.Nextafter(e, 0) {
				b, err := c.Delta(e)
				if err != nil {
					t.Fatal(err)
				}
				if kept := exact.Rational(e).Cmp(all) >= 0; (b.Upper == 0) != kept {
					t.Errorf("%d uses of %v at %v: a delta of %g", uses, epsilon, e, b.Upper)
				}
				if exact.Rational(e).Cmp(all) < 0 {
					break
				}
			}
		}
	}
}

// TestMultipliers: of a square the root is exact, of all else it is below, by a part in 2^52 at most.
func TestMultipliers(t *testing.T) {
	for _, x := range []float64{1, 2, 0.5, 3, 1 << 20, 0x1p-20} {
		square := exact.Rational(x)
		if got := multiplier(square.Inv(square.Mul(square, square))); got != x {
			t.Errorf("1/%g² has the multiplier %g", x, got)
		}
	}
	for n := int64(1); n < 300; n++ {
		for _, squared := range []*big.Rat{big.NewRat(n, 7), big.NewRat(1, n), big.NewRat(n*n, 49)} {
			x := multiplier(squared)
			of := func(x float64) int {
				r := exact.Rational(x)
				return r.Mul(r, r).Mul(r, squared).Cmp(big.NewRat(1, 1))
			}
			if up := math.Nextafter(math.Nextafter(x, 9e9), 9e9); of(x) > 0 || of(up) <= 0 {
				t.Errorf("%s has the multiplier %g", squared, x)
			}
		}
	}
}

// TestDistancesAtTheEnds: rows of zeros have the distance 0, and products beyond 2^52 none that is finite.
func TestDistancesAtTheEnds(t *testing.T) {
	two := &Spec{Neighbors: dp.Replace, MaxPerPerson: 1, Workload: Workload{Cells: 2}}
	if l1, l2 := two.DistanceL1([][]int64{{0, 0}}), two.Distance([][]int64{{0, 0}}); l1 != 0 || l2 != 0 {
		t.Errorf("zeros are at the distances %d and %g", l1, l2)
	}
	s := larger12(t)["l2"]
	many := make([][]int64, 1<<12+1)
	for i := range many {
		many[i] = []int64{1 << 20, 1, 0}
	}
	if d := (&Spec{Neighbors: dp.AddRemove, MaxPerPerson: 1, Workload: Workload{Cells: 3}}).Distance(many); !math.IsInf(d, 1) {
		t.Errorf("the distance is %g", d)
	}
	s.Measurements[0].Rows = append(many, s.Measurements[0].Rows...)
	s.Measurements[0].Deviation = 1 << 36
	if p, err := New(s); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("%v, %v: rows of products beyond 2^52 are taken", p, err)
	}
	s.Measurements[0].Rows = [][]int64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
	if p, err := New(s); !errors.Is(err, dp.ErrInvalid) { // normal noise beyond what is composed
		t.Errorf("%v, %v: a deviation of 2^36 is taken", p, err)
	}
}

// TestClaimsOfNew: what New states is at least what is proved, of variances by a part in 10^9, and little more.
func TestClaimsOfNew(t *testing.T) {
	for name, s := range larger12(t) {
		p := made(t, s)
		c, found := p.Spec(), p.Proof().Certificate()
		check := func(of, stated string, proved *big.Rat, more float64) {
			v, err := exact.ParseDecimal(stated)
			if err != nil {
				t.Fatal(err)
			}
			least := new(big.Rat).Mul(proved, new(big.Rat).Add(big.NewRat(1, 1), exact.Rational(more)))
			if most := new(big.Rat).Mul(least, exact.Rational(1+0x1p-45)); v.Cmp(least) < 0 || v.Cmp(most) > 0 {
				t.Errorf("%s: %s = %s is stated and %s is proved", name, of, stated, proved.FloatString(20))
			}
		}
		const part = 1e-9 * (1 - 0x1p-40)
		check("delta", c.Claims.Delta, found.DeltaUpper, 0)
		check("mean_squared_error", c.Claims.MeanSquaredError, found.MeanSquaredError, part)
		check("max_squared_error", c.Claims.MaxSquaredError, found.MaxSquaredError, part)
		for i, v := range found.Variances {
			check("variances", c.Variances[i], v, part)
		}
		all := each(&s.Workload, found.Variances)
		if got, _ := found.MaxSquaredError.Float64(); got != slices.Max(all) {
			t.Errorf("%s: the largest squared error is %g, want %g", name, got, slices.Max(all))
		}
		sum := 0.0
		for _, v := range all {
			sum += v
		}
		if got, _ := found.MeanSquaredError.Float64(); math.Abs(got*float64(len(all))/sum-1) > 1e-12 {
			t.Errorf("%s: the mean squared error is %g, want %g", name, got, sum/float64(len(all)))
		}
	}
}

// TestWorkIsSpent: a check spends n²·(rows + measurements) + 8n³ for n cells, with the cubes of its pieces where
// only blocks are measured, before it begins, and none with less.
func TestWorkIsSpent(t *testing.T) {
	for name, work := range map[string]int64{"levels": 49*2 + 8*(27+27+1), "l1": 16*6 + 8*64, "l2": 9*4 + 8*27, "tables": 1 << 20} {
		text := encoded(t, made(t, larger12(t)[name]))
		for _, given := range []int64{work - 1, work} { // of a plan each, which keeps what was proved of it
			p, err := Decode(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := proof.Verify(t.Context(), p, proof.Options{Work: given}); given < work && !errors.Is(err, proof.ErrWork) || given == work && err != nil {
				t.Errorf("%s with the work %d of %d: %v", name, given, work, err)
			}
		}
	}
}

// TestQuadratic: of every query the form and the norm are those of its row, in whole numbers of any sign.
func TestQuadratic(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for _, w := range []Workload{
		{Kind: Identity, Cells: 4},
		{Kind: Prefix, Cells: 5},
		{Kind: Ranges, Cells: 5},
		{Kind: Prefix, Cells: 1},
		{Kind: Matrix, Cells: 3, Rows: [][]int64{{1, -2, 0}, {-1 << 20, 3, 1 << 20}, {0, 0, -5}, {0, 7, 0}}},
	} {
		v := &inverse{z: make([][]int64, w.Cells)}
		for i := range v.z {
			v.z[i] = make([]int64, w.Cells)
			for j := range i + 1 {
				v.z[i][j] = int64(r.Uint64()) >> (2 + r.IntN(40))
				v.z[j][i] = v.z[i][j]
			}
		}
		rows, next := rowsOf(&w), 0
		v.quadratic(&w, func(q int, form *big.Int, norm int64) {
			if q != next {
				t.Fatalf("%s: query %d, want %d", w.Kind, q, next)
			}
			next++
			want, sum := new(big.Int), int64(0)
			for i, a := range rows[q] {
				sum += max(a, -a)
				for j, b := range rows[q] {
					want.Add(want, new(big.Int).Mul(big.NewInt(a*b), big.NewInt(v.z[i][j])))
				}
			}
			if form.Cmp(want) != 0 || norm != sum {
				t.Errorf("%s: query %d has the form %s and the norm %d, want %s and %d", w.Kind, q, form, norm, want, sum)
			}
		})
		if next != w.Queries() {
			t.Errorf("%s: %d queries, want %d", w.Kind, next, w.Queries())
		}
	}
}

// TestClaimsThatAreMet: a claim of exactly what is proved is kept, and none below by a unit of its last place.
func TestClaimsThatAreMet(t *testing.T) {
	spec := func(change func(s *Spec)) error {
		s := Spec{ // of one cell with noise of the variance 1
			Budget: dp.Budget{Epsilon: triangle().Epsilon, Delta: 0.1875}, Neighbors: dp.AddRemove, MaxPerPerson: 1,
			Workload:     Workload{Kind: Prefix, Cells: 1},
			Measurements: []Measurement{{Kind: Partition, Block: 1, Weight: 1, Noise: triangle()}},
			Claims:       claims{Delta: "0.1875", MeanSquaredError: "1", MaxSquaredError: "1"}, Variances: []string{"1"},
		}
		change(&s)
		_, err := made(t, s).Verify()
		return err
	}
	if err := spec(func(*Spec) {}); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(s *Spec){
		"variances":          func(s *Spec) { s.Variances[0] = "0.99999999999999999999" },
		"no number":          func(s *Spec) { s.Variances[0] = "1e" },
		"mean_squared_error": func(s *Spec) { s.Claims.MeanSquaredError = "0.99999999999999999999" },
		"max_squared_error":  func(s *Spec) { s.Claims.MaxSquaredError = "0.99999999999999999999" },
	} {
		if err := spec(change); !errors.Is(err, proof.ErrFalseClaim) {
			t.Errorf("%s: %v, want ErrFalseClaim", name, err)
		}
	}
	found := made(t, small(t, dp.AddRemove, 1)["approximate"]).Proof().Certificate().DeltaUpper
	s := small(t, dp.AddRemove, 1)["approximate"]
	for delta, want := range map[float64]error{exact.FloatUp(found): nil, math.Nextafter(exact.FloatDown(found), 0): proof.ErrNotPrivate} {
		if s.Delta = delta; !errors.Is(func() error { _, err := made(t, s).Verify(); return err }(), want) {
			t.Errorf("a delta of %g is promised and %s is proved: want %v", delta, found.FloatString(20), want)
		}
	}
}
