package identity_test

import (
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/identity"
	"holdfast/internal/identity/password"
)

// Wherever a password is set it may be no name of the person, the tenant or the
// product, and none of the passwords everybody tries.
func TestPassword_names(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.Phone, c.SMS = true, &texts{} }, func(k *kit) {
		name := map[string]any{"full_name": "Wilhelmina Oyelaran", "age": 7}
		tenant := k.tenant("Meridian Freight")
		s := k.member(tenant, "someone@x.example", actor.Viewer)
		a := k.actor(s)
		ways := map[string]func(pw string, data map[string]any) error{
			"sign-up": func(pw string, data map[string]any) error {
				_, _, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: "wo@x.example", Password: pw, Data: data}, nobody)
				return err
			},
			"sign-up by number": func(pw string, data map[string]any) error {
				_, _, err := k.svc.SignUps.SignUpPhone(k.ctx, identity.PhoneSignUp{Phone: "491711111111", Password: pw,
					Data: data}, nobody)
				return err
			},
			"generated link": func(pw string, data map[string]any) error {
				_, err := k.svc.Admin.GenerateLink(k.ctx, k.service(),
					identity.LinkRequest{Type: "signup", Email: "wo@x.example", Password: pw, Data: data})
				return err
			},
			"change with the name": func(pw string, data map[string]any) error {
				_, err := k.svc.Profile.UpdateUser(k.ctx, a, identity.Update{Password: pw, Data: data})
				return err
			},
			"owner's command": func(pw string, _ map[string]any) error {
				_, err := k.svc.Admin.CreateAdmin(k.ctx, "someone@x.example", pw, tenant)
				return err
			},
			"reset by command": func(pw string, _ map[string]any) error {
				return k.svc.Admin.ResetPassword(k.ctx, "someone@x.example", pw)
			},
		}
		for way, try := range ways {
			for _, pw := range []string{"Oyelaran-1", "wilhelminaOyelaran", "Holdfast!", "blink182"} {
				if way == "owner's command" || way == "reset by command" {
					k.exec("UPDATE users SET user_metadata = $1 WHERE email = 'someone@x.example'", `{"name":"Wilhelmina Oyelaran"}`)
				}
				if err := try(pw, name); err == nil {
					k.Errorf("%s took %s", way, pw)
				} else {
					k.code(err, "weak_password")
				}
			}
		}
		k.code(ways["change with the name"]("meridian-freight", nil), "weak_password")
		k.code(ways["owner's command"]("Meridian2026", nil), "weak_password")
		_, err := k.svc.Profile.UpdateUser(k.ctx, a, identity.Update{Password: "Oyelaran-1"})
		k.code(err, "weak_password")
		k.ok(ways["change with the name"]("a kettle on the quay", nil))
		k.ok(ways["sign-up"]("a kettle on the quay", name))
	})
}

// Where the operator asks for kinds of characters and for the password so far.
func TestPassword_demands(t *testing.T) {
	onBoth(t, func(c *identity.Config) {
		c.PasswordCurrent = true
		c.PasswordClasses, _ = password.ClassesOf("letters_digits")
	}, func(k *kit) {
		_, _, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: "b@x.example", Password: "no digit in this"}, nobody)
		k.code(err, "weak_password")
		const first, second, third = "kettle on quay 1", "kettle on quay 2", "kettle on quay 3"
		s, _, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: "a@x.example", Password: first}, nobody)
		k.ok(err)
		change := func(s *identity.Session, in identity.Update) error {
			_, err := k.svc.Profile.UpdateUser(k.ctx, k.actor(s), in)
			return err
		}
		k.code(change(s, identity.Update{Password: second}), "current_password_required")
		k.code(change(s, identity.Update{Password: second, CurrentPassword: third}), "current_password_invalid")
		k.ok(change(s, identity.Update{Data: map[string]any{"x": "y"}}))
		k.ok(change(s, identity.Update{Password: second, CurrentPassword: first}))
		k.sleep(time.Minute)

		// Who forgot it comes by a mailed link, or has a code mailed.
		k.ok(k.svc.OTP.Reauthenticate(k.ctx, k.actor(s)))
		k.ok(change(s, identity.Update{Password: third, Nonce: digitsIn(k, k.mailTo("a@x.example", "reauthentication"))}))
		k.sleep(time.Minute)
		k.ok(k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: "a@x.example"}, nobody))
		token := linkIn(k, k.mailTo("a@x.example", "recovery")).Get("token")
		mailed, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "recovery", TokenHash: token}, nobody)
		k.ok(err)
		k.ok(change(mailed, identity.Update{Password: first}))
	})
}
