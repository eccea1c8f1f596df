// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/proof"
)

func TestFloatsAreDirected(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		r := big.NewRat(rng.Int64N(1<<uint(1+rng.IntN(62)))+1, rng.Int64N(1<<uint(1+rng.IntN(62)))+1)
		scale := new(big.Rat).SetFloat64(math.Ldexp(1, rng.IntN(160)-80))
		r.Mul(r, scale)
		lo, hi := FloatDown(r), FloatUp(r)
		if new(big.Rat).SetFloat64(*lo).Cmp(r) > 0 || new(big.Rat).SetFloat64(*hi).Cmp(r) < 0 || *hi > math.Nextafter(*lo, math.Inf(1)) {
			t.Fatalf("%s lies not between %v and %v", r.FloatString(40), *lo, *hi)
		}
	}
}

func TestPercent(t *testing.T) {
	for ratio, want := range map[float64]string{
		0.4471: "44.7 %", 0.00089: "0.0890 %", 0.0123: "1.23 %", 2.62: "262.0 %", 1e-6: "1.0e-04 %",
		math.Inf(1): "unknown", 0: "0.0e+00 %", 1e9: "1e+11 %",
	} {
		if got := Percent(ratio); got != want {
			t.Errorf("percent(%g) = %q, want %q", ratio, got, want)
		}
	}
}

// TestSentences turns library errors into lines for a reader.
func TestSentences(t *testing.T) {
	inner := check.Errorf("tables", proof.ErrNotPrivate, "delta = 1 is promised")
	err := errors.Join(
		fmt.Errorf("t.json: %w", check.Errorf("sampler", nil, "table refused: %w", inner)),
		check.Field("lp", "gap", 3, "a number from 1e-06 to 1"),
	)
	want := []string{"t.json: table refused: delta = 1 is promised", "gap = 3, want a number from 1e-06 to 1"}
	if got := check.Sentences(err); !slices.Equal(got, want) {
		t.Errorf("sentences = %q, want %q", got, want)
	}
}

// TestObject: names with values, structs, objects and what is not there make one object.
func TestObject(t *testing.T) {
	type part struct {
		B int    `json:"b"`
		C string `json:"c,omitempty"`
	}
	var out strings.Builder
	o := Object{"a", 1, part{B: 2}, nil, If(false, "d", 3), If(true, "e", []Object{{"f", "<"}}), (*part)(nil), Object{}, "g", (*float64)(nil)}
	if err := EncodeJSON(&out, o); err != nil || out.String() != `{"schema":3,"a":1,"b":2,"e":[{"f":"<"}],"g":null}`+"\n" {
		t.Errorf("%s, %v", out.String(), err)
	}
}

func TestRowsThatAreLeftOut(t *testing.T) {
	var out strings.Builder
	WriteRows(&out, []Row{{"a", "1"}, When(false, "much longer", "2"), {}, {"", "3"}, When(true, "bc", "4")})
	if want := "a   1\n    3\nbc  4\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
