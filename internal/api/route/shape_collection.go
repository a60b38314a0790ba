package route

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"holdfast/internal/access"
	"holdfast/internal/fault"
	grammar "holdfast/internal/query"
	"holdfast/internal/web"
)

// collectionError is PostgREST's error body; all four members are always
// there.
type collectionError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Details any    `json:"details"`
	Hint    any    `json:"hint"`
}

// limitError is the interface's 429 body with PostgREST's code beside it.
type limitError struct {
	Code string `json:"code"`
	access.Refusal
}

// CollectionShape writes a fault as the collections do.
func CollectionShape(r *http.Request, e *fault.Error) web.Reply {
	body := collectionError{Code: collectionCode(e), Message: collectionMessage(e)}
	if e.Kind == fault.Internal {
		body.Code, body.Message = "XX000", "internal error"
		body.Details = "request " + web.RequestID(r.Context())
		return web.Reply{Status: http.StatusInternalServerError, Body: body, Header: proxyStatus(body.Code)}
	}
	if e.Details != "" {
		body.Details = e.Details
		// PostgreSQL's codes keep PostgREST's details
	} else if len(e.Fields) > 1 || len(e.Fields) == 1 && strings.HasPrefix(e.Code, "HF") {
		body.Details = fieldList(e.Fields)
	}
	if list, ok := e.Data.([]grammar.Choice); ok {
		body.Details = list
	}
	if e.Hint != "" {
		body.Hint = e.Hint
	}
	h := proxyStatus(body.Code)
	if ref, ok := e.Data.(access.Refusal); ok {
		return web.Reply{Status: web.Status(e.Kind), Body: limitError{Code: body.Code, Refusal: ref}, Header: h}
	}
	if e.Kind == fault.Unauthorized {
		h.Set("WWW-Authenticate", bearerChallenge(body.Code, body.Message))
	}
	if total, ok := e.Data.(int64); ok && e.Kind == fault.BadRange {
		h.Set("Content-Range", "*/"+strconv.FormatInt(total, 10))
	}
	return web.Reply{Status: web.Status(e.Kind), Body: body, Header: h}
}

// collectionCode is the code by which clients of PostgREST know a fault. Of a
// token, PGRST303 says that it expired or that its claims do not hold, PGRST301
// that it is none.
func collectionCode(e *fault.Error) string {
	switch {
	case e.Code == "bad_jwt" && strings.Contains(e.Msg, "claim"):
		return "PGRST303"
	case e.Code == "bad_jwt":
		return "PGRST301"
	case e.Code == "":
		return fallbackCode(e.Kind)
	}
	return e.Code
}

// collectionMessage says in our own words that a token cannot be read: why the
// library of tokens refuses one helps nobody but who forges it.
func collectionMessage(e *fault.Error) string {
	if e.Code == "bad_jwt" && collectionCode(e) == "PGRST301" {
		return "the token is not valid"
	}
	return e.Msg
}

// bearerChallenge tells a client without a token to send one, and why the one it sent
// is not taken (RFC 6750, section 3).
func bearerChallenge(code, msg string) string {
	if code != "PGRST301" && code != "PGRST303" {
		return "Bearer"
	}
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '\''
		}
		return r
	}, msg)
	return `Bearer error="invalid_token", error_description="` + plain + `"`
}

// proxyStatus lets a HEAD request learn the code.
func proxyStatus(code string) http.Header {
	return http.Header{"Proxy-Status": {"Holdfast; error=" + code}}
}

func fieldList(fs []fault.Field) string {
	parts := make([]string, len(fs))
	for i, f := range fs {
		parts[i] = fmt.Sprintf("%s: %s", f.Name, f.Msg)
	}
	return strings.Join(parts, "; ")
}

// fallbackCode serves faults raised below the collections without a code.
func fallbackCode(k fault.Kind) string {
	switch k {
	case fault.Unauthorized:
		return "PGRST301"
	case fault.Forbidden:
		return "42501"
	case fault.Unavailable:
		return "53300"
	case fault.NoSpace:
		return "53100"
	case fault.Limited:
		return "429"
	case fault.NotFound:
		return "PGRST205"
	}
	return "PGRST102"
}
