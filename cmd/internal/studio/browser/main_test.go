// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// root is the working copy.
const root = "../../../.."

// patience is how long a test waits for a page; machines are slow at times.
const patience = 3 * time.Minute

// browsers are the names that Chromium goes by.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// chromium starts a headless browser and returns the context of its first tab, in which
// nothing may be wrong: an error of a script or of the policy fails the test.
func chromium(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range browsers {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("there is no Chromium on PATH: install your system's package chromium to run this test")
	}
	options := append([]chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1400, 1000),
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-dev-shm-usage", true),
	}, chromedp.DefaultExecAllocatorOptions[:]...)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	// Newer browsers send events that this version does not know in all their words.
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {}))
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 5*patience)
	t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("the page throws: %s", e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError {
				t.Errorf("the page complains: %s", e.Args[0].Value)
			}
		}
	})
	return ctx
}

// program builds the program once; cgo "0" is without a solver.
func program(t *testing.T, cgo string) string {
	t.Helper()
	if path := os.Getenv("NOISEWRIGHT"); path != "" && cgo == "1" {
		return path
	}
	path := filepath.Join(t.TempDir(), "noisewright")
	build := exec.Command("go", "build", "-o", path, "./cmd/noisewright")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// studio starts a studio and returns its address.
func studio(t *testing.T, path string) (address string, process *exec.Cmd) {
	t.Helper()
	return studioIn(t, path, "")
}

// studioIn starts one in a folder.
func studioIn(t *testing.T, path, folder string) (address string, process *exec.Cmd) {
	t.Helper()
	process = exec.Command(path, "studio")
	process.Dir = folder
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Signal(syscall.SIGKILL)
		_ = process.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line), process
}

// do runs actions in a page.
func do(t *testing.T, ctx context.Context, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// idle waits until the page has shown all that it asked for.
func idle() chromedp.Action {
	return until(`document.documentElement.dataset.state === "idle"`)
}

// until waits for a condition in the words of the page.
func until(condition string) chromedp.Action {
	return chromedp.Poll(condition, nil, chromedp.WithPollingTimeout(patience))
}

// fresh waits until what the fields say is shown; charts may follow.
func fresh() chromedp.Action {
	return until(`document.getElementById("failure").hidden && !document.getElementById("results").classList.contains("stale")`)
}

// change sets a field as a person would, and lets the page know.
func change(id, value string) chromedp.Action {
	return chromedp.Evaluate(`(() => { const e = document.getElementById("`+id+`"); e.value = "`+value+`"; e.dispatchEvent(new Event("input", { bubbles: true })); })()`, nil)
}

// text reads what an element says.
func text(t *testing.T, ctx context.Context, id string) (out string) {
	t.Helper()
	do(t, ctx, chromedp.Evaluate(`document.getElementById("`+id+`").textContent`, &out))
	return out
}
