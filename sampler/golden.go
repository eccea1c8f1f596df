package sampler

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/tables"
)

// The rules of Golden, in the words of the document.
const (
	streamRule = "words are the keystream of AES-256 in counter mode, key = seed, IV = 16 zero bytes, read as little-endian unsigned 64-bit integers"
	drawRule   = "per draw: take a word u; the entry is the first, in the order cells ascending then atom, with u < the sum of the weights up to and including it; " +
		"take a word v and let S = points_per_cell and h·2^64 + l = v·S; while l < 2^64 mod S take another v; " +
		"the draw is 0 for the atom and offset + j·S - (S-1)/2 + h for cell j, offset being 0 unless stated; " +
		"if tail_ratio is stated and the cell is one of the first or last cells_per_sensitivity ones, take words until one is at least tail_ratio, " +
		"and for each word below it move the draw cells_per_sensitivity·S points away from 0"
)

// GoldenDraws is the customary number of draws in a Golden.
const GoldenDraws = 1000

// Golden is a deterministic stream and the draws it yields, for an
// implementation in another language to compare its own with. Stream and Draw
// state the rules, which are those of NewDeterministic.
type Golden struct {
	Stream string `json:"stream"`
	Draw   string `json:"draw"`
	// Seed is 32 bytes in hexadecimal.
	Seed string `json:"seed"`
	// Words are the first words of the stream, in decimal.
	Words []string `json:"words"`
	// Draws are the first draws, as grid points.
	Draws []int64 `json:"draws"`
}

// goldenWords is the number of words stated.
const goldenWords = 8

// NewGolden makes n draws from the table with the seed. The error wraps
// dp.ErrInvalid if there is no table or n is negative.
func NewGolden(v *tables.Verified, seed [32]byte, n int) (*Golden, error) {
	t, err := tableOf(v)
	if err != nil {
		return nil, err
	}
	return newGolden(t, seed, n)
}

func newGolden(t *tables.Table, seed [32]byte, n int) (*Golden, error) {
	if n < 0 {
		return nil, check.Field("sampler", "draws", n, "a number at least 0")
	}
	s := newSampler(t, newLaw(t), newFixedGenerator(seed), false)
	g := &Golden{Stream: streamRule, Draw: drawRule, Seed: hex.EncodeToString(seed[:]), Draws: make([]int64, n)}
	var block [blockBytes]byte
	if err := newFixedGenerator(seed).read(&block); err != nil {
		return nil, err
	}
	for i := range goldenWords {
		g.Words = append(g.Words, fmt.Sprint(binary.LittleEndian.Uint64(block[wordBytes*i:])))
	}
	if err := s.FillInt(g.Draws); err != nil {
		return nil, err
	}
	return g, nil
}

// Check draws from the table again and compares. The error wraps dp.ErrInvalid and
// names the first difference.
func (g *Golden) Check(v *tables.Verified) error {
	t, err := tableOf(v)
	if err != nil {
		return err
	}
	return g.check(t)
}

func (g *Golden) check(t *tables.Table) error {
	raw, err := hex.DecodeString(g.Seed)
	if err != nil || len(raw) != 32 {
		return check.Errorf("sampler", dp.ErrInvalid, "seed = %.80q, want 64 hexadecimal digits", g.Seed)
	}
	if g.Stream != streamRule || g.Draw != drawRule {
		return check.Errorf("sampler", dp.ErrInvalid, "golden draws follow other rules, want %q and %q", streamRule, drawRule)
	}
	want, err := newGolden(t, [32]byte(raw), len(g.Draws))
	if err != nil {
		return err
	}
	if len(g.Words) != len(want.Words) {
		return check.Errorf("sampler", dp.ErrInvalid, "golden words = %d words, want %d", len(g.Words), len(want.Words))
	}
	for i, w := range want.Words {
		if g.Words[i] != w {
			return check.Errorf("sampler", dp.ErrInvalid, "golden word %d = %.30q, want %s", i, g.Words[i], w)
		}
	}
	for i, n := range want.Draws {
		if g.Draws[i] != n {
			return check.Errorf("sampler", dp.ErrInvalid, "golden draw %d = %d, want %d", i, g.Draws[i], n)
		}
	}
	return nil
}
