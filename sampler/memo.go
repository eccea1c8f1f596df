// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"bytes"
	"crypto/sha256"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/keyed"
	"github.com/noisewright/noisewright/proof"
)

// Memo answers without a memory as if it had one: the answer is a function of a secret, the mechanism, the
// label and the input, so who is asked again answers the same. It is for devices whose owners are asked the same
// question many times: fresh answers would cost epsilon each time.
//
// Guarantee: for who does not know the secret, answers to different labels or inputs are independent, each
// with the law of the mechanism, up to what tells HMAC-SHA-256 and AES-256-CTR from random functions. So all
// answers under a label to one input are one release. Another input under the label is a second
// release, and answers that differ tell that the inputs do, and when they changed, which no epsilon covers.
//
// The label has what the answers are for and, where a secret is shared by several, who answers. The secret stays on
// the device: who knows it may try all inputs. A Memo is not safe for concurrent use.
type Memo struct {
	of     replayed
	secret keyed.Secret
	file   string // SHA-256 of the mechanism's
}

// replayed is a Sampler that can be had with other words.
type replayed interface {
	Sampler
	replay(g generator) Sampler
}

func (s adder) replay(g generator) Sampler {
	return adder{newNoise(s.Table(), s.law, g)}
}
func (s *answers) replay(g generator) Sampler { return s.with(g) }
func (s *drawn) replay(g generator) Sampler   { return newDrawn(s.proven, s.drawer, g) }

// NewMemo returns a Memo of a mechanism that was proved to keep its promise. The secret is 32 bytes from crypto/rand;
// one of zeros is refused, as it was forgotten. The error wraps dp.ErrInvalid.
func NewMemo(v proof.Proven, secret [32]byte) (*Memo, error) {
	if secret == [32]byte{} {
		return nil, check.Field("sampler", "secret", "zero", "32 bytes from crypto/rand")
	}
	s, err := NewDeterministic(v, secret, Options{}) // whose own words nobody draws
	if err != nil {
		return nil, err
	}
	var file bytes.Buffer
	if err := s.Mechanism().Encode(&file); err != nil {
		return nil, err
	}
	hash := sha256.Sum256(file.Bytes())
	return &Memo{s.(replayed), secret, string(hash[:])}, nil
}

// Mechanism returns the mechanism.
func (m *Memo) Mechanism() proof.Mechanism { return m.of.Mechanism() }

// Release returns the answer that is for the label and the input. Its errors are those of a Sampler, and repeat.
func (m *Memo) Release(input proof.Value, label ...string) (proof.Value, error) {
	if input == nil {
		return m.of.Release(nil)
	}
	kind, text := input.Kind(), input.String()
	if x, ok := proof.Float(input); ok { // whole numbers are integers, and the two zeros one
		kind, text = proof.Numbers, proof.Number(x+0).String()
	}
	texts := append([]string{"answer", m.file, string(kind), text}, label...)
	return m.of.replay(newFixedGenerator(m.secret.Sum(texts...))).Release(input)
}
