// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"io"
	"runtime"
	"sync"
)

// Workers is on how many goroutines InOrder works.
func Workers() int { return runtime.GOMAXPROCS(0) }

// InOrder reads items until an error, works on them on some goroutines, each with its number, and writes them in
// the order in which they were read. Items are used again, so that a few are in memory. What is read together with
// an error is worked on and written before that error is returned, io.EOF as nil: the first error of the order
// counts, whoever is faster.
func InOrder[T any](workers int, read func(*T) error, work func(worker int, item *T) error, write func(*T) error) error {
	type job struct {
		item     T
		end, err error
		done     chan struct{}
	}
	jobs := 2*workers + 2 // one is read and one written, and each worker has another to go on with
	free, todo, order, stop := make(chan *job, jobs), make(chan *job, jobs), make(chan *job, jobs), make(chan struct{})
	for range jobs {
		free <- &job{done: make(chan struct{}, 1)}
	}
	var running sync.WaitGroup
	defer running.Wait()
	defer close(stop)
	running.Go(func() {
		defer close(todo)
		defer close(order)
		for {
			select {
			case <-stop:
				return
			case j := <-free:
				j.end = read(&j.item)
				order <- j
				todo <- j
				if j.end != nil {
					return
				}
			}
		}
	})
	for k := range workers {
		running.Go(func() {
			for j := range todo {
				j.err = work(k, &j.item)
				j.done <- struct{}{}
			}
		})
	}
	for j := range order {
		<-j.done
		if j.err != nil {
			return j.err
		}
		if err := write(&j.item); err != nil {
			return err
		}
		if errors.Is(j.end, io.EOF) {
			return nil
		} else if j.end != nil {
			return j.end
		}
		free <- j
	}
	return nil
}
