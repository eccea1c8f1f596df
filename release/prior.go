// SPDX-License-Identifier: Apache-2.0

package release

import (
	"math"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/internal/check"
)

// prior is what is believed of values: their logarithms are normal.
type prior struct{ mu, sigma float64 }

func parsePrior(text string) (p prior, err error) {
	mu, sigma, ok := strings.Cut(strings.TrimPrefix(text, priorBounds), ",")
	p.mu, err = strconv.ParseFloat(mu, 64)
	var errSigma error
	p.sigma, errSigma = strconv.ParseFloat(sigma, 64)
	if !ok || err != nil || errSigma != nil || !(math.Abs(p.mu) <= 50) || !(p.sigma >= 0.01 && p.sigma <= 5) {
		return p, check.Field("release", "bounds", check.Quoted(check.Shortened(text)), priorBounds+"MU,SIGMA: the mean, from -50 to 50, and the standard deviation, from 0.01 to 5, of the logarithms")
	}
	return p, nil
}

// moments returns E (X - u)^+ and the same of its square.
func (p prior) moments(u float64) (first, second float64) {
	z := (math.Log(u) - p.mu) / p.sigma
	above := func(shift float64) float64 { return math.Erfc((z-shift)/math.Sqrt2) / 2 }
	m1 := math.Exp(p.mu+p.sigma*p.sigma/2) * above(p.sigma)
	m2 := math.Exp(2*p.mu+2*p.sigma*p.sigma) * above(2*p.sigma)
	return max(m1-u*above(0), 0), max(m2-2*u*m1+u*u*above(0), 0)
}

// excess is what clipping takes off a value on average.
func (p prior) excess(u float64) float64 {
	first, _ := p.moments(u)
	return first
}

// bound returns the upper bound, of three digits, with the least expected square of the error of a mean: of what clipping takes off,
// and of Laplace noise.
func (p prior) bound(q Query) float64 {
	n := float64(q.Rows)
	noise := math.Sqrt2 * float64(q.most()*int64(max(q.Releases, 1))) / q.Epsilon / n
	best, least := 0.0, math.Inf(1)
	for step := range 1200 { // from 2 deviations below the median to 10 above
		u, _ := strconv.ParseFloat(strconv.FormatFloat(math.Exp(p.mu+0.02*float64(step-200)*max(p.sigma, 0.2)/2), 'g', 3, 64), 64)
		first, second := p.moments(u)
		if square := first*first + (second-first*first)/n + noise*noise*u*u; square < least {
			best, least = u, square
		}
	}
	return best
}
