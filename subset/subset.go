// SPDX-License-Identifier: Apache-2.0

package subset

import (
	"context"
	"io"
	"math/big"
	"slices"
	"strconv"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/internal/strictjson"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

const (
	// maxRanked is the most categories of which all sets of a size above 1 are answers, if they
	// are less than 2^63.
	maxRanked = 1 << 12
	// maxLabels bounds those that are listed.
	maxLabels = 1 << 20
	// maxModulus is above the least prime at least limits.SubsetCategories.
	maxModulus = limits.SubsetCategories + 1<<10
)

// form is that of subset selections.
var form = proof.Form{Package: "subset", Noun: "a subset selection", File: strictjson.Format{
	Noun: "subset selection", Name: "noisewright-subset", Version: 1, MaxSize: 1 << 26,
	MaxElements: map[string]int{"labels": maxLabels}, Elements: maxLabels,
}}

// Objective says which variance a selection makes small, and its lower bound is about.
type Objective string

const (
	// Total is the sum of the variances of all shares, the same for all data.
	Total Objective = "total"
	// Largest is the largest variance of a share, for the worst data.
	Largest Objective = "largest"
)

// Spec is the content of a selection.
type Spec struct {
	Epsilon float64 `json:"epsilon"`
	// Count is how many categories there are, labeled 0, 1, …; 0 if there are Labels.
	Count  int64    `json:"count,omitempty"`
	Labels []string `json:"labels,omitempty"`
	// Modulus is the prime of affine sets; 0 if all sets of the Size are answers.
	Modulus   int64     `json:"modulus"`
	Size      int64     `json:"size"`
	Inside    uint64    `json:"inside,string"` // 2^64 times the probability that the set has the category
	Objective Objective `json:"objective"`
	Claims    claims    `json:"-"`
	// Dual proves the lower bound of the objective Largest; nil: as that of Total.
	Dual *dual `json:"-"`
}

// dual is a law of people: a share of them has one category, the others have all others alike.
type dual struct {
	Share float64 `json:"share"` // from 0 to 1
}

// claims are what a selection states of itself, plain decimals rounded so that they stay true.
// Variances are times the number of people.
type claims struct {
	Delta           string `json:"delta" bound:"upper"`
	TotalVariance   string `json:"total_variance" bound:"upper"`
	LargestVariance string `json:"largest_variance" bound:"upper"`
	LowerBound      string `json:"lower_bound" bound:"lower"` // on the variance of the objective
}

// Verified is the proof that a selection keeps its promise and makes no false claim.
type Verified = proof.Verified[Selection, Certificate]

// Selection is a checked, immutable Spec. It is safe for concurrent use.
type Selection struct{ *content }

type content struct {
	spec    Spec
	points  int64 // the modulus, or the categories
	numbers map[string]int64
	proof   proof.Proof[Certificate]
	draw    drawing
}

// New checks the structure of a selection, and not its claims, which Verify does. Empty Claims
// are filled in from the certificate. All bad fields are reported together, wrapping dp.ErrInvalid.
func New(s Spec) (*Selection, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	c := &content{spec: formfile.Clone(s), points: s.points(), numbers: make(map[string]int64, len(s.Labels))}
	for i, l := range s.Labels {
		c.numbers[l] = int64(i)
	}
	c.proof = proof.New("subset", c.spec.certify, c.spec.judge)
	c.draw = newDrawing(&c.spec)
	if s.Claims == (claims{}) {
		c.spec.Claims = formfile.State[claims](c.proof.Certificate().stated()...)
	}
	return &Selection{c}, nil
}

// categories returns how many there are.
func (s *Spec) categories() int64 { return max(s.Count, int64(len(s.Labels))) }

// points returns the size of the set that sets of the Size are of: of all residues, or all categories.
func (s *Spec) points() int64 {
	if s.Modulus > 0 {
		return s.Modulus
	}
	return s.categories()
}

func (s *Spec) validate() error {
	errs := check.In("subset")
	errs.MaxEpsilon(s.Epsilon)
	errs.Want(check.Positive(s.Epsilon), "epsilon", s.Epsilon, "a finite number above 0")
	s.validateCategories(errs)
	errs.OneOf("objective", string(s.Objective), string(Total), string(Largest))
	formfile.Validate(&s.Claims, errs)
	if d := s.Dual; d != nil {
		errs.If(s.Objective != Largest, "dual", "one", "none for the objective %s", s.Objective)
		errs.If(!(d.Share >= 0 && d.Share <= 1), "dual.share", d.Share, "a number from 0 to 1")
	}
	if !errs.None() {
		return errs.Err()
	}
	k, m := s.categories(), s.Modulus
	if m != 0 && (m < k || m > maxModulus || !big.NewInt(m).ProbablyPrime(0)) { // proved to be right below 2^64
		errs.Badf("modulus", m, "0, or a prime from %d, the number of categories, to %d", k, maxModulus)
		return errs.Err()
	}
	errs.If(s.Size < 1 || s.Size >= s.points(), "size", s.Size, "a number from 1 to %d", s.points()-1)
	if most := mostRanked(k); m == 0 && s.Size > most {
		errs.Badf("size", s.Size, "at most %d for all sets of %d categories", most, k)
	}
	if errs.None() {
		errs.If(!s.tells(), "inside", s.Inside, "more than %d/%d of 2^64: otherwise answers say nothing of shares", s.Size, s.points())
	}
	return errs.Err()
}

// mostRanked returns the largest size of which all sets of k categories have ranks below 2^63, as
// those of smaller sizes have.
func mostRanked(k int64) int64 {
	if k > maxRanked {
		return 1
	}
	sets := big.NewInt(k)
	for size := int64(1); ; size++ {
		if sets.Mul(sets, big.NewInt(k-size)).Div(sets, big.NewInt(size+1)); size == k-1 || !sets.IsInt64() {
			return size
		}
	}
}

// tells reports whether a set has its own category more often than another: w/2^64 > size/points.
func (s *Spec) tells() bool {
	own := new(big.Int).Mul(new(big.Int).SetUint64(s.Inside), big.NewInt(s.points()))
	return own.Cmp(new(big.Int).Lsh(big.NewInt(s.Size), 64)) > 0
}

func (s *Spec) validateCategories(errs *check.List) {
	switch n := len(s.Labels); {
	case s.Count != 0 && n > 0:
		errs.Badf("count", s.Count, "none beside %d labels", n)
	case n > 0:
		formfile.ValidateLabels("labels", s.Labels, maxLabels, errs)
		errs.If(n < 2, "labels", "1 label", "2 to %d", maxLabels)
	default:
		errs.If(s.Count < 2 || s.Count > limits.SubsetCategories, "count", s.Count, "from 2 to %d categories", int64(limits.SubsetCategories))
	}
}

// Verify certifies the selection and holds every claim that it makes against the certificate.
func (s *Selection) Verify() (*Verified, error) {
	return proof.Verify(context.Background(), s, proof.Options{})
}

// Certify recomputes everything that can be claimed, in exact arithmetic, once.
func (s *Selection) Certify() Certificate { return s.proof.Certificate() }

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
func (*Selection) Form() proof.Form { return form }

// Spec returns a copy of what the selection holds.
func (s *Selection) Spec() Spec { return formfile.Clone(s.spec) }

// Categories returns how many categories there are, and Label the label of one.
func (s *Selection) Categories() int64 { return s.spec.categories() }

// Label returns the label of a category by its number, from 0 on.
func (s *Selection) Label(j int64) string {
	if s.spec.Count > 0 {
		return strconv.FormatInt(j, 10)
	}
	return s.spec.Labels[j]
}

// Privacy returns the promise: any two categories are neighbors.
func (s *Selection) Privacy() dp.Privacy { return dp.Privacy{Epsilon: s.spec.Epsilon} }

// Loss implements proof.Mechanism: the variances are of estimates from many answers.
func (*Selection) Loss() loss.Loss { return nil }

// Inputs implements proof.Mechanism.
func (s *Selection) Inputs() proof.Space {
	return proof.Space{Kind: proof.Categories, Labels: slices.Clone(s.spec.Labels), Count: s.spec.Count}
}

// Answers implements proof.Mechanism: sets of one category are that category.
func (s *Selection) Answers() proof.Space {
	switch {
	case s.spec.Modulus > 0:
		return proof.Space{Kind: proof.Codes, Modulus: s.spec.Modulus}
	case s.spec.Size > 1:
		return proof.Space{Kind: proof.Codes, Count: int64(s.draw.below[s.spec.Size-1][s.points])}
	}
	return s.Inputs()
}

// Rows implements proof.Lossy: two laws with at least the privacy loss of the answers to two
// categories, and between them two with at most that. Three answers are enough: whether the set
// has the one category and not the other, both or neither, or the other alone.
func (s *Selection) Rows() [][]uint64 {
	// Of the first and the last answer the probabilities are a > b to the one category, times 2^64.
	p := &s.spec
	others := big.NewInt(s.points - 1)
	a := new(big.Rat).SetFrac(new(big.Int).Mul(new(big.Int).SetUint64(p.Inside), big.NewInt(s.points-p.Size)), others)
	b := new(big.Rat).SetFrac(new(big.Int).Mul(new(big.Int).SetUint64(-p.Inside), big.NewInt(p.Size)), others)
	low, high := exact.Floor(a), exact.Ceil(b)
	row := func(a, b *big.Int) []uint64 {
		return []uint64{a.Uint64(), -a.Uint64() - b.Uint64(), b.Uint64()}
	}
	less, top, bottom := row(low, high), exact.Ceil(a), exact.Floor(b)
	// More loss: neither the ratio nor, as the last is not below b, the difference is below that of a and b. There are
	// mostly some with the ratio at most e^epsilon; if none of a few is, these are above it by a few units.
	ratio := new(big.Rat).Quo(a, b)
	e := new(big.Rat).SetFrac(exact.ExpDown(p.Epsilon, exact.RatioBits), new(big.Int).Lsh(big.NewInt(1), exact.RatioBits))
	for range 64 {
		y := new(big.Rat).SetInt(high)
		x := exact.Floor(new(big.Rat).Mul(e, y))
		if rest := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 64), high); x.Cmp(rest) > 0 {
			x = rest
		}
		if z := new(big.Rat).SetInt(x); z.Quo(z, y).Cmp(ratio) >= 0 {
			top, bottom = x, high
			break
		}
		high = new(big.Int).Add(high, big.NewInt(1))
	}
	more := row(top, bottom)
	return [][]uint64{more, less, {less[2], less[1], less[0]}, {more[2], more[1], more[0]}}
}

// Pairs implements proof.Lossy.
func (*Selection) Pairs() (all, own []proof.Pair) {
	return []proof.Pair{{Gain: 0, Lose: 3}, {Gain: 3, Lose: 0}}, []proof.Pair{{Gain: 1, Lose: 2}, {Gain: 2, Lose: 1}}
}

type file struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Spec
	Certificate fileCertificate `json:"certificate"`
}

type fileCertificate struct {
	claims
	Dual *dual `json:"dual,omitempty"`
}

// Encode writes the selection in the file format noisewright-subset, version 1.
func (s *Selection) Encode(w io.Writer) error {
	return form.Encode(w, file{form.File.Name, form.File.Version, s.spec, fileCertificate{s.spec.Claims, s.spec.Dual}})
}

// Decode reads one file of a selection. It checks the structure completely (see New) and nothing
// of the claims, with the same strictness and errors as tables.Decode.
func Decode(r io.Reader) (*Selection, error) {
	var f file
	if err := form.Decode(r, &f); err != nil {
		return nil, err
	}
	f.Spec.Claims, f.Spec.Dual = f.Certificate.claims, f.Certificate.Dual
	if f.Spec.Claims == (claims{}) { // which New would fill in
		return nil, check.Errorf("subset", proof.ErrFormat, "certificate.delta is empty, want a plain decimal number")
	}
	return New(f.Spec)
}
