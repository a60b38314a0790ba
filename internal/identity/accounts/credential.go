package accounts

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/identity/token"
)

// Opaque reports a key that is no JWT.
func Opaque(key string) bool {
	return strings.HasPrefix(key, token.SecretPrefix) || strings.HasPrefix(key, token.TenantPrefix) ||
		strings.HasPrefix(key, token.PublishablePrefix)
}

// Credential is what a request shows of itself.
type Credential struct {
	Bearer       string // without "Bearer "
	APIKey       string // header apikey
	Address      string
	UserAgent    string
	Origin       string // header Origin
	SecFetchSite string // header Sec-Fetch-Site
	Cookie       bool   // a Cookie header is present
	RequestID    string
}

// Browser reports a request that a browser made.
func (c *Credential) Browser() bool {
	return c.Origin != "" || c.SecFetchSite != "" || c.Cookie || strings.HasPrefix(c.UserAgent, "Mozilla/")
}

// TenantKey is a key of a tenant as requests are checked by it.
type TenantKey struct {
	Actor                 actor.Actor
	Places                []netip.Prefix
	Expires, Revoked, End time.Time // the key's, and its account's end
	Closed                bool      // the tenant is
}

// From reports an address the key is taken from.
func (k *TenantKey) From(address string) bool {
	if len(k.Places) == 0 {
		return true
	}
	a, err := netip.ParseAddr(address)
	a = a.Unmap().WithZone("")
	return err == nil && slices.ContainsFunc(k.Places, func(p netip.Prefix) bool { return p.Contains(a) })
}
