package latent

import (
	"github.com/noisewright/noisewright/internal/check"
)

// invalid returns the error for a field that breaks its rule.
func invalid(field string, value any, want string) error {
	return check.Field("latent", field, value, want)
}
