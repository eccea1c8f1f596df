// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// faultRows are what may be in the place of the row of one person, and is not private to tell. They are large:
// made only where they are used, as every process of the program in tests is this binary.
func faultRows() map[string]string {
	return map[string]string{
		"no row":                   "",
		"undecided":                "9,Ulm,x,30\n",
		"nothing":                  "9,Ulm,,\n",
		"a text":                   "9,Ulm,old,much\n",
		"not a number":             "9,Ulm,NaN,nan\n",
		"infinite":                 "9,Ulm,inf,-Inf\n",
		"hexadecimal":              "9,Ulm,0x1p5,0x20\n",
		"too large for a float":    "9,Ulm,1e999,-1e999\n",
		"above the bounds":         "9,Ulm,1e300,1e300\n",
		"below the bounds":         "9,Ulm,-1e300,-1e300\n",
		"at the bound":             "9,Ulm,120,60\n",
		"too few fields":           "9,Ulm\n",
		"too many fields":          "9,Ulm,34,30,2\n",
		"a thousand's comma":       "9,Ulm,1,200,30\n",
		"an open quote":            "9,\"Ulm,34,30\n",
		"an open quote at the end": "9,Ulm,34,\"30\n",
		"text after a quote":       "9,\"Ulm\"x,34,30\n",
		"a quote inside":           "9,U\"lm,34,30\n",
		"a line break":             "9,\"Ulm\n\",34,30\n",
		"a row inside":             "9,\"Ulm\n1,Ulm,34,30\n\",34,30\n",
		"no UTF-8":                 "9,U\xfflm,34,30\xfe\n",
		"a zero byte":              "9,U\x00lm,34,30\n",
		"a carriage return":        "9,U\rlm,34,30\n",
		"an empty line":            "\n",
		"blanks":                   "   \n",
		"an identifier again":      "1,Ulm,34,30\n",
		"nobody":                   " ,Ulm,34,30\n",
		"an unknown key":           "9,Nowhere,34,30\n",
		"an empty key":             "9,,34,30\n",
		"a pattern":                "9,(,34,30\n",
		"many rows":                strings.Repeat("9,Ulm,34,30\n", 40),
		"many fields":              "9,Ulm,34,30" + strings.Repeat(",", 1<<20) + "\n",
		"a huge field":             "9," + strings.Repeat("U", 17<<20) + ",34,30\n",
	}
}

// attacks are what an analyst may ask who wants to know what row 9 is.
var attacks = map[string]string{
	"undecided if there":  `release count --where id=="9"&&int(age+"a")>0`,
	"a number if there":   `release count --where id=="9"&&number(age)>0`,
	"a pattern":           `release count --where age>=18&&(city)matches"[(]"`,
	"an index":            `release count --where split(city,"l")[1]=="m"`,
	"all":                 `release count`,
	"persons":             `release count --person id --max-per-person 2`,
	"keys":                `release histogram --by city --keys Ulm,Jena --person id --max-per-person 1`,
	"edges":               `release histogram --column age --edges 0,30,60,120`,
	"a sum":               `release sum --column hours --lower 0 --upper 60 --where age<1000`,
	"sums by key":         `release sum --column hours --lower 0 --upper 60 --by city --keys Ulm,Bonn`,
	"a mean":              `release mean --column hours --lower 0 --upper 60 --where id=="9"`,
	"a mean of no bounds": `release mean --column hours --bounds private`,
	"a public mean":       `release mean --column hours --lower 0 --upper 60 --missing middle`,
	"a median":            `release quantile --column age --lower 0 --upper 120 --candidates 13 --probability 0.5`,
	"refused: no delta":   `release histogram --by city --private-keys`,
	"the most frequent":   `release top --by city --keys Ulm,Jena,Bonn --k 2`,
	"an option":           `release best --option a=id=="9"&&int(age+"a")>0 --option b=hours>1`,
	"one line a row":      `release count --one-line --where hours>1`,
	"a model":             `learn nb --schema schema.json --noise laplace --cache -`,
	"a larger model":      `learn pcd --schema schema.json --noise laplace --cache - --rounds 2`,
	// Refused, whatever the data are: what a row is, a column of two, and patterns of a row's own.
	"refused: lines":     `release count --one-line --where id=="9"`,
	"refused: delimiter": `learn nb --schema schema.json --noise laplace --cache - --delimiter ;`,
	"refused: a column":  `release sum --column twice --lower 0 --upper 60`,
	"refused: a name":    `release count --where twice>0&&id=="9"`,
	"refused: a pattern": `release count --where id=="9"&&"a"matches(city)`,
}

const attackSchema = `{"format":"noisewright-schema","version":1,"target":"city","classes":["Ulm","Jena"],
"features":[{"name":"age","bounds":{"lower":0,"upper":120}},{"name":"hours","bounds":{"lower":0,"upper":60}}]}`

// What is an answer itself, or of this run whatever the data are.
var (
	answerRow  = regexp.MustCompile(`(?m)^(answer|place \d|Ulm|Jena|Bonn|\[.*[)\]]) .*$`)
	answerJSON = regexp.MustCompile(`"(value|lower|upper|rank_error|count_error)":-?[0-9.e+-]+`)
	chosen     = regexp.MustCompile(`"key":"[^"]*"`)
	anyNumber  = regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?`)
	dates      = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ][0-9:.]+Z`)
	stored     = regexp.MustCompile(`"(answer|answered)":("(\\.|[^"\\])*"|null)`)
)

// seen is all that an analyst sees of a command but the answer itself: exit code, both streams, which files
// there are, what they hold, and what the ledger has charged.
func seen(t *testing.T, name, attack, neighbors, header, rows string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"people.csv": header + rows, "schema.json": attackSchema} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	unit := "row"
	if strings.Contains(attack, "--person") {
		unit = "person:id"
	}
	oneLine := fmt.Sprint("--one-line=", name == "one line a row")
	if _, stderr, code := run(t, "", "ledger", "create", "l.ledger", "--epsilon", "2", "--delta", "0", "--neighbors", neighbors, "--unit", unit, oneLine); code != 0 {
		t.Fatal(stderr)
	}
	args := append(strings.Fields(attack), "--data", "people.csv", "--epsilon", "1", "--delta", "0", "--neighbors", neighbors, "--ledger", "l.ledger", "-o", "out.json")
	choice := strings.Contains(attack, "release top") || strings.Contains(attack, "release best")
	if strings.HasPrefix(attack, "release") && !strings.Contains(attack, "quantile") && !choice {
		args = append(args, "--tables", os.Getenv("ATTACK_TABLES"))
	}
	stdout, stderr, code := run(t, "", args...)
	out, _ := os.ReadFile("out.json")
	if choice {
		out = chosen.ReplaceAll(out, []byte(`"key":#`))
	}
	book, _, _ := run(t, "", "ledger", "show", "l.ledger", "--json")
	if strings.HasPrefix(attack, "learn") {
		out = anyNumber.ReplaceAll(out, []byte("#"))
	}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("exit %d\nstdout %s\nstderr %s\nfiles %v\nout %s\nledger %s", code,
		answerRow.ReplaceAllString(stdout, "$1 #"), stderr, files, answerJSON.ReplaceAll(out, []byte(`"$1":#`)), stored.ReplaceAllString(book, `"$1":#`))
	return dates.ReplaceAllString(text, "DATE")
}

// TestNoFreeAnswers: whatever stands in the place of a row, nothing that an analyst sees but the answer,
// which has noise, is another. Some of the faults are tried on each command, and all of them with ATTACKS=all,
// which takes a minute of the processor; package release tries all of them on all statistics.
func TestNoFreeAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	some := 12
	if os.Getenv("ATTACKS") == "all" {
		some = 1
	}
	const header, others = "id,city,age,hours\n", "1,Ulm,34,40\n2,Jena,71,0\n3,\"Ulm\",45,38.5\n3,Ulm,46,38.5\n4,\"Bad \"\"U\"\"\",19,12\n"
	t.Setenv("ATTACK_TABLES", t.TempDir())
	tried, faults := 0, faultRows()
	for _, name := range slices.Sorted(maps.Keys(attacks)) {
		attack := attacks[name]
		for _, neighbors := range []string{"add-remove", "replace"} {
			t.Run(name+"/"+neighbors, func(t *testing.T) {
				header := header
				if strings.Contains(attack, "twice") {
					header = "id,twice,twice ,hours\n"
				}
				want := seen(t, name, attack, neighbors, header, others+"9,Ulm,34,30\n")
				if refused := strings.HasPrefix(name, "refused"); refused != strings.HasPrefix(want, "exit 2\n") || refused == strings.HasPrefix(want, "exit 0\n") {
					t.Fatal(want)
				}
				for i, fault := range slices.Sorted(maps.Keys(faults)) {
					switch large := len(faults[fault]) > 1<<20; {
					case large && name != "a sum" && name != "a model", !large && (i+len(name)+len(neighbors))%some != 0:
						continue
					case fault == "no row" && neighbors == "replace", fault == "many rows" && !strings.Contains(attack, "--person"):
						continue // no neighbors
					}
					tried++
					// First, last, and alone.
					rows := []string{faults[fault] + others, others + faults[fault], faults[fault]}[(i+len(name))%3]
					if got := seen(t, name, attack, neighbors, header, rows); got != want {
						t.Errorf("%s: seen is\n%s\nwhere others see\n%s", fault, got, want)
					}
				}
			})
		}
	}
	if tried < 60 {
		t.Errorf("%d channels were tried", tried)
	}
	t.Logf("%d channels tried", tried)
}
