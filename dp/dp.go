// Package dp is the statement of a problem. A [Problem] is the [Privacy] that is
// promised (epsilon, delta and the sensitivity), the values the [Query] takes, the
// loss to minimize (package loss), and the [Constraints] that the noise keeps.
package dp

import "github.com/noisewright/noisewright/internal/check"

// ErrInvalid marks an input outside its stated range, in every package of this
// module; checked with errors.Is.
var ErrInvalid = check.ErrInvalid
