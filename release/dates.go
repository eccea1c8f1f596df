// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"strings"
	"time"

	"github.com/noisewright/noisewright/internal/check"
)

// span is a period of the calendar that Cells.Every names. Its dates are midnights in UTC, which every day has.
type span struct {
	start func(day time.Time) time.Time // of the period that a day is in
	next  func(start time.Time) time.Time
	label func(start time.Time) string
	short []string // layouts of dates that say no day
}

var spans = map[string]span{
	"day": {
		func(t time.Time) time.Time { return t }, func(t time.Time) time.Time { return t.AddDate(0, 0, 1) },
		func(t time.Time) string { return t.Format(time.DateOnly) }, nil,
	},
	"week": { // as ISO 8601 counts them
		func(t time.Time) time.Time { return t.AddDate(0, 0, -(int(t.Weekday())+6)%7) },
		func(t time.Time) time.Time { return t.AddDate(0, 0, 7) },
		func(t time.Time) string {
			year, week := t.ISOWeek()
			return fmt.Sprintf("%04d-W%02d", year, week)
		}, nil,
	},
	"month":   months(1, func(t time.Time) string { return t.Format("2006-01") }, "2006-01"),
	"quarter": months(3, func(t time.Time) string { return fmt.Sprintf("%04d-Q%d", t.Year(), (t.Month()+2)/3) }, "2006-01"),
	"year":    months(12, func(t time.Time) string { return t.Format("2006") }, "2006-01", "2006"),
}

// months are spans of so many, which divide a year.
func months(n int, label func(time.Time) string, short ...string) span {
	return span{
		func(t time.Time) time.Time {
			return time.Date(t.Year(), time.Month((int(t.Month())-1)/n*n+1), 1, 0, 0, 0, 0, time.UTC)
		},
		func(t time.Time) time.Time { return t.AddDate(0, n, 0) }, label, short,
	}
}

// day returns that of a date or time in a zone, as midnight in UTC. A time with an offset is converted, one without is
// that of the zone.
func (s span) day(text string, zone *time.Location) (day time.Time, ok bool) {
	text = strings.TrimSpace(text)
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05Z07:00"} {
		if t, err := time.Parse(layout, text); err == nil {
			return dayIn(t, zone), true
		}
	}
	for _, layout := range append([]string{time.DateOnly, "2006-01-02T15:04:05", time.DateTime}, s.short...) {
		if t, err := time.Parse(layout, text); err == nil {
			return dayIn(t, time.UTC), true
		}
	}
	return day, false
}

func dayIn(t time.Time, zone *time.Location) time.Time {
	year, month, day := t.In(zone).Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// dated makes the Keys of cells of dates, of which there are to be so many.
func (c *Cells) dated(n int, bad *check.List) {
	if c.Every == "" {
		bad.If(c.From+c.Zone != "", "from", check.Quoted(c.From), "none without every, the period of the cells")
		return
	}
	bad.OneOf("every", c.Every, "day", "week", "month", "quarter", "year")
	bad.If(len(c.Keys)+len(c.Edges) > 0, "every", c.Every, "either every or keys or edges of a column")
	zone, err := time.LoadLocation(c.Zone)
	if err != nil || c.Zone == "Local" {
		bad.Bad("zone", check.Quoted(c.Zone), "the name of a time zone, such as Europe/Berlin, or none for UTC")
	}
	s, known := spans[c.Every]
	if !known || err != nil {
		return
	}
	from, ok := s.day(c.From, time.UTC)
	if !ok || !s.start(from).Equal(from) {
		bad.Bad("from", check.Quoted(c.From), "the day on which the first "+c.Every+" begins, such as 2026-01-01")
		return
	}
	// However they are written, they are the same cells.
	c.zone, c.Keys, c.From = zone, nil, from.Format(time.DateOnly)
	if c.Zone == "UTC" {
		c.Zone = ""
	}
	for range n {
		c.Keys = append(c.Keys, s.label(from))
		c.ends = append(c.ends, s.next(from))
		from = s.next(from)
	}
	bad.If(from.Year() > 9999, "from", check.Quoted(c.From), "dates up to the year 9999")
}

// key returns the key of a row's text.
func (c *Cells) key(text string) (key string, ok bool) {
	if c.Every == "" {
		return text, true
	}
	s := spans[c.Every]
	day, ok := s.day(text, c.zone)
	if !ok {
		return "", false
	}
	return s.label(s.start(day)), true
}

// over reports whether the i-th period is, from 0 on; cells without dates always are.
func (c *Cells) over(i int, now time.Time) bool {
	return c.Every == "" || !dayIn(now, c.zone).Before(c.ends[i])
}
