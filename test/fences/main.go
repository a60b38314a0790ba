// Package main measures how legible the program is: names of functions, length of
// lines, SQL in raw strings, rows as text, size of packages. It counts the Go code
// of cmd and internal without tests and without internal/testkit. Its tests hold
// each figure to today's value, so that it can only become better.
//
//	go run ./test/fences
//
// prints the figures beside their goals; figures.go says what each counts.
package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
)

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	packages, err := measureTree(root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fences:", err)
		os.Exit(1)
	}
	printFigures(os.Stdout, packages)
}

// printFigures writes each figure of the whole program beside its goal, then the
// packages that are farthest from the goals.
func printFigures(out io.Writer, packages map[string]*counts) {
	all := sumCounts(packages)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "figure\ttoday\tgoal\twhat is counted")
	for _, f := range figures {
		today := f.of(all)
		if f.largest {
			today = f.of(packages[worstPackages(packages, f)[0]])
		}
		fmt.Fprintf(w, "%s\t%.1f\t%s\t%s\n", f.name, today, f.goalText(), f.doc)
	}
	fmt.Fprintln(w)
	for _, f := range figures {
		if !f.byPackage {
			continue
		}
		fmt.Fprintf(w, "%s, worst packages", f.name)
		for _, name := range worstPackages(packages, f)[:min(5, len(packages))] {
			fmt.Fprintf(w, "\t%s %.0f", name, f.of(packages[name]))
		}
		fmt.Fprintln(w)
	}
	w.Flush() // nothing is left to do about an output that is gone
}

// worstPackages are the packages by a figure, worst first.
func worstPackages(packages map[string]*counts, f figure) []string {
	var names []string
	for name := range packages {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(f.of(packages[b]), f.of(packages[a])), cmp.Compare(a, b))
	})
	return names
}
