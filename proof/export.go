package proof

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
