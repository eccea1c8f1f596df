package main

import (
	_ "embed" // the published numbers
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/cmd/papers/drolearn"
)

// droLearningReport is what is printed as JSON. Errors are in percent.
type droLearningReport struct {
	Splits  int                 `json:"splits"`
	Sets    []droLearningSet    `json:"sets"`
	Means   []droLearningErrors `json:"means"` // over the sets
	Skipped []string            `json:"skipped"`
	Seconds float64             `json:"seconds"`
}

// droLearningSet is what was learned from a data set.
type droLearningSet struct {
	Set        string              `json:"set"`
	Rows       int                 `json:"rows"`
	Classes    int                 `json:"classes"`
	Numbers    int                 `json:"numbers"`
	Categories int                 `json:"categories"`
	Releases   int                 `json:"releases"` // that a person enters
	Draws      int                 `json:"draws"`    // in a split
	Budgets    []droComposed       `json:"budgets"`
	Errors     []droLearningErrors `json:"errors"`
	Tests      []droLearningTest   `json:"tests"`
}

// droComposed is what releases of designed noise with this budget amount to.
type droComposed struct {
	Epsilon         float64 `json:"epsilon"`
	Delta           float64 `json:"delta"`
	Releases        int     `json:"releases"`
	TotalEpsilon    float64 `json:"total_epsilon"`
	TotalDeltaLower float64 `json:"total_delta_lower"`
	TotalDeltaUpper float64 `json:"total_delta_upper"`
}

// droLearningErrors are the errors with a noise. The errors of means are standard errors over
// the splits, as if these were independent.
type droLearningErrors struct {
	Noise        string            `json:"noise"`
	In           float64           `json:"in_sample"`
	InError      *float64          `json:"in_sample_error"`
	Out          float64           `json:"out_of_sample"`
	OutError     *float64          `json:"out_of_sample_error"`
	PublishedIn  *float64          `json:"published_in_sample"`
	PublishedOut *float64          `json:"published_out_of_sample"`
	added        drolearn.Estimate // out of sample, to those without noise
}

// droLearningTest is a paired t test, two-sided, of a difference of errors.
type droLearningTest struct {
	Noise      string  `json:"noise"`
	Than       string  `json:"than"`
	Sample     string  `json:"sample"`     // in or out
	Difference float64 `json:"difference"` // negative: Noise errs less
	T          float64 `json:"t"`
	P          float64 `json:"p"`
	Verdict    string  `json:"verdict"`
}

// The rows of a step with ε = 1 and δ = 0.1.
const (
	designedAtOne  = "designed, epsilon 1 a step"
	dependentAtOne = "data-dependent, epsilon 1 a step"
)

// droTested are the pairs of noises to be told apart.
var droTested = [][2]string{
	{"analytic-gaussian", "gaussian"}, {"truncated-laplace", "analytic-gaussian"}, {"designed", "truncated-laplace"}, {dependentAtOne, designedAtOne},
}

// significant is the level of the tests.
const significant = 0.05

// droLearningPublished are the numbers of Tables 2 and 3, in percent, as far as we have them.
//
//go:embed published/dro-learning.csv
var droLearningPublished string

// publishedErrors returns the errors of a set in a table by noise.
func publishedErrors(table, set string) (map[string][2]float64, error) {
	records, err := csv.NewReader(strings.NewReader(droLearningPublished)).ReadAll()
	if err != nil {
		return nil, err
	}
	out := map[string][2]float64{}
	for _, r := range records[1:] {
		if r[0] != table || r[1] != set {
			continue
		}
		v, err := floats(r[3:5])
		if err != nil {
			return nil, err
		}
		out[r[2]] = [2]float64(v)
	}
	return out, nil
}

// fill adds the errors, what was published, and the tests.
func (s *droLearningSet) fill(table string, errs []drolearn.Errors) error {
	published, err := publishedErrors(table, s.Set)
	if err != nil {
		return err
	}
	byName := map[string]drolearn.Errors{}
	for _, e := range errs {
		byName[e.Noise] = e
		in, out := drolearn.NewEstimate(e.In), drolearn.NewEstimate(e.Out)
		row := droLearningErrors{Noise: e.Noise, In: 100 * in.Mean, InError: shell.Finite(100 * in.Error), Out: 100 * out.Mean, OutError: shell.Finite(100 * out.Error)}
		row.added = drolearn.Paired(e.Out, errs[0].Out).Difference
		if p, ok := published[e.Noise]; ok {
			row.PublishedIn, row.PublishedOut = &p[0], &p[1]
		}
		s.Errors = append(s.Errors, row)
	}
	for _, pair := range droTested {
		a, b := byName[pair[0]], byName[pair[1]]
		if a.In == nil || b.In == nil {
			continue
		}
		for _, sample := range []struct {
			name string
			a, b []float64
		}{{"in", a.In, b.In}, {"out", a.Out, b.Out}} {
			t := drolearn.Paired(sample.a, sample.b)
			verdict := "no difference shown"
			switch {
			case t.P < significant && t.Difference.Mean < 0:
				verdict = "better"
			case t.P < significant:
				verdict = "worse"
			}
			s.Tests = append(s.Tests, droLearningTest{pair[0], pair[1], sample.name, 100 * t.Difference.Mean, finiteOrMost(t.T), t.P, verdict})
		}
	}
	return nil
}

// finiteOrMost is what JSON can write of a statistic.
func finiteOrMost(t float64) float64 { return max(-math.MaxFloat64, min(math.MaxFloat64, t)) }

// average takes the means over the sets.
func (r *droLearningReport) average() {
	for k, first := range r.Sets[0].Errors {
		m := droLearningErrors{Noise: first.Noise}
		for _, s := range r.Sets {
			m.In += s.Errors[k].In / float64(len(r.Sets))
			m.Out += s.Errors[k].Out / float64(len(r.Sets))
		}
		r.Means = append(r.Means, m)
	}
}

func (r droLearningReport) records() [][]string {
	out := [][]string{{
		"set", "rows", "releases", "total_epsilon", "total_delta_upper", "splits", "draws", "noise",
		"in_sample", "in_sample_error", "out_of_sample", "out_of_sample_error", "published_in_sample", "published_out_of_sample",
	}}
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return fmt.Sprintf("%.4g", *v)
	}
	for _, s := range r.Sets {
		for _, e := range s.Errors {
			b := s.budgetOf(e.Noise)
			out = append(out, record(
				s.Set, s.Rows, s.Releases, b.TotalEpsilon, shell.DigitsUp(b.TotalDeltaUpper), r.Splits, s.Draws, e.Noise,
				fmt.Sprintf("%.4f", e.In), number(e.InError), fmt.Sprintf("%.4f", e.Out), number(e.OutError), number(e.PublishedIn), number(e.PublishedOut),
			))
		}
	}
	return out
}

// budgetOf is that of designed noise beside a row.
func (s droLearningSet) budgetOf(noise string) droComposed {
	if noise == designedAtOne || noise == dependentAtOne {
		return s.Budgets[1]
	}
	return s.Budgets[0]
}

// write prints a table, and what it does not promise.
func (r droLearningReport) write(b *strings.Builder, files []string) {
	pair := func(in, out float64) string { return fmt.Sprintf("%.2f / %.2f", in, out) }
	lines := [][]string{{"set", "noise", "errors in / out of sample, %", "standard errors", "published"}}
	for _, s := range r.Sets {
		name := s.Set
		for _, e := range s.Errors {
			deviations, published := "", ""
			if e.InError != nil {
				deviations = pair(*e.InError, *e.OutError)
			}
			if e.PublishedIn != nil {
				published = pair(*e.PublishedIn, *e.PublishedOut)
			}
			lines = append(lines, []string{name, e.Noise, pair(e.In, e.Out), deviations, published})
			name = ""
		}
	}
	name := "mean of the sets"
	for _, m := range r.Means {
		lines = append(lines, []string{name, m.Noise, pair(m.In, m.Out), "", ""})
		name = ""
	}
	shell.WriteColumns(b, lines, "<<>>>")
	b.WriteByte('\n')
	lines = [][]string{{"set", "noise", "than", "sample", "difference", "t", "p", ""}}
	for _, s := range r.Sets {
		name := s.Set
		for _, t := range s.Tests {
			lines = append(lines, []string{name, t.Noise, t.Than, t.Sample, fmt.Sprintf("%+.3f", t.Difference), fmt.Sprintf("%.1f", t.T), fmt.Sprintf("%.2g", t.P), t.Verdict})
			name = ""
		}
	}
	shell.WriteColumns(b, lines, "<<<<>>><")
	b.WriteByte('\n')
	lines = [][]string{{"set", "rows", "draws", "releases of a person", "epsilon, delta of one", fmt.Sprintf("delta of all at epsilon %d", droTotalEpsilon)}}
	for _, s := range r.Sets {
		for _, c := range s.Budgets {
			lines = append(lines, record(s.Set, s.Rows, s.Draws, c.Releases, fmt.Sprintf("%.4g, %.4g", c.Epsilon, c.Delta), shell.DigitsUp(c.TotalDeltaUpper)))
		}
	}
	shell.WriteColumns(b, lines, "<>>>>>")
	b.WriteString("That is no guarantee: the last column bounds how likely privacy may fail, with designed noise.\n\n")
	shell.WriteRows(b, []shell.Row{{"splits", strconv.Itoa(r.Splits)}, {"time", fmt.Sprintf("%gs", r.Seconds)}, {"files", strings.Join(files, ", ")}})
}

// draw shows how much each noise adds to the errors out of sample, set by set, with bars of a
// standard error either way.
func (r droLearningReport) draw(out io.Writer) error {
	p := figure.New()
	p.Y.Label.Text = "errors that noise adds, out of sample (percentage points)"
	var ticks plot.ConstantTicks
	for i, s := range r.Sets {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: s.Set})
	}
	var most float64
	for k, noise := range r.Sets[0].Errors[1:] {
		line := series{style: figure.Solid(figure.Palette[k%len(figure.Palette)], 1)}
		for i, s := range r.Sets {
			added := s.Errors[k+1].added
			line.add(float64(i)+0.1*float64(k)-0.25, 100*added.Mean, 100*added.Error)
			most = max(most, 100*added.Mean+100*added.Error)
		}
		dots, err := line.addBars(p)
		if err != nil {
			return err
		}
		p.Legend.Add(noise.Noise, dots)
	}
	p.Legend.Top = true
	p.X.Tick.Marker = ticks
	p.X.Tick.Label.Rotation = math.Pi / 6
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	p.X.Min, p.X.Max = -0.5, float64(len(ticks))-0.5
	p.Y.Max = 1.3 * most
	return figure.Write(p, out, "svg", 22*vg.Centimeter, 12*vg.Centimeter)
}
