// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"math"
	"slices"
)

const (
	// polishRounds bounds how often ε and δ are exchanged in turn, and
	// exchangesPerShare the exchanges of a turn; some five of each are usual.
	polishRounds      = 30
	exchangesPerShare = 30
	// polishTolerance is the relative gain below which an exchange is not worth its time. The gain
	// is flat at the optimum, so its shares are known to the square root of this.
	polishTolerance = 1e-11
)

// polisher improves shares in place.
type polisher struct {
	shares []share
	family Family
}

// resource is what can be moved between shares: ε or δ.
type resource func(*share) *float64

func epsilonOf(h *share) *float64 { return &h.epsilon }
func deltaOf(h *share) *float64   { return &h.delta }

// polish moves ε and δ between the shares until nothing is gained. Sums stay, but for rounding.
func polish(ctx context.Context, shares []share, family Family) error {
	if len(shares) < 2 {
		return nil
	}
	p := &polisher{shares: shares, family: family}
	before := p.total()
	for range polishRounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.exchange(epsilonOf)
		if shares[0].delta > 0 {
			p.exchange(deltaOf)
		}
		after := p.total()
		if after-before <= polishTolerance*after {
			break
		}
		before = after
	}
	return nil
}

// gain is 0 where the family has no noise.
func (p *polisher) gain(h share) float64 {
	v, err := p.family.Variance(h.epsilon, h.delta)
	if err != nil {
		return 0
	}
	return h.gain(v)
}

func (p *polisher) total() float64 {
	var sum float64
	for _, h := range p.shares {
		sum += p.gain(h)
	}
	return sum
}

// exchange moves a resource from the share that loses least by it to the one that gains most, by
// the best amount, time and again. At an optimum all slopes are the same.
func (p *polisher) exchange(of resource) {
	slopes := make([]float64, len(p.shares))
	for i := range slopes {
		slopes[i] = p.slope(p.shares[i], of)
	}
	total := p.total()
	for range exchangesPerShare * len(p.shares) {
		to, from := 0, 0
		for i, d := range slopes {
			if d > slopes[to] {
				to = i
			}
			if d < slopes[from] {
				from = i
			}
		}
		worth := (slopes[to] - slopes[from]) * *of(&p.shares[from])
		if worth <= polishTolerance*total || !p.transfer(&p.shares[from], &p.shares[to], of) {
			return
		}
		slopes[to], slopes[from] = p.slope(p.shares[to], of), p.slope(p.shares[from], of)
	}
}

// slope returns the derivative of a share's gain, by a central difference.
func (p *polisher) slope(h share, of resource) float64 {
	const relativeStep = 1e-4
	more, less := h, h
	*of(&more) *= 1 + relativeStep
	*of(&less) *= 1 - relativeStep
	return (p.gain(more) - p.gain(less)) / (*of(&more) - *of(&less))
}

// transfer moves the amount that gains most, by golden-section search, and says if there is one.
// The gain may have several peaks, so if nothing is gained within a range a shorter one is tried.
func (p *polisher) transfer(from, to *share, of resource) bool {
	const (
		most     = 0.999 // of what there is: no share is used up
		shortest = 1e-6
		rounds   = 40
		section  = 0.6180339887498949 // (√5-1)/2
	)
	at := func(t float64) float64 {
		a, b := *from, *to
		*of(&a) -= t
		*of(&b) += t
		return p.gain(a) + p.gain(b)
	}
	now, available := at(0), *of(from)
	for reach := most; reach > shortest; reach /= 4 {
		low, high := 0.0, reach*available
		x := []float64{high - section*(high-low), low + section*(high-low)}
		g := []float64{at(x[0]), at(x[1])}
		for range rounds {
			if g[0] >= g[1] {
				high = x[1]
				x[0], x[1] = high-section*(high-low), x[0]
				g[0], g[1] = at(x[0]), g[0]
			} else {
				low = x[0]
				x[0], x[1] = x[1], low+section*(high-low)
				g[0], g[1] = g[1], at(x[1])
			}
		}
		best := slices.Index(g, math.Max(g[0], g[1]))
		if best >= 0 && g[best] > now {
			*of(from) -= x[best]
			*of(to) += x[best]
			return true
		}
	}
	return false
}
