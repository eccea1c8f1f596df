package reproduce

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/cli/shell"
	"github.com/noisewright/noisewright/internal/figure"
	"github.com/noisewright/noisewright/internal/taskspace"
)

// The approaches of Cheng, Tang & Chinchali (2022), and their curves.
var taStyles = []struct {
	name  string
	style draw.LineStyle
}{
	{"task-aware", draw.LineStyle{Color: figure.Blue, Width: vg.Points(2)}},
	{"task-agnostic", draw.LineStyle{Color: figure.Vermilion, Width: vg.Points(1.4), Dashes: []vg.Length{vg.Points(5), vg.Points(3)}}},
	{"privacy-agnostic", draw.LineStyle{Color: figure.Green, Width: vg.Points(1.4), Dashes: []vg.Length{vg.Points(2), vg.Points(2)}}},
}

// taSettings are the values λ of figure 3, where the prices of the coordinates
// are 4, λ, λ, λ.
var taSettings = []float64{0, 1, 2}

// taPoint is one ratio r/ε of figure 3.
type taPoint struct {
	ratio                                      float64
	z                                          int
	taskAware, taskAgnostic, privacyAgnosticZ2 float64
}

// taFigure3 evaluates the closed forms at r/ε = 0.02, 0.04, …, 1, with L = I and
// s = 8r²/ε². Noise on the n = 4 features themselves is for a sensitivity of 2r√n and has
// the loss ns/(1 + ns)·Σλ_i (54); the first z coordinates with equal scales, the best
// encoder without noise, leave zs/(1 + zs)·Σ_{i≤z} λ_i + Σ_{i>z} λ_i (55).
func taFigure3(setting float64) ([]taPoint, error) {
	lambda := []float64{4, setting, setting, setting}
	first, rest := 4+setting, 2*setting // two coordinates, and the others
	var points []taPoint
	for i := 1; i <= 50; i++ {
		// With ε = 50 and r = i the ratio i/50 is as exact as can be.
		aware, err := taskspace.Waterfill(lambda, float64(i), 50)
		if err != nil {
			return nil, err
		}
		ratio := float64(i) / 50
		s := 8 * ratio * ratio
		points = append(points, taPoint{
			ratio: ratio, z: aware.Z, taskAware: aware.Loss,
			taskAgnostic: 4 * s / (1 + 4*s) * (first + rest), privacyAgnosticZ2: 2*s/(1+2*s)*first + rest,
		})
	}
	return points, nil
}

func newTAFigure3Command(a *shell.Streams) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "ta-figure3",
		Short: "Figure 3 of Cheng, Tang & Chinchali (2022): three encoders in closed form",
		Long: `Compute figure 3 of Cheng, Tang & Chinchali, "Task-aware privacy preservation for
multi-dimensional data" (2022), from its closed forms: the task loss of the
task-aware, the task-agnostic and the privacy-agnostic encoder (the latter with 2
coordinates) of 4 features with unit covariance in a ball of radius r, for prices
4, lambda, lambda, lambda of the coordinates, lambda = 0, 1 and 2 (the setting).
Written are ta-figure3.csv, with z the number of coordinates of the task-aware
encoder, and ta-figure3.svg.`,
		Example: "  noisewright reproduce ta-figure3 -o results",
		Args:    shell.NoArguments,
	}
	cmd.Flags().StringVarP(&out, "output", "o", ".", "folder to write to, made if it is missing")
	_ = cmd.MarkFlagDirname("output")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var f shell.Fields
		f.Required("output", out, "a folder")
		if err := f.Err(cmd); err != nil {
			return err
		}
		files, err := createPair(a, out, "ta-figure3")
		if err != nil {
			return err
		}
		defer files.discard()
		records := [][]string{{"setting", "r_over_epsilon", "task_aware", "z", "task_agnostic", "privacy_agnostic"}}
		var rows []shell.Row
		var plots []*plot.Plot
		for _, setting := range taSettings {
			points, err := taFigure3(setting)
			if err != nil {
				return err
			}
			p := figure.New()
			p.Title.Text = fmt.Sprintf("λ = 4, %[1]g, %[1]g, %[1]g", setting)
			p.X.Label.Text = "r/ε"
			curves := make([]plotter.XYs, len(taStyles))
			for _, t := range points {
				values := []float64{t.taskAware, t.taskAgnostic, t.privacyAgnosticZ2}
				for i, v := range values {
					curves[i] = append(curves[i], plotter.XY{X: t.ratio, Y: v})
				}
				records = append(records, []string{
					fmt.Sprint(setting), strconv.FormatFloat(t.ratio, 'g', -1, 64), fmt.Sprintf("%.10g", t.taskAware), strconv.Itoa(t.z),
					fmt.Sprintf("%.10g", t.taskAgnostic), fmt.Sprintf("%.10g", t.privacyAgnosticZ2),
				})
			}
			for i := len(taStyles) - 1; i >= 0; i-- {
				if err := figure.Add(p, []figure.Curve{{Name: taStyles[i].name, Points: curves[i], Style: taStyles[i].style}}); err != nil {
					return err
				}
			}
			p.Legend.Top = false
			p.Legend.YOffs = vg.Points(6)
			p.X.Min, p.Y.Min, p.Y.Max = 0, 0, 4+3*setting
			plots = append(plots, p)
			t := points[24]
			rows = append(rows, shell.Row{fmt.Sprintf("lambda %g", setting), fmt.Sprintf("r/epsilon = 0.5: task-aware %.4f (z = %d), task-agnostic %.4f, privacy-agnostic %.4f", t.taskAware, t.z, t.taskAgnostic, t.privacyAgnosticZ2)})
		}
		plots[0].Y.Label.Text = "task loss"
		if err := csv.NewWriter(files.csv).WriteAll(records); err != nil {
			return err
		}
		if err := figure.WriteRow(files.svg, plots, 30*vg.Centimeter, 11*vg.Centimeter); err != nil {
			return err
		}
		if err := files.commit(); err != nil {
			return err
		}
		return shell.PrintRows(a.Out, append(rows, shell.Row{"files", files.names}))
	}
	return cmd
}

// pair is a CSV file and a figure, of which both appear or none.
type pair struct {
	csv, svg *shell.Output
	names    string
}

// createPair opens NAME.csv and NAME.svg in a folder, which is made if needed.
// The caller calls discard in any case.
func createPair(a *shell.Streams, folder, name string) (*pair, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // results are not secret
		return nil, shell.BadInput("", fmt.Errorf("output = %s: %w", check.Quoted(folder), shell.FileCause(err)))
	}
	var p pair
	table, figure := filepath.Join(folder, name+".csv"), filepath.Join(folder, name+".svg")
	p.names = table + ", " + figure
	var err error
	if p.csv, err = a.Create(table); err != nil {
		return nil, err
	}
	if p.svg, err = a.Create(figure); err != nil {
		p.csv.Discard()
		return nil, err
	}
	return &p, nil
}

func (p *pair) commit() error {
	return errors.Join(p.csv.Commit(), p.svg.Commit())
}

func (p *pair) discard() {
	p.csv.Discard()
	p.svg.Discard()
}
