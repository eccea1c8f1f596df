// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/plane"
	"github.com/noisewright/noisewright/proof"
)

// vector is noise of several columns by one draw.
type vector struct {
	clip    *region // nil: none
	origin  *origin // nil: numbers are what they are
	integer bool

	point   []float64 // of a row: what is read of it
	answers []float64 // empty: all cells are

	points, clipped int // so far
}

// vectorNoise is noise of several numbers: the norm of its sensitivity, "" being the Euclidean one, with its name, and
// whether the numbers are integers.
type vectorNoise struct {
	norm    plane.Norm
	name    string
	integer bool
}

func vectorsOfBall(proof.Mechanism) vectorNoise { return vectorNoise{name: "Euclidean"} }

func vectorsOfPlane(m proof.Mechanism) vectorNoise {
	p := m.(*plane.Noise).Problem()
	return vectorNoise{p.Norm, string(p.Norm), p.Query == dp.IntegerQuery}
}

func jointFlags(f *shell.Flags, settings map[string]string) {
	f.Settings(settings, "columns", "NAME,NAME,...", fmt.Sprintf("in the place of --column: names of %d to %d columns that get the noise of one draw; --lower and --upper then have a number for each", limits.BallMinDimension, limits.BallMaxDimension))
	f.Settings(settings, "center", "A,B,...", "with --columns: center of the disc, or ball, that points are clipped to, in the place of --lower and --upper")
	f.Settings(settings, "radius", "number", "with --center: its radius, in the unit of the noise, half the sensitivity or less")
}

// readJoint reads what is said of all of several columns.
func (o *privatizeOptions) readJoint(columns []string, settings map[string]string) error {
	var errs []error
	for _, name := range []string{"clamp", "categories", "epsilon", "for"} {
		if settings[name] != "" {
			errs = append(errs, fmt.Errorf("%s is given with columns, want only one of them", name))
		}
	}
	if len(columns) > 0 {
		errs = append(errs, errors.New("column and columns are given, want only one of them: privatize what comes out again for the others"))
	}
	if o.people.column != "" || o.people.seed != "" || o.people.file != "" || o.people.one {
		errs = append(errs, errors.New("person, seed, secret and one are for categories, want none of them with columns"))
	}
	table := settings["table"]
	if table == "" {
		errs = append(errs, o.missingFile())
	}
	if table == "-" && o.in == "-" {
		errs = append(errs, errors.New("table = - and IN.csv = -, want only one of them from standard input"))
	}
	names, err := csv.NewReader(strings.NewReader(settings["columns"])).Read()
	if err != nil || len(names) < limits.BallMinDimension || len(names) > limits.BallMaxDimension {
		want := fmt.Sprintf("%d to %d names from the header, separated by commas", limits.BallMinDimension, limits.BallMaxDimension)
		return errors.Join(append(errs, shell.About("columns", settings["columns"], shell.Want(want)))...)
	}
	o.joint = &vector{}
	for i, name := range names {
		o.columns = append(o.columns, columnOptions{name: strings.TrimSpace(name), table: table, people: &o.people, joint: true, place: i})
	}
	clip, err := readRegion(settings, len(names))
	if o.joint.clip = clip; err == nil && o.degrees {
		err = o.joint.degrees()
	}
	if clip != nil && o.unclipped {
		errs = append(errs, errors.New("unclipped is given, but points are clipped, want only one of them"))
	}
	return errors.Join(append(errs, err)...)
}

// onlyJoint refuses what is said of several columns together where they are not.
func (o *privatizeOptions) onlyJoint(settings map[string]string) error {
	var errs []error
	for _, name := range []string{"center", "radius"} {
		errs = append(errs, shell.Refuse(settings[name] != "", "%s is given without columns, want both", name))
	}
	return errors.Join(append(errs, shell.Refuse(o.degrees, "degrees is given without columns, want both"))...)
}

// region is a ball around a center or, with none, a box. It is all that points are clipped to.
type region struct {
	center       []float64
	radius       float64
	lower, upper []float64
}

func readRegion(settings map[string]string, d int) (*region, error) {
	var errs []error
	list := func(name string) (x []float64) {
		text, given := settings[name]
		if !given {
			return nil
		}
		want := shell.Want(fmt.Sprintf("%d finite numbers, separated by commas, one for each of the columns", d))
		for s := range strings.SplitSeq(text, ",") {
			v, err := shell.ParseNumber(strings.TrimSpace(s), shell.Any("a finite number"))
			if err != nil {
				errs = append(errs, shell.About(name, text, want))
				return nil
			}
			x = append(x, v)
		}
		if len(x) != d {
			errs = append(errs, shell.About(name, text, want))
		}
		return x
	}
	r := &region{center: list("center"), lower: list("lower"), upper: list("upper")}
	together := func(a, b string) bool {
		_, hasA := settings[a]
		_, hasB := settings[b]
		errs = append(errs, shell.Refuse(hasA && !hasB, "%s is given without %s, want both", a, b), shell.Refuse(hasB && !hasA, "%s is given without %s, want both", b, a))
		return hasA || hasB
	}
	disc, box := together("center", "radius"), together("lower", "upper")
	if disc && box {
		errs = append(errs, errors.New("center and lower are given, want a disc or a box"))
	}
	if text, given := settings["radius"]; given {
		var err error
		r.radius, err = shell.ParseNumber(text, shell.Rule{Want: "a number above 0", OK: shell.Positive})
		errs = append(errs, shell.About("radius", text, err))
	}
	if err := errors.Join(errs...); err != nil || !disc && !box {
		return nil, err
	}
	for i := range r.lower {
		if r.lower[i] >= r.upper[i] {
			return nil, fmt.Errorf("lower = %s and upper = %s, want each number of lower below that of upper", settings["lower"], settings["upper"])
		}
	}
	return r, nil
}

// needs returns the square of what two points of the region differ by at most, in the norm of the noise.
func (r *region) needs(norm plane.Norm) *big.Rat {
	if r.center != nil {
		d := exact.Rational(r.radius)
		d.Mul(d, d).Mul(d, big.NewRat(4, 1))
		if norm == plane.L1 || norm == plane.Span { // along the diagonal both numbers change alike
			d.Mul(d, big.NewRat(2, 1))
		}
		return d
	}
	squares, sum, most := new(big.Rat), new(big.Rat), new(big.Rat)
	for i := range r.lower {
		w := exact.Rational(r.upper[i])
		w.Sub(w, exact.Rational(r.lower[i]))
		if sum.Add(sum, w); w.Cmp(most) > 0 {
			most.Set(w)
		}
		squares.Add(squares, w.Mul(w, w))
	}
	switch norm {
	case "":
		return squares
	case plane.LInf:
		return most.Mul(most, most)
	default:
		return sum.Mul(sum, sum)
	}
}

// inside reports whether the point is in the ball, exactly.
func (r *region) inside(x []float64) bool {
	rough := 0.0
	for i := range x {
		rough += (x[i] - r.center[i]) * (x[i] - r.center[i])
	}
	if rough < r.radius*r.radius*(1-0x1p-40) && r.radius > 0x1p-400 { // by far more than rounding
		return true
	}
	sum := new(big.Rat)
	for i := range x {
		d := exact.Rational(x[i])
		d.Sub(d, exact.Rational(r.center[i]))
		sum.Add(sum, d.Mul(d, d))
	}
	radius := exact.Rational(r.radius)
	return sum.Cmp(radius.Mul(radius, radius)) <= 0
}

// move moves the point into the region, as near as rounding allows, and reports whether it was outside.
func (r *region) move(x []float64) (moved bool) {
	if r.center == nil {
		for i := range x {
			to := min(max(x[i], r.lower[i]), r.upper[i])
			moved = moved || to != x[i]
			x[i] = to
		}
		return moved
	}
	if r.inside(x) {
		return false
	}
	way, most, norm := make([]float64, len(x)), 0.0, 0.0
	for i := range x {
		way[i] = x[i]/2 - r.center[i]/2 // half of it is finite
		most = max(most, math.Abs(way[i]))
	}
	if most == 0 { // of numbers that have no half
		copy(x, r.center)
		return true
	}
	for i := range way {
		way[i] /= most
		norm += way[i] * way[i]
	}
	norm = math.Sqrt(norm)
	for back := 0x1p-52; ; back *= 2 { // at last at the center
		for i := range x {
			x[i] = r.center[i] + r.radius*max(0, 1-back)*(way[i]/norm)
		}
		if back > 1 {
			copy(x, r.center)
		}
		if r.inside(x) {
			return true
		}
	}
}

// origin is where the plane touches that latitudes and longitudes are drawn on, in meters to the north and the east.
// What is private are places on this plane, so that how true it is to the globe matters for the loss alone.
type origin struct{ latitude, longitude, parallel float64 }

// metersPerDegree are those of a meridian, on a sphere with the mean radius of the Earth.
const metersPerDegree = 6371008.8 * math.Pi / 180

// degrees makes the columns latitudes and longitudes, and the center one of them, the origin.
func (v *vector) degrees() error {
	const steep = 89 // where parallels are no straight lines by far
	if v.clip == nil || v.clip.center == nil || len(v.clip.center) != 2 {
		return errors.New("degrees is given, want two columns, latitude and longitude, and center and radius")
	}
	c := v.clip.center
	if math.Abs(c[0]) > steep || math.Abs(c[1]) > 180 {
		return shell.About("center", fmt.Sprintf("%v,%v", c[0], c[1]), shell.Want(fmt.Sprintf("a latitude from -%d to %d and a longitude from -180 to 180", steep, steep)))
	}
	v.origin = &origin{c[0], c[1], metersPerDegree * math.Cos(c[0]*math.Pi/180)}
	c[0], c[1] = 0, 0
	return nil
}

func (o *origin) meters(x []float64) {
	x[0] = (x[0] - o.latitude) * metersPerDegree
	x[1] = math.Remainder(x[1]-o.longitude, 360) * o.parallel
}

func (o *origin) degrees(x []float64) {
	x[0] = min(max(o.latitude+x[0]/metersPerDegree, -90), 90)
	x[1] = math.Remainder(o.longitude+x[1]/o.parallel, 360)
}

// fits says whether the noise is for these columns and all that the region may hold.
func (v *vector) fits(from *source, columns int) error {
	m := from.answers.Mechanism()
	of := owns[m.Form().Package].vectors
	if of == nil {
		return shell.BadInput("noisewright design-ball --help", fmt.Errorf("columns is given with %s, want noise of several numbers, made by design-ball or design-plane", m.Form().Noun))
	}
	law, dimension := of(m), m.Inputs().Size
	v.integer = law.integer
	switch part := func(x float64) bool { return x != math.Trunc(x) }; {
	case columns != dimension:
		return shell.BadInput("", fmt.Errorf("columns has %d names, want %d, the coordinates of the noise", columns, dimension))
	case v.clip == nil:
		return nil
	case v.integer && (v.clip.center != nil || slices.ContainsFunc(v.clip.lower, part) || slices.ContainsFunc(v.clip.upper, part)):
		return shell.BadInput("", errors.New("the noise is for integers, want lower and upper, integers too"))
	}
	need, most := v.clip.needs(law.norm), exact.Rational(from.Sensitivity)
	if need.Cmp(most.Mul(most, most)) > 0 {
		return shell.BadInput("", fmt.Errorf("points that are clipped so may be %v apart in the %s norm, want at most %v, the sensitivity of the noise", rootUp(need), law.name, from.Sensitivity))
	}
	ends := [][]float64{v.clip.lower, v.clip.upper}
	if c := v.clip.center; c != nil {
		ends = nil
		for i := range c {
			for _, r := range []float64{-v.clip.radius, v.clip.radius} {
				end := slices.Clone(c)
				end[i] += r
				ends = append(ends, end)
			}
		}
	}
	for _, end := range ends {
		if _, err := from.answers.Release(proof.Row(end)); errors.Is(err, dp.ErrInvalid) {
			return shell.BadInput("", fmt.Errorf("points are clipped to what has %v, want what the grid of the noise holds", end))
		} else if err != nil {
			return err
		}
	}
	return nil
}

// rootUp returns a float64 that is at least the root, and nearly it.
func rootUp(square *big.Rat) float64 {
	f, _ := square.Float64()
	for f = math.Sqrt(f); ; f = math.Nextafter(f, math.Inf(1)) {
		if math.IsInf(f, 0) {
			return f
		}
		if r := exact.Rational(f); r.Mul(r, r).Cmp(square) >= 0 {
			return f
		}
	}
}

// draw answers the point of a row, by one draw. What is wrong is about the column it names, if any.
func (v *vector) draw(in *csvfile.Record, columns []*column, keepMissing bool) (about string, err error) {
	v.point, v.answers = append(v.point[:0], make([]float64, len(columns))...), v.answers[:0]
	empty := 0
	for _, c := range columns {
		cell := in.Inner(c.at)
		text := string(in.Raw[cell.Start:cell.End])
		if text == "" {
			empty, about = empty+1, c.name
			continue
		}
		parse := csvfile.Number
		if v.integer {
			parse = parseInteger
		}
		x, err := parse(text)
		if err != nil {
			return c.name, cellError{err}
		}
		if most := []float64{90, 180}; v.origin != nil && math.Abs(x) > most[c.options.place] {
			return c.name, cellError{fmt.Errorf("is too large for degrees, want a number from -%v to %v", most[c.options.place], most[c.options.place])}
		}
		v.point[c.options.place] = x
	}
	switch {
	case empty > 0 && !keepMissing:
		return about, cellError{errors.New("is empty, want a number, or --missing keep")}
	case empty == len(columns):
		return "", nil
	case empty > 0:
		return about, cellError{errors.New("is empty and others of the columns are not, want all of a row or none")}
	}
	v.points++
	if v.origin != nil {
		v.origin.meters(v.point)
	}
	if v.clip != nil && v.clip.move(v.point) {
		v.clipped++
	}
	answer, err := columns[0].source.answers.Release(proof.Row(v.point))
	if errors.Is(err, dp.ErrInvalid) {
		return columns[0].name, cellError{errors.New("is too large, or another of the columns, want what the grid of the noise holds")}
	} else if err != nil {
		return "", err
	}
	v.answers = append(v.answers, answer.(proof.Row)...)
	if v.origin != nil {
		v.origin.degrees(v.answers)
	}
	return "", nil
}

func (v *vector) append(dst []byte, place int) []byte {
	return strconv.AppendFloat(dst, v.answers[place], 'g', -1, 64)
}

// checkJoint wants the first of the columns to fit, all of which have the same source.
func (o *privatizeOptions) checkJoint(from *source, before int) error {
	if before > 0 {
		return nil
	}
	if o.constantTime {
		return errOnlyTables
	}
	if o.joint.clip == nil {
		if !o.unclipped {
			return shell.BadInput("noisewright privatize --help", errors.New("center and lower are missing, want what points are clipped to, or --unclipped, a promise that one person's points differ by at most the sensitivity of the noise in its norm"))
		}
		o.Warn("without --center or --lower and --upper, the result is private only if one person's points differ by at most %v, in the norm of the noise", from.Sensitivity)
	}
	if err := o.joint.fits(from, len(o.columns)); err != nil {
		return err
	}
	return o.oneUnit()
}

// oneUnit refuses latitudes and longitudes that are clipped as if their degrees were of one length.
func (o *privatizeOptions) oneUnit() error {
	r := o.joint.clip
	if o.degrees || r == nil || len(o.columns) != 2 {
		return nil
	}
	var most [2]float64
	for i, c := range o.columns {
		switch strings.ToLower(c.name) {
		case "lat", "latitude":
			most[i] = 90
		case "lon", "lng", "long", "longitude":
			most[i] = 180
		}
		low, high := 0.0, 0.0
		if r.center != nil {
			low, high = r.center[i], r.center[i]
		} else {
			low, high = r.lower[i], r.upper[i]
		}
		if low < -most[i] || high > most[i] {
			return nil
		}
	}
	if most != [2]float64{90, 180} && most != [2]float64{180, 90} {
		return nil
	}
	return shell.BadInput("--degrees, with a radius in meters", fmt.Errorf("columns = %s,%s in degrees of different length, want --degrees, or coordinates of one unit: the noise is the same for both", o.columns[0].name, o.columns[1].name))
}
