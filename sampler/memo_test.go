// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/subset"
)

func memoOf(t *testing.T, v proof.Proven, secret byte) *Memo {
	t.Helper()
	m, err := NewMemo(v, [32]byte{secret})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func sets(t *testing.T, k int64, epsilon float64) *subset.Verified {
	t.Helper()
	v, err := subset.Design(subset.Spec{Epsilon: epsilon, Count: k})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestMemoRepeats: an answer is the same whenever and wherever it is asked for, and another one for another secret,
// mechanism, label or input: of 40 answers from 728 sets or more, two lists are equal by chance with a
// probability below 1e-9 (the answers to two inputs agree with one below 1/60).
func TestMemoRepeats(t *testing.T) {
	asked := func(turn int64) func(x string) proof.Value {
		return func(x string) proof.Value { return subset.Asked{Category: proof.Category(x), Turn: turn} }
	}
	category := func(x string) proof.Value { return proof.Category(x) }
	answers := func(m *Memo, input func(string) proof.Value, x string, label ...string) (out []string) {
		for i := range 40 {
			y, err := m.Release(input(x), append([]string{strconv.Itoa(i)}, label...)...)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, y.String())
		}
		return out
	}
	v := sets(t, 200, 1)
	m := memoOf(t, v, 1)
	first := answers(m, category, "7", "ann")
	if !slices.Equal(first, answers(m, category, "7", "ann")) || !slices.Equal(first, answers(memoOf(t, v, 1), category, "7", "ann")) {
		t.Error("answers do not repeat")
	}
	all := [][]string{
		first, answers(m, category, "8", "ann"), answers(m, category, "7", "bob"), answers(m, category, "7"), answers(memoOf(t, v, 2), category, "7", "ann"),
		answers(memoOf(t, sets(t, 200, 1.5), 1), category, "7", "ann"), answers(m, asked(3), "7", "ann"), answers(m, asked(4), "7", "ann"),
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if slices.Equal(a, b) {
				t.Errorf("the lists of answers %d repeat another one", i)
			}
		}
	}
	if m.Mechanism().Privacy() != v.Mechanism().Privacy() {
		t.Error("another mechanism")
	}
}

// TestMemoOfOneLaw: files that claim other bounds of one law answer alike, and those of another law do not.
func TestMemoOfOneLaw(t *testing.T) {
	file := func(epsilon float64, claim func(c map[string]any)) proof.Proven {
		var b bytes.Buffer
		if err := sets(t, 200, epsilon).Mechanism().Encode(&b); err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		d := json.NewDecoder(&b)
		d.UseNumber()
		if err := d.Decode(&fields); err != nil {
			t.Fatal(err)
		}
		claim(fields["certificate"].(map[string]any))
		text, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		s, err := subset.Decode(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		v, err := s.Prove(t.Context(), proof.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	answers := func(v proof.Proven) (out []string) {
		m := memoOf(t, v, 1)
		for i := range 40 {
			y, err := m.Release(proof.Category("7"), strconv.Itoa(i))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, y.String())
		}
		return out
	}
	own := answers(file(1, func(map[string]any) {}))
	if !slices.Equal(own, answers(file(1, func(c map[string]any) { c["lower_bound"] = "700.1" }))) {
		t.Error("another claim, other answers")
	}
	if slices.Equal(own, answers(file(1.0001, func(map[string]any) {}))) {
		t.Error("another epsilon, the same answers")
	}
}

// TestMemoLaw: answers to many people have the law of the mechanism, by a chi-square test with a false-alarm rate of
// 1e-9: of a selection, of a randomizer, and of a table.
func TestMemoLaw(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const n = 20_000
	response, err := local.RandomizedResponse([]string{"a", "b", "c"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	wrong := 1 / (math.E + 2)
	for _, c := range []struct {
		v     proof.Proven
		input proof.Value
		want  map[string]float64
	}{
		{response, proof.Category("b"), map[string]float64{"a": wrong, "b": math.E * wrong, "c": wrong}},
		{sets(t, 3, 1), proof.Category("2"), map[string]float64{"0": wrong, "1": wrong, "2": math.E * wrong}},
	} {
		m, got := memoOf(t, c.v, 9), map[string]int{}
		for i := range n {
			y, err := m.Release(c.input, strconv.Itoa(i))
			if err != nil {
				t.Fatal(err)
			}
			got[y.String()]++
		}
		chi := 0.0
		for answer, p := range c.want {
			chi += (float64(got[answer]) - p*n) * (float64(got[answer]) - p*n) / (p * n)
		}
		if limit := (distuv.ChiSquared{K: 2}).Quantile(1 - 1e-9); chi > limit || len(got) != 3 {
			t.Errorf("%v: chi-square %g of at most %g", got, chi, limit)
		}
	}
	table := verified(t, laplaceTable(t, 101, 10, 0))
	m := memoOf(t, table, 1)
	a, err := m.Release(proof.Number(3), "x")
	b, other := m.Release(proof.Integer(3), "x")
	if err != nil || other != nil || a != b {
		t.Errorf("%v and %v, %v, %v: want one answer to a number, whole or not", a, b, err, other)
	}
	if zero, _ := m.Release(proof.Number(0), "x"); zero == nil {
		t.Error("no answer")
	} else if minus, _ := m.Release(proof.Number(math.Copysign(0, -1)), "x"); minus != zero {
		t.Error("the two zeros have different answers")
	}
}

func TestMemoRefuses(t *testing.T) {
	v := sets(t, 200, 1)
	if m, err := NewMemo(v, [32]byte{}); m != nil || !errors.Is(err, check.ErrInvalid) || err.Error() != "sampler: secret = zero, want 32 bytes from crypto/rand" {
		t.Errorf("%v, %v", m, err)
	}
	if m, err := NewMemo(nil, [32]byte{1}); m != nil || !errors.Is(err, check.ErrInvalid) {
		t.Errorf("%v, %v", m, err)
	}
	m := memoOf(t, v, 1)
	for _, bad := range []proof.Value{nil, proof.Category("200"), proof.Number(7)} {
		if y, err := m.Release(bad, "ann"); y != nil || !errors.Is(err, check.ErrInvalid) {
			t.Errorf("%v: %v, %v", bad, y, err)
		}
	}
}
