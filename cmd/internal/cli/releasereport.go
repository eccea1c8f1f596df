package cli

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/release"
)

// releaseReport is what release --json prints, and -o writes.
type releaseReport struct {
	Schema int `json:"schema"`
	release.Answer
}

// ledgerRow says what the ledger says of a release.
func ledgerRow(e *release.Entry) shell.Row {
	text := fmt.Sprintf("release %d, charged %s", e.Release, e.Charged.Format(time.RFC3339))
	if e.Replayed {
		text += "; answered from the ledger, at no cost"
	}
	return shell.Row{"ledger", text}
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
	if r.Ledger != nil {
		rows = append(rows, ledgerRow(r.Ledger))
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
