package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/shell"
)

func newEncoderCommand(s *shell.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "encoder COMMAND",
		Short: "Train private encoders of feature vectors",
		Long: `Train encoders that need not be linear, with the noise in the loop, and ship them as
latent designs are: a bundle that encodes on the device, clips, adds noise of a proven
table or answers by a proven randomizer, and decodes or classifies on the server.

The privacy of a trained encoder never depends on its training: its output is clipped
to a body at every call, and the noise is for the body. Without noise an encoder is a
filter, and the privacy of a filter is privacy against the attackers that were tried,
and no more: evaluate --attack tries some that it was not trained against. Only added
noise is a guarantee.`,
		Example: `  noisewright encoder train task-aware --data train.csv --target diagnosis --epsilon 5 --delta 1e-6 -o bundle
  noisewright encoder privatize --bundle bundle in.csv -o private.csv
  noisewright encoder decode --bundle bundle private.csv -o decoded.csv
  noisewright encoder evaluate --bundle bundle --data test.csv --target diagnosis`,
	}
	return shell.Group(cmd, "command",
		newEncoderTrainCommand(s),
		ofEncoders(newLatentVerifyCommand(s)),
		ofEncoders(newLatentPrivatizeCommand(s)),
		ofEncoders(newLatentDecodeCommand(s)),
		newEncoderEvaluateCommand(s),
	)
}

func newEncoderTrainCommand(s *shell.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "train SYSTEM",
		Short: "Train an encoder",
		Long: `Train an encoder by one of the published systems, and write its bundle.

The training data is not protected: only people encoded later are. Networks, means and
clipping radii are learned from it and published in the bundle.`,
		Example: "  noisewright encoder train task-aware --data train.csv --target diagnosis --epsilon 5 --delta 1e-6 -o bundle",
	}
	return shell.Group(cmd, "system",
		newTrainTaskAwareCommand(s),
		newTrainVLMCommand(s),
		newTrainMinimaxCommand(s),
	)
}

// ofEncoders returns a command of bundles as one of the group encoder.
func ofEncoders(cmd *cobra.Command) *cobra.Command {
	for _, text := range []*string{&cmd.Long, &cmd.Example} {
		*text = strings.NewReplacer("noisewright latent ", "noisewright encoder ", "latent\nprivatize", "encoder\nprivatize", "latent privatize", "encoder privatize").Replace(*text)
	}
	return cmd
}
