// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"testing"

	"github.com/noisewright/noisewright/account"
)

// BenchmarkRelease charges, answers and stores, beside so many releases before it.
func BenchmarkRelease(b *testing.B) {
	for name, before := range map[string]int{"empty": 0, "1000": 1000} {
		b.Run(name, func(b *testing.B) {
			l, _ := create(b, account.Terms{Epsilon: 1e9})
			for i := range before {
				if _, err := l.Release(b.Context(), query(i, pure(1)), says("x")); err != nil {
					b.Fatal(err)
				}
			}
			i := before
			for b.Loop() {
				if _, err := l.Release(b.Context(), query(i, pure(1)), says("x")); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

// BenchmarkCompose asks how many more Gaussian releases fit: some 15 compositions.
func BenchmarkCompose(b *testing.B) {
	l, _ := create(b, account.Terms{Epsilon: 1, Delta: 1e-6})
	for i := range 5 {
		if _, err := l.Release(b.Context(), query(i, account.Cost{Table: gaussian(b, 100+float64(i), 0.1, 0), Times: 1}), says(fmt.Sprint(i))); err != nil {
			b.Fatal(err)
		}
	}
	cost := account.Cost{Table: gaussian(b, 40, 0.1, 0)}
	for b.Loop() {
		if _, err := l.LeftTimes(b.Context(), cost); err != nil {
			b.Fatal(err)
		}
	}
}
