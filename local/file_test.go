// SPDX-License-Identifier: Apache-2.0

package local

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
)

// richRandomizer has something in every field that real values have.
func richRandomizer(tb testing.TB) *Randomizer {
	tb.Helper()
	s := twoAnswers()
	s.Delta, s.Objective = 0.001, Mean
	s.Values.Weight = []proof.Piece{{From: -1, Weight: 1}, {From: 0.25, Weight: 3}}
	s.Demands = Demands{Unbiased: true, Lower: -2, Upper: 2, Step: 0.5, Cap: 4.5}
	s.Dual = &Dual{
		Nodes: []float64{-1, 0, 1}, Totals: []float64{1, 1}, Means: []float64{0.25, -0.25}, Caps: []float64{0, 0.01},
		Answers: []float64{-1, 1}, Pairs: []dualPair{{Gain: 0, Lose: 1, First: 1, Multipliers: []float64{0.125}}},
	}
	return newRandomizer(tb, s)
}

func TestCodecRoundTrip(t *testing.T) {
	integers := Spec{
		Epsilon: 1.1, Values: Values{Kind: Integer, Upper: 1, Shares: []float64{1, 2}}, Objective: Mean, Loss: twoAnswers().Loss,
		Answers: []float64{0, 1}, Rows: [][]uint64{{3 * quarter, quarter}, {quarter, 3 * quarter}},
		Dual: &Dual{Nodes: []float64{0, 1}, Totals: []float64{0.125, 0.125}},
	}
	for _, r := range []*Randomizer{newRandomizer(t, twoAnswers()), newRandomizer(t, response(3, 1)), richRandomizer(t), newRandomizer(t, integers)} {
		text := encoded(t, r)
		back, err := Decode(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if again := encoded(t, back); again != text {
			t.Errorf("decoded and encoded:\n%s\nwant\n%s", again, text)
		}
		v, err := back.Verify()
		if err != nil {
			t.Fatal(err)
		}
		if v.Certificate().Claims() != r.Spec().Claims {
			t.Errorf("%+v, want %+v", v.Certificate().Claims(), r.Spec().Claims)
		}
		for head, want := range map[string]bool{text[:40]: true, `{"format":"noisewright-kernel","version":1,`: false, "[1]": false, "": false, text[:20]: false} {
			if form.Recognize([]byte(head)) != want {
				t.Errorf("%q is taken for a randomizer: %v, want %v", head, !want, want)
			}
		}
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "randomizer.json")
	r := richRandomizer(t)
	if _, err := proof.ReadFile(path, Decode); !errors.Is(err, fs.ErrNotExist) || strings.Count(err.Error(), path) != 1 {
		t.Errorf("no file: %v", err)
	}
	for range 2 { // the second time it is replaced
		if err := proof.WriteFile(path, r); err != nil {
			t.Fatal(err)
		}
	}
	back, err := proof.ReadFile(path, Decode)
	if err != nil {
		t.Fatal(err)
	}
	if encoded(t, back) != encoded(t, r) {
		t.Error("another randomizer came back")
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%d files, %v, want the randomizer alone", len(files), err)
	}
	if err := os.WriteFile(path, []byte(encoded(t, r)[:100]), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := proof.ReadFile(path, Decode); !errors.Is(err, proof.ErrFormat) || strings.Count(err.Error(), path) != 1 {
		t.Errorf("half a file: %v", err)
	}
}

// TestDecodeRefuses changes one thing in a good file at a time.
func TestDecodeRefuses(t *testing.T) {
	good := encoded(t, richRandomizer(t))
	labels := encoded(t, newRandomizer(t, response(3, 1)))
	replace := func(text, old, with string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("the file has no %q in %s", old, text)
		}
		return strings.Replace(text, old, with, 1)
	}
	for _, c := range []struct{ name, text, says string }{
		{"empty", "", "ends early"},
		{"cut short", good[:len(good)/2], "ends early"},
		{"a table", `{"format":"noisewright-table","version":1,`, "format"},
		{"trailing value", good + "{}", "after the randomizer"},
		{"unknown field", replace(good, `"version":1`, `"version":1,"extra":0`), "not a field"},
		{"future version", replace(good, `"version":1`, `"version":2`), "version"},
		{"unknown loss", replace(good, `"name":"l2"`, `"name":"l7"`), "l7"},
		{"a loss that is not convex", replace(good, `"name":"l2"`, `"name":"exceed:1"`), "convex"},
		{"unknown kind", replace(good, `"kind":"real"`, `"kind":"complex"`), "kind"},
		{"unknown objective", replace(good, `"objective":"mean"`, `"objective":"median"`), "objective"},
		{"cap of zero", replace(good, `"cap":4.5`, `"cap":0`), "demands.cap"},
		{"step below zero", replace(good, `"step":0.5`, `"step":-0.5`), "demands.step"},
		{"half a range", replace(good, `"range":[-2,2]`, `"range":[-2]`), "demands.range"},
		{"an answer outside", replace(good, `"range":[-2,2]`, `"range":[-2,1]`), "answers[1]"},
		{"an answer off the step", replace(good, `"step":0.5`, `"step":0.3`), "answers[1]"},
		{"nodes out of order", replace(good, `"nodes":[-1,1]`, `"nodes":[1,-1]`), "nodes[1]"},
		{"nodes not at the ends", replace(good, `"nodes":[-1,1]`, `"nodes":[-1,0]`), "nodes"},
		{"no nodes", replace(good, `"nodes":[-1,1],`, ``), "nodes"},
		{"weight as number", replace(good, `"rows":[["`, `"rows":[[5,"`), "rows[0][0]"},
		{"one weight more", replace(good, `"rows":[["`, `"rows":[["7","`), "rows[0]"},
		{"a piece before the range", replace(good, `"from":-1`, `"from":-2`), "weight[0].from"},
		{"too many totals", replace(good, `"totals":[1,1]`, `"totals":[1,1,1]`), "dual.totals"},
		{"a cap below 0", replace(good, `"caps":[0,`, `"caps":[-1,`), "dual.caps[0]"},
		{"a multiplier below 0", replace(good, `"multipliers":[0.125]`, `"multipliers":[-0.125]`), "multipliers"},
		{"a pair with itself", replace(good, `"gain":0,"lose":1`, `"gain":1,"lose":1`), "pairs[0]"},
		{"prices beyond the answers", replace(good, `"first":1`, `"first":2`), "first"},
		{"dual nodes inside", replace(good, `"nodes":[-1,0,1]`, `"nodes":[-1,0,0.5]`), "dual.nodes"},
		{"weights without worst", replace(good, `"totals":[1,1]`, `"weights":[1,1],"totals":[1,1]`), "dual.weights"},
		{"a label twice", replace(labels, `"labels":["a","b"`, `"labels":["a","a"`), "labels[1]"},
		{"a cost below 0", replace(labels, `"costs":[[0,1`, `"costs":[[0,-1`), "costs[0][1]"},
		{"a missing cost", replace(labels, `"costs":[[0,1,1]`, `"costs":[[0,1]`), "costs[0]"},
		{"a loss for labels", replace(labels, `"costs"`, `"loss":{"name":"l1"},"costs"`), "loss"},
		{"unbiased labels", replace(labels, `"unbiased":false`, `"unbiased":true`), "demands"},
	} {
		r, err := Decode(strings.NewReader(c.text))
		if r != nil || err == nil {
			t.Errorf("%s: accepted", c.name)
			continue
		}
		if !strings.Contains(err.Error(), c.says) || len(err.Error()) > 600 {
			t.Errorf("%s: error %q, want it short and to say %q", c.name, err, c.says)
		}
	}
}

// TestTampered changes every number of good files in several ways. What is accepted is
// true: it is private, unbiased if it says so and within its cap, its losses are not above
// and its bound is not above what the definitions give.
func TestTampered(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	number := regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?`)
	refused, accepted := 0, 0
	pure := twoAnswers()
	pure.Dual = &Dual{Nodes: []float64{-1, 0, 1}, Weights: []float64{1, 2, 1}, Totals: []float64{0, 0.5, 0}}
	for _, r := range []*Randomizer{newRandomizer(t, pure), richRandomizer(t)} {
		good := encoded(t, r)
		for _, at := range number.FindAllStringIndex(good, -1) {
			old := good[at[0]:at[1]]
			f, err := strconv.ParseFloat(old, 64)
			if err != nil {
				t.Fatal(err)
			}
			for _, with := range []string{
				strconv.FormatFloat(f*1.25, 'f', -1, 64), strconv.FormatFloat(f*0.75, 'f', -1, 64), strconv.FormatFloat(f+1, 'f', -1, 64),
				strconv.FormatFloat(-f, 'f', -1, 64), "0", "1e999", "",
			} {
				if with == old {
					continue
				}
				changed, err := Decode(strings.NewReader(good[:at[0]] + with + good[at[1]:]))
				if err == nil {
					_, err = changed.Verify()
				}
				if err != nil {
					refused++
					continue
				}
				accepted++
				checkTrue(t, &changed.spec, good[max(0, at[0]-30):at[0]]+"["+with+"]")
			}
		}
		for name, change := range map[string]func(c *Claims){
			"mean_loss":   func(c *Claims) { c.MeanLoss = "3.6" },
			"worst_loss":  func(c *Claims) { c.WorstLoss = "3.9999" },
			"lower_bound": func(c *Claims) { c.LowerBound = "3.5" },
		} {
			s := r.Spec()
			change(&s.Claims)
			if v, err := newRandomizer(t, s).Verify(); v != nil || !errors.Is(err, proof.ErrFalseClaim) || !strings.Contains(err.Error(), name) {
				t.Errorf("a better %s than proved: %v", name, err)
			}
		}
	}
	if refused < 300 || accepted < 20 {
		t.Errorf("%d refused and %d accepted: the test says little", refused, accepted)
	}
}

// checkTrue holds what a small randomizer says against the definitions.
func checkTrue(t *testing.T, s *Spec, name string) {
	t.Helper()
	_, high := oracleExp(s.Epsilon)
	for i := range s.Nodes {
		p, x := oracleLaw(s, exact.Rational(s.Nodes[i])), exact.Rational(s.Nodes[i])
		mean := exact.Rational(0)
		for j := range p {
			mean.Add(mean, exact.Rational(0).Mul(p[j], exact.Rational(s.Answers[j])))
		}
		if s.Demands.Unbiased && mean.Cmp(x) != 0 {
			t.Errorf("%s: the mean of the answers to %g is %g", name, s.Nodes[i], float(mean))
		}
		for k := range s.Nodes {
			if d := oracleDelta(p, oracleLaw(s, exact.Rational(s.Nodes[k])), high); i != k && d.Cmp(exact.Rational(s.Delta)) > 0 {
				t.Errorf("%s: delta is %g", name, float(d))
			}
		}
	}
	worst := 0.0
	for k := range 101 {
		x := s.Values.Lower + (s.Values.Upper-s.Values.Lower)*float64(k)/100
		worst = max(worst, float(oracleLoss(s, exact.Rational(min(x, s.Values.Upper)))))
	}
	stated := func(text string) float64 {
		r, err := exact.ParseDecimal(text)
		if err != nil {
			t.Fatal(err)
		}
		return float(r)
	}
	if c := s.Claims; stated(c.WorstLoss) < worst*(1-1e-12) || stated(c.MeanLoss) < float(oracleMean(s))*(1-1e-12) || s.Demands.Cap > 0 && s.Demands.Cap < worst*(1-1e-12) {
		t.Errorf("%s: %+v, want a worst loss of %g and a mean of %g", name, c, worst, float(oracleMean(s)))
	}
	if bound := stated(s.Claims.LowerBound); bound > max(0, oracleBound(s, 1./64))+1e-4 || math.IsNaN(bound) {
		t.Errorf("%s: lower bound %g, by the definitions %g", name, bound, oracleBound(s, 1./64))
	}
}

// FuzzDecode: whatever the bytes, Decode returns a randomizer that survives encoding and a
// check, or an error and nothing else.
func FuzzDecode(f *testing.F) {
	good := encoded(f, richRandomizer(f))
	f.Add([]byte(good))
	f.Add([]byte(encoded(f, newRandomizer(f, response(3, 1)))))
	f.Add([]byte(encoded(f, newRandomizer(f, twoAnswers()))))
	f.Add([]byte(strings.Replace(good, `"epsilon":1`, `"epsilon":1e-300`, 1)))
	f.Add([]byte(strings.Replace(good, `"kind":"real"`, `"kind":"integer"`, 1)))
	f.Add([]byte(`{"format":"noisewright-randomizer"`))
	f.Add([]byte(strings.Replace(good, `"version":`, `"optional":["x"],"x":[{}],"version":`, 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Decode(bytes.NewReader(data))
		if err != nil {
			if r != nil {
				t.Fatal("a randomizer beside an error")
			}
			return
		}
		v, err := proof.Verify(t.Context(), r, proof.Options{Work: 1 << 24})
		if (v == nil) != (err != nil) {
			t.Fatalf("verified: %v, %v", v, err)
		}
		if v != nil {
			c := v.Certificate()
			if c.LowerBound.Sign() < 0 || c.DeltaUpper.Sign() < 0 || c.WorstLoss.Cmp(c.MeanLoss) < 0 && float(c.WorstLoss) < float(c.MeanLoss)*(1-1e-9) {
				t.Fatal("a certificate that cannot be")
			}
		}
		once := encoded(t, r)
		again, err := Decode(strings.NewReader(once))
		if err != nil {
			t.Fatalf("does not read its own output: %v", err)
		}
		if encoded(t, again) != once {
			t.Fatal("encoding is not stable")
		}
	})
}
