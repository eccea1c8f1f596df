// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

var errShape = errors.New("not a shape")

// shape has a field of every kind that is read and written.
type shape struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Name    string    `json:"name"`
	Closed  bool      `json:"closed"`
	Area    float64   `json:"area"`
	Corners int       `json:"corners"`
	Points  int64     `json:"points"`
	Weight  uint64    `json:"weight,string"`
	Prices  []int64   `json:"prices,string"`
	Sides   []float64 `json:"sides"`
	Holes   []hole    `json:"holes,omitempty"`
	Color   *color    `json:"color,omitempty"`
}

type (
	area struct {
		Area float64 `json:"area"`
	}
	hole  struct{ area }
	color struct {
		Red int `json:"red,omitempty"`
	}
)

func decode(r io.Reader) (shape, error) {
	var s shape
	err := Decode(r, Format{
		Noun: "shape", Name: "shape", Version: 3, MaxSize: 1 << 10, Err: errShape,
		MaxElements: map[string]int{"prices": 2, "holes": 2}, Elements: 3, // of sides
	}, &s)
	return s, err
}

const good = `{"format":"shape","version":3,"name":"a \u00e9","closed":true,"area":1.5e1,"corners":-4,"points":9007199254740992,
	"weight":"18446744073709551615","prices":["9223372036854775807"],"sides":[1,-0.5],"holes":[{"area":2},{"area":0}],"color":{}}`

func TestDecode(t *testing.T) {
	s, err := decode(strings.NewReader(" " + good + "\n"))
	want := shape{"shape", 3, "a é", true, 15, -4, 1 << 53, 1<<64 - 1, []int64{1<<63 - 1}, []float64{1, -0.5}, []hole{{area{2}}, {}}, &color{}}
	if err != nil || !reflect.DeepEqual(s, want) {
		t.Errorf("%+v, %v, want %+v", s, err, want)
	}
	s, err = decode(strings.NewReader(strings.Replace(good, `[1,-0.5],"holes":[{"area":2},{"area":0}]`, `[]`, 1)))
	if err != nil || s.Sides == nil || len(s.Sides) != 0 || s.Holes != nil {
		t.Errorf("no sides and no field for holes: %#v and %#v, %v", s.Sides, s.Holes, err)
	}
}

// TestText: strings are read as encoding/json reads them, whatever pieces they come in, and
// exactly those are refused that are not text.
func TestText(t *testing.T) {
	for _, name := range []string{`é`, `\u00e9`, `\ud83d\ude00`, `\uD83D\uDE00\\ud800`, `\\\"`, `\u0000`, "\U0001F600\ufffd", `\ufffd`, `\\ud83d`} {
		text := strings.Replace(good, `a \u00e9`, name, 1)
		want, err := decode(strings.NewReader(text))
		var plain shape
		if err != nil || json.Unmarshal([]byte(`{"name":"`+name+`"}`), &plain) != nil || plain.Name != want.Name {
			t.Errorf("%s: %q, %v, want %q", name, want.Name, err, plain.Name)
		}
		if got, err := decode(iotest.OneByteReader(strings.NewReader(text))); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s, byte by byte: %v, %v, want %v", name, got, err, want)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{`\ud83d`, `\ude00`, `\u0041`, `\n`, `\\`, "a", "é", "\xc3", "\xa9", "\xf0\x9f", "\x98\x80", "\xed\xa0\x80"}
	for range 3000 {
		name := ""
		for range 1 + random.IntN(5) {
			name += pieces[random.IntN(len(pieces))]
		}
		got, err := decode(strings.NewReader(strings.Replace(good, `a \u00e9`, name, 1)))
		var plain shape
		if err := json.Unmarshal([]byte(`{"name":"`+name+`"}`), &plain); err != nil {
			t.Fatal(err)
		}
		// None of the pieces is U+FFFD.
		if text := !strings.ContainsRune(plain.Name, utf8.RuneError); text != (err == nil) || text && got.Name != plain.Name {
			t.Errorf("%q: %q, %v, and %q of encoding/json", name, got.Name, err, plain.Name)
		}
	}
}

// TestNull: a field that may be null is read as it is written, and refuses what any other does.
func TestNull(t *testing.T) {
	type canvas struct {
		Paint *color   `json:"paint" strict:"null"`
		Frame *float64 `json:"frame" strict:"null"`
		Size  *color   `json:"size"`
	}
	read := func(text string) (c canvas, err error) {
		err = Decode(strings.NewReader(text), Format{Noun: "canvas", MaxSize: 1 << 10, Err: errShape}, &c)
		return c, err
	}
	half := 0.5
	for text, want := range map[string]canvas{
		`{"paint":null,"frame":null,"size":{}}`:     {nil, nil, &color{}},
		`{"paint":{"red":3},"frame":0.5,"size":{}}`: {&color{3}, &half, &color{}},
	} {
		got, err := read(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		var b bytes.Buffer
		if err := Encode(&b, got); err != nil || b.String() != text+"\n" {
			t.Errorf("%s is written as %s, %v", text, &b, err)
		}
	}
	for text, says := range map[string]string{
		`{"paint":null,"frame":null,"size":null}`: "size = null, want an object",
		`{"paint":true,"frame":null,"size":{}}`:   "paint = true, want an object",
		`{"paint":null,"frame":"x","size":{}}`:    `frame = "x", want a number`,
		`{"frame":null,"size":{}}`:                "paint is missing",
		`{"paint":`:                               "the file ends early, in paint",
		`{"paint":{"red":null},"frame":null}`:     "paint.red = null, want a number",
	} {
		if _, err := read(text); err == nil || !errors.Is(err, errShape) || err.Error() != says {
			t.Errorf("%s: %v, want %s", text, err, says)
		}
	}
}

// TestRefuses changes one thing in a good file at a time. The messages are whole.
func TestRefuses(t *testing.T) {
	replace := func(old, with string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the file has no %q", old)
		}
		return strings.Replace(good, old, with, 1)
	}
	for _, c := range []struct{ text, says string }{
		{"", "the file ends early, in the outermost object"},
		{"null", "the outermost object = null, want an object"},
		{"[[", "the outermost object = [, want an object"},
		{"\x00", "not JSON at byte 0, in the outermost object: invalid character '\\x00' looking for beginning of value"},
		{good[:40], "the file ends early, in name"},
		{replace(`a \u00e9`, "a \xe9"), "not UTF-8 at byte 41"},
		{replace(`a \u00e9`, "a \xed\xa0\x80"), "not UTF-8 at byte 41"},
		{replace(`a \u00e9`, "a \xc3"), "not UTF-8 at byte 41"},
		{good + "\xc3\xc3", "not UTF-8 at byte"},
		{replace(`a \u00e9`, `a \ud800`), "half of a surrogate pair at byte 46"},
		{replace(`a \u00e9`, `a \uDC00 b`), "half of a surrogate pair at byte 45"},
		{replace(`a \u00e9`, `a \ud800\n`), "half of a surrogate pair at byte 47"},
		{replace(`a \u00e9`, `a \ud83d\u0041`), "half of a surrogate pair at byte 51"},
		{replace(`a \u00e9`, "a \\ud83d\xc3\xa9"), "half of a surrogate pair at byte 46"},
		{good + "{}", `data after the shape: "{" follows the shape`},
		{good + "x", "data after the shape: invalid character 'x' looking for beginning of value"},
		{good + `"x`, "data after the shape: unexpected EOF"},
		{good + strings.Repeat(" ", 1<<10), "file is larger than 1024 bytes"},
		{strings.Repeat(" ", 1<<10+1), "file is larger than 1024 bytes"},
		{replace(`"closed":true,`, ``), "closed is missing"},
		{replace(`"closed":true,`, `"closed":true,"closed":true,`), "closed stands twice"},
		{replace(`"closed"`, `"Closed"`), `"Closed" in the outermost object is not a field of the format`},
		{replace(`{"area":2}`, `{"area":2,"x":1}`), `"x" in holes[0] is not a field of the format`},
		{replace(`{"area":0}`, `{}`), "holes[1].area is missing"},
		{replace(`{"area":0}`, `{"area":null}`), "holes[1].area = null, want a number"},
		{replace(`{"area":0}`, `{"area":0},{"area":0}`), "holes has more than 2 elements"},
		{replace(`{"area":0}`, `7`), "holes[1] = 7, want an object"},
		{replace(`[1,-0.5]`, `[1,"2"]`), `sides[1] = "2", want a number`},
		{replace(`[1,-0.5]`, `[1,2,3,4]`), "sides has more than 3 elements"},
		{replace(`[1,-0.5]`, `[1,]`), "not JSON at byte"},
		{replace(`[1,-0.5]`, `[1 2]`), "not JSON at byte"},
		{replace(`[1,-0.5]`, `1`), "sides = 1, want an array"},
		{replace(`"format":"shape"`, `"format":"table"`), `format = "table", want "shape"`},
		{replace(`"version":3`, `"version":4`), "version = 4, want version 3, the one this program reads"},
		{replace(`"version":3`, `"version":3.0`), "version = 3.0, want an integer from -2147483648 to 2147483647"},
		{replace(`true`, `1`), "closed = 1, want true or false"},
		{replace(`"a \u00e9"`, `false`), "name = false, want a string"},
		{replace(`"color":{}`, `"color":null`), "color = null, want an object"},
		{replace(`1.5e1`, `1e999`), "area = 1e999, want a number in the range of float64"},
		{replace(`-4`, `2147483648`), "corners = 2147483648, want an integer from -2147483648 to 2147483647"},
		{replace(`-4`, `1e1`), "corners = 1e1, want an integer"},
		{replace(`9007199254740992`, `9007199254740993`), "points = 9007199254740993, want an integer from -9007199254740992 to 9007199254740992"},
		{replace(`"18446744073709551615"`, `"18446744073709551616"`), `weight = "18446744073709551616", want a decimal string of an integer from 0 to 2^64-1`},
		{replace(`"18446744073709551615"`, `"007"`), `weight = "007"`},
		{replace(`"18446744073709551615"`, `"+7"`), `weight = "+7"`},
		{replace(`"18446744073709551615"`, `""`), `weight = ""`},
		{replace(`"18446744073709551615"`, `7`), `weight = 7, want a string`},
		{replace(`"9223372036854775807"`, `"9223372036854775808"`), "prices[0] = 9223372036854775808, want an integer up to 2^63-1"},
		{replace(`"shape"`, `"`+strings.Repeat("é", 99)+`"`), `format = "` + strings.Repeat("é", 30) + `…", want "shape"`},
		{replace(`"closed"`, `"\u001b[2J\n\u202e"`), `"\x1b[2J\n\u202e" in the outermost object`},
	} {
		_, err := decode(strings.NewReader(c.text))
		if !errors.Is(err, errShape) || !strings.HasPrefix(err.Error(), c.says) || strings.Contains(err.Error(), errShape.Error()) {
			t.Errorf("%.60q:\n got %v\nwant %s", c.text, err, c.says)
		}
	}
}

// TestList: an outermost array is named in messages, and its objects may lack fields, and nothing else.
func TestList(t *testing.T) {
	read := func(text string) (list []shape, err error) {
		err = Decode(strings.NewReader(text), Format{
			List: "shapes", Noun: "list", MaxElements: map[string]int{"shapes": 2}, Elements: 3, MaxSize: 1 << 10, Err: errShape,
		}, &list)
		return list, err
	}
	got, err := read(`[{"name":"a","sides":[1,2,3]},{}]`)
	if want := []shape{{Name: "a", Sides: []float64{1, 2, 3}}, {}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for _, c := range []struct{ text, says string }{
		{`{}`, "shapes = {, want an array"},
		{`null`, "shapes = null, want an array"},
		{`[{"area":1}`, "the file ends early, in shapes"},
		{`[{},{},{}]`, "shapes has more than 2 elements"},
		{`[{},7]`, "shapes[1] = 7, want an object"},
		{`[{},{"area":1,"area":2}]`, "shapes[1].area stands twice"},
		{`[{"Area":1}]`, `"Area" in shapes[0] is not a field of the format`},
		{`[{"optional":["x"],"x":1}]`, `"optional" in shapes[0] is not a field of the format`},
		{`[{"area":null}]`, "shapes[0].area = null, want a number"},
		{`[] []`, `data after the list: "[" follows the list`},
	} {
		if _, err := read(c.text); !errors.Is(err, errShape) || err.Error() != c.says {
			t.Errorf("%s:\n got %v\nwant %s", c.text, err, c.says)
		}
	}
}

// TestOptional: what a file calls optional changes nothing of what is read, and nothing else is let pass.
func TestOptional(t *testing.T) {
	want, err := decode(strings.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	with := func(list, more string) string {
		return strings.Replace(good, `{"format":"shape",`, `{"format":"shape","optional":`+list+","+more, 1)
	}
	deep := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	for _, text := range []string{
		with(`[]`, ``),
		with(`["made_by"]`, ``),
		with(`["made_by"]`, `"made_by":null,`),
		with(`["made_by","since_2"]`, `"since_2":-1e999,"made_by":{"version":4,"format":"x","area":[{"area":7},{"area":7,"area":8}]},`),
		with(`["area","corners"]`, ``), // which this reader knows, and reads as ever
		with(`["x"]`, `"x":`+deep(maxDepth)+`,`),
		with(`["x"]`, `"x":[`+strings.Repeat(`{},`, 50)+`"]"],`),
		strings.Replace(with(`["x"]`, ``), `"color":{}`, `"color":{},"x":"at the end"`, 1),
	} {
		if got, err := decode(strings.NewReader(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	many := strings.TrimSuffix(strings.Repeat(`"x",`, maxOptional+1), ",")
	for _, c := range []struct{ text, says string }{
		{with(`["x"]`, `"y":1,`), `"y" in the outermost object is not a field of the format`},
		{with(`["x"]`, `"X":1,`), `"X" in the outermost object is not a field of the format`},
		{strings.Replace(with(`["x"]`, ``), `{"area":0}`, `{"area":0,"x":1}`, 1), `"x" in holes[1] is not a field of the format`},
		{strings.Replace(good, `"color":{}`, `"x":1,"optional":["x"]`, 1), `"x" in the outermost object is not a field of the format`},
		{strings.Replace(good, `"color":{}`, `"color":{"optional":["x"]}`, 1), `"optional" in color is not a field of the format`},
		{with(`["x"]`, `"x":1,"x":1,`), "x stands twice"},
		{with(`["x"]`, `"optional":["y"],`), "optional stands twice"},
		{with(`[]`, `"optional":[],`), "optional stands twice"},
		{with(`["x","x"]`, ``), `optional[1] = "x", want another name`},
		{with(`["optional"]`, ``), `optional[0] = "optional", want another name`},
		{with(`["Area"]`, `"Area":1,`), `optional[0] = "Area", want another name, of up to 64 small letters, digits and _`},
		{with(`["ar\u0000a"]`, ``), `optional[0] = "ar`},
		{with(`[""]`, ``), `optional[0] = ""`},
		{with(`[7]`, ``), "optional[0] = 7, want a string"},
		{with(`"x"`, `"x":1,`), `optional = "x", want an array`},
		{with(`null`, ``), `optional = null, want an array`},
		{with(`[`+many+`]`, ``), "optional has more than 64 elements"},
		{with(`["area"]`, `"area":"x",`), `area = "x", want a number`},
		{strings.Replace(with(`["area"]`, ``), `"area":1.5e1,`, ``, 1), "area is missing"},
		{with(`["version"]`, `"version":4,`), "version = 4, want version 3"},
		{with(`["x"]`, `"x":`+deep(maxDepth+1)+`,`), "x has arrays and objects more than 16 deep in each other"},
		{with(`["x"]`, `"x":[1,},`), "not JSON at byte"},
		{with(`["x"]`, `"x":"\ud800",`), "half of a surrogate pair"},
		{`{"optional":["x"],"x":[1,{"y":`, "the file ends early, in x"},
	} {
		if _, err := decode(strings.NewReader(c.text)); !errors.Is(err, errShape) || !strings.HasPrefix(err.Error(), c.says) {
			t.Errorf("%s:\n got %v\nwant %s", c.text, err, c.says)
		}
	}
}

// TestReaderErrors: an error of the reader is no fault of the file, wherever it comes.
func TestReaderErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, n := range []int{0, 50, len(good)} {
		r := io.MultiReader(strings.NewReader(good[:n]), errReader{broken})
		if _, err := decode(r); !errors.Is(err, broken) || errors.Is(err, errShape) {
			t.Errorf("after %d bytes: %v, want the reader's error", n, err)
		}
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// FuzzDecode: what is accepted is JSON, encoding/json reads the same in it, and it is
// written to be read again.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(strings.ReplaceAll(good, "1", "null")))
	f.Add([]byte("[[[[{}"))
	f.Add([]byte(strings.Replace(good, `{`, `{"optional":["x","area"],"x":[{"area":2},null],`, 1)))
	f.Add([]byte(strings.Replace(good, `{`, `{"optional":["x","Area"],"x":{},`, 1)))
	f.Fuzz(func(t *testing.T, text []byte) {
		one, err := decode(strings.NewReader(string(text)))
		if err != nil {
			return
		}
		var two struct {
			shape
			Prices []string `json:"prices"`
		}
		if err := json.Unmarshal(text, &two); err != nil || fmt.Sprint(two.Prices) != fmt.Sprint(one.Prices) {
			t.Fatalf("%+v, encoding/json reads %+v, %v", one, two, err)
		}
		if two.shape.Prices = one.Prices; !reflect.DeepEqual(one, two.shape) {
			t.Fatalf("%+v, encoding/json reads %+v", one, two)
		}
		var b bytes.Buffer
		if err := Encode(&b, one); err != nil {
			t.Fatal(err)
		}
		if len(one.Holes) == 0 {
			one.Holes = nil // not written
		}
		again, err := decode(&b)
		if large := err != nil && strings.Contains(err.Error(), "larger"); !large && !reflect.DeepEqual(one, again) {
			t.Fatalf("%+v, written and read %+v, %v", one, again, err)
		}
	})
}
