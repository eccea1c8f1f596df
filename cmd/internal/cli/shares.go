// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/cmd/internal/frequency"
	"github.com/noisewright/noisewright/cmd/internal/report"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/subset"
)

// sets is a subset selection to design: flags say for which categories.
type sets struct {
	subset.Spec
	workload workload
}

func (s *sets) given() bool { return s.Count > 0 || s.Labels != nil }

// flag adds the categories: how many, or their labels.
func (s *sets) flag(f *shell.Flags) {
	f.Func("categories", "A,B,...", "", "for shares of categories, in place of a range, a loss and a delta: a number N of them, for the labels 0 to N-1, or "+categoriesUsage, func(text string) (err error) {
		if n, number, err := countOfCategories(text); number {
			s.Count = n
			return err
		}
		s.Labels, err = readCategories(text)
		return err
	})
	f.CompleteOrFile("categories")
	f.With("categories", func() {
		s.workload.flag(f, func() (int64, []string) { return s.Count, s.Labels })
	})
}

// countOfCategories reads a number of categories, if the text is a number.
func countOfCategories(text string) (n int64, number bool, err error) {
	n, bad := strconv.ParseInt(text, 10, 64)
	if number = bad == nil; number && (n < 2 || n > limits.SubsetCategories) {
		err = shell.Want(fmt.Sprintf("from 2 to %d categories, or their labels", int64(limits.SubsetCategories)))
	}
	return n, number, err
}

func (s *sets) design(epsilon float64, o shell.Local) (*subset.Verified, error) {
	s.Epsilon, s.Objective = epsilon, o.ObjectiveOfShares()
	v, err := subset.Design(s.Spec)
	if err != nil {
		return nil, shell.BadInput("noisewright local design --help", err)
	}
	return v, nil
}

func (o *designKernelOptions) designSets() error {
	w, err := o.Reserve(o.Output)
	if err != nil {
		return err
	}
	defer w.Discard()
	v, err := o.sets.design(o.problem.Epsilon, o.local)
	if err != nil {
		return err
	}
	m := v.Mechanism()
	a := about(report.Finding{Mechanism: m, Proven: v})
	return o.Finish(w, m.Encode, shell.Object{a.Problem, a.Certified, a.Size}, append(a.Rows, shell.When(o.Output != "", "randomizer", o.Output)), nil)
}

// sharesOfSets prints the shares of categories from a column of sets.
func (o *intervalOptions) sharesOfSets(ctx context.Context, p proof.Proven) error {
	return o.sharesOf(ctx, p.(*subset.Verified).Mechanism())
}

// sharesOfResponse prints them from the answers of randomized response, sets of one category, or of sets.
func (o *intervalOptions) sharesOfResponse(ctx context.Context, p proof.Proven) error {
	v, ok := p.(*local.Verified)
	if !ok {
		return o.sharesOfSets(ctx, p)
	}
	r := v.Mechanism().Spec()
	s, err := subset.New(subset.Spec{Epsilon: r.Epsilon, Labels: r.Values.Labels, Size: 1, Inside: r.Rows[0][0], Objective: subset.Total})
	if err != nil {
		return shell.BadInput("", err)
	}
	return o.sharesOf(ctx, s)
}

// tally reads the answers. Those to people who were not asked are empty.
func (o *intervalOptions) tally(s *subset.Selection) (*subset.Tally, error) {
	space, tally := s.Answers(), s.Tally()
	read := space.Parse
	if turned := o.people.seed != "" && s.Spec().Modulus > 0; turned {
		space = proof.Space{Kind: proof.Codes, Count: s.Spec().Modulus}
		read = func(answer string) (proof.Value, error) {
			y, err := space.Parse(answer)
			if err != nil {
				return nil, err
			}
			turn, err := s.Turn(o.people.seed, o.people.current)
			return proof.Code{A: turn, B: y.(proof.Code).B}, err
		}
	} else if o.people.seed != "" && !o.sampled {
		return nil, o.people.noTurn(s)
	}
	err := o.eachAnswer(func(answer string) error {
		if answer == "" && o.sampled {
			return nil
		}
		y, err := read(answer)
		if err != nil {
			switch {
			case answer == "":
				return errors.New("is empty, want an answer; of people of whom only some were asked (privatize --one) give --sampled")
			case o.people.seed == "" && s.Spec().Modulus > 0:
				return fmt.Errorf("is not %s, want a column as privatize writes it; of answers with public turns give --person and --seed", space)
			}
			return fmt.Errorf("is not %s, want a column as privatize writes it", space)
		}
		return tally.Add(y)
	})
	if err == nil && tally.Answers() == 0 {
		err = shell.BadFile(o.value, fmt.Errorf("no answers in the column %s", check.Quoted(o.column)))
	}
	return tally, err
}

func (o *intervalOptions) sharesOf(ctx context.Context, s *subset.Selection) error {
	tally, err := o.tally(s)
	if err != nil {
		return err
	}
	n, labels, line := tally.Answers(), s.Spec().Labels, o.Progress()
	counts, err := tally.Count(ctx, func(done int) { line.Count("counting", done, int(n)) })
	if err != nil {
		return err
	}
	interval := s.Interval
	if o.sampled {
		interval = s.Sampled
	}
	each := (1 - o.level) / 2
	if !o.marginal {
		each /= float64(len(counts))
	}
	var list []counted
	bounds := map[int64][2]float64{} // by count: many categories have the same
	for j, share := range s.Shares(counts, n) {
		if _, known := bounds[counts[j]]; !known {
			lower, upper := interval(counts[j], n, each)
			bounds[counts[j]] = [2]float64{lower, upper}
		}
		category := any(j)
		if labels != nil {
			category = labels[j]
		}
		list = append(list, counted{category, int(counts[j]), share, bounds[counts[j]][0], bounds[counts[j]][1]})
	}
	return o.printShares(int(n), list)
}

// counted is a share of a category, and how many answers have it.
type counted struct {
	category            any // a label, or a number
	answers             int
	share, lower, upper float64
}

func (o *intervalOptions) printShares(n int, list []counted) error {
	shares := make([]float64, len(list))
	for i, c := range list {
		shares[i] = c.share
	}
	about := "all in their intervals"
	if o.marginal {
		about = "each in its interval"
	}
	whose := "the values"
	if o.sampled {
		whose = "all values, of which those answered are a sample"
	}
	about = fmt.Sprintf("of "+whose+", %s with a probability of at least %v", about, o.level)
	if o.simplex {
		shares = subset.Simplex(shares)
		about += "; moved to the nearest that are at least 0 and sum to 1, which is biased"
	}
	rows := []shell.Row{{"answers", fmt.Sprintf("%d, of %d categories", n, len(list))}, {"shares", about}}
	var objects []shell.Object
	for i, c := range list {
		objects = append(objects, shell.Object{"category", c.category, "answers", c.answers, "share", shares[i], "lower", c.lower, "upper", c.upper})
		rows = append(rows, shell.Row{check.Quoted(fmt.Sprint(c.category)), fmt.Sprintf("%.6g, from %s to %s", shares[i], shell.DigitsDown(c.lower), shell.DigitsUp(c.upper))})
	}
	return o.Print(shell.Object{"answers", n, "level", o.level, shell.If(o.simplex, "biased", true), "shares", objects}, rows)
}

// shareContender has variances of the design rounded up, and floating-point values of the others, times
// the number of people.
type shareContender struct {
	Name            string   `json:"name"`
	TotalVariance   *float64 `json:"total_variance"`
	LargestVariance *float64 `json:"largest_variance"`
	Ratio           *float64 `json:"ratio_to_bound,omitempty"` // of the variance of the objective
	Source          string   `json:"source,omitempty"`
}

func (o *compareOptions) designSets() error {
	v, err := o.sets.design(o.problem.Epsilon, o.local)
	if err != nil {
		return err
	}
	several, err := o.severalSets(v)
	if err != nil {
		return err
	}
	return o.printSets(shell.NoiseDesigned, v, several)
}

// several are total variances of the shares of one of several attributes, times the number of people.
type several struct {
	Count int `json:"count"`
	// Sampled: each person answers one attribute, which a coin chooses, with all of epsilon. Besides the variance of
	// answers, from fewer people, it has that of who is asked, for equal shares, which have most of it.
	Sampled *float64 `json:"sampled_total_variance"`
	// Split: each person answers all, with equal parts of epsilon.
	Split *float64 `json:"split_total_variance"`
}

func (o *compareOptions) severalSets(v *subset.Verified) (*several, error) {
	n := float64(o.attributes)
	if o.attributes < 2 {
		return nil, nil //nolint:nilnil // one
	}
	split, err := o.sets.design(o.problem.Epsilon/n, o.local)
	if err != nil {
		return nil, err
	}
	sampled := n**shell.FloatUp(v.Certificate().TotalVariance) + (n-1)*(1-1/float64(v.Mechanism().Categories()))
	return &several{o.attributes, shell.Finite(sampled), shell.FloatUp(split.Certificate().TotalVariance)}, nil
}

// write says which is better.
func (s *several) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n%d attributes of as many categories each, total variance for one of them, times the number of people:\n", s.Count)
	better := "better"
	if *s.Sampled > *s.Split {
		better = "worse"
	}
	shell.WriteColumns(b, [][]string{
		{"one for each person, by a public coin", fmt.Sprintf("%.7g", *s.Sampled), better},
		{"all, with epsilon split among them", fmt.Sprintf("%.7g", *s.Split), ""},
	}, "<><")
}

func (o *compareOptions) compareSets(_ context.Context, v proof.Proven) error {
	return o.printSets("selection", v.(*subset.Verified), nil)
}

func (o *compareOptions) printSets(name string, v *subset.Verified, several *several) error {
	c, s := v.Certificate(), v.Mechanism().Spec()
	k, bound := v.Mechanism().Categories(), shell.FloatDown(c.LowerBound)
	list := []shareContender{{Name: name, TotalVariance: shell.FloatUp(c.TotalVariance), LargestVariance: shell.FloatUp(c.LargestVariance), Source: "certified"}}
	for _, b := range frequency.Shares(k, s.Epsilon) {
		total, largest := b.Variances(k)
		list = append(list, shareContender{b.Name, shell.Finite(total), shell.Finite(largest), nil, b.Source})
	}
	for i := range list {
		value := list[i].TotalVariance
		if s.Objective == subset.Largest {
			value = list[i].LargestVariance
		}
		if value != nil && bound != nil && *bound > 0 {
			list[i].Ratio = shell.Finite(*value / *bound)
		}
	}
	object := shell.Object{"epsilon", s.Epsilon, "delta", 0, "categories", k, "objective", s.Objective, "lower_bound", bound, "mechanisms", list, shell.If(several != nil, "attributes", several)}
	return o.PrintText(object, func(b *strings.Builder) {
		fmt.Fprintf(b, "epsilon %v between any two of %d categories, unbiased shares of all\n", s.Epsilon, k)
		fmt.Fprintf(b, "certified lower bound on the %s variance of every mechanism, times the number of people: %s\n\n", s.Objective, shell.DigitsDown(*bound))
		lines := [][]string{{"mechanism", "total variance", "largest variance", "of bound", "source"}}
		number := func(x *float64, format string) string {
			if x == nil {
				return "-"
			}
			return fmt.Sprintf(format, *x)
		}
		for i, m := range list {
			line := []string{m.Name, number(m.TotalVariance, "%.7g"), number(m.LargestVariance, "%.7g"), number(m.Ratio, "%.4f"), m.Source}
			if i == 0 {
				line[1], line[2] = shell.DigitsUp(*m.TotalVariance), shell.DigitsUp(*m.LargestVariance)
			}
			lines = append(lines, line)
		}
		shell.WriteColumns(b, lines, "<>>><")
		if several != nil {
			several.write(b)
		}
	})
}
