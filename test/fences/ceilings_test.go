package main

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// ceilingsFile names every package that is past the goal of a figure, with the
// value that it may not pass, and the whole program with its figures.
const ceilingsFile = "testdata/ceilings.txt"

// whole stands in place of a package for the whole program.
const whole = "all"

// ceilings are bounds by figure and package.
type ceilings map[string]float64

func key(figure, name string) string { return figure + " " + name }

// readCeilings reads lines of a figure, a package and a value.
func readCeilings(path string) (ceilings, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out := ceilings{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) != 3 {
			return nil, fmt.Errorf("%s: %q is no figure, package and value", path, line)
		}
		value, err := strconv.ParseFloat(words[2], 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, line, err)
		}
		out[key(words[0], words[1])] = value
	}
	return out, nil
}

func (c ceilings) write(path string) error {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(&b, "%s %g\n", name, c[name])
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// todaysCeilings are the ceilings of the code as it is: of each package that is
// past a goal, and of the whole by each figure that is no sum of packages.
func todaysCeilings(packages map[string]*counts) ceilings {
	out := ceilings{}
	all := sumCounts(packages)
	for _, f := range figures {
		if !f.byPackage {
			out[key(f.name, whole)] = f.round(f.of(all))
			continue
		}
		for name, c := range packages {
			if value := f.of(c); f.isWorse(value, f.goalOf(c)) {
				out[key(f.name, name)] = f.roundUp(value)
			}
		}
	}
	return out
}

// round keeps two decimals, rounded to what is worse.
func (f figure) round(value float64) float64 {
	if f.least {
		return math.Floor(value*100) / 100
	}
	return math.Ceil(value*100) / 100
}

// roundUp leaves a package the room of a step.
func (f figure) roundUp(value float64) float64 {
	if f.step == 0 {
		return value
	}
	return math.Ceil(value/f.step) * f.step
}

// goalOf is the goal of a package.
func (f figure) goalOf(c *counts) float64 {
	if f.packageGoal == nil {
		return 0
	}
	return f.packageGoal(c)
}

// isWorse reports whether a value is past a bound.
func (f figure) isWorse(value, bound float64) bool {
	if f.least {
		return value < bound
	}
	return value > bound
}
