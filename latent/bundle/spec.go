// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// ErrNoPromise marks a bundle of the kind None, for errors.Is: it is well-formed, and there is
// nothing to prove. proof.ErrNotPrivate is about a promise that is broken.
var ErrNoPromise = errors.New("bundle makes no promise")

// Limits of a bundle. They keep every float64 of an encoding finite and every
// integer of it exact, and bound what a reader allocates.
const (
	maxFeatures = 1 << 16
	maxEntries  = 1 << 24 // of a matrix
	// Quotients of semi-axes with encodings are float64s too.
	minAxis, maxAxis = 1e-60, 1e60
	maxText          = 1 << 10 // bytes of a name and of the note on the clipping
	maxSteps         = 1 << 40 // of the grid in a semi-axis
)

// Domain says what the body is that encodings are clipped to; s are the Axes.
type Domain string

// The domains.
const (
	// Ball is the ellipsoid Σ(u_i/s_i)² <= 1.
	Ball Domain = "ball"
	// L1Ball is Σ|u_i|/s_i <= 1.
	L1Ball Domain = "l1-ball"
	// Box is |u_i| <= s_i.
	Box Domain = "box"
	// Bounds is |u_i| <= s_i too, and moreover what the encoder makes of
	// features between FeatureLower and FeatureUpper.
	Bounds Domain = "bounds"
)

// Composition says how the promise follows from the tables: Exact, or that of the Kind.
type Composition string

// The compositions. Joint noise is on one grid for all, by the distance of encodings in a norm.
const (
	basic Composition = "basic" // epsilons and deltas of the coordinates' laws add up
	// Exact leaves the composition of the coordinates' tables to the accountant of Verify.
	Exact         Composition = "exact"
	jointL1       Composition = "l1"   // Laplace noise
	jointL2       Composition = "l2"   // Gaussian noise
	jointNorm     Composition = "norm" // noise whose density depends on its ℓ2 norm, without a table
	jointBalls    Composition = "ball" // noise on balls
	noComposition Composition = "none" // of None alone
)

// jointKinds are the compositions in which one law serves all coordinates, on its grid, and
// the only kind of noise that each is for.
var jointKinds = map[Composition]Kind{jointL1: noise.Laplace, jointL2: noise.Gaussian, jointNorm: Spherical, jointBalls: Balls}

func (c Composition) joint() bool { return jointKinds[c] != "" }

// Composition returns the one of the kind: l1, l2, norm or ball for noise that is joint to all
// coordinates, none for None, and for all other kinds basic, in whose place tables may have Exact.
func (k Kind) Composition() Composition {
	for c, kind := range jointKinds {
		if kind == k {
			return c
		}
	}
	if k == None {
		return noComposition
	}
	return basic
}

// Kind is a word for the noise: one of these, or noise.TruncatedLaplace, noise.Staircase,
// noise.Laplace or noise.Gaussian. The composition l1 needs Laplace noise, l2 Gaussian, norm
// Spherical, ball Balls; Local and LocalUnbiased have randomizers in the place of tables.
type Kind string

// The kinds of noise that package noise has no name for.
const (
	Designed Kind = "designed"
	// Spherical is noise of a vector of the density exp(-‖x‖₂/Tau), up to a factor.
	Spherical Kind = "spherical"
	// Balls is noise of a vector of 2 to 8 coordinates from package ball.
	Balls Kind = "ball"
	// Local is a local randomizer on each coordinate: no noise that is added.
	Local Kind = "local"
	// LocalUnbiased is Local with answers whose mean is the coordinate, as it was clipped.
	LocalUnbiased Kind = "local-unbiased"
	// None is no noise at all: the bundle is a filter, which makes NO PROMISE.
	None Kind = "none"
)

var kinds = []Kind{Decision, Designed, noise.TruncatedLaplace, noise.Staircase, noise.Laplace, noise.Gaussian, Spherical, Balls, Local, LocalUnbiased, None}

// randomized reports whether there are randomizers in the place of tables.
func (k Kind) randomized() bool { return k == Local || k == LocalUnbiased || k == Decision }

// Matrix is a dense matrix by rows; the zero value is empty. It is a plain value.
type Matrix struct {
	Rows, Cols int
	Data       []float64 // Rows·Cols, entry (i, j) at i·Cols+j
}

// Row returns row i, which shares memory with the matrix.
func (m Matrix) Row(i int) []float64 { return m.Data[i*m.Cols : (i+1)*m.Cols] }

func (m Matrix) clone() Matrix { return Matrix{m.Rows, m.Cols, slices.Clone(m.Data)} }

// Promise is what a release keeps: for every two inputs x and x' and every set A
// of outputs, P(A | x) <= e^Epsilon·P(A | x') + Delta. The float64s are meant
// exactly. For the kind None it is {+Inf, 0}, which bounds nothing.
type Promise struct {
	Epsilon float64 `json:"epsilon"` // 0 to 100
	Delta   float64 `json:"delta"`   // 0 <= Delta < 1
}

// Predicted holds expected task losses E‖Task·(x - x̂)‖², the noise included; 0 is
// unknown. They are estimates of the designer, which nothing here proves.
type Predicted struct {
	TrainingLoss  float64 `json:"training_loss"` // over the training data, clipped as the device clips
	UnclippedLoss float64 `json:"theory_loss"`   // by the formula of the design, without clipping
}

// Spec is the content of a bundle. There are n features, Z released coordinates, k outputs
// and, for evaluation, m tasks.
type Spec struct {
	// Features are the n names, distinct and not empty.
	Features []string
	// FeatureLower and FeatureUpper, n each or both nil, clip the features.
	FeatureLower, FeatureUpper []float64
	Mean                       []float64 // n
	// Layers are applied in turn to x - Mean before the Encoder, up to 16; none for
	// the domain Bounds, whose proof is about an affine encoder.
	Layers  []Layer
	Encoder Matrix    // Z×n, or Z× the width of the last of the Layers
	Offset  []float64 // Z
	// Axes are the Z semi-axes s of the body, in units of the encoding.
	Axes   []float64
	Domain Domain
	// ClipOrigin says where the Axes, or the radii behind them, came from, such
	// as "quantile 0.99 of the training data". It is public, as all of a bundle.
	ClipOrigin string

	Noise       Kind
	Composition Composition
	// Tau is the standard deviation of the Gaussian law that an L2 table approximates, or the scale
	// of spherical noise, in units of the encoding; 0 for other compositions.
	Tau float64
	// Tables are the distinct tables, each of them used; TableOf has the index of
	// each of the Z coordinates' table. L1 and L2 have one table, Norm, Balls and Local none.
	Tables  []*tables.Table
	TableOf []int
	// Randomizers and RandomizerOf are the same for Local and LocalUnbiased: randomizers of real values,
	// each with a range that holds ±s of its coordinates.
	Randomizers  []*local.Randomizer
	RandomizerOf []int
	// Ball is the noise of Balls, of Z coordinates, for at least the ℓ2 distance of clipped
	// encodings; nil for other kinds.
	Ball *ball.Noise

	// Head are applied to what is released, u, before the Decoder, up to 16; none beside a Lookup.
	Head []Layer
	// Decoder has a row for each of the k outputs and Z columns, or the width of the last of
	// the Head; it is the zero value if there is a Lookup.
	Decoder       Matrix
	DecoderOffset []float64 // k; what is decoded is DecoderOffset + Decoder·u, or Decoder·h after the Head
	Lookup        *Lookup   // in the place of Decoder; nil: none
	// Category is what the kind Decision has, and that alone: then the Encoder has a row for each of the
	// classes, there are no Axes, one randomizer answers to the cell, and what is released is the number
	// of its answer; the Decoder has a column for each answer, the logarithms of the posterior.
	Category *Category
	// Output says what is decoded. Outputs are the names of its k numbers, distinct and not
	// empty; nil for the features, which are k = n outputs.
	Output  string
	Outputs []string
	Task    Matrix // m×n, or the zero value; for evaluation, of outputs that are the features

	Promise   Promise
	Predicted Predicted
}

func (s Spec) clone() Spec {
	s.Features, s.Outputs = slices.Clone(s.Features), slices.Clone(s.Outputs)
	s.Tables, s.TableOf = cloneLaws(s.Tables), slices.Clone(s.TableOf)
	s.Randomizers, s.RandomizerOf = cloneLaws(s.Randomizers), slices.Clone(s.RandomizerOf)
	if s.Ball != nil {
		s.Ball = cloneLaws([]*ball.Noise{s.Ball})[0]
	}
	for _, v := range []*[]float64{&s.FeatureLower, &s.FeatureUpper, &s.Mean, &s.Offset, &s.Axes, &s.DecoderOffset} {
		*v = slices.Clone(*v)
	}
	s.Encoder, s.Decoder, s.Task = s.Encoder.clone(), s.Decoder.clone(), s.Task.clone()
	s.Layers, s.Head = cloneLayers(s.Layers), cloneLayers(s.Head)
	if s.Lookup != nil {
		s.Lookup = &Lookup{s.Lookup.Edges.clone(), s.Lookup.Values.clone()}
	}
	s.Category = s.Category.clone()
	return s
}

func cloneLaws[T any](laws []*T) []*T {
	laws = slices.Clone(laws)
	for i, law := range laws {
		own := *law
		laws[i] = &own
	}
	return laws
}

// Bundle is a checked, immutable Spec. It is safe for concurrent use.
type Bundle struct{ *content }

// content is what a Bundle and the proof about it share. No other package has a pointer
// to one, so that nothing can be assigned to what was proved.
type content struct {
	spec Spec
	body body
}

// Calibrate sets what a bundle needs for joint noise: Composition, Tau, Tables and TableOf, from
// the Noise (noise.Laplace, noise.Gaussian or Spherical), the Promise, the Domain and the Axes. The
// noise is the least for which the promise is proved, up to what its grid costs.
//
//   - Laplace noise has the scale D/Epsilon, in units of the encoding, D the largest ℓ1
//     distance of clipped encodings on the grid: about Σ2s_i for Box, 2·√Σs_i² for Ball and
//     2·max s_i for L1Ball. For Bounds it is 1 and a step for every coordinate, which is right
//     if Matrix.RangeL1 of the Encoder is at most 1, or that of the box if it is less.
//   - Gaussian noise, for a Delta above 0, has the standard deviation Tau for the largest ℓ2
//     distance: about 2·√Σs_i² for Box and Bounds, 2·max s_i for Ball and L1Ball.
//   - Spherical noise has the scale Tau, that ℓ2 distance over Epsilon, and no table.
//
// The error wraps dp.ErrInvalid if a parameter is out of range, noise is so large that every axis
// would be rounded off, or the integer weights of Gaussian noise cost more than a tenth of Delta.
func (s *Spec) Calibrate() error {
	var t *tables.Table
	var err error
	p := s.Promise
	s.Composition, s.Tau, s.Tables, s.TableOf = s.Noise.Composition(), 0, nil, nil
	switch s.Noise {
	case noise.Laplace:
		t, err = newLaplaceTable(p.Epsilon, s.Domain, s.Axes)
	case noise.Gaussian:
		t, s.Tau, err = newGaussianTable(p.Epsilon, p.Delta, s.Domain, s.Axes)
	case Spherical:
		s.Tau, err = sphericalScale(p.Epsilon, s.Domain, s.Axes)
	default:
		err = check.Field("bundle", "noise", fmt.Sprintf("%.40q", string(s.Noise)), "laplace, gaussian or spherical, which are joint to all coordinates")
	}
	if t != nil {
		s.Tables, s.TableOf = []*tables.Table{t}, make([]int, len(s.Axes))
	}
	return err
}

// laws returns the tables, the randomizers or the noise on balls, which are never there together, which
// of them each coordinate has by itself, and the field and directory that they are in.
func (s *Spec) laws() (laws []proof.Mechanism, of []int, field string) {
	if s.Ball != nil {
		return []proof.Mechanism{s.Ball}, nil, ballsDir
	}
	for _, t := range s.Tables {
		laws = append(laws, t)
	}
	if laws != nil {
		return laws, s.TableOf, tablesDir
	}
	for _, m := range s.Randomizers {
		laws = append(laws, m)
	}
	return laws, s.RandomizerOf, randomizersDir
}

// New checks the structure of a bundle: shapes, ranges, that everything is finite.
// It does not judge the promise; Verify does. The slices are copied.
//
// All bad fields are reported together, wrapping ErrInvalid.
func New(s Spec) (*Bundle, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	b := &Bundle{&content{spec: s.clone()}}
	b.body = newBody(&b.spec)
	return b, nil
}

// Spec returns a copy of the content.
func (b *Bundle) Spec() Spec { return b.spec.clone() }

// Features returns the number of features, n.
func (b *Bundle) Features() int { return len(b.spec.Features) }

// Coordinates returns the number of released coordinates, Z.
func (b *Bundle) Coordinates() int { return b.spec.coordinates() }

func (s *Spec) coordinates() int {
	if s.Category != nil {
		return 1
	}
	return len(s.Axes)
}

// scores returns how many numbers the Encoder makes.
func (s *Spec) scores() int {
	if s.Category != nil {
		return len(s.Outputs)
	}
	return len(s.Axes)
}

// released returns how many numbers the Decoder reads: what is released, or as many as there are answers.
func (s *Spec) released() int {
	if s.Category != nil {
		return s.Category.answers()
	}
	return len(s.Axes)
}

// Promise returns what a release is to keep; see Verify.
func (b *Bundle) Promise() Promise { return b.spec.Promise }

type checker struct{ *check.List }

// vector checks the length and the entries of a vector.
func (c checker) vector(field string, v []float64, length int) {
	if len(v) != length {
		c.Badf(field, fmt.Sprintf("%d numbers", len(v)), "%d", length)
		return
	}
	c.numbers(field, v)
}

func (c checker) numbers(field string, v []float64) {
	for i, x := range v {
		if !(math.Abs(x) <= limits.Magnitude) {
			c.Badf(fmt.Sprintf("%s[%d]", field, i), x, "a number of at most %g in magnitude", limits.Magnitude)
			return // one is enough
		}
	}
}

func (c checker) matrix(field string, m Matrix, rows, cols int) {
	// No product before rows is known to be small.
	if m.Rows != rows || m.Cols != cols || rows > maxEntries || len(m.Data) != rows*cols || len(m.Data) > maxEntries {
		c.Badf(field, fmt.Sprintf("%d×%d with %d entries", m.Rows, m.Cols, len(m.Data)),
			"%d×%d, and at most %d entries", rows, cols, maxEntries)
		return
	}
	c.numbers(field, m.Data)
}

func (s *Spec) validate() error {
	c := checker{check.In("bundle")}
	n, z := len(s.Features), s.scores()
	c.count("features", n, "names", 1, maxFeatures)
	c.Want(s.Noise != Decision || s.Category != nil, "category", "none", "one for the kind category")
	c.count("axes", z, "coordinates", 1, limits.Coordinates)
	c.count("answers", s.released(), "answers", 1, limits.LocalAnswers)
	if !c.None() {
		return c.Err() // nothing has a known shape
	}
	c.names("features", s.Features)
	c.Want(len(s.ClipOrigin) <= maxText && utf8.ValidString(s.ClipOrigin), "clip_origin", fmt.Sprintf("%.60q", s.ClipOrigin), "at most %d bytes of UTF-8", maxText)
	c.vector("mean", s.Mean, n)
	if s.FeatureLower != nil || s.FeatureUpper != nil {
		c.vector("feature_lower", s.FeatureLower, n)
		c.vector("feature_upper", s.FeatureUpper, n)
		for j := range min(len(s.FeatureLower), len(s.FeatureUpper)) {
			if lo, hi := s.FeatureLower[j], s.FeatureUpper[j]; lo > hi {
				c.Badf(fmt.Sprintf("feature_lower[%d]", j), lo, "at most feature_upper[%d] = %g", j, hi)
			}
		}
	}
	encoded, decoded := s.validateLayers(c, n, s.released())
	c.matrix("encoder", s.Encoder, z, encoded)
	c.vector("offset", s.Offset, z)
	for i, a := range s.Axes {
		c.axis(fmt.Sprintf("axes[%d]", i), a)
	}
	switch s.Domain {
	case Ball, L1Ball, Box, Cells:
	case Bounds:
		c.Want(s.FeatureLower != nil, "feature_lower", "none", "bounds of the features for the domain bounds")
	default:
		c.Bad("domain", fmt.Sprintf("%.40q", string(s.Domain)), "ball, l1-ball, box, bounds or cells")
	}
	s.validateOutputs(c, n, z, decoded)
	loss := func(field string, v float64) {
		c.Want(v >= 0 && v <= math.MaxFloat64, "predicted."+field, v, "a finite number at least 0 (squared task units)")
	}
	loss("training_loss", s.Predicted.TrainingLoss)
	loss("theory_loss", s.Predicted.UnclippedLoss)
	s.validateCategory(c)
	s.validateNoise(c)
	return c.Err()
}

// count checks a number of things.
func (c checker) count(field string, n int, what string, least, most int) {
	c.Want(n >= least && n <= most, field, fmt.Sprintf("%d %s", n, what), "%d to %d", least, most)
}

func (c checker) axis(field string, a float64) {
	c.Want(a >= minAxis && a <= maxAxis, field, a, "a number from %g to %g", minAxis, maxAxis)
}

// names checks that names differ.
func (c checker) names(field string, names []string) {
	seen := make(map[string]bool, len(names))
	for j, name := range names {
		if name == "" || len(name) > maxText || !utf8.ValidString(name) || seen[name] {
			c.Badf(fmt.Sprintf("%s[%d]", field, j), fmt.Sprintf("%.60q", name), "a name of its own of 1 to %d bytes of UTF-8", maxText)
		}
		seen[name] = true
	}
}

// validateNoise checks that the kind of noise is one for the composition.
func (s *Spec) validateNoise(c checker) {
	c.Want(slices.Contains(kinds, s.Noise), "noise.kind", fmt.Sprintf("%.40q", string(s.Noise)), "one of %v", kinds)
	switch kind, joint := jointKinds[s.Composition]; {
	case joint:
		c.Want(s.Noise == kind, "noise.kind", s.Noise, "%s for the composition %s", kind, s.Composition)
	case s.Composition == Exact:
		c.Want(!s.Noise.randomized(), "noise.composition", s.Composition, "basic for local randomizers")
	case s.Composition == basic, s.Composition == noComposition:
	default:
		c.Bad("noise.composition", fmt.Sprintf("%.40q", string(s.Composition)), "basic, exact, l1, l2, norm, ball or none")
	}
	if s.Composition == jointL2 || s.Composition == jointNorm {
		c.Want(s.Tau >= minAxis && s.Tau <= maxAxis, "noise.tau", s.Tau, "a number from %g to %g (units of the encoding)", minAxis, maxAxis)
	} else if s.Tau != 0 {
		c.Bad("noise.tau", s.Tau, "0, that is none, unless the composition is l2 or norm")
	}
	if s.Composition != jointBalls {
		c.Want(s.Ball == nil && s.Noise != Balls, "noise.kind", s.Noise, "ball with noise on balls for the composition ball alone")
	}
	if s.Noise == None || s.Composition == noComposition {
		s.validateNone(c)
		return
	}
	p := s.Promise
	c.Add(dp.Privacy{Epsilon: p.Epsilon, Delta: p.Delta, Sensitivity: 1}.Validate())
	c.Want(!(p.Epsilon > check.MaxEpsilon), "epsilon", p.Epsilon, "at most %d", check.MaxEpsilon)
	if s.Composition == jointNorm || s.Composition == jointBalls {
		s.validateVector(c)
		return
	}
	if s.Noise == Decision {
		return // by validateCategory
	}
	if s.Noise.randomized() {
		s.validateRandomizers(c)
		return
	}
	c.Want(len(s.Randomizers) == 0 && len(s.RandomizerOf) == 0, "randomizers", fmt.Sprintf("%d randomizers", len(s.Randomizers)), "none, unless the kind of noise is local or local-unbiased")
	s.validateTables(c)
}

// validateVector checks, for noise that is drawn as a vector, that there is no table, and that the grid
// fits the axes.
func (s *Spec) validateVector(c checker) {
	s.validateNoTables(c)
	if s.Composition == jointBalls && !s.validateBall(c) || s.Composition == jointNorm && !(s.Tau >= minAxis && s.Tau <= maxAxis) {
		return // said before
	}
	step := s.vectorStep()
	for i, a := range s.Axes {
		if !(a/step <= maxSteps) {
			c.Badf(fmt.Sprintf("axes[%d]", i), a, "at most 2^40 steps of %g, those of the grid of the noise", step)
			return
		}
	}
}

// vectorStep returns the step of the grid of noise that is drawn as a vector.
func (s *Spec) vectorStep() float64 {
	if s.Composition == jointBalls {
		return math.Ldexp(1, s.Ball.Spec().StepExponent)
	}
	return normStep(s.Tau)
}

// validateNoTables checks that there are no laws of coordinates.
func (s *Spec) validateNoTables(c checker) {
	c.Want(len(s.Tables) == 0 && len(s.TableOf) == 0 && len(s.Randomizers) == 0 && len(s.RandomizerOf) == 0, "tables", fmt.Sprintf("%d tables and %d randomizers", len(s.Tables), len(s.Randomizers)), "none, and none of any coordinate, for the composition %s", s.Composition)
}

// laws checks that there are tables or randomizers for so many coordinates, which of them each
// has, that all are used, and each by itself: wrong returns what one is that is refused, or "",
// and what is wanted.
func (c checker) laws(one, count string, laws, most int, of []int, coordinates int, wrong func(k int) (is, want string)) {
	if laws < 1 || laws > most {
		c.Bad(one+"s", fmt.Sprintf("%d %ss", laws, one), count)
	}
	c.Want(len(of) == coordinates, one+"_of", fmt.Sprintf("%d indices", len(of)), "%d, one per coordinate", coordinates)
	used := make([]bool, laws)
	for i, k := range of {
		if k < 0 || k >= laws {
			c.Badf(fmt.Sprintf("%s_of[%d]", one, i), k, "an index below %d", laws)
			continue
		}
		used[k] = true
	}
	for k := range laws {
		is, want := wrong(k)
		if is == "" && !used[k] {
			is, want = "unused", "a "+one+" of some coordinate"
		}
		c.Want(is == "", fmt.Sprintf("%ss[%d]", one, k), is, "%s", want)
	}
}

// validateRandomizers checks that randomizers take what coordinates are clipped to, no tables.
func (s *Spec) validateRandomizers(c checker) {
	c.Want(len(s.Tables) == 0 && len(s.TableOf) == 0, "tables", fmt.Sprintf("%d tables", len(s.Tables)), "none beside randomizers")
	c.laws("randomizer", "1 to the number of coordinates", len(s.Randomizers), len(s.Axes), s.RandomizerOf, len(s.Axes), func(k int) (is, want string) {
		switch m := s.Randomizers[k]; {
		case m == nil || *m == local.Randomizer{}:
			return "none", "a randomizer made by package local"
		case m.Spec().Values.Kind != local.Real:
			return fmt.Sprintf("one for values of kind %s", m.Spec().Values.Kind), "one for real values"
		}
		return "", ""
	})
}

// validateTables checks that there are tables where they are needed.
func (s *Spec) validateTables(all checker) {
	c, most := checker{check.In("bundle")}, len(s.Axes)
	if s.Composition.joint() {
		most = 1
	}
	c.laws("table", "1 for joint noise, otherwise 1 to the number of coordinates", len(s.Tables), most, s.TableOf, len(s.Axes), func(k int) (is, want string) {
		switch t := s.Tables[k]; {
		case t == nil || t.Loss() == nil:
			return "none", "a table made by package tables"
		case t.Query() != dp.RealQuery:
			return fmt.Sprintf("one for a query of kind %s", t.Query()), "one for a real query"
		}
		return "", ""
	})
	if !c.None() {
		all.Add(c.Err())
		return
	}
	for i, t := range s.TableOf {
		step, _ := s.Tables[t].Grid().Step().Float64() // exact: a power of two
		// Quotients of a step by an axis are then at most 1e120, and products with
		// them finite: what is rounded off is 0 of these units, never 0·∞.
		if !(step <= maxAxis) {
			all.Badf(fmt.Sprintf("tables[%d]", t), fmt.Sprintf("one with steps of %g", step), "steps of at most %g, the largest axis there may be", maxAxis)
			return
		}
		if !(s.Axes[i]/step <= maxSteps) {
			all.Badf(fmt.Sprintf("axes[%d]", i), s.Axes[i], "at most 2^40 steps of %g, those of its table", step)
		}
	}
}
