// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
)

// peopleOptions say which columns are features, which are to be learned and which hidden.
type peopleOptions struct {
	target  string
	also    []string  // further targets
	weights []float64 // of the losses of all targets; nil: 1 each
	private []string
	shell.FeatureColumns
	classes string // numbers that are classes; patterns
	csv     csvfile.Options
}

func (o *peopleOptions) flags(f *shell.Flags) {
	f.FeatureColumns(&o.FeatureColumns, "the target, the private ones and those of text")
	o.classFlag(f)
	f.Delimiter(&o.csv)
}

func (o *peopleOptions) classFlag(f *shell.Flags) {
	f.String(&o.classes, "classes", "names of target and private columns whose numbers are classes, as for --columns; text always is")
}

// read reads people: the features of these names, or those of the flags if there are none.
func (o *peopleOptions) read(s *shell.Streams, file string, wanted []string) (*encoders.Data, error) {
	choose := func(name string) bool { return !o.labels(name) && o.Chosen(name) }
	if wanted != nil {
		choose = func(name string) bool { return slices.Contains(wanted, name) }
	}
	in, err := s.OpenCSV(file, o.csv)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var names []string // of all columns
	f, kept, err := csvfile.ReadKept(in.Reader, func(name string) bool {
		names = append(names, name)
		return choose(name)
	}, o.labels, wanted == nil && o.Columns == "*")
	if wrong := errors.Join(o.Unmatched(names), o.missing(names)); names != nil && wrong != nil {
		return nil, shell.BadInput("", wrong)
	}
	if err != nil {
		return nil, shell.BadFile(file, err)
	}
	if len(f.Text) > 0 {
		s.Warn("%s: %s left out: no numbers", shell.InputName(file), check.Shortened(strings.Join(f.Text, ", ")))
	}
	if wanted == nil {
		wanted = f.Names
	}
	d := &encoders.Data{Features: wanted, Weights: o.weights}
	if d.X, err = ordered(f, wanted); err != nil {
		return nil, shell.BadFile(file, err)
	}
	for i, name := range kept {
		texts := make([]string, f.Rows)
		for k, row := range f.Kept {
			texts[k] = strings.TrimSpace(row[i])
		}
		c, err := o.column(name, texts)
		if err != nil {
			return nil, shell.BadFile(file, err)
		}
		if name == o.target {
			d.Target = c
		}
		if slices.Contains(o.also, name) {
			d.More = append(d.More, c)
		}
		if slices.Contains(o.private, name) {
			d.Private = append(d.Private, c)
		}
	}
	inOrder(d.More, o.also)
	inOrder(d.Private, o.private)
	return d, nil
}

// inOrder sorts columns as the flags name them.
func inOrder(columns []encoders.Column, names []string) {
	slices.SortFunc(columns, func(a, b encoders.Column) int { return slices.Index(names, a.Name) - slices.Index(names, b.Name) })
}

func (o *peopleOptions) labels(name string) bool {
	return name != "" && name == o.target || slices.Contains(o.also, name) || slices.Contains(o.private, name)
}

func (o *peopleOptions) targets() []string { return append([]string{o.target}, o.also...) }

func (o *peopleOptions) missing(names []string) error {
	var errs []error
	for flag, wanted := range map[string][]string{"target": o.targets(), "private": o.private} {
		for _, name := range wanted {
			if name != "" && !slices.Contains(names, name) {
				errs = append(errs, shell.About(flag, name, shell.Want("the name of a column, which are "+check.Shortened(strings.Join(names, ", ")))))
			}
		}
	}
	return errors.Join(errs...)
}

func (o *peopleOptions) column(name string, texts []string) (encoders.Column, error) {
	c := encoders.Column{Name: name}
	text, number := 0, 0 // rows
	for i, t := range texts {
		v, err := strconv.ParseFloat(t, 64)
		switch {
		case t == "":
			return c, fmt.Errorf("row %d, column %s: empty", i+1, check.Quoted(name))
		case err == nil && !check.Finite(v):
			return c, fmt.Errorf("row %d, column %s: not a finite number", i+1, check.Quoted(name))
		case err == nil:
			number = i + 1
			c.Values = append(c.Values, v)
		default:
			text = i + 1
		}
	}
	classes := csvfile.Matches(strings.Split(o.classes, ","), name)
	if text == 0 && !classes {
		return c, nil
	}
	if text > 0 && number > 0 && !classes {
		return c, fmt.Errorf("column %s has a number in row %d and text in row %d, want one of them, or --classes", check.Quoted(name), number, text)
	}
	c.Values = nil
	c.Classes = slices.Compact(slices.Sorted(slices.Values(texts)))
	if text == 0 {
		slices.SortStableFunc(c.Classes, func(a, b string) int {
			x, _ := strconv.ParseFloat(a, 64)
			y, _ := strconv.ParseFloat(b, 64)
			return cmp.Compare(x, y)
		})
	}
	for _, t := range texts {
		c.Labels = append(c.Labels, slices.Index(c.Classes, t))
	}
	return c, nil
}

func ordered(f *csvfile.Frame, names []string) (encoder.Matrix, error) {
	m := encoder.Matrix{Rows: f.Rows, Cols: len(names), Stride: len(names), Data: make([]float64, f.Rows*len(names))}
	for j, name := range names {
		from := slices.Index(f.Names, name)
		if from < 0 {
			return m, fmt.Errorf("column %s of the bundle is missing", check.Quoted(name))
		}
		for i := range f.Rows {
			m.Data[i*len(names)+j] = f.Data[i*len(f.Names)+from]
		}
	}
	return m, nil
}
