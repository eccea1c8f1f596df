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
	r, err = lp.Design(ctx, p, o)
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case err == nil:
		return r, nil, nil
	case errors.Is(err, lp.ErrLimit) && r != nil:
		reached := "a gap of " + Percent(r.Gap)
		if math.IsInf(r.Gap, 0) {
			reached = "no lower bound"
		}
		text := fmt.Sprintf("stopped with %s, a gap of %s was requested; the table is proven and usable", reached, Percent(o.Gap))
		if s := Sentence(err); !strings.HasPrefix(s, lp.ErrLimit.Error()) {
			text += ": " + s
		}
		hint := "more time (--time-limit), more cells (--max-cells) or a larger gap (--gap)"
		if errors.Is(err, lp.ErrTooFine) {
			hint = "no option helps: at so large an epsilon only a smaller one has a smaller gap"
		}
		return r, &Failure{Code: ExitLimit, Err: errors.New(text), Hint: hint}, nil
	default:
		return nil, nil, DesignError(ctx, err)
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
		return &Failure{Code: ExitBadInput, Err: err, Hint: "a larger --epsilon or --delta, or more cells (--max-cells)"}
	default:
		return err
	}
}

// DesignKernel runs a design. A limit that left a proven kernel is not an error.
func DesignKernel(ctx context.Context, p lp.KernelProblem, o lp.Options) (r *lp.KernelResult, limit, err error) {
	const help = "noisewright design-kernel --help"
	r, err = lp.DesignKernel(ctx, p, o)
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case err == nil:
		return r, nil, nil
	case errors.Is(err, highs.ErrUnavailable):
		return nil, nil, &Failure{Code: ExitFailure, Err: highs.ErrUnavailable, Hint: "verify, sample, privatize and plot work without it"}
	case errors.Is(err, dp.ErrInvalid):
		return nil, nil, BadInput(help, err)
	case errors.Is(err, lp.ErrInfeasible):
		return nil, nil, BadInput("a larger --instance-cap, more nodes (--nodes), or more time (--time-limit)", err)
	case errors.Is(err, lp.ErrLimit) && r != nil:
		reached := "a gap of " + Percent(r.Gap)
		if math.IsInf(r.Gap, 0) {
			reached = "no lower bound"
		}
		text := fmt.Sprintf("stopped with %s, a gap of %s was requested; the kernel is proven and usable", reached, Percent(o.Gap))
		hint := "more time (--time-limit) or a larger gap (--gap)"
		if p.Nodes != nil || p.Cells > 0 {
			hint = "more nodes (--nodes) or a larger gap (--gap)"
		}
		return r, &Failure{Code: ExitLimit, Err: errors.New(text), Hint: hint}, nil
	default:
		return nil, nil, err
	}
}
