// SPDX-License-Identifier: Apache-2.0

// Package figure draws tables, kernels and curves as SVG or PNG.
package figure
