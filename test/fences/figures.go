package main

import (
	"fmt"
	"math"
)

// counts are what is counted of a package, or of all.
type counts struct {
	lines, code, blank, comment int // a line of code has a token, a line of comment has none
	tokens                      int // without comments and without semicolons that the scanner adds
	over100, over120            int // lines by columns, a tab is one; raw strings are exempt

	functions, functionLetters int // unexported, with methods
	oneWord                    int
	switches, ternaries        int // without a tag; of them those with two cases at most
	choices                    int // map[bool]T{...}[x]
	rowTexts                   int // x["name"] and x.Text("name")
	clockDays                  int // Format(time.DateOnly)
	sqlRaw, sqlFlat, sqlGlued  int
	sqlGluedLong               int
}

// add adds a package's counts.
func (c *counts) add(more *counts) {
	for i, n := range more.all() {
		*c.all()[i] += *n
	}
}

func (c *counts) all() []*int {
	return []*int{
		&c.lines, &c.code, &c.blank, &c.comment, &c.tokens, &c.over100, &c.over120, &c.functions, &c.functionLetters,
		&c.oneWord, &c.switches, &c.ternaries, &c.choices, &c.rowTexts, &c.clockDays, &c.sqlRaw, &c.sqlFlat,
		&c.sqlGlued, &c.sqlGluedLong,
	}
}

func sumCounts(packages map[string]*counts) *counts {
	sum := &counts{}
	for _, c := range packages {
		sum.add(c)
	}
	return sum
}

// figure is one row of the table.
type figure struct {
	name string
	doc  string
	of   func(*counts) float64
	goal float64

	least     bool    // the goal is the least and not the most
	byPackage bool    // each package is held to packageGoal
	largest   bool    // the whole is the largest package and not the sum
	slack     float64 // how much the whole may be worse than it was

	packageGoal func(*counts) float64 // nil = 0
	step        float64               // a package's ceiling is rounded up to a multiple; 0 = it is exact
}

func (f figure) goalText() string {
	if f.least {
		return fmt.Sprintf(">= %g", f.goal)
	}
	return fmt.Sprintf("<= %g", f.goal)
}

// figures are what is measured. A share is per line of code unless it says else.
var figures = []figure{
	{
		name: "one-word-percent", goal: 25, slack: 0.5,
		doc: "unexported functions and methods whose name is one word, in percent",
		of:  func(c *counts) float64 { return percent(c.oneWord, c.functions) },
	},
	{
		name: "one-word", goal: 1100, byPackage: true,
		doc:         "the same as a number; a quarter of a package's functions is its goal",
		of:          func(c *counts) float64 { return float64(c.oneWord) },
		packageGoal: func(c *counts) float64 { return math.Ceil(float64(c.functions) / 4) },
	},
	{
		name: "name-letters", goal: 11, least: true, slack: 0.1,
		doc: "mean letters in the name of an unexported function or method",
		of:  func(c *counts) float64 { return ratio(c.functionLetters, c.functions) },
	},
	{
		name: "tokens-per-line", goal: 6.9, slack: 0.05,
		doc: "tokens in a line of code, mean",
		of:  func(c *counts) float64 { return ratio(c.tokens, c.code) },
	},
	{
		name: "over-100", goal: 25, slack: 0.5,
		doc: "lines over 100 columns in 1,000 lines of code",
		of:  func(c *counts) float64 { return 1000 * ratio(c.over100, c.code) },
	},
	{
		name: "over-120", goal: 8, slack: 0.5,
		doc: "lines over 120 columns in 1,000 lines of code",
		of:  func(c *counts) float64 { return 1000 * ratio(c.over120, c.code) },
	},
	{
		name: "over-120-lines", goal: 800, byPackage: true,
		doc: "the same as a number",
		of:  func(c *counts) float64 { return float64(c.over120) },
	},
	{
		name: "blank-percent", goal: 12, least: true, slack: 0.1,
		doc: "blank lines in percent of lines",
		of:  func(c *counts) float64 { return percent(c.blank, c.lines) },
	},
	{
		name: "comment-percent", goal: 10, least: true, slack: 0.1,
		doc: "lines of comment in percent of lines",
		of:  func(c *counts) float64 { return percent(c.comment, c.lines) },
	},
	{
		name: "sql-raw", goal: 400, least: true, slack: 5,
		doc: "statements of SQL in a raw string of several lines",
		of:  func(c *counts) float64 { return float64(c.sqlRaw) },
	},
	{
		name: "sql-flat", goal: 100, slack: 5,
		doc: "statements of SQL in a string of one line",
		of:  func(c *counts) float64 { return float64(c.sqlFlat) },
	},
	{
		name: "sql-glued", goal: 40, byPackage: true,
		doc: "statements of SQL put together with +",
		of:  func(c *counts) float64 { return float64(c.sqlGlued) },
	},
	{
		name: "sql-glued-long", byPackage: true,
		doc: "those of over 200 characters, none of them raw",
		of:  func(c *counts) float64 { return float64(c.sqlGluedLong) },
	},
	{
		name: "switches", goal: 1.5, slack: 0.1,
		doc: "switch statements without a tag in 1,000 lines of code",
		of:  func(c *counts) float64 { return 1000 * ratio(c.switches, c.code) },
	},
	{
		name: "ternaries", byPackage: true,
		doc: "switch statements without a tag of two cases or fewer, which are an if",
		of:  func(c *counts) float64 { return float64(c.ternaries) },
	},
	{
		name: "choices", byPackage: true,
		doc: "map[bool]T{...}[x], which is an if",
		of:  func(c *counts) float64 { return float64(c.choices) },
	},
	{
		name: "row-texts", goal: 300, byPackage: true,
		doc: `accesses to rows by text: x["name"], x.Text("name")`,
		of:  func(c *counts) float64 { return float64(c.rowTexts) },
	},
	{
		name: "clock-days", byPackage: true,
		doc: "days formatted by Format(time.DateOnly), which leaves out whose day it is",
		of:  func(c *counts) float64 { return float64(c.clockDays) },
	},
	{
		name: "package-lines", goal: 4000, byPackage: true, largest: true,
		doc:         "lines of the largest package",
		of:          func(c *counts) float64 { return float64(c.lines) },
		packageGoal: func(*counts) float64 { return 4000 },
		step:        500,
	},
	{
		name: "tokens", goal: 770_000, slack: 2000,
		doc: "the weight of the program without generated files",
		of:  func(c *counts) float64 { return float64(c.tokens) },
	},
}

func ratio(part, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(part) / float64(of)
}

func percent(part, of int) float64 { return 100 * ratio(part, of) }
