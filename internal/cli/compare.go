package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/noise"
)

// comparison is what compare --json prints.
type comparison struct {
	Schema     int         `json:"schema"`
	LowerBound *float64    `json:"lower_bound"`
	Mechanisms []contender `json:"mechanisms"`
}

// integersOnly is the mechanism for integer queries. The bound is about
// real-valued ones, which are harder, so it may be below; its note says so.
const integersOnly = "discrete-laplace"

// contender is one mechanism of a comparison.
type contender struct {
	Name          string   `json:"name"`
	Loss          *float64 `json:"loss,omitempty"`
	ErrorBound    *float64 `json:"error_bound,omitempty"`
	Suboptimality *float64 `json:"suboptimality,omitempty"`
	Note          string   `json:"note"`
}

func newCompareCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "compare --epsilon E --delta D --sensitivity S --loss l1|l2",
		Short: "Compare the designed noise with the classical mechanisms",
		Long: `Design noise, and print its expected loss and that of the classical mechanisms,
each with its suboptimality: how far it is above the certified lower bound on
every additive noise for a real-valued query, loss/bound - 1.

The designed loss is exact, rounded up, and the bound is rounded down. Losses of
the others are floating-point values of closed forms or quadratures; with --json
"error_bound" bounds their absolute error. A mechanism that does not apply has a
note that says why, and no loss. The discrete Laplace mechanism is for integer
queries, for which the bound does not hold: it may be below.

Where nothing can be designed (delta = 0, or a build without the LP solver) there
is no designed loss and no bound, "lower_bound" is null, and the rest is printed.
If a limit stops the design, the exit code is 4.`,
		Example: `  noisewright compare --epsilon 1 --delta 1e-6 --sensitivity 1 --loss l1
  noisewright compare --epsilon 0.1 --delta 0.01 --sensitivity 2 --loss l2 --json`,
		Args: noArguments,
	}
	problemFlags := newProblemFlags(cmd, true)
	effort := newEffortFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object instead of the table")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var f fields
		p := problemFlags.read(&f)
		o := effort.read(&f)
		if err := f.err(cmd); err != nil {
			return err
		}
		line := a.newProgress()
		defer line.clear()
		o.Progress = line.show

		c := comparison{Schema: schema}
		var limit error
		designed := contender{Name: "designed"}
		if p.Delta == 0 {
			designed.Note = "delta = 0 (pure differential privacy) is not supported yet"
		} else {
			var r *lp.Result
			var err error
			r, limit, err = design(cmd.Context(), p, o)
			switch {
			case errors.Is(err, highs.ErrUnavailable):
				designed.Note = sentence(err)
			case err != nil:
				return err
			default:
				c.LowerBound = floatDown(r.Certificate.LowerBound)
				designed.Loss = floatUp(r.Certificate.ExpectedLoss)
				designed.ErrorBound = new(float64)
				designed.Note = fmt.Sprintf("certified, %d cells", r.Table.Cells())
			}
		}
		c.Mechanisms = append(c.Mechanisms, designed)
		for _, b := range noise.Baselines() {
			c.Mechanisms = append(c.Mechanisms, newContender(b, p))
		}
		c.judge()
		line.clear()
		var err error
		if asJSON {
			err = printJSON(a.stdout, c)
		} else {
			err = c.print(a.stdout, p)
		}
		if err != nil {
			return err
		}
		return limit
	}
	return cmd
}

// newContender evaluates a baseline.
func newContender(b noise.Baseline, p problem) contender {
	out := contender{Name: b.Name}
	m, err := b.New(p.Parameters, p.loss)
	if err != nil {
		var n *noise.NotApplicableError
		if errors.As(err, &n) {
			out.Note = "does not apply: " + n.Reason
		} else {
			out.Note = sentence(err)
		}
		return out
	}
	out.Note = m.Note()
	if b.Name == integersOnly {
		out.Note += "; the bound is about real values and does not hold for it"
	}
	loss, errorBound, err := m.ExpectedLoss(p.loss)
	if err != nil {
		out.Note = sentence(err)
		return out
	}
	out.Loss, out.ErrorBound = finite(loss), finite(errorBound)
	return out
}

// judge fills in the suboptimalities.
func (c *comparison) judge() {
	if c.LowerBound == nil || *c.LowerBound <= 0 {
		return
	}
	for i := range c.Mechanisms {
		m := &c.Mechanisms[i]
		if m.Loss != nil {
			m.Suboptimality = finite(*m.Loss/(*c.LowerBound) - 1)
		}
	}
}

// print prints the comparison as a table.
func (c *comparison) print(w io.Writer, p problem) error {
	var b strings.Builder
	fmt.Fprintf(&b, "epsilon %v, delta %v, sensitivity %v, loss %s\n", p.Epsilon, p.Delta, p.Sensitivity, lossUnit(p.loss.Name()))
	if c.LowerBound != nil {
		fmt.Fprintf(&b, "certified lower bound on every additive noise: %.7g\n", *c.LowerBound)
	} else {
		b.WriteString("certified lower bound on every additive noise: none\n")
	}
	cells := [][3]string{{"mechanism", "loss", "above bound"}}
	for _, m := range c.Mechanisms {
		line := [3]string{m.Name, "-", "-"}
		if m.Loss != nil {
			line[1] = fmt.Sprintf("%.7g", *m.Loss)
		}
		if m.Suboptimality != nil {
			line[2] = percent(*m.Suboptimality)
		}
		cells = append(cells, line)
	}
	var width [3]int
	for _, line := range cells {
		for i, s := range line {
			width[i] = max(width[i], len(s))
		}
	}
	b.WriteByte('\n')
	for i, line := range cells {
		note := "note"
		if i > 0 {
			note = c.Mechanisms[i-1].Note
		}
		fmt.Fprintf(&b, "%-*s  %*s  %*s  %s\n", width[0], line[0], width[1], line[1], width[2], line[2], note)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
