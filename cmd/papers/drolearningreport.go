// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed" // the published numbers
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
)

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
func (r droLearningReport) write(b *strings.Builder) {
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
	shell.WriteRows(b, []shell.Row{{"splits", strconv.Itoa(r.Splits)}, {"time", fmt.Sprintf("%gs", r.Seconds)}})
}

// farOff is from how many percentage points on a published error is another, if standard errors are small.
const farOff = 3

// against says which published errors out of sample ours are not, a line for each set, and where an order is another.
func (r droLearningReport) against() (texts []string) {
	for _, s := range r.Sets {
		var parts []string
		for _, e := range s.Errors {
			if e.PublishedOut != nil && math.Abs(e.Out-*e.PublishedOut) >= max(farOff, 2*bar(e.OutError)) {
				parts = append(parts, fmt.Sprintf("%s %.1f (published %.1f)", e.Noise, e.Out, *e.PublishedOut))
			}
		}
		if parts != nil {
			texts = append(texts, fmt.Sprintf("%s, errors out of sample in %%: %s", s.Set, strings.Join(parts, ", ")))
		}
		for _, t := range s.Tests {
			if t.Noise == dependentAtOne && t.Sample == "out" && t.Difference > 0 {
				texts = append(texts, fmt.Sprintf("%s: data dependent noise errs %.2f points more than designed noise, where the paper has it err less", s.Set, t.Difference))
			}
		}
	}
	return texts
}

// draw shows what each noise adds to the errors out of sample, with bars of a standard error.
func (r droLearningReport) draw(out io.Writer) error {
	p := figure.New()
	p.Y.Label.Text = "added errors, out of sample (points)"
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
	p.X.Tick.Marker = ticks
	p.X.Tick.Label.Rotation = math.Pi / 6
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	p.X.Min, p.X.Max = -0.5, float64(len(ticks))-0.5
	p.Y.Max = 1.05 * most
	return writeRow(out, []*plot.Plot{p}, 22*vg.Centimeter, 12*vg.Centimeter)
}
