// SPDX-License-Identifier: Apache-2.0

// Package regress fits what is convex: softmax regression by L-BFGS, least squares in
// closed form. No step size has to be chosen, and the same data give the same fit on
// processors of one architecture (see package dense).
package regress
