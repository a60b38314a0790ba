package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// series are the results of one run, as -json wrote them, under a label.
type series struct {
	label   string
	results []result
}

// published are the pictures of docs/performance.md: each its file, its title
// and LABEL=FILE of its series.
var published = [][]string{
	{"docs/images/speed-writes.svg", "Writes of the whole server and of one that lacks promises, of the same rows by hand",
		"whole=bench/figures/whole.jsonl", "without seals=bench/figures/without-seals.jsonl",
		"without audit=bench/figures/without-audit.jsonl",
		"without audit, seals, counters, numbers, row policies and notices=bench/figures/without-all.jsonl"},
	{"docs/images/speed-reads.svg", "Reads, of the same statements by hand", "whole=bench/figures/reads.jsonl"},
}

// plot draws the ratios of runs as an SVG: OUT TITLE LABEL=FILE..., or without
// arguments what is published. What the first file has is drawn, in its order;
// of the others what is in it.
func plot(args []string) error {
	if len(args) == 0 {
		for _, p := range published {
			if err := plot(p); err != nil {
				return err
			}
		}
		return nil
	}
	if len(args) < 3 {
		return errors.New("arguments: plot OUT.svg TITLE LABEL=FILE [LABEL=FILE ...]")
	}
	list, err := gather("", args[2:])
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], draw(args[1], list), 0o644)
}

// gather reads the files of LABEL=FILE, below root.
func gather(root string, args []string) (list []series, _ error) {
	for _, a := range args {
		label, file, ok := strings.Cut(a, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not LABEL=FILE", a)
		}
		b, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, err
		}
		s, err := readSeries(label, bytes.NewReader(b))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		list = append(list, s)
	}
	return list, nil
}

// readSeries keeps the results that are ratios with a goal to reach.
func readSeries(label string, from io.Reader) (series, error) {
	s := series{label: label}
	for d := json.NewDecoder(from); ; {
		var r result
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			return s, nil
		} else if err != nil {
			return s, err
		}
		if goal(r) > 0 {
			s.results = append(s.results, r)
		}
	}
}

// goal is the ratio that a result is to reach; 0 = it has none.
func goal(r result) (g float64) {
	if n, err := fmt.Sscanf(r.Goal, ">= %g", &g); n != 1 || err != nil || fmt.Sprintf(">= %.4g", g) != r.Goal {
		return 0
	}
	return g
}

// Of the picture, in its own units.
const (
	left, most   = 330, 1.25 // where bars begin, the greatest ratio that is drawn
	unit         = 340       // of a ratio of 1
	bar, between = 13, 12
)

var colours = []string{"#1f5f8b", "#e08e1b", "#5a9e6f", "#8a5a9e"}

// draw makes a bar of each median, a line from the least of the rounds to the
// greatest, and a red mark at the goal.
func draw(title string, list []series) []byte {
	var b bytes.Buffer
	y := 34 + 18*len(list)
	legend := y
	for _, r := range list[0].results {
		from := y
		for i, s := range list {
			if at := s.find(r.Case, r.Engine); at != nil {
				bars(&b, y, colours[i%len(colours)], at)
				y += bar
			}
		}
		if g := goal(r); g > 0 {
			fmt.Fprintf(&b, `<path d="M%g %dV%d" stroke="#c0392b" stroke-width="2"/>`+"\n", place(g), from-3, y+3)
		}
		name := html.EscapeString(strings.TrimSpace(r.Case) + ", " + r.Engine)
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", left-8, (from+y)/2+4, name)
		y += between
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 820 %d" font-family="sans-serif" font-size="12" role="img">`+"\n", y+24)
	fmt.Fprintf(&out, "<title>%s</title>\n"+`<rect width="820" height="%d" fill="#fff"/>`+"\n", html.EscapeString(title),
		y+24)
	fmt.Fprintf(&out, `<text x="12" y="20" font-size="15">%s</text>`+"\n", html.EscapeString(title))
	for i, s := range list {
		fmt.Fprintf(&out, `<rect x="%d" y="%d" width="12" height="12" fill="%s"/><text x="%d" y="%d">%s</text>`+"\n",
			left, 30+18*i, colours[i%len(colours)], left+18, 40+18*i, html.EscapeString(s.label))
	}
	for tick := 0.0; tick <= most; tick += 0.25 {
		fmt.Fprintf(&out, `<path d="M%g %dV%d" stroke="#ddd"/><text x="%g" y="%d" text-anchor="middle">%.2f</text>`+"\n",
			place(tick), legend-4, y, place(tick), y+14, tick)
	}
	out.Write(b.Bytes())
	out.WriteString("</svg>\n")
	return out.Bytes()
}

func (s *series) find(name, engine string) *result {
	for i := range s.results {
		if r := &s.results[i]; r.Case == name && r.Engine == engine {
			return r
		}
	}
	return nil
}

func place(ratio float64) float64 { return left + unit*min(ratio, most) }

func bars(b *bytes.Buffer, y int, colour string, r *result) {
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`, left, y, place(r.Value)-left, bar-2, colour)
	fmt.Fprintf(b, `<path d="M%.1f %dH%.1f" stroke="#333"/>`, place(r.Low), y+5, place(r.High))
	fmt.Fprintf(b, `<text x="%.1f" y="%d" font-size="10">%.2f</text>`+"\n", place(max(r.Value, r.High))+4, y+9, r.Value)
}
