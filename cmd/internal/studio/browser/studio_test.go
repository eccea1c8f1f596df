// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// contains fails unless an element says something.
func contains(t *testing.T, ctx context.Context, id, want string) {
	t.Helper()
	if got := text(t, ctx, id); !strings.Contains(got, want) {
		t.Errorf("%s says %q, want %q in it", id, got, want)
	}
}

func scheme(word string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: word}})
}

// TestStudio is one visit: load, drag, cancel, errors, download, drop, other noise, keyboard,
// a narrow screen, the dark theme, print, and the end of the program.
func TestStudio(t *testing.T) {
	path := program(t, "1")
	address, process := studio(t, path)
	ctx := chromium(t)
	folder := t.TempDir()
	do(t, ctx, browser.SetDownloadBehavior(browser.SetDownloadBehaviorBehaviorAllow).WithDownloadPath(folder).WithEventsEnabled(true),
		scheme("light"), chromedp.EmulateViewport(1360, 1000), chromedp.Navigate(address), idle())

	t.Run("load", func(t *testing.T) {
		contains(t, ctx, "expected", "≤ 0.9595") // as `design` says
		contains(t, ctx, "command", "noisewright design --epsilon 1 --delta 1e-6 --sensitivity 1 --loss l1 --query real --output table.json")
		contains(t, ctx, "compared", "laplace")
		contains(t, ctx, "sweep", "certified bound")
		contains(t, ctx, "headline", "4 % less error than Laplace noise; no noise can be better by more than 0.")
		contains(t, ctx, "composed-table", "0.999999")
		var charts int
		do(t, ctx, chromedp.Evaluate(`document.querySelectorAll(".chart svg[role=img][aria-label]").length`, &charts))
		if charts < 5 {
			t.Errorf("%d charts, want 5", charts)
		}
		accessible(t, ctx, "loaded")
	})
	t.Run("drag", func(t *testing.T) { drag(t, ctx) })
	t.Run("cancel", func(t *testing.T) { cancel(t, ctx) })
	t.Run("errors", func(t *testing.T) { mistakes(t, ctx) })
	t.Run("solve", func(t *testing.T) {
		do(t, ctx, chromedp.SetValue("#accept", "0.5"), chromedp.Click("#solve"), until(`document.getElementById("answer").textContent !== ""`), idle())
		contains(t, ctx, "answer", "no noise has one of 0.5: that is proved")
		var expected float64
		do(t, ctx, chromedp.Evaluate(`Number(document.getElementById("expected").textContent.slice(2))`, &expected))
		if !(expected > 0.49 && expected <= 0.5) {
			t.Errorf("the design at the epsilon found has an expected loss of %v, want just below 0.5", expected)
		}
	})
	t.Run("download", func(t *testing.T) { downloads(t, ctx, path, folder) })
	t.Run("drop", func(t *testing.T) { drop(t, ctx, folder) })
	t.Run("releases", func(t *testing.T) {
		do(t, ctx, chromedp.Click("#back"), change("epsilon", "1"), change("gap", "0.02"), change("releases", "8"), chromedp.Click("#together"), idle())
		contains(t, ctx, "command", "noisewright calibrate --releases 8 --epsilon 1")
		contains(t, ctx, "composed-table", "Claimed for 8 releases together")
		do(t, ctx, chromedp.Click("#together"), change("releases", "1"), change("gap", ""), fresh())
	})
	t.Run("kinds", func(t *testing.T) {
		do(t, ctx, chromedp.Click("input[value=local]"), change("epsilon", "2"), change("query", "integer"), idle()) // with delta 0
		contains(t, ctx, "command", "noisewright local design --epsilon 2 --delta 0 --loss l1 --range 0,4 --query integer")
		contains(t, ctx, "laws", "answers to")
		contains(t, ctx, "headline", " % less error than Laplace noise; no answers of this kind can be better by more than")
		contains(t, ctx, "compared", "this randomizer")
		accessible(t, ctx, "local")
		do(t, ctx, change("query", "categories"), idle())
		contains(t, ctx, "command", "noisewright local design --epsilon 2 --categories 200 --objective total --output subset.json")
		contains(t, ctx, "expected-name", "Variance × people")
		contains(t, ctx, "compared", "this selection")
		contains(t, ctx, "headline", " % less variance than randomized response; no answers")
		contains(t, ctx, "compared", "randomized-response")
		contains(t, ctx, "sweep", "certified bound")
		accessible(t, ctx, "shares")
		do(t, ctx, change("categories", "1"), until(`!document.getElementById("failure").hidden`))
		contains(t, ctx, "failure", "categories = 1, want from 2 to 2147483648 categories")
		do(t, ctx, change("categories", "50"), change("objective-shares", "largest"), idle())
		contains(t, ctx, "command", "noisewright local design --epsilon 2 --categories 50 --objective largest")
		do(t, ctx, change("query", "integer"), idle())
		do(t, ctx, chromedp.Click("input[value=kernel]"), change("delta", "0.2"), change("nodes", "12"), change("gap", "0.2"), idle())
		contains(t, ctx, "command", "noisewright design-kernel --epsilon 2 --delta 0.2 --sensitivity 1 --loss l1 --range 0,4 --nodes 12")
		accessible(t, ctx, "kernel")
		do(t, ctx, change("nodes", ""), change("gap", ""), chromedp.Click("input[value=table]"), change("delta", "1e-6"), fresh())
	})
	t.Run("narrow", func(t *testing.T) {
		var width int
		do(t, ctx, chromedp.EmulateViewport(360, 780), chromedp.Sleep(100*time.Millisecond), chromedp.Evaluate(`document.documentElement.scrollWidth`, &width))
		if width > 360 {
			t.Errorf("the page is %d pixels wide on a screen of 360", width)
		}
		var top float64
		do(t, ctx, chromedp.Evaluate(`scrollTo(0, 0), document.getElementById("headline").getBoundingClientRect().top`, &top))
		if !(top > 600 && top < 780) {
			t.Errorf("the headline is at %v of 780 pixels, want it in sight at the bottom", top)
		}
		accessible(t, ctx, "narrow")
	})
	t.Run("dark", func(t *testing.T) {
		var back string
		do(t, ctx, chromedp.EmulateViewport(1360, 1000), scheme("dark"), chromedp.Evaluate(`getComputedStyle(document.body).backgroundColor`, &back))
		if back != "rgb(17, 21, 26)" {
			t.Errorf("the page is %s by night", back)
		}
		accessible(t, ctx, "dark")
		do(t, ctx, change("theme", "light"), chromedp.Evaluate(`document.getElementById("theme").dispatchEvent(new Event("change"))`, nil),
			chromedp.Evaluate(`getComputedStyle(document.body).backgroundColor`, &back))
		if back != "rgb(246, 247, 249)" {
			t.Errorf("the page is %s by night where light is chosen", back)
		}
	})
	t.Run("print", func(t *testing.T) {
		var display, back string
		do(t, ctx, emulation.SetEmulatedMedia().WithMedia("print"), chromedp.Evaluate(`getComputedStyle(document.getElementById("controls")).display`, &display),
			chromedp.Evaluate(`getComputedStyle(document.body).backgroundColor`, &back), emulation.SetEmulatedMedia().WithMedia(""))
		if display != "none" || back != "rgb(255, 255, 255)" {
			t.Errorf("on paper the controls are %q and the page is %s, want none and white", display, back)
		}
	})
	t.Run("keyboard", func(t *testing.T) { keyboard(t, ctx) })
	t.Run("end", func(t *testing.T) {
		do(t, ctx, chromedp.Click("input[value=table]"), change("epsilon", "19"))
		if err := process.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := process.Wait(); err != nil {
			t.Errorf("after Ctrl-C: %v, want exit code 0", err)
		}
		do(t, ctx, until(`!document.getElementById("failure").hidden`))
		contains(t, ctx, "failure", "the program does not answer")
	})
}

// drag moves the slider of epsilon as a hand does.
func drag(t *testing.T, ctx context.Context) {
	var box struct{ X, Y, W, H float64 }
	do(t, ctx, chromedp.Evaluate(`(() => { const b = document.getElementById("epsilon-slide").getBoundingClientRect(); return { X: b.x, Y: b.y, W: b.width, H: b.height }; })()`, &box))
	before, y := text(t, ctx, "expected"), box.Y+box.H/2
	actions := []chromedp.Action{chromedp.MouseEvent(input.MousePressed, box.X+0.6*box.W, y, chromedp.ButtonLeft)}
	for i := range 12 {
		actions = append(actions, chromedp.MouseEvent(input.MouseMoved, box.X+(0.6+0.01*float64(i))*box.W, y, chromedp.ButtonLeft))
	}
	actions = append(actions, chromedp.MouseEvent(input.MouseReleased, box.X+0.71*box.W, y, chromedp.ButtonLeft), idle())
	do(t, ctx, actions...)
	var epsilon, ms float64
	do(t, ctx, chromedp.Evaluate(`Number(document.getElementById("epsilon").value)`, &epsilon), chromedp.Evaluate(`Number(document.documentElement.dataset.ms)`, &ms))
	if !(epsilon > 1.5 && epsilon < 3) {
		t.Errorf("epsilon is %v after the drag, want about 2", epsilon)
	}
	if text(t, ctx, "expected") == before {
		t.Error("the expected error did not change")
	}
	t.Logf("epsilon %v: shown %v ms after the last move", epsilon, ms)
	for _, delta := range []string{"1e-6", "1e-3"} {
		do(t, ctx, change("delta", delta), fresh())
		for _, e := range []string{"0.2", "0.5", "1", "1.5", "2.5", "3"} {
			do(t, ctx, change("epsilon", e), fresh(), chromedp.Evaluate(`Number(document.documentElement.dataset.ms)`, &ms))
			t.Logf("epsilon %s, delta %s: shown after %v ms", e, delta, ms) // no limit: machines differ
		}
	}
	do(t, ctx, change("delta", "1e-6"), fresh())
}

// cancel starts a design that takes long, changes it, which ends it, and starts another one,
// which the button ends.
func cancel(t *testing.T, ctx context.Context) {
	long := chromedp.Tasks{change("sensitivity", "1"), change("delta", "1e-12"), change("gap", "1e-6"), change("epsilon", "0.3"), until(`document.getElementById("status").textContent.startsWith("Designing")`)}
	do(t, ctx, long, change("gap", ""), change("delta", "1e-6"), change("epsilon", "2"), fresh())
	contains(t, ctx, "command", "--epsilon 2 ")
	do(t, ctx, long, chromedp.Click("#cancel"), idle())
	contains(t, ctx, "status", "Cancelled.")
	do(t, ctx, change("gap", ""), change("delta", "1e-6"), change("epsilon", "1"), fresh())
}

// mistakes makes those that a person can make, and a limit, which is none.
func mistakes(t *testing.T, ctx context.Context) {
	for _, c := range []struct{ id, bad, good, want string }{
		{"epsilon", "-1", "1", "epsilon = -1, want 0, or a number from 0.001 to 20"},
		{"epsilon", "", "1", "epsilon is missing"},
		{"max-variance", "0.001", "", "max-variance = 0.001 cannot be kept together with epsilon = 1"},
		{"step", "-2", "", "step = -2, want a number above 0"},
		{"releases", "0", "1", "releases = 0, want an integer from 1 to 100000"},
	} {
		do(t, ctx, change(c.id, c.bad), until(`!document.getElementById("failure").hidden`), idle())
		contains(t, ctx, "failure", c.want)
		if c.id == "step" {
			accessible(t, ctx, "mistake")
		}
		do(t, ctx, change(c.id, c.good), fresh())
	}
	described := func(want string) chromedp.Action {
		return until(`document.getElementById("epsilon").getAttribute("aria-describedby") === "` + want + `"`)
	}
	do(t, ctx, change("epsilon", "-1"), until(`document.getElementById("epsilon").getAttribute("aria-invalid") === "true"`), described("about-epsilon wrong-epsilon"), change("epsilon", "0.2"), described("about-epsilon"))
	do(t, ctx, change("gap", "1e-6"), change("time-limit", "100ms"), until(`!document.getElementById("warning").hidden`), fresh())
	contains(t, ctx, "warning", "stopped with")
	if text(t, ctx, "expected") == "" {
		t.Error("a limit left nothing")
	}
	do(t, ctx, change("gap", ""), change("time-limit", ""), change("epsilon", "1"), fresh())
}

// downloads saves the table, which the program accepts, and a chart.
func downloads(t *testing.T, ctx context.Context, path, folder string) {
	saved := func(name string) string {
		file := filepath.Join(folder, name)
		for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			if info, err := os.Stat(file); err == nil && info.Size() > 0 {
				return file
			}
			if time.Now().After(end) {
				t.Fatalf("%s was not saved", name)
			}
		}
	}
	do(t, ctx, chromedp.Click("#download"))
	out, err := exec.Command(path, "verify", "--json", saved("table.json")).Output()
	var verdict struct {
		Valid        bool
		ExpectedLoss float64 `json:"expected_loss"`
	}
	if err := errors.Join(err, json.Unmarshal(out, &verdict)); err != nil || !verdict.Valid || verdict.ExpectedLoss > 0.5 {
		t.Errorf("verify says %s of the table, %v", out, err)
	}
	do(t, ctx, chromedp.Click("#density .save"))
	svg, err := os.ReadFile(saved("density.svg"))
	if err != nil || !strings.HasPrefix(string(svg), "<svg") || !strings.Contains(string(svg), `stroke="rgb(`) || strings.Contains(string(svg), "class=") {
		t.Errorf("the figure is %.300q, %v", svg, err)
	}
}

// let drops a file on the page.
func let(name, text string) chromedp.Action {
	encoded, _ := json.Marshal([]string{name, text})
	return chromedp.Evaluate(`(() => { const [name, text] = `+string(encoded)+`; const dataTransfer = new DataTransfer(); dataTransfer.items.add(new File([text], name)); document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer })); })()`, nil)
}

// drop drops a good file, a false one and one that is none.
func drop(t *testing.T, ctx context.Context, folder string) {
	good, err := os.ReadFile(filepath.Join(folder, "table.json"))
	if err != nil {
		t.Fatal(err)
	}
	do(t, ctx, let("my file.json", string(good)), until(`!document.getElementById("shown").hidden`), idle())
	contains(t, ctx, "shown", "my file.json: every claim holds.")
	contains(t, ctx, "command", "noisewright verify 'my file.json'")
	contains(t, ctx, "python", `noisewright.load("my file.json")`)
	contains(t, ctx, "compared", "this table")
	accessible(t, ctx, "dropped")
	for _, c := range []struct{ name, text, want string }{
		{"false.json", strings.Replace(string(good), `"delta":0.000001,`, `"delta":0.0000001,`, 1), "false.json: delta = 1e-07 is promised"},
		{"none.json", "hello", "not JSON"},
		{"cut.json", string(good[:len(good)/2]), "the file ends early"},
	} {
		do(t, ctx, let(c.name, c.text), until(`!document.getElementById("failure").hidden`), idle())
		contains(t, ctx, "failure", c.want)
		if shown := text(t, ctx, "shown-name"); !strings.HasPrefix(shown, c.name+" is not proved") {
			t.Errorf("%s: the page says %q beside what it shows", c.name, shown)
		}
	}
	do(t, ctx, let("large.json", strings.Repeat(" ", 12<<20+1)), until(`document.getElementById("failure").textContent.includes("large.json")`))
	contains(t, ctx, "failure", "large.json: larger than 12 MiB")
	do(t, ctx, let("mine.json", string(good)), until(`document.getElementById("failure").hidden`), idle())
}

// keyboard goes through the page by the tab key, in the order that it is read, and drags by
// the arrow keys.
func keyboard(t *testing.T, ctx context.Context) {
	const here = `(document.activeElement.id || document.activeElement.name || document.activeElement.className || document.activeElement.tagName)`
	do(t, ctx, chromedp.Evaluate(`document.activeElement.blur(); scrollTo(0, 0)`, nil), chromedp.Evaluate(`document.querySelector(".skip").focus()`, nil))
	var order []string
	for range 12 {
		var at string
		do(t, ctx, chromedp.Evaluate(here, &at), chromedp.KeyEvent(kb.Tab))
		order = append(order, at)
	}
	const want = "skip A A A theme kind epsilon epsilon-slide delta delta-slide sensitivity sensitivity-slide"
	if got := strings.Join(order, " "); got != want {
		t.Errorf("the tab key goes to %s, want %s", got, want)
	}
	before := text(t, ctx, "expected")
	do(t, ctx, chromedp.Focus("#epsilon-slide"), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight), fresh())
	if text(t, ctx, "expected") == before {
		t.Error("the arrow keys change nothing")
	}
	var said, value string
	do(t, ctx, chromedp.AttributeValue("#epsilon-slide", "aria-valuetext", &said, nil), chromedp.Value("#epsilon", &value))
	if said != value {
		t.Errorf("the slider says %q at %s", said, value)
	}
}

// TestNoSolver asks a program that was built without a solver for answers with delta above 0.
func TestNoSolver(t *testing.T) {
	ctx := chromium(t)
	address, _ := studio(t, program(t, "0"))
	do(t, ctx, chromedp.Navigate(address), idle())
	contains(t, ctx, "expected", "≤ 0.9595") // which needs none
	do(t, ctx, chromedp.Click("input[value=local]"), chromedp.Evaluate(`document.querySelector("[name=unbiased]").checked = true`, nil), change("nodes", "8"), change("delta", "0.1"), idle())
	contains(t, ctx, "laws", "answers to")
	do(t, ctx, chromedp.Evaluate(`document.querySelector("[name=unbiased]").checked = false`, nil), chromedp.Click("input[value=table]"), change("delta", "1e-6"), fresh())
}
