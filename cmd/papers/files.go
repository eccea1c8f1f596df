package main

import (
	"errors"
	"path/filepath"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
)

// pair is a CSV file and a figure, of which both appear or none.
type pair struct {
	csv, svg *shell.Output
	names    [2]string
}

// createPair opens NAME.csv and NAME.svg in a folder, which is made if needed.
// The caller calls discard in any case.
func createPair(s *shell.Streams, folder, name string) (*pair, error) {
	if err := shell.MakeFolder(folder); err != nil {
		return nil, err
	}
	p := &pair{names: [2]string{filepath.Join(folder, name+".csv"), filepath.Join(folder, name+".svg")}}
	var err error
	if p.csv, err = s.Create(p.names[0]); err != nil {
		return nil, err
	}
	if p.svg, err = s.Create(p.names[1]); err != nil {
		p.csv.Discard()
		return nil, err
	}
	return p, nil
}

func (p *pair) commit() error {
	return errors.Join(p.csv.Commit(), p.svg.Commit())
}

func (p *pair) discard() {
	p.csv.Discard()
	p.svg.Discard()
}

// filesRow names files in a summary.
func filesRow(pairs ...*pair) shell.Row {
	text := ""
	for _, p := range pairs {
		for _, name := range p.names {
			if text != "" {
				text += ", "
			}
			text += name
		}
	}
	return shell.Row{"files", text}
}

// needSolver refuses a build without the LP solver.
func needSolver() error {
	if highs.Version() == "" {
		return &shell.Failure{Code: shell.ExitFailure, Err: highs.ErrUnavailable}
	}
	return nil
}

// designOptions are the defaults of designs but for the gap.
func designOptions(gap float64) lp.Options {
	o := shell.DesignOptions()
	o.Gap = gap
	return o
}
