// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/check"
)

// A sample is a file of made-up people, the same for the same seed on every machine.
type sample struct {
	name, header string
	rows         int
	write        func(w io.Writer, u *uniform, i int) error // the row of the i-th, from 0
}

var samples = []sample{
	{"people", "id,month,city,sex,work,age,band,hours,page,rating,buys", 5000, func(w io.Writer, u *uniform, i int) error {
		month, city, sex := u.of(strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")...), u.city(), u.of("F", "M")
		work, age, hours := u.of("private", "private", "private", "public", "none"), 18+u.below(60), 60*u.next()
		x := u.next()
		page, rating := int(200*x*x*x), float64(int(11*math.Sqrt(u.next())))/2
		log := float64(age-45)/10 - float64((hours-30)/20)
		if city == "Ulm" {
			log++
		}
		buys := "no"
		if u.next() < 1/(1+math.Exp(-log)) {
			buys = "yes"
		}
		_, err := fmt.Fprintf(w, "%d,%s,%s,%s,%s,%d,%d,%.1f,%d,%.1f,%s\n", 1+i%4000, month, city, sex, work, age, (age-18)/10, hours, page, rating, buys)
		return err
	}},
	{"walkers", "person,steps,minutes,pulse,sleep", 3000, func(w io.Writer, u *uniform, i int) error {
		fit := u.normal()
		// Of products converted to float64 no processor fuses an addition: the file is the same on all.
		steps, minutes := 6+float64(2.5*fit)+u.normal(), 30+float64(15*fit)+float64(8*u.normal())
		pulse, sleep := 66-float64(5*fit)+float64(4*u.normal()), 7+float64(.8*u.normal())
		_, err := fmt.Fprintf(w, "%d,%.2f,%.1f,%.1f,%.2f\n", 1+i, steps, minutes, pulse, sleep)
		return err
	}},
}

// A uniform draws numbers from bits whose generator is specified, so that samples never change.
type uniform struct{ bits *rand.PCG }

func (u *uniform) next() float64 { return float64(u.bits.Uint64()>>11) / (1 << 53) }

func (u *uniform) below(n int) int { return int(float64(n) * u.next()) }

func (u *uniform) of(words ...string) string { return words[u.below(len(words))] }

func (u *uniform) city() string {
	at := u.next()
	for i, below := range []float64{.3, .55, .75, .9} {
		if at < below {
			return []string{"Jena", "Ulm", "Bonn", "Kiel"}[i]
		}
	}
	return "Hof"
}

// normal is nearly so: a sum of six uniform numbers, with mean 0 and variance 1.
func (u *uniform) normal() float64 {
	sum := -3.
	for range 6 {
		sum += u.next()
	}
	return float64(sum * math.Sqrt2)
}

func newExampleCommand(s *shell.Streams) *cobra.Command {
	o := shell.Common{Streams: s}
	var made sample
	rows, seed := 0, 1
	f := shell.NewFlags(&cobra.Command{
		Use:   "example people|walkers [-o FILE]",
		Short: "Write a CSV file of made-up people to try the commands on",
		Long: `Write a CSV file of made-up people, on which the pages of the documentation try
their commands. No person in it is real. The same seed makes the same file.

people: 5000 rows of 4000 persons; the first thousand have two each. Of each row, all
independent: month of the sign-up and sex uniform; city Jena .3, Ulm .25,
Bonn .2, Kiel .15, Hof .1; work private .6, public .2, none .2; age an integer from 18
to 77 and hours (of work in a week) a number from 0 to 60, uniform; page the integer
part of 200 U^3 and rating half that of 11 sqrt(U), U uniform on [0, 1]. Two depend on
others: band is 0 for ages from 18 to 27, and so on to 5 from 68, and the log odds that
somebody buys are (age - 45)/10 - (hours - 30)/20, and 1 more in Ulm.

walkers: 3000 persons of fitness F, normal. Steps (thousands a day) 6 + 2.5 F + N,
minutes of sport 30 + 15 F + 8 N, pulse 66 - 5 F + 4 N, hours of sleep 7 + .8 N, with
a new N for each. "Normal" is the sum of six uniform numbers, with mean 0, variance 1.`,
		Example: `  noisewright example people -o people.csv
  noisewright example people --rows 1e6 --seed 2 -o more.csv.gz`,
	})
	f.ArgumentFunc("people or walkers", func(name string) error {
		for _, made = range samples {
			if made.name == name {
				return nil
			}
		}
		return fmt.Errorf("example = %s, want people or walkers", check.Quoted(name))
	})
	f.ArgumentsComplete(func(string) []string { return []string{"people", "walkers"} })
	f.OptionalInteger(&rows, "rows", 1, 1e8, "number of rows (default 5000 of people, 3000 of walkers)")
	f.Integer(&seed, "seed", "", 1, math.MaxInt, "other files for other seeds")
	f.Output(&o, "file to write, - for standard output (default -)", "csv")
	return f.Run(func(ctx context.Context) error {
		return o.WriteCSV(o.Output, func(to io.Writer) error {
			w, u := bufio.NewWriter(to), &uniform{rand.NewPCG(uint64(seed), 0)}
			if _, err := fmt.Fprintln(w, made.header); err != nil {
				return err
			}
			for i := range cmp.Or(rows, made.rows) {
				if err := cmp.Or(ctx.Err(), made.write(w, u, i)); err != nil {
					return err
				}
			}
			return w.Flush()
		})
	})
}
