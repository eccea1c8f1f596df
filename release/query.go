// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/powers"
	"github.com/noisewright/noisewright/loss"
)

// Kind is what is published.
type Kind string

// The kinds of queries.
const (
	Count     Kind = "count"     // the number of rows
	Sum       Kind = "sum"       // of the values of a column
	Mean      Kind = "mean"      // of the values of a column
	Histogram Kind = "histogram" // the number of rows with each key, or between edges
	Variance  Kind = "variance"  // of the values of a column: their mean squared distance from their mean
	Distinct  Kind = "distinct"  // the number of different values of a column
	Quantile  Kind = "quantile"  // of the values of a column
	Top       Kind = "top"       // the keys that most rows have
	Best      Kind = "best"      // the options that hold for most rows
	Value     Kind = "value"     // a number that was computed elsewhere
)

// What happens to rows without a number where one is needed.
const (
	dropMissing   = "drop"
	middleMissing = "middle"
)

// Query says what is asked of a data set. All of it is public: it must not be chosen in
// view of the data, and it is not protected.
type Query struct {
	Kind Kind `json:"kind"`

	// Epsilon and Delta are what so many Releases like this one, such as one a month,
	// cost together: 0 < Epsilon, 0 <= Delta < 1. Releases = 0 means 1.
	Epsilon  float64 `json:"epsilon"`
	Delta    float64 `json:"delta"`
	Releases int     `json:"releases"`

	// Neighbors says what is hidden: that a unit is there at all (dp.AddRemove),
	// or which values it has (dp.Replace), the number of units being public.
	Neighbors string `json:"neighbors"`
	// Person is the column that tells whose a row is, by its text but for blanks at its
	// ends; then a unit is a person, and at
	// most MaxPerPerson rows of each, chosen at random, count. "": a unit is a row. Of a Top or
	// Best 0 is all: a person counts once for each key or option, of however many.
	Person       string `json:"person,omitempty"`
	MaxPerPerson int    `json:"max_per_person,omitempty"`

	// Column holds the values of a sum, mean, quantile or a histogram with Edges. They
	// are clipped to Lower and Upper, in the units of the column. Of a count with a Column those rows count that have a number there.
	Column string  `json:"column,omitempty"`
	Lower  float64 `json:"lower"`
	Upper  float64 `json:"upper"`
	// Bounds, of a sum or mean of all rows, says where the bounds come from in place of Lower and Upper, which
	// are 0: "private" finds them in the data, with a fifth of Epsilon; "prior:lognormal,MU,SIGMA" are 0 and what is best
	// for about so many Rows of values whose logarithms are normal, with this mean and standard deviation.
	Bounds string `json:"bounds,omitempty"`
	Rows   int    `json:"rows,omitempty"`
	// Missing says what happens if a row has no number where one is needed: "drop", which ""
	// is too, and the row is not selected; or "middle", for a sum, mean or quantile, and the row
	// has the number in the middle of the bounds.
	Missing string `json:"missing,omitempty"`
	// Also, of a Mean or Variance, has other kinds that are answered of the same rows by the same noise, at no cost of their own: Count,
	// the number of rows with a number in Column, Sum, and of a Variance Mean. Then a mean is its sum by its count, within the bounds.
	Also []Kind `json:"also,omitempty"`
	// StrictNotPrivate is for who holds the data: the answer is refused, after it was charged, if
	// there is a row that is malformed, without a number, or undecided, with its line. That
	// error is exact, free of noise, and not private: whoever may choose queries and sees
	// it reads the data by it.
	StrictNotPrivate bool `json:"strict_not_private,omitempty"`

	// Where is a condition on the columns of a row, in the language of expr-lang.org, "" for
	// none: columns are texts, and numbers where they stand next to one (docs/release.md).
	Where string `json:"where,omitempty"`

	// By is a column, for one answer for every one of Keys; rows with other keys do
	// not count. With Person a person counts at most once for each key, and for at
	// most MaxPerPerson keys.
	By   string   `json:"by,omitempty"`
	Keys []string `json:"keys,omitempty"`
	// PrivateKeys, of a count, histogram, sum, mean, variance or number of different values By a column, answers in place of Keys for those of the data that enough rows, or
	// persons, have. Half of Epsilon and of Delta, which is above 0, is for which these are.
	PrivateKeys bool `json:"private_keys,omitempty"`
	// Edges, ascending, are those of a histogram of Column. A value counts between the
	// edges a <= value < b, and up to the last edge inclusive; others do not count.
	Edges []float64 `json:"edges,omitempty"`

	// Options are what a Best chooses from. A row counts for each whose condition holds.
	Options []Option `json:"options,omitempty"`
	// K is how many of the Keys or Options a Top or Best names, the one of most rows first; 0 means 1.
	K int `json:"k,omitempty"`

	// cells are those of a Workload, in place of By or Edges.
	cells []Cells
	// series says that of a person the earliest cells count, and not any.
	series bool

	// Probability is that of a quantile, above 0 and below 1. The answer is one of
	// Candidates numbers evenly spaced from Lower to Upper; 0 means 1001.
	Probability float64 `json:"probability,omitempty"`
	Candidates  int     `json:"candidates,omitempty"`

	// Name, Sensitivity and Integer are of a Value: what it is; how far a unit can change
	// it, in its units; and whether it is an integer.
	Name        string  `json:"name,omitempty"`
	Sensitivity float64 `json:"sensitivity,omitempty"`
	Integer     bool    `json:"integer,omitempty"`
	// Of says whose influence on a Value is hidden, as ledgers name it; "" is a row.
	Of string `json:"of,omitempty"`

	// Loss is what the noise of counts and sums is designed for: "l1", which "" is
	// too, or "l2".
	Loss string `json:"loss,omitempty"`
}

// Option is a condition with a name.
type Option struct {
	Name  string `json:"name"`
	Where string `json:"where"` // as of a Query
}

// The bounds of a query.
const (
	maxReleases       = 10_000
	maxPerPerson      = 10_000
	maxCandidates     = 10_000_000 // in all groups together
	defaultCandidates = 1001
	maxGroups         = 100_000 // Keys, or Edges less 1
	maxOptions        = 1000
	maxChosen         = 1000 // of a Top or Best
	maxRows           = 1 << 40
	maxText           = 4 << 20 // of all keys and names together: an answer repeats them, and is to fit into a ledger
	maxValue          = 1e100   // of bounds and edges, in magnitude
)

// Limits returns the largest Releases and MaxPerPerson, and the largest number of Candidates in
// all groups together, of any query.
func (Query) Limits() (releases, perPerson, candidates int) {
	return maxReleases, maxPerPerson, maxCandidates
}

// Unit is whose influence is hidden, as ledgers name it: "row", or "person:" and the
// column.
func (q Query) Unit() string {
	switch {
	case q.Kind == Value && q.Of != "":
		return q.Of
	case q.Person != "":
		return "person:" + q.Person
	}
	return dp.Row
}

// Text describes the query in one line of JSON, the same for the same query only.
func (q Query) Text() string {
	text, err := json.Marshal(q.normal())
	if err != nil {
		return fmt.Sprintf("%#v", q) // of no valid query
	}
	return string(text)
}

// normal returns the query with defaults in place.
func (q Query) normal() Query {
	if q.Missing == "" {
		q.Missing = dropMissing
	}
	if q.Loss == "" {
		q.Loss = loss.L1.Name()
	}
	if q.Releases == 0 {
		q.Releases = 1
	}
	if q.Kind == Quantile && q.Candidates == 0 {
		q.Candidates = defaultCandidates
	}
	if len(q.Also) > 0 {
		q.Also = slices.Sorted(slices.Values(q.Also))
	}
	if q.chooses() && q.K == 0 {
		q.K = 1
	}
	return q
}

// grouped reports whether there is one answer for each of several groups.
func (q Query) grouped() bool {
	return q.By != "" || len(q.Edges) > 0 || len(q.cells) > 0 || len(q.Options) > 0
}

// chooses reports whether the answer is which of the groups are the largest.
func (q Query) chooses() bool { return q.Kind == Top || q.Kind == Best }

// pure reports whether the answer takes no delta.
func (q Query) pure() bool { return q.chooses() || q.Kind == Quantile }

// valued reports whether the query needs values within bounds.
func (q Query) valued() bool {
	return q.Kind == Sum || q.Kind == Mean || q.Kind == Variance || q.Kind == Quantile
}

// middle is that of the bounds.
func (q Query) middle() float64 { return min(max(q.Lower/2+q.Upper/2, q.Lower), q.Upper) }

// resolved returns the query with the bounds that values are clipped to when they are read.
func (q Query) resolved() (Query, error) {
	switch {
	case q.Bounds == privateBounds:
		q.Lower, q.Upper = -powers.Largest, powers.Largest
	case q.Bounds != "":
		p, err := parsePrior(q.Bounds)
		if err != nil {
			return q, err
		}
		q.Upper = p.bound(q)
	}
	return q, nil
}

// groups names the groups, one without a name if there is no other.
func (q Query) groups() []string {
	switch {
	case q.By != "":
		return q.Keys
	case len(q.Options) > 0:
		names := make([]string, len(q.Options))
		for i, o := range q.Options {
			names[i] = o.Name
		}
		return names
	case len(q.Edges) > 0:
		names := make([]string, len(q.Edges)-1)
		for i := range names {
			end := ")"
			if i == len(names)-1 {
				end = "]"
			}
			names[i] = fmt.Sprintf("[%v, %v%s", q.Edges[i], q.Edges[i+1], end)
		}
		return names
	}
	return []string{""}
}

// Validate reports all bad fields together, wrapping dp.ErrInvalid.
func (q Query) Validate() error {
	bad := check.In("release")
	q = q.normal()
	bad.OneOf("kind", string(q.Kind), string(Count), string(Sum), string(Mean), string(Variance), string(Distinct), string(Histogram), string(Quantile), string(Top), string(Best), string(Value))
	bad.Budget(q.Epsilon, q.Delta)
	options := make([]string, 0, 2*len(q.Options))
	for _, o := range q.Options {
		options = append(options, o.Name, o.Where)
	}
	for _, field := range []struct{ name, text string }{
		{"column", q.Column},
		{"where", q.Where},
		{"by", q.By},
		{"person", q.Person},
		{"name", q.Name},
		{"keys", strings.Join(q.Keys, " ")},
		{"bounds", q.Bounds},
		{"option", strings.Join(options, " ")},
	} {
		if !utf8.ValidString(field.text) {
			bad.Bad(field.name, check.Quoted(strings.ToValidUTF8(field.text, "?")), "UTF-8 text")
		}
	}
	texts := len(strings.Join(append(append(options, q.Keys...), q.Column, q.Where, q.By, q.Person, q.Name), ""))
	bad.Want(texts <= maxText, "texts", texts, "at most %d bytes of keys, names and conditions together", maxText)
	if q.Releases < 1 || q.Releases > maxReleases {
		bad.Badf("releases", q.Releases, "an integer from 1 to %d", maxReleases)
	}
	bad.OneOf("neighbors", q.Neighbors, dp.AddRemove, dp.Replace)
	bad.OneOf("missing", q.Missing, dropMissing, middleMissing)
	bad.If(q.Missing == middleMissing && !q.valued(), "missing", q.Missing, "drop: a %s has no bounds to be in the middle of", q.Kind)
	bad.OneOf("loss", q.Loss, loss.L1.Name(), loss.L2.Name())
	switch {
	case q.Person != "" && (q.MaxPerPerson < 1 && !(q.chooses() && q.MaxPerPerson == 0) || q.MaxPerPerson > maxPerPerson):
		bad.Badf("max-per-person", q.MaxPerPerson, "an integer from 1 to %d: how many rows of a person count at most", maxPerPerson)
	case q.Person == "" && q.MaxPerPerson != 0:
		bad.Bad("max-per-person", q.MaxPerPerson, "none without person, the column that tells whose a row is")
	}
	if q.Kind == Value {
		q.validateValue(bad)
		return bad.Err()
	}
	if q.Name != "" || q.Sensitivity != 0 || q.Integer || q.Of != "" {
		bad.Bad("sensitivity", q.Sensitivity, "none but for a value: that of a "+string(q.Kind)+" follows from what is bounded")
	}
	q.validateColumns(bad)
	q.validateUnbounded(bad)
	q.validateAlso(bad)
	q.validateGroups(bad)
	return bad.Err()
}

func (q Query) validateValue(bad *check.List) {
	if q.Column+q.Where+q.By+q.Person != "" || len(q.Keys)+len(q.Edges)+len(q.Options)+q.K > 0 || q.Lower != 0 || q.Upper != 0 || q.Probability != 0 || q.Bounds != "" || q.Rows != 0 || q.PrivateKeys || len(q.Also) > 0 {
		bad.Bad("column", check.Quoted(q.Column), "none for a value, nor conditions, keys, bounds and persons: it is there already")
	}
	if !(q.Sensitivity > 0 && q.Sensitivity <= maxValue) || q.Integer && q.Sensitivity != math.Trunc(q.Sensitivity) {
		bad.Badf("sensitivity", q.Sensitivity, "a number above 0 of at most %g, an integer if the value is: how far a unit can change the value", maxValue)
	}
	if column, person := (account.Terms{Unit: q.Of}).Person(); q.Of != "" && q.Of != dp.Row && (!person || column == "") {
		bad.Bad("unit", check.Quoted(check.Shortened(q.Of)), dp.Row+" or person:COLUMN")
	}
}

func (q Query) validateColumns(bad *check.List) {
	bad.If((q.valued() || q.Kind == Distinct) && q.Column == "", "column", "none", "the column of the values")
	if q.valued() {
		bounded := check.Finite(q.Lower, q.Upper) && math.Abs(q.Lower) <= maxValue && math.Abs(q.Upper) <= maxValue && q.Lower < q.Upper
		if q.Bounds == "" && !bounded {
			bad.Badf("bounds", fmt.Sprintf("%v, %v", q.Lower, q.Upper), "lower below upper, both of at most %g: values are clipped to them, so that one person's is bounded", maxValue)
		}
	} else if q.Lower != 0 || q.Upper != 0 {
		bad.Bad("bounds", fmt.Sprintf("%v, %v", q.Lower, q.Upper), "none: a "+string(q.Kind)+" has no values to clip")
	}
	switch {
	case q.Kind == Quantile && !(q.Probability > 0 && q.Probability < 1 && q.Probability == math.Round(q.Probability*1e6)/1e6):
		bad.Bad("probability", q.Probability, "a number above 0 and below 1 of at most 6 decimals, 0.5 for the median")
	case q.Kind != Quantile && (q.Probability != 0 || q.Candidates != 0):
		bad.Bad("probability", q.Probability, "none but for a quantile")
	case q.Kind == Quantile && (q.Candidates < 2 || q.Candidates > maxCandidates/max(len(q.groups()), 1)):
		bad.Badf("candidates", q.Candidates, "an integer from 2 to %d, over all groups together", maxCandidates)
	}
}

func (q Query) validateAlso(bad *check.List) {
	known := map[Kind]bool{}
	for _, k := range q.Also {
		bad.If(q.Kind != Mean && q.Kind != Variance, "also", k, "none but for a mean or a variance")
		bad.Want(!known[k] && (k == Count || k == Sum || k == Mean && q.Kind == Variance), "also", k, "count, sum, and of a variance mean, each once")
		known[k] = true
	}
}

func (q Query) validateGroups(bad *check.List) {
	q.validateChoice(bad)
	switch {
	case q.By != "" && len(q.Edges) > 0:
		bad.Bad("by", check.Quoted(q.By), "either by and keys or edges, and not both")
	case q.By != "" && len(q.Keys) == 0 && !q.PrivateKeys:
		found := ""
		if q.Kind == Count || q.Kind == Histogram {
			found = ", or private-keys to find them"
		}
		bad.Bad("keys", "none", "the keys to answer for, known without a look at the data"+found+": that a key is there tells of a person")
	case q.By == "" && len(q.Keys) > 0:
		bad.Bad("by", "none", "the column of the keys")
	case q.Kind == Top && q.By == "":
		bad.Bad("by", "none", "the column of the keys to choose from")
	case q.Kind == Histogram && !q.grouped():
		bad.Bad("by", "none", "by and keys, or column and edges, for a histogram")
	case q.Kind != Histogram && len(q.Edges) > 0:
		bad.Bad("edges", fmt.Sprint(q.Edges), "none but for a histogram")
	}
	q.validateKeys(bad)
	q.validateEdges(bad)
}

func (q Query) validateKeys(bad *check.List) {
	if q.PrivateKeys {
		bad.If(q.chooses() || q.Kind == Quantile, "private-keys", "true", "false for a %s", q.Kind)
		bad.If(q.squares() && len(q.Also) > 0, "also", q.Also[:min(len(q.Also), 1)], "none for a variance with private-keys")
		bad.If(q.By == "", "by", "none", "the column of the keys")
		bad.If(len(q.Keys) > 0, "keys", len(q.Keys), "either keys or private-keys, and not both")
		bad.If(q.Delta == 0, "delta", q.Delta, "above 0: without, no private rule tells a key that it finds")
	}
	counted := q.Kind == Histogram && len(q.Edges) == 0 || q.chooses()
	bad.If(counted && q.Column != "", "column", check.Quoted(q.Column), "none: rows are counted (see where for those to count)")
	bad.If(len(q.Keys) > maxGroups, "keys", len(q.Keys), "at most %d of them", maxGroups)
	known := make(map[string]bool, len(q.Keys))
	for _, k := range q.Keys {
		if known[k] {
			bad.Bad("keys", check.Quoted(k), "every key once")
		}
		bad.If(len(k) > longestKey, "keys", check.Quoted(check.Shortened(k)), "keys of at most %d bytes", longestKey)
		known[k] = true
	}
}

func (q Query) validateEdges(bad *check.List) {
	if len(q.Edges) == 0 {
		return
	}
	bad.If(q.Column == "", "column", "none", "the column of the values between the edges")
	bad.If(len(q.Edges) < 2 || len(q.Edges) > maxGroups+1, "edges", len(q.Edges), "from 2 to %d of them", maxGroups+1)
	for i, e := range q.Edges {
		if !check.Finite(e) || math.Abs(e) > maxValue || i > 0 && e <= q.Edges[i-1] {
			bad.Badf("edges", e, "ascending numbers of at most %g", maxValue)
		}
	}
}

func (q Query) validateChoice(bad *check.List) {
	bad.If(q.Kind != Best && len(q.Options) > 0, "option", len(q.Options), "none but for a best")
	if !q.chooses() {
		bad.If(q.K != 0, "k", q.K, "none but for a top or best: how many are named")
		return
	}
	if q.Kind == Best {
		bad.If(q.By != "" || len(q.Keys) > 0, "by", check.Quoted(q.By), "none for a best, which chooses from options")
		bad.Want(len(q.Options) >= 1 && len(q.Options) <= maxOptions, "option", len(q.Options), "1 to %d of them, each with a name and a condition", maxOptions)
	}
	known := make(map[string]bool, len(q.Options))
	for _, o := range q.Options {
		bad.If(o.Name == "" || known[o.Name], "option", check.Quoted(o.Name), "a name for each, and every name once")
		bad.If(len(o.Name) > longestKey, "option", check.Quoted(check.Shortened(o.Name)), "names of at most %d bytes", longestKey)
		bad.If(o.Where == "", "option", check.Quoted(o.Name), "a condition for each")
		known[o.Name] = true
	}
	if n := max(len(q.Keys), len(q.Options)); n > 0 {
		bad.Want(q.K >= 1 && q.K <= min(n, maxChosen), "k", q.K, "an integer from 1 to %d: how many of the %d are named", min(n, maxChosen), n)
	}
}

func (q Query) validateUnbounded(bad *check.List) {
	prior := strings.HasPrefix(q.Bounds, priorBounds)
	if prior {
		bad.Want(q.Rows >= 1 && q.Rows <= maxRows, "rows", q.Rows, "from 1 to %d: about how many there are, as known without a look at the data", maxRows)
	} else {
		bad.If(q.Rows != 0, "rows", q.Rows, "none without bounds from a prior")
	}
	if q.Bounds == "" {
		return
	}
	bad.If(q.Lower != 0 || q.Upper != 0, "bounds", fmt.Sprintf("%v, %v", q.Lower, q.Upper), "none, as they are %s", q.Bounds)
	bad.If(q.Kind != Sum && q.Kind != Mean, "bounds", check.Quoted(q.Bounds), "none but for a sum or a mean")
	bad.If(q.By != "", "by", check.Quoted(q.By), "none where bounds are %s: they are of all rows", q.Bounds)
	bad.If(q.Missing == middleMissing, "missing", q.Missing, "drop: bounds that are %s have no middle that is known", q.Bounds)
	if prior {
		_, err := parsePrior(q.Bounds)
		bad.Add(err)
	} else {
		bad.OneOf("bounds", q.Bounds, privateBounds, priorBounds+"MU,SIGMA (bounds that are known are lower and upper)")
	}
}

// problem is the design problem of noise with the whole guarantee.
func (q Query) problem(sensitivity float64, query dp.Query) dp.Problem {
	l := loss.L1
	if q.Loss == loss.L2.Name() {
		l = loss.L2
	}
	return dp.Problem{
		Privacy: dp.Privacy{Epsilon: q.Epsilon, Delta: q.Delta, Sensitivity: sensitivity},
		Query:   query,
		Loss:    l,
	}
}
