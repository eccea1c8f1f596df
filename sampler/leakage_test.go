// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"encoding/binary"
	"flag"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"
)

// leakage is set by make leakage.
var leakage = flag.Int("leakage", 0, "measurements of TestLeakage, for each way to draw in constant time; 0 leaves it out")

// leakageLimit bounds |t|. Without a leak it is exceeded by chance once in 10^5 times.
const leakageLimit = 4.5

// TestLeakage measures how long draws take whose noise has a magnitude below the median,
// and above it: the two classes. For each way to draw in constant time Welch's t does not
// tell the classes apart, and in fast mode it does (Reparaz, Balasch & Verbauwhede 2017,
// "Dude, is my code constant time?").
func TestLeakage(t *testing.T) {
	if *leakage == 0 {
		t.Skip("takes minutes: make leakage")
	}
	for name, prepare := range modes() {
		t.Run(name, func(t *testing.T) {
			cells, runs := 2001, *leakage
			switch name {
			case "fast":
				runs /= 100
			case "constant, portable":
				cells = 101 // for the same number of measurements in less than an hour
			}
			source := newHalves()
			s := sampling(t, laplaceTable(t, cells, 50, 0), Options{Entropy: source})
			prepare(s)
			l := measure(t, s, source, runs)
			t.Logf("%d cells, %d measurements of %d draws: %.1f ns a draw, |t| = %.2f, cropped %.2f",
				cells, runs, blockBytes/drawBytes, l.all.mean()*drawBytes/blockBytes, math.Abs(l.all.t()), l.cropped())
			switch worst := max(math.Abs(l.all.t()), l.cropped()); {
			case name == "fast" && worst < leakageLimit:
				t.Errorf("|t| = %.2f in fast mode, want at least %g: nothing is measured", worst, leakageLimit)
			case name != "fast" && worst >= leakageLimit:
				t.Errorf("|t| = %.2f in constant time, want below %g", worst, leakageLimit)
			}
		})
	}
}

// halves is entropy that makes noise of one class. The words of both are made in the
// same way and come from the same place.
type halves struct {
	rng   *rand.Rand
	block [blockBytes]byte
}

func newHalves() *halves { return &halves{rng: rand.New(rand.NewPCG(9, 10))} }

// next chooses a class by chance, 0 for small noise and 1 for large, and makes a block of
// its words: of a symmetric table the middle half of all cell words has the noise below
// the median magnitude.
func (c *halves) next() int {
	class := c.rng.Uint64N(2)
	for i := 0; i < blockBytes; i += drawBytes {
		u := c.rng.Uint64()>>1 + 1<<62 + class<<63
		binary.LittleEndian.PutUint64(c.block[i:], u)
		binary.LittleEndian.PutUint64(c.block[i+wordBytes:], c.rng.Uint64())
	}
	return int(class)
}

func (c *halves) Read(p []byte) (int, error) { return copy(p, c.block[:]), nil }

// leak has the measurements of two classes: all, and those below some percentiles, so that
// what disturbs the machine now and then does not hide what is always there.
type leak struct {
	all   welch
	limit []float64
	crops []welch
}

// measure times the draws of one block, which is one read of the source.
func measure(t *testing.T, s *Noise, source *halves, runs int) *leak {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	dst := make([]float64, blockBytes/drawBytes)
	once := func() (class int, ns float64) {
		class = source.next()
		start := time.Now()
		err := s.Fill(dst)
		elapsed := time.Since(start)
		if err != nil {
			t.Fatal(err)
		}
		return class, float64(elapsed.Nanoseconds())
	}
	warm := make([]float64, 10000)
	for i := range warm {
		_, warm[i] = once()
	}
	l := newLeak(warm, 0.5, 0.9, 0.99)
	for range runs {
		l.add(once())
	}
	return l
}

func newLeak(sample []float64, percentiles ...float64) *leak {
	slices.Sort(sample)
	l := &leak{crops: make([]welch, len(percentiles))}
	for _, p := range percentiles {
		l.limit = append(l.limit, sample[int(p*float64(len(sample)))])
	}
	return l
}

func (l *leak) add(class int, x float64) {
	l.all.add(class, x)
	for i, limit := range l.limit {
		if x <= limit {
			l.crops[i].add(class, x)
		}
	}
}

// cropped returns the largest |t| of the measurements below a percentile.
func (l *leak) cropped() float64 {
	worst := 0.0
	for i := range l.crops {
		worst = max(worst, math.Abs(l.crops[i].t()))
	}
	return worst
}

// welch accumulates two samples. Means and sums of squares are updated (Welford 1962), which
// loses few digits.
type welch struct {
	n, average, squares [2]float64
}

func (w *welch) add(class int, x float64) {
	w.n[class]++
	d := x - w.average[class]
	w.average[class] += d / w.n[class]
	w.squares[class] += d * (x - w.average[class])
}

// t returns Welch's t, the difference of the means in units of its standard error.
func (w *welch) t() float64 {
	v := 0.0
	for i, n := range w.n {
		v += w.squares[i] / (n - 1) / n
	}
	return (w.average[0] - w.average[1]) / math.Sqrt(v)
}

// mean returns the mean of both samples.
func (w *welch) mean() float64 {
	return (w.n[0]*w.average[0] + w.n[1]*w.average[1]) / (w.n[0] + w.n[1])
}

func TestWelch(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	x, y := make([]float64, 300), make([]float64, 500)
	var w welch
	for i := range x {
		x[i] = 1e6 + rng.NormFloat64()
		w.add(0, x[i])
	}
	for i := range y {
		y[i] = 1e6 + 0.4 + 3*rng.NormFloat64()
		w.add(1, y[i])
	}
	mx, vx := stat.MeanVariance(x, nil)
	my, vy := stat.MeanVariance(y, nil)
	if got, want := w.t(), (mx-my)/math.Sqrt(vx/300+vy/500); math.Abs(got-want) > 1e-6 {
		t.Errorf("t = %g, want %g", got, want)
	}
	if got, want := w.mean(), (300*mx+500*my)/800; math.Abs(got-want) > 1e-6 {
		t.Errorf("mean = %g, want %g", got, want)
	}
}

// TestLeakSees: a difference of a tenth of a standard deviation is seen among rare delays
// of a thousand, below a percentile, and none is seen where there is none.
func TestLeakSees(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	times := func(effect float64) *leak {
		once := func() (class int, ns float64) {
			class, ns = rng.IntN(2), 1000+rng.NormFloat64()
			if rng.IntN(100) == 0 {
				ns += 1000
			}
			return class, ns + effect*float64(class)
		}
		warm := make([]float64, 1000)
		for i := range warm {
			_, warm[i] = once()
		}
		l := newLeak(warm, 0.5, 0.9)
		for range 100_000 {
			l.add(once())
		}
		return l
	}
	if l := times(0); math.Abs(l.all.t()) >= leakageLimit || l.cropped() >= leakageLimit {
		t.Errorf("without a difference |t| = %.2f, cropped %.2f, want below %g", l.all.t(), l.cropped(), leakageLimit)
	}
	if l := times(0.1); math.Abs(l.all.t()) >= leakageLimit || l.cropped() < 2*leakageLimit {
		t.Errorf("with a difference |t| = %.2f, cropped %.2f, want it seen below a percentile alone", l.all.t(), l.cropped())
	}
}

// TestHalves: the classes are the noise below and above the median magnitude.
func TestHalves(t *testing.T) {
	tab := laplaceTable(t, 2001, 50, 0)
	source := newHalves()
	s := sampling(t, tab, Options{Entropy: source})
	middle := s.entry(1 << 62) // the cell that has the median magnitude, on the left
	edge := float64(tab.Grid().FirstPoint(int(middle)) + tab.Grid().PointsPerCell)
	dst := make([]int64, blockBytes/drawBytes)
	seen := [2]int{}
	for range 100 {
		class := source.next()
		seen[class]++
		if err := s.FillInt(dst); err != nil {
			t.Fatal(err)
		}
		for _, n := range dst {
			if d := math.Abs(float64(n)) + edge; class == 0 && d > float64(tab.Grid().PointsPerCell) || class == 1 && d < 0 {
				t.Fatalf("class %d has noise of %d points, the median magnitude is about %g", class, n, -edge)
			}
		}
	}
	if seen[0] == 0 || seen[1] == 0 {
		t.Errorf("classes seen: %v, want both", seen)
	}
}
