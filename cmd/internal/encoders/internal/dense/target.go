package dense

// Target is what is asked of each person: numbers, or a class.
type Target struct {
	Values  Matrix // a row for each person; empty for classes
	Labels  []int  // nil for numbers
	Classes int    // 0 for numbers
}

// Outputs is how many numbers answer it: as many as there are, or a logit for each class.
func (t *Target) Outputs() int {
	if t.Classes == 0 {
		return t.Values.Cols
	}
	return t.Classes
}

// Pick returns the targets of some people.
func (t *Target) Pick(people []int) Target {
	if t.Classes == 0 {
		return Target{Values: Pick(t.Values, people)}
	}
	some := Target{Classes: t.Classes, Labels: make([]int, len(people))}
	for i, p := range people {
		some.Labels[i] = t.Labels[p]
	}
	return some
}

// Loss is the mean over the rows of outputs, CrossEntropy or SquaredError, and d becomes its
// gradient unless it is empty.
func (t *Target) Loss(outputs, d Matrix) float64 {
	if t.Classes == 0 {
		return SquaredError(outputs, t.Values, d)
	}
	return CrossEntropy(outputs, t.Labels, d)
}

// Wrong is the share of the rows whose largest logit is of another class, 0 for numbers.
func (t *Target) Wrong(outputs Matrix) float64 {
	if t.Classes == 0 {
		return 0
	}
	wrong := 0
	for i, y := range Likeliest(outputs) {
		if y != t.Labels[i] {
			wrong++
		}
	}
	return float64(wrong) / float64(len(t.Labels))
}

// Likeliest returns the column of the largest logit of each row, the first of equals.
func Likeliest(logits Matrix) []int {
	best := make([]int, logits.Rows)
	for i := range best {
		row := Row(logits, i)
		for y, v := range row {
			if v > row[best[i]] {
				best[i] = y
			}
		}
	}
	return best
}
