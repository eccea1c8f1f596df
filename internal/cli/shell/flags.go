package shell

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/tables"
)

// Text is a flag kept as written, so that all bad flags of a command can be
// reported together. pflag stops at the first one it cannot parse.
type Text struct {
	Value string
	Given bool
	kind  string // as shown in the help
}

// Set implements pflag.Value.
func (t *Text) Set(s string) error {
	t.Value, t.Given = s, true
	return nil
}

func (t *Text) String() string { return t.Value }

// Type implements pflag.Value.
func (t *Text) Type() string { return t.kind }

// NewText adds a flag to a command. An empty default means none.
func NewText(cmd *cobra.Command, name, kind, value, usage string) *Text {
	return NewTextP(cmd, name, "", kind, value, usage)
}

// NewTextP is NewText with a letter for the flag.
func NewTextP(cmd *cobra.Command, name, letter, kind, value, usage string) *Text {
	t := &Text{Value: value, kind: kind}
	cmd.Flags().VarP(t, name, letter, usage)
	return t
}

// Fields reads flags and collects what is wrong with them.
type Fields struct{ errs []error }

// Err returns everything wrong so far as one error of bad usage.
func (f *Fields) Err(cmd *cobra.Command) error {
	if len(f.errs) == 0 {
		return nil
	}
	return BadInput(cmd.CommandPath()+" --help", errors.Join(f.errs...))
}

func (f *Fields) Add(format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf(format, args...))
}

// Bad reports a flag that breaks its rule.
func (f *Fields) Bad(name string, t *Text, want string) {
	if t.Value == "" {
		f.Add("%s is missing, want %s", name, want)
	} else {
		f.Add("%s = %s, want %s", name, check.Quoted(t.Value), want)
	}
}

// Number reads a finite number.
func (f *Fields) Number(name string, t *Text, want string, ok func(float64) bool) float64 {
	v, err := strconv.ParseFloat(t.Value, 64)
	if err != nil || !check.Finite(v) || !ok(v) {
		f.Bad(name, t, want)
		return math.NaN()
	}
	return v
}

// Integer reads an integer from lo to hi.
func (f *Fields) Integer(name string, t *Text, want string, lo, hi int64) int64 {
	v, err := strconv.ParseInt(t.Value, 10, 64)
	if err != nil || v < lo || v > hi {
		f.Bad(name, t, want)
	}
	return v
}

// Duration reads a positive time such as 60s or 1m30s.
func (f *Fields) Duration(name string, t *Text) time.Duration {
	v, err := time.ParseDuration(t.Value)
	if err != nil || v <= 0 {
		f.Bad(name, t, "a time above 0 with its unit, such as 60s or 5m")
	}
	return v
}

// Choice reads one of a few words.
func (f *Fields) Choice(name string, t *Text, words ...string) string {
	for _, w := range words {
		if t.Value == w {
			return w
		}
	}
	f.Bad(name, t, strings.Join(words, " or "))
	return ""
}

// Required reports a missing text.
func (f *Fields) Required(name, value, want string) {
	if value == "" {
		f.Add("%s is missing, want %s", name, want)
	}
}

// ProblemFlags state a design problem.
type ProblemFlags struct {
	Epsilon, delta, sensitivity *Text
	loss                        *texts
	constraints                 *constraintFlags
	pure                        bool // delta may be 0
}

func NewProblemFlags(cmd *cobra.Command, pure bool) *ProblemFlags {
	wantDelta := WantDelta
	if pure {
		wantDelta = "0, or " + wantDelta
	}
	p := NewKernelProblemFlags(cmd, wantDelta)
	p.pure, p.constraints = pure, newConstraintFlags(cmd)
	return p
}

// NewKernelProblemFlags are those of a problem without constraints.
func NewKernelProblemFlags(cmd *cobra.Command, wantDelta string) *ProblemFlags {
	return &ProblemFlags{
		Epsilon:     NewText(cmd, "epsilon", "number", "", "privacy parameter epsilon, without unit: "+WantEpsilon),
		delta:       NewText(cmd, "delta", "number", "", "privacy parameter delta, a probability: "+wantDelta),
		sensitivity: NewText(cmd, "sensitivity", "number", "", "how far neighbouring values of the query may differ, in its units: "+wantSensitivity),
		loss:        newLossFlag(cmd),
	}
}

// The problems `design` takes.
var (
	WantEpsilon     = fmt.Sprintf("0, or a number from %g to %g", lp.MinEpsilon, float64(lp.MaxEpsilon))
	WantDelta       = fmt.Sprintf("a number from %g to %g", lp.MinDelta, lp.MaxDelta)
	wantSensitivity = fmt.Sprintf("a number from %g to %g", lp.MinSensitivity, lp.MaxSensitivity)
)

// Read reads the flags. With a trade-off, which names losses itself, there is no
// loss.
func (p *ProblemFlags) Read(f *Fields, trading bool) dp.Problem {
	out := dp.Problem{Query: dp.RealQuery}
	out.Epsilon = f.Number("epsilon", p.Epsilon, WantEpsilon, func(v float64) bool {
		return v == 0 || v >= lp.MinEpsilon && v <= lp.MaxEpsilon
	})
	delta := func(v float64) bool { return v >= lp.MinDelta && v <= lp.MaxDelta }
	switch v, err := strconv.ParseFloat(p.delta.Value, 64); {
	case err == nil && v == 0 && p.pure:
		out.Delta = 0
	case p.pure:
		out.Delta = f.Number("delta", p.delta, "0, or "+WantDelta, delta)
	default:
		out.Delta = f.Number("delta", p.delta, WantDelta, delta)
	}
	out.Sensitivity = f.Number("sensitivity", p.sensitivity, wantSensitivity+", in the query's units", func(v float64) bool {
		return v >= lp.MinSensitivity && v <= lp.MaxSensitivity
	})
	switch {
	case !trading:
		out.Loss = f.losses("loss", p.loss.values)
	case len(p.loss.values) > 0:
		f.Add("loss = %s and trade, want only one of them", check.Quoted(p.loss.values[0]))
	}
	if p.constraints != nil {
		p.constraints.read(f, &out)
	}
	return out
}

// EffortFlags bound a design.
type EffortFlags struct {
	Gap, TimeLimit, maxCells *Text
}

func NewEffortFlags(cmd *cobra.Command) *EffortFlags {
	return &EffortFlags{
		Gap:       NewText(cmd, "gap", "number", "0.001", "relative certified gap to reach, (expected loss - lower bound)/lower bound, without unit"),
		TimeLimit: NewText(cmd, "time-limit", "duration", "60s", "wall time after which the best proven table is taken, with its unit: 500ms, 60s, 5m"),
		maxCells:  NewText(cmd, "max-cells", "count", strconv.Itoa(lp.DefaultMaxCells), "largest number of cells of the table"),
	}
}

// Read reads the flags.
func (e *EffortFlags) Read(f *Fields) (o lp.Options) {
	o.Gap = f.Number("gap", e.Gap, fmt.Sprintf("a number from %g to %d, without unit", lp.MinGap, lp.MaxGap), func(v float64) bool {
		return v >= lp.MinGap && v <= lp.MaxGap
	})
	o.TimeLimit = f.Duration("time-limit", e.TimeLimit)
	o.MaxCells = int(f.Integer("max-cells", e.maxCells, fmt.Sprintf("an integer from %d to %d", lp.MinMaxCells, tables.MaxCells), lp.MinMaxCells, tables.MaxCells))
	o.NewSolver = highs.New
	return o
}

// FigureFormat reads the format of a figure off its file name.
func (f *Fields) FigureFormat(flag, path string) string {
	format := strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
	switch {
	case path == "":
		f.Add("%s is missing, want a file name ending in .svg or .png", flag)
	case format != "svg" && format != "png":
		f.Add("%s = %s, want a file name ending in .svg or .png", flag, check.Quoted(path))
	}
	return format
}

// Numbers reads a list of numbers, separated by commas; it returns them in
// order, each once.
func (f *Fields) Numbers(name string, t *Text, want string, ok func(float64) bool) []float64 {
	var list []float64
	for _, s := range strings.Split(t.Value, ",") {
		before := len(f.errs)
		v := f.Number(name, &Text{Value: strings.TrimSpace(s)}, want, ok)
		if len(f.errs) == before {
			list = append(list, v)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
