package lp_test

import (
	"fmt"
	"testing"
"syscall"
	"time"

	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
)

func TestLocalTable(t *testing.T) {
	for _, o := range []local.Objective{local.Worst, local.Mean} {
		for _, eps := range []float64{0.5,1,2,3,5,8} {
			p := lp.LocalProblem{Epsilon: eps, Values: local.Values{Kind: local.Real, Lower: -1, Upper: 1}, Loss: loss.L2, Objective: o, Demands: local.Demands{Unbiased: true}}
			start := time.Now();var a,b syscall.Rusage; syscall.Getrusage(0,&a)
			r, err := lp.DesignLocal(t.Context(), p, lp.Options{Gap: map[bool]float64{true:.005,false:.01}[eps<4]*map[bool]float64{true:2,false:1}[eps>7], TimeLimit: 60*time.Second, Progress: func(p lp.Progress) {
				fmt.Printf("   %+v\n", p)
			}})
			if r == nil {
				t.Fatal(err)
			}
			s := r.Randomizer.Randomizer().Spec()
			fmt.Println(eps, r.Outcome, err, len(s.Nodes), len(s.Answers), s.Claims, time.Since(start));syscall.Getrusage(0,&b);fmt.Println("CPU",time.Duration(b.Utime.Nano()-a.Utime.Nano()))
		}
	}
}
