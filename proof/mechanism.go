// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"context"
	"io"
	"math/big"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/loss"
)

// Mechanism is what randomizes an input and can be proved to be private. It does not change
// and is safe for concurrent use. A package of a form has a type for it, such as
// *tables.Table; where its answers have finitely many laws it is a [Channel] too.
type Mechanism interface {
	// Form is what it is one of. It may be asked of a nil pointer.
	Form() Form
	// Privacy is the promise. A sensitivity of 0 says that any two inputs are neighbors.
	Privacy() dp.Privacy
	// Loss is what an answer costs, nil where it is not a function of an error.
	Loss() loss.Loss
	// Inputs and Answers describe what goes in and what comes out.
	Inputs() Space
	Answers() Space
	// Encode writes its file.
	Encode(w io.Writer) error
	// Prove is [Verify]: it returns a *Verified of the form, or why there is none.
	Prove(ctx context.Context, o Options) (Proven, error)
}

// Lossy is a mechanism with laws that its privacy loss is about.
type Lossy interface {
	Mechanism
	// Rows returns the laws, a copy: integer weights of the answers, 2^64 in each law.
	Rows() [][]uint64
	// Pairs returns ordered pairs of rows, both orders of each: the divergences of all neighbors
	// are at most the largest of all, and the largest of own is at most that of neighbors.
	Pairs() (all, own []Pair)
}

// Channel is a mechanism that answers an input by a draw from one of finitely many laws over the
// same answers. What its privacy loss is about, and how answers are drawn, follows from these.
type Channel interface {
	Lossy
	// Input returns an input that a row answers.
	Input(row int) Value
	// Choose returns which row answers an input. The error wraps dp.ErrInvalid for one
	// that is not of the Inputs, and says of it only that.
	Choose(input Value) (Choice, error)
	// Points is how many equally likely points an answer of the rows stands for; 0: for itself.
	Points() int64
	// Answer returns the value of an answer of the rows to an input of this choice, and of
	// one of its points, from 0 on.
	Answer(c Choice, answer int, point int64) Value
}

// Drawer is a mechanism with too many answers to list: it draws them itself. One that is not Lossy too
// is accounted for by its promise alone.
type Drawer interface {
	Mechanism
	// Draw answers an input by independent uniform words. The error wraps dp.ErrInvalid for
	// an input that is not of the Inputs, before a word is asked for, and says of it only that;
	// or is that of a word.
	Draw(input Value, word func() (uint64, error)) (Value, error)
}

// Pair is a pair of neighbors P and Q: the law Gain, and the law Lose moved by so many
// answers to the right.
type Pair struct{ Gain, Lose, Shift int }

// Choice is which row answers an input.
type Choice struct {
	Row int
	// Rounded says that the input X lies between two inputs that are numbers, Low of Row and High
	// of Row+1: that row answers with the probability (X−Low)/(High−Low), of these float64s
	// exactly; with 0 if X is Low, whether there is a High or not.
	Rounded bool
	X       float64
	// Base is what noise is added to.
	Base int64
}

// Bounds are what certificates of every form have. All but the lower bound are rounded up.
type Bounds struct {
	Delta *big.Rat
	// Loss is the expected loss that the mechanism is to make small, and LowerBound is
	// below that of every mechanism for the same problem.
	Loss, LowerBound *big.Rat
	// Worst is the largest expected loss of an input; nil where that of all is the same.
	Worst *big.Rat
}

// Gap returns (Loss-LowerBound)/LowerBound, the relative distance from the best possible, and
// false when the lower bound is 0 and the loss is not.
func (b Bounds) Gap() (gap float64, ok bool) {
	if b.LowerBound.Sign() <= 0 {
		return 0, b.Loss.Sign() == 0
	}
	r := new(big.Rat).Sub(b.Loss, b.LowerBound)
	gap, _ = r.Quo(r, b.LowerBound).Float64()
	return gap, true
}

// Exporter is a Channel or a Drawer written out for other implementations, to check themselves against.
type Exporter interface {
	Mechanism
	// Export returns what encoding/json writes out: the laws, and n draws of the
	// deterministic stream with the rule by which its words become draws. How the stream is
	// made is stated by the golden, beside which the rule is to stand.
	Export(bounds Bounds, g formfile.Golden, s Stream, n int) (any, error)
}

// Stream is the draws of a deterministic stream of words.
type Stream interface {
	// Anew begins the stream anew.
	Anew()
	// Release answers an input.
	Release(input Value) (Value, error)
	// Draw returns an answer of the rows of a Channel, and one of its points.
	Draw(c Choice) (answer int, point int64, err error)
}
