// Package dp is the statement of a problem: what privacy is promised, for which
// query, at which loss, and what the noise must keep beside that.
package dp

import "github.com/noisewright/noisewright/internal/check"

// ErrInvalid marks an input outside its stated range, in every package of this
// module; checked with errors.Is.
var ErrInvalid = check.ErrInvalid
