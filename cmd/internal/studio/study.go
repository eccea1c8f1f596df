// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"mime"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/noisewright/noisewright/cmd/internal/portrait"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/proof"
)

// study is the work for one request. Its events are, in this order: started, progress, made,
// compared, curves, composed, profile, point (many), and end or failed. A search for an
// epsilon has step and found in place of these, a plan planned and errors, a release released, answers and left.
type study struct {
	*request
	run   Program
	send  func(event string, v any) error
	count int // releases
}

func (s *Server) serveStudy(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, "the method is not allowed here, want POST")
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "the request is not JSON, want application/json")
		return
	}
	q, err := readRequest(http.MaxBytesReader(w, r.Body, maxBody))
	if large := new(http.MaxBytesError); errors.As(err, &large) {
		refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the request is too large, want at most %d MiB", maxBody>>20))
		return
	}
	var count int
	if err == nil {
		count, err = q.releases()
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	leave, ok := s.enter(r.Context())
	if !ok {
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, "too much is at work, try again when it has ended")
		return
	}
	defer leave()
	control := http.NewResponseController(w)
	// What follows may take long: the deadline of reading would end it.
	_ = control.SetReadDeadline(time.Time{})
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	var mu sync.Mutex
	(&study{request: q, run: s.run, count: count, send: func(event string, v any) error {
		text, err := json.Marshal(v)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			err = control.SetWriteDeadline(time.Now().Add(s.patience))
		}
		if err == nil {
			_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, text)
		}
		if err == nil {
			err = control.Flush()
		}
		if err != nil {
			cancel() // nobody listens
		}
		return err
	}}).do(ctx)
}

// enter waits for a place to work; ok is false if too many wait, or the client went away.
func (s *Server) enter(ctx context.Context) (leave func(), ok bool) {
	leave = func() { <-s.studies }
	select {
	case s.studies <- struct{}{}:
		return leave, true
	default:
	}
	select {
	case s.waiting <- struct{}{}:
		defer func() { <-s.waiting }()
	default:
		return nil, false
	}
	select {
	case s.studies <- struct{}{}:
		return leave, true
	case <-ctx.Done():
		return nil, false
	}
}

func (s *study) do(ctx context.Context) {
	err := s.steps(ctx)
	var f *failure
	switch {
	case ctx.Err() != nil: // nobody listens
	case err == nil:
		_ = s.send("end", struct{}{})
	case errors.As(err, &f):
		_ = s.send("failed", f)
	default:
		_ = s.send("failed", failure{Code: 1, Errors: check.Sentences(err)})
	}
}

type subject struct {
	*portrait.Portrait
	mechanism  proof.Mechanism
	text, file string // of a file for it, and what that is called by default
}

func (s *study) steps(ctx context.Context) error {
	switch {
	case s.Accept != "" && s.Kind == kindFile:
		return check.Field("studio", "accept", check.Quoted(s.Accept), "a design and no file")
	case s.Kind == kindPlan:
		return s.plan(ctx)
	case s.Kind == kindRelease:
		return s.release(ctx)
	case s.Kind == kindLedger:
		return s.left(ctx)
	case s.Accept != "":
		return s.solve(ctx)
	}
	text, err := s.obtain(ctx)
	if err != nil {
		return err
	}
	proven, err := portrait.Verify(ctx, text)
	if err != nil {
		return err
	}
	p := portrait.New(proven)
	if err := p.ProveTotal(proven); err != nil {
		return err
	}
	file := p.Name
	if s.Name != "" {
		p.Name = s.Name
	}
	if err := s.made(p, string(text)); err != nil {
		return err
	}
	about := subject{p, proof.Of(proven), string(text), file}
	for _, step := range []func(context.Context, subject) error{s.compare, s.curves, s.compose, s.sweep} {
		if err := step(ctx, about); err != nil {
			return err
		}
	}
	return nil
}

// progress is how far a design has come. It is the designer's word, and no guarantee.
type progress struct {
	Cells   int      `json:"cells"`
	Loss    float64  `json:"loss"`
	Gap     *float64 `json:"gap"` // null: not known yet
	Seconds float64  `json:"seconds"`
}

// pace is the time between two events of progress, at least.
const pace = 30 * time.Millisecond

func (s *study) watch() func(lp.Progress) {
	var last time.Time
	return func(p lp.Progress) {
		now := time.Now()
		if now.Sub(last) < pace || !check.Finite(p.ExpectedLoss) {
			return
		}
		last = now
		out := progress{Cells: p.CellsPerSensitivity, Loss: p.ExpectedLoss, Seconds: p.Elapsed.Seconds()}
		if check.Finite(p.Gap) {
			out.Gap = &p.Gap
		}
		_ = s.send("progress", out)
	}
}

func (s *study) obtain(ctx context.Context) ([]byte, error) {
	if s.Kind == kindFile {
		return bytes.TrimSpace([]byte(s.File)), nil
	}
	args, err := s.design(nil)
	if err != nil {
		return nil, err
	}
	if err := s.send("started", map[string]string{"command": commandLine(args)}); err != nil {
		return nil, err
	}
	text, warning, err := s.run.command(ctx, append(args, "--quiet", "--output=-"), "", s.watch())
	if err == nil && warning != nil {
		err = s.send("warning", warning)
	}
	return text, err
}

// found is a file that was designed or dropped, proved, and what makes it again.
type found struct {
	*portrait.Portrait
	File    string `json:"file"`
	Command string `json:"command"` // of a file that was dropped, what verifies it
	Go      string `json:"go"`
	Python  string `json:"python"`
}

func (s *study) made(p *portrait.Portrait, text string) error {
	out := found{Portrait: p, File: text, Command: commandLine([]string{"verify", operand(p.Name)})}
	if s.Kind != kindFile {
		args, err := s.design(nil)
		if err != nil {
			return err
		}
		out.Command = commandLine(append(args, "--output="+p.Name))
	}
	out.Go, out.Python = snippets(p)
	return s.send("made", out)
}

// measured is what designs print as JSON: the loss is rounded up, the bound down.
type measured struct {
	ExpectedLoss *float64 `json:"expected_loss"`
	LowerBound   *float64 `json:"lower_bound"`
}

type step struct {
	Command string          `json:"command"`
	Epsilon float64         `json:"epsilon"`
	Loss    *portrait.Bound `json:"loss"`
}

type solved struct {
	// Epsilon is the smallest one found with a proven expected loss of at most Accept.
	Epsilon string          `json:"epsilon"`
	Accept  string          `json:"accept"`
	Loss    *portrait.Bound `json:"loss"`
	// Below is an epsilon at and below which no noise has so small a loss, as the lower
	// bound proves; 0: none was found, or epsilon is of several releases together, and the
	// bound of one of them says nothing about other ways to share it.
	Below float64 `json:"below,omitempty"`
}

const (
	solveWidth = 1.005 // of the bracket, at the end: a ratio of epsilons
	solveTime  = "10s" // of one design
)

// solve searches for the smallest epsilon with an expected loss of at most Accept, by
// bisection: the loss of the best noise does not increase with epsilon.
func (s *study) solve(ctx context.Context) error {
	accept, err := strconv.ParseFloat(s.Accept, 64)
	if err != nil || !check.Finite(accept) || accept <= 0 {
		return check.Field("studio", "accept", check.Shortened(s.Accept), "a finite number above 0, in the units of the loss")
	}
	low, high := lp.Limits.Epsilon.Min, lp.Limits.Epsilon.Max
	answer := solved{Accept: s.Accept}
	// try reports whether designed noise at epsilon is good enough.
	try := func(epsilon float64) (ok bool, err error) {
		m, text, err := s.measure(ctx, epsilon)
		if err != nil {
			return false, err
		}
		if m.LowerBound != nil && *m.LowerBound > accept && !(s.Together && s.count > 1) {
			designed, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return false, err
			}
			answer.Below = max(answer.Below, designed)
		}
		if m.ExpectedLoss == nil || *m.ExpectedLoss > accept {
			return false, nil
		}
		answer.Epsilon, answer.Loss = text, portrait.FloatUp(*m.ExpectedLoss)
		return true, nil
	}
	// Designs at small epsilons are fast, so the bracket is found from below.
	for probe := 0.5; ; probe = math.Min(2*probe, high) {
		ok, err := try(probe)
		if err != nil {
			return err
		}
		if ok {
			high = probe
			break
		}
		if low = probe; probe == high {
			return check.Field("studio", "accept", s.Accept, fmt.Sprintf("an expected loss that an epsilon of at most %g reaches", lp.Limits.Epsilon.Max))
		}
	}
	for high/low > solveWidth {
		middle := math.Sqrt(low * high)
		ok, err := try(middle)
		switch {
		case err != nil:
			return err
		case ok:
			high = middle
		default:
			low = middle
		}
	}
	return s.send("found", answer)
}

func (s *study) measure(ctx context.Context, epsilon float64) (m measured, text string, err error) {
	text = strconv.FormatFloat(epsilon, 'g', 5, 64)
	args, err := s.design(map[string]string{"epsilon": text, "gap": sweepGap, "time-limit": solveTime})
	if err != nil {
		return m, text, err
	}
	if err := s.run.object(ctx, append(args, "--json", "--quiet"), "", &m); err != nil {
		return m, text, err
	}
	if m.ExpectedLoss == nil {
		return m, text, errors.New("the expected loss is not a number here")
	}
	return m, text, s.send("step", step{commandLine(args), epsilon, portrait.FloatUp(*m.ExpectedLoss)})
}
