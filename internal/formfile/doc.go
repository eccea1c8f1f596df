// Package formfile has what the files of all forms of mechanisms have in common, for the
// packages of the forms: the claims that a file states about itself, laws of weights, the
// rules of a dual, and how an export writes weights.
package formfile

// MaxPieces bounds the pieces of a weight.
const MaxPieces = 1 << 12

// Loss is how a file writes a loss.
type Loss struct {
	Name string `json:"name"`
}
