package access

import (
	"net/http"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
)

// inScope refuses a tenant's key what it is not for. A path that no scope names
// is closed to keys, so that what is served tomorrow is too.
func inScope(s actor.Scope, r *http.Request) error {
	if s == nil {
		return nil
	}
	if strings.HasPrefix(r.URL.Path, "/functions/v1/") {
		return nil // by their names, which api knows: see permit there
	}
	path, ok := strings.CutPrefix(strings.TrimPrefix(r.URL.Path, "/rest"), "/v1")
	if !ok {
		return errClosed()
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	parts := strings.Split(strings.Trim(path, "/"), "/")
	name := parts[0]
	switch {
	case name == "" || path == "/permissions" && reads:
		return nil // what the caller may do
	case name == "rpc" && len(parts) == 2:
		return nil // the same: speaks
	case name == "import-jobs":
		name = "import_jobs"
	case len(parts) > 2:
		return errClosed()
	}
	if reads {
		return requireScope(s.Reads(name), name+":read")
	}
	return requireScope(s.Writes(name), name+":write")
}

func requireScope(ok bool, word string) error {
	if ok {
		return nil
	}
	return fault.New(fault.Forbidden, "42501", "this key has no scope %s", word)
}

func errClosed() error {
	return fault.New(fault.Forbidden, "42501", "keys of a tenant are not taken here")
}
