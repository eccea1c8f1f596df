package account_test

import (
	"fmt"
	"log"

	"github.com/noisewright/noisewright/account"
)

// A thousand releases of Gaussian noise, and ten of Laplace noise.
func ExampleCompose() {
	gaussian, err := account.Gaussian(100)
	if err != nil {
		log.Fatal(err)
	}
	laplace, err := account.Laplace(0.1)
	if err != nil {
		log.Fatal(err)
	}
	c, err := account.Compose([]account.Release{
		{PLD: gaussian, Times: 1000},
		{PLD: laplace, Times: 10},
	}, account.Options{})
	if err != nil {
		log.Fatal(err)
	}
	epsilon, err := c.Epsilon(1e-6)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d releases are (%.2f, 1e-6)-private\n", c.Count(), epsilon.Upper)
	// Output:
	// 1010 releases are (1.90, 1e-6)-private
}

func ExampleComposition_Delta() {
	m, err := account.RandomizedResponse(0.5, 2)
	if err != nil {
		log.Fatal(err)
	}
	c, err := account.Compose([]account.Release{{PLD: m, Times: 20}}, account.Options{})
	if err != nil {
		log.Fatal(err)
	}
	delta, err := c.Delta(5)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("delta at epsilon 5 is %.3g\n", delta.Upper)
	// Output:
	// delta at epsilon 5 is 0.0544
}
