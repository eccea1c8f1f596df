package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/encoder"
)

// The features of the data set adult: numbers with public ranges, and categories. Weights of
// the census are left out, and so is education, of which education-num is the code.
// Capital gains and losses are counted as log(1 + dollars).
var (
	adultNumbers    = columns{{name: "age", lower: 17, upper: 90}, {name: "education-num", lower: 1, upper: 16}, {name: "capital-gain", upper: math.Log1p(99999)}, {name: "capital-loss", upper: math.Log1p(4356)}, {name: "hours-per-week", lower: 1, upper: 99}}
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
func readAdult(s *shell.Streams, file string) (columns, people, error) {
	header, texts, err := readColumns(s, file)
	if err != nil {
		return nil, people{}, err
	}
	var chosen [][]string // adultNumbers, adultCategories, adultTarget
	for _, name := range adultNames() {
		at := slices.Index(header, name)
		if at < 0 {
			return nil, people{}, shell.BadFile(file, fmt.Errorf("there is no column %s", name))
		}
		chosen = append(chosen, texts[at])
	}
	var rows []int
	for i := range chosen[0] {
		if !slices.ContainsFunc(chosen[len(adultNumbers):], func(c []string) bool { return c[i] == "?" }) {
			rows = append(rows, i)
		}
	}
	c, all, err := indexAdult(chosen, rows)
	if err != nil {
		return nil, people{}, shell.BadFile(file, err)
	}
	return c, all, nil
}

func adultNames() (names []string) {
	for _, f := range adultNumbers {
		names = append(names, f.name)
	}
	return append(append(names, adultCategories...), adultTarget)
}

// indexAdult has the numbers of rows, and indices for texts.
func indexAdult(texts [][]string, rows []int) (columns, people, error) {
	names, c := adultNames(), slices.Clone(adultNumbers)
	all := people{matrix(len(rows), len(names)-1), make([]int, len(rows))}
	for j, name := range names {
		var words []string
		if j >= len(adultNumbers) {
			for _, i := range rows {
				words = append(words, texts[j][i])
			}
			if words = distinct(words); len(words) < 2 {
				return nil, all, fmt.Errorf("%s is the same in every complete row, want at least two values", name)
			}
			c = append(c, column{name: name, categories: len(words)})
		}
		for k, i := range rows {
			text := texts[j][i]
			if words != nil {
				index, _ := slices.BinarySearch(words, text)
				if name == adultTarget {
					all.labels[k] = index
				} else {
					all.x.Data[k*all.x.Cols+j] = float64(index)
				}
				continue
			}
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, all, fmt.Errorf("row %d of column %s is not a number", i+1, name)
			}
			if name == "capital-gain" || name == "capital-loss" {
				v = math.Log1p(max(v, 0))
			}
			all.x.Data[k*all.x.Cols+j] = min(max(v, c[j].lower), c[j].upper)
		}
	}
	last := len(c) - 1
	if n := c[last].categories; n > 2 {
		return nil, all, fmt.Errorf("%s has %d values, want two", adultTarget, n)
	}
	return c[:last], all, nil
}
