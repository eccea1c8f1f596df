// SPDX-License-Identifier: Apache-2.0

package sampler

import "math/bits"

// wordSource is where lazily drawn numbers take their words from.
type wordSource interface{ word() (uint64, error) }

// uniform has the first digits, in base 2^64, of a number that is uniform on [0, 1). Those that no
// comparison has asked for are not drawn yet: they are independent of all that was decided so far.
type uniform []uint64

// digit returns the i-th digit, 0, 1, …, drawing what is missing up to it.
func (d *uniform) digit(i int, words wordSource) (uint64, error) {
	for len(*d) <= i {
		w, err := words.word()
		if err != nil {
			return 0, err
		}
		*d = append(*d, w)
	}
	return (*d)[i], nil
}

// less decides whether x < y, drawing digits until they differ.
func (d *uniform) less(other *uniform, words wordSource) (bool, error) {
	for i := 0; ; i++ {
		a, err := d.digit(i, words)
		if err != nil {
			return false, err
		}
		b, err := other.digit(i, words)
		if err != nil {
			return false, err
		}
		if a != b {
			return a < b, nil
		}
	}
}

// deviate is the magnitude of a standard normal deviate, whole + fraction, drawn as far as needed.
type deviate struct {
	whole    uint64
	fraction uniform
}

// normal draws normal deviates exactly, by comparisons of uniform numbers alone: no
// logarithm, no rounding. The buffers are scratch.
//
// Source: Karney (2016), Algorithm N, after von Neumann (1951); see docs/proofs/spherical.md.
type normal struct {
	words   wordSource
	buffers [3]uniform
}

// draw makes v a new deviate: an integer k with probability proportional to exp(-k/2), kept with
// probability exp(-k(k-1)/2), and a uniform fraction x, kept with probability exp(-x(2k+x)/2).
func (g *normal) draw(v *deviate) error {
	for {
		v.whole, v.fraction = 0, v.fraction[:0]
		more, err := g.half()
		for ; more && err == nil; more, err = g.half() {
			v.whole++
		}
		keep := true
		for i := uint64(0); keep && err == nil && i < v.whole*(v.whole-1); i++ {
			keep, err = g.half()
		}
		for i := uint64(0); keep && err == nil && i <= v.whole; i++ {
			keep, err = g.part(v)
		}
		if keep || err != nil {
			return err
		}
	}
}

// half is true with probability exp(-1/2): a run 1/2 > u₁ > u₂ > … of uniform numbers has n terms
// or more with probability (1/2)ⁿ/n!, and so an even number of them with probability Σ(-1/2)ⁿ/n!.
func (g *normal) half() (bool, error) {
	first := &g.buffers[0]
	*first = (*first)[:0]
	w, err := first.digit(0, g.words)
	if err != nil || w >= 1<<63 {
		return true, err
	}
	even, err := g.descend(first, nil)
	return !even, err
}

// part is true with probability exp(-x(2k+x)/(2k+2)), k + x = v: in the run x > u₁ > u₂
// > … every term needs an event of probability (2k+x)/(2k+2) beside.
func (g *normal) part(v *deviate) (bool, error) { return g.descend(&v.fraction, v) }

// descend reports whether a run of uniform numbers below first, each below the one before,
// has an even number of terms. With v it ends at a term without the event of part, too.
func (g *normal) descend(first *uniform, v *deviate) (even bool, err error) {
	last := first
	for even = true; ; even = !even {
		next := &g.buffers[0]
		if next == last {
			next = &g.buffers[1]
		}
		*next = (*next)[:0]
		smaller, err := next.less(last, g.words)
		if err != nil || !smaller {
			return even, err
		}
		if v != nil {
			if happens, err := g.event(v); err != nil || !happens {
				return even, err
			}
		}
		last = next
	}
}

// event is true with probability (2k+x)/(2k+2), k + x = v: of 2k+2 equal chances 2k are
// true, one is with probability x, and one is not.
func (g *normal) event(v *deviate) (bool, error) {
	n := 2*v.whole + 2
	for {
		w, err := g.words.word()
		if err != nil {
			return false, err
		}
		// Of all words the same number yields each chance (Lemire 2019); see law.position.
		chance, low := bits.Mul64(w, n)
		switch {
		case low < -n%n:
			continue
		case chance < n-2:
			return true, nil
		case chance == n-1:
			return false, nil
		}
		u := &g.buffers[2]
		*u = (*u)[:0]
		return u.less(&v.fraction, g.words)
	}
}
