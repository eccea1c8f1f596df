// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// TestInWords holds the probability of a right guess, (e^ε + δ)/(1 + e^ε), against an exact one: what
// is printed is above it by at most a hundredth of a percent, and by at most half of what is left to
// 100. It is never 100 %.
func TestInWords(t *testing.T) {
	printed := regexp.MustCompile(`^asked for a secret, who could only toss a coin before is right with a probability of at most ([0-9.]+) % after$`)
	for _, delta := range []float64{0, 1e-9, 1e-3, 0.1, 0.9, 1 - 0x1p-50} {
		for epsilon := 0.0; epsilon < 60; epsilon += 0.125 {
			text := InWords(epsilon, delta, "for a secret")
			m := printed.FindStringSubmatch(text)
			// 1 − right, with 1 − δ exact, and e^ε by a series in rationals.
			wrong := new(big.Rat).SetFloat64(1 - delta)
			wrong.Quo(wrong, new(big.Rat).Add(big.NewRat(1, 1), exponential(epsilon)))
			if m == nil {
				if most := big.NewRat(1001, 1e18); text != "asked for a secret, who could only toss a coin before may be certain after" || wrong.Cmp(most) > 0 {
					t.Errorf("epsilon %g, delta %g: %s, but wrong with a probability of %s", epsilon, delta, text, wrong.FloatString(20))
				}
				continue
			}
			percent, ok := new(big.Rat).SetString(m[1])
			if !ok || percent.Cmp(big.NewRat(100, 1)) >= 0 {
				t.Fatalf("epsilon %g, delta %g: %s", epsilon, delta, text)
			}
			said := percent.Sub(big.NewRat(1, 1), percent.Quo(percent, big.NewRat(100, 1)))
			tight := new(big.Rat).Add(said, said) // 1e-n is said of less than 2e-n
			if least := new(big.Rat).Add(said, big.NewRat(1, 1e4)); least.Cmp(tight) < 0 {
				tight = least
			}
			tight.Mul(tight, big.NewRat(1_000_001, 1_000_000))
			if said.Cmp(wrong) > 0 || wrong.Cmp(tight) > 0 {
				t.Errorf("epsilon %g, delta %g: %s, but wrong with a probability of %s", epsilon, delta, text, wrong.FloatString(20))
			}
		}
	}
	if text := InWords(15, 0, "for a secret"); !strings.Contains(text, "at most 99.99997 % after") {
		t.Error(text)
	}
	for _, epsilon := range []float64{1000, math.MaxFloat64} {
		if text := InWords(epsilon, 0, "for a secret"); !strings.HasSuffix(text, "may be certain after") {
			t.Errorf("epsilon %g: %s", epsilon, text)
		}
	}
}

// exponential is e^x for x of at least 0 to a relative 1e-30.
func exponential(x float64) *big.Rat {
	f := new(big.Float).SetPrec(200).SetFloat64(x / 64)
	sum, term := new(big.Float).SetPrec(200).SetInt64(1), new(big.Float).SetPrec(200).SetInt64(1)
	for n := range int64(60) {
		term.Mul(term, f)
		term.Quo(term, new(big.Float).SetInt64(n+1))
		sum.Add(sum, term)
	}
	for range 6 {
		sum.Mul(sum, sum)
	}
	r, _ := sum.Rat(nil)
	return r
}

// TestCaution: which promises of a design are warned of.
func TestCaution(t *testing.T) {
	for _, c := range []struct {
		p    dp.Privacy
		want string // of each line
	}{
		{dp.Privacy{Epsilon: 10, Delta: math.Nextafter(1e-3, 0)}, ""},
		{dp.Privacy{Epsilon: math.NaN(), Delta: math.NaN()}, ""}, // reported
		{dp.Privacy{Epsilon: 1, Delta: 1e-3}, "warning: delta = 0.001 is large: with this probability nothing is promised"},
		{dp.Privacy{Epsilon: 10.5}, "warning: epsilon = 10.5 promises little: asked which of two secrets somebody has"},
	} {
		var out bytes.Buffer
		(&Common{Streams: &Streams{Err: &out}}).WarnWeak(c.p.Epsilon, c.p.Delta, 0)
		if text := out.String(); !strings.HasPrefix(text, c.want) || strings.Count(text, "\n") != strings.Count(c.want+":", "warning: ") {
			t.Errorf("%s: %q, want %q", fmt.Sprint(c.p), text, c.want)
		}
	}
}
