// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"

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
// release, and answers that differ tell that the inputs do, and when they changed, which no epsilon covers. A mechanism of
// another law is another release too: who takes mechanisms from others has to count them.
//
// The label has what the answers are for and, where a secret is shared by several, who answers. The secret stays on
// the device: who knows it may try all inputs. A Memo is not safe for concurrent use.
type Memo struct {
	of     replayed
	secret keyed.Secret
	law    string // of the mechanism
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
	s, err := New(v, Options{Entropy: Deterministic(secret)}) // whose own words nobody draws
	if err != nil {
		return nil, err
	}
	law, err := lawOf(s.Mechanism())
	if err != nil {
		return nil, err
	}
	return &Memo{s.(replayed), secret, law}, nil
}

// lawOf returns the SHA-256 of a mechanism's file without its certificate: files that claim other bounds of one law are one mechanism.
func lawOf(m proof.Mechanism) (string, error) {
	var file bytes.Buffer
	if err := m.Encode(&file); err != nil {
		return "", err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(file.Bytes(), &fields); err != nil {
		return "", err
	}
	delete(fields, "certificate")
	text, err := json.Marshal(fields) // in the order of the names
	hash := sha256.Sum256(text)
	return string(hash[:]), err
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
	texts := append([]string{"answer", m.law, string(kind), text}, label...)
	return m.of.replay(newFixedGenerator(m.secret.Sum(texts...))).Release(input)
}
