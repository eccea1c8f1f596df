// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/learn"
	"github.com/noisewright/noisewright/release"
)

type learnPredictOptions struct {
	shell.Common
	model, data string // files
	csv         csvfile.Options
}

func newLearnPredictCommand(s *shell.Streams) *cobra.Command {
	o := &learnPredictOptions{Common: shell.Common{Streams: s}}
	f := shell.NewFlags(&cobra.Command{
		Use:   "predict --model MODEL --data FILE [-o FILE]",
		Short: "Predict classes by a model",
		Long: `Predict the class of every record of a CSV file, from the model alone, and write a CSV
file with one column, of the name of the target, in the same order. This costs nothing:
whatever is done with a model is as private as the model is.

If the file has the column of the classes, the errors are counted. They are exact, and
tell of the records of the file, which nothing protects here. The interval contains,
with a probability of at least 0.95, the probability of an error on such a record
(Clopper & Pearson 1934).

A record that does not keep to the model's schema is refused.`,
		Example: `  noisewright learn predict --model model.json --data new.csv -o predictions.csv
  noisewright learn predict --model model.json --data test.csv`,
	})
	f.RequiredFile(&o.model, "model", "a file that learn has written", "model file, made by one of the commands that learn", "json")
	f.RequiredFile(&o.data, "data", "a CSV file", "CSV file of records with a header, - for standard input; perhaps compressed with gzip or zstd", shell.CSVFiles...)
	f.Check(func() error { return oneStandard(o.model, o.data) })
	f.Delimiter(&o.csv)
	f.Output(&o.Common, "CSV file to write the classes to, - for standard output (default none)", "csv")
	f.Summary(&o.Common, "output")
	return f.Run(o.run)
}

func (o *learnPredictOptions) run(ctx context.Context) error {
	w, err := o.Reserve(o.Output, o.model, o.data)
	if err != nil {
		return err
	}
	defer w.Discard()
	in, err := o.Open(o.model)
	if err != nil {
		return err
	}
	defer in.Close()
	m, err := learn.ReadModel(in)
	if err != nil {
		return shell.BadFile(o.model, err)
	}
	var data *learn.Data
	_, err = readRows(ctx, &o.Common, o.data, o.csv, func(rows *release.CSV) (err error) {
		data, err = m.Schema.ReadUnlabeled(rows)
		return err
	})
	if err != nil {
		return err
	}
	var test *learn.Errors // null without classes
	rows := guaranteeRows(m.Guarantee)
	switch {
	case data.Labeled() && data.Len() > 0:
		e, err := m.Evaluate(data)
		if err != nil {
			return err
		}
		test = &e
		rows = append(rows, errorRow(e), shell.Row{"not protected", "the records of the file: errors are exact"})
	case data.Labeled() && o.Output == "":
		return shell.BadFile(o.data, errors.New("no records, want one at least to count errors on"))
	case o.Output == "":
		return shell.BadInput("-o FILE writes the classes", fmt.Errorf("%s has no column of classes to count errors by, want an output", shell.InputName(o.data)))
	}
	encode := func(w io.Writer) error {
		out := csv.NewWriter(w)
		err := out.Write([]string{m.Schema.Target})
		for row := range data.Len() {
			err = errors.Join(err, out.Write([]string{m.Schema.Classes[m.Predict(data, row)]}))
		}
		out.Flush()
		return errors.Join(err, out.Error())
	}
	return o.Finish(w, encode, shell.Object{"records", data.Len(), "guarantee", m.Guarantee, "test", test}, rows, nil)
}
