// SPDX-License-Identifier: Apache-2.0

package formfile

import (
	"math/big"
	"reflect"
)

// Clone copies a value with all that its exported fields, its pointers and its slices lead
// to. What an interface holds is shared: losses do not change.
func Clone[T any](x T) T {
	clone(reflect.ValueOf(&x).Elem())
	return x
}

func clone(v reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // of other kinds the value is all
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		to := reflect.New(v.Type().Elem())
		if r, ok := v.Interface().(*big.Rat); ok {
			to.Interface().(*big.Rat).Set(r)
		} else {
			to.Elem().Set(v.Elem())
			clone(to.Elem())
		}
		v.Set(to)
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		to := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(to, v)
		v.Set(to)
		switch v.Type().Elem().Kind() { //nolint:exhaustive // others were copied
		case reflect.Pointer, reflect.Slice, reflect.Struct:
			for i := range v.Len() {
				clone(v.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				clone(v.Field(i))
			}
		}
	}
}
