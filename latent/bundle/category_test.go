// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"math"
	"math/big"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
)

// chooser answers to four cells by three answers, and promises epsilon: of the first two answers one is
// twice as likely as the other, the first for the first two cells and the second for the others.
func chooser(t testing.TB, epsilon float64) *local.Randomizer {
	t.Helper()
	e := exact.ExpDown(epsilon, 60)
	low := new(big.Int).Lsh(big.NewInt(1), 124)
	l := low.Quo(low, e.Lsh(e, 1).Add(e, big.NewInt(3<<60))).Uint64() + 1 // about 2^64/(2E+3)
	h := 2 * l
	rest := -(h + l)
	return must(local.New(t.Context(), local.Spec{
		Epsilon: epsilon, Values: local.Values{Kind: local.Category, Labels: []string{"no", "no?", "yes", "yes!"}}, Objective: local.Mean,
		AnswerLabels: []string{"left", "right", "middle"}, Costs: [][]float64{{0, 1, 1}, {0, 1, 0.5}, {1, 0, 0.5}, {1, 0, 1}},
		Rows: [][]uint64{{h, l, rest}, {h, l, rest}, {l, h, rest}, {l, h, rest}},
	}))
}

// decisive decides between two classes of two levels each, from two features: the score of "no"
// is the first less 1, that of "yes" the second less 2, and margins of 1 and 2 begin the levels.
func decisive(t testing.TB) Spec {
	return Spec{
		Features: []string{"height", "weight"}, Mean: []float64{1, 2}, Encoder: Matrix{2, 2, []float64{1, 0, 0, 1}}, Offset: []float64{0, 0},
		Domain: Cells, Noise: Decision, Composition: basic, Promise: Promise{Epsilon: 1},
		Category: &Category{
			Edges:  Matrix{2, 1, []float64{1, 2}},
			Shares: Matrix{4, 2, []float64{0.1, 0.05, 0.3, 0.05, 0.1, 0.1, 0.05, 0.25}}, Decisions: []int{0, 1, 1},
		},
		Randomizers: []*local.Randomizer{chooser(t, 1)}, RandomizerOf: []int{0},
		Output: Classes, Outputs: []string{"no", "yes"},
		Decoder: Matrix{2, 3, []float64{-0.1, -2, -0.7, -2.4, -0.2, -0.6}}, DecoderOffset: []float64{0, 0},
	}
}

// TestDecisionCells: the boundary between classes is at equal scores, which are the first class, and an
// edge belongs to the level above it.
func TestDecisionCells(t *testing.T) {
	b := must(New(decisive(t)))
	for _, c := range []struct {
		x    [2]float64
		cell float64
	}{
		{[2]float64{1, 2}, 0},
		{[2]float64{1.5, 2}, 0},
		{[2]float64{2, 2}, 1},
		{[2]float64{1e300, -1e300}, 1},
		{[2]float64{1, 2.5}, 2},
		{[2]float64{1, 3.999}, 2},
		{[2]float64{1, 4}, 3},
		{[2]float64{-1e300, 1e300}, 3},
	} {
		if u := must(b.Encode(nil, c.x[:])); u[0] != c.cell || len(u) != 1 {
			t.Errorf("%v: cell %v, want %v", c.x, u, c.cell)
		}
	}
	for _, c := range []struct {
		scores []float64
		class  int
		margin float64
	}{
		{[]float64{math.NaN(), -1}, 0, 1}, {[]float64{3, 5, 5}, 1, 0}, {[]float64{math.Inf(1), 1e300}, 0, 0}, {[]float64{-4, -8, -6}, 0, 2},
	} {
		if class, margin := Top(c.scores); class != c.class || margin != c.margin {
			t.Errorf("%v: class %d by %v, want %d by %v", c.scores, class, margin, c.class, c.margin)
		}
	}
}

// TestDecisionByEnumeration: of every two cells no answer is more than twice as likely, which a promise of
// ε = 1 covers and one of less than log 2 does not, and what is proved is that of the randomizer.
func TestDecisionByEnumeration(t *testing.T) {
	b := must(New(decisive(t)))
	v := must(b.Verify(nil))
	if v.EpsilonUpper().Cmp(big.NewRat(1, 1)) != 0 || v.DeltaUpper().Sign() != 0 {
		t.Errorf("proved %v, %v, want 1 and 0", v.EpsilonUpper(), v.DeltaUpper())
	}
	laws, most := b.Laws(), 0.0
	for i := range laws.Rows {
		sum := 0.0
		for j, p := range laws.Row(i) {
			sum += p
			for k := range laws.Rows {
				most = max(most, p/laws.Row(k)[j])
			}
		}
		if math.Abs(sum-1) > 1e-15 {
			t.Errorf("answers to cell %d have the sum %v", i, sum)
		}
	}
	if most != 2 { // h/l, below e
		t.Errorf("the largest ratio is %v", most)
	}
	s := decisive(t)
	s.Randomizers[0] = chooser(t, math.Ln2*(1-1e-9)) // its rows have the ratio 2, above
	if v, err := must(New(s)).Verify(nil); v != nil || !errors.Is(err, proof.ErrNotPrivate) || !strings.Contains(err.Error(), "randomizers[0]") {
		t.Errorf("a randomizer that breaks its promise: %v", err)
	}
	s = decisive(t)
	s.Promise.Epsilon = math.Nextafter(1, 0)
	if v, err := must(New(s)).Verify(nil); v != nil || !errors.Is(err, proof.ErrNotPrivate) {
		t.Errorf("a promise below that of the randomizer: %v", err)
	}
}

// TestDecisionDraws: the answers to people of each cell have the law of its row, by chi-square at 1e-4
// each with a fixed seed; forks draw too.
func TestDecisionDraws(t *testing.T) {
	b := must(New(decisive(t)))
	p := must(must(b.Verify(nil)).NewDeterministicPrivatizer([32]byte{7}, sampler.Options{}))
	laws := b.Laws()
	const draws = 40000
	for cell, x := range [][]float64{{1, 2}, {5, 2}, {1, 3}, {1, 9}} {
		counts := make([]float64, laws.Cols)
		var u []float64
		for range draws {
			u = must(p.Privatize(u, x))
			counts[int(u[0])]++
		}
		square := 0.0
		for j, q := range laws.Row(cell) {
			square += (counts[j] - draws*q) * (counts[j] - draws*q) / (draws * q)
		}
		if limit := (distuv.ChiSquared{K: float64(laws.Cols - 1)}).Quantile(1 - 1e-4); square > limit {
			t.Errorf("cell %d: χ² = %.1f above %.1f", cell, square, limit)
		}
		p = must(p.Fork())
	}
}

// TestDecisionDecodes: what is decoded is the posterior of the answer, and the decision is its own.
func TestDecisionDecodes(t *testing.T) {
	b := must(New(decisive(t)))
	y := must(b.Decode(nil, []float64{2}))
	want := math.Exp(-0.7) / (math.Exp(-0.7) + math.Exp(-0.6))
	if math.Abs(y[0]-want) > 1e-15 || b.Decide([]float64{2}, y) != 1 || b.Decide([]float64{0}, y) != 0 {
		t.Errorf("decoded %v, want %v first", y, want)
	}
	for _, u := range []float64{-1, 3, 0.5, math.NaN(), math.Inf(1), 1e300} {
		if y, err := b.Decode(nil, []float64{u}); y != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("answer %v: %v, %v", u, y, err)
		}
	}
}

// TestDecisionReadAgain: a directory has all of it, with and without levels.
func TestDecisionReadAgain(t *testing.T) {
	plain := decisive(t)
	plain.Category.Edges, plain.Category.Shares = Matrix{Rows: 2}, Matrix{2, 2, []float64{0.4, 0.1, 0.1, 0.4}}
	plain.Randomizers[0] = must(local.RandomizedResponse([]string{"no", "yes"}, 1)).Mechanism()
	plain.Decoder, plain.Category.Decisions = Matrix{2, 2, []float64{-0.3, -1.3, -1.3, -0.3}}, []int{0, 1}
	for name, s := range map[string]Spec{"levels": decisive(t), "classes": plain} {
		dir := filepath.Join(t.TempDir(), "b")
		b := must(New(s))
		if err := b.Write(dir, false); err != nil {
			t.Fatal(err)
		}
		again := must(Read(dir))
		must(again.Verify(nil))
		one, two := b.Spec(), again.Spec()
		one.Randomizers, two.Randomizers = nil, nil
		if !reflect.DeepEqual(one, two) {
			t.Errorf("%s: %+v, want %+v", name, two, one)
		}
		if err := again.Write(dir, true); err != nil {
			t.Errorf("%s again: %v", name, err)
		}
	}
}

func TestDecisionRefuses(t *testing.T) {
	for says, change := range map[string]func(s *Spec){
		"noise.kind":       func(s *Spec) { s.Noise = Local },
		"category":         func(s *Spec) { s.Category = nil },
		"domain":           func(s *Spec) { s.Domain = Box },
		"classes for":      func(s *Spec) { s.Output = Values },
		"axes":             func(s *Spec) { s.Axes = []float64{1} },
		"cell_edges[0][0]": func(s *Spec) { s.Category.Edges.Data[0] = -1 },
		"cell_edges":       func(s *Spec) { s.Category.Edges = Matrix{1, 1, []float64{1}} },
		"shares[3]":        func(s *Spec) { s.Category.Shares.Data[3] = -0.05 },
		"the sum":          func(s *Spec) { s.Category.Shares.Data[3] = 0.5 },
		"decisions[1]":     func(s *Spec) { s.Category.Decisions[1] = 2 },
		"4 cells and 3 ans": func(s *Spec) {
			s.Randomizers[0] = must(local.RandomizedResponse([]string{"a", "b", "c"}, 1)).Mechanism()
		},
		"one for categories": func(s *Spec) { s.Randomizers[0] = randomizer(t, 1, 1) },
		"1 for the kind":     func(s *Spec) { s.Randomizers = append(s.Randomizers, s.Randomizers[0]) },
		"randomizer_of[0]":   func(s *Spec) { s.RandomizerOf[0] = 1 },
		"decoder":            func(s *Spec) { s.Decoder = Matrix{2, 2, []float64{1, 2, 3, 4}} },
		"encoder":            func(s *Spec) { s.Encoder = Matrix{1, 2, []float64{1, 2}} },
		"head":               func(s *Spec) { s.Head = []Layer{{Matrix{3, 3, make([]float64, 9)}, make([]float64, 3), "relu"}} },
		"composition":        func(s *Spec) { s.Composition = Exact },
		"tables":             func(s *Spec) { s.Tables = twoTables(t) },
		"noise.tau":          func(s *Spec) { s.Tau = 1 },
	} {
		s := decisive(t)
		change(&s)
		if b, err := New(s); b != nil || !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want ErrInvalid with %q", err, says)
		}
	}
}
