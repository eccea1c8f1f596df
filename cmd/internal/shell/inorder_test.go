// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
)

// TestInOrder: whatever the number of goroutines and whoever is late, items are written in their order, the first
// error of the order is returned, and nothing after it is written.
func TestInOrder(t *testing.T) {
	errBad := errors.New("bad")
	for _, workers := range []int{1, 2, 7} {
		for _, end := range []int{0, 1, 5, 100} { // the item that is read with the end
			for _, bad := range []int{-1, 0, 3, 40, 100} {
				for _, cause := range []string{"read", "work", "write"} {
					next, held := 0, atomic.Int64{}
					var got []int
					err := InOrder(workers, func(item *int) error {
						held.Add(1)
						*item, next = next, next+1
						switch {
						case *item == bad && cause == "read":
							return errBad
						case *item == end:
							return io.EOF
						}
						return nil
					}, func(worker int, item *int) error {
						if worker >= workers {
							return fmt.Errorf("worker %d", worker)
						}
						for range *item * 7 % 5 {
							runtime.Gosched()
						}
						if *item == bad && cause == "work" {
							return errBad
						}
						return nil
					}, func(item *int) error {
						if n := held.Add(-1); n > int64(2*workers+2) {
							return fmt.Errorf("%d items are held", n)
						}
						if *item == bad && cause == "write" {
							return errBad
						}
						got = append(got, *item)
						return nil
					})
					last, want := end, error(nil)
					if bad >= 0 && bad <= end {
						last, want = bad, errBad
						if cause != "read" {
							last-- // that item is not written
						}
					}
					var all []int
					for i := range last + 1 {
						all = append(all, i)
					}
					if !errors.Is(err, want) || !slices.Equal(got, all) {
						t.Errorf("%d workers, end %d, %s of %d: wrote %v, error %v", workers, end, cause, bad, got, err)
					}
				}
			}
		}
	}
}
