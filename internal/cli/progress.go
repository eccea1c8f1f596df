package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/noisewright/noisewright/lp"
)

// progress is a line on a terminal that is written over and over; elsewhere it
// is silent.
type progress struct {
	w     io.Writer // nil: silent
	shown bool
}

func (a *app) newProgress() *progress {
	if !a.terminal() {
		return &progress{}
	}
	return &progress{w: a.stderr}
}

// show prints how far a design has come.
func (p *progress) show(now lp.Progress) {
	if p.w == nil {
		return
	}
	p.shown = true
	fmt.Fprintf(p.w, "\r\x1b[Kdesigning: %s, %d cells per sensitivity, expected loss %.6g, gap %s",
		now.Elapsed.Round(100*time.Millisecond), now.CellsPerSensitivity, now.ExpectedLoss, percent(now.Gap))
}

// showKernel prints how far the design of a kernel has come.
func (p *progress) showKernel(now lp.Progress) {
	if p.w == nil {
		return
	}
	p.shown = true
	fmt.Fprintf(p.w, "\r\x1b[Kdesigning: %s, %d cells, expected loss %.6g, gap %s",
		now.Elapsed.Round(100*time.Millisecond), now.CellsPerSensitivity, now.ExpectedLoss, percent(now.Gap))
}

// count shows how many of total pieces of work are done.
func (p *progress) count(done, total int, elapsed time.Duration) {
	if p.w == nil {
		return
	}
	p.shown = true
	const width = 30
	full := width * done / total
	fmt.Fprintf(p.w, "\r\x1b[Kdesigning: [%s%s] %d of %d, %s",
		strings.Repeat("#", full), strings.Repeat(".", width-full), done, total, elapsed.Round(time.Second))
}

// clear removes the line.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
