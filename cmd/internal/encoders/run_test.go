// SPDX-License-Identifier: Apache-2.0

package encoders

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
)

// walk is a Training that draws at each step, and ends the context before one.
type walk struct {
	at, least []float64
	cancel    func()
	end       int
}

func newWalk() *walk { return &walk{at: []float64{0, 0}, least: []float64{math.Inf(1)}, end: -1} }

func (w *walk) Step(step int) (float64, error) {
	if step == w.end {
		w.cancel()
	}
	r := Rand(3, "walk", step)
	w.at[0] += r.NormFloat64()
	w.at[1] = math.Sin(w.at[0] + w.at[1])
	w.least[0] = min(w.least[0], w.at[0])
	return w.at[0], nil
}

func (w *walk) State() map[string][]float64 {
	return map[string][]float64{"place": w.at, "least": w.least, "empty": nil}
}

func (w *walk) Restore(s map[string][]float64) error {
	if len(s["place"]) != 2 || len(s["least"]) != 1 || len(s) != 2 {
		return errors.New("another walk")
	}
	w.at, w.least = s["place"], s["least"]
	return nil
}

// A training that was interrupted again and again has the result of one that was not, bit for
// bit, whenever its checkpoints were written.
func TestRunGoesOn(t *testing.T) {
	const steps = 50
	whole := newWalk()
	if err := (&Run{}).Train(t.Context(), whole, steps); err != nil {
		t.Fatal(err)
	}
	for _, every := range []time.Duration{0, 1} { // only at the end of the context, or at each step
		dir := filepath.Join(t.TempDir(), "several", "checkpoint")
		var last *walk
		for end := 0; ; end += 7 {
			ctx, cancel := context.WithCancel(t.Context())
			last = newWalk()
			last.cancel, last.end = cancel, end
			shown := 0
			run := Run{Directory: dir, Every: every, Progress: func(step, all int, loss float64) {
				if shown != 0 && step != shown+1 || all != steps || loss != last.at[0] {
					t.Errorf("progress %d of %d, loss %g", step, all, loss)
				}
				shown = step
			}}
			err := run.Train(ctx, last, steps)
			cancel()
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "of 50") {
				t.Fatal(err)
			}
		}
		if !maps.EqualFunc(last.State(), whole.State(), slices.Equal) {
			t.Errorf("%v, want %v", last.State(), whole.State())
		}
		// Once more: all is done.
		again := newWalk()
		if err := (&Run{Directory: dir}).Train(t.Context(), again, steps); err != nil || again.at[0] != whole.at[0] {
			t.Errorf("after the end: %v, %v", again.at, err)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	run := Run{Directory: dir, Options: "rate 1"}
	if err := run.Train(t.Context(), newWalk(), 5); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		run   Run
		steps int
	}{
		"other options": {Run{Directory: dir, Options: "rate 2"}, 5},
		"other steps":   {Run{Directory: dir, Options: "rate 1"}, 6},
	} {
		if err := c.run.Train(t.Context(), newWalk(), c.steps); !errors.Is(err, dp.ErrInvalid) || !errors.Is(err, ErrCheckpoint) || !strings.Contains(err.Error(), "other options") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What is no checkpoint is neither read, replaced nor removed.
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run.Remove(); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("removed beside another file: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "thesis.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "place.npy"), 20); err != nil {
		t.Fatal(err)
	}
	if err := run.Train(t.Context(), newWalk(), 5); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("a broken checkpoint: %v", err)
	}
	if err := run.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Remove: %v", err)
	}
	below := run.Below("3")
	if below.Directory != filepath.Join(dir, "3") || below.Options != run.Options {
		t.Errorf("below: %+v", below)
	}
}

// nan is a Training whose loss is NaN at a step, or that fails.
type nan struct {
	*walk
	err error
}

func (n nan) Step(step int) (float64, error) {
	if step == 3 {
		return math.NaN(), n.err
	}
	return n.walk.Step(step)
}

func TestRunStops(t *testing.T) {
	failed := errors.New("it failed")
	if err := (&Run{}).Train(t.Context(), nan{newWalk(), failed}, 9); !errors.Is(err, failed) {
		t.Error(err)
	}
	if err := (&Run{}).Train(t.Context(), nan{newWalk(), nil}, 9); err == nil || !strings.Contains(err.Error(), "the loss of step 4 of 9 is NaN, want a finite number") {
		t.Error(err)
	}
}

func TestRand(t *testing.T) {
	first := Rand(1, "noise", 2).Uint64()
	if Rand(1, "noise", 2).Uint64() != first {
		t.Error("not the same again")
	}
	for _, other := range []uint64{Rand(2, "noise", 2).Uint64(), Rand(1, "nois", 2).Uint64(), Rand(1, "noise", 3).Uint64()} {
		if other == first {
			t.Error("the same of another seed, purpose or step")
		}
	}
}

func TestSearch(t *testing.T) {
	var words []string
	for _, c := range Choices([]int{1, 3}, bundle.Promise{Epsilon: 5}) {
		words = append(words, c.String())
	}
	if want := []string{"1-designed-box", "1-local-box", "3-designed-box", "3-local-box", "3-laplace-l1-ball", "3-spherical-ball"}; !slices.Equal(words, want) {
		t.Errorf("choices %v, want %v", words, want)
	}
	// Noise on balls is the better one where there is any; else Gaussian noise is that of many coordinates.
	for _, want := range []struct {
		z              int
		epsilon, delta float64
		kind           bundle.Kind
	}{
		{2, 5, 1e-6, bundle.Balls},
		{8, 0.1, 1e-6, bundle.Balls},
		{2, 5, 0, bundle.Spherical},
		{2, 0.09, 1e-10, bundle.Spherical},
		{9, 5, 1e-6, bundle.Spherical},
		{100, 5, 1e-6, noise.Gaussian},
	} {
		if c := Choices([]int{want.z}, bundle.Promise{Epsilon: want.epsilon, Delta: want.delta}); c[3].Noise != want.kind || c[3].Domain != bundle.Ball {
			t.Errorf("%+v: %v", want, c)
		}
	}
	if _, err := encoder.NewNoise(t.Context(), bundle.Balls, encoder.Body{Domain: bundle.Ball, Radius: 1, Coordinates: 8}, bundle.Promise{Epsilon: leastBallEpsilon, Delta: 1e-10}, nil); err != nil {
		t.Errorf("the least epsilon of balls: %v", err)
	}
	choices := Choices([]int{3}, bundle.Promise{Epsilon: 5})
	failed := errors.New("no such noise")
	trials, err := Search(t.Context(), choices, func(_ context.Context, c Choice) (float64, float64, error) {
		switch c {
		case choices[0]:
			return 1, 0.1, nil
		case choices[1]:
			return math.NaN(), 0, nil
		case choices[2]:
			return 0.5, 0.2, nil
		}
		return 0, 0, failed
	})
	if err != nil || trials[0].Choice != choices[2] || trials[0].StandardError != 0.2 || trials[1].Choice != choices[0] ||
		trials[2].Err == nil || !errors.Is(trials[3].Err, failed) {
		t.Errorf("%+v, %v", trials, err)
	}
	if _, err := Search(t.Context(), choices, func(context.Context, Choice) (float64, float64, error) { return 0, 0, failed }); !errors.Is(err, failed) {
		t.Errorf("all failed: %v", err)
	}
	if _, err := Search(t.Context(), nil, nil); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("no choices: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := Search(t.Context(), choices, func(_ context.Context, c Choice) (float64, float64, error) {
		return 1, 0, map[bool]error{true: fmt.Errorf("of another run: %w", ErrCheckpoint)}[c == choices[1]]
	}); !errors.Is(err, ErrCheckpoint) {
		t.Errorf("the checkpoint of another run: %v", err)
	}
	tried := 0
	_, err = Search(ctx, choices, func(ctx context.Context, _ Choice) (float64, float64, error) {
		tried++
		cancel()
		return 0, 0, ctx.Err()
	})
	if !errors.Is(err, context.Canceled) || tried != 1 {
		t.Errorf("the context ended: %v after %d trials", err, tried)
	}
}

func TestDataValidate(t *testing.T) {
	good := func() *Data {
		d := &Data{
			Features: []string{"a", "b"}, X: encoder.Matrix{Rows: 10, Cols: 2, Stride: 2},
			Target:  Column{Name: "y", Classes: []string{"no", "yes"}},
			Private: []Column{{Name: "age"}},
		}
		for i := range 10 {
			d.X.Data = append(d.X.Data, float64(i), float64(i%3))
			d.Target.Labels = append(d.Target.Labels, i%2)
			d.Private[0].Values = append(d.Private[0].Values, float64(i))
		}
		return d
	}
	if err := good().Validate(); err != nil {
		t.Fatal(err)
	}
	free := good()
	free.Target, free.Private = Column{}, nil
	if err := free.Validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Data){
		"data = 10×2 numbers, want a row":                  func(d *Data) { d.Features = d.Features[:1] },
		"data = 4 rows, want at least 10 people":           func(d *Data) { d.X.Rows, d.X.Data = 4, d.X.Data[:8] },
		`column b = NaN in row 3, want finite numbers`:     func(d *Data) { d.X.Data[5] = math.NaN() },
		`column a = the same for all people`:               func(d *Data) { setAll(d.X.Data, 2, 1) },
		`target y = 1 of class yes, want at least 2`:       func(d *Data) { d.Target.Labels = []int{0, 0, 0, 0, 1, 0, 0, 0, 0, 0} },
		`target y = 0 of class yes, want at least 2`:       func(d *Data) { d.Target.Labels = make([]int, 10) },
		`target y = the same for all people, want at`:      func(d *Data) { d.Target.Labels, d.Target.Classes = make([]int, 10), []string{"no"} },
		`target y = class 2 in row 1, want the index`:      func(d *Data) { d.Target.Labels[0] = 2 },
		`target y = 9 labels, want 10`:                     func(d *Data) { d.Target.Labels = d.Target.Labels[:9] },
		`private age = 3 numbers, want 10`:                 func(d *Data) { d.Private[0].Values = d.Private[0].Values[:3] },
		`private age = +Inf in row 2, want finite numbers`: func(d *Data) { d.Private[0].Values[1] = math.Inf(1) },
		`private age = the same for all people, want a`:    func(d *Data) { setAll(d.Private[0].Values, 1, 4) },
	} {
		d := good()
		change(d)
		if err := d.Validate(); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// setAll sets every so many numbers, from the first on.
func setAll(v []float64, every int, to float64) {
	for i := 0; i < len(v); i += every {
		v[i] = to
	}
}
