package shell

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
)

// Design runs a design. A limit that left a proven table is not an error.
func Design(ctx context.Context, p dp.Problem, o lp.Options) (r *lp.Result, limit, err error) {
	if r, err = lp.Design(ctx, p, o); err == nil {
		return r, nil, nil
	}
	if ctx.Err() != nil || r == nil || !errors.Is(err, lp.ErrLimit) {
		return nil, nil, DesignError(ctx, err)
	}
	hint := "more time (--time-limit), more cells (--max-cells) or a larger gap (--gap)"
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
	r, err = lp.DesignKernel(ctx, p, o)
	switch {
	case err == nil:
		return r, nil, nil
	case ctx.Err() != nil, errors.Is(err, highs.ErrUnavailable):
		return nil, nil, DesignError(ctx, err)
	case errors.Is(err, dp.ErrInvalid):
		return nil, nil, BadInput("noisewright design-kernel --help", err)
	case errors.Is(err, lp.ErrInfeasible):
		return nil, nil, BadInput("a larger --instance-cap, more nodes (--nodes), or more time (--time-limit)", err)
	case r == nil || !errors.Is(err, lp.ErrLimit):
		return nil, nil, err
	}
	hint := "more time (--time-limit) or a larger gap (--gap)"
	if p.Nodes != nil || p.Cells > 0 {
		hint = "more nodes (--nodes) or a larger gap (--gap)"
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

// DesignError adds what can be done about an error of designs that left no result.
func DesignError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, highs.ErrUnavailable):
		return &Failure{Code: ExitFailure, Err: highs.ErrUnavailable, Hint: "verify, sample, privatize, compare, plot, account, latent and calibrate --noise gaussian work without it"}
	case errors.Is(err, dp.ErrInvalid):
		return BadInput("noisewright design --help", err)
	case errors.Is(err, lp.ErrInfeasible):
		return BadInput("looser constraints, or a larger --epsilon or --delta", err)
	case errors.Is(err, lp.ErrLimit):
		return BadInput("a larger --epsilon or --delta, or more cells (--max-cells)", err)
	}
	return err
}
