// SPDX-License-Identifier: Apache-2.0

// Package ball designs noise on balls: by linear programs in the densities of rings, of which only the
// longest shift is a limit, on grids of radii that are refined where another ball would lose less. Lengths are in
// units of that shift. What it finds is not trusted, but certified.
package ball

import (
	"context"
	"errors"
	"math"

	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/lp/internal/engine/cuts"
	"github.com/noisewright/noisewright/lp/internal/engine/interior"
)

// space is that of vectors of a dimension; volumes are those of the unit ball.
type space int

// power returns r^d.
func (d space) power(r float64) float64 {
	x := r
	for range d - 1 {
		x *= r
	}
	return x
}

// capped returns the volume of a ball of radius r beyond a plane that is h away from its center,
// -r <= h <= r (docs/proofs/ball.md).
func (d space) capped(r, h float64) float64 {
	c := h / r
	s2 := max(0, 1-c*c)
	at, coefficient, sum := 1.0, 1.0, 0.0
	if d%2 == 1 {
		for k := 1; k <= int(d)/2+1; k++ {
			sum += coefficient * at
			coefficient *= float64(2*k-1) / float64(2*k)
			at *= s2
		}
		return d.power(r) * (1 - c*sum) / 2
	}
	for k := 1; k <= int(d)/2; k++ {
		sum += coefficient * at
		coefficient *= float64(2*k) / float64(2*k+1)
		at *= s2
	}
	s := math.Sqrt(s2)
	return d.power(r) * (math.Atan2(s, c) - c*s*sum) / math.Pi
}

// both returns the volume of the intersection of balls around centers that are 1 apart.
func (d space) both(a, b float64) float64 {
	if a > b {
		a, b = b, a
	}
	switch {
	case a+1 <= b:
		return d.power(a)
	case a+b <= 1:
		return 0
	}
	h := (a*a - b*b + 1) / 2
	return d.capped(a, h) + d.capped(b, 1-h)
}

// rings is a program: the densities of rings between the edges, the first of which is 0.
type rings struct {
	space
	epsilon, delta float64
	p              float64 // the power of the norm that is lost
	unit           float64 // of losses
	edges          []float64

	volume  []float64
	overlap [][]float64 // of ring i and moved ring j; the last column is beyond all
	pair    [][]float64 // of balls, by their edges
}

// negligible is the share of the smaller of two volumes below which an overlap is but rounding.
const negligible = 1e-12

func (r *rings) lay() {
	n := len(r.edges) - 1
	r.pair = make([][]float64, n+1)
	for i := range r.pair {
		r.pair[i] = make([]float64, n+1)
		for j := 1; j <= i; j++ {
			r.pair[i][j] = r.both(r.edges[i], r.edges[j])
			r.pair[j][i] = r.pair[i][j]
		}
	}
	r.volume, r.overlap = make([]float64, n), make([][]float64, n)
	for i := range r.volume {
		r.volume[i] = r.power(r.edges[i+1]) - r.power(r.edges[i])
	}
	for i := range r.overlap {
		r.overlap[i] = make([]float64, n+1)
		rest := r.volume[i]
		for j := range n {
			v := r.pair[i+1][j+1] - r.pair[i][j+1] - r.pair[i+1][j] + r.pair[i][j]
			if v < negligible*min(r.volume[i], r.volume[j]) || r.edges[j] >= r.edges[i+1]+1 || r.edges[i] >= r.edges[j+1]+1 || r.edges[i+1]+r.edges[j+1] <= 1 {
				continue
			}
			r.overlap[i][j] = v
			rest -= v
		}
		if rest > negligible*r.volume[i] && r.edges[i+1]+1 > r.edges[n] {
			r.overlap[i][n] = rest
		}
	}
}

// loss returns that of a ball, in units.
func (r *rings) loss(radius float64) float64 {
	return float64(r.space) / (float64(r.space) + r.p) * math.Pow(radius, r.p) / r.unit
}

// solution is one of a program.
type solution struct {
	weights []float64 // of the balls inside edges 1, 2, …
	value   float64   // their expected loss, in units
	price   float64   // of delta
	// multiplier is the price of each overlap per volume, 0 to price.
	multiplier [][]float64
}

var errFailed = errors.New("the program of rings was not solved")

// solve solves the program to a relative gap, from densities that fall like those of pure noise.
func (r *rings) solve(ctx context.Context, gap float64) (*solution, error) {
	n := len(r.volume)
	p := cuts.Problem{Ratio: math.Exp(r.epsilon), Delta: r.delta}
	total := cuts.Row{Lower: 1, Upper: 1}
	start := make([]float64, n)
	for i, v := range r.volume {
		// The mean loss of a ring, by those of the balls around and in it.
		p.Cost = append(p.Cost, r.loss(r.edges[i+1])*r.power(r.edges[i+1])-r.loss(r.edges[i])*r.power(r.edges[i]))
		total.Index, total.Value = append(total.Index, i), append(total.Value, v)
		start[i] = math.Exp(-r.epsilon*(r.edges[i]+r.edges[i+1])/2) + 1e-3*r.delta
	}
	p.Rows = []cuts.Row{total}
	for i := range n - 1 { // densities fall
		p.Rows = append(p.Rows, cuts.Row{Lower: 0, Upper: math.Inf(1), Index: []int{i, i + 1}, Value: []float64{1, -1}})
	}
	var limit cuts.Limit
	add := func(gain, lose int, v float64) {
		if v > 0 {
			limit.Gain, limit.Lose, limit.Weight = append(limit.Gain, gain), append(limit.Lose, lose), append(limit.Weight, v)
		}
	}
	for apart := 1; apart < n; apart++ { // as only what is nearer to the first center gains
		for i := range n - apart {
			add(i, i+apart, r.overlap[i][i+apart])
		}
	}
	for i := range n {
		add(i, -1, r.overlap[i][n])
	}
	p.Limits = []cuts.Limit{limit}
	program := interior.New(p, interior.Options{Start: start})
	status, err := program.Solve(ctx, gap, 1e-7)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil || status != solver.StatusOptimal {
		return nil, errFailed
	}
	f := append(append([]float64(nil), program.Masses()...), 0)
	s := &solution{value: program.Value(), price: program.Price(0), multiplier: make([][]float64, n)}
	for i := range n {
		s.weights = append(s.weights, max(0, f[i]-f[i+1])*r.power(r.edges[i+1]))
		s.multiplier[i] = make([]float64, n+1)
		s.multiplier[i][n] = s.price
	}
	for k, i := range limit.Gain {
		if j := limit.Lose[k]; j >= 0 {
			s.multiplier[i][j] = program.Multiplier(0, k)
		}
	}
	return s, nil
}

// reduced returns the losses of balls with the prices of a solution: the least of them is attained by
// the balls with weights, and a ball with less would make the noise better.
type reduced struct {
	*rings
	*solution
	within []float64 // what the rings up to each edge add, but for the losses
}

func (r *rings) reduced(s *solution) *reduced {
	n := len(r.volume)
	out, e := &reduced{r, s, make([]float64, n+1)}, math.Exp(r.epsilon)
	for i := range n {
		sum := 0.0
		for j := range n + 1 {
			sum += s.multiplier[i][j] * r.overlap[i][j]
			if j < n {
				sum -= e * s.multiplier[j][i] * r.overlap[j][i]
			}
		}
		out.within[i+1] = out.within[i] + sum
	}
	return out
}

// at returns it for a radius in a ring, or its outer edge.
func (r *reduced) at(radius float64, ring int) float64 {
	sum, before := r.within[ring], 0.0
	rest, e := r.power(radius)-r.power(r.edges[ring]), math.Exp(r.epsilon)
	for j := range r.volume {
		if r.edges[j] >= radius+1 || r.edges[j+1] <= r.edges[ring]-1 || r.edges[j+1]+radius <= 1 {
			continue
		}
		// The part of the ring up to the radius, and moved ring j.
		v := r.both(radius, r.edges[j+1]) - r.pair[ring][j+1]
		sum += (r.multiplier[ring][j] - e*r.multiplier[j][ring]) * (v - before)
		rest -= v - before
		before = v
	}
	return r.loss(radius) + (sum+r.price*max(0, rest))/r.power(radius)
}
