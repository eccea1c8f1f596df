// Package noise holds what the rest of noisewright measures noise against: the
// loss functions a design minimises and the classical mechanisms (baselines)
// with their closed forms.
package noise
