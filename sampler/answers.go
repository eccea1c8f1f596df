// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"encoding/binary"
	"math/big"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
)

// answers is a Sampler of a proof.Channel.
//
// Guarantee (docs/proofs/kernel-privacy.md, additive-kernels.md, local-privacy.md): if the
// words of the generator are independent and uniform, the answers are independent, and an
// answer to an input of the row i is answer j with probability exactly W_i(j)/2^64, and one
// of its points with equal probability; to an input that is rounded it is with probability
// exactly (1−θ)·W_i(j)/2^64 + θ·W_{i+1}(j)/2^64, θ the rational number of proof.Choice.
//
// Which row is read depends on the input and on its rounding; the time to draw from it does
// not depend on the answer. So an observer who shares the processor's caches, or times very
// precisely, must be assumed to learn about where the input is.
type answers struct {
	_       noCopy
	proven  proof.Proven
	channel proof.Channel // what is proved, of which nobody else has the pointer
	numeric numeric       // the same, if it is one
	inputs  []float64     // of the rows, if it is numeric; shared by forks
	laws    []rowLaw      // of the rows; shared by forks
	reader  wordReader
}

// numeric is a Channel from numbers to numbers, which does without Values for them, so that
// ReleaseNumber makes no garbage. Choose and Answer do the same.
type numeric interface {
	proof.Channel
	ChooseNumber(x float64) (proof.Choice, error)
	AnswerNumber(c proof.Choice, answer int, point int64) float64
}

func newAnswers(v proof.Proven, c proof.Channel, laws []rowLaw, g generator) *answers {
	s := &answers{proven: v, channel: c, laws: laws}
	s.numeric, _ = c.(numeric)
	if s.numeric != nil {
		for i := range laws {
			x, _ := proof.Float(c.Input(i))
			s.inputs = append(s.inputs, x)
		}
	}
	return s.with(g)
}

// with returns a Sampler of the same laws with another generator.
func (s *answers) with(g generator) *answers {
	return &answers{
		proven: s.proven, channel: s.channel, numeric: s.numeric, inputs: s.inputs, laws: s.laws,
		reader: wordReader{gen: g, pos: blockBytes},
	}
}

// Fork implements Sampler.
func (s *answers) Fork() (Sampler, error) {
	g, err := s.reader.gen.fork()
	if err != nil {
		return nil, err
	}
	return s.with(g), nil
}

// Mechanism implements Sampler.
func (s *answers) Mechanism() proof.Mechanism { return proof.Of(s.proven) }

// Generator implements Sampler.
func (s *answers) Generator() string { return s.reader.gen.name() }

// Release implements Sampler.
func (s *answers) Release(input proof.Value) (proof.Value, error) {
	c, err := s.channel.Choose(input)
	if err != nil {
		return nil, check.Errorf("sampler", nil, "%w", err)
	}
	answer, point, err := s.draw(c)
	if err != nil {
		return nil, err
	}
	return s.channel.Answer(c, answer, point), nil
}

// ReleaseNumber implements Sampler.
func (s *answers) ReleaseNumber(x float64) (float64, error) {
	if s.numeric == nil {
		return 0, check.Errorf("sampler", dp.ErrInvalid, "the value is a number, want %s", s.channel.Inputs())
	}
	c, err := s.numeric.ChooseNumber(x)
	if err != nil {
		return 0, check.Errorf("sampler", nil, "%w", err)
	}
	answer, point, err := s.draw(c)
	if err != nil {
		return 0, err
	}
	return s.numeric.AnswerNumber(c, answer, point), nil
}

// draw returns an answer to an input of the choice, and one of its points, if it has any: a word
// selects the answer, and another one, or the first that is not rejected, the point (law.position).
func (s *answers) draw(c proof.Choice) (answer int, point int64, err error) {
	row := c.Row
	if c.Rounded {
		above, err := s.roundUp(c.X, row)
		if err != nil {
			return 0, 0, err
		}
		if above {
			row++
		}
	}
	u, err := s.reader.word()
	if err != nil {
		return 0, 0, err
	}
	l := &s.laws[row]
	answer = l.draw(u)
	if l.points == 0 {
		return answer, 0, nil
	}
	for {
		v, err := s.reader.word()
		if err != nil {
			return 0, 0, err
		}
		if offset, ok := l.position(v); ok {
			return answer, int64(offset), nil
		}
	}
}

// roundError is above the distance of up in roundUp, and of the first word of a random number
// as a float64, from what they stand for: three roundings of relative 2^-53,
// and one and the digits beyond the word.
const roundError = 0x1p-49

// roundUp rounds x to the higher of two inputs next to it, those of the row and the next, with the
// probability θ = (x−low)/(high−low), exactly: it reports whether a random number, the fraction
// 0.w₁w₂… in base 2^64, is below θ. The first word decides but with probability 2^-47.
func (s *answers) roundUp(x float64, row int) (bool, error) {
	w, err := s.reader.word()
	if err != nil {
		return false, err
	}
	low, up := s.inputs[row], 0.0
	high := low
	if x != low {
		high = s.inputs[row+1]
		up = (x - low) / (high - low)
	}
	if distance := float64(w)*0x1p-64 - up; distance > roundError || distance < -roundError {
		return distance < 0, nil
	}
	if x == low { // and there may be none above
		return false, nil
	}
	from := exact.Rational(low)
	theta := new(big.Rat).Sub(exact.Rational(x), from)
	theta.Quo(theta, from.Sub(exact.Rational(high), from))
	return s.below(w, theta)
}

// below reports whether the random number whose first word is w is below 0 <= theta < 1.
func (s *answers) below(w uint64, theta *big.Rat) (bool, error) {
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

// rowLaw is one row of a channel made ready for drawing: as law, without answers of weight 0
// at the start, and without a guide.
type rowLaw struct {
	law
	from int // answer of entry 0
}

func newRowLaws(c proof.Channel) []rowLaw {
	rows := c.Rows()
	laws := make([]rowLaw, len(rows))
	points := uint64(c.Points()) //nolint:gosec // not negative
	for i, weights := range rows {
		laws[i] = newRowLaw(weights)
		if points > 0 {
			laws[i].points, laws[i].reject = points, -points%points
		}
	}
	return laws
}

func newRowLaw(weights []uint64) rowLaw {
	var l rowLaw
	for weights[l.from] == 0 {
		l.from++
	}
	var end uint64
	for _, w := range weights[l.from:] {
		end += w
		l.last = append(l.last, end-1)
	}
	if end != 0 {
		panic("sampler: weights of a row do not sum to 2^64") // New made sure
	}
	return l
}

// draw returns the output that owns the word u. It reads the whole row.
func (l *rowLaw) draw(u uint64) int { return l.from + int(l.scan(u)) }

// wordReader hands out the words of a generator and erases them.
type wordReader struct {
	gen   generator
	words [blockBytes]byte
	pos   int // words[:pos] are used, and zero
}

func (r *wordReader) word() (uint64, error) {
	if r.pos == len(r.words) {
		if err := r.gen.read(&r.words); err != nil {
			clear(r.words[:])
			return 0, err
		}
		r.pos = 0
	}
	next := r.words[r.pos : r.pos+wordBytes]
	r.pos += wordBytes
	w := binary.LittleEndian.Uint64(next)
	clear(next)
	return w, nil
}
