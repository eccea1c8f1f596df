package shell

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/noisewright/noisewright/lp"
)

// Progress is a line on a terminal that is written over and over; elsewhere it
// is silent.
type Progress struct {
	w     io.Writer // nil: silent
	shown bool
}

func (a *Streams) NewProgress() *Progress {
	if !a.terminal() {
		return &Progress{}
	}
	return &Progress{w: a.Err}
}

// Show prints how far a design has come.
func (p *Progress) Show(now lp.Progress) {
	if p.w == nil {
		return
	}
	p.shown = true
	fmt.Fprintf(p.w, "\r\x1b[Kdesigning: %s, %d cells per sensitivity, expected loss %.6g, gap %s",
		now.Elapsed.Round(100*time.Millisecond), now.CellsPerSensitivity, now.ExpectedLoss, Percent(now.Gap))
}

// ShowKernel prints how far the design of a kernel has come.
func (p *Progress) ShowKernel(now lp.Progress) {
	if p.w == nil {
		return
	}
	p.shown = true
	fmt.Fprintf(p.w, "\r\x1b[Kdesigning: %s, %d cells, expected loss %.6g, gap %s",
		now.Elapsed.Round(100*time.Millisecond), now.CellsPerSensitivity, now.ExpectedLoss, Percent(now.Gap))
}

// Count shows how many of total pieces of work are done.
func (p *Progress) Count(done, total int, elapsed time.Duration) {
	if p.w == nil {
		return
	}
	p.shown = true
	const width = 30
	full := width * done / total
	fmt.Fprintf(p.w, "\r\x1b[Kdesigning: [%s%s] %d of %d, %s",
		strings.Repeat("#", full), strings.Repeat(".", width-full), done, total, elapsed.Round(time.Second))
}

// Clear removes the line.
func (p *Progress) Clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
