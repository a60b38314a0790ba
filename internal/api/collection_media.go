package api

import (
	"strings"

	"holdfast/internal/fault"
	grammar "holdfast/internal/query"
)

// acceptShape picks the shape of the answer: the first type of the list that is
// served. Parameters other than nulls=stripped are ignored. A record's own
// path answers one object.
func acceptShape(lines []string, one bool) (grammar.Shape, error) {
	list := strings.Join(lines, ",")
	if strings.TrimSpace(list) == "" {
		return grammar.Shape{Singular: one}, nil
	}
	for _, item := range strings.Split(list, ",") {
		kind, params, _ := strings.Cut(item, ";")
		stripped := strings.Contains(strings.ReplaceAll(strings.ToLower(params), " ", ""), "nulls=stripped")
		switch strings.ToLower(strings.TrimSpace(kind)) {
		case "*/*", "application/*", "application/json":
			return grammar.Shape{Singular: one}, nil
		case "application/vnd.pgrst.array", "application/vnd.pgrst.array+json":
			return grammar.Shape{Stripped: stripped, Singular: one}, nil
		case "application/vnd.pgrst.object", "application/vnd.pgrst.object+json":
			return grammar.Shape{Singular: true, Stripped: stripped}, nil
		case "text/csv", "text/*":
			if !one {
				return grammar.Shape{CSV: true}, nil
			}
		}
	}
	return grammar.Shape{}, fault.New(fault.NotAcceptable, "PGRST107", "none of these media types is available: %s",
		fault.Clip(list, 200)).
		With("", "ask for application/json, application/vnd.pgrst.object+json or text/csv")
}
