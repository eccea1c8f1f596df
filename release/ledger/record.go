// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/tables"
)

func tableText(v *tables.Verified) ([]byte, error) {
	if v == nil || v.Mechanism() == nil {
		return nil, check.Field("ledger", "table", "none", "one that Verify has proved")
	}
	var b bytes.Buffer
	err := v.Mechanism().Encode(&b)
	return b.Bytes(), err
}

func hash(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:])
}

const (
	maxText    = 1 << 16   // bytes of a Text or a Summary
	maxAnswer  = 128 << 20 // above that of any query or model
	maxCosts   = 1 << 10
	hashDigits = 2 * sha256.Size
)

func validateCharge(q account.Charge, t account.Terms) error {
	bad := check.In("ledger")
	if !isLine(q.Text) || !json.Valid([]byte(q.Text)) {
		bad.Badf("text", check.Quoted(check.Shortened(q.Text)), "one line of JSON, of at most %d bytes", maxText)
	}
	if !isLine(q.Summary) {
		bad.Badf("summary", check.Quoted(check.Shortened(q.Summary)), "one line of text, of at most %d bytes", maxText)
	}
	if !isHash(q.Data) {
		bad.Bad("data", check.Quoted(check.Shortened(q.Data)), "a SHA-256 in 64 hexadecimal digits")
	}
	if q.Neighbors != t.Neighbors {
		bad.Bad("neighbors", check.Quoted(check.Shortened(q.Neighbors)), t.Neighbors+" as in the ledger")
	}
	if q.Unit != t.Unit {
		bad.Bad("unit", check.Quoted(check.Shortened(q.Unit)), t.Unit+" as in the ledger")
	}
	switch {
	case q.Part != "":
		bad.If(len(q.Costs) > 0, "costs", len(q.Costs), "none: it is a part of what was charged")
	case len(q.Costs) < 1 || len(q.Costs) > maxCosts:
		bad.Badf("costs", len(q.Costs), "1 to %d mechanisms", maxCosts)
	}
	for i, c := range q.Costs {
		bad.AddOf(c.Validate(), fmt.Sprintf(" of cost %d", i+1))
	}
	return bad.Err()
}

// isLine reports whether a text is one line of readable text.
func isLine(s string) bool {
	return s != "" && len(s) <= maxText && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

func isHash(s string) bool {
	return len(s) == hashDigits && !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) })
}
