package sampler

import (
	"errors"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/proof"
)

// answersOf is New for any channel, private or not.
func answersOf(c proof.Channel, g generator) *answers { return newAnswers(nil, c, newRowLaws(c), g) }

// seeded is answersOf with a deterministic generator.
func seeded(c proof.Channel, seed byte) *answers {
	return answersOf(c, newFixedGenerator([32]byte{seed}))
}

// number is Release for a number, 0 beside an error.
func (s *answers) number(x float64) (float64, error) { return numberOf(s, x) }

func numberOf(s Sampler, x float64) (float64, error) {
	y, err := s.Release(proof.Number(x))
	if err != nil {
		return 0, err
	}
	f, _ := proof.Float(y)
	return f, nil
}

// label is Release for a category, "" beside an error.
func (s *answers) label(x string) (string, error) {
	y, err := s.Release(proof.Category(x))
	if err != nil {
		return "", err
	}
	return y.String(), nil
}

// index is number, the answer given as its index.
func (s *answers) index(x float64) (int, error) {
	c, err := s.channel.Choose(proof.Number(x))
	if err != nil {
		return 0, err
	}
	j, _, err := s.draw(c)
	return j, err
}

// TestNewRefuses: without a proof there is nothing to draw from, nor of what is no channel.
func TestNewRefuses(t *testing.T) {
	if s, err := New(nil, Options{}); s != nil || !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("%v, %v, want ErrInvalid", s, err)
	}
}
