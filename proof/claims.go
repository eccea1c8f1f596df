// Package proof is what tables, kernels and local have in common: numbers that are stated
// in a file and held against what exact arithmetic proves, and the parts of these
// files. Functions that make errors take the package these are to come from.
package proof

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// Sentinel errors, which packages tables, kernels and local export under the same names.
var (
	// ErrNotPrivate marks what does not keep its privacy promise.
	ErrNotPrivate = errors.New("not private as claimed")
	// ErrFalseClaim marks what states something else that does not hold.
	ErrFalseClaim = errors.New("false claim")
)

// MaxEpsilon bounds the epsilon of a promise; beyond it e^epsilon exceeds any use.
const MaxEpsilon = 100

// Epsilon adds an error for an epsilon beyond MaxEpsilon. That it is a number >= 0 is
// for dp.Privacy.Validate.
func Epsilon(epsilon float64, errs *check.List) {
	if epsilon > MaxEpsilon && epsilon <= math.MaxFloat64 {
		errs.Badf("epsilon", epsilon, "a number from 0 to %d", MaxEpsilon)
	}
}

// digits is the number of significant digits of a stated claim.
const digits = 15

// Up prints r >= 0 as upper bounds are stated: a plain decimal of at most 15
// significant digits that is not below it.
func Up(r *big.Rat) string { return exact.DecimalUp(r, digits) }

// Down is Up for lower bounds.
func Down(r *big.Rat) string { return exact.DecimalDown(r, digits) }

// Excess prints a-b > 0 to two digits.
func Excess(a, b *big.Rat) string {
	f, _ := new(big.Rat).Sub(a, b).Float64()
	return fmt.Sprintf("%.2g", f)
}

// Gap returns (loss-bound)/bound, and false when the bound is 0 and the loss is not.
func Gap(loss, bound *big.Rat) (gap float64, ok bool) {
	if bound.Sign() <= 0 {
		return 0, loss.Sign() == 0
	}
	r := new(big.Rat).Sub(loss, bound)
	gap, _ = r.Quo(r, bound).Float64()
	return gap, true
}

// Probability converts a sum of weights times 2^exact.RatioBits.
func Probability(units *big.Int) *big.Rat {
	return new(big.Rat).SetFrac(units, new(big.Int).Lsh(big.NewInt(1), 64+exact.RatioBits))
}

// Claim is one stated number, a plain decimal.
type Claim struct {
	Name string // in the object certificate of a file
	Text *string
	Up   bool // bounds from above
}

func (c Claim) field() string { return "certificate." + c.Name }

// Validate adds an error for every claim that is not a decimal.
func Validate(list []Claim, errs *check.List) {
	for _, c := range list {
		if r, err := exact.ParseDecimal(*c.Text); err != nil || r.Sign() < 0 || (*c.Text)[0] == '-' {
			errs.Bad(c.field(), fmt.Sprintf("%.50q", *c.Text), "a plain decimal number >= 0")
		}
	}
}

// Check holds the claims against what is proved, in the same order. The error is
// about the first that does not hold, and wraps ErrFalseClaim.
func Check(pkg string, list []Claim, proved ...*big.Rat) error {
	for i, c := range list {
		stated, err := exact.ParseDecimal(*c.Text)
		truth := proved[i]
		switch {
		case err != nil:
			return check.Errorf(pkg, dp.ErrInvalid, "%s = %q", c.field(), *c.Text)
		case c.Up && stated.Cmp(truth) < 0:
			return check.Errorf(pkg, ErrFalseClaim, "%s = %s is stated but %s is the truth (short by %s)", c.field(), *c.Text, Up(truth), Excess(truth, stated))
		case !c.Up && stated.Cmp(truth) > 0:
			return check.Errorf(pkg, ErrFalseClaim, "%s = %s is stated but only %s is proved (excess %s)", c.field(), *c.Text, Down(truth), Excess(stated, truth))
		}
	}
	return nil
}
