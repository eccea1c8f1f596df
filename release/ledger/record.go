package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/tables"
)

// Cost is one mechanism of a release, used Times times on the same people, each time with
// fresh noise.
type Cost struct {
	// Table is what the noise is drawn from. Without one, the mechanism is any that is
	// (Epsilon, Delta)-private; beside one they are 0 or what the table promises.
	Table          *tables.Verified
	Epsilon, Delta float64
	Times          int // from 1 to account.MaxReleases
}

// Promise returns the epsilon and the delta of a single use.
func (c Cost) Promise() (epsilon, delta float64) {
	if c.Table != nil {
		p := c.Table.Mechanism().Privacy()
		return p.Epsilon, p.Delta
	}
	return c.Epsilon, c.Delta
}

// Query is what identifies a release: the same Text on the same Data is the same release.
type Query struct {
	// Text is the canonical description of what is asked, one line of JSON.
	Text string
	// Data is the SHA-256 of the data, in 64 hexadecimal digits.
	Data string
	// Summary is a line for human readers.
	Summary string
	// Neighbors and Unit are those of the ledger's Terms.
	Neighbors, Unit string
	// Costs are the mechanisms of the release.
	Costs []Cost
}

// Record is a release in the ledger.
type Record struct {
	Query
	ID      int64 // in the order of the charges, from 1
	Charged time.Time
	// Answer is nil, and Answered zero, of a release that was charged and has no answer
	// yet. It can be taken up again by the same query.
	Answer   []byte
	Answered time.Time
	// Replayed says of the result of Release that the answer was in the ledger.
	Replayed bool
}

// TableHash returns the SHA-256 of a table's file, as Encode writes it, in hexadecimal
// digits, by which the ledger knows it.
func TableHash(v *tables.Verified) (string, error) {
	text, err := tableText(v)
	return hash(text), err
}

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
	maxText    = 1 << 16 // bytes of a Text or a Summary
	maxAnswer  = 64 << 20
	maxCosts   = 1 << 10
	hashDigits = 2 * sha256.Size
)

// validate reports all bad fields together.
func (q Query) validate(t Terms) error {
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
	if len(q.Costs) < 1 || len(q.Costs) > maxCosts {
		bad.Badf("costs", len(q.Costs), "1 to %d mechanisms", maxCosts)
	}
	for i, c := range q.Costs {
		c.check(bad, i+1)
	}
	return bad.Err()
}

// check adds what is wrong with the cost number i.
func (c Cost) check(bad *check.List, i int) {
	of := fmt.Sprintf(" of cost %d", i)
	if c.Times < 1 || c.Times > account.MaxReleases {
		bad.Badf("times"+of, c.Times, "1 to %d", account.MaxReleases)
	}
	if c.Table != nil {
		if c.Table.Mechanism() == nil {
			bad.Bad("table"+of, "none", "one that Verify has proved")
			return
		}
		if e, d := c.Promise(); (c.Epsilon != 0 || c.Delta != 0) && (c.Epsilon != e || c.Delta != d) {
			bad.Badf("epsilon, delta"+of, fmt.Sprintf("%v, %v", c.Epsilon, c.Delta), "0, or %v, %v as the table promises", e, d)
		}
		return
	}
	// As account.Approximate takes them; what costs nothing is no release.
	if !(c.Epsilon >= 0 && c.Epsilon <= maxPromise) || c.Epsilon == 0 && c.Delta == 0 {
		bad.Badf("epsilon"+of, c.Epsilon, "a number from 0 to %d, and above 0 where delta is 0", maxPromise)
	}
	if !(c.Delta >= 0 && c.Delta < 1) {
		bad.Bad("delta"+of, c.Delta, "a probability, at least 0 and below 1")
	}
}

// isLine reports whether a text is one line of readable text.
func isLine(s string) bool {
	return s != "" && len(s) <= maxText && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

func isHash(s string) bool {
	return len(s) == hashDigits && !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) })
}

// sameCosts reports whether two releases have the same mechanisms, in the same order.
func sameCosts(a, b []charge) bool {
	return slices.EqualFunc(a, b, func(x, y charge) bool { return x.kind == y.kind && x.times == y.times })
}
