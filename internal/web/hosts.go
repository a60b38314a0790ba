package web

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// ForHosts answers requests for a host that isOurs knows, and refuses others with 421
// (RFC 9110, 15.5.20): a name of somebody else that leads to this address is answered
// nothing, neither a redirection nor, through a browser, what is the operator's.
func ForHosts(isOurs func(host string) bool, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isOurs(hostName(r.Host)) {
			http.Error(w, "this server does not answer for that host", http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// hostName is the name or address that a Host header says, without port, brackets, the
// dot of the root or capitals.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// IsThisMachine reports a name by which only this machine is meant.
func IsThisMachine(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// IsAmong reports whether names hold a host, in whatever capitals or script they are
// written: a client asks for the ASCII form (RFC 5891, 4.4), by which autocert goes too.
// A name that has none is asked for by nobody.
func IsAmong(names []string) func(host string) bool {
	asked := make([]string, 0, len(names))
	for _, name := range names {
		if ascii, err := idna.Lookup.ToASCII(hostName(name)); err == nil {
			asked = append(asked, ascii)
		}
	}
	return func(host string) bool { return slices.Contains(asked, host) }
}

// WithoutPort has h compare names alone: some authorities, and some proxies,
// name the port in Host even where it is the usual one (RFC 9110, 7.2).
func WithoutPort(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host, _, err := net.SplitHostPort(r.Host); err == nil {
			named := *r
			named.Host = host
			r = &named
		}
		h.ServeHTTP(w, r)
	})
}
