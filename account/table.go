// SPDX-License-Identifier: Apache-2.0

package account

import (
	"errors"
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// table is the profile of a table: the supremum over its shifts. As shifts by parts of a cell lie
// between shifts by whole cells (docs/proofs/table-privacy.md) those are enough.
type table struct {
	t *tables.Table
	// up and down bound the weights of the cells, in units of 2^-64, and are equal but for a tail
	// that was unrolled. logUp and logDown are their logarithms.
	up, down       []uint64
	logUp, logDown []float64
	symmetric      bool
	// tried are the shifts, of whole cells, whose profiles are among the largest, and attained
	// those in points, one for each, that neighbors can differ by.
	tried    []int
	attained []int64
	atom     uint64
	zero     int64  // position of the point 0, from the first point of up
	points   int64  // per cell
	rest     uint64 // mass of a tail beyond the unrolled cells, from above
	tailed   bool
	// coarse is the profile at multiples of coarseStep, from 0 on.
	coarse []float64
}

const (
	// mostLost is what rounding down may cost on average, in steps, for losses on the grid.
	mostLost = 0.05
	// maxUnrolled bounds the cells of a tail that are unrolled; the rest of
	// its mass is counted at its largest privacy loss.
	maxUnrolled = 1 << 20
)

func lossOfTable(t *tables.Table) (*PrivacyLossDistribution, error) {
	if t == nil || t.Loss() == nil {
		return nil, check.Field("account", "table", "none", "one made by New or Decode of package tables")
	}
	if _, err := t.Verify(); errors.Is(err, proof.ErrWork) {
		return nil, check.Errorf("account", nil, "table: %w", err)
	}
	certificate := t.Certify() // found by now, whatever the verdict
	if !certificate.SensitivityCovered {
		return nil, check.Errorf("account", dp.ErrInvalid, "table: its cells per sensitivity do not cover a sensitivity of %g", t.Privacy().Sensitivity)
	}
	l := &table{t: t, atom: t.Atom(), points: t.Grid().PointsPerCell, zero: -t.Grid().FirstPoint(0)}
	for i := range t.Cells() {
		l.up = append(l.up, t.Weight(i))
	}
	l.down = l.up
	if t.TailRatio() > 0 {
		if certificate.DeltaUpper.Sign() != 0 {
			return nil, check.Errorf("account", dp.ErrInvalid, "table: delta = %s at its epsilon and a tail, want a tail with delta = 0", certificate.DeltaUpper.FloatString(20))
		}
		l.tailed = true
		l.unroll()
	}
	l.logUp, l.logDown = logs(l.up), logs(l.down)
	l.symmetric = slices.Equal(l.up, reversed(l.up)) && slices.Equal(l.down, reversed(l.down))
	shifts := t.Grid().CellsPerSensitivity
	if !l.symmetric {
		shifts *= 2
	}
	if pairs := int64(shifts) * int64(len(l.up)); pairs > maxPairs {
		return nil, check.Errorf("account", proof.ErrWork, "table: %d cells and %d shifts have more than %d pairs, the most that are accounted for", len(l.up), shifts, maxPairs)
	}
	l.coarse = l.upper(coarseLosses)
	l.choose()
	return &PrivacyLossDistribution{pair: l}, nil
}

// choose finds the shifts that lower bounds are computed for; the bounds hold for any choice.
// The profiles of the shifts that the envelope bounds together, on a grid of all finite losses,
// are below those of the shifts that it looks at one by one.
func (l *table) choose() {
	const points = 64
	end := math.Max(reach(l.coarse, 0), coarseStep)
	l.tried = l.envelope(grid{step: end / points, first: -points, last: points}).tried
	furthest := l.furthest()
	for _, k := range l.tried {
		sign := int64(1)
		if k < 0 {
			sign, k = -1, -k
		}
		if m := min(int64(k)*l.points, furthest); m > int64(k-1)*l.points {
			l.attained = append(l.attained, sign*m)
		}
	}
}

// furthest returns a number of points that the rounded values of neighbors can
// differ by, at least one less than the largest: ⌊sensitivity/step⌋.
func (l *table) furthest() int64 {
	r := exact.Rational(l.t.Privacy().Sensitivity)
	r.Quo(r, l.t.Grid().Step())
	return exact.Floor(r).Int64() // covered, so below 2^63
}

// cell returns the index of the cell with the point n, which may be out of range.
func (l *table) cell(n int64) int { return int(exact.FloorDiv(l.zero+n, l.points)) }

// at returns w[i], or 0 out of range.
func at(w []uint64, i int) uint64 {
	if i < 0 || i >= len(w) {
		return 0
	}
	return w[i]
}

func reversed(w []uint64) []uint64 {
	out := slices.Clone(w)
	slices.Reverse(out)
	return out
}

// unroll lays out the cells of a tail, each weight bounded from both sides,
// until less than 2^-64 is left or maxUnrolled is reached.
func (l *table) unroll() {
	k := l.t.Grid().CellsPerSensitivity
	ratio := new(big.Int).SetUint64(l.t.TailRatio())
	// A block of weight W has W·(1−ρ)·ρ^m, m periods out.
	share := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 64), ratio)
	// Powers times ρ, m roundings, ρ <= 1 − 2^-20: they are short by less than 2^20 units.
	wrong := big.NewInt(1 << 20)
	ceiling := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 192), big.NewInt(1))
	period := func(block []uint64, factor *big.Int) (up, down []uint64, zero bool) {
		zero = true
		more := new(big.Int).Add(factor, wrong)
		for _, w := range block {
			weight := new(big.Int).SetUint64(w)
			low := new(big.Int).Mul(weight, factor)
			low.Rsh(low, 192)
			high := weight.Mul(weight, more)
			high.Add(high, ceiling).Rsh(high, 192)
			zero = zero && low.Sign() == 0
			up, down = append(up, high.Uint64()), append(down, low.Uint64())
		}
		return up, down, zero
	}
	w, n := l.up, len(l.up)
	left, right := w[:k], w[n-k:]
	var ups, downs [2][][]uint64
	// factor is (1−ρ)·ρ^m in units of 2^-192, rounded down.
	factor := new(big.Int).Lsh(share, 128)
	periods := 0
	for ; periods*k < maxUnrolled; periods++ {
		lu, ld, leftZero := period(left, factor)
		ru, rd, rightZero := period(right, factor)
		ups[0], downs[0] = append(ups[0], lu), append(downs[0], ld)
		ups[1], downs[1] = append(ups[1], ru), append(downs[1], rd)
		factor.Mul(factor, ratio)
		factor.Rsh(factor, 64)
		if leftZero && rightZero {
			periods++
			break
		}
	}
	join := func(sides [2][][]uint64) []uint64 {
		slices.Reverse(sides[0])
		return slices.Concat(slices.Concat(sides[0]...), w[k:n-k], slices.Concat(sides[1]...))
	}
	l.up, l.down = join(ups), join(downs)
	l.zero += int64(periods-1) * int64(k) * l.points
	// The rest is all mass that down does not have.
	var sum uint64
	for _, x := range l.down {
		sum += x
	}
	l.rest = -(sum + l.atom) // 2^64 − sum − atom
}

func (l *table) unit(float64) float64 { return l.t.Privacy().Epsilon }
func (l *table) narrow() float64      { return math.Inf(1) }

// fits looks at the losses of a shift by whole cells: designed noise has nearly all of
// them at multiples of its epsilon, other shapes anywhere.
func (l *table) fits(step float64) bool {
	k := l.t.Grid().CellsPerSensitivity
	var all, lost float64 // rounding down costs, in steps
	for j := k; j < len(l.down); j++ {
		if l.down[j] == 0 || l.up[j-k] == 0 {
			continue
		}
		x := (l.logDown[j]-l.logUp[j-k])/step + slackShare
		p := float64(l.down[j])
		all += p
		lost += p * (x - math.Floor(x))
	}
	return lost <= mostLost*all
}

func (l *table) deltaUpper(epsilon float64) float64 {
	return exact.FloatUp(l.t.DeltaUpperAt(min(epsilon, check.MaxEpsilon)))
}

func (l *table) epsilonUpper(delta float64) (float64, error) {
	return solveOnGrids(l.coarse, l.upper, l.deltaUpper, delta)
}

// deltaLower is about the shift, of those attained, that costs most: for any set
// of cells Σ p − e^ε·q is a lower bound, and the set found in float64 is close to
// the best one. The sum itself is exact, with e^ε rounded up.
func (l *table) deltaLower(epsilon float64) float64 {
	if epsilon > check.MaxEpsilon {
		return 0
	}
	e := math.Exp(epsilon)
	high := ratioUp(epsilon)
	best := 0.0
	for _, m := range l.attained {
		k := exact.FloorDiv(m, l.points)
		r := m - k*l.points
		share := float64(r) / float64(l.points)
		d := (1-share)*excess(l.down, l.up, int(k), !l.tailed, e, high) + share*excess(l.down, l.up, int(k)+1, !l.tailed, e, high)
		if l.atom > 0 {
			d += l.atomExcess(m, e)
		}
		best = math.Max(best, d*(1-8*roundoff))
	}
	return best
}

// atomExcess returns a lower bound on what the atoms of P, at 0, and of Q, at m, change in Σ (p −
// e^ε·q)₊. That of P adds, and that of Q takes away the gain of at most one point.
func (l *table) atomExcess(m int64, e float64) float64 {
	points, atom := float64(l.points), float64(l.atom)
	own, partner := float64(at(l.down, l.cell(0))), float64(at(l.up, l.cell(-m)))
	const up, down = 1 + 16*roundoff, 1 - 16*roundoff
	gain := atom*down - math.Max(0, e*partner*up-own)/points
	lost := math.Max(0, float64(at(l.up, l.cell(m)))*up-e*float64(at(l.down, l.cell(0)))) / points
	return (math.Max(0, gain) - lost) * 0x1p-64
}

func (l *table) extent(tail float64) (least, most float64) {
	most = reach(l.coarse, tail)
	if l.tailed {
		most = math.Min(most, l.t.Privacy().Epsilon*(1+0x1p-40))
	}
	// P(loss <= −x) = ∫ e^loss dQ is smaller than the tail on the other side.
	return -most, most
}

// envelope looks at all shifts. The mirror image of one is the opposite one, and the atom is
// charged in full whatever the shift.
func (l *table) envelope(g grid) *envelope {
	var extra exact.Uint128
	extra.Add64(l.rest)
	extra.Add64(l.atom)
	e, k := newEnvelope(g, law{l.up, l.logUp}, law{l.down, l.logDown}, extra), l.t.Grid().CellsPerSensitivity
	e.shift(k)
	e.shifts(1, k-1, 1)
	if !l.symmetric {
		e.shift(-k)
		e.shifts(1, k-1, -1)
	}
	return e
}

// upper is the envelope, with the atom and the rest of a tail charged in full.
func (l *table) upper(g grid) []float64 {
	out := l.envelope(g).heights
	for i := range out {
		out[i] = math.Min(1, out[i]*0x1p-64*(1+8*roundoff))
		if l.tailed && g.at(g.first+i) >= l.t.Privacy().Epsilon {
			out[i] = 0 // its certificate: delta = 0 at its epsilon
		}
	}
	return out
}

// lower takes the pairs of neighbors that are one attained shift apart.
func (l *table) lower(g grid, theta float64) []*pmf {
	b := newLosses(g)
	weight := make([]float64, g.len())
	for i := range weight {
		weight[i] = math.Exp(theta * g.step * float64(i-len(weight)+1))
	}
	var finite, lone *pmf
	best := 0.0
	for _, m := range l.attained {
		d := l.apart(b, g, m)
		score := 0.0
		for i, m := range d.mass {
			score += m * weight[i]
		}
		if finite == nil || score > best {
			finite, best = d, score
		}
		if lone == nil || d.infinityMass > lone.infinityMass {
			lone = d
		}
	}
	if finite == nil { // the sensitivity is less than a step
		return []*pmf{{step: g.step, first: g.first, mass: make([]float64, g.len())}}
	}
	if lone.infinityMass <= 1.001*finite.infinityMass { // not worth another composition
		return []*pmf{finite}
	}
	return []*pmf{finite, lone}
}

// apart returns a sub-law of the losses after a shift by m points, each, less
// slackShare of a step, rounded down. Of the points of a cell, r are compared with
// the cell k+1 before it and the others with the cell k before it, m = k·S + r.
func (l *table) apart(b *losses, g grid, m int64) *pmf {
	d := &pmf{step: g.step, first: g.first, mass: make([]float64, g.len())}
	slack := g.slack()
	whole := exact.FloorDiv(m, l.points)
	r := m - whole*l.points
	for i, points := range []int64{l.points - r, r} {
		if points == 0 {
			continue
		}
		share := float64(points) / float64(l.points) * 0x1p-64 * (1 - 8*roundoff)
		b.spread(g, int(whole)+i, law{l.down, l.logDown}, law{l.up, l.logUp}, slack)
		if !l.tailed { // else this is a rounding of finite losses
			d.infinityMass += b.lone.Float64() * share
		}
		for i := range d.mass {
			d.mass[i] += b.gain[i].Float64() * share
		}
	}
	if l.atom > 0 {
		l.moveAtom(d, m, slack)
	}
	return d
}

// moveAtom accounts for the atoms of P, at 0, and of Q, at m, in the measure d of the cells. Where
// that of Q lies, P has one point of a cell, whose loss may be anything: it is taken out.
func (l *table) moveAtom(d *pmf, m int64, slack float64) {
	points, top := float64(l.points), len(d.mass)-1
	index := func(p, q float64) int {
		i := math.Floor((math.Log(p)-math.Log(q)+slack)/d.step) - float64(d.first)
		return int(math.Max(-2, math.Min(i, float64(top))))
	}
	mass := float64(l.atom) * 0x1p-64 * (1 - 2*roundoff)
	if partner := at(l.up, l.cell(-m)); partner == 0 {
		d.infinityMass += mass
	} else if i := index(float64(at(l.down, l.cell(0)))+float64(l.atom)*points, float64(partner)); i >= 0 {
		d.mass[i] += mass
	}
	own, partner := at(l.up, l.cell(m)), at(l.down, l.cell(0))
	point := float64(own) * 0x1p-64 / points * (1 + 8*roundoff)
	take := func(from *float64) {
		taken := math.Min(point, *from)
		*from -= taken
		point -= taken * (1 - 2*roundoff)
	}
	if own > 0 && partner == 0 {
		take(&d.infinityMass)
	} else if own > 0 {
		// Rounding may have put the cell one loss higher.
		for i := min(index(float64(own), float64(partner))+1, top); i >= 0 && point > 0; i-- {
			take(&d.mass[i])
		}
	}
}
