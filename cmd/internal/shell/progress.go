// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/noisewright/noisewright/lp"
)

// Progress is a line on a terminal that is written over; elsewhere silent. It may be used concurrently.
type Progress struct {
	w     io.Writer // nil: silent
	watch func(lp.Progress)
	begin time.Time
	mu    sync.Mutex
	last  time.Time // it was written
	shown bool
	stop  chan struct{} // ends Watch
}

const (
	patience = time.Second            // what takes less has no line
	pace     = 100 * time.Millisecond // between two versions of the line
)

// newProgress begins a line; all that is printed clears it.
func (a *Streams) newProgress(quiet bool) *Progress {
	p := &Progress{begin: time.Now(), watch: a.Watch}
	if a.Terminal && !quiet {
		p.w = a.Err
	}
	a.line.Swap(p).Clear()
	return p
}

// isTerminal reports whether more than plain text may go there: see no-color.org.
func isTerminal(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isScreen(w)
}

func isScreen(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// say writes the line, if it is time for it.
func (p *Progress) say(format string, args ...any) {
	if p.w == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write(format, args...)
}

// write is say, for who holds the lock.
func (p *Progress) write(format string, args ...any) {
	now := time.Now()
	if now.Sub(p.begin) < patience || now.Sub(p.last) < pace {
		return
	}
	p.last, p.shown = now, true
	fmt.Fprint(p.w, "\r\x1b[K"+fmt.Sprintf(format, args...))
}

// Design shows how far the design of a table with a time limit has come.
func (p *Progress) Design(limit time.Duration) func(lp.Progress) {
	return p.DesignOn(limit, "cells per sensitivity")
}

// DesignOn is Design for a mechanism of another form, whose grids have so many cells.
func (p *Progress) DesignOn(limit time.Duration, cells string) func(lp.Progress) {
	return func(now lp.Progress) {
		if p.watch != nil {
			p.watch(now)
		}
		p.say("designing: %s of at most %s, %d %s, expected loss %.6g, gap %s",
			now.Elapsed.Round(time.Second), limit, now.CellsPerSensitivity, cells, now.ExpectedLoss, Percent(now.Gap))
	}
}

// Count shows how many of total pieces of work are done, and when the others will be.
func (p *Progress) Count(doing string, done, total int) {
	p.Share(doing, float64(done)/float64(total), fmt.Sprintf("%d of %d", done, total))
}

// Most shows how many pieces of work are done where there may be fewer than most.
func (p *Progress) Most(doing string, done, most int) {
	p.say("%s: %d of at most %d, %s", doing, done, most, time.Since(p.begin).Round(time.Second))
}

// Share shows how much is done, in other words too, and when the rest will be.
func (p *Progress) Share(doing string, share float64, what string) {
	const width = 30
	full := min(max(int(width*share), 0), width)
	elapsed := time.Since(p.begin)
	left := ""
	if share > 0 {
		left = fmt.Sprintf(", about %s left", time.Duration(float64(elapsed)*(1/share-1)).Round(time.Second))
	}
	p.say("%s: [%s%s] %s, %s%s", doing, strings.Repeat("#", full), strings.Repeat(".", width-full), what, elapsed.Round(time.Second), left)
}

// Rows shows how many rows of a file are done.
func (p *Progress) Rows(doing string, rows int, in *Input) {
	if share := in.Share(); !math.IsNaN(share) {
		p.Share(doing, share, fmt.Sprintf("%d rows", rows))
		return
	}
	p.say("%s: %d rows, %s", doing, rows, time.Since(p.begin).Round(time.Second))
}

// Watch shows how long work takes that does not say how far it has come.
func (p *Progress) Watch(doing string) {
	if p.w == nil {
		return
	}
	stop := make(chan struct{})
	p.mu.Lock()
	p.stop = stop
	p.mu.Unlock()
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				p.mu.Lock()
				if p.stop == stop { // else the line was cleared just now
					p.write("%s: %s", doing, time.Since(p.begin).Round(time.Second))
				}
				p.mu.Unlock()
			}
		}
	}()
}

// Clear removes the line, if there is one.
func (p *Progress) Clear() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != nil {
		close(p.stop)
		p.stop = nil
	}
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
