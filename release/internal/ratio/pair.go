// SPDX-License-Identifier: Apache-2.0

package ratio

import (
	"math/big"
	"sync"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

const (
	// Of the points of NewPairNoise: a fine grid costs a share of 1/points of epsilon,
	// and one much finer than the noise takes long to draw from.
	mostPoints  = 1 << 12
	leastPoints = 1 << 6
	mostScale   = 1 << 17 // of the noise, in points, unless there are leastPoints
)

// pairEpsilon returns the epsilon of releasing two sums, each rounded to points and with
// noise of the table of its own, if neighbors change the two by at most so many points
// together before they are rounded.
//
// Guarantee (docs/proofs/mean.md): the release is (epsilon, 0)-private. The bound is
// exact and holds for every table, but is good for tables whose privacy is promised for
// a single cell only, such as those of NewPairNoise: for these a change of the two
// costs as much as one of a single sum.
//
// The error wraps dp.ErrInvalid unless the table promises a delta of 0, and points are above 0.
func pairEpsilon(v *tables.Verified, points *big.Rat) (*big.Rat, error) {
	t := v.Mechanism()
	if t == nil || t.Privacy().Delta != 0 {
		return nil, check.Field("ratio", "table", "one without a proof for delta = 0", "a table that promises a delta of 0")
	}
	if points.Sign() <= 0 {
		return nil, check.Field("ratio", "points", points.RatString(), "a number above 0")
	}
	g := t.Grid()
	proved := new(big.Int).Mul(big.NewInt(int64(g.CellsPerSensitivity)), big.NewInt(g.PointsPerCell))
	times := exact.Ceil(new(big.Rat).Quo(points, new(big.Rat).SetInt(proved)))
	times.Add(times, big.NewInt(1)) // both are rounded up
	epsilon := exact.Rational(t.Privacy().Epsilon)
	return epsilon.Mul(epsilon, new(big.Rat).SetInt(times)), nil
}

// made are the latest results of NewPairNoise, by epsilon: statistics that are asked for together mostly have the same
// one, and a table takes some 50 ms.
var made = struct {
	sync.Mutex
	noise map[float64]pairTable
}{noise: map[float64]pairTable{}}

type pairTable struct {
	table  *tables.Verified
	points int64
}

// maxMade bounds those that are kept, of some 100 KiB each.
const maxMade = 64

// NewPairNoise returns Laplace noise for the sums of a Pair: pairEpsilon of the table and
// the number of points is at most epsilon. So the largest change of the two together
// is to be that many points: 4096, or fewer, at least 64, for an epsilon below 1/32. The
// scale of the noise is (points+1)/epsilon points.
//
// The error wraps dp.ErrInvalid unless epsilon is from 2^-13 to 100.
func NewPairNoise(epsilon float64) (v *tables.Verified, points int64, err error) {
	if !(epsilon >= 0x1p-13 && epsilon <= check.MaxEpsilon) {
		return nil, 0, check.Field("ratio", "epsilon", epsilon, "a number from 2^-13 to 100")
	}
	made.Lock()
	defer made.Unlock()
	if n, ok := made.noise[epsilon]; ok {
		return n.table, n.points, nil
	}
	points = mostPoints
	for points > leastPoints && float64(points) > mostScale*epsilon {
		points /= 2
	}
	each := exact.Rational(epsilon)
	each.Quo(each, new(big.Rat).SetInt64(points+1))
	v, err = shapes.Laplace(dp.Problem{
		Privacy: dp.Privacy{Epsilon: exact.FloatDown(each), Sensitivity: 1},
		Query:   dp.IntegerQuery,
		Loss:    loss.L1,
	}, tables.Grid{})
	if err != nil {
		return nil, 0, check.Errorf("ratio", nil, "%w", err)
	}
	if len(made.noise) == maxMade {
		clear(made.noise)
	}
	made.noise[epsilon] = pairTable{v, points}
	return v, points, nil
}
