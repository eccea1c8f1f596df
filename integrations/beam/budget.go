// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
)

// Budget is the total that everything released about the same people keeps, in this
// pipeline and in those that share the Budget. The functions of this package charge what they
// release; call Charge for what is released about the same people in other ways. What is
// charged is one run of a pipeline: one that is run again draws again.
type Budget = account.Budget

// NewBudget returns a Budget of epsilon > 0 and finite, 0 <= delta < 1, for one person. It composes
// exactly: the mechanisms must not be chosen in view of answers. The error wraps dp.ErrInvalid.
func NewBudget(epsilon, delta float64) (*Budget, error) {
	return account.NewBudget(dp.Budget{Epsilon: epsilon, Delta: delta}, false)
}
