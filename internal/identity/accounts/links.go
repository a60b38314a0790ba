package accounts

import (
	"net/url"
	"slices"
	"strings"

	"holdfast/internal/fault"
	"holdfast/internal/identity/redirect"
)

// Links says where browsers may be sent.
type Links struct {
	*Base
	Redirects *redirect.Rules
	published *redirect.Rules // the server's own address
}

// NewLinks reads the allow list of the configuration.
func NewLinks(b *Base) (*Links, error) {
	// The console asks for mails too, whatever site the operator has beside it.
	own := append(slices.Clone(b.Config.RedirectURLs), b.Config.Console())
	allowed, err := redirect.New(b.Config.SiteURL, own)
	if err != nil {
		return nil, err
	}
	published, err := redirect.New(b.Config.PublicURL, nil)
	return &Links{b, allowed, published}, err
}

// Target returns where a browser may be sent: the first allowed candidate,
// else the site URL.
func (s *Links) Target(candidates ...string) string { return s.Redirects.Target(candidates...) }

// Exactly is target, or the site where only a wildcard allows it: for what opens
// an account to whoever reads it.
func (s *Links) Exactly(target string) string {
	if s.Redirects.Exact(target) {
		return target
	}
	return s.Redirects.Site()
}

// IsConsole reports a target among the server's own pages.
func (s *Links) IsConsole(target string) bool {
	u, err := url.Parse(target)
	if err != nil || !s.published.Allowed(target) {
		return false
	}
	base, err := url.Parse(s.Config.Console())
	return err == nil && strings.HasPrefix(strings.TrimRight(u.Path, "/")+"/", base.Path)
}

// Failure leads a browser to target with what went wrong: in the fragment, and
// in the query too where the client reads it there (providers, PKCE).
func (s *Links) Failure(target string, err error, query bool) string {
	f := fault.As(err)
	v := url.Values{"error": {OAuthError(f)}, "error_code": {WireCode(f)}, "error_description": {f.Msg}}
	if f.Kind == fault.Internal {
		v.Set("error_description", "Unexpected failure, please check server logs for more information")
	}
	if query {
		target = redirect.WithQuery(target, v)
	}
	v.Set("sb", "")
	return redirect.WithFragment(target, v)
}

// OAuthError is the OAuth class of a fault (RFC 6749 section 4.1.2.1).
func OAuthError(f *fault.Error) string {
	switch f.Code {
	case "signup_disabled", "user_banned", "provider_email_needs_verification", "access_denied":
		return "access_denied"
	}
	switch f.Kind {
	case fault.Unauthorized:
		return "unauthorized_client"
	case fault.Forbidden:
		return "access_denied"
	case fault.Internal:
		return "server_error"
	case fault.Unavailable, fault.Limited:
		return "temporarily_unavailable"
	}
	return "invalid_request"
}

// Ours logs an error that is not the caller's mistake; those are told in the
// redirect alone.
func (s *Links) Ours(err error) {
	if fault.Is(err, fault.Internal) || fault.Is(err, fault.Unavailable) {
		s.Config.Log.Error("sign-in through a browser failed", "error", err)
	}
}

// TimedOut is the code of what was given up before it was done: try again.
const TimedOut = "request_timeout"

// WireCode keeps GoTrue's codes and gives one to faults of other packages, which
// carry an SQLSTATE or nothing.
func WireCode(e *fault.Error) string {
	switch e.Code {
	case "rate_limit_exceeded":
		return "over_request_rate_limit"
	case "57014":
		return TimedOut
	}
	if e.Code != "" && e.Code[0] >= 'a' && e.Code[0] <= 'z' {
		return e.Code
	}
	switch e.Kind {
	case fault.Invalid, fault.Unprocessable, fault.Unsupported:
		return "validation_failed"
	case fault.Unauthorized:
		return "no_authorization"
	case fault.Forbidden:
		return "not_admin"
	case fault.NotFound:
		return "not_found"
	case fault.BadMethod:
		return "method_not_allowed"
	case fault.Conflict:
		return "conflict"
	case fault.TooLarge:
		return "request_entity_too_large"
	case fault.Limited:
		return "over_request_rate_limit"
	}
	return "unexpected_failure"
}

// Linkable is where a mail may lead: the site, the server, the allow list.
func (s *Links) Linkable(raw string) bool {
	return s.Redirects.Allowed(raw) || s.published.Allowed(raw)
}
