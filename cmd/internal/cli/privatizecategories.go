// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/files"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/subset"
)

// response is a mechanism for categories, in the place of its file: randomized response or, for shares, a
// subset selection.
type response struct {
	categories []string
	count      int64 // of categories 0, 1, … in their place
	epsilon    float64
	shares     bool
}

const categoriesUsage = "categories of a column, separated by commas, or the name of a file with one in each line; they must not be taken from private data"

var responseEpsilon = shell.Rule{Want: "a number from 1e-9 to 100", OK: func(v float64) bool { return v >= 1e-9 && v <= 100 }}

// What answers to categories are for.
const (
	forShares    = "shares"
	forDecisions = "decisions"
)

func forFlag(f *shell.Flags, settings map[string]string) {
	f.Settings(settings, "for", "shares|decisions", "with --categories: what answers are for: shares of all categories, with the least variance there is (of N categories 0 to N-1 too), or decisions about each person, wrong as seldom as can be, by randomized response (default decisions)")
	f.Complete("for", forShares, forDecisions)
}

// readResponse reads the categories and epsilon, if there are any.
func readResponse(settings map[string]string) (*response, error) {
	categories, given := settings["categories"]
	epsilon, epsilonGiven := settings["epsilon"]
	purpose, purposeGiven := settings["for"]
	switch {
	case !given && !epsilonGiven && !purposeGiven:
		return nil, nil //nolint:nilnil // none
	case !given && epsilonGiven:
		return nil, errors.New("epsilon is given without categories, want both: a file has its own")
	case !given:
		return nil, errors.New("for is given without categories, want both: a file has its own")
	case settings["table"] != "":
		return nil, errors.New("the file of a mechanism and categories are given, want only one of them")
	}
	r := &response{shares: purpose == forShares}
	var err, epsilonErr, purposeErr error
	if purposeGiven && purpose != forShares && purpose != forDecisions {
		purposeErr = shell.About("for", purpose, shell.Want(forShares+" or "+forDecisions))
	}
	if n, number, bad := countOfCategories(categories); r.shares && number {
		r.count, err = n, shell.About("categories", categories, bad)
	} else {
		r.categories, err = readCategories(categories)
	}
	r.epsilon, epsilonErr = shell.ParseNumber(epsilon, responseEpsilon)
	return r, errors.Join(err, shell.About("epsilon", epsilon, epsilonErr), purposeErr)
}

func readCategories(text string) ([]string, error) {
	var found []string
	if data, err := readRegular(text); err == nil {
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimSpace(line); line != "" {
				found = append(found, line)
			}
		}
	} else if !strings.Contains(text, ",") && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("categories = %s: %w", check.Quoted(text), shell.FileCause(err))
	} else if found, err = csv.NewReader(strings.NewReader(text)).Read(); err != nil {
		return nil, shell.About("categories", text, shell.Want("names separated by commas, in quotes where they have commas of their own"))
	}
	seen := make(map[string]bool)
	for i, name := range found {
		found[i] = strings.TrimSpace(name)
		if seen[found[i]] {
			return nil, fmt.Errorf("categories[%d] = %s, want a name that no other category has", i, check.Quoted(found[i]))
		}
		seen[found[i]] = true
	}
	if len(found) < 2 {
		if _, err := strconv.Atoi(text); err == nil {
			return nil, shell.About("categories", text, shell.Want("the labels, or a file with one in each line: a number of categories needs --for shares"))
		}
		return nil, shell.About("categories", text, shell.Want("two categories or more, or a file with one in each line"))
	}
	return found, nil
}

// maxCategoriesFile is more than the longest names of all the categories there may be.
const maxCategoriesFile = 4 << 20

// readRegular reads a file, which is no pipe: opening one would wait.
func readRegular(path string) ([]byte, error) {
	f, err := files.Regular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(f, maxCategoriesFile+1))
	if err == nil && len(data) > maxCategoriesFile {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("has more than %d bytes", maxCategoriesFile)}
	}
	return data, err
}

func (r *response) verified() (v proof.Proven, err error) {
	if r.shares {
		v, err = subset.Design(subset.Spec{Epsilon: r.epsilon, Count: r.count, Labels: r.categories})
	} else {
		v, err = local.RandomizedResponse(r.categories, r.epsilon)
	}
	if err != nil {
		return nil, shell.BadInput("", err)
	}
	return v, nil
}
