package identity_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/store"
)

const someTenant = "0192f0c0-1111-7000-8000-0000000000aa"

// tenantOf is the tenant claim of a session's token.
func tenantOf(t testing.TB, s *identity.Session) string {
	t.Helper()
	id, _ := claims(t, s.AccessToken)["tenant_id"].(string)
	return id
}

func TestSignUp_claimsUnknownTenant(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		owner := k.signUp("owner@x.example", map[string]any{"tenant_id": strings.ToUpper(someTenant)})
		c := claims(k, owner.AccessToken)
		if c["tenant_id"] != someTenant || c["tenant_role"] != "owner" {
			k.Fatalf("claims %v", c)
		}
		if a := k.actor(owner); a.Role != actor.Owner || a.TenantID != someTenant || a.Plan != "standard" {
			k.Errorf("actor %+v", a)
		}
		if m := owner.User.AppMetadata; m["tenant_id"] != someTenant || m["tenant_role"] != "owner" {
			k.Errorf("app_metadata %v", m)
		}
		second := k.signUp("second@x.example", map[string]any{"tenant_id": someTenant})
		if c := claims(k, second.AccessToken); c["tenant_role"] != "viewer" {
			k.Errorf("nobody becomes administrator by joining: %v", c["tenant_role"])
		}
		for _, bad := range noTenants {
			in := identity.SignUp{Email: "refused@x.example", Password: pw, Data: map[string]any{"tenant_id": bad}}
			_, _, err := k.svc.SignUps.SignUp(k.ctx, in, nobody)
			k.refusesTenant(err, bad)
			k.refusesTenant(k.svc.OTP.OTP(k.ctx, identity.MailRequest{Email: in.Email, Data: in.Data, Create: true}, nobody),
				bad)
			_, err = k.svc.Admin.CreateUser(k.ctx, k.service(), identity.AdminUser{Email: &in.Email, UserMetadata: in.Data})
			k.refusesTenant(err, bad)
		}
	})
}

// With the plain server's setting a wish opens nothing, whether or
// not the tenant exists.
func TestSignUp_wishAloneOpensNothing(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.SignupTenants = accounts.TenantsInvite }, func(k *kit) {
		invite := k.tenant("Invite Only")
		closed := k.tenant("Closed")
		domain, domainID := k.tenant("Other Domain"), k.tenant("Domain")
		k.exec("UPDATE tenants SET status = 'closed', join_policy = 'open' WHERE id = $1", closed)
		k.exec(`UPDATE tenants SET join_policy = 'domain', email_domains = '["other.example"]' WHERE id = $1`, domain)
		k.exec(`UPDATE tenants SET join_policy = 'domain', email_domains = '["x.example"]' WHERE id = $1`, domainID)
		for i, id := range []string{invite, closed, domain, someTenant} {
			s := k.signUp("u"+string(rune('a'+i))+"@x.example", map[string]any{"tenant_id": id})
			if tenantOf(k, s) != "" {
				k.Errorf("tenant %d opened", i)
			}
			if a := k.actor(s); a.TenantID != "" || a.Role != "" {
				k.Errorf("actor %+v", a)
			}
		}
		if n := k.count("SELECT COUNT(*) FROM members"); n != 0 {
			k.Errorf("%d memberships", n)
		}
		if s := k.signUp("d@x.example", map[string]any{"tenant_id": domainID}); tenantOf(k, s) != domainID {
			k.Error("the tenant's own domain does not join")
		}
	})
}

// Two sign-ups claim one tenant at once: one owner.
// A domain lets in once it is proved: one that is merely claimed is anybody's.
func TestSignUp_provedDomain(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		tenant := k.tenant("North")
		k.exec("UPDATE tenants SET join_policy = 'domain' WHERE id = $1", tenant)
		k.exec("INSERT INTO sso_domains (id, domain, tenant_id, connection_id, token, code_attempts, created_at) VALUES ($1, 'x.example', $2, $1, 't', 0, "+
			"$3)", uuid.NewString(), tenant, k.now())
		if s := k.signUp("a@x.example", map[string]any{"tenant_id": tenant}); claims(k, s.AccessToken)["tenant_id"] != nil {
			k.Error("a claimed domain let somebody in")
		}
		k.exec("UPDATE sso_domains SET verified_at = $1", k.now())
		if s := k.signUp("b@X.example", map[string]any{"tenant_id": tenant}); claims(k,
			s.AccessToken)["tenant_role"] != "viewer" {
			k.Error("a proved domain let nobody in")
		}
		if s := k.signUp("c@sub.x.example", map[string]any{"tenant_id": tenant}); claims(k,
			s.AccessToken)["tenant_id"] != nil {
			k.Error("another domain let somebody in")
		}
	})
}

// An owner hands the tenant on to a member, having shown again who he is; both
// sessions know at once, and there is always an owner.
func TestTransferOwnership(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		tenant := k.tenant("North")
		owner, heir := k.member(tenant, "owner@x.example", actor.Owner), k.member(tenant, "heir@x.example", actor.Viewer)
		admin, stranger := k.member(tenant, "admin@x.example", actor.Admin),
			k.member(k.tenant("South"), "s@x.example", actor.Owner)
		give := func(by *identity.Session, to, password, nonce string) error {
			return k.svc.Profile.TransferOwnership(k.ctx, k.actor(by),
				identity.Transfer{UserID: to, CurrentPassword: password, Nonce: nonce})
		}
		k.code(give(admin, heir.User.ID, pw, ""), "not_admin")
		k.code(give(owner, heir.User.ID, "", ""), "reauthentication_needed")
		k.code(give(owner, heir.User.ID, "not the password", ""), "current_password_invalid")
		k.code(give(owner, heir.User.ID, "", "000000"), "reauthentication_not_valid")
		k.code(give(owner, stranger.User.ID, pw, ""), "user_not_found")
		k.code(give(owner, owner.User.ID, pw, ""), "validation_failed")
		k.code(give(owner, "x", pw, ""), "validation_failed")
		k.exec("UPDATE tenants SET status = 'suspended' WHERE id = $1", tenant)
		k.svc.ForgetAll()
		k.code(give(owner, heir.User.ID, pw, ""), "not_admin")
		k.exec("UPDATE tenants SET status = 'active' WHERE id = $1", tenant)
		k.svc.ForgetAll()
		if r := k.actor(owner).Role; r != actor.Owner {
			k.Fatalf("a refused transfer changed the owner to %s", r)
		}
		k.ok(give(owner, heir.User.ID, pw, ""))
		if was, is := k.actor(owner).Role, k.actor(heir).Role; was != actor.Admin || is != actor.Owner {
			k.Errorf("%s, %s", was, is)
		}
		k.code(give(owner, admin.User.ID, pw, ""), "not_admin")
		if n := k.count("SELECT COUNT(*) FROM audit WHERE tenant_id = $1 AND action = 'tenant.ownership_transferred' AND actor_user_id = $2 AND entity_id "+
			"= $3", tenant, owner.User.ID, heir.User.ID); n != 1 {
			k.Errorf("%d audit rows", n)
		}
		// Back by the mailed code, which is good once.
		k.ok(k.svc.OTP.Reauthenticate(k.ctx, k.actor(heir)))
		nonce := digitsIn(k, k.mailTo("heir@x.example", "reauthentication"))
		k.code(give(heir, stranger.User.ID, "", nonce), "user_not_found")
		k.ok(give(heir, owner.User.ID, "", nonce))
		k.code(give(owner, heir.User.ID, "", nonce), "reauthentication_not_valid")

		// Two at once: one owner in the end.
		var wg sync.WaitGroup
		for _, to := range []string{heir.User.ID, admin.User.ID} {
			by := k.actor(owner)
			wg.Go(func() {
				k.svc.Profile.TransferOwnership(k.ctx, by, identity.Transfer{UserID: to, CurrentPassword: pw})
			})
		}
		wg.Wait()
		if n := k.count("SELECT COUNT(*) FROM members WHERE tenant_id = $1 AND role = 'owner' AND status = 'active'",
			tenant); n != 1 {
			k.Errorf("%d owners", n)
		}
	})
}

func TestSignUp_claimRace(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		var wg sync.WaitGroup
		for _, n := range []string{"a", "b", "c"} {
			wg.Go(func() {
				_, _, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: n + "@x.example", Password: pw,
					Data: map[string]any{"tenant_id": someTenant}},
					identity.Client{})
				if err != nil {
					k.Error(err)
				}
			})
		}
		wg.Wait()
		if n := k.count("SELECT COUNT(*) FROM members WHERE role = 'owner'"); n != 1 {
			k.Errorf("%d owners", n)
		}
	})
}

// noTenants are values of tenant_id that can be no tenant's.
var noTenants = []any{"north", "", "{" + someTenant + "}", "urn:uuid:" + someTenant, " " + someTenant,
	[]any{someTenant},
	map[string]any{"id": someTenant}, 7, true, "00000000-0000-0000-0000-000000000000"}

// refusesTenant expects err to name data.tenant_id.
func (k *kit) refusesTenant(err error, value any) {
	k.Helper()
	f := fault.As(err)
	if f == nil || f.Kind != fault.Invalid || f.Code != "validation_failed" || len(f.Fields) != 1 ||
		f.Fields[0].Name != "data.tenant_id" {
		k.Errorf("tenant_id %v: %v", value, err)
	}
}

// A session moves to tenants its user is an active member of, and to no other.
func TestSwitch(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		ta, tb, foreign := k.tenant("TA"), k.tenant("TB"), k.tenant("TC")
		k.member(ta, "both@x.example", actor.Operator)
		_, err := k.svc.Admin.AddMember(k.ctx, tb, "both@x.example", actor.Admin)
		k.ok(err)
		s := k.signIn("both@x.example")
		if tenantOf(k, s) != ta {
			k.Error("does not begin in the tenant used last")
		}
		a := k.actor(s)
		u, err := k.svc.Profile.UpdateUser(k.ctx, a, identity.Update{Data: map[string]any{"tenant_id": ta, "theme": "dark"}})
		k.ok(err)
		if u.UserMetadata["tenant_id"] != ta || u.AppMetadata["tenant_id"] != ta ||
			u.AppMetadata["tenant_role"] != "operator" {
			k.Errorf("%v %v", u.UserMetadata, u.AppMetadata)
		}
		inA := k.refresh(s)
		if tenantOf(k, inA) != ta {
			k.Fatal("the next refresh does not mint the claim")
		}
		inB, err := k.svc.Sessions.SwitchTenant(k.ctx, a, tb)
		k.ok(err)
		if tenantOf(k, inB) != tb || claims(k, inB.AccessToken)["tenant_role"] != "admin" {
			k.Error(claims(k, inB.AccessToken))
		}
		// An old token keeps meaning the tenant it was minted for.
		if x := k.actor(inA); x.TenantID != ta || x.Role != actor.Operator {
			k.Errorf("old token: %+v", x)
		}
		if x := k.actor(inB); x.TenantID != tb || x.Role != actor.Admin {
			k.Errorf("new token: %+v", x)
		}
		k.exec("UPDATE tenants SET status = 'suspended' WHERE id = $1", ta)
		for _, id := range []string{foreign, someTenant, ta} {
			_, err := k.svc.Profile.UpdateUser(k.ctx, a, identity.Update{Data: map[string]any{"tenant_id": id,
				"theme": "light"}})
			f := fault.As(err)
			if f == nil || f.Kind != fault.Forbidden || f.Msg != "You are not an active member of this tenant" {
				k.Errorf("%v", err)
			}
			_, err = k.svc.Sessions.SwitchTenant(k.ctx, a, id)
			k.code(err, "tenant_forbidden")
		}
		u, err = k.svc.Profile.User(k.ctx, k.actor(inB))
		k.ok(err)
		if u.UserMetadata["theme"] != "dark" || u.UserMetadata["tenant_id"] != ta || u.AppMetadata["tenant_id"] != tb {
			k.Errorf("something changed: %v %v", u.UserMetadata, u.AppMetadata)
		}
		if n := k.count("SELECT COUNT(*) FROM audit WHERE action = 'tenant.switch_denied'"); n != 6 {
			k.Errorf("%d denials in the audit log", n)
		}
		for _, bad := range noTenants {
			_, err = k.svc.Profile.UpdateUser(k.ctx, a, identity.Update{Data: map[string]any{"tenant_id": bad,
				"theme": "light"}})
			k.refusesTenant(err, bad)
		}
		u, err = k.svc.Profile.UpdateUser(k.ctx, k.actor(inB), identity.Update{Data: map[string]any{"tenant_id": nil}})
		k.ok(err)
		if _, kept := u.UserMetadata["tenant_id"]; kept || u.UserMetadata["theme"] != "dark" ||
			u.AppMetadata["tenant_id"] != tb {
			k.Errorf("null takes the member away and nothing else: %v %v", u.UserMetadata, u.AppMetadata)
		}
		// The tenant used last is where the next sign-in starts.
		if s := k.signIn("both@x.example"); tenantOf(k, s) != tb {
			k.Error("last used tenant forgotten")
		}
	})
}

// The membership is asked each time, not the token.
func TestMembership_ends(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		ta, tb := k.tenant("TA"), k.tenant("TB")
		s := k.member(ta, "a@x.example", actor.Admin)
		_, err := k.svc.Admin.AddMember(k.ctx, tb, "a@x.example", actor.Admin)
		k.ok(err)
		if x := k.actor(s); x.TenantID != ta || !x.Administrator() {
			k.Fatalf("%+v", x)
		}
		k.exec("UPDATE members SET role = 'operator' WHERE tenant_id = $1", ta)
		k.sleep(5 * time.Second)
		if x := k.actor(s); x.Role != actor.Operator {
			k.Errorf("lowered role: %+v", x)
		}
		k.exec("DELETE FROM members WHERE tenant_id = $1", ta)
		k.svc.ForgetTenant(ta)
		if x := k.actor(s); x.TenantID != "" || x.Role != "" {
			k.Errorf("removed member: %+v", x)
		}
		// The token of before names no other tenant; the next one does.
		if n := k.refresh(s); tenantOf(k, n) != tb {
			k.Error("a member of a tenant works in none")
		}
		in, err := k.svc.Sessions.SwitchTenant(k.ctx, k.actor(s), tb)
		k.ok(err)
		k.exec("UPDATE tenants SET status = 'suspended' WHERE id = $1", tb)
		k.svc.ForgetTenant(tb)
		if x := k.actor(in); !x.Suspended || x.TenantID != tb {
			k.Errorf("suspended tenant: %+v", x)
		}
		k.exec("UPDATE tenants SET status = 'closed' WHERE id = $1", tb)
		k.svc.ForgetTenant(tb)
		if x := k.actor(in); x.TenantID != "" {
			k.Errorf("closed tenant: %+v", x)
		}
	})
}

func TestInvite(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.Autoconfirm = false }, func(k *kit) {
		ten := k.tenant("North")
		admin := k.actor(k.member(ten, "admin@x.example", actor.Admin))
		viewer := k.actor(k.member(ten, "viewer@x.example", actor.Viewer))
		_, err := k.svc.Invitations.Invite(k.ctx, viewer, identity.Invite{Email: "new@x.example", Role: actor.Viewer})
		k.code(err, "not_admin")
		_, err = k.svc.Invitations.Invite(k.ctx, admin, identity.Invite{Email: "new@x.example", Role: actor.Owner})
		if !fault.Is(err, fault.Forbidden) {
			k.Errorf("an admin makes an owner: %v", err)
		}
		_, err = k.svc.Invitations.Invite(k.ctx, admin, identity.Invite{Email: "new@x.example", Role: "king"})
		k.code(err, "validation_failed")
		_, err = k.svc.Invitations.Invite(k.ctx, admin, identity.Invite{Email: "New@X.example", Role: actor.Manager})
		k.ok(err)
		// Another at once is no way to flood an address; the first one stands.
		_, err = k.svc.Invitations.Invite(k.ctx, admin, identity.Invite{Email: "new@x.example", Role: actor.Viewer})
		k.code(err, "over_email_send_rate_limit")
		st, _ := k.guarded()
		k.code(k.db.Write(k.ctx, db.Scope{Tenant: ten}, func(tx *db.Tx) error {
			_, err := st.In(tx, admin).InsertRows("invitations", []store.Row{{"email": "NEW@x.example", "role": "viewer"}})
			return err
		}), "over_email_send_rate_limit")
		if n := k.count("SELECT COUNT(*) FROM invitations WHERE status = 'pending' AND role = 'manager'"); n != 1 ||
			k.count("SELECT COUNT(*) FROM invitations") != 1 {
			k.Error("the refused invitation changed the first")
		}
		// A stranger gets a link; opening it makes the account and the membership.
		m := k.mailTo("new@x.example", "invite")
		if !strings.Contains(m.Text, "North as manager") {
			k.Error(m.Text)
		}
		s, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "invite", TokenHash: linkIn(k, m).Get("token")},
			identity.Client{})
		k.ok(err)
		if c := claims(k, s.AccessToken); c["tenant_id"] != ten || c["tenant_role"] != "manager" {
			k.Errorf("claims %v", c)
		}
		// An account holder joins when he says so.
		other := "holder@x.example"
		p := pw
		_, err = k.svc.Admin.CreateUser(k.ctx, k.service(),
			identity.AdminUser{Email: &other, Password: &p, EmailConfirm: true})
		k.ok(err)
		_, err = k.svc.Invitations.Invite(k.ctx, admin, identity.Invite{Email: other, Role: actor.Driver})
		k.ok(err)
		k.mailTo(other, "tenant_invite")
		asked := k.signIn(other)
		if tenantOf(k, asked) != "" {
			k.Error("a sign-in accepted for him")
		}
		list, err := k.svc.Invitations.List(k.ctx, k.actor(asked))
		k.ok(err)
		_, err = k.svc.Invitations.Accept(k.ctx, k.actor(asked), list[0].ID)
		k.ok(err)
		if s := k.refresh(asked); claims(k, s.AccessToken)["tenant_role"] != "driver" {
			k.Error("accepted, and no member")
		}
		// An unproved address accepts nothing; an expired offer neither.
		late := "late@x.example"
		_, err = k.svc.Invitations.Invite(k.ctx, admin, identity.Invite{Email: late, Role: actor.Driver})
		k.ok(err)
		k.sleep(169 * time.Hour)
		_, err = k.svc.Admin.CreateUser(k.ctx, k.service(),
			identity.AdminUser{Email: &late, Password: &p, EmailConfirm: true})
		if err != nil && !fault.HasCode(err, "email_exists") {
			k.Fatal(err)
		}
		_, err = k.svc.Admin.CreateAdmin(k.ctx, late, pw, "")
		k.ok(err)
		if s := k.signIn(late); tenantOf(k, s) != "" {
			k.Error("an expired invitation was accepted")
		}
	})
}

// guarded is a store over the kit's database with identity's effects.
func (k *kit) guarded() (*store.Store, *catalog.Resource) {
	c := catalog.Default()
	r, _ := c.Get("members")
	return store.New(k.db, c, store.Effects{
		Before: map[string]store.Effect{"invitations": k.svc.Invitations.PrepareInvitations},
		After: map[string]store.Effect{"members": k.svc.Tenants.GuardMembers,
			"invitations": k.svc.Invitations.MailInvitations,
			"tenants":     k.svc.Tenants.WatchTenants},
	}, k.now), r
}

func TestGuardMembers(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		ten := k.tenant("North")
		k.setting(ten, "mfa_required", `"none"`)
		ownerS := k.member(ten, "owner@x.example", actor.Owner)
		adminS := k.member(ten, "admin@x.example", actor.Admin)
		opS := k.member(ten, "op@x.example", actor.Operator)
		owner, admin := k.actor(ownerS), k.actor(adminS)
		st, r := k.guarded()
		set := func(a actor.Actor, user string, row store.Row) error {
			return k.update(st, r, a, user, row)
		}
		for name, tt := range map[string]struct {
			a    actor.Actor
			user string
			set  store.Row
			kind fault.Kind
		}{
			"last owner demoted":           {owner, owner.UserID, store.Row{"role": "admin"}, fault.Conflict},
			"last owner suspended":         {owner, owner.UserID, store.Row{"status": "suspended"}, fault.Conflict},
			"last owner by the key":        {k.inTenant(ten), owner.UserID, store.Row{"role": "viewer"}, fault.Conflict},
			"admin makes himself owner":    {admin, admin.UserID, store.Row{"role": "owner"}, fault.Forbidden},
			"admin makes another owner":    {admin, opS.User.ID, store.Row{"role": "owner"}, fault.Forbidden},
			"admin demotes the owner":      {admin, owner.UserID, store.Row{"role": "viewer"}, fault.Forbidden},
			"admin suspends the owner":     {admin, owner.UserID, store.Row{"status": "suspended"}, fault.Forbidden},
			"owner grants what is no role": {owner, opS.User.ID, store.Row{"role": "king"}, fault.Invalid},
		} {
			if err := set(tt.a, tt.user, tt.set); !fault.Is(err, tt.kind) {
				k.Errorf("%s: %v", name, err)
			}
		}
		k.actor(opS) // cached
		k.ok(set(admin, opS.User.ID, store.Row{"status": "suspended"}))
		if _, err := k.who(opS.AccessToken); !fault.HasCode(err, "session_not_found") {
			k.Errorf("a suspended member's session lives: %v", err)
		}
		// A removed member's session goes on without the tenant.
		gone := k.member(ten, "gone@x.example", actor.Driver)
		k.actor(gone)
		k.ok(k.remove(st, r, admin, gone.User.ID))
		if a := k.actor(gone); a.TenantID != "" || a.Role != "" {
			k.Errorf("removed: %+v", a)
		}
		if n := k.refresh(gone); tenantOf(k, n) != "" {
			k.Error("a removed member's refresh mints the tenant")
		}
		if err := k.remove(st, r, owner, owner.UserID); !fault.Is(err, fault.Conflict) {
			k.Errorf("the last owner left: %v", err)
		}
		k.ok(set(owner, admin.UserID, store.Row{"role": "owner"}))
		if a := k.actor(adminS); a.Role != actor.Owner {
			k.Errorf("%+v", a)
		}
		k.ok(set(owner, owner.UserID, store.Row{"role": "viewer"}))
	})
}

// A suspension that a directory made is the tenant's own once somebody of the
// tenant has changed the status: the directory does not undo that.
func TestGuardMembers_afterDirectory(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		ten := k.tenant("North")
		admin, op := k.actor(k.member(ten, "admin@x.example", actor.Admin)),
			k.member(ten, "op@x.example", actor.Operator).User.ID
		k.exec(`INSERT INTO sso_accounts (user_id, tenant_id, connection_id, user_name, active, provisioned, groups, created_at, updated_at)
			VALUES ($1, $2, $2, 'op', $3, $3, '[]', $4, $4)`, op, ten, true, k.now())
		st, r := k.guarded()
		by := func(f func(tx *db.Tx) error) func() error {
			return func() error { return k.db.Write(k.ctx, db.Scope{All: true}, f) }
		}
		suspend := by(func(tx *db.Tx) error {
			return k.svc.Federation.SuspendFederated(tx, actor.Actor{Role: actor.Service}, ten,
				"tenant_id = $1 AND user_id = $2", ten, op)
		})
		restore := by(func(tx *db.Tx) error { return k.svc.Federation.RestoreFederated(tx, ten, op, identity.Client{}) })
		set := func(status string) func() error {
			return func() error { return k.update(st, r, admin, op, store.Row{"status": status}) }
		}
		for _, step := range []struct {
			name   string
			do     func() error
			active int
		}{
			{"the directory suspends", suspend, 0}, {"and restores", restore, 1},
			{"the directory suspends", suspend, 0}, {"the tenant restores", set("active"), 1},
			{"the tenant suspends", set("suspended"),
				0}, {"the directory restores", restore, 0},
		} {
			k.ok(step.do())
			if n := k.count("SELECT COUNT(*) FROM members WHERE user_id = $1 AND status = 'active' AND role = 'operator'",
				op); n != step.active {
				k.Errorf("%s: %d active, want %d", step.name, n, step.active)
			}
		}
	})
}

// Two owners who demote each other at the same moment leave one.
func TestGuardMembers_race(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		ten := k.tenant("North")
		a := k.actor(k.member(ten, "a@x.example", actor.Owner))
		b := k.actor(k.member(ten, "b@x.example", actor.Owner))
		st, r := k.guarded()
		for range 6 {
			k.exec("UPDATE members SET role = 'owner'")
			var wg sync.WaitGroup
			for _, p := range [][2]actor.Actor{{a, b}, {b, a}} {
				wg.Go(func() { _ = k.update(st, r, p[0], p[1].UserID, store.Row{"role": "viewer"}) })
			}
			wg.Wait()
			if n := k.count("SELECT COUNT(*) FROM members WHERE role = 'owner' AND status = 'active'"); n < 1 {
				k.Fatal("no owner left")
			}
		}
	})
}

func TestCommands(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		ten, err := k.svc.Tenants.CreateTenant(k.ctx, "North Harbour GmbH", "", someTenant)
		k.ok(err)
		if ten.Slug != "north-harbour-gmbh" || ten.ID != someTenant {
			k.Errorf("%+v", ten)
		}
		_, err = k.svc.Tenants.CreateTenant(k.ctx, "North Harbour GmbH", "", "")
		k.code(err, "conflict")
		_, err = k.svc.Admin.CreateAdmin(k.ctx, "boss@x.example", "short", ten.Slug)
		k.code(err, "weak_password")
		_, err = k.svc.Admin.AddMember(k.ctx, "nowhere", "boss@x.example", actor.Viewer)
		k.code(err, "tenant_not_found")
		_, err = k.svc.Admin.CreateAdmin(k.ctx, "boss@x.example", pw, ten.Slug)
		k.ok(err)
		if a := k.actor(k.signIn("boss@x.example")); a.Role != actor.Owner || a.TenantID != ten.ID {
			k.Errorf("%+v", a)
		}
		link, err := k.svc.Admin.SetupLink(k.ctx, "second@x.example", ten.ID)
		k.ok(err)
		if !strings.HasPrefix(link, "http://127.0.0.1:8080/auth/v1/verify?") {
			k.Error(link)
		}
		k.ok(k.svc.Admin.ResetPassword(k.ctx, "second@x.example", "some-other-password"))
		admins, err := k.svc.Admin.ListAdmins(k.ctx)
		k.ok(err)
		tenants, err := k.svc.Tenants.ListTenants(k.ctx)
		k.ok(err)
		if len(admins) != 2 || len(tenants) != 1 || tenants[0].Members != 2 {
			k.Errorf("%+v %+v", admins, tenants)
		}
	})
}

func (k *kit) inTenant(id string) actor.Actor { return actor.Actor{Role: actor.Service, TenantID: id} }

// update changes one member through the store, as the collections do.
func (k *kit) update(st *store.Store, r *catalog.Resource, a actor.Actor, user string, set store.Row) error {
	return k.onMember(a, user, func(tx *db.Tx, id string) error {
		row := store.Row{}
		for key, v := range set {
			row[key] = v
		}
		err := st.In(tx, a).UpdateRows(r.Name, []string{id}, row)
		return err
	})
}

func (k *kit) remove(st *store.Store, r *catalog.Resource, a actor.Actor, user string) error {
	return k.onMember(a, user, func(tx *db.Tx, id string) error {
		err := st.In(tx, a).DeleteRows(r.Name, []string{id})
		return err
	})
}

// onMember runs f in the tenant's scope with the id of a user's membership.
func (k *kit) onMember(a actor.Actor, user string, f func(tx *db.Tx, id string) error) error {
	return k.db.Write(k.ctx, db.Scope{Tenant: a.TenantID}, func(tx *db.Tx) error {
		id := ""
		err := tx.One("SELECT id FROM members WHERE tenant_id = $1 AND user_id = $2", []any{a.TenantID, user},
			func(r *db.Row) error {
				id = r.Text(0)
				return nil
			})
		if err != nil {
			return err
		}
		return f(tx, id)
	})
}
