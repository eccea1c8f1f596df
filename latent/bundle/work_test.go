// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"context"
	"errors"
	"testing"

	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// fresh is a bundle whose tables nobody has verified yet.
func fresh(t *testing.T, s Spec) *Bundle {
	t.Helper()
	dir := t.TempDir() + "/bundle"
	if err := must(New(s)).Write(dir, false); err != nil {
		t.Fatal(err)
	}
	return must(Read(dir))
}

// The limit of work is for all tables of a bundle together. What exceeds it is not checked,
// which is not the verdict that it is not private.
func TestWorkOfABundle(t *testing.T) {
	for _, s := range []Spec{perCoordinate(t), jointGaussian(t, Box, 1, 1e-5, 0.3, 0.4)} {
		var work int64
		for _, table := range s.Tables {
			work += must(table.Verify()).Work()
		}
		if s.Composition == jointL2 {
			work += distanceWork * int64(s.Tables[0].Cells())
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for _, c := range []struct {
			ctx  context.Context
			work int64
			want error
		}{{t.Context(), work, nil}, {t.Context(), work - 1, proof.ErrWork}, {t.Context(), 1, proof.ErrWork}, {ended, work, context.Canceled}} {
			v, err := fresh(t, s).VerifyContext(c.ctx, nil, proof.Options{Work: c.work})
			if !errors.Is(err, c.want) || errors.Is(err, proof.ErrNotPrivate) || (v == nil) != (c.want != nil) {
				t.Errorf("%s: work %d of %d: %v, %v, want %v", s.Composition, c.work, work, v, err, c.want)
			}
		}
	}
	// An accountant that gives up gives no verdict either.
	s := perCoordinate(t)
	s.Composition = Exact
	_, err := must(New(s)).Verify(func([]*tables.Table, Promise) (float64, error) { return 0, proof.ErrWork })
	if !errors.Is(err, proof.ErrWork) || errors.Is(err, proof.ErrNotPrivate) {
		t.Errorf("an accountant without a result: %v", err)
	}
}
