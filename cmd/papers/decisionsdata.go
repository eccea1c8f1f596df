// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/sampler"
)

func sortedKeys(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }

// drawing releases by noise of a fixed seed, for a study.
func drawing(b *bundle.Bundle) (encoders.Release, error) {
	v, err := b.Verify(bundle.VerifiedElsewhere)
	if err != nil {
		return nil, err
	}
	p, err := v.NewDeterministicPrivatizer([32]byte{}, sampler.Options{})
	if err != nil {
		return nil, err
	}
	return p.Privatize, nil
}

// dataOf makes data of features by columns and of classes.
func dataOf(names []string, columns [][]float64, target string, classes []string) *encoders.Data {
	n, rows := len(names), len(classes)
	d := &encoders.Data{Features: names, X: encoder.Matrix{Rows: rows, Cols: n, Stride: n, Data: make([]float64, rows*n)}}
	for j, column := range columns {
		for i, v := range column {
			d.X.Data[i*n+j] = v
		}
	}
	d.Target = encoders.Column{Name: target, Classes: distinct(classes)}
	for _, c := range classes {
		d.Target.Labels = append(d.Target.Labels, slices.Index(d.Target.Classes, c))
	}
	return d
}

func numbersOf(file, name string, column []string) ([]float64, error) {
	out := make([]float64, len(column))
	for i, text := range column {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, shell.BadFile(file, fmt.Errorf("row %d, column %s: %q, want a number", i+1, name, text))
		}
		out[i] = v
	}
	return out, nil
}

// readFeatures reads the columns that are features as numbers, and the target.
func readFeatures(s *shell.Streams, file, target string, feature func(name string) bool) (d *encoders.Data, rest map[string][]string, err error) {
	header, texts, err := readColumns(s, file)
	if err != nil {
		return nil, nil, err
	}
	rest = map[string][]string{}
	var names []string
	var columns [][]float64
	for j, name := range header {
		rest[name] = texts[j]
		if !feature(name) {
			continue
		}
		column, err := numbersOf(file, name, texts[j])
		if err != nil {
			return nil, nil, err
		}
		names, columns = append(names, name), append(columns, column)
	}
	if rest[target] == nil {
		return nil, nil, shell.BadFile(file, fmt.Errorf("column %s is missing", target))
	}
	return dataOf(names, columns, target, rest[target]), rest, nil
}

// without returns the rows that are not among some.
func without(rows int, some []int) (others []int) {
	left := make([]bool, rows)
	for _, i := range some {
		left[i] = true
	}
	for i, l := range left {
		if !l {
			others = append(others, i)
		}
	}
	return others
}

func (o *decisionOptions) readWDBC() (*decisionSet, error) {
	if o.wdbc == "" {
		return nil, nil
	}
	d, _, err := readFeatures(o.Streams, o.wdbc, "diagnosis", func(name string) bool { return name != "id" && name != "diagnosis" })
	if err != nil {
		return nil, err
	}
	header, columns, err := readColumns(o.Streams, o.splits)
	if err != nil {
		return nil, err
	}
	j := slices.Index(header, "test_rows")
	if j < 0 {
		return nil, shell.BadFile(o.splits, fmt.Errorf("column test_rows is missing"))
	}
	set := &decisionSet{name: "wdbc", data: d}
	for k, text := range columns[j] {
		var test []int
		for field := range strings.FieldsSeq(text) {
			i, err := strconv.Atoi(field)
			if err != nil || i < 0 || i >= d.X.Rows {
				return nil, shell.BadFile(o.splits, fmt.Errorf("row %d: %q, want numbers of rows from 0 to %d", k+1, field, d.X.Rows-1))
			}
			test = append(test, i)
		}
		set.splits = append(set.splits, [2][]int{without(d.X.Rows, test), test})
	}
	return set, nil
}

func (o *decisionOptions) readGENKI() (*decisionSet, error) {
	if o.genki == "" {
		return nil, nil
	}
	d, rest, err := readFeatures(o.Streams, o.genki, "expression", func(name string) bool { return strings.HasPrefix(name, "p") })
	if err != nil {
		return nil, err
	}
	var test []int
	for i, part := range rest["split"] {
		if part == "test" {
			test = append(test, i)
		}
	}
	return &decisionSet{"GENKI", d, [][2][]int{{without(d.X.Rows, test), test}}}, nil
}

// readAdult has an indicator of each value that at least 50 people have, and logarithms of capital.
func (o *decisionOptions) readAdult() (*decisionSet, error) {
	if o.adult == "" {
		return nil, nil
	}
	header, columns, err := readColumns(o.Streams, o.adult)
	if err != nil {
		return nil, err
	}
	var rows []int
	for i := range columns[0] {
		if !slices.ContainsFunc(columns, func(c []string) bool { return c[i] == "?" }) {
			rows = append(rows, i)
		}
	}
	var names, classes []string
	var features [][]float64
	for j, name := range header {
		column := make([]string, len(rows))
		for k, i := range rows {
			column[k] = columns[j][i]
		}
		switch name {
		case "split", "fnlwgt", "education":
		case "income":
			classes = column
		case "age", "education-num", "capital-gain", "capital-loss", "hours-per-week":
			x, err := numbersOf(o.adult, name, column)
			if err != nil {
				return nil, err
			}
			if strings.HasPrefix(name, "capital") {
				for i, v := range x {
					x[i] = math.Log1p(v)
				}
			}
			names, features = append(names, name), append(features, x)
		default:
			for _, value := range distinct(column) {
				x, count := make([]float64, len(column)), 0
				for i, text := range column {
					if text == value {
						x[i] = 1
						count++
					}
				}
				if count >= 50 {
					names, features = append(names, name+" = "+value), append(features, x)
				}
			}
		}
	}
	if classes == nil {
		return nil, shell.BadFile(o.adult, fmt.Errorf("column income is missing"))
	}
	set := &decisionSet{name: "adult", data: dataOf(names, features, "income", classes)}
	for run := range o.runs {
		order := rand.New(rand.NewPCG(uint64(run), 0)).Perm(len(rows)) //nolint:gosec // of a study
		some := min(30000, len(rows)*2/3)
		set.splits = append(set.splits, [2][]int{order[:some], order[some:]})
	}
	return set, nil
}

// readMNIST has the pixels that are not the same in all images to train from, from 0 to 1. Runs differ in the people that make the law of the cells.
func (o *decisionOptions) readMNIST() (*decisionSet, error) {
	if o.mnist == "" {
		return nil, nil
	}
	var classes []string
	var counts []int
	var images [][]byte
	for _, part := range []string{"train", "t10k"} {
		im, err := readImages(o.mnist, part)
		if err != nil {
			return nil, err
		}
		images = slices.AppendSeq(images, slices.Chunk(im.pixels.Data, len(im.pixels.Data)/im.pixels.Dims[0]))
		for _, l := range im.labels {
			classes = append(classes, strconv.Itoa(l))
		}
		counts = append(counts, len(im.labels))
	}
	var names []string
	var columns [][]float64
	for j := range images[0] {
		column, varies := make([]float64, len(images)), false
		for i, pixels := range images {
			column[i] = float64(pixels[j]) / 255
			varies = varies || i < counts[0] && pixels[j] != images[0][j]
		}
		if varies {
			names, columns = append(names, fmt.Sprintf("p%d", j)), append(columns, column)
		}
	}
	d := dataOf(names, columns, "digit", classes)
	set := &decisionSet{name: "MNIST", data: d}
	all := make([]int, d.X.Rows)
	for i := range all {
		all[i] = i
	}
	for range o.runs {
		set.splits = append(set.splits, [2][]int{all[:counts[0]], all[counts[0]:]})
	}
	return set, nil
}
