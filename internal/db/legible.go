package db

import (
	"database/sql/driver"
	"strconv"

	"modernc.org/sqlite"
)

// replaceUnreadable backs json_legible(X) on SQLite: the JSON text X with U+FFFD for each
// escape that stands for no character.
func replaceUnreadable(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
	text, ok := args[0].(string)
	if !ok {
		return nil, nil
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		unit := escapedUnit(text[i:])
		switch {
		case unit >= 0xD800 && unit <= 0xDBFF && isLowSurrogate(escapedUnit(text[i+len(`\uD800`):])):
			out = append(out, text[i:i+len(`\uD800\uDC00`)]...)
			i += len(`\uD800\uDC00`)
		case unit == 0 || unit >= 0xD800 && unit <= 0xDFFF:
			out = append(out, `\ufffd`...)
			i += len(`\uD800`)
		case text[i] == '\\' && i+1 < len(text):
			out = append(out, text[i], text[i+1])
			i += 2
		default:
			out = append(out, text[i])
			i++
		}
	}
	return string(out), nil
}

func isLowSurrogate(unit int) bool { return unit >= 0xDC00 && unit <= 0xDFFF }

// escapedUnit is the UTF-16 unit that a text begins with as \uXXXX, or -1.
func escapedUnit(s string) int {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	if err != nil {
		return -1
	}
	return int(n)
}
