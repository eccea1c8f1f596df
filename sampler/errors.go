package sampler

import "errors"

// Sentinel errors, checked with errors.Is.
var (
	// ErrInvalid marks an argument outside its stated range.
	ErrInvalid = errors.New("invalid input")
	// ErrEntropy marks a failure of the source of randomness. Nothing drawn
	// by the failing call was released.
	ErrEntropy = errors.New("no entropy")
)
