// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"fmt"
	"strings"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/release"
)

// choosesGroups reports whether the answer is keys or options.
func choosesGroups(k release.Kind) bool { return k == release.Top || k == release.Best }

// noisy reports whether a statistic takes noise of a table.
func noisy(k release.Kind) bool { return k != release.Quantile && !choosesGroups(k) }

const choiceHelp = `

The answer comes with a bound on how far each count is below the largest of those not
named before it, which holds for all of them with a probability of at least 0.95.`

func choiceFlags(f *shell.Flags, q *release.Query) {
	q.K = 1
	f.Integer(&q.K, "k", "", 1, 1000, "how many to name")
	if q.Kind != release.Best {
		return
	}
	f.Texts("option", "NAME=CONDITION", "what to choose from, such as old='age >= 65'; may be repeated", func(texts []string) error {
		for _, text := range texts {
			name, condition, ok := strings.Cut(text, "=")
			if !ok {
				q.Options = append(q.Options, release.Option{Name: text, Where: "true"}) // what is wrong is said here
				return shell.About("option", text, shell.Want("a name, = and a condition, such as old='age >= 65'"))
			}
			q.Options = append(q.Options, release.Option{Name: strings.TrimSpace(name), Where: strings.TrimSpace(condition)})
		}
		return nil
	})
}

// choiceRows are those of the answer of a choice, and none of other answers.
func choiceRows(r *release.Answer) (rows []shell.Row) {
	if !choosesGroups(r.Kind) || len(r.Answers) == 0 {
		return nil
	}
	for _, a := range r.Answers {
		rows = append(rows, shell.Row{fmt.Sprintf("place %v", a.Value), a.Key})
	}
	return append(rows, shell.Row{"count error", fmt.Sprintf("with a probability of at least %v all are less than %d below the largest count not named before", r.Level, r.Answers[0].CountError)})
}
