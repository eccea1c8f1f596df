package shell

import (
	"fmt"
	"math"
)

// Where promises become weak.
const (
	largeEpsilon = 10
	largeDelta   = 1e-3
	mostDelta    = 0.1
)

// Prudent adds the flags --allow-delta and --rows of a command that promises an epsilon and a
// delta, refuses a promise that is hardly one, and warns of a weak one. It looks at no data: the
// number of rows is what the caller says, because where rows are added or removed their true number is
// private, and a warning that depends on it would tell of it.
func (f *Flags) Prudent(c *Common, epsilon, delta *float64) {
	allow, rows := false, 0
	f.Bool(&allow, "allow-delta", fmt.Sprintf("allow a delta of %g or more, the probability with which nothing is promised", mostDelta))
	f.Func("rows", "count", "", "about how many rows, or people, there are, as known without a look at the data: warn of a delta above one over it", func(text string) error {
		n, ok := ParseCount(text)
		if !ok || n < 1 {
			return Want("an integer of at least 1")
		}
		rows = n
		return nil
	})
	f.Check(func() error {
		if *delta >= mostDelta && !allow {
			return fmt.Errorf("delta = %v, want less than %g, or --allow-delta: with this probability nothing is promised", *delta, mostDelta)
		}
		if *epsilon > largeEpsilon {
			c.Warn("epsilon = %v promises little: %s", *epsilon, InWords(*epsilon, *delta, "somebody's secret, one of two"))
		}
		switch {
		case rows > 0 && *delta > 1/float64(rows):
			c.Warn("delta = %v is above 1/%d, one over the number of rows: to publish a random row as it is would keep such a promise", *delta, rows)
		case *delta >= largeDelta:
			c.Warn("delta = %v is large: with this probability nothing is promised; it should be far below one over the number of people, such as 1e-6", *delta)
		}
		return nil
	})
}

// InWords says what an epsilon and a delta are to who guesses something of which they hide
// which of two it is. With even odds before, no test is right with a probability above
// (e^epsilon + delta)/(1 + e^epsilon) (Kairouz, Oh and Viswanath, 2015, theorem 2.1), here rounded up.
func InWords(epsilon, delta float64, what string) string {
	right := 1 - (1-delta)/(1+math.Exp(epsilon))
	percent := min(math.Ceil(1e4*right+1e-9)/100, 100)
	return fmt.Sprintf("who guesses %s with even odds before is right with a probability of at most %v %% after", what, percent)
}
