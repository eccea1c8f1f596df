// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

const eighth = 1 << 61 // of all weights

// testRandomizer has unequal steps, and rows with weights of 0 at the start, in the middle
// and at the end. It is not private.
func testRandomizer(tb testing.TB, kind local.Kind) *local.Randomizer {
	tb.Helper()
	s := local.Spec{
		Epsilon: 1, Delta: 0.5, Values: local.Values{Kind: kind, Lower: -1, Upper: 2}, Objective: local.Mean, Loss: loss.L1,
		Nodes: []float64{-1, 0, 1, 2}, Answers: []float64{-3, -0.5, 0.25, 4},
		Rows: [][]uint64{
			{4 * eighth, 3 * eighth, 0, eighth},
			{0, eighth, 7*eighth - 1, 1},
			{2 * eighth, 2 * eighth, 2 * eighth, 2 * eighth},
			{0, 0, eighth, 7 * eighth},
		},
	}
	switch kind {
	case local.Real:
		s.Nodes[1] = -0.75
	case local.Category:
		s.Values = local.Values{Kind: kind, Labels: []string{"a", "b", "c", "d"}}
		s.Loss, s.Nodes, s.Answers, s.AnswerLabels = nil, nil, nil, []string{"w", "x", "y", "z"}
		for range 4 {
			s.Costs = append(s.Costs, make([]float64, 4))
		}
	case local.Integer:
	}
	r, err := local.New(tb.Context(), s)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// wordsOf is an entropy reader of these words, and of zeros after them.
func wordsOf(words ...uint64) io.Reader {
	b := make([]byte, blockBytes)
	for i, w := range words {
		binary.LittleEndian.PutUint64(b[8*i:], w)
	}
	return strings.NewReader(string(b))
}

// TestRandomizerExhaustive gives every value that is a whole number of eighths from a node
// all 64 pairs of words that differ in their first three bits, whatever the others are: the
// answers are as many as the interpolated law has 64ths.
func TestRandomizerExhaustive(t *testing.T) {
	r := testRandomizer(t, local.Real)
	rng := rand.New(rand.NewPCG(1, 2))
	spec := r.Spec()
	for i := range len(spec.Nodes) - 1 {
		for k := range uint64(8) {
			a, b := spec.Nodes[i], spec.Nodes[i+1]
			x := a + (b-a)*float64(k)/8
			counts := make([]uint64, 4)
			for first := range uint64(8) {
				for second := range uint64(8) {
					rounding := first<<61 | rng.Uint64()>>3
					answer := second<<61 | 1<<10 // the rows end one word early
					s := answersOf(r, &readerGenerator{r: wordsOf(rounding, answer)})
					j, err := s.index(x)
					if err != nil {
						t.Fatal(err)
					}
					counts[j]++
				}
			}
			for j, got := range counts {
				round := func(w uint64) uint64 { return w/eighth + w%eighth>>60 } // 7·eighth−1 is 7
				if want := (8-k)*round(spec.Rows[i][j]) + k*round(spec.Rows[i+1][j]); got != want {
					t.Errorf("x = %g: answer %d for %d of 64 pairs of words, want %d", x, j, got, want)
				}
			}
		}
	}
}

// TestRandomizerRounding: at the words that decide, next to a third and next to numbers
// that are no float64, the rounding is that of the rational number.
func TestRandomizerRounding(t *testing.T) {
	s := testRandomizer(t, local.Real).Spec()
	s.Values.Lower, s.Values.Upper = 0, 3
	s.Nodes = []float64{0, 3}
	s.Rows = s.Rows[:2]
	s.Claims = local.Claims{}
	r, err := local.New(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []float64{1, 1.5, 0x1p-40, 0x1p-64, 0x1p-65, 0x1p-1074, math.Nextafter(3, 0), 3 - 0x1p-40, math.Pi / 2} {
		theta := new(big.Rat).Quo(new(big.Rat).SetFloat64(x), big.NewRat(3, 1))
		digits := new(big.Int).Lsh(theta.Num(), 128)
		rest := new(big.Int)
		digits.QuoRem(digits, theta.Denom(), rest)
		w1, w2 := new(big.Int).Rsh(digits, 64).Uint64(), digits.Uint64()
		below := func(a, b uint64) bool { // 0.ab000… < θ
			if a != w1 {
				return a < w1
			}
			if b != w2 {
				return b < w2
			}
			return rest.Sign() > 0
		}
		c, err := r.Choose(proof.Number(x))
		if err != nil || c.Row != 0 || !c.Rounded {
			t.Fatalf("Choose(%g) = %+v, %v", x, c, err)
		}
		for _, a := range []uint64{0, 1, w1 - 1, w1, w1 + 1, w1 - 1<<16, w1 + 1<<16, 1 << 63, math.MaxUint64} {
			for _, b := range []uint64{0, w2 - 1, w2, w2 + 1, math.MaxUint64} {
				if x < 1e-300 && a == 0 && b == 0 {
					continue // needs more words than are tried here
				}
				sampler := answersOf(r, &readerGenerator{r: wordsOf(a, b)})
				got, err := sampler.roundUp(c.X, c.Row)
				if want := below(a, b); err != nil || got != want {
					t.Errorf("x = %g, words %#x and %#x: rounded up: %v, %v, want %v", x, a, b, got, err, want)
				}
			}
		}
	}
}

// TestRandomizerChiSquare compares the answers with the exact interpolated law: 9 tests,
// each with a false-alarm rate of 1e-9, and seeds that do not change.
func TestRandomizerChiSquare(t *testing.T) {
	r := testRandomizer(t, local.Real)
	const draws = 1 << 17
	for n, x := range []float64{-1, -0.9, -0.75, -0.3, 0, 0.1, 1, 1.9, 2} {
		s := seeded(r, byte(n))
		pmf := r.PMFAt(x)
		c := chiSquare{total: draws}
		class := make([]int, len(pmf))
		for j, p := range pmf {
			class[j] = -1
			if p > 0x1p-60 {
				class[j] = len(c.p)
				c.p = append(c.p, p)
			}
		}
		c.counts = make([]int, len(c.p))
		for range draws {
			j, err := s.index(x)
			if err != nil {
				t.Fatal(err)
			}
			if class[j] < 0 {
				t.Fatalf("x = %g: answer %d has weight 0", x, j)
			}
			c.counts[class[j]]++
		}
		if stat, threshold, alarm := c.alarm(); alarm {
			t.Errorf("x = %g: χ² = %.1f, want at most %.1f; counts %v of %v", x, stat, threshold, c.counts, c.p)
		}
	}
}

// TestRandomizerKinds: integers and categories are answered by their own row, at both ends
// of every run of words.
func TestRandomizerKinds(t *testing.T) {
	for _, kind := range []local.Kind{local.Integer, local.Category} {
		r := testRandomizer(t, kind)
		spec := r.Spec()
		for i, row := range spec.Rows {
			var start uint64
			for j, w := range row {
				if w == 0 {
					continue
				}
				for _, u := range []uint64{start, start + (w - 1)} {
					s := answersOf(r, &readerGenerator{r: wordsOf(u)})
					if kind == local.Category {
						got, err := s.label(spec.Values.Labels[i])
						if err != nil || got != spec.AnswerLabels[j] {
							t.Errorf("%s, word %d: %q, %v, want %q", spec.Values.Labels[i], u, got, err, spec.AnswerLabels[j])
						}
						continue
					}
					got, err := s.number(spec.Nodes[i])
					if err != nil || got != spec.Answers[j] {
						t.Errorf("%g, word %d: %g, %v, want %g", spec.Nodes[i], u, got, err, spec.Answers[j])
					}
				}
				start += w
			}
		}
	}
}

func TestRandomizerRefuses(t *testing.T) {
	for kind, values := range map[local.Kind][]float64{
		local.Real:     {-1.25, 2.0000001, math.NaN(), math.Inf(1), math.Inf(-1)},
		local.Integer:  {-2, 3, 0.625, math.NaN(), math.Inf(1)},
		local.Category: {0, 1},
	} {
		r := testRandomizer(t, kind)
		s := seeded(r, 1)
		for _, x := range values {
			y, err := s.number(x)
			if !errors.Is(err, dp.ErrInvalid) || y != 0 {
				t.Errorf("%s: Release(%g) = %g, %v", kind, x, y, err)
			} else if x != 0 && x != 1 && x != -2 && x != 3 && strings.Contains(err.Error(), fmt.Sprint(x)) {
				t.Errorf("the error quotes the value: %v", err)
			}
		}
		if y, err := s.label("secret"); !errors.Is(err, dp.ErrInvalid) || y != "" || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: a category it has not: %q, %v", kind, y, err)
		}
		if s.reader.pos != blockBytes {
			t.Errorf("%s: words were drawn for values that are refused", kind)
		}
		broken := answersOf(r, &readerGenerator{r: strings.NewReader("short")})
		var err error
		if kind == local.Category {
			_, err = broken.label("a")
		} else {
			_, err = broken.number(1)
		}
		if !errors.Is(err, ErrEntropy) {
			t.Errorf("%s: without entropy: %v", kind, err)
		}
	}
}

// TestNewRandomizer: without a proof there is nothing to draw from, and forks repeat and
// differ.
func TestNewRandomizer(t *testing.T) {
	if v, err := testRandomizer(t, local.Real).Verify(); v != nil || !errors.Is(err, proof.ErrNotPrivate) {
		t.Errorf("a randomizer that is not private: %v, %v", v, err)
	}
	for _, none := range []*local.Verified{nil, {}} {
		_, err1 := New(none, Options{})
		_, err2 := New(none, Options{Entropy: Deterministic([32]byte{})})
		if !errors.Is(err1, dp.ErrInvalid) || !errors.Is(err2, dp.ErrInvalid) {
			t.Errorf("no randomizer: %v and %v, want ErrInvalid", err1, err2)
		}
	}
	r, err := local.New(t.Context(), local.Spec{
		Epsilon: 1.1, Values: local.Values{Kind: local.Integer, Upper: 1}, Objective: local.Worst, Loss: loss.L1,
		Answers: []float64{0, 1}, Rows: [][]uint64{{6 * eighth, 2 * eighth}, {2 * eighth, 6 * eighth}},
	})
	if err != nil {
		t.Fatal(err)
	}
	v, err := r.Verify()
	if err != nil {
		t.Fatal(err)
	}
	if s, err := New(v, Options{}); err != nil || *s.Mechanism().(*local.Randomizer) != *r {
		t.Errorf("a private randomizer: %v", err)
	}
	draws := func() (out [2]string) {
		root, err := New(v, Options{Entropy: Deterministic([32]byte{7})})
		if err != nil {
			t.Fatal(err)
		}
		for i := range out {
			s, err := root.Fork()
			if err != nil {
				t.Fatal(err)
			}
			for range 100 {
				y, err := numberOf(s, 1)
				if err != nil {
					t.Fatal(err)
				}
				out[i] += fmt.Sprint(y, " ")
			}
		}
		return out
	}
	if a, b := draws(), draws(); a != b || a[0] == a[1] {
		t.Error("forks do not repeat, or do not differ")
	}
}

// BenchmarkRandomizerRelease draws from 41 nodes and 401 answers.
func BenchmarkRandomizerRelease(b *testing.B) {
	s := local.Spec{
		Epsilon: 1, Delta: 0.5, Values: local.Values{Kind: local.Real, Upper: 40}, Objective: local.Worst, Loss: loss.L2,
		Claims: local.Claims{Delta: "0.5", MeanLoss: "1", WorstLoss: "1", Bias: "1", LowerBound: "0"},
	}
	row := make([]uint64, 401)
	for j := range row {
		row[j] = math.MaxUint64 / 401
		s.Answers = append(s.Answers, float64(j))
	}
	row[0] += -row[0] * 401
	for i := range 41 {
		s.Nodes, s.Rows = append(s.Nodes, float64(i)), append(s.Rows, row)
	}
	r, err := local.New(b.Context(), s)
	if err != nil {
		b.Fatal(err)
	}
	sampler := seeded(r, 1)
	for b.Loop() {
		if _, err := sampler.number(17.3); err != nil {
			b.Fatal(err)
		}
	}
}
