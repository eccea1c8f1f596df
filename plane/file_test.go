// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

func encoded(tb testing.TB, n *Noise) string {
	tb.Helper()
	var b bytes.Buffer
	if err := n.Encode(&b); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

// sample is noise with a dual.
func sample(tb testing.TB) *Noise {
	tb.Helper()
	n, err := New(Spec{
		Problem: Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.7, Sensitivity: 1}, Norm: LInf, Query: dp.IntegerQuery, Loss: loss.L2},
		Grid:    Grid{PointsPerCell: 1, CellsPerSensitivity: 1}, Weights: []uint64{1 << 63, 1 << 60, 1 << 60},
		Dual: &Dual{CellsPerSensitivity: 1, Exponent: -4, Shifts: []dualShift{{X: 1, Y: 1, Rows: []dualRow{{X: 0, First: 0, Multipliers: []int64{9}}}}}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

const sampleText = `{"format":"noisewright-plane","version":1,"privacy":{"epsilon":1,"delta":0.7,"sensitivity":1},"norm":"linf","query":"integer","loss":{"name":"l2"},` +
	`"grid":{"granularity_exponent":0,"points_per_cell":1,"cells_per_sensitivity":1},"weights":["9223372036854775808","1152921504606846976","1152921504606846976"],` +
	`"certificate":{"delta":"0.64260738572131","expected_loss":"0.75","lower_bound":"0.16875",` +
	`"dual":{"cells_per_sensitivity":1,"exponent":-4,"shifts":[{"x":1,"y":1,"rows":[{"x":0,"first":0,"multipliers":["9"]}]}]}}}` + "\n"

func TestRoundTrip(t *testing.T) {
	if got := encoded(t, sample(t)); got != sampleText {
		t.Errorf("%s, want %s", got, sampleText)
	}
	back, err := Decode(strings.NewReader(sampleText))
	if err != nil {
		t.Fatal(err)
	}
	if again := encoded(t, back); again != sampleText {
		t.Errorf("decoded and encoded:\n%s\nwant\n%s", again, sampleText)
	}
	if _, err := back.Verify(); err != nil {
		t.Error(err)
	}
}

// TestTampered: a change to a file is refused as what it is.
func TestTampered(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     error
	}{
		{`"delta":0.7`, `"delta":0.64`, proof.ErrNotPrivate},
		{`"epsilon":1`, `"epsilon":0.5`, proof.ErrNotPrivate},
		{`"sensitivity":1}`, `"sensitivity":2}`, check.ErrInvalid},
		{`"sensitivity":1}`, `"sensitivity":0.5}`, check.ErrInvalid},
		{`"norm":"linf"`, `"norm":"l2"`, check.ErrInvalid},
		{`"norm":"linf"`, `"norm":"l1"`, check.ErrInvalid}, // of the dual, whose shift is too long
		{`"query":"integer"`, `"query":"real"`, proof.ErrFalseClaim},
		{`"name":"l2"`, `"name":"l1"`, nil}, // with the same loss, on so few points
		{`"name":"l2"`, `"name":"exceed:1"`, check.ErrInvalid},
		{`"cells_per_sensitivity":1},"weights"`, `"cells_per_sensitivity":2},"weights"`, proof.ErrNotPrivate},
		{`"points_per_cell":1`, `"points_per_cell":3`, proof.ErrFalseClaim},
		{`"9223372036854775808","1152921504606846976","1152921504606846976"`, `"4611686018427387904","2305843009213693952","1152921504606846976"`, proof.ErrFalseClaim},
		{`"9223372036854775808"`, `"9223372036854775809"`, check.ErrInvalid},
		{`"9223372036854775808"`, `9223372036854775808`, proof.ErrFormat},
		{`"delta":"0.64260738572131"`, `"delta":"0.642607385721309"`, proof.ErrFalseClaim},
		{`"expected_loss":"0.75"`, `"expected_loss":"0.749999999999999"`, proof.ErrFalseClaim},
		{`"lower_bound":"0.16875"`, `"lower_bound":"0.168750000000001"`, proof.ErrFalseClaim},
		{`"multipliers":["9"]`, `"multipliers":["10"]`, nil},
		{`"multipliers":["9"]`, `"multipliers":["8"]`, proof.ErrFalseClaim},
		{`"multipliers":["9"]`, `"multipliers":["1000"]`, proof.ErrFalseClaim},
		{`"multipliers":["9"]`, `"multipliers":["-9"]`, proof.ErrFormat},
		{`"exponent":-4`, `"exponent":-2001`, check.ErrInvalid},
		{`"version":1`, `"version":2`, proof.ErrFormat},
		{`"version":1,`, `"version":1,"more":1,`, proof.ErrFormat},
		{`"delta":"0.64260738572131","expected_loss":"0.75","lower_bound":"0.16875"`, `"delta":"","expected_loss":"","lower_bound":""`, proof.ErrFormat},
	} {
		text := strings.Replace(sampleText, c.from, c.to, 1)
		if text == sampleText {
			t.Fatalf("%s: nothing to replace", c.from)
		}
		n, err := Decode(strings.NewReader(text))
		if err == nil {
			_, err = n.Verify()
		}
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", c.to, err, c.want)
		}
	}
}

// asked is a stream that is released by a function.
type asked func(proof.Value) (proof.Value, error)

func (f asked) Release(x proof.Value) (proof.Value, error) { return f(x) }
func (asked) Anew()                                        { panic("anew") }
func (asked) Draw(proof.Choice) (int, int64, error)        { panic("draw") }

// TestExport: what is exported is the noise, the rule of its draws, and answers to zero and zero.
func TestExport(t *testing.T) {
	n := sample(t)
	times := 0
	e, err := n.Export(n.Certify().Bounds(), formfile.Golden{Draw: "none"}, asked(func(x proof.Value) (proof.Value, error) {
		times++
		if x.String() != "0,0" {
			t.Errorf("asked for %v", x)
		}
		return proof.Row{7, 7}, nil
	}), 4)
	if err != nil {
		t.Fatal(err)
	}
	got, s := e.(export), n.Spec()
	if got.Schema != 1 || got.Epsilon != 1 || got.DeltaUpper != s.Claims.Delta || got.Sensitivity != 1 || got.Norm != LInf || got.Query != dp.IntegerQuery || got.Step != 1 ||
		got.PointsPerCell != 1 || got.Turned || got.Total != "18446744073709551616" || len(got.Weights) != 3 || got.Golden.Draw != drawRule || len(got.Golden.Draws) != 4 || times != 4 {
		t.Errorf("%+v", got)
	}
}

// TestWithDual: another dual has claims of its own.
func TestWithDual(t *testing.T) {
	n := sample(t)
	none, err := n.WithDual(t.Context(), nil)
	if err != nil || none.Spec().Dual != nil || none.Spec().Claims.LowerBound != "0" {
		t.Fatalf("%+v, %v", none, err)
	}
	again, err := none.WithDual(t.Context(), n.Spec().Dual)
	if err != nil || encoded(t, again) != sampleText {
		t.Errorf("%v: %s", err, encoded(t, again))
	}
}

// FuzzDecode: what is read is written again as it is, and judged without a crash.
func FuzzDecode(f *testing.F) {
	f.Add(sampleText)
	f.Add(strings.Replace(sampleText, `"norm":"linf"`, `"norm":"l1"`, 1))
	f.Fuzz(func(t *testing.T, text string) {
		n, err := Decode(strings.NewReader(text))
		if err != nil {
			return
		}
		again := encoded(t, n)
		back, err := Decode(strings.NewReader(again))
		if err != nil || encoded(t, back) != again {
			t.Errorf("%s: %v", again, err)
		}
		_, _ = n.Prove(t.Context(), proof.Options{Work: 1 << 20})
	})
}
