package identity_test

import (
	"testing"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
)

// arrives signs a person of an organisation's provider in, as the last step of
// SAML or OpenID does.
func (k *kit) arrives(f identity.Federated) (u *identity.User, err error) {
	return u, k.db.Write(k.ctx, all, func(tx *db.Tx) (err error) {
		u, err = k.svc.Admit(tx, f, identity.Client{})
		return err
	})
}

// An account of an organisation's provider is deleted with everything that was
// said of it there, and the person may begin again.
func TestDeleteUser_federated(t *testing.T) {
	for name, soft := range map[string]bool{"hard": false, "soft": true} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, nil, func(k *kit) {
				f := identity.Federated{Connection: uuid.NewString(), TenantID: k.tenant("North"), Method: identity.MethodSAML, Issuer: "https://idp.x.example",
					Subject: "s-1", Email: "ann@x.example", Role: actor.Operator}
				u, err := k.arrives(f)
				k.ok(err)
				k.exec("UPDATE sso_accounts SET display_name = 'Ann', external_id = 'e-1' WHERE user_id = $1", u.ID)
				k.exec("UPDATE users SET new_phone = '4915112345678', new_email = 'ann@y.example' WHERE id = $1", u.ID)
				k.exec("INSERT INTO sso_group_members (group_id, user_id) VALUES ($1, $2)", uuid.NewString(), u.ID)
				k.ok(k.svc.DeleteUser(k.ctx, k.service(), u.ID, soft))
				for _, q := range []string{"SELECT COUNT(*) FROM sso_accounts", "SELECT COUNT(*) FROM sso_group_members", "SELECT COUNT(*) FROM identities",
					"SELECT COUNT(*) FROM users WHERE email IS NOT NULL OR phone IS NOT NULL OR new_email IS NOT NULL OR new_phone IS NOT NULL",
					"SELECT COUNT(*) FROM members WHERE email IS NOT NULL OR status = 'active'"} {
					if n := k.count(q); n != 0 {
						k.Errorf("%s: %d", q, n)
					}
				}
				again, err := k.arrives(f)
				k.ok(err)
				if again.ID == u.ID {
					k.Error("an id is used again")
				}
			})
		})
	}
}

// The service key too leaves every tenant an owner.
func TestDeleteUser_lastOwner(t *testing.T) {
	for name, soft := range map[string]bool{"hard": false, "soft": true} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, nil, func(k *kit) {
				north, south := k.tenant("North"), k.tenant("South")
				first := k.member(north, "first@x.example", actor.Owner)
				k.member(south, "first@x.example", actor.Owner)
				k.member(south, "second@x.example", actor.Owner)
				if err := k.svc.DeleteUser(k.ctx, k.service(), first.User.ID, soft); !fault.Is(err, fault.Conflict) || !fault.HasCode(err, "HF010") {
					k.Errorf("the last owner went: %v", err)
				}
				if a := k.actor(first); a.Role != actor.Owner {
					k.Errorf("a refused deletion left %+v", a)
				}
				k.member(north, "heir@x.example", actor.Owner)
				k.ok(k.svc.DeleteUser(k.ctx, k.service(), first.User.ID, soft))
			})
		})
	}
}
