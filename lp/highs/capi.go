// SPDX-License-Identifier: Apache-2.0

//go:build highs && !highswasm

package highs

/*
#cgo pkg-config: highs

#include <stdbool.h>
#include <stdlib.h>
#include "interfaces/highs_c_api.h"

// Batches are passed as int32; a HiGHS built with HIGHSINT64 has other sizes.
_Static_assert(sizeof(HighsInt) == 4, "noisewright needs a HiGHS built with 32-bit indices (without HIGHSINT64)");

// nw_model is a HiGHS model and the flag its callback reads.
typedef struct {
	void *highs;
	int cancel; // only through __atomic builtins
} nw_model;

// nw_interrupt assigns rather than raises user_interrupt, so that nothing of
// an earlier, cancelled run is left in HiGHS' copy.
static void nw_interrupt(int type, const char *message,
		const HighsCallbackDataOut *out, HighsCallbackDataIn *in, void *data) {
	(void)type; (void)message; (void)out;
	if (in) in->user_interrupt = __atomic_load_n(&((nw_model *)data)->cancel, __ATOMIC_ACQUIRE);
}

static void nw_set_cancel(nw_model *m, bool on) {
	__atomic_store_n(&m->cancel, on, __ATOMIC_RELEASE);
}

static void nw_free(nw_model *m) {
	Highs_destroy(m->highs);
	free(m);
}

// nw_new returns NULL if HiGHS cannot be set up.
static nw_model *nw_new(void) {
	nw_model *m = calloc(1, sizeof *m);
	if (!m) return NULL;
	m->highs = Highs_create();
	if (!m->highs) {
		free(m);
		return NULL;
	}
	if (Highs_setBoolOptionValue(m->highs, "output_flag", 0) == kHighsStatusError ||
			Highs_setBoolOptionValue(m->highs, "log_to_console", 0) == kHighsStatusError ||
			Highs_setCallback(m->highs, nw_interrupt, m) == kHighsStatusError ||
			Highs_startCallback(m->highs, kHighsCallbackSimplexInterrupt) == kHighsStatusError ||
			Highs_startCallback(m->highs, kHighsCallbackIpmInterrupt) == kHighsStatusError) {
		nw_free(m);
		return NULL;
	}
	return m;
}

// The header's constants are static variables, which only C can name.

// nw_ok counts a warning as success: a run stopped at a limit ends with one.
static int nw_ok(HighsInt status) { return status != kHighsStatusError; }

// In the order of solver.Status.
enum { NW_FAILED, NW_OPTIMAL, NW_INFEASIBLE, NW_UNBOUNDED, NW_LIMIT };

static int nw_status(nw_model *m) {
	HighsInt s = Highs_getModelStatus(m->highs);
	if (s == kHighsModelStatusOptimal) return NW_OPTIMAL;
	if (s == kHighsModelStatusInfeasible) return NW_INFEASIBLE;
	if (s == kHighsModelStatusUnbounded) return NW_UNBOUNDED;
	if (s == kHighsModelStatusTimeLimit || s == kHighsModelStatusIterationLimit ||
			s == kHighsModelStatusInterrupt) return NW_LIMIT;
	return NW_FAILED;
}
*/
import "C"

import (
	"errors"
	"unsafe"

	"github.com/noisewright/noisewright/internal/solver"
)

// model is a HiGHS model in C memory. Its methods are single calls; those that
// return a bool report whether HiGHS did not return its error status.
type model struct{ c *C.nw_model }

func newModel() (model, error) {
	c := C.nw_new()
	if c == nil {
		return model{}, errors.New("HiGHS cannot be set up")
	}
	return model{c}, nil
}

func (m model) free() { C.nw_free(m.c) }

// Version returns the version of the HiGHS library in use, such as "1.15.1".
func Version() string { return C.GoString(C.Highs_version()) }

// setCancel may be called while run is under way.
func (m model) setCancel(on bool) { C.nw_set_cancel(m.c, C.bool(on)) }

// addColumns and addRows take the starts and the indices of the vectors apart.
func (m model) addColumns(cost []float64, v solver.Vectors, start, index []int32) bool {
	return ok(C.Highs_addCols(m.c.highs, C.HighsInt(len(cost)), doubles(cost), doubles(v.Lower), doubles(v.Upper),
		C.HighsInt(len(index)), ints(start), ints(index), doubles(v.Value)))
}

func (m model) addRows(v solver.Vectors, start, index []int32) bool {
	return ok(C.Highs_addRows(m.c.highs, C.HighsInt(len(v.Lower)), doubles(v.Lower), doubles(v.Upper),
		C.HighsInt(len(index)), ints(start), ints(index), doubles(v.Value)))
}

func (m model) zeroClocks() bool  { return ok(C.Highs_zeroAllClocks(m.c.highs)) }
func (m model) run() bool         { return ok(C.Highs_run(m.c.highs)) }
func (m model) clearSolver() bool { return ok(C.Highs_clearSolver(m.c.highs)) }

// solution fills the four slices, whose lengths are those of the program.
func (m model) solution(primal, columnDual, rowValue, rowDual []float64) bool {
	return ok(C.Highs_getSolution(m.c.highs,
		doubles(primal), doubles(columnDual), doubles(rowValue), doubles(rowDual)))
}

func (m model) status() solver.Status { return solver.Status(C.nw_status(m.c)) }

// named makes a call with the name of an option or of a figure of the last run.
func named(name string, call func(*C.char) C.HighsInt) bool {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	return ok(call(c))
}

func (m model) setString(option, value string) bool {
	v := C.CString(value)
	defer C.free(unsafe.Pointer(v))
	return named(option, func(o *C.char) C.HighsInt { return C.Highs_setStringOptionValue(m.c.highs, o, v) })
}

func (m model) setInt(option string, value int) bool {
	return named(option, func(o *C.char) C.HighsInt { return C.Highs_setIntOptionValue(m.c.highs, o, C.HighsInt(value)) })
}

func (m model) setDouble(option string, value float64) bool {
	return named(option, func(o *C.char) C.HighsInt { return C.Highs_setDoubleOptionValue(m.c.highs, o, C.double(value)) })
}

func (m model) intInfo(info string) (int, bool) {
	var v C.HighsInt
	good := named(info, func(i *C.char) C.HighsInt { return C.Highs_getIntInfoValue(m.c.highs, i, &v) })
	return int(v), good
}

func (m model) doubleInfo(info string) (float64, bool) {
	var v C.double
	good := named(info, func(i *C.char) C.HighsInt { return C.Highs_getDoubleInfoValue(m.c.highs, i, &v) })
	return float64(v), good
}

func ok(status C.HighsInt) bool { return C.nw_ok(status) != 0 }

// doubles and ints lend a slice to one call; HiGHS keeps no pointer. An empty slice is NULL.
func doubles(s []float64) *C.double { return (*C.double)(unsafe.Pointer(unsafe.SliceData(s))) }
func ints(s []int32) *C.HighsInt    { return (*C.HighsInt)(unsafe.Pointer(unsafe.SliceData(s))) }
