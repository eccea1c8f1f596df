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
	"github.com/chromedp/chromedp"
)

// planned waits until the plan and the picture of its errors are shown.
func planned() chromedp.Action {
	return until(`document.documentElement.dataset.state === "idle" && document.getElementById("failure").hidden && !document.getElementById("results").classList.contains("stale") && !document.getElementById("card-errors").hidden`)
}

// narrow fails if a page is wider than a phone.
func narrow(t *testing.T, ctx context.Context) {
	t.Helper()
	var width int
	do(t, ctx, chromedp.EmulateViewport(360, 780), chromedp.Sleep(100*time.Millisecond), chromedp.Evaluate(`document.documentElement.scrollWidth`, &width))
	if width > 360 {
		t.Errorf("the page is %d pixels wide on a screen of 360", width)
	}
}

// shoot takes pictures of a page as it is, on a desk and a phone, by day and by night, if SCREENSHOTS names a folder.
func shoot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	folder := os.Getenv("SCREENSHOTS")
	if folder == "" {
		return
	}
	for screen, size := range map[string][2]int64{"desk": {1360, 1010}, "phone": {360, 780}} {
		for _, light := range []string{"light", "dark"} {
			var png []byte
			do(t, ctx, chromedp.EmulateViewport(size[0], size[1]), scheme(light), chromedp.Sleep(200*time.Millisecond), chromedp.FullScreenshot(&png, 100))
			if err := os.WriteFile(filepath.Join(folder, name+"-"+screen+"-"+light+".png"), png, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	do(t, ctx, chromedp.EmulateViewport(1360, 1010), scheme("light"))
}

// TestPlan plans totals, tables and for an error, makes mistakes, and saves a plan that the program proves.
func TestPlan(t *testing.T) {
	path := program(t, "1")
	address, _ := studio(t, path)
	ctx := chromium(t)
	folder := t.TempDir()
	do(t, ctx, browser.SetDownloadBehavior(browser.SetDownloadBehaviorBehaviorAllow).WithDownloadPath(folder).WithEventsEnabled(true),
		scheme("light"), chromedp.EmulateViewport(1360, 1000), chromedp.Navigate(address), idle(), chromedp.Click(`a[href="plan.html"]`), chromedp.WaitReady("#candidates"), planned())
	contains(t, ctx, "mean", "≤ 11.2") // as `plan design` says
	contains(t, ctx, "headline", "94 % less squared error than one by one, with p-identity.")
	contains(t, ctx, "candidates", "chosen: the least proved error")
	contains(t, ctx, "gaussian", "46.1")
	contains(t, ctx, "one-by-one", "214.2")
	contains(t, ctx, "errors", "this plan: p-identity")
	contains(t, ctx, "errors", "released one by one")
	contains(t, ctx, "command", "noisewright plan design --workload prefix:12 --epsilon 1 --delta 1e-6 --neighbors add-remove --max-per-person 1 --time-limit 10s --output plan.json")
	accessible(t, ctx, "plan")
	shoot(t, ctx, "plan")

	do(t, ctx, chromedp.Click("#download"))
	file := filepath.Join(folder, "plan.json")
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if info, err := os.Stat(file); err == nil && info.Size() > 0 || time.Now().After(end) {
			break
		}
	}
	out, err := exec.Command(path, "verify", "--json", file).Output()
	var verdict struct{ Valid bool }
	if err := errors.Join(err, json.Unmarshal(out, &verdict)); err != nil || !verdict.Valid {
		t.Errorf("verify says %s of the plan, %v", out, err)
	}

	do(t, ctx, change("kind", "marginals"), planned())
	contains(t, ctx, "command", "--workload marginals:sex=2,city=5,work=3:2 ")
	contains(t, ctx, "errors", "sex × city")
	accessible(t, ctx, "tables")
	do(t, ctx, change("kind", "identity"), change("cells", "5"), change("max-error", "3@0.95"), planned())
	contains(t, ctx, "headline", "Epsilon 0.8")
	contains(t, ctx, "command", "--max-error '3@0.95' ")
	if command := text(t, ctx, "command"); strings.Contains(command, "--epsilon") {
		t.Errorf("an epsilon beside an error: %s", command)
	}
	for _, c := range []struct{ id, bad, good, want string }{
		{"max-error", "3", "", "max-error = 3, want l2: and a variance, such as l2:25"},
		{"cells", "0", "5", "workload.cells = 0, want 1 to"},
		{"cells", "129", "5", "workload = identity:129, want at most 128 cells"},
		{"epsilon", "NaN", "1", "epsilon = NaN, want"},
		{"delta", "-1", "1e-6", "delta = -1, want"},
		{"max-per-person", "x", "1", "max-per-person = x, want"},
	} {
		do(t, ctx, change(c.id, c.bad), until(`!document.getElementById("failure").hidden`), idle())
		contains(t, ctx, "failure", c.want)
		do(t, ctx, change(c.id, c.good), planned())
	}
	narrow(t, ctx)
}
