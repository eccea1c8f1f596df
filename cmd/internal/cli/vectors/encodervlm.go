// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/vlm"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
)

type trainVLMOptions struct {
	*trainOptions
	network         vlm.Options
	hidden          []int
	level, scenario string
	protected       string // training set: public or private
	classEpsilon    float64
	centralEpsilon  float64
	centralDelta    float64
}

// The words of --training-set.
const (
	publicTraining  = "public"
	privateTraining = "private"
)

func newTrainVLMCommand(s *shell.Streams) *cobra.Command {
	o := &trainVLMOptions{
		trainOptions: newTrainOptions(s), network: vlm.Options{TrainingEpsilon: 15, Epochs: 20, Batch: 64, Rate: 5e-4},
		level: string(vlm.Latent), scenario: string(vlm.Collection), protected: publicTraining, centralDelta: 1e-5,
	}
	o.noise, o.domain, o.radius, o.coordinates = string(noise.Laplace), string(bundle.L1Ball), 5, []int{8}
	f := o.flags(&cobra.Command{
		Use:   "vlm --data FILE --epsilon E [--target COLUMN --class-epsilon E] -o BUNDLE",
		Short: "Train an encoder for no task in particular: the variational Laplace mechanism",
		Long: `Train a variational autoencoder with a Laplace posterior, so that what its encoder says
survives noise, for tasks that nobody knows yet. Encodings are clipped to an l1 ball;
the training has Laplace noise in it, of --training-epsilon, which need not be --epsilon:
much noise makes robust encodings, little makes precise ones.

With --target, a class, people who were held out are encoded with noise, their classes
are flipped by randomized response of --class-epsilon, and a classifier that knows
of the flips is trained and tested on others. Who sends both spends the sum. For a
release, flip classes with noisewright privatize --categories.

--level says what is decoded: latent (the encodings), features (by the decoder), or
classes (by the classifier).

The training data is not protected, unless --training-set is private: then the parts
of the network that others see are trained by DP-Adam, with --central-epsilon for
people added or removed, and nothing is measured. Every such training spends that
epsilon again. How many people there are, and which columns are features, counts as
public: name them by --columns. Which parts these are
depends on the scenario (papers vlm-table1 prints the table): in a
collection or for a novel class the encoder, which is on the devices; in joining what
computes the encodings or features that are handed out; and what is in the bundle.

Source: Mansbridge et al. (2020), Learning to Noise, arXiv 2010.12464.`,
		Example: `  noisewright encoder train vlm --data train.csv --target income --epsilon 7 --class-epsilon 3 -o bundle
  noisewright encoder train vlm --data train.csv --epsilon 5 --training-set private --central-epsilon 5 -o bundle`,
	}, false)
	o.networkFlags(f)
	f.Word(&o.level, "level", "word", "what is decoded: latent (encodings), features, or classes", string(vlm.Latent), string(vlm.Features), string(vlm.Classes))
	f.OptionalNumber(&o.classEpsilon, "class-epsilon", shell.PositiveEpsilon, "epsilon of the class that people send too, without unit; without it, classes are not flipped")
	f.Word(&o.scenario, "scenario", "word", "who runs the network: collection (those who are asked), novel-class (they too), or joining (who trained it hands encodings out)", string(vlm.Collection), string(vlm.NovelClass), string(vlm.Joining))
	f.Word(&o.protected, "training-set", "word", "public (not protected), or private", publicTraining, privateTraining)
	f.OptionalNumber(&o.centralEpsilon, "central-epsilon", shell.PositiveEpsilon, "with a private training set: epsilon of its people, without unit")
	f.OptionalNumber(&o.centralDelta, "central-delta", shell.Rule{Want: "a number from 1e-10 to 0.5", OK: func(v float64) bool { return v >= 1e-10 && v <= 0.5 }},
		"with a private training set: delta of its people, a probability: 1e-5")
	f.Check(o.check)
	return f.Run(func(ctx context.Context) error { return o.train(ctx, o.trainOnce) })
}

func (o *trainVLMOptions) networkFlags(f *shell.Flags) {
	f.OptionalNumber(&o.network.TrainingEpsilon, "training-epsilon", shell.Rule{Want: "0, or a finite number above 0", OK: func(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }},
		"epsilon of the noise in the training: 15; 0 learns its scale for each coordinate")
	f.Integer(&o.network.Epochs, "epochs", "", 1, 1e6, "how often the training sees each person")
	f.Integer(&o.network.Batch, "batch", "", 1, 1<<20, "people in a step")
	f.OptionalNumber(&o.network.Rate, "rate", shell.AtMost("a number", 1), "rate of Adam: 0.0005")
	widths(f, &o.hidden, "hidden", "400,150,50", "widths of the encoder's hidden layers, separated by commas; the decoder has them from the end")
}

func (o *trainVLMOptions) check() error {
	target, classes := o.people.target, o.level == string(vlm.Classes) || o.classEpsilon > 0
	errs := []error{
		shell.Refuse(o.domain != string(bundle.L1Ball) && o.domain != shell.NoiseAuto, "domain = %s, want l1-ball: encodings of this system are clipped to it", o.domain),
		shell.Refuse(o.noise == shell.NoiseAuto, "noise = auto, want one kind"),
	}
	o.domain = string(bundle.L1Ball)
	if o.protected != privateTraining {
		return errors.Join(append(errs,
			shell.Refuse(target == "" && classes, "target is missing, want the column of a class for level = classes and for class-epsilon"),
			shell.Refuse(o.centralEpsilon > 0, "training-set = public with central-epsilon, want private: there is nobody else that it protects"),
		)...)
	}
	parts, err := o.parts()
	return errors.Join(append(errs, err,
		shell.Refuse(o.centralEpsilon == 0 && err == nil, "central-epsilon is missing, want a number above 0: with a private training set, %s at the level %s has the %s trained privately, for others see it, or what it computes", o.scenario, o.level, parts),
		shell.Refuse(target != "" || classes, "target, level = classes or class-epsilon with a private training set, want none: a classifier, and its accuracy, would tell of its people"),
		shell.Refuse(len(o.coordinates) > 1, "coordinates = %v, want one number with a private training set: to choose the best is to tell of its people", o.coordinates),
		shell.Refuse(o.network.TrainingEpsilon == 0, "training-epsilon = 0, want a number above 0 with a private training set: scales are not learned privately"),
	)...)
}

// parts are trained privately: what the scenario asks for, and what anybody reads in the bundle.
func (o *trainVLMOptions) parts() (vlm.Parts, error) {
	parts, err := vlm.Scenario(o.scenario).Private(vlm.Level(o.level))
	parts.Decoder = parts.Decoder || o.level == string(vlm.Features)
	return parts, err
}

func (o *trainVLMOptions) trainOnce(ctx context.Context, t *task) (*trained, error) {
	own := o.network
	own.Coordinates, own.Radius, own.Encoder, own.Run = t.choice.Coordinates, t.radius, o.hidden, t.run
	if o.protected == privateTraining {
		return o.trainPrivately(ctx, t, own)
	}
	if t.data.Target.Name != "" && t.data.Target.Classes == nil {
		return nil, shell.BadInput("--classes takes numbers for classes", fmt.Errorf("target = %s has numbers, want classes", t.data.Target.Name))
	}
	own.Standardize = true
	parts := divide(t.data, t.run.Seed)
	m, err := vlm.Train(ctx, parts[0].x, own)
	if errors.Is(err, vlm.ErrCollapsed) && own.TrainingEpsilon > 0 {
		return nil, &shell.Failure{Code: shell.ExitFailure, Err: err, Hint: fmt.Sprintf("--training-epsilon %.3g", 3*own.TrainingEpsilon)}
	}
	if err != nil {
		return nil, err
	}
	noise, err := t.noise(ctx)
	if err != nil {
		return nil, err
	}
	out := &trained{}
	server := vlm.Server{Level: vlm.Level(o.level), Classes: t.data.Target.Classes}
	if t.data.Target.Classes == nil {
		out.measure = "relative " + encoders.MeasureSquared
		out.loss, out.standardError = reconstruction(m, noise, parts[2].x, t.run.Seed)
	} else if server.Classifier, err = o.classify(ctx, t, m, noise, parts, out); err != nil {
		return nil, err
	}
	out.bundle = func() (*bundle.Bundle, error) { return m.Bundle(t.data.Features, noise, server) }
	return out, nil
}

func (o *trainVLMOptions) trainPrivately(ctx context.Context, t *task, own vlm.Options) (*trained, error) {
	parts, err := o.parts()
	if err != nil {
		return nil, err
	}
	own.Central = &vlm.Central{Epsilon: o.centralEpsilon, Delta: o.centralDelta, Parts: parts, Planned: func(steps int, deviation, epsilon float64) {
		if !o.Quiet {
			fmt.Fprintf(o.Err, "plan: %d steps with noise of standard deviation %.6g, together epsilon %s, delta %g for each person of the training set, added or removed\n", steps, deviation, shell.DigitsUp(epsilon), o.centralDelta)
		}
	}}
	if !parts.Decoder {
		// Nobody gets a decoder, so none is trained again.
		own.Central.Parts.Decoder = true
	}
	m, err := vlm.Train(ctx, t.data.X, own)
	if err != nil {
		return nil, err
	}
	noise, err := t.noise(ctx)
	if err != nil {
		return nil, err
	}
	return &trained{
		unmeasured: true,
		rows:       []shell.Row{{"training set", fmt.Sprintf("epsilon %s, delta %g for each of its people, added or removed", shell.DigitsUp(m.CentralEpsilon), m.CentralDelta)}},
		details:    map[string]any{"central_epsilon_upper": m.CentralEpsilon, "central_delta": m.CentralDelta},
		bundle: func() (*bundle.Bundle, error) {
			return m.Bundle(t.data.Features, noise, vlm.Server{Level: vlm.Level(o.level)})
		},
	}, nil
}

type encodedPeople struct {
	x      encoder.Matrix
	labels []int
}

// divide takes seven tenths for the network, and halves of the rest for a classifier and its test.
func divide(d *encoders.Data, seed uint64) (parts [3]encodedPeople) {
	n := d.X.Rows
	order := encoders.Rand(seed, "held out", 0).Perm(n)
	ends := [4]int{0, n * 7 / 10, n * 85 / 100, n}
	for k := range parts {
		some := d.Pick(order[ends[k]:ends[k+1]])
		parts[k] = encodedPeople{some.X, some.Target.Labels}
	}
	return parts
}

// classify trains on noisy encodings and flipped classes, and measures the accuracy on others.
func (o *trainVLMOptions) classify(ctx context.Context, t *task, m *vlm.Model, noise encoder.Noise, parts [3]encodedPeople, out *trained) (*vlm.Classifier, error) {
	train, test := parts[1], parts[2]
	classes := len(t.data.Target.Classes)
	flip := 0.0
	if o.classEpsilon > 0 {
		flip = vlm.FlipProbability(classes, o.classEpsilon)
	}
	z := m.Encode(train.x)
	noise.Release(z.Data, z.Data, encoders.Rand(t.run.Seed, "collected encodings", 0))
	labels := vlm.Flip(train.labels, classes, flip, encoders.Rand(t.run.Seed, "collected classes", 0))
	c, err := vlm.TrainClassifier(ctx, z, labels, vlm.ClassifierOptions{Classes: classes, Flip: flip, Seed: t.run.Seed})
	if err != nil {
		return nil, err
	}
	u := m.Encode(test.x)
	clean := c.Accuracy(u, test.labels)
	noise.Release(u.Data, u.Data, encoders.Rand(t.run.Seed, "tested encodings", 0))
	private := c.Accuracy(u, test.labels)
	n := float64(test.x.Rows)
	out.measure = encoders.MeasureError
	out.loss, out.standardError = 1-private, math.Sqrt(private*(1-private)/n)
	spent := "not flipped"
	if o.classEpsilon > 0 {
		spent = fmt.Sprintf("flipped with epsilon %g, %s", o.classEpsilon, o.inAll())
	}
	counts := make([]int, classes)
	for _, y := range test.labels {
		counts[y]++
	}
	out.rows = []shell.Row{
		{"classes", spent},
		{"accuracy", fmt.Sprintf("%.3f of encodings with noise, %.3f without, %.3f by guessing", private, clean, float64(slices.Max(counts))/n)},
	}
	out.details = map[string]any{"accuracy_private": private, "accuracy_clean": clean, "classifier_people": train.x.Rows, "test_people": test.x.Rows}
	return c, nil
}

func (o *trainVLMOptions) inAll() string {
	if o.noise == string(bundle.None) {
		return "and NO PROMISE in all, for the filter adds no noise"
	}
	sum := exact.Rational(o.promise.Epsilon)
	return fmt.Sprintf("%v in all", exact.FloatUp(sum.Add(sum, exact.Rational(o.classEpsilon))))
}

// reconstruction is the error of features decoded from noisy encodings, in units of their variances.
func reconstruction(m *vlm.Model, noise encoder.Noise, x encoder.Matrix, seed uint64) (loss, standardError float64) {
	z := m.Encode(x)
	noise.Release(z.Data, z.Data, encoders.Rand(seed, "tested encodings", 0))
	back := m.Decode(z)
	n := float64(x.Rows)
	errs := make([]float64, x.Rows)
	for j := range x.Cols {
		mean, variance := 0.0, 0.0
		for i := range x.Rows {
			mean += x.Data[i*x.Cols+j] / n
		}
		for i := range x.Rows {
			d := x.Data[i*x.Cols+j] - mean
			variance += d * d / n
		}
		for i := range x.Rows {
			if d := back.Data[i*x.Cols+j] - x.Data[i*x.Cols+j]; variance > 0 {
				errs[i] += d * d / variance / float64(x.Cols)
			}
		}
	}
	for _, e := range errs {
		loss += e / n
	}
	for _, e := range errs {
		standardError += (e - loss) * (e - loss) / n
	}
	return loss, math.Sqrt(standardError / n)
}
