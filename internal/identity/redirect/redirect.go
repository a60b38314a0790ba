// Package redirect decides where a browser may be sent after a sign-in. Two
// readings of an address are the whole danger, so everything that browsers and
// net/url might read differently is refused before anything is compared.
//
// Layer: domains. Begin at [Rules].
package redirect

import (
	"fmt"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Rules is the site and its allow list.
type Rules struct {
	site  *url.URL
	allow []entry
}

// entry is one allow-list glob: scheme, host and port, then path.
type entry struct {
	scheme, host, path string
	glob               bool // holds a *
}

// New reads the site URL and the allow list. An entry is an absolute URL in the
// form that Supabase documents for its redirect URLs: "*" stands for characters
// within one host label or path segment, "**" for any, within the host or the
// path. A host and port that end in "**" with no path stand for every path too:
// http://localhost:**. A custom scheme (com.example.app://callback, app://**) is
// allowed; of http and https the end of the host has to be written out.
func New(site string, allow []string) (*Rules, error) {
	u, err := url.Parse(site)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("redirect: site URL %q is not an absolute http(s) URL", site)
	}
	r := &Rules{site: u}
	for _, a := range allow {
		if a = strings.TrimSpace(a); a == "" {
			continue
		}
		e, err := parseEntry(a)
		if err != nil {
			return nil, err
		}
		r.allow = append(r.allow, e)
	}
	return r, nil
}

func parseEntry(s string) (entry, error) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || scheme == "" || rest == "" || strings.ContainsAny(s, "\\@?# \t\r\n") {
		return entry{}, fmt.Errorf("redirect: allow-list entry %q is not an absolute URL without query, fragment or user", s)
	}
	host, p, pathed := strings.Cut(rest, "/")
	e := entry{scheme: strings.ToLower(scheme), host: trimPort(strings.ToLower(scheme), strings.ToLower(host)),
		path: strings.Trim(p, "/"), glob: strings.Contains(rest, "*")}
	if !pathed && strings.HasSuffix(host, "**") {
		e.path = "**"
	}
	if host == "" || (e.scheme == "http" || e.scheme == "https") && !hasWrittenEnd(e.host) {
		return entry{}, fmt.Errorf("redirect: allow-list entry %q: the end of the host has to be written out, a domain of two labels at least", s)
	}
	return e, nil
}

// hasWrittenEnd reports a host whose end is written out behind a "**": without it a pattern
// allows the hosts of strangers.
func hasWrittenEnd(host string) bool {
	name := host
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		name = host[:i]
	}
	i := strings.LastIndex(name, "**")
	return name != "" && (i < 0 || strings.Contains(strings.TrimPrefix(name[i+2:], "."), "."))
}

// Site returns the site URL as configured.
func (r *Rules) Site() string { return r.site.String() }

// Target returns the first candidate that is allowed, else the site URL.
func (r *Rules) Target(candidates ...string) string {
	for _, c := range candidates {
		if c != "" && r.Allowed(c) {
			return c
		}
	}
	return r.Site()
}

// Allowed reports whether a browser may be sent to raw: the site's own scheme,
// host and port (the port is free when the site is on loopback), or an entry
// of the list. Without an entry, an IP literal other than loopback's is
// refused. The fragment takes no part, since the answer replaces it.
func (r *Rules) Allowed(raw string) bool {
	u, ok := parseStrict(raw)
	if !ok {
		return false
	}
	if r.sameSite(u) {
		return true
	}
	for _, e := range r.allow {
		if e.matchesURL(u) {
			return true
		}
	}
	return false
}

// Exact reports whether raw is allowed by a name that somebody wrote out: an
// entry without "*", or the site, all of whose pages are one origin. Only there
// may tokens travel in a fragment, and mailed links lead: what a "*" lets in is
// anybody's who gets a name or a page below it.
func (r *Rules) Exact(raw string) bool {
	u, ok := parseStrict(raw)
	return ok && (r.sameSite(u) || slices.ContainsFunc(r.allow, func(e entry) bool { return !e.glob && e.matchesURL(u) }))
}

// parseStrict refuses what two readers may read in two ways: user-info, backslash,
// control characters and blanks, non-ASCII, dot segments, a scheme without an
// authority, schemes that run code.
func parseStrict(raw string) (*url.URL, bool) {
	if len(raw) > 2048 {
		return nil, false
	}
	for i := 0; i < len(raw); i++ {
		if c := raw[i]; c <= ' ' || c >= 0x7f || c == '\\' || c == '"' || c == '<' || c == '>' || c == '`' {
			return nil, false
		}
	}
	u, err := url.Parse(raw)
	if err != nil || u.User != nil || u.Host == "" || u.Opaque != "" || strings.Contains(u.Host, "%") {
		return nil, false
	}
	switch u.Scheme = strings.ToLower(u.Scheme); u.Scheme {
	case "", "javascript", "data", "vbscript", "file", "blob", "about":
		return nil, false
	}
	if !strings.HasPrefix(strings.ToLower(raw), u.Scheme+"://") || strings.HasPrefix(raw[len(u.Scheme)+3:], "/") {
		return nil, false
	}
	if c := path.Clean("/" + u.Path); c != "/"+strings.Trim(u.Path, "/") && c != u.Path {
		return nil, false
	}
	if low := strings.ToLower(u.EscapedPath()); strings.Contains(low, "%2e") || strings.Contains(low, "%2f") ||
		strings.Contains(low, "%5c") {
		return nil, false
	}
	return u, true
}

func (r *Rules) sameSite(u *url.URL) bool {
	if u.Scheme != r.site.Scheme {
		return false
	}
	host, site := strings.ToLower(u.Hostname()), strings.ToLower(r.site.Hostname())
	if isLoopback(site) {
		return isLoopback(host)
	}
	return host == site && portOf(u) == portOf(r.site)
}

// isLoopback is true of localhost and of loopback literals in their canonical
// spelling only: 127.1 or 0x7f.1 never pass.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback() && ip.String() == host
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

func trimPort(scheme, host string) string {
	switch scheme {
	case "http":
		return strings.TrimSuffix(host, ":80")
	case "https":
		return strings.TrimSuffix(host, ":443")
	}
	return host
}

func (e entry) matchesURL(u *url.URL) bool {
	host, have := trimPort(u.Scheme, strings.ToLower(u.Host)), strings.Trim(u.Path, "/")
	if u.Scheme != e.scheme || strings.HasPrefix(host, ".") || !matchGlob(e.host, host, ".:") {
		return false
	}
	// "/a/**" is what lies below a, and a itself.
	return matchGlob(e.path, have, "/") || strings.HasSuffix(e.path, "/**") &&
		matchGlob(strings.TrimSuffix(e.path, "/**"), have, "/")
}

// matchGlob reports whether a text is what a glob says: "**" is any text, "*" at least
// one character and none of stops, anything else itself.
func matchGlob(glob, text, stops string) bool {
	if !strings.Contains(glob, "*") {
		return glob == text
	}
	ends := make([]bool, len(text)+1) // where what is read of the glob may end in the text
	ends[0] = true
	for glob != "" {
		next := make([]bool, len(ends))
		rest, any := strings.CutPrefix(glob, "**")
		switch {
		case any:
			next[0] = ends[0]
			for t := range text {
				next[t+1] = next[t] || ends[t+1]
			}
		case glob[0] == '*':
			for t := range text {
				next[t+1] = (ends[t] || next[t]) && !strings.Contains(stops, text[t:t+1])
			}
			rest = glob[1:]
		default:
			for t := range text {
				next[t+1] = ends[t] && text[t] == glob[0]
			}
			rest = glob[1:]
		}
		ends, glob = next, rest
	}
	return ends[len(text)]
}

// WithQuery adds query parameters to a target, keeping those it has.
func WithQuery(target string, add url.Values) string {
	u, err := url.Parse(target)
	if err != nil {
		return target
	}
	q := add.Encode()
	if u.RawQuery != "" {
		q = u.RawQuery + "&" + q
	}
	u.RawQuery, u.Fragment, u.RawFragment = q, "", ""
	return u.String()
}

// WithFragment replaces a target's fragment by form-encoded parameters.
func WithFragment(target string, v url.Values) string {
	base, _, _ := strings.Cut(target, "#")
	return base + "#" + v.Encode()
}
