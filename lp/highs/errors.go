package highs

import (
	"errors"
)

// Sentinel errors, checked with errors.Is.
var (
	// ErrUnavailable is returned by New in a build without cgo.
	ErrUnavailable = errors.New("highs: this build has no LP solver: " +
		"install a C compiler and the HiGHS development package, then run `make build`")
	// ErrClosed is returned by every method but Close after Close.
	ErrClosed = errors.New("highs: solver is closed")
	// ErrSolver marks a call that HiGHS refused for a reason of its own, such
	// as a lack of memory. The program may be damaged and must be closed.
	ErrSolver = errors.New("call refused by HiGHS")
)
