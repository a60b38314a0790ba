package route

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast/internal/fault"
	"holdfast/internal/suggest"
	"holdfast/internal/web"
)

// Query splits a raw query string. url.ParseQuery drops pairs it cannot
// read, so that a misspelt parameter would silently mean its default.
func Query(raw string) (map[string][]string, error) {
	if raw == "" {
		return nil, nil
	}
	out := map[string][]string{}
	for i, pair := range strings.Split(raw, "&") {
		if i >= web.MaxParameters {
			return nil, fault.New(fault.Invalid, "", "more than %d parameters", web.MaxParameters)
		}
		if pair == "" {
			continue
		}
		key, value, _ := strings.Cut(pair, "=")
		k, kerr := url.QueryUnescape(key)
		v, verr := url.QueryUnescape(value)
		if kerr != nil || verr != nil || !utf8.ValidString(k+v) || strings.Contains(k+v, "\x00") {
			return nil, fault.New(fault.Invalid, "", "the query string cannot be read at %q", Clip(pair)).At(Clip(key),
				"broken escape or not UTF-8")
		}
		out[k] = append(out[k], v)
	}
	return out, nil
}

// passedOver are parameters that clients and gateways add, and the tenant that a
// service key names.
var passedOver = []string{"apikey", "tenant_id"}

// checkQuery refuses a parameter that the route does not read: a misspelt one
// would silently mean its default.
func (r *Route) checkQuery(given map[string][]string) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, known := r.Query[name]; known || slices.Contains(passedOver, name) {
			continue
		}
		shown := Clip(name)
		f := fault.New(fault.Invalid, "22023", "parameter %q is not known here", shown).At(shown, "unknown")
		names := slices.Sorted(maps.Keys(r.Query))
		if near := suggest.Nearest(shown, names); near != "" {
			f.Hint = "did you mean " + near + "?"
		} else if len(names) > 0 {
			f.Hint = "there are " + strings.Join(names, ", ")
		}
		return f
	}
	return nil
}

// Clip shortens what a client sent to what an answer repeats of it.
func Clip(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return strings.ToValidUTF8(s, "")
}
