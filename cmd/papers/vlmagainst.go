// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"
)

// The lines of a panel that are no encodings.
const (
	directSeries = "direct noise"
	boundSeries  = "bound (10)"
	aloneSeries  = "clean features alone"
	allSeries    = "all features clean"
)

// chanceErrors is how many standard errors of the people tested are no difference from chance: three, so that of
// points at chance one of some 740 is taken for better.
const chanceErrors = 3

// atChance is whether the mean is not above chance by more than the people tested in one run can tell: runs on
// images test the same people.
func (p *vlmPoint) atChance() bool {
	return p.Mean <= p.Chance+chanceErrors*math.Sqrt(p.Chance*(1-p.Chance)/float64(max(p.Tested, 1)))
}

// at lists the local epsilons of points.
func (s vlmStudy) at() string {
	texts := make([]string, len(s))
	for i, p := range s {
		if texts[i] = "∞"; p.Epsilon != nil {
			texts[i] = fmt.Sprintf("%g", *p.Epsilon)
		}
	}
	return commas(texts)
}

// against is where the accuracies are against what the paper says.
func (s vlmStudy) against(name string) (texts []string) {
	s.each(func(data, line string, points vlmStudy) {
		say := func(format string, values ...any) {
			texts = append(texts, data+", "+line+": "+fmt.Sprintf(format, values...))
		}
		tested := points[0].Tested
		alone := which(s, func(p *vlmPoint) bool { return p.Data == data && p.Series == aloneSeries })
		switch {
		case slices.Contains([]string{boundSeries, aloneSeries, allSeries}, line):
		case line == directSeries:
			if better := which(points, func(p *vlmPoint) bool { return !p.atChance() }); len(better) > 0 {
				say("above chance at local ε = %s, by more than %d standard errors of %d tested", vlmStudy(better).at(), chanceErrors, tested)
			}
		case len(alone) > 0:
			without := alone[0].Mean
			worse := which(points, func(p *vlmPoint) bool {
				return p.Epsilon != nil && *p.Epsilon >= 4 && *p.Epsilon <= 10 && p.Mean <= without
			})
			if len(worse) > 0 {
				say("joining gains nothing over clean features alone, %.3f, at local ε = %s (the standard error of %d tested is %.3f)",
					without, vlmStudy(worse).at(), tested, math.Sqrt(without*(1-without)/float64(max(tested, 1))))
			}
		default:
			if low := which(points, (*vlmPoint).atChance); len(low) > 0 {
				say("at chance, %.3f, at local ε = %s (no more than %d standard errors of %d tested above)", points[0].Chance, vlmStudy(low).at(), chanceErrors, tested)
			}
			for _, p := range points {
				const near = 0.05 // of a number that the paper calls about so
				if name == vlmNovel && p.Epsilon != nil && *p.Epsilon == 2 && math.Abs(p.Mean-novelAtTwo) > near {
					say("%.3f at local ε = 2, where the paper has about %g", p.Mean, novelAtTwo)
				}
				for _, b := range s {
					if b.Data == data && b.Series == boundSeries && noiseless(b.Epsilon) == noiseless(p.Epsilon) && p.Mean > b.Mean {
						say("%.3f at local ε = %g, above the bound %.3f", p.Mean, *p.Epsilon, b.Mean)
					}
				}
			}
		}
	})
	return texts
}

// vlmNovel is the figure of a class that the network has not seen, and novelAtTwo what the paper has at ε = 2.
const (
	vlmNovel   = "vlm-figure2"
	novelAtTwo = 0.75
)
