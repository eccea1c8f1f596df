package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/tables"
)

// text is a flag kept as written, so that all bad flags of a command can be
// reported together. pflag stops at the first one it cannot parse.
type text struct {
	value string
	set   bool
	kind  string // as shown in the help
}

// Set implements pflag.Value.
func (t *text) Set(s string) error {
	t.value, t.set = s, true
	return nil
}

func (t *text) String() string { return t.value }

// Type implements pflag.Value.
func (t *text) Type() string { return t.kind }

// newText adds a flag to a command. An empty default means none.
func newText(cmd *cobra.Command, name, kind, value, usage string) *text {
	t := &text{value: value, kind: kind}
	cmd.Flags().Var(t, name, usage)
	return t
}

// fields reads flags and collects what is wrong with them.
type fields struct{ errs []error }

// err returns everything wrong so far as one error of bad usage.
func (f *fields) err(cmd *cobra.Command) error {
	if len(f.errs) == 0 {
		return nil
	}
	return badInput(cmd.CommandPath()+" --help", errors.Join(f.errs...))
}

func (f *fields) add(format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf(format, args...))
}

// bad reports a flag that breaks its rule.
func (f *fields) bad(name string, t *text, want string) {
	if t.value == "" {
		f.add("%s is missing, want %s", name, want)
	} else {
		f.add("%s = %s, want %s", name, shown(t.value), want)
	}
}

// shown quotes a value of a message where it needs it.
func shown(s string) string {
	if quoted := strconv.Quote(s); strings.ContainsRune(s, ' ') || quoted != `"`+s+`"` {
		return quoted
	}
	return s
}

// number reads a finite number.
func (f *fields) number(name string, t *text, want string, ok func(float64) bool) float64 {
	v, err := strconv.ParseFloat(t.value, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || !ok(v) {
		f.bad(name, t, want)
		return math.NaN()
	}
	return v
}

// integer reads an integer from lo to hi.
func (f *fields) integer(name string, t *text, want string, lo, hi int64) int64 {
	v, err := strconv.ParseInt(t.value, 10, 64)
	if err != nil || v < lo || v > hi {
		f.bad(name, t, want)
	}
	return v
}

// duration reads a positive time such as 60s or 1m30s.
func (f *fields) duration(name string, t *text) time.Duration {
	v, err := time.ParseDuration(t.value)
	if err != nil || v <= 0 {
		f.bad(name, t, "a time above 0 with its unit, such as 60s or 5m")
	}
	return v
}

// choice reads one of a few words.
func (f *fields) choice(name string, t *text, words ...string) string {
	for _, w := range words {
		if t.value == w {
			return w
		}
	}
	f.bad(name, t, strings.Join(words, " or "))
	return ""
}

// required reports a missing text.
func (f *fields) required(name, value, want string) {
	if value == "" {
		f.add("%s is missing, want %s", name, want)
	}
}

// problemFlags state a design problem.
type problemFlags struct {
	epsilon, delta, sensitivity *text
	loss                        *texts
	constraints                 *constraintFlags
	pure                        bool // delta may be 0
}

func newProblemFlags(cmd *cobra.Command, pure bool) *problemFlags {
	wantDelta := wantDelta
	if pure {
		wantDelta = "0, or " + wantDelta
	}
	p := newKernelProblemFlags(cmd, wantDelta)
	p.pure, p.constraints = pure, newConstraintFlags(cmd)
	return p
}

// newKernelProblemFlags are those of a problem without constraints.
func newKernelProblemFlags(cmd *cobra.Command, wantDelta string) *problemFlags {
	return &problemFlags{
		epsilon:     newText(cmd, "epsilon", "number", "", "privacy parameter epsilon, without unit: "+wantEpsilon),
		delta:       newText(cmd, "delta", "number", "", "privacy parameter delta, a probability: "+wantDelta),
		sensitivity: newText(cmd, "sensitivity", "number", "", "how far neighbouring values of the query may differ, in its units: "+wantSensitivity),
		loss:        newLossFlag(cmd),
	}
}

// The problems `design` takes.
var (
	wantEpsilon     = fmt.Sprintf("0, or a number from %g to %g", lp.MinEpsilon, float64(lp.MaxEpsilon))
	wantDelta       = fmt.Sprintf("a number from %g to %g", lp.MinDelta, lp.MaxDelta)
	wantSensitivity = fmt.Sprintf("a number from %g to %g", lp.MinSensitivity, lp.MaxSensitivity)
)

// read reads the flags. With a trade-off, which names losses itself, there is no
// loss.
func (p *problemFlags) read(f *fields, trading bool) dp.Problem {
	out := dp.Problem{Query: dp.RealQuery}
	out.Epsilon = f.number("epsilon", p.epsilon, wantEpsilon, func(v float64) bool {
		return v == 0 || v >= lp.MinEpsilon && v <= lp.MaxEpsilon
	})
	delta := func(v float64) bool { return v >= lp.MinDelta && v <= lp.MaxDelta }
	switch v, err := strconv.ParseFloat(p.delta.value, 64); {
	case err == nil && v == 0 && p.pure:
		out.Delta = 0
	case p.pure:
		out.Delta = f.number("delta", p.delta, "0, or "+wantDelta, delta)
	default:
		out.Delta = f.number("delta", p.delta, wantDelta, delta)
	}
	out.Sensitivity = f.number("sensitivity", p.sensitivity, wantSensitivity+", in the query's units", func(v float64) bool {
		return v >= lp.MinSensitivity && v <= lp.MaxSensitivity
	})
	switch {
	case !trading:
		out.Loss = f.losses("loss", p.loss.values)
	case len(p.loss.values) > 0:
		f.add("loss = %s and trade, want only one of them", shown(p.loss.values[0]))
	}
	if p.constraints != nil {
		p.constraints.read(f, &out)
	}
	return out
}

// effortFlags bound a design.
type effortFlags struct {
	gap, timeLimit, maxCells *text
}

func newEffortFlags(cmd *cobra.Command) *effortFlags {
	return &effortFlags{
		gap:       newText(cmd, "gap", "number", "0.001", "relative certified gap to reach, (expected loss - lower bound)/lower bound, without unit"),
		timeLimit: newText(cmd, "time-limit", "duration", "60s", "wall time after which the best proven table is taken, with its unit: 500ms, 60s, 5m"),
		maxCells:  newText(cmd, "max-cells", "count", strconv.Itoa(lp.DefaultMaxCells), "largest number of cells of the table"),
	}
}

// read reads the flags.
func (e *effortFlags) read(f *fields) (o lp.Options) {
	o.Gap = f.number("gap", e.gap, fmt.Sprintf("a number from %g to %d, without unit", lp.MinGap, lp.MaxGap), func(v float64) bool {
		return v >= lp.MinGap && v <= lp.MaxGap
	})
	o.TimeLimit = f.duration("time-limit", e.timeLimit)
	o.MaxCells = int(f.integer("max-cells", e.maxCells, fmt.Sprintf("an integer from %d to %d", lp.MinMaxCells, tables.MaxCells), lp.MinMaxCells, tables.MaxCells))
	o.NewSolver = highs.New
	return o
}
