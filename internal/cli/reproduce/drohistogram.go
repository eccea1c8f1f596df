package reproduce

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noisewright/noisewright/internal/cli/shell"
	"github.com/noisewright/noisewright/internal/figure"
)

// droHistogramOptions are those of reproduce dro-supplement-figure2.
type droHistogramOptions struct {
	shell.Common
	data, exclude, categories string
}

const droHistogramName = "dro-supplement-figure2"

func newDROHistogramCommand(s *shell.Streams) *cobra.Command {
	o := &droHistogramOptions{Common: shell.Common{Streams: s}}
	cmd := &cobra.Command{
		Use:   droHistogramName,
		Short: "After a figure of Selvi, Liu & Wiesemann (2025): the gradients that noise is added to",
		Long: fmt.Sprintf(`Compute the histogram of the numbers that proximal coordinate descent adds noise to:
components of the sum of the gradients of logistic regression, through 100 rounds of
100 runs without noise on four fifths of the data. The paper's partition for data
dependent noise is fine from -10 to 10, where most of them are. Written are
%s.csv and %[1]s.svg.
The runs are the same every time.

The authors' program draws it for "Cylinder Bands" of the UCI Machine Learning
Repository (https://archive.ics.uci.edu/dataset/32), as a CSV file with a header, the
label in the last column, and ? for what is missing. The paper leaves out the first
four columns and the constant ones, and has %s for categories.`, droHistogramName, droCategories),
		Example: "  noisewright reproduce dro-supplement-figure2 --data bands.csv --exclude timestamp,cylinder_number,customer,job_number --categories " + droCategories + " -o results",
	}
	f := shell.NewFlags(cmd)
	f.File(&o.data, "data", "CSV file of examples, perhaps compressed with gzip", "csv", "gz")
	f.Require(&o.data, "data", "a CSV file with two labels in the last column")
	f.String(&o.exclude, "exclude", "names of columns that are no features, separated by commas; * stands for any text")
	f.String(&o.categories, "categories", "names of columns of numbers that are categories, as for --exclude")
	f.Folder(&o.Common)
	f.Summary(&o.Common, "output")
	f.Run(o.run)
	return cmd
}

const droCategories = "press,unit_number,plating_tank"

// droHistogramReport is what is printed as JSON.
type droHistogramReport struct {
	Schema   int       `json:"schema"`
	Name     string    `json:"name"`
	Examples int       `json:"examples"`
	Features int       `json:"features"`
	Count    int       `json:"count"`
	Within10 float64   `json:"within_10"`
	Files    [2]string `json:"files"`
}

// The histogram has bins of width 1 from −reach to reach.
const histogramReach = 50

func (o *droHistogramOptions) run(ctx context.Context) error {
	all, err := readExamples(o.Streams, o.data, o.exclude, o.categories)
	if err != nil {
		return err
	}
	files, err := createPair(o.Streams, o.Output, droHistogramName)
	if err != nil {
		return err
	}
	defer files.discard()
	r := rand.New(rand.NewPCG(1, 0)) //nolint:gosec // the runs of a figure, the same every time
	train := all.training(r)
	var counts [2 * histogramReach]int
	total, within := 0, 0
	for range 100 {
		if err := ctx.Err(); err != nil {
			return err
		}
		train.descend(r, func(gradient float64) {
			total++
			if math.Abs(gradient) <= 10 {
				within++
			}
			if bin := math.Floor(gradient) + histogramReach; bin >= 0 && bin < 2*histogramReach {
				counts[int(bin)]++
			}
		})
	}
	if err := errors.Join(writeHistogram(files, counts[:], total), files.commit()); err != nil {
		return err
	}
	report := droHistogramReport{
		shell.Schema, droHistogramName, len(train.rows), len(train.rows[0]) - 1, total, float64(within) / float64(total), files.names,
	}
	return o.Print(report, []shell.Row{
		{"examples", fmt.Sprintf("%d of %d, %d features and the intercept", report.Examples, len(all.rows), report.Features)},
		{"gradients", fmt.Sprintf("%d, %s of them from -10 to 10", total, shell.Percent(report.Within10))},
		filesRow(files),
	})
}

// writeHistogram writes shares of the total, per unit.
func writeHistogram(files *pair, counts []int, total int) error {
	records := [][]string{{"from", "to", "density"}}
	var points plotter.XYs
	for i, n := range counts {
		from, density := float64(i-histogramReach), float64(n)/float64(total)
		points = append(points, plotter.XY{X: from, Y: density}, plotter.XY{X: from + 1, Y: density})
		records = append(records, []string{fmt.Sprint(from), fmt.Sprint(from + 1), fmt.Sprintf("%.8g", density)})
	}
	c := csv.NewWriter(files.csv)
	if err := errors.Join(c.WriteAll(records), c.Error()); err != nil {
		return err
	}
	p := figure.New()
	p.X.Label.Text = "component of the sum of gradients"
	p.Y.Label.Text = "density"
	if err := figure.Add(p, []figure.Curve{{Name: "100 runs", Points: points, Style: draw.LineStyle{Color: figure.Blue, Width: vg.Points(1.5)}}}); err != nil {
		return err
	}
	p.Y.Min = 0
	return figure.Write(p, files.svg, "svg", 18*vg.Centimeter, 11*vg.Centimeter)
}
