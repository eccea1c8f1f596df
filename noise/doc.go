// Package noise holds what the rest of noisewright measures noise against: the
// loss functions a design minimises, the classical mechanisms (baselines) with
// their closed forms, and closed-form bounds on the optimum.
//
// A baseline is a [Mechanism]: a law of additive noise with a density, possibly
// an atom at zero, and an expected loss. [Baselines] lists them in display
// order; each constructor either returns noise that is (ε, δ)-differentially
// private for the given [Parameters] or an error wrapping [ErrNotApplicable]
// that says why the mechanism cannot be used there.
//
// All values are float64, correct to the relative error stated with each of
// them. They are for comparison and for tests, not for release: nothing here
// samples noise, and a continuous law is not private on a machine that can only
// represent some of its values. Package tables makes noise that is.
package noise
