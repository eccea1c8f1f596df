// SPDX-License-Identifier: Apache-2.0

//go:build highswasm

package highs

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/cpu"
)

// HiGHS as WebAssembly, and what its letters mean: scripts/wasm.sh fetches both.
var (
	//go:embed highs.wasm
	wasm []byte
	//go:embed highs.names
	names string
)

// library is HiGHS compiled to machine code, shared by all models of the process.
type library struct {
	runtime wazero.Runtime
	code    wazero.CompiledModule
	exports map[string]string // letters of the module, by name
}

// load compiles the module, at most once in a process: some three seconds of processor time, shared
// by all cores. Where there is a safe place, the machine code is kept there for later processes.
var load = sync.OnceValues(func() (*library, error) {
	// Without SSE 4.1 the compiler's code would not run. Its alternative, an
	// interpreter, is some fifty times slower and never chosen.
	if runtime.GOARCH == "amd64" && !cpu.X86.HasSSE41 {
		return nil, errors.New("the processor lacks SSE 4.1")
	}
	config := wazero.NewRuntimeConfigCompiler()
	if dir := cacheDir(); dir != "" {
		if cache, err := wazero.NewCompilationCacheWithDir(dir); err == nil {
			l, err := compile(config.WithCompilationCache(cache))
			if err == nil {
				return l, nil
			}
			// A file in it may be damaged: this run does without, and later ones with a new one.
			_ = os.RemoveAll(dir)
		}
	}
	return compile(config)
})

// compile sets up a library. Where no memory may be executable the compiler panics.
func compile(config wazero.RuntimeConfig) (l *library, err error) {
	defer recovered(&err)
	ctx := context.Background()
	l = &library{runtime: wazero.NewRuntimeWithConfig(ctx, config), exports: map[string]string{}}
	imports := map[string]string{} // names, by letter
	for line := range strings.Lines(names) {
		switch f := strings.Fields(line); f[0] {
		case "import":
			imports[f[2]] = f[1]
		case "export":
			l.exports[f[1]] = f[2]
		}
	}
	l.code, err = l.runtime.CompileModule(experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0)), wasm)
	if err != nil {
		return nil, err
	}
	host := l.runtime.NewHostModuleBuilder("a") // as Emscripten calls it
	for _, f := range l.code.ImportedFunctions() {
		_, letter, _ := f.Import()
		host.NewFunctionBuilder().
			WithGoModuleFunction(imported(imports[letter]), f.ParamTypes(), f.ResultTypes()).Export(letter)
	}
	_, err = host.Instantiate(ctx)
	return l, err
}

// recovered turns a panic into an error.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%v", r)
	}
}

// imported is the function that the module imports under a name. What HiGHS does not
// need, files, exceptions and the end of the process, ends the call with an error.
func imported(name string) api.GoModuleFunc {
	switch name {
	case "clock_time_get":
		return func(ctx context.Context, m api.Module, stack []uint64) {
			good := m.Memory().WriteUint64Le(api.DecodeU32(stack[2]), uint64(now(ctx)))
			stack[0] = errno(good)
		}
	case "emscripten_get_now", "emscripten_date_now":
		return func(ctx context.Context, _ api.Module, stack []uint64) {
			stack[0] = api.EncodeF64(float64(now(ctx)) / float64(time.Millisecond))
		}
	case "environ_sizes_get":
		return func(_ context.Context, m api.Module, stack []uint64) {
			good := m.Memory().WriteUint32Le(api.DecodeU32(stack[0]), 0) && m.Memory().WriteUint32Le(api.DecodeU32(stack[1]), 0)
			stack[0] = errno(good)
		}
	case "environ_get":
		return func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = errno(true) }
	case "emscripten_resize_heap":
		return func(_ context.Context, m api.Module, stack []uint64) { stack[0] = grow(m, api.DecodeU32(stack[0])) }
	}
	return func(context.Context, api.Module, []uint64) { panic("HiGHS called " + name) }
}

// errno is the code of success, or else that of a bad address.
func errno(good bool) uint64 {
	if good {
		return 0
	}
	return 21
}

// grow makes the memory as large as wanted and an eighth larger, if it can, and returns 1, else 0.
func grow(m api.Module, want uint32) uint64 {
	const page = 1 << 16
	have := m.Memory().Size()
	for _, to := range []uint32{max(want, have+have/8), want} {
		if to <= have {
			return 1
		}
		if _, good := m.Memory().Grow((to - have + page - 1) / page); good {
			return 1
		}
	}
	return 0
}

// cancelKey is where the context of a call has the flag that cancels it.
type cancelKey struct{}

var began = time.Now()

// now is HiGHS' clock. HiGHS looks at it about once in an iteration, and in presolve, to
// hold its limit, which is how it is cancelled: the clock jumps beyond every limit.
// Checks by the runtime would make a solve several times slower.
func now(ctx context.Context) time.Duration {
	if flag, has := ctx.Value(cancelKey{}).(*atomic.Bool); has && flag.Load() {
		return math.MaxInt64 / 2
	}
	return time.Since(began)
}
