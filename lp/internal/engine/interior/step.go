// SPDX-License-Identifier: Apache-2.0

package interior

import "context"

// iterate takes one step, and reports whether there was one: there is none if the context
// ends before the matrix is factored, which can take long.
func (s *state) iterate(ctx context.Context) bool {
	if !s.build(ctx) {
		return false
	}
	s.aim(0)
	s.direction()
	primal, dual := s.lengths(1)
	left := s.products(primal, dual) / (s.mean * float64(s.pairs))
	target := s.mean * min(max(left*left*left, 1e-6), 0.9)
	s.aim(target)
	s.direction()
	primal, dual = s.lengths(stepShare)
	primal, dual = s.correct(target, primal, dual)
	s.move(primal, dual)
	return true
}

const stepShare = 0.995 // of the way to the boundary

// correct aims products that a longer step would leave too far from the target at what is
// nearer to it, as long as that lengthens the steps.
func (s *state) correct(target, primal, dual float64) (float64, float64) {
	for range correctors {
		far, farDual := min(1, primal+reachMore), min(1, dual+reachMore)
		for _, b := range s.blocks() {
			b.correct(far, farDual, lowProduct*target, highProduct*target)
		}
		s.exchange()
		s.direction()
		p, d := s.lengths(stepShare)
		if p+d < primal+dual {
			s.exchange()
			return primal, dual
		}
		if p+d < primal+dual+leastGain {
			return p, d
		}
		primal, dual = p, d
	}
	return primal, dual
}

const (
	correctors  = 2
	reachMore   = 0.3
	lowProduct  = 0.1
	highProduct = 10
	leastGain   = 0.05 // of both steps together, for which another corrector is worth it
)

func (s *state) directions() []*[]float64 {
	return []*[]float64{&s.dp, &s.dz, &s.dr, &s.deta, &s.dx, &s.dprice, &s.dlambda, &s.ds, &s.dt, &s.dy, &s.dw}
}

// exchange keeps the direction for later, and takes the one that was kept: what it has will
// be overwritten, or it is wanted back.
func (s *state) exchange() {
	for i, d := range s.directions() {
		if i == len(s.kept) {
			s.kept = append(s.kept, make([]float64, len(*d), cap(*d)))
		}
		*d, s.kept[i] = s.kept[i], *d
	}
}

// blocks lists all complementary variables.
func (s *state) blocks() [5]block {
	return [...]block{
		{s.p, s.z, s.dp, s.dz, s.cp},
		{s.r, s.eta, s.dr, s.deta, s.cr},
		{s.x, s.price, s.dx, s.dprice, s.cx},
		{s.s, s.w, s.ds, s.dw, s.cs},
		{s.t, s.y, s.dt, s.dy, s.ct},
	}
}

func (s *state) aim(mu float64) {
	for _, b := range s.blocks() {
		if mu == 0 {
			clear(b.c)
		} else {
			aim(b.c, b.dx, b.dz, mu)
		}
	}
}

// products returns the sum of the products after a step.
func (s *state) products(primal, dual float64) float64 {
	var sum parts
	for _, b := range s.blocks() {
		b.products(&sum, primal, dual)
	}
	return sum.sum()
}

// lengths returns the longest steps, up to 1, that leave a share of every variable.
func (s *state) lengths(share float64) (primal, dual float64) {
	steps, duals := parts{1, 1, 1, 1}, parts{1, 1, 1, 1}
	for _, b := range s.blocks() {
		within(&steps, b.x, b.dx, share)
		within(&duals, b.z, b.dz, share)
	}
	return steps.least(), duals.least()
}

func (s *state) move(primal, dual float64) {
	for _, b := range s.blocks() {
		add(b.x, b.dx, primal)
		add(b.z, b.dz, dual)
	}
	add(s.lambda, s.dlambda, dual)
}
