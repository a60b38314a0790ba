// Package oidc signs people in through an OpenID Connect provider: discovery,
// the authorization request, the code exchange and the ID token.
//
// Floor: domains. Begin at [New].
package oidc

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// Bounds on what a provider may cost us: it may be slow, broken
// or hostile.
const (
	requestTimeout = 8 * time.Second
	maxAnswer      = 64 << 10
)

// client returns an HTTP client that follows no redirect, uses no proxy of the
// environment, reads at most maxAnswer and connects to public addresses only.
// The issuer's own host is exempt: the operator wrote it into the
// configuration, and many run their provider on the inside.
func client(issuer *url.URL) *http.Client {
	guarded := &net.Dialer{Timeout: 5 * time.Second, Control: publicOnly}
	free := &net.Dialer{Timeout: 5 * time.Second}
	tr := &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if host, _, err := net.SplitHostPort(addr); err == nil && host == issuer.Hostname() {
				return free.DialContext(ctx, network, addr)
			}
			return guarded.DialContext(ctx, network, addr)
		},
		TLSHandshakeTimeout:   5 * time.Second,
		ResponseHeaderTimeout: requestTimeout,
		MaxIdleConnsPerHost:   2,
		IdleConnTimeout:       30 * time.Second,
		ForceAttemptHTTP2:     true,
	}
	return &http.Client{
		Timeout:       requestTimeout,
		Transport:     bounded{tr, issuer.Scheme},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// bounded refuses plain http (unless the issuer itself is) and cuts answers.
type bounded struct {
	next   http.RoundTripper
	scheme string
}

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && r.URL.Scheme != b.scheme {
		return nil, errors.New("oidc: provider address is not https")
	}
	res, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(res.Body, maxAnswer), res.Body}
	return res, nil
}

// private lists what netip's own predicates leave out: this network, CGNAT,
// IETF assignments, documentation, benchmarking, reserved, NAT64, 6to4, and
// documentation again (IANA special-purpose address registries).
var private = func() []netip.Prefix {
	var out []netip.Prefix
	for _, s := range []string{"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"} {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}()

// publicOnly runs when the address is about to be dialled, after the name was
// resolved, so that no second resolution can differ.
func publicOnly(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !Public(ap.Addr()) {
		return errors.New("oidc: provider address is not public")
	}
	return nil
}

// Public reports whether an address is reachable on the public internet.
func Public(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() {
		return false
	}
	for _, p := range private {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
