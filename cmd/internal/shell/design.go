// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/plane"
	"github.com/noisewright/noisewright/tables"
)

// Design runs a design. A limit that left a proven table is not an error.
func Design(ctx context.Context, p dp.Problem, o lp.Options) (r *lp.Result[tables.Verified], limit, err error) {
	if r, err = lp.Design(ctx, p, o); err == nil {
		return r, nil, nil
	}
	if ctx.Err() != nil || r == nil || !errors.Is(err, lp.ErrLimit) {
		return nil, nil, DesignError(ctx, p, o, err)
	}
	hint := MoreEffort("--time-limit", o, true)
	if errors.Is(err, lp.ErrTooFine) {
		hint = "no option helps: at so large an epsilon only a smaller one has a smaller gap"
	}
	return r, stopped("table", r.Gap, o.Gap, causeOf(err), hint), nil
}

// Designs is Design of tables alone.
func Designs(o lp.Options) func(context.Context, dp.Problem) (*tables.Verified, error) {
	return func(ctx context.Context, p dp.Problem) (*tables.Verified, error) {
		r, _, err := Design(ctx, p, o)
		if err != nil {
			return nil, err
		}
		return r.Verified, nil
	}
}

// CoarseTime is that of designs that only steer a search.
const CoarseTime = 2 * time.Second

// DesignerOf returns Design for one of several releases with a total. A gap above that of the options steers a search.
func DesignerOf(releases int, total dp.Budget, o lp.Options) func(ctx context.Context, p dp.Problem, gap float64) (*tables.Verified, error) {
	return func(ctx context.Context, p dp.Problem, gap float64) (*tables.Verified, error) {
		if p.Epsilon < lp.Limits.Epsilon.Min {
			return nil, fmt.Errorf("releases = %d at epsilon = %g leave a single release less than %g, want fewer releases or a larger epsilon", releases, total.Epsilon, lp.Limits.Epsilon.Min)
		}
		if p.Delta != 0 && p.Delta < lp.Limits.Delta.Min {
			return nil, fmt.Errorf("releases = %d at delta = %g leave a single release a delta below %g, want fewer releases or a larger delta", releases, total.Delta, lp.Limits.Delta.Min)
		}
		own := o
		if own.Gap = gap; gap > o.Gap {
			own.TimeLimit = min(o.TimeLimit, CoarseTime)
		}
		r, limit, err := Design(ctx, p, own)
		if err != nil {
			return nil, err
		}
		return r.Verified, limit
	}
}

// ending is what to say where a design of a kernel or a randomizer does not end as asked for.
type ending struct {
	noun, help string
	infeasible []string // hints
	limit      string
	cause      bool // the error of a limit says more than that
}

// ended says what the error of a design means. A limit that left a proven result is no error.
func ended[V any](ctx context.Context, o lp.Options, r *lp.Result[V], err error, e ending) (made *lp.Result[V], limit, failure error) {
	switch {
	case err == nil:
		return r, nil, nil
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case errors.Is(err, dp.ErrInvalid):
		return nil, nil, BadInput(e.help, err)
	case errors.Is(err, lp.ErrInfeasible), r == nil && errors.Is(err, lp.ErrLimit):
		return nil, nil, BadInput(oneOf(append(e.infeasible, "more time (--time-limit)")...), err)
	case r == nil || !errors.Is(err, lp.ErrLimit):
		return nil, nil, err
	}
	cause := ""
	if e.cause {
		cause = causeOf(err)
	}
	return r, stopped(e.noun, r.Gap, o.Gap, cause, e.limit), nil
}

// causeOf is what the error of a limit says beyond that there is one.
func causeOf(err error) string {
	if s := Sentence(err); !strings.HasPrefix(s, lp.ErrLimit.Error()) {
		return ": " + s
	}
	return ""
}

// DesignKernel runs a design. A limit that left a proven kernel is not an error.
func DesignKernel(ctx context.Context, p lp.KernelProblem, o lp.Options) (r *lp.Result[kernels.Verified], limit, err error) {
	r, err = lp.DesignKernel(ctx, p, o)
	e := ending{noun: "kernel", help: "noisewright design-kernel --help", infeasible: []string{when(p.InstanceCap > 0, "a larger --instance-cap")}, limit: MoreEffort("--time-limit", o, false)}
	if p.Nodes != nil || p.Cells > 0 && p.Cells < limits.KernelCells { // given, and there may be more
		e.infeasible = append(e.infeasible, "more nodes (--nodes)")
		e.limit = oneOf("more nodes (--nodes)", largerGap(o))
	}
	return ended(ctx, o, r, err, e)
}

// DesignLocal runs a design. A limit that left a proven randomizer is not an error.
func DesignLocal(ctx context.Context, p lp.LocalProblem, o lp.Options) (r *lp.Result[local.Verified], limit, err error) {
	r, err = lp.DesignLocal(ctx, p, o)
	demands := p.Demands.Unbiased || p.Demands.Lower != p.Demands.Upper || p.Demands.Step > 0 || p.MaxAnswers > 0
	e := ending{noun: "randomizer", cause: true, limit: MoreEffort("--time-limit", o, false), infeasible: []string{
		when(p.Demands.Cap > 0, "a larger --instance-cap"), when(demands, "looser demands on the answers"),
	}}
	if errors.Is(err, lp.ErrTooFine) { // more time does not help
		e.limit = oneOf(when(p.MaxAnswers > 0, "more answers (--max-answers)"), when(p.Cells > 0, "more nodes (--nodes)"), largerGap(o))
	}
	return ended(ctx, o, r, err, e)
}

// DesignAdditive runs a design. A limit that left a proven kernel is not an error.
func DesignAdditive(ctx context.Context, p lp.CellsProblem, o lp.Options) (r *lp.Result[cells.Verified], limit, err error) {
	r, err = lp.DesignCells(ctx, p, o)
	bins := when(p.Bins > 0, "more bins (--bins)")
	e := ending{noun: "kernel", help: "noisewright design-additive --help", limit: MoreEffort("--time-limit", o, false), infeasible: []string{
		when(p.InstanceCap > 0, "a larger --instance-cap"), bins,
	}}
	if p.Bins > 0 {
		e.limit = oneOf(bins, largerGap(o))
	}
	return ended(ctx, o, r, err, e)
}

// DesignPlane runs a design. A limit that left proven noise is not an error.
func DesignPlane(ctx context.Context, p plane.Problem, o lp.Options) (r *lp.Result[plane.Verified], limit, err error) {
	r, err = lp.DesignPlane(ctx, p, o)
	return ended(ctx, o, r, err, ending{
		noun: "noise", help: "noisewright design-plane --help", cause: true,
		limit: MoreEffort("--time-limit", o, false),
	})
}

func stopped(what string, gap, requested float64, cause, hint string) error {
	reached := "a gap of " + Percent(gap)
	if math.IsInf(gap, 0) {
		reached = "no lower bound"
	}
	return &Failure{
		Code: ExitLimit, Hint: hint,
		Err: fmt.Errorf("stopped with %s, a gap of %s was requested; the %s is proven and usable%s", reached, Percent(requested), what, cause),
	}
}

// when is the text of a hint that applies, or nothing.
func when(applies bool, text string) string {
	if !applies {
		return ""
	}
	return text
}

func nonEmpty(parts []string) []string {
	return slices.DeleteFunc(parts, func(s string) bool { return s == "" })
}

func largerGap(o lp.Options) string { return when(o.Gap < lp.Limits.Gap.Max, "a larger gap (--gap)") }

func oneOf(parts ...string) string {
	parts = nonEmpty(parts)
	if n := len(parts) - 1; n > 0 {
		return strings.Join(parts[:n], ", ") + " or " + parts[n]
	}
	return strings.Join(parts, "")
}

// MoreEffort says which limits of a design can be wider; time is that one with a note.
func MoreEffort(time string, o lp.Options, cells bool) string {
	return oneOf("more time ("+time+")", when(cells && o.MaxCells < limits.TableCells, "more cells (--max-cells)"), largerGap(o))
}

// DesignError adds what can be done about an error of designs that left no result.
func DesignError(ctx context.Context, p dp.Problem, o lp.Options, err error) error {
	epsilon, delta := when(p.Epsilon < lp.Limits.Epsilon.Max, "a larger --epsilon"), when(p.Delta < lp.Limits.Delta.Max, "a larger --delta")
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, dp.ErrInvalid):
		return BadInput("noisewright design --help", err)
	case errors.Is(err, lp.ErrInfeasible):
		return BadInput(oneOf(when(!p.Constraints.None(), "looser constraints"), epsilon, delta), err)
	case errors.Is(err, lp.ErrLimit):
		return BadInput(oneOf(epsilon, delta, when(o.MaxCells < limits.TableCells, "more cells (--max-cells)"), when(o.TimeLimit > 0, "more time (--time-limit)")), err)
	}
	return err
}

// CacheDirectory returns where designs are kept: in the directory given, below the
// user's caches for "", nowhere ("") for "-".
func CacheDirectory(given, name string, o lp.Options) string {
	user, err := os.UserCacheDir()
	if given == "-" || given == "" && err != nil {
		return ""
	}
	// One gap's tables are not another's.
	return filepath.Join(cmp.Or(given, filepath.Join(user, "noisewright", name)), fmt.Sprintf("gap-%g", o.Gap))
}

// NewStore returns the tables of a cache, which designs those that are not there: a
// directory, that of the user for "", none for "-".
func NewStore(a *Streams, cache string, o lp.Options) (*tables.Store, error) {
	options := tables.StoreOptions{
		Directory: CacheDirectory(cache, "curve", o),
		Name: func(p dp.Problem) string {
			name := fmt.Sprintf("%s-epsilon-%v-delta-%v", p.Loss.Name(), p.Epsilon, p.Delta)
			if p.Sensitivity != 1 {
				name += fmt.Sprintf("-sensitivity-%v", p.Sensitivity)
			}
			return name + ".json"
		},
		Design:   Designs(o),
		Rejected: func(err error) { a.Warn("cache %s", Sentence(err)) },
	}
	return OpenCache("cache", cache, &options.Directory, func() (*tables.Store, error) { return tables.NewStore(options) })
}

// OpenCache opens what is kept in the directory that a flag gives. Without one it is the user's
// own, or none where that is not writable.
func OpenCache[S any](flag, given string, directory *string, open func() (S, error)) (S, error) {
	store, err := open()
	if err != nil && given == "" {
		*directory = ""
		store, err = open()
	}
	if err != nil {
		err = BadInput("", fmt.Errorf("%s = %s: %w", flag, check.Quoted(given), FileCause(err)))
	}
	return store, err
}
