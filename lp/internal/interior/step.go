package interior

// iterate takes one step, and reports whether there was one.
func (s *state) iterate() bool {
	if !s.build() {
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
		s.keep()
		s.blocks(func(x, z, dx, dz, c []float64) {
			for i := range c {
				v := (x[i] + far*dx[i]) * (z[i] + farDual*dz[i])
				switch {
				case v < lowProduct*target:
					c[i] += lowProduct*target - v
				case v > highProduct*target:
					c[i] += max(highProduct*target-v, -highProduct*target)
				}
			}
		})
		s.direction()
		p, d := s.lengths(stepShare)
		if p+d < primal+dual {
			s.restore()
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

// directions lists all parts of the direction.
func (s *state) directions() []*[]float64 {
	return []*[]float64{&s.dp, &s.dz, &s.dr, &s.deta, &s.dx, &s.dprice, &s.dlambda, &s.ds, &s.dt, &s.dy, &s.dw}
}

func (s *state) keep() {
	for i, d := range s.directions() {
		if i == len(s.kept) {
			s.kept = append(s.kept, make([]float64, len(*d), cap(*d)))
		}
		copy(s.kept[i], *d)
	}
}

func (s *state) restore() {
	for i, d := range s.directions() {
		*d, s.kept[i] = s.kept[i], *d
	}
}

// blocks shows all complementary variables, their directions and right sides.
func (s *state) blocks(show func(x, z, dx, dz, c []float64)) {
	show(s.p, s.z, s.dp, s.dz, s.cp)
	show(s.r, s.eta, s.dr, s.deta, s.cr)
	show(s.x, s.price, s.dx, s.dprice, s.cx)
	show(s.s, s.w, s.ds, s.dw, s.cs)
	show(s.t, s.y, s.dt, s.dy, s.ct)
}

// aim sets the right sides to products of mu, less those of the direction if mu > 0.
func (s *state) aim(mu float64) {
	s.blocks(func(_, _, dx, dz, c []float64) {
		if mu == 0 {
			clear(c)
			return
		}
		for i := range c {
			c[i] = mu - dx[i]*dz[i]
		}
	})
}

// products returns the sum of the products after a step.
func (s *state) products(primal, dual float64) (sum float64) {
	s.blocks(func(x, z, dx, dz, _ []float64) {
		for i := range x {
			sum += (x[i] + primal*dx[i]) * (z[i] + dual*dz[i])
		}
	})
	return sum
}

// lengths returns the longest steps, up to 1, that leave a share of every variable.
func (s *state) lengths(share float64) (primal, dual float64) {
	primal, dual = 1, 1
	s.blocks(func(x, z, dx, dz, _ []float64) {
		for i := range x {
			if -primal*dx[i] > share*x[i] {
				primal = share * x[i] / -dx[i]
			}
			if -dual*dz[i] > share*z[i] {
				dual = share * z[i] / -dz[i]
			}
		}
	})
	return primal, dual
}

func (s *state) move(primal, dual float64) {
	s.blocks(func(x, z, dx, dz, _ []float64) {
		for i := range x {
			x[i] += primal * dx[i]
			z[i] += dual * dz[i]
		}
	})
	for i, d := range s.dlambda {
		s.lambda[i] += dual * d
	}
}
