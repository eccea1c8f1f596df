// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// TestAnswersFitLedgers: how large an answer is depends on the draw, so a query whose answer might be too large for a ledger is
// refused before it is charged, and the largest there may be fits with room.
func TestAnswersFitLedgers(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const ledgers = 128 << 20
	largest := Query{Kind: Histogram, By: "city", Epsilon: 1, Neighbors: dp.AddRemove, Keys: largestKeys()}
	edges := Query{Kind: Quantile, Column: "age", Lower: -1e100, Upper: 1e100 / 3, Probability: 0.5, Candidates: 2, By: "city", Epsilon: 1, Neighbors: dp.AddRemove}
	for i := range maxGroups {
		edges.Keys = append(edges.Keys, strings.Repeat("<", maxText/maxGroups-8)+string(rune('a'+i%26))+string(rune(0x4e00+i/26)))
	}
	for _, q := range []Query{largest, edges} {
		if err := q.Validate(); err != nil {
			t.Fatalf("%.200s", err)
		}
		text, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		// The query and every key once more, and 400 bytes for the numbers of a group and all else.
		if size := 2*len(text) + 400*(len(q.Keys)+1); size > ledgers {
			t.Errorf("%d keys: an answer may have %d bytes, want at most %d", len(q.Keys), size, ledgers)
		}
	}
	for name, change := range map[string]func(q *Query){
		"keys": func(q *Query) { q.Keys[len(q.Keys)-1] = "bb" }, "by": func(q *Query) { q.By += "y" }, "column": func(q *Query) { q.Column = "c" },
		"where": func(q *Query) { q.Where = "t" }, "person": func(q *Query) { q.Person = "p"; q.MaxPerPerson = 1 }, "name": func(q *Query) { q.Name = "n" },
	} {
		q := largest
		q.Keys = largestKeys()
		if err := q.Validate(); err != nil {
			t.Fatalf("%.200s", err)
		}
		if change(&q); !errors.Is(q.Validate(), dp.ErrInvalid) || !strings.Contains(q.Validate().Error(), "texts = 4194305, want at most 4194304 bytes") {
			t.Errorf("%s: %.200s", name, q.Validate())
		}
	}
}

// TestPersonsWithBlanks: a person's name with blanks around it is the person's, who is not two.
func TestPersonsWithBlanks(t *testing.T) {
	q := Query{Kind: Count, Person: "id", MaxPerPerson: 1, Epsilon: 1, Neighbors: dp.AddRemove}
	d := read(t, q, [][]string{{"7", "a", "1"}, {" 7", "a", "1"}, {"7 ", "a", "1"}, {"8", "a", "1"}})
	if n := d.tallies[0].n; n != 2 {
		t.Errorf("%d rows of two persons count, want one of each", n)
	}
}

// TestUnreadableIsOtherData: rows that are read and those that are not have different digests, whatever their texts are.
func TestUnreadableIsOtherData(t *testing.T) {
	type row struct{ City string }
	q := Query{Kind: Count, Epsilon: 1, Neighbors: dp.AddRemove}
	seen := map[string]int{}
	for i, rows := range [][]*row{{nil}, {{}}, {{}, nil}, {nil, {}}, {}} {
		_, digest, err := ReadData(t.Context(), rows, q)
		if err != nil {
			t.Fatal(err)
		}
		if other, found := seen[digest]; found {
			t.Errorf("data %d and %d have one digest", other, i)
		}
		seen[digest] = i
	}
}

// largestKeys are keys of as many bytes as there may be beside a column of 4, the last one "b".
func largestKeys() (keys []string) {
	for left := maxText - 5; left > 0; left -= longestKey {
		keys = append(keys, fmt.Sprintf("%05d", len(keys))+strings.Repeat("<", min(left, longestKey)-5))
	}
	return append(keys, "b")
}
