// SPDX-License-Identifier: Apache-2.0

package portrait

import (
	"context"
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/tables"
)

// TestEveryKind draws the portraits of the files that the Python package is tested with: all
// kinds, true and false ones. Those of which a claim is false have none.
func TestEveryKind(t *testing.T) {
	files, err := filepath.Glob("../../../python/tests/data/files/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	kinds := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 200_000 {
			continue // some seconds each
		}
		proof, err := Verify(context.Background(), text)
		if err != nil {
			if proof != nil {
				t.Errorf("%s: a proof beside %v", file, err)
			}
			continue
		}
		p := New(proof)
		kinds[p.Kind]++
		if _, err := json.Marshal(p); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if p.Expected.Text == "" || p.Bound.Text == "" || p.Gap == "" || len(p.Facts) < 4 {
			t.Errorf("%s: %+v", file, p)
		}
		if p.Kind == "table" {
			checkDensity(t, file, p, proof.(*tables.Verified))
			continue
		}
		if none := []string{"plan", "ball", "plane"}; (p.Laws == nil) != slices.Contains(none, p.Kind) { // answers that are too many to list
			t.Errorf("%s: laws %v of a %s", file, p.Laws, p.Kind)
		}
		if p.Laws == nil {
			continue
		}
		for i, row := range p.Laws.Rows {
			sum := 0.0
			for _, m := range row {
				sum += m
			}
			if math.Abs(sum-1) > 1e-5 || len(row) != max(len(p.Laws.Answers), len(p.Laws.Labels)) {
				t.Errorf("%s: law %d has %d answers and the mass %v", file, i, len(row), sum)
			}
			if p.Worst != nil && p.Laws.Losses[i] > p.Worst.Value*(1+1e-9) {
				t.Errorf("%s: value %s costs %v, more than the largest, %v", file, p.Laws.Values[i], p.Laws.Losses[i], p.Worst.Value)
			}
		}
	}
	for _, kind := range []string{"table", "kernel", "additive", "local", "subset"} {
		if kinds[kind] == 0 {
			t.Errorf("no file of the kind %s is valid: %v", kind, kinds)
		}
	}
}

// checkDensity integrates a density, and holds intervals against the table.
func checkDensity(t *testing.T, file string, p *Portrait, v *tables.Verified) {
	t.Helper()
	d, sum := NewDensity(v.Mechanism()), p.Atom
	left, right := d.Reach(true)
	points := d.Steps(left, right)
	for i := 1; i < len(points); i++ {
		sum += points[i].Y * (points[i].X - points[i-1].X) / d.Unit
	}
	if v.Mechanism().Cells() < maxSteps && math.Abs(sum-1) > 1e-3 {
		t.Errorf("%s: the density has the mass %v", file, sum)
	}
	for _, i := range p.Intervals {
		lower, upper, err := v.Mechanism().Interval(0, i.Level)
		if err != nil || lower != i.Lower || upper != i.Upper {
			t.Errorf("%s: interval %+v, want %v to %v, %v", file, i, lower, upper, err)
		}
		ends := strings.Split(strings.ReplaceAll(i.Text, "−", "-"), " to ")
		a, _ := strconv.ParseFloat(ends[0], 64)
		b, _ := strconv.ParseFloat(ends[1], 64)
		reach, _ := strconv.ParseFloat(i.Reach, 64)
		if a > lower || b < upper || reach < max(-lower, upper) {
			t.Errorf("%s: %s and %s are shown of %v to %v", file, i.Text, i.Reach, lower, upper)
		}
	}
}

// TestCategories draws the portrait of answers to categories.
func TestCategories(t *testing.T) {
	v, err := local.RandomizedResponse([]string{"red", "green", "blue"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	p := New(v)
	if p.Laws.Values[1] != "green" || p.Laws.Labels[2] != "blue" || len(p.Laws.Rows) != 3 || p.Loss != "costs" {
		t.Errorf("%+v", p)
	}
	if e := math.E; math.Abs(p.Laws.Rows[0][0]-e/(e+2)) > 1e-6 || math.Abs(p.Laws.Losses[0]-2/(e+2)) > 1e-6 {
		t.Errorf("red is answered by red with probability %v, at the loss %v, want %v and %v", p.Laws.Rows[0][0], p.Laws.Losses[0], e/(e+2), 2/(e+2))
	}
}

// TestBoundsStayTrue rounds numbers of all sizes: what is shown of a bound from above is not
// below it, and of one from below not above, and neither is far from it.
func TestBoundsStayTrue(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		x := math.Exp(300 * (random.Float64() - 0.5))
		r := new(big.Rat).SetFloat64(x)
		for sign, b := range map[int]Bound{+1: up(r), -1: down(r)} {
			shown, err := exact.ParseDecimal(b.Text)
			if err != nil { // it has an exponent
				var ok bool
				if shown, ok = new(big.Rat).SetString(b.Text); !ok {
					t.Fatalf("%q of %v: %v", b.Text, x, err)
				}
			}
			if sign*shown.Cmp(r) < 0 || sign*new(big.Rat).SetFloat64(b.Value).Cmp(r) < 0 {
				t.Fatalf("%v is shown as %s and drawn at %v, direction %d", x, b.Text, b.Value, sign)
			}
			if f, _ := shown.Float64(); math.Abs(f/x-1) > 1e-6 {
				t.Fatalf("%v is shown as %s", x, b.Text)
			}
		}
	}
	for _, x := range []float64{0, 0.2, 1e-6, 0.3, 1.2e-5, 1.0 / 3, 123456.7, 0.1 + 0.2} {
		up, _ := strconv.ParseFloat(FloatUp(x).Text, 64)
		down, _ := strconv.ParseFloat(FloatDown(x).Text, 64)
		if up < x || down > x {
			t.Errorf("%v is shown as %s and %s", x, FloatUp(x).Text, FloatDown(x).Text)
		}
	}
	if got := FloatUp(0.2).Text + " " + FloatDown(1.2e-5).Text; got != "0.2 1.2e-05" {
		t.Errorf("0.2 and 1.2e-5 are shown as %s", got)
	}
	if FloatUp(math.Inf(1)) != nil || FloatDown(math.NaN()) != nil || FloatUp(-1) != nil {
		t.Error("a bound that is no number is shown")
	}
}

func TestVerifyRefuses(t *testing.T) {
	for _, text := range []string{"", "{}", "hello", `{"format":"noisewright-table"}`} {
		if proof, err := Verify(context.Background(), []byte(text)); err == nil || proof != nil {
			t.Errorf("%q: %v, %v", text, proof, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	text, err := os.ReadFile("../../../docs/example-table.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(context.Background(), text); err != nil {
		t.Errorf("the example of the docs: %v", err)
	}
	forged := strings.Replace(string(text), `"epsilon":`, `"epsilon":0.00`, 1)
	if proof, err := Verify(ctx, []byte(forged)); err == nil || proof != nil {
		t.Errorf("forged: %v, %v", proof, err)
	}
}
