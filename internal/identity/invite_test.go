package identity_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/tenants"
)

// inviteLink invites an address and returns the token of the link, "" where the
// link only leads to the site.
func (k *kit) inviteLink(by actor.Actor, email string) string {
	k.Helper()
	inv, err := k.svc.Invitations.Invite(k.ctx, by, identity.Invite{Email: email, Role: actor.Driver,
		Deliver: tenants.DeliverLink})
	k.ok(err)
	u, err := url.Parse(inv.Link)
	k.ok(err)
	if token := u.Query().Get("token"); token != "" {
		return token
	}
	if !strings.HasPrefix(inv.Link, k.cfg.SiteURL+"?invite_token=") {
		k.Errorf("a link to %s", inv.Link)
	}
	return ""
}

func (k *kit) redeem(token string) (*identity.Session, error) {
	return k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "invite", TokenHash: token}, identity.Client{})
}

// A link that goes from hand to hand opens the account of the address it was
// made for, once, and only while its invitation stands.
func TestInvite_link(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.Autoconfirm, c.InviteLinksAny = false, true }, func(k *kit) {
		north := k.tenant("North")
		adminSession := k.member(north, "admin@x.example", actor.Admin)
		admin := k.actor(adminSession)
		for who, in := range map[string]identity.Invite{
			"a role above":     {Email: "a@x.example", Role: actor.Owner, Deliver: "link"},
			"no such role":     {Email: "a@x.example", Role: "king", Deliver: "link"},
			"no such delivery": {Email: "a@x.example", Role: actor.Viewer, Deliver: "pigeon"},
		} {
			if inv, err := k.svc.Invitations.Invite(k.ctx, admin, in); err == nil || inv.Link != "" {
				k.Errorf("%s: %+v", who, inv)
			}
		}
		_, err := k.svc.Invitations.Invite(k.ctx, k.actor(k.member(north, "m@x.example", actor.Manager)),
			identity.Invite{Email: "a@x.example", Role: actor.Viewer, Deliver: "link"})
		k.code(err, "not_admin")

		token := k.inviteLink(admin, "new@else.example")
		if k.count("SELECT COUNT(*) FROM invitations WHERE token_hash = $1", token) != 0 {
			k.Error("the token rests in clear")
		}
		s, err := k.redeem(token)
		k.ok(err)
		if s.User.Email != "new@else.example" || claims(k, s.AccessToken)["tenant_role"] != "driver" ||
			tenantOf(k, s) != north {
			k.Errorf("%+v", claims(k, s.AccessToken))
		}
		_, err = k.redeem(token)
		k.code(err, "otp_expired")
		if k.mailsTo("new@else.example") != 0 {
			k.Error("mailed although it is handed over")
		}
		if n := k.count("SELECT COUNT(*) FROM audit WHERE tenant_id = $1 AND action = 'member.invited' AND CAST(details AS text) LIKE '%link%'", north); n != 1 {
			k.Errorf("%d rows of the invitation", n)
		}

		// Of two links the later one opens; what is revoked, or was of a tenant
		// that is closed, or is too old, opens nothing and makes no member.
		first := k.inviteLink(admin, "twice@else.example")
		second := k.inviteLink(admin, "twice@else.example")
		_, err = k.redeem(first)
		k.code(err, "otp_expired")
		_, err = k.redeem(second)
		k.ok(err)
		revoked := k.inviteLink(admin, "revoked@else.example")
		k.exec("UPDATE invitations SET status = 'revoked' WHERE email = 'revoked@else.example'")
		_, err = k.redeem(revoked)
		k.code(err, "otp_expired")
		suspended := k.inviteLink(admin, "suspended@else.example")
		k.exec("UPDATE tenants SET status = 'suspended' WHERE id = $1", north)
		_, err = k.redeem(suspended)
		k.code(err, "otp_expired")
		k.svc.ForgetTenant(north)
		_, err = k.svc.Invitations.Invite(k.ctx, k.actor(adminSession),
			identity.Invite{Email: "x@else.example", Role: actor.Driver, Deliver: "link"})
		k.code(err, "not_admin")
		k.exec("UPDATE tenants SET status = 'active' WHERE id = $1", north)
		old := k.inviteLink(admin, "old@else.example")
		k.sleep(168 * time.Hour)
		_, err = k.redeem(old)
		k.code(err, "otp_expired")
		if n := k.count("SELECT COUNT(*) FROM members WHERE email LIKE '%@else.example'"); n != 2 {
			k.Errorf("%d members", n)
		}
	})
}

// A link is no key to an account that is in use, whosever it is, and no member
// joins with another address than the invited one.
func TestInvite_linkWrongAccount(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.Autoconfirm, c.InviteLinksAny = false, true }, func(k *kit) {
		north, south := k.tenant("North"), k.tenant("South")
		admin := k.actor(k.member(north, "admin@x.example", actor.Admin))
		k.member(south, "holder@x.example", actor.Owner)
		if token := k.inviteLink(admin, "holder@x.example"); token != "" {
			k.Error("a key to the account of another tenant's owner")
		}
		if s := k.signIn("holder@x.example"); k.count("SELECT COUNT(*) FROM members WHERE tenant_id = $1 AND user_id = $2",
			north, s.User.ID) != 0 ||
			tenantOf(k, s) != south {
			k.Error("the holder was moved by a stranger's invitation")
		}

		// Somebody signed up with the address and waits for its owner to open a
		// link: his password is gone when the owner does.
		_, _, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: "squat@x.example", Password: pw,
			Data: map[string]any{"tenant_id": south}}, identity.Client{})
		k.ok(err)
		k.exec("UPDATE tenants SET join_policy = 'open' WHERE id = $1", south)
		token := k.inviteLink(admin, "squat@x.example")
		other := k.member(south, "other@x.example", actor.Viewer)
		s, err := k.redeem(token)
		k.ok(err)
		if s.User.Email != "squat@x.example" || s.User.ID == other.User.ID {
			k.Errorf("%+v", s.User)
		}
		_, err = k.svc.SignIns.SignIn(k.ctx, "squat@x.example", pw, identity.Client{})
		k.code(err, "invalid_credentials")
		if n := k.count("SELECT COUNT(*) FROM members WHERE tenant_id = $1 AND user_id = $2", south, s.User.ID); n != 0 {
			k.Error("who signed up with the address chose the owner's tenant")
		}
		if k.count("SELECT COUNT(*) FROM members WHERE tenant_id = $1 AND user_id = $2", north, other.User.ID) != 0 {
			k.Error("another account joined")
		}
	})
}

// Without the operator's word an administrator vouches for addresses of his
// tenant's domains only: a confirmed address opens doors of other tenants.
func TestInvite_linkVouches(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.Autoconfirm = false }, func(k *kit) {
		north := k.tenant("North")
		admin := k.actor(k.member(north, "admin@x.example", actor.Admin))
		before := k.count("SELECT COUNT(*) FROM users")
		for _, email := range []string{"stranger@elsewhere.example", "admin@x.example"} {
			if k.inviteLink(admin, email) != "" {
				k.Errorf("vouched for %s", email)
			}
		}
		if k.count("SELECT COUNT(*) FROM users") != before {
			k.Error("an account nobody proved")
		}
		k.exec(`UPDATE tenants SET email_domains = '["north.example"]' WHERE id = $1`, north)
		if _, err := k.redeem(k.inviteLink(admin, "new@north.example")); err != nil {
			k.Error(err)
		}
		if token := k.inviteLink(admin, "new@elsewhere.example"); token != "" {
			k.Error("vouched for a domain of nobody's")
		}
		inv, err := k.svc.Invitations.Invite(k.ctx, admin, identity.Invite{Email: "x", Role: actor.Driver, Deliver: "link"})
		if !fault.Is(err, fault.Invalid) || strings.Contains(inv.Link, "token") {
			k.Errorf("%+v %v", inv, err)
		}
	})
}
