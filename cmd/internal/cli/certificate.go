// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/cmd/internal/theorem"
	"github.com/noisewright/noisewright/tables"
)

type certificateOptions struct {
	shell.Common
	table string
	coq   bool
}

func newCertificateCommand(s *shell.Streams) *cobra.Command {
	o := &certificateOptions{Common: shell.Common{Streams: s}}
	f := shell.NewFlags(&cobra.Command{
		Use:   "certificate --coq TABLE [-o FILE]",
		Short: "Write the claims of a file as theorems for a proof assistant",
		Long: `Write a file of Coq that contains the bytes of a table, local randomizer, kernel or
subset selection and states its claims as theorems: that it is a law, that it is private
as promised, that its expected loss or variance is at most what it claims, and of a
table that no private noise loses less than its bound.
"coqc -Q proofs Noisewright FILE" proves them, in seconds, or fails; proofs is the
folder of that name in the sources of noisewright, after "make proofs" there.

Who lets coqc check the file need not trust noisewright, its solver or its verify,
but the kernel of Coq and the definitions that the file names. This command checks
nothing but the format of the file. What no theorem is about is named at the end of
the file as not machine-checked; proofs/README.md has a list.`,
		Example: `  noisewright certificate --coq table.json -o table.v
  coqc -Q proofs Noisewright table.v`,
	})
	f.TableArgument(&o.table, "TABLE", 0, 0)
	f.Require(&o.table, "TABLE", "a table file")
	f.Bool(&o.coq, "coq", "write theorems for Coq, the one proof assistant that there is a proof for")
	f.Check(func() error {
		if !o.coq {
			return shell.BadInput("", errors.New("coq is missing, want --coq"))
		}
		return nil
	})
	f.Output(&o.Common, "file to write, - for standard output (default -)", "v")
	return f.Run(o.run)
}

func (o *certificateOptions) run(context.Context) error {
	in, err := o.Open(o.table)
	if err != nil {
		return err
	}
	defer in.Close()
	file, err := io.ReadAll(io.LimitReader(in, (*tables.Table)(nil).Form().File.MaxSize+1))
	if err != nil {
		return err
	}
	return o.WriteFile(o.Output, func(w io.Writer) error {
		if err := theorem.Write(w, shell.InputName(o.table), file); err != nil {
			return shell.BadFile(o.table, err)
		}
		return nil
	}, o.table)
}
