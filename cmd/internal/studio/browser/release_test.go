// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestRelease drops a file, releases statistics of it, the same one again, and more than the ledger has.
func TestRelease(t *testing.T) {
	path, folder := program(t, "1"), t.TempDir()
	command := func(args ...string) string {
		c := exec.Command(path, args...)
		c.Dir = folder
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	command("example", "people", "-o", "people.csv")
	command("ledger", "create", "people.ledger", "--epsilon", "1", "--delta", "1e-6")
	command("plan", "design", "--workload", "prefix:12", "--epsilon", "0.3", "--delta", "0", "-o", "months.json")
	people, err := os.ReadFile(filepath.Join(folder, "people.csv"))
	if err != nil {
		t.Fatal(err)
	}
	address, _ := studioIn(t, path, folder)
	ctx := chromium(t)
	press := chromedp.Evaluate(`document.getElementById("release").click()`, nil)
	do(t, ctx, scheme("light"), chromedp.EmulateViewport(1360, 1000), chromedp.Navigate(address+"release.html"), idle())
	accessible(t, ctx, "release, empty")
	shoot(t, ctx, "release-empty")

	// What is missing is said before anything is charged.
	do(t, ctx, press, until(`!document.getElementById("failure").hidden`), idle())
	contains(t, ctx, "failure", "ledger is missing, want a file made by noisewright ledger create")
	do(t, ctx, chromedp.SetValue("#ledger", "people.ledger"), chromedp.Evaluate(`document.getElementById("ledger").dispatchEvent(new Event("change"))`, nil), until(`!document.getElementById("card-left").hidden`), idle())
	contains(t, ctx, "left", "one release of epsilon 1, delta 0")
	do(t, ctx, press, until(`!document.getElementById("failure").hidden`), idle())
	contains(t, ctx, "failure", "data is missing, want a CSV file")

	do(t, ctx, let("my people.csv", string(people)), until(`document.getElementById("status").textContent.startsWith("my people.csv is open")`),
		change("where", "age >= 65"), change("epsilon", "0.2"), change("delta", "1e-8"), press, until(`document.getElementById("status").textContent === "Released."`), idle())
	answer := text(t, ctx, "headline")
	if !regexp.MustCompile(`^\d+, \d+ to \d+ with a probability of at least 0.95$`).MatchString(answer) {
		t.Errorf("the answer is %q", answer)
	}
	contains(t, ctx, "answer", "release 1, charged ")
	contains(t, ctx, "left", "one release of epsilon 0.7999999, delta 0")
	contains(t, ctx, "command", "noisewright release count --where 'age >= 65' --epsilon 0.2 --delta 1e-8 --neighbors add-remove --ledger people.ledger --data 'my people.csv'")
	accessible(t, ctx, "released")
	shoot(t, ctx, "release")

	// The same again is the same answer, at no cost, and the program has it too.
	do(t, ctx, press, until(`document.getElementById("status").textContent === "Releasing…"`), until(`document.getElementById("status").textContent === "Released."`), idle())
	if again := text(t, ctx, "headline"); again != answer {
		t.Errorf("the same question is answered by %q and %q", answer, again)
	}
	contains(t, ctx, "answer", "answered from the ledger, at no cost")
	out := command("release", "count", "--data", "people.csv", "--where", "age >= 65", "--epsilon", "0.2", "--delta", "1e-8", "--ledger", "people.ledger")
	if !strings.Contains(out, answer) || !strings.Contains(out, "at no cost") {
		t.Errorf("the program says %s, want %s", out, answer)
	}

	// Several answers are drawn; a plan is released.
	do(t, ctx, change("statistic", "histogram"), change("where", ""), change("by", "city"), change("keys", "Jena,Ulm,Bonn,Kiel,Hof"), press,
		until(`document.querySelectorAll("#answers .whisker").length === 5`), idle())
	contains(t, ctx, "left", "one release of epsilon 0.6, delta 0")
	if shown := text(t, ctx, "answers"); !regexp.MustCompile(`Ulm: \d+, \d+ to \d+ with a probability of at least 0.95`).MatchString(shown) {
		t.Errorf("beside the picture stands %q, want what the program prints", shown)
	}
	accessible(t, ctx, "histogram")
	shoot(t, ctx, "release-histogram")
	do(t, ctx, change("statistic", "workload"), change("by", "month"), change("keys", "jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec"),
		chromedp.SetUploadFiles("#plan", []string{filepath.Join(folder, "months.json")}), press, until(`document.querySelectorAll("#answers .whisker").length === 12`), idle())
	contains(t, ctx, "answer", "up to dec")
	contains(t, ctx, "left", "one release of epsilon 0.3, delta 0")

	do(t, ctx, let("months.json", "{}"), until(`document.getElementById("plan-name").textContent === "Open: months.json"`), press, until(`!document.getElementById("failure").hidden`), idle())
	contains(t, ctx, "failure", "plan.json: ")
	do(t, ctx, change("statistic", "histogram"), change("by", ""), change("keys", ""), change("column", "age"), change("edges", "0,40,100"), change("epsilon", "0.01"), change("delta", "0"),
		press, until(`document.querySelectorAll("#answers .whisker").length === 2`), idle())
	do(t, ctx, change("edges", ""))

	// The keys that most rows have, by name; a number of different values, and a variance.
	for _, c := range []struct{ statistic, fields, want string }{
		{"top", "by=city k=2 keys=Jena,Ulm,Bonn,Kiel,Hof", `^[A-Z][a-z]+, [A-Z][a-z]+`},
		{"distinct", "column=city by= keys=", `^-?\d+, -?\d+ to -?\d+ with`},
		{"variance", "column=hours lower=0 upper=60", `^[\d.e+-]+, [\d.e+-]+ to [\d.e+-]+ with`},
	} {
		do(t, ctx, change("statistic", c.statistic))
		for _, field := range strings.Fields(c.fields) {
			name, value, _ := strings.Cut(field, "=")
			do(t, ctx, change(name, value))
		}
		do(t, ctx, chromedp.Evaluate(`document.getElementById("status").textContent = ""`, nil), press, until(`/^Re(leased|fused)/.test(document.getElementById("status").textContent)`), idle())
		if shown := text(t, ctx, "headline") + text(t, ctx, "failure"); !regexp.MustCompile(c.want).MatchString(shown) {
			t.Errorf("%s: %q", c.statistic, shown)
		}
		accessible(t, ctx, c.statistic)
	}
	do(t, ctx, change("edges", ""))

	// Refusals are in the words of the program.
	do(t, ctx, change("statistic", "mean"), change("by", ""), change("keys", ""), change("column", "hours"), change("lower", "0"), change("upper", "60"), change("epsilon", "0.5"), change("delta", "0"),
		press, until(`!document.getElementById("failure").hidden`), idle())
	contains(t, ctx, "failure", "the release would exceed the total of epsilon 1, delta 1e-06: left is one of epsilon 0.2")
	contains(t, ctx, "failure", "Hint: noisewright ledger left people.ledger")
	accessible(t, ctx, "refused")
	shoot(t, ctx, "release-refused")
	for _, c := range []struct{ id, bad, good, want string }{
		{"column", "nothing", "hours", `my people.csv: column: no column "nothing", want one of "id", "month",`},
		{"upper", "NaN", "60", "upper = NaN, want a finite number"},
		{"epsilon", "x", "0.1", "epsilon = x, want"},
		{"ledger", "../people.ledger", "people.ledger", "ledger = ../people.ledger, want the name of a file in the folder"},
		{"ledger", "none.ledger", "people.ledger", "ledger = none.ledger: no such file, want a file made by ledger create"},
	} {
		do(t, ctx, change(c.id, c.bad), press, until(`!document.getElementById("failure").hidden`), idle())
		contains(t, ctx, "failure", c.want)
		do(t, ctx, change(c.id, c.good))
	}
	if out := command("ledger", "show", "people.ledger"); !regexp.MustCompile(`(?m)^releases +7$`).MatchString(out) {
		t.Errorf("after refusals the ledger says\n%s", out)
	}
	do(t, ctx, let("large.csv", strings.Repeat(" ", 11<<20+1)), until(`!document.getElementById("failure").hidden`))
	contains(t, ctx, "failure", "large.csv is larger than 11 MiB")
	narrow(t, ctx)
}
