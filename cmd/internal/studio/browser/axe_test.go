// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"os"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// accessible holds the page as it is against the rules of axe-core, if scripts/axe.sh has
// fetched it.
func accessible(t *testing.T, ctx context.Context, state string) {
	t.Helper()
	script, err := os.ReadFile(root + "/.deps/axe.min.js")
	if err != nil {
		t.Logf("%s: not held against axe-core: scripts/axe.sh fetches it", state)
		return
	}
	var violations []struct {
		ID, Help string
		Nodes    []struct{ HTML, FailureSummary string }
	}
	do(t, ctx, chromedp.Evaluate(string(script), nil),
		chromedp.Evaluate(`axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations)`, &violations,
			func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	for _, v := range violations {
		for _, n := range v.Nodes {
			t.Errorf("%s: %s: %s: %s\n%s", state, v.ID, v.Help, n.HTML, n.FailureSummary)
		}
	}
}
