// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"context"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/proof"
)

// Total is the purpose of a table that was made for several releases about the same
// people: so many, each with fresh noise, are together (Epsilon, Delta)-differentially
// private. The zero value is no total.
type Total struct {
	Releases int     `json:"releases"`
	Epsilon  float64 `json:"epsilon"` // without unit, finite, at least 0
	Delta    float64 `json:"delta"`   // a probability, below 1
}

func (t Total) validate(errs *check.List) {
	if t == (Total{}) {
		return
	}
	errs.If(t.Releases < 1 || t.Releases > limits.TableReleases, "total.releases", t.Releases, "an integer from 1 to %d", limits.TableReleases)
	errs.If(!(t.Epsilon >= 0) || !check.Finite(t.Epsilon), "total.epsilon", t.Epsilon, "a finite number >= 0")
	errs.If(!(t.Delta >= 0 && t.Delta < 1), "total.delta", t.Delta, "0 <= delta < 1")
}

// ClaimedTotal returns the total that the table is said to be made for, and whether
// there is one. It is a claim, and Verify does not check it: a Verified proves the
// promise of a single release. account.ProveTotal proves the total.
func (t *Table) ClaimedTotal() (total Total, ok bool) { return t.spec.Total, t.spec.Total != Total{} }

// WithTotal returns the table with another claimed total, or none. The error wraps dp.ErrInvalid.
// What was certified of the table is not computed again: the total is no part of it.
func (t *Table) WithTotal(total Total) (*Table, error) {
	s := t.spec
	s.Total = total
	return build(context.Background(), s, func(_ *Spec, m *proof.Meter) Certificate { return t.proof.Again(m) })
}
