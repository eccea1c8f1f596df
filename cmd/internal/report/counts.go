// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/counts"
	"github.com/noisewright/noisewright/internal/limits"
)

// Counts says what was found about a strategy for counts.
func Counts(f Finding) About {
	m := f.Mechanism.(*counts.Strategy)
	c, s := m.Certify(), m.Spec()
	workload, queries := s.Workload.Kind, len(s.Workload.Matrix(m.Categories()))
	rows := summary{
		neighbors: ", between any two categories",
		values: []shell.Row{
			{"categories", fmt.Sprint(m.Categories())},
			{"workload", fmt.Sprintf("%s, %d queries", workload, queries)},
		},
		losses: []shell.Row{
			{"total variance", upper(c.TotalVariance) + ", of all queries, times the number of people, for equally frequent categories"},
			{"worst variance", upper(c.WorstVariance) + ", for any data"},
			{"of a sample", fmt.Sprintf("%.6g more, for the law of equally likely categories that people are drawn from", m.Sampling())},
		},
		boundOn: ", on the total variance of every unbiased estimate",
		size:    shell.Row{"answers", fmt.Sprint(len(s.Rows[0]))},
	}.rows(m, c.Bounds(), f.Falsehood)
	bound, gap := any(shell.FloatDown(c.LowerBound)), any(gapOf(c.Bounds(), f.Falsehood))
	if s.Dual == nil {
		bound, gap = nil, nil
		kept := rows[:0]
		for _, r := range rows {
			switch r[0] {
			case "lower bound":
				r = shell.Row{"lower bound", fmt.Sprintf("none: one is computed for at most %d categories", limits.CountProved)}
			case "gap":
				continue
			}
			kept = append(kept, r)
		}
		rows = kept
	}
	return About{
		Problem: shell.Object{"epsilon", s.Epsilon, "delta", 0, "categories", m.Categories(), "workload", workload, "queries", queries},
		Certified: shell.Object{
			"delta_upper", shell.FloatUp(c.DeltaUpper), "total_variance", shell.FloatUp(c.TotalVariance), "worst_variance", shell.FloatUp(c.WorstVariance),
			"sampling_variance", m.Sampling(), "lower_bound", bound, "gap", gap,
		},
		Size: shell.Object{"answers", len(s.Rows[0])},
		Rows: rows,
	}
}
