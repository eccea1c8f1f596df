package cli

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/sampler"
)

// errNotTaken is of a value that a local randomizer does not take. It does not say which,
// as values of files are private.
var errNotTaken = errors.New("not a value of the randomizer")

// answerer returns a function that appends an answer to the value of a text to dst.
func answerer(s *sampler.RandomizerSampler) func(dst []byte, value string) ([]byte, error) {
	if s.Randomizer().Spec().Values.Kind == local.Category {
		return func(dst []byte, value string) ([]byte, error) {
			label, err := s.ReleaseCategory(value)
			return append(dst, label...), err
		}
	}
	return func(dst []byte, value string) ([]byte, error) {
		x, err := shell.ParseNumber(value, shell.Rule{OK: func(float64) bool { return true }})
		if err != nil {
			return nil, errNotTaken
		}
		y, err := s.Release(x)
		return strconv.AppendFloat(dst, y, 'g', -1, 64), err
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
