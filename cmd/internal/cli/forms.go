package cli

import (
	"context"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// own is what the program has for one form in particular. Nothing is what it has for all.
type own struct {
	figure  func(o *plotOptions, m proof.Mechanism) (figureOf, error)
	draw    func(o *sampleOptions, ctx context.Context, m proof.Mechanism) (drawer, error)
	compare func(o *compareOptions, ctx context.Context, v proof.Proven) error
}

// owns lists what forms have of their own, by their packages. The program knows mechanisms
// by package proof alone but for what starts here.
var owns = map[string]own{
	tables.Form.Package: {
		figure:  func(o *plotOptions, m proof.Mechanism) (figureOf, error) { return o.noise(m.(*tables.Table)) },
		draw:    (*sampleOptions).noise,
		compare: (*compareOptions).compareTable,
	},
	kernels.Form.Package: {
		figure: func(o *plotOptions, m proof.Mechanism) (figureOf, error) { return o.kernel(m.(*kernels.Kernel)) },
	},
	cells.Form.Package: {
		figure: func(o *plotOptions, m proof.Mechanism) (figureOf, error) { return o.additive(m.(*cells.Kernel)) },
	},
	local.Form.Package: {
		figure:  func(o *plotOptions, m proof.Mechanism) (figureOf, error) { return o.randomizer(m.(*local.Randomizer)) },
		compare: (*compareOptions).compareRandomizer,
	},
}
