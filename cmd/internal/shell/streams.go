// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/proof/forms"
)

// Streams are the standard streams of one run of the program.
type Streams struct {
	In  io.Reader
	Out io.Writer // for results
	Err io.Writer // for all else
	// Terminal says that Err is a terminal that shows a line of progress.
	Terminal bool
	// Screen says that Out is a terminal.
	Screen bool

	// Force says that outputs replace the files that are there.
	Force bool
	// Forms are those of mechanisms whose files are read, beside the ones of package forms.
	Forms []forms.Reader
	// Watch, if set, is told how far designs have come, whether there is a line or not.
	Watch func(lp.Progress)

	line atomic.Pointer[Progress] // nil: none so far
	read bool                     // In is a file that a command reads

	mu        sync.Mutex  // for outputs
	outputs   []*Output   // that may have to be removed
	ended     atomic.Bool // the command is reported, or was abandoned
	abandoned atomic.Bool
}

// NewStreams makes reads end with ctx, and errors of the standard output known as such.
func NewStreams(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) *Streams {
	a := &Streams{In: &cancelReader{ctx: ctx, r: stdin}, Err: stderr, Terminal: isTerminal(stderr), Screen: isScreen(stdout)}
	a.Out = &standardOutput{Writer: stdout, abandoned: &a.abandoned}
	return a
}

// abandon ends a command that does not end by itself, while it is still at work: its
// outputs are removed, none appears any more, and nothing that it prints does. It says
// that the command was interrupted and returns the exit code.
func (a *Streams) abandon() int {
	a.abandoned.Store(true)
	done := make(chan struct{})
	go func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, o := range a.outputs {
			o.Discard()
		}
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(patienceWithOutputs): // one waits for who reads standard output
	}
	a.line.Load().Clear()
	fmt.Fprintf(a.Err, "error: %s\n", interrupted())
	return exitInterrupted
}

// patienceWithOutputs is how long abandon takes to remove outputs.
const patienceWithOutputs = 100 * time.Millisecond

// Warn prints a warning to standard error.
func (a *Streams) Warn(format string, args ...any) {
	a.Say("warning", fmt.Sprintf(format, args...))
}

// cancelReader ends a Read with ctx, even one that waits for a terminal or a pipe.
type cancelReader struct {
	ctx  context.Context
	r    io.Reader
	done chan int // of the Read below that is under way
	buf  []byte
	left []byte // read and not yet returned
	err  error
}

// Read implements io.Reader. The Read below fills a buffer of its own, because
// it may still be under way when the caller's is gone.
func (c *cancelReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	if len(c.left) == 0 && c.err == nil {
		if c.done == nil {
			c.done = make(chan int, 1)
			c.buf = make([]byte, 64<<10)
		}
		go func() {
			n, err := c.r.Read(c.buf)
			c.err = err
			c.done <- n
		}()
		select {
		case n := <-c.done:
			c.left = c.buf[:n]
		case <-c.ctx.Done():
			return 0, c.ctx.Err()
		}
	}
	if len(c.left) > 0 {
		n := copy(p, c.left)
		c.left = c.left[n:]
		return n, nil
	}
	return 0, c.err
}

// Root makes the command of a program, and calls started when a command's work begins.
type Root func(s *Streams, started func()) *cobra.Command

// grace is how long a command has to end in good order after a signal.
const grace = 250 * time.Millisecond

// Main runs a program with the given arguments, without its own name, and
// returns its exit code. It takes over SIGINT, SIGTERM and SIGPIPE.
//
// The first of these signals ends the context of the command, which most of its work looks at
// often. What does not, such as a solver in the middle of a step or a pipe that nobody reads, is
// left alone after the grace, and its output never appears. The second signal kills.
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
		if s.ended.CompareAndSwap(false, true) {
			return s.abandon()
		}
		return <-code // it is just being reported
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
