// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"strings"
	"time"
)

// Ledger is a Budget that outlives the process: what was charged, and the answers. It is
// what package release/ledger keeps in a file.
type Ledger interface {
	// Terms returns what the ledger was made for.
	Terms() Terms
	// Find returns the record of the charge with the text and the data; ok is false if
	// there is none. Its Costs are those that were charged, with their tables.
	Find(ctx context.Context, text, data string) (r Record, ok bool, err error)
	// Release charges durably, then calls answer, once, stores what it returns, and returns
	// the record. A charge that there is an answer to is answered with it, at no cost and
	// without a call of answer. Errors wrap ErrExceeded for a charge that does not fit.
	Release(ctx context.Context, c Charge, answer func(context.Context) ([]byte, error)) (Record, error)
}

// Terms are what a ledger was made for.
type Terms struct {
	// Epsilon and Delta are the total: Epsilon > 0 and finite, 0 <= Delta < 1.
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	// Neighbors is dp.AddRemove or dp.Replace. One release under each would add up different
	// things, so all releases have those of the ledger.
	Neighbors string `json:"neighbors"`
	// Unit is what is hidden: dp.Row, or "person:" and the column that tells persons apart.
	Unit string `json:"unit"`
	// Adaptive is for noise that is chosen in view of earlier answers. The sums of the
	// epsilons and of the deltas promised are then kept within the total, which allows any
	// such choice. Otherwise the releases are composed exactly, which allows more of them, on a
	// condition: the mechanisms of the releases, their noise and how often it is used, were not
	// chosen in view of earlier answers. What is asked otherwise may be.
	Adaptive bool `json:"adaptive"`
	// Delimiter and OneLine say what a row of a CSV file is, as release.File does, and are not for
	// who asks to choose: read in another way one record is many. Delimiter is one character, or
	// "" for a comma.
	Delimiter string `json:"delimiter"`
	OneLine   bool   `json:"one_line"`
}

// Person returns the column that tells persons apart, if the unit is a person.
func (t Terms) Person() (column string, ok bool) { return strings.CutPrefix(t.Unit, "person:") }

// Charge is a release and what it costs: the same Text on the same Data is the same release.
type Charge struct {
	// Text is the canonical description of what is asked, one line of JSON.
	Text string
	// Data is the SHA-256 of the data, in 64 hexadecimal digits.
	Data string
	// Summary is a line for human readers.
	Summary string
	// Neighbors and Unit are those of the ledger's Terms.
	Neighbors, Unit string
	// Costs are the mechanisms of the release; none of one with Part.
	Costs []Cost
	// Part is the Text of a charge of the same Data that has to be in the ledger: this release is a part of
	// what was charged then, and costs nothing more. It is not kept; the Text should say it.
	Part string
}

// Record is a release in a ledger.
type Record struct {
	Charge
	ID      int64 // in the order of the charges, from 1
	Charged time.Time
	// Answer is nil, and Answered zero, of a release that was charged and has no answer
	// yet. It can be taken up again by an equal charge.
	Answer   []byte
	Answered time.Time
	// Replayed says of the result of Release that the answer was in the ledger.
	Replayed bool
}

// Once returns the record of the charge from the ledger, if it has an answer. Else it calls plan
// for the costs of an answer and what draws it, charges them and then draws. If an equal charge was
// left without an answer, as by a crash, plan gets the costs that were charged, and draws from
// them. Without a ledger, nil, it only plans and draws, and nothing adds up what that costs.
func (c Charge) Once(ctx context.Context, l Ledger, plan func(before []Cost) ([]Cost, func(context.Context) ([]byte, error), error)) (Record, error) {
	var before Record
	if l != nil {
		var err error
		if before, _, err = l.Find(ctx, c.Text, c.Data); err != nil {
			return Record{}, err
		}
		if before.Answer != nil {
			before.Replayed = true
			return before, nil
		}
	}
	costs, draw, err := plan(before.Costs)
	if err != nil {
		return Record{}, err
	}
	c.Costs = costs
	if l == nil {
		answer, err := draw(ctx)
		return Record{Charge: c, Answer: answer}, err
	}
	return l.Release(ctx, c, draw)
}
