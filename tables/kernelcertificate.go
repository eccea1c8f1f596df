package tables

import (
	"math/big"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
)

// PeakParts returns the number of equal parts of each cell on which the largest
// loss of a query value is bounded: 2048 in all, but from 4 to 64 per cell.
func PeakParts(cells int) int { return min(max(2048/cells, 4), 64) }

// KernelCertificate is what exact arithmetic finds in a kernel. Every number is a
// rigorous bound in the direction its name says.
type KernelCertificate struct {
	// DeltaUpper bounds the delta of the kernel, between any two query values
	// of its range within the sensitivity, from above.
	DeltaUpper *big.Rat
	// Worst are the cells, gaining and losing, between which it is attained.
	Worst [2]int
	// ExpectedLoss is the expected loss, averaged over the law of the queries.
	ExpectedLoss *big.Rat
	// MaxLoss bounds the expected loss of every query value from above, and
	// MaxLossAt is about where.
	MaxLoss   *big.Rat
	MaxLossAt float64
	// LowerBound bounds from below the expected loss, averaged over the law of
	// the queries, of every private mechanism for them; with an InstanceCap, of
	// every one that keeps it.
	LowerBound *big.Rat
}

// Gap returns (ExpectedLoss-LowerBound)/LowerBound, the relative distance from
// the best possible, and false when the lower bound is 0.
func (c KernelCertificate) Gap() (gap float64, ok bool) {
	return Certificate{ExpectedLoss: c.ExpectedLoss, LowerBound: c.LowerBound}.Gap()
}

// Claims returns the strongest claims the certificate supports, as plain
// decimals of 15 significant digits rounded so that they are true.
func (c KernelCertificate) Claims() KernelClaims {
	return KernelClaims{
		Delta:        DecimalUp(c.DeltaUpper),
		ExpectedLoss: DecimalUp(c.ExpectedLoss),
		MaxLoss:      DecimalUp(c.MaxLoss),
		LowerBound:   exact.DecimalDown(c.LowerBound, claimDigits),
	}
}

// Certify recomputes everything a kernel can claim, in exact integer and
// rational arithmetic. For n cells it takes about n³ × 1 ns and n² × 0.1 ms, and
// about 1 µs for each of the cells of the dual, squared.
func (k *Kernel) Certify() KernelCertificate {
	s := &k.spec
	var c KernelCertificate
	c.DeltaUpper, c.Worst = s.worst()
	c.ExpectedLoss = s.expectedLoss()
	c.MaxLoss, c.MaxLossAt = s.maxLoss()
	c.LowerBound = s.Dual.LowerBound(s.Privacy, s.Queries, s.Loss, s.InstanceCap)
	return c
}

// ProtectedPairs lists the pairs of cells k < m between the given edges that hold
// query values within the sensitivity of each other. As a cell does not hold its
// upper edge these are the pairs with Edges[m] − Edges[k+1] < sensitivity
// (docs/proofs/kernel-privacy.md).
func ProtectedPairs(edges []float64, sensitivity float64) [][2]int {
	at, limit := rationals(edges), exact.Rational(sensitivity)
	var pairs [][2]int
	apart := new(big.Rat)
	for k := range edges {
		for m := k + 1; m+1 < len(edges) && apart.Sub(at[m], at[k+1]).Cmp(limit) < 0; m++ {
			pairs = append(pairs, [2]int{k, m})
		}
	}
	return pairs
}

// worst returns the largest divergence between the laws of two cells that hold
// values within the sensitivity, and the cells.
func (s *KernelSpec) worst() (delta *big.Rat, cells [2]int) {
	r := exact.RatioDown(s.Privacy.Epsilon)
	top := new(big.Int)
	for _, p := range ProtectedPairs(s.Edges, s.Privacy.Sensitivity) {
		for _, o := range [][2]int{p, {p[1], p[0]}} {
			if h := r.Divergence(s.Rows[o[0]], s.Rows[o[1]]); h.Cmp(top) > 0 {
				top, cells = h, o
			}
		}
	}
	return probability(top), cells
}

// expectedLoss returns Σ_k Σ_j P_k(j)·C[k][j], see Queries.AnswerCosts.
func (s *KernelSpec) expectedLoss() *big.Rat {
	sum, term, weight := new(big.Rat), new(big.Rat), new(big.Int)
	for k, costs := range s.Queries.AnswerCosts(s.Edges, s.Nodes, s.Loss) {
		for j, c := range costs {
			if w := s.Rows[k][j]; w > 0 {
				term.SetInt(weight.SetUint64(w))
				sum.Add(sum, term.Mul(term, c))
			}
		}
	}
	return sum.Mul(sum, exact.PowerOfTwo(-64))
}

// maxLoss bounds the expected loss of every query value, on PeakParts parts of
// each cell: on the part [a, b] node j costs at most the largest c on [node_j − b,
// node_j − a].
func (s *KernelSpec) maxLoss() (most *big.Rat, at float64) {
	nodes, edges := rationals(s.Nodes), rationals(s.Edges)
	parts := PeakParts(len(nodes))
	fine := exact.PowerOfTwo(peakBits)
	top, weight := new(big.Int), new(big.Int)
	for k, row := range s.Rows {
		step := new(big.Rat).Sub(edges[k+1], edges[k])
		step.Mul(step, big.NewRat(1, int64(parts)))
		a := edges[k]
		for range parts {
			b := new(big.Rat).Add(a, step)
			sum := new(big.Int)
			for j, w := range row {
				if w == 0 {
					continue
				}
				c, _ := loss.CeilingUp(s.Loss, new(big.Rat).Sub(nodes[j], b), new(big.Rat).Sub(nodes[j], a))
				c.Mul(c, fine)
				cost := new(big.Int).Neg(c.Num())
				cost.Div(cost, c.Denom()).Neg(cost) // rounded up
				sum.Add(sum, weight.Mul(weight.SetUint64(w), cost))
			}
			if sum.Cmp(top) > 0 {
				top = sum
				at, _ = a.Float64()
			}
			a = b
		}
	}
	most = new(big.Rat).SetInt(top)
	return most.Mul(most, exact.PowerOfTwo(-64-peakBits)), at
}

// peakBits is the number of fractional bits to which the costs of maxLoss are
// rounded up: fine for losses of any unit that is used.
const peakBits = 192

// Verify certifies the kernel and checks every claim it makes against the
// result. The error wraps ErrNotPrivate if the privacy promise is not kept and
// ErrFalseClaim if a stated number, or the instance cap, does not hold. The
// KernelCertificate is valid in either case.
func (k *Kernel) Verify() (KernelCertificate, error) {
	if k.spec.Loss == nil {
		return KernelCertificate{}, check.Field("tables", "kernel", "zero value", "one made by NewKernel or DecodeKernel")
	}
	c := k.Certify()
	return c, k.judge(c)
}

func (k *Kernel) judge(c KernelCertificate) error {
	p := k.spec.Privacy
	if delta := exact.Rational(p.Delta); c.DeltaUpper.Cmp(delta) > 0 {
		return check.Errorf("tables", ErrNotPrivate, "delta = %g is promised but only %s is proved, between the cells %d and %d (excess %s)", p.Delta, DecimalUp(c.DeltaUpper), c.Worst[0], c.Worst[1], excess(c.DeltaUpper, delta))
	}
	if o := k.spec.InstanceCap; o > 0 {
		if limit := exact.Rational(o); c.MaxLoss.Cmp(limit) > 0 {
			return check.Errorf("tables", ErrFalseClaim, "instance_cap = %g is promised but only %s is proved, near the query value %g (excess %s)", o, DecimalUp(c.MaxLoss), c.MaxLossAt, excess(c.MaxLoss, limit))
		}
	}
	proved := map[string]*big.Rat{"delta": c.DeltaUpper, "expected_loss": c.ExpectedLoss, "max_loss": c.MaxLoss, "lower_bound": c.LowerBound}
	claims := k.spec.Claims
	for _, f := range claims.fields() {
		if err := checkClaim("certificate."+f.name, *f.text, proved[f.name], f.up); err != nil {
			return err
		}
	}
	return nil
}
