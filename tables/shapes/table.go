// SPDX-License-Identifier: Apache-2.0

package shapes

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// symmetric returns the table of the symmetric law whose cells j and -j, 0 <= j <=
// half, have probabilities proportional to mass(j), rounded to weights; see prove.
func symmetric(s tables.Spec, half int, mass func(j int) float64, needed func(tables.Certificate) float64) (*tables.Verified, error) {
	if err := checkHalf(half); err != nil {
		return nil, err
	}
	pmf := make([]float64, 2*half+1)
	for j := range half + 1 {
		m := mass(j)
		pmf[half+j], pmf[half-j] = m, m
	}
	sum := 0.0
	for _, m := range pmf {
		sum += m
	}
	for i := range pmf {
		pmf[i] /= sum
	}
	var err error
	if s.Weights, s.Atom, err = tables.Quantize(pmf, 0); err != nil {
		return nil, check.Errorf("shapes", nil, "%w", err)
	}
	s.Grid.FirstCell = -half
	return prove(s, needed)
}

func checkHalf(half int) error {
	if n := 2*half + 1; n < 1 || n > limits.TableCells {
		return check.Field("shapes", "cells", n, fmt.Sprintf("at most %d: longer cells, or less noise", limits.TableCells))
	}
	return nil
}

// mirrored returns the weights of the cells outwards from the middle, and their
// mirror image before them.
func mirrored(middle uint64, outwards []uint64) []uint64 {
	inwards := slices.Clone(outwards)
	slices.Reverse(inwards)
	return slices.Concat(inwards, []uint64{middle}, outwards)
}

// prove returns the table of the spec, verified. If needed is not nil its delta is
// what the noise needs at its epsilon, as needed rounds it up.
func prove(s tables.Spec, needed func(tables.Certificate) float64) (*tables.Verified, error) {
	if needed != nil {
		s.Delta = 0.5 // until it is found
		t, err := tables.New(s)
		if err != nil {
			return nil, check.Errorf("shapes", nil, "%w", err)
		}
		c := t.Certify()
		s.Claims, s.Delta = c.Claims(), needed(c)
	}
	t, err := tables.New(s)
	if err != nil {
		return nil, check.Errorf("shapes", nil, "%w", err)
	}
	// As much work as it takes: the caller chose the cells.
	v, err := proof.Verify(context.Background(), t, proof.Options{Work: math.MaxInt64})
	if err != nil {
		return nil, check.Errorf("shapes", nil, "%w", err)
	}
	return v, nil
}
