// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/sampler"
)

// falseAlarm is the probability with which each statistical test fails by chance.
const falseAlarm = 1e-9

func fixed(seed byte) io.Reader { return rand.NewChaCha8([32]byte{seed}) }

func selector(t testing.TB, q Query) *Selector {
	t.Helper()
	s, err := New(q)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// law returns the probabilities of the candidates with the given distances: of all
// sets of heads, the answer is any of the set alike.
func (s *Selector) law(distances []uint64) []float64 {
	heads := make([]float64, len(distances))
	rate, _ := s.rate.Float64()
	for i, d := range distances {
		heads[i] = math.Exp(-rate * float64(d))
	}
	p := make([]float64, len(heads))
	for set := uint(1); set < 1<<len(heads); set++ {
		q := 1.0
		for i, h := range heads {
			if set>>i&1 == 1 {
				q *= h
			} else {
				q *= 1 - h
			}
		}
		for i := range p {
			if set>>i&1 == 1 {
				p[i] += q / float64(bits.OnesCount(set))
			}
		}
	}
	return p
}

func chiSquare(t *testing.T, got []int, want []float64, draws int) {
	t.Helper()
	sum, cells := 0.0, 0
	var rareGot, rareWant float64
	for i, p := range want {
		e := p * float64(draws)
		if e < 20 {
			rareGot, rareWant = rareGot+float64(got[i]), rareWant+e
			continue
		}
		sum += (float64(got[i]) - e) * (float64(got[i]) - e) / e
		cells++
	}
	if rareWant >= 20 {
		sum += (rareGot - rareWant) * (rareGot - rareWant) / rareWant
		cells++
	} else if limit := (distuv.Poisson{Lambda: rareWant + 1e-300}); rareGot > 0 && limit.Survival(rareGot-1) < falseAlarm {
		t.Errorf("%g draws of candidates that are expected %g times", rareGot, rareWant)
	}
	if cells < 2 {
		if sum > 1e-9 {
			t.Errorf("%v, want %v of %d", got, want, draws)
		}
		return
	}
	if limit := (distuv.ChiSquared{K: float64(cells - 1)}).Quantile(1 - falseAlarm); sum > limit {
		t.Errorf("chi-square = %g, want at most %g: %v of %v", sum, limit, got, want)
	}
}

// TestLaw compares draws with the exact law. 200,000 draws tell probabilities of 1/4
// apart that differ by 0.01.
func TestLaw(t *testing.T) {
	const draws = 200_000
	tests := []struct {
		query  Query
		counts []uint64
	}{
		{Query{Quantile: big.NewRat(1, 2), Candidates: 1, Epsilon: 1, Records: 1}, []uint64{5}},
		{Query{Quantile: big.NewRat(1, 2), Candidates: 3, Epsilon: 1, Records: 1}, []uint64{0, 0, 0}},
		{Query{Quantile: big.NewRat(1, 2), Candidates: 5, Epsilon: 1, Records: 1}, []uint64{1, 0, 3, 2, 1}},
		{Query{Quantile: big.NewRat(9, 10), Candidates: 6, Epsilon: 0.3, Records: 2}, []uint64{1, 4, 0, 2, 9, 1}},
		{Query{Quantile: big.NewRat(1, 3), Candidates: 6, Epsilon: 7.25, Records: 1, Replace: true}, []uint64{1, 0, 1, 0, 0, 1}},
		{Query{Quantile: big.NewRat(0, 1), Candidates: 4, Epsilon: 0.01, Records: 1}, []uint64{0, 30, 10, 100}},
	}
	for i, test := range tests {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s := selector(t, test.query)
			d, err := s.distances(test.counts)
			if err != nil {
				t.Fatal(err)
			}
			w := newWords(fixed(byte(i)))
			got := make([]int, len(d))
			for range draws {
				got[s.choose(d, w)]++
			}
			chiSquare(t, got, s.law(d), draws)
		})
	}
}

// TestBernoulli compares the coins with their probabilities: 10^6 draws tell 0.003.
func TestBernoulli(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const draws = 1_000_000
	w := newWords(fixed(20))
	big3, big7 := big.NewInt(3), new(big.Int).Lsh(big.NewInt(7), 80)
	third := new(big.Int).Lsh(big3, 80)
	for _, test := range []struct {
		name string
		coin func() bool
		want float64
	}{
		{"expMinusOne", w.expMinusOne, math.Exp(-1)},
		{"expFraction 3/7", func() bool { return w.expFraction(third, big7) }, math.Exp(-3. / 7)},
		{"expFraction 0", func() bool { return w.expFraction(new(big.Int), big7) }, 1},
		{"ratio 3/7", func() bool { return w.ratio(third, big7) }, 3. / 7},
		{"oneIn 5", func() bool { return w.oneIn(5) }, 0.2},
	} {
		got := []int{0, 0}
		for range draws {
			if test.coin() {
				got[1]++
			} else {
				got[0]++
			}
		}
		t.Run(test.name, func(t *testing.T) { chiSquare(t, got, []float64{1 - test.want, test.want}, draws) })
	}
	got := make([]int, 6)
	for range draws {
		got[w.below(6)]++
	}
	chiSquare(t, got, []float64{1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6}, draws)
}

// TestFirstWords checks that words that agree with the expansion of a probability
// are decided by those that follow.
func TestFirstWords(t *testing.T) {
	// 1/3 = 0.5555…, in hexadecimal.
	third := bytes.Repeat([]byte{0x55}, 8)
	stream := func(tail byte) io.Reader {
		b := bytes.Repeat(third, 4)
		b = append(b, bytes.Repeat([]byte{tail}, 4096)...)
		return bytes.NewReader(b)
	}
	for _, tail := range []byte{0x54, 0x56} {
		if got, want := newWords(stream(tail)).oneIn(3), tail == 0x54; got != want {
			t.Errorf("oneIn with %x: %v, want %v", tail, got, want)
		}
		if got, want := newWords(stream(tail)).ratio(big.NewInt(2), big.NewInt(6)), tail == 0x54; got != want {
			t.Errorf("ratio with %x: %v, want %v", tail, got, want)
		}
	}
}

// each calls f with all counts of the candidates of at most so many records.
func each(candidates, records int, f func(counts []uint64)) {
	counts := make([]uint64, candidates)
	var fill func(i, left int)
	fill = func(i, left int) {
		if i == candidates {
			f(counts)
			return
		}
		for c := range left + 1 {
			counts[i] = uint64(c)
			fill(i+1, left-c)
		}
		counts[i] = 0
	}
	fill(0, records)
}

// TestPrivacy computes the law of all data sets of up to 5 records on 4 candidates,
// and compares those of neighbors: adding any records up to the bound, or replacing.
// Some pair uses up more than half of epsilon, so a sensitivity that is too small by
// a half would be found.
func TestPrivacy(t *testing.T) {
	for _, q := range []*big.Rat{big.NewRat(1, 2), big.NewRat(1, 4), big.NewRat(9, 10), big.NewRat(1, 1)} {
		for _, records := range []int{1, 2} {
			for _, replace := range []bool{false, true} {
				testPrivacy(t, Query{Quantile: q, Candidates: 4, Epsilon: 1, Records: records, Replace: replace})
			}
		}
	}
}

func testPrivacy(t *testing.T, q Query) {
	s := selector(t, q)
	type dataSet struct {
		counts []uint64
		law    []float64
	}
	var sets []dataSet
	each(q.Candidates, 5, func(counts []uint64) {
		d, err := s.distances(counts)
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, dataSet{append([]uint64(nil), counts...), s.law(d)})
	})
	worst := 0.0
	for _, a := range sets {
		for _, b := range sets {
			var added, removed uint64
			for i := range a.counts {
				if a.counts[i] > b.counts[i] {
					removed += a.counts[i] - b.counts[i]
				} else {
					added += b.counts[i] - a.counts[i]
				}
			}
			most := uint64(q.Records)
			if added > most || removed > most || !q.Replace && added > 0 && removed > 0 {
				continue
			}
			for i := range a.law {
				worst = max(worst, math.Abs(math.Log(a.law[i]/b.law[i])))
			}
		}
	}
	if worst > q.Epsilon*(1+1e-12) || worst < q.Epsilon/2 {
		t.Errorf("q = %s, %d records, replace %v: the largest loss is %g, want above %g and at most %g",
			q.Quantile.RatString(), q.Records, q.Replace, worst, q.Epsilon/2, q.Epsilon)
	}
}

// TestRankError compares the bound with the exact law in its worst case, one
// candidate right and all others at the bound, and with simulations.
func TestRankError(t *testing.T) {
	for _, m := range []int{2, 10, 1000, 1_000_000} {
		for _, level := range []float64{0.5, 0.95, 0.999} {
			q := Query{Quantile: big.NewRat(3, 10), Candidates: m, Epsilon: 0.7, Records: 1}
			s := selector(t, q)
			bound, err := s.RankErrorUpper(level)
			if err != nil {
				t.Fatal(err)
			}
			units := new(big.Rat).Mul(bound, big.NewRat(10, 1))
			exponent, _ := units.Mul(units, s.rate).Float64()
			p := math.Exp(-exponent)
			// 1 - E 1/(1+h), h of m-1 coins heads.
			miss := 1 + math.Expm1(float64(m)*math.Log1p(-p))/(float64(m)*p)
			if miss > 1-level {
				t.Errorf("m = %d, level %g: missed with probability %g", m, level, miss)
			}
			if miss < (1-level)*0.3 {
				t.Errorf("m = %d, level %g: missed with probability %g only", m, level, miss)
			}
		}
	}
}

func TestRankErrorCoverage(t *testing.T) {
	const draws, level = 20_000, 0.95
	s := selector(t, Query{Quantile: big.NewRat(1, 2), Candidates: 101, Epsilon: 0.5, Records: 1})
	counts := make([]uint64, 101)
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		counts[min(max(int(50+12*r.NormFloat64()), 0), 100)]++
	}
	bound, err := s.RankErrorUpper(level)
	if err != nil {
		t.Fatal(err)
	}
	limit, _ := new(big.Rat).Mul(bound, big.NewRat(2, 1)).Float64()
	d, err := s.distances(counts)
	if err != nil {
		t.Fatal(err)
	}
	missed := 0
	words := newWords(fixed(30))
	for range draws {
		if float64(d[s.choose(d, words)]) >= limit {
			missed++
		}
	}
	if most := (distuv.Binomial{N: draws, P: 1 - level}); most.Survival(float64(missed)) < falseAlarm {
		t.Errorf("%d of %d errors at or above %g half ranks", missed, draws, limit)
	}
	if bound.Sign() <= 0 {
		t.Errorf("bound = %v", bound)
	}
}

// TestEntropyFails cuts the entropy off everywhere: there is an answer or an error.
func TestEntropyFails(t *testing.T) {
	s := selector(t, Query{Quantile: big.NewRat(1, 2), Candidates: 2000, Epsilon: 0.1, Records: 1})
	counts := make([]uint64, 2000)
	counts[1000] = 1 << 20
	all := make([]byte, 1<<16)
	if _, err := io.ReadFull(fixed(40), all); err != nil {
		t.Fatal(err)
	}
	want, err := s.Select(counts, bytes.NewReader(all))
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for n := 0; n < len(all); n += 500 {
		got, err := s.Select(counts, bytes.NewReader(all[:n]))
		if err == nil && got == want {
			continue
		}
		failed++
		if !errors.Is(err, sampler.ErrEntropy) || got != 0 {
			t.Fatalf("%d bytes: %d, %v, want %d or an entropy error", n, got, err, want)
		}
	}
	if failed == 0 {
		t.Error("no failure was seen")
	}
	if _, err := s.Select(counts, nil); !errors.Is(err, sampler.ErrEntropy) {
		t.Errorf("no reader: %v", err)
	}
}

func TestInvalid(t *testing.T) {
	good := Query{Quantile: big.NewRat(1, 2), Candidates: 3, Epsilon: 1, Records: 1}
	for i, change := range []func(*Query){
		func(q *Query) { q.Quantile = nil },
		func(q *Query) { q.Quantile = big.NewRat(-1, 2) },
		func(q *Query) { q.Quantile = big.NewRat(3, 2) },
		func(q *Query) { q.Quantile = exact.Rational(0.1) },
		func(q *Query) { q.Candidates = 0 },
		func(q *Query) { q.Candidates = maxCandidates + 1 },
		func(q *Query) { q.Epsilon = math.NaN() },
		func(q *Query) { q.Epsilon = 0 },
		func(q *Query) { q.Epsilon = 101 },
		func(q *Query) { q.Records = 0 },
	} {
		q := good
		if change(&q); true {
			if s, err := New(q); s != nil || !errors.Is(err, dp.ErrInvalid) {
				t.Errorf("%d: %v, %v", i, s, err)
			}
		}
	}
	s := selector(t, good)
	for _, counts := range [][]uint64{nil, {1, 2}, {1, 2, 3, 4}, {maxTotal, 1, 0}, {math.MaxUint64, 2, 0}} {
		if _, err := s.Select(counts, fixed(0)); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v: %v", counts, err)
		}
	}
	for _, level := range []float64{0, 1, math.NaN(), -1} {
		if _, err := s.RankErrorUpper(level); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("level %g: %v", level, err)
		}
	}
}

// TestExtremes: the largest parameters neither overflow nor run for ever.
func TestExtremes(t *testing.T) {
	q := Query{Quantile: big.NewRat(maxDenominator-1, maxDenominator), Candidates: 3, Epsilon: maxEpsilon, Records: 1}
	s := selector(t, q)
	counts := []uint64{maxTotal / 2, maxTotal / 2, 0}
	if got, err := s.Select(counts, fixed(1)); got != 1 || err != nil {
		t.Errorf("%d, %v, want the middle one", got, err)
	}
	q.Epsilon, q.Records = 5e-324, maxRecords
	s = selector(t, q)
	if _, err := s.Select(counts, fixed(1)); err != nil {
		t.Error(err)
	}
	if bound, err := s.RankErrorUpper(0.95); err != nil || bound.Sign() <= 0 {
		t.Errorf("%v, %v", bound, err)
	}
}

func TestGrid(t *testing.T) {
	g, err := NewGrid(-2, 6, 5)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range []float64{-2, 0, 2, 4, 6} {
		if g.Value(i) != v || g.Index(v) != i || g.Index(v+0.9) != i || g.Index(v-0.9) != i {
			t.Errorf("candidate %d: %g, want %g", i, g.Value(i), v)
		}
	}
	if g.Index(math.Inf(1)) != 4 || g.Index(-1e300) != 0 {
		t.Error("values outside are not clamped")
	}
	g, err = NewGrid(-math.MaxFloat64, math.MaxFloat64, 3)
	if err != nil || g.Index(0) != 1 || g.Value(1) != 0 || g.Index(math.MaxFloat64) != 2 {
		t.Errorf("the widest grid: %v, %v", g, err)
	}
	for _, bad := range []struct {
		lower, upper float64
		n            int
	}{{1, 1, 5}, {2, 1, 5}, {0, math.Inf(1), 5}, {math.NaN(), 1, 5}, {0, 1, 1}, {0, 1, maxCandidates + 1}} {
		if _, err := NewGrid(bad.lower, bad.upper, bad.n); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func BenchmarkSelect(b *testing.B) {
	const m = 1_000_000
	s := selector(b, Query{Quantile: big.NewRat(1, 2), Candidates: m, Epsilon: 1, Records: 1})
	counts := make([]uint64, m)
	for i := range counts {
		counts[i] = 1
	}
	r := fixed(9)
	for b.Loop() {
		if _, err := s.Select(counts, r); err != nil {
			b.Fatal(err)
		}
	}
}
