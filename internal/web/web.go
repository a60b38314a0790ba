// Package web is the HTTP toolbox: handlers that return errors, one table from
// fault kinds to statuses, strict bodies, request ids, client addresses, CORS,
// the request log and the server's life cycle. It knows no feature.
//
// Layer: adapters. Begin at [Serve].
package web

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"

	"holdfast/internal/fault"
)

// Handler answers a request or says how it went wrong.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Reply is an error answer as one surface writes it.
type Reply struct {
	Status int
	Header http.Header
	Body   any
}

// Shape turns a fault into a surface's error body.
type Shape func(r *http.Request, e *fault.Error) Reply

var statuses = map[fault.Kind]int{
	fault.Internal: 500, fault.Invalid: 400, fault.Unauthorized: 401, fault.Forbidden: 403, fault.NotFound: 404,
	fault.BadMethod: 405, fault.NotAcceptable: 406, fault.Conflict: 409, fault.Gone: 410, fault.TooLarge: 413,
	fault.TooSlow: 408,
	fault.TooLong: 414, fault.Unsupported: 415, fault.BadRange: 416, fault.Unprocessable: 422, fault.Limited: 429,
	fault.HeadersTooLarge: 431, fault.Ambiguous: 300, fault.Unavailable: 503, fault.NoSpace: 507, fault.Absent: 501,
}

// Status is the one table from fault kinds to HTTP statuses.
func Status(k fault.Kind) int {
	if s, ok := statuses[k]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// Wrap serves h; its errors and panics are logged with their cause and
// answered in the surface's shape.
func Wrap(shape Shape, h Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := callHandler(h, w, r)
		if err == nil {
			return
		}
		Fail(w, r, shape, err)
	})
}

func callHandler(h Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if p == http.ErrAbortHandler {
			panic(p)
		}
		if rec := recorderOf(w); rec != nil {
			rec.panicked = true
		}
		slog.Error("panic in a request", "request_id", RequestID(r.Context()), "panic", p, "stack", string(debug.Stack()))
		err = fault.New(fault.Internal, "", "internal error")
	}()
	return h(w, r)
}

// Fail writes err in the surface's shape and logs its cause.
func Fail(w http.ResponseWriter, r *http.Request, shape Shape, err error) {
	f := fault.As(err)
	if f.Kind == fault.Internal && r.Context().Err() != nil {
		f = fault.Wrap(err, fault.Unavailable, "57014", "the request was cancelled")
	}
	status := Status(f.Kind)
	if status >= 500 && r.Context().Err() == context.Canceled {
		slog.Info("the caller left before the answer", "request_id", RequestID(r.Context()), "error", err.Error())
	} else if status >= 500 && f.Kind != fault.Absent {
		slog.Error("request failed", "request_id", RequestID(r.Context()), "status", status, "error", err.Error())
	}
	if s, ok := w.(*recorder); ok {
		s.cause = f.Code
		if s.status != 0 {
			return // the answer has begun; nothing more can be said
		}
	}
	reply := shape(r, f)
	h := w.Header()
	for k, v := range reply.Header {
		h[k] = v
	}
	if f.RetryAfter > 0 && h.Get("Retry-After") == "" {
		h.Set("Retry-After", strconv.Itoa(fault.WaitSeconds(f.RetryAfter)))
	}
	h.Set("Cache-Control", "no-store")
	if werr := JSON(w, reply.Status, reply.Body); werr != nil {
		slog.Debug("answer not delivered", "request_id", RequestID(r.Context()), "error", werr)
	}
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// JSON writes v as one JSON document.
func JSON(w http.ResponseWriter, status int, v any) error {
	return jsonAs(w, status, "application/json; charset=utf-8", v)
}

// JSONAs writes v as one JSON document of a media type, with status 200.
func JSONAs(w http.ResponseWriter, media string, v any) error {
	return jsonAs(w, http.StatusOK, media, v)
}

func jsonAs(w http.ResponseWriter, status int, media string, v any) error {
	b := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(b)
	b.Reset()
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, err := w.Write(b.Bytes())
	return err
}
