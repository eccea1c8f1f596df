// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
)

// mechanismKind is a classical mechanism on the command line, NAME:KEY=VALUE,….
type mechanismKind struct {
	form, note string
	make       func(*arguments) (*account.PrivacyLossDistribution, error)
}

func (k mechanismKind) name() string { return k.form[:strings.IndexByte(k.form, ':')] }

var keyOfForm = regexp.MustCompile(`[a-z]+=`)

func (k mechanismKind) keys() []string { return keyOfForm.FindAllString(k.form, -1) }

type arguments struct {
	values  map[string]string
	missing bool  // something is
	err     error // the first that is no number
}

func (a *arguments) number(key string) float64 {
	text, ok := a.values[key]
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case a.err != nil:
	case !ok:
		a.missing = true
	case err != nil:
		a.err = check.Errorf("cli", dp.ErrInvalid, "%s = %q, want a number", key, text)
	}
	return x
}

func (a *arguments) integer(key string, absent int) int {
	text, ok := a.values[key]
	if !ok {
		return absent
	}
	n, ok := shell.ParseCount(text)
	if !ok && a.err == nil {
		a.err = check.Errorf("cli", dp.ErrInvalid, "%s = %q, want an integer", key, text)
	}
	return n
}

func mechanismKinds() []mechanismKind {
	type mechanism = account.PrivacyLossDistribution
	return []mechanismKind{
		{"laplace:epsilon=E", "Laplace noise of scale sensitivity/E", func(a *arguments) (*mechanism, error) {
			return account.Laplace(a.number("epsilon"))
		}},
		{"truncated-laplace:epsilon=E,delta=D", "Laplace noise of scale sensitivity/E, cut off where a shift uncovers D", func(a *arguments) (*mechanism, error) {
			return account.TruncatedLaplace(a.number("epsilon"), a.number("delta"))
		}},
		{"discrete-laplace:epsilon=E[,sensitivity=N]", "its law on the integers, for an integer sensitivity (1 if absent)", func(a *arguments) (*mechanism, error) {
			return account.DiscreteLaplace(a.number("epsilon"), a.integer("sensitivity", 1))
		}},
		{"staircase:epsilon=E[,loss=l1|l2]", "the staircase mechanism tuned to the loss (l1 if absent)", func(a *arguments) (*mechanism, error) {
			tuned, err := loss.Parse(cmp.Or(a.values["loss"], "l1"))
			if err != nil {
				return nil, check.Errorf("cli", dp.ErrInvalid, "%w", err)
			}
			return account.Staircase(a.number("epsilon"), tuned)
		}},
		{"gaussian:sigma=S or gaussian:epsilon=E,delta=D", "S is the standard deviation over the sensitivity; with E and D the analytic Gaussian", func(a *arguments) (*mechanism, error) {
			if _, ok := a.values["sigma"]; !ok {
				return account.AnalyticGaussian(a.number("epsilon"), a.number("delta"))
			}
			if len(a.values) > 1 {
				return nil, check.Errorf("cli", dp.ErrInvalid, "sigma and epsilon or delta, want sigma alone or both others")
			}
			return account.Gaussian(a.number("sigma"))
		}},
		{"subsampled-gaussian:sigma=S,rate=Q", "a step of DP-SGD: a person takes part with probability Q, S is over the norm", func(a *arguments) (*mechanism, error) {
			return account.SubsampledGaussian(a.number("sigma"), a.number("rate"))
		}},
		{"discrete-gaussian:sigma=S[,sensitivity=N]", "on the integers, S and N (1 if absent) in steps", func(a *arguments) (*mechanism, error) {
			return account.DiscreteGaussian(a.number("sigma"), a.integer("sensitivity", 1))
		}},
		{"randomized-response:epsilon=E[,categories=K]", "one of K categories (2 if absent)", func(a *arguments) (*mechanism, error) {
			return account.RandomizedResponse(a.number("epsilon"), a.integer("categories", 2))
		}},
		{"dp:epsilon=E,delta=D", "any mechanism of which only this is known", func(a *arguments) (*mechanism, error) {
			return account.Approximate(a.number("epsilon"), a.number("delta"))
		}},
	}
}

func mechanismNames() []string {
	var names []string
	for _, k := range mechanismKinds() {
		names = append(names, k.name())
	}
	return names
}

func completeMechanism(text string) []string {
	var out []string
	for _, k := range mechanismKinds() {
		start := k.name() + ":"
		switch rest, ok := strings.CutPrefix(text, start); {
		case ok:
			given, last := rest[:strings.LastIndexByte(rest, ',')+1], rest[strings.LastIndexByte(rest, ',')+1:]
			for _, key := range k.keys() {
				if strings.HasPrefix(key, last) && !strings.Contains(","+given, ","+key) {
					out = append(out, start+given+key)
				}
			}
		case text != "" && strings.HasPrefix(start, text):
			out = append(out, start)
		}
	}
	return out
}

// word is what the name of a mechanism looks like, and that of a file seldom.
var word = regexp.MustCompile(`^[A-Za-z-]+$`)

// isMechanism reports whether the text is meant for a mechanism: it starts with the
// name of one and a colon, or with what may be such a name misspelt and is no file.
func isMechanism(text string) bool {
	name, _, colon := strings.Cut(text, ":")
	if colon && slices.Contains(mechanismNames(), name) {
		return true
	}
	_, err := os.Stat(text)
	return word.MatchString(name) && text != "-" && errors.Is(err, fs.ErrNotExist)
}

// parseMechanism reads a mechanism. The errors wrap dp.ErrInvalid.
func parseMechanism(text string) (*account.PrivacyLossDistribution, error) {
	name, rest, _ := strings.Cut(text, ":")
	i := slices.Index(mechanismNames(), name)
	if i < 0 {
		return nil, check.Errorf("cli", dp.ErrInvalid, "release = %s, want a table or kernel file, or NAME:KEY=VALUE,… with a name of %s", check.Quoted(text), strings.Join(mechanismNames(), ", "))
	}
	k := mechanismKinds()[i]
	a := &arguments{values: map[string]string{}}
	for pair := range strings.SplitSeq(rest, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if _, twice := a.values[key]; !ok || value == "" || twice || !slices.Contains(k.keys(), key+"=") {
			return nil, check.Errorf("cli", dp.ErrInvalid, "mechanism = %q, want %s", text, k.form)
		}
		a.values[key] = value
	}
	m, err := k.make(a)
	if a.missing {
		return nil, check.Errorf("cli", dp.ErrInvalid, "mechanism = %q, want %s", text, k.form)
	}
	if a.err != nil {
		err = a.err // that of make is about what was not read
	}
	if err != nil {
		return nil, fmt.Errorf("mechanism %q: %w", text, err)
	}
	return m, nil
}
