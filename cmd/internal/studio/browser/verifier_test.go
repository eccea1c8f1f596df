// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// verifierPage is the file of the static page, as `make verifier` writes it.
func verifierPage(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("VERIFIER"); path != "" {
		return path
	}
	make := exec.Command("make", "verifier")
	make.Dir = root
	if out, err := make.CombinedOutput(); err != nil {
		t.Fatalf("make verifier: %v\n%s", err, out)
	}
	path, err := filepath.Abs(root + "/bin/verifier.html")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestVerifier opens the page from the disk, without a network, verifies files of every kind
// and draws from them.
func TestVerifier(t *testing.T) {
	ctx := chromium(t)
	path, page := program(t, "1"), verifierPage(t)
	folder := t.TempDir()
	file := func(name string, args ...string) string {
		at := filepath.Join(folder, name)
		if out, err := exec.Command(path, append(args, "-o", at)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return at
	}
	table := file("table.json", "design", "--epsilon", "1", "--delta", "1e-6", "--sensitivity", "1", "--loss", "l1")
	local := file("local.json", "design-kernel", "--local", "--range", "0,4", "--query", "integer", "--epsilon", "2", "--delta", "0", "--loss", "l1")
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	forged := filepath.Join(folder, "forged.json")
	if err := os.WriteFile(forged, []byte(strings.Replace(string(text), `"delta":0.000001`, `"delta":0.0000001`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	total, err := os.ReadFile(root + "/python/tests/data/files/lattice-total.json")
	if err != nil {
		t.Fatal(err)
	}
	kept, claimed := filepath.Join(folder, "kept.json"), filepath.Join(folder, "claimed.json")
	smaller := regexp.MustCompile(`("total":\s*\{"releases":\s*\d+,\s*"epsilon":\s*)[0-9.]+`).ReplaceAll(total, []byte("${1}0.0625"))
	if err := errors.Join(os.WriteFile(kept, total, 0o600), os.WriteFile(claimed, smaller, 0o600)); err != nil {
		t.Fatal(err)
	}
	ready := until(`document.documentElement.dataset.state === "ready"`)
	verify := func(file, want string) {
		t.Helper()
		do(t, ctx, chromedp.SetUploadFiles("#file", []string{file}), until(`document.documentElement.dataset.state === "busy" || !document.getElementById("status").textContent.startsWith("Ready")`), until(`document.getElementById("status").textContent.startsWith("`+filepath.Base(file)+`")`), ready)
		contains(t, ctx, "status", want)
	}
	do(t, ctx, network.EmulateNetworkConditions(true, 0, 0, 0), chromedp.EmulateViewport(1000, 900), chromedp.Navigate("file://"+page), ready)
	accessible(t, ctx, "verifier, empty")
	verify(table, "every claim holds")
	contains(t, ctx, "expected", "≤ 0.9595")
	contains(t, ctx, "facts", "privacy: certify_privacy")
	do(t, ctx, chromedp.SetValue("#value", "42"), chromedp.SetValue("#count", "20000"), chromedp.Click("#draw .main"), until(`document.documentElement.dataset.drawn === "20000"`))
	var mean float64
	do(t, ctx, chromedp.Evaluate(`(() => { const words = document.getElementById("drawn").textContent.split(": ")[1].split(", ").slice(0, 6).map(Number); return words.reduce((a, b) => a + b) / words.length; })()`, &mean))
	if !(mean > 32 && mean < 52) { // the noise is within ±14 of it
		t.Errorf("six answers to 42 have the mean %v", mean)
	}
	accessible(t, ctx, "verifier, table")
	verify(forged, "is not valid")
	contains(t, ctx, "failure", "forged.json: delta = 1e-07 is promised but only")
	verify(kept, "every claim holds")
	contains(t, ctx, "facts", "total proved")
	verify(claimed, "is not valid")
	contains(t, ctx, "failure", "claimed.json: total = ")
	verify(local, "every claim holds")
	contains(t, ctx, "facts", "privacy: certify_randomizer_privacy")
	do(t, ctx, chromedp.SetValue("#value", "2"), chromedp.SetValue("#count", "500"), chromedp.Click("#draw .main"), until(`document.documentElement.dataset.drawn === "500"`))
	do(t, ctx, chromedp.SetValue("#value", "x"), chromedp.Click("#draw .main"), until(`!document.getElementById("failure").hidden`))
	contains(t, ctx, "failure", "value = x, want a finite number")
	var width int
	do(t, ctx, chromedp.EmulateViewport(360, 780), chromedp.Evaluate(`document.documentElement.scrollWidth`, &width))
	if width > 360 {
		t.Errorf("the page is %d pixels wide on a screen of 360", width)
	}
	if folder := os.Getenv("SCREENSHOTS"); folder != "" {
		var png []byte
		do(t, ctx, chromedp.EmulateViewport(1000, 900), chromedp.SetUploadFiles("#file", []string{table}), until(`document.getElementById("status").textContent.startsWith("table")`), chromedp.SetValue("#value", "42"), chromedp.Click("#draw .main"), chromedp.Sleep(500e6), chromedp.FullScreenshot(&png, 100))
		if err := os.WriteFile(filepath.Join(folder, "verifier.png"), png, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
