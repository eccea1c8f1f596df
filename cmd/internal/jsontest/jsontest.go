// Package jsontest holds the JSON that commands print to its rules, for their tests.
package jsontest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// Check wants the one JSON object that a command printed, with numbers that every reader
// has as they are meant: none is written as a string, and each is the float64 that it is
// read as, which else were rounded, perhaps to the wrong side.
func Check(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		return err
	}
	if d.More() {
		return fmt.Errorf("%s follows the object", text[d.InputOffset():])
	}
	return numbers(v, "")
}

func numbers(at any, path string) error {
	switch v := at.(type) {
	case map[string]any:
		for key, below := range v {
			if key == "key" || key == "answer" {
				continue // a user's own text
			}
			if err := numbers(below, path+"."+key); err != nil {
				return err
			}
		}
	case []any:
		for i, below := range v {
			if err := numbers(below, path+"."+strconv.Itoa(i)); err != nil {
				return err
			}
		}
	case string:
		if _, err := strconv.ParseFloat(v, 64); err == nil {
			return fmt.Errorf("%s = %q is a number as a string", path, v)
		}
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if shortest, err := json.Marshal(f); err != nil || string(shortest) != v.String() {
			return fmt.Errorf("%s = %s has another float64, %s", path, v, shortest)
		}
	}
	return nil
}
