// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// TestConditionsDoNotGrow: no condition takes memory that doubles with each of its parts, on the rows
// that it is about alone, so that they end a release by their memory. Whatever could is unknown.
func TestConditionsDoNotGrow(t *testing.T) {
	columns, row := []string{"x"}, []string{strings.Repeat("ab ", 13)}
	for _, where := range []string{
		`len(string(split(x, ""))) > 3`, `string(x) == "a"`, `len([1..400000]) > 3`, `x in [1..3]`, `len(repeat(x, 9)) > 3`,
		`len(replace(x, "a", x)) > 3`, `len(join([x, x])) > 3`, `let y = x + x; y == "a"`, `len(map(split(x, ""), #)) > 3`,
		`"a" matches x`, `"a" matches (trim(x) + "{999}")`, `trim(x, x) == "a"`, `len([` + strings.Repeat("lower(x), ", maxTexts) + `x]) > 3`,
		`len(lower(x)` + strings.Repeat(" + lower(x)", maxTexts/2) + `) > 3`,
	} {
		if _, err := newCondition(where, columns); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", where, err)
		}
	}
	for _, where := range []string{`x matches "a{3}"`, `trim(x, "ab") == "a"`, strings.Repeat(`lower(x) == "a" || `, maxTexts) + "x > 1"} {
		if _, err := newCondition(where, columns); err != nil {
			t.Errorf("%.40s: %v", where, err)
		}
	}
	const depth = 24 // doubled so often a text of 40 bytes has 600 MB
	for _, inner := range []string{
		"lower(%s)", "upper(lower(%s))", "trim(%s)", `split(%s, "")[0]`, `first(split(%s, "b"))`, `last(split(%s, "b"))`, `trimPrefix(%s, "a")`,
		`trimSuffix(%s, " ")`, "max([%s])", "min([%s])", "type(%s)", "first([%s])", "(%s)[0:30]",
	} {
		text := "x"
		for range depth {
			text = fmt.Sprintf(inner, text)
		}
		c, err := newCondition("len("+text+") >= 0", columns)
		if err != nil {
			continue // it takes no text
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = c.holds(row)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
			t.Errorf("%s, %d times: %d bytes", inner, depth, used)
		}
	}
}

// TestConditionsOnLargeRows: what the texts of a condition take on one row does not depend on how large a
// row somebody has written, from a bound on.
func TestConditionsOnLargeRows(t *testing.T) {
	const texts = 64 // len among them
	c, err := newCondition(`len(["a"`+strings.Repeat(`, split(x, "")`, texts-1)+`]) > 3`, []string{"x", "y"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		x, y int
		want error
	}{{maxMemory / 16 / texts, 0, nil}, {maxMemory / 16 / texts, 1, errUndecided}, {16 << 20, 0, errUndecided}} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		holds, err := c.holds([]string{strings.Repeat("x", test.x), strings.Repeat("y", test.y)})
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, test.want) || holds != (err == nil) || used > 3*maxMemory/2 {
			t.Errorf("%d and %d bytes: %v, %v, with %d bytes of memory, want %v", test.x, test.y, holds, err, used, test.want)
		}
	}
	if c, err = newCondition(`x != "a"`, []string{"x"}); err != nil {
		t.Fatal(err)
	}
	if holds, err := c.holds([]string{strings.Repeat("x", 16<<20)}); err != nil || !holds {
		t.Errorf("without texts: %v, %v", holds, err)
	}
}
