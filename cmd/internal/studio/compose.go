// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"context"
	"errors"
	"strconv"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/portrait"
	"github.com/noisewright/noisewright/noise"
)

// pureDelta is the delta at which several releases with delta 0 are composed.
const pureDelta = 1e-6

type composition struct {
	Releases int             `json:"releases"`
	Delta    string          `json:"delta"` // at which it is bounded
	Upper    *portrait.Bound `json:"upper"` // epsilon
	Lower    *portrait.Bound `json:"lower"`
	Basic    *portrait.Bound `json:"basic"` // of basic composition; null: none
}

// counts are numbers of releases up to one: 1, 2, 5, 10, and so on.
func counts(last int) []int {
	var out []int
	for decade := 1; decade <= last; decade *= 10 {
		for _, n := range []int{1, 2, 5} {
			if n*decade < last {
				out = append(out, n*decade)
			}
		}
	}
	return append(out, last)
}

func (s *study) compose(ctx context.Context, made subject) error {
	pld, err := account.LossOf(made.mechanism)
	if err != nil {
		return err
	}
	p, total := made.Portrait, made.Total
	last := max(s.count, total.Releases, 10)
	rows := []composition{}
	for _, n := range counts(min(last, maxReleases)) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		delta := rounded(p.Delta*float64(n), 14) // 1.2e-5 for twelve times 1e-6, where the product has other last digits
		switch {
		case total.Releases > 0:
			delta = total.Delta
		case p.Delta == 0 && n > 1:
			delta = pureDelta
		}
		if delta >= 1 {
			break // which nothing costs less than
		}
		row, err := composed(pld, n, delta)
		if errors.Is(err, account.ErrDeltaTooSmall) {
			continue
		}
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	if err := s.send("composed", map[string]any{"rows": rows, "releases": s.count, "total": total.Releases}); err != nil {
		return err
	}
	return s.profile(ctx, pld, p)
}

// rounded is x to so many digits.
func rounded(x float64, digits int) float64 {
	out, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if err != nil {
		return x
	}
	return out
}

func composed(pld *account.PrivacyLossDistribution, n int, delta float64) (composition, error) {
	row := composition{Releases: n, Delta: strconv.FormatFloat(delta, 'g', -1, 64)}
	c, err := account.Compose([]account.Release{{PLD: pld, Times: n}}, account.Options{})
	if err != nil {
		return row, err
	}
	b, err := c.BestEpsilon(delta)
	if err != nil {
		return row, err
	}
	row.Upper, row.Lower = portrait.FloatUp(b.Upper), portrait.FloatDown(b.Lower)
	if basic, ok := c.BasicEpsilon(delta); ok {
		row.Basic = portrait.FloatUp(basic)
	}
	return row, nil
}

// band is a privacy profile, bounded from above.
type band struct {
	Name  string `json:"name"`
	Upper []any  `json:"upper"` // epsilon, delta, and delta as it is shown
}

const (
	profilePoints = 33
	profileReach  = 1.6 // of the epsilon promised
	wide          = 0.05
)

// profile sends the delta of a release at other epsilons, and that of classical noise.
func (s *study) profile(ctx context.Context, pld *account.PrivacyLossDistribution, p *portrait.Portrait) error {
	most := profileReach * max(p.Epsilon, 0x1p-10)
	out := []band{}
	add := func(name string, pld *account.PrivacyLossDistribution, err error) error {
		if err != nil {
			return nil // it does not apply
		}
		b, err := profileOf(ctx, pld, most)
		b.Name = name
		out = append(out, b)
		return err
	}
	err := add("this "+p.Kind, pld, nil)
	if p.Kind == "table" && p.Epsilon > 0 {
		laplace, bad := account.Laplace(p.Epsilon)
		err = errors.Join(err, add(noise.Laplace, laplace, bad))
		gaussian, bad := account.AnalyticGaussian(p.Epsilon, p.Delta)
		err = errors.Join(err, add(noise.AnalyticGaussian, gaussian, bad))
	}
	if err != nil {
		return err
	}
	return s.send("profile", out)
}

func profileOf(ctx context.Context, pld *account.PrivacyLossDistribution, most float64) (b band, err error) {
	c, err := account.Compose([]account.Release{{PLD: pld, Times: 1}}, account.Options{Width: wide})
	if err != nil {
		return b, err
	}
	for i := range profilePoints {
		if err := ctx.Err(); err != nil {
			return b, err
		}
		epsilon := rounded(most*float64(i)/(profilePoints-1), 3) // as is shown
		d, err := c.Delta(epsilon)
		if err != nil {
			return b, err
		}
		if upper := portrait.FloatUp(min(d.Upper, 1)); upper != nil {
			b.Upper = append(b.Upper, []any{epsilon, upper.Value, upper.Text})
		}
	}
	return b, nil
}
