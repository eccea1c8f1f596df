// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"encoding/binary"
	"io"
	"math/big"
	"math/bits"

	"github.com/noisewright/noisewright/internal/check"
)

const wordBytes = 8

// words are uniform 64-bit words from a reader. After an error all words are 0, and
// nothing that was drawn may be used.
type words struct {
	r    io.Reader
	err  error
	used int
	buf  [512 * wordBytes]byte
}

func newWords(r io.Reader) *words {
	w := &words{r: r}
	w.used = len(w.buf)
	return w
}

func (w *words) next() uint64 {
	if w.used == len(w.buf) {
		if w.err == nil {
			_, w.err = io.ReadFull(w.r, w.buf[:])
		}
		if w.err != nil {
			clear(w.buf[:])
			return 0
		}
		w.used = 0
	}
	word := binary.LittleEndian.Uint64(w.buf[w.used:])
	w.used += wordBytes
	return word
}

// close erases the words and returns the error of the reader.
func (w *words) close() error {
	clear(w.buf[:])
	if w.err != nil {
		return check.Errorf("selection", nil, "entropy reader: %w: %w", check.ErrEntropy, w.err)
	}
	return nil
}

// below returns a uniform integer from 0 to n-1, n > 0, by multiplication with
// rejection (Lemire 2019). A word is rejected with a probability below n/2^64.
func (w *words) below(n uint64) uint64 {
	hi, lo := bits.Mul64(w.next(), n)
	if lo < n {
		for reject := -n % n; lo < reject && w.err == nil; {
			hi, lo = bits.Mul64(w.next(), n)
		}
	}
	return hi
}

// The Bernoulli draws compare a uniform number on [0, 1), 64 binary places at a
// time, with the expansion of the probability. The first places that differ decide;
// they are the same with a probability of 2^-64.

// ratio is true with probability num/den < 1.
func (w *words) ratio(num, den *big.Int) bool {
	digit, rest := new(big.Int), new(big.Int).Set(num)
	for w.err == nil {
		digit.QuoRem(rest.Lsh(rest, 64), den, rest)
		if u, d := w.next(), digit.Uint64(); u != d {
			return u < d
		}
	}
	return false
}

// oneIn is true with probability 1/k, k > 1.
func (w *words) oneIn(k uint64) bool {
	for rest := uint64(1); w.err == nil; {
		var d uint64
		d, rest = bits.Div64(rest, 0, k)
		if u := w.next(); u != d {
			return u < d
		}
	}
	return false
}

// expMinusOne is true with probability e^-1: expFraction with 1 for the fraction.
func (w *words) expMinusOne() bool {
	k := uint64(2)
	for w.oneIn(k) {
		k++
	}
	return k%2 == 1
}

// expFraction is true with probability e^-(num/den), num < den (Canonne et al. 2020, algorithm 1).
func (w *words) expFraction(num, den *big.Int) bool {
	k := int64(1)
	for d := new(big.Int).Set(den); w.ratio(num, d); d.Add(d, den) {
		k++
	}
	return k%2 == 1
}
