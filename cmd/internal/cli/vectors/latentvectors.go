// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/latent"
)

type vectorOptions struct {
	data             string // or
	mean, covariance string
	shell.FeatureColumns
	task, weights string          // one of them, or none
	bounds        string          // of the features: LO,HI or a file
	csv           csvfile.Options // of all files
}

func (v *vectorOptions) flags(f *shell.Flags) {
	f.File(&v.data, "data", "CSV file of training data with a header, a row per person, perhaps compressed with gzip or zstd, - for standard input; public: only people encoded later are protected", shell.CSVFiles...)
	f.File(&v.mean, "mean", "in place of --data: CSV file with a header of features and one row, their means", shell.CSVFiles...)
	f.File(&v.covariance, "covariance", "in place of --data: CSV file with a header of features and a row for each, their covariances, in the order of the mean", shell.CSVFiles...)
	f.FeatureColumns(&v.FeatureColumns, "those of text")
	f.File(&v.task, "task", "CSV file of the task matrix K: a row for each number the task reads, under a header of features, or without one in their order (default: the features themselves)", shell.CSVFiles...)
	f.String(&v.weights, "weights", "in place of --task, what each feature is multiplied by: NAME=W, separated by commas, with * and ? in names; 1 if absent")
	f.String(&v.bounds, "bounds", "for bounds: LO,HI for all features, or a CSV file with a header of features and two rows, the lower and the upper bounds; public")
	f.Delimiter(&v.csv)
	f.CompleteOrFile("bounds")
}

const latentDesignHelp = "noisewright latent design --help"

func (v *vectorOptions) moments() bool { return v.mean != "" || v.covariance != "" }

func (v *vectorOptions) read(s *shell.Streams, p *latent.Problem) error {
	var names []string // of all columns
	choose := func(name string) bool {
		names = append(names, name)
		return v.Chosen(name)
	}
	read := v.readData
	if v.moments() {
		read = v.readMoments
	}
	err := read(s, p, choose)
	if wrong := v.Unmatched(names); names != nil && wrong != nil {
		return shell.BadInput(latentDesignHelp, wrong) // a word misspelled makes features of what is none
	}
	if err != nil {
		return err
	}
	switch {
	case v.task != "":
		task, err := s.ReadNamed(v.task, v.csv, p.Features)
		if err != nil {
			return err
		}
		p.Task = matrix(task)
	case v.weights != "":
		var err error
		if p.Task, err = readWeights(v.weights, p.Features); err != nil {
			return err
		}
	}
	if v.bounds != "" {
		return v.readBounds(s, p)
	}
	return nil
}

func (v *vectorOptions) readMoments(s *shell.Streams, p *latent.Problem, choose func(string) bool) error {
	mean, err := s.ReadFrame(v.mean, v.csv, choose, false)
	if err != nil {
		return err
	}
	if mean.Rows != 1 {
		return shell.BadFile(v.mean, fmt.Errorf("%d rows, want one, the means", mean.Rows))
	}
	covariance, err := s.ReadNamed(v.covariance, v.csv, mean.Names)
	if err != nil {
		return err
	}
	p.Features, p.Mean, p.Covariance = mean.Names, mean.Data, matrix(covariance)
	return nil
}

func (v *vectorOptions) readData(s *shell.Streams, p *latent.Problem, choose func(string) bool) error {
	data, err := s.ReadFrame(v.data, v.csv, choose, v.Columns == "*")
	if f, ok := errors.AsType[*shell.Failure](err); ok && strings.Contains(f.Error(), "column") {
		f.Hint = "--columns and --exclude choose the columns that are read"
	}
	if err != nil {
		return err
	}
	p.Features, p.Data = data.Names, matrix(data)
	if i := slices.IndexFunc(data.Names, isIdentifier); i >= 0 && v.Columns == "*" {
		name := data.Names[i]
		s.Warn("column %s is taken for a feature; --exclude %s leaves it out, if it only tells rows apart", check.Quoted(name), name)
	}
	if column, constant := data.Constant(); constant && p.Ridge == 0 {
		return shell.BadFile(v.data, fmt.Errorf("column %s is the same in every row, want it left out with --exclude, or --ridge 1e-6", check.Quoted(column)))
	}
	return nil
}

// isIdentifier reports whether a column is by its name one that tells rows apart.
func isIdentifier(name string) bool {
	name = strings.ToLower(name)
	return name == "id" || strings.HasSuffix(name, "_id") || name == "index" || name == "uuid"
}

// readWeights returns the diagonal task of NAME=W,….
func readWeights(text string, features []string) (*mat.Dense, error) {
	diagonal := slices.Repeat([]float64{1}, len(features))
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(pair, "=")
		w, err := strconv.ParseFloat(value, 64)
		if err != nil || !check.Finite(w) {
			return nil, shell.BadInput(latentDesignHelp, fmt.Errorf("weights = %s, want NAME=W with a finite number W", check.Quoted(pair)))
		}
		found := false
		for i, f := range features {
			if csvfile.Matches([]string{name}, f) {
				diagonal[i] = w
				found = true
			}
		}
		if !found {
			return nil, shell.BadInput(latentDesignHelp, fmt.Errorf("weights = %s, want the name of a feature", check.Quoted(pair)))
		}
	}
	return mat.DenseCopyOf(mat.NewDiagDense(len(diagonal), diagonal)), nil
}

func (v *vectorOptions) readBounds(s *shell.Streams, p *latent.Problem) error {
	n := len(p.Features)
	if strings.Contains(v.bounds, ",") {
		low, high, err := shell.ParsePair(v.bounds)
		if err != nil || !(low < high) {
			return shell.BadInput(latentDesignHelp, fmt.Errorf("bounds = %s, want LO,HI with LO below HI, or a CSV file", check.Quoted(v.bounds)))
		}
		p.Low, p.High = slices.Repeat([]float64{low}, n), slices.Repeat([]float64{high}, n)
		return nil
	}
	f, err := s.ReadNamed(v.bounds, v.csv, p.Features)
	if err != nil {
		return err
	}
	if f.Rows != 2 {
		return shell.BadFile(v.bounds, fmt.Errorf("%d rows, want two, the lower and the upper bounds", f.Rows))
	}
	p.Low, p.High = f.Data[:n], f.Data[n:]
	return nil
}
