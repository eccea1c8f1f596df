package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/encoder/vlm"
)

// What a search on the data set adult chooses from.
var (
	adultShares           = []float64{0.5, 0.7, 0.9}
	adultRadii            = []float64{1, 2}
	adultTrainingEpsilons = []float64{8, 16}
)

const adultSeries = "adult, classes balanced"

// adultSplit are disjoint people.
type adultSplit struct {
	columns          vlm.Columns
	all, hot         people // with categories as indices, and as columns
	network          []int
	train, ask, test []int // classes balanced
}

// split divides people at random: two fifths train the network, as many a classifier, a tenth
// is asked, a tenth is to test.
func splitAdult(columns vlm.Columns, all people, seed uint64) (*adultSplit, error) {
	x, err := columns.OneHot(all.x)
	if err != nil {
		return nil, err
	}
	s := &adultSplit{columns: columns, all: all, hot: people{x, all.labels}}
	order := encoder.Rand(seed, "split", 0).Perm(len(all.labels))
	part := func(from, to int) []int { return order[from*len(order)/10 : to*len(order)/10] }
	s.network = part(0, 4)
	s.train, s.ask, s.test = all.balanced(part(4, 8), 2), all.balanced(part(8, 9), 2), all.balanced(part(9, 10), 2)
	if len(s.ask) < len(adultShares)*len(adultRadii)*len(adultTrainingEpsilons) || len(s.test) == 0 {
		return nil, fmt.Errorf("%d complete rows are too few to divide", len(all.labels))
	}
	return s, nil
}

// networks trains a network for each radius and ε of the training, some of which may collapse.
func (o *vlmOptions) networks(x encoder.Matrix, seed uint64) func(context.Context, vlm.Choice) (*vlm.Model, error) {
	type key struct{ radius, trainingEpsilon float64 }
	type made struct {
		m   *vlm.Model
		err error
	}
	models := map[key]made{}
	return func(ctx context.Context, c vlm.Choice) (*vlm.Model, error) {
		k := key{c.Radius, c.TrainingEpsilon}
		if _, ok := models[k]; !ok {
			run := encoder.Run{Seed: seed, Progress: func(step, steps int, loss float64) {
				o.line.Share(fmt.Sprintf("training network %d, run %d", len(models)+1, seed+1), float64(step)/float64(steps), fmt.Sprintf("step %d of %d, loss %.5g", step, steps, loss))
			}}
			m, err := vlm.Train(ctx, x, vlm.Options{
				Coordinates: 4, Radius: c.Radius, TrainingEpsilon: c.TrainingEpsilon,
				Encoder: []int{64, 32}, Rate: 1e-3, Epochs: max(5, o.adultSteps/max(1, x.Rows/64)), Standardize: true, Run: run,
			})
			models[k] = made{m, err}
		}
		return models[k].m, models[k].err
	}
}

// collectAdult adds series for encodings and direct noise, both with what the answers of
// other people to questions with the same ε choose.
func (o *vlmOptions) collectAdult(ctx context.Context, file string) error {
	columns, all, err := readAdult(o.Streams, file)
	if err != nil {
		return err
	}
	for seed := range o.seeds() {
		s, err := splitAdult(columns, all, seed)
		if err != nil {
			return err
		}
		train, test := s.hot.choose(s.train), s.hot.choose(s.test)
		c, err := vlm.TrainClassifier(ctx, train.x, train.labels, vlm.ClassifierOptions{Classes: 2, Seed: seed})
		if err != nil {
			return err
		}
		o.study.add(adultSeries, "no noise", math.Inf(1), c.Accuracy(test.x, test.labels))
		network := o.networks(s.hot.choose(s.network).x, seed)
		for _, epsilon := range o.epsilons {
			validation := vlm.Validation{People: len(s.ask), Epsilon: epsilon, Seed: seed}
			encoded, err := s.best(ctx, vlm.Grid(adultShares, adultRadii, adultTrainingEpsilons), validation, func(ctx context.Context, c vlm.Choice) (func([]int) []bool, error) {
				return s.encoded(ctx, network, c, epsilon, seed)
			})
			if err != nil {
				return err
			}
			o.study.add(adultSeries, "latent", epsilon, encoded)
			direct, err := s.best(ctx, vlm.Grid(adultShares, []float64{1}, []float64{1}), validation, func(ctx context.Context, c vlm.Choice) (func([]int) []bool, error) {
				return s.direct(ctx, c.Share, epsilon, seed)
			})
			if err != nil {
				return err
			}
			o.study.add(adultSeries, "direct noise", epsilon, direct)
		}
	}
	return nil
}

// best returns the accuracy, on the people of the test, of what the private answers of the
// people asked choose. try makes a classifier and returns whether it is right about people.
func (s *adultSplit) best(ctx context.Context, choices []vlm.Choice, v vlm.Validation, try func(context.Context, vlm.Choice) (func([]int) []bool, error)) (float64, error) {
	made := map[vlm.Choice]func([]int) []bool{}
	trials, err := vlm.Search(ctx, choices, v, func(ctx context.Context, c vlm.Choice, asked []int) ([]bool, error) {
		right, err := try(ctx, c)
		if err != nil {
			return nil, err
		}
		made[c] = right
		numbers := make([]int, len(asked))
		for i, k := range asked {
			numbers[i] = s.ask[k]
		}
		return right(numbers), nil
	})
	if err != nil {
		return 0, err
	}
	return share(made[trials[0].Choice](s.test)), nil
}

// share is that of true.
func share(right []bool) float64 {
	n := 0.0
	for _, r := range right {
		if r {
			n++
		}
	}
	return n / float64(len(right))
}

// encoded makes a classifier of encodings with noise and of flipped classes.
func (s *adultSplit) encoded(ctx context.Context, network func(context.Context, vlm.Choice) (*vlm.Model, error), c vlm.Choice, epsilon float64, seed uint64) (func([]int) []bool, error) {
	m, err := network(ctx, c)
	if err != nil {
		return nil, err
	}
	train := s.hot.choose(s.train)
	z, err := vlmRelease(ctx, m, m.Encode(train.x), c.Share*epsilon, seed, fmt.Sprintf("collection of %g", c.Share))
	if err != nil {
		return nil, err
	}
	k, err := flippedClassifier(ctx, z, train.labels, (1-c.Share)*epsilon, seed)
	if err != nil {
		return nil, err
	}
	return func(numbers []int) []bool {
		p := s.hot.choose(numbers)
		return k.Right(m.Encode(p.x), p.labels)
	}, nil
}

// direct makes a classifier of features with noise and of flipped classes.
func (s *adultSplit) direct(ctx context.Context, share, epsilon float64, seed uint64) (func([]int) []bool, error) {
	train := s.all.choose(s.train)
	r := encoder.Rand(seed, fmt.Sprintf("direct noise, ε = %g, %g of it", epsilon, share), 0)
	if err := s.columns.Noise(train.x, train.x, share*epsilon, r); err != nil {
		return nil, err
	}
	x, err := s.columns.OneHot(train.x)
	if err != nil {
		return nil, err
	}
	k, err := flippedClassifier(ctx, x, train.labels, (1-share)*epsilon, seed)
	if err != nil {
		return nil, err
	}
	return func(numbers []int) []bool {
		p := s.hot.choose(numbers)
		return k.Right(p.x, p.labels)
	}, nil
}

// flippedClassifier trains on two classes after randomized response.
func flippedClassifier(ctx context.Context, z encoder.Matrix, labels []int, epsilon float64, seed uint64) (*vlm.Classifier, error) {
	flip := vlm.FlipProbability(2, epsilon)
	flipped := vlm.Flip(labels, 2, flip, encoder.Rand(seed, fmt.Sprintf("classes, ε = %g", epsilon), 0))
	return vlm.TrainClassifier(ctx, z, flipped, vlm.ClassifierOptions{Classes: 2, Flip: flip, Seed: seed})
}

// joinedColumns are those that the second organization has, which sends them privately. The
// others are clean.
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
	run: func(ctx context.Context, o *vlmOptions) error { return o.join(ctx) },
}

func (o *vlmOptions) join(ctx context.Context) error {
	columns, all, err := readAdult(o.Streams, o.data)
	if err != nil {
		return err
	}
	for seed := range o.seeds() {
		s, err := splitAdult(columns, all, seed)
		if err != nil {
			return err
		}
		clean, further := s.divide()
		train, test := s.hot.choose(s.train), s.hot.choose(s.test)
		for _, side := range []struct {
			series string
			x      people
		}{{"clean features alone", clean}, {"all features clean", s.hot}} {
			p := side.x.choose(s.train)
			c, err := vlm.TrainClassifier(ctx, p.x, p.labels, vlm.ClassifierOptions{Classes: 2, Seed: seed})
			if err != nil {
				return err
			}
			o.study.add(adultSeries, side.series, math.Inf(1), c.Accuracy(side.x.choose(s.test).x, test.labels))
		}
		network := o.networks(further.choose(s.network).x, seed)
		for _, epsilon := range o.epsilons {
			validation := vlm.Validation{People: len(s.ask), Epsilon: epsilon, Seed: seed}
			accuracy, err := s.best(ctx, vlm.Grid([]float64{1}, adultRadii, adultTrainingEpsilons), validation, func(ctx context.Context, c vlm.Choice) (func([]int) []bool, error) {
				m, err := network(ctx, c)
				if err != nil {
					return nil, err
				}
				z, err := vlmRelease(ctx, m, m.Encode(further.choose(s.train).x), epsilon, seed, "joining")
				if err != nil {
					return nil, err
				}
				k, err := vlm.TrainClassifier(ctx, beside(clean.choose(s.train).x, z), train.labels, vlm.ClassifierOptions{Classes: 2, Seed: seed})
				if err != nil {
					return nil, err
				}
				return func(numbers []int) []bool {
					p := clean.choose(numbers)
					return k.Right(beside(p.x, m.Encode(further.choose(numbers).x)), p.labels)
				}, nil
			})
			if err != nil {
				return err
			}
			o.study.add(adultSeries, "joined", epsilon, accuracy)
		}
	}
	return nil
}

// divide separates the columns of s.hot.
func (s *adultSplit) divide() (clean, further people) {
	var sides [2][]int // columns of each side
	at := 0
	for _, c := range s.columns {
		side := 0
		if slices.Contains(joinedColumns, c.Name) {
			side = 1
		}
		for range max(1, c.Categories) {
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

// beside puts the columns of two matrices side by side.
func beside(a, b encoder.Matrix) encoder.Matrix {
	out := matrix(a.Rows, a.Cols+b.Cols)
	for i := range a.Rows {
		row := out.Data[i*out.Cols:]
		copy(row, a.Data[i*a.Stride:][:a.Cols])
		copy(row[a.Cols:], b.Data[i*b.Stride:][:b.Cols])
	}
	return out
}
