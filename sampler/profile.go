package sampler

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/noisewright/noisewright/tables"
)

// expBits is the number of fractional bits of the lower bound on e^ε, as in the
// certificate of a table, and expGuard what its series carries beside.
const (
	expBits  = 96
	expGuard = 160
)

// Profile returns the delta of the table's noise at its epsilon for shifts by
// exactly k cells, either way, for k = 1 … CellsPerSensitivity:
//
//	δ_k = (a + max(Σ_j (W_j - E·W_{j-k})₊, Σ_j (W_j - E·W_{j+k})₊)) / 2^64
//
// where W are the weights, 0 outside the table, a is the weight of the atom and
// E = ⌊e^ε·2^96⌋/2^96. Each is an upper bound of the true hockey-stick
// divergence, as E is below e^ε, and exact as a function of E. The largest is
// what tables.Certificate calls DeltaUpper.
//
// It takes about cells × cells-per-sensitivity × 2 ns.
func Profile(t *tables.Table) []*big.Rat {
	e := expDown(t.Privacy().Epsilon)
	n := t.Cells()
	weights := make([]uint64, n)
	limits := make([]uint64, n) // W > E·V exactly if W > ⌊E·V⌋
	product := new(big.Int)
	for i := range weights {
		weights[i] = t.Weight(i)
		product.SetUint64(weights[i]).Mul(product, e).Rsh(product, expBits)
		limits[i] = math.MaxUint64
		if product.IsUint64() {
			limits[i] = product.Uint64()
		}
	}
	atom := new(big.Int).SetUint64(t.Atom())
	atom.Lsh(atom, expBits)
	one := new(big.Int).Lsh(big.NewInt(1), expBits+64)

	profile := make([]*big.Rat, t.Grid().CellsPerSensitivity)
	for i := range profile {
		k := i + 1
		if k > n {
			profile[i] = profile[i-1] // disjoint supports
			continue
		}
		worst := hockeyStick(weights, limits, k, e)
		if mirrored := hockeyStick(weights, limits, -k, e); mirrored.Cmp(worst) > 0 {
			worst = mirrored
		}
		profile[i] = new(big.Rat).SetFrac(worst.Add(worst, atom), one)
	}
	return profile
}

// hockeyStick returns Σ_j (W_j - E·W_{j-k})₊·2^96 for E = e/2^96.
func hockeyStick(weights, limits []uint64, k int, e *big.Int) *big.Int {
	var gain, price [2]uint64 // 128-bit sums of W_j and W_{j-k}
	for j, w := range weights {
		var v, limit uint64
		if i := j - k; i >= 0 && i < len(weights) {
			v, limit = weights[i], limits[i]
		}
		if w > limit {
			var c uint64
			gain[0], c = bits.Add64(gain[0], w, 0)
			gain[1] += c
			price[0], c = bits.Add64(price[0], v, 0)
			price[1] += c
		}
	}
	sum := wide(gain)
	sum.Lsh(sum, expBits)
	return sum.Sub(sum, new(big.Int).Mul(wide(price), e))
}

func wide(x [2]uint64) *big.Int {
	b := new(big.Int).SetUint64(x[1])
	b.Lsh(b, 64)
	return b.Add(b, new(big.Int).SetUint64(x[0]))
}

// expDown returns ⌊e^x·2^96⌋ for 0 <= x <= tables.MaxEpsilon, or one less: the
// series Σ x^i/i! with every term rounded down at 2^-256.
//
// Rounding down only ever lowers it. By how much: an error in a term becomes one
// of x/i times it in the next, so the errors sum to less than e^x times the
// number of terms, below 2^160·2^-256.
func expDown(x float64) *big.Int {
	r := new(big.Rat).SetFloat64(x)
	term := new(big.Int).Lsh(big.NewInt(1), expBits+expGuard)
	sum := new(big.Int)
	for i := int64(1); term.Sign() > 0; i++ {
		sum.Add(sum, term)
		term.Mul(term, r.Num())
		term.Div(term, new(big.Int).Mul(r.Denom(), big.NewInt(i)))
	}
	return sum.Rsh(sum, expGuard)
}
