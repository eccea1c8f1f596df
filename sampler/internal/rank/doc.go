// SPDX-License-Identifier: Apache-2.0

// Package rank counts how many numbers of a public sorted list are below secret words, in
// constant time: no branch, memory address or loop bound depends on a word.
//
// The portable way compares each word with the whole list. Vector instructions allow
// another one, which gives the same counts for less: a binary search whose every step
// reads all numbers that any search can meet in that step, for many words at once, and
// selects in registers. New takes the best way that the processor has.
package rank
