// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"math"
	"os"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/noisewright/noisewright/counts"
	"github.com/noisewright/noisewright/proof"
)

// windows are weights of answers to k categories, of two probabilities in the ratio e^1.4 nearly: of the answer y high
// for the size categories from y on, modulo the number of answers. What is left of 2^64 is added to the highest.
func windows(k, answers, size int) [][]uint64 {
	rows := make([][]uint64, k)
	low := uint64(0x1p64 / (float64(size)*math.Exp(1.4) + float64(answers-size)))
	for j := range rows {
		sum := uint64(0)
		for y := range answers {
			w := low
			if (j-y+answers)%answers < size {
				w = uint64(float64(low) * math.Exp(1.4))
			}
			rows[j] = append(rows[j], w)
			sum += w
		}
		rows[j][j%answers] -= sum // 2^64 is 0
	}
	return rows
}

// TestStrategyDraws: of strategies for each kind of workload, with categories by number and by name, with as many answers as
// categories and with more, and with very unlike probabilities, answers to a category come as often as the row says, by a
// chi-square test with a false-alarm rate of 1e-9 each, 1e-7 together; seeds do not change. It makes 200,000 draws for each of
// three categories, or COUNTS_DRAWS of the environment, such as 1e7.
func TestStrategyDraws(t *testing.T) {
	n := 200_000.0
	if text := os.Getenv("COUNTS_DRAWS"); text != "" {
		var err error
		if n, err = strconv.ParseFloat(text, 64); err != nil {
			t.Fatal(err)
		}
	}
	skewed := [][]uint64{{1 << 63, 1<<63 - 1<<51, 1 << 51}, {1 << 62, 3<<62 - 1<<50, 1 << 50}}
	for i, p := range []struct {
		counts.Problem
		rows [][]uint64
	}{
		{counts.Problem{Count: 2, Workload: counts.Workload{Kind: counts.Prefix}}, windows(2, 2, 1)},
		{counts.Problem{Count: 2, Workload: counts.Workload{Kind: counts.Prefix}}, skewed},
		{counts.Problem{Count: 14, Workload: counts.Workload{Kind: counts.Prefix}}, windows(14, 17, 5)},
		{counts.Problem{Labels: []string{"never", "now and then", "often"}, Workload: counts.Workload{Kind: counts.Ranges}}, windows(3, 7, 2)},
		{counts.Problem{Count: 6, Workload: counts.Workload{Kind: counts.Marginals, Sizes: []int{2, 3}}}, windows(6, 7, 3)},
		{counts.Problem{Count: 5, Workload: counts.Workload{Kind: counts.Queries, Names: []string{"mean"}, Queries: [][]float64{{0, 1, 2, 3, 4}}}}, windows(5, 5, 2)},
		{counts.Problem{Count: 64, Workload: counts.Workload{Kind: counts.Prefix}}, windows(64, 97, 20)},
	} {
		p.Epsilon = 1.5
		m, err := counts.New(counts.Spec{Problem: p.Problem, Rows: p.rows})
		if err != nil {
			t.Fatal(err)
		}
		v, err := m.Verify()
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []int{0, m.Categories() / 2, m.Categories() - 1} {
			s, err := New(v, Options{Entropy: Deterministic([32]byte{byte(i), byte(x), 1})})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int{}
			for range int(n) {
				y, err := s.Release(proof.Category(m.Label(x)))
				if err != nil {
					t.Fatal(err)
				}
				got[y.String()]++
			}
			chi, seen := 0.0, 0
			for y, w := range p.rows[x] {
				count := got[m.Answer(proof.Choice{}, y, 0).String()]
				want := n * float64(w) * 0x1p-64
				chi += (float64(count) - want) * (float64(count) - want) / want
				seen += count
			}
			if limit := (distuv.ChiSquared{K: float64(len(p.rows[x]) - 1)}).Quantile(1 - 1e-9); seen != int(n) || chi > limit {
				t.Errorf("%s of %d, category %d: %d of %g draws are answers, chi-square %g of at most %g", p.Workload.Kind, m.Categories(), x, seen, n, chi, limit)
			}
		}
	}
}
