// SPDX-License-Identifier: Apache-2.0

package ball

import (
	"context"
	"math"
	"slices"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/lp/internal/engine/cuts"
	"github.com/noisewright/noisewright/lp/internal/engine/interior"
)

const (
	mostKnots = 160 // about
	// corrections are programs that are solved, each with the losses by which the last one was off between knots.
	corrections = 12
	averaged    = 4
	parts       = 8
	// multiplierBits are those of the largest multiplier.
	multiplierBits = 30
)

// Bound returns the noise with multipliers that prove a lower bound on the loss of all noise, of any law, that keeps its
// promise; without any where the bound would be 0. The noise is of two or three coordinates, its loss l1 or l2.
func Bound(ctx context.Context, noise *ball.Verified) (*ball.Verified, error) {
	s := noise.Mechanism().Spec()
	b := newBound(s)
	for range corrections {
		if err := b.correct(ctx); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			break
		}
	}
	if b.best == nil {
		return noise, nil
	}
	s.Dual, s.Claims = b.dual(), formfile.Claims{}
	if s.LowerBound(nil).Sign() == 0 {
		return noise, nil
	}
	out, err := ball.New(s)
	if err != nil {
		return nil, err
	}
	return out.Verify()
}

// lowers is a program whose multipliers prove a lower bound, in units of the sensitivity: as rings, but of all noise, and with several
// shifts. The multipliers of pairs of rings are those of knots in their middles, and what the bracket then lacks between
// knots is taken from the losses of the next program: where there is little noise, that costs little.
type lowers struct {
	space
	spec    ball.Spec
	power   float64
	shifts  []float64
	knots   []float64
	volume  []float64
	limits  []cuts.Limit
	cost    []float64
	missing []float64
	best    [][][]float64 // multipliers, by shift
	bound   float64
	recent  [][][][]float64
}

// lengths returns those of the shifts that matter: at large epsilons noise has steps of about a sensitivity, and
// shorter shifts matter too.
func lengths(epsilon float64) []float64 {
	switch {
	case epsilon < 1.5:
		return []float64{1}
	case epsilon < 3:
		return []float64{0.5, 0.75, 1}
	}
	return []float64{0.4, 0.7, 1}
}

func newBound(s ball.Spec) *lowers {
	power, _ := s.Power()
	b := &lowers{space: space(s.Dimension), spec: s, power: power, shifts: lengths(s.Epsilon)}
	// Noise beyond gains nothing from multipliers, and a shift farther out is the end of all.
	gainful := 1.1*outermost(s) + 0.05
	end := gainful + 1.15
	// Knots are nearer to each other about both centers, where distances fall together.
	dense := 2.0
	if s.Epsilon >= 3 {
		dense = 4
	}
	finer := func(x float64) float64 {
		if x < 0.25 || x > 0.75 && x < 1.3 {
			return dense
		}
		return 1
	}
	base := end
	for _, part := range [][2]float64{{0, 0.25}, {0.75, 1.3}} {
		base += max(0, min(part[1], end)-part[0]) * (dense - 1)
	}
	per := mostKnots / base
	edges := []float64{0}
	for x := 0.0; x < end; {
		x += 1 / (per * finer(x))
		edges = append(edges, x)
	}
	n := len(edges) - 1
	b.knots = append(b.knots, 0)
	moment := func(r float64) float64 {
		return float64(b.space) / (float64(b.space) + power) * math.Pow(r, power) * b.space.power(r)
	}
	for i := range n {
		if i > 0 {
			b.knots = append(b.knots, (edges[i]+edges[i+1])/2)
		}
		b.volume = append(b.volume, b.space.power(edges[i+1])-b.space.power(edges[i]))
		b.cost = append(b.cost, moment(edges[i+1])-moment(edges[i]))
	}
	b.missing = make([]float64, n)
	for _, s := range b.shifts {
		both := func(i, j int) float64 { return b.both(edges[i]/s, edges[j]/s) * b.space.power(s) }
		var limit cuts.Limit
		for i := 0; i < n && edges[i] <= gainful; i++ {
			for j := i + 1; j < n && edges[j] < edges[i+1]+s; j++ {
				v := both(i+1, j+1) - both(i, j+1) - both(i+1, j) + both(i, j)
				if v > negligible*min(b.volume[i], b.volume[j]) {
					limit.Gain, limit.Lose, limit.Weight = append(limit.Gain, i), append(limit.Lose, j), append(limit.Weight, v)
				}
			}
		}
		b.limits = append(b.limits, limit)
	}
	return b
}

// correct solves the program, keeps its multipliers if they are the best, and sees what they miss.
func (b *lowers) correct(ctx context.Context) error {
	n := len(b.knots)
	p := cuts.Problem{Ratio: math.Exp(b.spec.Epsilon), Delta: b.spec.Delta, Limits: b.limits}
	total := cuts.Row{Lower: 1, Upper: 1}
	start := make([]float64, n)
	for i, v := range b.volume {
		p.Cost = append(p.Cost, b.cost[i]-b.missing[i]*v)
		total.Index, total.Value = append(total.Index, i), append(total.Value, v)
		start[i] = math.Exp(-b.spec.Epsilon*b.knots[i]) + 1e-3*b.spec.Delta
	}
	p.Rows = []cuts.Row{total}
	program := interior.New(p, interior.Options{Start: start})
	status, err := program.Solve(ctx, 1e-6, 1e-7)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || status != solver.StatusOptimal {
		return errFailed
	}
	y, price := b.multipliers(program), 0.0
	for k := range b.shifts {
		price += program.Price(k) * b.spec.Delta
	}
	least := math.Inf(1)
	lows := b.lowest(y)
	for _, low := range lows {
		least = min(least, low-price)
	}
	if b.best == nil || least > b.bound {
		b.best, b.bound = y, least
	}
	// The mean of the last multipliers is often better than each: they jump to and fro.
	b.recent = append(b.recent, y)
	if b.recent = b.recent[max(0, len(b.recent)-averaged):]; len(b.recent) == averaged {
		mean, price := average(b.recent)
		low := slices.Min(b.lowest(mean)) - price*b.spec.Delta
		if low > b.bound {
			b.best, b.bound = mean, low
		}
	}
	for i := range n {
		low := min(lows[max(0, i-1)], lows[min(i, n-2)])
		b.missing[i] = max(0, b.missing[i]+program.Value()+price-low)
	}
	return nil
}

// multipliers returns those of all pairs of knots, by shift. Rings that do not overlap have none, but between knots
// they do, and are given the nearest.
func (b *lowers) multipliers(program *interior.Program) [][][]float64 {
	n, all := len(b.knots), [][][]float64(nil)
	for k, limit := range b.limits {
		price := program.Price(k)
		y, first, last := make([][]float64, n), make([]int, n), make([]int, n)
		for i := range y {
			y[i] = make([]float64, n)
			first[i] = n
		}
		for t, i := range limit.Gain {
			j := limit.Lose[t]
			y[i][j] = min(max(program.Multiplier(k, t), 0), price)
			first[i], last[i] = min(first[i], j), max(last[i], j)
		}
		for i := range y {
			if first[i] == n {
				continue
			}
			for j := i + 1; j < first[i]; j++ {
				y[i][j] = y[i][first[i]]
			}
			for j := last[i] + 1; j < min(n-1, last[i]+3); j++ {
				y[i][j] = y[i][last[i]]
			}
		}
		all = append(all, y)
	}
	return all
}

// average returns the mean multipliers and the sum of the largest ones of shifts.
func average(all [][][][]float64) (mean [][][]float64, price float64) {
	for k := range all[0] {
		y, most := make([][]float64, len(all[0][k])), 0.0
		for i := range y {
			y[i] = make([]float64, len(y))
			for j := range y {
				for _, one := range all {
					y[i][j] += one[k][i][j] / float64(len(all))
				}
				most = max(most, y[i][j])
			}
		}
		mean, price = append(mean, y), price+most
	}
	return mean, price
}

// view is how the knots look from a radius, for a shift, as in package ball: with the probability of being nearer than a knot, and
// the mean of the ramp from it to the next one.
type view struct{ nearer, ramp []float64 }

func (b *lowers) look(r float64) []view {
	views := make([]view, len(b.shifts))
	for k, s := range b.shifts {
		v, before := &views[k], 0.0
		for j, x := range b.knots {
			p, g := b.inside(r, s, x*x)
			v.nearer = append(v.nearer, p)
			if j > 0 {
				v.ramp = append(v.ramp, (g-before)/(x*x-b.knots[j-1]*b.knots[j-1]))
			}
			before = g
		}
	}
	return views
}

// inside is the probability of r′ < x and the mean of (x² − r′²)₊ over directions, as in package ball.
func (b *lowers) inside(r, s, square float64) (p, g float64) {
	c, h := r*r+s*s-square, 2*r*s
	switch {
	case c >= h:
		return 0, 0
	case c <= -h:
		return 1, -c
	case b.space == 3:
		return (h - c) / (2 * h), (h - c) * (h - c) / (4 * h)
	}
	angle := math.Acos(c / h)
	return angle / math.Pi, (math.Sqrt(h*h-c*c) - c*angle) / math.Pi
}

// rows are, of a shift and a knot, the gains at all others and by how much their slope grows there.
type rows struct{ gain, bend []float64 }

func (b *lowers) rows(y [][]float64, i int) rows {
	n, e, slope := len(b.knots), math.Exp(b.spec.Epsilon), 0.0
	r := rows{make([]float64, n), make([]float64, n)}
	for j := range n {
		r.gain[j] = y[i][j] - e*y[j][i]
		if j > 0 {
			next := (r.gain[j] - r.gain[j-1]) / (b.knots[j]*b.knots[j] - b.knots[j-1]*b.knots[j-1])
			r.bend[j-1] = next - slope
			slope = next
		}
	}
	r.bend[n-1] = -slope
	return r
}

// lowest bounds the brackets from below between all knots, but for the price.
func (b *lowers) lowest(y [][][]float64) []float64 {
	lows := make([]float64, len(b.knots)-1)
	first := b.look(0)
	for i := range lows {
		lows[i] = math.Inf(1)
		from, width := b.knots[i], (b.knots[i+1]-b.knots[i])/parts
		own, next := make([]rows, len(y)), make([]rows, len(y))
		for k := range y {
			own[k], next[k] = b.rows(y[k], i), b.rows(y[k], i+1)
		}
		for k := range parts {
			x := from + width*float64(k)
			second := b.look(x + width)
			lows[i] = min(lows[i], b.between(i, x, x+width, own, next, first, second))
			first = second
		}
	}
	return lows
}

// between is that of package ball.
func (b *lowers) between(i int, x, y float64, own, next []rows, first, second []view) float64 {
	var value, tilt, inner [2]float64
	at, h := [2]float64{x, y}, y-x
	width := b.knots[i+1]*b.knots[i+1] - b.knots[i]*b.knots[i]
	crossed := 0.0
	for k, s := range b.shifts {
		var up, down float64
		views := [2]*view{&first[k], &second[k]}
		o, n := &own[k], &next[k]
		for e, v := range views {
			share := (at[e]*at[e] - b.knots[i]*b.knots[i]) / width
			a, c := o.gain[len(o.gain)-1], n.gain[len(o.gain)-1]
			for j, ramp := range v.ramp {
				a -= (o.gain[j+1] - o.gain[j]) * ramp
				c -= (n.gain[j+1] - n.gain[j]) * ramp
			}
			value[e] += (1-share)*a + share*c
			tilt[e] += (c - a) / width
		}
		for j, r := range b.knots {
			p, q := views[0].nearer[j], views[1].nearer[j]
			cross, grow, fall := math.Abs(p-q), 0.0, 0.0
			for e := range 2 {
				share := (at[e]*at[e] - b.knots[i]*b.knots[i]) / width
				bend := (1-share)*o.bend[j] + share*n.bend[j]
				inner[e] += bend * min(p, q)
				grow, fall = max(grow, bend), max(fall, -bend)
			}
			up += grow * cross
			if v := s*s - r*r; x*x <= v && v < y*y {
				cross++
			}
			down += fall * cross
		}
		crossed += up*h*(x+y+2*s) + down*h*h
	}
	bend := h*h*(max(tilt[0], tilt[1])-min(inner[0], inner[1])) + (y*y-x*x)*(tilt[1]-tilt[0])
	if b.power == 2 {
		bend += h * h
	}
	return min(math.Pow(x, b.power)+value[0], math.Pow(y, b.power)+value[1]) - (max(0, bend)+crossed)/4
}

// dual returns the best multipliers in steps and whole numbers.
func (b *lowers) dual() *ball.Dual {
	reach := math.Ldexp(b.spec.Sensitivity, -b.spec.StepExponent)
	most := 0.0
	for _, y := range b.best {
		for _, row := range y {
			for _, v := range row {
				most = max(most, v)
			}
		}
	}
	scale := math.Pow(b.spec.Sensitivity, b.power) // of losses
	exponent := 0
	if most > 0 {
		exponent = math.Ilogb(most*scale) - multiplierBits
	}
	d := &ball.Dual{Exponent: exponent, Parts: parts}
	for _, x := range b.knots {
		d.Radii = append(d.Radii, int64(x*reach))
	}
	for k, s := range b.shifts {
		for i, row := range b.best[k] {
			first, last := len(row), -1
			list := make([]int64, len(row))
			for j, v := range row {
				if list[j] = int64(math.Ldexp(v*scale, -exponent)); list[j] > 0 {
					first, last = min(first, j), j
				}
			}
			if last >= 0 {
				d.Add(int64(s*math.Floor(reach)), i, first, list[first:last+1])
			}
		}
	}
	return d
}

// outermost returns the radius beyond which noise has next to nothing, in sensitivities.
func outermost(s ball.Spec) float64 {
	rest := 0.0
	for j := len(s.Radii) - 1; j > 0; j-- {
		if rest += math.Ldexp(float64(s.Weights[j]), -64); rest > 1e-2*s.Delta {
			return math.Ldexp(float64(s.Radii[j]), s.StepExponent) / s.Sensitivity
		}
	}
	return 0
}
