// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/plane"
)

type designPlaneOptions struct {
	shell.Common
	problem     plane.Problem
	norm, query string
	design      lp.Options
}

func newDesignPlaneCommand(s *shell.Streams) *cobra.Command {
	o := &designPlaneOptions{Common: shell.Common{Streams: s}, design: shell.DesignOptions(), norm: string(plane.LInf), query: string(dp.RealQuery)}
	o.design.Gap, o.design.MaxCells = lp.Limits.PlaneGap.Default, 0
	f := shell.NewFlags(&cobra.Command{
		Use:   "design-plane --epsilon E --delta D --sensitivity S --loss LOSS [--norm linf|l1] [-o NOISE]",
		Short: "Design noise for two numbers that one person changes together",
		Long: `Where one person changes two numbers at the same time, such as two counts, find the
noise in the plane with the smallest expected loss, summed over both numbers, that makes
them together (epsilon, delta)-differentially private, and write it with the proof.

With --norm linf, neighboring data sets change each of the two numbers by at most the
sensitivity; with l1, both together by at most that. --query integer is for two counts.

The lower bound is about noise of any law that is added to the two numbers. If a limit
is hit first, the best proven noise is written, and the exit code is 4. Every number
printed was recomputed in exact arithmetic: the lower bound is rounded down, all others up.

Where the sensitivity is l1 and 1, as of two counts of which each person is in one at
most, noise for each count by itself at the full budget (noisewright design) is as good.`,
		Example: `  noisewright design-plane --query integer --epsilon 1 --delta 1e-6 --sensitivity 1 --loss l2 -o counts.json
  noisewright design-plane --epsilon 1 --delta 0.1 --sensitivity 1 --loss l2 --norm l1 -o plane.json`,
	})
	p := &o.problem
	f.Privacy(&p.Privacy, shell.PositiveDelta)
	f.Caution(&o.Common, &p.Privacy)
	f.Loss(&p.Loss)
	f.Word(&o.norm, "norm", "linf|l1", "what the sensitivity bounds: linf, the larger of the two changes, or l1, their sum", "linf", "l1")
	f.Word(&o.query, "query", "integer|real", "values of the two numbers; integers get integer noise", "integer", "real")
	f.Gap(&o.design)
	f.TimeLimit(&o.design, "")
	f.Output(&o.Common, "noise file to write, - for standard output (default none)", "json")
	f.Summary(&o.Common, "output")
	return f.Run(o.run)
}

func (o *designPlaneOptions) run(ctx context.Context) error {
	o.problem.Norm, o.problem.Query = plane.Norm(o.norm), dp.Query(o.query)
	return finish(&o.Common, "noise", func() (d designed, err error) {
		o.design.Progress = o.Progress().DesignOn(o.design.TimeLimit, "cells per sensitivity")
		r, limit, err := shell.DesignPlane(ctx, o.problem, o.design)
		if err != nil {
			return d, err
		}
		return designed{proven: r.Verified, Outcome: r.Outcome, limit: limit}, nil
	})
}
