package shell

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/tables"
)

// Design runs a design. A limit that left a proven table is not an error.
func Design(ctx context.Context, p dp.Problem, o lp.Options) (r *lp.Result, limit, err error) {
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
	cause := ""
	if s := Sentence(err); !strings.HasPrefix(s, lp.ErrLimit.Error()) {
		cause = ": " + s
	}
	return r, stopped("table", r.Gap, o.Gap, cause, hint), nil
}

// DesignKernel runs a design. A limit that left a proven kernel is not an error.
func DesignKernel(ctx context.Context, p lp.KernelProblem, o lp.Options) (r *lp.KernelResult, limit, err error) {
	nodes := p.Nodes != nil || p.Cells > 0 && p.Cells < kernels.MaxCells // given, and there may be more
	r, err = lp.DesignKernel(ctx, p, o)
	switch {
	case err == nil:
		return r, nil, nil
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case errors.Is(err, dp.ErrInvalid):
		return nil, nil, BadInput("noisewright design-kernel --help", err)
	case errors.Is(err, lp.ErrInfeasible):
		return nil, nil, BadInput(oneOf(when(p.InstanceCap > 0, "a larger --instance-cap"), when(nodes, "more nodes (--nodes)"), "more time (--time-limit)"), err)
	case r == nil || !errors.Is(err, lp.ErrLimit):
		return nil, nil, err
	}
	hint := MoreEffort("--time-limit", o, false)
	if nodes {
		hint = oneOf("more nodes (--nodes)", when(o.Gap < lp.MaxGap, "a larger gap (--gap)"))
	}
	return r, stopped("kernel", r.Gap, o.Gap, "", hint), nil
}

// DesignLocal runs a design. A limit that left a proven randomizer is not an error.
func DesignLocal(ctx context.Context, p lp.LocalProblem, o lp.Options) (r *lp.LocalResult, limit, err error) {
	r, err = lp.DesignLocal(ctx, p, o)
	switch {
	case err == nil:
		return r, nil, nil
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case errors.Is(err, dp.ErrInvalid):
		return nil, nil, BadInput("", err)
	case errors.Is(err, lp.ErrInfeasible):
		demands := p.Demands.Unbiased || p.Demands.Lower != p.Demands.Upper || p.Demands.Step > 0 || p.MaxAnswers > 0
		return nil, nil, BadInput(oneOf(when(p.Demands.Cap > 0, "a larger --instance-cap"), when(demands, "looser demands on the answers"), "more time (--time-limit)"), err)
	case r == nil || !errors.Is(err, lp.ErrLimit):
		return nil, nil, err
	}
	cause, hint := "", MoreEffort("--time-limit", o, false)
	if s := Sentence(err); !strings.HasPrefix(s, lp.ErrLimit.Error()) {
		cause = ": " + s
	}
	if errors.Is(err, lp.ErrTooFine) { // more time does not help
		hint = oneOf(when(p.MaxAnswers > 0, "more answers (--max-answers)"), when(p.Cells > 0, "more nodes (--nodes)"), when(o.Gap < lp.MaxGap, "a larger gap (--gap)"))
	}
	return r, stopped("randomizer", r.Gap, o.Gap, cause, hint), nil
}

// DesignAdditive runs a design. A limit that left a proven kernel is not an error.
func DesignAdditive(ctx context.Context, p lp.CellsProblem, o lp.Options) (r *lp.CellsResult, limit, err error) {
	r, err = lp.DesignCells(ctx, p, o)
	switch {
	case err == nil:
		return r, nil, nil
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case errors.Is(err, dp.ErrInvalid):
		return nil, nil, BadInput("noisewright design-additive --help", err)
	case errors.Is(err, lp.ErrInfeasible):
		return nil, nil, BadInput(oneOf(when(p.InstanceCap > 0, "a larger --instance-cap"), when(p.Bins > 0, "more bins (--bins)"), "more time (--time-limit)"), err)
	case r == nil || !errors.Is(err, lp.ErrLimit):
		return nil, nil, err
	}
	hint := MoreEffort("--time-limit", o, false)
	if p.Bins > 0 {
		hint = oneOf("more bins (--bins)", when(o.Gap < lp.MaxGap, "a larger gap (--gap)"))
	}
	return r, stopped("kernel", r.Gap, o.Gap, "", hint), nil
}

// stopped says what a design left that was stopped at a limit.
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

// oneOf joins the parts of a hint, those that are not empty.
func oneOf(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	if n := len(parts) - 1; n > 0 {
		return strings.Join(parts[:n], ", ") + " or " + parts[n]
	}
	return strings.Join(parts, "")
}

// MoreEffort says which limits of a design can be wider: time, about which there is a
// note, perhaps the cells, and the gap.
func MoreEffort(time string, o lp.Options, cells bool) string {
	return oneOf("more time ("+time+")", when(cells && o.MaxCells < tables.MaxCells, "more cells (--max-cells)"), when(o.Gap < lp.MaxGap, "a larger gap (--gap)"))
}

// DesignError adds what can be done about an error of designs that left no result.
func DesignError(ctx context.Context, p dp.Problem, o lp.Options, err error) error {
	epsilon, delta := when(p.Epsilon < lp.MaxEpsilon, "a larger --epsilon"), when(p.Delta < lp.MaxDelta, "a larger --delta")
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, dp.ErrInvalid):
		return BadInput("noisewright design --help", err)
	case errors.Is(err, lp.ErrInfeasible):
		return BadInput(oneOf(when(!p.Constraints.None(), "looser constraints"), epsilon, delta), err)
	case errors.Is(err, lp.ErrLimit):
		return BadInput(oneOf(epsilon, delta, when(o.MaxCells < tables.MaxCells, "more cells (--max-cells)")), err)
	}
	return err
}

// CacheDirectory returns where designs are kept: in the directory given, below the
// user's caches for "", nowhere ("") for "-".
func CacheDirectory(given, name string, o lp.Options) string {
	dir := given
	switch dir {
	case "-":
		return ""
	case "":
		user, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(user, "noisewright", name)
	}
	// One gap's tables are not another's.
	return filepath.Join(dir, fmt.Sprintf("gap-%g", o.Gap))
}
