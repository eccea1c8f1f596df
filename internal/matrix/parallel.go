// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// parallelFrom is the number of panels from which the work on a matrix is worth dividing.
const parallelFrom = 24

func workers(panels int) int {
	if panels < parallelFrom {
		return 1
	}
	return runtime.GOMAXPROCS(0)
}

// each calls work for every panel, the last ones, which have most columns, first. What is
// done for one panel depends on no other, and so not on who does it.
func each(panels int, work func(i int)) {
	count := workers(panels)
	if count == 1 {
		for i := range panels {
			work(i)
		}
		return
	}
	var taken atomic.Int64
	var all sync.WaitGroup
	for range count {
		all.Go(func() {
			for i := panels - int(taken.Add(1)); i >= 0; i = panels - int(taken.Add(1)) {
				work(i)
			}
		})
	}
	all.Wait()
}

// inOrder calls work for every panel, in their order. Several may be under way: work calls
// wait with an earlier panel before it uses what comes of that, and returns false to stop
// all. It reports whether none did.
func inOrder(panels int, work func(i int, wait func(j int)) bool) bool {
	count := workers(panels)
	if count == 1 {
		for i := range panels {
			if !work(i, func(int) {}) {
				return false
			}
		}
		return true
	}
	ready := make([]chan struct{}, panels)
	for i := range ready {
		ready[i] = make(chan struct{})
	}
	var failed atomic.Bool
	var all sync.WaitGroup
	for first := range count {
		all.Go(func() {
			seen := 0 // all before it are ready
			wait := func(j int) {
				for ; seen <= j; seen++ {
					<-ready[seen]
				}
			}
			for i := first; i < panels; i += count {
				if !failed.Load() && !work(i, wait) {
					failed.Store(true)
				}
				close(ready[i])
			}
		})
	}
	all.Wait()
	return !failed.Load()
}
