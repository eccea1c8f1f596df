// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/noisewright/noisewright/release"
)

// Workers find functions and types by their names. Beam's generic package register would
// also spare them reflection, but takes the compiler a minute of CPU for this package.
func init() {
	for _, fn := range []any{
		reflect.TypeFor[splitFn](), reflect.TypeFor[addNoiseFn](),
		reflect.TypeFor[clipFn](), reflect.TypeFor[rankFn](), partsOf,
		totalsOf, empty, reflect.TypeFor[knownFn](), reflect.TypeFor[selectFn](), reflect.TypeFor[answerFn](),
		reflect.TypeFor[quantilesFn](),
		binsOf, reflect.TypeFor[foundFn](), onePartition, reflect.TypeFor[distinctFn](), squaresOf, reflect.TypeFor[varianceFn](), reflect.TypeFor[indexFn](), reflect.TypeFor[topFn](),
		reflect.TypeFor[readCSVFn](), reflect.TypeFor[writeCSVFn](), reflect.TypeFor[readRowsFn](),
		one, reflect.TypeFor[someFn](),
		named, onlyOne, reflect.TypeFor[estimateFn](),
		reflect.TypeFor[placeFn](), reflect.TypeFor[inputFn](), noEntry, counted, reflect.TypeFor[measureFn](), reflect.TypeFor[withinFn](), reflect.TypeFor[periodFn](), reflect.TypeFor[sinceFn](), reflect.TypeFor[readEntriesFn](),
	} {
		beam.RegisterDoFn(fn)
	}
	for _, t := range []reflect.Type{
		reflect.TypeFor[Row](), reflect.TypeFor[totals](), reflect.TypeFor[contribution](), reflect.TypeFor[pick](), reflect.TypeFor[choice](), reflect.TypeFor[chosen](),
		reflect.TypeFor[chooseFn](), reflect.TypeFor[totalsFn](), reflect.TypeFor[addFn](),
		reflect.TypeFor[bin](), reflect.TypeFor[bins](), reflect.TypeFor[binsFn](), reflect.TypeFor[squares](), reflect.TypeFor[squaresFn](), reflect.TypeFor[Place](),
		reflect.TypeFor[Answer](), reflect.TypeFor[Share](), reflect.TypeFor[tallied](), reflect.TypeFor[tallyFn](),
		reflect.TypeFor[Entry](), reflect.TypeFor[count](), reflect.TypeFor[release.WorkloadAnswer](),
		reflect.TypeFor[Quantile](), reflect.TypeFor[record](), reflect.TypeFor[header](),
	} {
		beam.RegisterType(t)
	}
}
