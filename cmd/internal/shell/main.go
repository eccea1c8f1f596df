package shell

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// Root makes the command of a program, and calls started when a command's work begins.
type Root func(s *Streams, started func()) *cobra.Command

// grace is how long a command has to end in good order after a signal.
const grace = 250 * time.Millisecond

// Main runs a program with the given arguments, without its own name, and
// returns its exit code. It takes over SIGINT, SIGTERM and SIGPIPE.
//
// The first of these signals ends the context of the command, which most of its work
// looks at often. What does not, such as a solver in the middle of a step or a pipe that
// nobody reads, is left alone after the grace, and its output never appears. The second
// signal kills.
func Main(root Root, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ignoreBrokenPipes()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()

	s := NewStreams(ctx, stdin, stdout, stderr)
	code := make(chan int, 1)
	go func() { code <- Run(ctx, root, s, args) }()
	select {
	case c := <-code:
		return c
	case <-ctx.Done():
	}
	select {
	case c := <-code:
		return c
	case <-time.After(grace):
		return s.abandon()
	}
}

// Run runs a program in this process and returns its exit code.
func Run(ctx context.Context, root Root, s *Streams, args []string) int {
	// An error before a command's own code runs is cobra's, about the command line.
	started := false
	r := root(s, func() { started = true })
	r.SetArgs(args)
	r.SetIn(s.In)
	r.SetOut(s.Out)
	r.SetErr(s.Err)
	cmd, err := r.ExecuteContextC(ctx)
	if err != nil && !started {
		err = usageError(err, cmd)
	}
	if ctx.Err() != nil && err != nil {
		err = interrupted()
	}
	return s.report(err)
}
