// SPDX-License-Identifier: Apache-2.0

// Package highs is the LP solver of noisewright: it makes HiGHS, the open
// source solver of Hall, Galabova, Huangfu and Feldmeier, an [solver.Solver].
//
// HiGHS is reached in one of two ways, which a build chooses by a tag. With highs it is linked by
// cgo, and capi.go holds the calls into its C API and nothing else; no other package uses cgo. With
// highswasm it is WebAssembly, embedded by wasm.go, and wasmmodel.go holds the same calls; it is
// compiled when the first model is made, some three seconds of processor time, and solves take two
// to three times as long. solver.go holds the checks and the reading of outcomes of both. Without
// either tag, or with highs and without cgo, [New] returns an error that wraps [solver.ErrNone].
//
// # What HiGHS is told
//
// A program is one HiGHS model that stays alive: rows and columns are appended to it in batches,
// and a solve continues from the last basis. Everything HiGHS would reject half way through an
// append (a repeated or unknown index, a value that is not finite) is refused before the call, so
// that a refused batch leaves the program as it was. Matrix entries of magnitude 1e-12 or less are
// dropped by HiGHS.
//
// HiGHS runs on one thread and prints nothing. Its clock counts over all solves of a model, so it
// is set to zero before each of them: a time limit is the limit of that call.
//
// # What HiGHS says
//
// The dual of a row is the derivative of the optimum with respect to the bound of the row that is
// active: in a minimization it is ≥ 0 where the lower bound is active, ≤ 0 where the upper bound
// is, 0 where neither is. With the reduced costs d = c − Aᵀy, strong duality reads
//
//	min c·x = Σ_i (y_i > 0 ? y_i·lower_i : y_i·upper_i) + Σ_j (d_j > 0 ? d_j·lower_j : d_j·upper_j),
//
// the lower and upper bounds being those of row i and column j.
//
// A claim of optimality is believed only if HiGHS' own residuals, measured on
// the program as given and not as scaled, are within a thousand times the
// tolerance; otherwise the status is [solver.StatusFailed]. That is a filter for
// the search, not a guarantee: guarantees come from the exact certificate.
//
// # WebAssembly
//
// A program that links HiGHS is tied to one system and its C library. WebAssembly makes programs
// for six systems on any of them, with the same solver, version and options. The module comes from
// the npm package highs; scripts/wasm.sh pins package and module by hash, and nothing binary is in
// the repository. It runs without files, network or environment, in a memory of 2 GiB at most, so
// programs beyond some five million entries fail there. A wrong module could make designs fail or
// end early, but no table less private or better than it says: certificates are exact.
//
// wazero compiles it, the runtime for Go that needs no cgo. What it compiled is kept on disk
// if the folder and all above it belong to this user or root and nobody else may write there,
// because it is executed.
package highs

import (
	"errors"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/solver"
)

var (
	// errUnavailable is returned by New in a build without HiGHS.
	errUnavailable = check.Errorf("highs", solver.ErrNone, "this build has no LP solver: "+
		"run `make build`, which links HiGHS, or `make static`, which embeds it")
	// errInvalid marks a batch of rows or columns or an option outside its stated range; the
	// program is unchanged. It is not dp.ErrInvalid: no user of a design states batches.
	errInvalid = errors.New("invalid batch or option")
	// errClosed is returned by every method but Close after Close.
	errClosed = errors.New("highs: solver is closed")
	// errSolver marks a call that HiGHS refused for a reason of its own, such
	// as a lack of memory. The program may be damaged and must be closed.
	errSolver = errors.New("call refused by HiGHS")
)
