// Package fault says how a request can go wrong. A fault carries what the
// caller may know (kind, code, message, fields) apart from its cause, which is
// only logged. Each HTTP surface shapes faults into its own error body.
//
// Layer: values. Begin at [Error].
package fault

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind is the class of a fault. The zero value is Internal, so an error that
// nobody classified is never shown to a caller.
type Kind uint8

// Kinds, each with one HTTP status (see package web).
const (
	Internal        Kind = iota // our own failure; the message is never shown
	Invalid                     // bad input
	Unauthorized                // no credential, or an unusable one
	Forbidden                   // known caller without the right
	NotFound                    // absent, or another tenant's
	BadMethod                   // method not served at this path
	NotAcceptable               // no representation, or not exactly one row
	Conflict                    // state or uniqueness stands against it
	TooLarge                    // body over its limit
	TooSlow                     // body that does not come
	TooLong                     // request target over its limit
	HeadersTooLarge             // header list over its limit
	Unsupported                 // media type not read
	BadRange                    // offset or range beyond the rows
	Unprocessable               // understood, refused by a rule
	Limited                     // rate limit
	Ambiguous                   // several readings of one request
	Unavailable                 // try again: busy, stopping, or outcome unknown
	NoSpace                     // disk or quota full
	Gone                        // was here, is no longer
	Absent                      // a known service that this server does not have
)

// Field is one part of the input that was refused.
type Field struct {
	Name string `json:"field"`
	Msg  string `json:"message"`
}

// Error is a classified error. Code is stable and machine readable; which
// codes exist depends on the surface (PostgREST codes on collections, GoTrue
// codes on identity).
type Error struct {
	Kind       Kind
	Code       string
	Msg        string
	Details    string
	Hint       string
	Fields     []Field
	Data       any           // extra members of the surface's error body, or nil
	RetryAfter time.Duration // 0 = not said
	Err        error         // cause, for the log only
}

// New returns a fault of kind k with a caller-visible message.
func New(k Kind, code, format string, args ...any) *Error {
	return &Error{Kind: k, Code: code, Msg: fmt.Sprintf(format, args...)}
}

// Wrap returns a fault of kind k that keeps err as its logged cause.
func Wrap(err error, k Kind, code, format string, args ...any) *Error {
	f := New(k, code, format, args...)
	f.Err = err
	return f
}

// At returns e with a refused field appended.
func (e *Error) At(field, format string, args ...any) *Error {
	e.Fields = append(e.Fields, Field{Name: field, Msg: fmt.Sprintf(format, args...)})
	return e
}

// With returns e with caller-visible details and a hint.
func (e *Error) With(details, hint string) *Error {
	e.Details, e.Hint = details, hint
	return e
}

// WaitSeconds is a wait as callers read it in Retry-After and in bodies: whole
// seconds, rounded up, at least 1, so that a call made then is not too early
// (RFC 9110, section 10.2.3).
func WaitSeconds(wait time.Duration) int {
	return max(1, int((wait+time.Second-1)/time.Second))
}

func (e *Error) Error() string {
	s := e.Msg
	if e.Code != "" {
		s = e.Code + ": " + s
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// As finds the first fault in err's chain; an unclassified error becomes an
// Internal fault around it. As(nil) is nil.
func As(err error) *Error {
	if err == nil {
		return nil
	}
	var f *Error
	if errors.As(err, &f) {
		return f
	}
	return &Error{Kind: Internal, Msg: "internal error", Err: err}
}

// Is reports whether err carries a fault of kind k.
func Is(err error, k Kind) bool { return err != nil && As(err).Kind == k }

// HasCode reports whether err carries a fault with this code.
func HasCode(err error, code string) bool { return err != nil && As(err).Code == code }

// Counted is a number with the word for what it counts: "1 row", "2 rows".
func Counted[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Clip is what a message repeats of the input: its first n bytes, to a
// character's border, and dots where more followed.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}
