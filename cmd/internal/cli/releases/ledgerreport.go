// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"cmp"
	"context"
	_ "embed" // the page
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/release/ledger"
)

//go:embed report.html
var reportPage string

var reportTemplate = template.Must(template.New("report").Parse(reportPage))

// reportRow is a release in a report.
type reportRow struct {
	ID                             int64
	Charged, Summary, Cost, Answer string
}

func newLedgerReportCommand(s *shell.Streams) *cobra.Command {
	o := &ledgerOptions{Common: shell.Common{Streams: s}}
	f := shell.NewFlags(&cobra.Command{
		Use:   "report FILE -o PAGE",
		Short: "Write a page of what was published, for a manager or an auditor",
		Long: `Write a page, one HTML file without scripts that needs nothing else: the promise of a
ledger in words, what of its total is spent, and every release with its date, its
epsilon and delta and its answer.

It has no digests of data, and not which releases were about the same ones. Which
questions were asked, and when, is not protected by the noise.`,
		Example: "  noisewright ledger report city.ledger -o city.html",
	})
	f.Argument(&o.file, "FILE", "ledger")
	f.Output(&o.Common, "file to write, - for standard output (default -)", "html")
	f.Quiet(&o.Common, "no progress")
	return f.Run(o.reading("composing", o.report))
}

func (o *ledgerOptions) report(ctx context.Context, l *ledger.Ledger) error {
	records, err := l.Records(ctx)
	if err != nil {
		return err
	}
	spent, err := l.Spent(ctx)
	if err != nil {
		return err
	}
	var rows []reportRow
	for _, r := range records {
		rows = append(rows, reportRow{r.ID, r.Charged.UTC().Format(time.DateTime), shell.Printable(r.Summary), costText(r.Costs), answerText(r.Answer)})
	}
	t := l.Terms()
	hides, guess := "that "+unitText(t)+" is in the data or not", "whether "+unitText(t)+" is in the data"
	if t.Neighbors == dp.Replace {
		hides, guess = "what "+unitText(t)+" says", "which of two values "+unitText(t)+" has"
	}
	hidden := "One row is hidden, and not a person with several rows."
	if _, person := t.Person(); person {
		hidden = "One person is hidden, with all rows, and not a family or another group of persons."
	}
	composition := "The total holds on the condition that " + strings.ReplaceAll(nonAdaptive, "\n", " ") + "."
	if t.Adaptive {
		composition = "Each release was charged in full; later noise may have been chosen in view of earlier answers."
	}
	return o.WriteFile(o.Output, func(w io.Writer) error {
		return reportTemplate.Execute(w, map[string]any{
			"Name": filepath.Base(o.file), "Terms": t, "Words": shell.InWords(t.Epsilon, t.Delta, guess) + " all releases", "Hides": hides, "Hidden": hidden, "Composition": composition,
			"Spent": shell.DigitsUp(spent.Epsilon), "Share": spent.Epsilon / t.Epsilon, "Releases": releasesText(spent), "Rows": rows,
		})
	}, o.file)
}

func releasesText(s ledger.Spent) string {
	text := fmt.Sprintf("%d releases", s.Releases)
	if s.Releases == 1 {
		text = "one release"
	}
	if s.Pending > 0 {
		text += fmt.Sprintf(", of which %d without an answer", s.Pending)
	}
	return text
}

// costText is what the mechanisms of a release promise, each for a single use.
func costText(costs []account.Cost) string {
	var parts []string
	for _, c := range costs {
		epsilon, delta := c.Promise()
		text := shell.DigitsUp(epsilon) + ", " + shell.DigitsUp(delta)
		if c.Times > 1 {
			text = fmt.Sprintf("%d of %s", c.Times, text)
		}
		parts = append(parts, text)
	}
	return cmp.Or(strings.Join(parts, " and "), partCost)
}

// partCost is what a release costs that is a part of an earlier one, such as a period of a series.
const partCost = "nothing: charged before, with the series it is of"

// answerText is what readers want of an answer: its numbers, each with the interval that holds the exact one, or, of a
// quantile, how many rows it may be off.
func answerText(answer []byte) string {
	if answer == nil {
		return "none: only charged"
	}
	var a struct {
		Level   float64 `json:"level"`
		Answers []struct {
			Key                 string
			Value, Lower, Upper *float64
			RankError           int64 `json:"rank_error"`
		} `json:"answers"`
	}
	if json.Unmarshal(answer, &a) != nil || len(a.Answers) == 0 {
		return "published elsewhere" // a model, or a table
	}
	const most = 20
	var parts []string
	for _, one := range a.Answers[:min(len(a.Answers), most)] {
		var text string
		if one.Key != "" {
			text = shell.Printable(one.Key) + ": "
		}
		if one.Value == nil {
			continue
		}
		text += fmt.Sprint(*one.Value)
		switch {
		case one.RankError > 0:
			text += fmt.Sprintf(" (no more than %d rows off, %v %%)", one.RankError, 100*a.Level)
		case one.Lower != nil && one.Upper != nil:
			text += fmt.Sprintf(" (%v to %v, %v %%)", *one.Lower, *one.Upper, 100*a.Level)
		}
		parts = append(parts, text)
	}
	if more := len(a.Answers) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}
