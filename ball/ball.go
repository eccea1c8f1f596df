// SPDX-License-Identifier: Apache-2.0

package ball

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/internal/strictjson"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// Limits of what a file holds.
const (
	// maxBalls bounds the balls.
	maxBalls = 1 << 10
	// maxRadius bounds radii, in steps: squared norms of points in half steps fit into 64 bits.
	maxRadius = 1 << 29
	// maxExponent bounds the exponent of the step in absolute value.
	maxExponent = 200
	// maxValue bounds values, in steps, so that the sum with noise is a float64.
	maxValue = 1 << 52
)

// form is that of noise on balls.
var form = proof.Form{Package: "ball", Noun: "noise on balls", File: strictjson.Format{
	Noun: "noise on balls", Name: "noisewright-ball", Version: 1, MaxSize: 1 << 23,
	MaxElements: map[string]int{"radii": maxBalls, "weights": maxBalls, "multipliers": maxKnots}, Elements: maxBalls,
}}

// Problem is what noise is for.
type Problem struct {
	// Dimension is the number of coordinates, from 2 to 8.
	Dimension int
	// Privacy has the sensitivity in the Euclidean norm.
	dp.Privacy
	// Loss is l1, l2 or lp:P, of the norm of the noise.
	Loss loss.Loss
}

// Spec is the content of noise on balls.
type Spec struct {
	Problem
	// StepExponent is e of the step 2^e, of which values are multiples.
	StepExponent int
	// Radii ascend, in steps. A ball of radius 0 is no noise at all.
	Radii []int64
	// Weights of the balls are above 0 and sum to 2^64.
	Weights []uint64
	Claims  formfile.Claims
	// Dual proves the lower bound; nil proves 0.
	Dual *Dual
}

// Verified is the proof that noise keeps its promise and makes no false claim.
type Verified = proof.Verified[Noise, Certificate]

// Noise is a checked, immutable Spec. It is safe for concurrent use.
type Noise struct{ *content }

type content struct {
	spec  Spec
	proof proof.Proof[Certificate]
	laws  laws
	draw  drawing
}

// New checks the structure of noise, and not its claims, which Verify does. Empty Claims are
// filled in from the certificate. All bad fields are reported together, wrapping dp.ErrInvalid.
func New(s Spec) (*Noise, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	c := &content{spec: formfile.Clone(s)}
	c.proof = proof.New("ball", c.spec.certify, c.spec.judge)
	c.draw = newDrawing(&c.spec)
	if s.Claims == (formfile.Claims{}) {
		c.spec.Claims = formfile.State[formfile.Claims](c.proof.Certificate().stated()...)
	}
	return &Noise{c}, nil
}

// Validate reports all bad fields together, wrapping dp.ErrInvalid.
func (p *Problem) Validate() error {
	errs := check.In("ball")
	p.validate(errs)
	return errs.Err()
}

func (p *Problem) validate(errs *check.List) {
	errs.If(p.Dimension < limits.BallMinDimension || p.Dimension > limits.BallMaxDimension, "dimension", p.Dimension, "a number of coordinates from %d to %d", limits.BallMinDimension, limits.BallMaxDimension)
	errs.Add(p.Privacy.Validate())
	errs.MaxEpsilon(p.Epsilon)
	if p.Loss == nil {
		errs.Bad("loss", "none", lossRule)
	} else if _, ok := p.Power(); !ok {
		errs.Bad("loss", check.Quoted(check.Shortened(p.Loss.Name())), lossRule)
	}
}

const lossRule = "l1, l2 or lp:P, of the norm of the noise"

// Power returns the P of a loss that is that power of the norm, and whether it is one.
func (p *Problem) Power() (power float64, ok bool) {
	switch name := p.Loss.Name(); name {
	case "l1":
		return 1, true
	case "l2":
		return 2, true
	default:
		digits, found := strings.CutPrefix(name, "lp:")
		power, err := strconv.ParseFloat(digits, 64)
		return power, found && err == nil
	}
}

func (s *Spec) validate() error {
	errs := check.In("ball")
	s.Problem.validate(errs)
	errs.If(s.StepExponent < -maxExponent || s.StepExponent > maxExponent, "step_exponent", s.StepExponent, "a number from %d to %d", -maxExponent, maxExponent)
	n := len(s.Radii)
	errs.If(n < 1 || n > maxBalls, "radii", fmt.Sprintf("%d radii", n), "1 to %d", maxBalls)
	for i, r := range s.Radii {
		if r < 0 || r > maxRadius || i > 0 && r <= s.Radii[i-1] {
			errs.Badf(fmt.Sprintf("radii[%d]", i), r, "a number of steps above those before, from 0 to %d", maxRadius)
			break
		}
	}
	formfile.ValidateLaw("weights", s.Weights, n, "one for each radius", errs)
	for i, w := range s.Weights {
		if w == 0 {
			errs.Bad(fmt.Sprintf("weights[%d]", i), 0, "a weight above 0: a ball without one is left out")
			break
		}
	}
	formfile.Validate(&s.Claims, errs)
	if errs.None() {
		errs.If(s.reach().BitLen() > 31, "step_exponent", s.StepExponent, "one for which the sensitivity, %v, is less than 2^31 steps", s.Sensitivity)
	}
	if errs.None() {
		errs.Add(s.validateDual())
	}
	return errs.Err()
}

// step returns that of the grid of values.
func (s *Spec) step() *big.Rat { return exact.PowerOfTwo(s.StepExponent) }

// reach returns a number of steps that is at least as long as the difference of two values that are up to
// the sensitivity apart, both rounded to the grid: Δ/g + √d, where ⌈√d⌉ is the least n with n² >= d.
func (s *Spec) reach() *big.Int {
	r := new(big.Rat).Quo(exact.Rational(s.Sensitivity), s.step())
	// ⌈x + √d⌉ = ⌈(X + √d·Y)/Y⌉ for x = X/Y: the least n with n·Y >= X and (n·Y − X)² >= d·Y².
	n := exact.Floor(r)
	d := big.NewRat(int64(s.Dimension), 1)
	for {
		over := new(big.Rat).SetInt(n)
		if over.Sub(over, r); over.Sign() >= 0 && over.Mul(over, over).Cmp(d) >= 0 {
			return n
		}
		n.Add(n, big.NewInt(1))
	}
}

// Verify certifies the noise and holds every claim that it makes against the certificate.
func (n *Noise) Verify() (*Verified, error) {
	return proof.Verify(context.Background(), n, proof.Options{})
}

// Prove implements proof.Mechanism.
func (n *Noise) Prove(ctx context.Context, o proof.Options) (proof.Proven, error) {
	return proof.Prove(ctx, n, o)
}

// Proof is for proof.Verify.
func (n *Noise) Proof() (p proof.Proof[Certificate]) {
	if n != nil && n.content != nil {
		p = n.proof
	}
	return p
}

// Certify recomputes everything that can be claimed, in exact arithmetic, once.
func (n *Noise) Certify() Certificate { return n.proof.Certificate() }

// Form implements proof.Mechanism.
func (*Noise) Form() proof.Form { return form }

// Spec returns a copy of what the noise is made of.
func (n *Noise) Spec() Spec { return formfile.Clone(n.spec) }

// Privacy returns the promise: neighbors are values up to the sensitivity apart in the Euclidean norm.
func (n *Noise) Privacy() dp.Privacy { return n.spec.Privacy }

// Loss implements proof.Mechanism, of the norm of the noise.
func (n *Noise) Loss() loss.Loss { return n.spec.Loss }

// Inputs implements proof.Mechanism.
func (n *Noise) Inputs() proof.Space { return n.space(maxValue) }

// Answers implements proof.Mechanism.
func (n *Noise) Answers() proof.Space {
	return n.space(maxValue + n.spec.Radii[len(n.spec.Radii)-1])
}

func (n *Noise) space(steps int64) proof.Space {
	most := math.Ldexp(float64(steps), n.spec.StepExponent)
	return proof.Space{Kind: proof.Rows, Lower: -most, Upper: most, Size: n.spec.Dimension}
}

type file struct {
	Format       string          `json:"format"`
	Version      int             `json:"version"`
	Dimension    int             `json:"dimension"`
	Privacy      dp.Privacy      `json:"privacy"`
	Loss         formfile.Loss   `json:"loss"`
	StepExponent int             `json:"step_exponent"`
	Radii        []int64         `json:"radii"`
	Weights      []uint64        `json:"weights,string"`
	Certificate  fileCertificate `json:"certificate"`
}

type fileCertificate struct {
	formfile.Claims
	Dual *Dual `json:"dual,omitempty"`
}

// Encode writes the noise in the file format noisewright-ball, version 1.
func (n *Noise) Encode(w io.Writer) error {
	s := &n.spec
	return form.Encode(w, file{
		form.File.Name, form.File.Version, s.Dimension, s.Privacy,
		formfile.Loss{Name: s.Loss.Name()},
		s.StepExponent, s.Radii, s.Weights,
		fileCertificate{s.Claims, s.Dual},
	})
}

// Decode reads one file of noise on balls. It checks the structure completely (see New) and nothing
// of the claims, with the same strictness and errors as tables.Decode.
func Decode(r io.Reader) (*Noise, error) {
	var f file
	if err := form.Decode(r, &f); err != nil {
		return nil, err
	}
	if f.Certificate.Claims == (formfile.Claims{}) { // which New would fill in
		return nil, check.Errorf("ball", proof.ErrFormat, "certificate.delta is empty, want a plain decimal number")
	}
	l, err := loss.Parse(f.Loss.Name)
	if err != nil {
		return nil, check.Errorf("ball", nil, "%w", err)
	}
	return New(Spec{
		Problem:      Problem{f.Dimension, f.Privacy, l},
		StepExponent: f.StepExponent, Radii: f.Radii, Weights: f.Weights, Claims: f.Certificate.Claims,
		Dual: f.Certificate.Dual,
	})
}
