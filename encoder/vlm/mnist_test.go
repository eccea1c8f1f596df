package vlm

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/encoder/internal/dense"
	"github.com/noisewright/noisewright/internal/idx"
	"github.com/noisewright/noisewright/latent/bundle"
)

func readIDX(t *testing.T, name string) *idx.Array {
	f, err := os.Open(filepath.Join("/work/shared/data/mnist", name))
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	a, err := idx.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func mnist(t *testing.T, images, labels string) (encoder.Matrix, []int) {
	a, b := readIDX(t, images), readIDX(t, labels)
	x := dense.NewMatrix(a.Dims[0], 784)
	for i, v := range a.Data {
		x.Data[i] = idx.Logit(v, 0.05)
	}
	y := make([]int, len(b.Data))
	for i, v := range b.Data {
		y[i] = int(v)
	}
	return x, y
}

func rows(m encoder.Matrix, from, to int) encoder.Matrix {
	return encoder.Matrix{Rows: to - from, Cols: m.Cols, Stride: m.Stride, Data: m.Data[from*m.Stride : to*m.Stride]}
}

func TestProto(t *testing.T) {
	if os.Getenv("PROTO") == "" {
		t.Skip()
	}
	n, epochs, seeds := 12000, 8, 1
	l, pre := 5.0, 15.0
	fmt.Sscan(os.Getenv("PROTO"), &n, &epochs, &seeds, &l, &pre)
	x, y := mnist(t, "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz")
	xt, yt := mnist(t, "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz")
	xt, yt = rows(xt, 7500, 10000), yt[7500:]
	for seed := range seeds {
		start := time.Now()
		m, err := Train(t.Context(), rows(x, 0, n), Options{Radius: l, TrainingEpsilon: pre, Epochs: epochs, Run: encoder.Run{Seed: uint64(seed), Progress: func(s, n int, loss float64) {
			if s%(n/10) == 0 {
				fmt.Println(s, n, loss)
			}
		}}})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("train", time.Since(start))
		u, v := m.Encode(rows(x, 45000, 58500)), m.Encode(xt)
		labels := y[45000:58500]
		c, err := TrainClassifier(t.Context(), u, labels, ClassifierOptions{Classes: 10, Seed: uint64(seed)})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("no noise", c.Accuracy(v, yt))
		for _, eps := range []float64{10, 8, 6, 4, 2} {
			start := time.Now()
			noise, err := encoder.NewNoise(t.Context(), bundle.Laplace, m.Body, bundle.Promise{Epsilon: 0.7 * eps}, nil)
			if err != nil {
				t.Fatal(err)
			}
			r := encoder.Rand(uint64(seed), "collect", int(eps))
			z := dense.NewMatrix(u.Rows, u.Cols)
			noise.Release(z.Data, u.Data, r)
			flip := FlipProbability(10, 0.3*eps)
			c, err := TrainClassifier(t.Context(), z, Flip(labels, 10, flip, r), ClassifierOptions{Classes: 10, Flip: flip, Seed: uint64(seed)})
			if err != nil {
				t.Fatal(err)
			}
			zt := dense.NewMatrix(v.Rows, v.Cols)
			noise.Release(zt.Data, v.Data, r)
			all, _ := encoder.NewNoise(t.Context(), bundle.Laplace, m.Body, bundle.Promise{Epsilon: eps}, nil)
			za := dense.NewMatrix(v.Rows, v.Cols)
			all.Release(za.Data, v.Data, r)
			bound, _ := AccuracyBound(eps, 10)
			fmt.Printf("eps %g clean %.3f private λ %.3f private all %.3f bound %.4f (%v)\n", eps, c.Accuracy(v, yt), c.Accuracy(zt, yt), c.Accuracy(za, yt), bound, time.Since(start))
		}
	}
}
