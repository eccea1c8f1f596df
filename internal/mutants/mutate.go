// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path"
	"regexp"
	"strings"
)

// mutant is a change of a source file: the bytes from start to end are other ones.
type mutant struct {
	file       string
	source     string
	start, end int
	with       string
	line       int
	function   string        // or the variable or constant of the package that it is in
	name       string        // of the mutation
	text       string        // the expression or the statement that is changed
	rank       uint64        // in the order of trying
	number     int           // in the queue, from 1
	place      int           // of the function, from 1
	in         *ast.FuncDecl // nil for a variable or a constant of the package
}

func (m mutant) pkg() string { return path.Dir(m.file) }
func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s | %s | %s", m.file, m.line, m.function, m.name, m.text)
}

// keys are those by which the list may know it: by what is changed and how, by what is changed, by its
// function, or by its file. Nothing that is written elsewhere is in one, nor, but for the last, in which file.
func (m mutant) keys() []string {
	var keys []string
	for _, words := range [][]string{{m.pkg(), m.function, m.name, m.text}, {m.pkg(), m.function, "*", m.text}, {m.pkg(), m.function, "*", "*"}, {m.file, "*", "*", "*"}} {
		keys = append(keys, strings.Join(words, "\t"))
	}
	return keys
}

// mutantsOf returns all mutants of the files that make a package.
func mutantsOf(dir string) (all []mutant, err error) {
	p, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	for _, name := range p.GoFiles {
		m := &mutator{file: path.Join(dir, name), files: token.NewFileSet(), times: make(map[string]int)}
		raw, err := os.ReadFile(m.file)
		if err != nil {
			return nil, err
		}
		m.source = string(raw)
		f, err := parser.ParseFile(m.files, m.file, raw, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.PreorderStack(f, nil, m.visit)
		all = append(all, m.found...)
	}
	return all, nil
}

type mutator struct {
	file, source string
	files        *token.FileSet
	found        []mutant
	function     string
	in           *ast.FuncDecl
	times        map[string]int // of the same mutation of the same text in a function
}

func (m *mutator) textOf(n ast.Node) string { return textOf(m.source, n) }

// offset is where a node of a file stands that is the only one of its set.
func offset(p token.Pos) int { return int(p) - 1 }

func textOf(source string, n ast.Node) string { return source[offset(n.Pos()):offset(n.End())] }

// functionOf is what is declared: a function with the type of its receiver, or the first of some values.
func (m *mutator) functionOf(n ast.Node) string {
	switch n := n.(type) {
	case *ast.FuncDecl:
		if n.Recv != nil {
			return strings.TrimPrefix(m.textOf(n.Recv.List[0].Type), "*") + "." + n.Name.Name
		}
		return n.Name.Name
	case *ast.ValueSpec:
		return n.Names[0].Name
	}
	return ""
}

// around is the expression or the statement that says what a node means: a number and a name are part of one.
func around(n ast.Node, stack []ast.Node) ast.Node {
	for i := len(stack) - 1; i >= 0; i-- {
		switch n.(type) {
		case *ast.BasicLit, *ast.Ident, *ast.SelectorExpr, *ast.ParenExpr:
			n = stack[i]
		}
	}
	return n
}

// add notes a change of the source from one place to another.
func (m *mutator) add(name string, of ast.Node, from, to token.Pos, with string) {
	text := strings.Join(strings.Fields(m.textOf(of)), " ")
	key := fmt.Sprint(m.function, "\t", name, "\t", text)
	m.times[key]++
	if n := m.times[key]; n > 1 {
		name += fmt.Sprintf(" (%d)", n)
	}
	m.found = append(m.found, mutant{
		file: m.file, source: m.source, start: offset(from), end: offset(to), with: with, line: m.files.Position(from).Line,
		function: m.function, name: name, text: text, in: m.in,
	})
}

// operators are what stands in the place of each.
var operators = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR}, token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL}, token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL},
	token.SHL: {token.SHR}, token.SHR: {token.SHL}, token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN}, token.INC: {token.DEC}, token.DEC: {token.INC},
}

// opposites turn the ends of names around that round, bound or go in a direction.
var opposites = strings.NewReplacer("Up ", "Down", "Down ", "Up", "Upper ", "Lower", "Lower ", "Upper", "Floor ", "Ceil", "Ceil ", "Floor",
	"min ", "max", "max ", "min", "Min ", "Max", "Max ", "Min", "Add ", "Sub", "Sub ", "Add", "Lsh ", "Rsh", "Rsh ", "Lsh", "true ", "false", "false ", "true")

var (
	// quiet are calls whose arguments are words for people, or limits of work.
	quiet = regexp.MustCompile(`^(Errorf|Sprintf|Sprint|Field|Bad|Badf|bad|broken|panic|make|Spend|WorkOf|RationalWork|Inf)$`)
	// passed are conditions under which an error, or the end of a limit, is passed on. What is joined to one
	// by && or || is none.
	passed = regexp.MustCompile(`^\w*[eE]rr [!=]= nil$|^[^&|{]*(Spend\(|ctx\.Err|\bm\.Go\(\))[^&|{]*$`)
	// nothing are returns without a result.
	nothing = regexp.MustCompile(`^return .*\berr$|^return nil,`)
	// limits are names of constants that bound sizes and work.
	limits = regexp.MustCompile(`(?i)^(max|most|least|default)|work$`)
)

func (m *mutator) visit(n ast.Node, stack []ast.Node) bool {
	if len(stack) <= 2 && m.functionOf(n) != "" { // a declaration of the package
		m.function = m.functionOf(n)
		m.in, _ = n.(*ast.FuncDecl)
	}
	add := func(name string, from, to token.Pos, with string) { m.add(name, around(n, stack), from, to, with) }
	swap := func(op token.Token, at token.Pos) {
		for _, other := range operators[op] {
			add(fmt.Sprintf("%s to %s", op, other), at, at+token.Pos(len(op.String())), other.String())
		}
	}
	remove := func() { add("removed", n.Pos(), n.End(), "") }
	if e, ok := n.(ast.Expr); ok && passed.MatchString(m.textOf(e)) {
		return false
	}
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.TypeSpec, *ast.FuncType:
		return false
	case *ast.ValueSpec:
		return !limits.MatchString(n.Names[0].Name)
	case *ast.ReturnStmt:
		return !nothing.MatchString(m.textOf(n))
	case *ast.CallExpr:
		name := m.textOf(n.Fun)
		return !quiet.MatchString(name[strings.LastIndex(name, ".")+1:])
	case *ast.BinaryExpr:
		swap(n.Op, n.OpPos)
	case *ast.IncDecStmt:
		swap(n.Tok, n.TokPos)
	case *ast.AssignStmt:
		swap(n.Tok, n.TokPos)
		if n.Tok != token.DEFINE {
			remove()
		}
	case *ast.ExprStmt, *ast.DeferStmt:
		remove()
	case *ast.IfStmt:
		if !passed.MatchString(m.textOf(n.Cond)) {
			m.add("negated", n.Cond, n.Cond.Pos(), n.Cond.End(), "!("+m.textOf(n.Cond)+")")
			m.add("never", n.Cond, n.Cond.Pos(), n.Cond.End(), "("+m.textOf(n.Cond)+") && false")
		}
	case *ast.UnaryExpr:
		if n.Op == token.SUB || n.Op == token.NOT {
			add("no "+n.Op.String(), n.OpPos, n.OpPos+1, "")
		}
	case *ast.BasicLit:
		switch n.Kind { //nolint:exhaustive // numbers
		case token.INT:
			add("one more", n.Pos(), n.End(), "("+n.Value+"+1)")
		case token.FLOAT:
			if strings.Trim(n.Value, "0.") == "" {
				return true // half of it is the same
			}
			add("half", n.Pos(), n.End(), "("+n.Value+"*0.5)")
			add("double", n.Pos(), n.End(), "("+n.Value+"*2)")
		}
	case *ast.Ident:
		switch stack[len(stack)-1].(type) {
		case *ast.FuncDecl, *ast.Field: // a name that is given
			return true
		}
		if other := opposites.Replace(n.Name + " "); other != n.Name+" " {
			add(n.Name+" to "+other, n.Pos(), n.End(), other)
		}
	case *ast.BranchStmt:
		if n.Label == nil && n.Tok != token.FALLTHROUGH {
			remove()
		}
	}
	return true
}
