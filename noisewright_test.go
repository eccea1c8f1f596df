// SPDX-License-Identifier: Apache-2.0

package noisewright_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/noisewright/noisewright"
	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/release/ledger"
	"github.com/noisewright/noisewright/sampler"
)

// problem is a small problem: half a second at most.
var problem = noisewright.Problem{Privacy: noisewright.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}, Loss: noisewright.L1}

func Example() {
	directory, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(directory) //nolint:errcheck // a temporary directory
	path, x := filepath.Join(directory, "table.json"), 3.25

	table, err := noisewright.Design(context.Background(), noisewright.Problem{
		Privacy: noisewright.Privacy{Epsilon: 0.5, Delta: 1e-6, Sensitivity: 8},
		Loss:    noisewright.L2,
	})
	if err != nil {
		log.Fatal(err)
	}
	err = noisewright.Save(path, table)
	if err != nil {
		log.Fatal(err)
	}
	table, err = noisewright.Load(path) // proves it again
	if err != nil {
		log.Fatal(err)
	}
	s, err := noisewright.NewSampler(table)
	if err != nil {
		log.Fatal(err)
	}
	private, err := s.AddNoise(max(-4, min(x, 4))) // the sensitivity of x in [-4, 4] is 8
	if err != nil {
		log.Fatal(err)
	}
	low, high, err := table.Mechanism().Interval(private, 0.95) // holds the clipped x with probability 0.95
	fmt.Println(low < private, private < high, err)
	// Output: true true <nil>
}

// A service publishes a mean of its rows, and charges a ledger that it made once.
func ExampleRelease() {
	type visit struct {
		Person string
		Hours  float64 `csv:"hours"`
	}
	visits := []visit{{"Ann", 3.5}, {"Ben", 1.25}, {"Cleo", 8}}
	ctx := context.Background()
	directory, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(directory) //nolint:errcheck // a temporary directory
	path := filepath.Join(directory, "visits.ledger")
	err = ledger.Create(ctx, path, account.Terms{Epsilon: 1, Delta: 1e-6, Neighbors: "add-remove", Unit: "person:Person"})
	if err != nil {
		log.Fatal(err)
	}

	l, err := ledger.Open(ctx, path)
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // all is on disk
	answer, err := noisewright.Release(ctx, l, visits, noisewright.Query{
		Kind: "mean", Column: "hours", Lower: 0, Upper: 12, Person: "Person", MaxPerPerson: 1, Epsilon: 0.5, Delta: 1e-7,
	})
	if err != nil {
		log.Fatal(err)
	}
	mean := answer.Answers[0]
	fmt.Println(0 <= mean.Value, mean.Value <= 12, mean.Lower < mean.Upper, answer.Ledger.Release)
	// Output: true true true 1
}

// TestDesignLoadSample takes a table to a file and back.
func TestDesignLoadSample(t *testing.T) {
	v, err := noisewright.Design(t.Context(), problem)
	if err != nil {
		t.Fatal(err)
	}
	if gap, ok := v.Bounds().Gap(); !ok || gap > lp.Limits.Gap.Default {
		t.Errorf("gap %g, %t, want at most %g", gap, ok, lp.Limits.Gap.Default)
	}
	path := filepath.Join(t.TempDir(), "table.json")
	if err := noisewright.Save(path, v); err != nil {
		t.Fatal(err)
	}
	loaded, err := noisewright.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if loaded.Certificate().ExpectedLoss.Cmp(v.Certificate().ExpectedLoss) != 0 {
		t.Error("the table read is not the one written")
	}
	s, err := noisewright.NewSampler(loaded)
	if err != nil {
		t.Fatal(err)
	}
	reach := float64(loaded.Mechanism().Reach()+1) * s.Step()
	if y, err := s.AddNoise(10); err != nil || math.Abs(y-10) > reach {
		t.Errorf("AddNoise(10) = %g, %v, want within %g", y, err, reach)
	}
}

// TestCalibrate: two releases of the noise keep the promise, by basic composition at
// the latest, so one keeps less.
func TestCalibrate(t *testing.T) {
	p := problem
	one, err := noisewright.Design(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	two, err := noisewright.Calibrate(t.Context(), p, 2)
	if err != nil {
		t.Fatal(err)
	}
	if two.Certificate().ExpectedLoss.Cmp(one.Certificate().ExpectedLoss) <= 0 {
		t.Error("noise for two releases costs no more than noise for one")
	}
}

func TestErrors(t *testing.T) {
	p := problem
	p.Epsilon = -1
	if v, err := noisewright.Design(t.Context(), p); v != nil || !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("epsilon = -1: %v, %v, want dp.ErrInvalid", v, err)
	}
	if v, err := noisewright.Calibrate(t.Context(), problem, 0); v != nil || !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("no releases: %v, %v, want dp.ErrInvalid", v, err)
	}
	if v, err := noisewright.Load(filepath.Join(t.TempDir(), "none.json")); v != nil || err == nil {
		t.Errorf("no file: %v, %v, want an error", v, err)
	}
	for _, v := range []*noisewright.Verified{nil, new(noisewright.Verified)} {
		if err := noisewright.Save(filepath.Join(t.TempDir(), "t.json"), v); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("a file of nothing proved: %v, want dp.ErrInvalid", err)
		}
		if s, err := noisewright.NewSampler(v); s != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("a sampler of nothing proved: %v, %v, want dp.ErrInvalid", s, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v, err := noisewright.Design(ctx, problem)
	if v == nil || !errors.Is(err, lp.ErrLimit) {
		t.Fatalf("cancelled: %v, %v, want a table and lp.ErrLimit", v, err)
	}
	if _, err := sampler.NewNoise(v, sampler.Options{}); err != nil {
		t.Error(err)
	}
}
