package proof

import (
	"fmt"
	"math"
	"math/big"
	"reflect"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
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

// claim is one stated number, a plain decimal: a field of a struct of strings, with the name
// that its tag json says, and a bound in the direction that its tag bound says.
type claim struct {
	name  string // in the object certificate of a file
	text  *string
	upper bool
}

func (c claim) field() string { return "certificate." + c.name }

// list returns the claims of a struct, in the order of its fields.
func list[S any](claims *S) []claim {
	v := reflect.ValueOf(claims).Elem()
	out := make([]claim, v.NumField())
	for i := range out {
		tag := v.Type().Field(i).Tag
		direction := tag.Get("bound")
		if direction != "upper" && direction != "lower" {
			panic("proof: the claim " + v.Type().Field(i).Name + " has not the tag bound, upper or lower")
		}
		out[i] = claim{tag.Get("json"), v.Field(i).Addr().Interface().(*string), direction == "upper"}
	}
	return out
}

// State returns the strongest claims that bounds support, one for each field of the struct,
// as plain decimals of 15 significant digits rounded so that they are true.
func State[S any](proved ...*big.Rat) (claims S) {
	for i, c := range list(&claims) {
		if *c.text = Down(proved[i]); c.upper {
			*c.text = Up(proved[i])
		}
	}
	return claims
}

// Validate adds an error for every claim that is not a decimal.
func Validate[S any](claims *S, errs *check.List) {
	for _, c := range list(claims) {
		if r, err := exact.ParseDecimal(*c.text); err != nil || r.Sign() < 0 || (*c.text)[0] == '-' {
			errs.Bad(c.field(), fmt.Sprintf("%.50q", *c.text), "a plain decimal number >= 0")
		}
	}
}

// Check holds the claims against what is proved, in the same order. The error is
// about the first that does not hold, and wraps ErrFalseClaim.
func Check[S any](pkg string, claims *S, proved ...*big.Rat) error {
	for i, c := range list(claims) {
		stated, err := exact.ParseDecimal(*c.text)
		truth := proved[i]
		switch {
		case err != nil:
			return check.Errorf(pkg, dp.ErrInvalid, "%s = %q", c.field(), *c.text)
		case c.upper && stated.Cmp(truth) < 0:
			return check.Errorf(pkg, ErrFalseClaim, "%s = %s is stated but %s is the truth (short by %s)", c.field(), *c.text, Up(truth), Excess(truth, stated))
		case !c.upper && stated.Cmp(truth) > 0:
			return check.Errorf(pkg, ErrFalseClaim, "%s = %s is stated but only %s is proved (excess %s)", c.field(), *c.text, Down(truth), Excess(stated, truth))
		}
	}
	return nil
}
