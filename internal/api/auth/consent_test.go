package auth_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/identity"
)

func (s *server) signIn(email string, extra ...any) reply {
	s.Helper()
	in := obj{"email": email, "password": pw}
	for i := 0; i+1 < len(extra); i += 2 {
		in[extra[i].(string)] = extra[i+1]
	}
	return s.call("POST", "/token?grant_type=password", in)
}

// in signs in and returns the session.
func (s *server) in(email string, extra ...any) obj {
	s.Helper()
	r := s.signIn(email, extra...)
	if r.status != 200 {
		s.Fatalf("sign-in of %s: %d %s", email, r.status, r.text)
	}
	return r.body
}

// tenantIn is the tenant that a session's token names.
func (s *server) tenantIn(sess obj) string {
	s.Helper()
	a, err := s.svc.Authenticator.Authenticate(s.Context(), identity.Credential{Bearer: sess["access_token"].(string)})
	if err != nil {
		s.Fatal(err)
	}
	return a.TenantID
}

func (s *server) tenant(name string) string {
	s.Helper()
	t, err := s.svc.Tenants.CreateTenant(s.Context(), name, "", "")
	if err != nil {
		s.Fatal(err)
	}
	return t.ID
}

// member makes an account with a membership and signs it in.
func (s *server) member(tenant, email string, role actor.Role) obj {
	s.Helper()
	made := obj{"email": email, "password": pw, "email_confirm": true}
	s.call("POST", "/admin/users", made, "Authorization: Bearer "+s.keys.ServiceRoleKey, "User-Agent: go")
	if _, err := s.svc.Admin.AddMember(s.Context(), tenant, email, role); err != nil {
		s.Fatal(err)
	}
	return s.in(email)
}

func (s *server) exec(sql string, args ...any) {
	s.Helper()
	err := s.db.Write(s.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
		_, err := tx.Exec(sql, args...)
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
}

func (s *server) count(sql string, args ...any) (n int) {
	s.Helper()
	err := s.db.Read(s.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.One(sql, args, func(r *db.Row) error { n = int(r.Int(0)); return nil })
	})
	if err != nil {
		s.Fatal(err)
	}
	return n
}

// invite invites an address by link and returns the invitation.
func (s *server) invite(by obj, email, role string) obj {
	s.Helper()
	r := s.call("POST", "/invitations", obj{"email": email, "role": role, "deliver": "link"}, bearer(by))
	if r.status != 201 {
		s.Fatalf("%d %s", r.status, r.text)
	}
	return r.body
}

// tokenOf reads the token of an invitation in its link.
func (s *server) tokenOf(inv obj) string {
	s.Helper()
	u, err := url.Parse(inv["link"].(string))
	if err != nil || u.Query().Get("invite_token") == "" {
		s.Fatalf("link %v", inv["link"])
	}
	return u.Query().Get("invite_token")
}

func (s *server) received(by obj) []any {
	s.Helper()
	r := s.call("GET", "/invitations", nil, bearer(by))
	list, ok := r.body["invitations"].([]any)
	if r.status != 200 || !ok {
		s.Fatalf("%d %s", r.status, r.text)
	}
	return list
}

// A stranger's invitation moves nobody: the owner of a tenant stays in it
// whatever he is invited to, by every way in, until he says yes.
func TestInvitation_movesNobody(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		own, evil := s.tenant("Own"), s.tenant("Evil")
		s.setting(evil, "mfa_required", `"none"`)
		owner, stranger := s.member(own, "owner@x.example", actor.Owner), s.member(evil, "evil@x.example", actor.Owner)
		inv := s.invite(stranger, "owner@x.example", "admin")
		if got := s.tenantIn(s.in("owner@x.example")); got != own {
			s.Errorf("a sign-in in %q", got)
		}
		r := s.call("POST", "/token?grant_type=refresh_token", obj{"refresh_token": owner["refresh_token"]})
		if got := s.tenantIn(r.body); got != own {
			s.Errorf("a refresh in %q", got)
		}
		if n := s.count("SELECT COUNT(*) FROM members WHERE tenant_id = $1", evil); n != 1 {
			s.Fatalf("%d members of the stranger's tenant", n)
		}
		list := s.received(owner)
		if len(list) != 1 || list[0].(obj)["tenant_name"] != "Evil" || list[0].(obj)["role"] != "admin" ||
			list[0].(obj)["id"] != inv["id"] {
			s.Errorf("%v", list)
		}
		s.want(s.call("POST", "/tenant", obj{"tenant_id": evil}, bearer(owner)), 403, "tenant_forbidden")

		// After a yes the person is a member of both and works where he did.
		r = s.call("POST", "/invitations/"+inv["id"].(string)+"/accept", nil, bearer(owner))
		if r.status != 200 || r.body["tenant_id"] != evil || r.body["role"] != "admin" {
			s.Errorf("%d %s", r.status, r.text)
		}
		if got := s.tenantIn(s.in("owner@x.example")); got != own {
			s.Errorf("after the yes in %q", got)
		}
		if r := s.call("POST", "/tenant", obj{"tenant_id": evil}, bearer(owner)); r.status != 200 ||
			s.tenantIn(r.body) != evil {
			s.Errorf("%d %s", r.status, r.text)
		}
		if got := s.tenantIn(s.in("owner@x.example")); got != evil {
			s.Errorf("not where the last session worked, but in %q", got)
		}
	})
}

// Who may not accept, and what is not told of it.
func TestInvitation_refused(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		north := s.tenant("North")
		admin := s.member(north, "admin@x.example", actor.Admin)
		accept := func(by, inv obj) reply {
			return s.call("POST", "/invitations/"+inv["id"].(string)+"/accept", nil, bearer(by))
		}
		guest, other := s.signUp("guest@x.example"), s.signUp("other@x.example")

		inv := s.invite(admin, "guest@x.example", "driver")
		s.want(accept(other, inv), 404, "invite_not_found")
		s.want(s.call("POST", "/invitations/"+inv["id"].(string)+"/decline", nil, bearer(other)), 404, "invite_not_found")
		s.want(s.call("POST", "/invitations/none/accept", nil, bearer(guest)), 404, "validation_failed")
		s.want(s.call("POST", "/invitations/"+inv["id"].(string)+"/accept", nil), 401, "no_authorization")
		s.want(s.signIn("other@x.example", "invite_token", s.tokenOf(inv)), 404, "invite_not_found")
		token := s.tokenOf(inv)
		for _, at := range []int{0, len(token) - 1} { // the tenant's id, the code that vouches for it
			other := "A"
			if token[at:at+1] == other {
				other = "Q"
			}
			forged := token[:at] + other + token[at+1:]
			s.want(s.signIn("guest@x.example", "invite_token", forged), 404, "invite_not_found")
		}
		if n := s.count("SELECT COUNT(*) FROM audit WHERE action = 'invitation.accept_refused' AND outcome = 'refused' AND entity_id = $1", inv["id"]); n != 1 {
			s.Errorf("%d rows of the refusal", n)
		}
		if r := accept(guest, inv); r.status != 200 {
			s.Errorf("%d %s", r.status, r.text)
		}
		s.want(accept(guest, inv), 404, "invite_not_found")

		late := s.signUp("late@x.example")
		for name, spoil := range map[string]string{
			"revoked": "UPDATE invitations SET status = 'revoked' WHERE id = $1",
			"expired": "UPDATE invitations SET expires_at = created_at WHERE id = $1",
		} {
			inv := s.invite(admin, "late@x.example", "driver")
			s.exec(spoil, inv["id"])
			s.want(accept(late, inv), 404, "invite_not_found")
			if len(s.received(late)) != 0 {
				s.Errorf("%s: still listed", name)
			}
		}
		inv = s.invite(admin, "late@x.example", "driver")
		s.exec("UPDATE users SET email = 'moved@x.example' WHERE email = 'late@x.example'")
		s.want(accept(late, inv), 404, "invite_not_found")
		s.exec("UPDATE users SET email = 'late@x.example', email_confirmed_at = NULL WHERE email = 'moved@x.example'")
		s.want(accept(late, inv), 404, "invite_not_found")
		if n := s.count("SELECT COUNT(*) FROM members WHERE tenant_id = $1", north); n != 2 {
			s.Errorf("%d members", n)
		}
	})
}

// The inviter learns nothing of a no.
func TestInvitation_declined(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		north := s.tenant("North")
		admin, guest := s.member(north, "admin@x.example", actor.Admin), s.signUp("guest@x.example")
		inv := s.invite(admin, "guest@x.example", "driver")
		before := s.count("SELECT version FROM invitations WHERE id = $1", inv["id"])
		path := "/invitations/" + inv["id"].(string)
		if r := s.call("POST", path+"/decline", nil, bearer(guest)); r.status != 204 {
			s.Errorf("%d %s", r.status, r.text)
		}
		s.want(s.call("POST", path+"/accept", nil, bearer(guest)), 404, "invite_not_found")
		s.want(s.call("POST", path+"/decline", nil, bearer(guest)), 404, "invite_not_found")
		s.want(s.signIn("guest@x.example", "invite_token", s.tokenOf(inv)), 404, "invite_not_found")
		if len(s.received(guest)) != 0 {
			s.Error("it is still listed")
		}
		same := "SELECT COUNT(*) FROM invitations WHERE id = $1 AND status = 'pending' AND version = $2 AND updated_at = created_at"
		if s.count(same, inv["id"], before) != 1 {
			s.Error("the row tells")
		}
		if n := s.count("SELECT COUNT(*) FROM audit WHERE tenant_id = $1 AND action LIKE 'invitation.%'", north); n != 0 {
			s.Error("the tenant's audit log tells")
		}
	})
}

// A sign-in takes up the invitation that it names.
func TestInvitation_named(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		north := s.tenant("North")
		admin := s.member(north, "admin@x.example", actor.Admin)
		s.signUp("holder@x.example")
		inv := s.invite(admin, "holder@x.example", "driver")
		if got := s.tenantIn(s.in("holder@x.example", "invite_token", s.tokenOf(inv))); got != north {
			s.Errorf("a sign-in that names it works in %q", got)
		}
		s.want(s.signIn("holder@x.example", "invite_token", s.tokenOf(inv)), 404, "invite_not_found")
	})
}

// Who has a second factor answers and leaves with it: a password alone does not
// move him.
func TestInvitation_secondFactor(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		north := s.tenant("North")
		admin := s.member(north, "admin@x.example", actor.Admin)
		low := s.signUp("guarded@x.example")
		_, high := s.enrol(low)
		inv := s.invite(admin, "guarded@x.example", "driver")
		low = s.in("guarded@x.example")
		for _, how := range []string{"accept", "decline"} {
			s.want(s.call("POST", "/invitations/"+inv["id"].(string)+"/"+how, nil, bearer(low)), 403, "insufficient_aal")
		}
		if r := s.call("POST", "/invitations/"+inv["id"].(string)+"/accept", nil, bearer(high)); r.status != 200 {
			s.Fatalf("%d %s", r.status, r.text)
		}
		s.want(s.call("DELETE", "/tenants/"+north, nil, bearer(low)), 403, "insufficient_aal")
		if n := s.count("SELECT COUNT(*) FROM members WHERE tenant_id = $1", north); n != 2 {
			s.Errorf("%d members", n)
		}
	})
}

// A sign-up takes up the invitation that it names, once its address is proved,
// and leaves every other one to be answered.
func TestInvitation_namedAtSignUp(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.Autoconfirm = false }, func(s *server) {
		north, south := s.tenant("North"), s.tenant("South")
		admin, boss := s.member(north, "admin@x.example", actor.Admin), s.member(south, "boss@x.example", actor.Admin)
		for name, tt := range map[string]struct {
			data func(inv obj) obj
			want string
		}{
			"nothing":          {func(obj) obj { return obj{} }, ""},
			"the link's token": {func(inv obj) obj { return obj{"invite_token": s.tokenOf(inv)} }, north},
			"the tenant":       {func(obj) obj { return obj{"tenant_id": south} }, south},
			"a wrong token":    {func(obj) obj { return obj{"invite_token": "x"} }, ""},
		} {
			email := strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), "'", "") + "@x.example"
			inv := s.invite(admin, email, "driver")
			s.invite(boss, email, "viewer")
			r := s.call("POST", "/signup", obj{"email": email, "password": pw, "data": tt.data(inv)})
			if r.status != 200 {
				s.Fatalf("%d %s", r.status, r.text)
			}
			_, code, _ := strings.Cut(s.mail("confirmation").Text, "Code: ")
			r = s.call("POST", "/verify", obj{"type": "signup", "email": email, "token": code[:6]})
			if r.status != 200 {
				s.Fatalf("%d %s", r.status, r.text)
			}
			if got := s.tenantIn(r.body); got != tt.want {
				s.Errorf("a sign-up that names %s works in %q, want %q", name, got, tt.want)
			}
			if data := r.body["user"].(obj)["user_metadata"].(obj); data["invite_token"] != nil {
				s.Errorf("%s: the token stays in the metadata", name)
			}
			want := 2
			if tt.want != "" {
				want = 1
			}
			if got := len(s.received(r.body)); got != want {
				s.Errorf("%s: %d invitations wait, want %d", name, got, want)
			}
		}
	})
}

// A member leaves by his own word, the last owner does not, and who belongs to
// another tenant goes on there.
func TestLeaveTenant(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		north, south := s.tenant("North"), s.tenant("South")
		owner := s.member(north, "owner@x.example", actor.Owner)
		s.member(south, "hand@x.example", actor.Viewer)
		hand := s.member(north, "hand@x.example", actor.Operator)
		if r := s.call("POST", "/tenant", obj{"tenant_id": north}, bearer(hand)); r.status != 200 {
			s.Fatalf("%d %s", r.status, r.text)
		}
		s.want(s.call("DELETE", "/tenants/"+north, nil, bearer(owner)), 409, "conflict")
		s.want(s.call("DELETE", "/tenants/0192f0c0-1111-7000-8000-0000000000aa", nil, bearer(hand)), 403, "tenant_forbidden")
		if r := s.call("DELETE", "/tenants/"+north, nil, bearer(hand)); r.status != 204 {
			s.Errorf("%d %s", r.status, r.text)
		}
		s.want(s.call("DELETE", "/tenants/"+north, nil, bearer(hand)), 403, "tenant_forbidden")
		if n := s.count("SELECT COUNT(*) FROM members WHERE tenant_id = $1", north); n != 1 {
			s.Errorf("%d members are left", n)
		}
		if n := s.count("SELECT COUNT(*) FROM sessions WHERE tenant_id = $1 AND user_id = $2", north,
			hand["user"].(obj)["id"]); n != 0 {
			s.Errorf("%d sessions of who left work there still", n)
		}
		r := s.call("POST", "/token?grant_type=refresh_token", obj{"refresh_token": hand["refresh_token"]})
		if r.status != 200 || s.tenantIn(r.body) != south {
			s.Errorf("%d %s", r.status, r.text)
		}
		if n := s.count("SELECT COUNT(*) FROM audit WHERE tenant_id = $1 AND action = 'member.left'", north); n != 1 {
			s.Errorf("%d rows", n)
		}
	})
}

// A session begins in the tenant of the one before it, though an older membership
// counts again meanwhile.
func TestSignIn_tenantUsedLast(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		south, north := s.tenant("South"), s.tenant("North")
		s.exec("UPDATE tenants SET status = 'suspended' WHERE id = $1", south)
		s.call("POST", "/admin/users", obj{"email": "hand@x.example", "password": pw, "email_confirm": true},
			"apikey: "+s.keys.ServiceRoleKey)
		for _, id := range []string{south, north} {
			if _, err := s.svc.Admin.AddMember(s.Context(), id, "hand@x.example", actor.Viewer); err != nil {
				s.Fatal(err)
			}
			s.sleep(time.Minute)
		}
		if got := s.tenantIn(s.in("hand@x.example")); got != north {
			s.Fatalf("the first session works in %q", got)
		}
		s.exec("UPDATE tenants SET status = 'active' WHERE id = $1", south)
		if got := s.tenantIn(s.in("hand@x.example")); got != north {
			s.Errorf("the next session works in %q", got)
		}
	})
}
