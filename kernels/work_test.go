// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// costlySpec is a kernel of so many cells at random places, with a dual.
func costlySpec(t *testing.T, cells int, lossName string) Spec {
	t.Helper()
	l, err := loss.Parse(lossName)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, 8))
	s := Spec{
		Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 1}, Queries: Queries{Upper: float64(cells)}, Loss: l,
		Claims: formfile.InputClaims{Delta: "0.5", ExpectedLoss: "1", MaxLoss: "1", LowerBound: "0"}, Dual: &Dual{Cells: cells, Caps: []int64{}, Pairs: []dualPair{}},
	}
	for i := range cells {
		s.Edges, s.Nodes = append(s.Edges, float64(i)+rng.Float64()*0.9), append(s.Nodes, float64(i)+rng.Float64()*0.9)
		share := math.MaxUint64 / uint64(cells)
		row := slices.Repeat([]uint64{share}, cells)
		row[0] += -share * uint64(cells) // what is left of 2^64
		s.Rows = append(s.Rows, row)
	}
	s.Edges[0] = 0
	s.Edges = append(s.Edges, float64(cells))
	return s
}

// A check that costs too much ends at the limit of work or with its context, and says that
// the kernel is not checked.
func TestWorkIsLimited(t *testing.T) {
	knots := []string{"-inf,-1"}
	for i := range 9998 {
		knots = append(knots, fmt.Sprintf("%d,%g", 1<<20+i, 1-1.9*float64(i%2)))
	}
	var powers []string
	for i := range 32 {
		powers = append(powers, fmt.Sprintf("lp:%.1f", 2.1+1.9*float64(i)))
	}
	for name, s := range map[string]Spec{
		"many cells": costlySpec(t, limits.KernelCells, "l2"),
		"many knots": costlySpec(t, 100, "pwl:"+strings.Join(append(knots, "2000000,1"), ";")),
		"powers":     costlySpec(t, 100, strings.Join(powers, " + ")),
	} {
		k, err := New(t.Context(), s)
		if err != nil {
			t.Fatal(name, err)
		}
		start := time.Now()
		v, err := proof.Verify(t.Context(), k, proof.Options{Work: 1 << 25})
		if v != nil || !errors.Is(err, proof.ErrWork) || errors.Is(err, proof.ErrNotPrivate) || errors.Is(err, proof.ErrFalseClaim) {
			t.Errorf("%s: %v, %v, want proof.ErrWork alone", name, v, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		v, err = proof.Verify(ctx, k, proof.Options{Work: math.MaxInt64})
		cancel()
		if v != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, %v, want the error of the context", name, v, err)
		}
		if elapsed := time.Since(start); elapsed > 20*time.Second {
			t.Errorf("%s: ended after %v", name, elapsed)
		}
	}
}

// The work of a check is a number of the kernel.
func TestWorkIsCounted(t *testing.T) {
	s := exponentialSpec(t, 1, 0.4, Queries{Lower: 0, Upper: 4}, 0, 1, 2, 3, 4)
	s.Claims = newKernel(t, s).spec.Claims
	v, err := newKernel(t, s).Verify()
	if err != nil {
		t.Fatal(err)
	}
	work := v.Work()
	if _, err := proof.Verify(t.Context(), newKernel(t, s), proof.Options{Work: work - 1}); !errors.Is(err, proof.ErrWork) {
		t.Errorf("with less work than it takes: %v", err)
	}
	if v, err = proof.Verify(t.Context(), newKernel(t, s), proof.Options{Work: work}); err != nil || v.Work() != work {
		t.Errorf("with as much work as it takes: %v, %v", v, err)
	}
}
