package reproduce

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestPublishedNumbersAddUp wants the published totals to be the sums of their
// published parts, each rounded to two digits.
func TestPublishedNumbersAddUp(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("published", "dro-tables.csv"))
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != 101 {
		t.Fatalf("%d records, want a header and 100", len(records))
	}
	for _, r := range records[1:] {
		var v [8]float64
		for i := range v {
			if v[i], err = strconv.ParseFloat(r[i], 64); err != nil {
				t.Fatal(err)
			}
		}
		for _, sum := range [][3]float64{{v[2], v[3], v[4]}, {v[5], v[6], v[7]}} {
			if math.Abs(sum[0]-sum[1]-sum[2]) > 0.0101 {
				t.Errorf("epsilon %s, delta %s: %v is not %v + %v", r[0], r[1], sum[0], sum[1], sum[2])
			}
		}
	}
}
