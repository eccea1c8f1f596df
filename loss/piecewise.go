// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"math"
	"math/big"
	"slices"
	"sort"

	"github.com/noisewright/noisewright/internal/check"
)

// piecewise is a loss made of polynomials of degree 2 at most, with jumps. All
// its values on big.Rat are exact; LowerNode is the exact interpolant described
// there. It is immutable and safe for concurrent use.
type piecewise struct {
	name   string
	x      []float64 // the knots, ascending, as float64 and as rationals
	knots  []*big.Rat
	at     []*big.Rat // c at the knots, not above either one-sided limit
	pieces []branch   // piece i ends at knot i; the last has no end
	// c is a continuous g plus, for every knot, an upward jump to its right,
	// up·1[x > knot], and one to its left, down·1[x < knot]. up[i] is the sum
	// over the knots before i, down[i] that over the knots from i on.
	up, down []*big.Rat

	atFloat                     []float64
	area                        []float64 // ∫ c from the knot next to 0 to knot i
	symmetric, unimodal, convex bool
}

// branch is one polynomial of a piecewise.
type branch struct {
	Quadratic
	g0 *big.Rat // C0 less the jumps: the coefficient of g
	// The polynomial around ref, an end of the piece: f0 + f1·(x-ref) +
	// f2·(x-ref)². Far from 0 that keeps the digits that C0 + C1·x loses.
	ref, f0, f1, f2 float64
}

// NewPiecewise returns the loss with the given name that equals pieces[i] between knots[i-1] and
// knots[i], the outermost pieces reaching to infinity; at a knot it takes the lower of the two
// values. The knots are finite, ascending and meant exactly, one less than the pieces. The loss
// must not be negative anywhere. Errors wrap dp.ErrInvalid.
//
// All bounds of such a loss are exact. No file or flag can name it: [Parse] knows [Kinds] only.
func NewPiecewise(name string, knots []float64, pieces []Quadratic) (Loss, error) {
	if len(pieces) != len(knots)+1 {
		return nil, check.Errorf("loss", check.ErrInvalid, "%s: pieces = %d, want one more than the %d knots", name, len(pieces), len(knots))
	}
	for i, x := range knots {
		if math.IsNaN(x) || math.IsInf(x, 0) || i > 0 && !(x > knots[i-1]) { //nolint:gosec // i is an index of knots
			return nil, check.Errorf("loss", check.ErrInvalid, "%s: knot %d = %g, want finite knots in ascending order", name, i, x)
		}
	}
	l := newPiecewise(name, knots, pieces, nil)
	if x, negative := l.negative(); negative {
		return nil, check.Errorf("loss", check.ErrInvalid, "%s: the loss is negative near x = %g, want a loss >= 0", name, x)
	}
	return l, nil
}

// newPiecewise builds a loss from checked parts. at are the values at the knots,
// or nil for the lower of the limits. Knots where nothing happens are dropped.
func newPiecewise(name string, x []float64, pieces []Quadratic, at []*big.Rat) *piecewise {
	l := &piecewise{name: name, pieces: []branch{{Quadratic: pieces[0].filled()}}}
	for i, v := range x {
		v += 0 // no negative zero
		knot := new(big.Rat).SetFloat64(v)
		left, right := l.pieces[len(l.pieces)-1].Quadratic, pieces[i+1].filled() //nolint:gosec // one more than the knots
		value := lower(left.value(knot), right.value(knot))
		dip := false
		if at != nil {
			dip = at[i].Cmp(value) < 0
			value = lower(value, at[i])
		}
		if left.equal(right) && !dip {
			continue
		}
		l.x = append(l.x, v)
		l.knots = append(l.knots, knot)
		l.at = append(l.at, value)
		l.pieces = append(l.pieces, branch{Quadratic: right})
	}
	l.split()
	l.approximate()
	l.symmetric, l.convex = l.isSymmetric(), l.isConvex()
	l.unimodal = l.rises(1) && l.rises(-1)
	return l
}

// split computes the jumps and the continuous part.
func (l *piecewise) split() {
	n := len(l.knots)
	l.up, l.down = make([]*big.Rat, n+1), make([]*big.Rat, n+1)
	l.up[0], l.down[n] = new(big.Rat), new(big.Rat)
	for i := range n {
		jump := l.pieces[i+1].value(l.knots[i])
		l.up[i+1] = jump.Sub(jump, l.at[i]).Add(jump, l.up[i])
	}
	for i := n - 1; i >= 0; i-- {
		jump := l.pieces[i].value(l.knots[i])
		l.down[i] = jump.Sub(jump, l.at[i]).Add(jump, l.down[i+1])
	}
	for i := range l.pieces {
		g0 := new(big.Rat).Sub(l.pieces[i].C0, l.up[i])
		l.pieces[i].g0 = g0.Sub(g0, l.down[i])
	}
}

// approximate computes what the float64 methods use.
func (l *piecewise) approximate() {
	ref := new(big.Rat)
	for i := range l.pieces {
		p := &l.pieces[i]
		// The end nearer to 0, where there is one.
		switch k := i - 1; {
		case len(l.knots) == 0:
		case i == 0 || i < len(l.knots) && math.Abs(l.x[i]) < math.Abs(l.x[k]):
			ref, p.ref = l.knots[i], l.x[i]
		default:
			ref, p.ref = l.knots[k], l.x[k]
		}
		p.f0, _ = p.value(ref).Float64()
		p.f1, _ = p.slope(ref).Float64()
		p.f2, _ = p.C2.Float64()
	}
	n := len(l.knots)
	l.atFloat, l.area = make([]float64, n), make([]float64, n)
	middle := 0
	for i, v := range l.at {
		l.atFloat[i], _ = v.Float64()
		if math.Abs(l.x[i]) < math.Abs(l.x[middle]) {
			middle = i
		}
	}
	for i := middle + 1; i < n; i++ {
		l.area[i] = l.area[i-1] + l.pieces[i].area(0, l.x[i-1], l.x[i])
	}
	for i := middle - 1; i >= 0; i-- {
		l.area[i] = l.area[i+1] - l.pieces[i+1].area(0, l.x[i], l.x[i+1])
	}
}

func (l *piecewise) Name() string    { return l.name }
func (l *piecewise) Symmetric() bool { return l.symmetric }
func (l *piecewise) Unimodal() bool  { return l.unimodal }

func (l *piecewise) Kinks() []float64 {
	return slices.DeleteFunc(slices.Clone(l.x), func(x float64) bool { return x == 0 })
}

func (l *piecewise) At(x float64) float64 {
	i := sort.SearchFloat64s(l.x, x)
	if i < len(l.x) && l.x[i] == x {
		return l.atFloat[i]
	}
	return l.pieces[i].float(x - l.pieces[i].ref)
}

// CellMean implements Loss, relative to the center, so that a narrow cell far from 0 loses nothing.
func (l *piecewise) CellMean(center, width float64) float64 {
	h := width / 2
	first := sort.Search(len(l.x), func(i int) bool { return l.x[i]-center > -h })
	end := first + sort.Search(len(l.x)-first, func(i int) bool { return l.x[first+i]-center >= h })
	if first == end {
		return math.Max(0, l.pieces[first].area(center, -h, h)/width)
	}
	sum := l.pieces[first].area(center, -h, l.x[first]-center) + l.pieces[end].area(center, l.x[end-1]-center, h)
	// The pieces that lie wholly inside: one by one where that is little work,
	// for a difference of two large areas costs digits.
	const few = 16
	if end-first <= few {
		for i := first + 1; i < end; i++ {
			sum += l.pieces[i].area(center, l.x[i-1]-center, l.x[i]-center)
		}
	} else {
		sum += l.area[end-1] - l.area[first]
	}
	return math.Max(0, sum/width)
}

// AtDown implements Loss; it is exact.
func (l *piecewise) AtDown(x *big.Rat) *big.Rat {
	i := l.before(x)
	if i < len(l.knots) && l.knots[i].Cmp(x) == 0 {
		return new(big.Rat).Set(l.at[i])
	}
	return l.pieces[i].value(x)
}

// GridMeanUp implements Loss, exactly, at the cost of the pieces touched, whatever the count.
func (l *piecewise) GridMeanUp(first, count int64, step *big.Rat) *big.Rat {
	last := first + count - 1
	sum := new(big.Rat)
	point := new(big.Rat).SetInt64(first)
	i := l.before(point.Mul(point, step))
	if i < len(l.knots) {
		point.SetInt64(last)
		point.Mul(point, step)
	}
	for ; i < len(l.knots) && l.knots[i].Cmp(point) <= 0; i++ {
		n, onKnot := floorQuo(l.knots[i], step)
		next := n.Int64() + 1 // first <= n <= last
		end := next - 1
		if onKnot {
			sum.Add(sum, l.at[i])
			end--
		}
		l.pieces[i].addRun(sum, first, end, step)
		first = next
	}
	l.pieces[i].addRun(sum, first, last, step)
	return sum.Quo(sum, point.SetInt64(count))
}

// RampMeanUp implements Loss; it is exact. With d = to-from it is 2/d²·∫ c(x)(to-x) dx.
func (l *piecewise) RampMeanUp(from, to *big.Rat) *big.Rat {
	d := new(big.Rat).Sub(to, from)
	if d.Sign() == 0 {
		return l.AtDown(from)
	}
	low, high := from, to
	if d.Sign() < 0 {
		low, high = to, from
	}
	sum := new(big.Rat)
	for i, end := l.upTo(low), l.before(high); i <= end; i++ {
		a, b := l.clip(i, low, high)
		ramp := l.pieces[i].rampIntegral(to)
		sum.Add(sum, ramp(a)).Sub(sum, ramp(b))
	}
	if d.Sign() < 0 {
		sum.Neg(sum)
	}
	return sum.Quo(sum.Add(sum, sum), d.Mul(d, d))
}

// LowerNode implements Loss. The continuous part g gives g(j·step) less the largest excess, over
// either neighboring interval, of its chord over g: then the interpolant is lower than the chord by
// that excess at least. A jump counts from the first node whose whole interval lies behind it. Both
// are lower interpolants, and so is their sum. For a convex quadratic the excess is C2·step²/4; a
// linear piece, or a kink at a node, loses nothing.
func (l *piecewise) LowerNode(j int64, step *big.Rat) *big.Rat {
	return l.lowerNode(multipleOf(j, step), step)
}

func (l *piecewise) lowerNode(x, step *big.Rat) *big.Rat {
	left, right := new(big.Rat).Sub(x, step), new(big.Rat).Add(x, step)
	low, high := l.upTo(left), l.before(right)
	var node *big.Rat
	if low == high {
		p := &l.pieces[low]
		node = p.continuous(x)
		if p.C2.Sign() > 0 {
			excess := left.Mul(step, step)
			node.Sub(node, excess.Mul(excess, quarter).Mul(excess, p.C2))
		}
	} else {
		middle := l.before(x)
		node = l.pieces[middle].continuous(x)
		inner := l.excess(left, x, l.pieces[low].continuous(left), node, low, middle)
		outer := l.excess(x, right, node, l.pieces[high].continuous(right), l.upTo(x), high)
		if inner.Cmp(outer) > 0 {
			outer = inner
		}
		node.Sub(node, outer)
	}
	return node.Add(node, l.up[low]).Add(node, l.down[high])
}

// excess returns the largest amount, at least 0, by which the chord of g between
// the points (a, ga) and (b, gb) exceeds g; the pieces low to high cover [a, b].
// It is attained at a knot or where a convex piece has the chord's slope.
func (l *piecewise) excess(a, b, ga, gb *big.Rat, low, high int) *big.Rat {
	slope := new(big.Rat).Sub(gb, ga)
	slope.Quo(slope, new(big.Rat).Sub(b, a))
	most := new(big.Rat)
	consider := func(i int, x *big.Rat) {
		over := new(big.Rat).Sub(x, a)
		over.Mul(over, slope).Add(over, ga).Sub(over, l.pieces[i].continuous(x))
		if over.Cmp(most) > 0 {
			most = over
		}
	}
	for i := low; i <= high; i++ {
		p := &l.pieces[i]
		if i < high {
			consider(i, l.knots[i])
		}
		if p.C2.Sign() <= 0 {
			continue
		}
		touch := new(big.Rat).Sub(slope, p.C1)
		touch.Mul(touch, half).Quo(touch, p.C2)
		start, end := a, b // known by the index: cheaper than l.clip, which compares
		if i > low {
			start = l.knots[i-1]
		}
		if i < high {
			end = l.knots[i]
		}
		if touch.Cmp(start) > 0 && touch.Cmp(end) < 0 {
			consider(i, touch)
		}
	}
	return most
}

// Growth implements Loss; it is the least increment there is. Between the knots
// the increments are linear in j, so only cells at most three from a knot, and the
// cell j itself, can have it; beyond the last knot they do not fall, for c >= 0.
func (l *piecewise) Growth(j int64, step *big.Rat) *big.Rat {
	const near = 3
	side := int64(1)
	if j < 0 {
		side = -1
	}
	start := big.NewInt(j)
	start.Abs(start)
	cells := []*big.Int{start}
	for i := range l.knots {
		k := i
		if side < 0 {
			k = len(l.knots) - 1 - i
		}
		knot := new(big.Rat).Mul(l.knots[k], big.NewRat(side, 1))
		n, _ := floorQuo(knot, step)
		for d := int64(-near); d <= near; d++ {
			if c := new(big.Int).Add(n, big.NewInt(d)); c.Cmp(cells[len(cells)-1]) > 0 {
				cells = append(cells, c)
			}
		}
	}
	// The node and the value at cell n of this side.
	at := func(n *big.Int) (node, value *big.Rat) {
		x := new(big.Rat).SetInt(n)
		x.Mul(x, step).Mul(x, big.NewRat(side, 1))
		return l.lowerNode(x, step), l.AtDown(x)
	}
	var least, node, value *big.Rat
	last := new(big.Int).Neg(start)
	one := big.NewInt(1)
	for _, n := range cells {
		if n.Cmp(last) != 0 {
			node, value = at(n)
		}
		last = new(big.Int).Add(n, one)
		nextNode, nextValue := at(last)
		for _, grown := range []*big.Rat{node.Sub(nextNode, node), value.Sub(nextValue, value)} {
			if least == nil || grown.Cmp(least) < 0 {
				least = new(big.Rat).Set(grown)
			}
		}
		node, value = nextNode, nextValue
	}
	return least
}

// PolynomialBeyond says that it is, from the outermost knot on.
func (l *piecewise) PolynomialBeyond() (from *big.Rat, degree int, ok bool) {
	from = new(big.Rat)
	for _, x := range l.knots {
		from = higher(from, new(big.Rat).Abs(x))
	}
	return from, 2, true
}

// ceiling returns the largest of the values at the ends of each piece's part of the
// interval, and at the tops of those that have one inside.
func (l *piecewise) ceiling(low, high *big.Rat) *big.Rat {
	most := new(big.Rat)
	for i := l.before(low); i <= l.upTo(high); i++ {
		a, b := l.clip(i, low, high)
		p := l.pieces[i]
		most = higher(most, higher(p.value(a), p.value(b)))
		if p.C2.Sign() < 0 {
			top := new(big.Rat).Quo(p.C1, p.C2)
			top.Mul(top, big.NewRat(-1, 2))
			if top.Cmp(a) > 0 && top.Cmp(b) < 0 {
				most = higher(most, p.value(top))
			}
		}
	}
	return most
}

// clip returns the part of the interval from low to high that is in piece i.
func (l *piecewise) clip(i int, low, high *big.Rat) (a, b *big.Rat) {
	if i > 0 {
		low = higher(low, l.knots[i-1])
	}
	if i < len(l.knots) {
		high = lower(high, l.knots[i])
	}
	return low, high
}

// before returns how many knots are below x: the piece that holds x or ends there.
func (l *piecewise) before(x *big.Rat) int {
	return sort.Search(len(l.knots), func(i int) bool { return l.knots[i].Cmp(x) >= 0 })
}

// upTo returns how many knots are not above x: the piece that holds x or starts there.
func (l *piecewise) upTo(x *big.Rat) int {
	return sort.Search(len(l.knots), func(i int) bool { return l.knots[i].Cmp(x) > 0 })
}

// negative returns a point where, or next to which, the loss is below 0.
func (l *piecewise) negative() (x float64, found bool) {
	for i := range l.pieces {
		p := &l.pieces[i]
		ends := slices.Clone(l.knots[max(0, i-1):min(i+1, len(l.knots))])
		inside := func(x *big.Rat) bool {
			return (i == 0 || x.Cmp(l.knots[i-1]) > 0) && (i == len(l.knots) || x.Cmp(l.knots[i]) < 0)
		}
		if p.C2.Sign() > 0 {
			vertex := new(big.Rat).Quo(p.C1, p.C2)
			if vertex.Mul(vertex, half).Neg(vertex); inside(vertex) {
				ends = append(ends, vertex)
			}
		}
		if len(ends) == 0 { // one piece, no vertex: a line or a falling parabola
			ends = append(ends, new(big.Rat))
		}
		for _, e := range ends {
			if p.value(e).Sign() < 0 {
				x, _ := e.Float64()
				return x, true
			}
		}
		outward := p.C1.Sign()
		if i == 0 && (p.C2.Sign() < 0 || p.C2.Sign() == 0 && outward > 0) {
			return math.Inf(-1), true
		}
		if i == len(l.knots) && (p.C2.Sign() < 0 || p.C2.Sign() == 0 && outward < 0) {
			return math.Inf(1), true
		}
	}
	return 0, false
}

func (l *piecewise) isSymmetric() bool {
	n := len(l.knots)
	for i := range l.pieces {
		if !l.pieces[i].equal(l.pieces[n-i].mirrored()) {
			return false
		}
	}
	for i := range l.knots {
		if l.x[i] != -l.x[n-1-i] || l.at[i].Cmp(l.at[n-1-i]) != 0 {
			return false
		}
	}
	return true
}

// rises reports whether c does not fall away from 0 on the side of the sign.
func (l *piecewise) rises(sign int) bool {
	zero := new(big.Rat)
	for i := range l.pieces {
		// The ends of the piece on this side, nil where it has none.
		var ends [2]*big.Rat
		if i > 0 {
			ends[0] = l.knots[i-1]
		}
		if i < len(l.knots) {
			ends[1] = l.knots[i]
		}
		if sign < 0 {
			ends[0], ends[1] = ends[1], ends[0]
		}
		if ends[1] != nil && ends[1].Sign()*sign <= 0 {
			continue // on the other side
		}
		if ends[0] == nil || ends[0].Sign()*sign < 0 {
			ends[0] = zero
		}
		if l.pieces[i].slope(ends[0]).Sign()*sign < 0 {
			return false
		}
		// A slope that is not negative at the start of an endless piece stays so, for c >= 0.
		if ends[1] != nil && (l.pieces[i].slope(ends[1]).Sign()*sign < 0 || l.pieces[i].value(ends[1]).Cmp(l.AtDown(ends[1])) > 0) {
			return false
		}
	}
	return true
}

// mirror returns c(-x).
func (l *piecewise) mirror(name string) *piecewise {
	n := len(l.knots)
	x, at, pieces := make([]float64, n), make([]*big.Rat, n), make([]Quadratic, n+1)
	for i := range n {
		x[i], at[i] = -l.x[n-1-i], l.at[n-1-i]
	}
	for i := range pieces {
		pieces[i] = l.pieces[n-i].mirrored()
	}
	return newPiecewise(name, x, pieces, at)
}

// weighted is a piecewise with a factor.
type weighted struct {
	*piecewise
	weight *big.Rat
}

// sumPiecewise returns Σ weight·c.
func sumPiecewise(name string, terms []weighted) *piecewise {
	var x []float64
	for _, t := range terms {
		x = append(x, t.x...)
	}
	slices.Sort(x)
	x = slices.Compact(x)
	at, pieces := make([]*big.Rat, len(x)), make([]Quadratic, len(x)+1)
	for i := range pieces {
		pieces[i] = Quadratic{}.filled()
	}
	for i := range at {
		at[i] = new(big.Rat)
	}
	product := new(big.Rat)
	for _, t := range terms {
		k := 0 // the term's piece that holds the sum's piece i
		for i := range pieces {
			p := &t.pieces[k]
			q := pieces[i]
			q.C0.Add(q.C0, product.Mul(p.C0, t.weight))
			q.C1.Add(q.C1, product.Mul(p.C1, t.weight))
			q.C2.Add(q.C2, product.Mul(p.C2, t.weight))
			if i == len(x) {
				break
			}
			value := new(big.Rat)
			if k < len(t.x) && t.x[k] == x[i] {
				value.Set(t.at[k])
				k++
			} else {
				value = p.value(new(big.Rat).SetFloat64(x[i]))
			}
			at[i].Add(at[i], value.Mul(value, t.weight))
		}
	}
	return newPiecewise(name, x, pieces, at)
}
