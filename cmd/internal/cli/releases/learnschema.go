// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/learn"
	"github.com/noisewright/noisewright/release"
)

type learnSchemaOptions struct {
	shell.Common
	data, target string
	shell.FeatureColumns
	categorical string // patterns
	csv         csvfile.Options
}

func newLearnSchemaCommand(s *shell.Streams) *cobra.Command {
	o := &learnSchemaOptions{Common: shell.Common{Streams: s}}
	f := shell.NewFlags(&cobra.Command{
		Use:   "schema --data FILE --target COLUMN [-o SCHEMA]",
		Short: "Draft a schema, to be edited",
		Long: `Draft a schema from a file: the classes of the target, and of every other column the
least and the largest number, or the categories if it has text. Columns that are the
same in every row are left out.

A DRAFT IS NOT PRIVATE: its bounds and categories are those of the records. Replace
them by what is known without these, such as 0 to 120 for ages, or the categories of a
questionnaire; then remove "draft" from the file. Nothing is learned by a draft. To
draft from public records of the same kind is safe.`,
		Example: "  noisewright learn schema --data public.csv --target income -o schema.json",
	})
	f.RequiredFile(&o.data, "data", "a CSV file", "CSV file with a header, - for standard input; perhaps compressed with gzip or zstd", shell.CSVFiles...)
	f.String(&o.target, "target", "column of the class")
	f.Require(&o.target, "target", "the name of a column")
	f.FeatureColumns(&o.FeatureColumns, "the target")
	f.String(&o.categorical, "categorical", "names of columns whose numbers are categories, as for --columns; text always is")
	f.Delimiter(&o.csv)
	f.Output(&o.Common, "schema file to write, - for standard output (default -)", "json")
	f.Quiet(&o.Common, "no progress")
	return f.Run(o.run)
}

func (o *learnSchemaOptions) run(ctx context.Context) error {
	categorical := func(name string) bool { return csvfile.Matches(strings.Split(o.categorical, ","), name) }
	w, err := o.Create(o.Output, o.data)
	if err != nil {
		return err
	}
	defer w.Discard()
	var schema *learn.Schema
	_, err = readRows(ctx, &o.Common, o.data, o.csv, func(rows *release.CSV) (err error) {
		if err := errors.Join(o.Unmatched(rows.Columns()), shell.Unmatched("categorical", o.categorical, rows.Columns())); err != nil {
			return err
		}
		schema, err = learn.Draft(rows, o.target, o.Chosen, categorical)
		return err
	})
	if err != nil {
		return err
	}
	if err := w.Put(schema.Encode); err != nil {
		return err
	}
	for _, f := range schema.Features {
		if !categorical(f.Name) && mixed(f.Categories) {
			o.Warn("column %s has numbers and other texts: drafted as %d categories; bounds want a number in every record", check.Quoted(f.Name), len(f.Categories))
		}
	}
	o.Warn(`the draft is NOT PRIVATE: it shows bounds and categories of the records; replace them by what is known without these, then remove "draft"`)
	return nil
}

func mixed(texts []string) bool {
	numbers := 0
	for _, text := range texts {
		if v, err := strconv.ParseFloat(text, 64); err == nil && check.Finite(v) {
			numbers++
		}
	}
	return numbers > 0 && numbers < len(texts)
}
