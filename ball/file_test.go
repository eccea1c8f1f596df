// SPDX-License-Identifier: Apache-2.0

package ball

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

func example(tb testing.TB) *Noise {
	tb.Helper()
	n, err := New(Spec{
		Problem:      Problem{2, dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 1}, loss.L2},
		StepExponent: -10, Radii: []int64{0, 1024, 3072}, Weights: []uint64{1 << 58, 1<<62 - 1<<58, 3 << 62},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

func encoded(tb testing.TB, n *Noise) string {
	tb.Helper()
	var b bytes.Buffer
	if err := n.Encode(&b); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func TestRoundTrip(t *testing.T) {
	text := encoded(t, example(t))
	back, err := Decode(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if again := encoded(t, back); again != text {
		t.Errorf("%s, want %s", again, text)
	}
	if _, err := back.Verify(); err != nil {
		t.Error(err)
	}
	const want = `{"format":"noisewright-ball","version":1,"dimension":2,"privacy":{"epsilon":1,"delta":0.5,"sensitivity":1},"loss":{"name":"l2"},"step_exponent":-10,"radii":[0,1024,3072],"weights":["288230376151711744","4323455642275676160","13835058055282163712"],"certificate":{"delta":"0.229976033862096","expected_loss":"3.4921875","lower_bound":"0"}}` + "\n"
	if text != want {
		t.Errorf("%s, want %s", text, want)
	}
}

// TestTampered: a change to a file is refused as what it is.
func TestTampered(t *testing.T) {
	text := encoded(t, example(t))
	for _, c := range []struct {
		from, to string
		want     error
	}{
		{`"dimension":2`, `"dimension":3`, proof.ErrFalseClaim},
		{`"dimension":2`, `"dimension":1`, check.ErrInvalid},
		{`"dimension":2`, `"dimension":9`, check.ErrInvalid},
		{`"epsilon":1`, `"epsilon":0.9999`, proof.ErrFalseClaim},
		{`"epsilon":1`, `"epsilon":1.0001`, nil},
		{`"epsilon":1`, `"epsilon":-1`, check.ErrInvalid},
		{`"epsilon":1`, `"epsilon":101`, check.ErrInvalid},
		{`"delta":0.5`, `"delta":0.2299760338620`, proof.ErrNotPrivate},
		{`"delta":0.5`, `"delta":0.2299760338621`, nil},
		{`"sensitivity":1`, `"sensitivity":1.0009`, proof.ErrFalseClaim}, // of one step more
		{`"sensitivity":1`, `"sensitivity":4000000`, check.ErrInvalid},
		{`"sensitivity":1`, `"sensitivity":3`, proof.ErrNotPrivate},
		{`"name":"l2"`, `"name":"l1"`, nil}, // which loses less
		{`"name":"l2"`, `"name":"lp:3"`, proof.ErrFalseClaim},
		{`"name":"l2"`, `"name":"pinball:0.5"`, check.ErrInvalid},
		{`"name":"l2"`, `"name":"2 l2"`, check.ErrInvalid},
		{`"step_exponent":-10`, `"step_exponent":-9`, proof.ErrFalseClaim},
		{`"step_exponent":-10`, `"step_exponent":-12`, proof.ErrNotPrivate},
		{`"step_exponent":-10`, `"step_exponent":-201`, check.ErrInvalid},
		{`[0,1024,3072]`, `[0,1024,3073]`, proof.ErrFalseClaim},
		{`[0,1024,3072]`, `[0,1024,3071]`, nil}, // which is better
		{`[0,1024,3072]`, `[0,1025,3072]`, proof.ErrFalseClaim},
		{`[0,1024,3072]`, `[1,1024,3072]`, proof.ErrFalseClaim},
		{`[0,1024,3072]`, `[1024,0,3072]`, check.ErrInvalid},
		{`[0,1024,3072]`, `[0,1024,1024]`, check.ErrInvalid},
		{`[0,1024,3072]`, `[-1,1024,3072]`, check.ErrInvalid},
		{`[0,1024,3072]`, `[0,1024]`, check.ErrInvalid},
		{`[0,1024,3072]`, `[]`, check.ErrInvalid},
		{`[0,1024,3072]`, `[0,1024,536870913]`, check.ErrInvalid},
		{`"288230376151711744","4323455642275676160"`, `"288230376151711745","4323455642275676159"`, nil}, // 15 digits are the same
		{`"288230376151711744","4323455642275676160"`, `"288230376161711744","4323455642265676160"`, proof.ErrFalseClaim},
		{`"288230376151711744","4323455642275676160"`, `"0","4611686018427387904"`, check.ErrInvalid},
		{`"288230376151711744"`, `"288230376151711745"`, check.ErrInvalid},
		{`"288230376151711744"`, `288230376151711744`, proof.ErrFormat},
		{`"delta":"0.229976033862096"`, `"delta":"0.229976033862095"`, proof.ErrFalseClaim},
		{`"expected_loss":"3.4921875"`, `"expected_loss":"3.49218749999999"`, proof.ErrFalseClaim},
		{`"lower_bound":"0"`, `"lower_bound":"0.0001"`, proof.ErrFalseClaim},
		{`"lower_bound":"0"`, `"lower_bound":"-1"`, check.ErrInvalid},
		{`"certificate":{"delta":"0.229976033862096","expected_loss":"3.4921875","lower_bound":"0"}`, `"certificate":{"delta":"","expected_loss":"","lower_bound":""}`, proof.ErrFormat},
		{`"version":1`, `"version":2`, proof.ErrFormat},
		{`"version":1,`, `"version":1,"more":1,`, proof.ErrFormat},
	} {
		changed := strings.Replace(text, c.from, c.to, 1)
		if changed == text {
			t.Fatalf("%s: nothing to replace", c.from)
		}
		n, err := Decode(strings.NewReader(changed))
		if err == nil {
			_, err = n.Verify()
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.to, err, c.want)
		}
	}
}

// TestBadFields: all bad fields are named together.
func TestBadFields(t *testing.T) {
	_, err := New(Spec{Problem: Problem{9, dp.Privacy{Epsilon: math.NaN(), Delta: 1, Sensitivity: -1}, nil}, StepExponent: 300})
	for _, name := range []string{"dimension = 9", "epsilon = NaN", "delta = 1", "sensitivity = -1", "loss = none", "step_exponent = 300", "radii", "weights"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %s in it", err, name)
		}
	}
	p := Problem{2, dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}, loss.L1}
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
	if p.Dimension = 9; !errors.Is(p.Validate(), dp.ErrInvalid) {
		t.Error("nine coordinates are accepted")
	}
}

// TestStopped: a check that may not do its work has no verdict, and the work grows with the balls.
func TestStopped(t *testing.T) {
	read := func() *Noise {
		n, err := Decode(strings.NewReader(encoded(t, example(t))))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if _, err := proof.Verify(t.Context(), read(), proof.Options{Work: 100}); !errors.Is(err, proof.ErrWork) {
		t.Errorf("%v, want ErrWork", err)
	}
	v, err := read().Verify()
	if err != nil || v.Work() < 1000 {
		t.Errorf("%v, work %d", err, v.Work())
	}
}

// stream releases what a function does.
type stream struct{ n *Noise }

func (s stream) Anew() {}
func (s stream) Release(x proof.Value) (proof.Value, error) {
	return s.n.Draw(x, func() (uint64, error) { return 0, nil })
}
func (stream) Draw(proof.Choice) (answer int, point int64, err error) { return 0, 0, nil }

func TestExport(t *testing.T) {
	n := example(t)
	e, err := n.Export(proof.Bounds{Delta: n.Certify().DeltaUpper}, formfile.Golden{Draw: "another rule"}, stream{n}, 2)
	if err != nil {
		t.Fatal(err)
	}
	got := e.(export)
	if got.Schema != 1 || got.Dimension != 2 || got.Weights[2].Probability != 0.75 || got.Radii[2] != 3072 || got.DeltaUpper != "0.229976033862096" || got.Golden.Draw != drawRule {
		t.Errorf("%+v", got)
	}
	// Of no noise, half a step and a step and a half are rounded up.
	if len(got.Golden.Draws) != 2 || got.Golden.Value.String() != "0.00048828125,0.00146484375" || got.Golden.Draws[1].String() != "0.0009765625,0.001953125" {
		t.Errorf("%+v", got.Golden)
	}
}

// FuzzDecode: whatever a file says, it is refused or is written again as it was read.
func FuzzDecode(f *testing.F) {
	text := encoded(f, example(f))
	f.Add(text)
	f.Add(strings.Replace(text, "1024", "1e3", 1))
	f.Fuzz(func(t *testing.T, text string) {
		n, err := Decode(strings.NewReader(text))
		if err != nil {
			if n != nil {
				t.Error("noise beside an error")
			}
			return
		}
		again, err := Decode(strings.NewReader(encoded(t, n)))
		if err != nil || encoded(t, again) != encoded(t, n) {
			t.Errorf("%v: %s", err, encoded(t, n))
		}
	})
}

// TestLargest radius and number of balls, and that of steps of the sensitivity.
func TestLargest(t *testing.T) {
	coarse(t, 2, 1<<31-3, []int64{1, maxRadius}, []uint64{1 << 63, 1 << 63})
	var radii []int64
	for r := range int64(maxBalls) {
		radii = append(radii, r)
	}
	coarse(t, 3, 1, radii, slices.Repeat([]uint64{1 << 54}, maxBalls))
	for _, c := range []struct {
		exponent    int
		sensitivity float64
		want        error
	}{
		{0, 1<<31 - 2, dp.ErrInvalid}, // √2 more is too much
		{maxExponent, 0x1p200, nil}, {-maxExponent, 0x1p-200, nil}, {maxExponent + 1, 0x1p201, dp.ErrInvalid}, {-maxExponent - 1, 0x1p-201, dp.ErrInvalid},
	} {
		s := example(t).Spec()
		s.Claims, s.Delta, s.StepExponent, s.Sensitivity = formfile.Claims{}, 0.99, c.exponent, c.sensitivity
		n, err := New(s)
		if !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c, err, c.want)
		}
		if err == nil && n.Answers().Upper != math.Ldexp(maxValue+3072, c.exponent) {
			t.Errorf("answers up to %v", n.Answers().Upper)
		}
	}
}
