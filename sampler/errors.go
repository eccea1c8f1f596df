package sampler

import (
	"errors"

	"github.com/noisewright/noisewright/internal/check"
)

// Sentinel errors, checked with errors.Is.
var (
	// ErrEntropy marks a failure of the source of randomness. Nothing drawn
	// by the failing call was released.
	ErrEntropy = check.ErrEntropy
	// ErrOverflow marks noise, or a sum with it, of more than 2^53 steps: a tail has no end. It has
	// a probability that is practically 0 for tables made by a design, and says nothing of x but
	// what the sum says, which is private.
	ErrOverflow = errors.New("noise too large")
)
