// SPDX-License-Identifier: Apache-2.0

package sampler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
)

// exampleTable is a small private table written by hand: seven cells, each three
// times as likely as its outer neighbor, for a query that one person changes by
// at most 1. A shift by a cell multiplies every probability by 3 at most, which
// is below e^1.1, except that 1/53 moves beyond an end.
func exampleTable() (*tables.Verified, error) {
	const unit = (1 << 64) / 53
	table, err := tables.New(tables.Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1.1, Delta: 0.02, Sensitivity: 1}, Loss: loss.L1},
		Grid: tables.Grid{
			GranularityExponent: -10,  // steps of 1/1024
			PointsPerCell:       1025, // just over one sensitivity
			CellsPerSensitivity: 1,
			FirstCell:           -3,
		},
		Weights: []uint64{unit, 3 * unit, 9 * unit, (1 << 64) - 26*unit, 9 * unit, 3 * unit, unit},
	})
	if err != nil {
		return nil, err
	}
	return table.Verify() // refuses a table that is not private
}

func Example() {
	table, err := exampleTable()
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := sampler.NewNoise(table, sampler.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	y, err := s.AddNoise(1234.5)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("within reach:", y >= 1234.5-4 && y <= 1234.5+4)
	fmt.Println("on the grid:", y*1024 == float64(int64(y*1024)))
	// Output:
	// within reach: true
	// on the grid: true
}

// A deterministic sampler is for tests and studies. Never release its draws.
func ExampleDeterministic() {
	table, err := exampleTable()
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := sampler.NewNoise(table, sampler.Options{Entropy: sampler.Deterministic([32]byte{1})})
	if err != nil {
		fmt.Println(err)
		return
	}
	noise := make([]float64, 3)
	if err := s.Fill(noise); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(noise)
	// Output: [-1.05859375 1.884765625 0.3916015625]
}

func ExampleNoise_Fork() {
	table, err := exampleTable()
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := sampler.NewNoise(table, sampler.Options{ConstantTime: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan error)
	for range 4 {
		fork, err := s.Fork() // shares the table, has its own generator
		if err != nil {
			fmt.Println(err)
			return
		}
		go func() { done <- fork.Fill(make([]float64, 1000)) }()
	}
	for range 4 {
		if err := <-done; err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println("4000 draws")
	// Output: 4000 draws
}

func ExampleWriteExport() {
	table, err := exampleTable()
	if err != nil {
		fmt.Println(err)
		return
	}
	var out strings.Builder
	if err := sampler.WriteExport(&out, table, [32]byte{}, 5); err != nil {
		fmt.Println(err)
		return
	}
	var e struct {
		Cells []struct {
			Weight string `json:"weight"`
		} `json:"cells"`
		Golden struct {
			Words []string `json:"words"`
			Draws []int    `json:"draws"`
		} `json:"golden"`
	}
	if err := json.Unmarshal([]byte(out.String()), &e); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("middle cell:", e.Cells[3].Weight, "of 2^64")
	fmt.Println("first word:", e.Golden.Words[0])
	fmt.Println("draws:", e.Golden.Draws)
	// Output:
	// middle cell: 9397397924342601774 of 2^64
	// first word: 9910523521560253916
	// draws: [29 46 -414 57 477]
}

// Noise for a vector of two integers, any two of which are at most 5 apart (ℓ2), with
// epsilon 0.5: the scale is 5/0.5 steps. The seed is for tests alone.
func ExampleNewSpherical() {
	s, err := sampler.NewSpherical(2, 5/0.5, sampler.Options{Entropy: sampler.Deterministic([32]byte{1})})
	if err != nil {
		fmt.Println(err)
		return
	}
	noise := make([]int64, 2)
	for range 3 {
		if err := s.Fill(noise); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(noise)
	}
	// Output:
	// [-10 -25]
	// [-3 -25]
	// [5 -10]
}

// Every answer of this randomizer is 2 or -2, and their mean is the value.
func ExampleNew() {
	const quarter = 1 << 62 // of 2^64
	r, err := local.New(context.Background(), local.Spec{
		Epsilon: 1.1, Values: local.Values{Kind: local.Real, Lower: -1, Upper: 1},
		Objective: local.Worst, Demands: local.Demands{Unbiased: true}, Loss: loss.L2,
		Nodes: []float64{-1, 1}, Answers: []float64{-2, 2},
		Rows: [][]uint64{{3 * quarter, quarter}, {quarter, 3 * quarter}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := r.Verify()
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := sampler.New(v, sampler.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	y, err := s.Release(proof.Number(0.25))
	fmt.Println("one of the answers:", y == proof.Number(2) || y == proof.Number(-2), err)
	_, err = s.Release(proof.Number(1.5))
	fmt.Println(err)
	// Output:
	// one of the answers: true <nil>
	// sampler: the value is not a number in the randomizer's range, want -1 to 1
}

// Noise of a standard deviation of 2.5 on integers: as private as that noise on real numbers.
func ExampleNewGaussian() {
	g, err := sampler.NewGaussian(2.5, sampler.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	noise := make([]int64, 1000)
	if err := g.Fill(noise); err != nil {
		fmt.Println(err)
		return
	}
	squares := 0.0
	for _, n := range noise {
		squares += float64(n * n)
	}
	// That of the noise, 6.25, and 1/12 of the rounding, but for chance.
	fmt.Println("a mean square near 6.33:", squares/1000 > 4 && squares/1000 < 9)
	// Output:
	// a mean square near 6.33: true
}
