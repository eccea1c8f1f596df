// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
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

// TestClampSteps holds the ends of a clamp, in steps, against the printed results.
func TestClampSteps(t *testing.T) {
	value := func(p *printer, n int64) *big.Rat {
		v, ok := new(big.Rat).SetString(string(p.append(nil, n)))
		if !ok {
			t.Fatalf("printed %s", p.append(nil, n))
		}
		return v
	}
	for _, c := range []struct {
		query        dp.Query
		step         float64
		lower, upper string
	}{
		{dp.LatticeQuery, 0.1, "0.3", "0.7"},
		{dp.LatticeQuery, 0.1, "-0.75", "-0.05"},
		{dp.LatticeQuery, 2.5, "-1e9", "3"},
		{dp.IntegerQuery, 1, "-2.5", "1e15"},
		{dp.RealQuery, 0x1p-20, "-0.1", "0.1"},
		{dp.RealQuery, 0x1p-20, "0", "100"},
	} {
		p := printerOf(c.query, c.step)
		r, err := readClamp(map[string]string{"clamp": c.lower + "," + c.upper})
		if err != nil {
			t.Fatal(err)
		}
		lowest, highest, err := r.steps(p)
		if err != nil {
			t.Fatal(err)
		}
		a, _ := new(big.Rat).SetString(c.lower)
		b, _ := new(big.Rat).SetString(c.upper)
		if value(p, lowest).Cmp(a) < 0 || value(p, lowest-1).Cmp(a) >= 0 || value(p, highest).Cmp(b) > 0 || value(p, highest+1).Cmp(b) <= 0 {
			t.Errorf("step %v: clamp %s,%s is %d to %d steps", c.step, c.lower, c.upper, lowest, highest)
		}
	}
	p := printerOf(dp.IntegerQuery, 1)
	if _, _, err := (interval{0.2, 0.8}).steps(p); err == nil {
		t.Error("a clamp without an integer is taken")
	}
	if lowest, highest, err := (interval{math.Inf(-1), 1e300}).steps(p); err != nil || lowest != math.MinInt64 || highest != 1<<62 {
		t.Errorf("steps %d to %d, %v", lowest, highest, err)
	}
}

func TestReadColumn(t *testing.T) {
	all := map[string]string{"table": "t.json", "lower": "0", "upper": "1"}
	for _, c := range []struct {
		text string
		want columnOptions
		err  string
	}{
		{"x", columnOptions{name: "x", table: "t.json", clip: &interval{0, 1}}, ""},
		{"a, b", columnOptions{name: "a, b", table: "t.json", clip: &interval{0, 1}}, ""},
		{"a,b,table=x,y.json,upper=5", columnOptions{name: "a,b", table: "x,y.json", clip: &interval{0, 5}, own: true}, ""},
		{"x,clamp=0,inf,lower=-1", columnOptions{name: "x", table: "t.json", clip: &interval{-1, 1}, clamp: &interval{0, math.Inf(1)}, own: true}, ""},
		{"x,lower=2", columnOptions{}, "lower = 2 and upper = 1, want lower below upper"},
		{"x,clamp=1", columnOptions{}, "clamp = 1, want A,B"},
		{"x,clamp=1,1", columnOptions{}, "want A,B"},
		{"x,clamp=nan,1", columnOptions{}, "want A,B"},
		{",lower=0", columnOptions{}, "want a name from the header before its settings"},
		{"x,table=", columnOptions{}, "TABLE is missing"},
	} {
		got, err := (&privatizeOptions{}).readColumn(c.text, all)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: error %v, want %q", c.text, err, c.err)
			}
			continue
		}
		got.people = nil // those of all columns
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %+v, %v, want %+v", c.text, got, err, c.want)
		}
	}
}
