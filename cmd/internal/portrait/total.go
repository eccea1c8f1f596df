package portrait

import (
	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// ProveTotal proves the total that a table claims over several releases, which is no part of
// its own proof, and adds it to the facts. A false one is an error. Of what claims none it does
// nothing.
func (p *Portrait) ProveTotal(proven proof.Proven) error {
	if p.total.Releases == 0 {
		return nil
	}
	v, ok := proven.(*tables.Verified)
	if !ok {
		return nil // none but tables claim one
	}
	b, err := account.ProveTotal(v)
	if err != nil {
		return err
	}
	p.add("total proved", "epsilon %s at delta %v, %d releases", FloatUp(b.Upper).Text, p.total.Delta, p.total.Releases)
	return nil
}
