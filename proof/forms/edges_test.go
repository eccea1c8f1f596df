// SPDX-License-Identifier: Apache-2.0

package forms

import (
	"errors"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
)

// claimsOf are the fields of a certificate that the claims of files are about, by their names there.
var claimsOf = map[string]string{
	"delta": "DeltaUpper", "expected_loss": "ExpectedLoss", "max_loss": "MaxLoss", "lower_bound": "LowerBound",
	"total_variance": "TotalVariance", "largest_variance": "LargestVariance", "worst_variance": "WorstVariance", "mean_loss": "MeanLoss", "worst_loss": "WorstLoss", "bias": "Bias",
}

// verdict is what the program says of the text of a file.
func verdict(t *testing.T, text string) (proof.Proven, error) {
	t.Helper()
	m, err := Decode(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return m.Prove(t.Context(), proof.Options{})
}

// truths returns the exact numbers of the certificate of what was proved, by the names of claims.
func truths(t *testing.T, p proof.Proven) map[string]*big.Rat {
	t.Helper()
	out := reflect.ValueOf(p).MethodByName("Certificate").Call(nil)
	c := out[0]
	found := map[string]*big.Rat{}
	for name, field := range claimsOf {
		if f := c.FieldByName(field); f.IsValid() {
			r, ok := f.Interface().(*big.Rat)
			if !ok {
				t.Fatalf("%s is a %v", field, f.Type())
			}
			found[name] = r
		}
	}
	return found
}

// replaced returns the text with another string or number in the first place of a field that holds one.
func replaced(t *testing.T, text, field, value string) string {
	t.Helper()
	kind := `[0-9][-+0-9.eE]*`
	if strings.HasPrefix(value, `"`) {
		kind = `"[0-9.]*"`
	}
	at := regexp.MustCompile(`"` + field + `":\s*(` + kind + `)`).FindStringSubmatchIndex(text)
	if at == nil {
		t.Fatalf("no %s of the kind %s", field, kind)
	}
	return text[:at[2]] + value + text[at[3]:]
}

// quick are few files, of every form.
var quick = regexp.MustCompile(`^(additive|integer|integer-tail|kernel|local-integer-unbiased|categories|atom|subset-[a-z]+|counts-[a-z]+)\.json$`)

// TestClaimsToTheLastDigit moves each number that a file states or promises by next to nothing to either
// side of what is proved: in the direction that says less, it is accepted, and in the other refused.
func TestClaimsToTheLastDigit(t *testing.T) {
	const directory = "../../python/tests/data/files"
	files, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string]int{} // by format and name
	for _, file := range files {
		if testing.Short() && !quick.MatchString(file.Name()) {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(directory, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		m, err := Decode(strings.NewReader(text))
		if err != nil {
			continue
		}
		p, err := m.Prove(t.Context(), proof.Options{})
		if err != nil {
			continue // a false one
		}
		form := m.Form().Package
		t.Run(file.Name(), func(t *testing.T) {
			stated := func(name, value string, want error) {
				t.Helper()
				if _, err := verdict(t, replaced(t, text, name, value)); !errors.Is(err, want) || want == nil && err != nil {
					t.Errorf("%s = %s: %v, want %v", name, value, err, want)
				}
			}
			for name, truth := range truths(t, p) {
				weaker, stronger := exact.DecimalUp(truth, 60), exact.DecimalDown(truth, 60)
				tiny := "0." + strings.Repeat("0", 300) + "1"
				switch {
				case name == "lower_bound" && truth.Sign() == 0:
					weaker, stronger = "0", tiny
				case name == "lower_bound":
					weaker, stronger = stronger, weaker
					if weaker == stronger {
						stronger += more(stronger)
					}
				case truth.Sign() == 0:
					weaker, stronger = tiny, "" // nothing says more than 0
				case weaker == stronger:
					stronger = exact.DecimalDown(new(big.Rat).Sub(truth, exact.PowerOfTwo(-900)), 100)
				}
				stated(name, `"`+weaker+`"`, nil)
				if stronger != "" {
					stated(name, `"`+stronger+`"`, proof.ErrFalseClaim)
				}
				claims[form+" "+name]++
			}
			float := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
			delta := truths(t, p)["delta"]
			if delta.Sign() > 0 {
				stated("delta", float(exact.FloatUp(delta)), nil)
				stated("delta", float(math.Nextafter(exact.FloatDown(delta), 0)), proof.ErrNotPrivate)
				claims[form+" promise"]++
			}
			if delta.Sign() == 0 && form != "subset" && form != "counts" { // which promises that and has no word for it
				stated("delta", "0", nil)
			}
		})
	}
	for _, name := range []string{
		"tables delta", "tables expected_loss", "tables lower_bound", "tables promise",
		"kernels delta", "kernels expected_loss", "kernels max_loss", "kernels lower_bound", "kernels promise",
		"cells delta", "cells expected_loss", "cells max_loss", "cells lower_bound", "cells promise",
		"subset delta", "subset total_variance", "subset largest_variance", "subset lower_bound",
		"counts delta", "counts total_variance", "counts worst_variance", "counts lower_bound",
		"local delta", "local mean_loss", "local worst_loss", "local bias", "local lower_bound",
	} {
		if claims[name] == 0 {
			t.Errorf("%s: no file states it", name)
		}
	}
}

// more is what makes a decimal larger by next to nothing.
func more(decimal string) string {
	if strings.Contains(decimal, ".") {
		return strings.Repeat("0", 200) + "1"
	}
	return "." + strings.Repeat("0", 200) + "1"
}

// TestPromisesToTheLastPlace: the least weights that keep a promise with delta = 0 keep it, and a unit less
// does not, nor the same weights with an epsilon that is a unit in the last place lower.
func TestPromisesToTheLastPlace(t *testing.T) {
	for _, epsilon := range []float64{0.1, 1, 3} {
		// Two laws on two answers, p and 1 − p: (1 − w) <= e^ε·w.
		e := new(big.Rat).SetFrac(exact.ExpDown(epsilon, exact.RatioBits), new(big.Int).Lsh(big.NewInt(1), exact.RatioBits))
		least := exact.Ceil(new(big.Rat).Quo(exact.PowerOfTwo(64), e.Add(e, big.NewRat(1, 1)))).Uint64()
		for name, file := range map[string]func(epsilon float64, w uint64) string{
			"kernel": func(epsilon float64, w uint64) string {
				return `{"format":"noisewright-kernel","version":1,"privacy":{"epsilon":` + number(epsilon) + `,"delta":0,"sensitivity":1},"queries":{"lower":0,"upper":1},"loss":{"name":"l1"},` +
					`"edges":[0,0.5,1],"nodes":[0,1],"rows":` + rowsOf(w) + `,"certificate":{"delta":"0","expected_loss":"1","max_loss":"1","lower_bound":"0"}}`
			},
			"randomizer": func(epsilon float64, w uint64) string {
				return `{"format":"noisewright-randomizer","version":1,"epsilon":` + number(epsilon) + `,"delta":0,"values":{"kind":"integer","lower":0,"upper":1},"objective":"mean","demands":{"unbiased":false},"loss":{"name":"l1"},` +
					`"nodes":[0,1],"answers":[0,1],"rows":` + rowsOf(w) + `,"certificate":{"delta":"0","mean_loss":"1","worst_loss":"1","bias":"1","lower_bound":"0"}}`
			},
		} {
			m, err := Decode(strings.NewReader(file(epsilon, least)))
			if errors.Is(err, proof.ErrFormat) || errors.Is(err, dp.ErrInvalid) {
				t.Fatalf("%s: %v", name, err)
			}
			if _, err := m.Prove(t.Context(), proof.Options{}); err != nil {
				t.Errorf("%s, epsilon %g: %v", name, epsilon, err)
			}
			if _, err := verdict(t, file(epsilon, least-1)); !errors.Is(err, proof.ErrNotPrivate) {
				t.Errorf("%s, epsilon %g, a unit less: %v", name, epsilon, err)
			}
			if _, err := verdict(t, file(math.Nextafter(epsilon, 0), least)); !errors.Is(err, proof.ErrNotPrivate) {
				t.Errorf("%s, an epsilon a unit in the last place less than %g: %v", name, epsilon, err)
			}
		}
	}
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// rowsOf are those of randomized response with this weight of the other answer.
func rowsOf(w uint64) string {
	a, b := strconv.FormatUint(-w, 10), strconv.FormatUint(w, 10)
	return `[["` + a + `","` + b + `"],["` + b + `","` + a + `"]]`
}
