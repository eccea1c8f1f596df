// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/noisewright/noisewright/cmd/internal/portrait"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/subset"
)

// comparison is what `compare --json` prints, as far as it is shown.
type comparison struct {
	Objective  string   `json:"objective"` // of a randomizer
	LowerBound *float64 `json:"lower_bound"`
	Mechanisms []struct {
		Name          string   `json:"name"`
		Loss          *float64 `json:"loss"`             // of a table
		MeanLoss      *float64 `json:"mean_loss"`        // of a randomizer
		WorstLoss     *float64 `json:"worst_loss"`       //
		Total         *float64 `json:"total_variance"`   // of a subset selection
		Largest       *float64 `json:"largest_variance"` //
		Ratio         *float64 `json:"ratio_to_bound"`   //
		Suboptimality *float64 `json:"suboptimality"`
		Source        string   `json:"source"`
		Note          string   `json:"note"`
	} `json:"mechanisms"`
}

type contender struct {
	Name  string   `json:"name"`
	Loss  *float64 `json:"loss"` // null: it does not apply
	Text  string   `json:"text,omitempty"`
	Above string   `json:"above,omitempty"` // the bound
	Note  string   `json:"note"`
}

type compared struct {
	Command    string          `json:"command,omitempty"`
	Epsilon    float64         `json:"epsilon"`
	Bound      *portrait.Bound `json:"bound"` // null: none
	Mechanisms []contender     `json:"mechanisms"`
}

// show puts a comparison into the words of the page. What was designed is first, its loss a
// bound; the others are approximations.
func (c *comparison) show() compared {
	var out compared
	if b := c.LowerBound; b != nil && *b > 0 {
		out.Bound = portrait.FloatDown(*b)
	}
	for i, m := range c.Mechanisms {
		loss := m.Loss
		if m.MeanLoss != nil {
			loss = m.MeanLoss
		}
		switch c.Objective {
		case string(local.Worst):
			loss = m.WorstLoss
		case string(subset.Total):
			loss = m.Total
		case string(subset.Largest):
			loss = m.Largest
		}
		shown := contender{Name: m.Name, Loss: loss, Note: m.Note}
		if m.Source != "" {
			shown.Note = strings.TrimSuffix(m.Source+"; "+m.Note, "; ")
		}
		if i == 0 && shown.Name != "designed" {
			shown.Name = "this " + shown.Name
		}
		if loss != nil {
			shown.Text = fmt.Sprintf("%.6g", *loss)
			if b := portrait.FloatUp(*loss); i == 0 && b != nil {
				shown.Text = b.Text
			}
		}
		above := m.Suboptimality
		if m.Ratio != nil {
			above = new(float64)
			*above = *m.Ratio - 1
		}
		if above != nil {
			shown.Above = fmt.Sprintf("%.3g %%", 100**above)
		}
		out.Mechanisms = append(out.Mechanisms, shown)
	}
	return out
}

func (s *study) compare(ctx context.Context, made subject) error {
	if !slices.Contains([]string{"table", "local", "subset"}, made.Kind) {
		return nil // compare takes no others
	}
	var c comparison
	if err := s.run.object(ctx, []string{"compare", "--table=-", "--json"}, made.text, &c); err != nil {
		return err
	}
	out := c.show()
	out.Command = commandLine([]string{"compare", operand(made.file)})
	return s.send("compared", out)
}

type curve struct {
	Name   string           `json:"name"`
	Points []portrait.Point `json:"points"`
}

const samples = 480

func (s *study) curves(_ context.Context, made subject) error {
	m, ok := made.mechanism.(interface{ Problem() dp.Problem })
	if !ok || made.Density == nil {
		return nil
	}
	p := m.Problem()
	names := []string{noise.Laplace, noise.Staircase, noise.AnalyticGaussian}
	if p.Query == dp.IntegerQuery {
		names = []string{noise.DiscreteLaplace}
	}
	left, right := made.Left, made.Right
	out := []curve{}
	for _, name := range names {
		m, err := noise.New(name, p.Privacy, p.Loss)
		if err != nil {
			continue // it does not apply
		}
		c := curve{Name: name}
		if name == noise.DiscreteLaplace {
			c.Points = portrait.Masses(m.Mass, left, right)
		} else {
			for i := range samples + 1 {
				x := left + (right-left)*float64(i)/samples
				c.Points = append(c.Points, portrait.Point{X: x, Y: m.Density(x) * made.Unit})
			}
		}
		out = append(out, c)
	}
	return s.send("curves", out)
}

// The points of the error against epsilon.
const (
	sweepPoints = 13
	sweepGap    = "0.01" // coarse: the whole certified band is drawn
	sweepTime   = "3s"   // of one design
)

// sweepEpsilons are around one epsilon, the nearest first.
func sweepEpsilons(epsilon float64) []float64 {
	const low, high = 0.05, 5
	if !(epsilon > 0) {
		epsilon = low
	}
	from := max(min(low, epsilon), epsilon/8)
	to := max(min(4*epsilon, high), epsilon)
	out := []float64{}
	for i := range sweepPoints {
		e := from * math.Pow(to/from, float64(i)/(sweepPoints-1))
		out = append(out, rounded(e, 3)) // what is shown is what was computed
	}
	distance := func(e float64) float64 { return math.Abs(math.Log(e / epsilon)) }
	slices.SortFunc(out, func(a, b float64) int { return cmp.Compare(distance(a), distance(b)) })
	return slices.Compact(out)
}

// sweep sends the error against epsilon, with all that it is compared with, point by point.
// A file that was dropped has no fields to vary.
func (s *study) sweep(ctx context.Context, made subject) error {
	if !s.Sweep || s.Kind == kindFile || s.Together && s.count > 1 {
		return nil
	}
	command, epsilon := "compare", made.Epsilon
	if s.Kind == kindKernel {
		command = "design-kernel"
	}
	for _, e := range sweepEpsilons(epsilon) {
		given := map[string]string{"epsilon": fmt.Sprint(e), "gap": sweepGap, "time-limit": sweepTime}
		if s.Kind != kindTable {
			given["gap"] = "0.05"
		}
		args := append(s.args(command, given), "--json")
		out, _, err := s.run.command(ctx, args, "", nil)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			continue // no noise there, or none in time: a point less
		}
		point, err := pointOf(out)
		if err != nil {
			return err
		}
		point.Epsilon = e
		if err := s.send("point", point); err != nil {
			return err
		}
	}
	return nil
}

func pointOf(out []byte) (compared, error) {
	var c comparison
	if err := json.Unmarshal(out, &c); err != nil {
		return compared{}, err
	}
	if len(c.Mechanisms) > 0 {
		return c.show(), nil
	}
	var m measured
	if err := json.Unmarshal(out, &m); err != nil || m.ExpectedLoss == nil {
		return compared{}, err
	}
	point := compared{Mechanisms: []contender{{Name: "designed", Loss: m.ExpectedLoss, Text: portrait.FloatUp(*m.ExpectedLoss).Text}}}
	if b := m.LowerBound; b != nil && *b > 0 {
		point.Bound = portrait.FloatDown(*b)
	}
	return point, nil
}
