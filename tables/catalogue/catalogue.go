// SPDX-License-Identifier: Apache-2.0

// Package catalogue has tables of noise for common parameters, designed before: l1 and l2, real and
// integer queries of sensitivity 1, and a grid of epsilon and delta, each within 0.5 % of the least
// possible loss. They are files of this folder, embedded in who imports it (1.7 MB) and made by make
// catalogue. [Find] proves one anew before it returns it, as a file that is read.
package catalogue

import (
	"embed"
	"fmt"
	"regexp"
	"strings"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/tables"
)

//go:embed *.json
var files embed.FS

const suffix = ".json"

// Names returns the names of all tables, sorted.
func Names() (names []string) {
	found, _ := files.ReadDir(".") // of an embedded folder, which is there
	for _, f := range found {
		names = append(names, strings.TrimSuffix(f.Name(), suffix))
	}
	return names
}

// Read returns the table of a name, not proved yet; the error wraps dp.ErrInvalid if there is none.
func Read(name string) (*tables.Table, error) {
	f, err := files.Open(name + suffix)
	if err != nil {
		return nil, check.Field("catalogue", "name", check.Quoted(name), "one of Names")
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return tables.Decode(f)
}

// Find returns the table of a problem, proved now. The error wraps dp.ErrInvalid if there is none.
func Find(p dp.Problem) (*tables.Verified, error) {
	if err := p.Validate(); err != nil {
		return nil, check.Errorf("catalogue", nil, "%w", err)
	}
	t, err := Read(Name(p))
	if err != nil {
		return nil, check.Errorf("catalogue", dp.ErrInvalid, "no table is about this problem, want an epsilon, a delta, a loss and a query of Names")
	}
	if own := t.Problem(); own.Privacy != p.Privacy || own.Loss.Name() != p.Loss.Name() || p.Step != 0 || !p.Constraints.None() {
		return nil, check.Errorf("catalogue", dp.ErrInvalid, "no table is about this sensitivity, step or constraints, want a sensitivity of 1 and no others")
	}
	return t.Verify()
}

var symbols = regexp.MustCompile(`[^a-z0-9.]+`)

// Name returns the name of a table by its problem, QUERY-LOSS-epsilon-E-delta-D with all digits. It
// tells the members of a family over epsilon and delta apart.
func Name(p dp.Problem) string {
	query := p.Query
	if query == "" {
		query = dp.RealQuery
	}
	return fmt.Sprintf("%s-%s-epsilon-%v-delta-%v", query, symbols.ReplaceAllString(p.Loss.Name(), "-"), p.Epsilon, p.Delta)
}
