// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"errors"
	"math"
	"math/big"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// lossNames are names of losses as they are printed, at least one per kind.
var lossNames = []string{
	"l1", "l2", "lp:1", "lp:2", "lp:3", "lp:1.5", "lp:64", "pinball:0.9", "pinball:0.25", "pinball:1e-60", "asymmetric:1,2",
	"asymmetric:0.5,1e-9", "huber:2", "deadzone:0.75", "exceed:3", "exceed:1e22",
	"pwl:-inf,-1;0,1", "pwl:-inf,-2;-1,-0.5;0,1;5,3,2", "pwl:-inf,-1e-7;2,-1,-0.5;3,0,0.25;4,2",
	"l1:0.7", "l2:3", "lp:1.5:2", "pinball:0.9:1000", "asymmetric:1,2:0.1", "huber:2:7", "exceed:3:0.3", "pwl:-inf,-1;0,1:4",
	"l1:0.7 + exceed:3:0.3", "l1 + l1", "l1 + lp:1.5:0.1 + huber:1 + lp:3", "lp:2.5 + lp:1.5", "pinball:0.9 + deadzone:5:2",
}

func TestParseLoss(t *testing.T) {
	kinds := names()
	if !slices.IsSorted(kinds) || len(kinds) != len(Kinds()) {
		t.Errorf("names() = %v, want the kinds of Kinds, sorted", kinds)
	}
	for _, name := range lossNames {
		l, err := Parse(name)
		if err != nil || l.Name() != name {
			t.Errorf("Parse(%q) = %v, %v", name, l, err)
			continue
		}
		kind, _, _ := strings.Cut(name, ":")
		kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == kind })
	}
	if len(kinds) > 0 {
		t.Errorf("kinds %v are not tested", kinds)
	}
	// Other spellings of the same.
	for name, want := range map[string]string{
		"huber:2.50": "huber:2.5", "huber:1e+3": "", "huber:1E3": "huber:1000", "exceed:1e22": "exceed:1e22", "l1:1": "l1",
		"lp:1.5:1": "lp:1.5", "pwl:-inf,-1;-0,1,0": "pwl:-inf,-1;0,1", "l1:1 + l2:1.0": "l1 + l2",
		"huber:0.1000000000000000055511151231257827": "huber:0.1",
	} {
		switch l, err := Parse(name); {
		case want == "" && err == nil:
			t.Errorf("Parse(%q) = %s, want an error", name, l.Name())
		case want != "" && (err != nil || l.Name() != want):
			t.Errorf("Parse(%q) = %v, %v; want %s", name, l, err, want)
		}
	}
	l, err := Parse("l1:0.7 + exceed:3:0.3 + l2")
	if err != nil || l.Name() != "l1:0.7 + exceed:3:0.3 + l2" {
		t.Errorf("Parse: %v, %v", l, err)
	}
}

// TestParseLossRefuses: one sentence that names the field, the value and the rule.
func TestParseLossRefuses(t *testing.T) {
	for name, want := range map[string][]string{
		"":                                 {`loss = ""`, "one of asymmetric, deadzone"},
		"l3":                               {`loss = "l3"`, "l1, l2, lp"},
		"L1":                               {`loss = "L1"`},
		" l1":                              {`loss = " l1"`},
		"l1:":                              {`loss = "l1:"`, "l1:W"},
		"l1:0":                             {"l1: weight = 0", "1e-60"},
		"l1:-1":                            {"l1: weight = -1"},
		"l1:nan":                           {`l1: weight = "nan"`, "decimal number"},
		"l1:1e61":                          {"l1: weight = 1e61"},
		"l1:1:1":                           {"want l1"},
		"lp":                               {"want lp:P"},
		"lp:0.5":                           {"lp: P = 0.5", "1 to 64"},
		"lp:65":                            {"lp: P = 65"},
		"lp:inf":                           {`lp: P = "inf"`},
		"lp:0x2":                           {`lp: P = "0x2"`},
		"lp:1_5":                           {`lp: P = "1_5"`},
		"pinball:0":                        {"pinball: TAU = 0", "0 < TAU < 1"},
		"pinball:1":                        {"pinball: TAU = 1"},
		"pinball:-0.5":                     {"pinball: TAU = -0.5"},
		"asymmetric":                       {"want asymmetric:LEFT,RIGHT"},
		"asymmetric:1":                     {"want asymmetric:LEFT,RIGHT"},
		"asymmetric:1,0":                   {"asymmetric: RIGHT = 0"},
		"asymmetric:-1,1":                  {"asymmetric: LEFT = -1"},
		"asymmetric:1,1,1":                 {"want asymmetric:LEFT,RIGHT"},
		"huber:0":                          {"huber: T = 0"},
		"huber:1e-400":                     {`huber: T = "1e-400"`},
		"huber:1e999":                      {`huber: T = "1e999"`},
		"deadzone:-1":                      {"deadzone: T = -1"},
		"exceed:1e-61":                     {"exceed: T = 1e-61"},
		"exceed:+1":                        {`exceed: T = "+1"`},
		"pwl:":                             {"pwl: segment 1"},
		"pwl:-inf,-1":                      {"number of segments = 1"},
		"pwl:0,-1;1,1":                     {"first segment = 0,-1", "-inf"},
		"pwl:-inf,1;0,1":                   {"first slope = 1", "escapes"},
		"pwl:-inf,0;0,1":                   {"first slope = 0"},
		"pwl:-inf,-1;0,0":                  {"last slope = 0", "escapes"},
		"pwl:-inf,-1;1,1;1,2":              {"segment 3: knot = 1", "ascending"},
		"pwl:-inf,-1;-inf,1":               {"segment 2: knot = -Inf"},
		"pwl:-inf,-1;0,1,2,3":              {"segment 2", "knot,slope,jump"},
		"pwl:-inf,-1;0,x":                  {`segment 2: slope = "x"`},
		"pwl:-inf,-1,1;0,1":                {"first segment", "no jump"},
		"l1 + ":                            {`loss = ""`},
		"l1 +l2":                           {"l1 +l2"},
		"l1:0 + huber:0":                   {"l1: weight = 0", "huber: T = 0"},
		"l1" + strings.Repeat(" + l1", 32): {"33 terms", "at most 32"},
	} {
		l, err := Parse(name)
		if l != nil || !errors.Is(err, check.ErrInvalid) {
			t.Errorf("Parse(%q) = %v, %v; want an error", name, l, err)
			continue
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("Parse(%q): %q, want it to say %q", name, err, part)
			}
		}
	}
}

// TestNew: parameters as numbers make the loss that their names do.
func TestNew(t *testing.T) {
	for want, l := range map[string]Loss{
		"l1": must2(New("l1")), "pinball:0.9": must2(New("pinball", 0.9)), "asymmetric:1,2": must2(New("asymmetric", 1, 2)), "exceed:1e22": must2(New("exceed", 1e22)),
	} {
		if parsed := must2(Parse(want)); l.Name() != want || l.At(-3) != parsed.At(-3) || l.At(1e30) != parsed.At(1e30) {
			t.Errorf("New: %s, want %s", l.Name(), want)
		}
	}
	for i, make := range []func() (Loss, error){
		func() (Loss, error) { return New("l3") },
		func() (Loss, error) { return New("l1", 1) },
		func() (Loss, error) { return New("huber") },
		func() (Loss, error) { return New("huber", -1) },
		func() (Loss, error) { return New("huber", math.NaN()) },
		func() (Loss, error) { return New("lp", 65) },
		func() (Loss, error) { return New("pinball", 1) },
		func() (Loss, error) { return New("pwl", 1) },
	} {
		if l, err := make(); l != nil || !errors.Is(err, check.ErrInvalid) {
			t.Errorf("%d: %v, %v; want an error", i, l, err)
		}
	}
}

func TestSumRefuses(t *testing.T) {
	weighted := must2(Parse("l1:2"))
	for name, terms := range map[string][]Term{
		"no terms":        nil,
		"no loss":         {{Weight: 1}},
		"no weight":       {{Loss: L1}},
		"NaN":             {{L1, math.NaN()}},
		"weight twice":    {{weighted, 2}},
		"weight of a sum": {{must2(Parse("l1 + l2")), 2}},
		"negative":        {{L1, 1}, {L2, -1}},
	} {
		if l, err := Sum(terms...); l != nil || !errors.Is(err, check.ErrInvalid) {
			t.Errorf("%s: Sum = %v, %v; want an error", name, l, err)
		}
	}
	if l, err := Sum(Term{weighted, 1}, Term{L2, 0.5}); err != nil || l.Name() != "l1:2 + l2:0.5" {
		t.Errorf("Sum = %v, %v; want l1:2 + l2:0.5", l, err)
	}
}

// TestSumAddsUp: every method of a sum is the sum of its terms', exactly where
// they are exact, tighter where it may be. The bounds of sums with lp follow.
func TestSumAddsUp(t *testing.T) {
	for _, name := range lossNames {
		l := must2(Parse(name))
		var terms []Loss
		for _, part := range strings.Split(name, termSeparator) {
			terms = append(terms, must2(Parse(part)))
		}
		sum := func(f func(Loss) *big.Rat) *big.Rat {
			s := new(big.Rat)
			for _, term := range terms {
				s.Add(s, f(term))
			}
			return s
		}
		same := func(what string, f func(Loss) *big.Rat) {
			t.Helper()
			if got, want := f(l), sum(f); got.Cmp(want) != 0 {
				t.Errorf("%s: %s is %s, the sum of its terms %s", name, what, got.FloatString(12), want.FloatString(12))
			}
		}
		for _, step := range testSteps {
			for _, j := range []int64{-40, -3, -1, 1, 2, 17} {
				x, y := multipleOf(j, step), multipleOf(3-2*j, step)
				same("AtDown", func(l Loss) *big.Rat { return l.AtDown(x) })
				same("GridMeanUp", func(l Loss) *big.Rat { return l.GridMeanUp(j, 7, step) })
				same("RampMeanUp", func(l Loss) *big.Rat { return l.RampMeanUp(x, y) })
				node := func(l Loss) *big.Rat { return l.LowerNode(j, step) }
				if got, want := node(l), sum(node); got.Cmp(want) < 0 {
					t.Errorf("%s: node %d is %s, below the sum of its terms %s", name, j, got, want)
				}
				if l.Growth(3*j, step).Cmp(l.Growth(j, step)) < 0 {
					t.Errorf("%s: Growth(%d) = %s, Growth(%d) = %s", name, j, l.Growth(j, step), 3*j, l.Growth(3*j, step))
				}
			}
		}
		for _, x := range []float64{-7, -2, -0.3, 0, 1, 3, 5, 100} {
			at, mean := 0.0, 0.0
			for _, term := range terms {
				at += term.At(x)
				mean += term.CellMean(x, 0.5)
			}
			near(t, name+": At", l.At(x), at, 1e-14)
			near(t, name+": CellMean", l.CellMean(x, 0.5), mean, 1e-12)
		}
	}
	// The steps of two jumps at one place: the value there is that of the terms.
	a := must2(Parse("pwl:-inf,-1;0,-1,1;5,1"))
	b := must2(Parse("pwl:-inf,-1;-5,1;0,1,-1"))
	both := must2(Parse(a.Name() + termSeparator + b.Name()))
	for _, x := range []float64{-0.5, 0, 0.5} {
		if got, want := both.At(x), a.At(x)+b.At(x); got != want {
			t.Errorf("%s: At(%g) = %g, want %g", both.Name(), x, got, want)
		}
	}
	step := big.NewRat(1, 1)
	if got, limit := both.LowerNode(0, step), both.AtDown(new(big.Rat)); got.Cmp(limit) != 0 {
		t.Errorf("%s: node 0 is %s, want the value %s", both.Name(), got, limit)
	}
}

func TestLossUnit(t *testing.T) {
	for name, want := range map[string]string{
		"l1":                    "mean absolute error in query units",
		"l2":                    "mean squared error in query units squared",
		"lp:1.5":                "mean of |error|^1.5 in query units to the power 1.5",
		"exceed:3":              "probability of an error above 3 query units",
		"asymmetric:1,2":        "mean absolute error weighted 1 below and 2 above, in query units",
		"huber:2:0.5":           "0.5 times the mean Huber loss with threshold 2 in query units squared",
		"l1:0.7 + exceed:3:0.3": "sum of 2 mean losses, in the unit that the weights give",
		"pwl:-inf,-1;0,1":       "mean piecewise linear loss, in the unit that the slopes give",
	} {
		if got := Of(must2(Parse(name))).Unit(); got != want {
			t.Errorf("Unit(%s) = %q, want %q", name, got, want)
		}
	}
	if got := Of(renamed{L1, "my own"}).Unit(); !strings.Contains(got, "my own") {
		t.Errorf("Unit of a user's loss: %q", got)
	}
	for _, k := range Kinds() {
		text := k.Syntax + k.Meaning + k.Unit
		if !strings.HasPrefix(k.Syntax, k.Name) || k.Meaning == "" || k.Unit == "" || strings.ContainsAny(text, "\n") {
			t.Errorf("%s: %+v, want a syntax, a meaning and a unit, one line each", k.Name, k)
		}
	}
}

// TestLossValues: the definitions, in numbers.
func TestLossValues(t *testing.T) {
	for name, values := range map[string]map[float64]float64{
		"lp:1.5":         {-4: 8, 0: 0, 2.25: 3.375},
		"pinball:0.75":   {-4: 1, 0: 0, 4: 3},
		"asymmetric:1,2": {-4: 4, 0: 0, 4: 8},
		"huber:2":        {-3: 4, -2: 2, -1: 0.5, 0: 0, 2: 2, 5: 8},
		"deadzone:0.5":   {-2: 1.5, -0.5: 0, 0.25: 0, 1: 0.5},
		"exceed:3":       {-3.5: 1, -3: 0, 3: 0, math.Nextafter(3, 4): 1},
		// Falling to 0.5 at -1, 0 at 0, up to 5 at 5, then 7 and more; the lower value
		// at the jump.
		"pwl:-inf,-2;-1,-0.5;0,1;5,3,2": {-2: 2.5, -1: 0.5, 0: 0, 4: 4, 5: 5, 6: 10},
		// The infimum is the lower side of a jump, at 2.
		"pwl:-inf,-1;2,1,-3;4,1":           {1: 4, 2: 0, 3: 1},
		"l1:0.5 + exceed:3:2":              {-4: 4, 3: 1.5, 2: 1},
		"huber:2:0.5":                      {2: 1},
		"pwl:-inf,-1;0,0;1,1 + deadzone:1": {-2: 3, 0.5: 0, 2: 2},
	} {
		l := must2(Parse(name))
		for x, want := range values {
			if got := l.At(x); got != want {
				t.Errorf("%s: At(%g) = %g, want %g", name, x, got, want)
			}
			if got, _ := l.AtDown(exact.Rational(x)).Float64(); got != want {
				t.Errorf("%s: AtDown(%g) = %g, want %g", name, x, got, want)
			}
		}
	}
}

// TestPinballQuantile: of all shifts of a sample, the one with the least mean
// pinball loss has the tau-quantile of the sample at 0.
func TestPinballQuantile(t *testing.T) {
	sample := []float64{-3, -1.5, 0.25, 1, 2, 4, 4.5, 7, 11, 20}
	for _, tau := range []float64{0.05, 0.35, 0.55, 0.95} {
		l := must2(New("pinball", tau))
		best, least := 0.0, math.Inf(1)
		for m := -5.0; m <= 22; m += 0.125 {
			sum := 0.0
			for _, y := range sample {
				sum += l.At(y - m)
			}
			if sum < least {
				best, least = m, sum
			}
		}
		below, upTo := 0.0, 0.0
		for _, y := range sample {
			if y < best {
				below += 0.1
			}
			if y <= best {
				upTo += 0.1
			}
		}
		if below > tau || upTo < tau {
			t.Errorf("pinball:%g is least at a shift with %g of the sample below and %g not above", tau, below, upTo)
		}
	}
}

// FuzzParse: what is read prints as a name that is read as the same loss.
func FuzzParseLoss(f *testing.F) {
	for _, name := range lossNames {
		f.Add(name)
	}
	for _, s := range []string{"", ":", "l1:", "lp:1e1", "pwl:-inf,-1;;", "huber:-0", "pwl:-inf,-1e60;1e-60,1e60,-1e60", "l1 +  + l1"} {
		f.Add(s)
	}
	step := big.NewRat(3, 7)
	f.Fuzz(func(t *testing.T, s string) {
		l, err := Parse(s)
		if err != nil {
			if l != nil || !errors.Is(err, check.ErrInvalid) {
				t.Fatalf("Parse(%q) = %v, %v", s, l, err)
			}
			return
		}
		name := l.Name()
		back, err := Parse(name)
		if err != nil || back.Name() != name {
			t.Fatalf("Parse(%q) prints as %q, which is read as %v, %v", s, name, back, err)
		}
		if strings.ContainsAny(strings.ReplaceAll(name, termSeparator, ""), "+ ") || Of(l).Unit() == "" {
			t.Fatalf("Parse(%q) prints as %q in %q", s, name, Of(l).Unit())
		}
		for _, x := range []float64{-1e3, -1, 0, 0.3, 2, 1e5} {
			r := exact.Rational(x)
			if l.At(x) != back.At(x) || l.AtDown(r).Cmp(back.AtDown(r)) != 0 {
				t.Fatalf("%q and what it prints as differ at %g", s, x)
			}
			if !(l.At(x) >= 0) || l.AtDown(r).Sign() < 0 {
				t.Fatalf("%q is %g at %g, want >= 0", s, l.At(x), x)
			}
		}
		if l.LowerNode(2, step).Cmp(l.AtDown(multipleOf(2, step))) > 0 {
			t.Fatalf("%q: node 2 of step 3/7 is above the loss", s)
		}
	})
}

// TestParseLossMemory: a name that is nothing but separators is refused without
// a slice of its parts.
func TestParseLossMemory(t *testing.T) {
	const size = 1 << 20
	for _, name := range []string{
		"l1" + strings.Repeat(":", size), "asymmetric:" + strings.Repeat(",", size), "pwl:" + strings.Repeat(",", size),
		"pwl:" + strings.Repeat(";", size), strings.Repeat(termSeparator, size/len(termSeparator)),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Parse(name); !errors.Is(err, check.ErrInvalid) {
			t.Errorf("%.20q…: %v, want an error", name, err)
		}
		runtime.ReadMemStats(&after)
		if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 4*size {
			t.Errorf("%.20q…: %d bytes allocated for a name of %d", name, bytes, len(name))
		}
	}
}

// renamed is a loss with a name of its own.
type renamed struct {
	Loss
	name string
}

func (l renamed) Name() string { return l.name }
