// SPDX-License-Identifier: Apache-2.0

package formfile

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// ErrFalseClaim is proof.ErrFalseClaim.
var ErrFalseClaim = errors.New("false claim")

// Excess prints a-b > 0 to two digits.
func Excess(a, b *big.Rat) string {
	f, _ := new(big.Rat).Sub(a, b).Float64()
	return fmt.Sprintf("%.2g", f)
}

// Claims are what noise states of itself, plain decimals rounded so that they stay true: the lower bound down, the
// others up. Losses are in the units of the loss (squared for l2).
type Claims struct {
	Delta        string `json:"delta" bound:"upper"`
	ExpectedLoss string `json:"expected_loss" bound:"upper"`
	LowerBound   string `json:"lower_bound" bound:"lower"`
}

// InputClaims are what a mechanism states of itself whose loss depends on its input, as Claims are.
type InputClaims struct {
	Delta        string `json:"delta" bound:"upper"`
	ExpectedLoss string `json:"expected_loss" bound:"upper"` // averaged over the inputs
	MaxLoss      string `json:"max_loss" bound:"upper"`      // the largest expected loss of an input
	LowerBound   string `json:"lower_bound" bound:"lower"`
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
			panic("formfile: the claim " + v.Type().Field(i).Name + " has not the tag bound, upper or lower")
		}
		out[i] = claim{tag.Get("json"), v.Field(i).Addr().Interface().(*string), direction == "upper"}
	}
	return out
}

// State returns the strongest claims that bounds support, one for each field of the struct,
// as plain decimals of 15 significant digits rounded so that they are true.
func State[S any](proved ...*big.Rat) (claims S) {
	for i, c := range list(&claims) {
		if *c.text = exact.StateDown(proved[i]); c.upper {
			*c.text = exact.StateUp(proved[i])
		}
	}
	return claims
}

// Validate adds an error for every claim that is not a decimal. If there are none at all, New
// of the form fills them in.
func Validate[S comparable](claims *S, errs *check.List) {
	var none S
	if *claims == none {
		return
	}
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
			return check.Errorf(pkg, check.ErrInvalid, "%s = %q", c.field(), *c.text)
		case c.upper && stated.Cmp(truth) < 0:
			return check.Errorf(pkg, ErrFalseClaim, "%s = %s is stated but %s is the truth (short by %s)", c.field(), *c.text, exact.StateUp(truth), Excess(truth, stated))
		case !c.upper && stated.Cmp(truth) > 0:
			return check.Errorf(pkg, ErrFalseClaim, "%s = %s is stated but only %s is proved (excess %s)", c.field(), *c.text, exact.StateDown(truth), Excess(stated, truth))
		}
	}
	return nil
}
