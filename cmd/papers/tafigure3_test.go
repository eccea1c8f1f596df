// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"testing"
)

// The numbers of figure 3 of Cheng, Tang & Chinchali (2022), to four places.
func TestTAFigure3(t *testing.T) {
	for setting, want := range map[float64][][4]float64{ // r/ε, task-aware, task-agnostic, privacy-agnostic
		0: {{.1, .2963, .9697, .5517}, {.2, .9697, 2.2456, 1.5610}, {.5, 2.6667, 3.5556, 3.2000}, {1, 3.5556, 3.8788, 3.7647}},
		1: {{.1, 1.5152, 1.6970, 2.6897}, {.2, 3.5088, 3.9298, 3.9512}, {.5, 5.6667, 6.2222, 6.0000}, {1, 6.5556, 6.7879, 6.7059}},
		2: {{.1, 2.3619, 2.4242, 4.8276}, {.2, 5.4696, 5.6140, 6.3415}, {.5, 8.6601, 8.8889, 8.8000}, {1, 9.5556, 9.6970, 9.6471}},
	} {
		points, err := taFigure3(setting)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			p := points[int(math.Round(50*w[0]))-1]
			got := [4]float64{p.ROverEpsilon, p.TaskAware, p.TaskAgnostic, p.PrivacyAgnostic}
			for i := range got {
				if math.Abs(got[i]-w[i]) > 6e-5 {
					t.Errorf("setting %g: %v, want %v", setting, got, w)
				}
			}
		}
	}
}
