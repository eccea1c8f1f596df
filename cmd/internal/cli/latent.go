package cli

import (
	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/csvfile"
)

func newLatentCommand(s *shell.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "latent COMMAND",
		Short: "Privatize feature vectors for a task",
		Long: `Design, prove and use private encoders of feature vectors: which directions to
send, with how much noise of which shape on each, and how to decode them, so that
a task that reads the vectors has the smallest expected loss. Each person's release
is private by itself (local differential privacy), for every input.

The design is a bundle, a directory that the devices and the server share.`,
		Example: `  noisewright latent design --data train.csv --task task.csv --epsilon 5 --delta 1e-5 --domain box --clip 0.99 -o bundle
  noisewright latent privatize --bundle bundle in.csv -o private.csv
  noisewright latent decode --bundle bundle private.csv -o decoded.csv
  noisewright latent evaluate --bundle bundle --data test.csv`,
	}
	return shell.Group(cmd, "command",
		newLatentDesignCommand(s),
		newLatentVerifyCommand(s),
		newLatentPrivatizeCommand(s),
		newLatentDecodeCommand(s),
		newLatentEvaluateCommand(s),
	)
}

// matrix is a frame as a matrix, a row for each of its own.
func matrix(f *csvfile.Frame) *mat.Dense { return mat.NewDense(f.Rows, len(f.Names), f.Data) }

// The files of vectors are CSV, perhaps compressed.
var vectorFiles = []string{"csv", "gz", "zst"}
