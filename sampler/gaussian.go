// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/noisewright/noisewright/internal/check"
)

// Gaussian draws normal noise, rounded to the nearest integer, a number of steps. It is not
// safe for concurrent use. It must not be copied.
//
// Guarantee (docs/proofs/spherical.md): if the words of the generator are independent and uniform,
// so are draws, and each has exactly the law of deviation·N rounded, N a standard normal variable.
// So an integer plus a draw is a function of the integer plus deviation·N, and as private as that.
//
// How long a draw takes depends on what is drawn.
type Gaussian struct {
	_        noCopy
	mantissa uint64 // deviation = mantissa·2^-shift
	shift    uint
	reader   wordReader
	words    wordSource // the reader, but for DrawGaussian
	normal   deviate    // scratch
}

// wordFunc is a function as a wordSource.
type wordFunc func() (uint64, error)

func (f wordFunc) word() (uint64, error) { return f() }

// DrawGaussian is a draw of a [Gaussian] of so many steps from words that are given, for forms that draw
// by themselves (proof.Drawer). The error wraps dp.ErrInvalid for a deviation out of range, ErrOverflow
// for a draw of more than 2^52 in magnitude, or is that of a word.
func DrawGaussian(deviation float64, word func() (uint64, error)) (int64, error) {
	bad := check.In("sampler")
	Options{}.checkNormal("deviation", deviation, "normal noise", bad)
	if err := bad.Err(); err != nil {
		return 0, err
	}
	var n [1]int64
	g := newGaussian(deviation, nil)
	g.words = wordFunc(word)
	err := g.Fill(n[:])
	return n[0], err
}

// NewGaussian returns a Gaussian of a standard deviation in steps, from 2^-40 to 2^40.
// Options.Entropy is as for New.
//
// The error wraps dp.ErrInvalid if a parameter is out of range, or for Options.ConstantTime, which
// is not to be had here; and ErrEntropy if the generator cannot be seeded.
func NewGaussian(deviation float64, o Options) (*Gaussian, error) {
	bad := check.In("sampler")
	o.checkNormal("deviation", deviation, "normal noise", bad)
	if err := bad.Err(); err != nil {
		return nil, err
	}
	g, err := o.generator()
	if err != nil {
		return nil, err
	}
	return newGaussian(deviation, g), nil
}

func newGaussian(deviation float64, gen generator) *Gaussian {
	mantissa, exponent := math.Frexp(deviation) // deviation = mantissa·2^exponent, in [1/2, 1)
	g := &Gaussian{
		mantissa: uint64(math.Ldexp(mantissa, 53)),
		shift:    uint(53 - exponent),
		reader:   wordReader{gen: gen, pos: blockBytes},
	}
	g.words = &g.reader
	return g
}

// Fill sets dst to draws, in steps: at most 2^52 in magnitude. A draw takes some 0.5 µs.
//
// The error wraps ErrEntropy if there is no randomness, and ErrOverflow if the noise is
// larger than that. dst is then zero.
func (g *Gaussian) Fill(dst []int64) error {
	n := normal{words: g.words}
	defer func() { // of the last draw
		clear(g.normal.fraction[:cap(g.normal.fraction)])
		g.normal.whole = 0
	}()
	for i := range dst {
		err := n.draw(&g.normal)
		if err == nil {
			dst[i], err = g.rounded()
		}
		if err != nil {
			clear(dst)
			return err
		}
	}
	return nil
}

// rounded rounds the deviate drawn, with a sign. Two words decide nearly always.
func (g *Gaussian) rounded() (int64, error) {
	sign, err := g.words.word()
	if err != nil {
		return 0, err
	}
	w, err := g.normal.fraction.digit(0, g.words)
	if err != nil {
		return 0, err
	}
	n, ok := g.quickly(w)
	for places := 1; !ok; places++ {
		var x fixedPoint
		if err := x.set(&g.normal, places, g.words); err != nil {
			return 0, err
		}
		m := new(big.Int).SetUint64(g.mantissa)
		if n, ok, err = x.round(m, m, uint(64*places)+g.shift); err != nil {
			return 0, err
		}
	}
	if sign>>63 == 1 {
		n = -n
	}
	return n, nil
}

// quickly rounds deviation·(whole + w/2^64), unless it cannot tell from the first digit w
// how deviation·(whole + (w+1)/2^64) is rounded. With m the mantissa these are m·(whole·2^64 +
// w) and m more, in units of 2^-(64+shift).
func (g *Gaussian) quickly(w uint64) (n int64, ok bool) {
	if g.shift < 1 || g.shift > 62 || g.normal.whole >= 1<<8 {
		return 0, false
	}
	high, low := bits.Mul64(g.mantissa, w)
	high += g.mantissa * g.normal.whole // below 2^61 + 2^53
	carry := uint64(0)
	if _, carry = bits.Add64(low, g.mantissa, 0); carry > 0 && (high+1)&(1<<(g.shift-1)-1) == 0 {
		return 0, false // the upper end is in the next interval that is rounded alike
	}
	n = int64((high + 1<<(g.shift-1)) >> g.shift)
	return n, n < maxNoise
}
