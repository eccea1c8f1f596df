package browser

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestScreenshots takes the pictures of docs/studio.md, if a folder for them is given.
func TestScreenshots(t *testing.T) {
	folder := os.Getenv("SCREENSHOTS")
	if folder == "" {
		t.Skip("SCREENSHOTS names no folder for the pictures of docs/studio.md")
	}
	address, _ := studio(t, program(t, "1"))
	ctx := chromium(t)
	shoot := func(name string, full bool, actions ...chromedp.Action) {
		var png []byte
		if full {
			actions = append(actions, chromedp.FullScreenshot(&png, 100))
		} else {
			actions = append(actions, chromedp.CaptureScreenshot(&png))
		}
		do(t, ctx, actions...)
		if err := os.WriteFile(filepath.Join(folder, name+".png"), png, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wide, narrow := chromedp.EmulateViewport(1360, 1000), chromedp.EmulateViewport(360, 780)
	shoot("light", true, wide, scheme("light"), chromedp.Navigate(address), idle(), change("releases", "12"), idle())
	shoot("dark", true, scheme("dark"))
	shoot("narrow", true, narrow)
	shoot("local", true, wide, scheme("light"), chromedp.Click(`input[value=local]`), change("epsilon", "2"), change("delta", "0"), idle())
	shoot("error", false, change("epsilon", "-1"), idle())
}
