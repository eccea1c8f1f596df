// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/partition"
)

// longestKey bounds the bytes of a key.
const longestKey = 1 << 10

// found returns the group of a key that no row had before.
func (r *reader) found(key string) (int, error) {
	if key == "" || len(key) > longestKey || !utf8.ValidString(key) {
		return 0, check.Errorf("", nil, "column %s: not a key, which is UTF-8 text of 1 to %d bytes", check.Quoted(r.query.By), longestKey)
	}
	key = strings.Clone(key)
	r.group[key] = len(r.keys)
	r.keys = append(r.keys, key)
	return len(r.keys) - 1, nil
}

// newPrivateKeys answers for the keys that enough units have, with half of epsilon and delta for which these are
// (docs/proofs/beam.md, docs/proofs/release.md).
func newPrivateKeys(ctx context.Context, q Query, source Source) (*mechanism, error) {
	decisions := int64(q.uses() * q.Releases)
	part := func(x float64) (own, rest float64) {
		own = exact.FloatDown(new(big.Rat).Quo(exact.Rational(x), big.NewRat(2*decisions, 1)))
		all := new(big.Rat).Mul(exact.Rational(own), big.NewRat(decisions, 1))
		return own, exact.FloatDown(all.Sub(exact.Rational(x), all))
	}
	before := account.Cost{Times: q.uses()}
	before.Epsilon, q.Epsilon = part(q.Epsilon)
	before.Delta, q.Delta = part(q.Delta)
	rule, err := partition.New(before.Epsilon, before.Delta)
	if err != nil {
		return nil, check.Errorf("release", dp.ErrInvalid, "keys: %w", err)
	}
	m, err := newForKeys(ctx, q, source)
	if err != nil {
		return nil, err
	}
	out := *m
	out.before = before
	out.name = fmt.Sprintf("keys of about %d rows or more, by half of epsilon and delta; %s", rule.Median(), m.name)
	out.answer = func(tallies []tally) ([]Estimate, error) {
		kept, err := keptKeys(rule, tallies)
		if err != nil || len(kept) == 0 {
			return []Estimate{}, err
		}
		answers, err := m.answer(kept)
		for i := range answers {
			answers[i].Key = kept[i].key
		}
		return answers, err
	}
	return &out, nil
}

// newForKeys is the mechanism of a query whose keys are there.
func newForKeys(ctx context.Context, q Query, source Source) (*mechanism, error) {
	if len(q.Also) == 0 {
		return newMechanism(ctx, q, source)
	}
	m, err := newPairOf(ctx, q, source)
	if err != nil {
		return nil, err
	}
	return m.mechanism(), nil
}

// keptKeys returns the tallies of the keys that are released, in the order of the keys, and no more of them than an
// answer has.
func keptKeys(rule *partition.Rule, tallies []tally) (kept []tally, err error) {
	var word partition.Word
	for i := range tallies {
		if _, err := rand.Read(word[:]); err != nil {
			return nil, err
		}
		if rule.Kept(tallies[i].n, word) {
			kept = append(kept, tallies[i])
		}
	}
	slices.SortFunc(kept, func(a, b tally) int { return cmp.Compare(a.key, b.key) })
	texts := 0
	for i := range kept {
		if texts += len(kept[i].key); texts > maxText || i == maxGroups {
			return kept[:i], nil
		}
	}
	return kept, nil
}
