package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/internal/taskspace"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
)

// taEpsilons are those of figure 4, whose axis is 1/ε.
var taEpsilons = []float64{1, 1.5, 3, 5, 10, 50}

// taDeltas are those of the designed noise beside it.
var taDeltas = []float64{1e-5, 1e-3}

// The protocols of the experiment.
const (
	// The noise of the authors' program: its scale is Δ/(√2·ε), and Δ the largest
	// distance in the data. It is (√2·ε)-private for nobody but these people.
	protocolPublished = "published"
	// The same with the scale Δ/ε of the paper.
	protocolFormula = "formula"
	// Clipping to a domain, so that the promise holds for every input.
	protocolDomain = "domain"
)

// taLoss is a point of figure 4.
type taLoss struct {
	protocol, approach string
	epsilon, delta     float64
	z                  int
	train, test        float64   // per hour
	hours              []float64 // of test
}

// taExperiment is figure 4: hourly household power, its mean estimated with
// double weight from 8 to 20 h.
type taExperiment struct {
	train, test mat.Matrix
	task        *mat.Dense
	names       []string
	coordinates *taskspace.Coordinates
	moments     taskspace.Moments
	radius      float64
	curve       *latent.Curve
	losses      []taLoss
}

const taHours = 24

// newTAExperiment reads the profiles, normalizes all of them together, as the
// authors do, and takes the first 70 % for training.
func newTAExperiment(a *shell.Streams, file string, curve *latent.Curve) (*taExperiment, error) {
	f, err := a.ReadFrame(file, csvfile.Options{}, func(name string) bool { return csvfile.Matches([]string{"h[0-9][0-9]"}, name) }, false)
	if err != nil {
		return nil, err
	}
	want := make([]string, taHours)
	for h := range want {
		want[h] = fmt.Sprintf("h%02d", h)
	}
	if !slices.Equal(f.Names, want) || f.Rows < 100 {
		return nil, shell.BadInput("", fmt.Errorf("%s: want columns h00 to h23, the mean power of each hour, and at least 100 days", shell.InputName(file)))
	}
	low, high := slices.Min(f.Data), slices.Max(f.Data)
	for i, v := range f.Data {
		f.Data[i] = (v - low) / (high - low)
	}
	all := mat.NewDense(f.Rows, taHours, f.Data)
	split := f.Rows * 7 / 10
	e := &taExperiment{
		train: all.Slice(0, split, 0, taHours), test: all.Slice(split, f.Rows, 0, taHours),
		task: taskspace.Identity(taHours), names: want, curve: curve,
	}
	for h := 8; h < 20; h++ {
		e.task.Set(h, h, 2)
	}
	if e.moments, err = taskspace.NewMoments(e.train); err != nil {
		return nil, shell.BadInput("", err)
	}
	if e.coordinates, err = taskspace.NewCoordinates(e.moments, e.task, 0); err != nil {
		return nil, shell.BadInput("", err)
	}
	e.radius = taskspace.BallRadii(e.coordinates.Transform(e.train), 1)[taHours-1]
	return e, nil
}

// rows returns the first task coordinates with squared scales, as rows of an
// encoder that clips nothing.
func (e *taExperiment) rows(squared []float64) *taskspace.Encoder {
	var entries []float64
	for i, s := range squared {
		if s == 0 {
			continue
		}
		for _, a := range e.coordinates.Analysis.RawRowView(i) {
			entries = append(entries, math.Sqrt(s)*a)
		}
	}
	return &taskspace.Encoder{Rows: mat.NewDense(len(entries)/taHours, taHours, entries), Mean: e.coordinates.Mean}
}

// sampled evaluates an encoder with noise whose variances are a function of the
// encoded people of the set that is evaluated.
func (e *taExperiment) sampled(l taLoss, encoder *taskspace.Encoder, variances func(u *mat.Dense) []float64) error {
	for _, set := range []struct {
		data  mat.Matrix
		value *float64
		hours *[]float64
	}{{e.train, &l.train, nil}, {e.test, &l.test, &l.hours}} {
		v := variances(encoder.Encode(set.data))
		l.z = len(v)
		d, err := taskspace.NewDecoder(encoder.UnclippedMoments(e.moments), v)
		if err != nil {
			return err
		}
		loss, err := taskspace.ExpectedLoss(e.task, encoder, d, set.data, v)
		if err != nil {
			return err
		}
		*set.value = loss.Total / taHours
		if set.hours != nil {
			*set.hours = loss.Output
		}
	}
	e.losses = append(e.losses, l)
	return nil
}

// largestDistance returns the largest ℓ1 distance of two rows: what the authors
// take for the sensitivity.
func largestDistance(u *mat.Dense) float64 {
	rows, _ := u.Dims()
	largest := 0.0
	for i := range rows {
		for j := range i {
			d, other := 0.0, u.RawRowView(j)
			for k, v := range u.RawRowView(i) {
				d += math.Abs(v - other[k])
			}
			largest = max(largest, d)
		}
	}
	return largest
}

// approaches evaluates the three approaches of the paper at one ε.
func (e *taExperiment) approaches(protocol string, epsilon float64) error {
	factor := 2.0 // Laplace noise of scale b has the variance 2b²
	if protocol == protocolPublished {
		factor = 1
	}
	noise := func(u *mat.Dense) []float64 {
		_, z := u.Dims()
		b := largestDistance(u) / epsilon
		return slices.Repeat([]float64{factor * b * b}, z)
	}
	aware, err := taskspace.Waterfill(e.coordinates.Lambda, e.radius, epsilon)
	if err != nil {
		return err
	}
	for _, approach := range []struct {
		name    string
		encoder *taskspace.Encoder
	}{
		{latent.TaskAware, e.rows(aware.Sigma2)},
		{latent.TaskAgnostic, &taskspace.Encoder{Rows: taskspace.Identity(taHours), Mean: e.coordinates.Mean}},
		{latent.PrivacyAgnostic, e.rows([]float64{1, 1, 1})},
	} {
		if err := e.sampled(taLoss{protocol: protocol, approach: approach.name, epsilon: epsilon}, approach.encoder, noise); err != nil {
			return err
		}
	}
	return nil
}

// designed evaluates designed noise per coordinate where, as in the paper's
// experiment, the sensitivity is what the data shows: the range of each coordinate.
func (e *taExperiment) designed(ctx context.Context, epsilon, delta float64) error {
	ranges := func(u *mat.Dense) []float64 {
		_, z := u.Dims()
		out := make([]float64, z)
		for i := range out {
			column := mat.Col(nil, i, u)
			out[i] = slices.Max(column) - slices.Min(column)
		}
		return out
	}
	half := ranges(e.coordinates.Transform(e.train))
	for i := range half {
		half[i] /= 2
	}
	points, err := e.curve.Split(ctx, e.coordinates.Lambda, half, epsilon, delta)
	if err != nil {
		return err
	}
	used := make([]float64, len(points))
	var unit []float64
	for i, p := range points {
		if p != nil {
			used[i] = 1
			unit = append(unit, p.Variance)
		}
	}
	return e.sampled(taLoss{protocol: protocolFormula, approach: string(bundle.Designed), epsilon: epsilon, delta: delta}, e.rows(used), func(u *mat.Dense) []float64 {
		v := ranges(u)
		for i := range v {
			v[i] *= v[i] * unit[i]
		}
		return v
	})
}

// taClip is the share of the training days that clipping to the domain leaves
// alone, coordinate by coordinate.
const taClip = 0.99

// domain evaluates what can be promised to everybody.
func (e *taExperiment) domain(ctx context.Context, epsilon, delta float64) error {
	r, err := latent.Design(ctx, latent.Problem{
		Features: e.names, Data: e.train, Task: e.task, Promise: bundle.Promise{Epsilon: epsilon, Delta: delta}, Domain: bundle.Box, Clip: taClip,
	}, latent.Options{Curve: e.curve, Kinds: []bundle.Kind{noise.Laplace, noise.Gaussian, noise.TruncatedLaplace, bundle.Designed}})
	if err != nil {
		return err
	}
	for _, c := range r.Candidates {
		approach := string(c.Noise)
		switch {
		case c.Noise == noise.Laplace && delta == taDeltas[0]:
			approach = c.Encoder // the paper's approaches; they do not use δ
		case c.Noise == noise.Laplace || c.Encoder != latent.TaskAware:
			continue
		}
		l := taLoss{protocol: protocolDomain, approach: approach, epsilon: epsilon, delta: delta, z: c.Z, train: c.Loss / taHours}
		if c.Noise == noise.Laplace {
			l.delta = 0
		}
		test, err := r.Loss(c, e.test)
		if err != nil {
			return err
		}
		l.test, l.hours = test.Total/taHours, test.Output
		e.losses = append(e.losses, l)
	}
	return nil
}

// find returns a point.
func (e *taExperiment) find(protocol, approach string, epsilon, delta float64) *taLoss {
	for i := range e.losses {
		if l := &e.losses[i]; l.protocol == protocol && l.approach == approach && l.epsilon == epsilon && l.delta == delta {
			return l
		}
	}
	return nil
}

func (e *taExperiment) run(ctx context.Context, line *shell.Progress) error {
	for i, epsilon := range taEpsilons {
		line.Count("evaluating", i, len(taEpsilons))
		for _, protocol := range []string{protocolPublished, protocolFormula} {
			if err := e.approaches(protocol, epsilon); err != nil {
				return err
			}
		}
		for _, delta := range taDeltas {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := e.designed(ctx, epsilon, delta); err != nil {
				return err
			}
			if err := e.domain(ctx, epsilon, delta); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *taExperiment) records() [][]string {
	out := [][]string{{"protocol", "approach", "epsilon", "one_over_epsilon", "delta", "z", "train_loss", "test_loss"}}
	for _, l := range e.losses {
		out = append(out, record(l.protocol, l.approach, l.epsilon, digits6(1/l.epsilon), l.delta, l.z, digits6(l.train), digits6(l.test)))
	}
	return out
}

func (e *taExperiment) hourRecords() [][]string {
	out := [][]string{{"protocol", "approach", "delta", "hour", "test_loss"}}
	for i := range e.losses {
		l := &e.losses[i]
		if l.epsilon != hoursEpsilon {
			continue
		}
		for h, v := range e.unweighted(l) {
			out = append(out, record(l.protocol, l.approach, l.delta, h, digits6(v)))
		}
	}
	return out
}

func digits6(v float64) string { return fmt.Sprintf("%.6g", v) }

// unweighted are the losses of hours without their weights in the task.
func (e *taExperiment) unweighted(l *taLoss) []float64 {
	out := slices.Clone(l.hours)
	for h := range out {
		w := e.task.At(h, h)
		out[h] /= w * w
	}
	return out
}
