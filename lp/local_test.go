package lp_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
)

func TestLocalTable(t *testing.T) {
	for _, o := range []local.Objective{local.Mean} {
		for _, eps := range []float64{5,8} {
			p := lp.LocalProblem{Epsilon: eps, Values: local.Values{Kind: local.Real, Lower: -1, Upper: 1}, Loss: loss.L2, Objective: o, Demands: local.Demands{Unbiased: true}}
			start := time.Now()
			r, err := lp.DesignLocal(t.Context(), p, lp.Options{Gap: 0.005, TimeLimit: 40*time.Second, Progress: func(p lp.Progress) {
				fmt.Printf("   %+v\n", p)
			}})
			if r == nil {
				t.Fatal(err)
			}
			s := r.Randomizer.Randomizer().Spec()
			fmt.Println(eps, r.Outcome, err, len(s.Nodes), len(s.Answers), s.Claims, time.Since(start))
		}
	}
}
