// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"bytes"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

func kernelText(tb testing.TB, k *Kernel) string {
	tb.Helper()
	var b bytes.Buffer
	if err := k.Encode(&b); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

const tableStart = `{"format":"noisewright-table","version":1,`

func smallKernel(tb testing.TB) string {
	tb.Helper()
	s := exponentialSpec(tb, 1, 0.45, Queries{Weight: []proof.Piece{{From: 0, Weight: 1}, {From: 0.3, Weight: 2}}}, 0, 0.5, 1)
	s.InstanceCap, s.CapLoss = 1, loss.L2
	s.Dual = &Dual{Cells: 2, Exponent: -50, Mirrored: true, Caps: []int64{3, 4}, Pairs: []dualPair{
		{Gain: 0, Lose: 1, First: 1, Multipliers: []int64{1 << 40}},
	}}
	return kernelText(tb, newKernel(tb, s))
}

func TestCodecRoundTrip(t *testing.T) {
	text := smallKernel(t)
	back, err := Decode(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := kernelText(t, back); got != text {
		t.Errorf("decoded and encoded:\n%s\nwant\n%s", got, text)
	}
	if _, err := back.Verify(); err != nil {
		t.Error(err)
	}
	for head, want := range map[string]bool{text[:40]: true, tableStart: false, "[1]": false, "": false, text[:20]: false} {
		if form.Recognize([]byte(head)) != want {
			t.Errorf("%q is taken for a kernel: %v, want %v", head, !want, want)
		}
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
		{"a table", tableStart, "format"},
		{"trailing value", good + "{}", "after the kernel"},
		{"duplicate field", replace(`"version":1`, `"version":1,"version":1`), "stands twice"},
		{"unknown field", replace(`"version":1`, `"version":1,"extra":0`), "not a field"},
		{"missing field", replace(`"version":1,`, ``), "version is missing"},
		{"missing claim", replace(`"max_loss"`, `"maximal_loss"`), "maximal_loss"},
		{"future version", replace(`"version":1`, `"version":2`), "version"},
		{"unknown loss", replace(`"name":"l1"`, `"name":"l7"`), "l7"},
		{"cap of zero", replace(`"instance_cap":1`, `"instance_cap":0`), "instance_cap"},
		{"node as string", replace(`"nodes":[`, `"nodes":["0",`), "nodes[0]"},
		{"edges out of order", replace(`"edges":[0,0.5`, `"edges":[0,1.5`), "edges[2]"},
		{"weight as number", replace(`"rows":[["`, `"rows":[[5,"`), "rows[0][0]"},
		{"one weight more", replace(`"rows":[["`, `"rows":[["7","`), "rows[0]"},
		{"a piece before the range", replace(`"from":0,`, `"from":-1,`), "weight[0].from"},
		{"multiplier negative", replace(`"multipliers":["`, `"multipliers":["-`), "multipliers[0]"},
		{"dual null", replace(`"dual":{`, `"dual":null,"x":{`), "dual"},
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

// FuzzDecode: whatever the bytes, Decode returns a kernel that
// survives encoding and certification, or an error and nothing else.
func FuzzDecode(f *testing.F) {
	good := smallKernel(f)
	f.Add([]byte(good))
	f.Add([]byte(strings.Replace(good, `"epsilon":1`, `"epsilon":1e-300`, 1)))
	f.Add([]byte(strings.Replace(good, `"cells":2`, `"cells":3`, 1)))
	f.Add([]byte(`{"format":"noisewright-kernel"`))
	f.Add([]byte(strings.Replace(good, `"version":`, `"optional":["x"],"x":[{}],"version":`, 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		k, err := Decode(bytes.NewReader(data))
		if err != nil {
			if k != nil {
				t.Fatal("a kernel beside an error")
			}
			return
		}
		c := k.Certify()
		if v, err := k.Verify(); (v == nil) != (err != nil) {
			t.Fatalf("verified: %v, %v", v, err)
		}
		if c.LowerBound.Sign() < 0 || c.DeltaUpper.Sign() < 0 || c.MaxLoss.Cmp(c.ExpectedLoss) < 0 {
			t.Fatal("a certificate that cannot be")
		}
		once := kernelText(t, k)
		again, err := Decode(strings.NewReader(once))
		if err != nil {
			t.Fatalf("does not read its own output: %v", err)
		}
		if kernelText(t, again) != once {
			t.Fatal("encoding is not stable")
		}
	})
}
