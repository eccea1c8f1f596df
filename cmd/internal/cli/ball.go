// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/joint"
	"github.com/noisewright/noisewright/cmd/internal/report"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

type designBallOptions struct {
	shell.Common
	problem ball.Problem
	bound   bool
}

func newDesignBallCommand(s *shell.Streams) *cobra.Command {
	o := &designBallOptions{Common: shell.Common{Streams: s}}
	f := shell.NewFlags(&cobra.Command{
		Use:   "design-ball --dimension D --epsilon E --delta D --sensitivity S --loss LOSS [-o NOISE]",
		Short: "Design noise of a vector, all coordinates by one draw",
		Long: `Find noise of a vector of two to eight coordinates, such as a location or an
embedding, that makes it (epsilon, delta)-differentially private for all values up
to the sensitivity apart in the Euclidean norm, and write it together with the proof.

The noise is uniform in a ball around 0 that is chosen at random, so its density
falls with the norm: balls and their weights are chosen for the smallest expected
loss of all such noise. Its delta is recomputed in exact arithmetic and rounded up,
as is its expected loss. With --bound multipliers are added that prove how much all
noise loses that keeps the promise, of any law: of two or three coordinates and the
losses l1 and l2. That takes some seconds, and so does each verification.

The loss is of the norm: l1 is its mean, l2 that of its square, lp:P that of its
power P. At small epsilon or many coordinates there is little to win over noise
whose density falls as exp(-epsilon*norm/sensitivity): compare says how much.`,
		Example: `  noisewright design-ball --dimension 2 --epsilon 1 --delta 1e-6 --sensitivity 1 --loss l2 -o place.json
  noisewright compare place.json
  noisewright sample --table place.json --value 3.5,-1.25 -n 5`,
	})
	f.Integer(&o.problem.Dimension, "dimension", "", limits.BallMinDimension, limits.BallMaxDimension, fmt.Sprintf("number of coordinates, from %d to %d", limits.BallMinDimension, limits.BallMaxDimension))
	f.Privacy(&o.problem.Privacy, shell.PositiveDelta)
	f.Caution(&o.Common, &o.problem.Privacy)
	f.Loss(&o.problem.Loss)
	f.Bool(&o.bound, "bound", "prove a lower bound on the loss of all noise; of 2 or 3 coordinates, l1 or l2")
	f.Output(&o.Common, "file to write, - for standard output (default none)", "json")
	f.Summary(&o.Common, "output")
	return f.Run(o.run)
}

func (o *designBallOptions) run(ctx context.Context) error {
	if power, ok := o.problem.Power(); ok && o.bound { // lp.BoundBall says the same, after the design
		errs := check.In("lp")
		errs.If(o.problem.Dimension > 3, "dimension", o.problem.Dimension, "2 or 3 for a bound")
		errs.If(power != 1 && power != 2, "loss", o.problem.Loss.Name(), "l1 or l2 for a bound")
		if err := errs.Err(); err != nil {
			return shell.BadInput("noisewright design-ball --help", err)
		}
	}
	w, err := o.Reserve(o.Output)
	if err != nil {
		return err
	}
	defer w.Discard()
	o.Progress().Watch("designing")
	v, err := lp.DesignBall(ctx, o.problem)
	if err == nil && o.bound {
		v, err = lp.BoundBall(ctx, v)
	}
	switch {
	case errors.Is(err, dp.ErrInvalid):
		return shell.BadInput("noisewright design-ball --help", err)
	case err != nil:
		return err
	}
	m := v.Mechanism()
	a := about(report.Finding{Mechanism: m, Proven: v})
	return o.Finish(w, m.Encode, shell.Object{a.Problem, a.Certified, a.Size}, append(a.Rows, shell.When(o.Output != "", "noise", o.Output)), nil)
}

func (o *plotOptions) ball(m *ball.Noise) (figureOf, error) {
	if o.values != "" || o.table != "" {
		return nil, shell.BadInput("", errors.New("values and table are for kernels, want neither with noise on balls"))
	}
	return func(context.Context, proof.Proven) (figure.Picture, error) { return figure.Ball(m, o.log), nil }, nil
}

// jointContender has the loss of the noise rounded up, and floating-point values of the others.
type jointContender struct {
	Name   string   `json:"name"`
	Loss   *float64 `json:"expected_loss"`
	Ratio  *float64 `json:"ratio_to_design"`
	Source string   `json:"source"`
}

func (o *compareOptions) compareBall(ctx context.Context, p proof.Proven) error {
	v := p.(*ball.Verified)
	s := v.Mechanism().Spec()
	power, _ := s.Power()
	design := shell.FloatUp(v.Certificate().ExpectedLoss)
	list := []jointContender{{"balls", design, nil, "certified"}}
	for _, b := range joint.Baselines(s.Dimension, s.Privacy, power) {
		list = append(list, jointContender{b.Name, shell.Finite(b.Loss), nil, b.Source})
	}
	each, err := o.eachCoordinate(ctx, s.Problem)
	if err != nil {
		return err
	}
	list = append(list, each)
	for i := range list {
		if x := list[i].Loss; x != nil && design != nil && *design > 0 {
			list[i].Ratio = shell.Finite(*x / *design)
		}
	}
	var lower *float64
	known := "no lower bound is known"
	if b := v.Certificate().LowerBound; b.Sign() > 0 {
		lower, known = shell.FloatDown(b), "at least "+shell.DigitsDown(*shell.FloatDown(b))+" of all noise"
	}
	object := shell.Object{"dimension", s.Dimension, report.Promise(s.Privacy), "loss", s.Loss.Name(), "lower_bound", lower, "mechanisms", list}
	return o.PrintText(object, func(b *strings.Builder) {
		fmt.Fprintf(b, "epsilon %v, delta %v, values of %d coordinates up to %v apart in the Euclidean norm\n", s.Epsilon, s.Delta, s.Dimension, s.Sensitivity)
		fmt.Fprintf(b, "the mean of %s; %s\n\n", report.MeanNorm(s.Loss), known)
		lines := [][]string{{"mechanism", "expected loss", "of design", "source"}}
		for i, m := range list {
			line := []string{m.Name, "-", "-", m.Source}
			if m.Loss != nil {
				line[1] = fmt.Sprintf("%.7g", *m.Loss)
			}
			if m.Ratio != nil {
				line[2] = fmt.Sprintf("%.4f", *m.Ratio)
			}
			if i == 0 {
				line[1] = shell.DigitsUp(*m.Loss)
			}
			lines = append(lines, line)
		}
		shell.WriteColumns(b, lines, "<>><")
	})
}

// eachCoordinate designs a table for each coordinate, for its share of epsilon and delta, as one coordinate may change
// by all of the sensitivity.
func (o *compareOptions) eachCoordinate(ctx context.Context, p ball.Problem) (jointContender, error) {
	out := jointContender{Name: "tables", Source: "one for each coordinate, designed for its share of epsilon and delta"}
	share := dp.Privacy{Epsilon: p.Epsilon / float64(p.Dimension), Delta: p.Delta / float64(p.Dimension), Sensitivity: p.Sensitivity}
	power, _ := p.Power()
	if power != 1 && power != 2 || share.Epsilon < lp.Limits.Epsilon.Min || share.Delta < lp.Limits.Delta.Min || !lp.Limits.Sensitivity.Has(p.Sensitivity) {
		out.Source += "; not for this problem"
		return out, nil
	}
	options := shell.DesignOptions()
	options.Gap, options.TimeLimit = 0.01, shell.CoarseTime
	r, _, err := shell.Design(ctx, dp.Problem{Privacy: share, Loss: p.Loss}, options)
	if err != nil {
		return out, err
	}
	t := r.Verified.Mechanism()
	if power == 2 {
		expected, _ := r.Verified.Certificate().ExpectedLoss.Float64()
		out.Loss = shell.Finite(expected * float64(p.Dimension))
	} else {
		out.Loss = shell.Finite(meanNorm(t, p.Dimension))
	}
	return out, nil
}

// meanNorm returns the mean norm of so many independent draws from a table: √s = ∫ (1 − e^(−ts))·t^(−3/2) dt/(2√π), and
// the mean of e^(−t·Σx²) is a power of that of one.
func meanNorm(t *tables.Table, coordinates int) float64 {
	g := t.Grid()
	step, _ := g.Step().Float64()
	cell := step * float64(g.PointsPerCell)
	reach := cell * float64(t.Cells())
	laplace := func(a float64) float64 { // with √t = a
		sum := float64(t.Atom()) * 0x1p-64
		for i := range t.Cells() {
			x := step * (float64(g.FirstPoint(i)) - 0.5)
			from, to := a*x, a*(x+cell)
			mean := math.Exp(-from * to)
			if to-from > 1e-6 {
				mean = math.Sqrt(math.Pi) / 2 * (math.Erf(to) - math.Erf(from)) / (to - from)
			}
			sum += float64(t.Weight(i)) * 0x1p-64 * mean
		}
		return sum
	}
	// With a = e^u, ∫ (1 − φ(a)^n)·e^(−u) du/√π; far out φ is 0, and far in 1 − φ^n is of the order (a·reach)².
	const steps = 600
	low, high := math.Log(1e-6/reach), math.Log(1e3/cell)
	h, sum := (high-low)/steps, 0.0
	for i := range steps {
		u := low + h*(float64(i)+0.5)
		sum += h * (1 - math.Pow(laplace(math.Exp(u)), float64(coordinates))) * math.Exp(-u)
	}
	return (sum + math.Exp(-high)) / math.Sqrt(math.Pi)
}
