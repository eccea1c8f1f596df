package cli

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/proof"
)

// localStatement is the problem that a local randomizer is made for.
type localStatement struct {
	Epsilon     float64         `json:"epsilon"`
	Delta       float64         `json:"delta"`
	Query       local.Kind      `json:"query"`
	Range       *[2]float64     `json:"range,omitempty"`      // of numbers
	Categories  int             `json:"categories,omitempty"` // how many, if they are no numbers
	Loss        *string         `json:"loss"`                 // null: by costs
	Objective   local.Objective `json:"objective"`
	Unbiased    bool            `json:"unbiased"`
	AnswerRange *[2]float64     `json:"answer_range,omitempty"`
	AnswerStep  float64         `json:"answer_step,omitempty"`
	InstanceCap *float64        `json:"instance_cap"`
}

func newLocalStatement(s *local.Spec) localStatement {
	d := s.Demands
	out := localStatement{Epsilon: s.Epsilon, Delta: s.Delta, Query: s.Values.Kind, Objective: s.Objective, Unbiased: d.Unbiased, AnswerStep: d.Step}
	if s.Loss != nil {
		name := s.Loss.Name()
		out.Loss, out.Range = &name, &[2]float64{s.Values.Lower, s.Values.Upper}
	} else {
		out.Categories = len(s.Values.Labels)
	}
	if d.Lower != 0 || d.Upper != 0 {
		out.AnswerRange = &[2]float64{d.Lower, d.Upper}
	}
	if d.Cap > 0 {
		out.InstanceCap = &d.Cap
	}
	return out
}

// certifiedLocal is what is proved about a local randomizer, with the names that it has of
// tables and kernels: expected_loss and lower_bound are about the objective.
type certifiedLocal struct {
	DeltaUpper   *float64 `json:"delta_upper"`
	ExpectedLoss *float64 `json:"expected_loss"`
	MeanLoss     *float64 `json:"mean_loss"`
	MaxLoss      *float64 `json:"max_loss"` // of a value
	Bias         *float64 `json:"bias"`
	LowerBound   *float64 `json:"lower_bound"`
	Gap          *float64 `json:"gap"`
	Nodes        int      `json:"nodes"`
	Answers      int      `json:"answers"`
}

func newCertifiedLocal(s *local.Spec, c local.Certificate) certifiedLocal {
	return certifiedLocal{
		DeltaUpper: shell.FloatUp(c.DeltaUpper), ExpectedLoss: shell.FloatUp(c.Loss()), MeanLoss: shell.FloatUp(c.MeanLoss),
		MaxLoss: shell.FloatUp(c.WorstLoss), Bias: shell.FloatUp(c.Bias), LowerBound: shell.FloatDown(c.LowerBound),
		Gap: shell.Finite(shell.GapOf(c)), Nodes: len(s.Rows), Answers: len(s.Rows[0]),
	}
}

// held is as that of certified.
func (c certifiedLocal) held(falsehood error) certifiedLocal {
	if errors.Is(falsehood, proof.ErrNotPrivate) {
		c.Gap = nil
	}
	return c
}

// certifiedLocalRows are those of a randomizer, of which something may be false.
func certifiedLocalRows(s *local.Spec, c local.Certificate, falsehood error) []shell.Row {
	claims := c.Claims()
	at := func(i int) string {
		if s.Loss == nil {
			return s.Values.Labels[i]
		}
		return fmt.Sprintf("%.6g", s.Nodes[i])
	}
	worst := fmt.Sprintf("near the value %.6g", c.WorstAt)
	if s.Loss == nil {
		worst = "of " + at(int(c.WorstAt))
	}
	delta := fmt.Sprintf("%v promised, %s certified", s.Delta, shell.Decimal(claims.Delta))
	if c.DeltaUpper.Sign() > 0 {
		delta += fmt.Sprintf(" (worst between the values %s and %s)", at(c.WorstPair[0]), at(c.WorstPair[1]))
	}
	rows := []shell.Row{
		{"epsilon", fmt.Sprintf("%v, between any two values", s.Epsilon)},
		{"delta", delta},
	}
	rows = append(rows, localValueRows(s)...)
	mean, most := shell.Row{"mean loss", shell.Decimal(claims.MeanLoss)}, shell.Row{"largest loss", fmt.Sprintf("%s (%s)", shell.Decimal(claims.WorstLoss), worst)}
	if s.Objective == local.Worst {
		mean, most = most, mean
	}
	rows = append(rows, mean, most)
	if s.Loss != nil {
		rows = append(rows, shell.Row{"bias", bias(c.Bias, claims.Bias)})
	}
	return append(rows,
		shell.Row{"lower bound", shell.Decimal(claims.LowerBound) + ", " + boundAbout(s)},
		shell.Row{"gap", gap(shell.GapOf(c), falsehood)},
		shell.Row{"nodes", fmt.Sprintf("%d, %d answers", len(s.Rows), len(s.Rows[0]))},
	)
}

// bias prints the largest bias of an answer.
func bias(exactly *big.Rat, claimed string) string {
	if exactly.Sign() == 0 {
		return "0, exactly"
	}
	return shell.Decimal(claimed) + " at most"
}

// boundAbout says which loss of which mechanisms a lower bound is about.
func boundAbout(s *local.Spec) string {
	loss, of := "mean", "every mechanism"
	if s.Objective == local.Worst {
		loss = "largest"
	}
	if s.Demands.Unbiased {
		of = "every unbiased mechanism"
	}
	if d := s.Demands; d.Cap > 0 || d.Step > 0 || d.Lower != 0 || d.Upper != 0 {
		of += " with such answers"
	}
	return fmt.Sprintf("on the %s loss of %s", loss, of)
}

// localValueRows say what the values are, what they lose and what is asked of answers.
func localValueRows(s *local.Spec) []shell.Row {
	v, d := s.Values, s.Demands
	weight := "uniform weight"
	switch {
	case len(v.Weight) > 0:
		weight = fmt.Sprintf("weight in %d pieces", len(v.Weight))
	case len(v.Shares) > 0:
		weight = "weights of their own"
	}
	if s.Loss == nil {
		return []shell.Row{{"values", fmt.Sprintf("%d categories, %s", len(v.Labels), weight)}, {"loss", "by costs"}}
	}
	rows := []shell.Row{
		{"range", fmt.Sprintf("%v to %v, %s values, %s", v.Lower, v.Upper, v.Kind, weight)},
		{"loss", shell.LossUnit(s.Loss)},
	}
	if d.Lower != 0 || d.Upper != 0 {
		rows = append(rows, shell.Row{"answers", fmt.Sprintf("from %v to %v", d.Lower, d.Upper)})
	}
	if d.Step > 0 {
		rows = append(rows, shell.Row{"answer step", fmt.Sprint(d.Step)})
	}
	if d.Cap > 0 {
		rows = append(rows, shell.Row{"instance cap", fmt.Sprint(d.Cap)})
	}
	return rows
}
