package cli

import (
	"math"
	"math/big"
	"testing"
)

// TestAddDown holds addDown against its definition: the difference fits, that of
// the next float64 does not.
func TestAddDown(t *testing.T) {
	fits := func(u, x, y float64) bool {
		d := new(big.Rat).SetFloat64(u)
		d.Sub(d, new(big.Rat).SetFloat64(x))
		return d.Cmp(new(big.Rat).SetFloat64(y)) <= 0
	}
	for _, c := range []struct{ x, y float64 }{
		{0.1, 1}, {0.7, 0.1}, {-0.1, 0.3}, {-1, 1}, {-1e-300, 1}, {1e16, 1}, {3, 1e-20}, {-100.3, 100}, {0, 5e-324}, {0.1, 100},
	} {
		u := addDown(c.x, c.y)
		if next := math.Nextafter(u, math.Inf(1)); !fits(u, c.x, c.y) || fits(next, c.x, c.y) {
			t.Errorf("addDown(%v, %v) = %v, not the largest", c.x, c.y, u)
		}
	}
	if u := addDown(0.1, 1); u >= 1.1 {
		t.Errorf("addDown(0.1, 1) = %v, want less than 1.1", u)
	}
}

func TestParseCell(t *testing.T) {
	for s, want := range map[string]float64{"0": 0, "-0.5": -0.5, "+1e3": 1000, ".5": 0.5, "1E-400": 0, "007": 7} {
		if got, err := parseCell(s); err != nil || got != want {
			t.Errorf("parseCell(%q) = %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", " ", "-", "1,5", "1 000", "inf", "NaN", "1e999", "0x10", "1_000", "--1", "1e", "é", "?"} {
		if got, err := parseCell(s); err == nil {
			t.Errorf("parseCell(%q) = %v, want an error", s, got)
		}
	}
}
