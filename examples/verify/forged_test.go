package verify_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// TestTablesOfTests holds every table among the files of this module against the
// script, which is to accept them, and then forgeries of the small ones.
func TestTablesOfTests(t *testing.T) {
	var found int
	for _, pattern := range []string{"../../docs/*.json", "../../*/testdata/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(text, []byte(`"noisewright-table"`)) || !bytes.HasPrefix(text, []byte("{")) {
				continue
			}
			found++
			table, err := tables.Decode(bytes.NewReader(text))
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			agrees(t, text, table.Certify())
			if len(text) < 10_000 {
				judgeForgeries(t, text, 150)
			}
		}
	}
	if found < 3 {
		t.Errorf("%d tables found, want that of the docs and those of the tests", found)
	}
}

// judgeForgeries changes a table at random, count times, most of them so that a claim is
// false, and wants both implementations to judge all alike.
func judgeForgeries(t *testing.T, text []byte, count int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(len(text)), uint64(count)))
	var forgeries [][]byte
	var valid []bool
	for len(forgeries) < count {
		changed := forge(t, rng, text)
		table, err := tables.Decode(bytes.NewReader(changed))
		if err != nil {
			continue // malformed, which the script does not look at
		}
		_, err = table.Verify()
		if err != nil && !errors.Is(err, proof.ErrNotPrivate) && !errors.Is(err, proof.ErrFalseClaim) {
			t.Fatal(err)
		}
		forgeries, valid = append(forgeries, changed), append(valid, err == nil)
	}
	out, _ := python(t, forgeries...)
	found := reports(out)
	if len(found) != count {
		t.Fatalf("%d reports on %d tables:\n%s", len(found), count, out)
	}
	for i, report := range found {
		if strings.Contains(report, "FALSE") == valid[i] {
			t.Errorf("valid: %v, and in Python\ndelta %s\nof %.2000s", valid[i], report, forgeries[i])
		}
	}
}

// forge changes one number of a table, moves a part of a weight to another cell, or
// states a constraint.
func forge(t *testing.T, rng *rand.Rand, text []byte) []byte {
	t.Helper()
	var file map[string]json.RawMessage
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	switch rng.IntN(4) {
	case 0:
		var weights []string
		if err := json.Unmarshal(file["weights"], &weights); err != nil {
			t.Fatal(err)
		}
		from, to := rng.IntN(len(weights)), rng.IntN(len(weights))
		a, b := uint64Of(t, weights[from]), uint64Of(t, weights[to])
		part := min(a>>rng.IntN(64), ^b)
		if from != to {
			weights[from], weights[to] = strconv.FormatUint(a-part, 10), strconv.FormatUint(b+part, 10)
		}
		file["weights"] = []byte(`["` + strings.Join(weights, `","`) + `"]`)
	case 1:
		constraints := []string{
			`"symmetric":true`, `"monotone":true`, `"unbiased":true`, `"lower":-3`, `"upper":2.5`, `"max_variance":2`,
			`"quantiles":[{"probability":0.9,"magnitude":3}]`, `"max_distinguishing":0.02`,
		}
		file["constraints"] = fmt.Appendf(nil, "{%s}", constraints[rng.IntN(len(constraints))])
	default:
		name := []string{"privacy", "grid", "certificate", "certificate", "certificate"}[rng.IntN(5)]
		value := bytes.Clone(file[name])
		for {
			i := rng.IntN(len(value))
			if value[i] < '0' || value[i] > '9' {
				continue
			}
			was := value[i]
			if value[i] = byte('0' + rng.IntN(10)); json.Valid(value) {
				break
			}
			value[i] = was // a leading zero is no JSON
		}
		file[name] = value
	}
	changed, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func uint64Of(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
