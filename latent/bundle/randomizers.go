package bundle

import (
	"fmt"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/local"
)

// validateRandomizers checks that there are randomizers that take what coordinates are
// clipped to, and no tables.
func (s *Spec) validateRandomizers(all checker) {
	c := checker{check.In("bundle")}
	c.Want(len(s.Tables) == 0 && len(s.TableOf) == 0, "tables", fmt.Sprintf("%d tables", len(s.Tables)), "none beside randomizers")
	if m := len(s.Randomizers); m < 1 || m > len(s.Axes) {
		c.Bad("randomizers", fmt.Sprintf("%d randomizers", m), "1 to the number of coordinates")
	}
	used := c.indices("randomizer_of", s.RandomizerOf, len(s.Randomizers), len(s.Axes))
	for k, m := range s.Randomizers {
		field := fmt.Sprintf("randomizers[%d]", k)
		switch {
		case m == nil || *m == local.Randomizer{}:
			c.Bad(field, "none", "a randomizer made by package local")
		case m.Spec().Values.Kind != local.Real:
			c.Bad(field, fmt.Sprintf("one for values of kind %s", m.Spec().Values.Kind), "one for real values")
		case !used[k]:
			c.Bad(field, "unused", "a randomizer of some coordinate")
		}
	}
	if !c.None() {
		all.Add(c.Err())
	}
}
