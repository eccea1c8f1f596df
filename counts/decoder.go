// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"math/big"

	"github.com/noisewright/noisewright/proof"
)

const (
	scoreBits = 32  // of the scores of answers
	fixedBits = 256 // of the inverse
	normBits  = 128 // of the squared norms of estimates
)

// decoder is the unbiased estimate of a strategy. Of the answer y with the weights M_y to the
// categories, which sum to P_y, the scores are c_iy = ⌊2^32·M_iy/P_y⌋; with B = Σ_y c_y·M_yᵀ/2^96 the
// answer counts W·B⁻¹·c_y/2^32 for the queries. That has the right mean, whatever the scores are.
type decoder struct {
	scores  [][]*big.Int // of each category and answer
	inverse [][]*big.Int // about 2^256·B⁻¹
	off     *big.Int     // every entry of it is off by at most so much
}

// newDecoder returns nil if B is singular, or nearly so; that is decided by integers alone.
func newDecoder(rows [][]uint64, m *proof.Meter) *decoder {
	k, answers := len(rows), len(rows[0])
	if !m.Spend(int64(k) * int64(k) * int64(answers+3*k) * 25) {
		return nil
	}
	d := &decoder{scores: matrix(k, answers)}
	weights := matrix(k, answers)
	sum := new(big.Int)
	for y := range answers {
		sum.SetInt64(0)
		for i := range k {
			sum.Add(sum, weights[i][y].SetUint64(rows[i][y]))
		}
		for i := range k {
			d.scores[i][y].Lsh(weights[i][y], scoreBits).Div(d.scores[i][y], sum)
		}
	}
	// B, and its inverse by elimination, in units of 2^-256 and rounded down.
	b, term := matrix(k, k), new(big.Int)
	for i := range k {
		for j := range k {
			for y, c := range d.scores[i] {
				b[i][j].Add(b[i][j], term.Mul(c, weights[j][y]))
			}
			b[i][j].Lsh(b[i][j], fixedBits-64-scoreBits)
		}
	}
	if d.inverse = inverted(b); d.inverse == nil {
		return nil
	}
	// F = 1 − R·B; B⁻¹ − R = F·(1 − F)⁻¹·R, so no entry is larger than |F|·|R|/(1 − |F|), with the
	// largest sum of a row of F, and entry of R.
	residual, largest := new(big.Int), new(big.Int)
	for i := range k {
		row := new(big.Int)
		for j := range k {
			entry := new(big.Int)
			for l := range k {
				entry.Add(entry, term.Mul(d.inverse[i][l], b[l][j]))
			}
			if i == j {
				entry.Sub(entry, term.Lsh(one, 2*fixedBits))
			}
			row.Add(row, entry.Abs(entry))
			if d.inverse[i][j].CmpAbs(largest) > 0 {
				largest.Abs(d.inverse[i][j])
			}
		}
		if row.Cmp(residual) > 0 {
			residual = row
		}
	}
	if residual.BitLen() > 2*fixedBits-64 { // |F| < 2^-64, and 1/(1 − |F|) < 2
		return nil
	}
	d.off = residual.Mul(residual, largest)
	d.off.Rsh(d.off, 2*fixedBits-1).Add(d.off, one)
	return d
}

var one = big.NewInt(1)

func matrix(rows, columns int) [][]*big.Int {
	m := make([][]*big.Int, rows)
	for i := range m {
		cells := make([]big.Int, columns)
		m[i] = make([]*big.Int, columns)
		for j := range m[i] {
			m[i][j] = &cells[j]
		}
	}
	return m
}

// inverted returns about the inverse of a matrix, both in units of 2^-256; nil if a pivot is below 2^-100.
func inverted(b [][]*big.Int) [][]*big.Int {
	k := len(b)
	a := matrix(k, 2*k)
	for i := range k {
		for j := range k {
			a[i][j].Set(b[i][j])
		}
		a[i][k+i].Lsh(one, fixedBits)
	}
	term := new(big.Int)
	for i := range k {
		pivot := new(big.Int).Set(a[i][i])
		if pivot.Sign() <= 0 || pivot.BitLen() <= fixedBits-100 {
			return nil
		}
		for _, x := range a[i] {
			x.Div(x.Lsh(x, fixedBits), pivot)
		}
		for j := range k {
			if j == i {
				continue
			}
			factor := new(big.Int).Set(a[j][i])
			for l, x := range a[j] {
				x.Sub(x, term.Rsh(term.Mul(factor, a[i][l]), fixedBits))
			}
		}
	}
	for i := range k {
		a[i] = a[i][k:]
	}
	return a
}

// norms returns bounds from above on the squared norm of what each answer counts for the queries, in units of
// 2^-128: c_yᵀ·H·c_y with H = B⁻ᵀ·G·B⁻¹, for the products G of the columns of W.
func (d *decoder) norms(g [][]*big.Rat, m *proof.Meter) []*big.Int {
	k, answers := len(g), len(d.scores[0])
	if !m.Spend(int64(k) * int64(k) * int64(answers+4*k) * 25) {
		return nil
	}
	// G in units of 2^-bits.
	bits := 0
	for _, row := range g {
		for _, x := range row {
			bits = max(bits, x.Denom().BitLen()-1)
		}
	}
	whole, size := matrix(k, k), new(big.Int) // size: the sum of all |G|
	for i, row := range g {
		for j, x := range row {
			whole[i][j].Lsh(x.Num(), uint(bits-x.Denom().BitLen()+1))
			size.Add(size, new(big.Int).Abs(whole[i][j]))
		}
	}
	product, h, term := matrix(k, k), matrix(k, k), new(big.Int)
	largest := new(big.Int)
	for i := range k {
		for j := range k {
			for l := range k {
				product[i][j].Add(product[i][j], term.Mul(whole[i][l], d.inverse[l][j]))
			}
			if d.inverse[i][j].CmpAbs(largest) > 0 {
				largest.Abs(d.inverse[i][j])
			}
		}
	}
	for i := range k {
		for j := range k {
			for l := range k {
				h[i][j].Add(h[i][j], term.Mul(d.inverse[l][i], product[l][j]))
			}
			h[i][j].Rsh(h[i][j], uint(2*fixedBits+bits-normBits))
		}
	}
	// Entries of H are off by at most size·(2·|R| + off)·off, and what was rounded down; the scores of an
	// answer are at least 0 with a sum of at most 2^32.
	slack := new(big.Int).Lsh(largest, 1)
	slack.Add(slack, d.off).Mul(slack, d.off).Mul(slack, size)
	slack.Rsh(slack, uint(2*fixedBits+bits-normBits)).Add(slack, big.NewInt(2))
	norms := make([]*big.Int, answers)
	inner := new(big.Int)
	for y := range norms {
		sum := new(big.Int)
		for i := range k {
			inner.SetInt64(0)
			for j := range k {
				inner.Add(inner, term.Mul(h[i][j], d.scores[j][y]))
			}
			sum.Add(sum, term.Mul(inner, d.scores[i][y]))
		}
		sum.Rsh(sum, 2*scoreBits).Add(sum, one)
		norms[y] = sum.Add(sum, slack)
	}
	return norms
}
