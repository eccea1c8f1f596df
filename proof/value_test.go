// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// spaces has one of each kind, values that are of it and as they are written, and texts that
// are not.
var spaces = []struct {
	space  Space
	values []Value
	texts  []string
	bad    []string
	json   string // of the first value
}{
	{
		Space{Kind: Numbers, Lower: -1, Upper: 2},
		[]Value{Number(0.5), Number(-1), Number(2), Number(1e-300)},
		[]string{"0.5", "-1", "2", "1e-300"},
		[]string{"", "x", "2.5", "NaN", "Inf", "1,1"},
		"0.5",
	},
	{
		Space{Kind: Numbers, Lower: math.Inf(-1), Upper: math.Inf(1)},
		[]Value{Number(-math.MaxFloat64)},
		[]string{"-1.7976931348623157e+308"},
		[]string{"Inf", "-Inf", "NaN"},
		"-1.7976931348623157e+308",
	},
	{
		Space{Kind: Integers, Lower: -3, Upper: 3},
		[]Value{Integer(-3), Integer(0)},
		[]string{"-3", "0"},
		[]string{"", "0.5", "4", "1e0"},
		"-3",
	},
	{
		Space{Kind: Categories, Labels: []string{"yes", "no, never"}},
		[]Value{Category("no, never"), Category("yes")},
		[]string{"no, never", "yes"},
		[]string{"", "Yes", "no"},
		`"no, never"`,
	},
	{
		Space{Kind: Categories, Count: 12},
		[]Value{Category("0"), Category("11")},
		[]string{"0", "11"},
		[]string{"", "12", "-1", "01", "+1", "1.0", "a"},
		`"0"`,
	},
	{
		Space{Kind: Codes, Modulus: 7},
		[]Value{Code{1, 0}, Code{6, 6}},
		[]string{"1:0", "6:6"},
		[]string{"", "3", "0:3", "7:1", "1:7", "-1:3", "1:-3", "01:3", "1:3:4", "1:", ":1", "1 :2"},
		`"1:0"`,
	},
	{
		Space{Kind: Codes, Count: 1 << 60},
		[]Value{Code{B: 0}, Code{B: 1<<60 - 1}},
		[]string{"0", "1152921504606846975"},
		[]string{"", "1152921504606846976", "-1", "1:3", "00", "1e3"},
		`"0"`,
	},
	{
		Space{Kind: Rows, Lower: -1, Upper: 1, Size: 3},
		[]Value{Row{0.5, -0.5, 0}, Row{1, 0, 0}},
		[]string{"0.5,-0.5,0", "1,0,0"},
		[]string{"", "0,0", "0,0,0,0", "1,1.5,0", "0,0,NaN", "0,,0"},
		"[0.5,-0.5,0]",
	},
	{
		Space{Kind: Rows, Lower: 0, Upper: math.Inf(1), Size: 2, Labels: []string{"young", "old"}},
		[]Value{Row{3, 7}, Row{0, 1e300}},
		[]string{"3,7", "0,1e+300"},
		[]string{"-1,0", "1", "1,2,3", "0,Inf"},
		"[3,7]",
	},
}

// TestValues of every kind are written, read, and told from what is not of the space.
func TestValues(t *testing.T) {
	for _, c := range spaces {
		for i, v := range c.values {
			if !c.space.Contains(v) || v.Kind() != c.space.Kind || v.String() != c.texts[i] {
				t.Errorf("%s: %v of kind %s is not %q of it", c.space, v, v.Kind(), c.texts[i])
			}
			if got, err := c.space.Parse(c.texts[i]); err != nil || !reflect.DeepEqual(got, v) {
				t.Errorf("%s: %q is read as %v, %v", c.space, c.texts[i], got, err)
			}
			for _, other := range spaces {
				if other.space.Kind != c.space.Kind && other.space.Contains(v) && c.space.Kind != Integers && other.space.Kind != Integers {
					t.Errorf("%v is %s and %s", v, c.space, other.space)
				}
			}
		}
		for _, text := range c.bad {
			if v, err := c.space.Parse(text); v != nil || !errors.Is(err, dp.ErrInvalid) || err.Error() != "proof: the value is not "+c.space.String() && err.Error() != "proof: the value is not a "+string(c.space.Kind) {
				t.Errorf("%s: %q is read as %v, %v", c.space, text, v, err)
			}
		}
		if text, err := json.Marshal(c.values[0]); err != nil || string(text) != c.json {
			t.Errorf("%v in JSON is %s, %v, want %s", c.values[0], text, err, c.json)
		}
		if c.space.Contains(nil) {
			t.Errorf("%s: nothing is of it", c.space)
		}
	}
}

// TestWholeNumbers are integers and the other way around, up to 2^53.
func TestWholeNumbers(t *testing.T) {
	integers, numbers := Space{Kind: Integers, Lower: -5, Upper: 5}, Space{Kind: Numbers, Lower: -5, Upper: 5}
	if !integers.Contains(Number(3)) || integers.Contains(Number(3.5)) || !numbers.Contains(Integer(-5)) || numbers.Contains(Integer(6)) {
		t.Error("whole numbers are not taken for what they are")
	}
	for v, want := range map[Value]bool{Integer(1 << 53): true, Integer(1<<53 + 1): false, Integer(-1 << 53): true, Integer(-1<<53 - 1): false, Number(0.5): true, Category("1"): false} {
		if x, ok := Float(v); ok != want || ok && Number(x).String() == "" {
			t.Errorf("%v as a float64: %v, %v", v, x, ok)
		}
	}
}
