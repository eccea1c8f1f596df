package check

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Quoted quotes a value of a message where it needs it.
func Quoted(s string) string {
	if quoted := strconv.Quote(s); strings.ContainsRune(s, ' ') || quoted != `"`+s+`"` {
		return quoted
	}
	return s
}

// maxShown is how many bytes of a text a message repeats: the text may be anything, if
// a file is not what it is taken for.
const maxShown = 40

// Shortened returns the start of a long text, of whole runes.
func Shortened(s string) string {
	if len(s) <= maxShown {
		return s
	}
	end := maxShown
	for end > maxShown-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
