// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// row is a line that a command prints: a name and what is said of it.
type row [2]string

var columns = regexp.MustCompile(` {2,}`)

func rowsOf(out []byte) (rows []row) {
	for line := range strings.Lines(string(out)) {
		parts := columns.Split(strings.TrimSpace(line), 2)
		if len(parts) == 2 {
			rows = append(rows, row{parts[0], parts[1]})
		}
	}
	return rows
}

// releaseAnswers is what `release --json` prints, as far as it is drawn.
type releaseAnswers struct {
	Kind    string  `json:"kind"`
	Level   float64 `json:"level"`
	Answers []struct {
		Key   string   `json:"key"`
		Of    []string `json:"of"`
		Value float64  `json:"value"`
		Lower float64  `json:"lower"`
		Upper float64  `json:"upper"`
	} `json:"answers"`
}

// release publishes a statistic of the data. The plan of a release by plan is in a file for as long as it takes.
func (s *study) release(ctx context.Context) error {
	s.Name = cmp.Or(s.Name, "data.csv")
	at := ""
	if s.Statistic == byPlan {
		folder, err := os.MkdirTemp("", "noisewright-studio-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(folder) }()
		at = filepath.Join(folder, planName)
		if err := os.WriteFile(at, []byte(s.File), 0o600); err != nil {
			return err
		}
	}
	err := s.charge(ctx, at)
	if at != "" {
		err = named(err, at, planName)
	}
	return named(err, "standard input", s.Name)
}

// charge runs the command that charges the ledger before the answer exists. It reads the data as its standard
// input: they are in no file. The second command has the same answer from the ledger, at no cost.
func (s *study) charge(ctx context.Context, at string) error {
	words := append([]string{"release"}, s.args(s.Statistic, nil)...)
	shown := append(words[:len(words):len(words)], "--data="+operand(s.Name))
	words = append(words, "--data=-")
	if at != "" {
		words, shown = append(words, "--plan="+at), append(shown, "--plan="+planName)
	}
	if err := s.send("started", map[string]string{"command": commandLine(shown)}); err != nil {
		return err
	}
	out, warning, err := s.run.command(ctx, words, string(s.Data), nil)
	if err == nil && warning != nil {
		err = s.send("warning", warning)
	}
	if err == nil {
		err = s.send("released", map[string]any{"rows": rowsOf(out), "command": commandLine(shown)})
	}
	if err != nil {
		return err
	}
	var answers releaseAnswers
	if err := s.run.object(ctx, append(words, "--json"), string(s.Data), &answers); err != nil {
		return err
	}
	if err := s.send("answers", answers); err != nil {
		return err
	}
	return s.left(ctx)
}

// named gives a file in what a command says the name that it has for who dropped it.
func named(err error, from, to string) error {
	if f := (*failure)(nil); errors.As(err, &f) {
		for i, text := range f.Errors {
			f.Errors[i] = strings.ReplaceAll(text, from, to)
		}
		f.Hint = strings.ReplaceAll(f.Hint, from, to)
	}
	return err
}

// left sends what is left of the ledger's total.
func (s *study) left(ctx context.Context) error {
	name := s.Fields["ledger"]
	left, _, err := s.run.command(ctx, []string{"ledger", "left", operand(name)}, "", nil)
	if err != nil {
		return err
	}
	total, _, err := s.run.command(ctx, []string{"ledger", "total", operand(name)}, "", nil)
	if err != nil {
		return err
	}
	return s.send("left", map[string]any{"ledger": name, "rows": append(rowsOf(left), rowsOf(total)...)})
}
