// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
)

// condition decides which rows count. It sees the texts of one row and nothing else, so
// that one row more or less changes what is decided of no other.
type condition struct {
	program *vm.Program
	env     map[string]any
	at      map[string]int // of the columns in env
	longest int            // row in bytes that it decides about
}

// newCondition compiles an expression of the language of expr-lang.org over the columns,
// which are texts. A column next to a number, as in age >= 30, is read as one; a column
// whose name is no identifier is $env["hours-per-week"]. "" is nil, for every row.
func newCondition(text string, columns []string) (*condition, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // as said
	}
	times := make(map[string]int, len(columns))
	c := &condition{env: make(map[string]any, len(columns)+1), at: make(map[string]int, len(columns))}
	for i, name := range columns {
		for _, name := range slices.Compact([]string{name, strings.TrimSpace(name)}) {
			times[name]++
			c.env[name], c.at[name] = "", i
		}
	}
	maps.DeleteFunc(times, func(_ string, n int) bool { return n == 1 })
	for name := range times { // nobody knows which one is meant
		delete(c.env, name)
		delete(c.at, name)
	}
	reader := "number"
	for c.env[reader] != nil || times[reader] > 0 {
		reader += " "
	}
	c.env[reader] = number
	growth := &growing{reader: reader}
	options := []expr.Option{expr.Env(c.env), expr.AsBool(), expr.Patch(numbers{reader}), expr.Patch(growth), expr.DisableAllBuiltins()}
	for _, name := range builtins {
		options = append(options, expr.EnableBuiltin(name))
	}
	program, err := expr.Compile(text, options...)
	switch {
	case err != nil:
	case growth.found:
		err = errors.New("variables, loops, ranges and patterns or characters to trim that are not written out are not known")
	case growth.texts > maxTexts:
		err = fmt.Errorf("more than %d functions and additions", maxTexts)
	}
	if err != nil {
		sentence, _, _ := strings.Cut(err.Error(), "\n")
		if e, ok := errors.AsType[*file.Error](err); ok {
			sentence = e.Message
		}
		switch sentence {
		case `unexpected token Operator("=")`:
			sentence = "= compares nothing (== does)"
		case `unexpected token Operator("&")`:
			sentence = "& joins nothing (&& and the word and do)"
		}
		if name, unknown := strings.CutPrefix(sentence, "unknown name "); unknown {
			if n := times[name]; n > 1 {
				sentence = fmt.Sprintf("%d columns are called %s", n, check.Quoted(name))
			} else {
				sentence += ", there are " + check.Shortened(strings.Join(columns, ", "))
			}
		}
		for _, name := range columns {
			if !identifier.MatchString(name) && strings.Contains(text, name) {
				sentence += fmt.Sprintf(" (that column is $env[%q])", name)
				break
			}
		}
		return nil, check.Errorf("release", dp.ErrInvalid, "where = %s: %s, want an expression of the columns such as age >= 30 && sex == \"F\"", check.Quoted(check.Shortened(text)), sentence)
	}
	c.program, c.longest = program, maxMemory/16/max(growth.texts, 1)
	if growth.texts == 0 {
		c.longest = math.MaxInt
	}
	return c, nil
}

// builtins are the functions of conditions. The decision about a row must depend on the row
// alone: none of them knows the time or the order of a map. And it must not take long, nor much
// memory, on some rows only, which would tell that they are there: none of them loops or makes a
// text longer, again and again. So string is none of them: string(split(x, "")) has twice the
// characters of x.
var builtins = []string{
	"abs", "ceil", "first", "float", "floor", "hasPrefix", "hasSuffix", "indexOf", "int", "last", "lastIndexOf", "len", "lower",
	"max", "min", "round", "split", "trim", "trimPrefix", "trimSuffix", "type", "upper",
}

// maxTexts bounds the texts that a condition makes of those of a row, and with maxMemory, in bytes, its
// memory: a text has no more than 16 bytes for each of the row's, which are those of a part of one byte.
const (
	maxTexts  = 100
	maxMemory = 64 << 20
)

// growing finds loops, ranges, and declarations, by which a short expression doubles a text many
// times, patterns that a row has a part in: a few characters of one take 100 MB, and characters to trim of a
// row's own, which are compared with all of another. It counts what makes a text.
type growing struct {
	reader string
	found  bool
	texts  int
}

// Visit implements ast.Visitor.
func (v *growing) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.VariableDeclaratorNode, *ast.SequenceNode, *ast.PredicateNode:
		v.found = true
	case *ast.BuiltinNode:
		v.texts++
		if n.Name == "trim" && len(n.Arguments) > 1 {
			_, written := n.Arguments[1].(*ast.StringNode)
			v.found = v.found || !written
		}
	case *ast.CallNode:
		if name, ok := n.Callee.(*ast.IdentifierNode); !ok || name.Value != v.reader {
			v.texts++
		}
	case *ast.BinaryNode:
		_, written := n.Right.(*ast.StringNode)
		v.found = v.found || n.Operator == ".." || n.Operator == "matches" && !written
		if n.Operator == "+" {
			v.texts++
		}
	}
}

// identifier is what a column has to be called to stand in a condition as it is.
var identifier = regexp.MustCompile(`^[\pL_$][\pL\pN_$]*$`)

var (
	errNoNumber  = errors.New("not a finite number")
	errUndecided = errors.New("cannot be decided: a text where it wants a finite number, perhaps")
)

// number reads a finite number.
func number(text string) (float64, error) {
	v, err := csvfile.Number(text)
	if err != nil {
		return 0, errNoNumber
	}
	return v, nil
}

// numbers makes a column a number where it stands next to one, and two columns where they
// are compared by size or added.
type numbers struct{ reader string }

// Visit implements ast.Visitor.
func (r numbers) Visit(node *ast.Node) {
	read := func(column *ast.Node) {
		*column = &ast.CallNode{Callee: &ast.IdentifierNode{Value: r.reader}, Arguments: []ast.Node{*column}}
	}
	switch n := (*node).(type) {
	case *ast.UnaryNode:
		if n.Operator == "-" && kind(n.Node) == reflect.String {
			read(&n.Node)
		}
	case *ast.BinaryNode:
		left, right := kind(n.Left), kind(n.Right)
		_, literalLeft := n.Left.(*ast.StringNode)
		_, literalRight := n.Right.(*ast.StringNode)
		switch {
		case left == reflect.String && (right == reflect.Int || right == reflect.Float64):
			read(&n.Left)
		case right == reflect.String && (left == reflect.Int || left == reflect.Float64):
			read(&n.Right)
		case left == reflect.String && right == reflect.String && !literalLeft && !literalRight && slices.Contains(numeric, n.Operator):
			read(&n.Left)
			read(&n.Right)
		}
	}
}

// numeric are the operators that texts have too, with another meaning.
var numeric = []string{"<", "<=", ">", ">=", "+"}

func kind(n ast.Node) reflect.Kind {
	switch n := n.(type) {
	case *ast.IntegerNode:
		return reflect.Int
	case *ast.FloatNode:
		return reflect.Float64
	case *ast.UnaryNode:
		return kind(n.Node)
	case *ast.CallNode: // not typed yet if put in by this patch
		if name, ok := n.Callee.(*ast.IdentifierNode); ok && strings.TrimRight(name.Value, " ") == "number" {
			return reflect.Float64
		}
	case *ast.BinaryNode:
		if slices.Contains([]string{"+", "-", "*", "/", "%", "**", "^"}, n.Operator) && (kind(n.Left) == reflect.Float64 || kind(n.Right) == reflect.Float64) {
			return reflect.Float64
		}
	}
	if n.Type() == nil {
		return reflect.Invalid
	}
	return n.Type().Kind()
}

// holds decides about a row. It fails where it cannot, such as of a text that has to be a number.
func (c *condition) holds(row []string) (bool, error) {
	if c == nil {
		return true, nil
	}
	bytes := 0
	for _, text := range row {
		bytes += len(text)
	}
	if bytes > c.longest {
		return false, errUndecided
	}
	for name, i := range c.at {
		c.env[name] = row[i]
	}
	out, err := expr.Run(c.program, c.env)
	decision, ok := out.(bool)
	if err != nil || !ok {
		return false, errUndecided // its own text may quote the row
	}
	return decision, nil
}
