// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// Randomizer is a checked, immutable Spec. It is safe for concurrent use.
type Randomizer struct{ *content }

// content is shared with the proof. No other package has a pointer to one, so that nothing can
// be assigned to what was proved.
type content struct {
	spec   Spec
	labels map[string]int // the nodes of categories
	proof  proof.Proof[Certificate]
}

// New checks the structure of a randomizer, ranges, order and sums of 2^64, and not its
// claims, which Verify does. Empty Claims are filled in from the certificate, and so are the
// Nodes of integer values. The slices are copied. All bad fields are reported together, wrapping
// dp.ErrInvalid; but of the dual only the first, and only if the rest is well. It may also be that of the context, which ends certifying.
func New(ctx context.Context, s Spec) (*Randomizer, error) {
	return build(ctx, s, (*Spec).certify)
}

// build makes the randomizer that is certified so.
func build(ctx context.Context, s Spec, certify func(*Spec, *proof.Meter) Certificate) (*Randomizer, error) {
	if s.Values.Kind == Integer && len(s.Nodes) == 0 && s.Values.Validate() == nil {
		s.Nodes = s.Values.integers()
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	c := &content{spec: formfile.Clone(s), labels: make(map[string]int, len(s.Values.Labels))}
	for i, l := range s.Values.Labels {
		c.labels[l] = i
	}
	c.proof = proof.New("local", func(m *proof.Meter) Certificate { return certify(&c.spec, m) }, c.spec.judge)
	if s.Claims == (Claims{}) {
		certificate, err := c.proof.Find(ctx)
		if err != nil {
			return nil, err
		}
		c.spec.Claims = certificate.Claims()
	}
	return &Randomizer{c}, nil
}

// integers returns all values of kind Integer.
func (v Values) integers() []float64 {
	out := make([]float64, v.Count())
	for i := range out {
		out[i] = v.Lower + float64(i)
	}
	return out
}

func (s *Spec) validate() error {
	errs := check.In("local")
	errs.MaxEpsilon(s.Epsilon)
	errs.Add(dp.Privacy{Epsilon: s.Epsilon, Delta: s.Delta, Sensitivity: 1}.Validate())
	err := s.Values.Validate()
	errs.Add(err)
	errs.If(s.Objective != Mean && s.Objective != Worst, "objective", check.Quoted(string(s.Objective)), "mean or worst")
	s.Demands.validate(s.Values.Kind, errs)
	n, m := s.nodes(), s.answers()
	if s.Values.Kind == Category {
		s.validateCategories(n, errs)
	} else {
		s.validateNumbers(err == nil, errs)
	}
	if m < 1 || m > limits.LocalAnswers || n*m > maxWeights {
		errs.Badf("answers", fmt.Sprintf("%d answers to %d nodes", m, n), "1 to %d answers, and at most %d weights", limits.LocalAnswers, maxWeights)
	}
	s.validateRows(n, m, errs)
	formfile.Validate(&s.Claims, errs)
	if err := errs.Err(); err != nil {
		return err
	}
	return s.validateDual()
}

// nodes returns how many laws there are to be.
func (s *Spec) nodes() int {
	if s.Values.Kind == Category {
		return len(s.Values.Labels)
	}
	return len(s.Nodes)
}

func (s *Spec) answers() int {
	if s.Values.Kind == Category {
		return len(s.AnswerLabels)
	}
	return len(s.Answers)
}

func (s *Spec) validateCategories(n int, errs *check.List) {
	if len(s.Nodes) > 0 || len(s.Answers) > 0 {
		errs.Bad("nodes", fmt.Sprintf("%d nodes and %d answers", len(s.Nodes), len(s.Answers)), "none for categories, which have labels")
	}
	if s.Loss != nil {
		errs.Bad("loss", check.Quoted(s.Loss.Name()), "none for categories, which have costs")
	}
	formfile.ValidateLabels("answer_labels", s.AnswerLabels, limits.LocalAnswers, errs)
	errs.If(len(s.Costs) != n, "costs", fmt.Sprintf("%d rows", len(s.Costs)), "%d, one per label", n)
	for i, row := range s.Costs {
		if len(row) != len(s.AnswerLabels) {
			errs.Badf(fmt.Sprintf("costs[%d]", i), fmt.Sprintf("%d costs", len(row)), "%d, one per answer label", len(s.AnswerLabels))
			return
		}
		for j, c := range row {
			if !(c >= 0) || !check.Finite(c) {
				errs.Bad(fmt.Sprintf("costs[%d][%d]", i, j), c, "a finite number >= 0")
				return
			}
		}
	}
}

// validateNumbers checks what only numbers have; ranged says that their range is one.
func (s *Spec) validateNumbers(ranged bool, errs *check.List) {
	if len(s.Costs) > 0 || len(s.AnswerLabels) > 0 {
		errs.Bad("costs", fmt.Sprintf("%d rows and %d answer labels", len(s.Costs), len(s.AnswerLabels)), "none: only categories have them")
	}
	if s.Loss == nil {
		errs.Bad("loss", "none", "a loss")
	} else if _, _, convex := loss.Of(s.Loss).TangentDown(new(big.Rat)); !convex {
		errs.Bad("loss", check.Quoted(s.Loss.Name()), "a loss of package loss that is convex, such as l1, l2 or huber:1")
	}
	ordered := formfile.ValidateAscending("nodes", s.Nodes, errs)
	ordered = formfile.ValidateAscending("answers", s.Answers, errs) && ordered
	if !ranged || !ordered {
		return
	}
	switch v, n := s.Values, len(s.Nodes); {
	case v.Kind == Integer && !slices.Equal(s.Nodes, v.integers()):
		errs.Badf("nodes", fmt.Sprintf("%d nodes", n), "all integers from %g to %g", v.Lower, v.Upper)
	case n < 2 || n > limits.LocalNodes:
		errs.Badf("nodes", fmt.Sprintf("%d nodes", n), "2 to %d", limits.LocalNodes)
	case s.Nodes[0] != v.Lower || s.Nodes[n-1] != v.Upper:
		errs.Badf("nodes", fmt.Sprintf("%g to %g", s.Nodes[0], s.Nodes[n-1]), "the first and last to be the ends of the range, %g and %g", v.Lower, v.Upper)
	}
	for j, y := range s.Answers {
		if rule, ok := s.Demands.admit(y); !ok {
			errs.Bad(fmt.Sprintf("answers[%d]", j), y, rule)
			break
		}
	}
}

func (s *Spec) validateRows(n, m int, errs *check.List) {
	errs.If(len(s.Rows) != n, "rows", fmt.Sprintf("%d rows", len(s.Rows)), "%d, one per node or label", n)
	formfile.ValidateRows(s.Rows, m, "one per answer", errs)
}

// bounded reports whether the answers have bounds.
func (d Demands) bounded() bool { return d.Lower != 0 || d.Upper != 0 }

func (d Demands) validate(kind Kind, errs *check.List) {
	if d.bounded() && (!(d.Lower <= d.Upper) || !check.Finite(d.Lower, d.Upper, d.Upper-d.Lower)) {
		errs.Bad("demands.range", fmt.Sprintf("%g to %g", d.Lower, d.Upper), "finite numbers, lower not above upper")
	}
	errs.If(!(d.Step >= 0) || !check.Finite(d.Step), "demands.step", d.Step, "0 for none, or a finite number above 0")
	errs.If(!(d.Cap >= 0) || !check.Finite(d.Cap), "demands.cap", d.Cap, "0 for none, or a finite number above 0")
	errs.If(kind == Category && (d.Unbiased || d.bounded() || d.Step != 0), "demands", "some on answers", "none but a cap for categories")
}

// admit reports whether an answer is one of those demanded, and otherwise which are.
func (d Demands) admit(y float64) (rule string, ok bool) {
	if d.bounded() && !(y >= d.Lower && y <= d.Upper) {
		return fmt.Sprintf("an answer from %g to %g", d.Lower, d.Upper), false
	}
	if d.Step == 0 {
		return "", true
	}
	k := exact.Rational(y)
	k.Sub(k, exact.Rational(d.Lower)).Quo(k, exact.Rational(d.Step))
	k.Add(k, big.NewRat(1, 2))
	if d.lattice(exact.Floor(k)) != y {
		return fmt.Sprintf("the float64 next to %g + k·%g, for an integer k", d.Lower, d.Step), false
	}
	return "", true
}

// lattice returns the answer number k of those a step apart: the float64 nearest to Lower + k·Step.
func (d Demands) lattice(k *big.Int) float64 {
	y := new(big.Rat).SetInt(k)
	y.Mul(y, exact.Rational(d.Step)).Add(y, exact.Rational(d.Lower))
	f, _ := y.Float64()
	return f
}

// WithDual returns the randomizer with other multipliers for its lower bound, and claims that follow
// from the certificate, whose other parts are not computed again. The error wraps dp.ErrInvalid,
// or is that of the context.
func (r *Randomizer) WithDual(ctx context.Context, d *Dual) (*Randomizer, error) {
	s := r.spec
	if d.equal(s.Dual) { // as it is when a design ends: bounds of some losses take seconds
		c, err := r.proof.Find(ctx)
		switch {
		case err != nil:
			return nil, err
		case s.Claims == c.Claims():
			return r, nil
		}
	}
	s.Dual, s.Claims = d, Claims{}
	return build(ctx, s, func(s *Spec, m *proof.Meter) Certificate {
		c := r.proof.Again(m)
		c.LowerBound = s.lowerBound(m)
		return c
	})
}

// Spec returns a copy of what the randomizer holds.
func (r *Randomizer) Spec() Spec { return formfile.Clone(r.spec) }

// between returns the two neighboring nodes between which the value x is rounded, as indices low
// and low+1, and the probability (x − node low)/(node low+1 − node low) of the upper one, rounded;
// for a value that is a node, low is its index and the probability is 0. ok is false for a value
// that the randomizer does not take: outside the range, NaN, or not an integer for integer values.
func (r *Randomizer) between(x float64) (low int, up float64, ok bool) {
	nodes := r.spec.Nodes
	if len(nodes) == 0 || !(x >= nodes[0] && x <= nodes[len(nodes)-1]) {
		return 0, 0, false
	}
	i, found := slices.BinarySearch(nodes, x)
	if found {
		return i, 0, true
	}
	if r.spec.Values.Kind == Integer {
		return 0, 0, false
	}
	a, b := nodes[i-1], nodes[i]
	return i - 1, (x - a) / (b - a), true
}

// PMF has the probabilities of answers to node (or label) i as float64s, for plots and statistics.
func (r *Randomizer) PMF(i int) []float64 { return formfile.Probabilities(r.spec.Rows[i]) }

// PMFAt is PMF for the value x, which may lie between nodes; nil if it is not taken.
func (r *Randomizer) PMFAt(x float64) []float64 {
	low, up, ok := r.between(x)
	if !ok {
		return nil
	}
	p := r.PMF(low)
	if up > 0 {
		for j, q := range r.PMF(low + 1) {
			p[j] += up * (q - p[j])
		}
	}
	return p
}

// LossAt is the expected loss of the value x as a float64, for plots; NaN if it is not taken.
func (r *Randomizer) LossAt(x float64) float64 {
	p := r.PMFAt(x)
	if p == nil {
		return math.NaN()
	}
	var sum exact.Sum
	for j, w := range p {
		sum.Add(w * r.spec.Loss.At(r.spec.Answers[j]-x))
	}
	return sum.Value()
}
