// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/proof"
)

// below returns a random number from 0 to 2^bits − 1.
func below(r *rand.Rand, bits int) *big.Int {
	x := new(big.Int)
	for range (bits + 63) / 64 {
		x.Lsh(x, 64).Or(x, new(big.Int).SetUint64(r.Uint64()))
	}
	return x.Rsh(x, uint((bits+63)/64*64-bits))
}

// TestNormsAreAbove: whatever inverse is within what it may be off by, the squared norms in rationals are not above
// their bounds, and not more than the slack and 3 units below them. Of one category nothing but
// roundings is between them, and there are cases that a bound of one unit less would miss.
func TestNormsAreAbove(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	short := 0
	for n := range 600 {
		k := 1 + n%3
		d := &decoder{scores: matrix(k, 2), inverse: matrix(k, k), off: below(r, 100+n%32)}
		if n%5 == 0 { // its square counts too
			d.off = below(r, 200+n%32)
		}
		truth, g, size, largest := matrix(k, k), make([][]*big.Rat, k), new(big.Rat), new(big.Int)
		for i := range k {
			g[i] = make([]*big.Rat, k)
			for j := range k {
				d.inverse[i][j].Set(below(r, fixedBits))
				if i != j {
					d.inverse[i][j].Neg(d.inverse[i][j]).Rsh(d.inverse[i][j], 2)
				}
				truth[i][j].Add(d.inverse[i][j], d.off)
				if i != j && n%2 == 0 {
					truth[i][j].Sub(d.inverse[i][j], d.off)
				}
				if g[i][j] = big.NewRat(r.Int64N(99)+1, 8); j < i {
					g[i][j] = g[j][i]
				}
				if d.inverse[i][j].CmpAbs(largest) > 0 {
					largest.Abs(d.inverse[i][j])
				}
			}
			for y := range d.scores[i] {
				d.scores[i][y].SetInt64((1 << scoreBits / int64(k)) - r.Int64N(1<<(3+n%28)))
			}
		}
		for _, row := range g {
			for _, x := range row {
				size.Add(size, x)
			}
		}
		unit := new(big.Rat).SetInt(new(big.Int).Lsh(one, 2*fixedBits-normBits))
		off := new(big.Int).Lsh(largest, 1)
		off.Add(off, d.off).Mul(off, d.off)
		slack := new(big.Rat).Mul(new(big.Rat).SetInt(off), size)
		slack.Quo(slack, unit)
		norms := d.norms(g, nil)
		for y, bound := range norms {
			// The answer's column of B⁻¹·c, and its product with itself by G.
			column, want := make([]*big.Int, k), new(big.Rat)
			for i := range k {
				column[i] = new(big.Int)
				for j := range k {
					column[i].Add(column[i], new(big.Int).Mul(truth[i][j], d.scores[j][y]))
				}
			}
			for i := range k {
				for j := range k {
					x := new(big.Rat).SetInt(new(big.Int).Mul(column[i], column[j]))
					want.Add(want, x.Mul(x, g[i][j]))
				}
			}
			want.Quo(want, unit).Quo(want, new(big.Rat).SetInt(new(big.Int).Lsh(one, 2*scoreBits)))
			over := new(big.Rat).Sub(new(big.Rat).SetInt(bound), want)
			if limit := new(big.Rat).Add(slack, slack); over.Sign() < 0 || over.Cmp(limit.Add(limit, big.NewRat(4, 1))) > 0 {
				t.Fatalf("%d categories: a norm of %s has the bound %v", k, want.FloatString(3), bound)
			}
			if over.Cmp(big.NewRat(1, 1)) < 0 {
				short++
			}
		}
	}
	if short == 0 {
		t.Error("a unit less would do everywhere")
	}
}

// TestInverse: no entry of the inverse is farther than is said from the one in rationals, which is next to it.
func TestInverse(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	for _, k := range []int{2, 3, 5} {
		for range 10 {
			s := random(t, r, k, k+2, 0.2+2*r.Float64(), Workload{Kind: Prefix})
			rows := s.Spec().Rows
			d := newDecoder(rows, nil)
			if d == nil {
				t.Fatal("no decoder")
			}
			if d.off.Sign() <= 0 || d.off.BitLen() > 40 {
				t.Errorf("%d categories: entries of 2^256 are off by up to %v", k, d.off)
			}
			// The distance of R from B⁻¹ is that of R·B·x from x, for x the columns of B⁻¹: unbiased finds B⁻¹·c.
			unit := make([][]float64, k)
			for i := range unit {
				unit[i] = make([]float64, k)
				unit[i][i] = 1
			}
			for i, row := range unbiased(rows, unit) {
				for y, want := range row {
					// |(R − B⁻¹)·c| is at most off times the sum of the scores, which is at most 2^32.
					sum := new(big.Int)
					for j := range k {
						sum.Add(sum, new(big.Int).Mul(d.inverse[i][j], d.scores[j][y]))
					}
					got := new(big.Rat).SetFrac(sum, new(big.Int).Lsh(one, fixedBits+scoreBits))
					got.Sub(got, want)
					if got.Abs(got).Cmp(new(big.Rat).SetFrac(d.off, new(big.Int).Lsh(one, fixedBits))) > 0 {
						t.Errorf("%d categories: column %d, answer %d: off by %s of 2^-256, want at most %v", k, i, y, got.Mul(got, new(big.Rat).SetInt(new(big.Int).Lsh(one, fixedBits))).FloatString(3), d.off)
					}
				}
			}
		}
	}
	const half = 1 << 63
	if d := newDecoder([][]uint64{{half, half, 0, 0}, {0, 0, half, half}}, nil); d == nil || d.off.Cmp(one) != 0 {
		t.Errorf("the decoder of laws without common answers is %+v, want the inverse off by at most one unit", d)
	}
	if d := newDecoder([][]uint64{{half, half}, {half, half}}, nil); d != nil {
		t.Errorf("equal laws have an inverse off by %v", d.off)
	}
}

// TestNoNearInverse: laws of which each is far enough from what those before are, but whose inverse is so large that
// elimination in 256 bits loses it, have no decoder. Their weights are 2^32 times scores C that sum to 2^32 over the categories
// too, so that B is C·Cᵀ; the third and later rows are about the first plus 2^28·(e_i − e_{i+1}), as a chain.
func TestNoNearInverse(t *testing.T) {
	const k, step = 6, 1 << 28
	r := rand.New(rand.NewPCG(25, 26))
	scores, rows := make([][]int64, k), make([][]uint64, k)
	for i := range scores {
		scores[i] = make([]int64, k)
	}
	first, last := scores[0], scores[k-1]
	rest := int64(1) << scoreBits
	for y := range k - 1 {
		first[y] = 1<<scoreBits/k + r.Int64N(1<<20)
		rest -= first[y]
	}
	first[k-1] = rest
	for i := 1; i < k-1; i++ {
		copy(scores[i], first)
		scores[i][i-1]++
		scores[i][i]--
		if i > 1 {
			scores[i][i-2] -= step
			scores[i][i-1] += step
		}
	}
	for y := range k {
		last[y] = 1 << scoreBits
		for i := range k - 1 {
			last[y] -= scores[i][y]
		}
	}
	b := matrix(k, k)
	for i, row := range scores {
		for y, c := range row {
			rows[i] = append(rows[i], uint64(c)<<scoreBits)
			for j := range k {
				b[i][j].Add(b[i][j], new(big.Int).Mul(big.NewInt(c), big.NewInt(scores[j][y])))
			}
		}
	}
	for i := range k {
		for j := range k {
			b[i][j].Lsh(b[i][j], fixedBits-2*scoreBits)
		}
	}
	if inverted(b) == nil {
		t.Fatal("the pivots are too small")
	}
	if d := newDecoder(rows, nil); d != nil {
		t.Errorf("an inverse whose entries are off by up to %v units of 2^-256 was taken", d.off)
	}
}

// TestWorkIsLimited: with too little work there is no proof, whichever part of it that ends, and with more there is.
func TestWorkIsLimited(t *testing.T) {
	s := example(t)
	proved, refused := 0, 0
	for work := int64(1); work < 1<<28; work += 1 + work/16 {
		v, err := proof.Verify(t.Context(), s.fresh(t), proof.Options{Work: work})
		if (v == nil) != (err != nil) || err == nil && v.Certificate().LowerBound.Cmp(s.Certify().LowerBound) != 0 {
			t.Fatalf("work %d: %v, %v", work, v, err)
		}
		if err != nil {
			refused++
		} else {
			proved++
		}
		if err != nil && proved > 0 {
			t.Errorf("work %d is not enough: %v", work, err)
		}
	}
	if proved < 10 || refused < 10 {
		t.Errorf("%d proved, %d refused", proved, refused)
	}
}

// fresh returns the strategy with nothing proved of it yet.
func (s *Strategy) fresh(tb testing.TB) *Strategy {
	tb.Helper()
	again, err := New(s.Spec())
	if err != nil {
		tb.Fatal(err)
	}
	return again
}
