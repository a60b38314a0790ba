// Package oidc signs people in through an OpenID Connect provider: discovery,
// the authorization request, the code exchange and the ID token.
//
// Layer: domains. Begin at [New].
package oidc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// Bounds on what a provider may cost us: it may be slow, broken
// or hostile.
const (
	requestTimeout = 8 * time.Second
	maxAnswer      = 64 << 10
)

// guardedClient returns an HTTP client that follows no redirect, uses no proxy of the
// environment, reads at most maxAnswer and connects to public addresses only.
// The issuer's own host is exempt: the operator wrote it into the
// configuration, and many run their provider on the inside.
func guardedClient(issuer *url.URL) *http.Client {
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

// inward refuses what is not of the public internet, by IANA's registries of
// special addresses.
var inward = ssrf.New(ssrf.WithAnyPort())

// publicOnly runs when the address is about to be dialled, after the name was
// resolved, so that no second resolution can differ.
func publicOnly(network, address string, c syscall.RawConn) error {
	if err := inward.Safe(network, address, c); err != nil {
		return fmt.Errorf("oidc: provider address is not public: %w", err)
	}
	return nil
}
