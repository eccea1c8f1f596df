// SPDX-License-Identifier: Apache-2.0

package formfile

import (
	"fmt"

	"github.com/noisewright/noisewright/internal/check"
)

// Limits of a dual.
const (
	MaxExponent    = 2000    // in absolute value
	MaxMultipliers = 1 << 21 // all together
	// maxPrice bounds the sum of the largest multipliers, so that sums stay within an int64.
	maxPrice = 1 << 61
)

// Dual holds a dual to its rules, one after the other, and keeps the first that is broken.
type Dual struct {
	pkg   string
	count int   // of multipliers
	price int64 // the sum of the largest multipliers
	err   error
}

// InDual returns the rules of a dual of the package, none of them broken yet.
func InDual(pkg string) *Dual { return &Dual{pkg: pkg} }

// Err is about the first rule that is broken, nil if none is, and wraps ErrInvalid.
func (d *Dual) Err() error { return d.err }

// Want says that a field has a value that breaks a rule, to format, unless the rule holds or
// one before it is broken. It reports whether none is broken.
func (d *Dual) Want(holds bool, field string, value any, rule string, args ...any) bool {
	if !holds && d.err == nil {
		d.err = check.Errorf(d.pkg, check.ErrInvalid, "dual.%s = %v, want %s", field, value, fmt.Sprintf(rule, args...))
	}
	return d.err == nil
}

// Exponent wants one of moderate size.
func (d *Dual) Exponent(e int) bool {
	return d.Want(-MaxExponent <= e && e <= MaxExponent, "exponent", e, "an integer from %d to %d", -MaxExponent, MaxExponent)
}

// Count wants not too many multipliers, with so many more.
func (d *Dual) Count(more int) bool {
	d.count += more
	return d.Want(d.count <= MaxMultipliers, "multipliers", "too many", "at most %d in all", MaxMultipliers)
}

// Prices wants multipliers of one price, that is the largest, and of all prices a sum that
// fits; each is what has a price.
func (d *Dual) Prices(each string, multipliers ...int64) bool {
	for _, y := range multipliers {
		if y < 0 {
			return d.Want(false, "multipliers", y, "non-negative numbers")
		}
	}
	return d.Want(d.spend(Largest(multipliers)), "multipliers", "too large", "the largest of each %s to sum to at most 2^61", each)
}

// Caps wants no or as many multipliers of an instance cap as there are cells.
func (d *Dual) Caps(caps []int64, cells int) bool {
	return d.Want(len(caps) == 0 || len(caps) == cells, "caps", fmt.Sprintf("%d multipliers", len(caps)), "none or %d, one per cell", cells)
}

// CapPrices wants multipliers of a cap that fit beside all prices.
func (d *Dual) CapPrices(all string, caps []int64) bool {
	for _, y := range caps {
		if !d.Want(y >= 0 && d.spend(y), "caps", y, "non-negative numbers, with the prices of all %s at most 2^61", all) {
			return false
		}
	}
	return d.err == nil
}

// spend reports whether the prices fit, with one more.
func (d *Dual) spend(price int64) bool {
	if price > maxPrice-d.price {
		return false
	}
	d.price += price
	return true
}

// Pair is what a pair of multipliers is for, as errors name it.
type Pair struct {
	Noun       string
	Gain, Lose int
}

// String implements fmt.Stringer.
func (p Pair) String() string { return fmt.Sprintf("%s %d and %d", p.Noun, p.Gain, p.Lose) }

// Largest returns the largest multiplier, 0 if there are none: the price of them all.
func Largest(multipliers []int64) int64 {
	var top int64
	for _, y := range multipliers {
		top = max(top, y)
	}
	return top
}
