// SPDX-License-Identifier: Apache-2.0

package subset

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/keyed"
	"github.com/noisewright/noisewright/proof"
)

// Asked is a category together with the turn a of the affine set a:b that is to answer it. Where the
// turn is public, chosen without a look at the category, b alone is the answer: of ⌈log₂ modulus⌉ bits.
//
// Each turn has the privacy of the selection by itself, and if turns are independent and uniform, answers
// have its law, whoever chose them. So they may be [Selection.Turn] of a person.
type Asked struct {
	Category proof.Category
	Turn     int64
}

// Kind implements proof.Value.
func (Asked) Kind() proof.Kind { return "asked category" }

// String implements proof.Value.
func (a Asked) String() string { return fmt.Sprintf("%d:%s", a.Turn, a.Category) }

// Turn returns the public turn of a person for answers to one question: a function of a seed, which
// all may know, and of the person's name. It is 1 + one of modulus−1 numbers, drawn as in Draw by the words
// that are the first 8 bytes, little-endian, of keyed sums with the key SHA-256(seed): of "turn", the
// person, and 0, 1, … in decimal. To who chose neither seed nor name in view of the other, turns are as good as
// independent and uniform.
//
// It is 0 if the sets have no turns: answers are short by themselves then. The error wraps dp.ErrInvalid for
// no seed and no person.
func (s *Selection) Turn(seed, person string) (int64, error) {
	errs := check.In("subset")
	errs.If(seed == "", "seed", "none", "a text that all may know, for this question alone")
	errs.If(person == "", "person", "none", "a name of each person's own")
	if err := errs.Err(); err != nil || s.spec.Modulus == 0 {
		return 0, err
	}
	return int64(publicCoin(uint64(s.spec.Modulus-1), "turn", seed, person)) + 1, nil //nolint:gosec // of a modulus
}

// Pick returns the number of the one question of so many, from 0 on, that a person answers, in the place of all with
// less epsilon each: a function as Turn is, of "question" in the place of "turn". n is above 0.
func Pick(seed, person string, n int) int {
	return int(publicCoin(uint64(n), "question", seed, person)) //nolint:gosec // from 1 on, and below n
}

// publicCoin draws a number below n for a purpose and a person.
func publicCoin(n uint64, purpose, seed, person string) uint64 {
	key, i := keyed.Secret(sha256.Sum256([]byte(seed))), -1
	x, _ := newUniform(n).draw(func() (uint64, error) { // whose words never fail
		i++
		sum := key.Sum(purpose, person, strconv.Itoa(i))
		return binary.LittleEndian.Uint64(sum[:]), nil
	})
	return x
}
