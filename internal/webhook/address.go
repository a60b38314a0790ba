package webhook

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"holdfast/internal/fault"
	"holdfast/internal/outbound"
)

// The guard stands in two places: at the form of an address when it is given,
// for a clear answer, and at the dial, for safety: names may resolve to
// something else by then.

// maxURL is the longest address, in bytes.
const maxURL = 2000

var hostShape = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+$`)

// innerNames end names that are no public hosts.
var innerNames = []string{"localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "corp", "private",
	"arpa", "onion", "test", "invalid"}

func badURL(format string, args ...any) error {
	words := fmt.Sprintf(format, args...)
	return fault.New(fault.Invalid, "22023", "url: %s", words).At("url", "%s", words)
}

// parseURL checks the form of a webhook's address.
func (s *Service) parseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	free := s.private || err == nil && s.mayCallLoopback(u.Hostname())
	switch {
	case len(raw) > maxURL:
		return nil, badURL("is longer than %d bytes", maxURL)
	case err != nil || strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }):
		return nil, badURL("is not an address")
	case u.Scheme != "https" && !(free && u.Scheme == "http"):
		return nil, badURL("must begin with https://")
	case u.User != nil:
		return nil, badURL("must not hold a user name or password")
	case u.Hostname() == "" || u.Opaque != "":
		return nil, badURL("names no host")
	case u.Fragment != "":
		return nil, badURL("must not have a part after #")
	case free:
		return u, nil
	case !portAllowed(u.Port()):
		return nil, badURL("port must be 443, 80 or 1024 and above")
	}
	return u, s.publicHost(u.Hostname())
}

// mayCallLoopback reports a host that names this machine, where that is allowed.
func (s *Service) mayCallLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return s.loopback && (strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback())
}

func portAllowed(p string) bool {
	if p == "" {
		return true
	}
	n, err := strconv.ParseUint(p, 10, 16)
	return err == nil && allowedPort(uint16(n))
}

func allowedPort(n uint16) bool { return n == 80 || n == 443 || n >= 1024 }

// publicHost refuses, by its spelling alone, a host that cannot be public.
// A name whose last label is a number is an IPv4 address in one of its odd
// spellings (WHATWG URL, "ends in a number checker"): 2130706433, 0x7f.1.
func (s *Service) publicHost(host string) error {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ip, err := netip.ParseAddr(host); err == nil {
		return s.publicAddress(ip)
	}
	if !hostShape.MatchString(host) {
		return badURL("must name a public host; write an international name in its xn-- form")
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last[0] >= '0' && last[0] <= '9' || slices.Contains(innerNames, last) {
		return badURL("must name a public host")
	}
	return nil
}

func (s *Service) publicAddress(ip netip.Addr) error {
	if s.private {
		return nil
	}
	if ip.Zone() != "" || s.guard.SafeAddr(ip) != nil {
		return badURL("must name a public host")
	}
	return nil
}

// checkResolves checks that a name leads to public addresses only. Both failures are
// worded alike.
func (s *Service) checkResolves(ctx context.Context, host string) error {
	if _, err := netip.ParseAddr(host); err == nil || s.private || s.mayCallLoopback(host) {
		return nil
	}
	if outbound.CheckHost(ctx, host, s.lookup, s.publicAddress) != nil {
		return badURL("host %s does not resolve to a public address", host)
	}
	return nil
}

// checkDialable is called with the very address that is about to be connected to.
func (s *Service) checkDialable(network, address string, c syscall.RawConn) error {
	if s.private {
		return nil
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !allowedPort(ap.Port()) {
		return fmt.Errorf("webhook: %s may not be dialled", address)
	}
	return s.guard.Safe(network, address, c)
}

// checkLoopback lets connections through that stay on this machine.
func checkLoopback(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !ap.Addr().IsLoopback() {
		return fmt.Errorf("webhook: %s is not this machine", address)
	}
	return nil
}

// dialHost connects to the host of a webhook. A name that resolves to this machine
// is not the machine's name: only what says so reaches it.
func (s *Service) dialHost(ctx context.Context, network, address string) (net.Conn, error) {
	d := &net.Dialer{Timeout: 5 * time.Second, Control: s.checkDialable}
	if host, _, err := net.SplitHostPort(address); err == nil && s.mayCallLoopback(host) {
		d.Control = checkLoopback
	}
	return d.DialContext(ctx, network, address)
}

// newClient returns the client of deliveries: guarded at the dial, no
// redirects, no proxy from the environment (it would dial for us).
func (s *Service) newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: s.dialHost, TLSHandshakeTimeout: 5 * time.Second, ForceAttemptHTTP2: true, DisableCompression: true,
			MaxIdleConns: 200, MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 32 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
