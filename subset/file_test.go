// SPDX-License-Identifier: Apache-2.0

package subset

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/proof"
)

func encoded(tb testing.TB, s *Selection) string {
	tb.Helper()
	var b bytes.Buffer
	if err := s.Encode(&b); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

// examples are selections of each encoding.
func examples(tb testing.TB) []*Selection {
	tb.Helper()
	labels, err := Design(Spec{Epsilon: 2, Labels: []string{"yes", "no", "0:1"}, Objective: Largest})
	if err != nil {
		tb.Fatal(err)
	}
	return []*Selection{design(tb, 200, 1, Total).Mechanism(), design(tb, 200, 1, Largest).Mechanism(), design(tb, 50, 1, Total).Mechanism(), labels.Mechanism()}
}

func TestRoundTrip(t *testing.T) {
	for _, s := range examples(t) {
		text := encoded(t, s)
		back, err := Decode(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if again := encoded(t, back); again != text {
			t.Errorf("decoded and encoded:\n%s\nwant\n%s", again, text)
		}
		if _, err := back.Verify(); err != nil {
			t.Error(err)
		}
	}
	if got, want := encoded(t, examples(t)[0]), `{"format":"noisewright-subset","version":1,"epsilon":1,"count":200,"modulus":211,"size":57,"inside":"9251497079734643810","objective":"total","certificate":{"delta":"0","total_variance":"728.688865646619","largest_variance":"4.62539365511092","lower_bound":"728.202171552662"}}`+"\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestTampered: a change to a file is refused as what it is.
func TestTampered(t *testing.T) {
	affine, largest, ranked := encoded(t, examples(t)[0]), encoded(t, examples(t)[1]), encoded(t, examples(t)[2])
	for _, c := range []struct {
		text, from, to string
		want           error
	}{
		{affine, `"inside":"9251497079734643810"`, `"inside":"9251497079734643811"`, proof.ErrNotPrivate},
		{affine, `"inside":"9251497079734643810"`, `"inside":"18446744073709551615"`, proof.ErrNotPrivate},
		{affine, `"inside":"9251497079734643810"`, `"inside":"9251497079734643809"`, nil}, // 15 digits are the same
		{affine, `"inside":"9251497079734643810"`, `"inside":"9251497000000000000"`, proof.ErrFalseClaim},
		{affine, `"inside":"9251497079734643810"`, `"inside":"18446744073709551616"`, proof.ErrFormat},
		{affine, `"inside":"9251497079734643810"`, `"inside":9251497079734643810`, proof.ErrFormat},
		{affine, `"epsilon":1`, `"epsilon":0.9999999999999999`, proof.ErrNotPrivate},
		{affine, `"epsilon":1`, `"epsilon":1.001`, proof.ErrFalseClaim},
		{affine, `"epsilon":1`, `"epsilon":0`, check.ErrInvalid},
		{affine, `"modulus":211`, `"modulus":223`, proof.ErrNotPrivate},
		{affine, `"modulus":211`, `"modulus":213`, check.ErrInvalid},
		{affine, `"modulus":211`, `"modulus":0`, check.ErrInvalid},
		{affine, `"size":57`, `"size":56`, proof.ErrNotPrivate},
		{affine, `"size":57`, `"size":58`, proof.ErrFalseClaim},
		{affine, `"count":200`, `"count":201`, proof.ErrFalseClaim},
		{affine, `"count":200`, `"count":212`, check.ErrInvalid},
		{affine, `"count":200,`, ``, check.ErrInvalid},
		{affine, `"count":200`, `"count":200.0`, proof.ErrFormat},
		{affine, `"count":200`, `"labels":["a","a"]`, check.ErrInvalid},
		{affine, `"count":200`, `"labels":["a","b"]`, proof.ErrFalseClaim},
		{affine, `"objective":"total"`, `"objective":"largest"`, proof.ErrFalseClaim},
		{affine, `"objective":"total"`, `"objective":"worst"`, check.ErrInvalid},
		{affine, `"total_variance":"728.688865646619"`, `"total_variance":"728.688865646618"`, proof.ErrFalseClaim},
		{affine, `"total_variance":"728.688865646619"`, `"total_variance":"729"`, nil},
		{affine, `"largest_variance":"4.62539365511092"`, `"largest_variance":"4.62539365511091"`, proof.ErrFalseClaim},
		{affine, `"lower_bound":"728.202171552662"`, `"lower_bound":"728.202171552663"`, proof.ErrFalseClaim},
		{affine, `"lower_bound":"728.202171552662"`, `"lower_bound":"-1"`, check.ErrInvalid},
		{affine, `"lower_bound":"728.202171552662"`, `"lower_bound":"1","dual":{"share":0.5}`, check.ErrInvalid},
		{affine, `"version":1`, `"version":2`, proof.ErrFormat},
		{affine, `"version":1,`, `"version":1,"more":1,`, proof.ErrFormat},
		{affine, `"delta":"0"`, `"delta":""`, check.ErrInvalid},
		{affine, `"certificate":{"delta":"0","total_variance":"728.688865646619","largest_variance":"4.62539365511092","lower_bound":"728.202171552662"}`, `"certificate":{"delta":"","total_variance":"","largest_variance":"","lower_bound":""}`, proof.ErrFormat},
		{largest, `"dual":{"share":0.5`, `"dual":{"share":0.4`, proof.ErrFalseClaim},
		{largest, `"dual":{"share":0.`, `"dual":{"share":1.`, check.ErrInvalid},
		{ranked, `"modulus":0`, `"modulus":53`, proof.ErrNotPrivate},
		{ranked, `"size":13`, `"size":14`, proof.ErrFalseClaim},
		{ranked, `"size":13`, `"size":50`, check.ErrInvalid},
	} {
		text := strings.Replace(c.text, c.from, c.to, 1)
		if text == c.text {
			t.Fatalf("%s: nothing to replace", c.from)
		}
		s, err := Decode(strings.NewReader(text))
		if err == nil {
			_, err = s.Verify()
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.to, err, c.want)
		}
	}
}

// asked is a stream that is released by a function.
type asked func(proof.Value) (proof.Value, error)

func (f asked) Release(x proof.Value) (proof.Value, error) { return f(x) }
func (asked) Anew()                                        { panic("anew") }
func (asked) Draw(proof.Choice) (int, int64, error)        { panic("draw") }

// TestExport: what is exported is the selection, the rule of its draws, and its answers to the categories of
// the squares, in this order.
func TestExport(t *testing.T) {
	for _, s := range examples(t) {
		var inputs []string
		e, err := s.Export(s.Certify().Bounds(), formfile.Golden{Draw: "none"}, asked(func(x proof.Value) (proof.Value, error) {
			inputs = append(inputs, fmt.Sprint(x))
			return proof.Code{A: int64(len(inputs)), B: 7}, nil
		}), 20)
		if err != nil {
			t.Fatal(err)
		}
		got, p := e.(export), s.Spec()
		if got.Schema != 1 || got.Epsilon != p.Epsilon || got.DeltaUpper != "0" || got.Count != p.Count || !slices.Equal(got.Labels, p.Labels) || got.Modulus != p.Modulus || got.Size != p.Size ||
			got.Total != "18446744073709551616" || got.Inside != fmt.Sprint(p.Inside) || got.Golden.Draw != drawRule || len(got.Golden.Draws) != 20 {
			t.Errorf("%+v of %+v", got, p)
		}
		for i, d := range got.Golden.Draws {
			if want := s.Label(int64(i*i) % s.Categories()); d.Category != want || inputs[i] != want || d.Answer != (proof.Code{A: int64(i) + 1, B: 7}) {
				t.Errorf("draw %d is %+v, want that of %s", i, d, want)
			}
		}
	}
	failed := errors.New("failed")
	if _, err := examples(t)[0].Export(proof.Bounds{Delta: new(big.Rat)}, formfile.Golden{}, asked(func(proof.Value) (proof.Value, error) { return nil, failed }), 1); !errors.Is(err, failed) {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range examples(f) {
		text := encoded(f, s)
		f.Add([]byte(text))
		f.Add([]byte(strings.Replace(text, `"epsilon":`, `"epsilon":1e-9`, 1)))
		f.Add([]byte(strings.Replace(text, `"version":`, `"optional":["x"],"x":[{}],"version":`, 1)))
	}
	f.Add([]byte(`{"format":"noisewright-subset"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Decode(bytes.NewReader(data))
		if err != nil {
			if s != nil {
				t.Fatal("a selection beside an error")
			}
			return
		}
		v, err := proof.Verify(t.Context(), s, proof.Options{Work: 1 << 24})
		if (v == nil) != (err != nil) {
			t.Fatalf("verified: %v, %v", v, err)
		}
		if v != nil {
			if c := v.Certificate(); c.DeltaUpper.Sign() != 0 || c.LowerBound.Sign() < 0 || c.LargestVariance.Sign() <= 0 {
				t.Fatal("a certificate that cannot be")
			}
		}
		once := encoded(t, s)
		again, err := Decode(strings.NewReader(once))
		if err != nil {
			t.Fatalf("does not read its own output: %v", err)
		}
		if encoded(t, again) != once {
			t.Fatal("another one comes back")
		}
		x, n := s.Categories()-1, 0
		y, err := s.Draw(proof.Category(s.Label(x)), func() (uint64, error) { n++; return uint64(n) * 0x9e3779b97f4a7c15, nil })
		if err != nil || !s.Answers().Contains(y) {
			t.Fatalf("answered by %v, %v", y, err)
		}
		if lower, upper := s.Interval(3, 10, 0.05); !(0 <= lower && lower <= upper && upper <= 1) || math.IsNaN(lower) {
			t.Fatalf("an interval from %g to %g", lower, upper)
		}
	})
}

// TestLabelsAreNoSets: a category is an answer where sets have one each, and else none.
func TestLabelsAreNoSets(t *testing.T) {
	for _, s := range examples(t) {
		tally, single := s.Tally(), s.spec.Modulus == 0 && s.spec.Size == 1
		label := s.Label(1)
		if err := tally.Add(proof.Category(label)); (err == nil) != single || tally.Answers() > 0 != single {
			t.Errorf("sets of %d, modulus %d: %s as an answer: %v", s.spec.Size, s.spec.Modulus, label, err)
		}
	}
}
