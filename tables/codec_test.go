// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/limits"
)

func encoded(tb testing.TB, t *Table) string {
	tb.Helper()
	var b bytes.Buffer
	if err := t.Encode(&b); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func smallFile(tb testing.TB) string {
	tb.Helper()
	s := geometricSpec(tb, 1, 0.1, 1)
	s.Dual = &Dual{CellsPerSensitivity: 2, Exponent: -50, Mirrored: true, Shifts: []dualShift{
		{Shift: 1, FirstCell: -2, Multipliers: []int64{0, 5, 1 << 40}}, {Shift: 2, Multipliers: []int64{}},
	}}
	t, err := New(s)
	if err != nil {
		tb.Fatal(err)
	}
	return encoded(tb, t)
}

func TestCodecRoundTrip(t *testing.T) {
	text := smallFile(t)
	back, err := Decode(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := encoded(t, back); got != text {
		t.Errorf("decoded and encoded:\n%s\nwant\n%s", got, text)
	}
	if _, err := back.Verify(); err != nil {
		t.Error(err)
	}
}

// totalFile is smallFile with a claimed total.
func totalFile(tb testing.TB) string {
	tb.Helper()
	t, err := Decode(strings.NewReader(smallFile(tb)))
	if err == nil {
		t, err = t.WithTotal(Total{Releases: 12, Epsilon: 1e-6, Delta: 0})
	}
	if err != nil {
		tb.Fatal(err)
	}
	return encoded(tb, t)
}

func TestTotalRoundTrip(t *testing.T) {
	text := totalFile(t)
	if want := `"total":{"releases":12,"epsilon":0.000001,"delta":0}`; !strings.Contains(text, want) {
		t.Fatalf("encoded %s, want it to have %s", text, want)
	}
	back, err := Decode(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := encoded(t, back); got != text {
		t.Errorf("decoded and encoded:\n%s\nwant\n%s", got, text)
	}
	// Absurd as it is, it is no claim about one release.
	v, err := back.Verify()
	if err != nil {
		t.Fatal(err)
	}
	if total, ok := v.Mechanism().ClaimedTotal(); !ok || total != (Total{12, 1e-6, 0}) {
		t.Errorf("total %+v, %v", total, ok)
	}
	none, err := back.WithTotal(Total{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := none.ClaimedTotal(); ok || encoded(t, none) != smallFile(t) {
		t.Error("a total is left")
	}
	for _, bad := range []Total{{0, 1, 0}, {-1, 1, 0}, {limits.TableReleases + 1, 1, 0}, {1, -1, 0}, {1, math.NaN(), 0}, {1, math.Inf(1), 0}, {1, 1, 1}, {1, 1, -0.1}, {1, 1, math.NaN()}} {
		if got, err := back.WithTotal(bad); got != nil || !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), "total.") {
			t.Errorf("total %+v: %v, %v", bad, got, err)
		}
		s := geometricSpec(t, 1, 0.1, 1)
		s.Total = bad
		if got, err := New(s); got != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("total %+v in a Spec: %v, %v", bad, got, err)
		}
	}
}

// TestDecodeRefuses changes one thing in a good file at a time.
func TestDecodeRefuses(t *testing.T) {
	good := smallFile(t)
	replace := func(old, with string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the file has no %q", old)
		}
		return strings.Replace(good, old, with, 1)
	}
	claim, anyClaim := regexp.MustCompile(`"delta":"[^"]*"`), regexp.MustCompile(`"(delta|expected_loss|lower_bound)":"[^"]*"`)
	cases := []struct{ name, text, says string }{
		{"empty", "", "ends early"},
		{"no object", "[]", "want an object"},
		{"null", "null", "want an object"},
		{"cut short", good[:len(good)/2], "ends early"},
		{"binary", "\x00\x01", "not JSON"},
		{"trailing value", good + "{}", "after the table"},
		{"trailing junk", good + "x", "after the table"},
		{"duplicate field", replace(`"version":1`, `"version":1,"version":1`), "stands twice"},
		{"duplicate weights", replace(`"atom":`, `"weights":["1"],"atom":`), "stands twice"},
		{"unknown field", replace(`"version":1`, `"version":1,"extra":0`), "not a field"},
		{"marker of an optional field", replace(`"dual":{`, `"dual?":{`), `"dual?"`},
		{"control characters in a name", replace(`"version":1`, `"version":1,"\u001b[2J\nerror":0`), `"\x1b[2J\nerror"`},
		{"control characters in a value", replace(`"epsilon":1`, `"epsilon":"\u001b[2J"`), `"\x1b[2J"`},
		{"field in another case", replace(`"version":1`, `"Version":1`), "not a field"},
		{"missing field", replace(`"version":1,`, ``), "version is missing"},
		{"missing nested", replace(`"mirrored":true,`, ``), "mirrored is missing"},
		{"wrong format", replace(`noisewright-table`, `other`), "format"},
		{"future version", replace(`"version":1`, `"version":2`), "version"},
		{"fractional version", replace(`"version":1`, `"version":1.0`), "version"},
		{"number as string", replace(`"epsilon":1`, `"epsilon":"1"`), "privacy.epsilon"},
		{"epsilon overflow", replace(`"epsilon":1`, `"epsilon":1e999`), "privacy.epsilon"},
		{"epsilon negative", replace(`"epsilon":1`, `"epsilon":-1`), "epsilon"},
		{"unknown loss", replace(`"name":"l1"`, `"name":"l7"`), "l7"},
		{"weight as number", replace(`"weights":["`, `"weights":[5,"`), "weights[0]"},
		{"negative weight", replace(`"weights":["`, `"weights":["-1","`), "weights[0]"},
		{"oversized weight", replace(`"weights":["`, `"weights":["18446744073709551616","`), "weights[0]"},
		{"weight with zeros", replace(`"weights":["`, `"weights":["007","`), "weights[0]"},
		{"weight with sign", replace(`"weights":["`, `"weights":["+7","`), "weights[0]"},
		{"one weight more", replace(`"weights":["`, `"weights":["7","`), "2^64"},
		{"claim as number", replace(`"certificate":{"delta":"`, `"certificate":{"delta":0.1,"x":"`), "certificate.delta"},
		{"claim empty", claim.ReplaceAllString(good, `"delta":""`), "certificate.delta"},
		{"claims empty", anyClaim.ReplaceAllString(good, `"$1":""`), "certificate.delta"},
		{"claim with a sign", claim.ReplaceAllString(good, `"delta":"-0"`), "certificate.delta"},
		{"empty query", replace(`"loss":`, `"query":"","loss":`), "query"},
		{"quantile beyond any use", replace(`"grid":`, `"constraints":{"quantiles":[{"probability":0.5,"magnitude":1e61}]},"grid":`), "1e-60 to 1e60"},
		{"claim with exponent", replace(`"certificate":{"delta":"`, `"certificate":{"delta":"1e1`), "certificate.delta"},
		{"multiplier negative", replace(`"multipliers":["0"`, `"multipliers":["-1"`), "multipliers[0]"},
		{"multiplier oversized", replace(`"multipliers":["0"`, `"multipliers":["9223372036854775808"`), "multipliers[0]"},
		{"dual null", replace(`"dual":{`, `"dual":null,"x":{`), "dual"},
		{"total of nothing", replace(`"atom":`, `"total":{"releases":0,"epsilon":0,"delta":0},"atom":`), "total.releases"},
		{"total of no releases", replace(`"atom":`, `"total":{"releases":0,"epsilon":1,"delta":0},"atom":`), "total.releases"},
		{"total of half a release", replace(`"atom":`, `"total":{"releases":0.5,"epsilon":1,"delta":0},"atom":`), "total.releases"},
		{"total without delta", replace(`"atom":`, `"total":{"releases":1,"epsilon":1},"atom":`), "total.delta is missing"},
		{"total with delta 1", replace(`"atom":`, `"total":{"releases":1,"epsilon":1,"delta":1},"atom":`), "total.delta"},
		{"total null", replace(`"atom":`, `"total":null,"atom":`), "total"},
		{"total twice", replace(`"atom":`, `"total":{"releases":1,"epsilon":1,"delta":0},"total":{"releases":1,"epsilon":1,"delta":0},"atom":`), "stands twice"},
		{"total with more", replace(`"atom":`, `"total":{"releases":1,"epsilon":1,"delta":0,"sensitivity":1},"atom":`), "not a field"},
		{"deep nesting", strings.Repeat("[", 100000), "want an object"},
		{"deep in weights", replace(`"weights":[`, `"weights":[`+strings.Repeat("[", 50000)), "weights[0]"},
	}
	for _, c := range cases {
		tab, err := Decode(strings.NewReader(c.text))
		if tab != nil || err == nil {
			t.Errorf("%s: accepted", c.name)
			continue
		}
		if !strings.Contains(err.Error(), c.says) || len(err.Error()) > 400 {
			t.Errorf("%s: error %q, want it short and to say %q", c.name, err, c.says)
		}
	}
}

func TestDecodePassesReaderErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	good := smallFile(t)
	r := io.MultiReader(strings.NewReader(good[:50]), errReader{broken})
	if _, err := Decode(r); !errors.Is(err, broken) {
		t.Errorf("error %v, want the reader's", err)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// TestDecodeMemory feeds an endless weights array and bounds what is allocated.
func TestDecodeMemory(t *testing.T) {
	head := `{"format":"noisewright-table","version":1,"weights":["1"`
	body := strings.Repeat(`,"1"`, 2_000_000)
	text := head + body
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Decode(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("error %v, want a limit", err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 20*uint64(len(text)) {
		t.Errorf("allocated %d bytes for a file of %d", got, len(text))
	}
}

// FuzzDecode: whatever the bytes, Decode returns a table that survives
// encoding and certification, or an error and nothing else.
func FuzzDecode(f *testing.F) {
	good := smallFile(f)
	f.Add([]byte(good))
	f.Add([]byte(strings.Replace(good, `"epsilon":1`, `"epsilon":1e-300`, 1)))
	f.Add([]byte(strings.Replace(good, `"first_cell":`, `"first_cell":1`, 1)))
	f.Add([]byte(`{"format":"noisewright-table"`))
	f.Add([]byte("[[[[{}"))
	f.Add([]byte(strings.Replace(good, `"version":`, `"optional":["x"],"x":[{}],"version":`, 1)))
	f.Add([]byte(totalFile(f)))
	f.Add([]byte(strings.Replace(totalFile(f), `"releases":12`, `"releases":0`, 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		tab, err := Decode(bytes.NewReader(data))
		if err != nil {
			if tab != nil {
				t.Fatal("a table beside an error")
			}
			return
		}
		c := tab.Certify()
		if v, err := tab.Verify(); (v == nil) != (err != nil) {
			t.Fatalf("verified: %v, %v", v, err)
		}
		if c.LowerBound.Sign() < 0 || c.DeltaUpper.Sign() < 0 {
			t.Fatal("a negative certificate")
		}
		once := encoded(t, tab)
		again, err := Decode(strings.NewReader(once))
		if err != nil {
			t.Fatalf("does not read its own output: %v", err)
		}
		if encoded(t, again) != once {
			t.Fatal("encoding is not stable")
		}
	})
}

func ExampleDecode() {
	const text = `{"format":"noisewright-table","version":1,
		"privacy":{"epsilon":1.1,"delta":0.3,"sensitivity":1},
		"loss":{"name":"l1"},
		"grid":{"granularity_exponent":0,"points_per_cell":1,"cells_per_sensitivity":1,"first_cell":-1},
		"weights":["4611686018427387904","9223372036854775808","4611686018427387904"],
		"atom":"0",
		"certificate":{"delta":"0.25","expected_loss":"0.5","lower_bound":"0"}}`
	t, err := Decode(strings.NewReader(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := t.Verify()
	if err != nil {
		fmt.Println(err)
		return
	}
	c := v.Certificate()
	fmt.Println("delta:", c.DeltaUpper.FloatString(4), "expected loss:", c.ExpectedLoss.FloatString(2))
	// Output: delta: 0.2500 expected loss: 0.50
}

func BenchmarkCertify(b *testing.B) {
	t := geometricTable(b, 0.5, 1e-6, 60)
	for b.Loop() {
		t.spec.certify(nil) // Certify does it once
	}
	b.ReportMetric(float64(t.Cells()), "cells")
}

func BenchmarkDecode(b *testing.B) {
	text := encoded(b, geometricTable(b, 0.5, 1e-6, 60))
	for b.Loop() {
		if _, err := Decode(strings.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
}
