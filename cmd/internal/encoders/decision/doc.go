// SPDX-License-Identifier: Apache-2.0

// Package decision makes encoders that answer with a category: a classifier on the device, its
// class or a level of its score, and a local randomizer of these cells, from whose answers the
// posterior of the classes is looked up (docs/encoders.md).
//
// Classifiers, cells and laws are floating point and prove nothing. The randomizer is one of
// package local, whose exact check proves the promise.
package decision
