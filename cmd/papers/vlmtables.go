// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/vlm"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/cmd/papers/drolearn"
	"github.com/noisewright/noisewright/encoder"
)

// The features of the data set adult: numbers with public ranges, and categories. Weights of
// the census are left out, and so is education, of which education-num is the code.
// Capital gains and losses are counted as log(1 + dollars).
var (
	adultNumbers    = columns{{name: "age", lower: 17, upper: 90}, {name: "education-num", lower: 1, upper: 16}, {name: "capital-gain", upper: math.Log1p(99999)}, {name: "capital-loss", upper: math.Log1p(4356)}, {name: "hours-per-week", lower: 1, upper: 99}}
	adultCategories = []string{"workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country"}
	adultTarget     = "income"
)

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

// readAdult reads the complete rows of the data set adult, categories as their indices.
func readAdult(s *shell.Streams, file string) (columns, people, error) {
	header, texts, err := readColumns(s, file)
	if err != nil {
		return nil, people{}, err
	}
	var chosen [][]string // adultNumbers, adultCategories, adultTarget
	for _, name := range adultNames() {
		at := slices.Index(header, name)
		if at < 0 {
			return nil, people{}, shell.BadFile(file, fmt.Errorf("there is no column %s", name))
		}
		chosen = append(chosen, texts[at])
	}
	var rows []int
	for i := range chosen[0] {
		if !slices.ContainsFunc(chosen[len(adultNumbers):], func(c []string) bool { return c[i] == "?" }) {
			rows = append(rows, i)
		}
	}
	c, all, err := indexAdult(chosen, rows)
	if err != nil {
		return nil, people{}, shell.BadFile(file, err)
	}
	return c, all, nil
}

func adultNames() (names []string) {
	for _, f := range adultNumbers {
		names = append(names, f.name)
	}
	return append(append(names, adultCategories...), adultTarget)
}

// indexAdult has the numbers of rows, and indices for texts.
func indexAdult(texts [][]string, rows []int) (columns, people, error) {
	names, c := adultNames(), slices.Clone(adultNumbers)
	all := people{matrix(len(rows), len(names)-1), make([]int, len(rows))}
	for j, name := range names {
		var words []string
		if j >= len(adultNumbers) {
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
				if name == adultTarget {
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
			if name == "capital-gain" || name == "capital-loss" {
				v = math.Log1p(max(v, 0))
			}
			all.x.Data[k*all.x.Cols+j] = min(max(v, c[j].lower), c[j].upper)
		}
	}
	last := len(c) - 1
	if n := c[last].categories; n > 2 {
		return nil, all, fmt.Errorf("%s has %d values, want two", adultTarget, n)
	}
	return c[:last], all, nil
}

// choice is what a search chooses: the paper's λ, the share of ε for the features, of which the
// rest is for the class; l; and ε_pre.
type choice struct{ share, radius, trainingEpsilon float64 }

// What a search on the data set adult chooses from.
var (
	adultShares           = []float64{0.5, 0.7, 0.9}
	adultRadii            = []float64{1, 2}
	adultTrainingEpsilons = []float64{8, 16}
)

func choices(shares, radii, trainingEpsilons []float64) (out []choice) {
	for _, l := range radii {
		for _, e := range trainingEpsilons {
			for _, s := range shares {
				out = append(out, choice{s, l, e})
			}
		}
	}
	return out
}

const adultSeries = "adult, classes balanced"

// adultSplit are disjoint people.
type adultSplit struct {
	columns          columns
	all, hot         people // with categories as indices, and as columns
	network          []int
	train, ask, test []int // classes balanced
	seed             uint64
}

// splitAdult divides people at random: two fifths train the network, as many a classifier, a
// tenth is asked, a tenth is to test.
func splitAdult(c columns, all people, seed uint64) (*adultSplit, error) {
	s := &adultSplit{columns: c, all: all, hot: people{c.oneHot(all.x), all.labels}, seed: seed}
	order := encoders.Rand(seed, "split", 0).Perm(len(all.labels))
	part := func(from, to int) []int { return order[from*len(order)/10 : to*len(order)/10] }
	s.network = part(0, 4)
	s.train, s.ask, s.test = all.balanced(part(4, 8), 2), all.balanced(part(8, 9), 2), all.balanced(part(9, 10), 2)
	if len(s.ask) < len(adultShares)*len(adultRadii)*len(adultTrainingEpsilons) || len(s.test) == 0 {
		return nil, fmt.Errorf("%d complete rows are too few to divide", len(all.labels))
	}
	return s, nil
}

// eachSplit divides the people of a file anew for each run.
func (o *vlmOptions) eachSplit(file string, do func(*adultSplit) error) error {
	c, all, err := readAdult(o.Streams, file)
	if err != nil {
		return err
	}
	for seed := range o.seeds() {
		s, err := splitAdult(c, all, seed)
		if err != nil {
			return err
		}
		if err := do(s); err != nil {
			return err
		}
	}
	return nil
}

type networkOf func(context.Context, choice) (*vlm.Model, error)

// networks trains a network for each radius and ε of the training, some of which may collapse.
func (o *vlmOptions) networks(x encoder.Matrix, seed uint64) networkOf {
	type made struct {
		m   *vlm.Model
		err error
	}
	models := map[choice]made{}
	return func(ctx context.Context, c choice) (*vlm.Model, error) {
		c.share = 0 // which no network depends on
		if _, ok := models[c]; !ok {
			run := encoders.Run{Seed: seed, Progress: o.training(fmt.Sprintf("network %d", len(models)+1), seed)}
			m, err := vlm.Train(ctx, x, vlm.Options{
				Coordinates: 4, Radius: c.radius, TrainingEpsilon: c.trainingEpsilon,
				Encoder: []int{64, 32}, Rate: 1e-3, Epochs: max(5, o.adultSteps/max(1, x.Rows/64)), Standardize: true, Run: run,
			})
			models[c] = made{m, err}
		}
		return models[c].m, models[c].err
	}
}

// right says for people, by their numbers, whether a classifier is right about them.
type right func(numbers []int) []bool

// best returns the accuracy, on the people of the test, of the classifier that the answers of
// the people asked choose. They are divided among the choices, so that each spends ε once: with
// k choices, an answer of ε is worth more than k answers of ε/k. A choice whose network
// collapses or diverges is not chosen.
func (s *adultSplit) best(ctx context.Context, choices []choice, epsilon float64, try func(context.Context, choice) (right, error)) (float64, error) {
	order := encoders.Rand(s.seed, "people to ask", 0).Perm(len(s.ask))
	var best right
	var failed error
	most := math.Inf(-1)
	for i, c := range choices {
		made, err := try(ctx, c)
		if errors.Is(err, vlm.ErrCollapsed) || errors.Is(err, vlm.ErrDiverged) {
			failed = err
			continue
		}
		if err != nil {
			return 0, err
		}
		asked := drolearn.Chosen(s.ask, order[i*len(order)/len(choices):(i+1)*len(order)/len(choices)])
		if a := privateAccuracy(made(asked), epsilon, encoders.Rand(s.seed, "answers", i)); a > most {
			best, most = made, a
		}
	}
	if best == nil {
		return 0, fmt.Errorf("every choice failed, the last one so: %w", failed)
	}
	return share(best(s.test)), nil
}

func (s *adultSplit) clean(ctx context.Context, features people) (float64, error) {
	train, test := features.choose(s.train), features.choose(s.test)
	c, err := vlm.TrainClassifier(ctx, train.x, train.labels, vlm.ClassifierOptions{Classes: 2, Seed: s.seed})
	if err != nil {
		return 0, err
	}
	return c.Accuracy(test.x, test.labels), nil
}

// collectAdult adds series for encodings and direct noise, both with what the answers of
// other people to questions with the same ε choose.
func (o *vlmOptions) collectAdult(ctx context.Context, file string) error {
	return o.eachSplit(file, func(s *adultSplit) error {
		accuracy, err := s.clean(ctx, s.hot)
		if err != nil {
			return err
		}
		o.study.add(adultSeries, "no noise", math.Inf(1), accuracy)
		network := o.networks(s.hot.choose(s.network).x, s.seed)
		for _, epsilon := range o.epsilons {
			if accuracy, err = s.best(ctx, choices(adultShares, adultRadii, adultTrainingEpsilons), epsilon, func(ctx context.Context, c choice) (right, error) {
				return s.encoded(ctx, network, c, epsilon)
			}); err != nil {
				return err
			}
			o.study.add(adultSeries, "latent", epsilon, accuracy)
			if accuracy, err = s.best(ctx, choices(adultShares, []float64{1}, []float64{1}), epsilon, func(ctx context.Context, c choice) (right, error) {
				return s.direct(ctx, c.share, epsilon)
			}); err != nil {
				return err
			}
			o.study.add(adultSeries, "direct noise", epsilon, accuracy)
		}
		return nil
	})
}

func (s *adultSplit) encoded(ctx context.Context, network networkOf, c choice, epsilon float64) (right, error) {
	m, err := network(ctx, c)
	if err != nil {
		return nil, err
	}
	z, err := vlmRelease(ctx, m, m.Encode(s.hot.choose(s.train).x), c.share*epsilon, s.seed, fmt.Sprintf("collection of %g", c.share))
	if err != nil {
		return nil, err
	}
	return s.flipped(ctx, z, (1-c.share)*epsilon, m.Encode)
}

func (s *adultSplit) direct(ctx context.Context, share, epsilon float64) (right, error) {
	r := encoders.Rand(s.seed, fmt.Sprintf("direct noise, ε = %g, %g of it", epsilon, share), 0)
	noisy := s.columns.noisy(s.all.choose(s.train).x, share*epsilon, r)
	return s.flipped(ctx, s.columns.oneHot(noisy), (1-share)*epsilon, func(x encoder.Matrix) encoder.Matrix { return x })
}

// flipped trains on two classes after randomized response; seen is what it sees of clean features.
func (s *adultSplit) flipped(ctx context.Context, z encoder.Matrix, epsilon float64, seen func(encoder.Matrix) encoder.Matrix) (right, error) {
	flip := vlm.FlipProbability(2, epsilon)
	labels := vlm.Flip(s.hot.choose(s.train).labels, 2, flip, encoders.Rand(s.seed, fmt.Sprintf("classes, ε = %g", epsilon), 0))
	k, err := vlm.TrainClassifier(ctx, z, labels, vlm.ClassifierOptions{Classes: 2, Flip: flip, Seed: s.seed})
	if err != nil {
		return nil, err
	}
	return func(numbers []int) []bool {
		p := s.hot.choose(numbers)
		return k.Right(seen(p.x), p.labels)
	}, nil
}

// joinedColumns are those that the second organization sends privately. The others are clean.
var joinedColumns = []string{"education-num", "capital-gain", "capital-loss", "marital-status", "occupation", "relationship"}

var vlmFigure3 = vlmFigure{
	name:  "vlm-figure3",
	short: "Figure 3 of Mansbridge et al. (2020): joining clean features with private ones",
	about: `Run the experiment behind figure 3: an organization knows the class and some features of
people, and another organization sends it encodings of further features of the same
people, all of epsilon spent on these. A classifier of both is tested on people of whom
the further features are encoded without noise. Series: joined, the clean features
alone, and all features clean. Clean are age, hours-per-week, workclass, race, sex and
native-country. The network is chosen by private answers, as by vlm-figure1.

` + adultHelp,
	data: adultFile,
	published: []string{
		"clean features alone 56.1 %, all features clean 65.8 %, and a gain by joining for epsilon from 4 to 10 (loans)",
	},
	run: (*vlmOptions).join,
}

func (o *vlmOptions) join(ctx context.Context) error {
	return o.eachSplit(o.data, func(s *adultSplit) error {
		clean, further := s.divide()
		for _, side := range []struct {
			series   string
			features people
		}{{"clean features alone", clean}, {"all features clean", s.hot}} {
			accuracy, err := s.clean(ctx, side.features)
			if err != nil {
				return err
			}
			o.study.add(adultSeries, side.series, math.Inf(1), accuracy)
		}
		network := o.networks(further.choose(s.network).x, s.seed)
		for _, epsilon := range o.epsilons {
			accuracy, err := s.best(ctx, choices([]float64{1}, adultRadii, adultTrainingEpsilons), epsilon, func(ctx context.Context, c choice) (right, error) {
				m, err := network(ctx, c)
				if err != nil {
					return nil, err
				}
				return s.joined(ctx, m, clean, further, epsilon)
			})
			if err != nil {
				return err
			}
			o.study.add(adultSeries, "joined", epsilon, accuracy)
		}
		return nil
	})
}

func (s *adultSplit) joined(ctx context.Context, m *vlm.Model, clean, further people, epsilon float64) (right, error) {
	train := clean.choose(s.train)
	z, err := vlmRelease(ctx, m, m.Encode(further.choose(s.train).x), epsilon, s.seed, "joining")
	if err != nil {
		return nil, err
	}
	k, err := vlm.TrainClassifier(ctx, beside(train.x, z), train.labels, vlm.ClassifierOptions{Classes: 2, Seed: s.seed})
	if err != nil {
		return nil, err
	}
	return func(numbers []int) []bool {
		p := clean.choose(numbers)
		return k.Right(beside(p.x, m.Encode(further.choose(numbers).x)), p.labels)
	}, nil
}

func (s *adultSplit) divide() (clean, further people) {
	var sides [2][]int // columns of each side
	at := 0
	for _, c := range s.columns {
		side := 0
		if slices.Contains(joinedColumns, c.name) {
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

func beside(a, b encoder.Matrix) encoder.Matrix {
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

// oneHot is the numbers mapped from their range to -1 … 1 and each category as a column of 0 and 1.
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
				out.Data[at+int(v)] = 1
			case f.upper > f.lower:
				out.Data[at] = 2*(v-f.lower)/(f.upper-f.lower) - 1
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
