package main

import (
	"math"
	"testing"
)

// TestRun designs an encoder and uses it twice, the second time with the tables of the
// first.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		decoded, err := run(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(decoded) != 4 || math.IsNaN(decoded[1]) || math.Abs(decoded[1]) > 1e6 {
			t.Errorf("decoded %v, want four features near those of the data", decoded)
		}
	}
}
