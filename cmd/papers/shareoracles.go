// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/noisewright/noisewright/cmd/papers/geometry"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/stat/distuv"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/frequency"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/subset"
)

const (
	shareOracles   = "share-oracles"
	designedShares = "designed"
)

// shareOracle is one mechanism for the shares of k categories.
type shareOracle struct {
	Categories int64   `json:"categories"`
	Epsilon    float64 `json:"epsilon"`
	Name       string  `json:"name"`
	Bits       string  `json:"bits"` // of an answer
	Ratio      float64 `json:"ratio_to_bound"`
	// Errors are the root of the mean squared error of a share: by the formula, and of simulations.
	Formula   float64 `json:"formula_error"`
	Simulated float64 `json:"simulated_error"`
}

type oracleOptions struct {
	shell.Common
	cases  []shareCase
	people int
	runs   int
	seed   int
}

// shareCase is a number of categories and an epsilon.
type shareCase struct {
	k       int64
	epsilon float64
}

var oracleCases = []shareCase{{10, 1}, {50, 1}, {200, 1}, {200, 3}}

func newShareOraclesCommand(s *shell.Streams) *cobra.Command {
	o := &oracleOptions{Common: shell.Common{Streams: s}, cases: oracleCases, people: 20_000, runs: 100, seed: 1}
	return command(&o.Common, shareOracles, "", "The table on shares of categories: published oracles beside the optimum, by formula and by simulation",
		`Compute the error of a share for the published frequency oracles and for subset
selection: by the formula of its variance, and of simulated answers of so many people,
whose categories follow Zipf's law. Answers of unary encodings are simulated by their
counts, which are independent; of all others each answer is drawn. Written are
share-oracles.csv and share-oracles.svg, a figure of the total variance relative to the
certified lower bound.`, o.run, func(f *shell.Flags) {
			f.Integer(&o.people, "people", "", 1, 1<<24, "number of people")
			f.Integer(&o.runs, "runs", "", 1, 1<<20, "number of simulations of each")
			f.Integer(&o.seed, "seed", "", 0, math.MaxInt32, "seed of the simulations")
		})
}

func (o *oracleOptions) run(ctx context.Context) error {
	var rows []shareOracle
	files, err := produce(&o.Common, func(line *shell.Progress) error {
		for i, c := range o.cases {
			line.Count("simulating", i, len(o.cases))
			made, err := o.compare(ctx, c)
			if err != nil {
				return err
			}
			rows = append(rows, made...)
		}
		return nil
	}, output{shareOracles, func() [][]string { return oracleRecords(rows) }, drawOracles})
	if err != nil {
		return err
	}
	return o.PrintText(document(shareOracles, shell.Object{"people", o.people, "runs", o.runs, "seed", o.seed, "mechanisms", rows}, files), func(b *strings.Builder) {
		fmt.Fprintf(b, "| categories, ε | mechanism | bits of an answer | variance over the bound | error by formula | simulated |\n|%s\n", strings.Repeat(" --- |", 6))
		for _, r := range rows {
			fmt.Fprintf(b, "| %d, %v | %s | %s | %.4f | %.5f | %.5f |\n", r.Categories, r.Epsilon, r.Name, r.Bits, r.Ratio, r.Formula, r.Simulated)
		}
		fmt.Fprintf(b, "\nfiles: %s\n", strings.Join(files, ", "))
	})
}

// compare simulates all mechanisms of a case.
func (o *oracleOptions) compare(ctx context.Context, c shareCase) (rows []shareOracle, err error) {
	v, err := subset.Design(subset.Spec{Epsilon: c.epsilon, Count: c.k})
	if err != nil {
		return nil, err
	}
	bound, _ := v.Certificate().LowerBound.Float64()
	total, _ := v.Certificate().TotalVariance.Float64()
	n, k := float64(o.people), float64(c.k)
	add := func(name, length string, total float64, counts func(truth []int64, r *rand.Rand) ([]int64, error), p, q float64) error {
		r, squares := rand.New(rand.NewPCG(uint64(o.seed), uint64(len(rows)))), 0.0 //nolint:gosec // a simulation
		for range o.runs {
			if err := ctx.Err(); err != nil {
				return err
			}
			truth := peopleOf("zipf", c.k, int64(o.people), r)
			got, err := counts(truth, r)
			if err != nil {
				return err
			}
			for j, c := range got {
				off := (float64(c)/n-q)/(p-q) - float64(truth[j])/n
				squares += off * off
			}
		}
		rows = append(rows, shareOracle{c.k, c.epsilon, name, length, total / bound, math.Sqrt(total / (n * k)), math.Sqrt(squares / (float64(o.runs) * k))})
		return nil
	}
	s := v.Mechanism().Spec()
	p := float64(s.Inside) * 0x1p-64
	points, length := float64(c.k), fmt.Sprint(bits.Len64(uint64(v.Mechanism().Answers().Count-1)))
	switch {
	case s.Modulus > 0:
		points = float64(s.Modulus)
		length = fmt.Sprintf("%d, and a public turn", bits.Len64(uint64(s.Modulus-1)))
	case s.Size == 1:
		length = fmt.Sprint(bits.Len64(uint64(c.k - 1)))
	}
	if err := add(designedShares, length, total, drawSets(v.Mechanism()), p, (float64(s.Size)-p)/(points-1)); err != nil {
		return nil, err
	}
	for _, b := range frequency.Shares(c.k, c.epsilon) {
		total, _ := b.Variances(c.k)
		counts, length := oracle(b, c.k)
		if err := add(b.Name, length, total, counts, b.P, b.Q); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// peopleOf returns how many of n people have each of k categories: independently, by Zipf's law, all alike, or nearly
// all the first one.
func peopleOf(law string, k, n int64, r *rand.Rand) []int64 {
	sums, total := make([]float64, k), 0.0
	for j := range sums {
		weight := 1.0
		switch {
		case law == "zipf":
			weight = 1 / float64(j+1)
		case law == "one" && j == 0:
			weight = 20 * float64(k)
		}
		total += weight
		sums[j] = total
	}
	counts := make([]int64, k)
	for range n {
		j, _ := slices.BinarySearch(sums, r.Float64()*total)
		counts[min(int64(j), k-1)]++
	}
	return counts
}

// drawSets simulates a selection: all answers are drawn as they are for people, and counted.
func drawSets(s *subset.Selection) func(truth []int64, r *rand.Rand) ([]int64, error) {
	labels := make([]proof.Value, s.Categories())
	for j := range labels {
		labels[j] = proof.Category(s.Label(int64(j)))
	}
	return func(truth []int64, r *rand.Rand) ([]int64, error) {
		t, word := s.Tally(), func() (uint64, error) { return r.Uint64(), nil }
		for x, n := range truth {
			for range n {
				y, err := s.Draw(labels[x], word)
				if err == nil {
					err = t.Add(y)
				}
				if err != nil {
					return nil, err
				}
			}
		}
		return t.Counts(), nil
	}
}

// oracle simulates a published mechanism, and says how long an answer is.
func oracle(b frequency.Share, k int64) (counts func(truth []int64, r *rand.Rand) ([]int64, error), length string) {
	var each func(x int64, counts []int64, r *rand.Rand) // adds a person's answer
	switch b.Name {
	case "optimized-unary", "rappor":
		return unaryCounts(b), fmt.Sprint(k)
	case "randomized-response":
		length = fmt.Sprint(bits.Len64(uint64(k - 1)))
		each = func(x int64, counts []int64, r *rand.Rand) {
			if r.Float64() >= b.P { // another one
				x = (x + 1 + r.Int64N(k-1)) % k
			}
			counts[x]++
		}
	case "local-hashing":
		g := int64(b.Range)
		length = fmt.Sprintf("%d, and a public hash", bits.Len64(uint64(g-1)))
		each = func(x int64, counts []int64, r *rand.Rand) {
			seed := r.Uint64()
			hash := func(j int64) int64 {
				h, _ := bits.Mul64(mixed(seed+uint64(j)*0x9e3779b97f4a7c15), uint64(g))
				return int64(h)
			}
			y := hash(x)
			if r.Float64() >= b.P {
				y = (y + 1 + r.Int64N(g-1)) % g
			}
			for j := range counts {
				if hash(int64(j)) == y {
					counts[j]++
				}
			}
		}
	case "hadamard-response":
		size := uint64(1) << bits.Len64(uint64(k))
		length = "1, and a public row"
		each = func(x int64, counts []int64, r *rand.Rand) {
			row := r.Uint64N(size) // of the matrix; category j has the column j+1
			bit := bits.OnesCount64(row&uint64(x+1)) & 1
			if r.Float64() >= b.P {
				bit ^= 1
			}
			for j := range counts {
				if bits.OnesCount64(row&uint64(j+1))&1 == bit {
					counts[j]++
				}
			}
		}
	case "projective-geometry":
		g := geometry.New(b.Range, k)
		length = fmt.Sprint(bits.Len64(uint64(len(g.Points) - 1)))
		each = func(x int64, counts []int64, r *rand.Rand) {
			inside := r.Float64() < b.P
			plane := g.Points[r.IntN(len(g.Points))]
			for g.On(g.Points[x], plane) != inside {
				plane = g.Points[r.IntN(len(g.Points))]
			}
			for j := range counts {
				if g.On(g.Points[j], plane) {
					counts[j]++
				}
			}
		}
	}
	return func(truth []int64, r *rand.Rand) ([]int64, error) {
		counts := make([]int64, k)
		for x, n := range truth {
			for range n {
				each(int64(x), counts, r)
			}
		}
		return counts, nil
	}, length
}

// mixed scrambles a number (splitmix64).
func mixed(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unaryCounts draws counts of bits, each of which is independent of all others.
func unaryCounts(b frequency.Share) func(truth []int64, r *rand.Rand) ([]int64, error) {
	return func(truth []int64, r *rand.Rand) ([]int64, error) {
		n := int64(0)
		for _, m := range truth {
			n += m
		}
		counts := make([]int64, len(truth))
		for j, m := range truth {
			own := distuv.Binomial{N: float64(m), P: b.P, Src: r}
			others := distuv.Binomial{N: float64(n - m), P: b.Q, Src: r}
			counts[j] = int64(own.Rand()) + int64(others.Rand())
		}
		return counts, nil
	}
}

func oracleRecords(rows []shareOracle) [][]string {
	out := [][]string{{"categories", "epsilon", "mechanism", "bits", "ratio_to_bound", "formula_error", "simulated_error"}}
	for _, r := range rows {
		out = append(out, record(r.Categories, r.Epsilon, r.Name, r.Bits, rounded(r.Ratio, 7), rounded(r.Formula, 5), rounded(r.Simulated, 5)))
	}
	return out
}

// drawOracles draws total variances over the bound, at epsilon 1 and 3, for 2 to 4,096 categories.
func drawOracles(out io.Writer) error {
	var plots []*plot.Plot
	for _, epsilon := range []float64{1, 3} {
		var names []string
		points := map[string]plotter.XYs{}
		for power := 1.0; power <= 12; power += 0.25 {
			k := int64(math.Round(math.Exp2(power)))
			v, err := subset.Design(subset.Spec{Epsilon: epsilon, Count: k})
			if err != nil {
				return err
			}
			bound, _ := v.Certificate().LowerBound.Float64()
			own, _ := v.Certificate().TotalVariance.Float64()
			names = []string{designedShares}
			add := func(name string, total float64) {
				points[name] = append(points[name], plotter.XY{X: math.Log10(float64(k)), Y: math.Log10(total / bound)})
			}
			add(designedShares, own)
			for _, b := range frequency.Shares(k, epsilon) {
				total, _ := b.Variances(k)
				names = append(names, b.Name)
				add(b.Name, total)
			}
		}
		var curves []series
		for i, name := range names {
			style := draw.LineStyle{Color: figure.Palette[i%len(figure.Palette)], Width: vg.Points(1.4)}
			switch {
			case i == 0:
				style.Width = vg.Points(2.4)
			case i >= len(figure.Palette):
				style = draw.LineStyle{Color: figure.Vermilion, Width: vg.Points(1.4), Dashes: []vg.Length{vg.Points(5), vg.Points(3)}}
			}
			curves = append(curves, series{name: name, points: points[name], style: style})
		}
		p, err := newPlot(fmt.Sprintf("epsilon %g", epsilon), "categories", "total variance over the certified lower bound", curves)
		if err != nil {
			return err
		}
		p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(ratioTicks), plot.TickerFunc(ratioTicks)
		p.Y.Min, p.Y.Max = 0, 1 // up to 10 times the bound
		plots = append(plots, p)
	}
	return writeRow(out, plots, 24*vg.Centimeter, 11*vg.Centimeter)
}
