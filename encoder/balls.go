// SPDX-License-Identifier: Apache-2.0

package encoder

import (
	"context"
	"math"
	"math/rand/v2"
	"sort"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
)

// balls is noise on balls for the ℓ2 distance of two points of the body.
type balls struct {
	base
	noise  *ball.Noise
	radii  []float64
	before []float64 // probability of the balls up to this one
}

func newBalls(ctx context.Context, b base) (Noise, error) {
	v, err := lp.DesignBall(ctx, ball.Problem{
		Dimension: b.body.Coordinates, Loss: loss.L2,
		Privacy: dp.Privacy{Epsilon: min(b.promise.Epsilon, lp.Limits.Epsilon.Max), Delta: b.promise.Delta, Sensitivity: b.body.diameter()},
	})
	if err != nil {
		return nil, check.Errorf("encoder", nil, "%w", err)
	}
	n := &balls{base: b, noise: v.Mechanism()}
	s, sum := n.noise.Spec(), 0.0
	for i, r := range s.Radii {
		sum += float64(s.Weights[i]) * 0x1p-64
		n.radii, n.before = append(n.radii, math.Ldexp(float64(r), s.StepExponent)), append(n.before, sum)
	}
	return n, nil
}

// diameter bounds the ℓ2 distance of two points, rounded up.
func (b Body) diameter() float64 {
	if b.Domain != bundle.Box {
		return 2 * b.Radius
	}
	return 2 * b.Radius * math.Sqrt(float64(b.Coordinates)) * (1 + 0x1p-40)
}

func (n *balls) Install(s *bundle.Spec) {
	n.install(s, n.kind.Composition())
	s.Ball = n.noise
}

func (n *balls) Release(dst, u []float64, r *rand.Rand) {
	z := n.body.Coordinates
	point := make([]float64, z)
	for k := 0; k < len(u); k += z {
		p := r.Float64()
		radius := n.radii[min(sort.Search(len(n.before), func(i int) bool { return p < n.before[i] }), len(n.radii)-1)]
		// Any direction alike, and the share t^d of a ball within t of its radius.
		squares := 0.0
		for i := range point {
			point[i] = r.NormFloat64()
			squares += point[i] * point[i]
		}
		scale := radius * math.Pow(r.Float64(), 1/float64(z)) / math.Sqrt(squares)
		for i, x := range point {
			dst[k+i] = u[k+i] + scale*x
		}
	}
}
