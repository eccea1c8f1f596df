// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/estimate"
	"github.com/noisewright/noisewright/cmd/internal/frequency"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/subset"
)

const shareIntervals = "share-intervals"

// Levels and laws of people of the study.
var (
	intervalLevels = []float64{0.5, 0.9, 0.95, 0.99}
	intervalLaws   = []string{"zipf", "uniform", "one"}
)

// coverage is how often all intervals hold together, by the law of people, and how wide they are.
type coverage struct {
	Categories int64   `json:"categories"`
	Epsilon    float64 `json:"epsilon"`
	People     int     `json:"people"`
	Level      float64 `json:"level"`
	Covered    []int   `json:"covered"` // of the runs, by law
	Enough     bool    `json:"enough"`  // each at least the level less three standard errors
	Width      float64 `json:"width"`
	Cut        float64 `json:"width_cut"`      // to shares from 0 to 1
	Former     float64 `json:"width_response"` // of randomized response, by Bernstein's inequality, cut
	// Error is the root of the mean squared error of a share, and Certified the certified one.
	Error     float64 `json:"error"`
	Certified float64 `json:"certified_error"`
}

type shareIntervalOptions struct {
	shell.Common
	epsilons   []float64
	categories []float64
	people     []float64
	runs, seed int
}

func newShareIntervalsCommand(s *shell.Streams) *cobra.Command {
	o := &shareIntervalOptions{Common: shell.Common{Streams: s}, runs: 1000, seed: 1}
	whole := shell.Rule{Want: "integers of at least 2", OK: func(v float64) bool { return v >= 2 && v <= 1<<20 && v == math.Trunc(v) }}
	return command(&o.Common, shareIntervals, "", "The table on intervals for shares of categories: how often they hold, and how wide they are",
		`Simulate answers of people whose categories follow Zipf's law, are all alike, or are
nearly all the same, by drawing each of them, and count how often the intervals of all
shares hold together. Beside their mean widths are those of randomized response with
intervals by Bernstein's inequality, of 20 runs at most. Written is share-intervals.csv.
If a law has fewer than the level less three standard errors, the exit code is 1.`, o.run, func(f *shell.Flags) {
			f.Numbers(&o.epsilons, "epsilon", "1,3", shell.PositiveEpsilon, "values of epsilon, separated by commas")
			f.Numbers(&o.categories, "categories", "3,50,200", whole, "numbers of categories, separated by commas")
			f.Numbers(&o.people, "people", "300,20000", whole, "numbers of people, separated by commas")
			f.Integer(&o.runs, "runs", "", 1, 1<<20, "number of simulations for each law")
			f.Integer(&o.seed, "seed", "", 0, math.MaxInt32, "seed of the simulations")
		})
}

func (o *shareIntervalOptions) run(ctx context.Context) error {
	var rows []coverage
	short := 0
	files, err := produce(&o.Common, func(line *shell.Progress) error {
		all := len(o.epsilons) * len(o.categories) * len(o.people)
		for _, epsilon := range o.epsilons {
			for _, k := range o.categories {
				for _, n := range o.people {
					line.Count("simulating", len(rows)/len(intervalLevels), all)
					made, err := o.study(ctx, shareCase{int64(k), epsilon}, int(n))
					if err != nil {
						return err
					}
					rows = append(rows, made...)
				}
			}
		}
		return nil
	}, output{shareIntervals, func() [][]string { return coverageRecords(rows) }, nil})
	if err != nil {
		return err
	}
	err = o.PrintText(document(shareIntervals, shell.Object{"runs", o.runs, "seed", o.seed, "laws", intervalLaws, "intervals", rows}, files), func(b *strings.Builder) {
		fmt.Fprintf(b, "| categories, ε | people | level | held of %d: %s | width | cut to [0, 1] | randomized response, Bernstein | error | certified |\n|%s\n", o.runs, strings.Join(intervalLaws, ", "), strings.Repeat(" --- |", 9))
		for _, r := range rows {
			fmt.Fprintf(b, "| %d, %v | %d | %v | %s | %.4f | %.4f | %.4f | %.5f | %.5f |\n", r.Categories, r.Epsilon, r.People, r.Level, strings.Trim(strings.ReplaceAll(fmt.Sprint(r.Covered), " ", ", "), "[]"), r.Width, r.Cut, r.Former, r.Error, r.Certified)
		}
		fmt.Fprintf(b, "\nfiles: %s\n", strings.Join(files, ", "))
	})
	for _, r := range rows {
		if !r.Enough {
			short++
		}
	}
	if err == nil && short > 0 {
		err = fmt.Errorf("%d of %d cases hold less often than their level, less three standard errors", short, len(rows))
	}
	return err
}

// study simulates one case at all levels.
func (o *shareIntervalOptions) study(ctx context.Context, c shareCase, n int) ([]coverage, error) {
	v, err := subset.Design(subset.Spec{Epsilon: c.epsilon, Count: c.k})
	if err != nil {
		return nil, err
	}
	s, k := v.Mechanism(), float64(c.k)
	variance, _ := v.Certificate().TotalVariance.Float64()
	former, err := o.former(c, n)
	if err != nil {
		return nil, err
	}
	rows := make([]coverage, len(intervalLevels))
	bounds := make([]map[int64][2]float64, len(rows)) // by counts, which repeat
	for i, level := range intervalLevels {
		rows[i] = coverage{Categories: c.k, Epsilon: c.epsilon, People: n, Level: level, Enough: true, Former: former[i], Certified: math.Sqrt(variance / (float64(n) * k))}
		bounds[i] = map[int64][2]float64{}
	}
	squares, shares := 0.0, float64(o.runs*len(intervalLaws))*k
	counts := drawSets(s)
	for l, law := range intervalLaws {
		r, held := o.random(c, n, l), make([]int, len(rows))
		for range o.runs {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			truth := peopleOf(law, c.k, int64(n), r)
			got, err := counts(truth, r)
			if err != nil {
				return nil, err
			}
			for j, x := range s.Shares(got, int64(n)) {
				off := x - float64(truth[j])/float64(n)
				squares += off * off
			}
			for i, level := range intervalLevels {
				all := 1
				for j, count := range got {
					b, known := bounds[i][count]
					if !known {
						b[0], b[1] = s.Uncut(count, int64(n), (1-level)/(2*k))
						bounds[i][count] = b
					}
					rows[i].Width += (b[1] - b[0]) / shares
					rows[i].Cut += max(0, min(b[1], 1)-max(b[0], 0)) / shares
					if share := float64(truth[j]) / float64(n); share < b[0] || share > b[1] {
						all = 0
					}
				}
				held[i] += all
			}
		}
		for i, level := range intervalLevels {
			rows[i].Covered = append(rows[i].Covered, held[i])
			runs := float64(o.runs)
			rows[i].Enough = rows[i].Enough && float64(held[i]) >= runs*level-3*math.Sqrt(runs*level*(1-level))
		}
	}
	for i := range rows {
		rows[i].Error = math.Sqrt(squares / shares)
	}
	return rows, nil
}

// random is the stream of a case and a law.
func (o *shareIntervalOptions) random(c shareCase, n, law int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(o.seed)<<8+uint64(law), uint64(c.k)<<32+uint64(n)+math.Float64bits(c.epsilon))) //nolint:gosec // a simulation
}

// former returns the mean widths of intervals by Bernstein's inequality from randomized response.
func (o *shareIntervalOptions) former(c shareCase, n int) ([]float64, error) {
	labels := make([]string, c.k)
	for j := range labels {
		labels[j] = fmt.Sprint(j)
	}
	v, err := local.RandomizedResponse(labels, c.epsilon)
	if err != nil {
		return nil, err
	}
	s := v.Mechanism().Spec()
	inverse, ok := estimate.NewShares(&s)
	if !ok {
		return nil, fmt.Errorf("the answers to %d categories do not tell them apart", c.k)
	}
	response, _ := oracle(frequency.Shares(c.k, c.epsilon)[0], c.k)
	runs := min(o.runs, 20)
	widths := make([]float64, len(intervalLevels))
	for l, law := range intervalLaws {
		r := o.random(c, n, len(intervalLaws)+l)
		for range runs {
			got, err := response(peopleOf(law, c.k, int64(n), r), r)
			if err != nil {
				return nil, err
			}
			counts := make([]int, c.k)
			for j, c := range got {
				counts[j] = int(c)
			}
			for i, level := range intervalLevels {
				for j := range counts {
					_, lower, upper := inverse.Share(j, counts, n, level)
					widths[i] += (upper - lower) / float64(len(intervalLaws)*runs*len(counts))
				}
			}
		}
	}
	return widths, nil
}

func coverageRecords(rows []coverage) [][]string {
	out := [][]string{{"categories", "epsilon", "people", "level"}}
	for _, law := range intervalLaws {
		out[0] = append(out[0], "held_"+law)
	}
	out[0] = append(out[0], "width", "width_cut", "width_response", "error", "certified_error")
	for _, r := range rows {
		line := record(r.Categories, r.Epsilon, r.People, r.Level)
		for _, held := range r.Covered {
			line = append(line, fmt.Sprint(held))
		}
		out = append(out, append(line, rounded(r.Width, 5), rounded(r.Cut, 5), rounded(r.Former, 5), rounded(r.Error, 5), rounded(r.Certified, 5)))
	}
	return out
}
