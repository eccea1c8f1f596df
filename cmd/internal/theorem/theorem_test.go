// SPDX-License-Identifier: Apache-2.0

package theorem

import (
	"bytes"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/counts"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

// TestTheoremOfBound: proofs/Bound.v knows of multipliers of shifts alone, so a bound that rests on anything else is named
// as not machine-checked.
func TestTheoremOfBound(t *testing.T) {
	covered := []string{"CellsPerSensitivity", "Exponent", "Mirrored", "Shifts"}
	const rest = "only bounds that rest on multipliers of shifts alone"
	type test struct {
		name   string
		change func(*tables.Spec)
		want   string
	}
	tests := []test{
		{"as it is", func(*tables.Spec) {}, ""},
		{"not mirrored", func(s *tables.Spec) { s.Dual.Mirrored = false }, ""},
		{"largest unit", func(s *tables.Spec) { s.Dual.Exponent = 96 }, ""},
		{"larger unit", func(s *tables.Spec) { s.Dual.Exponent = 97 }, "only multipliers in units up to 2^96"},
		{"no dual", func(s *tables.Spec) { s.Dual = nil }, "nothing in the file that proves it"},
		{"0", func(s *tables.Spec) { s.Claims.LowerBound = "0.00" }, "nothing to prove"},
		{"quadratic", func(s *tables.Spec) { s.Loss = parsed(t, "l2 + pinball:0.5:2 + lp:1 + lp:2 + asymmetric:1,2") }, ""},
		{"huber", func(s *tables.Spec) { s.Loss = parsed(t, "l1 + huber:1 + deadzone:0.3") }, ""},
		{"piecewise linear", func(s *tables.Spec) { s.Loss = parsed(t, "pwl:-inf,-1;0,2,0;3,4") }, ""},
		{"jump", func(s *tables.Spec) { s.Loss = parsed(t, "pwl:-inf,-1;0,2;3,4,1") }, "for noise between nodes"},
		{"exceed", func(s *tables.Spec) { s.Loss = parsed(t, "l2 + exceed:1") }, "for noise between nodes"},
		{"far knot", func(s *tables.Spec) { s.Loss = parsed(t, "huber:1e9") }, "within 4096 nodes"},
		{"cubic", func(s *tables.Spec) { s.Loss = parsed(t, "lp:3 + huber:1") }, ""},
		{"power", func(s *tables.Spec) { s.Loss = parsed(t, "lp:1.5") }, "whole exponents"},
		{"knot of integers", func(s *tables.Spec) { s.Loss = parsed(t, "exceed:4096"); integers(s, 1) }, ""},
		{"far knot of integers", func(s *tables.Spec) { s.Loss = parsed(t, "huber:4097"); integers(s, 1) }, "within 4096 nodes"},
		{"cubic of integers", func(s *tables.Spec) { s.Loss = parsed(t, "lp:3"); integers(s, 1) }, ""},
		{"power of integers", func(s *tables.Spec) { s.Loss = parsed(t, "lp:1.5"); integers(s, 1) }, "whole exponents"},
		{"jump of every second integer", func(s *tables.Spec) { s.Loss = parsed(t, "exceed:3"); integers(s, 2) }, "for noise between nodes"},
		{"knot of every second integer", func(s *tables.Spec) { s.Loss = parsed(t, "deadzone:8192"); integers(s, 2) }, ""},
		{"far knot of every second integer", func(s *tables.Spec) { s.Loss = parsed(t, "deadzone:8193"); integers(s, 2) }, "within 4096 nodes"},
		{"every second integer", func(s *tables.Spec) { integers(s, 2) }, ""},
		{"symmetric", func(s *tables.Spec) { s.Constraints.Symmetric = true }, ""},
		{"symmetric, another loss", func(s *tables.Spec) { s.Constraints.Symmetric, s.Loss = true, parsed(t, "pinball:0.4") }, "on symmetry"},
		{"support", func(s *tables.Spec) { s.Constraints.Support = &dp.Interval{Lower: -100, Upper: 100} }, "on the support"},
		{"other constraints", func(s *tables.Spec) {
			s.Constraints = dp.Constraints{Monotone: true, Unbiased: true, MaxVariance: 9, Quantiles: []dp.Quantile{{Probability: 0.5, Magnitude: 9}}, MaxDistinguishing: 0.5}
		}, ""},
		{"no multipliers", func(s *tables.Spec) { s.Dual.Shifts[1].Multipliers = nil }, "shifts without a positive multiplier"},
		{"multipliers 0", func(s *tables.Spec) { s.Dual.Shifts[1].Multipliers = []int64{0, 0} }, "shifts without a positive multiplier"},
	}
	// Each other field, and any that a Dual gets.
	for f := range reflect.TypeFor[tables.Dual]().Fields() {
		if slices.Contains(covered, f.Name) {
			continue
		}
		value := reflect.New(f.Type).Elem()
		switch f.Type.Kind() {
		case reflect.Bool:
			value.SetBool(true)
		case reflect.Float64:
			value.SetFloat(-0.5)
		case reflect.Pointer:
			value.Set(reflect.New(f.Type.Elem()))
		case reflect.Slice:
			value.Set(reflect.MakeSlice(f.Type, 1, 1))
		default:
			t.Fatalf("field %s is of a kind that the test has no value for", f.Name)
		}
		tests = append(tests, test{f.Name, func(s *tables.Spec) { reflect.ValueOf(s.Dual).Elem().FieldByIndex(f.Index).Set(value) }, rest})
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := decoded(t, "../../../docs/example-table.json").Spec()
			test.change(&s)
			if why := boundOpen(&s); (why == "") != (test.want == "") || !strings.Contains(why, test.want) {
				t.Errorf("%q, want %q", why, test.want)
			}
		})
	}
}

// integers makes a table one of integers, whose nodes are so many apart.
func integers(s *tables.Spec, stride int) {
	s.Query, s.Grid.GranularityExponent = dp.IntegerQuery, 0
	s.Privacy.Sensitivity = float64(stride * s.Dual.CellsPerSensitivity)
}

func parsed(t *testing.T, name string) loss.Loss {
	t.Helper()
	l, err := loss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestTheoremOfLoss: all losses are covered but lp of other exponents, and knots far out in a tail.
func TestTheoremOfLoss(t *testing.T) {
	const far, power = "within 64 periods", "whole exponents"
	for _, test := range []struct {
		file, loss, want string
	}{
		{"real.json", "l1 + huber:1e9", ""},
		{"real.json", "lp:3 + l2:2", ""},
		{"real.json", "l1 + lp:2.5", power},
		{"real.json", "pwl:-inf,-1;0,2:2", ""},
		{"tail.json", "pinball:0.5 + lp:4", ""},
		{"tail.json", "lp:1.5:2", power},
		{"tail.json", "exceed:64 + huber:64", ""},
		{"tail.json", "exceed:64.1", far},
		{"tail.json", "pwl:-inf,-1;-64.1,-0.5;0,2", far},
	} {
		s := decoded(t, "../../../python/tests/data/files/"+test.file).Spec()
		s.Loss = parsed(t, test.loss)
		if why := lossOpen(&s); (why == "") != (test.want == "") || !strings.Contains(why, test.want) {
			t.Errorf("%s with the loss %s: %q, want %q", test.file, test.loss, why, test.want)
		}
	}
}

// TestTheoremNamesWhatIsOpen: of a bound that is not covered there is a remark and no theorem, which would fail the others.
func TestTheoremNamesWhatIsOpen(t *testing.T) {
	s := decoded(t, "../../../docs/example-table.json").Spec()
	s.Dual.Spread = true
	table, err := tables.New(s)
	if err != nil {
		t.Fatal(err)
	}
	var file, theorem bytes.Buffer
	if err := table.Encode(&file); err != nil {
		t.Fatal(err)
	}
	if err := Write(&theorem, "spread.json", file.Bytes()); err != nil {
		t.Fatal(err)
	}
	text := theorem.String()
	if strings.Contains(text, "Theorem optimal") || !strings.Contains(text, "Theorem expected") ||
		!strings.Contains(text, "(* Not machine-checked: that no noise has an expected loss below 0.682111374616394: only ") {
		t.Errorf("theorems:\n%s", text[strings.Index(text, "Theorem"):])
	}
}

// TestTheoremsAreThere: the names that programs print are of theorems of proofs/, which Write applies.
func TestTheoremsAreThere(t *testing.T) {
	const files = "../../../python/tests/data/files/"
	for _, test := range []struct {
		file, theories string
		claims         []string // with a theorem
	}{
		{"../../../docs/example-table.json", "Certificate.v", []string{"privacy", "expected loss", "lower bound"}},
		{files + "local-integer.json", "CertifyRandomizer.v", []string{"privacy", "mean loss", "largest loss", "bias"}},
		{files + "local-worst.json", "CertifyRandomizer.v", []string{"privacy", "largest loss", "bias"}},
		{files + "kernel.json", "CertifyKernel.v", []string{"privacy"}},
		{files + "subset-affine.json", "CertifySelection.v", []string{"privacy", "total variance", "largest variance", "formula of the lower bound"}},
		{files + "subset-largest.json", "CertifySelection.v", []string{"privacy", "total variance", "largest variance", "formula of the lower bound"}},
		{files + "categories.json", "CertifyRandomizer.v", []string{"privacy", "mean loss", "largest loss"}},
	} {
		t.Run(test.file, func(t *testing.T) {
			proved, err := os.ReadFile("../../../proofs/" + test.theories)
			if err != nil {
				t.Fatal(err)
			}
			file, err := os.ReadFile(test.file)
			if err != nil {
				t.Fatal(err)
			}
			m, err := formOf(file).decode(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			var theorems bytes.Buffer
			if err := Write(&theorems, test.file, file); err != nil {
				t.Fatal(err)
			}
			var with []string
			for _, c := range Claims(m) {
				if c.Theorem == "" {
					if c.Why == "" || !strings.Contains(theorems.String(), "(* Not machine-checked: "+c.Says+": "+c.Why+". *)") {
						t.Errorf("%+v: it has no theorem, and that is not written", c)
					}
					continue
				}
				with = append(with, c.Name)
				if c.Text() != c.Name+": "+c.Theorem || !bytes.Contains(proved, []byte("Theorem "+c.Theorem+" ")) || !strings.Contains(theorems.String(), "apply "+c.Theorem+".") {
					t.Errorf("%+v: no theorem of that name is in %s and in what is written", c, test.theories)
				}
			}
			if !slices.Equal(with, test.claims) {
				t.Errorf("theorems of %q, want %q", with, test.claims)
			}
		})
	}
}

// TestClaimsOfRandomizers: what no theorem is about has none.
func TestClaimsOfRandomizers(t *testing.T) {
	file, err := os.ReadFile("../../../python/tests/data/files/local-integer.json")
	if err != nil {
		t.Fatal(err)
	}
	r, err := local.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		change func(*local.Spec)
		want   []string
	}{
		{func(*local.Spec) {}, []string{"lower bound", "answers"}},
		{func(s *local.Spec) { s.Demands = local.Demands{} }, []string{"lower bound"}},
		{func(s *local.Spec) { s.Demands = local.Demands{Step: 1} }, []string{"lower bound", "answers"}},
		{func(s *local.Spec) { s.Demands = local.Demands{Upper: 5} }, []string{"lower bound", "answers"}},
		{func(s *local.Spec) { s.Demands = local.Demands{Lower: -5} }, []string{"lower bound", "answers"}},
		{func(s *local.Spec) { s.Loss = parsed(t, "l1 + lp:1.5") }, []string{"mean loss", "largest loss", "lower bound", "answers"}},
		{func(s *local.Spec) { s.Values.Kind = local.Real }, []string{"mean loss", "lower bound", "answers"}},
	} {
		s := r.Spec()
		test.change(&s)
		var open []string
		for _, c := range randomizerClaims(&s) {
			if c.Theorem == "" {
				open = append(open, c.Name)
			}
		}
		if !slices.Equal(open, test.want) {
			t.Errorf("not machine-checked: %q, want %q", open, test.want)
		}
	}
}

// TestClaimsOfOtherForms: nothing is left out in silence.
func TestClaimsOfOtherForms(t *testing.T) {
	for _, c := range Claims((*counts.Strategy)(nil)) {
		if c.Theorem != "" || c.Text() != c.Name+": not machine-checked: only tables, local randomizers, kernels and subset selections are covered" {
			t.Errorf("%q of a strategy for counts, want that it is not machine-checked", c.Text())
		}
	}
	s := decoded(t, "../../../python/tests/data/files/lattice-total.json").Spec()
	s.Constraints.Symmetric = true
	var open []string
	for _, c := range claims(&s) {
		if c.Theorem == "" {
			open = append(open, c.Name)
		}
	}
	if want := []string{"lower bound", "constraints", "total"}; !slices.Equal(open, want) {
		t.Errorf("not machine-checked: %q, want %q", open, want)
	}
}

func decoded(t *testing.T, path string) *tables.Table {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := tables.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return table
}
