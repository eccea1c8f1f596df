package check

// DeltaRule is the rule for δ, in every package and in every flag: the promise of a
// mechanism, or of several together, with δ = 1 would promise nothing.
const DeltaRule = "a probability, at least 0 and below 1"

// IsDelta reports whether δ keeps the DeltaRule.
func IsDelta(delta float64) bool { return delta >= 0 && delta < 1 }

// Delta returns the FieldError of a δ that breaks the DeltaRule, nil if it does not.
func Delta(pkg, field string, delta float64) error {
	if IsDelta(delta) {
		return nil
	}
	return Field(pkg, field, delta, DeltaRule)
}

// Delta adds the FieldError of a δ that breaks the DeltaRule.
func (l *List) Delta(field string, delta float64) { l.Add(Delta(l.pkg, field, delta)) }
