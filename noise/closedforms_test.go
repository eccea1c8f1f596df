// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

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

// lossOf builds the named baseline and returns its expected loss.
func lossOf(t *testing.T, name string, p dp.Privacy, loss loss.Loss) float64 {
	t.Helper()
	value, _, err := baseline(t, name, p, loss).ExpectedLoss(loss)
	if err != nil {
		t.Fatalf("%s %+v %s: %v", name, p, loss.Name(), err)
	}
	return value
}

// baseline builds the named baseline.
func baseline(t *testing.T, name string, p dp.Privacy, loss loss.Loss) Mechanism {
	t.Helper()
	for _, b := range Baselines() {
		if b.Name == name {
			m, err := b.New(p, loss)
			if err != nil {
				t.Fatalf("%s %+v: %v", name, p, err)
			}
			return m
		}
	}
	t.Fatalf("no baseline %q", name)
	return Mechanism{}
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

// TestClosedFormDigits holds the values that were computed independently of this
// package, by exact integration or by a linear program, digit by digit.
func TestClosedFormDigits(t *testing.T) {
	must := must(t)
	unit := func(epsilon, delta float64) dp.Privacy {
		return dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}
	}

	for _, d := range []float64{0.25, 1, 3} {
		p := dp.Privacy{Epsilon: 0.5, Delta: 0, Sensitivity: d}
		near(t, "laplace l1", lossOf(t, "laplace", p, loss.L1), 2*d, 1e-15)
		near(t, "laplace l2", lossOf(t, "laplace", p, loss.L2), 8*d*d, 1e-15)
	}

	for _, c := range []struct {
		epsilon float64
		loss    loss.Loss
		want    string
	}{
		{1, loss.L1, "0.959517375667"},
		{5, loss.L1, "0.082641834928"},
		{1, loss.L2, "1.918103531236"},
		{5, loss.L2, "0.029711024136"},
	} {
		digits(t, "staircase", lossOf(t, "staircase", unit(c.epsilon, 0), c.loss), c.want)
	}

	for _, epsilon := range []float64{0.1, 1, 5} {
		b := math.Exp(-epsilon)
		for loss, want := range map[loss.Loss]float64{loss.L1: 2 * b / (1 - b*b), loss.L2: 2 * b / ((1 - b) * (1 - b))} {
			near(t, "discrete-laplace", lossOf(t, "discrete-laplace", unit(epsilon, 0), loss), want, 1e-14)
		}
	}

	if tails := awanDongTails(1, 1e-3); len(tails) != 7 {
		t.Errorf("%d tails, want support 7", len(tails))
	}

	digits(t, "A", truncatedBound(unit(1, 0.1)), "2.260867817")
	digits(t, "truncated-laplace l1", lossOf(t, "truncated-laplace", unit(1, 0.1), loss.L1), "0.736845518660")
	digits(t, "truncated-laplace l2", lossOf(t, "truncated-laplace", unit(1, 0.1), loss.L2), "0.878733539608")
	digits(t, "truncated-laplace l1", lossOf(t, "truncated-laplace", unit(1, 1e-3), loss.L1), "0.99214")
	digits(t, "truncated-laplace l2", lossOf(t, "truncated-laplace", unit(1, 1e-3), loss.L2), "1.93113")

	for _, c := range []struct {
		epsilon, delta float64
		want           string
	}{
		{1, 0.1, "1.085877765191856"},
		{1, 1e-5, "3.730631634815945"},
		{0.1, 1e-6, "36.304690426195"},
		{5, 0.25, "0.354657310624"},
	} {
		sigma := must(GaussianSigma(unit(c.epsilon, c.delta)))
		// σ is rounded up, here by at most 2e-13 of its value: take that off
		// before comparing digits, and see below for how much it is.
		want, _ := strconv.ParseFloat(c.want, 64)
		near(t, "sigma", sigma, want, 5e-13)
		near(t, "gaussian delta", gaussianDelta(c.epsilon, 1, want), c.delta, 1e-11)
		near(t, "analytic-gaussian l1", lossOf(t, "analytic-gaussian", unit(c.epsilon, c.delta), loss.L1), want*math.Sqrt(2/math.Pi), 5e-13)
		near(t, "analytic-gaussian l2", lossOf(t, "analytic-gaussian", unit(c.epsilon, c.delta), loss.L2), want*want, 1e-12)
	}
}

// TestStaircaseAnyStep checks the general form against piecewise integration at
// 80 digits, for steps far from the optimum.
func TestStaircaseAnyStep(t *testing.T) {
	for _, c := range []struct{ epsilon, step, first, second float64 }{
		{1, 0.2, 0.97967186927348159, 1.97375858671058},
		{0.3, 0.9, 3.3463224018346883, 22.306022091623919},
		{6, 0.01, 0.10600633527170305, 0.06938283631394801},
	} {
		s := stairs{epsilon: c.epsilon, sensitivity: 1, step: c.step}
		v1, _ := s.expected(loss.L1)
		v2, _ := s.expected(loss.L2)
		near(t, "first moment", v1, c.first, 1e-14)
		near(t, "second moment", v2, c.second, 1e-14)
	}
}

// The tables below were computed from the textbook formulas with 80 digits
// (mpmath), where nothing cancels; the inputs are the float64 values.

var approximateReference = []struct {
	epsilon, delta              float64
	sigma, bound, first, second float64 // analytic Gaussian; truncated Laplace A, V1, V2
}{
	{0, 0.1, 3.978948280545273, 4.9999999999999997, 2.4999999999999999, 8.3333333333333324},
	{0, 0.75, 0.43465055793446669, 0.66666666666666667, 0.33333333333333333, 0.14814814814814815},
	{1e-09, 0.1, 3.9789482625454615, 4.9999999899999998, 2.4999999929166666, 8.3333332895833326},
	{1e-06, 1e-12, 4122525.4027566017, 13122365.877401371, 999973.75528136761, 1999603117762.491},
	{0.001, 1e-12, 5412.3021938439271, 20030.618700052132, 999.99995995878986, 1999999.1178673675},
	{0.001, 0.9, 0.30393363089464773, 0.55567900776825223, 0.27781377228761901, 0.10291208831493377},
	{0.01, 1e-05, 243.78543767567802, 622.1600304291876, 98.761891170129356, 18982.076406758907},
	{0.1, 1e-06, 36.304690426195783, 108.70213932843313, 9.9979328479523156, 199.73395310914591},
	{0.1, 0.5, 0.70167458062070282, 1.0, 0.49166805522495038, 0.32502915972395789},
	{0.5, 1e-09, 10.673896815080026, 39.194733059804531, 1.9999998791631018, 7.9999947804824404},
	{0.5, 0.75, 0.38749827196750408, 0.71881559855784804, 0.33792501258189581, 0.15697462339861091},
	{1, 1e-12, 6.5578220674588501, 27.479198789982685, 0.99999999996801549, 1.9999999990571224},
	{1, 1e-05, 3.7306316348159418, 11.3611147784896, 0.999867761916697, 1.9982331517909012},
	{1, 0.1, 1.0858777651918565, 2.2608678168178271, 0.73684551866030347, 0.87873353960829963},
	{2, 0.001, 1.4452391609297835, 4.0347538134267548, 0.49873697968809444, 0.49364100366819803},
	{2, 0.9, 0.24373382445156482, 0.75750598794259959, 0.28658650711724178, 0.12492450835080707},
	{5, 1e-09, 1.2117124661345839, 5.0046715813901089, 0.19999999993210007, 0.079999999633023179},
	{5, 0.25, 0.35465731062413626, 1.1379545038581919, 0.19614025467337569, 0.074063887291172534},
	{10, 1e-12, 0.74461232292175436, 3.6937828534408233, 0.099999999999999665, 0.019999999999998694},
	{20, 1e-12, 0.40405053263685352, 2.3468936966653725, 0.05, 0.005},
	{20, 0.001, 0.24672179738433923, 1.310730404818258, 0.049999999994596767, 0.0049999999923774943},
	{20, 0.9, 0.12657650253041471, 0.97061066683734019, 0.049999996398960147, 0.0049999961446883218},
	{100, 1e-05, 0.094669907014746388, 1.1081977828441028, 0.01, 0.0002},
}

var staircaseReference = []struct {
	epsilon, first, step, second float64 // V1 at the l1 step, γ for l2, V2 at it
}{
	{1e-09, 999999999.99999994, 0.49999999991666667, 1.9999999999999998e+18},
	{1e-06, 999999.99999995838, 0.49999991666666667, 1999999999999.9168},
	{0.001, 999.99995833333453, 0.49991666666666667, 1999999.916666668},
	{0.01, 99.999583334548606, 0.49916666666667438, 19999.916666805555},
	{0.1, 9.9958345482908387, 0.49166666743758321, 199.91668056105929},
	{0.5, 1.9793175816510002, 0.4583356918024008, 7.9170172153663357},
	{1, 0.95951737566747186, 0.41673743492888243, 1.9181035312355251},
	{2, 0.42545906411966077, 0.33513002967945217, 0.42273284904654675},
	{5, 0.082641834927547782, 0.14448217486427154, 0.029711024136372864},
	{10, 0.0067382529152945433, 0.028270779330425264, 0.00084721017697885707},
	{20, 4.5399929856061081e-5, 0.001010088059130858, 1.02234320472726e-6},
	{100, 1.9287498479639178e-22, 2.6495610940412069e-15, 7.0201739910568745e-30},
}

// TestStability: the closed forms keep their accuracy over the whole range, at
// small ε and δ above all, where the textbook forms lose every digit.
func TestStability(t *testing.T) {
	must := must(t)
	for _, c := range approximateReference {
		p := dp.Privacy{Epsilon: c.epsilon, Delta: c.delta, Sensitivity: 1}
		sigma := must(GaussianSigma(p))
		// Rounded up: never below, and above by the evaluation's error bound.
		near(t, "sigma", sigma, c.sigma, 5e-13)
		if sigma < c.sigma*(1-1e-16) {
			t.Errorf("%+v: sigma %.17g is below the exact %.17g", p, sigma, c.sigma)
		}
		near(t, "gaussian delta", gaussianDelta(c.epsilon, 1, c.sigma), c.delta, 1e-13)
		near(t, "A", truncatedBound(p), c.bound, 4e-15)
		near(t, "truncated-laplace l1", lossOf(t, "truncated-laplace", p, loss.L1), c.first, 4e-15)
		near(t, "truncated-laplace l2", lossOf(t, "truncated-laplace", p, loss.L2), c.second, 4e-15)
	}
	for _, c := range staircaseReference {
		p := dp.Privacy{Epsilon: c.epsilon, Delta: 0, Sensitivity: 1}
		step, _ := staircaseStep(c.epsilon, loss.L2)
		near(t, "staircaseStep l2", step, c.step, 4e-15)
		near(t, "staircase l1", lossOf(t, "staircase", p, loss.L1), c.first, 4e-15)
		near(t, "staircase l2", lossOf(t, "staircase", p, loss.L2), c.second, 4e-15)
	}
}
