package identity_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/identity"
)

// However many sessions an account has, its list ends: with the latest 1000.
func TestSessions_bounded(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		me := k.actor(s)
		k.ok(k.db.Write(k.ctx, all, func(tx *db.Tx) error {
			for range 1000 {
				tx.Queue(`INSERT INTO sessions (id, user_id, aal, amr, counter, refresh_key, not_after, created_at, updated_at)
					SELECT $1, user_id, aal, amr, counter, refresh_key, not_after, $2, updated_at FROM sessions WHERE id = $3`,
					[]any{uuid.NewString(), k.now().Add(time.Second), me.SessionID}, nil)
			}
			return tx.Flush()
		}))
		for who, ask := range map[string]func() ([]identity.OpenSession, error){
			"owner": func() ([]identity.OpenSession, error) { return k.svc.Sessions.List(k.ctx, me) },
			"service key": func() ([]identity.OpenSession, error) {
				return k.svc.Sessions.UserSessions(k.ctx, k.service(), me.UserID)
			},
		} {
			list, err := ask()
			k.ok(err)
			if len(list) != 1000 || slices.ContainsFunc(list,
				func(o identity.OpenSession) bool { return o.ID == me.SessionID }) {
				k.Errorf("%s: %d sessions, the oldest among them", who, len(list))
			}
		}
	})
}

// An administrator sees and ends what a member has open in his tenant, and
// nothing of it elsewhere; the service key all of an account.
func TestMemberSessions(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		north, south := k.tenant("North"), k.tenant("South")
		owner, admin := k.member(north, "owner@x.example", actor.Owner), k.member(north, "admin@x.example", actor.Admin)
		stranger := k.member(south, "stranger@x.example", actor.Owner)
		both := k.member(north, "both@x.example", actor.Operator)
		second := k.signIn("both@x.example")
		_, err := k.svc.Admin.AddMember(k.ctx, south, "both@x.example", actor.Viewer)
		k.ok(err)
		away, err := k.svc.Sessions.SwitchTenant(k.ctx, k.actor(k.signIn("both@x.example")), south)
		k.ok(err)
		user, by := both.User.ID, k.actor(admin)

		list, err := k.svc.Sessions.MemberSessions(k.ctx, by, user)
		k.ok(err)
		if len(list) != 2 || list[0].TenantID != north || list[1].TenantID != north || list[0].Current {
			k.Errorf("the tenant's sessions: %+v", list)
		}
		if own, err := k.svc.Sessions.MemberSessions(k.ctx, by, admin.User.ID); err != nil || len(own) != 1 ||
			!own[0].Current {
			k.Errorf("his own: %+v, %v", own, err)
		}
		if all, err := k.svc.Sessions.UserSessions(k.ctx, k.service(), user); err != nil || len(all) != 3 {
			k.Errorf("all: %+v, %v", all, err)
		}

		end := func(a actor.Actor, user, id string) error {
			return k.svc.Sessions.EndMemberSessions(k.ctx, a, user, id)
		}
		awayID, unknown := k.actor(away).SessionID, "0192f0c0-1111-7000-8000-0000000000aa"
		for _, c := range []struct {
			what string
			err  error
			want string
		}{
			{"a session in another tenant", end(by, user, awayID), "not_found"},
			{"another account's session", end(by, user, k.actor(owner).SessionID), "not_found"},
			{"no id", end(by, user, "x"), "not_found"},
			{"an unknown session", end(by, user, unknown), "not_found"},
			{"an unknown user", end(by, unknown, ""), "user_not_found"},
			{"another tenant's member", end(by, stranger.User.ID, ""), "user_not_found"},
			{"by another tenant", end(k.actor(stranger), admin.User.ID, ""), "user_not_found"},
			{"an owner's, by an administrator", end(by, owner.User.ID, ""), "42501"},
			{"no user", end(by, "x", ""), "validation_failed"},
			{"the service's list, by an owner", func() error {
				_,
					err := k.svc.Sessions.UserSessions(k.ctx, k.actor(owner), user)
				return err
			}(), "not_admin"},
			{"the service's end, by an owner", k.svc.Sessions.EndUserSessions(k.ctx, k.actor(owner), user, ""), "not_admin"},
			{"the service: unknown", k.svc.Sessions.EndUserSessions(k.ctx, k.service(), unknown, ""), "user_not_found"},
			{"the service: another account's session", k.svc.Sessions.EndUserSessions(k.ctx, k.service(), user,
				k.actor(owner).SessionID), "not_found"},
		} {
			if c.err == nil {
				k.Errorf("%s: no refusal", c.what)
				continue
			}
			k.code(c.err, c.want)
		}
		for _, role := range []actor.Role{actor.Manager, actor.Safety, actor.Operator, actor.Driver, actor.Viewer,
			actor.Anon} {
			a := actor.Actor{Role: role, UserID: user, TenantID: north}
			_, err := k.svc.Sessions.MemberSessions(k.ctx, a, user)
			k.code(err, "not_admin")
			k.code(end(a, user, ""), "not_admin")
		}
		suspended := by
		suspended.Suspended = true
		k.code(end(suspended, user, ""), "not_admin")

		// One ends at once, the others go on; then all of the tenant's.
		k.ok(end(by, user, k.actor(both).SessionID))
		_, err = k.who(both.AccessToken)
		k.code(err, "session_not_found")
		_, err = k.svc.Sessions.Refresh(k.ctx, both.RefreshToken, nobody)
		k.code(err, "refresh_token_not_found")
		k.actor(second)
		k.ok(end(by, user, ""))
		_, err = k.who(second.AccessToken)
		k.code(err, "session_not_found")
		k.actor(away)
		if n := k.count("SELECT COUNT(*) FROM audit WHERE tenant_id = $1 AND action = 'session.revoked' AND actor_user_id = $2 AND entity_id = $3", north,
			admin.User.ID, user); n != 2 {
			k.Errorf("%d rows in the audit log", n)
		}
		k.ok(k.svc.Sessions.EndUserSessions(k.ctx, k.service(), user, awayID))
		_, err = k.who(away.AccessToken)
		k.code(err, "session_not_found")
		k.ok(k.svc.Sessions.EndUserSessions(k.ctx, k.service(), user, ""))
	})
}

// A membership tells when its member last signed in and was last here, and
// nothing of other tenants.
func TestMemberSeen(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		k.sleep(k.now().Truncate(time.Hour).Add(90 * time.Minute).Sub(k.now())) // half past
		north, south := k.tenant("North"), k.tenant("South")
		seen := func(tenant string, entered, here time.Duration) {
			k.Helper()
			since := func(d time.Duration) time.Time { return k.now().UTC().Add(-d).Truncate(time.Microsecond) }
			if n := k.count("SELECT COUNT(*) FROM members WHERE tenant_id = $1 AND last_sign_in_at = $2 AND last_seen_at = $3 AND version = 1", tenant,
				since(entered), since(here)); n != 1 {
				k.Errorf("not signed in %s and seen %s ago", entered, here)
			}
		}
		s := k.member(north, "a@x.example", actor.Viewer)
		seen(north, 0, 0)
		k.sleep(time.Hour)
		s = k.refresh(s)
		seen(north, time.Hour, 0)
		k.sleep(time.Second)
		s = k.refresh(s) // in the same hour
		seen(north, time.Hour+time.Second, time.Second)
		_, err := k.svc.Admin.AddMember(k.ctx, south, "a@x.example", actor.Viewer)
		k.ok(err)
		k.sleep(time.Hour)
		if n := k.count("SELECT COUNT(*) FROM members WHERE tenant_id = $1 AND last_seen_at IS NULL", south); n != 1 {
			k.Error("seen before he was there")
		}
		_, err = k.svc.Sessions.SwitchTenant(k.ctx, k.actor(s), south)
		k.ok(err)
		seen(north, 2*time.Hour+time.Second, time.Hour+time.Second)
		if n := k.count("SELECT COUNT(*) FROM members WHERE tenant_id = $1 AND last_seen_at = $2 AND last_sign_in_at IS NULL", south, k.now()); n != 1 {
			k.Error("the change of tenant does not show")
		}
	})
}
