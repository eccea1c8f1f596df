// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
)

// randomizer has three nodes in [-radius, radius] and an answer for each, private to the
// last units.
func randomizer(t testing.TB, epsilon, radius float64) *local.Randomizer {
	t.Helper()
	e := exact.ExpDown(epsilon, 60)
	low := new(big.Int).Lsh(big.NewInt(1), 124)
	low.Quo(low, e.Add(e, big.NewInt(2<<60))) // 2^64/(E+2)
	l := low.Uint64() + 1
	h := -(2 * l) // 2^64 − 2l
	return must(local.New(t.Context(), local.Spec{
		Epsilon: epsilon, Values: local.Values{Kind: local.Real, Lower: -radius, Upper: radius}, Objective: local.Mean, Loss: loss.L2,
		Nodes: []float64{-radius, radius / 8, radius}, Answers: []float64{-0.3, 0.1, 0.4},
		Rows: [][]uint64{{h, l, l}, {l, h, l}, {l, l, h}},
	}))
}

// randomized is a bundle of two coordinates with randomizers.
func randomized(t testing.TB) Spec {
	s := plain(0.5, 0.5, 0.25)
	s.Noise, s.TableOf = Local, nil
	s.Randomizers, s.RandomizerOf = []*local.Randomizer{randomizer(t, 1, 0.5), randomizer(t, 0.5, 0.5)}, []int{0, 1}
	s.Promise = Promise{Epsilon: 1.5}
	return s
}

// looked is the bundle with a lookup.
func looked(t testing.TB) Spec {
	s := randomized(t)
	s.Decoder = Matrix{}
	s.Lookup = &Lookup{
		Edges:  Matrix{2, 2, []float64{-0.1, 0.2, -0.1, limits.Magnitude}},
		Values: Matrix{6, 2, []float64{1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60}},
	}
	return s
}

// The law of a release of a tiny bundle, from its definition: for every two clipped
// encodings, on a grid that has nodes and points between them, every pair of answers is
// at most e^ε times as likely.
func TestRandomizersByEnumeration(t *testing.T) {
	s := randomized(t)
	b := must(New(s))
	must(b.Verify(nil))
	var laws [][]float64 // of pairs of answers
	for i := -6; i <= 6; i++ {
		for j := -6; j <= 6; j++ {
			u := must(b.Encode(nil, []float64{1 + float64(i)/4, 2 + float64(j)/4}))
			p, q := b.spec.Randomizers[b.spec.RandomizerOf[0]].PMFAt(u[0]), b.spec.Randomizers[b.spec.RandomizerOf[1]].PMFAt(u[1])
			var law []float64
			for _, x := range p {
				for _, y := range q {
					law = append(law, x*y)
				}
			}
			laws = append(laws, law)
		}
	}
	most := 0.0
	for _, a := range laws {
		for _, b := range laws {
			for k := range a {
				most = max(most, math.Log(a[k]/b[k]))
			}
		}
	}
	if !(most <= 1.5*(1+1e-12)) || most < 1.2 {
		t.Errorf("epsilon = %g by enumeration, 1.5 promised", most)
	}
}

// Draws follow the laws of the file: 5 standard errors for each of 9 pairs of answers, in
// 2·10^4 draws, tell differences of 0.02.
func TestRandomizersAreDrawn(t *testing.T) {
	b := must(New(randomized(t)))
	p := must(must(b.Verify(nil)).NewDeterministicPrivatizer([32]byte{1}, sampler.Options{}))
	x := []float64{1.3, 2.2}
	u := must(b.Encode(nil, x))
	count := map[[2]float64]int{}
	const draws = 20000
	for range draws {
		y := must(p.Privatize(nil, x))
		count[[2]float64{y[0], y[1]}]++
	}
	for i, a := range b.spec.Randomizers[b.spec.RandomizerOf[0]].Spec().Answers {
		for j, c := range b.spec.Randomizers[b.spec.RandomizerOf[1]].Spec().Answers {
			want := b.spec.Randomizers[b.spec.RandomizerOf[0]].PMFAt(u[0])[i] * b.spec.Randomizers[b.spec.RandomizerOf[1]].PMFAt(u[1])[j]
			if got := float64(count[[2]float64{a, c}]) / draws; math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/draws) {
				t.Errorf("answers %g and %g: %g of the draws, want %g", a, c, got, want)
			}
		}
	}
	if fork := must(p.Fork()); fork.Bundle().Coordinates() != 2 {
		t.Error("another bundle in a fork")
	}
}

func TestRandomizersAreProvedOrRefused(t *testing.T) {
	v := must(must(New(randomized(t))).Verify(nil))
	if e, _ := v.EpsilonUpper().Float64(); e != 1.5 || v.DeltaUpper().Sign() != 0 {
		t.Errorf("proved %v, %v", v.EpsilonUpper(), v.DeltaUpper())
	}
	false3 := randomizer(t, 1, 0.5).Spec()
	false3.Rows[0][0], false3.Rows[0][1] = false3.Rows[0][0]+false3.Rows[0][1]/2, false3.Rows[0][1]-false3.Rows[0][1]/2
	false3.Epsilon = 0.9
	for name, c := range map[string]struct {
		change func(s *Spec)
		says   string
	}{
		"a promise too small":        {func(s *Spec) { s.Promise.Epsilon = math.Nextafter(1.5, 0) }, "epsilon"},
		"one randomizer twice":       {func(s *Spec) { s.Randomizers, s.RandomizerOf = s.Randomizers[:1], []int{0, 0} }, "epsilon"},
		"an axis beyond the range":   {func(s *Spec) { s.Axes[0] = math.Nextafter(0.5, 1) }, "axes[0]"},
		"biased, and said not":       {func(s *Spec) { s.Noise = LocalUnbiased }, "randomizers[0] may be biased"},
		"a randomizer not as stated": {func(s *Spec) { s.Randomizers[1] = must(local.New(t.Context(), false3)) }, "randomizers[1]"},
	} {
		s := randomized(t)
		c.change(&s)
		if _, err := must(New(s)).Verify(nil); !errors.Is(err, proof.ErrNotPrivate) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want ErrNotPrivate about %s", name, err, c.says)
		}
	}
	categories := must(local.New(t.Context(), local.Spec{
		Epsilon: 1, Values: local.Values{Kind: local.Category, Labels: []string{"a", "b"}}, Objective: local.Mean,
		Costs: [][]float64{{0, 1}, {1, 0}}, AnswerLabels: []string{"a", "b"}, Rows: [][]uint64{{1 << 63, 1 << 63}, {1 << 63, 1 << 63}},
	}))
	for name, c := range map[string]struct {
		change func(s *Spec)
		says   string
	}{
		"tables too":            {func(s *Spec) { s.Tables, s.TableOf = twoTables(t), []int{0, 1} }, "tables"},
		"no randomizer":         {func(s *Spec) { s.Randomizers = nil }, "randomizers"},
		"a nil one":             {func(s *Spec) { s.Randomizers[0] = nil }, "randomizers[0]"},
		"a zero one":            {func(s *Spec) { s.Randomizers[0] = new(local.Randomizer) }, "randomizers[0]"},
		"of categories":         {func(s *Spec) { s.Randomizers[0] = categories }, "randomizers[0]"},
		"an unused one":         {func(s *Spec) { s.RandomizerOf = []int{1, 1} }, "randomizers[0]"},
		"an index too large":    {func(s *Spec) { s.RandomizerOf[1] = 2 }, "randomizer_of[1]"},
		"an index missing":      {func(s *Spec) { s.RandomizerOf = []int{0} }, "randomizer_of"},
		"exact composition":     {func(s *Spec) { s.Composition = Exact }, "composition"},
		"randomizers and noise": {func(s *Spec) { s.Noise = Designed }, "randomizers"},
	} {
		s := randomized(t)
		c.change(&s)
		if _, err := New(s); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want ErrInvalid about %s", name, err, c.says)
		}
	}
}

func TestLookup(t *testing.T) {
	b := must(New(looked(t)))
	for _, c := range []struct{ u, want []float64 }{
		{[]float64{-0.3, -0.3}, []float64{1 + 1 + 10, 2 + 2 + 20}},
		{[]float64{-0.1, 0.4}, []float64{1 + 3 + 30, 2 + 4 + 40}}, // an edge belongs to the bin above
		{[]float64{0.4, 0.1}, []float64{1 + 5 + 30, 2 + 6 + 40}},
		{[]float64{math.Inf(1), math.Inf(1)}, []float64{1 + 5 + 50, 2 + 6 + 60}},
	} {
		if got := must(b.Decode(nil, c.u)); got[0] != c.want[0] || got[1] != c.want[1] {
			t.Errorf("decoded %v of %v, want %v", got, c.u, c.want)
		}
	}
	for name, c := range map[string]struct {
		change func(s *Spec)
		says   string
	}{
		"a decoder too":       {func(s *Spec) { s.Decoder = Matrix{2, 2, make([]float64, 4)} }, "decoder"},
		"no edges":            {func(s *Spec) { s.Lookup.Edges = Matrix{} }, "lookup_edges"},
		"edges that fall":     {func(s *Spec) { s.Lookup.Edges.Data[1] = -0.2 }, "lookup_edges[0][1]"},
		"an edge not finite":  {func(s *Spec) { s.Lookup.Edges.Data[3] = math.Inf(1) }, "lookup_edges"},
		"values for more":     {func(s *Spec) { s.Lookup.Values = Matrix{7, 2, make([]float64, 14)} }, "lookup_values"},
		"edges of one number": {func(s *Spec) { s.Lookup.Edges.Rows = 1 }, "lookup_edges"},
		"edges without data":  {func(s *Spec) { s.Lookup.Edges.Data = nil }, "lookup_edges"},
	} {
		s := looked(t)
		c.change(&s)
		if _, err := New(s); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want ErrInvalid about %s", name, err, c.says)
		}
	}
}

// Bundles with randomizers or a lookup are files of version 2, and of that one alone.
func TestVersion2(t *testing.T) {
	both := perCoordinate(t)
	both.Decoder, both.Lookup = Matrix{}, looked(t).Lookup
	for name, s := range map[string]Spec{"randomizers": randomized(t), "randomizers and a lookup": looked(t), "tables and a lookup": both, "layers": layered(t), "a filter": filter(t), "an l1 ball": jointLaplace(t, L1Ball, 2, -6, 0.375, 0.375)} {
		dir := filepath.Join(t.TempDir(), "b")
		b := must(New(s))
		if err := b.Write(dir, false); err != nil {
			t.Fatal(err)
		}
		if err := b.Write(dir, true); err != nil {
			t.Errorf("%s: over itself: %v", name, err)
		}
		if back := must(Read(dir)); !equal(t, back, b) {
			t.Errorf("%s: written and read again: %+v", name, back.Spec())
		}
		good := contents(t, dir)
		if !strings.Contains(good["bundle.json"], `"version": 2`) {
			t.Errorf("%s: %s", name, good["bundle.json"])
		}
		for _, c := range []struct{ old, with string }{
			{`"version": 2`, `"version": 1`},
			{`"version": 2`, `"version": 3`},
			{`"version": 2`, `"version": 0`},
			{`"randomizers": `, `"randomizers": -`},
			{`"randomizers": `, `"randomizers": 3`},
			{`"tables": `, `"tables": -1`},
			{`"randomizer_of"`, `"randomizers_of"`},
			{`"lookup": true`, `"lookup": null`},
			{`"layers": [`, `"layers": null, "head": [`},
			{`"output": "features"`, `"output": ""`},
			{`"outputs": [`, `"outputs": [""`},
			{`"lookup": true`, `"lookup": false`},
			{`"lookup": false`, `"lookup": true`},
		} {
			text := strings.Replace(good["bundle.json"], c.old, c.with, 1)
			if text == good["bundle.json"] || strings.Contains(text, "-0") {
				continue // not in this one
			}
			if err := os.WriteFile(filepath.Join(dir, "bundle.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if b, err := Read(dir); err == nil {
				t.Errorf("%s: %s in place of %s is read: %+v", name, c.with, c.old, b.Spec())
			}
		}
	}
	// A weight that was moved is found out.
	dir := filepath.Join(t.TempDir(), "b")
	if err := must(New(randomized(t))).Write(dir, false); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "randomizers", "00.json")
	text := contents(t, dir)["randomizers/00.json"]
	row := randomized(t).Randomizers[0].Spec().Rows[0]
	spoiled := strings.Replace(text, exact.Rational(0).Num().SetUint64(row[1]).String(), exact.Rational(0).Num().SetUint64(row[1]-16).String(), 1)
	spoiled = strings.Replace(spoiled, exact.Rational(0).Num().SetUint64(row[0]).String(), exact.Rational(0).Num().SetUint64(row[0]+16).String(), 1)
	if spoiled == text {
		t.Fatal("nothing is spoiled")
	}
	if err := os.WriteFile(path, []byte(spoiled), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := must(Read(dir)).Verify(nil); !errors.Is(err, proof.ErrNotPrivate) {
		t.Errorf("a weight moved: %v, want ErrNotPrivate", err)
	}
	if err := os.WriteFile(path, []byte(text[:len(text)-2]), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); !errors.Is(err, proof.ErrFormat) || !strings.Contains(err.Error(), "randomizers/00.json") {
		t.Errorf("a randomizer cut off: %v, want proof.ErrFormat", err)
	}
}
