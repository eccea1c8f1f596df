// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAgesOfAdult takes the column age of the data set adult through the recipe for bounded
// values: a local randomizer, a private answer from each row, and the mean with its
// interval. The interval covers the true mean with a probability of 1 − 1e-9 at the level
// that the test asks for; and it is as narrow as promised: answers under epsilon = 2 have a
// variance of less than 0.89 of (range/2)², which Duchi's (1.72) and Laplace noise (2) have not.
func TestAgesOfAdult(t *testing.T) {
	file := adultCSV(t)
	dir := t.TempDir()
	randomizer, private := filepath.Join(dir, "age.json"), filepath.Join(dir, "private.csv")
	for _, args := range [][]string{
		{"design-kernel", "--local", "--range", "0,100", "--epsilon", "2", "--delta", "0", "--loss", "l2", "--unbiased", "--objective", "worst", "-o", randomizer},
		{"privatize", "--table", randomizer, "--column", "age", file, "-o", private},
	} {
		if _, stderr, code := run(t, "", args...); code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, stderr)
		}
	}
	stdout, stderr, code := run(t, "", "interval", "--table", randomizer, "--column", "age", "--level", "0.999999999", "--json", private)
	if code != 0 {
		t.Fatalf("interval: exit code %d: %s", code, stderr)
	}
	var report struct {
		Answers            int
		Mean, Lower, Upper float64
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatal(err)
	}
	var truth float64
	ages := column(t, file, "age")
	for _, a := range ages {
		truth += min(max(a, 0), 100) / float64(len(ages))
	}
	if report.Answers != len(ages) || truth < report.Lower || truth > report.Upper {
		t.Errorf("%+v, the mean of %d ages is %v", report, len(ages), truth)
	}
	t.Logf("mean %.2f of %.2f, %.2f to %.2f", report.Mean, truth, report.Lower, report.Upper)
	n, tail := float64(len(ages)), math.Log(2/1e-9)
	if most := math.Sqrt(2*0.89*2500*tail/n) + 2*150*tail/(3*n); report.Upper-report.Lower > 2*most {
		t.Errorf("the interval %v to %v is wider than ± %.2f", report.Lower, report.Upper, most)
	}
}

// TestMeanOfOneSidedNoise: noise that is never negative makes the mean of a column too large, by
// far more than the width of the interval, which accounts for it. It misses with a probability of 1e-9.
func TestMeanOfOneSidedNoise(t *testing.T) {
	dir := t.TempDir()
	table, in, out := filepath.Join(dir, "pad.json"), filepath.Join(dir, "in.csv"), filepath.Join(dir, "out.csv")
	if err := os.WriteFile(in, []byte("x\n"+strings.Repeat("0\n1\n", 2000)), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout string
	for _, args := range [][]string{
		{"design", "--epsilon", "1", "--delta", "1e-3", "--sensitivity", "1", "--loss", "l1", "--query", "integer", "--support", "0,inf", "-o", table},
		{"privatize", table, "--column", "x", "--lower", "0", "--upper", "1", in, "-o", out},
		{"interval", table, "--column", "x", "--level", "0.999999999", "--json", out},
	} {
		var stderr string
		var code int
		if stdout, stderr, code = run(t, "", args...); code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, stderr)
		}
	}
	var report struct{ Mean, Lower, Upper float64 }
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatal(err)
	}
	if !(report.Lower <= 0.5 && report.Upper >= 0.5 && report.Upper-report.Lower < 1.5 && report.Mean > report.Upper+1) {
		t.Errorf("%+v, want an interval of less than 1.5 about 0.5, below the mean of the answers", report)
	}
}
