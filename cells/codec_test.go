// SPDX-License-Identifier: Apache-2.0

package cells

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

func text(tb testing.TB, k *Kernel) string {
	tb.Helper()
	var b bytes.Buffer
	if err := k.Encode(&b); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func smallKernel(tb testing.TB) string {
	tb.Helper()
	const q = 1 << 62
	return text(tb, newKernel(tb, Spec{
		Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: 2}, Loss: loss.L1,
		Edges: []float64{-2, 0.5, math.Inf(1)}, Weight: []float64{1, 2},
		Grid:        Grid{GranularityExponent: -2, PointsPerBin: 4, FirstBin: -1},
		Rows:        [][]uint64{{q, q, 2 * q}, {q, 2 * q, q}},
		InstanceCap: 7, CapLoss: loss.L2,
		Dual: &Dual{NodesPerSensitivity: 2, Exponent: -50, Caps: []int64{3, 4}, Shifts: []dualShift{
			{Gain: 0, Lose: 1, Shift: -1, First: 1, Above: 5, Multipliers: []int64{1 << 40}},
		}},
	}))
}

func TestCodecRoundTrip(t *testing.T) {
	good := smallKernel(t)
	back, err := Decode(strings.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, back); got != good {
		t.Errorf("decoded and encoded:\n%s\nwant\n%s", got, good)
	}
	if _, err := back.Verify(); err != nil {
		t.Error(err)
	}
	if !form.Recognize([]byte(good[:60])) || form.Recognize([]byte(`{"format":"noisewright-kernel"`)) {
		t.Error("not told from a kernel that answers by nodes")
	}
}

// TestDecodeRefuses changes one thing in a good file at a time.
func TestDecodeRefuses(t *testing.T) {
	good := smallKernel(t)
	replace := func(old, with string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the file has no %q in %s", old, good)
		}
		return strings.Replace(good, old, with, 1)
	}
	for _, c := range []struct{ name, text, says string }{
		{"empty", "", "ends early"},
		{"cut short", good[:len(good)/2], "ends early"},
		{"trailing value", good + "{}", "after the additive kernel"},
		{"unknown field", replace(`"version":1`, `"version":1,"extra":0`), "not a field"},
		{"future version", replace(`"version":1`, `"version":2`), "version"},
		{"unknown loss", replace(`"name":"l1"`, `"name":"l7"`), "l7"},
		{"unknown loss of the cap", replace(`"name":"l2"`, `"name":"l7"`), "instance_cap_loss"},
		{"cap of zero", replace(`"instance_cap":7`, `"instance_cap":0`), "instance_cap"},
		{"a loss of no cap", replace(`"instance_cap":7,`, ``), "instance_cap_loss"},
		{"edges out of order", replace(`"edges":[0.5]`, `"edges":[-3]`), "edges[1]"},
		{"edges on one point", replace(`"edges":[0.5]`, `"edges":[-1.99]`), "edges[1]"},
		{"an edge beyond the lattice", replace(`"lower":-2`, `"lower":-1e300`), "edges[0]"},
		{"no weight", replace(`"weight":[1,2]`, `"weight":[0,0]`), "weight"},
		{"a negative weight", replace(`"weight":[1,2]`, `"weight":[1,-2]`), "weight[1]"},
		{"no points", replace(`"points_per_bin":4`, `"points_per_bin":0`), "points_per_bin"},
		{"far bins", replace(`"first_bin":-1`, `"first_bin":-9999999`), "first_bin"},
		{"sensitivity of many bins", replace(`"sensitivity":2`, `"sensitivity":1e9`), "sensitivity"},
		{"a row short", replace(`"rows":[["4611686018427387904",`, `"rows":[[`), "rows[0]"},
		{"multiplier negative", replace(`"multipliers":["`, `"multipliers":["-`), "multipliers[0]"},
		{"shift out of reach", replace(`"shift":-1`, `"shift":-3`), "shift"},
		{"shift of no values", replace(`"shift":-1`, `"shift":1`), "shift"},
		{"no such cell", replace(`"lose":1`, `"lose":2`), "shift"},
		{"nodes far out", replace(`"first":1`, `"first":70000`), "first"},
		{"prices too large", replace(`"above":"5"`, `"above":"9223372036854775807"`), "multipliers"},
		{"caps too few", replace(`"caps":["3","4"]`, `"caps":["3"]`), "caps"},
	} {
		k, err := Decode(strings.NewReader(c.text))
		if k != nil || err == nil {
			t.Errorf("%s: accepted", c.name)
			continue
		}
		if !strings.Contains(err.Error(), c.says) || len(err.Error()) > 600 {
			t.Errorf("%s: error %q, want it short and to say %q", c.name, err, c.says)
		}
	}
}

// FuzzDecode: whatever the bytes, Decode returns a kernel that survives encoding and
// verification, or an error and nothing else.
func FuzzDecode(f *testing.F) {
	good := smallKernel(f)
	f.Add([]byte(good))
	f.Add([]byte(strings.Replace(good, `"epsilon":1`, `"epsilon":1e-300`, 1)))
	f.Add([]byte(strings.Replace(good, `"lower":-2`, `"upper":3`, 1)))
	f.Add([]byte(`{"format":"noisewright-additive-kernel"`))
	f.Add([]byte(strings.Replace(good, `"version":`, `"optional":["x"],"x":[{}],"version":`, 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		k, err := Decode(bytes.NewReader(data))
		if err != nil {
			if k != nil {
				t.Fatal("a kernel beside an error")
			}
			return
		}
		v, err := proof.Verify(t.Context(), k, proof.Options{Work: 1 << 24})
		if (v == nil) != (err != nil) {
			t.Fatalf("verified: %v, %v", v, err)
		}
		if err == nil {
			c := v.Certificate()
			if c.LowerBound.Sign() < 0 || c.DeltaUpper.Sign() < 0 || c.MaxLoss.Cmp(c.ExpectedLoss) < 0 {
				t.Fatal("a certificate that cannot be")
			}
		}
		once := text(t, k)
		again, err := Decode(strings.NewReader(once))
		if err != nil {
			t.Fatalf("does not read its own output: %v", err)
		}
		if text(t, again) != once {
			t.Fatal("encoding is not stable")
		}
	})
}
