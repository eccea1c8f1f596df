// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// problem is a design: the arguments of the program.
type problem struct {
	ID   int      `json:"id"`
	Args []string `json:"args"`
}

// random returns the first n problems of a seed, numbered from 1.
func random(seed uint64, n int) []problem {
	problems := make([]problem, n)
	for i := range problems {
		r := rand.New(rand.NewPCG(seed, uint64(i))) //nolint:gosec // the same for the same seed
		problems[i] = problem{i + 1, arguments(r)}
	}
	return problems
}

// The grid of the tables of Selvi, Liu & Wiesemann, "Differential Privacy via Distributionally Robust Optimization" (2025), for a
// sensitivity of 1.
const (
	publishedEpsilons = "0.005,0.01,0.02,0.05,0.1,0.2,0.5,1,2,5"
	publishedDeltas   = "0.005,0.01,0.02,0.05,0.1,0.2,0.25,0.3,0.5,0.75"
)

// published returns the problems of epsilons, separated by commas, or all of the published ones.
func published(epsilons string) (problems []problem) {
	if epsilons == "published" {
		epsilons = publishedEpsilons
	}
	for _, loss := range []string{"l1", "l2"} {
		for _, epsilon := range strings.Split(epsilons, ",") {
			for _, delta := range strings.Split(publishedDeltas, ",") {
				problems = append(problems, problem{len(problems) + 1, []string{"--epsilon", epsilon, "--delta", delta, "--sensitivity", "1", "--loss", loss}})
			}
		}
	}
	return problems
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// between returns a number between two, uniform in its logarithm, with three digits.
func between(r *rand.Rand, low, high float64) float64 {
	return digits(low * math.Pow(high/low, r.Float64()))
}

func digits(x float64) float64 {
	rounded, _ := strconv.ParseFloat(fmt.Sprintf("%.3g", x), 64)
	return rounded
}

// arguments draws one problem: the privacy, the query and its sensitivity, the loss, and constraints that
// noise around 0 keeps.
func arguments(r *rand.Rand) []string {
	args := []string{"--epsilon", fmt.Sprint(between(r, 0.05, 20)), "--delta", fmt.Sprint(between(r, 1e-9, 0.5))}
	sensitivity, unit := 1.0, 0.0
	switch pick(r, "one", "real", "real", "integer", "integer", "step") {
	case "real":
		sensitivity = between(r, 1e-3, 1e4)
	case "integer":
		sensitivity, unit = math.Ceil(between(r, 1, 1e4)), 1
		args = append(args, "--query", "integer")
	case "step":
		sensitivity = between(r, 1e-3, 1e4)
		unit = sensitivity / float64(pick(r, 4, 8, 16, 100))
		args = append(args, "--step", fmt.Sprint(unit))
	}
	args = append(args, "--sensitivity", fmt.Sprint(sensitivity), "--loss", lossOf(r, sensitivity, unit))
	for _, name := range []string{"symmetric", "monotone", "unbiased"} {
		if r.IntN(6) == 0 {
			args = append(args, "--"+name)
		}
	}
	return args
}

// lossOf draws a loss, whose kinks are up to some sensitivities from 0.
func lossOf(r *rand.Rand, sensitivity, unit float64) string {
	switch family := pick(r, "l1", "l2", "lp", "lp", "pinball", "asymmetric", "huber", "deadzone", "exceed"); family {
	case "lp":
		return fmt.Sprintf("lp:%g", pick(r, 1.5, 3, 4))
	case "pinball":
		return fmt.Sprintf("pinball:%g", pick(r, 0.25, 0.5, 0.75, 0.9))
	case "asymmetric":
		sides := []int{1, 2, 3, 4}
		r.Shuffle(len(sides), func(i, j int) { sides[i], sides[j] = sides[j], sides[i] })
		return fmt.Sprintf("asymmetric:%d,%d", sides[0], sides[1])
	case "huber", "deadzone", "exceed":
		at := digits(sensitivity * between(r, 0.05, 8))
		if unit == 1 {
			at = max(math.Round(at), 1)
		}
		return fmt.Sprintf("%s:%s", family, strconv.FormatFloat(at, 'g', -1, 64))
	default:
		return family
	}
}

// families are the losses of random problems.
var families = slices.Sorted(slices.Values([]string{"l1", "l2", "lp", "pinball", "asymmetric", "huber", "deadzone", "exceed"}))
