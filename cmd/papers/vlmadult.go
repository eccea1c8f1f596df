package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/encoder/vlm"
	"github.com/noisewright/noisewright/internal/csvfile"
)

// The features of the data set adult: numbers with public ranges, and categories. Weights of
// the census are left out, and so is education, of which education-num is the code.
// Capital gains and losses are counted as log(1 + dollars).
var (
	adultNumbers    = vlm.Columns{{Name: "age", Lower: 17, Upper: 90}, {Name: "education-num", Lower: 1, Upper: 16}, {Name: "capital-gain", Upper: math.Log1p(99999)}, {Name: "capital-loss", Upper: math.Log1p(4356)}, {Name: "hours-per-week", Lower: 1, Upper: 99}}
	adultCategories = []string{"workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country"}
	adultTarget     = "income"
)

// people are rows of features and their classes.
type people struct {
	x      encoder.Matrix
	labels []int
}

// choose returns the people of the given numbers.
func (p people) choose(numbers []int) people {
	out := people{matrix(len(numbers), p.x.Cols), make([]int, len(numbers))}
	for i, k := range numbers {
		copy(out.x.Data[i*p.x.Cols:], p.x.Data[k*p.x.Stride:][:p.x.Cols])
		out.labels[i] = p.labels[k]
	}
	return out
}

// balanced returns the numbers of people, in the order given, so many of each class that all
// are equally frequent.
func (p people) balanced(numbers []int, classes int) []int {
	counts := make([]int, classes)
	for _, k := range numbers {
		counts[p.labels[k]]++
	}
	left := slices.Repeat([]int{slices.Min(counts)}, classes)
	var out []int
	for _, k := range numbers {
		if y := p.labels[k]; left[y] > 0 {
			left[y]--
			out = append(out, k)
		}
	}
	return out
}

func matrix(rows, cols int) encoder.Matrix {
	return encoder.Matrix{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols)}
}

// readAdult reads the complete rows of the data set adult, categories as their indices.
func readAdult(s *shell.Streams, file string) (vlm.Columns, people, error) {
	in, err := s.OpenCSV(file, csvfile.Options{})
	if err != nil {
		return nil, people{}, err
	}
	defer in.Close()
	columns, all, err := scanAdult(in.Reader)
	if err != nil {
		return nil, people{}, shell.BadFile(file, err)
	}
	return columns, all, nil
}

func scanAdult(in *csvfile.Reader) (vlm.Columns, people, error) {
	texts := append(slices.Clone(adultCategories), adultTarget)
	c, err := csvfile.NewColumns(in, func(name string) bool {
		return slices.ContainsFunc(adultNumbers, func(n vlm.Column) bool { return n.Name == name })
	}, func(name string) bool { return slices.Contains(texts, name) })
	if err != nil {
		return nil, people{}, err
	}
	values, at := c.Ordered(columnNames(adultNumbers)), make([]int, len(texts))
	for i, name := range texts {
		if at[i] = slices.Index(c.Kept, name); at[i] < 0 {
			return nil, people{}, fmt.Errorf("there is no column %s", name)
		}
	}
	var rows [][]string
	var x []float64
	for {
		if err := c.Next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, people{}, err
		}
		row := make([]string, len(texts))
		for i, k := range at {
			row[i] = strings.TrimSpace(c.Texts[k])
		}
		if slices.Contains(row, "?") {
			continue
		}
		rows = append(rows, row)
		x = append(x, values()...)
	}
	return indexAdult(rows, x)
}

// indexAdult replaces texts by their indices.
func indexAdult(rows [][]string, numbers []float64) (vlm.Columns, people, error) {
	n := len(adultNumbers)
	columns := slices.Clone(adultNumbers)
	all := people{matrix(len(rows), n+len(adultCategories)), make([]int, len(rows))}
	for i := range rows {
		for j, f := range adultNumbers {
			v := numbers[i*n+j]
			if f.Name == "capital-gain" || f.Name == "capital-loss" {
				v = math.Log1p(max(v, 0))
			}
			all.x.Data[i*all.x.Cols+j] = min(max(v, f.Lower), f.Upper)
		}
	}
	for j, name := range append(slices.Clone(adultCategories), adultTarget) {
		var words []string
		for _, row := range rows {
			words = append(words, row[j])
		}
		words = distinct(words)
		if len(words) < 2 {
			return nil, people{}, fmt.Errorf("%s is the same in every complete row, want at least two values", name)
		}
		for i, row := range rows {
			k, _ := slices.BinarySearch(words, row[j])
			if name == adultTarget {
				all.labels[i] = k
			} else {
				all.x.Data[i*all.x.Cols+n+j] = float64(k)
			}
		}
		switch {
		case name != adultTarget:
			columns = append(columns, vlm.Column{Name: name, Categories: len(words)})
		case len(words) > 2:
			return nil, people{}, fmt.Errorf("%s has %d values, want two", name, len(words))
		}
	}
	return columns, all, nil
}

func columnNames(c vlm.Columns) []string {
	out := make([]string, len(c))
	for i, f := range c {
		out[i] = f.Name
	}
	return out
}
