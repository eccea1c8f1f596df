// SPDX-License-Identifier: Apache-2.0

// Package taskaware learns private encoders for one task, after J. Cheng, A. Tang and
// S. Chinchali, Task-aware privacy preservation for multi-dimensional data (2022).
//
//	r, err := taskaware.Train(ctx, data, body, noise, taskaware.Options{})
//	e, err := r.Evaluate(test, 100, 1)   // expected losses on other people
//	b, err := r.Bundle()                 // for devices and server; bundle.Verify proves it
//
// An encoder turns a person's features into a few numbers, which are clipped to a declared body,
// so that noise that fits the body is private for every input; what the server makes of the noisy
// numbers is trained together with the encoder, with fresh noise at each step. That is either a
// head, which answers the task itself, or a decoder of the features that a frozen task network
// reads. Loss is the mean squared error of a number, or the cross entropy of classes.
//
// Schedule is Algorithm 1 of the paper as its authors run it: noise drawn once an epoch for
// the sensitivity that the sample shows. That is NO GUARANTEE, as another person's features
// may be further apart, and what it makes is a filter without promise.
//
// A search for patents found US 12417314, on the iterative training of task-aware encoders.
// This is no advice on whether it concerns a use of this package.
package taskaware
