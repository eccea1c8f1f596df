// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"bytes"
	"crypto/sha256"
	"math/big"
	"strconv"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/keyed"
	"github.com/noisewright/noisewright/tables"
)

// Keyed adds noise that repeats: a result is a function of a secret, the table, what the
// noise is for and the value that it is added to. It is for programs that have work
// repeated by machines which do not know of each other, such as a cluster that retries:
// all of them show the same result. Everything else draws with a Sampler or a Noise.
//
// Guarantee (docs/proofs/beam.md): for who does not know the secret, results for different
// labels or values have independent noise, each with the law of the table, up to what tells
// HMAC-SHA-256 and AES-256-CTR from random functions. So one result for each label is a
// release with the table's privacy, however often it is repeated. Two values under one label are
// two releases; and who sees both learns whether the values are equal, as only then the
// results are sure to be, which no epsilon covers. A secret and a label therefore are for one value.
//
// Who knows the secret takes the noise off again. It goes with the data.
//
// A Keyed is not safe for concurrent use, and must not be copied.
type Keyed struct {
	s      *Noise
	secret keyed.Secret
	table  string // SHA-256 of its file
}

// NewKeyed returns a Keyed of a table that was proved to keep its promise. The secret is 32 bytes
// from crypto/rand; one of zeros is refused, as it was forgotten. The error wraps dp.ErrInvalid.
func NewKeyed(v *tables.Verified, secret [32]byte) (*Keyed, error) {
	t, err := tableOf(v)
	if err != nil {
		return nil, err
	}
	if secret == [32]byte{} {
		return nil, check.Field("sampler", "secret", "zero", "32 bytes from crypto/rand")
	}
	return newKeyed(t, secret)
}

func newKeyed(t *tables.Table, secret keyed.Secret) (*Keyed, error) {
	var file bytes.Buffer
	if err := t.Encode(&file); err != nil {
		return nil, err
	}
	hash := sha256.Sum256(file.Bytes())
	return &Keyed{newNoise(t, newLaw(t, false), nil), secret, string(hash[:])}, nil
}

// Table returns the table drawn from.
func (k *Keyed) Table() *tables.Table { return k.s.Table() }

// AddNoise is Noise.AddNoise with the noise that is for the label and x. Its errors
// are those, without ErrEntropy, and repeat too.
func (k *Keyed) AddNoise(x float64, label ...string) (float64, error) {
	x += 0 // one zero
	k.seed("float64 "+strconv.FormatFloat(x, 'x', -1, 64), label)
	defer k.wipe()
	return k.s.AddNoise(x)
}

// AddNoiseExact returns ⌊x/g + 1/2⌋ + n, in steps: g is the Step, and n the noise that is for
// the label and x. So it is AddNoise for a number of any size that a float64 would round. It
// is not for lattice queries.
//
// The error wraps dp.ErrInvalid or, for a tail, ErrOverflow.
func (k *Keyed) AddNoiseExact(x *big.Rat, label ...string) (*big.Int, error) {
	if k.s.table.Query() == dp.LatticeQuery {
		return nil, check.Field("sampler", "query of the table", dp.LatticeQuery, "real or integer")
	}
	k.seed("rational "+x.RatString(), label)
	defer k.wipe()
	n, err := k.s.SampleInt()
	if err != nil {
		return nil, err
	}
	steps := new(big.Rat).Quo(x, k.s.table.Grid().Step())
	index := exact.Floor(steps.Add(steps, big.NewRat(1, 2)))
	return index.Add(index, big.NewInt(n)), nil
}

// seed makes the next draw the first of the deterministic Noise with the seed of value and label.
func (k *Keyed) seed(value string, label []string) {
	k.s.gen = newFixedGenerator(k.secret.Sum(append([]string{"noise", k.table, value}, label...)...))
}

// wipe erases words and draws that were made ahead.
func (k *Keyed) wipe() {
	s := k.s
	clear(s.words[:])
	clear(s.ready[:])
	s.pos, s.wiped, s.left, s.gen = len(s.words), len(s.words), 0, nil
}
