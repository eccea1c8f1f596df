// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/lp"
)

func TestProgressIsSilentOffATerminal(t *testing.T) {
	var out strings.Builder
	line := (&Streams{Err: &out}).newProgress(false)
	line.begin = line.begin.Add(-time.Minute)
	line.Design(time.Minute)(lp.Progress{})
	line.Count("designing", 1, 2)
	line.Watch("designing")
	line.Clear()
	if out.Len() > 0 {
		t.Errorf("wrote %q", out.String())
	}
}

func TestProgressLines(t *testing.T) {
	now := lp.Progress{CellsPerSensitivity: 20, ExpectedLoss: 0.7, LowerBound: 0.6, Gap: math.Inf(1), Elapsed: 2 * time.Second}
	tenth := &Input{size: 100}
	tenth.done.Store(10)
	for want, show := range map[string]func(*Progress){
		"designing: 2s of at most 5m0s, 20 cells per sensitivity, expected loss 0.7, gap unknown": func(p *Progress) { p.Design(5 * time.Minute)(now) },
		"designing: 2s of at most 1m0s, 20 cells, expected loss 0.7, gap unknown":                 func(p *Progress) { p.DesignOn(time.Minute, "cells")(now) },
		"composing: [##########....................] 1 of 3, 10s, about 20s left":                 func(p *Progress) { p.Count("composing", 1, 3) },
		"composing: [..............................] 0 of 3, 10s":                                 func(p *Progress) { p.Count("composing", 0, 3) },
		"designing: 3 of at most 20, 10s":                                                         func(p *Progress) { p.Most("designing", 3, 20) },
		"decoding: 7 rows, 10s":                                                                   func(p *Progress) { p.Rows("decoding", 7, &Input{}) },
		"decoding: [###...........................] 7 rows, 10s, about 1m30s left":                func(p *Progress) { p.Rows("decoding", 7, tenth) },
	} {
		var out strings.Builder
		line := (&Streams{Err: &out, Terminal: true}).newProgress(false)
		show(line) // too early
		line.begin = line.begin.Add(-10 * time.Second)
		show(line)
		show(line) // too soon after the last one
		line.Clear()
		if want := "\r\x1b[K" + want + "\r\x1b[K"; out.String() != want {
			t.Errorf("wrote %q, want %q", out.String(), want)
		}
	}
}

// TestWatchEnds wants nothing written after the line is cleared.
func TestWatchEnds(t *testing.T) {
	var out strings.Builder
	line := (&Streams{Err: &out, Terminal: true}).newProgress(false)
	line.Watch("verifying")
	line.Clear()
	line.Clear()
	if out.Len() > 0 {
		t.Errorf("wrote %q", out.String())
	}
}

// TestNoColor has a terminal, if the system has one, on which no line is wanted.
func TestNoColor(t *testing.T) {
	for name, value := range map[string]string{"NO_COLOR": "1", "TERM": "dumb"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NO_COLOR", "")
			t.Setenv("TERM", "xterm")
			device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a device, as a terminal is
			if err != nil {
				t.Skip(err)
			}
			defer device.Close()
			before := isTerminal(device)
			t.Setenv(name, value)
			if isTerminal(device) {
				t.Error("a line of progress is wanted")
			}
			if !before {
				t.Skip("no device looks like a terminal here")
			}
		})
	}
}
