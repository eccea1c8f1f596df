// Package noise holds what the rest of noisewright measures noise against: the
// loss functions a design minimises, the classical mechanisms (baselines) with
// their closed forms, and closed-form bounds on the optimum.
//
// A [Loss] is the cost c(x) of noise x. [ParseLoss] reads its name, as flags and
// files have it: a kind with parameters (l1, l2, lp:1.5, pinball:0.9,
// asymmetric:1,2, huber:2, deadzone:0.5, exceed:3, pwl:…), possibly weighted
// (l1:0.7), possibly a sum (l1:0.7 + exceed:3:0.3); [LossUsage] describes the
// kinds and [LossUnit] says what an expected loss is. [NewPiecewise] makes a loss
// from any polynomials of degree 2 at most, jumps allowed. Every bound that a
// certificate takes from a loss is on big.Rat and has its rounding direction in
// its name: exact for a [Piecewise], rounded outwards for lp:P.
//
// A baseline is a [Mechanism]: a law of additive noise with a density, possibly
// an atom at zero, and an expected loss. [Baselines] lists them in display
// order; each constructor either returns noise that is (ε, δ)-differentially
// private for the given [Parameters] or an error wrapping [ErrNotApplicable]
// that says why the mechanism cannot be used there.
//
// The values of mechanisms are float64, correct to the relative error stated with each of
// them. They are for comparison and for tests, not for release: nothing here
// samples noise, and a continuous law is not private on a machine that can only
// represent some of its values. Package tables makes noise that is.
package noise
