package decision

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/sampler"
)

func TestQuick(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	n := 400
	d := &encoders.Data{Features: []string{"a", "b"}, X: dense.NewMatrix(n, 2), Target: encoders.Column{Name: "y", Classes: []string{"u", "v", "w"}}}
	for i := range n {
		y := i % 3
		d.X.Data[2*i], d.X.Data[2*i+1] = float64(y)*2+r.NormFloat64(), float64(y*y)+r.NormFloat64()
		d.Target.Labels = append(d.Target.Labels, y)
	}
	p, err := Prepare(context.Background(), d, Options{Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	trials, err := p.Search(context.Background(), 3, "cross entropy")
	if err != nil {
		t.Fatal(err)
	}
	for i, tr := range trials {
		a, s := Mean(tr.CrossEntropy)
		b, _ := Mean(tr.Errors)
		fmt.Println(tr.Way, a, s, b)
		bu, err := p.Bundle(context.Background(), tr.Way, 3)
		if err != nil {
			t.Fatal(err)
		}
		v, err := bu.Verify(nil)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(bu.Spec().Randomizers[0].Spec().Claims)
		dir := fmt.Sprintf("/tmp/E/b%d", i)
		if err := bu.Write(dir, true); err != nil {
			t.Fatal(err)
		}
		again, err := bundle.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		_ = again
		pr, err := v.NewDeterministicPrivatizer([32]byte{}, sampler.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := encoders.Evaluate(context.Background(), bu, pr.Privatize, d, 20, nil)
		fmt.Println(m, err)
	}
}
