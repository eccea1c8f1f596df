package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// app is what the commands of one run share.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	// started is set once a command's own code runs; an error before that is
	// cobra's, about the command line.
	started bool
}

// Main runs the program with the given arguments, without its own name, and
// returns its exit code. It takes over SIGINT, SIGTERM and SIGPIPE.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// A closed pipe is then an error of the write, after which temporary files
	// are removed, and not the end of the process.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks the command to stop, the second one kills.
	defer context.AfterFunc(ctx, stop)()

	a := &app{stdin: cancellable(ctx, stdin), stdout: standardOutput{stdout}, stderr: stderr}
	return a.run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) int {
	root := newRootCommand(a)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !a.started {
		err = usageError(err, cmd)
	}
	if ctx.Err() != nil && err != nil {
		err = interrupted()
	}
	return a.report(err)
}

func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "noisewright",
		Short: "Design, prove and draw optimal noise for differential privacy",
		Long: `noisewright designs the additive noise of least expected loss that makes a
number (epsilon, delta)-differentially private, proves how good it is in exact
arithmetic, and draws from it.

Exit codes:
  0    done
  1    failure
  2    bad usage or input
  3    negative verdict: a table does not keep what it claims
  4    stopped at a limit, with a proven and usable result
  130  interrupted`,
		Example: `  noisewright design --epsilon 1 --delta 1e-6 --sensitivity 1 --loss l1 -o table.json
  noisewright verify table.json
  noisewright privatize --table table.json --column age --lower 0 --upper 1 in.csv -o out.csv`,
		Version:       readVersion().String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRun: func(*cobra.Command, []string) {
			a.started = true
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return badInput(cmd.CommandPath()+" --help", errors.New("no command given, want one such as design, verify or privatize"))
		},
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(
		newDesignCommand(a),
		newDesignKernelCommand(a),
		newVerifyCommand(a),
		newCompareCommand(a),
		newAccountCommand(a),
		newCalibrateCommand(a),
		newLatentCommand(a),
		newSampleCommand(a),
		newPrivatizeCommand(a),
		newPlotCommand(a),
		newExportCommand(a),
		newReproduceCommand(a),
		newVersionCommand(a),
	)
	root.SetHelpCommand(newHelpCommand(root))
	return root
}

// newHelpCommand replaces cobra's own, for which an unknown topic is a success.
func newHelpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [command]",
		Short:   "Describe a command",
		Example: "  noisewright help design",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return badInput("noisewright --help", fmt.Errorf("unknown command %q", strings.Join(args, " ")))
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// oneArgument accepts exactly one argument, called what in messages.
func oneArgument(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return fmt.Errorf("%s is missing", what)
		case len(args) > 1:
			return fmt.Errorf("%d arguments, want only %s: %q is one too many", len(args), what, args[1])
		}
		return nil
	}
}

// noArguments refuses arguments.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q", args[0])
	}
	return nil
}

// warn prints a warning to standard error.
func (a *app) warn(format string, args ...any) {
	a.say("warning", fmt.Sprintf(format, args...))
}

// terminal reports whether standard error is a terminal.
func (a *app) terminal() bool {
	f, ok := a.stderr.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// cancellable returns a reader whose Read returns once ctx ends, even while the
// one below waits for a terminal or a pipe.
func cancellable(ctx context.Context, r io.Reader) io.Reader {
	return &cancelReader{ctx: ctx, r: r}
}

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
