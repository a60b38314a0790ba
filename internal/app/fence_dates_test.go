package app

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// otherDates are the functions that reckon with dates outside package localtime,
// by what they do it for: none of them turns a moment into a date of a tenant.
var otherDates = map[string][]string{
	"dates on labels, in files, requests and records, which are no moments": {
		"internal/api/route/shape_identity.go: asksDatedErrors", "internal/gs1/ai.go: Day",
		"internal/imports/draft/convert.go: date", "internal/imports/cell/month.go: MonthEnd",
		"internal/imports/upload.go: cleanFileName", "internal/query/value.go: parseDate",
		"internal/safety/osha/esaw.go: fillVictims", "internal/safety/osha/europe.go: Accidents",
	},
	"the century of a year that a GS1 label writes with two digits": {
		"internal/warehouse/scanning/code.go: readLabel", "internal/warehouse/papers/labels.go: lotSymbols",
		"internal/warehouse/scanning/scan.go: parsedLabel",
	},
	"counters, whose spans are documented as those of UTC": {"internal/catalog/counter.go: startOf"},
	"windows of a number of days before now, added up in SQL by days of UTC": {
		"internal/warehouse/inventory/health.go: Book",
		"internal/warehouse/inventory/health.go: Classify", "internal/warehouse/inventory/health.go: Demand",
	},
	"events about what expires in 30 days, documented as by the day of UTC": {
		"internal/event/change.go: expiryHorizon", "internal/event/change.go: madeExpiring",
		"internal/event/clock.go: Expiring",
	},
	"the demonstration, which begins at the tenant's midnight": {
		"internal/demo/statutory.go: fileCase", "internal/demo/statutory.go: writeAnnualSummary",
		"internal/demo/statutory.go: fillInjuredPerson",
	},
}

// A date in a record is a day where the tenant is. Who makes one of a clock by
// hand makes a day of UTC, or misses a midnight that does not exist.
func TestFenceDatesAreMadeByLocaltime(t *testing.T) {
	var allowed []string
	for _, list := range otherDates {
		allowed = append(allowed, list...)
	}
	found := map[string]bool{}
	goFiles(t, func(path string) {
		name := within(path)
		if strings.HasSuffix(name, "_test.go") || !strings.HasPrefix(name, "internal/") ||
			strings.HasPrefix(name, "internal/localtime/") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range namedParts(file) {
			at := name + ": " + part.name
			for _, what := range datesByHand(part.node) {
				found[at] = true
				if !slices.Contains(allowed, at) {
					t.Errorf("%s makes a date by %s; package localtime does", at, what)
				}
			}
		}
	})
	for _, at := range allowed {
		if !found[at] {
			t.Errorf("%s is an exception and makes no date: take it out of the table", at)
		}
	}
}

// A namedPart is a function, or a constant or variable of a package.
type namedPart struct {
	name string
	node ast.Node
}

// namedParts lists the functions, constants and variables of a file.
func namedParts(file *ast.File) (parts []namedPart) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			parts = append(parts, namedPart{f.Name.Name, f})
			continue
		}
		for _, spec := range d.(*ast.GenDecl).Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				parts = append(parts, namedPart{v.Names[0].Name, v})
			}
		}
	}
	return parts
}

// dateLayouts are the layouts that write a day, a month or a year of a moment.
var dateLayouts = []string{"time.DateOnly", `"2006-01-02"`, `"2006-01"`, `"2006"`}

// datesByHand lists the expressions that make a date of a moment, or of a moment's
// text.
func datesByHand(part ast.Node) (found []string) {
	ast.Inspect(part, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.CallExpr:
			called, ok := x.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			switch name := called.Sel.Name; {
			case name == "Format" && len(x.Args) == 1 && slices.Contains(dateLayouts, written(x.Args[0])):
				found = append(found, "Format("+written(x.Args[0])+")")
			case name == "ParseInLocation" && slices.Contains(dateLayouts, written(x.Args[0])):
				found = append(found, "ParseInLocation")
			case name == "Year" && isMoment(called.X):
				found = append(found, "Year() of a moment")
			case name == "Truncate" && strings.HasPrefix(written(x.Args[0]), "24 * "):
				found = append(found, "Truncate to a day")
			case name == "Day" && len(x.Args) == 1 && strings.HasSuffix(written(called.X), "DB()"):
				found = append(found, "a day of UTC in SQL")
			}
		case *ast.BasicLit:
			if x.Kind == token.STRING && strings.Contains(x.Value, "{day ") {
				found = append(found, "a day of UTC in SQL")
			}
		case *ast.SliceExpr:
			if high := written(x.High); x.Low == nil && (high == "10" || high == "len(time.DateOnly)") {
				found = append(found, "cutting a text")
			}
		}
		return true
	})
	return found
}

// isMoment reports an expression that reads a clock or brings a moment to a zone.
func isMoment(x ast.Expr) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return written(x) == "now"
	}
	name := written(call.Fun)
	return slices.Contains([]string{"Now", "now", "In", "UTC", "Local"}, name[strings.LastIndex(name, ".")+1:])
}

// written is an expression's source, of the kinds that matter here.
func written(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.BasicLit:
		return x.Value
	case *ast.SelectorExpr:
		return written(x.X) + "." + x.Sel.Name
	case *ast.BinaryExpr:
		return fmt.Sprintf("%s %s %s", written(x.X), x.Op, written(x.Y))
	case *ast.CallExpr:
		args := make([]string, len(x.Args))
		for i, a := range x.Args {
			args[i] = written(a)
		}
		return written(x.Fun) + "(" + strings.Join(args, ", ") + ")"
	}
	return ""
}
