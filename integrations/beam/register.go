package noisebeam

import (
	"context"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/fileio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

// Workers find functions and types by their names, and without this call them by
// reflection.
func init() {
	register.DoFn1x2[beam.T, beam.T, error](&addNoiseFn{})

	beam.RegisterType(reflect.TypeFor[Row]())
	beam.RegisterType(reflect.TypeFor[totals]())
	beam.RegisterType(reflect.TypeFor[contribution]())
	beam.RegisterType(reflect.TypeFor[sample]())
	register.DoFn2x0[Row, func(string, int64)](&clipFn{})
	register.Combiner3[sample, int64, []int64](&sampleFn{})
	register.Function2x2(personOf)
	register.DoFn3x0[string, func(*contribution) bool, func(string, contribution)](&partitionsFn{})
	register.Emitter2[string, int64]()
	register.Emitter2[string, contribution]()
	register.Iter1[contribution]()

	register.Function2x2(totalsOf)
	register.Function1x2(empty)
	register.Combiner1[totals](&totalsFn{})
	register.DoFn3x0[string, totals, func(string, totals)](&knownFn{})
	register.DoFn3x1[string, totals, func(string, totals), error](&selectFn{})
	register.DoFn2x3[string, totals, string, float64, error](&answerFn{})
	register.Emitter2[string, totals]()

	beam.RegisterType(reflect.TypeFor[Quantile]())
	register.DoFn4x1[string, func(*totals) bool, func(*contribution) bool, func(string, Quantile), error](&quantilesFn{})
	register.Emitter2[string, Quantile]()
	register.Iter1[totals]()

	beam.RegisterType(reflect.TypeFor[record]())
	register.DoFn4x1[context.Context, fileio.ReadableFile, func(record), func([]string), error](&readCSVFn{})
	register.DoFn4x1[context.Context, int, func(*record) bool, func(*[]string) bool, error](&writeCSVFn{})
	register.DoFn3x1[context.Context, fileio.ReadableFile, func(Row), error](&readRowsFn{})
	register.Emitter1[record]()
	register.Emitter1[Row]()
	register.Emitter1[[]string]()
	register.Iter1[record]()
	register.Iter1[[]string]()
}
