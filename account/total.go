package account

import (
	"errors"
	"fmt"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// ProveTotal proves the total that a table claims to be made for, its ClaimedTotal, and
// returns bounds on the epsilon of so many releases together at the total's delta.
//
// Guarantee: without an error, total.Releases releases of the table, each with fresh
// noise, are (total.Epsilon, total.Delta)-differentially private, by exact composition
// of the table's weights ([Composition.Epsilon]) or by basic composition of what was
// verified of one (docs/proofs/composition.md).
//
// The error wraps [proof.ErrFalseClaim] if that is not proved, with the bounds beside
// it, their Upper +Inf where no epsilon is; [dp.ErrInvalid] if there is no table or it
// claims no total; and [proof.ErrWork] if the table is more than [LossOf] takes, which
// says nothing about the total. The cost is one composition.
func ProveTotal(v *tables.Verified) (Bounds, error) {
	if v == nil || v.Mechanism() == nil {
		return Bounds{}, check.Field("account", "table", "none", "a verified one")
	}
	total, ok := v.Mechanism().ClaimedTotal()
	if !ok {
		return Bounds{}, check.Field("account", "total", "none", "a table that claims one")
	}
	t := Target{Problem: v.Mechanism().Problem(), Releases: total.Releases}
	promised := t.Privacy
	t.Epsilon, t.Delta = total.Epsilon, total.Delta
	var b Bounds
	pld, err := LossOf(v.Mechanism())
	if err == nil {
		b, err = t.compose(pld, 0)
	}
	if err != nil { // basic composition is all there is
		b = Bounds{Upper: math.Inf(1)}
	}
	b = t.orBasic(b, promised.Epsilon, promised.Delta)
	if b.Upper <= total.Epsilon {
		return b, nil
	}
	if err != nil && !errors.Is(err, dp.ErrInvalid) {
		return b, err
	}
	proved := "no epsilon is proved"
	if !math.IsInf(b.Upper, 1) {
		proved = fmt.Sprintf("only epsilon = %v is proved", b.Upper)
	}
	return b, check.Errorf("account", proof.ErrFalseClaim, "total = %d releases with epsilon = %g, delta = %g is claimed but %s at this delta", total.Releases, total.Epsilon, total.Delta, proved)
}
