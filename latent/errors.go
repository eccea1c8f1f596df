package latent

import (
	"errors"
	"fmt"
)

// ErrInvalid marks an input outside its stated range, checked with errors.Is.
var ErrInvalid = errors.New("invalid input")

// invalid returns the error for a field that breaks its rule.
func invalid(field string, value any, want string) error {
	return fmt.Errorf("latent: %s = %v, want %s: %w", field, value, want, ErrInvalid)
}
