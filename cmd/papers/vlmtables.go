// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/vlm"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/encoder"
)

// tableData is a data set as a CSV file: numbers with public ranges, categories, and a class of two.
type tableData struct {
	name       string
	numbers    columns
	logs       []string // numbers that are counted as log(1 + v)
	categories []string
	target     string
	joined     []string // what the second organization sends privately; the others are clean
}

// Weights of the census are left out, and so is education, of which education-num is the code.
var adult = &tableData{
	name:       "adult",
	numbers:    columns{{name: "age", lower: 17, upper: 90}, {name: "education-num", lower: 1, upper: 16}, {name: "capital-gain", upper: math.Log1p(99999)}, {name: "capital-loss", upper: math.Log1p(4356)}, {name: "hours-per-week", lower: 1, upper: 99}},
	logs:       []string{"capital-gain", "capital-loss"},
	categories: []string{"workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country"},
	target:     "income",
	joined:     []string{"education-num", "capital-gain", "capital-loss", "marital-status", "occupation", "relationship"},
}

// loans are the sample of Lending Club, all features but acc_now_delinq and delinq_amnt, which are 0 for
// nearly everybody. The second organization knows the account, the first the request.
var loans = &tableData{
	name: "loans",
	numbers: columns{
		{name: "funded_amnt", lower: 1000, upper: 40000},
		{name: "int_rate", lower: 5, upper: 31},
		{name: "annual_inc", lower: math.Log1p(0), upper: math.Log1p(1e6)},
		{name: "delinq_2yrs", upper: 5},
		{name: "inq_last_6mths", upper: 6},
		{name: "revol_util", upper: 100},
		{name: "open_il_6m", upper: 10},
		{name: "open_il_12m", upper: 6},
		{name: "open_il_24m", upper: 10},
		{name: "total_bal_il", upper: math.Log1p(1e6)},
		{name: "all_util", upper: 120},
		{name: "inq_fi", upper: 10},
		{name: "inq_last_12m", upper: 15},
		{name: "num_il_tl", upper: 40},
		{name: "total_il_high_credit_limit", upper: math.Log1p(1e6)},
	},
	logs:       []string{"annual_inc", "total_bal_il", "total_il_high_credit_limit"},
	categories: []string{"term", "sub_grade", "addr_state", "verification_status", "emp_length"},
	target:     "Class",
	joined:     []string{"int_rate", "sub_grade", "delinq_2yrs", "inq_last_6mths", "revol_util", "open_il_6m", "open_il_12m", "open_il_24m", "total_bal_il", "all_util", "inq_fi", "inq_last_12m", "num_il_tl", "total_il_high_credit_limit"},
}

type people struct {
	x      encoder.Matrix
	labels []int
}

// choose returns the people of the given numbers.
func (p people) choose(numbers []int) people {
	out := people{matrix(len(numbers), p.x.Cols), make([]int, len(numbers))}
	for i, k := range numbers {
		copy(out.x.Data[i*p.x.Cols:], p.x.Data[k*p.x.Stride:][:p.x.Cols])
		out.labels[i] = p.labels[k]
	}
	return out
}

// balanced returns numbers of people, in the order given, so that all classes are equally frequent.
func (p people) balanced(numbers []int, classes int) []int {
	counts := make([]int, classes)
	for _, k := range numbers {
		counts[p.labels[k]]++
	}
	left := slices.Repeat([]int{slices.Min(counts)}, classes)
	var out []int
	for _, k := range numbers {
		if y := p.labels[k]; left[y] > 0 {
			left[y]--
			out = append(out, k)
		}
	}
	return out
}

func matrix(rows, cols int) encoder.Matrix {
	return encoder.Matrix{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols)}
}

// read reads the complete rows of the data set, categories as their indices.
func (t *tableData) read(s *shell.Streams, file string) (columns, people, error) {
	header, texts, err := readColumns(s, file)
	if err != nil {
		return nil, people{}, err
	}
	var chosen [][]string // numbers, categories, target
	for _, name := range t.names() {
		at := slices.Index(header, name)
		if at < 0 {
			return nil, people{}, shell.BadFile(file, fmt.Errorf("there is no column %s", name))
		}
		chosen = append(chosen, texts[at])
	}
	var rows []int
	for i := range chosen[0] {
		if !slices.ContainsFunc(chosen[len(t.numbers):], func(c []string) bool { return c[i] == "?" }) {
			rows = append(rows, i)
		}
	}
	c, all, err := t.index(chosen, rows)
	if err != nil {
		return nil, people{}, shell.BadFile(file, err)
	}
	return c, all, nil
}

func (t *tableData) names() (names []string) {
	for _, f := range t.numbers {
		names = append(names, f.name)
	}
	return append(append(names, t.categories...), t.target)
}

// index has the numbers of rows, and indices for texts.
func (t *tableData) index(texts [][]string, rows []int) (columns, people, error) {
	names, c := t.names(), slices.Clone(t.numbers)
	all := people{matrix(len(rows), len(names)-1), make([]int, len(rows))}
	for j, name := range names {
		var words []string
		if j >= len(t.numbers) {
			for _, i := range rows {
				words = append(words, texts[j][i])
			}
			if words = distinct(words); len(words) < 2 {
				return nil, all, fmt.Errorf("%s is the same in every complete row, want at least two values", name)
			}
			c = append(c, column{name: name, categories: len(words)})
		}
		for k, i := range rows {
			text := texts[j][i]
			if words != nil {
				index, _ := slices.BinarySearch(words, text)
				if name == t.target {
					all.labels[k] = index
				} else {
					all.x.Data[k*all.x.Cols+j] = float64(index)
				}
				continue
			}
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, all, fmt.Errorf("row %d of column %s is not a number", i+1, name)
			}
			if slices.Contains(t.logs, name) {
				v = math.Log1p(max(v, 0))
			}
			all.x.Data[k*all.x.Cols+j] = min(max(v, c[j].lower), c[j].upper)
		}
	}
	last := len(c) - 1
	if n := c[last].categories; n > 2 {
		return nil, all, fmt.Errorf("%s has %d values, want two", t.target, n)
	}
	return c[:last], all, nil
}

// What a search on a table chooses from.
var (
	tableShares           = []float64{0.5, 0.7, 0.9}
	tableRadii            = []float64{1, 2}
	tableTrainingEpsilons = []float64{8, 16}
)

// tableSplit are disjoint people.
type tableSplit struct {
	columns          columns
	all, hot         people // with categories as indices, and as columns
	network          []int
	train, ask, test []int // classes balanced
	seed             uint64
}

// split divides people at random: two fifths train the network, as many a classifier, a
// tenth is asked, a tenth is to test.
func split(c columns, all people, seed uint64) (*tableSplit, error) {
	s := &tableSplit{columns: c, all: all, hot: people{c.oneHot(all.x), all.labels}, seed: seed}
	order := encoders.Rand(seed, "split", 0).Perm(len(all.labels))
	part := func(from, to int) []int { return order[from*len(order)/10 : to*len(order)/10] }
	s.network = part(0, 4)
	s.train, s.ask, s.test = all.balanced(part(4, 8), 2), all.balanced(part(8, 9), 2), all.balanced(part(9, 10), 2)
	if len(s.ask) < len(tableShares)*len(tableRadii)*len(tableTrainingEpsilons) || len(s.test) == 0 {
		return nil, fmt.Errorf("%d complete rows are too few to divide", len(all.labels))
	}
	return s, nil
}

// eachTable divides the people of the files given anew for each run.
func (o *vlmOptions) eachTable(do func(*tableData, *tableSplit) error) error {
	for _, from := range []struct {
		t    *tableData
		file string
	}{{loans, o.loans}, {adult, o.adult}} {
		if from.file == "" {
			continue
		}
		c, all, err := from.t.read(o.Streams, from.file)
		if err != nil {
			return err
		}
		for run := range o.tableRuns {
			s, err := split(c, all, runSeed(o.seed, run))
			if err == nil {
				err = do(from.t, s)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// scene has the features x of all people, as networks take them.
func (s *tableSplit) scene(t *tableData, x people, shares []float64, steps int) *scene {
	network := x.choose(s.network).x
	return &scene{
		data: t.name, classes: 2, seed: s.seed, network: network, train: x.choose(s.train), ask: x.choose(s.ask), test: x.choose(s.test),
		choices: choices(shares, tableRadii, tableTrainingEpsilons),
		options: vlm.Options{Coordinates: 4, Encoder: []int{64, 32}, Rate: 1e-3, Epochs: max(5, steps/max(1, network.Rows/64))},
		direct: func(epsilon float64) encoder.Matrix {
			return s.columns.oneHot(s.columns.noisy(s.all.choose(s.train).x, epsilon, encoders.Rand(s.seed, fmt.Sprintf("direct noise, ε = %g", epsilon), 0)))
		},
	}
}

// collectTables adds the lines of classifiers of rows of tables.
func (o *vlmOptions) collectTables(ctx context.Context) error {
	return o.eachTable(func(t *tableData, split *tableSplit) error {
		s := split.scene(t, split.hot, tableShares, o.tableSteps)
		o.size(s, len(split.network), shell.Counted(s.options.Epochs, "epoch"))
		if err := o.lines(ctx, s, false, latentLevel, featureLevel); err != nil {
			return err
		}
		return o.directLine(ctx, s)
	})
}

// join adds the lines of classifiers of clean features and encodings of others.
func (o *vlmOptions) join(ctx context.Context) error {
	return o.eachTable(func(t *tableData, split *tableSplit) error {
		clean, further := split.divide(t.joined)
		s := split.scene(t, further, []float64{1}, o.tableSteps)
		o.size(s, len(split.network), shell.Counted(s.options.Epochs, "epoch"))
		for k, numbers := range [][]int{split.train, split.ask, split.test} {
			s.own[k] = clean.choose(numbers).x
		}
		var pieces []piece[float64]
		for _, side := range []struct {
			series string
			x      people
		}{{aloneSeries, clean}, {allSeries, split.hot}} {
			pieces = append(pieces, piece[float64]{
				fmt.Sprintf("%s, seed %d, %s", t.name, s.seed, side.series),
				func(ctx context.Context) (float64, error) {
					return s.collection(0).ofFeatures(ctx, side.x.choose(split.train).x, side.x.choose(split.test).x, 1, math.Inf(1))
				},
				func(accuracy float64) { o.study.add(s.at(latentLevel, side.series, math.Inf(1)), accuracy) },
			})
		}
		if err := work(ctx, o.kept, pieces); err != nil {
			return err
		}
		return o.lines(ctx, s, true, latentLevel)
	})
}

func (s *tableSplit) divide(joined []string) (clean, further people) {
	var sides [2][]int // columns of each side
	at := 0
	for _, c := range s.columns {
		side := 0
		if slices.Contains(joined, c.name) {
			side = 1
		}
		for range max(1, c.categories) {
			sides[side] = append(sides[side], at)
			at++
		}
	}
	var out [2]people
	for k, columns := range sides {
		out[k] = people{matrix(s.hot.x.Rows, len(columns)), s.hot.labels}
		for i := range s.hot.x.Rows {
			for j, from := range columns {
				out[k].x.Data[i*len(columns)+j] = s.hot.x.Data[i*s.hot.x.Cols+from]
			}
		}
	}
	return out[0], out[1]
}

// beside joins the rows of two matrices; one that is empty adds nothing.
func beside(a, b encoder.Matrix) encoder.Matrix {
	if a.Rows == 0 {
		return b
	}
	out := matrix(a.Rows, a.Cols+b.Cols)
	for i := range a.Rows {
		row := out.Data[i*out.Cols:]
		copy(row, a.Data[i*a.Stride:][:a.Cols])
		copy(row[a.Cols:], b.Data[i*b.Stride:][:b.Cols])
	}
	return out
}

// column is what is known in public of a feature.
type column struct {
	name         string
	lower, upper float64 // the range of a number
	categories   int     // how many values 0, 1, … a feature has that is none; 0 for a number
}

// columns are features: numbers, and categories as their indices.
type columns []column

// noisyRanges is direct noise on numbers, of which the least and the largest value of each
// column are the range, as the paper takes them from the people who trained the network.
func noisyRanges(x encoder.Matrix, epsilon float64, seed uint64) encoder.Matrix {
	c := make(columns, x.Cols)
	for j := range c {
		c[j] = column{lower: math.Inf(1), upper: math.Inf(-1)}
		for i := range x.Rows {
			v := x.Data[i*x.Stride+j]
			c[j].lower, c[j].upper = min(c[j].lower, v), max(c[j].upper, v)
		}
	}
	return c.noisy(x, epsilon, encoders.Rand(seed, "direct noise", 0))
}

// noisy is what the paper calls direct noising: the n columns get ε/n each, numbers as Laplace
// noise of scale n·(upper-lower)/ε after clipping to their range, and are clipped again,
// categories as randomized response.
func (c columns) noisy(x encoder.Matrix, epsilon float64, r *rand.Rand) encoder.Matrix {
	out := matrix(x.Rows, x.Cols)
	share := epsilon / float64(len(c))
	for i := range x.Rows {
		for j, f := range c {
			v, to := x.Data[i*x.Stride+j], &out.Data[i*x.Cols+j]
			if f.categories > 0 {
				*to = float64(vlm.Flip([]int{int(v)}, f.categories, vlm.FlipProbability(f.categories, share), r)[0])
				continue
			}
			v = min(max(v, f.lower), f.upper) + vlm.Laplace(r)*(f.upper-f.lower)/share
			*to = min(max(v, f.lower), f.upper)
		}
	}
	return out
}

// oneHotScale makes features large beside the decoder's variance of 1; it is public, so that networks
// whose training data is protected can do without their means and deviations.
const oneHotScale = 4

// oneHot is the numbers mapped from their range to ±oneHotScale and each category as a column of 0 and that.
func (c columns) oneHot(x encoder.Matrix) encoder.Matrix {
	width := 0
	for _, f := range c {
		width += max(1, f.categories)
	}
	out := matrix(x.Rows, width)
	for i := range x.Rows {
		at := i * width
		for j, f := range c {
			v := x.Data[i*x.Stride+j]
			switch {
			case f.categories > 0:
				out.Data[at+int(v)] = oneHotScale
			case f.upper > f.lower:
				out.Data[at] = oneHotScale * (2*(v-f.lower)/(f.upper-f.lower) - 1)
			}
			at += max(1, f.categories)
		}
	}
	return out
}

// privateAccuracy estimates the share of people that a classifier is right about from
// answers that each of them randomizes: yes or no, turned round with probability p =
// 1/(e^ε + 1) (equation 9, after Warner 1965). With the share A~ of those who answer yes it
// is (A~ - p)/(1 - 2p), which is unbiased and may lie outside of 0 to 1.
//
// Each person spends epsilon for each classifier asked about.
func privateAccuracy(right []bool, epsilon float64, r *rand.Rand) float64 {
	p := vlm.FlipProbability(2, epsilon)
	answers := make([]bool, len(right))
	for i, a := range right {
		answers[i] = (r.Float64() < p) != a
	}
	return (share(answers) - p) / (1 - 2*p)
}

// share is that of true.
func share(all []bool) float64 {
	n := 0.0
	for _, yes := range all {
		if yes {
			n++
		}
	}
	return n / float64(len(all))
}

// accuracyBound is the largest accuracy with which anybody can tell apart classes that are equally
// frequent from encodings in an l1 ball with Laplace noise of scale 2l/ε on each coordinate, as a
// number between 1/classes and 1. The classes are even in number, at most 64, so that the
// alternating sum has rounding errors below 1e-6, and the coordinates at least half as many.
//
// The best that an encoder can do is to send the classes to ±l·e_j, the corners of the ball.
// Which corner is nearest is then told by the coordinate of the largest size, and is right if
// that of the true class ends up positive and above the sizes of the K/2 - 1 others, which are
// exponential of scale b = 2l/ε; beyond the K/2 corners, coordinates add nothing. With
// s = ε/2 = l/b the coordinate is s + X, X Laplace of scale 1, and
//
//	A = E[(1 - e^-(s+X))^(K/2-1); s + X > 0].
//
// The binomial expansion and three integrals of exponentials give the closed form here, the
// paper's equation (10) without its misprints.
func accuracyBound(epsilon float64, classes int) float64 {
	n := classes/2 - 1
	s := epsilon / 2
	// E[e^{-j(s+X)}; s+X > 0] has e^{-js}/(1-j²) - e^{-s}/(2(1-j)) but for j = 1, where the
	// integral up to 0 and that above are s·e^{-s}/2 + e^{-s}/4.
	sum, binomial := 0.0, 1.0
	for j := range n + 1 {
		term := math.Exp(-s) * (s/2 + 0.25)
		if j != 1 {
			k := float64(j)
			term = math.Exp(-k*s)/(1-k*k) - math.Exp(-s)/(2*(1-k))
		}
		if j%2 != 0 {
			term = -term
		}
		sum += binomial * term
		binomial *= float64(n-j) / float64(j+1)
	}
	return sum
}
