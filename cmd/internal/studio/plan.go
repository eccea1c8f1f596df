// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/noisewright/noisewright/cmd/internal/portrait"
)

const (
	planName = "plan.json"
	planTime = "10s" // to look for matrices
)

// planObject is what `plan design --json` prints, as far as it is shown.
type planObject struct {
	Queries        int     `json:"queries"`
	Epsilon        float64 `json:"epsilon"`
	Delta          float64 `json:"delta"`
	Mean           float64 `json:"mean_squared_error"` // rounded up, as is
	Largest        float64 `json:"max_squared_error"`
	Strategy       string  `json:"strategy"`
	NumberByNumber float64 `json:"number_by_number"`
	Candidates     []struct {
		Name   string   `json:"name"`
		Mean   float64  `json:"mean_squared_error"`
		Bound  *float64 `json:"bound"`
		Proved bool     `json:"proved"`
	} `json:"candidates"`
}

type planCandidate struct {
	Name string `json:"name"`
	Text string `json:"text"`
	Note string `json:"note"`
}

type plannedEvent struct {
	Name           string          `json:"name"`
	File           string          `json:"file"`
	Command        string          `json:"command"`
	Epsilon        string          `json:"epsilon"`
	Strategy       string          `json:"strategy"`
	Queries        int             `json:"queries"`
	Mean           *portrait.Bound `json:"mean"`
	Largest        *portrait.Bound `json:"largest"`
	NumberByNumber float64         `json:"one_by_one"`
	Gaussian       *portrait.Bound `json:"gaussian"` // no Gaussian noise is below; null: none is known
	Candidates     []planCandidate `json:"candidates"`
}

// plan designs one in a folder of its own, which is gone afterwards: nothing in it is about data.
func (s *study) plan(ctx context.Context) (err error) {
	folder, err := os.MkdirTemp("", "noisewright-studio-")
	if err != nil {
		return err
	}
	defer func() {
		if bad := os.RemoveAll(folder); err == nil {
			err = bad
		}
	}()
	at := filepath.Join(folder, planName)
	words := append([]string{"plan"}, s.args("design", map[string]string{})...)
	words = append(words, "--time-limit="+planTime)
	shown := commandLine(append(words[:len(words):len(words)], "--output="+planName))
	if err := s.send("started", map[string]string{"command": shown}); err != nil {
		return err
	}
	out, warning, err := s.run.command(ctx, append(words[:len(words):len(words)], "--output="+at, "--json"), "", s.watch())
	if err == nil && warning != nil {
		err = s.send("warning", warning)
	}
	if err != nil {
		return err
	}
	text, err := os.ReadFile(at) //nolint:gosec // made above
	if err != nil {
		return err
	}
	var p planObject
	if err := json.Unmarshal(out, &p); err != nil {
		return err
	}
	e := p.show()
	e.Name, e.File, e.Command = planName, string(text), shown
	if err := s.send("planned", e); err != nil {
		return err
	}
	return s.errors(ctx, folder, at)
}

func (p *planObject) show() plannedEvent {
	e := plannedEvent{
		Epsilon: fmt.Sprint(p.Epsilon), Strategy: p.Strategy, Queries: p.Queries,
		Mean: portrait.FloatUp(p.Mean), Largest: portrait.FloatUp(p.Largest), NumberByNumber: p.NumberByNumber,
	}
	for _, c := range p.Candidates {
		row := planCandidate{Name: c.Name, Text: fmt.Sprintf("%.6g", c.Mean), Note: "about: clearly worse, and not made"}
		if c.Proved {
			row.Text, row.Note = portrait.FloatUp(c.Mean).Text, "proved"
		}
		if c.Name == p.Strategy {
			row.Note = "chosen: the least proved error"
		}
		if c.Bound != nil && *c.Bound > 0 {
			e.Gaussian = portrait.FloatDown(*c.Bound)
			row.Note += "; no Gaussian noise is below " + e.Gaussian.Text
		}
		e.Candidates = append(e.Candidates, row)
	}
	e.Candidates = append(e.Candidates, planCandidate{Name: "released one by one", Text: fmt.Sprintf("%.6g", p.NumberByNumber), Note: "a release of each answer, or table, at the same total"})
	return e
}

type errorCurve struct {
	Name   string           `json:"name"`
	Points []portrait.Point `json:"points"`
}

// errors sends the squared error of each query under each candidate, as plot draws them.
func (s *study) errors(ctx context.Context, folder, at string) error {
	numbers := filepath.Join(folder, "errors.csv")
	args := []string{"plot", at, "--output=" + filepath.Join(folder, "errors.svg"), "--csv=" + numbers}
	if _, _, err := s.run.command(ctx, args, "", nil); err != nil {
		return err
	}
	f, err := os.Open(numbers) //nolint:gosec // made above
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return err
	}
	var curves []errorCurve
	var names []string
	for _, line := range lines[1:] {
		if n := len(curves); n == 0 || curves[n-1].Name != line[0] {
			curves = append(curves, errorCurve{Name: line[0]})
		}
		c := &curves[len(curves)-1]
		y, err := strconv.ParseFloat(line[2], 64)
		if err != nil {
			return err
		}
		c.Points = append(c.Points, portrait.Point{X: float64(len(c.Points) + 1), Y: y})
		if len(curves) == 1 {
			names = append(names, line[1])
		}
	}
	return s.send("errors", map[string]any{"curves": curves, "names": names})
}
