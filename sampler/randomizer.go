package sampler

import (
	"math/big"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/local"
)

// RandomizerSampler answers values through a local randomizer. It is not safe for
// concurrent use; give each goroutine its own by Fork, which shares the randomizer. It must
// not be copied.
//
// Guarantee (docs/proofs/local-privacy.md): if the words of the generator are independent
// and uniform, the answers are independent, and an answer to the value x, which lies between
// the nodes i and i+1, is answer j with probability exactly (1−θ)·W_i(j)/2^64 +
// θ·W_{i+1}(j)/2^64, θ = (x − node i)/(node i+1 − node i), a rational number.
//
// Which rows of the randomizer are read depends on x and on the rounding; the time to draw
// from a row does not depend on the answer. So an observer who shares the processor's
// caches, or times very precisely, must be assumed to learn about where x is.
type RandomizerSampler struct {
	_          noCopy
	randomizer *local.Randomizer
	laws       *randomizerLaws
	reader     wordReader
}

// randomizerLaws is a randomizer made ready for drawing. It is shared by all forks.
type randomizerLaws struct {
	spec   local.Spec
	labels map[string]int
	rows   []rowLaw
}

// NewRandomizer returns a RandomizerSampler of a randomizer that local.Randomizer.Verify
// has proved to keep its promise. Options are as for NewKernel. The error wraps
// dp.ErrInvalid if there is no randomizer, and ErrEntropy if the generator cannot be seeded.
func NewRandomizer(v *local.Verified, o Options) (*RandomizerSampler, error) {
	r, err := randomizerOf(v)
	if err != nil {
		return nil, err
	}
	g, err := o.generator()
	if err != nil {
		return nil, err
	}
	return newRandomizerSampler(r, newRandomizerLaws(r), g), nil
}

// NewRandomizerDeterministic returns a RandomizerSampler whose answers are a function of
// the seed and the values.
//
// NEVER USE IT FOR A RELEASE. It is for tests and studies. The words are those of
// NewDeterministic.
func NewRandomizerDeterministic(v *local.Verified, seed [32]byte) (*RandomizerSampler, error) {
	r, err := randomizerOf(v)
	if err != nil {
		return nil, err
	}
	return newRandomizerSampler(r, newRandomizerLaws(r), newFixedGenerator(seed)), nil
}

// randomizerOf is tableOf for a randomizer.
func randomizerOf(v *local.Verified) (*local.Randomizer, error) {
	if v == nil || v.Randomizer() == nil {
		return nil, check.Field("sampler", "randomizer", "none", "one that local.Randomizer.Verify has proved")
	}
	return v.Randomizer(), nil
}

func newRandomizerSampler(r *local.Randomizer, laws *randomizerLaws, g generator) *RandomizerSampler {
	return &RandomizerSampler{randomizer: r, laws: laws, reader: wordReader{gen: g, pos: blockBytes}}
}

func newRandomizerLaws(r *local.Randomizer) *randomizerLaws {
	l := &randomizerLaws{spec: r.Spec(), labels: make(map[string]int)}
	for i, name := range l.spec.Values.Labels {
		l.labels[name] = i
	}
	for _, weights := range l.spec.Rows {
		l.rows = append(l.rows, newRowLaw(weights))
	}
	return l
}

// Fork returns a RandomizerSampler of the same randomizer for another goroutine, with a
// generator as Sampler.Fork gives it. It is a use of s, not to be concurrent with others.
// The error wraps ErrEntropy.
func (s *RandomizerSampler) Fork() (*RandomizerSampler, error) {
	g, err := s.reader.gen.fork()
	if err != nil {
		return nil, err
	}
	return newRandomizerSampler(s.randomizer, s.laws, g), nil
}

// Randomizer returns the randomizer drawn from.
func (s *RandomizerSampler) Randomizer() *local.Randomizer {
	r := *s.randomizer
	return &r
}

// Generator describes the source of randomness, for logs.
func (s *RandomizerSampler) Generator() string { return s.reader.gen.name() }

// Release returns a private answer to the value x, in its units.
//
// x has to be one of the randomizer's values: real or integer, as its kind says, and in its
// range; clip it first. The error wraps dp.ErrInvalid if it is not, or NaN, which is decided
// before anything is drawn and says of x only that; and ErrEntropy if there is no
// randomness. The result is then 0.
func (s *RandomizerSampler) Release(x float64) (float64, error) {
	j, err := s.ReleaseIndex(x)
	if err != nil {
		return 0, err
	}
	return s.laws.spec.Answers[j], nil
}

// ReleaseIndex is Release, the answer given as its index.
func (s *RandomizerSampler) ReleaseIndex(x float64) (int, error) {
	v := s.laws.spec.Values
	if v.Kind == local.Category {
		return 0, check.Errorf("sampler", dp.ErrInvalid, "the value is a number, want a category: ReleaseCategory answers those")
	}
	i, up, ok := s.randomizer.Between(x)
	if !ok {
		what := "a number"
		if v.Kind == local.Integer {
			what = "an integer"
		}
		return 0, check.Errorf("sampler", dp.ErrInvalid, "the value is not %s in the randomizer's range, want %g to %g", what, v.Lower, v.Upper)
	}
	if v.Kind == local.Real {
		above, err := s.roundUp(x, i, up)
		if err != nil {
			return 0, err
		}
		if above {
			i++
		}
	}
	return s.draw(i)
}

// ReleaseCategory returns a private answer to a category, one of the randomizer's answer
// labels. The error wraps dp.ErrInvalid if it has no such category, and says of it only
// that, and ErrEntropy if there is no randomness. The result is then empty.
func (s *RandomizerSampler) ReleaseCategory(label string) (string, error) {
	i, ok := s.laws.labels[label]
	if !ok {
		return "", check.Errorf("sampler", dp.ErrInvalid, "the value is none of the randomizer's %d categories", len(s.laws.labels))
	}
	j, err := s.draw(i)
	if err != nil {
		return "", err
	}
	return s.laws.spec.AnswerLabels[j], nil
}

// draw returns an answer to node i.
func (s *RandomizerSampler) draw(i int) (int, error) {
	u, err := s.reader.word()
	if err != nil {
		return 0, err
	}
	return s.laws.rows[i].draw(u), nil
}

// roundError is above the distance of Between's probability, and of the first word of a
// random number as a float64, from what they stand for: three roundings of relative 2^-53,
// and one and the digits beyond the word.
const roundError = 0x1p-49

// roundUp rounds x, which lies between node i and node i+1 or is node i, to the upper one
// with the probability θ that is nearly up, exactly: it reports whether a random number,
// the fraction 0.w₁w₂… in base 2^64, is below θ. The first word decides but with
// probability 2^-47.
func (s *RandomizerSampler) roundUp(x float64, i int, up float64) (bool, error) {
	w, err := s.reader.word()
	if err != nil {
		return false, err
	}
	if distance := float64(w)*0x1p-64 - up; distance > roundError || distance < -roundError {
		return distance < 0, nil
	}
	nodes := s.laws.spec.Nodes
	if x == nodes[i] { // and there may be none above
		return false, nil
	}
	low := exact.Rational(nodes[i])
	theta := new(big.Rat).Sub(exact.Rational(x), low)
	theta.Quo(theta, low.Sub(exact.Rational(nodes[i+1]), low))
	return s.below(w, theta)
}

// below reports whether the random number whose first word is w is below 0 <= theta < 1.
func (s *RandomizerSampler) below(w uint64, theta *big.Rat) (bool, error) {
	rest, digit := new(big.Int).Set(theta.Num()), new(big.Int)
	for {
		digit.QuoRem(rest.Lsh(rest, 64), theta.Denom(), rest)
		switch d := digit.Uint64(); {
		case w != d:
			return w < d, nil
		case rest.Sign() == 0:
			return false, nil // no number is below what has no more digits
		}
		var err error
		if w, err = s.reader.word(); err != nil {
			return false, err
		}
	}
}
