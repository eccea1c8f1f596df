package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// certified is what is proved about a table or a kernel, in the JSON of all commands:
// delta and losses are rounded up to a float64, the bound down.
type certified struct {
	DeltaUpper   *float64 `json:"delta_upper"`
	ExpectedLoss *float64 `json:"expected_loss"`
	MaxLoss      *float64 `json:"max_loss,omitempty"` // of a kernel's query value
	LowerBound   *float64 `json:"lower_bound"`
	Gap          *float64 `json:"gap"`
}

func newCertified(c tables.Certificate) certified {
	return certified{
		DeltaUpper: shell.FloatUp(c.DeltaUpper), ExpectedLoss: shell.FloatUp(c.ExpectedLoss), LowerBound: shell.FloatDown(c.LowerBound),
		Gap: shell.Finite(shell.GapOf(c)),
	}
}

func newCertifiedKernel(c kernels.Certificate) certified {
	return certified{
		DeltaUpper: shell.FloatUp(c.DeltaUpper), ExpectedLoss: shell.FloatUp(c.ExpectedLoss), MaxLoss: shell.FloatUp(c.MaxLoss), LowerBound: shell.FloatDown(c.LowerBound),
		Gap: shell.Finite(shell.GapOf(c)),
	}
}

func newCertifiedAdditive(c cells.Certificate) certified {
	return certified{
		DeltaUpper: shell.FloatUp(c.DeltaUpper), ExpectedLoss: shell.FloatUp(c.ExpectedLoss), MaxLoss: shell.FloatUp(c.MaxLoss), LowerBound: shell.FloatDown(c.LowerBound),
		Gap: shell.Finite(shell.GapOf(c)),
	}
}

// promise is the privacy that a table or a kernel promises.
type promise struct {
	Epsilon     float64 `json:"epsilon"`
	Delta       float64 `json:"delta"`
	Sensitivity float64 `json:"sensitivity"`
}

func newPromise(p dp.Privacy) promise { return promise{p.Epsilon, p.Delta, p.Sensitivity} }

// published says what the query's values are, what is published and what the noise is
// held to.
type published struct {
	Query       dp.Query       `json:"query"`
	Step        *float64       `json:"step"` // of the values published; null: as fine as needed
	Constraints dp.Constraints `json:"constraints"`
}

func newPublished(p dp.Problem) published {
	out := published{Query: p.Query, Constraints: p.Constraints}
	switch p.Query {
	case dp.IntegerQuery:
		out.Step = shell.Finite(1)
	case dp.LatticeQuery:
		out.Step = shell.Finite(p.Step)
	case dp.RealQuery:
	}
	return out
}

type effort struct {
	Rounds int `json:"rounds"`
	outcome
}

func effortRow(rounds int, elapsed time.Duration) shell.Row {
	return shell.Row{"effort", fmt.Sprintf("%d rounds, %s", rounds, elapsed.Round(time.Millisecond))}
}

// outcome is how the design of a table, or of several, ended.
type outcome struct {
	Seconds float64 `json:"seconds"`
	Status  string  `json:"status"`
}

func newOutcome(optimal bool, elapsed time.Duration) outcome {
	return outcome{Seconds: math.Round(elapsed.Seconds()*1000) / 1000, Status: status(optimal)}
}

// status is the word for a design that reached its gap or did not.
func status(optimal bool) string {
	if optimal {
		return "optimal"
	}
	return "limit"
}

// statement is the problem that a table is made for.
type statement struct {
	promise
	Loss string `json:"loss"`
	published
}

func newStatement(t *tables.Table) statement {
	p := t.Problem()
	return statement{newPromise(p.Privacy), p.Loss.Name(), newPublished(p)}
}

// kernelStatement is the problem that a kernel is made for.
type kernelStatement struct {
	promise
	Loss        string     `json:"loss"`
	Range       [2]float64 `json:"range"`
	InstanceCap *float64   `json:"instance_cap"`
	CapLoss     string     `json:"instance_cap_loss,omitempty"` // if it is another one
}

func newKernelStatement(k *kernels.Kernel) kernelStatement {
	q := k.Queries()
	s := kernelStatement{promise: newPromise(k.Privacy()), Loss: k.Loss().Name(), Range: [2]float64{q.Lower, q.Upper}}
	if c := k.InstanceCap(); c > 0 {
		s.InstanceCap = &c
		if l := k.CapLoss().Name(); l != s.Loss {
			s.CapLoss = l
		}
	}
	return s
}

// additiveStatement is the problem that an additive kernel is made for. An end is null if
// the outer cell has none.
type additiveStatement struct {
	promise
	Loss            string      `json:"loss"`
	Range           [2]*float64 `json:"range"`
	Cells           int         `json:"cells"`
	InstanceCap     *float64    `json:"instance_cap"`
	InstanceCapLoss string      `json:"instance_cap_loss,omitempty"`
}

func newAdditiveStatement(k *cells.Kernel) additiveStatement {
	s := additiveStatement{
		promise: newPromise(k.Privacy()), Loss: k.Loss().Name(), Cells: k.Cells(),
		Range: [2]*float64{shell.Finite(k.Edge(0)), shell.Finite(k.Edge(k.Cells()))},
	}
	if c, l := k.InstanceCap(); c > 0 {
		s.InstanceCap, s.InstanceCapLoss = &c, l.Name()
	}
	return s
}

// judgement is a verdict in words.
func judgement(falsehood error) string {
	switch {
	case errors.Is(falsehood, proof.ErrNotPrivate):
		return "INVALID: not private as claimed"
	case falsehood != nil:
		return "INVALID: a claim is false"
	default:
		return "valid: every claim holds"
	}
}

// certifiedRows are those of a table, of which something may be false; whole is the
// total that it claims, or nil.
func certifiedRows(t *tables.Table, c tables.Certificate, whole *total, falsehood error) []shell.Row {
	p, claims := t.Privacy(), c.Claims()
	privacy := []shell.Row{
		{"epsilon", fmt.Sprint(p.Epsilon)},
		{"delta", fmt.Sprintf("%v promised, %s certified (worst shift, in cells: %d)", p.Delta, shell.Decimal(claims.Delta), c.WorstShift)},
	}
	bound := []shell.Row{
		{"lower bound", shell.Decimal(claims.LowerBound)},
		{"gap", gap(shell.GapOf(c), falsehood)},
	}
	if whole != nil {
		privacy = []shell.Row{
			whole.row(),
			{"each", fmt.Sprintf("epsilon %s, delta %s (%s certified)", shell.DigitsUp(p.Epsilon), shell.DigitsUp(p.Delta), shell.Decimal(claims.Delta))},
		}
		if c.LowerBound.Sign() > 0 {
			bound[1][1] += ofOneRelease
		} else {
			bound = []shell.Row{{"lower bound", noBoundForSeveral}}
		}
	}
	return slices.Concat(privacy, []shell.Row{
		{"sensitivity", fmt.Sprint(p.Sensitivity)},
		{"loss", shell.LossUnit(t.Loss())},
	}, shell.QueryRows(t.Problem()), []shell.Row{
		{"expected loss", shell.Decimal(claims.ExpectedLoss)},
	}, bound, []shell.Row{{"cells", cellCount(t)}})
}

// noBoundForSeveral says why a table with a total has no bound.
const noBoundForSeveral = "none for several releases"

// ofOneRelease says what the gap of a table with a total is about.
const ofOneRelease = ", of noise for a release of this epsilon and delta"

// held is what is certified without the gap, where that would compare noise that is not
// private with the best that is.
func (c certified) held(falsehood error) certified {
	if errors.Is(falsehood, proof.ErrNotPrivate) {
		c.Gap = nil
	}
	return c
}

// gap prints a gap, where there is one; see held.
func gap(gap float64, falsehood error) string {
	if errors.Is(falsehood, proof.ErrNotPrivate) {
		return "none: it is not private as promised"
	}
	return shell.Percent(gap)
}

// cellCount says how many cells a table has, and whether they have a tail.
func cellCount(t *tables.Table) string {
	if t.TailRatio() == 0 {
		return fmt.Sprintf("%d, %d per sensitivity", t.Cells(), t.Grid().CellsPerSensitivity)
	}
	return fmt.Sprintf("%d, the first and last %d of which repeat for ever, %.6g times as likely in each period",
		t.Cells(), t.Grid().CellsPerSensitivity, tailRatio(t))
}

// tailRatio is how much less likely a period of the tail is than the one before, to the
// nearest float64; 0 without a tail.
func tailRatio(t *tables.Table) float64 { return float64(t.TailRatio()) * 0x1p-64 }

func certifiedKernelRows(k *kernels.Kernel, c kernels.Certificate, falsehood error) []shell.Row {
	p, q, claims := k.Privacy(), k.Queries(), c.Claims()
	weight := "uniform weight"
	if len(q.Weight) > 0 {
		weight = fmt.Sprintf("weight in %d pieces", len(q.Weight))
	}
	rows := []shell.Row{
		{"epsilon", fmt.Sprint(p.Epsilon)},
		{"delta", fmt.Sprintf("%v promised, %s certified (worst between the query values %.6g and %.6g)", p.Delta, shell.Decimal(claims.Delta), k.Node(c.Worst[0]), k.Node(c.Worst[1]))},
		{"sensitivity", fmt.Sprint(p.Sensitivity)},
		{"range", fmt.Sprintf("%v to %v, %s", q.Lower, q.Upper, weight)},
		{"loss", shell.LossUnit(k.Loss())},
		{"expected loss", shell.Decimal(claims.ExpectedLoss)},
		{"largest loss", fmt.Sprintf("%s (near the query value %.6g)", shell.Decimal(claims.MaxLoss), c.MaxLossAt)},
	}
	if o := k.InstanceCap(); o > 0 {
		row := shell.Row{"instance cap", fmt.Sprint(o)}
		if l := k.CapLoss(); l.Name() != k.Loss().Name() {
			row[1] += fmt.Sprintf(" for the loss %s (%s certified, near the query value %.6g)", l.Name(), shell.DigitsUp(exact.FloatUp(c.CapLoss)), c.CapLossAt)
		}
		rows = append(rows, row)
	}
	return append(rows,
		shell.Row{"lower bound", shell.Decimal(claims.LowerBound)},
		shell.Row{"gap", gap(shell.GapOf(c), falsehood)},
		shell.Row{"nodes", fmt.Sprint(k.Cells())},
	)
}

func certifiedAdditiveRows(k *cells.Kernel, c cells.Certificate, falsehood error) []shell.Row {
	p, claims := k.Privacy(), c.Claims()
	step, _ := k.Grid().Step().Float64()
	rows := []shell.Row{
		{"epsilon", fmt.Sprint(p.Epsilon)},
		{"delta", fmt.Sprintf("%v promised, %s certified (worst between the cells %d and %d, %.6g apart)", p.Delta, shell.Decimal(claims.Delta), c.Worst.Gain, c.Worst.Lose, float64(c.Worst.Shift)*step)},
		{"sensitivity", fmt.Sprint(p.Sensitivity)},
		{"cells", fmt.Sprintf("%d, from %v to %v", k.Cells(), k.Edge(0), k.Edge(k.Cells()))},
		{"loss", shell.LossUnit(k.Loss())},
		{"expected loss", shell.Decimal(claims.ExpectedLoss)},
		{"largest loss", shell.Decimal(claims.MaxLoss)},
	}
	if o, l := k.InstanceCap(); o > 0 {
		rows = append(rows, shell.Row{"instance cap", fmt.Sprintf("%v, of %s", o, l.Name())})
	}
	return append(rows,
		shell.Row{"lower bound", shell.Decimal(claims.LowerBound)},
		shell.Row{"gap", gap(shell.GapOf(c), falsehood)},
		shell.Row{"bins", fmt.Sprint(k.Bins())},
	)
}
