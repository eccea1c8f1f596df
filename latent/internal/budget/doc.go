// SPDX-License-Identifier: Apache-2.0

// Package budget splits a privacy budget over coordinates, each with additive noise of its own, and
// knows what variance noise has at a share of it: the families of mechanisms in closed form.
//
// Errors carry the name of package latent, through which users come here.
package budget
