// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package noise_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/lp/internal/noise"
)

// discretized is one small problem with a known optimum: edge cells
// [i/K, (i+1)/K) for i = −cells/2 … cells/2−1, no atom, all shifts.
type discretized struct {
	Epsilon, Delta float64
	K, Cells       int
	Loss           string
	Monotone       bool
	Optimum        float64
}

// committed are some of the reference problems, so that the formulation is
// tested wherever the reference file is not.
var committed = []discretized{
	{1, 0.2, 10, 40, "l1", false, 0.5597958889},
	{5, 0.25, 10, 40, "l1", false, 0.0756851526},
	{0.2, 0.05, 10, 120, "l2", false, 8.2016297443},
	{0.005, 0.005, 2, 328, "l2", false, 1981.1485559183},
	{1, 0.1, 10, 60, "asym", false, 0.9676991477},
	{3, 0.3, 10, 40, "l1", true, 0.1793925582},
	{1, 0.2, 20, 80, "asym", true, 0.7892669288},
	{0, 0.2, 10, 100, "l1", false, 1.2472727273},
	{0, 0.5, 10, 60, "l1", false, 0.5},
}

// TestDiscretizedOptima solves problems on other cells than Design's, with and
// without the monotone constraint and symmetry, through the same program.
func TestDiscretizedOptima(t *testing.T) {
	problems := committed
	var file struct{ Problems []discretized }
	if readReference(t, "discretised.json", &file) {
		problems = file.Problems
	}
	for _, r := range problems {
		got, err := noise.SolveEdgeCells(context.Background(), highs.New, r.Epsilon, r.Delta, r.K, r.Cells, r.Loss, r.Monotone)
		if err != nil {
			t.Errorf("%+v: %v", r, err)
			continue
		}
		if math.Abs(got-r.Optimum) > 1e-7*max(1, r.Optimum) {
			t.Errorf("%+v: optimum %.10f", r, got)
		}
	}
}

// readReference reads a file of the reference folder beside the repository and
// reports whether it is there.
func readReference(t *testing.T, name string, into any) bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "reference", name))
	if errors.Is(err, os.ErrNotExist) {
		t.Logf("%s is not beside the repository; testing the committed part", name)
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
	return true
}
