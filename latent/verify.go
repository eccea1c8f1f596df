// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"context"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// Verify proves the promise of a bundle as [bundle.Bundle.VerifyContext] does, with package
// account for tables that are composed exactly. Its errors are the same.
func Verify(ctx context.Context, b *bundle.Bundle, o proof.Options) (*bundle.Verified, error) {
	return b.VerifyContext(ctx, composition, o)
}

// composition is the accountant of Verify.
func composition(coordinates []*tables.Table, promise bundle.Promise) (deltaUpper float64, err error) {
	known := map[*tables.Table]*account.PrivacyLossDistribution{}
	mechanisms := make([]*account.PrivacyLossDistribution, len(coordinates))
	for i, t := range coordinates {
		if known[t] == nil {
			if known[t], err = account.LossOf(t); err != nil {
				return 0, err
			}
		}
		mechanisms[i] = known[t]
	}
	return composedDelta(mechanisms, promise.Epsilon)
}

// composedDelta returns an upper bound on the δ at epsilon of all mechanisms together.
func composedDelta(mechanisms []*account.PrivacyLossDistribution, epsilon float64) (float64, error) {
	releases := make([]account.Release, len(mechanisms))
	for i, m := range mechanisms {
		releases[i] = account.Release{PLD: m, Times: 1}
	}
	c, err := account.Compose(releases, account.Options{})
	if err != nil {
		return 0, err
	}
	b, err := c.Delta(epsilon)
	if err != nil {
		return 0, err
	}
	if !(b.Upper >= 0) { // NaN too
		return 0, check.Field("latent", "composed delta", b.Upper, "a number of at least 0")
	}
	return b.Upper, nil
}
