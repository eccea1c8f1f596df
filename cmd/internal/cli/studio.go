// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/cmd/internal/studio"
	"github.com/noisewright/noisewright/lp"
)

func newStudioCommand(s *shell.Streams) *cobra.Command {
	f := shell.NewFlags(&cobra.Command{
		Use:   "studio",
		Short: "Choose epsilon, delta and noise in a page of the browser",
		Long: `Serve a page on this machine, and print its address: drag epsilon, delta and the
sensitivity and see what each choice costs. The page shows the density of the designed
noise, intervals of its error, its error against epsilon beside all mechanisms and the
certified bound, its privacy profile and what several releases cost; noise that
depends on the value and local randomizers; the epsilon for an error that you accept.
A file that is dropped on the page is verified and shown. Every result comes with the
command that makes it again.

A second page plans many counts together. A third one releases a statistic of a CSV file
that is dropped on it, which stays in the memory of this program, and charges it to a
ledger in the folder where the studio was started.

The server answers on 127.0.0.1 alone, and only who has the address,
which holds a new secret for each start. Nothing is sent anywhere. Ctrl-C ends it.`,
		Example: `  noisewright studio
  noisewright studio --port 8080`,
	})
	port := 0
	f.OptionalInteger(&port, "port", 1, 65535, "port to answer on (default a free one)")
	return f.Run(func(ctx context.Context) error {
		server, err := studio.New(runInside, port)
		if errors.Is(err, syscall.EADDRINUSE) {
			return shell.BadInput("", fmt.Errorf("port = %d is in use, want another one", port))
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(s.Out, server.Address()); err != nil {
			_ = server.Close()
			return err
		}
		s.Say("studio", "open this address in a browser on this machine; Ctrl-C ends it")
		return server.Serve(ctx)
	})
}

func runInside(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, watch func(lp.Progress)) int {
	s := shell.NewStreams(ctx, stdin, stdout, stderr)
	s.Watch = watch
	return shell.Run(ctx, newRootCommand, s, args)
}
