// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
)

// LossHelp lists the losses for the help of a command.
func LossHelp() string {
	var b strings.Builder
	b.WriteString("Losses c(x) of noise x, in query units:\n")
	var lines [][]string
	for _, k := range loss.Kinds() {
		lines = append(lines, []string{"  " + k.Syntax, k.Meaning})
	}
	WriteColumns(&b, lines, "<<")
	b.WriteString(`SEGMENTS may be the name of a CSV file with the header knot,slope or
knot,slope,jump. A weight follows after one more colon: l1:0.7, exceed:3:0.3.`)
	return b.String()
}

// Losses adds --loss; read has all that were given.
func (f *Flags) Losses(read func(texts []string) error) {
	f.Texts("loss", "LOSS", "what to minimize in the mean, such as l1, huber:2 or exceed:3:0.5; repeated, their sum", read)
	f.CompleteLoss("loss")
}

// CompleteLoss completes a flag that names a loss or a file of one.
func (f *Flags) CompleteLoss(name string) {
	var words []string
	for _, k := range loss.Kinds() {
		words = append(words, k.Name)
	}
	slices.Sort(words)
	f.CompleteOrFile(name, words...)
}

// ParseLosses reads the sum of some losses, the values of the named flag.
func ParseLosses(name string, values []string) (loss.Loss, error) {
	if len(values) == 0 {
		return nil, About(name, "", Want(WantLoss()))
	}
	terms := make([]string, len(values))
	var errs []error
	for i, v := range values {
		l, err := ReadLoss(v)
		if err != nil {
			errs = append(errs, aboutLoss(name, v, err))
			continue
		}
		terms[i] = l.Name()
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	l, err := loss.Parse(strings.Join(terms, " + "))
	if err != nil {
		return nil, aboutLoss(name, strings.Join(values, " + "), err)
	}
	return l, nil
}

// otherNames are those that others call losses by.
var otherNames = map[string]string{"mse": "l2", "variance": "l2", "mae": "l1", "absolute": "l1", "l3": "lp:3"}

// noises are words for what a loss is a loss of.
var noises = []string{"laplace", "gaussian", "geometric", "staircase", "exponential"}

// aboutLoss names the flag in the error of a bad loss.
func aboutLoss(name, value string, err error) error {
	var errs []error
	for _, s := range check.Sentences(err) {
		if rest, ok := strings.CutPrefix(s, "loss = "); ok {
			if own, known := otherNames[strings.ToLower(value)]; known {
				rest += fmt.Sprintf(" (%s is %s)", value, own)
			} else if slices.Contains(noises, strings.ToLower(value)) {
				rest += fmt.Sprintf(" (%s is noise; noisewright compare shows its loss beside that of the design)", value)
			}
			errs = append(errs, fmt.Errorf("%s = %s", name, rest))
		} else {
			errs = append(errs, fmt.Errorf("%s = %s: %s", name, check.Quoted(value), s))
		}
	}
	return errors.Join(errs...)
}

// WantLoss is the rule of a loss.
func WantLoss() string {
	var syntax []string
	for _, k := range loss.Kinds() {
		syntax = append(syntax, k.Syntax)
	}
	return oneOf(syntax...)
}

// ReadLoss is loss.Parse with names of files in the place of segments too.
func ReadLoss(s string) (loss.Loss, error) {
	const separator = " + "
	terms := strings.Split(s, separator)
	for i, t := range terms {
		// Segments start at minus infinity.
		rest, ok := strings.CutPrefix(t, "pwl:")
		if !ok || rest == "" || strings.HasPrefix(rest, "-inf,") {
			continue
		}
		path, weight := rest, ""
		if _, err := os.Stat(rest); err != nil {
			if colon := strings.LastIndexByte(rest, ':'); colon >= 0 {
				path, weight = rest[:colon], rest[colon:]
			}
		}
		l, err := readPWL(path)
		if err != nil {
			return nil, err
		}
		terms[i] = l.Name() + weight
	}
	return loss.Parse(strings.Join(terms, separator))
}

func readPWL(path string) (loss.Loss, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, FileCause(err))
	}
	defer file.Close()
	l, err := loss.ReadPWL(file)
	if err != nil && !errors.Is(err, dp.ErrInvalid) {
		err = fmt.Errorf("%s: %w", path, FileCause(err))
	}
	return l, err
}
