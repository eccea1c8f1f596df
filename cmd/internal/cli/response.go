package cli

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/files"
	"github.com/noisewright/noisewright/local"
)

// response is randomized response on categories, in the place of the file of a mechanism.
type response struct {
	categories []string
	epsilon    float64
}

const categoriesUsage = "categories of a column, separated by commas, or the name of a file with one in each line; they must not be taken from private data"

var responseEpsilon = shell.Rule{Want: "a number from 1e-9 to 100", OK: func(v float64) bool { return v >= 1e-9 && v <= 100 }}

// readResponse reads the categories and epsilon, if there are any.
func readResponse(settings map[string]string) (*response, error) {
	categories, given := settings["categories"]
	epsilon, epsilonGiven := settings["epsilon"]
	switch {
	case !given && !epsilonGiven:
		return nil, nil //nolint:nilnil // none
	case !given:
		return nil, errors.New("epsilon is given without categories, want both: a table has its own")
	case settings["table"] != "":
		return nil, errors.New("table and categories are given, want only one of them")
	}
	r := &response{}
	var err, epsilonErr error
	r.categories, err = readCategories(categories)
	r.epsilon, epsilonErr = shell.ParseNumber(epsilon, responseEpsilon)
	return r, errors.Join(err, shell.About("epsilon", epsilon, epsilonErr))
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
	for i, name := range found {
		found[i] = strings.TrimSpace(name)
	}
	if len(found) < 2 {
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

func (r *response) verified() (*local.Verified, error) {
	v, err := local.RandomizedResponse(r.categories, r.epsilon)
	if err != nil {
		return nil, shell.BadInput("", err)
	}
	return v, nil
}

// key tells what is drawn from: columns with the same one share it.
func (c columnOptions) key() string {
	if r := c.response; r != nil {
		return fmt.Sprintf("%q %v", r.categories, r.epsilon)
	}
	return c.table
}
