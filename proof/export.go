package proof

import "fmt"

// Exporter is a channel that is written out for other implementations, which check
// themselves against it.
type Exporter interface {
	Channel
	// Export returns what encoding/json writes out: the laws, and n draws of the
	// deterministic stream with the rule by which its words become draws. How the stream is
	// made is stated by the golden, beside which the rule is to stand.
	Export(bounds Bounds, g Golden, s Stream, n int) (any, error)
}

// Stream is the draws of a deterministic stream of words.
type Stream interface {
	// Anew begins the stream anew.
	Anew()
	// Draw returns an answer of the rows, and one of its points.
	Draw(c Choice) (answer int, point int64, err error)
}

// Golden says what a deterministic stream is, and how draws are made of it.
type Golden struct {
	Stream string `json:"stream"`
	Draw   string `json:"draw"`
	// Seed is 32 bytes in hexadecimal.
	Seed string `json:"seed"`
	// Words are the first words of the stream, in decimal.
	Words []string `json:"words"`
}

// ExportedWeight is a weight as exports state it.
type ExportedWeight struct {
	// Weight out of 2^64, exact.
	Weight string `json:"weight"`
	// Probability is Weight/2^64 to the nearest float64.
	Probability float64 `json:"probability"`
}

// ExportedTotal is the sum of the weights of a law, 2^64.
const ExportedTotal = "18446744073709551616"

// ExportWeight states a weight.
func ExportWeight(w uint64) ExportedWeight {
	return ExportedWeight{fmt.Sprint(w), float64(w) * 0x1p-64}
}
