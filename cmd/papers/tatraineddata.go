package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
)

// taPeople are the people of a data set, every column between 0 and 1 over all of them, as in
// the authors' program.
type taPeople struct {
	all  *encoders.Data
	fit  int // the first so many are to learn from
	last int // and those up to here to test
}

// The parts of MNIST that the authors' program uses.
const taTrainImages, taTestImages = 6000, 1000

func (o *taTrainedOptions) read(s *taSetting) (*taPeople, error) {
	switch s.data {
	case realEstate:
		return readTAPeople(o.Streams, o.realEstate, "Y house price of unit area", "No")
	case breastCancer:
		return readTAPeople(o.Streams, o.wdbc, "diagnosis", "id")
	default:
		return o.readDigits()
	}
}

func readTAPeople(s *shell.Streams, file, target, number string) (*taPeople, error) {
	header, columns, err := readColumns(s, file)
	if err != nil {
		return nil, err
	}
	at := slices.Index(header, target)
	if at < 0 {
		return nil, shell.BadFile(file, fmt.Errorf("no column %s", check.Quoted(target)))
	}
	rows := len(columns[at])
	d := &encoders.Data{Target: classColumn(target, columns[at])}
	// As in the authors' program the malignant class is the first.
	slices.Reverse(d.Target.Classes)
	for i, label := range d.Target.Labels {
		d.Target.Labels[i] = len(d.Target.Classes) - 1 - label
	}
	if values, err := floats(columns[at]); err == nil {
		d.Target = encoders.Column{Name: target, Values: values}
	}
	var features [][]float64
	for j, name := range header {
		if name == target || name == number {
			continue
		}
		values, err := floats(columns[j])
		if err != nil {
			return nil, shell.BadFile(file, fmt.Errorf("column %s: %w", check.Quoted(name), err))
		}
		unitRange(values)
		d.Features, features = append(d.Features, name), append(features, values)
	}
	d.X = byRows(rows, features)
	unitRange(d.Target.Values)
	if err := d.Validate(); err != nil {
		return nil, shell.BadFile(file, err)
	}
	return &taPeople{d, rows * 7 / 10, rows}, nil
}

// byRows is a matrix of so many rows with these columns.
func byRows(rows int, columns [][]float64) encoder.Matrix {
	m := matrix(rows, len(columns))
	for j, column := range columns {
		for i, v := range column {
			m.Data[i*m.Cols+j] = v
		}
	}
	return m
}

func floats(column []string) ([]float64, error) {
	out := make([]float64, len(column))
	for i, text := range column {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("row %d is not a number", i+1)
		}
		out[i] = v
	}
	return out, nil
}

func unitRange(x []float64) {
	if len(x) == 0 {
		return
	}
	low, high := slices.Min(x), slices.Max(x)
	for i := range x {
		x[i] = (x[i] - low) / (high - low)
	}
}

// readDigits reads the images; pixels that are the same in all images to learn from are left
// out.
func (o *taTrainedOptions) readDigits() (*taPeople, error) {
	p := &taPeople{all: &encoders.Data{}}
	var pixels [][]byte
	for _, part := range []struct {
		name string
		most int
	}{{"train", taTrainImages}, {"t10k", taTestImages}} {
		images, err := readImages(o.digits, part.name)
		if err != nil {
			return nil, err
		}
		n := min(part.most, len(images.labels))
		size := len(images.pixels.Data) / images.pixels.Dims[0]
		for i := range n {
			pixels = append(pixels, images.pixels.Data[i*size:(i+1)*size])
		}
		p.all.Target.Labels = append(p.all.Target.Labels, images.labels[:n]...)
		if p.fit == 0 {
			p.fit = n
		}
	}
	p.last = len(pixels)
	for y := range digits {
		p.all.Target.Classes = append(p.all.Target.Classes, strconv.Itoa(y))
	}
	p.all.Target.Name = "digit"
	var kept []int
	for j := range pixels[0] {
		if slices.ContainsFunc(pixels[:p.fit], func(image []byte) bool { return image[j] != pixels[0][j] }) {
			kept = append(kept, j)
			p.all.Features = append(p.all.Features, fmt.Sprintf("pixel %d", j))
		}
	}
	p.all.X = matrix(len(pixels), len(kept))
	for i, image := range pixels {
		for k, j := range kept {
			p.all.X.Data[i*len(kept)+k] = float64(image[j]) / 255
		}
	}
	return p, nil
}

// split returns people to learn from and to test: in the order of the file for 0, and
// shuffled otherwise.
func (p *taPeople) split(order int) (train, test *encoders.Data) {
	rows := make([]int, p.last)
	for i := range rows {
		rows[i] = i
	}
	if order > 0 {
		rows = encoders.Rand(uint64(order), "split", 0).Perm(p.last) //nolint:gosec // not negative
	}
	return p.all.Pick(rows[:p.fit]), p.all.Pick(rows[p.fit:])
}
