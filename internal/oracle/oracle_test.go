package oracle

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
)

var (
	epsilons = []float64{0.001, 0.03, 0.3, 0.9, 1, 3, 8, 20}
	deltas   = []float64{1e-12, 1e-6, 1e-3, 0.1, 0.4, 0.5, 0.7, 0.9}
)

func unit(epsilon, delta float64) dp.Privacy {
	return dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}
}

// digits checks got against a value written with a certain number of decimals:
// all of them must be right, the last by rounding.
func digits(t *testing.T, what string, got float64, want string) {
	t.Helper()
	w, err := strconv.ParseFloat(want, 64)
	if err != nil {
		t.Fatal(err)
	}
	decimals := 0
	if i := strings.IndexByte(want, '.'); i >= 0 {
		decimals = len(want) - i - 1
	}
	// Half a unit of the last place, plus the rounding of got and w themselves.
	tolerance := 0.5*math.Pow10(-decimals)*(1+1e-9) + 4e-16*math.Abs(w)
	if !(math.Abs(got-w) <= tolerance) {
		t.Errorf("%s = %.17g, want %s", what, got, want)
	}
}

// near checks a relative tolerance.
func near(t *testing.T, what string, got, want, relative float64) {
	t.Helper()
	if !(math.Abs(got-want) <= relative*math.Abs(want)) {
		t.Errorf("%s = %.17g, want %.17g (relative error %.3g, tolerance %.3g)", what, got, want, got/want-1, relative)
	}
}

// must unwraps a value whose error is a test failure.
func must(t *testing.T) func(float64, error) float64 {
	return func(v float64, err error) float64 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// lossOf returns the expected loss of the named baseline.
func lossOf(t *testing.T, name string, p dp.Privacy, l loss.Loss) float64 {
	t.Helper()
	for _, b := range noise.Baselines() {
		if b.Name != name {
			continue
		}
		m, err := b.New(p, l)
		if err != nil {
			t.Fatalf("%s %+v: %v", name, p, err)
		}
		value, _, err := m.ExpectedLoss(l)
		if err != nil {
			t.Fatalf("%s %+v %s: %v", name, p, l.Name(), err)
		}
		return value
	}
	t.Fatalf("no baseline %q", name)
	return 0
}

// TestDigits holds values that were computed independently of this package, by
// exact integration or by a linear program, digit by digit.
func TestDigits(t *testing.T) {
	must := must(t)
	for _, c := range []struct {
		epsilon float64
		loss    loss.Loss
		want    string
	}{
		{1, loss.L1{}, "0.959517375667"},
		{5, loss.L1{}, "0.082641834928"},
		{1, loss.L2{}, "1.918103531236"},
		{5, loss.L2{}, "0.029711024136"},
	} {
		value, ok := StaircaseLoss(unit(c.epsilon, 0), c.loss)
		if !ok {
			t.Fatal("staircase loss not known")
		}
		digits(t, "StaircaseLoss", value, c.want)
	}

	for _, c := range []struct {
		loss loss.Loss
		want string
	}{{loss.L1{}, "2.860832490"}, {loss.L2{}, "17.238791362"}} {
		step, value, err := DiscreteStaircase(1, 3, c.loss)
		if err != nil {
			t.Fatal(err)
		}
		digits(t, "DiscreteStaircase", value, c.want)
		if step != 2 {
			t.Errorf("DiscreteStaircase %s: step %d, want 2", c.loss.Name(), step)
		}
	}

	for _, epsilon := range []float64{0.1, 1, 5} {
		b := math.Exp(-epsilon)
		for loss, want := range map[loss.Loss]float64{loss.L1{}: 2 * b / (1 - b*b), loss.L2{}: 2 * b / ((1 - b) * (1 - b))} {
			near(t, "AwanDongLoss, delta 0", must(AwanDongLoss(epsilon, 0, loss)), want, 1e-14)
			step, value, err := DiscreteStaircase(epsilon, 1, loss)
			if err != nil || step != 1 {
				t.Fatalf("DiscreteStaircase: step %d, %v", step, err)
			}
			near(t, "DiscreteStaircase, sensitivity 1", value, want, 1e-14)
		}
	}

	for _, c := range []struct {
		epsilon, delta float64
		loss           loss.Loss
		want           string
	}{
		{1, 0.005, loss.L1{}, "0.821004630"},
		{1, 0.05, loss.L1{}, "0.681016322"},
		{0.1, 0.005, loss.L1{}, "7.658820035"},
		{5, 0.2, loss.L1{}, "0.010708561"},
		{1, 0.05, loss.L2{}, "1.058738222"},
		{1, 1e-3, loss.L1{}, "0.84298"},
		{1, 1e-3, loss.L2{}, "1.77390"},
	} {
		digits(t, "AwanDongLoss", must(AwanDongLoss(c.epsilon, c.delta, c.loss)), c.want)
	}
	// Tulap: the integer row spread over a cell.
	for _, d := range []float64{1, 2.5} {
		p := dp.Privacy{Epsilon: 1, Delta: 0.05, Sensitivity: d}
		p0 := 1 - 2*firstTail(1, 0.05)
		near(t, "Tulap l1", must(TulapLoss(p, loss.L1{})), d*(0.6810163221946051+p0/4), 1e-14)
		near(t, "Tulap l2", must(TulapLoss(p, loss.L2{})), d*d*(1.0587382215498518+1.0/12), 1e-14)
		near(t, "lower bound l1", must(LowerBound(p, loss.L1{})), d*0.6810163221946051, 1e-14)
		near(t, "lower bound l2", must(LowerBound(p, loss.L2{})), d*d*(1.0587382215498518-0.25), 1e-14)
	}

	for _, c := range []struct {
		delta float64
		loss  loss.Loss
		want  float64
	}{
		{0.3, loss.L1{}, 0.8333333333333333},
		{0.5, loss.L1{}, 0.5},
		{0.75, loss.L1{}, 0.25},
		{0.3, loss.L2{}, 0.9259259259259259},
		{2.0 / 3, loss.L2{}, 0.1875},
		{0.75, loss.L2{}, 0.140625},
	} {
		near(t, "AdditiveOptimum", must(AdditiveOptimum(dp.Privacy{Epsilon: 0, Delta: c.delta, Sensitivity: 1}, c.loss)), c.want, 1e-15)
	}

	digits(t, "NearOptimalLowerBound", must(NearOptimalLowerBound(unit(1, 0.1))), "0.2596")

	near(t, "TruncatedLaplaceDelta", TruncatedLaplaceDelta(1, 1, noise.TruncatedLaplaceBound(unit(1, 0.1))), 0.1, 1e-14)
	digits(t, "NearOptimalLowerBound", must(NearOptimalLowerBound(unit(1, 0.1))), "0.2596")
}

// integerReference was computed from the textbook formulas with 80 digits (mpmath),
// where nothing cancels; the inputs are the float64 values.
var integerReference = []struct{ epsilon, delta, first, second float64 }{
	{0, 0.1, 2.4999999999999999, 8.4999999999999991},
	{0, 0.75, 0.25, 0.25},
	{1e-09, 0.1, 2.4999999927499999, 8.4999999557499992},
	{1e-06, 1e-12, 999973.75528120094, 1999603117762.3243},
	{0.001, 1e-12, 999.99979329214249, 1999998.9512007167},
	{0.001, 0.9, 0.099950000004166644, 0.099950000004166644},
	{0.01, 1e-05, 98.760224273263823, 18981.913556793297},
	{0.1, 1e-06, 9.9812855124304709, 199.56741844545631},
	{0.1, 0.5, 0.47502081252106001, 0.47502081252106001},
	{0.5, 1e-09, 1.9190346304933726, 7.8353909777014507},
	{0.5, 0.75, 0.18877033439907272, 0.18877033439907272},
	{1, 1e-12, 0.85091812820728591, 1.8413471874793814},
	{1, 1e-05, 0.85078578570901871, 1.8396168204220158},
	{1, 0.1, 0.58860710587430771, 0.79763220069094069},
	{2, 0.001, 0.2744622109964036, 0.35627392531556986},
	{2, 0.9, 0.023840584404423506, 0.023840584404423506},
	{5, 1e-09, 0.013476505762748217, 0.013659345419325379},
	{5, 0.25, 0.010039276386427283, 0.010039276386427283},
	{10, 1e-12, 9.0799859711841262e-5, 9.0808104700074119e-5},
	{20, 1e-12, 4.122307244868871e-9, 4.1223072618540434e-9},
	{20, 0.001, 4.1181849291440268e-9, 4.1181849291440268e-9},
	{20, 0.9, 4.1223072363804062e-10, 4.1223072363804062e-10},
	{100, 1e-05, 7.4400775505221515e-44, 7.4400775505221515e-44},
}

// staircaseReference likewise.
var staircaseReference = []struct{ epsilon, first, second float64 }{
	{1e-09, 999999999.99999994, 1.9999999999999998e+18},
	{1e-06, 999999.99999995838, 1999999999999.9168},
	{0.001, 999.99995833333453, 1999999.916666668},
	{0.01, 99.999583334548606, 19999.916666805555},
	{0.1, 9.9958345482908387, 199.91668056105929},
	{0.5, 1.9793175816510002, 7.9170172153663357},
	{1, 0.95951737566747186, 1.9181035312355251},
	{2, 0.42545906411966077, 0.42273284904654675},
	{5, 0.082641834927547782, 0.029711024136372864},
	{10, 0.0067382529152945433, 0.00084721017697885707},
	{20, 4.5399929856061081e-5, 1.02234320472726e-6},
	{100, 1.9287498479639178e-22, 7.0201739910568745e-30},
}

// TestStability: the closed forms keep their accuracy over the whole range, at
// small ε and δ above all, where the textbook forms lose every digit.
func TestStability(t *testing.T) {
	must := must(t)
	for _, c := range integerReference {
		near(t, "integer l1", must(AwanDongLoss(c.epsilon, c.delta, loss.L1{})), c.first, 4e-15)
		near(t, "integer l2", must(AwanDongLoss(c.epsilon, c.delta, loss.L2{})), c.second, 4e-15)
	}
	for _, c := range staircaseReference {
		v1, _ := StaircaseLoss(unit(c.epsilon, 0), loss.L1{})
		v2, _ := StaircaseLoss(unit(c.epsilon, 0), loss.L2{})
		near(t, "StaircaseLoss l1", v1, c.first, 4e-15)
		near(t, "StaircaseLoss l2", v2, c.second, 4e-15)
	}
}

// TestScaling: the loss scales with the sensitivity, linearly for l1 and
// quadratically for l2.
func TestScaling(t *testing.T) {
	must := must(t)
	for loss, degree := range map[loss.Loss]float64{loss.L1{}: 1, loss.L2{}: 2} {
		for _, epsilon := range epsilons {
			for _, delta := range deltas {
				p := unit(epsilon, delta)
				for _, d := range []float64{1e-6, 0.5, 3, 1e9} {
					q := p
					q.Sensitivity = d
					scale := math.Pow(d, degree)
					near(t, "Tulap", must(TulapLoss(q, loss)), scale*must(TulapLoss(p, loss)), 1e-14)
					near(t, "lower bound", must(LowerBound(q, loss)), scale*must(LowerBound(p, loss)), 1e-14)
				}
			}
		}
	}
	p, q := dp.Privacy{Epsilon: 0, Delta: 0.3, Sensitivity: 1}, dp.Privacy{Epsilon: 0, Delta: 0.3, Sensitivity: 4}
	near(t, "additive l1", must(AdditiveOptimum(q, loss.L1{})), 4*must(AdditiveOptimum(p, loss.L1{})), 1e-15)
	near(t, "additive l2", must(AdditiveOptimum(q, loss.L2{})), 16*must(AdditiveOptimum(p, loss.L2{})), 1e-15)
	p, q = dp.Privacy{Epsilon: 0.1, Delta: 0.01, Sensitivity: 1}, dp.Privacy{Epsilon: 0.1, Delta: 0.01, Sensitivity: 4}
	near(t, "near-optimal", must(NearOptimalLowerBound(q)), 4*must(NearOptimalLowerBound(p)), 1e-15)
}

// TestOrder: no baseline has a smaller loss than the lower bounds.
func TestOrder(t *testing.T) {
	const slack = 1 + 1e-12
	must := must(t)
	for _, l := range []loss.Loss{loss.L1{}, loss.L2{}} {
		for _, epsilon := range append([]float64{1e-4, 0.999}, epsilons...) {
			for _, delta := range append([]float64{1e-200, 0.99}, deltas...) {
				p := unit(epsilon, delta)
				lower := must(LowerBound(p, l))
				for _, b := range noise.Baselines() {
					if m, err := b.New(p, l); err == nil && b.Name != "discrete-laplace" {
						if v, _, err := m.ExpectedLoss(l); err == nil && v < lower/slack {
							t.Errorf("%+v %s: %s %g below the lower bound %g", p, l.Name(), b.Name, v, lower)
						}
					}
				}
				if v := must(TulapLoss(p, l)); v < lower {
					t.Errorf("%+v %s: Tulap %g below the lower bound %g", p, l.Name(), v, lower)
				}
				if v := must(NearOptimalLowerBound(p)); l == (loss.L1{}) && v > lower*slack {
					t.Errorf("%+v: near-optimal lower bound %g above %g", p, v, lower)
				}
			}
		}
	}
}

// TestLimits: ε → 0 joins the optimum at ε = 0, δ → 0 that at δ = 0, and for ε = 0
// uniform noise is the best that does not rise away from 0.
func TestLimits(t *testing.T) {
	must := must(t)
	for _, loss := range []loss.Loss{loss.L1{}, loss.L2{}} {
		for _, delta := range []float64{1e-6, 0.1, 0.5, 0.8} {
			for _, epsilon := range []float64{1e-12, 1e-15, 1e-100, 1e-300} {
				// Changes by a factor 1 + O(ε/δ).
				near(t, "integer", must(AwanDongLoss(epsilon, delta, loss)), must(AwanDongLoss(0, delta, loss)), 1e-12+10*epsilon/delta)
			}
			if delta <= 0.5 {
				p := dp.Privacy{Epsilon: 0, Delta: delta, Sensitivity: 3}
				near(t, "additive optimum", must(AdditiveOptimum(p, loss)), lossOf(t, "uniform", p, loss), 1e-14)
			}
		}
		for _, epsilon := range []float64{0.1, 1, 5} {
			near(t, "integer", must(AwanDongLoss(epsilon, 1e-200, loss)), must(AwanDongLoss(epsilon, 0, loss)), 1e-13)
		}
	}
}

// TestTruncatedLaplaceInverse: bound and δ are inverse to each other wherever
// the formula is exact, and monotone.
func TestTruncatedLaplaceInverse(t *testing.T) {
	for _, sensitivity := range []float64{1e-6, 1, 1e9} {
		for _, epsilon := range []float64{0, 1e-300, 1e-9, 0.01, 1, 20, 800} {
			for _, delta := range []float64{1e-250, 1e-12, 1e-3, 0.5, 0.9} {
				p := dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: sensitivity}
				bound := noise.TruncatedLaplaceBound(p)
				if !(bound > 0) || math.IsInf(bound, 1) {
					t.Fatalf("%+v: bound %g", p, bound)
				}
				// A relative rounding error of A moves ln δ by εA/Δ of it.
				tolerance := 4e-15 * (1 + epsilon*bound/sensitivity)
				near(t, fmt.Sprintf("%+v: delta", p), TruncatedLaplaceDelta(epsilon, sensitivity, bound), delta, tolerance)
			}
		}
	}
	for _, bound := range []float64{1e-300, 0.1, 0.5} {
		if d := TruncatedLaplaceDelta(1, 1, bound); d != 1 {
			t.Errorf("TruncatedLaplaceDelta(1, 1, %g) = %g, want 1: half a sensitivity hides nothing", bound, d)
		}
	}
}

// TestAgainstBrackets: certified brackets of the optimum over all noise, from an
// independent linear program.
func TestAgainstBrackets(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta float64
		loss           loss.Loss
		lower, upper   float64
	}{
		{0.3, 1e-5, loss.L1{}, 3.3186503, 3.3190292},
		{0.3, 1e-5, loss.L2{}, 22.063318, 22.0666661},
		{1, 1e-6, loss.L1{}, 0.959472, 0.9595527},
		{1, 1e-6, loss.L2{}, 1.9176651, 1.9178739},
		{3, 0.3, loss.L1{}, 0.1625789, 0.1630606},
		{3, 0.3, loss.L2{}, 0.0858747, 0.0860831},
		{0.5, 0.01, loss.L1{}, 1.7620106, 1.7626644},
		{0.5, 0.01, loss.L2{}, 5.5379048, 5.5412402},
		{1, 0.1, loss.L1{}, 0.69069, 0.69086},
		{1, 0.2, loss.L1{}, 0.55848, 0.5588},
		{2, 0.02, loss.L1{}, 0.40762, 0.40819},
		{0.2, 0.05, loss.L1{}, 2.35417, 2.35423},
		{1, 0.005, loss.L1{}, 0.92918, 0.92926},
		{0.5, 0.75, loss.L1{}, 0.20744, 0.20771},
		{5, 0.25, loss.L1{}, 0.06183, 0.06252},
	} {
		p := dp.Privacy{Epsilon: c.epsilon, Delta: c.delta, Sensitivity: 1}
		must := must(t)
		if v := must(TulapLoss(p, c.loss)); v < c.lower {
			t.Errorf("Tulap %+v %s: %g, below the lower bound %g", p, c.loss.Name(), v, c.lower)
		}
		if v := must(LowerBound(p, c.loss)); v > c.upper {
			t.Errorf("LowerBound %+v %s: %g, above the upper bound %g", p, c.loss.Name(), v, c.upper)
		}
		if v := must(NearOptimalLowerBound(p)); c.loss == (loss.L1{}) && v > c.upper {
			t.Errorf("NearOptimalLowerBound %+v: %g, above the upper bound %g", p, v, c.upper)
		}
	}
}

// TestNotApplicable: what does not apply says why, and is no other error.
func TestNotApplicable(t *testing.T) {
	must := func(_ float64, err error) error { return err }
	power, err := loss.Parse("lp:3")
	if err != nil {
		t.Fatal(err)
	}
	_, _, zero := DiscreteStaircase(0, 1, loss.L1{})
	_, _, unknown := DiscreteStaircase(1, 1, power)
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"AwanDongLoss", must(AwanDongLoss(0, 0, loss.L1{})), "epsilon = 0 and delta = 0"},
		{"AwanDongLoss", must(AwanDongLoss(1, 0.1, power)), "loss = lp:3"},
		{"TulapLoss", must(TulapLoss(dp.Privacy{Epsilon: 0, Delta: 0, Sensitivity: 1}, loss.L1{})), "epsilon = 0 and delta = 0"},
		{"TulapLoss", must(TulapLoss(dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}, power)), "loss = lp:3"},
		{"LowerBound", must(LowerBound(dp.Privacy{Epsilon: 0, Delta: 0, Sensitivity: 1}, loss.L1{})), "epsilon = 0 and delta = 0"},
		{"NearOptimalLowerBound", must(NearOptimalLowerBound(dp.Privacy{Epsilon: 0, Delta: 0, Sensitivity: 1})), "epsilon = 0 and delta = 0"},
		{"AdditiveOptimum", must(AdditiveOptimum(dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}, loss.L1{})), "epsilon = 1"},
		{"AdditiveOptimum", must(AdditiveOptimum(dp.Privacy{Epsilon: 0, Delta: 0, Sensitivity: 1}, loss.L1{})), "epsilon = 0 and delta = 0"},
		{"AdditiveOptimum", must(AdditiveOptimum(dp.Privacy{Epsilon: 0, Delta: 0.1, Sensitivity: 1}, power)), "loss = lp:3"},
		{"DiscreteStaircase", zero, "epsilon = 0"},
		{"DiscreteStaircase", unknown, "loss = lp:3"},
	} {
		var detail *noise.NotApplicableError
		if !errors.Is(c.err, noise.ErrNotApplicable) || errors.Is(c.err, dp.ErrInvalid) || !errors.As(c.err, &detail) || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error %v, want ErrNotApplicable with %q", c.name, c.err, c.want)
		}
	}
	for _, c := range []struct {
		loss    loss.Loss
		epsilon float64
	}{{loss.L1{}, 0}, {power, 1}} {
		if _, ok := StaircaseLoss(unit(c.epsilon, 0), c.loss); ok {
			t.Errorf("StaircaseLoss(%g, %s): ok", c.epsilon, c.loss.Name())
		}
	}
}

// TestRefused: bad parameters, a missing loss and values beyond float64 are errors.
func TestRefused(t *testing.T) {
	bad := []dp.Privacy{{Epsilon: -1, Delta: 0.1, Sensitivity: 1}, {Epsilon: 1, Delta: 1, Sensitivity: 1}, {Epsilon: 1, Delta: 0.1, Sensitivity: 0}, {Epsilon: math.NaN(), Delta: 0.1, Sensitivity: 1}, {Epsilon: 1, Delta: math.NaN(), Sensitivity: 1}, {Epsilon: 1, Delta: 0.1, Sensitivity: math.Inf(1)}}
	for _, p := range bad {
		for name, f := range map[string]func() error{
			"TulapLoss":             func() error { _, err := TulapLoss(p, loss.L1{}); return err },
			"LowerBound":            func() error { _, err := LowerBound(p, loss.L1{}); return err },
			"NearOptimalLowerBound": func() error { _, err := NearOptimalLowerBound(p); return err },
			"NearOptimalRoundedUp":  func() error { _, err := NearOptimalRoundedUp(p); return err },
			"AdditiveOptimum":       func() error { _, err := AdditiveOptimum(p, loss.L1{}); return err },
		} {
			if err := f(); !errors.Is(err, dp.ErrInvalid) {
				t.Errorf("%s %+v: %v, want ErrInvalid", name, p, err)
			}
		}
		if _, ok := StaircaseLoss(p, loss.L1{}); ok && p.Delta == 0.1 {
			t.Errorf("StaircaseLoss %+v: ok, want not ok", p)
		}
	}
	for _, c := range []struct{ epsilon, delta float64 }{{-1, 0.1}, {1, 1}, {math.Inf(1), 0.1}, {1, math.NaN()}} {
		if _, err := AwanDongLoss(c.epsilon, c.delta, loss.L1{}); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("AwanDongLoss(%g, %g): %v, want ErrInvalid", c.epsilon, c.delta, err)
		}
	}
	for _, c := range []struct {
		epsilon     float64
		sensitivity int64
	}{{-1, 1}, {1, 0}, {1, -3}, {math.NaN(), 1}} {
		if _, _, err := DiscreteStaircase(c.epsilon, c.sensitivity, loss.L1{}); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("DiscreteStaircase(%g, %d): %v, want ErrInvalid", c.epsilon, c.sensitivity, err)
		}
	}
	p := unit(0.5, 0.1)
	for name, f := range map[string]func() error{
		"TulapLoss":  func() error { _, err := TulapLoss(p, nil); return err },
		"LowerBound": func() error { _, err := LowerBound(p, nil); return err },
		"AdditiveOptimum": func() error {
			_, err := AdditiveOptimum(dp.Privacy{Epsilon: 0, Delta: 0.1, Sensitivity: 1}, nil)
			return err
		},
		"AwanDongLoss":      func() error { _, err := AwanDongLoss(1, 0.1, nil); return err },
		"DiscreteStaircase": func() error { _, _, err := DiscreteStaircase(1, 1, nil); return err },
	} {
		if err := f(); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	if _, err := AwanDongLoss(0, 1e-200, loss.L2{}); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("AwanDongLoss: %v, want ErrInvalid", err)
	}
	if _, err := NearOptimalLowerBound(unit(0, 1e-310)); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("NearOptimalLowerBound: %v, want ErrInvalid", err)
	}
}

// BenchmarkAwanDongLoss has 10^12 tails to sum.
func BenchmarkAwanDongLoss(b *testing.B) {
	for b.Loop() {
		if _, err := AwanDongLoss(1e-13, 1e-12, loss.L2{}); err != nil {
			b.Fatal(err)
		}
	}
}
