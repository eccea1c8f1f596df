package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/encoder/taskaware"
	"github.com/noisewright/noisewright/internal/cli/shell"
)

func newTrainTaskAwareCommand(s *shell.Streams) *cobra.Command {
	o := newTrainOptions(s)
	options := taskaware.Options{Steps: 600, Restarts: 3}
	f := o.flags(&cobra.Command{
		Use:   "task-aware --data FILE --target COLUMN --epsilon E [--delta D] -o BUNDLE",
		Short: "Train an encoder for one task, with its noise in the loop",
		Long: `Train an encoder together with the network that reads its noisy numbers and answers
the task, the target: numbers by least squares, classes by cross entropy. Noise is drawn
afresh at every step, for the body that encodings are clipped to, and so for every
input. A part of the people is held out to choose the step, the restart and, with
several --coordinates or --noise auto, how many numbers to send with what noise: few with
designed noise are often better than many with any.

Source: Cheng, Tang and Chinchali (2022), Task-aware privacy preservation for
multi-dimensional data. A search for patents found US 12417314, on the iterative
training of task-aware encoders. This is no advice on whether it concerns a use.`,
		Example: `  noisewright encoder train task-aware --data train.csv --target diagnosis --epsilon 5 --delta 1e-6 -o bundle
  noisewright encoder train task-aware --data train.csv --target price --epsilon 10 --noise laplace --coordinates 2,3 -o bundle`,
	}, true)
	f.Integer(&options.Steps, "steps", "", 1, 1e6, "steps of each restart")
	f.Integer(&options.Restarts, "restarts", "", 1, 1000, "restarts, of which the best is kept")
	return f.Run(func(ctx context.Context) error {
		return o.train(ctx, func(ctx context.Context, t *task) (*trained, error) {
			noise, err := t.noise(ctx)
			if err != nil {
				return nil, err
			}
			own := options
			own.Seed = t.run.Seed
			r, err := taskaware.Train(ctx, t.data, t.body(), noise, own, t.run)
			if err != nil {
				return nil, err
			}
			return &trained{loss: r.HeldOut.Loss, standardError: r.HeldOut.StandardError, bundle: r.Bundle}, nil
		})
	})
}
