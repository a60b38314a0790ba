package web

import (
	"context"
	"net/http"
	"strings"
)

// AuditedRequest is a request that an audit log keeps. Path has no query; Code is the fault's.
type AuditedRequest struct {
	Method, Route, Path string
	Status              int
	Code                string
	Tenant, User, Key   string
	Address, RequestID  string
	Bytes               int64
}

// reportAudited tells of a request that an audit log keeps.
func (f *Front) reportAudited(w *recorder, r *http.Request) {
	if f.Used != nil && w.key != "" {
		f.Used(w.auditedRequest(r))
	}
	if f.AuditHook == nil || w.tenant == "" && w.user == "" && w.key == "" {
		return
	}
	file := w.status/100 == 2 && r.Method == http.MethodGet &&
		strings.HasPrefix(w.Header().Get("Content-Type"), "text/csv")
	if w.status != http.StatusForbidden && !file {
		return
	}
	f.AuditHook(context.WithoutCancel(r.Context()), w.auditedRequest(r))
}

func (w *recorder) auditedRequest(r *http.Request) AuditedRequest {
	return AuditedRequest{Method: r.Method, Route: w.route, Path: r.URL.Path, Status: w.status, Code: w.cause,
		Tenant: w.tenant, User: w.user, Key: w.key, Address: ClientAddress(r), RequestID: RequestID(r.Context()),
		Bytes: w.bytes}
}
