package proof

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
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

// TestSentinels: each error is found by its own sentinel and by no other.
func TestSentinels(t *testing.T) {
	all := []error{ErrFormat, ErrNotPrivate, ErrFalseClaim, ErrWork, dp.ErrInvalid}
	for i, kind := range all {
		err := fmt.Errorf("a.json: %w", check.Errorf("pkg", kind, "some text"))
		for j, other := range all {
			if got := errors.Is(err, other); got != (i == j) {
				t.Errorf("an error of kind %q is of kind %q: %v", kind, other, got)
			}
		}
		if got := check.Sentences(err); len(got) != 1 || got[0] != "a.json: some text" {
			t.Errorf("it reads %q, which prints its kind or its package", got)
		}
	}
}

// TestEpsilonRule: the largest epsilon passes, the next float64 does not, and what is no
// number is left to dp.Privacy.
func TestEpsilonRule(t *testing.T) {
	for _, c := range []struct {
		epsilon float64
		ok      bool
	}{{0, true}, {MaxEpsilon, true}, {MaxEpsilon * (1 + 0x1p-52), false}, {1e300, false}, {-1, true}} {
		errs := check.In("pkg")
		Epsilon(c.epsilon, errs)
		if errs.None() != c.ok {
			t.Errorf("epsilon = %v: %v, want none: %v", c.epsilon, errs.Err(), c.ok)
		}
	}
}

// TestRounding: what is printed is on its side of the number, at most one unit of the 15th
// digit away, and the number itself if it has no more digits.
func TestRounding(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		r := big.NewRat(1+random.Int64N(1<<60), 1+random.Int64N(1<<60))
		r.Mul(r, exact.PowerOfTwo(random.IntN(400)-200))
		up, down := rational(t, Up(r)), rational(t, Down(r))
		if up.Cmp(r) < 0 || down.Cmp(r) > 0 {
			t.Fatalf("%s is printed as %s and %s", r.RatString(), Up(r), Down(r))
		}
		apart := new(big.Rat).Sub(up, down)
		if apart.Quo(apart, r).Cmp(big.NewRat(1, 1e14)) > 0 {
			t.Fatalf("%s is printed as %s and %s, too far apart", r.RatString(), Up(r), Down(r))
		}
	}
	for _, c := range []struct{ number, up, down string }{
		{"0", "0", "0"},
		{"1/4", "0.25", "0.25"},
		{"123456789012345", "123456789012345", "123456789012345"},
		{"1234567890123451/10", "123456789012346", "123456789012345"},
		{"1/3", "0.333333333333334", "0.333333333333333"},
		{"2/3", "0.666666666666667", "0.666666666666666"},
		{"9999999999999999/10000000000000000", "1", "0.999999999999999"},
	} {
		if up, down := Up(rational(t, c.number)), Down(rational(t, c.number)); up != c.up || down != c.down {
			t.Errorf("%s is printed as %s and %s, want %s and %s", c.number, up, down, c.up, c.down)
		}
	}
}

func TestExcess(t *testing.T) {
	if got := Excess(rational(t, "1/3"), rational(t, "1/4")); got != "0.083" {
		t.Errorf("an excess of 1/12 is printed as %s", got)
	}
}

func TestGap(t *testing.T) {
	for _, c := range []struct {
		loss, bound string
		gap         float64
		ok          bool
	}{
		{"3/2", "1", 0.5, true},
		{"1", "1", 0, true},
		{"3/4", "1", -0.25, true}, // on a coarse grid
		{"0", "0", 0, true},
		{"1", "0", 0, false},
		{"1", "-1", 0, false},
	} {
		if gap, ok := Gap(rational(t, c.loss), rational(t, c.bound)); gap != c.gap || ok != c.ok {
			t.Errorf("the gap of %s above %s is %v, %v, want %v, %v", c.loss, c.bound, gap, ok, c.gap, c.ok)
		}
	}
}

// TestProbability: 2^(64+RatioBits) units are 1.
func TestProbability(t *testing.T) {
	units := new(big.Int).Lsh(big.NewInt(3), 62+exact.RatioBits)
	if p := Probability(units); p.Cmp(big.NewRat(3, 4)) != 0 {
		t.Errorf("three quarters are %s", p)
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
		if err := errs.Err(); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), "certificate.lower") || strings.Contains(err.Error(), "certificate.loss") {
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
	// The truth need not have 15 digits: what Up printed holds from above, Down's from below.
	for _, truth := range []string{"1/3", "2/3", "1/7", "1000000000000000001/3"} {
		r := rational(t, truth)
		up, down := Up(r), Down(r)
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
	if err := Check("pkg", &stated{"x", "0"}, new(big.Rat), new(big.Rat)); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("a claim that is no number: %v", err)
	}
}
