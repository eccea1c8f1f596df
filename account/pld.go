package account

import (
	"fmt"

	"github.com/noisewright/noisewright/internal/check"
)

// PrivacyLossDistribution is that of one release of a mechanism: the law of the privacy loss log
// P(x)/Q(x), x drawn from P, for the worst laws P and Q of the output on two neighboring data sets,
// bounded from both sides. It is immutable and safe for concurrent use.
type PrivacyLossDistribution struct {
	pair dominatingPair
	// added is nil where pair is for both orders of neighbors. Else pair is about the loss
	// of one person, and added about the gain, and the order is the same in all releases.
	added dominatingPair
}

// dominatingPair bounds the privacy profile h of a mechanism, and the pair of laws
// P, Q of its outputs for the two neighbors that attain it.
type dominatingPair interface {
	// deltaUpper and deltaLower bound h(ε), ε >= 0.
	deltaUpper(epsilon float64) float64
	deltaLower(epsilon float64) float64
	// epsilonUpper returns an ε >= 0 with h(ε) <= delta, close to the smallest. An error
	// wraps ErrDeltaTooSmall if there is none.
	epsilonUpper(delta float64) (float64, error)
	// extent returns an interval of finite losses; those outside add at most
	// about tail to δ. It is a hint: no bound relies on it.
	extent(tail float64) (least, most float64)
	// upper returns bounds above h at the losses of the grid.
	upper(g grid) []float64
	// lower returns one or two sub-laws of losses on the grid such that that of one pair of
	// neighbors, plus slackShare of a step, is stochastically larger. Of the pairs there are it
	// prefers those that matter when losses are weighted with e^(theta·loss).
	lower(g grid, theta float64) []*pmf
	// unit is a loss that grid steps of about this size should divide, or 0.
	unit(step float64) float64
	// narrow is a loss near which losses end, where most of them may lie between it and 0,
	// else +Inf.
	narrow() float64
	// fits reports whether all losses are on a grid of this step, or so dense
	// that lower can regroup them.
	fits(step float64) bool
}

// unit roundoff of float64.
const roundoff = 0x1p-53

// grid is the losses step·i, first <= i <= last.
type grid struct {
	step        float64
	first, last int
}

func (g grid) len() int         { return g.last - g.first + 1 }
func (g grid) at(i int) float64 { return float64(i) * g.step }

// maxEpsilon bounds the epsilon of a single release; e^epsilon and its inverse
// square must stay far inside float64.
const maxEpsilon = 100

func checkEpsilon(epsilon float64) error {
	if epsilon > 0 && epsilon <= maxEpsilon {
		return nil
	}
	return check.Field("account", "epsilon", epsilon, fmt.Sprintf("0 < epsilon <= %d", maxEpsilon))
}
