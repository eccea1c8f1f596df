// SPDX-License-Identifier: Apache-2.0

//go:build highswasm

package highs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"

	"github.com/noisewright/noisewright/internal/solver"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// The constants of HiGHS' C API.
const (
	statusError         = -1
	modelOptimal        = 7
	modelInfeasible     = 8
	modelUnbounded      = 10
	modelTimeLimit      = 13
	modelIterationLimit = 14
	modelInterrupted    = 17
	sizeOfInt           = 4
	sizeOfDouble        = 8
)

// model is a HiGHS model in a memory of its own. Its methods are single calls; those that return a
// bool report whether HiGHS did not return its error status. A call that ends in a trap, as for
// want of memory, leaves a model that is lost: every later call is refused.
type model struct{ *modelState }

type modelState struct {
	*library
	module    api.Module
	functions map[string]api.Function
	highs     uint64 // HiGHS' pointer to the model
	cancel    atomic.Bool
	lost      bool
}

func newModel() (m model, err error) {
	l, err := load()
	if err != nil {
		return model{}, fmt.Errorf("HiGHS as WebAssembly cannot be compiled here: %w", err)
	}
	defer recovered(&err)
	ctx := experimental.WithMemoryAllocator(context.Background(), experimental.MemoryAllocatorFunc(reserve))
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions(l.exports["constructors"])
	module, err := l.runtime.InstantiateModule(ctx, l.code, config)
	if err != nil {
		return model{}, err
	}
	m = model{&modelState{library: l, module: module, functions: map[string]api.Function{}}}
	var good bool
	m.highs, good = m.call("Highs_create").result()
	if !good || m.highs == 0 || !m.setBool("output_flag", false) || !m.setBool("log_to_console", false) {
		m.free()
		return model{}, errors.New("HiGHS cannot be set up")
	}
	return m, nil
}

func (m model) free() { _ = m.module.Close(context.Background()) }

// Version returns the version of the HiGHS library in use, such as "1.15.1".
func Version() string {
	first, _, _ := strings.Cut(names, "\n")
	return strings.TrimPrefix(first, "version ")
}

// setCancel may be called while run is under way.
func (m model) setCancel(on bool) { m.cancel.Store(on) }

// addColumns and addRows take the starts and the indices of the vectors apart.
func (m model) addColumns(cost []float64, v solver.Vectors, start, index []int32) bool {
	return m.to("Highs_addCols").int(len(cost)).doubles(cost).doubles(v.Lower).doubles(v.Upper).
		int(len(index)).ints(start).ints(index).doubles(v.Value).ok()
}

func (m model) addRows(v solver.Vectors, start, index []int32) bool {
	return m.to("Highs_addRows").int(len(v.Lower)).doubles(v.Lower).doubles(v.Upper).
		int(len(index)).ints(start).ints(index).doubles(v.Value).ok()
}

func (m model) zeroClocks() bool  { return m.to("Highs_zeroAllClocks").ok() }
func (m model) run() bool         { return m.to("Highs_run").ok() }
func (m model) clearSolver() bool { return m.to("Highs_clearSolver").ok() }

// solution fills the four slices, whose lengths are those of the program.
func (m model) solution(primal, columnDual, rowValue, rowDual []float64) bool {
	return m.to("Highs_getSolution").into(primal).into(columnDual).into(rowValue).into(rowDual).ok()
}

func (m model) status() solver.Status {
	status, good := m.to("Highs_getModelStatus").result()
	if !good {
		return solver.StatusFailed
	}
	switch status {
	case modelOptimal:
		return solver.StatusOptimal
	case modelInfeasible:
		return solver.StatusInfeasible
	case modelUnbounded:
		return solver.StatusUnbounded
	case modelTimeLimit, modelIterationLimit, modelInterrupted:
		return solver.StatusLimit
	}
	return solver.StatusFailed
}

func (m model) setString(option, value string) bool {
	return m.to("Highs_setStringOptionValue").text(option).text(value).ok()
}

func (m model) setInt(option string, value int) bool {
	return m.to("Highs_setIntOptionValue").text(option).int(value).ok()
}

func (m model) setBool(option string, value bool) bool {
	is := 0
	if value {
		is = 1
	}
	return m.to("Highs_setBoolOptionValue").text(option).int(is).ok()
}

func (m model) setDouble(option string, value float64) bool {
	return m.to("Highs_setDoubleOptionValue").text(option).number(api.EncodeF64(value)).ok()
}

func (m model) intInfo(info string) (int, bool) {
	var v int32
	good := m.to("Highs_getIntInfoValue").text(info).
		space(sizeOfInt, func(b []byte) { v = int32(binary.LittleEndian.Uint32(b)) }).ok()
	return int(v), good
}

func (m model) doubleInfo(info string) (float64, bool) {
	v := []float64{math.NaN()}
	good := m.to("Highs_getDoubleInfoValue").text(info).into(v).ok()
	return v[0], good
}

// call is one call of a function of the module: its arguments, the memory lent to it,
// and what is to be read from that memory afterwards.
type call struct {
	model
	name string
	args []uint64
	lent []uint64
	read []func() bool
	bad  bool
}

func (m model) call(name string) *call { return &call{model: m, name: name} }

// to is a call whose first argument is the model.
func (m model) to(name string) *call { return m.call(name).number(m.highs) }

func (c *call) number(v uint64) *call {
	c.args = append(c.args, v)
	return c
}

func (c *call) int(v int) *call { return c.number(api.EncodeI32(int32(v))) }

// bytes lends a copy of b; nothing is a null pointer.
func (c *call) bytes(b []byte) *call {
	if len(b) == 0 {
		return c.number(0)
	}
	at, good := c.invoke("malloc", uint64(len(b)))
	if !good || at == 0 || !c.module.Memory().Write(uint32(at), b) {
		c.bad = true
		return c
	}
	c.lent = append(c.lent, at)
	return c.number(at)
}

func (c *call) text(s string) *call { return c.bytes(append([]byte(s), 0)) }

func (c *call) doubles(s []float64) *call {
	b := make([]byte, 0, sizeOfDouble*len(s))
	for _, v := range s {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return c.bytes(b)
}

func (c *call) ints(s []int32) *call {
	b := make([]byte, 0, sizeOfInt*len(s))
	for _, v := range s {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return c.bytes(b)
}

// space lends n bytes and shows them to read after the call.
func (c *call) space(n int, read func([]byte)) *call {
	before := len(c.lent)
	c.bytes(make([]byte, n))
	if len(c.lent) == before {
		return c
	}
	at := uint32(c.lent[before])
	c.read = append(c.read, func() bool {
		b, good := c.module.Memory().Read(at, uint32(n))
		if good {
			read(b)
		}
		return good
	})
	return c
}

func (c *call) into(s []float64) *call {
	return c.space(sizeOfDouble*len(s), func(b []byte) {
		for i := range s {
			s[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[sizeOfDouble*i:]))
		}
	})
}

// ok makes the call and counts a warning as success: a run stopped at a limit ends with one.
func (c *call) ok() bool {
	status, good := c.result()
	return good && int32(status) != statusError
}

// result makes the call; good is false if it ended in a trap, or something before it.
func (c *call) result() (result uint64, good bool) {
	if !c.bad {
		result, good = c.invoke(c.name, c.args...)
	}
	for _, read := range c.read {
		good = good && read()
	}
	for _, at := range c.lent {
		_, freed := c.invoke("free", at)
		good = good && freed
	}
	return result, good
}

// invoke calls a function with the flag for now in its context.
func (m model) invoke(name string, args ...uint64) (result uint64, good bool) {
	if m.lost {
		return 0, false
	}
	f := m.functions[name]
	if f == nil {
		f = m.module.ExportedFunction(m.exports[name])
		m.functions[name] = f
	}
	if f == nil {
		m.lost = true
		return 0, false
	}
	results, err := f.Call(context.WithValue(context.Background(), cancelKey{}, &m.cancel), args...)
	if err != nil {
		m.lost = true
		return 0, false
	}
	if len(results) > 0 {
		result = results[0]
	}
	return result, true
}
