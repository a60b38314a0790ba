package query

import (
	"holdfast/internal/catalog"
	"holdfast/internal/fault"
)

// NumberLimits says what numbers a field takes.
func NumberLimits(f *catalog.Field) string {
	words := map[catalog.Type]string{
		catalog.Int:     "a whole number of at most 18 digits",
		catalog.Decimal: "a number of at most 15 digits before the decimal point and 4 after it",
		catalog.Float:   "a number of at most 15 digits",
	}[f.Type]
	if f.Min != "" {
		words += ", " + f.Min + " or more"
	}
	if f.Max != "" {
		words += ", " + f.Max + " or less"
	}
	return words
}

// outOfRange refuses a number that no number of the field's kind is.
func outOfRange(f *catalog.Field, s string) error {
	return refuseLimits(f, "22003", s, NumberLimits(f), "give fewer digits, or the amount in another unit")
}

// timeRange refuses a time or a day that there is not.
func timeRange(f *catalog.Field, s string) error {
	return refuseLimits(f, "22008", s, "a time that there is, from the year 1 to the year 9999",
		"write the year with four digits, and a day that the month has")
}

// refuseLimits names the field, what it takes, and what can be done.
func refuseLimits(f *catalog.Field, code, s, limits, advice string) *fault.Error {
	e := fault.New(fault.Invalid, code, "%q takes %s: %q is none", f.Name, limits, clipText(s)).With("", advice)
	return e.At(f.Name, "takes %s", limits)
}
