package identity_test

import (
	"testing"
	"time"

	"holdfast/internal/identity"
)

// data.tenant_id opens a tenant that is open to all, whichever way its account
// came in and was first proved; what a stranger wished for the account does not.
func TestWish_everyWay(t *testing.T) {
	const number, other = "491712345678", "491719999999"
	yes, password := "a@x.example", pw
	for name, tt := range map[string]struct {
		enter func(k *kit, sent texts, wish map[string]any) *identity.Session
		in    bool
	}{
		"a text of the sign-up": {func(k *kit, sent texts, wish map[string]any) *identity.Session {
			_, _, err := k.svc.SignUps.SignUpPhone(k.ctx, identity.PhoneSignUp{Phone: number, Password: pw, Data: wish}, nobody)
			k.ok(err)
			return k.byText(number, sent)
		}, true},
		"a text that makes the account": {func(k *kit, sent texts, wish map[string]any) *identity.Session {
			_, err := k.svc.OTP.OTPPhone(k.ctx, identity.PhoneRequest{Phone: number, Create: true, Data: wish}, nobody)
			k.ok(err)
			return k.byText(number, sent)
		}, true},
		"a text to an account of a stranger's": {func(k *kit, sent texts, wish map[string]any) *identity.Session {
			_, _, err := k.svc.SignUps.SignUpPhone(k.ctx, identity.PhoneSignUp{Phone: number, Password: pw, Data: wish}, nobody)
			k.ok(err)
			sent.codeTo(k, number)
			k.sleep(2 * time.Minute)
			_, err = k.svc.OTP.OTPPhone(k.ctx, identity.PhoneRequest{Phone: number, Create: true}, nobody)
			k.ok(err)
			return k.byText(number, sent)
		}, false},
		"nobody, who names himself by mail": {func(k *kit, _ texts, wish map[string]any) *identity.Session {
			s, err := k.svc.SignUps.SignUpAnonymous(k.ctx, wish, nobody)
			k.ok(err)
			_, err = k.svc.Profile.UpdateUser(k.ctx, k.actor(s), identity.Update{Email: yes})
			k.ok(err)
			m := k.mailTo(yes, "email_change_new")
			s, err = k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "email_change", Email: yes, Token: digitsIn(k, m)},
				nobody)
			k.ok(err)
			return s
		}, true},
		"nobody, who names himself by text": {func(k *kit, sent texts, wish map[string]any) *identity.Session {
			s, err := k.svc.SignUps.SignUpAnonymous(k.ctx, wish, nobody)
			k.ok(err)
			_, err = k.svc.Profile.UpdateUser(k.ctx, k.actor(s), identity.Update{Phone: number})
			k.ok(err)
			s, err = k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "phone_change", Phone: number,
				Token: sent.codeTo(k, number)}, nobody)
			k.ok(err)
			return s
		}, true},
		"the service key, with an address": {func(k *kit, _ texts, wish map[string]any) *identity.Session {
			_, err := k.svc.Admin.CreateUser(k.ctx, k.service(),
				identity.AdminUser{Email: &yes, Password: &password, EmailConfirm: true, UserMetadata: wish})
			k.ok(err)
			return k.signIn(yes)
		}, true},
		"the service key, with a number": {func(k *kit, _ texts, wish map[string]any) *identity.Session {
			phone := number
			_, err := k.svc.Admin.CreateUser(k.ctx, k.service(),
				identity.AdminUser{Phone: &phone, Password: &password, PhoneConfirm: true, UserMetadata: wish})
			k.ok(err)
			s, err := k.svc.SignIns.SignInPhone(k.ctx, number, pw, nobody)
			k.ok(err)
			return s
		}, true},
		"a second contact": {func(k *kit, sent texts, wish map[string]any) *identity.Session {
			_, err := k.svc.Admin.CreateUser(k.ctx, k.service(),
				identity.AdminUser{Email: &yes, Password: &password, EmailConfirm: true})
			k.ok(err)
			s := k.signIn(yes)
			k.exec("UPDATE users SET user_metadata = $1", `{"tenant_id":"`+wish["tenant_id"].(string)+`"}`)
			_, err = k.svc.Profile.UpdateUser(k.ctx, k.actor(s), identity.Update{Phone: other})
			k.ok(err)
			s, err = k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "phone_change", Phone: other,
				Token: sent.codeTo(k, other)}, nobody)
			k.ok(err)
			return s
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(c *identity.Config) {
				c.Autoconfirm, c.AnonymousUsers, c.Phone, c.SMS = false, true, true, texts{make(chan [2]string, 10)}
			}, func(k *kit) {
				ten := k.tenant("North")
				k.exec("UPDATE tenants SET join_policy = 'open' WHERE id = $1", ten)
				s := tt.enter(k, k.cfg.SMS.(texts), map[string]any{"tenant_id": ten})
				if got := tenantOf(k, s); (got == ten) != tt.in || got != "" && got != ten {
					k.Errorf("in tenant %q", got)
				}
			})
		})
	}
}

// byText signs in with the code texted last.
func (k *kit) byText(number string, sent texts) *identity.Session {
	k.Helper()
	s, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "sms", Phone: number, Token: sent.codeTo(k, number)},
		nobody)
	k.ok(err)
	return s
}

// A provider's proved address names an account as well; a domain lets in who has
// proved an address of it, not who has proved a number.
func TestWish_provedAddress(t *testing.T) {
	withIDP(t, linking, func(k *kit, p *idp) {
		ten := k.tenant("North")
		k.exec(`UPDATE tenants SET join_policy = 'domain', email_domains = '["corp.example"]' WHERE id = $1`, ten)
		wish := map[string]any{"tenant_id": ten}
		s, err := k.svc.SignUps.SignUpAnonymous(k.ctx, wish, nobody)
		k.ok(err)
		_, err = k.svc.OAuth.LinkIDToken(k.ctx, k.actor(s), identity.IDToken{Provider: "corp", Token: p.idToken(k, nil)},
			nobody)
		k.ok(err)
		if got := tenantOf(k, k.refresh(s)); got != ten {
			k.Errorf("in tenant %q", got)
		}
		email, number := "b@corp.example", "491712345678"
		_, err = k.svc.Admin.CreateUser(k.ctx, k.service(),
			identity.AdminUser{Email: &email, Phone: &number, PhoneConfirm: true, UserMetadata: wish})
		k.ok(err)
		if n := k.count("SELECT COUNT(*) FROM members WHERE tenant_id = $1", ten); n != 1 {
			k.Error("an unproved address of the domain joined")
		}
	})
}
