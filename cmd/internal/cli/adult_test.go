// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
)

func jsonNumber(s string, x *float64) error { return json.Unmarshal([]byte(s), x) }

// TestHoursOfAdult takes the column hours-per-week of the data set adult through
// design, verify and privatize. Private values, one by one, and the private mean
// over repeated draws have the expected loss that their tables claim.
//
// The false-alarm rate is 1e-9 per comparison by Bernstein's inequality, which
// assumes nothing about the noise but its variance and range; an error of the
// mean loss of 4 % is detected.
func TestHoursOfAdult(t *testing.T) {
	const lower, upper = 0, 100
	file := adultCSV(t)
	if !hasSolver() {
		t.Skip("built without the LP solver")
	}
	hours := column(t, file, "hours-per-week")

	t.Run("values", func(t *testing.T) {
		table, path := designed(t, upper-lower)
		out := filepath.Join(t.TempDir(), "out.csv")
		_, stderr, code := run(t, "", "privatize", "--table", path, "--column", "hours-per-week", "--lower", "0", "--upper", "100", file, "-o", out)
		if code != 0 || !strings.HasPrefix(stderr, "total: ") {
			t.Fatalf("privatize: exit code %d: %s", code, stderr)
		}
		private := column(t, out, "hours-per-week")
		if len(private) != len(hours) {
			t.Fatalf("%d rows became %d", len(hours), len(private))
		}
		errs := make([]float64, len(hours))
		for i := range hours {
			errs[i] = private[i] - min(max(hours[i], lower), upper)
		}
		checkMeanLoss(t, table, errs)
	})

	t.Run("mean", func(t *testing.T) {
		var mean float64
		for _, h := range hours {
			mean += min(max(h, lower), upper)
		}
		mean /= float64(len(hours))
		// One person's value moves the mean by at most this; rounded up.
		table, _ := designed(t, math.Nextafter((upper-lower)/float64(len(hours)), 1))
		v, err := table.Verify()
		if err != nil {
			t.Fatal(err)
		}
		s, err := sampler.NewNoise(v, sampler.Options{})
		if err != nil {
			t.Fatal(err)
		}
		errs := make([]float64, 50_000)
		for i := range errs {
			private, err := s.AddNoise(mean)
			if err != nil {
				t.Fatal(err)
			}
			errs[i] = private - mean
		}
		checkMeanLoss(t, table, errs)
	})
}

// adultCSV returns the path of the unpacked data set, or skips the test.
func adultCSV(t *testing.T) string {
	t.Helper()
	const root = "../../.." // of the repository; the data lie beside it
	f, err := os.Open(filepath.Join(root, "../shared/data/adult/adult.csv.gz"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("data set adult not found in ../shared/data beside the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "adult.csv")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, z); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// column reads a column of numbers.
func column(t *testing.T, path, name string) []float64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for i, h := range records[0] {
		if h == name {
			at = i
		}
	}
	if at < 0 {
		t.Fatalf("no column %s in %v", name, records[0])
	}
	values := make([]float64, len(records)-1)
	for i, r := range records[1:] {
		if err := jsonNumber(r[at], &values[i]); err != nil {
			t.Fatal(err)
		}
	}
	return values
}

// designed runs design and verify, and returns the table.
func designed(t *testing.T, sensitivity float64) (*tables.Table, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table.json")
	text, err := json.Marshal(sensitivity)
	if err != nil {
		t.Fatal(err)
	}
	_, stderr, code := run(t, "", "design", "--epsilon", "1", "--delta", "1e-6", "--sensitivity", string(text), "--loss", "l1", "-o", path)
	if code != 0 {
		t.Fatalf("design: exit code %d: %s", code, stderr)
	}
	if stdout, stderr, code := run(t, "", "verify", path); code != 0 || !strings.Contains(stdout, "valid") {
		t.Fatalf("verify: exit code %d: %s", code, stderr)
	}
	table, err := proof.ReadFile(path, tables.Decode)
	if err != nil {
		t.Fatal(err)
	}
	return table, path
}

// checkMeanLoss compares the mean of |errs| with the table's expected loss.
func checkMeanLoss(t *testing.T, table *tables.Table, errs []float64) {
	t.Helper()
	g := table.Grid()
	step := math.Ldexp(1, g.GranularityExponent)
	width := float64(g.PointsPerCell) * step
	var second float64 // E X², to float64 precision
	cells, _ := table.PMF()
	for i, p := range cells {
		x := float64(g.FirstCell+i) * width
		second += p * (x*x + width*width/12)
	}
	expected, _ := table.Certify().ExpectedLoss.Float64()
	variance := second - expected*expected

	// P(|mean - E| >= t) <= 2 exp(-n t²/(2(σ² + Mt/3))), M = the range.
	const alarm = 1e-9
	n, reach, l := float64(len(errs)), float64(table.Reach())*step, math.Log(2/alarm)
	bound := (reach*l/3 + math.Sqrt(reach*reach*l*l/9+2*n*variance*l)) / n
	bound += step // rounding to the grid

	var sum float64
	for _, e := range errs {
		sum += math.Abs(e)
	}
	mean := sum / n
	t.Logf("mean loss %.6g, expected %.6g ± %.2g", mean, expected, bound)
	if math.Abs(mean-expected) > bound {
		t.Errorf("mean loss %g of %d draws, want %g ± %g", mean, len(errs), expected, bound)
	}
	if bound > 0.04*expected {
		t.Errorf("the test detects only errors above %g of %g", bound, expected)
	}
}
