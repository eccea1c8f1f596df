// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/noisewright/noisewright/internal/check"
)

func TestReadPWL(t *testing.T) {
	for text, want := range map[string]string{
		"knot,slope\n-inf,-2\n0,1\n":                            "pwl:-inf,-2;0,1",
		"knot,slope\r\n-inf,-2\r\n0,1":                          "pwl:-inf,-2;0,1",
		"knot,slope,jump\n-inf,-2,0\n-1,-0.5,0\n0,1,0\n5,3,2\n": "pwl:-inf,-2;-1,-0.5;0,1;5,3,2",
	} {
		l, err := ReadPWL(strings.NewReader(text))
		if err != nil || l.Name() != want {
			t.Errorf("ReadPWL(%q) = %v, %v; want %s", text, l, err, want)
		}
	}
	long := "knot,slope\n-inf,-1\n" + strings.Repeat("1,1\n", maxKnots)
	for text, want := range map[string]string{
		"":                                          "number of segments = 0",
		"slope,knot\n":                              `line 1: header = "slope,knot"`,
		"knot,slope\n":                              "number of segments = 0",
		"knot,slope\n-inf,-2\n\n0,1\n":              "line 3: values",
		"knot,slope\n-inf,-2\n0,1,0\n":              "line 3: values",
		"knot,slope,jump\n-inf,-2,0\n0,1\n":         "line 3: values",
		"knot,slope\n-inf,-2\n0, 1\n":               `line 3: slope = " 1"`,
		"knot,slope\n-inf,-2\n\"0\",1\n":            "line 3: knot",
		"knot,slope,jump\n-inf,-2,0\n0,1,nan":       "line 3: jump",
		"knot,slope\n-inf,2\n0,1\n":                 "first slope = 2",
		"knot,slope\n-inf,-2\n0,1\n-1,1\n":          "knot = -1",
		"knot,slope\n-inf,-2\n0,1e70\n":             "line 3: slope = 1e70",
		long:                                        "line 10002: number of segments = 10001",
		"knot,slope\n" + strings.Repeat("1", 1<<17): "reading a pwl loss",
	} {
		l, err := ReadPWL(strings.NewReader(text))
		if l != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadPWL(%q) = %v, %v; want an error with %q", abbreviated(text), l, err, want)
		}
	}
	if _, err := ReadPWL(iotest.ErrReader(errors.New("disk on fire"))); err == nil || errors.Is(err, check.ErrInvalid) {
		t.Errorf("ReadPWL of a failing reader: %v, want its error", err)
	}
}

// TestPWLLarge: the largest loss there may be survives its name, and its methods
// stay fast enough to be called for every cell.
func TestPWLLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	segments := []segment{{Knot: math.Inf(-1), Slope: -5000}}
	for i := range maxKnots - 1 {
		segments = append(segments, segment{Knot: float64(i-5000) / 16, Slope: float64(i) - 5000 + 0.5})
	}
	l := must2(newPWL(segments))
	if back := must2(Parse(l.Name())); back.Name() != l.Name() {
		t.Error("the name of a large pwl loss does not survive")
	}
	if !Of(l).Unimodal() || l.Symmetric() {
		t.Error("a convex loss with its minimum at 0 is not unimodal, or is symmetric")
	}
	sum, err := Sum(Term{l, 1}, Term{l, 2})
	if sum != nil || !errors.Is(err, check.ErrInvalid) {
		t.Errorf("a sum of more than %d knots: %v, want an error", maxKnots, err)
	}
}

// FuzzReadPWL: what is read is what its name says, and can be written and read
// again.
func FuzzReadPWL(f *testing.F) {
	f.Add([]byte("knot,slope\n-inf,-2\n0,1\n"))
	f.Add([]byte("knot,slope,jump\n-inf,-2,0\n-1,-0.5,0\n0,1,0\n5,3,2\n"))
	f.Add([]byte("knot,slope\r\n-inf,-1e-60\n-1e60,0\n1e60,1e60\n"))
	f.Add([]byte("knot,slope\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := ReadPWL(bytes.NewReader(text))
		if err != nil {
			if l != nil {
				t.Fatalf("ReadPWL(%q) = %v, %v", text, l, err)
			}
			return
		}
		back, err := Parse(l.Name())
		if err != nil || back.Name() != l.Name() {
			t.Fatalf("ReadPWL(%q) is %q, which is read as %v, %v", text, l.Name(), back, err)
		}
		table := "knot,slope,jump\n"
		for _, s := range strings.Split(strings.TrimPrefix(l.Name(), "pwl:"), ";") {
			if strings.Count(s, ",") == 1 {
				s += ",0"
			}
			table += fmt.Sprintln(s)
		}
		if again, err := ReadPWL(strings.NewReader(table)); err != nil || again.Name() != l.Name() {
			t.Fatalf("%q written as CSV is read as %v, %v", l.Name(), again, err)
		}
	})
}
