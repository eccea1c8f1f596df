package cli

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"
	"unicode"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/release"
)

// releaseReport is what release --json prints, and -o writes.
type releaseReport struct {
	Schema int `json:"schema"`
	releaseAnswer
	Ledger *releaseLedger `json:"ledger,omitempty"`
}

// releaseAnswer is the part of the report that a ledger keeps.
type releaseAnswer struct {
	Kind    release.Kind       `json:"kind"`
	Answers []release.Estimate `json:"answers"`
	Level   float64            `json:"level"` // of the intervals
	// Epsilon and Delta are of so many Releases like this one together.
	Epsilon   float64 `json:"epsilon"`
	Delta     float64 `json:"delta"`
	Releases  int     `json:"releases"`
	Neighbors string  `json:"neighbors"`
	Unit      string  `json:"unit"`
	Mechanism string  `json:"mechanism"`
	// MeanError is null where it depends on the data.
	MeanError    *float64      `json:"mean_error"`
	Tables       []string      `json:"tables"` // SHA-256 of their files
	NotProtected []string      `json:"not_protected"`
	Query        release.Query `json:"query"` // all of it
}

// releaseLedger is what the ledger says of the release.
type releaseLedger struct {
	Release  int64     `json:"release"`
	Charged  time.Time `json:"charged"`
	Replayed bool      `json:"replayed"`
}

func (l *releaseLedger) row() shell.Row {
	text := fmt.Sprintf("release %d, charged %s", l.Release, l.Charged.Format(time.RFC3339))
	if l.Replayed {
		text += "; answered from the ledger, at no cost"
	}
	return shell.Row{"ledger", text}
}

// about is all of the answer but the numbers.
func (o *releaseOptions) about(plan *release.Plan) (*releaseAnswer, error) {
	q := plan.Query()
	a := &releaseAnswer{
		Kind: q.Kind, Level: release.Level, Epsilon: q.Epsilon, Delta: q.Delta, Releases: q.Releases, Neighbors: q.Neighbors, Unit: q.Unit(),
		Mechanism: plan.Mechanism(), MeanError: shell.Finite(plan.MeanError()), Tables: []string{}, NotProtected: notProtected(q), Query: q,
	}
	for _, c := range plan.Costs() {
		if c.Table == nil {
			continue
		}
		hash, err := account.TableHash(c.Table)
		if err != nil {
			return nil, err
		}
		a.Tables = append(a.Tables, hash)
	}
	return a, nil
}

// notProtected says what the promise is not about.
func notProtected(q release.Query) []string {
	out := []string{"the query: columns, bounds, keys and conditions are public and must not be chosen in view of the data"}
	if q.Kind == release.Value {
		out = []string{"that the sensitivity is what you say: nothing here can check it"}
	}
	if q.Neighbors == dp.Replace {
		out = append(out, "how many units there are")
	}
	switch {
	case q.Kind == release.Value:
	case q.Person == "":
		out = append(out, "a person with several rows: each row is hidden by itself (see --person)")
	default:
		out = append(out, "groups of persons, such as families, beyond what each costs by itself")
	}
	return append(out, "errors: that a release was refused, and why, is about the data", "how long the release took")
}

// ledgerText is the text of a query that a ledger takes: a long one by its hash.
func ledgerText(q release.Query) string {
	text := q.Text()
	if len(text) < 1<<15 {
		return text
	}
	hash := sha256.Sum256([]byte(text))
	return fmt.Sprintf(`{"kind":%q,"sha256":"%x"}`, q.Kind, hash)
}

// summary is a query in one line for readers.
func summary(q release.Query) string {
	text := string(q.Kind)
	if q.Name != "" {
		text += " " + q.Name
	}
	if q.Column != "" {
		text += " of " + q.Column
	}
	if q.By != "" {
		text += " by " + q.By
	}
	if q.Where != "" {
		text += " where " + q.Where
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(check.Shortened(text), " "))
}

// releaseFailure is the failure of a plan.
func releaseFailure(err error) error {
	var f *shell.Failure
	if !errors.As(err, &f) && errors.Is(err, dp.ErrInvalid) {
		return shell.BadInput("noisewright release --help", err)
	}
	return err
}

func (o *releaseOptions) rows(r *releaseReport) []shell.Row {
	var rows []shell.Row
	for _, a := range r.Answers {
		name := "answer"
		if a.Key != "" {
			name = a.Key
		}
		value, lower, upper := rounded(a)
		text := fmt.Sprintf("%s, %s to %s with a probability of at least %v", value, lower, upper, r.Level)
		if r.Kind == release.Quantile {
			text = fmt.Sprintf("%v, with a probability of at least %v no more than %d rows from the quantile", a.Value, r.Level, a.RankError)
		}
		rows = append(rows, shell.Row{name, text})
	}
	unit := "a " + r.Unit
	if name, ok := strings.CutPrefix(r.Unit, "person:"); ok {
		unit = "a person (" + name + ")"
	}
	hidden := "that " + unit + " is there or not"
	if r.Neighbors == dp.Replace {
		hidden = "the values of " + unit
	}
	guarantee := fmt.Sprintf("epsilon %v, delta %v", r.Epsilon, r.Delta)
	if r.Releases > 1 {
		guarantee += fmt.Sprintf(", for %d releases like this one together", r.Releases)
	}
	rows = append(rows,
		shell.Row{"guarantee", guarantee},
		shell.Row{"hides", hidden},
		shell.Row{"noise", r.Mechanism},
	)
	if r.MeanError != nil {
		rows = append(rows, shell.Row{"mean error", shell.DigitsUp(*r.MeanError)})
	}
	for _, t := range r.Tables {
		rows = append(rows, shell.Row{"table", t})
	}
	if l := r.Ledger; l != nil {
		rows = append(rows, l.row())
	}
	for _, s := range r.NotProtected {
		rows = append(rows, shell.Row{"not protected", s})
	}
	return rows
}

// rounded prints an answer and its interval to a thousandth of the interval, which is
// rounded outwards.
func rounded(a release.Estimate) (value, lower, upper string) {
	if max(math.Abs(a.Lower), math.Abs(a.Upper)) >= 1e15 {
		return fmt.Sprint(a.Value), fmt.Sprint(a.Lower), fmt.Sprint(a.Upper)
	}
	digits := 0
	if width := a.Upper - a.Lower; width > 0 && (a.Value != math.Trunc(a.Value) || a.Lower != math.Trunc(a.Lower) || a.Upper != math.Trunc(a.Upper)) {
		digits = int(min(max(math.Ceil(3-math.Log10(width)), 0), 300))
	}
	text := func(v float64, outwards int) string {
		exactly := new(big.Rat).SetFloat64(v)
		near := exactly.FloatString(digits)
		back, _ := new(big.Rat).SetString(near)
		if outwards*back.Cmp(exactly) < 0 {
			unit := new(big.Rat).SetFrac(big.NewInt(int64(outwards)), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil))
			return back.Add(back, unit).FloatString(digits)
		}
		return near
	}
	return text(a.Value, 0), text(a.Lower, -1), text(a.Upper, +1)
}
