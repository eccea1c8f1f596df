// Package oracle has closed forms that tests hold designs and mechanisms against,
// and that comparisons and the reproduction of published tables print: optima of
// special cases and published bounds. Nothing that is released rests on them.
package oracle

import (
	"fmt"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
)

func notApplicable(formula, format string, args ...any) error {
	return check.Errorf("oracle", noise.ErrNotApplicable, "%w", &noise.NotApplicableError{Mechanism: formula, Reason: fmt.Sprintf(format, args...)})
}

// checkBoth refuses parameters for which no noise is private.
func checkBoth(formula string, p dp.Privacy) error {
	if err := p.Validate(); err != nil {
		return err
	}
	if p.Epsilon == 0 && p.Delta == 0 {
		return notApplicable(formula, "no noise is private with epsilon = 0 and delta = 0")
	}
	return nil
}

func checkLoss(l loss.Loss) error {
	if l == nil {
		return check.Field("oracle", "loss", "<nil>", "a loss such as L1 or L2")
	}
	return nil
}
