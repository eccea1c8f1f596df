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
	"github.com/noisewright/noisewright/cmd/internal/encoders/taskaware"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/latent/bundle"
)

type trainTaskAwareOptions struct {
	*trainOptions
	own      taskaware.Options
	approach string
	frozen   []int   // widths of the hidden layers of a task network; nil: none is trained
	schedule float64 // epsilon of the schedule of the paper; 0: not that schedule
	epochs   int
	decay    float64
}

func newTrainTaskAwareCommand(s *shell.Streams) *cobra.Command {
	o := &trainTaskAwareOptions{trainOptions: newTrainOptions(s), own: taskaware.Options{Steps: 400, Restarts: 3}, approach: string(taskaware.Aware), epochs: 2000, decay: 0.001}
	o.decide = &decideOptions{metric: shell.NoiseAuto}
	f := o.flags(&cobra.Command{
		Use:   "task-aware --data FILE --target COLUMN --epsilon E [--delta D] -o BUNDLE",
		Short: "Train an encoder for one task, with its noise in the loop",
		Long: `Train an encoder together with the network that reads its noisy numbers and answers
the task, the target: numbers by least squares, classes by cross entropy. Noise is drawn
afresh at every step, for the body that encodings are clipped to, and so for every
input. A part of the people is held out to choose the step, the restart and, with
several --coordinates or --noise auto, how many numbers to send with what noise: few with
designed noise are often better than many with any.

Where the target is classes, --noise auto tries decisions on the device too: the
class of a classifier by randomized response (category), a level of its score by a
randomizer that is designed for cross entropy (levels), each with logistic regression
and a network, and no answer at all. They are compared on people out of fold, by
--metric. Taken is the simplest of those within a standard error of the best; the
network if it is better by more than two, and numbers if they are, on a fifth of the
people whom they were not trained on. With --noise none logistic regression is
compared with the network likewise.

Of several --target the losses are added, times --target-weights: cross entropies in
nats, and squared errors in variances. The bundle decodes to all of them: numbers, and
for each class "target = class" a score, of which the largest is the answer. Decisions
on the device are about one target, and are not tried.

With --task-network a network for the task is first trained on the data without noise, and
frozen; the server then decodes features for it.

--paper-schedule is Algorithm 1 of the paper as its authors run it, for a frozen task
network: noise drawn once in 15 steps, its scale from how far apart the encodings of the
data are. Other people's may be further apart, so there is NO GUARANTEE; what is written
is a filter, an encoder without noise and without promise.

Source: Cheng, Tang and Chinchali (2022), Task-aware privacy preservation for
multi-dimensional data. A search for patents found US 12417314, on the iterative
training of task-aware encoders. This is no advice on whether it concerns a use.`,
		Example: `  noisewright encoder train task-aware --data train.csv --target diagnosis --epsilon 5 --delta 1e-6 -o bundle
  noisewright encoder train task-aware --data train.csv --target price --epsilon 10 --noise laplace --coordinates 2,3 -o bundle`,
	}, true)
	f.Integer(&o.own.Steps, "steps", "", 1, 1e6, "steps of each restart")
	f.Integer(&o.own.Restarts, "restarts", "", 1, 1000, "restarts, of which the best is kept")
	widths(f, &o.own.Hidden, "hidden", "", "widths of the encoder's hidden layers, sigmoids, separated by commas (default: none, a linear encoder)")
	widths(f, &o.own.Head, "head", "", "widths of the hidden layers of what reads the numbers, ReLUs (default: one, twice as wide as there are features, at most 64)")
	widths(f, &o.frozen, "task-network", "", "train a task network with hidden layers of these widths first, and freeze it")
	o.decide.flags(f)
	f.Word(&o.approach, "approach", "word", "task-aware, or a benchmark: task-agnostic (sends the features, scaled, all of them) or privacy-agnostic (trains the encoder without noise)",
		string(taskaware.Aware), string(taskaware.Agnostic), string(taskaware.PrivacyAgnostic))
	f.OptionalNumber(&o.schedule, "paper-schedule", shell.PositiveEpsilon, "the schedule of the paper, with noise for this epsilon: NO GUARANTEE, a filter; with --noise none")
	f.Integer(&o.epochs, "epochs", "", 1, 1e6, "epochs of --paper-schedule, of 15 steps each")
	f.OptionalNumber(&o.decay, "decay", shell.Rule{Want: "a number from 0 to 10", OK: func(v float64) bool { return v >= 0 && v <= 10 }}, "weight decay of the encoder with --paper-schedule: 0.001")
	f.Check(func() error {
		switch {
		case o.schedule > 0 && o.noise != string(bundle.None):
			return fmt.Errorf("noise = %s with paper-schedule, want none: what the schedule makes is no more than a filter, without a guarantee", o.noise)
		case o.schedule > 0 && len(o.coordinates) > 1:
			return errors.New("coordinates is missing or several counts with paper-schedule, want one, such as 3")
		}
		return nil
	})
	return f.Run(o.run)
}

func (o *trainTaskAwareOptions) run(ctx context.Context) error {
	o.own.Approach = taskaware.Approach(o.approach)
	o.features = o.own.Approach == taskaware.Agnostic && o.schedule == 0
	several := len(o.people.also) > 0
	if several && (o.frozen != nil || o.schedule > 0) {
		return shell.BadInput("", errors.New("several targets with task-network or paper-schedule, want one"))
	}
	if several || o.own.Approach != taskaware.Aware || o.frozen != nil || o.schedule > 0 {
		if err := o.decide.unused(o.noise); err != nil {
			return err
		}
		o.decide = nil
	}
	return o.train(ctx, func(ctx context.Context, t *task) (*trained, error) {
		if o.schedule > 0 {
			return o.paper(ctx, t)
		}
		noise, err := t.noise(ctx)
		if err != nil {
			return nil, err
		}
		own := o.own
		own.Seed = t.run.Seed
		if o.frozen != nil {
			if own.Task, err = taskaware.TrainTask(ctx, t.data, taskaware.TaskOptions{Hidden: o.frozen, Scale: true, Seed: own.Seed}); err != nil {
				return nil, err
			}
		}
		r, err := taskaware.Train(ctx, t.data, t.body(), noise, own, t.run)
		if err != nil {
			return nil, err
		}
		if r, err = r.Refit(ctx, own, t.again()); err != nil {
			return nil, err
		}
		out := &trained{bundle: r.Bundle}
		if len(r.HeldOut.Parts) == 0 {
			out.add(t.data, 0, squaredOr(t.data.Target, encoders.MeasureCrossEntropy), r.HeldOut.Loss, r.HeldOut.StandardError)
			return out, nil
		}
		for k, loss := range r.HeldOut.Parts {
			out.add(t.data, k, squaredOr(t.data.Columns()[k], encoders.MeasureCrossEntropy), loss, 0)
		}
		out.loss, out.standardError = r.HeldOut.Loss, r.HeldOut.StandardError
		return out, nil
	})
}

func (o *trainTaskAwareOptions) paper(ctx context.Context, t *task) (*trained, error) {
	if wide := t.data.X.Cols; o.own.Hidden != nil && !slices.Equal(o.own.Hidden, []int{wide}) {
		return nil, shell.BadInput("", fmt.Errorf("hidden = %v with paper-schedule, want %d: one layer, as wide as there are features", o.own.Hidden, wide))
	}
	network := taskaware.TaskOptions{Hidden: o.frozen, ReLU: true, Steps: 5000, Seed: t.run.Seed}
	if network.Hidden == nil {
		network.Hidden = []int{3 * t.data.X.Cols / 2}
	}
	s := taskaware.Schedule{
		Epsilon: o.schedule, Approach: o.own.Approach, Coordinates: t.choice.Coordinates, Hidden: o.own.Hidden != nil,
		Epochs: o.epochs, Decay: o.decay, Seed: t.run.Seed,
	}
	r, b, heldOut, err := s.Filter(ctx, t.data, network, t.run)
	if err != nil {
		return nil, err
	}
	return &trained{
		measure: squaredOr(t.data.Target, encoders.MeasureCrossEntropy), loss: heldOut.Loss, standardError: heldOut.StandardError,
		rows:    []shell.Row{{"schedule", fmt.Sprintf("trained with Laplace noise of scale %.4g, for the largest l1 distance of encodings in the data, %.4g: NO GUARANTEE; the loss is with this noise, which the filter does not add", r.Scale, r.Sensitivity)}},
		details: shell.Object{"sensitivity", "empirical", "distance", r.Sensitivity, "scale", r.Scale},
		bundle:  func() (*bundle.Bundle, error) { return b, nil },
	}, nil
}

func widths(f *shell.Flags, p *[]int, name, byDefault, usage string) {
	f.Func(name, "widths", byDefault, usage, func(text string) error {
		*p = nil
		for part := range strings.SplitSeq(text, ",") {
			v, ok := shell.ParseCount(part)
			if !ok || v < 1 || v > maxWidth {
				return shell.Want(fmt.Sprintf("integers from 1 to %d, separated by commas", maxWidth))
			}
			*p = append(*p, v)
		}
		if len(*p) > maxLayers {
			return shell.Want(fmt.Sprintf("at most %d layers", maxLayers))
		}
		return nil
	})
}

// The widths of the layers of a network, and how many a bundle takes.
const maxWidth, maxLayers = 1 << 12, 16
