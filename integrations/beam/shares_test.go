// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/subset"
)

type shareFn struct{}

func (f *shareFn) ProcessElement(x Share) string {
	return fmt.Sprintf("%s %d %v %v %v", x.Category, x.Answers, x.Share, x.Lower, x.Upper)
}

func init() { beam.RegisterDoFn(reflect.TypeFor[shareFn]()) }

func setsOf(t *testing.T, s subset.Spec) *subset.Verified {
	t.Helper()
	v, err := subset.Design(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestShares: what a pipeline finds is what one tally of all answers has, for answers of each kind, more of them than
// are counted together, with public turns and without.
func TestShares(t *testing.T) {
	const people = 5000
	p, s := beam.NewPipelineWithRoot()
	want := map[string][]string{}
	for name, c := range map[string]struct {
		spec subset.Spec
		o    ShareOptions
	}{
		"turned":  {subset.Spec{Epsilon: 1, Count: 80}, ShareOptions{Level: 0.95, Seed: "poll"}},
		"affine":  {subset.Spec{Epsilon: 1, Count: 80}, ShareOptions{Level: 0.9, Named: true, Sampled: true}},
		"ranked":  {subset.Spec{Epsilon: 1, Count: 12}, ShareOptions{Level: 0.5, Marginal: true}},
		"labeled": {subset.Spec{Epsilon: 3, Labels: []string{"red", "green", "blue"}}, ShareOptions{Level: 0.99}},
	} {
		v := setsOf(t, c.spec)
		m := v.Mechanism()
		draw, err := sampler.New(v, sampler.Options{Entropy: sampler.Deterministic([32]byte{byte(len(name))})})
		if err != nil {
			t.Fatal(err)
		}
		tally, answers := m.Tally(), make([]Answer, people)
		for i := range answers {
			person, label := "p"+strconv.Itoa(i), proof.Category(m.Label(int64(i*i)%m.Categories()))
			var input proof.Value = label
			if c.o.Seed != "" {
				turn, err := m.Turn(c.o.Seed, person)
				if err != nil {
					t.Fatal(err)
				}
				input = subset.Asked{Category: label, Turn: turn}
			}
			y, err := draw.Release(input)
			if err != nil || tally.Add(y) != nil {
				t.Fatal(y, err)
			}
			answers[i] = Answer{person, y.String()}
			if c.o.Seed != "" {
				answers[i].Text = strconv.FormatInt(y.(proof.Code).B, 10)
			}
		}
		counts := tally.Counts()
		for j, x := range m.Shares(counts, people) {
			alpha := (1 - c.o.Level) / 2
			if !c.o.Marginal {
				alpha /= float64(len(counts))
			}
			lower, upper := m.Interval(counts[j], people, alpha)
			if c.o.Sampled {
				lower, upper = m.Sampled(counts[j], people, alpha)
			}
			want[name] = append(want[name], fmt.Sprintf("%s %d %v %v %v", m.Label(int64(j)), counts[j], x, lower, upper))
		}
		shares, err := Shares(s, beam.CreateList(s, answers), v, c.o)
		collect(t, s, name, beam.ParDo(s, &shareFn{}, must(t)(shares, err)))
	}
	if err := ptest.Run(p); err != nil {
		t.Fatal(err)
	}
	for name, lines := range want {
		if got := collected.lines[t.Name()+name]; !sameLines(got, lines) {
			t.Errorf("%s: %v, want %v", name, got, lines)
		}
	}
}

func sameLines(a, b []string) bool {
	have := map[string]int{}
	for _, line := range a {
		have[line]++
	}
	for _, line := range b {
		have[line]--
	}
	for _, n := range have {
		if n != 0 {
			return false
		}
	}
	return len(a) == len(b)
}

// TestSharesRefuse: what is wrong is said when the pipeline is built, or fails it in one sentence.
func TestSharesRefuse(t *testing.T) {
	affine, ranked := setsOf(t, subset.Spec{Epsilon: 1, Count: 80}), setsOf(t, subset.Spec{Epsilon: 1, Count: 12})
	for want, c := range map[string]struct {
		v       *subset.Verified
		o       ShareOptions
		answers any
	}{
		"noisebeam: selection = none, want a verified one":                                                   {nil, ShareOptions{Level: 0.9}, []Answer{{"a", "1:2"}}},
		"noisebeam: level = 1, want a probability above 0 and below 1":                                       {affine, ShareOptions{Level: 1}, []Answer{{"a", "1:2"}}},
		"noisebeam: answers = string, want noisebeam.Answer":                                                 {affine, ShareOptions{Level: 0.9}, []string{"1:2"}},
		`noisebeam: seed = poll, want "": the rank of a set, from 0 to 219 has no part that could be public`: {ranked, ShareOptions{Level: 0.9, Seed: "poll"}, []Answer{{"a", "1"}}},
		"an answer is not a set as a:b, with a from 1 and b from 0 to 82":                                    {affine, ShareOptions{Level: 0.9}, []Answer{{"a", "1:2"}, {"b", "1:83"}}},
		"person b: more than one answer, want one of each person":                                            {affine, ShareOptions{Level: 0.9, Named: true}, []Answer{{"a", "1:2"}, {"b", "1:2"}, {"b", "1:3"}}},
		"person = none, want a name of each person's own":                                                    {affine, ShareOptions{Level: 0.9, Seed: "poll"}, []Answer{{"", "5"}}},
	} {
		p, s := beam.NewPipelineWithRoot()
		_, err := Shares(s, beam.CreateList(s, c.answers), c.v, c.o)
		if early := strings.HasPrefix(want, "noisebeam: "); early && (!errors.Is(err, dp.ErrInvalid) || err.Error() != want) {
			t.Errorf("%v, want %s", err, want)
		} else if !early {
			if err == nil {
				err = ptest.Run(p)
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
	}
}
