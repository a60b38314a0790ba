package identity_test

import (
	"testing"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/sessions"
)

// arrives signs a person of an organisation's provider in, as the last step of
// SAML or OpenID does.
func (k *kit) arrives(f identity.Federated) (u *identity.User, err error) {
	return u, k.db.Write(k.ctx, all, func(tx *db.Tx) (err error) {
		u, err = k.svc.Federation.Admit(tx, f, identity.Client{})
		return err
	})
}

// An account of an organisation's provider is deleted with everything that was
// said of it there, and the person may begin again.
func TestDeleteUser_federated(t *testing.T) {
	for name, soft := range map[string]bool{"hard": false, "soft": true} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, nil, func(k *kit) {
				f := identity.Federated{Connection: uuid.NewString(), TenantID: k.tenant("North"), Method: sessions.MethodSAML,
					Issuer:  "https://idp.x.example",
					Subject: "s-1", Email: "ann@x.example", Role: actor.Operator}
				u, err := k.arrives(f)
				k.ok(err)
				k.exec("UPDATE sso_accounts SET display_name = 'Ann', external_id = 'e-1' WHERE user_id = $1", u.ID)
				k.exec("UPDATE users SET new_phone = '4915112345678', new_email = 'ann@y.example' WHERE id = $1", u.ID)
				k.exec("INSERT INTO sso_group_members (group_id, user_id) VALUES ($1, $2)", uuid.NewString(), u.ID)
				k.ok(k.svc.Admin.DeleteUser(k.ctx, k.service(), u.ID, soft))
				for _, q := range []string{"SELECT COUNT(*) FROM sso_accounts", "SELECT COUNT(*) FROM sso_group_members",
					"SELECT COUNT(*) FROM identities",
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
				if err := k.svc.Admin.DeleteUser(k.ctx, k.service(), first.User.ID, soft); !fault.Is(err, fault.Conflict) ||
					!fault.HasCode(err, "HF010") {
					k.Errorf("the last owner went: %v", err)
				}
				if a := k.actor(first); a.Role != actor.Owner {
					k.Errorf("a refused deletion left %+v", a)
				}
				k.member(north, "heir@x.example", actor.Owner)
				k.ok(k.svc.Admin.DeleteUser(k.ctx, k.service(), first.User.ID, soft))
			})
		})
	}
}

// What a new account cannot have is named, also where only the index of the
// table sees it.
func TestCreateUser_taken(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		email, phone, other, id := "a@x.example", "491711111111", "b@x.example", "01a1fdd3-49a8-71f7-afb0-243f4650b256"
		first, err := k.svc.Admin.CreateUser(k.ctx, k.service(), identity.AdminUser{ID: id, Email: &email, Phone: &phone})
		k.ok(err)
		for code, in := range map[string]identity.AdminUser{
			"email_exists":        {Email: &email},
			"phone_exists":        {Phone: &phone},
			"user_already_exists": {ID: id, Email: &other},
		} {
			_, err := k.svc.Admin.CreateUser(k.ctx, k.service(), in)
			k.code(err, code)
			if !fault.Is(err, fault.Unprocessable) {
				k.Error(err)
			}
		}
		// As a second transaction meets it that looked before the first was done.
		insert := func(id, email, phone any) error {
			return k.db.Write(k.ctx, all, func(tx *db.Tx) error {
				_, err := tx.Exec(`INSERT INTO users (id, email, phone, role, app_metadata, user_metadata, is_sso, is_anonymous, created_at, updated_at)
					VALUES ($1, $2, $3, 'authenticated', '{}', '{}', $4, $4, $5, $5)`, id, email, phone, false, k.now())
				return err
			})
		}
		fresh := "01a1fdd3-49a8-71f7-afb0-243f4650b257"
		k.code(identity.Taken(insert(fresh, email, nil)), "email_exists")
		k.code(identity.Taken(insert(fresh, nil, phone)), "phone_exists")
		k.code(identity.Taken(insert(first.ID, other, nil)), "user_already_exists")
		k.code(identity.Taken(k.db.Write(k.ctx, all, func(tx *db.Tx) error {
			_, err := tx.Exec("INSERT INTO identities (id, user_id, provider, issuer, subject, data, created_at, updated_at) SELECT $1, user_id, provider, "+
				"issuer, subject, data, created_at, updated_at FROM identities WHERE user_id = $2 AND provider = 'email'", fresh,
				first.ID)
			return err
		})), "23505")
	})
}
