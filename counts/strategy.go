// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/internal/strictjson"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// form is that of strategies.
var form = proof.Form{Package: "counts", Noun: "a strategy for counts", File: strictjson.Format{
	Noun: "strategy", Name: "noisewright-counts", Version: 1, MaxSize: 1 << 24,
	MaxElements: map[string]int{
		"labels": limits.CountCategories, "sizes": limits.CountCategories, "names": maxQueries, "queries": maxQueries,
		"rows": limits.CountWeights, "slopes": limits.CountProved, "prices": limits.CountProved,
	},
	Elements: limits.CountWeights,
}}

// Problem is what a strategy is for.
type Problem struct {
	Epsilon float64 `json:"epsilon"`
	// Count is how many categories there are, labeled 0, 1, …; 0 if there are Labels.
	Count    int      `json:"count,omitempty"`
	Labels   []string `json:"labels,omitempty"`
	Workload Workload `json:"workload"`
}

// Spec is the content of a strategy.
type Spec struct {
	Problem
	// Rows is one law per category over the answers 0, 1, …: weights that sum to 2^64.
	Rows   [][]uint64 `json:"rows,string"`
	Claims claims     `json:"-"`
	Dual   *Dual      `json:"-"` // proves the lower bound; nil: none is claimed beyond 0
}

// Dual are multipliers of the lower bound (docs/proofs/counts.md).
type Dual struct {
	Slopes [][]float64 `json:"slopes"` // about the inverse of the information of an answer
	Prices []float64   `json:"prices"` // of the probabilities of each category
}

// claims are what a strategy states of itself, plain decimals rounded so that they stay true.
// Variances are sums over the queries, times the number of people.
type claims struct {
	Delta         string `json:"delta" bound:"upper"`
	TotalVariance string `json:"total_variance" bound:"upper"`
	WorstVariance string `json:"worst_variance" bound:"upper"`
	LowerBound    string `json:"lower_bound" bound:"lower"`
}

// Verified is the proof that a strategy keeps its promise and makes no false claim.
type Verified = proof.Verified[Strategy, Certificate]

// Strategy is a checked, immutable Spec. It is safe for concurrent use.
type Strategy struct{ *content }

type content struct {
	spec    Spec
	numbers map[string]int
	proof   proof.Proof[Certificate]
}

// New checks the structure of a strategy, and not its claims, which Verify does. Empty Claims
// are filled in from the certificate. All bad fields are reported together, wrapping dp.ErrInvalid.
func New(s Spec) (*Strategy, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	c := &content{spec: formfile.Clone(s), numbers: make(map[string]int, s.categories())}
	for j := range s.categories() {
		c.numbers[s.label(j)] = j
	}
	c.proof = proof.New("counts", c.spec.certify, c.spec.judge)
	if s.Claims == (claims{}) {
		found := c.proof.Certificate()
		if !found.estimates {
			return nil, check.Field("counts", "rows", "such", noEstimate)
		}
		c.spec.Claims = formfile.State[claims](found.stated()...)
	}
	return &Strategy{c}, nil
}

// noEstimate says which answers have unbiased estimates.
const noEstimate = "answers that tell all categories apart"

// categories returns how many there are.
func (p *Problem) categories() int { return max(p.Count, len(p.Labels)) }

func (p *Problem) label(j int) string {
	if p.Count > 0 {
		return strconv.Itoa(j)
	}
	return p.Labels[j]
}

// Validate reports all bad fields together, wrapping dp.ErrInvalid.
func (p *Problem) Validate() error {
	errs := check.In("counts")
	p.validate(errs)
	return errs.Err()
}

func (p *Problem) validate(errs *check.List) {
	errs.MaxEpsilon(p.Epsilon)
	errs.Want(check.Positive(p.Epsilon), "epsilon", p.Epsilon, "a finite number above 0")
	switch n := len(p.Labels); {
	case p.Count != 0 && n > 0:
		errs.Badf("count", p.Count, "none beside %d labels", n)
	case n > 0:
		formfile.ValidateLabels("labels", p.Labels, limits.CountCategories, errs)
		errs.If(n < 2, "labels", "1 label", "2 to %d", limits.CountCategories)
	default:
		errs.If(p.Count < 2 || p.Count > limits.CountCategories, "count", p.Count, "from 2 to %d categories", limits.CountCategories)
	}
	if errs.None() {
		p.Workload.validate(p.categories(), errs)
	}
}

func (s *Spec) validate() error {
	errs := check.In("counts")
	s.Problem.validate(errs)
	if !errs.None() {
		return errs.Err()
	}
	k := s.categories()
	errs.If(len(s.Rows) != k, "rows", fmt.Sprintf("%d rows", len(s.Rows)), "%d, one for each category", k)
	if len(s.Rows) > 0 {
		m := len(s.Rows[0])
		errs.If(m < k || m*k > limits.CountWeights, "rows", fmt.Sprintf("%d answers", m), "%d to %d for %d categories", k, limits.CountWeights/k, k)
		formfile.ValidateRows(s.Rows, m, "one per answer", errs)
	}
	formfile.Validate(&s.Claims, errs)
	if errs.None() {
		s.validateAnswers(errs)
		s.validateDual(errs)
	}
	return errs.Err()
}

// validateAnswers holds that each answer is given.
func (s *Spec) validateAnswers(errs *check.List) {
	for y := range s.Rows[0] {
		given := false
		for _, row := range s.Rows {
			given = given || row[y] > 0
		}
		if !given {
			errs.Badf("rows", fmt.Sprintf("weights of the answer %d that are 0", y), "one above 0")
			return
		}
	}
}

func (s *Spec) validateDual(errs *check.List) {
	d, k := s.Dual, s.categories()
	if d == nil {
		return
	}
	if k > limits.CountProved {
		errs.Badf("dual", "one", "none for more than %d categories", limits.CountProved)
		return
	}
	errs.If(len(d.Slopes) != k, "dual.slopes", fmt.Sprintf("%d rows", len(d.Slopes)), "%d, one for each category", k)
	for i, row := range append(slices.Clone(d.Slopes), d.Prices) {
		field := fmt.Sprintf("dual.slopes[%d]", i)
		if i == len(d.Slopes) {
			field = "dual.prices"
		}
		if len(row) != k || !check.Finite(row...) {
			errs.Badf(field, fmt.Sprintf("%d numbers", len(row)), "%d finite numbers", k)
			return
		}
	}
}

// Verify certifies the strategy and holds every claim that it makes against the certificate.
func (s *Strategy) Verify() (*Verified, error) {
	return proof.Verify(context.Background(), s, proof.Options{})
}

// Certify recomputes everything that can be claimed, once.
func (s *Strategy) Certify() Certificate { return s.proof.Certificate() }

// Prove implements proof.Mechanism.
func (s *Strategy) Prove(ctx context.Context, o proof.Options) (proof.Proven, error) {
	return proof.Prove(ctx, s, o)
}

// Proof is for proof.Verify.
func (s *Strategy) Proof() (p proof.Proof[Certificate]) {
	if s != nil && s.content != nil {
		p = s.proof
	}
	return p
}

// Form implements proof.Mechanism.
func (*Strategy) Form() proof.Form { return form }

// Spec returns a copy of what the strategy holds.
func (s *Strategy) Spec() Spec { return formfile.Clone(s.spec) }

// Categories returns how many categories there are, and Label the label of one.
func (s *Strategy) Categories() int { return s.spec.categories() }

// Label returns the label of a category by its number, from 0 on.
func (s *Strategy) Label(j int) string { return s.spec.label(j) }

// Privacy returns the promise: any two categories are neighbors.
func (s *Strategy) Privacy() dp.Privacy { return dp.Privacy{Epsilon: s.spec.Epsilon} }

// Loss implements proof.Mechanism: the variances are of estimates from many answers.
func (*Strategy) Loss() loss.Loss { return nil }

// Inputs implements proof.Mechanism.
func (s *Strategy) Inputs() proof.Space {
	return proof.Space{Kind: proof.Categories, Labels: slices.Clone(s.spec.Labels), Count: int64(s.spec.Count)}
}

// Answers implements proof.Mechanism: they are numbered.
func (s *Strategy) Answers() proof.Space {
	return proof.Space{Kind: proof.Codes, Count: int64(len(s.spec.Rows[0]))}
}

// Rows implements proof.Lossy.
func (s *Strategy) Rows() [][]uint64 { return formfile.Clone(s.spec.Rows) }

// Pairs are of any two categories.
func (s *Strategy) Pairs() (all, own []proof.Pair) {
	for i := range s.spec.Rows {
		for k := range i {
			all = append(all, proof.Pair{Gain: k, Lose: i}, proof.Pair{Gain: i, Lose: k})
		}
	}
	return all, all
}

// Input implements proof.Channel.
func (s *Strategy) Input(row int) proof.Value { return proof.Category(s.Label(row)) }

// Choose implements proof.Channel.
func (s *Strategy) Choose(input proof.Value) (c proof.Choice, err error) {
	label, named := input.(proof.Category)
	row, known := s.numbers[string(label)]
	if c.Row = row; !named || !known {
		return c, check.Errorf("", dp.ErrInvalid, "the value is none of the strategy's %d categories", s.Categories())
	}
	return c, nil
}

// Points implements proof.Channel: answers stand for themselves.
func (*Strategy) Points() int64 { return 0 }

// Answer implements proof.Channel.
func (*Strategy) Answer(_ proof.Choice, answer int, _ int64) proof.Value {
	return proof.Code{B: int64(answer)}
}

type file struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Spec
	Certificate fileCertificate `json:"certificate"`
}

type fileCertificate struct {
	claims
	Dual *Dual `json:"dual,omitempty"`
}

// Encode writes the strategy in the file format noisewright-counts, version 1.
func (s *Strategy) Encode(w io.Writer) error {
	return form.Encode(w, file{form.File.Name, form.File.Version, s.spec, fileCertificate{s.spec.Claims, s.spec.Dual}})
}

// Decode reads one file of a strategy. It checks the structure completely (see New) and nothing
// of the claims, with the same strictness and errors as tables.Decode.
func Decode(r io.Reader) (*Strategy, error) {
	var f file
	if err := form.Decode(r, &f); err != nil {
		return nil, err
	}
	f.Spec.Claims, f.Spec.Dual = f.Certificate.claims, f.Certificate.Dual
	if f.Spec.Claims == (claims{}) { // which New would fill in
		return nil, check.Errorf("counts", proof.ErrFormat, "certificate.delta is empty, want a plain decimal number")
	}
	return New(f.Spec)
}
