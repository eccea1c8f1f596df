// SPDX-License-Identifier: Apache-2.0

// Package formfile has what the files of all forms of mechanisms have in common, for the
// packages of the forms: the claims that a file states about itself, laws of weights, the
// rules of a dual, and how an export writes weights.
package formfile

import "math/big"

// MaxPieces bounds the pieces of a weight.
const MaxPieces = 1 << 12

// Density is a piece of a density of values, exactly.
type Density struct{ From, To, Density *big.Rat }

// Loss is how a file writes a loss.
type Loss struct {
	Name string `json:"name"`
}

// LossOf is how a file writes a loss, nil if there is none.
func LossOf(l interface{ Name() string }) *Loss {
	if l == nil {
		return nil
	}
	return &Loss{l.Name()}
}

// Given is a field that a file leaves out if it is zero.
func Given[T comparable](x T) *T {
	var zero T
	if x == zero {
		return nil
	}
	return &x
}

// Or is what a field says, or what it stands for if a file leaves it out.
func Or[T any](field *T, otherwise T) T {
	if field == nil {
		return otherwise
	}
	return *field
}
