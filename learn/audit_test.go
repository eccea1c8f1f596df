// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/release"
)

// The audit attacks fits of both learners on data sets that differ by one record, many times. The
// attacker knows both data sets, sees every release (of naive Bayes: what the model says about it), and
// computes how much more likely these are with the record than without. What is promised is a bound on
// the probabilities P, Q of every event with and without, P <= e^epsilon·Q + delta for all epsilon,
// and the delta of each that is proved by composition. Frequencies must not contradict it at a
// confidence of 99.9 %, for all events together, and have to if the noise is half of what it
// should be.

const (
	auditFits       = 600 // of either data set
	auditConfidence = 0.999
)

// attack returns the logarithm of the likelihood ratio, up to the shape of the noise, of fits with and
// without the record.
type attack func(t *testing.T, n *Noise) (with, without []float64)

func TestAudit(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, c := range []struct {
		name             string
		kind             string
		releases         int
		epsilon, doubled float64 // that half the noise would be right for
		attack           attack
	}{
		{"naive bayes", auto, 4, 3, 6.2, attackNaiveBayes},
		{"logistic", gaussian, 33, 4, 9.3, attackLogistic},
	} {
		t.Run(c.name, func(t *testing.T) {
			promised := noiseOf(t, c.kind, Budget{c.epsilon, 1e-5, dp.AddRemove}, c.releases, Options{})
			half := noiseOf(t, c.kind, Budget{c.doubled, 1e-5, dp.AddRemove}, c.releases, Options{})
			if r := half.Deviation() / promised.Deviation(); !(r > 0.47 && r < 0.53) {
				t.Fatalf("the noise to be noticed is %.3f of that promised, want half", r)
			}
			p := promiseOf(t, promised)
			if broken := p.contradicts(c.attack(t, promised)); broken != "" {
				t.Error("the promise is broken:", broken)
			}
			if p.contradicts(c.attack(t, half)) == "" {
				t.Error("half the noise keeps the promise, too: the audit is blunt")
			}
		})
	}
}

// promise is what noise keeps: by epsilon, the least delta that is proved of all releases together.
type promise map[float64]float64

func promiseOf(t *testing.T, n *Noise) promise {
	t.Helper()
	pld, err := account.LossOf(n.table.Mechanism())
	if err != nil {
		t.Fatal(err)
	}
	c, err := account.Compose([]account.Release{{PLD: pld, Times: n.releases}}, account.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := promise{}
	for _, share := range []float64{0, 0.25, 0.5} {
		epsilon := share * n.guarantee.Epsilon
		b, err := c.Delta(epsilon)
		if err != nil {
			t.Fatal(err)
		}
		p[epsilon] = b.Upper
	}
	return p
}

// contradicts returns what contradicts the promise, in either direction, of the events that the
// ratio is above epsilon: for no other is P − e^epsilon·Q larger.
func (p promise) contradicts(with, without []float64) string {
	level := 1 - (1-auditConfidence)/float64(2*len(p)) // of one event
	for epsilon, delta := range p {
		for _, d := range [2][2][]float64{{with, without}, {negated(without), negated(with)}} {
			above := func(ratios []float64) (lower, upper float64) {
				n := 0
				for _, r := range ratios {
					if r > epsilon {
						n++
					}
				}
				return clopperPearson(n, len(ratios), level)
			}
			likely, _ := above(d[0])
			_, bound := above(d[1])
			if bound = math.Exp(epsilon)*bound + delta; likely > bound {
				return fmt.Sprintf("an event has a probability of at least %.4f, where at most %.4f is promised at epsilon %g", likely, bound, epsilon)
			}
		}
	}
	return ""
}

func negated(x []float64) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = -x[i]
	}
	return out
}

// releaserFor returns noise of its own for every fit.
func releaserFor(t *testing.T, n *Noise, fit int, with bool) *Releaser {
	t.Helper()
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], uint64(fit)) //nolint:gosec
	if with {
		seed[31] = 1
	}
	r, err := n.seeded(seed)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func readText(t *testing.T, text string, s *Schema) *Data {
	t.Helper()
	rows, err := release.NewCSV(strings.NewReader(text), ',')
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Read(rows)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ratio is the logarithm of the likelihood ratio of normal noise about two means.
func (n *Noise) ratio(seen, with, without float64) float64 {
	s := n.deviation
	return ((seen-without)*(seen-without) - (seen-with)*(seen-with)) / (2 * s * s)
}

// attackNaiveBayes reads all releases off the model: the count of a class, a cell, a sum and
// a sum of squares, each of which the record changes by 1.
func attackNaiveBayes(t *testing.T, n *Noise) (with, without []float64) {
	t.Helper()
	s := &Schema{Target: "y", Classes: []string{"a", "b"}, Features: []Feature{
		{Name: "c", Categories: []string{"u", "v"}}, {Name: "x", Bounds: &Bounds{0, 1}},
	}}
	const each = 200
	rows := "c,x,y\n" + strings.Repeat("u,0.1,a\nv,0.9,a\nu,0.1,b\nv,0.9,b\n", each/2)
	small, large := readText(t, rows, s), readText(t, rows+"u,1,a\n", s)
	sum, squares := 0.0, 0.0 // of x, and of 2x² − 1
	for row := range small.Len() {
		if small.Class(row) != 0 {
			continue
		}
		x := small.Unit(1, row)
		sum, squares = sum+x, squares+2*x*x-1
	}
	of := func(d *Data, is bool) (out []float64) {
		for fit := range auditFits {
			fitted, err := d.FitNaiveBayes(releaserFor(t, n, fit, is))
			if err != nil {
				t.Fatal(err)
			}
			m := fitted.classifier.(*naiveBayes) //nolint:errcheck,forcetypeassert // what FitNaiveBayes returns
			count, mean := m.Counts[0], m.Features[1].Means[0]
			log := 0.0
			for _, release := range []struct{ seen, without float64 }{
				{count, each},
				{m.Features[0].Cells[0][0] - cellCount, each / 2},
				{mean * count, sum},
				{2*(m.Features[1].Variances[0]+mean*mean)*count - count, squares},
			} {
				log += n.ratio(release.seen, release.without+1, release.without)
			}
			out = append(out, log)
		}
		return out
	}
	return of(large, true), of(small, false)
}

// attackLogistic makes steps, with a record on the wrong side of where they lead, whose
// derivatives are near 1. Of every fit it has what was released, and finds by replaying it on
// the other data what was released about.
func attackLogistic(t *testing.T, n *Noise) (with, without []float64) {
	t.Helper()
	s := &Schema{Target: "y", Classes: []string{"a", "b"}, Features: []Feature{{Name: "x", Bounds: &Bounds{0, 1}}}}
	rows := "x,y\n" + strings.Repeat("1,b\n", 100)
	small, large := readText(t, rows, s), readText(t, rows+"1,a\n", s)
	o := LogisticOptions{Rounds: n.releases - 1, PerRound: 1, StepSize: 8}
	if releases, err := o.Releases(s); releases != n.releases || err != nil {
		t.Fatalf("%d releases, %v, want all that there is noise for", releases, err)
	}
	of := func(d *Data, is bool) (out []float64) {
		for fit := range auditFits {
			releaser := releaserFor(t, n, fit, is)
			var seen [][]float64
			run(t, n, d, o, func(sums []int64) ([]float64, error) {
				answer, err := releaser.Release(sums)
				seen = append(seen, answer)
				return answer, err
			})
			log := 0.0
			for i, about := range [2]*Data{large, small} {
				at := 0
				run(t, n, about, o, func(sums []int64) ([]float64, error) {
					for k, sum := range sums {
						distance := (seen[at][k] - float64(sum)/gridSteps) / n.deviation
						log += distance * distance / 2 * float64(2*i-1)
					}
					at++
					return seen[at-1], nil
				})
			}
			out = append(out, log)
		}
		return out
	}
	return of(large, true), of(small, false)
}

// run is LogisticOptions.Fit with other releases.
func run(t *testing.T, n *Noise, d *Data, o LogisticOptions, add func([]int64) ([]float64, error)) {
	t.Helper()
	descent := newDescent(d, n.deviation, o)
	descent.add = add
	if _, err := descent.run(t.Context()); err != nil {
		t.Fatal(err)
	}
}
