package web

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
)

// identityKey is the context key of an identity.
type identityKey struct{}

// identity is what a request is called and where it comes from: one value, for
// each one in a context copies the request.
type identity struct {
	id, address string
	encrypted   bool
	unsigned    atomic.Bool
}

var idShape = regexp.MustCompile(`^[A-Za-z0-9._-]{8,64}$`)

// identifyRequest gives the request its id and client address. A caller's own id is
// kept when it is harmless in logs and headers.
func identifyRequest(w http.ResponseWriter, r *http.Request, proxies []netip.Prefix) *http.Request {
	id := r.Header.Get("X-Request-Id")
	if !idShape.MatchString(id) {
		id = newRequestID()
	}
	w.Header()["X-Request-Id"] = []string{id}
	return r.WithContext(context.WithValue(r.Context(), identityKey{},
		&identity{id: id, address: clientAddress(r, proxies), encrypted: isEncrypted(r, proxies)}))
}

// Unsign keeps the request's id and account out of its log line and its span: it
// wrote a record that does not name its maker, such as an anonymous report.
func Unsign(ctx context.Context) {
	if i, ok := ctx.Value(identityKey{}).(*identity); ok {
		i.unsigned.Store(true)
	}
}

func isUnsigned(ctx context.Context) bool {
	i, ok := ctx.Value(identityKey{}).(*identity)
	return ok && i.unsigned.Load()
}

// newRequestID makes a random UUID (RFC 9562, section 5.4). It names a request and
// keeps no secret, so that it need not ask the system for each.
func newRequestID() string {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], rand.Uint64())
	binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id.String()
}

// RequestID returns the id every log line and answer of this request carries.
func RequestID(ctx context.Context) string {
	if i, ok := ctx.Value(identityKey{}).(*identity); ok {
		return i.id
	}
	return ""
}

// ClientAddress returns the caller's IP address: the socket's peer, or what a
// trusted proxy says of it.
func ClientAddress(r *http.Request) string {
	if i, ok := r.Context().Value(identityKey{}).(*identity); ok {
		return i.address
	}
	return clientAddress(r, nil)
}

// clientAddress walks X-Forwarded-For from its right end, past the proxies we
// trust: entries further left are claims of strangers. Where all are trusted the
// client is the leftmost, a machine among the proxies.
func clientAddress(r *http.Request, proxies []netip.Prefix) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	peer, err := netip.ParseAddr(host)
	if err != nil || !isTrusted(peer, proxies) {
		return host
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		a, err := parseHop(strings.TrimSpace(hops[i]))
		if err != nil {
			return host
		}
		// A zone is any text, and means nothing on another machine.
		host = a.Unmap().WithZone("").String()
		if !isTrusted(a, proxies) {
			return host
		}
	}
	return host
}

// parseHop reads an address, and one with a port, which some proxies add.
func parseHop(s string) (netip.Addr, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		return a, nil
	}
	p, err := netip.ParseAddrPort(s)
	return p.Addr(), err
}

// Encrypted reports that the request came over TLS: to this server, or to a
// trusted proxy that says so.
func Encrypted(r *http.Request) bool {
	if i, ok := r.Context().Value(identityKey{}).(*identity); ok {
		return i.encrypted
	}
	return r.TLS != nil
}

// isEncrypted believes X-Forwarded-Proto of a proxy that is the socket's own
// peer, and of one that replaced what the client said of it: two claims are
// none.
func isEncrypted(r *http.Request, proxies []netip.Prefix) bool {
	if r.TLS != nil {
		return true
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	said := r.Header.Values("X-Forwarded-Proto")
	return err == nil && isTrusted(peer.Addr(), proxies) && len(said) == 1 && strings.EqualFold(said[0], "https")
}

func isTrusted(a netip.Addr, proxies []netip.Prefix) bool {
	for _, p := range proxies {
		if p.Contains(a.Unmap()) {
			return true
		}
	}
	return false
}

// AddressKey groups an address for counting: an IPv6 caller owns a whole /64.
func AddressKey(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if a = a.Unmap(); a.Is4() {
		return a.String()
	}
	p, err := a.Prefix(64)
	if err != nil {
		return address
	}
	return p.String()
}

// SiteKey groups the IPv6 addresses of one site, which is given a /48 at most
// (RFC 6177 section 2); "" for an IPv4 address.
func SiteKey(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil || a.Unmap().Is4() {
		return ""
	}
	p, err := a.Prefix(48)
	if err != nil {
		return ""
	}
	return p.String()
}

// MaxParameters bounds the pairs of a query string, where a face has no bound of
// its own: net/url makes room for thousands.
const MaxParameters = 100

// FewParameters refuses a query string of more pairs than that.
func FewParameters(r *http.Request) error {
	if strings.Count(r.URL.RawQuery, "&") >= MaxParameters {
		return fault.New(fault.Invalid, "", "more than %d parameters", MaxParameters)
	}
	return nil
}

// maxHeaderList bounds the header list of a request, in bytes as HTTP/2 counts
// them: 32 for each field beside its name and value (RFC 9113, section 6.5.2). The
// address is no part of it.
const maxHeaderList = 32 << 10

// CheckHeaders refuses a header list that no client needs (RFC 6585, section 5).
// It names the longest field. What is beyond the server's buffer for a request's
// head is refused by net/http, in a line of text.
func CheckHeaders(r *http.Request) error {
	size, longest, most := 0, "", 0
	for name, values := range r.Header {
		sum := 0
		for _, value := range values {
			sum += len(name) + len(value) + 32
		}
		if size += sum; sum > most {
			longest, most = name, sum
		}
	}
	if size <= maxHeaderList {
		return nil
	}
	shown := fault.Clip(longest, 60)
	f := fault.New(fault.HeadersTooLarge, "", "the header list is larger than %d bytes; its longest field is %s",
		maxHeaderList, shown)
	return f.At(shown, "%d bytes", most)
}

type actorKey struct{}

// WithActor attaches the caller, for the request log.
func WithActor(r *http.Request, a actor.Actor) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), actorKey{}, a))
}

// Actor returns the caller attached by WithActor.
func Actor(r *http.Request) actor.Actor {
	a, _ := r.Context().Value(actorKey{}).(actor.Actor)
	return a
}
