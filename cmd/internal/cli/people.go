// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/subset"
)

// people says which column names the person of a row, and what is done with the name.
type people struct {
	column string
	seed   string    // of public coins; "": none
	file   string    // of the secret
	secret *[32]byte // of answers by memory; nil: fresh ones
	one    bool      // of the columns is answered, by a public coin

	at      int    // where the column stands
	current string // the person of the row that is read
}

const seedUsage = "with --person: text that all may know, of one question, by which each person has a public coin: of sets a:b it throws a, and b alone is the answer"

func (p *people) flags(f *shell.Flags) {
	f.Text(&p.column, "person", "NAME", "name of the column that tells people apart")
	f.String(&p.seed, "seed", seedUsage)
	f.Func("secret", "FILE", "", "with --person: file of 64 hexadecimal digits that nobody else may know; the same person and value then have the same answer each time, which costs epsilon once", func(text string) (err error) {
		p.file = text
		p.secret, err = readSecret(text)
		return err
	})
	f.CompleteOrFile("secret")
	f.Bool(&p.one, "one", "with --seed: answer one column of each row, chosen by the public coin, with all of its epsilon, and leave the others empty")
	f.Check(func() error {
		return errors.Join(p.together(), shell.Refuse(p.column != "" && p.seed == "" && p.file == "", "person is given without seed and secret, want one of them"))
	})
}

// together refuses what needs another flag, without it.
func (p *people) together() error {
	const without = "%s is given without %s, want both"
	refuse := func(name string, given bool, other string, there bool) error {
		return shell.Refuse(given && !there, without, name, other)
	}
	named, seeded := p.column != "", p.seed != ""
	if seeded && p.file != "" {
		// Under another seed the same value would be answered anew, and what two turns give is two releases.
		return errors.New("seed and secret are given, want only one of them: with another seed an answer by memory is another release")
	}
	return errors.Join(
		refuse("seed", seeded, "person", named), refuse("secret", p.file != "", "person", named), refuse("one", p.one, "seed", seeded),
	)
}

func readSecret(path string) (*[32]byte, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // none
	}
	want := shell.Want("a file of 64 hexadecimal digits, such as openssl rand -hex 32 writes")
	data, err := readRegular(path)
	if err != nil {
		return nil, fmt.Errorf("secret = %s: %w, %w", check.Quoted(path), shell.FileCause(err), want)
	}
	var secret [32]byte
	key, err := hex.DecodeString(strings.TrimSpace(string(data)))
	if err != nil || len(key) != len(secret) { // of which nothing is shown
		return nil, fmt.Errorf("secret = %s: not a secret, %w", check.Quoted(path), want)
	}
	copy(secret[:], key)
	return &secret, nil
}

// find finds the column of the names.
func (p *people) find(in *csvfile.Reader, header []string) (err error) {
	if p.column != "" {
		p.at, err = in.Find(header, p.column)
	}
	return err
}

// read reads the person of a row.
func (p *people) read(in *csvfile.Record) error {
	if p.column == "" {
		return nil
	}
	if p.current = strings.TrimSpace(in.Content(p.at)); p.current == "" {
		return fmt.Errorf("row %d (line %d): %s is empty, want a name of each person's own", in.Rows, in.Line, check.Quoted(p.column))
	}
	return nil
}

// noTurn says that a seed is of no use.
func (p *people) noTurn(s *subset.Selection) error {
	return shell.BadInput("", fmt.Errorf("seed = %s is given, but answers that are %s have no part that could be public, want none", check.Quoted(p.seed), s.Answers()))
}

// releaser returns what answers a column's values: afresh, by memory, or with public turns.
func (p *people) releaser(column string, from *source) (func(input proof.Value, person string) (string, error), error) {
	release := func(input proof.Value, _ string) (proof.Value, error) { return from.answers.Release(input) }
	if p.secret != nil {
		memo, err := sampler.NewMemo(from.proven, *p.secret)
		if err != nil {
			return nil, shell.BadInput("", err)
		}
		release = func(input proof.Value, person string) (proof.Value, error) {
			return memo.Release(input, "column", column, person)
		}
	}
	selection, sets := proof.Of(from.proven).(*subset.Selection)
	turned := p.seed != "" && sets && selection.Spec().Modulus > 0
	if p.seed != "" && !turned && !p.one {
		if !sets {
			return nil, shell.BadInput("", errors.New("seed is for sets of categories, want none with "+proof.Of(from.proven).Form().Noun))
		}
		return nil, p.noTurn(selection)
	}
	return func(input proof.Value, person string) (string, error) {
		label, category := input.(proof.Category)
		if !turned || !category {
			return text(release(input, person))
		}
		turn, err := selection.Turn(p.seed, person)
		if err != nil {
			return "", err
		}
		y, err := release(subset.Asked{Category: label, Turn: turn}, person)
		if err != nil {
			return "", err
		}
		return proof.Code{B: y.(proof.Code).B}.String(), nil
	}, nil
}

func text(y proof.Value, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return y.String(), nil
}
