// Package jsonb holds what PostgreSQL does with jsonb, for the embedded engine.
//
// Layer: adapters. Begin at [Contains].
package jsonb

import (
	"database/sql/driver"
	"encoding/json"
	"math/big"
	"strings"

	"modernc.org/sqlite"
)

// Contains backs json_contains(X, Y) on SQLite: whether the JSON text X holds Y
// as jsonb's @> has it (postgresql.org/docs/current/datatype-json.html, "jsonb
// Containment and Existence"). Null where either is null or no JSON.
func Contains(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
	left, ok1 := parseJSON(args[0])
	right, ok2 := parseJSON(args[1])
	if !ok1 || !ok2 {
		return nil, nil
	}
	if list, ok := left.([]any); ok && plainValue(right) {
		return anyHolds(list, right), nil // an array contains a plain value, but only at the top
	}
	return holdsJSON(left, right), nil
}

func parseJSON(arg driver.Value) (v any, ok bool) {
	text, ok := arg.(string)
	if !ok {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return v, d.Decode(&v) == nil
}

func plainValue(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

func holdsJSON(left, right any) bool {
	switch r := right.(type) {
	case map[string]any:
		l, ok := left.(map[string]any)
		if !ok {
			return false
		}
		for key, want := range r {
			if have, there := l[key]; !there || !holdsJSON(have, want) {
				return false
			}
		}
		return true
	case []any:
		l, ok := left.([]any)
		if !ok {
			return false
		}
		for _, want := range r {
			if !anyHolds(l, want) {
				return false
			}
		}
		return true
	case json.Number:
		l, ok := left.(json.Number)
		return ok && sameNumber(l, r)
	}
	return plainValue(left) && left == right
}

func anyHolds(list []any, want any) bool {
	for _, have := range list {
		if holdsJSON(have, want) {
			return true
		}
	}
	return false
}

func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, ok1 := new(big.Rat).SetString(string(a))
	y, ok2 := new(big.Rat).SetString(string(b))
	return ok1 && ok2 && x.Cmp(y) == 0
}
