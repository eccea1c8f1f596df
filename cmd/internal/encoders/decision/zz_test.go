package decision

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
)

func TestWDBC(t *testing.T) {
	f, _ := os.Open("/work/shared/data/wdbc/wdbc.csv")
	rows, _ := csv.NewReader(f).ReadAll()
	d := &encoders.Data{Features: rows[0][2:], X: dense.NewMatrix(len(rows)-1, 30), Target: encoders.Column{Name: "diagnosis", Classes: []string{"B", "M"}}}
	for i, r := range rows[1:] {
		for j, x := range r[2:] {
			d.X.Data[i*30+j], _ = strconv.ParseFloat(x, 64)
		}
		y := 0
		if r[1] == "M" {
			y = 1
		}
		d.Target.Labels = append(d.Target.Labels, y)
	}
	f, _ = os.Open("/work/shared/reference/wdbc-splits.csv")
	splits, _ := csv.NewReader(f).ReadAll()
	ctx := context.Background()
	type key struct {
		e float64
		w string
	}
	ce, er := map[key][]float64{}, map[key][]float64{}
	var order []key
	n, _ := strconv.Atoi(os.Getenv("SPLITS"))
	for _, s := range splits[1:][:n] {
		var test, tr []int
		for _, x := range strings.Fields(s[1]) {
			i, _ := strconv.Atoi(x)
			test = append(test, i)
		}
		for i := range d.Target.Labels {
			if !slices.Contains(test, i) {
				tr = append(tr, i)
			}
		}
		dt, de := d.Pick(tr), d.Pick(test)
		t0 := time.Now()
		p, err := Prepare(ctx, dt, Options{Seed: 1, Plain: os.Getenv("PLAIN") != ""})
		if err != nil {
			t.Fatal(err)
		}
		t1 := time.Now()
		for _, e := range []float64{2, 5, 10, 20} {
			add := func(name string, w Way) {
				tr, err := p.test(ctx, w, e, de)
				if err != nil {
					t.Fatal(err)
				}
				k := key{e, name}
				if len(ce[k]) == 0 {
					order = append(order, k)
				}
				a, _ := Mean(tr.CrossEntropy)
				b, _ := Mean(tr.Errors)
				ce[k], er[k] = append(ce[k], a), append(er[k], b)
			}
			for _, w := range p.Ways() {
				add(w.String(), w)
			}
			for _, m := range []string{encoders.MeasureCrossEntropy, encoders.MeasureError} {
				trials, err := p.Search(ctx, e, m)
				if err != nil {
					t.Fatal(err)
				}
				add("auto "+m, trials[0].Way)
			}
		}
		fmt.Println("split", s[0], t1.Sub(t0), time.Since(t1))
	}
	base := fmt.Sprintf("%s, its class by randomized response", Logistic)
	for _, k := range order {
		diff := func(m map[key][]float64) string {
			a, sa := Mean(m[k])
			var d []float64
			for i, x := range m[k] {
				d = append(d, x-m[key{k.e, base}][i])
			}
			b, sb := Mean(d)
			return fmt.Sprintf("%.4f±%.4f (%+.4f±%.4f)", a, sa, b, sb)
		}
		fmt.Printf("%4g %-60s ce %s err %s\n", k.e, k.w, diff(ce), diff(er))
	}
}

func (p *Prepared) test(ctx context.Context, w Way, e float64, d *encoders.Data) (*Trial, error) {
	c := w.classifier
	if c == nil {
		c = p.classifiers[0]
	}
	a, err := p.answering(ctx, w, c.unseen, e)
	if err != nil {
		return nil, err
	}
	t := &Trial{Way: w}
	s := c.net.Forward(&dense.Pass{}, d.X)
	for i, l := range d.Target.Labels {
		t.add(a, dense.Row(s, i), l, p.options.Costs)
	}
	return t, nil
}
