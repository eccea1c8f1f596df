package account

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"github.com/noisewright/noisewright/tables"
)

// table is the profile of a sampling table: the supremum over all shifts by up
// to its sensitivity. As shifts by parts of a cell lie between shifts by whole
// cells (docs/proofs/table-privacy.md) those are enough.
type table struct {
	t *tables.Table
	// up and down bound the weights of the cells, in units of 2^-64, and are
	// equal but for a tail that was unrolled. logUp and logDown are their
	// logarithms.
	up, down       []uint64
	logUp, logDown []float64
	shifts         []int
	atom           uint64
	center         int     // the cell that holds the point 0
	points         float64 // per cell
	rest           uint64  // mass of a tail beyond the unrolled cells, from above
	// most is the largest finite loss a tail can have, by its certificate.
	tailed bool
	// coarse is the profile at multiples of coarseStep, from 0 on.
	coarse []float64
}

const (
	coarseStep = 0x1p-4
	// maxLoss exceeds log 2^64, the largest finite privacy loss of a table.
	maxLoss = 45
	// maxUnrolled bounds the cells of a tail that are unrolled; the rest of
	// its mass is counted at its largest privacy loss.
	maxUnrolled = 1 << 20
)

// Table is a release of noise drawn from the table, for the sensitivity it
// promises. It trusts the weights and nothing the table claims: a table whose
// claims do not verify is accounted for as what it is.
//
// The error wraps ErrInvalid if the table's cells do not cover its sensitivity.
func Table(t *tables.Table) (*Mechanism, error) {
	certificate := t.Certify()
	if !certificate.SensitivityCovered {
		return nil, fmt.Errorf("account: table: its cells per sensitivity do not cover a sensitivity of %g: %w", t.Privacy().Sensitivity, ErrInvalid)
	}
	p := t.Privacy()
	l := &table{t: t, atom: t.Atom(), points: float64(t.Grid().PointsPerCell)}
	if t.TailRatio() > 0 {
		if certificate.DeltaUpper.Sign() != 0 {
			return nil, fmt.Errorf("account: table: delta = %s at its epsilon and a tail, want a tail with delta = 0: %w", certificate.DeltaUpper.FloatString(20), ErrInvalid)
		}
		l.tailed = true
		l.unroll()
	} else {
		for i := range t.Cells() {
			l.up = append(l.up, t.Weight(i))
		}
		l.down = l.up
		l.center = l.cellOfZero(0)
	}
	l.logUp, l.logDown = logs(l.up), logs(l.down)
	symmetric := slices.Equal(l.up, reversed(l.up)) && slices.Equal(l.down, reversed(l.down)) &&
		(l.atom == 0 || l.center == len(l.up)-1-l.center)
	for k := 1; k <= t.Grid().CellsPerSensitivity; k++ {
		l.shifts = append(l.shifts, k)
		if !symmetric {
			l.shifts = append(l.shifts, -k)
		}
	}
	l.coarse = l.upper(grid{step: coarseStep, first: 0, last: int(maxLoss / coarseStep)})
	return &Mechanism{fmt.Sprintf("table:epsilon=%g,delta=%g,loss=%s", p.Epsilon, p.Delta, t.Loss().Name()), l}, nil
}

// cellOfZero returns the index of the cell that holds the point 0, given the
// number of cells unrolled before the table's first, or -1 if there is none.
func (l *table) cellOfZero(before int) int {
	g := l.t.Grid()
	for i := range l.t.Cells() {
		if first := g.FirstPoint(i); first <= 0 && 0 < first+g.PointsPerCell {
			return i + before
		}
	}
	return -1
}

func logs(w []uint64) []float64 {
	out := make([]float64, len(w))
	for i, x := range w {
		out[i] = math.Log(float64(x)) // −Inf for 0
	}
	return out
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
	period := func(block []uint64, m int, factor *big.Int) (up, down []uint64, zero bool) {
		zero = true
		for _, w := range block {
			p := new(big.Int).Mul(new(big.Int).SetUint64(w), factor)
			low := new(big.Int).Rsh(p, 192)
			high := new(big.Int).Rsh(p.Add(p, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 192), big.NewInt(1))), 192)
			if low.Sign() > 0 {
				zero = false
			}
			up, down = append(up, high.Uint64()), append(down, low.Uint64())
		}
		return up, down, zero
	}
	n := l.t.Cells()
	w := make([]uint64, n)
	for i := range w {
		w[i] = l.t.Weight(i)
	}
	left, right := w[:k], w[n-k:]
	var ups, downs [2][][]uint64
	// factor is (1−ρ)·ρ^m in units of 2^-192, rounded down; one unit more is an
	// upper bound, which the rounding up of the weights covers.
	factor := new(big.Int).Lsh(share, 128)
	periods := 0
	for ; periods*k < maxUnrolled; periods++ {
		lu, ld, leftZero := period(left, periods, factor)
		ru, rd, rightZero := period(right, periods, factor)
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
		var out []uint64
		for i := len(sides[0]) - 1; i >= 0; i-- {
			out = append(out, sides[0][i]...)
		}
		out = append(out, w[k:n-k]...)
		for _, s := range sides[1] {
			out = append(out, s...)
		}
		return out
	}
	l.up, l.down = join(ups), join(downs)
	l.center = l.cellOfZero((periods - 1) * k)
	// What is not in down is in the rest.
	var sum uint64
	for _, x := range l.down {
		sum += x
	}
	l.rest = -(sum + l.atom) // 2^64 − sum − atom
}

func (l *table) unit() float64 { return l.t.Privacy().Epsilon }

func (l *table) deltaUpper(epsilon float64) float64 {
	if epsilon > tables.MaxEpsilon {
		epsilon = tables.MaxEpsilon
	}
	return floatUp(l.t.DeltaUpperAt(epsilon))
}

// deltaLower takes off what DeltaUpperAt added: the atom, which it counts in
// full, and the rounding of e^ε.
func (l *table) deltaLower(epsilon float64) float64 {
	if epsilon > tables.MaxEpsilon {
		return 0
	}
	r := l.t.DeltaUpperAt(epsilon)
	r.Sub(r, new(big.Rat).SetFrac(new(big.Int).SetUint64(l.atom), new(big.Int).Lsh(big.NewInt(1), 64)))
	f, _ := r.Float64()
	return math.Max(0, f*(1-2*roundoff)-0x1p-90*math.Exp(epsilon))
}

// floatUp rounds r >= 0 up to a float64.
func floatUp(r *big.Rat) float64 {
	f, exact := r.Float64()
	if !exact && new(big.Rat).SetFloat64(f).Cmp(r) < 0 {
		f = math.Nextafter(f, math.Inf(1))
	}
	return f
}

func (l *table) extent(tail float64) (least, most float64) {
	end := l.coarse[len(l.coarse)-1]
	i := slices.IndexFunc(l.coarse, func(h float64) bool { return h <= end+tail })
	most = float64(i) * coarseStep
	if l.tailed {
		most = math.Min(most, l.unit()*(1+0x1p-40))
	}
	// P(loss <= −x) = ∫ e^loss dQ is smaller than the tail on the other side.
	return -most, most
}

// losses says how the pairs of one shift spread over the losses of a grid.
type losses struct {
	gain, price []sum128 // of the losses at or above the grid's, below the next
	lone        sum128   // gain at infinite loss
}

// spread fills b for the shift by k cells. Cell j of P is at the loss
// log p_j/q_j, q_j = weight j−k, and counts for the largest loss of the grid
// that this, plus slack, reaches.
func (l *table) spread(b *losses, g grid, k int, p, q []uint64, logP, logQ []float64, slack float64) {
	clear(b.gain)
	clear(b.price)
	b.lone = sum128{}
	n, top := len(p), g.last-g.first
	lo, hi := min(max(k, 0), n), max(min(n+k, n), 0)
	for j := range lo {
		b.lone.add(p[j])
	}
	for j := max(hi, lo); j < n; j++ {
		b.lone.add(p[j])
	}
	inverse := 1 / g.step
	for j := lo; j < hi; j++ {
		if q[j-k] == 0 {
			b.lone.add(p[j])
			continue
		}
		if p[j] == 0 {
			continue
		}
		loss := logP[j] - logQ[j-k] + slack
		i := int(math.Floor(loss*inverse)) - g.first
		if i < 0 {
			continue
		}
		i = min(i, top)
		b.gain[i].add(p[j])
		b.price[i].add(q[j-k])
	}
}

// upper: for each shift, Σ over the cells whose loss is at least ε_i but for
// the slack of p − α·q, α below e^(ε_i) by more than twice the slack. No term is
// negative, and no positive term of the profile is missing, whatever the
// rounding of the logarithms (below 2^-45), the quotient (2^-46·maxLoss) and of
// e^ε. A sum of all is therefore a bound, and exact but for α.
func (l *table) upper(g grid) []float64 {
	const slack = 0x1p-38
	out := make([]float64, g.len())
	b := &losses{gain: make([]sum128, g.len()), price: make([]sum128, g.len())}
	alphas := make([]float64, g.len())
	for i := range alphas {
		alphas[i] = math.Exp(g.at(g.first+i)) * (1 - 4*slack)
	}
	for _, k := range l.shifts {
		l.spread(b, g, k, l.up, l.down, l.logUp, l.logDown, slack)
		gain, price := b.lone, sum128{}
		gain.add(l.rest)
		gain.add(l.atom)
		for i := len(out) - 1; i >= 0; i-- {
			gain.plus(b.gain[i])
			price.plus(b.price[i])
			out[i] = math.Max(out[i], difference(gain, alphas[i], price))
		}
	}
	for i := range out {
		out[i] = math.Min(1, out[i]*0x1p-64*(1+8*roundoff))
		if l.tailed && g.at(g.first+i) >= l.unit() {
			out[i] = 0 // its certificate: delta = 0 at its epsilon
		}
	}
	return out
}

// lower takes the pairs of neighbours that are one shift apart. The atom counts
// at the loss that its cell has, which is less than its own.
func (l *table) lower(g grid, theta float64) []*discrete {
	b := &losses{gain: make([]sum128, g.len()), price: make([]sum128, g.len())}
	weight := make([]float64, g.len())
	for i := range weight {
		weight[i] = math.Exp(theta * g.step * float64(i-len(weight)+1))
	}
	var finite, lone *discrete
	best := 0.0
	for _, k := range l.shifts {
		l.spread(b, g, k, l.down, l.up, l.logDown, l.logUp, g.step*slackShare*(1-0x1p-10))
		d := &discrete{step: g.step, first: g.first, mass: make([]float64, g.len())}
		if !l.tailed {
			d.infinite = b.lone.float() * 0x1p-64 * (1 - 2*roundoff)
		}
		score := 0.0
		for i := range d.mass {
			d.mass[i] = b.gain[i].float() * 0x1p-64 * (1 - 2*roundoff)
			score += d.mass[i] * weight[i]
		}
		if l.atom > 0 {
			l.moveAtom(d, k)
		}
		if finite == nil || score > best {
			finite, best = d, score
		}
		if lone == nil || d.infinite > lone.infinite {
			lone = d
		}
	}
	if lone.infinite <= 1.001*finite.infinite { // not worth another composition
		return []*discrete{finite}
	}
	return []*discrete{finite, lone}
}

// moveAtom accounts for the atoms of P and Q in the measure d of the cells. That
// of P has at least the loss of its cell. Where that of Q lies, P has one point of
// a cell, whose loss may be anything: it is taken out.
func (l *table) moveAtom(d *discrete, k int) {
	place := func(j int) (i int, ok bool) {
		if j < 0 || j >= len(l.down) || j-k < 0 || j-k >= len(l.down) || l.down[j] == 0 || l.up[j-k] == 0 {
			return 0, false
		}
		i = int(math.Floor((l.logDown[j]-l.logUp[j-k])/d.step)) - d.first
		return min(i, len(d.mass)-1), i >= 0
	}
	if l.center < 0 {
		return
	}
	if i, ok := place(l.center); ok {
		d.mass[i] += float64(l.atom) * 0x1p-64 * (1 - 2*roundoff)
	}
	if i, ok := place(l.center + k); ok {
		point := float64(l.up[l.center+k]) * 0x1p-64 / l.points * (1 + 4*roundoff)
		// The slack may have put the cell one loss higher.
		for i = min(i+1, len(d.mass)-1); i >= 0 && point > 0; i-- {
			take := math.Min(point, d.mass[i])
			d.mass[i] -= take
			point -= take * (1 - 2*roundoff)
		}
	}
}

// sum128 is an unsigned sum of weights.
type sum128 struct{ hi, lo uint64 }

func (s *sum128) add(w uint64) {
	var c uint64
	s.lo, c = bits.Add64(s.lo, w, 0)
	s.hi += c
}

func (s *sum128) plus(t sum128) {
	var c uint64
	s.lo, c = bits.Add64(s.lo, t.lo, 0)
	s.hi += t.hi + c
}

// float returns s to a relative error of 2 roundoffs.
func (s sum128) float() float64 { return float64(s.hi)*0x1p64 + float64(s.lo) }

// parts returns s as the sum of two float64s, exactly up to 2^-52 units of a
// sum of at most 2^64 + 2^52.
func (s sum128) parts() (high, low float64) {
	const mask = 1<<12 - 1
	high = float64(s.hi)*0x1p64 + float64(s.lo&^uint64(mask))
	return high, float64(s.lo & mask)
}

// difference returns gain − α·price, rounded up: the products are split into a
// float64 and the error of it, so that what cancels cancels exactly.
func difference(gain sum128, alpha float64, price sum128) float64 {
	gh, gl := gain.parts()
	ph, pl := price.parts()
	product := alpha * ph
	rest := math.FMA(alpha, ph, -product)
	small := gl - (rest + alpha*pl)
	// The errors of the small part are below 8 roundoffs of its terms.
	large := gh - product
	margin := 8 * roundoff * (gl + math.Abs(rest) + alpha*pl + math.Abs(large))
	return large + small + margin
}
