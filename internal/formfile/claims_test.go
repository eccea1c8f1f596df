// SPDX-License-Identifier: Apache-2.0

package formfile

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// rational parses a fraction or a decimal.
func rational(t *testing.T, text string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("no number: %q", text)
	}
	return r
}

func TestExcess(t *testing.T) {
	if got := Excess(rational(t, "1/3"), rational(t, "1/4")); got != "0.083" {
		t.Errorf("an excess of 1/12 is printed as %s", got)
	}
}

// stated are two claims, in the order of their fields.
type stated struct {
	Loss  string `json:"loss" bound:"upper"`
	Bound string `json:"lower" bound:"lower"`
}

// TestValidate: a claim is a plain decimal at least 0, and each that is none is named.
func TestValidate(t *testing.T) {
	for _, good := range []string{"0", "1", "0.25", "123.456", "1e-5"} {
		errs := check.In("pkg")
		Validate(&stated{good, "1"}, errs)
		if _, err := exact.ParseDecimal(good); errs.None() != (err == nil) {
			t.Errorf("%q: %v", good, errs.Err())
		}
	}
	for _, bad := range []string{"", "-1", "-0", "x", "0x1p3", "NaN", "Inf", "1/3", " 1", strings.Repeat("9", 1<<12)} {
		errs := check.In("pkg")
		Validate(&stated{"1", bad}, errs)
		if err := errs.Err(); !errors.Is(err, check.ErrInvalid) || !strings.Contains(err.Error(), "certificate.lower") || strings.Contains(err.Error(), "certificate.loss") {
			t.Errorf("%.20q: %v, want it to be named", bad, err)
		} else if len(err.Error()) > 200 {
			t.Errorf("%d characters of error", len(err.Error()))
		}
	}
}

// TestState: what is stated of bounds holds, each in the direction of its tag.
func TestState(t *testing.T) {
	third := big.NewRat(1, 3)
	c := State[stated](third, third)
	if want := (stated{"0.333333333333334", "0.333333333333333"}); c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
	if err := Check("pkg", &c, third, third); err != nil {
		t.Error(err)
	}
}

// TestUntaggedClaim: a claim without a direction is a mistake in a form, found at once.
func TestUntaggedClaim(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a claim without a direction is taken")
		}
	}()
	State[struct {
		Loss string `json:"loss"`
	}](new(big.Rat))
}

// TestCheck: a claim from above holds at the truth and one unit of its last digit above it,
// and not one below; a claim from below the other way around. The first false one is named.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		stated string
		up     bool
		ok     bool
	}{
		{"0.123456789012345", true, true},
		{"0.123456789012346", true, true},
		{"0.123456789012344", true, false},
		{"0.123456789012345", false, true},
		{"0.123456789012344", false, true},
		{"0.123456789012346", false, false},
	} {
		truth := rational(t, "0.123456789012345")
		claims, field := stated{c.stated, "0"}, "loss"
		proved := []*big.Rat{truth, truth}
		if !c.up {
			claims, field = stated{"1", c.stated}, "lower"
			proved[0] = big.NewRat(1, 1)
		}
		err := Check("pkg", &claims, proved...)
		if (err == nil) != c.ok {
			t.Errorf("%s stated, from above %v: %v, want it to hold: %v", c.stated, c.up, err, c.ok)
		}
		if err != nil && (!errors.Is(err, ErrFalseClaim) || !strings.HasPrefix(err.Error(), "pkg: certificate."+field+" = "+c.stated)) {
			t.Errorf("%v, want a false claim that is named", err)
		}
	}
	// The truth need not have 15 digits: what StateUp printed holds from above, StateDown's from below.
	for _, truth := range []string{"1/3", "2/3", "1/7", "1000000000000000001/3"} {
		r := rational(t, truth)
		up, down := exact.StateUp(r), exact.StateDown(r)
		if err := Check("pkg", &stated{up, down}, r, r); err != nil {
			t.Errorf("%s: %v", truth, err)
		}
		if err := Check("pkg", &stated{down, down}, r, r); !errors.Is(err, ErrFalseClaim) {
			t.Errorf("%s, rounded down and stated from above: %v", truth, err)
		}
		if err := Check("pkg", &stated{up, up}, r, r); !errors.Is(err, ErrFalseClaim) {
			t.Errorf("%s, rounded up and stated from below: %v", truth, err)
		}
	}
	if err := Check("pkg", &stated{"x", "0"}, new(big.Rat), new(big.Rat)); !errors.Is(err, check.ErrInvalid) {
		t.Errorf("a claim that is no number: %v", err)
	}
}
