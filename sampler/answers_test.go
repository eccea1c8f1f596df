// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"errors"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/proof"
)

// answersOf is New for any channel, private or not.
func answersOf(c proof.Channel, g generator) *answers { return newAnswers(nil, c, newRowLaws(c), g) }

// seeded is answersOf with a deterministic generator.
func seeded(c proof.Channel, seed byte) *answers {
	return answersOf(c, newFixedGenerator([32]byte{seed}))
}

func (s *answers) number(x float64) (float64, error) { return s.ReleaseNumber(x) }

func numberOf(s Sampler, x float64) (float64, error) {
	y, err := s.Release(proof.Number(x))
	if err != nil {
		return 0, err
	}
	f, _ := proof.Float(y)
	return f, nil
}

// label is Release for a category, "" beside an error.
func (s *answers) label(x string) (string, error) {
	y, err := s.Release(proof.Category(x))
	if err != nil {
		return "", err
	}
	return y.String(), nil
}

// index is number, the answer given as its index.
func (s *answers) index(x float64) (int, error) {
	c, err := s.channel.Choose(proof.Number(x))
	if err != nil {
		return 0, err
	}
	j, _, err := s.draw(c)
	return j, err
}

// TestNewRefuses: without a proof there is nothing to draw from, nor of what is no channel.
func TestNewRefuses(t *testing.T) {
	if s, err := New(nil, Options{}); s != nil || !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("%v, %v, want ErrInvalid", s, err)
	}
}

// TestReleaseNumber: it is Release without Values, for inputs and answers that are numbers.
func TestReleaseNumber(t *testing.T) {
	for name, c := range map[string]proof.Channel{
		"kernel": testKernel(t), "cells": testAdditive(t), "real": testRandomizer(t, local.Real), "integer": testRandomizer(t, local.Integer),
	} {
		a, b := seeded(c, 1), seeded(c, 1)
		for i := range 200 {
			x := float64(i)/100 - 1
			want, wantErr := numberOf(a, x)
			if got, err := b.ReleaseNumber(x); got != want || (err == nil) != (wantErr == nil) {
				t.Fatalf("%s: %g: %g, %v, want %g, %v", name, x, got, err, want, wantErr)
			}
		}
		for _, x := range []float64{math.NaN(), math.Inf(1), -1e300} {
			if y, err := b.ReleaseNumber(x); y != 0 || !errors.Is(err, dp.ErrInvalid) {
				t.Errorf("%s: %g: %g, %v, want ErrInvalid", name, x, y, err)
			}
		}
	}
	if y, err := seeded(testRandomizer(t, local.Category), 1).ReleaseNumber(0); y != 0 || !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("categories: %g, %v, want ErrInvalid", y, err)
	}
}
