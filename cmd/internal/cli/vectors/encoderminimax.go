// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/attack"
	"github.com/noisewright/noisewright/cmd/internal/encoders/minimax"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/latent/bundle"
)

type trainMinimaxOptions struct {
	*trainOptions
	filter           minimax.Options
	method           string
	mask             string // CSV file
	clip             float64
	private, targets []string // columns
	singleOut        bool
	reconstruct      bool

	trained map[int]*minimaxTraining // by the number of coordinates; noise needs no new one
}

type minimaxTraining struct {
	result      *minimax.Result
	train, test minimax.Data
}

func newTrainMinimaxCommand(s *shell.Streams) *cobra.Command {
	o := &trainMinimaxOptions{
		trainOptions: newTrainOptions(s), method: string(minimax.Minimax), clip: 0.5, trained: map[int]*minimaxTraining{},
		filter: minimax.Options{Standardize: true, Rho: 10, Steps: 60, Starts: 3},
	}
	f := o.flags(&cobra.Command{
		Use:   "minimax --data FILE --target COLUMN --private COLUMN {--epsilon E [--delta D] | --noise none} -o BUNDLE",
		Short: "Train a filter that lets a target through and hides private columns",
		Long: `Train a filter: an encoding from which the target can be told, and the private columns
cannot. Classifiers of the target and of the private columns are fitted to the filter
again and again, and the filter moves to where the first does well and the others
do not.

THE PRIVACY OF A FILTER IS PRIVACY AGAINST THE ATTACKER OF ITS TRAINING, which is linear,
and on people like those in the data: others find more. So attackers that it was not
trained against are tried on people held out, and shown. Only noise is a guarantee: with
--epsilon the filter's numbers are clipped, --clip of the training data as they are, and
get noise of which the bundle proves the promise, whatever the filter is. With few
numbers, --coordinates 1 or 2, designed noise leaves most of the target.

--filter has other filters to compare with: the closed form for least squares, a
discriminant subspace (lds), private partial least squares (ppls), principal components
(pca), a random subspace, and a mask, a factor for each feature.

Source: Hamm (2017), Minimax Filter: Learning to Preserve Privacy from Inference Attacks,
JMLR 18.`,
		Example: `  noisewright encoder train minimax --data train.csv --target smiling --private gender --noise none --coordinates 20 -o filter
  noisewright encoder train minimax --data train.csv --target smiling --private gender --epsilon 5 --delta 1e-6 --coordinates 1,2 -o bundle`,
	}, true)
	f.TextList(&o.private, "private", "column", "column of what is to be hidden: numbers, or classes; repeat it for several")
	f.TextList(&o.targets, "also-target", "column", "another --target")
	o.filterFlags(f)
	f.Check(o.check)
	return f.Run(func(ctx context.Context) error { return o.train(ctx, o.once) })
}

func (o *trainMinimaxOptions) filterFlags(f *shell.Flags) {
	methods := make([]string, len(minimax.Methods))
	for i, m := range minimax.Methods {
		methods[i] = string(m)
	}
	f.Word(&o.method, "filter", "word", "how the filter is found: "+strings.Join(methods, ", "), methods...)
	f.File(&o.mask, "mask", "for --filter mask, with as many --coordinates as features: CSV file of a column theta, a factor for each", "csv", "gz")
	widths(f, &o.filter.Hidden, "hidden", "", "widths of layers of sigmoids before the output, separated by commas; without it the filter is linear")
	f.Bool(&o.filter.Standardize, "standardize", "give features the mean 0 and the variance 1 before the filter, which has that in it")
	f.OptionalNumber(&o.filter.Rho, "rho", shell.Rule{Want: "a number above 0, at most 1e6", OK: func(v float64) bool { return v > 0 && v <= 1e6 }},
		"what losses of the targets count against those of the private columns: 10")
	f.Integer(&o.filter.Steps, "steps", "", 1, 1e5, "steps of each start")
	f.Integer(&o.filter.Starts, "starts", "", 1, 1000, "starts, of which the best is kept")
	f.OptionalNumber(&o.clip, "clip", shell.AtMost("a number", 1),
		"share of the training data that clipping leaves as it is, of each number in a box: 0.5")
	f.Bool(&o.singleOut, "single-out", "hide each class of the private columns from an attacker of its own: whether a person is a given one")
	f.Bool(&o.reconstruct, "reconstruct", "the features are a target too")
}

func (o *trainMinimaxOptions) check() error {
	o.filter.Method = minimax.Method(o.method)
	if o.noise == string(bundle.None) && !o.cmd.Flags().Changed("clip") {
		o.clip = 1
	}
	o.people.private, o.people.also = o.private, append(o.people.also, o.targets...)
	hides := !slices.Contains([]minimax.Method{minimax.PCA, minimax.Random, minimax.Masked}, o.filter.Method)
	return errors.Join(
		shell.Refuse(o.file != "", "noise = %s, want a word: the body of a filter follows from the data, and so does its noise", o.file),
		shell.Refuse(o.cmd.Flags().Changed("radius"), "radius is given, want --clip: the body follows from the data"),
		shell.Refuse(len(o.private) == 0 && hides, "private is missing, want the column of what is to be hidden"),
		shell.Refuse((o.mask != "") != (o.filter.Method == minimax.Masked), "mask and filter = mask belong together, want both or none"),
	)
}

func (o *trainMinimaxOptions) once(ctx context.Context, t *task) (*trained, error) {
	m, err := o.training(ctx, t)
	if err != nil {
		return nil, err
	}
	noise := minimax.NoiseOptions{Kind: t.choice.Noise, Promise: t.promise, Domain: t.choice.Domain, Clip: o.clip, Design: t.design}
	n, err := m.result.AddNoise(ctx, noise)
	if err != nil {
		return nil, err
	}
	u := n.Release(m.train.X, encoders.Rand(t.run.Seed, "learned from", 0))
	v := n.Release(m.test.X, encoders.Rand(t.run.Seed, "held out", 1))
	out := &trained{}
	for k := range t.data.Columns() {
		train, test := &m.train.Targets[k], &m.test.Targets[k]
		score, err := attack.Guess(ctx, attack.Linear, attack.People{X: u, Target: train.Target()}, attack.People{X: v, Target: test.Target()}, t.run.Seed)
		if err != nil {
			return nil, err
		}
		loss, measure := score.Value, "relative "+encoders.MeasureSquared
		if train.Labels != nil {
			loss, measure = 1-score.Value, encoders.MeasureError
		}
		out.add(t.data, k, measure, loss, score.StandardError)
	}
	// Only what is written is attacked: attackers take longer than noise.
	out.bundle = func() (*bundle.Bundle, error) {
		if err := o.attack(ctx, out, m, u, v, t.run.Seed); err != nil {
			return nil, err
		}
		return n.Bundle()
	}
	return out, nil
}

// training trains the filter for the coordinates of a choice on four fifths of the people.
func (o *trainMinimaxOptions) training(ctx context.Context, t *task) (*minimaxTraining, error) {
	z := t.choice.Coordinates
	if m := o.trained[z]; m != nil {
		return m, nil
	}
	order := encoders.Rand(t.run.Seed, "held out", 0).Perm(t.data.X.Rows)
	held := len(order) / 5
	m := &minimaxTraining{}
	for _, part := range []struct {
		data *minimax.Data
		rows []int
	}{{&m.train, order[held:]}, {&m.test, order[:held]}} {
		*part.data = o.tasks(t.data.Pick(part.rows))
	}
	own := o.filter
	own.Run, own.Coordinates = t.run, z
	if o.mask != "" {
		frame, err := o.ReadNamed(o.mask, csvfile.Options{}, []string{"theta"})
		if err != nil {
			return nil, err
		}
		own.Mask = frame.Data
	}
	var err error
	if m.result, err = minimax.Train(ctx, m.train, own); err != nil {
		return nil, err
	}
	o.trained[z] = m
	return m, nil
}

func (o *trainMinimaxOptions) tasks(d *encoders.Data) minimax.Data {
	out := minimax.Data{Features: d.Features, X: d.X}
	for k, c := range d.Columns() {
		out.Targets = append(out.Targets, minimax.Task{Column: c, Weight: d.Weight(k)})
	}
	for _, c := range d.Private {
		t := minimax.Task{Column: c}
		switch {
		case o.singleOut && t.Labels != nil:
			out.Private = append(out.Private, minimax.SingleOut(t)...)
		default:
			out.Private = append(out.Private, t)
		}
	}
	if o.reconstruct {
		out.Targets = append(out.Targets, minimax.Reconstruction(d.X))
	}
	return out
}

func (o *trainMinimaxOptions) attack(ctx context.Context, out *trained, m *minimaxTraining, train, test encoder.Matrix, seed uint64) error {
	var all []shell.Object
	for i, t := range m.train.Private {
		for _, a := range []attack.Attacker{attack.Linear, attack.RBF} {
			s, err := attack.Guess(ctx, a, attack.People{X: train, Target: t.Target()}, attack.People{X: test, Target: m.test.Private[i].Target()}, seed)
			if err != nil {
				return err
			}
			classes := t.Labels != nil // an accuracy, else a relative squared error
			all = append(all, shell.Object{"private", t.Name, "attacker", a, "value", s.Value, "standard_error", s.StandardError, "chance", s.Chance, "classes", classes})
			text := fmt.Sprintf("%.3f ± %.2g of the people held out guessed right, %.3g by chance", s.Value, s.StandardError, s.Chance)
			if !classes {
				text = fmt.Sprintf("squared error %.3f ± %.2g of that of the mean", s.Value, s.StandardError)
			}
			out.rows = append(out.rows, shell.Row{fmt.Sprintf("%s guesses %s", a, t.Name), text})
		}
	}
	out.details = shell.Object{"attacks", all}
	return nil
}
