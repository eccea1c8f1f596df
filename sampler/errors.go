package sampler

import (
	"errors"
)

// Sentinel errors, checked with errors.Is.
var (
	// ErrEntropy marks a failure of the source of randomness. Nothing drawn
	// by the failing call was released.
	ErrEntropy = errors.New("no entropy")
	// ErrOverflow marks noise, or a sum with it, of more than 2^53 steps: a
	// tail has no end. It has a probability that is practically 0 for tables
	// made by a design, and says nothing of x but what the sum says, which is
	// private.
	ErrOverflow = errors.New("noise too large")
)
