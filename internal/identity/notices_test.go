package identity_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/identity"
)

// A notice says what was changed in the language of its reader, in our words
// and in those of the tenant.
func TestNotices_language(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		tenant := k.tenant("Nord")
		owner, heir := k.member(tenant, "owner@x.example", actor.Owner), k.member(tenant, "erbe@x.example", actor.Viewer)
		_, err := k.svc.Profile.UpdateUser(k.ctx, k.actor(heir), identity.Update{Data: map[string]any{"locale": "de"}})
		k.ok(err)
		said := func(address, what string) {
			k.Helper()
			if m := k.mailTo(address, "protection_changed"); !strings.Contains(m.Text, what) || !strings.Contains(m.HTML, what) {
				k.Errorf("%q is missing in %q", what, m.Text)
			}
		}
		d, p := k.passkeyOf(heir)
		said("erbe@x.example", "In Ihrem Konto wurde geändert: ein Passkey wurde hinzugefügt.")
		up, err := k.signInWith(d, site)
		k.ok(err)
		k.ok(k.svc.Passkeys.RemovePasskey(k.ctx, k.actor(up), p.ID))
		said("erbe@x.example", "ein Passkey wurde entfernt")
		k.ok(k.svc.Profile.TransferOwnership(k.ctx, k.actor(owner),
			identity.Transfer{UserID: heir.User.ID, CurrentPassword: pw}))
		said("owner@x.example", "This was changed in your account: you handed the tenant on to erbe@x.example.")
		said("erbe@x.example", "owner@x.example hat Sie zum Inhaber des Mandanten gemacht")

		k.exec("INSERT INTO mail_templates (tenant_id, id, kind, locale, subject, text, html, created_at, updated_at, version) VALUES ($1, $2, "+
			"'protection_changed', 'de', 'Hinweis', 'Neu: {{.Other}}', '<p>Neu: {{.Other}}</p>', $3, $3, 1)",
			tenant, "01a1fdd3-49a8-71f7-afb0-243f4650b256", time.Now())
		k.passkeyOf(k.signIn("erbe@x.example"))
		said("erbe@x.example", "Neu: ein Passkey wurde hinzugefügt")
	})
}

// The mail that gives an account its first address names no other.
func TestEmailChange_firstAddress(t *testing.T) {
	anonymous := func(c *identity.Config) { c.AnonymousUsers, c.Autoconfirm = true, false }
	onBoth(t, anonymous, func(k *kit) {
		for locale, want := range map[string]string{"en": "An account that has no address yet is to use this one.",
			"de": "Ein Konto, das noch keine Adresse hat, soll diese verwenden."} {
			s, err := k.svc.SignUps.SignUpAnonymous(k.ctx, map[string]any{"locale": locale}, nobody)
			k.ok(err)
			address := locale + "@x.example"
			_, err = k.svc.Profile.UpdateUser(k.ctx, k.actor(s), identity.Update{Email: address})
			k.ok(err)
			if m := k.mailTo(address, "email_change_new"); !strings.Contains(m.Text, want) || !strings.Contains(m.HTML, want) {
				k.Errorf("%s: %s", locale, m.Text)
			}
		}
	})
}
