// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// The variables of the environment that say which mutant a program is, by its number, and the file into which
// mutant -1, which is as the tree is, writes the places that it enters.
const chosen, entered = "NOISEWRIGHT_MUTANT", "NOISEWRIGHT_MUTANT_ENTERED"

// choice is added to each package that is changed.
const choice = `package %s

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
)

var (
	mutantChosen, _ = strconv.Atoi(os.Getenv(%q))
	mutantSeen      [%d]atomic.Bool
)

func mutantEnter(place int) {
	if mutantSeen[place].Load() || mutantSeen[place].Swap(true) {
		return
	}
	f, err := os.OpenFile(os.Getenv(%q), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(f, place)
	f.Close()
}
`

var clause = regexp.MustCompile(`(?m)^package (\w+)`)

// schema returns the files of one program that is each of these mutants of functions, or none of them: changed
// copies of a function stand beside it, and it begins with a switch to the one that is chosen. What the compiler
// says of a copy has its number.
func schema(mutants []mutant) (files map[string]string) {
	files = make(map[string]string)
	copies := make(map[*ast.FuncDecl][]mutant)
	places := 0
	for _, m := range mutants {
		copies[m.in] = append(copies[m.in], m)
		files[m.file] = m.source
		places = max(places, m.place)
	}
	for _, m := range mutants {
		files[path.Join(m.pkg(), "mutant_choice.go")] = fmt.Sprintf(choice, clause.FindStringSubmatch(m.source)[1], chosen, places+1, entered)
	}
	last := func(a, b *ast.FuncDecl) int { return cmp.Compare(b.Pos(), a.Pos()) } // what stands before stays where it is
	for _, f := range slices.SortedFunc(maps.Keys(copies), last) {
		file, original := copies[f][0].file, copies[f][0].source
		head, call := signature(f, original)
		way, added := fmt.Sprintf("{ switch mutantChosen { case -1: mutantEnter(%d); ", copies[f][0].place), ""
		for _, m := range copies[f] {
			name := fmt.Sprintf("%s_mutant%d", f.Name.Name, m.number)
			way += fmt.Sprintf("case %d: %s; ", m.number, call(name))
			added += fmt.Sprintf("\n//line mutant%d:1\n%s %s%s%s\n", m.number, head(name), original[offset(f.Body.Lbrace):m.start], m.with, original[m.end:offset(f.Body.End())])
		}
		source := files[file]
		files[file] = source[:offset(f.Pos())] + head(f.Name.Name) + way + "}; " + source[offset(f.Body.Lbrace)+1:] + added
	}
	return files
}

// signature returns how a function is declared, every parameter with a name, and how it is called from its body,
// each under another name.
func signature(f *ast.FuncDecl, source string) (head, call func(name string) string) {
	unnamed := 0
	list := func(fields *ast.FieldList) (declared, given []string) {
		for _, field := range fields.List {
			names := field.Names
			if len(names) == 0 {
				names = []*ast.Ident{ast.NewIdent("_")}
			}
			for _, n := range names {
				name := n.Name
				if name == "_" {
					unnamed++
					name = fmt.Sprintf("_%d", unnamed)
				}
				declared = append(declared, name+" "+textOf(source, field.Type))
				if _, variadic := field.Type.(*ast.Ellipsis); variadic {
					name += "..."
				}
				given = append(given, name)
			}
		}
		return declared, given
	}
	before, through, after, back, types := "func ", "", "", "", ""
	if f.Recv != nil {
		declared, given := list(f.Recv)
		before, through = "func ("+declared[0]+") ", given[0]+"."
	}
	if f.Type.TypeParams != nil {
		_, given := list(f.Type.TypeParams)
		types, after = "["+strings.Join(given, ", ")+"]", textOf(source, f.Type.TypeParams)
	}
	declared, given := list(f.Type.Params)
	after += "(" + strings.Join(declared, ", ") + ") "
	arguments := types + "(" + strings.Join(given, ", ") + ")"
	if f.Type.Results == nil {
		arguments += "; return"
	} else {
		after, back = after+textOf(source, f.Type.Results)+" ", "return "
	}
	head = func(name string) string { return before + name + after }
	call = func(name string) string { return back + through + name + arguments }
	return head, call
}
