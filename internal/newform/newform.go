// SPDX-License-Identifier: Apache-2.0

// Package newform is a form of mechanism that is there for tests alone: it shows what a new
// form costs (CONTRIBUTING.md). Rows of numbers go in and sets come out: a row is answered
// through the nearest of some anchors by a set of their labels, more likely one that has that anchor's
// (subset selection, Ye & Barg 2018). FORMAT.md describes its file.
package newform

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/combin"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/strictjson"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// Form is that of subset selections.
var Form = proof.Form{Package: "newform", Noun: "a subset selection", File: strictjson.Format{
	Noun: "subset selection", Name: "noisewright-subsets", Version: 1, MaxSize: 1 << 20,
	MaxElements: map[string]int{"anchors": maxAnchors, "labels": maxAnchors, "rows": 1 << maxAnchors},
	Elements:    maxAnchors,
}}

// maxAnchors bounds the anchors.
const maxAnchors = 8

// Spec is the content of a subset selection.
type Spec struct {
	Epsilon float64     `json:"epsilon"`
	Anchors [][]float64 `json:"anchors"` // points of a space
	Labels  []string    `json:"labels"`  // one for each anchor
	Size    int         `json:"size"`    // labels in a set
	// Rows is one law per anchor over the sets in lexicographic order, of weights that sum to 2^64.
	Rows   [][]uint64 `json:"rows,string"`
	Claims Claims     `json:"certificate"`
}

// Claims are the numbers that a selection states about itself.
type Claims struct {
	Delta     string `json:"delta" bound:"upper"`
	WorstMiss string `json:"worst_miss" bound:"upper"`
}

// Certificate is what exact arithmetic finds.
type Certificate struct {
	// DeltaUpper bounds the delta between any two inputs from above.
	DeltaUpper *big.Rat
	// WorstMiss is the largest probability that the set lacks the label of the nearest anchor.
	WorstMiss *big.Rat
}

// Bounds implements proof.Certificate.
func (c Certificate) Bounds() proof.Bounds {
	return proof.Bounds{Delta: c.DeltaUpper, Loss: c.WorstMiss, LowerBound: new(big.Rat), Worst: c.WorstMiss}
}

// Selection is a checked, immutable Spec.
type Selection struct{ *content }

type content struct {
	spec  Spec
	sets  []string // their labels with commas between
	proof proof.Proof[Certificate]
}

// New checks the structure of a selection. Empty Claims are filled in.
func New(s Spec) (*Selection, error) {
	errs := check.In("newform")
	errs.MaxEpsilon(s.Epsilon)
	n := len(s.Anchors)
	if n < 2 || n > maxAnchors || len(s.Labels) != n || len(s.Rows) != n || s.Size < 1 || s.Size > n {
		errs.Badf("anchors", fmt.Sprintf("%d with %d labels, %d rows, sets of %d", n, len(s.Labels), len(s.Rows), s.Size), "2 to %d, a label and a row for each, and sets of 1 to as many", maxAnchors)
		return nil, errs.Err()
	}
	for i, a := range s.Anchors {
		if len(a) != len(s.Anchors[0]) || !check.Finite(a...) {
			errs.Bad(fmt.Sprintf("anchors[%d]", i), fmt.Sprint(a), "as many finite coordinates as the first")
		}
	}
	c := &content{spec: formfile.Clone(s), sets: subsets(s.Labels, s.Size)}
	formfile.ValidateRows(s.Rows, len(c.sets), "one per set", errs)
	formfile.Validate(&s.Claims, errs)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	c.proof = proof.New("newform", c.certify, c.judge)
	if s.Claims == (Claims{}) {
		c.spec.Claims = c.proof.Certificate().claims()
	}
	return &Selection{c}, nil
}

// subsets returns the sets of so many labels, in lexicographic order.
func subsets(labels []string, size int) (out []string) {
	for _, indices := range combin.Combinations(len(labels), size) {
		set := make([]string, size)
		for i, k := range indices {
			set[i] = labels[k]
		}
		out = append(out, strings.Join(set, ","))
	}
	return out
}

// certify computes the certificate. It does not count if the meter said stop.
func (c *content) certify(m *proof.Meter) Certificate {
	n := int64(len(c.spec.Rows))
	if !m.Spend(2 * n * n * int64(len(c.sets))) {
		return Certificate{}
	}
	ratio, worst, miss := exact.RatioDown(c.spec.Epsilon), new(big.Int), new(big.Int)
	for i, gain := range c.spec.Rows {
		for _, lose := range c.spec.Rows {
			if h := ratio.Divergence(gain, lose); h.Cmp(worst) > 0 {
				worst = h
			}
		}
		lacking := new(big.Int)
		for j, set := range c.sets {
			if !slices.Contains(strings.Split(set, ","), c.spec.Labels[i]) {
				lacking.Add(lacking, new(big.Int).SetUint64(gain[j]))
			}
		}
		if lacking.Cmp(miss) > 0 {
			miss = lacking
		}
	}
	worstMiss := new(big.Rat).SetInt(miss)
	return Certificate{exact.Probability(worst), worstMiss.Quo(worstMiss, exact.PowerOfTwo(64))}
}

func (c Certificate) claims() Claims { return formfile.State[Claims](c.DeltaUpper, c.WorstMiss) }

// judge holds what is promised and claimed against the certificate.
func (c *content) judge(found Certificate, _ *proof.Meter) error {
	if found.DeltaUpper.Sign() > 0 {
		return check.Errorf("newform", proof.ErrNotPrivate, "delta = 0 is promised but only %s is proved", exact.StateUp(found.DeltaUpper))
	}
	return formfile.Check("newform", &c.spec.Claims, found.DeltaUpper, found.WorstMiss)
}

// Prove implements proof.Mechanism.
func (s *Selection) Prove(ctx context.Context, o proof.Options) (proof.Proven, error) {
	return proof.Prove(ctx, s, o)
}

// Proof is for proof.Verify.
func (s *Selection) Proof() (p proof.Proof[Certificate]) {
	if s != nil && s.content != nil {
		p = s.proof
	}
	return p
}

// Form implements proof.Mechanism.
func (*Selection) Form() proof.Form { return Form }

// Privacy returns the promise: any two rows of numbers are neighbors.
func (s *Selection) Privacy() dp.Privacy { return dp.Privacy{Epsilon: s.spec.Epsilon} }

// Loss implements proof.Mechanism: a miss costs 1.
func (*Selection) Loss() loss.Loss { return nil }

// Inputs implements proof.Mechanism.
func (s *Selection) Inputs() proof.Space {
	return proof.Space{Kind: proof.Rows, Lower: -1, Upper: 1, Size: len(s.spec.Anchors[0])}
}

// Answers implements proof.Mechanism.
func (s *Selection) Answers() proof.Space {
	return proof.Space{Kind: proof.Categories, Labels: slices.Clone(s.sets)}
}

// Rows implements proof.Channel.
func (s *Selection) Rows() [][]uint64 { return formfile.Clone(s.spec.Rows) }

// Pairs implements proof.Channel.
func (s *Selection) Pairs() (all, own []proof.Pair) {
	for i := range s.spec.Rows {
		for k := range s.spec.Rows {
			if i != k {
				all = append(all, proof.Pair{Gain: i, Lose: k})
			}
		}
	}
	return all, all
}

// Input implements proof.Channel.
func (s *Selection) Input(row int) proof.Value {
	return proof.Row(slices.Clone(s.spec.Anchors[row]))
}

// Choose returns the nearest anchor.
func (s *Selection) Choose(input proof.Value) (c proof.Choice, err error) {
	if !s.Inputs().Contains(input) {
		return c, check.Errorf("", dp.ErrInvalid, "the value is not %s", s.Inputs())
	}
	nearest := math.Inf(1)
	for i, a := range s.spec.Anchors {
		if d := floats.Distance(input.(proof.Row), a, 2); d < nearest {
			c.Row, nearest = i, d
		}
	}
	return c, nil
}

// Points implements proof.Channel.
func (*Selection) Points() int64 { return 0 }

// Answer implements proof.Channel.
func (s *Selection) Answer(_ proof.Choice, answer int, _ int64) proof.Value {
	return proof.Category(s.sets[answer])
}

type file struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Spec
}

// Encode implements proof.Mechanism.
func (s *Selection) Encode(w io.Writer) error {
	return Form.Encode(w, file{Form.File.Name, Form.File.Version, s.spec})
}

// Decode reads one file and verifies nothing.
func Decode(r io.Reader) (*Selection, error) {
	var f file
	if err := Form.Decode(r, &f); err != nil {
		return nil, err
	}
	if f.Claims == (Claims{}) { // which New would fill in
		return nil, check.Errorf("newform", proof.ErrFormat, "certificate.delta is empty, want a plain decimal number")
	}
	return New(f.Spec)
}
