// SPDX-License-Identifier: Apache-2.0

package formfile

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// ValidateRows checks that each row is a law: so many weights, one for each of what is
// named, that sum to 2^64. Only the first bad row is reported.
func ValidateRows(rows [][]uint64, weights int, each string, errs *check.List) {
	for k, r := range rows {
		if !ValidateLaw(fmt.Sprintf("rows[%d]", k), r, weights, each, errs) {
			return
		}
	}
}

// ValidateLaw checks one law, and reports whether it is one.
func ValidateLaw(field string, law []uint64, weights int, each string, errs *check.List) bool {
	if len(law) != weights {
		errs.Badf(field, fmt.Sprintf("%d weights", len(law)), "%d, %s", weights, each)
		return false
	}
	var sum exact.Uint128
	for _, w := range law {
		sum.Add64(w)
	}
	if sum != (exact.Uint128{Hi: 1}) {
		errs.Bad(field, fmt.Sprintf("a sum of %s", sum.Big()), "exactly 2^64")
		return false
	}
	return true
}

// ExportedWeight is a weight as exports state it.
type ExportedWeight struct {
	// Weight out of 2^64, exact.
	Weight string `json:"weight"`
	// Probability is Weight/2^64 to the nearest float64.
	Probability float64 `json:"probability"`
}

// ExportedTotal is the sum of the weights of a law, 2^64.
const ExportedTotal = "18446744073709551616"

// Golden says what a deterministic stream is, and how draws are made of it.
type Golden struct {
	Stream string `json:"stream"`
	Draw   string `json:"draw"`
	// Seed is 32 bytes in hexadecimal.
	Seed string `json:"seed"`
	// Words are the first words of the stream, in decimal.
	Words []string `json:"words"`
}

// ExportWeights states the weights of a law.
func ExportWeights(row []uint64) []ExportedWeight {
	out := make([]ExportedWeight, len(row))
	for i, w := range row {
		out[i] = ExportWeight(w)
	}
	return out
}

// ExportWeight states a weight.
func ExportWeight(w uint64) ExportedWeight {
	return ExportedWeight{fmt.Sprint(w), float64(w) * 0x1p-64}
}

// ValidateCap checks an instance cap, 0 for none, and the loss that is capped, if another.
func ValidateCap(limit float64, capped interface{ Name() string }, errs *check.List) {
	if capped != nil && limit == 0 {
		errs.Bad("instance_cap_loss", capped.Name(), "none without an instance_cap")
	}
	errs.If(limit != 0 && !check.Positive(limit), "instance_cap", limit, "0 for none, or a finite number above 0")
}

// ValidateAscending checks that numbers ascend, and reports whether they do.
func ValidateAscending(field string, list []float64, errs *check.List) bool {
	for i, x := range list {
		if i > 0 && !(x > list[i-1]) || !check.Finite(x) {
			errs.Bad(fmt.Sprintf("%s[%d]", field, i), x, "finite numbers in ascending order")
			return false
		}
	}
	return true
}

// Probabilities returns those of the weights of a law as float64s.
func Probabilities(row []uint64) []float64 {
	p := make([]float64, len(row))
	for i, w := range row {
		p[i] = float64(w) * 0x1p-64
	}
	return p
}

// maxLabel bounds a label, in bytes.
const maxLabel = 1 << 10

// ValidateLabels checks that there are from 1 to so many labels, and each once.
func ValidateLabels(name string, labels []string, limit int, errs *check.List) {
	if n := len(labels); n < 1 || n > limit {
		errs.Badf(name, fmt.Sprintf("%d labels", n), "1 to %d", limit)
		return
	}
	seen := make(map[string]bool, len(labels))
	for i, l := range labels {
		if l == "" || len(l) > maxLabel || !utf8.ValidString(l) || seen[l] || strings.TrimSpace(l) != l {
			errs.Badf(fmt.Sprintf("%s[%d]", name, i), check.Quoted(check.Shortened(l)), "a text of 1 to %d bytes in UTF-8 that no other label has, without blanks around it", maxLabel)
			return
		}
		seen[l] = true
	}
}
