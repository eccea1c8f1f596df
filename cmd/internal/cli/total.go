package cli

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// total is what a table claims to keep over several releases, in the JSON of all
// commands, and what was proved of it.
type total struct {
	Releases     int      `json:"releases"`
	Epsilon      float64  `json:"epsilon"`
	Delta        float64  `json:"delta"`
	EpsilonUpper *float64 `json:"epsilon_upper"` // null: no epsilon is proved
}

// proveTotal proves the total that a table claims; nil if there is none. The
// error wraps proof.ErrFalseClaim, and what was proved is beside it, if that is not
// the total.
func proveTotal(p proof.Proven) (*total, error) {
	v, ok := p.(*tables.Verified) // no other form claims one
	if !ok {
		return nil, nil //nolint:nilnil // there is none
	}
	claim, ok := v.Mechanism().ClaimedTotal()
	if !ok {
		return nil, nil //nolint:nilnil // there is none
	}
	b, err := account.ProveTotal(v)
	if err != nil && !errors.Is(err, proof.ErrFalseClaim) {
		return nil, err
	}
	return &total{claim.Releases, claim.Epsilon, claim.Delta, shell.Finite(b.Upper)}, err
}

// soundTotal is proveTotal for what was read from a file: a false total is a negative verdict.
func soundTotal(ctx context.Context, file string, v proof.Proven) (*total, error) {
	const noLimit = math.MaxInt64 // but that of account
	var whole *total              // written to even after Within is left
	falsehood, stopped := shell.Within(ctx, file, noLimit, func(context.Context) (err error) {
		whole, err = proveTotal(v)
		return err
	})
	switch {
	case stopped != nil:
		return nil, stopped
	case errors.Is(falsehood, proof.ErrFalseClaim):
		return nil, shell.Negative("noisewright verify "+file, fmt.Errorf("%s: %w", shell.InputName(file), falsehood))
	case falsehood != nil:
		return nil, falsehood
	}
	return whole, nil
}

// row is the total in a summary.
func (t *total) row() shell.Row {
	composed := "no epsilon is proved"
	if t.EpsilonUpper != nil {
		composed = "composed epsilon: " + shell.DigitsUp(*t.EpsilonUpper)
	}
	return shell.Row{"total", fmt.Sprintf("epsilon %v, delta %v for %s together (%s)", t.Epsilon, t.Delta, counted(t.Releases, "release"), composed)}
}

// target is what classical noise is calibrated to, to compare it with the table.
func (t *total) target(table *tables.Table) account.Target {
	target := account.Target{Problem: table.Problem(), Releases: t.Releases}
	target.Epsilon, target.Delta = t.Epsilon, t.Delta
	return target
}
