package lp

import "math"

// findPeak estimates where the best density is largest, in sensitivities from
// 0: where truncated Laplace noise is best put. It places grids and scales
// variables; a poor one costs time only.
func (f *frame) findPeak() float64 {
	if f.folded || f.Constraints.Monotone || f.Constraints.Unbiased && f.Constraints.Support == nil {
		return 0
	}
	reach := supportBound(f.Problem)
	lo, hi := math.Inf(-1), math.Inf(1)
	if s := f.Constraints.Support; s != nil {
		lo, hi = s.Lower/f.Sensitivity+reach, s.Upper/f.Sensitivity-reach
		if lo > hi { // too narrow for that noise
			return (lo + hi) / 2
		}
	}
	best, least := 0.0, math.Inf(1)
	try := func(m float64) {
		if m = min(max(m, lo), hi); math.IsNaN(m) || math.IsInf(m, 0) {
			return
		}
		if c := f.shifted(m, reach); c < least {
			best, least = m, c
		}
	}
	width := 2 * min(reach, 60/max(f.Epsilon, 1/reach))
	if s := f.Constraints.Support; s != nil {
		try(lo)
		try(hi)
	}
	center := min(max(0, lo), hi)
	try(center)
	for width > 0.01 {
		around := best
		for i := -8; i <= 8; i++ {
			try(around + width*float64(i)/8)
		}
		width /= 4
	}
	return best
}

// shifted returns about the expected loss of truncated Laplace noise around m
// sensitivities.
func (f *frame) shifted(m, reach float64) float64 {
	const cells = 200
	end := min(reach, 40/max(f.Epsilon, 1e-9))
	var loss, mass float64
	for i := -cells; i < cells; i++ {
		y := (float64(i) + 0.5) / cells * end
		w := math.Exp(-f.Epsilon * math.Abs(y))
		loss += w * f.Loss.At((m+y)*f.Sensitivity)
		mass += w
	}
	return loss / mass
}

// typicalLoss is the scale of the expected loss before any noise is known.
func (f *frame) typicalLoss() float64 {
	if c := f.shifted(f.peak, supportBound(f.Problem)); c > 0 {
		return c
	}
	return 1
}
