package main

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/csvfile"
)

// readColumns reads the fields of a CSV file by columns, without the blanks around them.
func readColumns(s *shell.Streams, file string) (header []string, columns [][]string, err error) {
	in, err := s.OpenCSV(file, csvfile.Options{})
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	if header, err = in.Header(); err != nil {
		return nil, nil, shell.BadFile(file, err)
	}
	columns = make([][]string, len(header))
	for {
		if err := in.Row(); errors.Is(err, io.EOF) {
			return header, columns, nil
		} else if err != nil {
			return nil, nil, shell.BadFile(file, err)
		}
		for i := range columns {
			columns[i] = append(columns[i], strings.TrimSpace(in.Content(i)))
		}
	}
}

// distinct returns the values in ascending order.
func distinct(column []string) []string {
	values := slices.Clone(column)
	slices.Sort(values)
	return slices.Compact(values)
}
