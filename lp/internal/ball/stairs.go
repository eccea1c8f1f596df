// SPDX-License-Identifier: Apache-2.0

package ball

import (
	"context"
	"errors"
	"math"

	"github.com/noisewright/noisewright/proof"
)

// stairs are rings whose densities fall by the same factor from one to the next, by e^ε over per of them.
//
// Where per rings are a shift wide, they are private with a delta of 0 but for their end. Where they are narrower by a
// share t, the points less than t inside an edge are moved over one ring more by directions of a probability that grows like
// (t·(r+1)/r)^((d−1)/2), and what all edges add to the divergence is the integral of that, whatever their number. By as much
// as the density falls faster, the loss is less by G(r)·t, with G(r) that of what is outside of r, above its mean. So by
// Lagrange the best t is, up to a factor, the share of narrow: r/(r+1)·(G(r)/density of the norm at r)^(2/(d−1)).
type stairs struct {
	*design
	per    int
	narrow []float64 // in the middle of each of so many parts of a shift, 1 at most
}

const (
	partsOfShift = 64
	stairRings   = 300 // about, but for as many as there are shifts
	longer       = 1.2 // by how much they end after pure noise can be cut off
	narrowest    = 0.5
)

// newStairs returns nil where the rings would be too many.
func (d *design) newStairs() *stairs {
	end := longer * d.end
	per := max(1, int(min(max(8, 8*d.epsilon), stairRings/end)))
	if end > mostStairs {
		return nil
	}
	n := int(end+1) * partsOfShift
	s := &stairs{d, per, make([]float64, n)}
	middle := func(i int) float64 { return (float64(i) + 0.5) / partsOfShift }
	density := func(r float64) float64 { return d.power(r) / r * math.Exp(-d.epsilon*r) }
	all, mean := 0.0, 0.0
	for i := range n {
		r := middle(i)
		all += density(r)
		mean += density(r) * math.Pow(r, d.p)
	}
	mean /= all
	excess := func(i int) float64 { return density(middle(i)) * (math.Pow(middle(i), d.p) - mean) }
	// G from where it is next to nothing, as the sum of all cancels.
	sum, last := 0.0, n-1
	for ; last >= 0 && excess(last) > 0; last-- {
		sum += excess(last)
		s.narrow[last] = sum
	}
	sum = 0
	for i := range last + 1 {
		sum -= excess(i)
		s.narrow[i] = sum
	}
	most := 0.0
	for i, g := range s.narrow {
		r := middle(i)
		s.narrow[i] = r / (r + 1) * math.Pow(g/density(r), 2/(float64(d.space)-1))
		most = max(most, s.narrow[i])
	}
	for i := range s.narrow {
		s.narrow[i] /= most
	}
	return s
}

// laid returns the edges of rings that are narrower by a multiple of the profile.
func (s *stairs) laid(factor float64) []float64 {
	edges := []float64{0}
	for r := 0.0; r < longer*s.end; {
		i := min(int((r+0.5)*partsOfShift), len(s.narrow)-1)
		r += (1 - factor*s.narrow[i]) / float64(s.per)
		edges = append(edges, math.Round(r*float64(s.shift))/float64(s.shift))
	}
	return edges
}

// density returns that of a ring, from 0, up to a factor.
func (s *stairs) density(ring int) float64 {
	return math.Exp(-s.epsilon * (1 - 1e-12) * float64(ring) / float64(s.per))
}

// divergence returns that of stairs and themselves moved by 1.
func (s *stairs) divergence(edges []float64) float64 {
	all, sum, n := 0.0, 0.0, len(edges)-1
	for i := range n {
		volume := s.power(edges[i+1]) - s.power(edges[i])
		in := func(j int) float64 { return s.both(edges[i+1], edges[j]) - s.both(edges[i], edges[j]) }
		j := min(i+s.per+1, n) // the first edge that is too far
		inside := in(j)
		all += s.density(i) * volume
		sum += s.density(i) * (volume - inside)
		for ; j < n && edges[j] < edges[i+1]+1; j++ {
			next := in(j + 1)
			sum -= math.Exp(s.epsilon) * s.density(j) * (next - inside)
			inside = next
		}
	}
	return sum / all
}

// best returns the edges of the narrowest rings with a delta.
func (s *stairs) best(delta float64) []float64 {
	low, high := 0.0, narrowest
	for range 40 {
		if middle := (low + high) / 2; s.divergence(s.laid(middle)) > delta {
			high = middle
		} else {
			low = middle
		}
	}
	return s.laid(low)
}

// climb keeps stairs, and what programs make of their edges.
func (d *design) climb(ctx context.Context) error {
	s := d.newStairs()
	if s == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	for _, m := range margins {
		edges := s.best(d.delta * (1 - m))
		radii, weights := d.steps(edges), make([]float64, len(edges)-1)
		for i := range weights {
			weights[i] = s.density(i) * d.power(edges[i+1])
			if i+1 < len(weights) {
				weights[i] -= s.density(i+1) * d.power(edges[i+1])
			}
		}
		if err := d.keep(radii, weights); !errors.Is(err, proof.ErrNotPrivate) {
			break
		}
	}
	if edges := s.best(d.delta); len(edges) <= mostRings+1 {
		return d.refine(ctx, edges)
	}
	return nil
}
