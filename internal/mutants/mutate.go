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
	name       string // of the mutation
	rank       uint64 // in the order of trying
}

func (m mutant) pkg() string     { return path.Dir(m.file) }
func (m mutant) changed() []byte { return []byte(m.source[:m.start] + m.with + m.source[m.end:]) }
func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s", m.file, m.line, strings.ReplaceAll(m.keys()[0], "\t", " | "))
}

// keys are those by which the list may know it: by the mutation and the source of its line, for line
// numbers move; by either; or by its file.
func (m mutant) keys() []string {
	text := strings.Join(strings.Fields(strings.Split(m.source, "\n")[m.line-1]), " ")
	return []string{m.file + "\t" + m.name + "\t" + text, m.file + "\t*\t" + text, m.file + "\t" + m.name + "\t*", m.file + "\t*\t*"}
}

// mutantsOf returns all mutants of the files that make a package.
func mutantsOf(dir string) (all []mutant, err error) {
	p, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	for _, name := range p.GoFiles {
		m := &mutator{file: path.Join(dir, name), times: make(map[string]int)}
		raw, err := os.ReadFile(m.file)
		if err != nil {
			return nil, err
		}
		m.source = string(raw)
		f, err := parser.ParseFile(&m.files, m.file, raw, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(f, m.visit)
		all = append(all, m.found...)
	}
	return all, nil
}

type mutator struct {
	file, source string
	files        token.FileSet
	found        []mutant
	times        map[string]int // of a mutation in a line
}

func (m *mutator) offset(p token.Pos) int   { return m.files.Position(p).Offset }
func (m *mutator) textOf(n ast.Node) string { return m.source[m.offset(n.Pos()):m.offset(n.End())] }

// add notes a change of the source from one place to another.
func (m *mutator) add(name string, from, to token.Pos, with string) {
	line := m.files.Position(from).Line
	key := fmt.Sprint(name, line)
	m.times[key]++
	if n := m.times[key]; n > 1 {
		name += fmt.Sprintf(" (%d)", n)
	}
	m.found = append(m.found, mutant{file: m.file, source: m.source, start: m.offset(from), end: m.offset(to), with: with, line: line, name: name})
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
	// passed are conditions under which an error, or the end of a limit, is passed on.
	passed = regexp.MustCompile(`\berr\b.* [!=]= nil|Spend\(|ctx\.Err|\bm\.Go\(\)`)
	// nothing are returns without a result.
	nothing = regexp.MustCompile(`^return .*\berr$|^return nil,`)
	// limits are names of constants that bound sizes and work.
	limits = regexp.MustCompile(`(?i)^(max|most|least|default)|work$`)
)

func (m *mutator) visit(n ast.Node) bool {
	swap := func(op token.Token, at token.Pos) {
		for _, other := range operators[op] {
			m.add(fmt.Sprintf("%s to %s", op, other), at, at+token.Pos(len(op.String())), other.String())
		}
	}
	remove := func() { m.add("removed", n.Pos(), n.End(), "") }
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
		if passed.MatchString(m.textOf(n.Cond)) {
			ast.Inspect(n.Body, m.visit)
			return false
		}
		m.add("negated", n.Cond.Pos(), n.Cond.End(), "!("+m.textOf(n.Cond)+")")
		m.add("never", n.Cond.Pos(), n.Cond.End(), "("+m.textOf(n.Cond)+") && false")
	case *ast.UnaryExpr:
		if n.Op == token.SUB || n.Op == token.NOT {
			m.add("no "+n.Op.String(), n.OpPos, n.OpPos+1, "")
		}
	case *ast.BasicLit:
		switch n.Kind { //nolint:exhaustive // numbers
		case token.INT:
			m.add("one more", n.Pos(), n.End(), "("+n.Value+"+1)")
		case token.FLOAT:
			m.add("half", n.Pos(), n.End(), "("+n.Value+"*0.5)")
			m.add("double", n.Pos(), n.End(), "("+n.Value+"*2)")
		}
	case *ast.Ident:
		if other := opposites.Replace(n.Name + " "); other != n.Name+" " {
			m.add(n.Name+" to "+other, n.Pos(), n.End(), other)
		}
	case *ast.BranchStmt:
		if n.Label == nil && n.Tok != token.FALLTHROUGH {
			remove()
		}
	}
	return true
}
