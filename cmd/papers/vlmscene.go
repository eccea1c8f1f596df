// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/vlm"
	"github.com/noisewright/noisewright/cmd/papers/drolearn"
	"github.com/noisewright/noisewright/encoder"
)

// scene is a data set, divided for an experiment: people who train networks, people who are
// collected from, people who are asked which classifier is right, and people to test.
type scene struct {
	data             string
	classes          int
	seed             uint64
	network          encoder.Matrix
	train, ask, test people
	// own are features of train, ask and test that are not sent but known; their rows are empty
	// where nothing is joined.
	own    [3]encoder.Matrix
	direct func(epsilon float64) encoder.Matrix // direct noise on train; nil: no such benchmark
	// What the answers of those asked choose from, and how networks and classifiers of features are trained.
	choices []choice
	// At a local ε of at most sharpAt encodings are sharpened.
	sharpAt float64
	options vlm.Options
	pixels  vlm.ClassifierOptions

	mu     sync.Mutex
	models map[network]*made
}

// chance is the accuracy of who answers the most frequent class of the test for everybody.
func (s *scene) chance() float64 {
	counts := make([]int, s.classes)
	for _, y := range s.test.labels {
		counts[y]++
	}
	return float64(slices.Max(counts)) / float64(len(s.test.labels))
}

// choice is what a search chooses: the paper's λ, the share of ε for the features, of which the
// rest is for the class; l; and ε_pre.
type choice struct{ share, radius, trainingEpsilon float64 }

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

// network is what a network depends on but the people.
type network struct {
	radius, trainingEpsilon float64
	central                 central
}

type made struct {
	m                       *vlm.Model
	err                     error
	known, train, ask, test encoder.Matrix // encodings; known are some of the people who trained it
}

// mostKnown is how many people who trained a network classifiers of encodings look at.
const mostKnown = 4000

// central is how the people are protected whose data trains a network.
type central struct {
	name           string
	epsilon        float64 // 0: not at all
	publishedOrder bool
}

const centralDelta = 1e-5

// noCentral is the line without protection of the training data.
var noCentral = central{name: "no central ε"}

// model trains a network, or has it from before.
func (o *vlmOptions) model(ctx context.Context, s *scene, c choice, by central) (*made, error) {
	of := network{c.radius, c.trainingEpsilon, by}
	s.mu.Lock()
	known, ok := s.models[of]
	s.mu.Unlock()
	if ok {
		return known, known.err
	}
	own := s.options
	own.Radius, own.TrainingEpsilon = c.radius, c.trainingEpsilon
	what := fmt.Sprintf("%s, %s, l = %g, ε_pre = %g", s.data, by.name, c.radius, c.trainingEpsilon)
	if by.epsilon > 0 {
		own.Epochs = min(own.Epochs, o.centralEpochs)
		own.Central = &vlm.Central{
			// Nobody asks for a better decoder but by the order of the paper.
			Epsilon: by.epsilon, Delta: centralDelta, Parts: vlm.Parts{Encoder: true, Decoder: !by.publishedOrder}, PublishedOrder: by.publishedOrder,
			Random: rand.New(rand.NewPCG(s.seed, 7)), //nolint:gosec // a study, to be the same again
		}
	}
	own.Run = encoders.Run{Seed: s.seed, Progress: func(step, steps int, _ float64) {
		o.line.Share("training "+what, float64(step)/float64(steps), fmt.Sprintf("step %d of %d", step, steps))
	}}
	if own.Central == nil {
		own.Run.Options = fmt.Sprintf("%s, %d×%d, %d epochs, seed %d", what, s.network.Rows, s.network.Cols, own.Epochs, s.seed)
		own.Run.Directory = filepath.Join(cmp.Or(o.checkpoints, o.kept.folder), fmt.Sprintf("%.5s-%d-%d-%g-%g-%d", s.data, s.network.Rows, own.Epochs, c.radius, c.trainingEpsilon, s.seed))
	}
	m, err := vlm.Train(ctx, s.network, own)
	if ctx.Err() != nil {
		return nil, err
	}
	n := &made{m: m, err: err}
	if err == nil {
		known := s.network
		known.Rows = min(known.Rows, mostKnown)
		known.Data = known.Data[:known.Rows*known.Stride]
		n.known, n.train, n.ask, n.test = m.Encode(known), m.Encode(s.train.x), m.Encode(s.ask.x), m.Encode(s.test.x)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.models == nil {
		s.models = map[network]*made{}
	}
	s.models[of] = n
	return n, err
}

// collection is one of several times that the people of a scene send, each with noise of its own.
type collection struct {
	*scene
	seed uint64
}

// collection returns that of a number; runs have smaller ones than 1<<16.
func (s *scene) collection(number int) *collection {
	return &collection{s, s.seed + uint64(number)<<16} //nolint:gosec // not negative
}

// release is what people of the encodings u send with a promise of epsilon; infinite: without noise.
func (s *collection) release(ctx context.Context, n *made, u encoder.Matrix, epsilon float64, purpose string) (encoder.Matrix, error) {
	if math.IsInf(epsilon, 1) {
		return u, nil
	}
	return vlmRelease(ctx, n.m, u, epsilon, s.seed, purpose)
}

// classified is what a classifier gets right of the people asked, and of the test.
type classified struct{ asked, tested []bool }

// labels are those of train, flipped with what the share leaves of epsilon, and the probability.
func (s *collection) labels(share, epsilon float64) ([]int, float64) {
	if share == 1 || math.IsInf(epsilon, 1) {
		return s.train.labels, 0
	}
	flip := vlm.FlipProbability(s.classes, (1-share)*epsilon)
	return vlm.Flip(s.train.labels, s.classes, flip, encoders.Rand(s.seed, fmt.Sprintf("classes, ε = %g, %g of it", epsilon, share), 0)), flip
}

// sharpPower was chosen among 1, 2, 4 and infinity on people of the network's part of MNIST that trained no
// network.
const sharpPower = 4

// sharpened has encodings whose numbers are powers of what they were, on the sphere of the l1 ball: the largest
// number of each gets most of the radius. That is worth more beside much noise than what is lost of the others.
func (n *made) sharpened() *made {
	sharp := func(u encoder.Matrix) encoder.Matrix {
		out := matrix(u.Rows, u.Cols)
		for i := range u.Rows {
			from, to := u.Data[i*u.Stride:][:u.Cols], out.Data[i*out.Stride:][:u.Cols]
			largest, norm := max(slices.Max(from), -slices.Min(from)), 0.0
			if largest == 0 {
				continue
			}
			for j, v := range from {
				to[j] = math.Copysign(math.Pow(math.Abs(v)/largest, sharpPower), v)
				norm += math.Abs(to[j])
			}
			for j := range to {
				to[j] *= n.m.Body.Radius / norm
			}
		}
		n.m.Body.Clip(out) // of what rounding adds
		return out
	}
	return &made{m: n.m, known: sharp(n.known), train: sharp(n.train), ask: sharp(n.ask), test: sharp(n.test)}
}

// latent trains a classifier of encodings, and asks and tests people: with their own noise, all
// of epsilon, if they are private, else without.
func (s *collection) latent(ctx context.Context, n *made, c choice, epsilon float64, private bool) (*classified, error) {
	if epsilon <= s.sharpAt {
		n = n.sharpened()
	}
	z, err := s.release(ctx, n, n.train, c.share*epsilon, "collection")
	if err != nil {
		return nil, err
	}
	labels, flip := s.labels(c.share, epsilon)
	o := vlm.ClassifierOptions{Classes: s.classes, Flip: flip, Seed: s.seed}
	var through *vlm.ThroughNoise
	var plain *vlm.Classifier
	if math.IsInf(epsilon, 1) || s.own[0].Rows > 0 {
		plain, err = vlm.TrainClassifier(ctx, beside(s.own[0], z), labels, o)
	} else {
		through, err = vlm.TrainThroughNoise(ctx, n.known, z, labels, 2*n.m.Body.Radius/(c.share*epsilon), o)
	}
	if err != nil {
		return nil, err
	}
	out := &classified{}
	for k, group := range []struct {
		people people
		u      encoder.Matrix
		right  *[]bool
	}{{s.ask, n.ask, &out.asked}, {s.test, n.test, &out.tested}} {
		u, scale := group.u, 0.0
		if private && !math.IsInf(epsilon, 1) {
			scale = 2 * n.m.Body.Radius / epsilon
			if u, err = s.release(ctx, n, u, epsilon, fmt.Sprintf("group %d", k)); err != nil {
				return nil, err
			}
		}
		switch {
		case plain != nil:
			*group.right = plain.Right(beside(s.own[1+k], u), group.people.labels)
		case scale > 0:
			*group.right = through.RightNoisy(u, scale, group.people.labels)
		default:
			*group.right = through.Right(u, group.people.labels)
		}
	}
	return out, nil
}

// features is the accuracy of a classifier of what the decoder makes of encodings.
func (s *collection) features(ctx context.Context, n *made, c choice, epsilon float64, private bool) (float64, error) {
	z, err := s.release(ctx, n, n.train, c.share*epsilon, "collection")
	if err != nil {
		return 0, err
	}
	x := s.test.x
	if private {
		u, err := s.release(ctx, n, n.test, epsilon, "group 1")
		if err != nil {
			return 0, err
		}
		x = n.m.Decode(u)
	}
	return s.ofFeatures(ctx, n.m.Decode(z), x, c.share, epsilon)
}

// ofFeatures trains on rows of features and the labels of train, and tests on x.
func (s *collection) ofFeatures(ctx context.Context, z, x encoder.Matrix, share, epsilon float64) (float64, error) {
	labels, flip := s.labels(share, epsilon)
	o := s.pixels
	o.Classes, o.Flip, o.Seed = s.classes, flip, s.seed
	k, err := vlm.TrainClassifier(ctx, z, labels, o)
	if err != nil {
		return 0, err
	}
	return k.Accuracy(x, s.test.labels), nil
}

// best returns the choice that the answers of the people asked choose, and what its classifier
// gets right. They are divided among the choices, so that each spends ε once: with
// k choices, an answer of ε is worth more than k answers of ε/k. A choice whose network
// collapses or diverges is not chosen.
func (s *collection) best(choices []choice, epsilon float64, try func(choice) (*classified, error)) (choice, *classified, error) {
	n := len(s.ask.labels)
	order := encoders.Rand(s.seed, "people to ask", 0).Perm(n)
	var best *classified
	var chosen choice
	var failed error
	most := math.Inf(-1)
	for i, c := range choices {
		made, err := try(c)
		if errors.Is(err, vlm.ErrCollapsed) || errors.Is(err, vlm.ErrDiverged) {
			failed = err
			continue
		}
		if err != nil {
			return c, nil, err
		}
		asked := drolearn.Chosen(made.asked, order[i*n/len(choices):(i+1)*n/len(choices)])
		if a := privateAccuracy(asked, epsilon, encoders.Rand(s.seed, "answers", i)); a > most {
			best, chosen, most = made, c, a
		}
	}
	if best == nil {
		return chosen, nil, fmt.Errorf("every choice failed, the last one so: %w", failed)
	}
	return chosen, best, nil
}

// level is what is classified.
type level string

const (
	latentLevel  level = "latent"
	featureLevel level = "features"
)

// choicesAt are those for a central and a local ε.
func (s *scene) choicesAt(by central, epsilon float64) []choice {
	all := s.choices
	if math.IsInf(epsilon, 1) { // there is no budget to share
		all = slices.CompactFunc(slices.Clone(all), func(a, b choice) bool { return a.radius == b.radius && a.trainingEpsilon == b.trainingEpsilon })
	}
	if by.epsilon > 0 { // one network: its training is what protection costs
		all = which(all, func(c choice) bool {
			return c.radius == all[0].radius && c.trainingEpsilon == all[0].trainingEpsilon
		})
	}
	return all
}

// lines adds a line for each central ε: of the accuracy at each ε, infinite first, in a panel for
// each level.
func (o *vlmOptions) lines(ctx context.Context, s *scene, private bool, levels ...level) error {
	var pieces []piece[[][]float64] // accuracies for each level
	type training struct {
		of network
		c  choice
	}
	var trainings []training
	for _, by := range o.centrals() {
		for _, epsilon := range o.epsilons {
			p := piece[[][]float64]{
				key: fmt.Sprintf("%s, seed %d, %s, local ε = %g", s.data, s.seed, by.name, epsilon),
				do:  func(ctx context.Context) ([][]float64, error) { return o.point(ctx, s, by, epsilon, private, levels) },
				add: func(values [][]float64) {
					for i, l := range levels {
						o.study.add(s.at(l, by.name, epsilon), values[i]...)
					}
				},
			}
			pieces = append(pieces, p)
			if len(missing(o.kept, []piece[[][]float64]{p})) == 0 {
				continue
			}
			for _, c := range s.choicesAt(by, epsilon) {
				t := training{network{c.radius, c.trainingEpsilon, by}, c}
				if !slices.ContainsFunc(trainings, func(u training) bool { return u.of == t.of }) {
					trainings = append(trainings, t)
				}
			}
		}
	}
	// Networks first, which take the longest by far, as many at a time as there are processors.
	broken := drolearn.Each(ctx, len(trainings), func(ctx context.Context, i int) error {
		_, err := o.model(ctx, s, trainings[i].c, trainings[i].of.central)
		if errors.Is(err, vlm.ErrCollapsed) || errors.Is(err, vlm.ErrDiverged) {
			return nil // it is not chosen
		}
		return err
	})
	if broken != nil && ctx.Err() == nil {
		return broken
	}
	return work(ctx, o.kept, pieces)
}

// point returns the accuracies at a point of a line, for each level: at latent level of each collection.
func (o *vlmOptions) point(ctx context.Context, s *scene, by central, epsilon float64, private bool, levels []level) ([][]float64, error) {
	values := make([][]float64, len(levels))
	collections := o.collections
	if math.IsInf(epsilon, 1) { // without noise they are all the same
		collections = 1
	}
	for number := range collections {
		c := s.collection(number)
		chosen, right, err := c.best(s.choicesAt(by, epsilon), epsilon, func(of choice) (*classified, error) {
			m, err := o.model(ctx, s, of, by)
			if err != nil {
				return nil, err
			}
			o.line.Share("classifying "+s.data, float64(number)/float64(collections), fmt.Sprintf("%s, ε = %g", by.name, epsilon))
			return c.latent(ctx, m, of, epsilon, private)
		})
		if err != nil {
			return nil, err
		}
		for i, l := range levels {
			accuracy := share(right.tested)
			if l == featureLevel {
				if number > 0 {
					continue
				}
				used, err := o.model(ctx, s, chosen, by)
				if err != nil {
					return nil, err
				}
				if accuracy, err = c.features(ctx, used, chosen, epsilon, private); err != nil {
					return nil, err
				}
			}
			values[i] = append(values[i], accuracy)
		}
	}
	return values, nil
}

// directLine adds the benchmark of direct noise to the panel of features.
func (o *vlmOptions) directLine(ctx context.Context, s *scene) error {
	var pieces []piece[float64]
	for _, epsilon := range o.epsilons {
		if math.IsInf(epsilon, 1) {
			continue
		}
		pieces = append(pieces, piece[float64]{
			fmt.Sprintf("%s, seed %d, direct noise, ε = %g", s.data, s.seed, epsilon),
			func(ctx context.Context) (float64, error) {
				o.line.Share("classifying "+s.data, 0, fmt.Sprintf("direct noise, ε = %g", epsilon))
				part := s.choices[0].share
				return s.collection(0).ofFeatures(ctx, s.direct(part*epsilon), s.test.x, part, epsilon)
			},
			func(accuracy float64) {
				o.study.add(s.at(featureLevel, directSeries, epsilon), accuracy)
			},
		})
	}
	return work(ctx, o.kept, pieces)
}
