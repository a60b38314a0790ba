package actor

import "strings"

// Scope is what a key of a tenant may be used for, in words: "orders:read" and
// "orders:write" for a collection (who may write may read), "rpc:NAME" for a
// verb, "functions:NAME" for a function. nil is no limit but the role's: people
// and service keys have none.
type Scope map[string]bool

// NewScope never returns nil: a key without words may do nothing.
func NewScope(words []string) Scope {
	s := make(Scope, len(words))
	for _, w := range words {
		s[w] = true
	}
	return s
}

// Narrow returns the words that both hold. asked separates them by blanks; ""
// asks for all.
func (s Scope) Narrow(asked string) Scope {
	if asked == "" {
		return s
	}
	out := Scope{}
	for _, w := range strings.Fields(asked) {
		if s[w] {
			out[w] = true
		}
	}
	return out
}

// Reads reports whether records of a collection may be read.
func (s Scope) Reads(collection string) bool {
	return s == nil || s[collection+":read"] || s[collection+":write"]
}

// Writes reports whether records of a collection may be changed.
func (s Scope) Writes(collection string) bool { return s == nil || s[collection+":write"] }

// Says reports whether a verb may be said.
func (s Scope) Says(verb string) bool { return s == nil || s["rpc:"+verb] }

// Calls reports whether a function may be called.
func (s Scope) Calls(function string) bool { return s == nil || s["functions:"+function] }
