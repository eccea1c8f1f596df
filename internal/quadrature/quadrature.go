// SPDX-License-Identifier: Apache-2.0

// Package quadrature integrates functions of one variable that are smooth on given panels, and finds
// where they are least.
package quadrature

import (
	"math"

	"github.com/noisewright/noisewright/internal/exact"
)

// The Gauss-Kronrod pair of 7 and 15 points on [-1, 1] (Kronrod 1965; the digits are QUADPACK's
// qk15). Index 0 is the outermost node, 7 the center; the odd indices carry the 7-point Gauss rule.
var (
	nodes = [8]float64{
		0.991455371120812639206854697526329, 0.949107912342758524526189684047851,
		0.864864423359769072789712788640926, 0.741531185599394439863864773280788,
		0.586087235467691130294144691693013, 0.405845151377397166906606412076961,
		0.207784955007898467600689403773245, 0,
	}
	weights = [8]float64{
		0.022935322010529224963732008058970, 0.063092092629978553290700663189204,
		0.104790010322250183839876322541518, 0.140653259715525918745189590510238,
		0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
		0.204432940075298892414161999234649, 0.209482141084727828012999174891714,
	}
	gaussWeights = [4]float64{
		0.129484966168869693270611432679082, 0.279705391489276667901467771423780,
		0.381830050505118944950369775488975, 0.417959183673469387755102040816327,
	}
)

const (
	// integralTolerance is the error, relative to the integral, at which no piece is halved.
	integralTolerance = 1e-14
	// maxPieces bounds the cost. A jump of the integrand costs about 50 halvings,
	// a kink fewer; smooth densities and losses need a few dozen pieces in all.
	maxPieces = 1000
	// integrandError bounds the relative rounding of one evaluation of density
	// times loss and of the sums (2^-46 is 64 ulps).
	integrandError = 0x1p-46
)

// piece is an interval with its Kronrod value and error estimate.
type piece struct{ a, b, value, diff float64 }

// Integrate returns the integral of a nonnegative f over [panels[0], panels[last]] and an
// estimate of its error. The panels, in increasing order, are where the integrand changes scale
// or has a known kink; the piece with the largest error is halved until the 7-point Gauss and
// the 15-point Kronrod rules agree. An unknown kink costs halvings, not accuracy, unless it lies
// within 0.4 % of a panel's end: that close no rule looks.
func Integrate(f func(float64) float64, panels []float64) (value, errorBound float64) {
	pieces := make([]piece, 0, 4*len(panels))
	for i := 1; i < len(panels); i++ {
		pieces = append(pieces, gaussKronrod(f, panels[i-1], panels[i]))
	}
	for {
		var sum, errs exact.Sum
		worst := -1
		for i, p := range pieces {
			sum.Add(p.value)
			errs.Add(p.diff)
			// A piece at its own rounding level gains nothing from halving.
			if p.diff > integrandError*p.value && (worst < 0 || p.diff > pieces[worst].diff) {
				worst = i
			}
		}
		value, errorBound = sum.Value(), errs.Value()+integrandError*sum.Value()
		// A NaN compares false and ends it.
		if worst < 0 || !(errs.Value() > integralTolerance*value) || len(pieces) >= maxPieces {
			return value, errorBound
		}
		p := pieces[worst]
		m := p.a + (p.b-p.a)/2
		if m <= p.a || m >= p.b || math.IsInf(p.diff, 1) {
			return value, errorBound
		}
		pieces[worst] = gaussKronrod(f, p.a, m)
		pieces = append(pieces, gaussKronrod(f, m, p.b))
	}
}

// gaussKronrod returns the 15-point Kronrod rule on [a, b] and its distance from the 7-point Gauss
// rule, which is far above the Kronrod rule's error wherever f is smooth.
func gaussKronrod(f func(float64) float64, a, b float64) piece {
	h := (b - a) / 2
	kronrod, gauss := Means(f, a+h, h)
	return piece{a: a, b: b, value: h * kronrod, diff: h * math.Abs(kronrod-gauss)}
}

// Means returns twice the mean of f over [c-h, c+h], by the Kronrod (15) and Gauss (7) rules.
func Means(f func(float64) float64, c, h float64) (kronrod, gauss float64) {
	fc := f(c)
	kronrod = weights[7] * fc
	gauss = gaussWeights[3] * fc
	for i := range 7 {
		d := h * nodes[i]
		s := f(c-d) + f(c+d)
		kronrod += weights[i] * s
		if i%2 == 1 {
			gauss += gaussWeights[i/2] * s
		}
	}
	return kronrod, gauss
}

// GeometricPanels appends first, 2·first, 4·first, … and finally end.
func GeometricPanels(panels []float64, first, end float64) []float64 {
	if first > 0 {
		for x := first; x < end; x *= 2 {
			panels = append(panels, x)
		}
	}
	return append(panels, end)
}
