// SPDX-License-Identifier: Apache-2.0

//go:build highswasm

package highs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/internal/solver"
)

// TestPinned: what is embedded is what scripts/wasm.sh pins, and is of the version that
// it is said to be without asking it.
func TestPinned(t *testing.T) {
	script, err := os.ReadFile("../../scripts/wasm.sh")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(wasm)
	for _, pin := range []string{"wasm_sha256=" + hex.EncodeToString(sum[:]), "version=" + Version()} {
		if !strings.Contains(string(script), "\n"+pin+"\n") {
			t.Errorf("embedded is %s, want what scripts/wasm.sh pins", pin)
		}
	}
	m, err := newModel()
	if err != nil {
		t.Fatal(err)
	}
	defer m.free()
	at, good := m.call("Highs_version").result()
	text, inside := m.module.Memory().Read(uint32(at), uint32(len(Version()))+1)
	if got := string(text); !good || !inside || got != Version()+"\x00" {
		t.Errorf("the module is of version %q, want %q", got, Version())
	}
}

// spoils are ways to make calls end in a trap.
var spoils = map[string]func(*testing.T, model){
	// HiGHS then throws an exception, which this build of it does not catch.
	"memory": func(t *testing.T, m model) {
		for size := 1 << 30; size >= 1<<10; {
			if at, good := m.call("malloc").int(size).result(); !good {
				t.Fatal("malloc ended in a trap")
			} else if at == 0 {
				size /= 2
			}
		}
	},
	"pointer": func(_ *testing.T, m model) { m.highs = math.MaxUint32 - 7 },
}

// TestTraps: a call that ends in a trap is an error, and so is every later call.
func TestTraps(t *testing.T) {
	for name, spoil := range spoils {
		t.Run(name, func(t *testing.T) {
			s := open(t, New)
			spoil(t, s.(*instance).model)
			p := large(rand.New(rand.NewPCG(9, 1)), 100, 100)
			err := s.AddColumns(p.cost, solver.Vectors{Lower: p.lower, Upper: p.upper, Start: make([]int, len(p.cost))})
			if err == nil {
				err = s.AddRows(p.rows(0, len(p.matrix)))
			}
			if !errors.Is(err, errSolver) {
				t.Errorf("error %v, want one of the solver", err)
			}
			wantLost(t, s)
		})
	}
}

// TestTrapInRun: so it is in a solve, by HiGHS itself or by what it is asked.
func TestTrapInRun(t *testing.T) {
	for name, spoil := range spoils {
		t.Run(name, func(t *testing.T) {
			s := open(t, New)
			large(rand.New(rand.NewPCG(9, 1)), 100, 100).load(t, s)
			spoil(t, s.(*instance).model)
			got, err := s.Solve(t.Context(), solver.Options{})
			if got.Status != solver.StatusFailed || got.Primal != nil || err != nil && !errors.Is(err, errSolver) {
				t.Errorf("%+v, %v, want a failed solve", got, err)
			}
			wantLost(t, s)
		})
	}
}

func wantLost(t *testing.T, s solver.Solver) {
	t.Helper()
	if _, err := s.Solve(t.Context(), solver.Options{}); !errors.Is(err, errSolver) {
		t.Errorf("solve: error %v, want one of the solver", err)
	}
	if err := s.Reset(); !errors.Is(err, errSolver) {
		t.Errorf("reset: error %v, want one of the solver", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
