package identity_test

import (
	"encoding/json"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/identity"
	"holdfast/internal/store"
)

// A tenant's rules hold for the sessions that work in it, also for those that
// began before the rule, and for nobody else's.
func TestRules_idle(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		north, south := k.tenant("North"), k.tenant("South")
		old := k.member(north, "old@x.example", actor.Viewer)
		k.setting(north, "session_idle_minutes", "15")
		s, free := k.member(north, "a@x.example", actor.Viewer), k.member(south, "b@x.example", actor.Viewer)
		if s.ExpiresIn != 900 || free.ExpiresIn != 3600 {
			k.Errorf("tokens live %d and %d s", s.ExpiresIn, free.ExpiresIn)
		}
		k.sleep(14 * time.Minute)
		s = k.refresh(s)
		k.sleep(14 * time.Minute)
		s = k.refresh(s)
		_, err := k.who(old.AccessToken)
		k.code(err, "session_not_found")
		k.sleep(16 * time.Minute)
		_, err = k.svc.Sessions.Refresh(k.ctx, s.RefreshToken, identity.Client{})
		k.code(err, "session_expired")
		k.actor(k.refresh(free))
	})
}

func TestRules_absolute(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		north := k.tenant("North")
		k.setting(north, "session_max_hours", "8")
		s := k.member(north, "a@x.example", actor.Viewer)
		for range 15 {
			k.sleep(31 * time.Minute)
			s = k.refresh(s)
		}
		k.sleep(16 * time.Minute)
		_, err := k.who(s.AccessToken)
		k.code(err, "session_not_found")
		_, err = k.svc.Sessions.Refresh(k.ctx, s.RefreshToken, identity.Client{})
		k.code(err, "session_expired")
	})
}

func TestRules_single(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		north, south := k.tenant("North"), k.tenant("South")
		k.setting(north, "single_session", "true")
		one := k.member(north, "a@x.example", actor.Viewer)
		two := k.signIn("a@x.example")
		_, err := k.who(one.AccessToken)
		k.code(err, "session_not_found")
		_, err = k.svc.Sessions.Refresh(k.ctx, one.RefreshToken, identity.Client{})
		k.code(err, "refresh_token_not_found")
		k.actor(k.refresh(two))
		// A session in another tenant stays, until it comes here.
		k.member(south, "b@x.example", actor.Viewer)
		k.svc.Admin.AddMember(k.ctx, north, "b@x.example", actor.Viewer)
		first := k.signIn("b@x.example")
		first, err = k.svc.Sessions.SwitchTenant(k.ctx, k.actor(first), south)
		k.ok(err)
		second, err := k.svc.Sessions.SwitchTenant(k.ctx, k.actor(k.signIn("b@x.example")), north)
		k.ok(err)
		k.actor(first)
		_, err = k.svc.Sessions.SwitchTenant(k.ctx, k.actor(first), north)
		k.ok(err)
		_, err = k.who(second.AccessToken)
		k.code(err, "session_not_found")
	})
}

func TestCheckSettings(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		for _, c := range []struct {
			section, key, value string
			ok                  bool
		}{
			{"security", "mfa_required", `"everyone"`, true}, {"security", "mfa_required", `"administrators"`, true},
			{"security", "MFA_required", `"none"`, true},
			{"security", "mfa_required", `"all"`, false}, {"security", "mfa_required", `true`, false},
			{"security", "mfa_required", `null`,
				false}, {"general", "mfa_required", `"none"`, false},
			{"security", "session_idle_minutes", `5`, true}, {"security", "session_idle_minutes", `4`, false},
			{"security", "session_idle_minutes", `15.5`,
				false}, {"security", "session_idle_minutes", `"15"`, false},
			{"security", "session_max_hours", `8760`, true}, {"security", "session_max_hours", `8761`, false},
			{"security", "session_max_hours", `0`, false},
			{"security", "single_session", `true`, true}, {"security", "single_session", `false`, true},
			{"security", "single_session", `1`,
				false}, {"security", "single_session", `null`, false},
			{"general", "colour", `"red"`, true},
		} {
			err := k.db.Write(k.ctx, all, func(tx *db.Tx) error {
				return k.svc.Tenants.CheckSettings(&store.Tx{Tx: tx},
					[]store.Change{{Op: store.Insert, After: store.Row{"tenant_id": someTenant, "section": c.section, "key": c.key,
						"value": json.RawMessage(c.value)}}})
			})
			if (err == nil) != c.ok {
				k.Errorf("%s %s = %s: %v", c.section, c.key, c.value, err)
			}
		}
	})
}
