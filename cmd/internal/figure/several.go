// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/noisewright/noisewright/plan"
	"github.com/noisewright/noisewright/proof"
)

// Picture is what can be drawn.
type Picture interface {
	Draw(w io.Writer, format string, width, height vg.Length) error
}

// Drawn is a proved mechanism, its name, and the picture of it alone.
type Drawn struct {
	Name    string
	Proven  proof.Proven
	Picture Picture
}

// seen is the least mass on a single point that is worth showing.
const seen = 1e-3

// titles is the title of pictures that have the same, and "" of others, each of which has its own in its name.
func titles(all []Drawn, of func(Picture) string) string {
	first := of(all[0].Picture)
	if !slices.ContainsFunc(all, func(d Drawn) bool { return of(d.Picture) != first }) {
		return first
	}
	for i, d := range all {
		all[i].Name += ", " + of(d.Picture)
	}
	return ""
}

// Over is one picture of several mechanisms of one form: the densities of
// tables, logarithmic if log, or what the first curve of each chart shows.
func Over(all []Drawn, log bool) (Picture, error) {
	for _, d := range all {
		is, want := proof.Of(d.Proven).Form(), proof.Of(all[0].Proven).Form()
		if is.Package != want.Package {
			return nil, fmt.Errorf("%s is %s and %s %s, want files of one form", all[0].Name, want.Noun, d.Name, is.Noun)
		}
	}
	if most := len(Palette); len(all) > most {
		return nil, fmt.Errorf("%d files, want at most %d", len(all), most)
	}
	switch all[0].Picture.(type) {
	case *Table:
		return tablesOver(slices.Clone(all), log)
	case *Chart:
		if err := same(all); err != nil {
			return nil, err
		}
		return chartsOver(slices.Clone(all)), nil
	}
	return nil, errors.New("the laws of categories cannot be drawn over each other, want one file")
}

func tablesOver(all []Drawn, log bool) (Picture, error) {
	first := all[0].Picture.(*Table).table
	f := newTable(first, all[0].Proven.Bounds(), log)
	f.title, f.several = titles(all, func(p Picture) string { return p.(*Table).title }), true
	for _, d := range all {
		t := d.Picture.(*Table)
		if is, want := t.table.Query(), first.Query(); is != want || t.density.Unit != f.density.Unit {
			return nil, fmt.Errorf("%s and %s are of other queries or steps, want the same: their densities are per other units", all[0].Name, d.Name)
		}
		left, right := t.density.Reach(log)
		f.left, f.right = min(f.left, left), max(f.right, right)
	}
	for i, d := range slices.Backward(all) {
		t := d.Picture.(*Table).table
		loss, _ := d.Proven.Bounds().Loss.Float64()
		name := fmt.Sprintf("%s, %s = %.4g", d.Name, LossSymbol(t.Loss()), loss)
		if _, atom := t.PMF(); atom >= seen {
			name += fmt.Sprintf(", exactly 0 with probability %.4g", atom)
		}
		f.curves = append(f.curves, Curve{name, curveOf(d.Picture.(*Table).density.Steps(f.left, f.right)), Solid(Palette[i], 1.7)})
	}
	f.frame()
	f.top += 0.05 * float64(len(all)) * (f.top - f.bottom) // for the legend
	return f, nil
}

// same reports plans that answer other queries than the first one.
func same(all []Drawn) error {
	first, of := proof.Of(all[0].Proven).(*plan.Plan)
	for _, d := range all {
		if of && !reflect.DeepEqual(proof.Of(d.Proven).(*plan.Plan).Spec().Workload, first.Spec().Workload) {
			return fmt.Errorf("%s and %s answer other queries, want plans for the same workload", all[0].Name, d.Name)
		}
	}
	return nil
}

func chartsOver(all []Drawn) Picture {
	first := all[0].Picture.(*Chart)
	c := &Chart{Title: titles(all, func(p Picture) string { return p.(*Chart).Title }), X: first.X, Y: first.Y, Left: first.Left, Right: first.Right, log: first.log, names: first.names}
	for i, d := range all {
		one := d.Picture.(*Chart)
		loss, _ := d.Proven.Bounds().Loss.Float64()
		c.Left, c.Right = min(c.Left, one.Left), max(c.Right, one.Right)
		c.Curves = append(c.Curves, Curve{fmt.Sprintf("%s, %.4g", d.Name, loss), one.Curves[0].Points, Solid(Palette[i], 1.7)})
	}
	return c
}
