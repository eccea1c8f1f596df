package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/minimax"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/cmd/papers/drolearn"
	"github.com/noisewright/noisewright/encoder"
)

// minimaxData is the columns of a CSV file: rows are people, with a target and a private
// class.
type minimaxData struct {
	file            string
	names           []string
	features        [][]float64 // by columns
	target, private encoders.Column
	parts           []string // of each row: train or test; nil if the file does not say
}

// readMinimax reads a file with a target and a private column; split, if not "", is the column
// of the parts. Columns without numbers are left out, missing numbers are the mean.
func readMinimax(s *shell.Streams, file, target, private, split string) (*minimaxData, error) {
	header, columns, err := readColumns(s, file)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{target, private, split} {
		if name != "" && !slices.Contains(header, name) {
			return nil, shell.BadFile(file, fmt.Errorf("no column %s", name))
		}
	}
	d := &minimaxData{file: file}
	for i, name := range header {
		switch name {
		case target:
			d.target = classColumn(name, columns[i])
		case private:
			d.private = classColumn(name, columns[i])
		case split:
			d.parts = columns[i]
		case "UNIQUE_ID": // of the rows of WISDM
		default:
			if numbers, err := drolearn.Numbers(columns[i]); err == nil {
				d.names, d.features = append(d.names, name), append(d.features, numbers)
			}
		}
	}
	return d, nil
}

func classColumn(name string, texts []string) encoders.Column {
	c := encoders.Column{Name: name, Classes: distinct(texts), Labels: make([]int, len(texts))}
	for i, t := range texts {
		c.Labels[i], _ = slices.BinarySearch(c.Classes, t)
	}
	return c
}

// choose returns the rows of the given numbers, of the features that vary among the rows of
// reference.
func (d *minimaxData) choose(rows, reference []int) minimax.Data {
	var kept [][]float64
	var names []string
	for j, column := range d.features {
		if slices.ContainsFunc(reference, func(i int) bool { return column[i] != column[reference[0]] }) {
			values := make([]float64, len(rows))
			for k, i := range rows {
				values[k] = column[i]
			}
			kept, names = append(kept, values), append(names, d.names[j])
		}
	}
	task := func(c encoders.Column) []minimax.Task { return []minimax.Task{minimax.ColumnTask(chosen(c, rows))} }
	return minimax.Data{Features: names, X: byRows(len(rows), kept), Targets: task(d.target), Private: task(d.private)}
}

// chosen returns the rows of a column, with the classes that are among them.
func chosen(c encoders.Column, rows []int) encoders.Column {
	texts := make([]string, len(rows))
	for k, i := range rows {
		texts[k] = c.Classes[c.Labels[i]]
	}
	return classColumn(c.Name, texts)
}

// given returns the parts that the file says.
func (d *minimaxData) given() (train, test minimax.Data, err error) {
	var rows [2][]int
	for i, part := range d.parts {
		switch part {
		case "train":
			rows[0] = append(rows[0], i)
		case "test":
			rows[1] = append(rows[1], i)
		default:
			return train, test, shell.BadFile(d.file, fmt.Errorf("row %d is of neither train nor test", i+1))
		}
	}
	return d.parted(rows[0], rows[1])
}

// parted returns parts, of which both have people.
func (d *minimaxData) parted(train, test []int) (minimax.Data, minimax.Data, error) {
	if len(train) < encoders.MinPeople || len(test) < encoders.MinPeople {
		return minimax.Data{}, minimax.Data{}, shell.BadFile(d.file, fmt.Errorf("%d rows to learn from and %d to test, want at least %d each", len(train), len(test), encoders.MinPeople))
	}
	a, b := d.choose(train, train), d.choose(test, train)
	for i, t := range [][2]minimax.Task{{a.Targets[0], b.Targets[0]}, {a.Private[0], b.Private[0]}} {
		if !slices.Equal(t[0].Classes, t[1].Classes) {
			return a, b, shell.BadFile(d.file, fmt.Errorf("other classes of %s to learn from than to test, want the same", []string{d.target.Name, d.private.Name}[i]))
		}
	}
	return a, b, nil
}

// people of the private column are chosen at random, and the rows of each are halved.
func (d *minimaxData) halved(people int, r *rand.Rand) (train, test minimax.Data, err error) {
	var rows [2][]int
	for _, k := range r.Perm(len(d.private.Classes))[:min(people, len(d.private.Classes))] {
		var own []int
		for i, l := range d.private.Labels {
			if l == k {
				own = append(own, i)
			}
		}
		r.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
		rows[0], rows[1] = append(rows[0], own[:len(own)/2]...), append(rows[1], own[len(own)/2:]...)
	}
	return d.parted(rows[0], rows[1])
}

// standardize gives the columns of train the mean 0 and the variance 1, and does the same to
// test.
func standardize(train, test encoder.Matrix) {
	rows := float64(train.Rows)
	for j := range train.Cols {
		mean, square := 0.0, 0.0
		for i := range train.Rows {
			mean += train.Data[i*train.Stride+j] / rows
		}
		for i := range train.Rows {
			v := train.Data[i*train.Stride+j] - mean
			square += v * v / rows
		}
		for _, m := range []encoder.Matrix{train, test} {
			for i := range m.Rows {
				v := &m.Data[i*m.Stride+j]
				*v = (*v - mean) / math.Sqrt(square)
			}
		}
	}
}
