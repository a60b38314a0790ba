package identity_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/mail"
)

// From elsewhere a service key is refused in all its forms, with a sentence, and the
// attempts are in the audit log; each row is written once, and waits for a database
// that takes it.
func TestKeyUse_elsewhere(t *testing.T) {
	fixed := "sb_secret_configured-by-the-operator-0123456789"
	onBoth(t, func(c *identity.Config) {
		c.SecretKey, c.ServiceAddresses = fixed, []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"),
			netip.MustParsePrefix("2001:db8::/32")}
	}, func(k *kit) {
		keys, err := k.svc.Keyring.Keys(k.ctx)
		k.ok(err)
		for _, key := range []string{keys.ServiceRoleKey, fixed} {
			for address, home := range map[string]bool{"203.0.113.9": true, "::ffff:203.0.113.9": true,
				"2001:db8::7%eth0": true, "198.51.100.7": false,
				"2001:db9::7": false, "": false, "nonsense": false} {
				for _, c := range []identity.Credential{{Bearer: key, Address: address}, {APIKey: key, Address: address}} {
					_, err := k.svc.Authenticator.Authenticate(k.ctx, c)
					if (err == nil) != home || !home && (!fault.Is(err, fault.Forbidden) ||
						!strings.Contains(fault.As(err).Msg, "The service key is not accepted from")) {
						k.Errorf("from %q: %v", address, err)
					}
				}
			}
		}
		if _, err := k.svc.Authenticator.Authenticate(k.ctx, identity.Credential{Bearer: fixed, Address: "198.51.100.7",
			Origin: "https://app.example"}); !fault.Is(err,
			fault.Unauthorized) {
			k.Errorf("in a browser: %v", err)
		}
		gone, cancel := context.WithCancel(k.ctx)
		cancel()
		if k.svc.Keyring.WriteKeyUses(gone) == nil {
			k.Error("written to a database that was not there")
		}
		for range 2 {
			k.ok(k.svc.Keyring.WriteKeyUses(k.ctx))
		}
		const refused = "SELECT COUNT(*) FROM audit WHERE action = 'api_key.used' AND outcome = 'refused'"
		if n := k.count(refused); n != 9 { // two keys from four addresses, and one in a browser
			k.Errorf("%d rows, want 9", n)
		}
		for reason, times := range map[string]string{"address": "2", "browser": "1"} {
			of := " AND key_id = 'configured' AND address = $1 AND details LIKE '%\"reason\":\"" + reason + "\"%' AND details LIKE '%\"requests\":" + times + ",%'"
			if n := k.count(refused+of, "198.51.100.7"); n != 1 {
				k.Errorf("%d rows of the configured key%s", n, of)
			}
		}
	})
}

// However many addresses and routes there are, a key fills the audit log with some
// hundred rows at once, an IPv6 network counts as one address, one key takes nothing
// of another's, and no use is lost.
func TestKeyUse_bounded(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.SecretKey = "sb_secret_configured-by-the-operator-0123456789" }, func(k *kit) {
		use := func(key, address string) {
			k.svc.Keyring.KeyUsed(identity.KeyUse{Key: key, Address: address, Method: "GET", Route: "/rest/v1/{name}"}, "")
		}
		for i := range 5000 {
			use("jwt:service_role", fmt.Sprintf("2001:db8::%x", i+1))
		}
		for i := range 5000 {
			use("configured", fmt.Sprint("10.0.", i/250, ".", i%250))
		}
		use("jwt:service_role", "10.0.0.1")
		for _, other := range []string{"configured:publishable", "jwt:anon", "scim:x", ""} {
			k.svc.Keyring.KeyUsed(identity.KeyUse{Key: other, Method: "GET", Route: "/"}, "")
		}
		gone, cancel := context.WithCancel(k.ctx)
		cancel()
		if k.svc.Keyring.WriteKeyUses(gone) == nil {
			k.Error("written to a database that was not there")
		}
		k.ok(k.svc.Keyring.WriteKeyUses(k.ctx))
		for of, want := range map[string]int{
			"": 259,
			" AND key_id = 'configured' AND address IS NULL AND details LIKE '%\"requests\":4744%'":                                  1,
			" AND key_id = 'configured' AND details LIKE '%\"requests\":1,%' AND details NOT LIKE '%network%'":                       256,
			" AND address = '2001:db8::1' AND details LIKE '%\"network\":\"2001:db8::/64\"%' AND details LIKE '%\"requests\":5000%'": 1,
			" AND key_id = 'jwt:service_role' AND address = '10.0.0.1'":                                                              1,
		} {
			if n := k.count("SELECT COUNT(*) FROM audit WHERE action = 'api_key.used'" + of); n != want {
				k.Errorf("%d rows%s, want %d", n, of, want)
			}
		}
	})
}

// A stop leaves its time to the mails: they are waited for before the rows are
// written, which have a time of their own, so that neither is lost for the other.
func TestKeyUse_stop(t *testing.T) {
	const rows = "SELECT COUNT(*) FROM audit WHERE action = 'api_key.used'"
	onBoth(t, func(c *identity.Config) { c.SecretKey = "sb_secret_configured-by-the-operator-0123456789" }, func(k *kit) {
		k.signUp("a@x.example", nil)
		k.svc.Keyring.KeyUsed(identity.KeyUse{Key: "configured", Method: "GET", Route: "/"}, "")
		sent, ready := make(chan int, 1), make(chan bool)
		close(ready)
		k.delayMails(func(mail.Message) <-chan bool {
			for i := range 600 { // until the stop waits for this mail
				if fault.Is(k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: fmt.Sprintf("nobody-%d@x.example", i)},
					identity.Client{}), fault.Unavailable) {
					sent <- k.count(rows)
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
			return ready
		})
		k.ok(k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: "a@x.example"}, identity.Client{}))
		k.ok(k.svc.Close(k.ctx))
		if before, after := <-sent, k.count(rows); before != 0 || after != 1 {
			k.Errorf("%d rows while the mail was waited for, %d after it", before, after)
		}
		k.start()
		k.svc.Keyring.KeyUsed(identity.KeyUse{Key: "configured", Method: "GET", Route: "/"}, "")
		spent, cancel := context.WithCancel(k.ctx)
		cancel()
		for i := 0; i < 15 && k.count(rows) != 2; i++ { // a slow database may need longer than it is given
			_ = k.svc.Close(spent) // which may say so of mails
		}
		if n := k.count(rows); n != 2 {
			k.Errorf("%d rows after mails took all the time, want 2", n)
		}
		k.start()
	})
}
