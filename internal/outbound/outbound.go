// Package outbound is the HTTP client for addresses that a tenant gave us,
// which may lead to our own network: what may be reached is decided when the connection is
// made, after the name was resolved.
//
// Layer: adapters. Begin at [Client].
package outbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"code.dny.dev/ssrf"
)

// MaxAnswer is how much of an answer is read; more is an error, not a cut.
const MaxAnswer = 64 << 10

const timeout = 9 * time.Second

// ErrRefused is the one thing told of an address that was not reached: not
// whether a port is open or what stands behind it.
var ErrRefused = errors.New("outbound: the address cannot be reached from here")

// Client returns a client that reaches public addresses over https only,
// follows no redirect, uses no proxy of the environment and reads MaxAnswer
// bytes at most. private lifts the limits on address and scheme, for tests and
// for operators whose providers are inside.
func Client(private bool) *http.Client {
	d := &net.Dialer{Timeout: 5 * time.Second}
	if !private {
		d.Control = ssrf.New(ssrf.WithAnyPort()).Safe
	}
	return &http.Client{
		Timeout: timeout,
		Transport: limited{private, &http.Transport{DialContext: d.DialContext, TLSHandshakeTimeout: 5 * time.Second,
			ResponseHeaderTimeout: timeout,
			MaxIdleConnsPerHost:   2, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 32 << 10,
			ForceAttemptHTTP2: true}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type limited struct {
	private bool
	next    http.RoundTripper
}

// RoundTrip checks the address and bounds the answer.
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := check(r.URL, l.private); err != nil {
		return nil, err
	}
	res, err := l.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	res.Body = &bounded{res.Body, MaxAnswer}
	return res, nil
}

func check(u *url.URL, private bool) error {
	port := u.Port()
	if u.Host == "" || u.User != nil || u.Scheme != "https" && !(private && u.Scheme == "http") {
		return ErrRefused
	}
	if len(port) > 0 && len(port) < 4 && port != "443" && port != "80" || len(port) == 4 && port < "1024" {
		return ErrRefused
	}
	return nil
}

// CheckURL refuses an address that Client would not go to, as far as its text
// tells.
func CheckURL(raw string, private bool) error {
	u, err := url.Parse(raw)
	if err != nil || len(raw) > 2048 {
		return ErrRefused
	}
	return check(u, private)
}

// A Resolver finds the addresses of a name, as [net.Resolver.LookupNetIP] does for "ip".
type Resolver func(ctx context.Context, host string) ([]netip.Addr, error)

// LookupHost asks the resolver of this machine.
func LookupHost(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// CheckHost refuses a name that does not resolve within five seconds, and one of whose
// addresses check refuses, with ErrRefused for either. An address written as one is not
// looked up. A name may resolve otherwise later: who connects checks again.
func CheckHost(ctx context.Context, host string, resolve Resolver, check func(netip.Addr) error) error {
	addresses := []netip.Addr{}
	if ip, err := netip.ParseAddr(host); err == nil {
		addresses = append(addresses, ip)
	} else {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if addresses, err = resolve(ctx, host); err != nil || len(addresses) == 0 {
			return ErrRefused
		}
	}
	for _, ip := range addresses {
		if check(ip.Unmap()) != nil {
			return ErrRefused
		}
	}
	return nil
}

// CheckReach refuses an address as [CheckURL] does, and one whose host does not lead to
// public addresses alone.
func CheckReach(ctx context.Context, raw string, private bool) error {
	if err := CheckURL(raw, private); err != nil || private {
		return err
	}
	u, err := url.Parse(raw)
	if err != nil {
		return ErrRefused
	}
	return CheckHost(ctx, u.Hostname(), LookupHost, ssrf.New(ssrf.WithAnyPort()).SafeAddr)
}

// bounded fails when there is more than it may give.
type bounded struct {
	io.ReadCloser
	left int64
}

var errLong = fmt.Errorf("outbound: the answer is longer than %d bytes", MaxAnswer)

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errLong
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errLong
	}
	return n, err
}

// Get reads one document.
func Get(ctx context.Context, c *http.Client, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, ErrRefused
	}
	res, err := c.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: status %d", ErrRefused, res.StatusCode)
	}
	return io.ReadAll(res.Body)
}
