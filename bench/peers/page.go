package peers

import (
	"bytes"
	"fmt"
	"strings"
)

// The lines of the page between which a run's figures stand.
const (
	begin = "<!-- bench peers: begin; what stands here is written by the program -->\n"
	end   = "<!-- bench peers: end -->\n"
)

// Publish returns the page with the run's figures in their place.
func Publish(page []byte, r *Run) ([]byte, error) {
	head, rest, ok := bytes.Cut(page, []byte(begin))
	_, tail, closed := bytes.Cut(rest, []byte(end))
	if !ok || !closed {
		return nil, fmt.Errorf("the page lacks a line %q or %q", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return bytes.Join([][]byte{head, []byte(begin), r.section(), []byte(end), tail}, nil), nil
}

// section is the run in words and tables.
func (r *Run) section() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "\n%s, %d processors, load %.1f at the start and %.1f at the end, 2 to 3 of it the run's own; "+
		"%d tenants of %s records, %s of them orders; medians of %d rounds of %g s.%s\n",
		r.At.UTC().Format("2006-01-02"), r.Processors, r.Load[0], r.Load[1], r.Tenants, grouped(r.Records), grouped(r.Orders),
		r.Rounds, r.Seconds,
		r.versions())
	r.ratios(&b)
	r.sizes(&b)
	r.missing(&b)
	return append(b.Bytes(), '\n')
}

// versions names what stood beside Holdfast.
func (r *Run) versions() (text string) {
	for _, p := range All {
		if v := r.Versions[p.Name]; v != "" {
			text += " " + p.Name + " " + v + "."
		}
	}
	return text
}

// ratios tells the rows in requests per CPU-second.
func (r *Run) ratios(b *bytes.Buffer) {
	b.WriteString("\n| work | Holdfast on | beside | Holdfast : peer (least - greatest) | Holdfast : limit | peer : limit |\n|---|---|---|---|---|---|\n")
	for _, row := range Rows {
		f := r.Find(row)
		times, ok := Ratio(f.Holdfast, f.Other)
		if row.Unit != "" || !ok {
			continue
		}
		fmt.Fprintf(b, "| %s | %s | %s | **%s** (%s - %s) | %s | %s |\n", row.Title, engines[row.Engine], row.Peer,
			short(times.Median), short(times.Low), short(times.High), share(f.Holdfast, f.ByHand), share(f.Other, f.ByHand))
	}
}

// sizes tells the rows in which less is better.
func (r *Run) sizes(b *bytes.Buffer) {
	b.WriteString("\n| less is better | Holdfast | peer |\n|---|---|---|\n")
	for _, row := range Rows {
		f := r.Find(row)
		if row.Unit == "" || len(f.Holdfast) == 0 || len(f.Other) == 0 {
			continue
		}
		fmt.Fprintf(b, "| %s | %s | %s of %s |\n", row.Title, measured(f.Holdfast, row.Unit), measured(f.Other, row.Unit),
			row.Peer)
	}
}

// missing names what was left out.
func (r *Run) missing(b *bytes.Buffer) {
	b.WriteString("\n")
	var why []string
	titles := map[string][]string{}
	for _, row := range Rows {
		f := r.Find(row)
		if f.Why == "" {
			continue
		}
		at := fmt.Sprintf("**%s**: %s", row.Peer, f.Why)
		if titles[at] == nil {
			why = append(why, at)
		}
		titles[at] = append(titles[at], row.Title)
	}
	if why == nil {
		b.WriteString("Nothing was left out.\n")
		return
	}
	b.WriteString("Left out on that machine:\n\n")
	for _, at := range why {
		fmt.Fprintf(b, "- %s. Rows: %s.\n", strings.TrimSuffix(at, "."), strings.Join(titles[at], "; "))
	}
}

var engines = map[string]string{sqlite: "SQLite", postgres: "PostgreSQL"}

// share is a ratio, or a dash where the limit has no such work.
func share(a, b []float64) string {
	v, ok := Ratio(a, b)
	if !ok {
		return "–"
	}
	return short(v.Median)
}

func measured(list []float64, unit string) string {
	v := Of(list)
	if v.Low == v.High {
		return short(v.Median) + " " + unit
	}
	return fmt.Sprintf("%s %s (%s - %s)", short(v.Median), unit, short(v.Low), short(v.High))
}

// short keeps what a ratio can be trusted with.
func short(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	case x >= 0.1:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.3f", x)
}

// grouped writes a number with its thousands apart.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
