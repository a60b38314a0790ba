package route

import (
	"net/http"
	"strings"

	"holdfast/internal/access"
	"holdfast/internal/fault"
	"holdfast/internal/functions"
	"holdfast/internal/web"
)

// functionError is the error body of functions.
type functionError struct {
	Error   string `json:"error"`
	Details string `json:"details"`
}

// FunctionShape is the interface's {error, details}; a 429 has its own body.
func FunctionShape(r *http.Request, e *fault.Error) web.Reply {
	status := web.Status(e.Kind)
	if ref, ok := e.Data.(access.Refusal); ok {
		return web.Reply{Status: status, Body: ref}
	}
	reply := web.Reply{Status: status, Body: functionError{Error: e.Msg, Details: functionDetails(r, e)}}
	if e.Kind == fault.Unauthorized {
		reply.Header = http.Header{"Www-Authenticate": {"Bearer"}}
	}
	if list, ok := e.Data.(http.Header); ok {
		reply.Header = list
	}
	if extra, ok := e.Data.(functions.Extra); ok {
		reply.Body = extra.Body(e.Msg, functionDetails(r, e))
	}
	return reply
}

func functionDetails(r *http.Request, e *fault.Error) string {
	var parts []string
	for _, fd := range e.Fields {
		parts = append(parts, fd.Name+": "+fd.Msg)
	}
	if e.Details != "" {
		parts = append(parts, e.Details)
	}
	if e.Hint != "" {
		parts = append(parts, e.Hint)
	}
	return strings.Join(append(parts, "request "+web.RequestID(r.Context())), "; ")
}
