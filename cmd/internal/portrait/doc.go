// SPDX-License-Identifier: Apache-2.0

// Package portrait is what a page shows of a file: a table, a kernel or a local randomizer,
// read, verified, and as numbers and points of charts. It does not link the designer, so the
// static verifier page can do the same as the studio.
package portrait

import "embed"

// Page holds what the pages have in common, in the folder page: their look and their charts.
//
//go:embed page
var Page embed.FS
