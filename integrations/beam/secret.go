// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"flag"
	"strconv"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/keyed"
)

// secret is what all random choices of a step are a function of, beside what they are for. It is
// drawn when the step is built, and travels to the workers with it: so work that an engine repeats
// repeats its choices, and no two steps have any in common. It is a slice for the sake of JSON.
type secret []byte

func newSecret() secret {
	s := keyed.New()
	return s[:]
}

// key is the secret as sums take it.
func (s secret) key() keyed.Secret { return keyed.Secret(s) }

// whole is an integer as a text of what a choice is for.
func whole(n int64) string { return strconv.FormatInt(n, 10) }

// once refuses to build a template, which could be run more than once: all runs would have the
// same secrets, and a number that is the same in two of them the same answer.
func once() error {
	const name = "template_location" // of Beam's runner for Dataflow
	if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
		return check.Field("noisebeam", name, check.Quoted(f.Value.String()), "none: a template could be run more than once, and what noisebeam adds is for one run")
	}
	return nil
}
