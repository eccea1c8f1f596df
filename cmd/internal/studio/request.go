// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/plan"
)

// The kinds of a request.
const (
	kindTable  = "table"  // additive noise
	kindKernel = "kernel" // noise that depends on the value
	kindLocal  = "local"  // a local randomizer
	kindShares = "shares" // a subset selection
	kindFile   = "file"   // what was dropped on the page

	kindPlan    = "plan"    // many counts together
	kindRelease = "release" // a statistic of data that were dropped on the page
	kindLedger  = "ledger"  // what is left
)

// request is what the page asks for: a design, or what is to be said of a file.
type request struct {
	Kind string `json:"kind"`
	// Fields are flags by their names, as written: those of the kind alone.
	Fields map[string]string `json:"fields"`
	// Releases is how many releases are composed; Together that epsilon and delta are of all.
	Releases string `json:"releases"`
	Together bool   `json:"together"`
	// Accept is the expected loss for which an epsilon is sought, "" for none.
	Accept string `json:"accept"`
	// Sweep asks for the error against epsilon.
	Sweep bool `json:"sweep"`
	// File is the text of a file, of a release by plan that of the plan, and Name what it is called.
	File string `json:"file"`
	Name string `json:"name"`
	// Statistic is which command of release is asked for, Data the bytes of the file that it is about: they
	// are in memory alone, and a command reads them as its standard input.
	Statistic string `json:"statistic"`
	Data      []byte `json:"data"`
}

// statistics are the commands of release that a page may ask for, and byPlan that of a plan.
var statistics = []string{"count", "sum", "mean", "variance", "histogram", "quantile", "distinct", "top", byPlan}

const byPlan = "workload"

// flags are those that a page may set, by kind. None names a file, and the values of those
// that may are checked in readable.
var flags = map[string][]string{
	kindTable: {
		"epsilon", "delta", "sensitivity", "loss", "query", "step", "symmetric", "monotone", "unbiased", "support",
		"max-variance", "quantile", "max-distinguishing", "gap", "time-limit", "max-cells",
	},
	kindKernel: {"epsilon", "delta", "sensitivity", "loss", "range", "nodes", "instance-cap", "gap", "time-limit"},
	kindLocal: {
		"epsilon", "delta", "loss", "range", "query", "objective", "unbiased", "answers", "answer-step", "max-answers",
		"nodes", "instance-cap", "gap", "time-limit",
	},
	kindShares: {"epsilon", "categories", "objective"},
	kindFile:   nil,
	kindPlan:   {"workload", "epsilon", "max-error", "delta", "neighbors", "max-per-person"},
	kindRelease: {
		"column", "lower", "upper", "probability", "k", "where", "by", "keys", "edges", "person", "max-per-person",
		"epsilon", "delta", "neighbors", "ledger",
	},
	kindLedger: {"ledger"},
}

// readRequest refuses what is not of the form; numbers are read by the commands.
func readRequest(r io.Reader) (*request, error) {
	q := new(request)
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(q); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("request: more than one object, want one")
	}
	allowed, ok := flags[q.Kind]
	if !ok {
		return nil, fmt.Errorf("kind = %s, want table, kernel, local, shares, file, plan, release or ledger", check.Quoted(q.Kind))
	}
	for name, value := range q.Fields {
		if !slices.Contains(allowed, name) {
			return nil, fmt.Errorf("field = %s, want a flag of this kind", check.Quoted(name))
		}
		if err := readable(name, value); err != nil {
			return nil, err
		}
	}
	return q, q.consistent()
}

// consistent refuses data where no release is asked for, and a release without what has to be said.
func (q *request) consistent() error {
	switch {
	case q.Kind == kindPlan:
		return planned(q.Fields["workload"])
	case q.Kind != kindRelease && (len(q.Data) > 0 || q.Statistic != ""):
		return errors.New("data and statistic are of a release, want neither here")
	case (q.Kind == kindRelease || q.Kind == kindLedger) && q.Fields["ledger"] == "":
		return errors.New("ledger is missing, want a file made by noisewright ledger create, in the folder where the studio was started")
	case q.Kind == kindRelease && !slices.Contains(statistics, q.Statistic):
		return fmt.Errorf("statistic = %s, want %s", check.Quoted(q.Statistic), strings.Join(statistics, ", "))
	case q.Kind == kindRelease && len(q.Data) == 0:
		return errors.New("data is missing, want a CSV file that is dropped on the page")
	case q.Kind == kindRelease && (q.Statistic == byPlan) != (q.File != ""):
		return errors.New("plan is for the answers of a plan, want a plan file with these and with nothing else")
	}
	return nil
}

// What the studio plans: larger workloads take minutes.
const (
	mostCells   = 128
	mostAnswers = 20_000
)

func planned(workload string) error {
	if strings.HasPrefix(workload, plan.Matrix+":") {
		return fmt.Errorf("workload = %s, want prefix, ranges, identity or marginals: the studio reads no files", check.Quoted(workload))
	}
	w, err := plan.ParseWorkload(workload)
	if err == nil {
		err = w.Validate()
	}
	if err == nil && (w.Cells > mostCells || w.Queries() > mostAnswers) {
		err = fmt.Errorf("workload = %s, want at most %d cells and %d answers in the studio: larger ones are for the command line", check.Quoted(workload), mostCells, mostAnswers)
	}
	return err
}

// readable refuses values that commands would take for the name of a file.
func readable(name, value string) error {
	switch name {
	case "loss":
		for term := range strings.SplitSeq(value, " + ") {
			if rest, ok := strings.CutPrefix(term, "pwl:"); ok && !strings.HasPrefix(rest, "-inf,") {
				return fmt.Errorf("loss = %s, want segments that begin with -inf: the studio reads no files", check.Quoted(value))
			}
		}
	case "nodes", "categories":
		if _, err := strconv.ParseUint(value, 10, 32); err != nil {
			return fmt.Errorf("%s = %s, want a number: the studio reads no files", name, check.Quoted(value))
		}
	case "ledger":
		if value != "" && !filepath.IsLocal(value) || strings.HasPrefix(value, "-") || strings.ContainsFunc(value, unicode.IsControl) {
			return fmt.Errorf("ledger = %s, want the name of a file in the folder where the studio was started, or below it", check.Quoted(value))
		}
	}
	return nil
}

func (q *request) releases() (int, error) {
	n, err := strconv.Atoi(q.Releases)
	if q.Releases == "" {
		return 1, nil
	}
	if err != nil || n < 1 || n > maxReleases {
		return 0, fmt.Errorf("releases = %s, want an integer from 1 to %d", check.Quoted(q.Releases), maxReleases)
	}
	return n, nil
}

// maxReleases bounds the releases that a page composes: more take minutes.
const maxReleases = 100_000

// args are the words of the command that answers a request, without its output. Fields that
// are given for this command take the place of the page's.
func (q *request) args(command string, given map[string]string) []string {
	all := map[string]string{}
	maps.Copy(all, q.Fields)
	maps.Copy(all, given)
	words := []string{command}
	if q.Kind == kindLocal || q.Kind == kindShares {
		words = []string{"local", strings.TrimSuffix(command, "-kernel")}
	}
	order := append([]string{"releases"}, flags[q.Kind]...)
	for _, name := range order {
		value := all[name]
		switch {
		case value == "":
		case name == "keys" || name == "edges": // of each column a line
			for line := range strings.Lines(value) {
				words = append(words, "--"+name+"="+strings.TrimSpace(line))
			}
		case value == "true" && slices.Contains(switches, name):
			words = append(words, "--"+name)
		default:
			words = append(words, "--"+name+"="+value)
		}
	}
	return words
}

var switches = []string{"symmetric", "monotone", "unbiased"}

func (q *request) design(given map[string]string) ([]string, error) {
	n, err := q.releases()
	if err != nil {
		return nil, err
	}
	command, together := "design", q.Together && n > 1
	switch {
	case together && q.Kind == kindShares:
		return nil, errors.New("releases: the epsilon of a subset selection is of one release, want each")
	case together && q.Kind == kindKernel:
		return nil, errors.New("releases: the epsilon and delta of a kernel are of one release, want each")
	case q.Kind != kindTable:
		command = "design-kernel"
	case together:
		command = "calibrate"
	}
	all := map[string]string{}
	if together {
		all["releases"] = strconv.Itoa(n)
	}
	maps.Copy(all, given)
	return q.args(command, all), nil
}

func commandLine(args []string) string {
	var b bytes.Buffer
	b.WriteString("noisewright")
	for _, a := range args {
		if name, value, ok := strings.Cut(a, "="); ok && strings.HasPrefix(a, "--") && !strings.HasPrefix(value, "-") {
			b.WriteString(" " + name + " " + quoted(value))
			continue
		}
		b.WriteString(" " + quoted(a))
	}
	return b.String()
}

// operand is the name of a file as a word of a command, which is no flag.
func operand(name string) string {
	if strings.HasPrefix(name, "-") {
		return "./" + name
	}
	return name
}

func quoted(word string) string {
	plain := func(r rune) bool {
		return r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.,:=+/", r))
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
