// SPDX-License-Identifier: Apache-2.0

package account

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
)

// atoms is a law of finitely many privacy losses: loss[i], descending, of probability mass[i],
// beside the mass at infinity. Losses and masses are right to a relative atomError.
type atoms struct {
	loss, mass       []float64
	gain, price      []float64 // Σ of mass, and of mass·e^(−loss), up to i inclusive
	infinityMass     float64   // from above
	infinityMassDown float64   // from below
	natural          float64   // the largest losses are multiples of it; 0: of none
	lattice          float64   // if there are many losses, all are multiples of it, 2 apart
}

// atomError bounds the relative error of losses, masses and their compensated sums. Each comes from
// some elementary functions, good to an ulp or two, of arguments below 100: 2^-43 is 1000 units.
const atomError = 0x1p-43

// newAtoms sorts and sums. natural is the unit of the law.
func newAtoms(loss, mass []float64, infinity, natural float64) *atoms {
	order := make([]int, len(loss))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(loss[j], loss[i]) })
	a := &atoms{infinityMass: infinity, infinityMassDown: infinity, natural: natural}
	var gain, price exact.Sum
	for _, i := range order {
		gain.Add(mass[i])
		price.Add(mass[i] * math.Exp(-loss[i]))
		a.loss = append(a.loss, loss[i])
		a.mass = append(a.mass, mass[i])
		a.gain = append(a.gain, gain.Value())
		a.price = append(a.price, price.Value())
	}
	return a
}

func (a *atoms) deltaUpper(epsilon float64) float64 {
	sum, margin := a.positive(epsilon)
	if margin == 0 { // no finite loss is above
		return math.Min(1, a.infinityMass)
	}
	return math.Min(1, (math.Max(0, sum)+margin+a.infinityMass)*(1+4*roundoff))
}

func (a *atoms) epsilonUpper(delta float64) (float64, error) { return solve(a.deltaUpper, delta) }

func (a *atoms) deltaLower(epsilon float64) float64 {
	sum, margin := a.positive(epsilon)
	return (math.Max(0, sum-margin) + a.infinityMassDown) * (1 - 4*roundoff)
}

// positive returns Σ mass·(1 − e^(ε−loss)) over the losses above ε, and a bound
// on its error: that of the sums, and that of taking a loss that nearly is ε for
// one above it or below. The largest loss is exact.
func (a *atoms) positive(epsilon float64) (sum, margin float64) {
	above := func(l float64) int {
		return sort.Search(len(a.loss), func(i int) bool { return a.loss[i] <= l })
	}
	n := above(epsilon)
	if n == 0 {
		return 0, 0
	}
	const near = 64 * atomError // a loss below 1000, right to 8 roundoffs of it, is right to 2^-40
	margin = near * a.gain[above(epsilon-near*(1+math.Abs(epsilon)))-1]
	return a.gain[n-1] - math.Exp(epsilon)*a.price[n-1], margin
}

func (a *atoms) extent(float64) (least, most float64) { return a.loss[len(a.loss)-1], a.loss[0] }

func (a *atoms) unit(step float64) float64 {
	if a.lattice > step {
		return a.lattice
	}
	return a.natural
}

func (a *atoms) fits(step float64) bool {
	if a.lattice == 0 {
		return multiple(a.natural, step)
	}
	return multiple(a.lattice, step) || 2*a.lattice < step && multiple(a.natural, step)
}

func (a *atoms) narrow() float64 { return math.Inf(1) }

func (a *atoms) upper(g grid) []float64 { return heights(g, a.deltaUpper) }

// heights evaluates a bound on the grid.
func heights(g grid, bound func(float64) float64) []float64 {
	h := make([]float64, g.len())
	for i := range h {
		h[i] = bound(g.at(g.first + i))
	}
	return h
}

// slackShare is the share of a grid step that is added to every loss of a lower
// bound before it is rounded down to the grid, and taken off the result: losses
// that lie on the grid but for a rounding, or a solver's tolerance, stay there.
const slackShare = 0x1p-12

// slack is what may be added to a loss that is rounded downand is still less than slackShare of a
// step too large: 2^-41 exceeds the errors of losses up to 1000, and 2^-10 those of a quotient.
func (g grid) slack() float64 { return g.step*slackShare*(1-0x1p-10) - 0x1p-41 }

func (a *atoms) lower(g grid, _ float64) []*pmf {
	d := &pmf{step: g.step, first: g.first, mass: make([]float64, g.len()), infinityMass: a.infinityMassDown}
	if a.lattice > 0 && 2*a.lattice < g.step {
		gain, price := make([]float64, g.len()), make([]float64, g.len())
		for i, m := range a.mass {
			if at := math.Floor(a.loss[i]/g.step) - float64(g.first); at >= 0 {
				at := int(math.Min(at, float64(g.len()-1)))
				gain[at] += m
				price[at] += m * math.Exp(-a.loss[i])
			}
		}
		d.regroup(g, gain, price)
		return []*pmf{d}
	}
	for i, m := range a.mass {
		d.addDown(g, a.loss[i], m*(1-2*atomError))
	}
	return []*pmf{d}
}

// addDown adds mass at the loss, rounded down to the grid but for the slack, or none below it.
func (d *pmf) addDown(g grid, loss, mass float64) {
	i := math.Floor((loss+g.slack())/g.step) - float64(g.first)
	if i >= 0 { // not NaN
		d.mass[int(math.Min(i, float64(len(d.mass)-1)))] += mass
	}
}

// maxChain bounds how many neighboring groups are put together.
const maxChain = 16

// regroup adds a lower bound on the sub-laws with the probabilities gain_i under P, right to 2^-42,
// and price_i under Q, of outputs with losses about between the loss i of the grid and the next.
//
// Putting outputs together is post-processing: what it makes of P and Q is no easier to tell apart.
// So each group takes as much of the next lower one as brings its loss, log ΣP/ΣQ, down to the
// grid. What losses there were changes little; to round them down would cost half a step each. How
// the parts are chosen proves nothing; the loss of what was put together does.
func (d *pmf) regroup(g grid, gain, price []float64) {
	p, q, chain := 0.0, 0.0, 0 // the outputs carried on
	place := func(p, q float64) {
		if p > 0 && q > 0 {
			d.addDown(g, math.Log(p)-math.Log(q), p*(1-2*atomError))
		}
	}
	for i := len(gain) - 1; i >= 0; i-- {
		alpha := math.Exp(g.at(g.first + i + 1))
		excess, lack := p-alpha*q, alpha*price[i]-gain[i]
		if share := excess / lack; excess > 0 && lack > 0 && chain < maxChain && !(share < 1) {
			p, q, chain = p+gain[i], q+price[i], chain+1
			continue
		} else if excess > 0 && lack > 0 && share < 1 {
			place(p+share*gain[i], q+share*price[i])
			p, q = (1-share)*gain[i], (1-share)*price[i]
		} else {
			place(p, q)
			p, q = gain[i], price[i]
		}
		chain = 0
	}
	d.lift(g, p, q)
}

// lift adds the last group of [pmf.regroup]: no lower group is left to bring its loss down to
// the grid. Rounding it down may cost much, where losses end below with a large density. Where
// it costs less, masses already placed at larger losses of the grid are merged into the group
// until its loss is the next one of the grid above. What was placed at a loss of the grid has at
// least that loss, less slackShare of a step.
func (d *pmf) lift(g grid, p, q float64) {
	if !(p > 0 && q > 0) {
		return
	}
	below := math.Floor((math.Log(p) - math.Log(q) + g.slack()) / g.step)
	alpha, from := math.Exp((below+1)*g.step), int(math.Max(0, below+2-float64(g.first)))
	taken := make([]float64, 0, maxChain)
	sumP, sumQ, moved := p, q, 0.0
	for i := from; i < len(d.mass) && len(taken) < maxChain; i++ {
		m := d.mass[i]
		price := math.Exp(-g.at(g.first+i)+g.step*slackShare) * (1 + atomError)
		lack, excess := alpha*sumQ-sumP, m*(1-alpha*price)
		if !(lack > 0) {
			break
		}
		m *= math.Min(1, lack/excess)
		taken = append(taken, m)
		sumP, sumQ, moved = sumP+m, sumQ+m*price, moved+m*g.at(g.first+i)
	}
	// The expected loss is what is lost least of.
	end := math.Floor((math.Log(sumP) - math.Log(sumQ) + g.slack()) / g.step)
	if sumP*end*g.step-moved < p*below*g.step {
		d.addDown(g, math.Log(p)-math.Log(q), p*(1-2*atomError))
		return
	}
	for i, m := range taken {
		d.mass[from+i] = math.Max(0, d.mass[from+i]-m) * (1 - 2*roundoff)
	}
	d.addDown(g, math.Log(sumP)-math.Log(sumQ), sumP*(1-2*atomError))
}

// RandomizedResponse is the report of one of so many categories: the true one
// with probability e^ε/(e^ε+k−1), else one of the others at random (Warner 1965).
func RandomizedResponse(epsilon float64, categories int) (*PrivacyLossDistribution, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return nil, err
	}
	if categories < 2 || categories > 1<<30 {
		return nil, check.Field("account", "categories", categories, "2 to 2^30")
	}
	others := float64(categories - 1)
	z := 1 + others*math.Exp(-epsilon)
	p, q := 1/z, math.Exp(-epsilon)/z
	loss, mass := []float64{epsilon, -epsilon}, []float64{p, q}
	if categories > 2 {
		loss, mass = append(loss, 0), append(mass, (others-1)*q)
	}
	return &PrivacyLossDistribution{pair: newAtoms(loss, mass, 0, epsilon)}, nil
}

// Approximate is any mechanism of which only its (epsilon, delta) is known. Its worst case is
// randomized response that fails with probability delta (Kairouz, Oh & Viswanath 2017, Theorem
// 3.1). delta may be 0; epsilon may be 0 if delta is not.
func Approximate(epsilon, delta float64) (*PrivacyLossDistribution, error) {
	if err := check.Delta("account", "delta", delta); err != nil {
		return nil, err
	}
	if !(epsilon >= 0 && epsilon <= maxEpsilon) || epsilon == 0 && delta == 0 {
		return nil, check.Field("account", "epsilon", epsilon, fmt.Sprintf("0 <= epsilon <= %d, and > 0 if delta = 0", maxEpsilon))
	}
	if epsilon == 0 {
		return &PrivacyLossDistribution{pair: newAtoms([]float64{0}, []float64{1 - delta}, delta, 0)}, nil
	}
	p := (1 - delta) / (1 + math.Exp(-epsilon))
	q := p * math.Exp(-epsilon)
	return &PrivacyLossDistribution{pair: newAtoms([]float64{epsilon, -epsilon}, []float64{p, q}, delta, epsilon)}, nil
}

// DiscreteLaplace is noise on the integers with probabilities proportional to
// e^(−ε|n|/Δ), for an integer sensitivity Δ (Ghosh, Roughgarden & Sundararajan
// 2012). Its probabilities are log-concave, so the full shift is the worst one.
func DiscreteLaplace(epsilon float64, sensitivity int) (*PrivacyLossDistribution, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return nil, err
	}
	if err := checkSteps(sensitivity); err != nil {
		return nil, err
	}
	t := epsilon / float64(sensitivity)
	z := 1 + math.Exp(-t)
	loss := []float64{epsilon, -epsilon}
	mass := []float64{1 / z, math.Exp(-epsilon) / z}
	for j := 1; j < sensitivity; j++ {
		loss = append(loss, t*float64(sensitivity-2*j))
		mass = append(mass, -math.Expm1(-t)/z*math.Exp(-t*float64(j)))
	}
	a := newAtoms(loss, mass, 0, epsilon)
	if sensitivity > 1 {
		a.lattice = t
	}
	return &PrivacyLossDistribution{pair: a}, nil
}

// maxSteps bounds integer sensitivities.
const maxSteps = 1 << 20

func checkSteps(sensitivity int) error {
	if sensitivity >= 1 && sensitivity <= maxSteps {
		return nil
	}
	return check.Field("account", "sensitivity", sensitivity, fmt.Sprintf("an integer from 1 to %d", maxSteps))
}

// Staircase is the mechanism tuned to the loss (Geng & Viswanath 2016), of any sensitivity Δ.
//
// Its density is e^(−ε) times smaller from each level to the next, level n >= 1 being Δ wide on
// either side and level 0 reaching to γΔ. After a shift by t <= Δ a point and its partner are on
// the same or on neighboring levels, so the privacy loss is ε, 0 or −ε. It is ε on the outer t of
// every level on one side, min(t, 2γΔ) for level 0, which grows in t: the full shift is the worst
// one, with probability 1/2 + C·Δ·min(γ, 1−γ), C the density at 0.
func Staircase(epsilon float64, loss loss.Loss) (*PrivacyLossDistribution, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return nil, err
	}
	gamma, err := noise.StaircaseStep(dp.Privacy{Epsilon: epsilon, Sensitivity: 1}, loss)
	if err != nil {
		return nil, err
	}
	// C·Δ = (1−b)/(2(γ+b(1−γ))), b = e^(−ε).
	b := math.Exp(-epsilon)
	p := 0.5 - math.Expm1(-epsilon)/(2*(gamma+b*(1-gamma)))*math.Min(gamma, 1-gamma)
	loss3 := []float64{epsilon, 0, -epsilon}
	mass3 := []float64{p, math.Max(0, 1-p*(1+b)), p * b}
	return &PrivacyLossDistribution{pair: newAtoms(loss3, mass3, 0, epsilon)}, nil
}

// maxGaussianSteps bounds sigma of the discrete Gaussian, in steps.
const maxGaussianSteps = 1e5

// DiscreteGaussian is noise on the integers with probabilities proportional to e^(−n²/(2σ²)), for
// an integer sensitivity, sigma in the same steps (Canonne, Kamath & Steinke 2020). Its
// probabilities are log-concave, so the full shift is the worst one.
func DiscreteGaussian(sigma float64, sensitivity int) (*PrivacyLossDistribution, error) {
	if err := checkSteps(sensitivity); err != nil {
		return nil, err
	}
	if !(sigma > 0 && sigma <= maxGaussianSteps) {
		return nil, check.Field("account", "sigma", sigma, fmt.Sprintf("0 < sigma <= %g steps; beyond, discrete and continuous noise agree", maxGaussianSteps))
	}
	if err := checkMultiplier(sigma / float64(sensitivity)); err != nil {
		return nil, err
	}
	// Beyond 16σ there is less than e^-127 to either side; it is counted as
	// lost. The normalizer is summed from the outside inwards.
	reach := int(math.Ceil(16*sigma)) + 1
	weight := func(n int) float64 {
		x := float64(n) / sigma
		return math.Exp(-x * x / 2)
	}
	var z exact.Sum
	for n := reach; n >= 1; n-- {
		z.Add(2 * weight(n))
	}
	z.Add(1)
	delta := float64(sensitivity)
	loss := make([]float64, 0, 2*reach+1)
	mass := make([]float64, 0, 2*reach+1)
	for n := -reach; n <= reach; n++ {
		loss = append(loss, delta*(delta-2*float64(n))/(2*sigma*sigma))
		mass = append(mass, weight(n)/z.Value())
	}
	a := newAtoms(loss, mass, 1e-50, 0)
	a.infinityMassDown = 0
	a.lattice = delta / (2 * sigma * sigma)
	return &PrivacyLossDistribution{pair: a}, nil
}
