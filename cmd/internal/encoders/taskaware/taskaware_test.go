// SPDX-License-Identifier: Apache-2.0

package taskaware

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
)

// twoNumbers are people with five features, of which two matter: the target is their
// difference, or whether it is positive.
func twoNumbers(people int, classes bool, seed uint64) *encoders.Data {
	r := encoders.Rand(seed, "people", 0)
	d := &encoders.Data{Features: []string{"a", "b", "c", "d", "e"}, X: dense.NewMatrix(people, 5), Target: encoders.Column{Name: "y"}}
	for i := range people {
		row := dense.Row(d.X, i)
		for j := range row {
			row[j] = 100*float64(j) + 10*r.NormFloat64() // not in one place
		}
		y := row[0] - row[1] + 100
		if !classes {
			d.Target.Values = append(d.Target.Values, 1000+y)
			continue
		}
		d.Target.Classes = []string{"low", "high"}
		label := 0
		if y > 0 {
			label = 1
		}
		d.Target.Labels = append(d.Target.Labels, label)
	}
	return d
}

func noiseOf(t *testing.T, kind bundle.Kind, domain bundle.Domain, z int, epsilon float64) (encoder.Body, encoder.Noise) {
	t.Helper()
	body := encoder.Body{Domain: domain, Radius: 1, Coordinates: z}
	n, err := encoder.NewNoise(t.Context(), kind, body, bundle.Promise{Epsilon: epsilon}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return body, n
}

var quick = Options{Steps: 150, Restarts: 1, Draws: 1, Seed: 3}

// TestBundleIsWhatWasTrained wants the released and decoded answers of the proven bundle to
// have the losses that were evaluated in floating point.
func TestBundleIsWhatWasTrained(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for name, c := range map[string]struct {
		classes bool
		kind    bundle.Kind
		domain  bundle.Domain
		z       int
		hidden  []int
		task    bool
	}{
		"numbers, box":     {kind: noise.Staircase, domain: bundle.Box, z: 1},
		"classes, l1 ball": {classes: true, kind: noise.Laplace, domain: bundle.L1Ball, z: 2, hidden: []int{4}},
		"frozen task":      {kind: bundle.Spherical, domain: bundle.Ball, z: 2, task: true},
		"randomizers":      {classes: true, kind: bundle.LocalUnbiased, domain: bundle.Box, z: 1},
	} {
		t.Run(name, func(t *testing.T) {
			train, test := twoNumbers(200, c.classes, 1), twoNumbers(200, c.classes, 2)
			body, noise := noiseOf(t, c.kind, c.domain, c.z, 8)
			o := quick
			o.Hidden = c.hidden
			if c.task {
				var err error
				if o.Task, err = TrainTask(t.Context(), train, TaskOptions{Hidden: []int{8}, Steps: 1500, Scale: true}); err != nil {
					t.Fatal(err)
				}
			}
			r, err := Train(t.Context(), train, body, noise, o, encoders.Run{})
			if err != nil {
				t.Fatal(err)
			}
			e, err := r.Evaluate(test, 100, 5)
			if err != nil {
				t.Fatal(err)
			}
			variance := 0.0 // without any release
			if !c.classes {
				_, sd := moments(test.Target.Values)
				variance = sd * sd
			}
			if limit := map[bool]float64{true: 0.45, false: 0.6 * variance}[c.classes]; !(e.Loss < limit) {
				t.Errorf("loss %g, want below %g", e.Loss, limit)
			}
			b, err := r.Bundle()
			if err != nil {
				t.Fatal(err)
			}
			proof, err := latent.Verify(t.Context(), b, proof.Options{})
			if err != nil {
				t.Fatal(err)
			}
			p, err := proof.NewPrivatizer(sampler.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, spread := exactLoss(t, r, p, b, test, 40)
			// The two are means of 40 and 100 draws for the same 200 people: eight standard
			// errors, by the spread of the draws of the exact one.
			if tolerance := 8 * spread * (1/math.Sqrt(40) + 0.1); math.Abs(got-e.Loss) > tolerance {
				t.Errorf("loss of the bundle %g, evaluated %g, want within %g", got, e.Loss, tolerance)
			}
		})
	}
}

func moments(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sd += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, math.Sqrt(sd)
}

// exactLoss is the mean loss of draws of a privatizer, and its deviation.
func exactLoss(t *testing.T, r *Result, p *bundle.Privatizer, b *bundle.Bundle, d *encoders.Data, draws int) (mean, sd float64) {
	t.Helper()
	losses := make([]float64, draws)
	for k := range losses {
		for i := range d.X.Rows {
			u, err := p.Privatize(nil, dense.Row(d.X, i))
			if err != nil {
				t.Fatal(err)
			}
			out, err := b.Decode(nil, u)
			if err != nil {
				t.Fatal(err)
			}
			loss := 0.0
			switch {
			case r.reader.task != nil: // decoded are features, which the frozen task reads
				m := r.scaling.Apply(dense.Matrix{Rows: 1, Cols: len(out), Stride: len(out), Data: out})
				v := r.reader.task.Forward(&dense.Pass{}, m).Data[0]*r.unit.Scale[0] + r.unit.Mean[0] - d.Target.Values[i]
				loss = v * v
			case d.Target.Classes == nil:
				loss = (out[0] - d.Target.Values[i]) * (out[0] - d.Target.Values[i])
			default:
				loss = -math.Log(out[d.Target.Labels[i]])
			}
			losses[k] += loss / float64(d.X.Rows)
		}
	}
	return moments(losses)
}

// TestInterruptedTraining: both trainings have the same result, bit for bit, if they are
// stopped and go on.
func TestInterruptedTraining(t *testing.T) {
	d := twoNumbers(60, true, 1)
	body, noise := noiseOf(t, noise.Staircase, bundle.Box, 1, 5)
	task, err := TrainTask(t.Context(), d, TaskOptions{Hidden: []int{8}, Steps: 200, Scale: true, ReLU: true})
	if err != nil {
		t.Fatal(err)
	}
	trainings := map[string]func(context.Context, encoders.Run) ([]float64, error){}
	for _, a := range []Approach{Aware, PrivacyAgnostic} {
		trainings["clipped "+string(a)] = func(ctx context.Context, run encoders.Run) ([]float64, error) {
			o := Options{Approach: a, Steps: 20, Restarts: 2, Seed: 1}
			r, err := Train(ctx, d, body, noise, o, run)
			if err != nil {
				return nil, err
			}
			return append(slices.Clone(r.encoder.Params()), r.reader.net.Params()...), nil
		}
		trainings["schedule "+string(a)] = func(ctx context.Context, run encoders.Run) ([]float64, error) {
			r, err := Schedule{Epsilon: 5, Approach: a, Coordinates: 2, Epochs: 20, Inner: 2, Seed: 1}.Train(ctx, d, task, run)
			if err != nil {
				return nil, err
			}
			return append(slices.Clone(r.encoder.Params()), append(r.reader.net.Params(), r.Scale)...), nil
		}
	}
	for name, train := range trainings {
		t.Run(name, func(t *testing.T) {
			whole, err := train(t.Context(), encoders.Run{})
			if err != nil {
				t.Fatal(err)
			}
			for _, stop := range []int{1, 13, 20, 27} {
				run := encoders.Run{Directory: filepath.Join(t.TempDir(), "checkpoint"), Every: time.Hour}
				ctx, cancel := context.WithCancel(t.Context())
				run.Progress = func(step, _ int, _ float64) {
					if step == stop {
						cancel()
					}
				}
				if _, err := train(ctx, run); stop < 20 && !errors.Is(err, context.Canceled) {
					t.Fatalf("stopped after step %d: %v", stop, err)
				}
				run.Progress = nil
				rest, err := train(t.Context(), run)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(rest, whole) {
					t.Errorf("stopped after step %d: another result", stop)
				}
				cancel()
			}
		})
	}
}

// TestApproaches: with little noise to bear, an encoder that knows its task and its noise is
// better than the benchmarks, with clipping and by the schedule.
func TestApproaches(t *testing.T) {
	train, test := twoNumbers(300, false, 1), twoNumbers(300, false, 2)
	losses := map[Approach]float64{}
	for _, a := range []Approach{Aware, Agnostic, PrivacyAgnostic} {
		z := 2
		if a == Agnostic {
			z = 5
		}
		body, noise := noiseOf(t, noise.Laplace, bundle.L1Ball, z, 6)
		o := quick
		o.Approach = a
		r, err := Train(t.Context(), train, body, noise, o, encoders.Run{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := r.Evaluate(test, 50, 1)
		if err != nil {
			t.Fatal(err)
		}
		losses[a] = e.Loss
	}
	if !(losses[Aware] < 0.9*losses[Agnostic] && losses[Aware] < losses[PrivacyAgnostic]) {
		t.Errorf("losses %v", losses)
	}
}

// TestScheduleByHand compares an epoch of the schedule with one that is written down here
// plainly: noise of the measured sensitivity, and a step of the encoder before each of the
// decoder.
func TestScheduleByHand(t *testing.T) {
	d := twoNumbers(20, false, 1)
	task, err := TrainTask(t.Context(), d, TaskOptions{Steps: 50, Scale: true})
	if err != nil {
		t.Fatal(err)
	}
	s := Schedule{Epsilon: 4, Approach: Aware, Coordinates: 2, Epochs: 2, Inner: 1, Decay: 0.3, Shrink: 0.5, Seed: 9}
	got, err := s.Train(t.Context(), d, task, encoders.Run{})
	if err != nil {
		t.Fatal(err)
	}
	target := d.Target.Target()
	frozen, err := network(task, 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	e, dec := dense.MLP(5, nil, dense.Sigmoid, 2), dense.MLP(2, nil, dense.Sigmoid, 5)
	e.Init(encoders.Rand(9, "schedule encoder 0", 0))
	dec.Init(encoders.Rand(9, "schedule decoder 0", 0))
	adamE, adamD := dense.Adam{AMSGrad: true, WeightDecay: 0.3}, dense.Adam{AMSGrad: true}
	noise := make([]float64, 40)
	sensitivity := 0.0
	half := func(ofEncoder bool) {
		var pe, pd, pt dense.Pass
		u := e.Forward(&pe, d.X)
		noisy := dense.Matrix{Rows: 20, Cols: 2, Stride: 2, Data: slices.Clone(u.Data)}
		for i := range noise {
			noisy.Data[i] += noise[i]
		}
		out := frozen.Forward(&pt, dec.Forward(&pd, noisy))
		g := dense.NewMatrix(20, 1)
		dense.SquaredError(out, target.Values, g)
		gd, ge := make([]float64, len(dec.Params())), make([]float64, len(e.Params()))
		e.Backward(&pe, dec.Backward(&pd, frozen.Backward(&pt, g, nil), gd), ge)
		if ofEncoder {
			adamE.Step(e.Params(), ge)
		} else {
			adamD.Step(dec.Params(), gd)
		}
	}
	for epoch := range 2 {
		if epoch > 0 {
			laplace(noise, 0.5*sensitivity/4, encoders.Rand(9, "schedule noise 0", epoch))
		}
		half(true)
		half(false)
		sensitivity = LargestDistance(e.Forward(&dense.Pass{}, d.X))
	}
	if !slices.Equal(got.encoder.Params(), e.Params()) || !slices.Equal(got.reader.net.Params(), dec.Params()) || got.Sensitivity != sensitivity || got.Scale != 0.5*sensitivity/4 {
		t.Errorf("sensitivity %g and %g, or other parameters", got.Sensitivity, sensitivity)
	}
}

// TestScheduleDecay: the weight decay is that of the task-aware encoder alone, as in the
// authors' program.
func TestScheduleDecay(t *testing.T) {
	d := twoNumbers(30, false, 1)
	task, err := TrainTask(t.Context(), d, TaskOptions{Scale: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []Approach{Aware, PrivacyAgnostic} {
		var params [2][]float64
		for i, decay := range []float64{0, 0.2} {
			s, err := Schedule{Epsilon: 5, Approach: a, Coordinates: 2, Epochs: 5, Inner: 2, Decay: decay}.Train(t.Context(), d, task, encoders.Run{})
			if err != nil {
				t.Fatal(err)
			}
			params[i] = s.encoder.Params()
		}
		if slices.Equal(params[0], params[1]) != (a == PrivacyAgnostic) {
			t.Errorf("%s: decay and encoder do not go together", a)
		}
	}
}

// TestScheduleBatches: batches have a sensitivity of their own, and all is finite.
func TestScheduleBatches(t *testing.T) {
	d := twoNumbers(70, true, 1)
	for _, a := range []Approach{Aware, Agnostic, PrivacyAgnostic} {
		task, err := TrainTask(t.Context(), d, TaskOptions{Steps: 200, Scale: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Schedule{Epsilon: 5, Approach: a, Coordinates: 2, Epochs: 3, Inner: 2, Batch: 32, Seed: 1}.Train(t.Context(), d, task, encoders.Run{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := r.Evaluate(d, 10, 1)
		if err != nil || !(e.Loss > 0 && e.Loss < math.MaxFloat64 && r.Scale > 0) {
			t.Errorf("%s: loss %g, scale %g, %v", a, e.Loss, r.Scale, err)
		}
	}
}

// TestStandardError: the error is over people, also where there is no noise to differ.
func TestStandardError(t *testing.T) {
	codes := dense.Matrix{Rows: 3, Cols: 1, Stride: 1, Data: []float64{1, 2, 3}}
	truth := dense.Target{Values: dense.NewMatrix(3, 1)}
	e := evaluate(&reader{net: dense.Same(1)}, codes, &truth, 2, func(dst, u []float64) { copy(dst, u) })
	// Losses 1, 4, 9: their mean is 14/3, their variance 49/3.
	if want := math.Sqrt(49.0 / 9); math.Abs(e.Loss-14.0/3) > 1e-12 || math.Abs(e.StandardError-want) > 1e-12 {
		t.Errorf("loss %g ± %g, want %g ± %g", e.Loss, e.StandardError, 14.0/3, want)
	}
}

// TestConstantAmongFit: a column may be the same for all people but some who are held out.
func TestConstantAmongFit(t *testing.T) {
	x := dense.NewMatrix(10, 1)
	for i := range x.Data {
		x.Data[i] = 0.1
	}
	one := dense.Matrix{Rows: 1, Cols: 1, Stride: 1, Data: []float64{0.2}}
	for name, s := range map[string]dense.Scaling{"standardize": dense.Standardize(x), "range": dense.Range(x)} {
		if got := s.Apply(one).Data[0]; got != 0.1 {
			t.Errorf("%s: 0.2 becomes %g, want 0.1", name, got)
		}
	}
}

// TestFilter: what the schedule makes is a bundle that nothing proves private.
func TestFilter(t *testing.T) {
	d := twoNumbers(80, true, 1)
	s := Schedule{Epsilon: 20, Approach: Aware, Coordinates: 2, Epochs: 60, Inner: 5, Hidden: true, Seed: 1}
	r, b, heldOut, err := s.Filter(t.Context(), d, TaskOptions{Hidden: []int{7}, ReLU: true, Steps: 800}, encoders.Run{})
	if err != nil {
		t.Fatal(err)
	}
	if !(heldOut.Loss > 0) || !(r.Scale > 0) {
		t.Errorf("held out %v, scale %g", heldOut, r.Scale)
	}
	if _, err := latent.Verify(t.Context(), b, proof.Options{}); !errors.Is(err, bundle.ErrNoPromise) {
		t.Errorf("verified: %v", err)
	}
	u, err := b.Filter(nil, dense.Row(d.X, 0))
	if err != nil || len(u) != 2 {
		t.Fatalf("%v, %v", u, err)
	}
	out, err := b.Decode(nil, u)
	if err != nil || len(out) != 5 {
		t.Errorf("decoded %v, %v", out, err)
	}
}

// TestDeadNetworks: a ReLU that is 0 for everybody is found, and training begins anew.
func TestDeadNetworks(t *testing.T) {
	d := twoNumbers(40, false, 1)
	for i := range d.Target.Values {
		d.Target.Values[i] -= 1e4 // no ReLU answers that
	}
	_, err := TrainTask(t.Context(), d, TaskOptions{ReLU: true, Steps: 400, Rate: 0.1})
	if !errors.Is(err, ErrDead) || !strings.Contains(err.Error(), "its ReLUs died") {
		t.Errorf("error %v", err)
	}
}

// TestDeadSchedule: a schedule for a task network that answers nothing begins anew at once,
// so that many epochs cost nothing, and says so.
func TestDeadSchedule(t *testing.T) {
	d := twoNumbers(40, false, 1)
	task := []bundle.Layer{{Weights: bundle.Matrix{Rows: 1, Cols: 5, Data: make([]float64, 5)}, Bias: []float64{-1}, Activation: "relu"}}
	epochs := 0
	run := encoders.Run{Progress: func(int, int, float64) { epochs++ }}
	_, err := Schedule{Epsilon: 5, Approach: Aware, Coordinates: 2, Epochs: 1000, Inner: 1}.Train(t.Context(), d, task, run)
	if !errors.Is(err, ErrDead) || epochs > 0 {
		t.Errorf("%d epochs, error %v", epochs, err)
	}
}

// TestNaN: a training that leaves the numbers stops with a sentence.
func TestNaN(t *testing.T) {
	d := twoNumbers(40, false, 1)
	for i := range d.X.Data {
		d.X.Data[i] *= 1e200
	}
	if _, err := TrainTask(t.Context(), d, TaskOptions{Hidden: []int{3}, Steps: 50}); err == nil || !strings.Contains(err.Error(), "want finite losses") {
		t.Errorf("error %v", err)
	}
}

func TestBadInput(t *testing.T) {
	d := twoNumbers(40, false, 1)
	body, noise := noiseOf(t, noise.Staircase, bundle.Box, 1, 5)
	nothing := *d
	nothing.Target = encoders.Column{}
	for name, c := range map[string]struct {
		data *encoders.Data
		o    Options
	}{
		"no target":    {data: &nothing},
		"approach":     {d, Options{Approach: "other"}},
		"steps":        {d, Options{Steps: -1}},
		"hidden":       {d, Options{Hidden: []int{0}}},
		"agnostic":     {d, Options{Approach: Agnostic}},
		"task network": {d, Options{Task: []bundle.Layer{{Weights: bundle.Matrix{Rows: 1, Cols: 4, Data: make([]float64, 4)}, Bias: []float64{0}, Activation: "identity"}}}},
	} {
		if _, err := Train(t.Context(), c.data, body, noise, c.o, encoders.Run{}); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	task, err := TrainTask(t.Context(), d, TaskOptions{Steps: 10, Scale: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []Schedule{{Approach: Aware, Coordinates: 1}, {Epsilon: 1, Approach: Aware}, {Epsilon: 1, Coordinates: 1}, {Epsilon: math.Inf(1), Approach: Aware, Coordinates: 1}, {Epsilon: 1, Approach: Aware, Coordinates: 1, Epochs: -1}} {
		if _, err := s.Train(t.Context(), d, task, encoders.Run{}); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// TestScalings compares each way to fold a scaling into a network with its definition.
func TestScalings(t *testing.T) {
	d := twoNumbers(30, false, 1)
	s := dense.Standardize(d.X)
	n := dense.MLP(5, []int{3}, dense.Sigmoid, 2)
	n.Init(encoders.Rand(1, "network", 0))
	near := func(what string, got, want dense.Matrix) {
		t.Helper()
		for i, v := range got.Data {
			if math.Abs(v-want.Data[i]) > 1e-9*(1+math.Abs(want.Data[i])) {
				t.Errorf("%s: %g, want %g", what, v, want.Data[i])
				return
			}
		}
	}
	scaled := s.Apply(d.X)
	near("reading", s.Reading(n).Forward(&dense.Pass{}, scaled), n.Forward(&dense.Pass{}, d.X))
	near("raw", s.Raw(n).Forward(&dense.Pass{}, d.X), n.Forward(&dense.Pass{}, scaled))
	centered := dense.Scaling{Mean: s.Mean, Scale: []float64{1, 1, 1, 1, 1}}.Apply(d.X)
	near("scaled", s.Scaled(n).Forward(&dense.Pass{}, centered), n.Forward(&dense.Pass{}, scaled))
	unit := dense.Scaling{Mean: []float64{3, -4}, Scale: []float64{2, 5}}
	out := n.Forward(&dense.Pass{}, d.X)
	near("answering", unit.Answering(n).Forward(&dense.Pass{}, d.X), unit.Apply(out))
	near("writing", unit.Apply(unit.Writing(n).Forward(&dense.Pass{}, d.X)), out)
}

// TestLinearTask: a linear task is found as it is, in the units of the data.
func TestLinearTask(t *testing.T) {
	d := twoNumbers(100, false, 1)
	layers, err := TrainTask(t.Context(), d, TaskOptions{Scale: true})
	if err != nil {
		t.Fatal(err)
	}
	n, err := network(layers, 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range n.Forward(&dense.Pass{}, d.X).Data {
		if math.Abs(v-d.Target.Values[i]) > 0.1 {
			t.Fatalf("person %d: %g, want %g", i, v, d.Target.Values[i])
		}
	}
	labeled := twoNumbers(100, true, 1)
	if layers, err = TrainTask(t.Context(), labeled, TaskOptions{Scale: true}); err != nil {
		t.Fatal(err)
	}
	if n, err = network(layers, 5, 2); err != nil {
		t.Fatal(err)
	}
	target := labeled.Target.Target()
	if wrong := target.Wrong(n.Forward(&dense.Pass{}, labeled.X)); wrong > 0.03 {
		t.Errorf("share %g wrong, want at most 0.03", wrong)
	}
}

// TestTaskInBatches: steps about some of the people at a time come to about what the fit finds.
func TestTaskInBatches(t *testing.T) {
	d := twoNumbers(100, true, 1)
	layers, err := TrainTask(t.Context(), d, TaskOptions{Batch: 32, Steps: 600, Rate: 0.03, Scale: true})
	if err != nil {
		t.Fatal(err)
	}
	n, err := network(layers, 5, 2)
	if err != nil {
		t.Fatal(err)
	}
	target := d.Target.Target()
	if wrong := target.Wrong(n.Forward(&dense.Pass{}, d.X)); wrong > 0.05 {
		t.Errorf("share %g wrong, want at most 0.05", wrong)
	}
	seen := map[int]bool{}
	for _, b := range batches(encoders.Rand(1, "test", 0), 100, 32) {
		for _, i := range b {
			seen[i] = true
		}
	}
	if len(seen) != 96 {
		t.Errorf("%d people in batches, want 96 of 100", len(seen))
	}
}
