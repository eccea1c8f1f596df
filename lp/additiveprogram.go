package lp

import (
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/kernels/additive"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/cuts"
	"github.com/noisewright/noisewright/lp/solver"
)

func ratOf(n int) *big.Rat { return new(big.Rat).SetInt64(int64(n)) }

// additiveLayout describes a discretized design problem with one law P_C over the bins
// -half … half for each cell C:
//
//	minimize   Σ_C weight_C·Σ_j cost[j]·P_C(j)
//	subject to Σ_j P_C(j) = 1,  P ≥ 0
//	           Σ_j (P_C(j) − ratio·P_D(j+k))₊ ≤ δ    for every limit (C, D, k), |j| ≤ events
//	           Σ_j capped[j]·P_C(j) ≤ 1              for every cell, if there is a cap
type additiveLayout struct {
	weight       []float64
	cost, capped []float64 // of bin j at j+half
	half, events int
	limits       []additive.Pair
	// mirrored: P_C(j) and P_{n−1−C}(−j) share a variable; of limits that are mirror
	// images of each other one stands for both.
	mirrored            bool
	ratio, delta, decay float64 // decay is ε per bin, to scale by
}

// additiveProgram is an additiveLayout that is being solved.
type additiveProgram struct {
	additiveLayout
	relaxation *cuts.Program
}

func newAdditiveProgram(l additiveLayout, newSolver solver.Factory) (*additiveProgram, error) {
	p := &additiveProgram{additiveLayout: l}
	if l.mirrored {
		p.limits = slices.DeleteFunc(slices.Clone(l.limits), func(a additive.Pair) bool { return later(a, p.mirror(a)) })
	}
	var err error
	p.relaxation, err = cuts.New(p.problem(), cuts.Options{NewSolver: newSolver, Batch: kernelBatch, Interior: kernelInterior})
	return p, err
}

// mirror returns the mirror image of a limit.
func (p *additiveProgram) mirror(a additive.Pair) additive.Pair {
	n := len(p.weight)
	return additive.Pair{Gain: n - 1 - a.Gain, Lose: n - 1 - a.Lose, Shift: -a.Shift}
}

// later orders limits.
func later(a, b additive.Pair) bool {
	if a.Gain != b.Gain {
		return a.Gain > b.Gain
	}
	if a.Lose != b.Lose {
		return a.Lose > b.Lose
	}
	return a.Shift > b.Shift
}

// variable returns the variable of bin j of a cell.
func (p *additiveProgram) variable(cell, j int) int {
	n, width := len(p.weight), 2*p.half+1
	if p.mirrored && (2*cell > n-1 || 2*cell == n-1 && j > 0) {
		cell, j = n-1-cell, -j
	}
	return cell*width + j + p.half
}

// variables is the number of variables, of which the middle cell of a mirrored problem
// has half as many.
func (p *additiveProgram) variables() int {
	n, width := len(p.weight), 2*p.half+1
	switch {
	case !p.mirrored:
		return n * width
	case n%2 == 0:
		return n / 2 * width
	default:
		return n/2*width + p.half + 1
	}
}

// sums is the number of cells with a law of their own.
func (p *additiveProgram) sums() int {
	if p.mirrored {
		return (len(p.weight) + 1) / 2
	}
	return len(p.weight)
}

// problem states the layout in variables. The rows are the total masses of the cells, and
// after them their caps.
func (p *additiveProgram) problem() cuts.Problem {
	out := cuts.Problem{Ratio: p.ratio, Delta: p.delta}
	out.Cost, out.Scale = make([]float64, p.variables()), make([]float64, p.variables())
	var sums, caps []cuts.Row
	for cell, w := range p.weight {
		sum := cuts.Row{Lower: 1, Upper: 1}
		limit := cuts.Row{Lower: math.Inf(-1), Upper: 1}
		for j := -p.half; j <= p.half; j++ {
			v := p.variable(cell, j)
			out.Cost[v] += w * p.cost[j+p.half]
			out.Scale[v] = max(math.Exp(-p.decay*math.Abs(float64(j))), p.delta/10)
			sum.Index, sum.Value = append(sum.Index, v), append(sum.Value, 1)
			if p.capped != nil {
				limit.Index, limit.Value = append(limit.Index, v), append(limit.Value, p.capped[j+p.half])
			}
		}
		if cell < p.sums() {
			sums, caps = append(sums, sum), append(caps, limit)
		}
	}
	if out.Rows = sums; p.capped != nil {
		out.Rows = append(out.Rows, caps...)
	}
	for _, a := range p.limits {
		var l cuts.Limit
		for j := -p.events; j <= p.events; j++ {
			l.Gain = append(l.Gain, p.variable(a.Gain, j))
			if to := j + int(a.Shift); to < -p.half || to > p.half {
				l.Lose = append(l.Lose, -1)
			} else {
				l.Lose = append(l.Lose, p.variable(a.Lose, to))
			}
		}
		out.Limits = append(out.Limits, l)
	}
	return out
}

// binLaws are laws of cells on bins around 0, so many per sensitivity.
type binLaws struct {
	k    int
	laws [][]float64
}

// mass is about that of bin j, of k per sensitivity, in a cell.
func (b binLaws) mass(cell, j, k int) float64 {
	law := b.laws[cell]
	half := len(law) / 2
	share := float64(b.k) / float64(k)
	at := float64(j) * share
	low := math.Floor(at)
	own := func(i int) float64 {
		if i < -half || i > half {
			return 0
		}
		return law[i+half]
	}
	t := at - low
	return ((1-t)*own(int(low)) + t*own(int(low)+1)) * share
}

// expect lifts all limits, with the terms that laws make positive or nearly so; where there
// are none for these cells, noise like that of Laplace.
func (p *additiveProgram) expect(hint binLaws, k int) error {
	mass := make([]float64, p.variables())
	for cell := range p.weight {
		for j := -p.half; j <= p.half; j++ {
			m := math.Exp(-p.decay * math.Abs(float64(j)))
			if len(hint.laws) == len(p.weight) {
				m = hint.mass(cell, j, k) + hintFloor
			}
			mass[p.variable(cell, j)] = m
		}
	}
	var all []int
	for i := range p.limits {
		all = append(all, i)
	}
	return p.relaxation.Expect(mass, all, hintSlack)
}

// laws returns the laws of all cells.
func (p *additiveProgram) laws() [][]float64 {
	mass := p.relaxation.Masses()
	laws := make([][]float64, len(p.weight))
	for cell := range laws {
		for j := -p.half; j <= p.half; j++ {
			laws[cell] = append(laws[cell], mass[p.variable(cell, j)])
		}
	}
	return laws
}

// dual reads the multipliers of a lower program, in units of the loss (unit is what the
// costs were divided by, and instanceCap what those of the cap were). Whatever the
// solver's errors, the result proves a true bound.
func (p *additiveProgram) dual(nodes int, unit, instanceCap float64) *additive.Dual {
	image := 1.0 // a variable of a mirrored program stands for two, and so does a row
	if p.mirrored {
		image = 0.5
	}
	d := &additive.Dual{NodesPerSensitivity: nodes}
	var total float64
	for i := range p.limits {
		total += p.relaxation.Price(i) * unit
	}
	n := len(p.weight)
	var caps []float64
	if p.capped != nil {
		caps = make([]float64, n)
		for k := range p.sums() {
			kappa := max(0, -p.relaxation.Dual(p.sums()+k)) * unit / instanceCap
			if !p.mirrored {
				caps[k] = kappa
			} else {
				caps[k] += kappa * image
				caps[n-1-k] += kappa * image
			}
			total += kappa
		}
	}
	if total <= 0 {
		return d
	}
	_, exp := math.Frexp(total)
	d.Exponent = exp - dualBits
	for _, kappa := range caps {
		d.Caps = append(d.Caps, int64(math.Ldexp(kappa, -d.Exponent)))
	}
	y := make([]float64, 2*p.events+1)
	for i, a := range p.limits {
		for j := range y {
			y[j] = p.relaxation.Multiplier(i, j) * image
		}
		d.Shifts = addShift(d.Shifts, a, y, p.events, math.Ldexp(unit, -d.Exponent))
		if p.mirrored {
			slices.Reverse(y)
			d.Shifts = addShift(d.Shifts, p.mirror(a), y, p.events, math.Ldexp(unit, -d.Exponent))
		}
	}
	return d
}

// addShift appends the multipliers of a limit, those of the nodes -events … events, if
// there are any.
func addShift(all []additive.DualShift, a additive.Pair, y []float64, events int, scale float64) []additive.DualShift {
	first, m := integers(y, scale)
	if m == nil {
		return all
	}
	return append(all, additive.DualShift{Gain: a.Gain, Lose: a.Lose, Shift: int(a.Shift), First: first - events, Multipliers: trimmed(m)})
}

// upperAdditive lays out the program whose solutions are kernels on the bins.
func upperAdditive(p AdditiveProblem, g additive.Grid, k, half int, epsilon, delta, unit, limit float64) additiveLayout {
	l := additiveBase(p, k, half, epsilon, delta)
	l.events = half
	l.limits = additive.Shifts(p.Edges, p.Sensitivity, k, true)
	step, _ := g.Step().Float64()
	mean := func(of loss.Loss, by float64) []float64 {
		var out []float64
		for j := -half; j <= half; j++ {
			width := float64(g.PointsPerBin) * step
			out = append(out, of.CellMean(float64(j)*width, width)/by)
		}
		return out
	}
	l.cost = mean(p.Loss, unit)
	if p.InstanceCap > 0 {
		l.capped = mean(p.capped(), limit)
	}
	return l
}

// lowerAdditive lays out the program of which all private noise is a solution.
func lowerAdditive(p AdditiveProblem, k, events int, unit float64) additiveLayout {
	l := additiveBase(p, k, events+k, p.Epsilon, p.Delta)
	l.events = events
	l.limits = additive.Shifts(p.Edges, p.Sensitivity, k, false)
	step := ratOf(k)
	step.Quo(new(big.Rat).SetFloat64(p.Sensitivity), step)
	nodes := func(of loss.Loss, by float64) []float64 {
		var out []float64
		for j := -l.half; j <= l.half; j++ {
			c, _ := of.LowerNode(int64(j), step).Float64()
			out = append(out, c/by)
		}
		return out
	}
	l.cost = nodes(p.Loss, unit)
	if p.InstanceCap > 0 {
		l.capped = nodes(p.capped(), p.InstanceCap)
	}
	return l
}

func additiveBase(p AdditiveProblem, k, half int, epsilon, delta float64) additiveLayout {
	l := additiveLayout{
		half: half, mirrored: p.symmetric(), ratio: math.Exp(epsilon), delta: delta,
		decay: p.Epsilon / float64(k), weight: slices.Clone(p.weight()),
	}
	var sum float64
	for _, w := range l.weight {
		sum += w
	}
	for i := range l.weight {
		l.weight[i] /= sum
	}
	return l
}
