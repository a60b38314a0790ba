package identity_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"holdfast/internal/fault"
	"holdfast/internal/identity"
)

// From elsewhere a service key is refused in all its forms, with a sentence, and the
// attempts are in the audit log; each row is written once, and waits for a database
// that takes it.
func TestKeyUse_elsewhere(t *testing.T) {
	fixed := "sb_secret_configured-by-the-operator-0123456789"
	onBoth(t, func(c *identity.Config) {
		c.SecretKey, c.ServiceAddresses = fixed, []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8::/32")}
	}, func(k *kit) {
		keys, err := k.svc.Keys(k.ctx)
		k.ok(err)
		for _, key := range []string{keys.ServiceRoleKey, fixed} {
			for address, home := range map[string]bool{"203.0.113.9": true, "::ffff:203.0.113.9": true, "2001:db8::7%eth0": true, "198.51.100.7": false, "2001:db9::7": false, "": false, "nonsense": false} {
				for _, c := range []identity.Credential{{Bearer: key, Address: address}, {APIKey: key, Address: address}} {
					_, err := k.svc.Authenticate(k.ctx, c)
					if (err == nil) != home || !home && (!fault.Is(err, fault.Forbidden) || !strings.Contains(fault.As(err).Msg, "The service key is not accepted from")) {
						k.Errorf("from %q: %v", address, err)
					}
				}
			}
		}
		gone, cancel := context.WithCancel(k.ctx)
		cancel()
		if k.svc.WriteKeyUses(gone) == nil {
			k.Error("written to a database that was not there")
		}
		for range 2 {
			k.ok(k.svc.WriteKeyUses(k.ctx))
		}
		const refused = "SELECT COUNT(*) FROM audit WHERE action = 'api_key.used' AND outcome = 'refused'"
		if n := k.count(refused); n != 8 { // two keys from four addresses
			k.Errorf("%d rows, want 8", n)
		}
		if n := k.count(refused+" AND key_id = 'configured' AND address = $1 AND details LIKE '%\"requests\":2%'", "198.51.100.7"); n != 1 {
			k.Errorf("%d rows of the configured key", n)
		}
	})
}

// However many addresses and routes there are, what waits in memory is bounded, and
// no use is lost.
func TestKeyUse_bounded(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.SecretKey = "sb_secret_configured-by-the-operator-0123456789" }, func(k *kit) {
		for i := range 5000 {
			k.svc.KeyUsed(identity.KeyUse{Key: "configured", Address: fmt.Sprint("10.0.", i/250, ".", i%250), Method: "GET", Route: "/rest/v1/{name}"}, "")
		}
		for _, other := range []string{"configured:publishable", "jwt:anon", "scim:x", ""} {
			k.svc.KeyUsed(identity.KeyUse{Key: other, Method: "GET", Route: "/"}, "")
		}
		k.ok(k.svc.WriteKeyUses(k.ctx))
		if n := k.count("SELECT COUNT(*) FROM audit WHERE action = 'api_key.used'"); n != 4097 {
			k.Errorf("%d rows", n)
		}
		if n := k.count("SELECT COUNT(*) FROM audit WHERE action = 'api_key.used' AND address IS NULL AND details LIKE '%\"requests\":904%'"); n != 1 {
			k.Errorf("%d rows of all others", n)
		}
	})
}
