package oracle

import (
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
)

// maxTailCount is where a sum over the tails is given up as too large for
// float64: of the order of its square.
const maxTailCount = 0x1p500

// AwanDongLoss returns the least expected loss of any (ε, δ)-private integer
// noise on an integer query of sensitivity 1, for the losses L1 and L2:
//
//	E|X| = 2 Σ T_k,  E X² = 2 Σ (2k-1) T_k.
//
// The error wraps [dp.ErrInvalid] for bad parameters and [noise.ErrNotApplicable] for
// ε = δ = 0 and for other losses. The relative rounding error is below 1e-12.
// The cost is O(log n) for n tails.
func AwanDongLoss(epsilon, delta float64, l loss.Loss) (float64, error) {
	const name = "optimal integer noise"
	if err := checkBoth(name, dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}); err != nil {
		return 0, err
	}
	if err := checkLoss(l); err != nil {
		return 0, err
	}
	sum, weighted := tailSums(epsilon, delta)
	var value float64
	switch l.(type) {
	case loss.L1:
		value = 2 * sum
	case loss.L2:
		value = 2 * weighted
	default:
		return 0, notApplicable(name, "its loss is known for l1 and l2 only, loss = %s", l.Name())
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return 0, check.Errorf("oracle", dp.ErrInvalid, "%s: expected %s loss = %g, want a finite float64", name, l.Name(), value)
	}
	return value, nil
}

// TulapLoss returns the expected loss, for L1 or L2, of Tulap noise, the
// canonical noise of (ε, δ)-privacy (Awan & Slavković 2018; Awan & Vadhan
// 2023): Δ times the sum of the optimal integer noise and an independent
// uniform variable on [-1/2, 1/2). It is (ε, δ)-private on real queries:
//
//	E|X| = Δ(2ΣT_k + p(0)/4),  E X² = Δ²(2Σ(2k-1)T_k + 1/12).
//
// Errors and accuracy are those of [AwanDongLoss].
func TulapLoss(p dp.Privacy, l loss.Loss) (float64, error) {
	if err := p.Validate(); err != nil {
		return 0, err
	}
	v, err := AwanDongLoss(p.Epsilon, p.Delta, l)
	if err != nil {
		return 0, err
	}
	d := p.Sensitivity
	if _, ok := l.(loss.L2); ok {
		return d * d * (v + 1.0/12), nil
	}
	return d * (v + (1-2*firstTail(p.Epsilon, p.Delta))/4), nil
}

// LowerBound returns a lower bound on the expected loss, L1 or L2, of every
// (ε, δ)-private additive noise on a real query, of any shape:
//
//	E|X| >= 2Δ ΣT_k,  E X² >= Δ²(2Σ(2k-1)T_k - 1/4), and 0 if that is negative,
//
// with T_k the tails of the optimal integer noise. It is cheap and valid
// everywhere but not tight: noise on a grid of step Δ is held against every
// noise, with the loss replaced by its chords between the multiples of Δ.
//
// Why: cut the line into cells of width Δ centred on jΔ+u, u uniform. The masses
// of the cells, averaged over u, are private integer noise of sensitivity 1,
// and x falls into cell j with the weight of linear interpolation at node jΔ. So
// E c(X) is at least the integer optimum for any node values whose interpolant
// is below c: |j|Δ for l1, (j²-1/4)Δ² for l2.
//
// Errors are those of [AwanDongLoss]. The value is a float64 with a relative
// error below 1e-12, in no particular direction: not a certificate.
func LowerBound(p dp.Privacy, l loss.Loss) (float64, error) {
	if err := p.Validate(); err != nil {
		return 0, err
	}
	v, err := AwanDongLoss(p.Epsilon, p.Delta, l)
	if err != nil {
		return 0, err
	}
	d := p.Sensitivity
	if _, ok := l.(loss.L2); ok {
		return math.Max(0, d*d*(v-0.25)), nil
	}
	return d * v, nil
}

// firstTail returns T_1.
func firstTail(epsilon, delta float64) float64 {
	b := math.Exp(-epsilon)
	return (1 - delta) * b / (1 + b)
}

// tailBlock describes m consecutive tails as functions of the first of them, T:
// the tail after the block is alpha·T - beta, the sum is sigma·T - tau and the
// sum weighted by 0, 1, …, m-1 is rho·T - kappa. All coefficients are >= 0.
type tailBlock struct {
	m, alpha, beta, sigma, tau, rho, kappa float64
}

// doubled returns the block of 2m tails: two blocks in a row, with T' = αT-β
// put in for the first tail of the second.
func (k tailBlock) doubled(epsilon, delta float64) tailBlock {
	shifted := k.m*k.sigma + k.rho
	d := newTailBlock(epsilon, delta, 2*k.m)
	d.tau = 2*k.tau + k.sigma*k.beta
	d.rho = k.rho + shifted*k.alpha
	d.kappa = 2*k.kappa + k.m*k.tau + shifted*k.beta
	return d
}

// newTailBlock returns the coefficients that have a closed form; for one tail
// these are all. Squaring alpha instead of computing it anew would double its
// relative error each time.
func newTailBlock(epsilon, delta, m float64) tailBlock {
	sigma := m
	if epsilon > 0 {
		sigma = math.Expm1(-epsilon*m) / math.Expm1(-epsilon)
	}
	return tailBlock{m: m, alpha: math.Exp(-epsilon * m), beta: delta * math.Exp(-epsilon) * sigma, sigma: sigma}
}

// tailSums returns Σ T_k and Σ (2k-1) T_k over the positive tails. There may be
// 10^12 of them, and the sum of the geometric series in closed form cancels
// when ε is small against δ; blocks of 1, 2, 4, … tails need O(log n) steps and
// subtract only where the tails do.
func tailSums(epsilon, delta float64) (sum, weighted float64) {
	t := firstTail(epsilon, delta)
	blocks := []tailBlock{newTailBlock(epsilon, delta, 1)}
	for {
		last := blocks[len(blocks)-1]
		if !(last.alpha*t-last.beta > 0) {
			break
		}
		if last.m > maxTailCount {
			return math.Inf(1), math.Inf(1)
		}
		blocks = append(blocks, last.doubled(epsilon, delta))
	}
	// A block is taken if a positive tail remains after it, so the last
	// positive tail is always left over.
	passed := 0.0
	take := func(k tailBlock) {
		s := k.sigma*t - k.tau
		sum += s
		weighted += (2*passed+1)*s + 2*(k.rho*t-k.kappa)
		passed += k.m
		t = k.alpha*t - k.beta
	}
	for i := len(blocks) - 1; i >= 0; i-- {
		if k := blocks[i]; k.alpha*t-k.beta > 0 {
			take(k)
		}
	}
	take(blocks[0])
	return sum, weighted
}
