// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/plan"
	"github.com/noisewright/noisewright/plan/design"
	"github.com/noisewright/noisewright/proof"
)

const oneByOne = "released one by one"

// plan draws the errors of a plan beside those of the other candidates, or, with --values, where its answers
// to these counts are.
func (o *plotOptions) plan(p *plan.Plan) (figureOf, error) {
	if o.table != "" {
		return nil, shell.BadInput("", errors.New("table is for kernels, want none with a plan"))
	}
	s := p.Spec()
	exact, err := o.exactAnswers(&s.Workload)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, v proof.Proven) (figure.Picture, error) {
		sound := v.(*plan.Verified)
		if len(o.files) > 1 {
			return figure.Plan(&s, figure.ErrorsOf("this plan", sound.Certificate()), nil), nil
		}
		limited, cancel := context.WithTimeout(ctx, planTime)
		defer cancel()
		r, err := design.Design(limited, design.Problem{
			Budget: s.Budget, Neighbors: s.Neighbors, MaxPerPerson: s.MaxPerPerson, Workload: s.Workload,
		}, design.Options{Noise: lp.Designer(shell.DesignOptions()), All: exact == nil})
		if err = cmp.Or(ctx.Err(), err); err != nil {
			return nil, err
		}
		if exact != nil {
			return around(sound, r, exact)
		}
		return besideCandidates(sound, r), nil
	}, nil
}

// besideCandidates draws a plan beside the candidates of which it is none.
func besideCandidates(v *plan.Verified, r *design.Result) *figure.Chart {
	chosen, others := figure.ErrorsOf("this plan", v.Certificate()), []figure.Errors(nil)
	for _, c := range r.Candidates {
		e := figure.Errors{Name: c.Name + ", about", Mean: c.MeanSquaredError, Variances: []float64{c.MeanSquaredError}}
		if c.Made != nil {
			e = figure.ErrorsOf(c.Name, c.Made.Certificate())
		}
		if math.Abs(e.Mean/chosen.Mean-1) < 1e-9 && chosen.Name == "this plan" {
			chosen.Name += ": " + c.Name
			continue
		}
		others = append(others, e)
	}
	others = append(others, figure.Errors{Name: oneByOne, Mean: r.NumberByNumber, Variances: []float64{r.NumberByNumber}, Single: true})
	s := v.Mechanism().Spec()
	return figure.Plan(&s, chosen, others)
}

// aroundLevel is the probability of the intervals around exact answers.
const aroundLevel = 0.95

func around(v *plan.Verified, r *design.Result, exact []float64) (figure.Picture, error) {
	radii, err := v.Mechanism().Radii(1 - aroundLevel)
	if err != nil {
		return nil, err
	}
	alone := math.Sqrt(r.NumberByNumber) * math.Sqrt2 * math.Erfinv(aroundLevel)
	if !r.Gaussian {
		alone = math.Sqrt(r.NumberByNumber/2) * -math.Log(1-aroundLevel)
	}
	s := v.Mechanism().Spec()
	name := func(how string, radius float64) string {
		return fmt.Sprintf("%s: %g %% of answers are within ± %.3g", how, 100*aroundLevel, radius)
	}
	return figure.Around(&s, exact, []figure.Band{
		{Name: name(oneByOne, alone), Radii: []float64{alone}},
		{Name: name("released by this plan", slices.Max(radii)), Radii: radii},
	}), nil
}

// exactAnswers are those to the counts of --values, nil without them.
func (o *plotOptions) exactAnswers(w *plan.Workload) ([]float64, error) {
	if o.values == "" {
		return nil, nil
	}
	if len(o.files) > 1 || w.Kind == plan.Marginals || w.Kind == plan.Ranges {
		return nil, shell.BadInput("", fmt.Errorf("values = %s, want none with %s, or the counts of the cells of one plan of the kind prefix, identity or matrix", check.Shortened(o.values), w.Kind))
	}
	var counts []float64
	for text := range strings.SplitSeq(o.values, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
		if err != nil || n < 0 {
			return nil, shell.BadInput("", fmt.Errorf("values = %s, want whole numbers of at least 0, the counts of the cells", check.Shortened(o.values)))
		}
		counts = append(counts, float64(n))
	}
	if len(counts) != w.Cells {
		return nil, shell.BadInput("", fmt.Errorf("values = %d counts, want %d, one for each cell of the plan", len(counts), w.Cells))
	}
	if w.Kind == plan.Prefix {
		for i := range counts[1:] {
			counts[i+1] += counts[i]
		}
	}
	if w.Kind != plan.Matrix {
		return counts, nil
	}
	exact := make([]float64, len(w.Rows))
	for i, row := range w.Rows {
		for j, a := range row {
			exact[i] += float64(a) * counts[j]
		}
	}
	return exact, nil
}

// published is what `release` writes as JSON, as far as it is drawn.
type published struct {
	Kind     string   `json:"kind"`
	Workload string   `json:"workload"`
	Columns  []string `json:"columns"`
	Epsilon  float64  `json:"epsilon"`
	Delta    float64  `json:"delta"`
	Level    float64  `json:"level"`
	Answers  []struct {
		Of         []string `json:"of"`
		Key        string   `json:"key"`
		Value      float64  `json:"value"`
		Lower      float64  `json:"lower"`
		Upper      float64  `json:"upper"`
		LowerOfAll *float64 `json:"lower_of_all"`
		UpperOfAll *float64 `json:"upper_of_all"`
	} `json:"answers"`
}

var startOfAnswers = regexp.MustCompile(`^\s*\{\s*"schema"\s*:\s*[0-9]+\s*,\s*"kind"\s*:\s*"[a-z]+"`)

// mostAnswers is how many fit into a figure.
const mostAnswers = 400

// answers draws what a release wrote; nil if the file is another one.
func (o *plotOptions) answers() (*figure.Chart, error) {
	info, err := os.Stat(o.file)
	switch {
	case err != nil && isMechanism(o.file):
		return nil, shell.BadInput("noisewright plot --profile "+strings.Join(o.files, " ")+" -o "+o.Output, fmt.Errorf("%s is no file, want one; mechanisms are drawn with --profile or --trade-off", check.Quoted(o.file)))
	case err != nil || !info.Mode().IsRegular(): // a pipe is read once
		return nil, nil //nolint:nilnil // as said
	}
	in, err := o.Open(o.file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if head, _ := in.Peek(100); !startOfAnswers.Match(head) {
		return nil, nil //nolint:nilnil // as said
	}
	var p published
	switch err := json.NewDecoder(in).Decode(&p); {
	case err != nil:
		return nil, shell.BadFile(o.file, fmt.Errorf("no answers of a release: %w", err))
	case p.Kind == "quantile" || p.Kind == "value" || len(p.Answers) == 0:
		return nil, shell.BadFile(o.file, fmt.Errorf("a release of the kind %s, of which there is no figure, want one of a workload or a histogram", check.Quoted(p.Kind)))
	case len(p.Answers) > mostAnswers:
		return nil, shell.BadFile(o.file, fmt.Errorf("%d answers, want at most %d in a figure; the CSV file of release workload has all", len(p.Answers), mostAnswers))
	case len(o.files) > 1 || o.log || o.values != "" || o.table != "" || o.csv != "":
		return nil, shell.BadInput("", fmt.Errorf("%s has answers of a release, want it alone, without log, values, table and csv", o.file))
	}
	var all []figure.Answer
	for _, a := range p.Answers {
		named := slices.DeleteFunc(slices.Clone(a.Of), func(label string) bool { return label == "" })
		made := figure.Answer{Name: cmp.Or(a.Key, strings.Join(named, ", "), "all"), Value: a.Value, Lower: a.Lower, Upper: a.Upper, Lowest: a.Lower, Highest: a.Upper}
		if a.LowerOfAll != nil && a.UpperOfAll != nil {
			made.Lowest, made.Highest = *a.LowerOfAll, *a.UpperOfAll
		}
		all = append(all, made)
	}
	title := fmt.Sprintf("ε = %v, δ = %v of all answers together", p.Epsilon, p.Delta)
	return figure.Answers(title, strings.Join(p.Columns, ", "), fmt.Sprintf("interval, which has the exact one with a probability of at least %v", p.Level), all), nil
}
