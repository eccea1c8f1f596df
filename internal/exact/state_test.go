// SPDX-License-Identifier: Apache-2.0

package exact

import (
	"math/big"
	"math/rand/v2"
	"testing"
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

// TestState: what is printed is on its side of the number, at most one unit of the 15th
// digit away, and the number itself if it has no more digits.
func TestState(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		r := big.NewRat(1+random.Int64N(1<<60), 1+random.Int64N(1<<60))
		r.Mul(r, PowerOfTwo(random.IntN(400)-200))
		up, down := rational(t, StateUp(r)), rational(t, StateDown(r))
		if up.Cmp(r) < 0 || down.Cmp(r) > 0 {
			t.Fatalf("%s is printed as %s and %s", r.RatString(), StateUp(r), StateDown(r))
		}
		apart := new(big.Rat).Sub(up, down)
		if apart.Quo(apart, r).Cmp(big.NewRat(1, 1e14)) > 0 {
			t.Fatalf("%s is printed as %s and %s, too far apart", r.RatString(), StateUp(r), StateDown(r))
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
		if up, down := StateUp(rational(t, c.number)), StateDown(rational(t, c.number)); up != c.up || down != c.down {
			t.Errorf("%s is printed as %s and %s, want %s and %s", c.number, up, down, c.up, c.down)
		}
	}
}

// TestProbability: 2^(64+RatioBits) units are 1.
func TestProbability(t *testing.T) {
	units := new(big.Int).Lsh(big.NewInt(3), 62+RatioBits)
	if p := Probability(units); p.Cmp(big.NewRat(3, 4)) != 0 {
		t.Errorf("three quarters are %s", p)
	}
}
