// Package figure draws tables, kernels and curves as SVG or PNG.
package figure
