package cli

import (
	"errors"
	"fmt"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
)

// errNotTaken is of a value that a local randomizer does not take. It does not say which,
// as values of files are private.
var errNotTaken = errors.New("not a value of the randomizer")

// answerer returns a function that appends an answer to the value of a text to dst.
func answerer(s sampler.Sampler) func(dst []byte, value string) ([]byte, error) {
	numbers := s.Mechanism().Inputs().Kind != proof.Categories
	return func(dst []byte, value string) ([]byte, error) {
		var input proof.Value = proof.Category(value)
		if numbers {
			x, err := shell.ParseNumber(value, shell.Rule{OK: func(float64) bool { return true }})
			if err != nil {
				return nil, errNotTaken
			}
			input = proof.Number(x)
		}
		answer, err := s.Release(input)
		if err != nil {
			return nil, err
		}
		return append(dst, answer.String()...), nil
	}
}

// takes says which values a local randomizer takes.
func takes(r *local.Randomizer) string {
	v := r.Spec().Values
	switch v.Kind {
	case local.Category:
		return fmt.Sprintf("one of the %d categories of the randomizer, such as %s", len(v.Labels), v.Labels[0])
	case local.Integer:
		return fmt.Sprintf("an integer from %v to %v, the randomizer's range", v.Lower, v.Upper)
	default:
		return fmt.Sprintf("a number from %v to %v, the randomizer's range", v.Lower, v.Upper)
	}
}
