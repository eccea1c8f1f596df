// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/cmd/internal/frequency"
	"github.com/noisewright/noisewright/cmd/internal/report"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/counts"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/proof"
)

// workload is what estimates from answers of categories are for: nil for their shares.
type workload struct{ *counts.Workload }

const workloads = "shares|prefix|ranges|marginals:AxB|FILE"

func (w *workload) flag(f *shell.Flags, categories func() (count int64, labels []string)) {
	f.Func("workload", workloads, "shares", "with --categories, what is estimated: the share of each, people up to each in their order (prefix), in each range of them, with each value of attributes that they are all pairs of (marginals:AxB), or a CSV file of queries, with a header of the categories, and a row for each query that begins with its name", func(text string) (err error) {
		count, labels := categories()
		kind, sizes, marginals := strings.Cut(text, ":")
		switch {
		case text == "shares":
			return nil
		case text == counts.Prefix || text == counts.Ranges:
			w.Workload = &counts.Workload{Kind: text}
		case marginals && kind == counts.Marginals:
			w.Workload = &counts.Workload{Kind: kind}
			for size := range strings.SplitSeq(sizes, "x") {
				n, err := strconv.Atoi(size)
				if err != nil {
					return shell.Want("marginals:AxB with the numbers of values of the attributes, such as marginals:4x5")
				}
				w.Sizes = append(w.Sizes, n)
			}
		default:
			w.Workload, err = readQueries(text, int(min(count, limits.CountCategories+1)), labels)
		}
		return err
	})
	f.CompleteOrFile("workload", "shares", counts.Prefix, counts.Ranges)
}

func readQueries(path string, count int, labels []string) (*counts.Workload, error) {
	bad := func(format string, args ...any) (*counts.Workload, error) {
		return nil, fmt.Errorf("workload = %s: %s", check.Quoted(path), fmt.Sprintf(format, args...))
	}
	file, err := os.Open(path) //nolint:gosec // the file that the user names
	if err != nil {
		return bad("%v, want %s", shell.FileCause(err), strings.ReplaceAll(workloads, "|", ", "))
	}
	defer file.Close() //nolint:errcheck // only read
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return bad("not a CSV file whose rows have equally many fields: %v", err)
	}
	if len(rows) < 2 || len(rows[0]) != max(count, len(labels))+1 {
		return bad("want a header with a name for each category after the first field, and a row for each query")
	}
	for j, name := range rows[0][1:] {
		want := strconv.Itoa(j)
		if labels != nil {
			want = labels[j]
		}
		if name != want {
			return bad("field %d of the header is %s, want the category %s", j+2, check.Quoted(name), check.Quoted(want))
		}
	}
	w := &counts.Workload{Kind: counts.Queries}
	for _, row := range rows[1:] {
		query := make([]float64, len(row)-1)
		for j, text := range row[1:] {
			if query[j], err = strconv.ParseFloat(strings.TrimSpace(text), 64); err != nil || !check.Finite(query[j]) {
				return bad("the coefficient of %s for %s is %s, want a finite number", check.Quoted(rows[0][j+1]), check.Quoted(row[0]), check.Quoted(text))
			}
		}
		w.Names, w.Queries = append(w.Names, row[0]), append(w.Queries, query)
	}
	return w, nil
}

// designCounts designs a strategy where there is a workload.
func (s *sets) designCounts(ctx context.Context, epsilon float64, o shell.Local) (*counts.Verified, error) {
	if objective := o.ObjectiveOfShares(); objective != "total" {
		return nil, shell.BadInput("", fmt.Errorf("objective = %s, want total with --workload %s", objective, s.workload.Kind))
	}
	if s.Count > limits.CountCategories {
		return nil, shell.BadInput("", fmt.Errorf("categories = %d, want at most %d with --workload %s", s.Count, limits.CountCategories, s.workload.Kind))
	}
	v, err := lp.DesignCounts(ctx, counts.Problem{Epsilon: epsilon, Count: int(s.Count), Labels: s.Labels, Workload: *s.workload.Workload})
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, shell.BadInput("noisewright local design --help", err)
	}
	return v, err
}

func (o *designKernelOptions) designCounts(ctx context.Context) error {
	w, err := o.Reserve(o.Output)
	if err != nil {
		return err
	}
	defer w.Discard()
	o.Progress().Watch("designing")
	v, err := o.sets.designCounts(ctx, o.problem.Epsilon, o.local)
	if err != nil {
		return err
	}
	m := v.Mechanism()
	a := about(report.Finding{Mechanism: m, Proven: v})
	return o.Finish(w, m.Encode, shell.Object{a.Problem, a.Certified, a.Size}, append(a.Rows, shell.When(o.Output != "", "randomizer", o.Output)), nil)
}

func (o *compareOptions) designCounts(ctx context.Context) error {
	o.Progress().Watch("designing")
	v, err := o.sets.designCounts(ctx, o.problem.Epsilon, o.local)
	if err != nil {
		return err
	}
	return o.printCounts(shell.NoiseDesigned, v)
}

func (o *compareOptions) compareCounts(_ context.Context, v proof.Proven) error {
	return o.printCounts("strategy", v.(*counts.Verified))
}

// countContender has the variance of the design rounded up, and floating-point values of the others.
type countContender struct {
	Name          string   `json:"name"`
	TotalVariance *float64 `json:"total_variance"`
	Ratio         *float64 `json:"ratio_to_design,omitempty"`
	Source        string   `json:"source,omitempty"`
}

func (o *compareOptions) printCounts(name string, v *counts.Verified) error {
	c, s, m := v.Certificate(), v.Mechanism().Spec(), v.Mechanism()
	design, bound := shell.FloatUp(c.TotalVariance), shell.FloatDown(c.LowerBound)
	list := []countContender{{name, design, nil, "certified"}}
	for _, b := range frequency.Counts(s.Epsilon, s.Workload.Matrix(m.Categories())) {
		list = append(list, countContender{b.Name, shell.Finite(b.TotalVariance), nil, b.Source})
	}
	for i := range list {
		if x := list[i].TotalVariance; x != nil && design != nil && *design > 0 {
			list[i].Ratio = shell.Finite(*x / *design)
		}
	}
	object := shell.Object{"epsilon", s.Epsilon, "delta", 0, "categories", m.Categories(), "workload", s.Workload.Kind, "lower_bound", bound, "mechanisms", list}
	return o.PrintText(object, func(b *strings.Builder) {
		fmt.Fprintf(b, "epsilon %v between any two of %d categories, unbiased estimates of the workload %s\n", s.Epsilon, m.Categories(), s.Workload.Kind)
		if s.Dual == nil {
			fmt.Fprintf(b, "no lower bound: one is computed for at most %d categories\n\n", limits.CountProved)
		} else {
			fmt.Fprintf(b, "certified lower bound on the total variance of every mechanism, times the number of people: %s\n\n", shell.DigitsDown(*bound))
		}
		lines := [][]string{{"mechanism", "total variance", "of design", "source"}}
		for i, m := range list {
			line := []string{m.Name, "-", "-", m.Source}
			if m.TotalVariance != nil {
				line[1] = fmt.Sprintf("%.7g", *m.TotalVariance)
			}
			if m.Ratio != nil {
				line[2] = fmt.Sprintf("%.4f", *m.Ratio)
			}
			if i == 0 {
				line[1] = shell.DigitsUp(*m.TotalVariance)
			}
			lines = append(lines, line)
		}
		shell.WriteColumns(b, lines, "<>><")
	})
}

// countsOfAnswers prints the queries of a workload from a column of answers.
func (o *intervalOptions) countsOfAnswers(_ context.Context, p proof.Proven) error {
	s := p.(*counts.Verified).Mechanism()
	if o.simplex {
		return shell.BadInput("", errors.New("simplex is for shares, want none for a strategy for counts"))
	}
	space, tally := s.Answers(), s.Tally()
	err := o.eachAnswer(func(answer string) error {
		y, err := space.Parse(answer)
		if err != nil {
			return fmt.Errorf("is not a number from 0 to %d, want a column as privatize writes it", space.Count-1)
		}
		return tally.Add(y)
	})
	if err != nil {
		return err
	}
	list, err := s.Estimate(tally.Counts(), o.level, !o.marginal)
	if err != nil {
		return shell.BadInput("", err)
	}
	about := "all in their intervals"
	if o.marginal {
		about = "each in its interval"
	}
	rows := []shell.Row{
		{"answers", fmt.Sprintf("%d, of %d categories", tally.Answers(), s.Categories())},
		{"queries", fmt.Sprintf("means over the values, %s with a probability of at least %v", about, o.level)},
	}
	var objects []shell.Object
	for _, e := range list {
		objects = append(objects, shell.Object{"query", e.Query, "value", e.Value, "lower", e.Lower, "upper", e.Upper})
		rows = append(rows, shell.Row{check.Quoted(e.Query), fmt.Sprintf("%.6g, from %s to %s", e.Value, shell.DigitsDown(e.Lower), shell.DigitsUp(e.Upper))})
	}
	return o.Print(shell.Object{"answers", tally.Answers(), "level", o.level, "queries", objects}, rows)
}
