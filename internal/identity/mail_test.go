package identity_test

import (
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/oidc"
	"holdfast/internal/identity/signin"
)

// byMail is the configuration in which addresses have to be proved.
func byMail(c *identity.Config) { c.Autoconfirm = false }

var nobody = identity.Client{}

// A new, an unconfirmed and a taken address get the same answer.
func TestSignUp_noOracle(t *testing.T) {
	onBoth(t, byMail, func(k *kit) {
		up := func(email string) *identity.User {
			k.Helper()
			k.sleep(2 * time.Minute)
			s, u, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: email, Password: pw,
				Data: map[string]any{"name": "N"}}, nobody)
			k.ok(err)
			if s != nil {
				k.Fatal("a session before the address is proved")
			}
			return u
		}
		taken := "taken@x.example"
		p := pw
		real, err := k.svc.Admin.CreateUser(k.ctx, k.service(),
			identity.AdminUser{Email: &taken, Password: &p, EmailConfirm: true, UserMetadata: map[string]any{"secret": "mine"}})
		k.ok(err)
		fresh, first := up("fresh@x.example"), up(taken)
		same := cmp.Options{cmpopts.IgnoreFields(identity.User{}, "ID", "Email", "CreatedAt", "UpdatedAt",
			"ConfirmationSentAt", "UserMetadata", "Identities",
			"Hash", "SSO", "LastTenant", "From", "WrongPasswords", "AppData")} // the latter are told nobody
		if d := cmp.Diff(fresh, first, same); d != "" {
			k.Error(d)
		}
		if first.ID == real.ID || first.UserMetadata["secret"] != nil || len(first.Identities) != len(fresh.Identities) ||
			len(first.UserMetadata) != len(fresh.UserMetadata) {
			k.Errorf("the decoy tells: %+v", first)
		}
		// The right password of an unproved address opens nothing.
		_, err = k.svc.SignIns.SignIn(k.ctx, "fresh@x.example", pw, nobody)
		k.code(err, "email_not_confirmed")
		if f := fault.As(err); f.Msg != "Email not confirmed" {
			k.Error(f.Msg)
		}
		// Asking twice tells nothing either: both keep their id and show new times.
		fresh2, first2 := up("fresh@x.example"), up(taken)
		if (fresh2.ID == fresh.ID) != (first2.ID == first.ID) ||
			fresh2.CreatedAt.Equal(fresh.CreatedAt.Time) != first2.CreatedAt.Equal(first.CreatedAt.Time) {
			k.Error("the second answer tells")
		}
		if len(fresh.ID) != 36 || fresh.ID[14] != first.ID[14] {
			k.Error("the kind of id tells")
		}
		k.mailTo(taken, "known")
		// Signed up for twice and proved by neither: no password is left.
		_, err = k.svc.SignIns.SignIn(k.ctx, "fresh@x.example", pw, nobody)
		k.code(err, "invalid_credentials")
	})
}

// Nor does the cost tell: whatever is known of the address or number, and
// whether there is a password to compare, one hash is made.
func TestSignUp_sameCost(t *testing.T) {
	onBoth(t, func(c *identity.Config) {
		c.Autoconfirm, c.Phone, c.SMS = false, true, texts{make(chan [2]string, 10)}
	}, func(k *kit) {
		mail, phone, p := "taken@x.example", "491711111111", pw
		_, err := k.svc.Admin.CreateUser(k.ctx, k.service(),
			identity.AdminUser{Email: &mail, Phone: &phone, Password: &p, EmailConfirm: true, PhoneConfirm: true})
		k.ok(err)
		bare, bareNumber := "bare@x.example", "491712222222"
		_, err = k.svc.Admin.CreateUser(k.ctx, k.service(),
			identity.AdminUser{Email: &bare, Phone: &bareNumber, EmailConfirm: true, PhoneConfirm: true})
		k.ok(err)
		for name, do := range map[string]func(mail, phone string) error{
			"sign-up": func(mail, _ string) error {
				_, _, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: mail, Password: pw}, nobody)
				return err
			},
			"sign-up by phone": func(_, phone string) error {
				_, _, err := k.svc.SignUps.SignUpPhone(k.ctx, identity.PhoneSignUp{Phone: phone, Password: pw}, nobody)
				return err
			},
			"sign-in": func(mail, _ string) error {
				_, err := k.svc.SignIns.SignIn(k.ctx, mail, "not the password", nobody)
				return err
			},
			"sign-in by phone": func(_, phone string) error {
				_, err := k.svc.SignIns.SignInPhone(k.ctx, phone, "not the password", nobody)
				return err
			},
		} {
			k.sleep(2 * time.Minute)
			for who, at := range map[string][2]string{"taken": {mail, phone}, "without a password": {bare, bareNumber},
				"free": {"free@x.example", "491713333333"}} {
				before := k.svc.Hashes()
				if err := do(at[0], at[1]); err != nil && !fault.HasCode(err, "invalid_credentials") {
					k.Errorf("%s, %s: %v", name, who, err)
				}
				if n := k.svc.Hashes() - before; n != 1 {
					k.Errorf("%s, %s: %d hashes", name, who, n)
				}
			}
		}
	})
}

func TestSignUp_confirm(t *testing.T) {
	onBoth(t, byMail, func(k *kit) {
		_, u, err := k.svc.SignUps.SignUp(k.ctx,
			identity.SignUp{Email: "a@x.example", Password: pw, Data: map[string]any{"tenant_id": someTenant},
				Redirect: "https://app.example.com/welcome"}, nobody)
		k.ok(err)
		if n := k.count("SELECT COUNT(*) FROM members"); n != 0 {
			k.Error("an unproved address joined")
		}
		m := k.mailTo("a@x.example", "confirmation")
		q := linkIn(k, m)
		if !strings.Contains(m.Text, "http://127.0.0.1:8080/auth/v1/verify?") || q.Get("type") != "signup" ||
			q.Get("redirect_to") != "https://app.example.com/welcome" {
			k.Error(m.Text)
		}
		s, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "email", Email: "A@x.example",
			Token: digitsIn(k, m)}, nobody)
		k.ok(err)
		if s.User.ID != u.ID || s.User.EmailConfirmedAt.IsZero() || tenantOf(k, s) != someTenant ||
			s.User.UserMetadata["email_verified"] != true {
			k.Errorf("%+v", s.User)
		}
		k.signIn("a@x.example")
		for _, v := range []identity.Verify{{Type: "email", Email: "a@x.example", Token: digitsIn(k, m)},
			{Type: "signup", TokenHash: q.Get("token")}} {
			_, err := k.svc.Verification.Verify(k.ctx, v, nobody)
			k.code(err, "otp_expired")
		}
	})
}

// Five wrong guesses end a code; expiry does too; a code of one purpose does
// not serve another.
func TestVerify_guesses(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		k.signUp("a@x.example", nil)
		ask := func() string {
			k.sleep(2 * time.Minute)
			k.ok(k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: "a@x.example"}, nobody))
			return digitsIn(k, k.mailTo("a@x.example", "recovery"))
		}
		code := ask()
		wrong := "000000"
		if code == wrong {
			wrong = "000001"
		}
		for range 5 {
			_, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "recovery", Email: "a@x.example", Token: wrong},
				nobody)
			k.code(err, "otp_expired")
		}
		_, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "recovery", Email: "a@x.example", Token: code},
			nobody)
		k.code(err, "otp_expired")
		code = ask()
		_, err = k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "signup", Email: "a@x.example", Token: code}, nobody)
		k.code(err, "otp_expired")
		k.sleep(11 * time.Minute)
		_, err = k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "recovery", Email: "a@x.example", Token: code},
			nobody)
		k.code(err, "otp_expired")
		code = ask()
		_, err = k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "recovery", Email: "a@x.example", Token: code},
			nobody)
		k.ok(err)
		for _, v := range []identity.Verify{{}, {Type: "recovery"}, {Type: "nonsense", TokenHash: "x"},
			{Type: "email", TokenHash: "x", Token: "y", Email: "z"}} {
			_, err := k.svc.Verification.Verify(k.ctx, v, nobody)
			k.code(err, "validation_failed")
		}
	})
}

// One code, eight callers at once: one session.
func TestVerify_race(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		k.signUp("a@x.example", nil)
		k.ok(k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: "a@x.example"}, nobody))
		hash := linkIn(k, k.mailTo("a@x.example", "recovery")).Get("token")
		var wg sync.WaitGroup
		var mu sync.Mutex
		won := 0
		for range 8 {
			wg.Go(func() {
				_, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "recovery", TokenHash: hash}, nobody)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won++
				} else if !fault.HasCode(err, "otp_expired") {
					k.Error(err)
				}
			})
		}
		wg.Wait()
		if won != 1 {
			k.Errorf("%d callers used one code", won)
		}
	})
}

// Where the operator wants it told, a taken address is answered by a user
// without identities; a new one and one not yet proved are answered as ever.
func TestSignUp_tells(t *testing.T) {
	onBoth(t, func(c *identity.Config) { byMail(c); c.SignupTellsTaken = true }, func(k *kit) {
		up := func(email string) *identity.User {
			k.Helper()
			k.sleep(2 * time.Minute)
			_, u, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: email, Password: pw,
				Data: map[string]any{"name": "N"}}, nobody)
			k.ok(err)
			return u
		}
		real := k.member(k.tenant("North"), "taken@x.example", actor.Viewer)
		u := up("taken@x.example")
		if u.ID == real.User.ID || u.Role != "" || u.Identities == nil || len(u.Identities) != 0 ||
			len(u.UserMetadata) != 1 ||
			!u.EmailConfirmedAt.IsZero() || !u.LastSignInAt.IsZero() {
			k.Errorf("%+v", u)
		}
		if again := up("taken@x.example"); again.ID == u.ID {
			k.Error("the id is not random")
		}
		k.mailTo("taken@x.example", "known")
		for range 2 {
			if u := up("fresh@x.example"); len(u.Identities) != 1 || u.Role != "authenticated" {
				k.Errorf("%+v", u)
			}
		}
	})
}

// Known and unknown addresses alike, in answer and in waiting.
func TestRecover_noOracle(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		k.signUp("a@x.example", nil)
		for _, f := range []func(string) error{
			func(e string) error { return k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: e}, nobody) },
			func(e string) error { return k.svc.OTP.Resend(k.ctx, "signup", identity.MailRequest{Email: e}, nobody) },
			func(e string) error { return k.svc.OTP.OTP(k.ctx, identity.MailRequest{Email: e}, nobody) },
		} {
			k.sleep(2 * time.Minute)
			for _, email := range []string{"a@x.example", "stranger@x.example"} {
				k.ok(f(email))
				err := f(" " + strings.ToUpper(email))
				k.code(err, "over_email_send_rate_limit")
				if fl := fault.As(err); fl.Kind != fault.Limited ||
					fl.Msg != "For security purposes, you can only request this after 60 seconds." ||
					fl.RetryAfter != time.Minute {
					k.Errorf("%+v", fl)
				}
			}
			k.settle() // the work is queued; the clock must not overtake it
		}
		if n := k.mailsTo("stranger@x.example"); n != 0 {
			k.Errorf("%d mails to a stranger", n)
		}
		if n := k.mailsTo("a@x.example"); n != 2 { // recovery and magic link; the address is confirmed
			k.Errorf("%d mails", n)
		}
	})
}

// Where the operator wants it told, a code that is to make no account is refused
// to who has none, and to nobody else; what is sent again tells nothing.
func TestOTP_tellsUnknown(t *testing.T) {
	tells := func(c *identity.Config) {
		c.OTPTellsUnknown, c.Phone, c.SMS = true, true, texts{make(chan [2]string, 10)}
	}
	onBoth(t, tells, func(k *kit) {
		k.signUp("a@x.example", nil)
		mail := func(email string, create bool) error {
			return k.svc.OTP.OTP(k.ctx, identity.MailRequest{Email: email, Create: create}, nobody)
		}
		text := func(create bool) error {
			_, err := k.svc.OTP.OTPPhone(k.ctx, identity.PhoneRequest{Phone: "491712345678", Create: create}, nobody)
			return err
		}
		k.code(mail("no address", false), "validation_failed")
		k.code(mail("b@x.example", false), "otp_disabled")
		k.code(text(false), "otp_disabled")
		k.ok(mail("A@x.example", false))
		k.ok(mail("b@x.example", true))
		k.ok(k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: "c@x.example"}, nobody))
		_, err := k.svc.OTP.ResendPhone(k.ctx, "sms", "491712345678", nobody)
		k.ok(err)
	})
}

func TestOTP_createsUser(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		k.ok(k.svc.OTP.OTP(k.ctx, identity.MailRequest{Email: "new@x.example", Create: true,
			Data: map[string]any{"name": "N"}}, nobody))
		m := k.mailTo("new@x.example", "confirmation")
		s, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "email", Email: "new@x.example",
			Token: digitsIn(k, m)}, nobody)
		k.ok(err)
		if s.User.UserMetadata["name"] != "N" {
			k.Error(s.User.UserMetadata)
		}
	})
}

func TestUpdateUser_password(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.SignupTellsTaken = true }, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		other := k.signIn("a@x.example")
		a := k.actor(s)
		k.ok(k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: "a@x.example"}, nobody))
		outstanding := linkIn(k, k.mailTo("a@x.example", "recovery")).Get("token")
		for next, code := range map[string]string{pw: "same_password", "short": "weak_password",
			"password123": "weak_password",
			"a@x.example": "weak_password", strings.Repeat("ab", 40): "validation_failed"} {
			_, err := k.svc.Profile.UpdateUser(k.ctx, a, identity.Update{Password: next})
			k.code(err, code)
		}
		_, err := k.svc.Profile.UpdateUser(k.ctx, a, identity.Update{Password: "the-next-password", CurrentPassword: "wrong"})
		k.code(err, "current_password_invalid")
		_, err = k.svc.Profile.UpdateUser(k.ctx, a, identity.Update{Password: "the-next-password"})
		k.ok(err)
		k.mailTo("a@x.example", "password_changed")
		k.actor(s)
		_, err = k.who(other.AccessToken)
		k.code(err, "session_not_found")
		_, err = k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "recovery", TokenHash: outstanding}, nobody)
		k.code(err, "otp_expired")
		_, err = k.svc.SignIns.SignIn(k.ctx, "a@x.example", pw, nobody)
		k.code(err, "invalid_credentials")

		// A day later the session alone is not enough.
		// Nor does it tell which password is the right one.
		k.sleep(25 * time.Hour)
		for _, next := range []string{"yet-another-password", "the-next-password"} {
			_, err = k.svc.Profile.UpdateUser(k.ctx, a, identity.Update{Password: next})
			k.code(err, "reauthentication_needed")
			_, err = k.svc.Profile.UpdateUser(k.ctx, a, identity.Update{Password: next, Nonce: "123456"})
			k.code(err, "reauthentication_not_valid")
			_, err = k.svc.Profile.UpdateUser(k.ctx, a, identity.Update{Password: next, CurrentPassword: "wrong"})
			k.code(err, "current_password_invalid")
		}
		k.ok(k.svc.OTP.Reauthenticate(k.ctx, a))
		nonce := digitsIn(k, k.mailTo("a@x.example", "reauthentication"))
		// What is refused leaves the code, whatever the reason.
		k.signUp("b@x.example", nil)
		for code, in := range map[string]identity.Update{
			"same_password":    {Password: "the-next-password"},
			"email_exists":     {Password: "yet-another-password", Email: "b@x.example"},
			"tenant_forbidden": {Password: "yet-another-password", Data: map[string]any{"tenant_id": someTenant}},
		} {
			in.Nonce = nonce
			_, err = k.svc.Profile.UpdateUser(k.ctx, a, in)
			k.code(err, code)
		}
		_, err = k.svc.Profile.UpdateUser(k.ctx, a, identity.Update{Password: "yet-another-password", Nonce: nonce})
		k.ok(err)
		_, err = k.svc.Profile.UpdateUser(k.ctx, a, identity.Update{Password: "and-one-more-password", Nonce: nonce})
		k.code(err, "reauthentication_not_valid")
	})
}

func TestUpdateUser_refuses(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		a := k.actor(k.signUp("a@x.example", nil))
		k.signUp("b@x.example", nil)
		deep := any("x")
		for range 9 {
			deep = []any{deep}
		}
		for name, tt := range map[string]struct {
			in   identity.Update
			code string
		}{
			"app_metadata": {identity.Update{AppMetadata: map[string]any{"tenant_id": someTenant}}, "not_admin"},
			"phone":        {identity.Update{Phone: "+491701234567"}, "phone_provider_disabled"},
			"bad address":  {identity.Update{Email: "nope"}, "validation_failed"},
			"large data":   {identity.Update{Data: map[string]any{"x": strings.Repeat("y", 9000)}}, "validation_failed"},
			"deep data":    {identity.Update{Data: map[string]any{"x": deep}}, "validation_failed"},
			"half a PKCE":  {identity.Update{PKCE: identity.PKCE{Challenge: "x"}}, "validation_failed"},
		} {
			if _, err := k.svc.Profile.UpdateUser(k.ctx, a, tt.in); !fault.HasCode(err, tt.code) {
				k.Errorf("%s: %v", name, err)
			}
		}
		_, err := k.svc.Profile.UpdateUser(k.ctx, a, identity.Update{Data: map[string]any{"a": 1, "b": 2}})
		k.ok(err)
		u, err := k.svc.Profile.UpdateUser(k.ctx, a, identity.Update{Data: map[string]any{"a": nil, "c": 3}})
		k.ok(err)
		if _, there := u.UserMetadata["a"]; there || u.UserMetadata["b"] == nil || u.UserMetadata["c"] == nil {
			k.Error(u.UserMetadata)
		}
	})
}

// An e-mail change needs both addresses.
func TestEmailChange(t *testing.T) {
	onBoth(t, byMail, func(k *kit) {
		email, p := "old@x.example", pw
		_, err := k.svc.Admin.CreateUser(k.ctx, k.service(),
			identity.AdminUser{Email: &email, Password: &p, EmailConfirm: true})
		k.ok(err)
		s := k.signIn(email)
		u, err := k.svc.Profile.UpdateUser(k.ctx, k.actor(s), identity.Update{Email: "New@x.example"})
		k.ok(err)
		if u.Email != email || u.NewEmail != "new@x.example" {
			k.Errorf("%+v", u)
		}
		fresh, old := k.mailTo("new@x.example", "email_change_new"), k.mailTo(email, "email_change_current")
		half, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "email_change",
			TokenHash: linkIn(k, fresh).Get("token")}, nobody)
		k.ok(err)
		if half != nil {
			k.Fatal("one half was enough")
		}
		done, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "email_change", Email: email,
			Token: digitsIn(k, old)}, nobody)
		k.ok(err)
		if done.User.Email != "new@x.example" || done.User.NewEmail != "" {
			k.Errorf("%+v", done.User)
		}
		_, err = k.svc.SignIns.SignIn(k.ctx, email, pw, nobody)
		k.code(err, "invalid_credentials")
		k.signIn("new@x.example")
	})
}

// Burning the old address's code must not leave the new one alone to decide.
func TestEmailChange_burntHalf(t *testing.T) {
	onBoth(t, byMail, func(k *kit) {
		email, p := "old@x.example", pw
		_, err := k.svc.Admin.CreateUser(k.ctx, k.service(),
			identity.AdminUser{Email: &email, Password: &p, EmailConfirm: true})
		k.ok(err)
		_, err = k.svc.Profile.UpdateUser(k.ctx, k.actor(k.signIn(email)), identity.Update{Email: "thief@x.example"})
		k.ok(err)
		for range 5 {
			_, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "email_change", Email: email, Token: "no"}, nobody)
			k.code(err, "otp_expired")
		}
		_, err = k.svc.Verification.Verify(k.ctx,
			identity.Verify{Type: "email_change", TokenHash: linkIn(k,
				k.mailTo("thief@x.example", "email_change_new")).Get("token")}, nobody)
		k.code(err, "otp_expired")
		k.signIn(email)
	})
}

// A half whose code ended, swept or not, leaves the other one no say of its own,
// whoever asks for it: a half counts once it is proved, and for ten minutes.
func TestEmailChange_endedHalf(t *testing.T) {
	onBoth(t, byMail, func(k *kit) {
		email, p := "old@x.example", pw
		_, err := k.svc.Admin.CreateUser(k.ctx, k.service(),
			identity.AdminUser{Email: &email, Password: &p, EmailConfirm: true})
		k.ok(err)
		half := func(kind string, want bool) {
			k.Helper()
			l, err := k.svc.Admin.GenerateLink(k.ctx, k.service(),
				identity.LinkRequest{Type: kind, Email: email, NewEmail: "new@x.example"})
			k.ok(err)
			s, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: kind, TokenHash: l.HashedToken}, nobody)
			if err != nil || (s != nil) != want {
				k.Fatalf("%s: changed %v, want %v: %v", kind, s != nil, want, err)
			}
		}
		_, err = k.svc.Admin.GenerateLink(k.ctx, k.service(),
			identity.LinkRequest{Type: "email_change_new", Email: email, NewEmail: "new@x.example"})
		k.ok(err)
		k.sleep(11 * time.Minute)
		k.ok(k.svc.Sweep(k.ctx))
		half("email_change_current", false) // that of the new address was swept
		k.sleep(11 * time.Minute)
		half("email_change_new", false) // the proof of the old one is too old
		k.sleep(9 * time.Minute)
		k.ok(k.svc.Sweep(k.ctx))
		half("email_change_current", true)
		k.signIn("new@x.example")
	})
}

// With PKCE both halves are taken on their pages, in whichever order: the change
// holds without the verifier, which opens a session with the second one's code.
func TestEmailChange_PKCE(t *testing.T) {
	for _, implicit := range []bool{true, false} {
		onBoth(t, func(c *identity.Config) { byMail(c); c.ImplicitFlow = implicit }, func(k *kit) {
			for i, kinds := range [][2]string{{"email_change_new", "email_change_current"},
				{"email_change_current", "email_change_new"}} {
				email, p := string('a'+rune(i))+"@x.example", pw
				to := map[string]string{"email_change_new": "new-" + email, "email_change_current": email}
				_, err := k.svc.Admin.CreateUser(k.ctx, k.service(),
					identity.AdminUser{Email: &email, Password: &p, EmailConfirm: true})
				k.ok(err)
				_, err = k.svc.Profile.UpdateUser(k.ctx, k.actor(k.signIn(email)),
					identity.Update{Email: to["email_change_new"], PKCE: challenge()})
				k.ok(err)
				open := func(in identity.Open) identity.Landing {
					k.Helper()
					in.Type = "email_change"
					at, err := k.svc.Verification.OpenLink(k.ctx, in, nobody)
					k.ok(err)
					return at
				}
				first := identity.Open{Token: linkIn(k, k.mailTo(to[kinds[0]], kinds[0])).Get("token"), Page: true}
				second := identity.Open{Token: linkIn(k, k.mailTo(to[kinds[1]], kinds[1])).Get("token"), Page: true}
				for range 2 { // opened, not pressed
					if at := open(first); !at.Ask || at.Location != "" {
						k.Fatalf("%+v", at)
					}
				}
				first.Post = true
				if at, want := open(first).Location, url.QueryEscape(signin.Halfway); at != "http://localhost:3000?message="+want+"#message="+want+"&sb=" {
					k.Fatal(at)
				}
				if at := open(first).Location; !strings.Contains(at, "otp_expired") {
					k.Error("taken twice: " + at)
				}
				k.signIn(email)
				if at := open(second); !at.Ask {
					k.Fatalf("%+v", at)
				}
				second.Post = true
				authCode := codeOf(k, open(second).Location)
				k.signIn(to["email_change_new"])
				_, err = k.svc.OAuth.Exchange(k.ctx, authCode, strings.Repeat("v", 43), nobody)
				k.code(err, "bad_code_verifier")
				s, err := k.svc.OAuth.Exchange(k.ctx, authCode, verifier, nobody)
				k.ok(err)
				if s.User.Email != to["email_change_new"] || methodOf(k, s) != "email_change" {
					k.Errorf("by %v: %+v", methodOf(k, s), s.User)
				}
			}
		})
	}
}

// Whoever is shown no page exchanges the codes of both links.
func TestEmailChange_PKCEWithoutPage(t *testing.T) {
	onBoth(t, byMail, func(k *kit) {
		email, p := "old@x.example", pw
		_, err := k.svc.Admin.CreateUser(k.ctx, k.service(),
			identity.AdminUser{Email: &email, Password: &p, EmailConfirm: true})
		k.ok(err)
		_, err = k.svc.Profile.UpdateUser(k.ctx, k.actor(k.signIn(email)),
			identity.Update{Email: "new@x.example", PKCE: challenge()})
		k.ok(err)
		exchange := func(to, kind string) (*identity.Session, error) {
			at, err := k.svc.Verification.OpenLink(k.ctx, identity.Open{Token: linkIn(k, k.mailTo(to, kind)).Get("token"),
				Type: "email_change"}, nobody)
			k.ok(err)
			return k.svc.OAuth.Exchange(k.ctx, codeOf(k, at.Location), verifier, nobody)
		}
		_, err = exchange("new@x.example", "email_change_new")
		if err == nil || fault.As(err).Msg != signin.Halfway {
			k.Fatal(err)
		}
		s, err := exchange(email, "email_change_current")
		k.ok(err)
		if s.User.Email != "new@x.example" {
			k.Errorf("%+v", s.User)
		}
	})
}

// A scanner that shows no pages takes no half of an e-mail change.
func TestEmailChange_scanner(t *testing.T) {
	onBoth(t, byMail, func(k *kit) {
		email, p := "old@x.example", pw
		_, err := k.svc.Admin.CreateUser(k.ctx, k.service(),
			identity.AdminUser{Email: &email, Password: &p, EmailConfirm: true})
		k.ok(err)
		_, err = k.svc.Profile.UpdateUser(k.ctx, k.actor(k.signIn(email)), identity.Update{Email: "new@x.example"})
		k.ok(err)
		links := []string{linkIn(k, k.mailTo("new@x.example", "email_change_new")).Get("token"),
			linkIn(k, k.mailTo(email, "email_change_current")).Get("token")}
		for range 2 {
			for _, link := range links {
				to, err := k.svc.Verification.OpenLink(k.ctx, identity.Open{Token: link, Type: "email_change"}, nobody)
				k.ok(err)
				if to.Ask || to.Location != "http://localhost:3000?token_hash="+link+"&type=email_change" {
					k.Errorf("%+v", to)
				}
			}
		}
		k.signIn(email)
		for i, want := range []string{"message=Confirmation", "access_token="} {
			to, err := k.svc.Verification.OpenLink(k.ctx, identity.Open{Token: links[i], Type: "email_change", Post: true,
				Page: true}, nobody)
			k.ok(err)
			if !strings.Contains(to.Location, want) {
				k.Errorf("%+v", to)
			}
		}
		k.signIn("new@x.example")
	})
}

const verifier = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func challenge() identity.PKCE {
	return identity.PKCE{Challenge: oidc.Challenge(verifier), Method: "s256"}
}

// codeOf reads ?code= of a redirect.
func codeOf(t testing.TB, location string) string {
	t.Helper()
	u, err := url.Parse(location)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("code")
}

// Opening the link redeems nothing; the code works once and
// only with its verifier.
func TestPKCE_mail(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		k.signUp("a@x.example", nil)
		for _, p := range []identity.PKCE{{Challenge: "short", Method: "s256"}, {Challenge: verifier, Method: "plain"},
			{Challenge: verifier}, {Method: "s256"},
			{Challenge: strings.Repeat("a", 129), Method: "s256"}, {Challenge: strings.Repeat("a", 42),
				Method: "s256"}, {Challenge: strings.Repeat("é", 30), Method: "S256"}} {
			k.code(k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: "a@x.example", PKCE: p}, nobody), "validation_failed")
		}
		k.ok(k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: "a@x.example", PKCE: challenge(),
			Redirect: "https://app.example.com/in?sb_flow_id=7"}, nobody))
		q := linkIn(k, k.mailTo("a@x.example", "recovery"))
		if !strings.HasPrefix(q.Get("token"), "pkce_") {
			k.Error(q)
		}
		open := identity.Open{Token: q.Get("token"), Type: "recovery", Redirect: q.Get("redirect_to"), Page: true}
		var authCode string
		for range 3 {
			to, err := k.svc.Verification.OpenLink(k.ctx, open, nobody)
			k.ok(err)
			if !strings.HasPrefix(to.Location, "https://app.example.com/in?sb_flow_id=7&code=") {
				k.Fatal(to.Location)
			}
			if c := codeOf(k, to.Location); authCode != "" && c != authCode {
				k.Error("a scanner changes the code")
			} else {
				authCode = c
			}
		}
		for v, code := range map[string]string{"": "validation_failed", "x": "bad_code_verifier",
			verifier + "0":           "bad_code_verifier",
			strings.Repeat("a", 42):  "bad_code_verifier",
			strings.Repeat("a", 129): "bad_code_verifier", oidc.Challenge(verifier): "bad_code_verifier"} {
			_, err := k.svc.OAuth.Exchange(k.ctx, authCode, v, nobody)
			k.code(err, code)
		}
		_, err := k.svc.OAuth.Exchange(k.ctx, "11111111-1111-4111-8111-111111111111", verifier, nobody)
		if !fault.Is(err, fault.NotFound) {
			k.Error(err)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		var won []*identity.Session
		for range 8 {
			wg.Go(func() {
				s, err := k.svc.OAuth.Exchange(k.ctx, authCode, verifier, nobody)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won = append(won, s)
				} else if !fault.HasCode(err, "flow_state_not_found") {
					k.Error(err)
				}
			})
		}
		wg.Wait()
		if len(won) != 1 {
			k.Fatalf("%d sessions from one code", len(won))
		}
		if m := methodOf(k, won[0]); m != "recovery" {
			k.Error(m)
		}
		to, err := k.svc.Verification.OpenLink(k.ctx, open, nobody)
		k.ok(err)
		if !strings.Contains(to.Location, "error_code=otp_expired") || strings.Contains(to.Location, "code=1") {
			k.Error(to.Location)
		}
	})
}

// methodOf is how a session says it began.
func methodOf(t testing.TB, s *identity.Session) any {
	t.Helper()
	return claims(t, s.AccessToken)["amr"].([]any)[0].(map[string]any)["method"]
}

// A session says by which mail it began, where the mail's code was exchanged
// with its verifier; who types the code in has shown a one-time password.
func TestPKCE_method(t *testing.T) {
	onBoth(t, byMail, func(k *kit) {
		const email = "a@x.example"
		in := identity.MailRequest{Email: email, PKCE: challenge()}
		for _, c := range []struct {
			kind, want string
			ask        func() error
		}{
			{"confirmation", "email/signup", func() error {
				_, _, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: email, Password: pw, PKCE: challenge()}, nobody)
				return err
			}},
			{"magic_link", "magiclink", func() error { return k.svc.OTP.OTP(k.ctx, in, nobody) }},
			{"recovery", "recovery", func() error { return k.svc.OTP.Recover(k.ctx, in, nobody) }},
		} {
			exchange := func() *identity.Session {
				q := linkIn(k, k.mailTo(email, c.kind))
				at, err := k.svc.Verification.OpenLink(k.ctx, identity.Open{Token: q.Get("token"), Type: q.Get("type"),
					Page: true}, nobody)
				k.ok(err)
				s, err := k.svc.OAuth.Exchange(k.ctx, codeOf(k, at.Location), verifier, nobody)
				k.ok(err)
				return s
			}
			k.sleep(2 * time.Minute)
			k.ok(c.ask())
			s := exchange()
			if m := methodOf(k, s); m != c.want {
				k.Errorf("%s: %v, want %s", c.kind, m, c.want)
			}
			if m := methodOf(k, k.refresh(s)); m != c.want {
				k.Errorf("%s, refreshed: %v, want %s", c.kind, m, c.want)
			}
			if c.kind == "confirmation" {
				continue // the account is proved
			}
			k.sleep(2 * time.Minute)
			k.ok(c.ask())
			s, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "email", Email: email,
				Token: digitsIn(k, k.mailTo(email, c.kind))}, nobody)
			k.ok(err)
			if m := methodOf(k, s); m != "otp" {
				k.Errorf("%s, typed in: %v", c.kind, m)
			}
		}
	})
}

func TestPKCE_expires(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		k.signUp("a@x.example", nil)
		k.ok(k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: "a@x.example", PKCE: challenge()}, nobody))
		q := linkIn(k, k.mailTo("a@x.example", "recovery"))
		// Opened after nine minutes: life counts from the code's issue.
		k.sleep(9 * time.Minute)
		to, err := k.svc.Verification.OpenLink(k.ctx, identity.Open{Token: q.Get("token")}, nobody)
		k.ok(err)
		k.sleep(4 * time.Minute)
		late := codeOf(k, to.Location)
		k.sleep(2 * time.Minute)
		_, err = k.svc.OAuth.Exchange(k.ctx, late, verifier, nobody)
		k.code(err, "flow_state_expired")

		// A scanner opens the link at once, its reader after eight minutes.
		k.ok(k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: "a@x.example", PKCE: challenge()}, nobody))
		q = linkIn(k, k.mailTo("a@x.example", "recovery"))
		for range 2 {
			to, err = k.svc.Verification.OpenLink(k.ctx, identity.Open{Token: q.Get("token")}, nobody)
			k.ok(err)
			k.sleep(8 * time.Minute)
			k.ok(k.svc.Sweep(k.ctx))
		}
		if to, err = k.svc.Verification.OpenLink(k.ctx, identity.Open{Token: q.Get("token")}, nobody); err != nil ||
			!strings.Contains(to.Location, "otp_expired") {
			k.Errorf("opened after its end: %s %v", to.Location, err)
		}
		k.ok(k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: "a@x.example", PKCE: challenge()}, nobody))
		q = linkIn(k, k.mailTo("a@x.example", "recovery"))
		for range 2 {
			to, err = k.svc.Verification.OpenLink(k.ctx, identity.Open{Token: q.Get("token")}, nobody)
			k.ok(err)
			k.sleep(4 * time.Minute)
		}
		_, err = k.svc.OAuth.Exchange(k.ctx, codeOf(k, to.Location), verifier, nobody)
		k.ok(err)
	})
}

// The implicit flow: a browser is asked, and its post redeems. Whatever shows no
// page, a mail scanner as a rule, is led to the site with the link's hash, and
// neither proves the address nor opens the account.
func TestOpenLink_implicit(t *testing.T) {
	onBoth(t, byMail, func(k *kit) {
		_, _, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: "a@x.example", Password: pw,
			Redirect: "https://app.example.com/in"}, nobody)
		k.ok(err)
		q := linkIn(k, k.mailTo("a@x.example", "confirmation"))
		open := identity.Open{Token: q.Get("token"), Type: "signup", Redirect: q.Get("redirect_to")}
		page, head := open, open
		page.Page, head.Peek = true, true
		for _, typ := range []string{"signup", "", "signup"} {
			to, err := k.svc.Verification.OpenLink(k.ctx, page, nobody)
			k.ok(err)
			if !to.Ask || to.Location != "" {
				k.Fatalf("%+v", to)
			}
			to, err = k.svc.Verification.OpenLink(k.ctx, head, nobody)
			k.ok(err)
			if to.Location != "https://app.example.com/in" {
				k.Error(to)
			}
			open.Type = typ
			to, err = k.svc.Verification.OpenLink(k.ctx, open, nobody)
			k.ok(err)
			if to.Ask || to.Location != "https://app.example.com/in?token_hash="+open.Token+"&type=signup" {
				k.Error(to)
			}
		}
		if n := k.count("SELECT (SELECT COUNT(*) FROM users WHERE email_confirmed_at IS NOT NULL) + (SELECT COUNT(*) FROM sessions)"); n != 0 {
			k.Error("opening the link redeemed it")
		}
		fragment := func(loc string) url.Values {
			k.Helper()
			base, frag, _ := strings.Cut(loc, "#")
			v, err := url.ParseQuery(frag)
			k.ok(err)
			if base != "https://app.example.com/in" || v.Get("access_token") == "" || v.Get("type") != "signup" ||
				v.Get("token_type") != "bearer" ||
				v.Get("expires_in") != "3600" || !v.Has("sb") {
				k.Fatal(loc)
			}
			return v
		}
		page.Post = true
		to, err := k.svc.Verification.OpenLink(k.ctx, page, nobody)
		k.ok(err)
		fragment(to.Location)
		for _, o := range []identity.Open{page, open} {
			to, err := k.svc.Verification.OpenLink(k.ctx, o, nobody)
			k.ok(err)
			if !strings.HasPrefix(to.Location, "https://app.example.com/in#") ||
				!strings.Contains(to.Location, "error_code=otp_expired") ||
				!strings.Contains(to.Location, "error=access_denied") {
				k.Error(to.Location)
			}
		}
		bad := open
		bad.Redirect = "https://evil.example/"
		if to, _ = k.svc.Verification.OpenLink(k.ctx, bad, nobody); !strings.HasPrefix(to.Location,
			"http://localhost:3000#") {
			k.Error(to.Location)
		}
	})
}

func TestOpenLink_implicitOff(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.ImplicitFlow = false }, func(k *kit) {
		k.signUp("a@x.example", nil)
		k.ok(k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: "a@x.example"}, nobody))
		q := linkIn(k, k.mailTo("a@x.example", "recovery"))
		for _, o := range []identity.Open{{Post: true}, {Page: true}, {}} {
			o.Token, o.Type = q.Get("token"), "recovery"
			to, err := k.svc.Verification.OpenLink(k.ctx, o, nobody)
			k.ok(err)
			if to.Ask || to.Location != "http://localhost:3000?token_hash="+q.Get("token")+"&type=recovery" {
				k.Error(to)
			}
		}
		_, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "recovery", TokenHash: q.Get("token")}, nobody)
		k.ok(err)
		_, err = k.svc.OAuth.Authorize(k.ctx, identity.Authorize{Provider: "corp"})
		k.code(err, "validation_failed")
		_, err = k.svc.Federation.Arrive(k.ctx, identity.Arrival{Target: k.cfg.SiteURL,
			Person: func(*db.Tx) (identity.Federated, error) {
				k.Error("a response that is refused was used up")
				return identity.Federated{}, nil
			}}, nobody)
		k.code(err, "validation_failed")
	})
}

// Whoever asks for a code of an address that a stranger signed up with finds
// neither his password nor his tenant in the account.
func TestOTP_unprovedAccount(t *testing.T) {
	onBoth(t, byMail, func(k *kit) {
		south := k.tenant("South")
		k.exec("UPDATE tenants SET join_policy = 'open' WHERE id = $1", south)
		_, _, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: "victim@x.example", Password: pw,
			Data: map[string]any{"tenant_id": south}}, nobody)
		k.ok(err)
		k.mailTo("victim@x.example", "confirmation")
		k.sleep(2 * time.Minute)
		k.ok(k.svc.OTP.OTP(k.ctx, identity.MailRequest{Email: "victim@x.example", Create: true}, nobody))
		s, err := k.svc.Verification.Verify(k.ctx,
			identity.Verify{Type: "email", Email: "victim@x.example",
				Token: digitsIn(k, k.mailTo("victim@x.example", "confirmation"))}, nobody)
		k.ok(err)
		if tenantOf(k, s) != "" {
			k.Error("the stranger's wish came true")
		}
		_, err = k.svc.SignIns.SignIn(k.ctx, "victim@x.example", pw, nobody)
		k.code(err, "invalid_credentials")
	})
}

// An account made by a stranger is opened by the owner of the address, and the
// stranger's password is gone.
func TestRecover_unprovedAccount(t *testing.T) {
	onBoth(t, byMail, func(k *kit) {
		_, _, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: "victim@x.example", Password: pw,
			Data: map[string]any{"tenant_id": someTenant}}, nobody)
		k.ok(err)
		k.ok(k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: "victim@x.example"}, nobody))
		s, err := k.svc.Verification.Verify(k.ctx,
			identity.Verify{Type: "recovery", Email: "victim@x.example",
				Token: digitsIn(k, k.mailTo("victim@x.example", "recovery"))}, nobody)
		k.ok(err)
		if tenantOf(k, s) != "" {
			k.Error("the stranger's wish came true")
		}
		_, err = k.svc.SignIns.SignIn(k.ctx, "victim@x.example", pw, nobody)
		k.code(err, "invalid_credentials")
	})
}

// The password that the service key gave is there after a sign-up's link that was
// asked for without one; a stranger's is not. Nor is either after a magic link: the
// key may have handed on what some visitor typed, and who asks for a magic link
// speaks of no password.
func TestGenerateLink_ownPassword(t *testing.T) {
	onBoth(t, byMail, func(k *kit) {
		link := func(in identity.LinkRequest) identity.Link {
			k.Helper()
			l, err := k.svc.Admin.GenerateLink(k.ctx, k.service(), in)
			k.ok(err)
			return l
		}
		for email, own := range map[string]bool{"made@x.example": true, "linked@x.example": true, "given@x.example": true,
			"stranger@x.example":   false,
			"magic-made@x.example": false, "magic-linked@x.example": false, "magic-given@x.example": false,
			"magic-stranger@x.example": false} {
			p, typ := pw, "signup"
			how, magic := strings.CutPrefix(strings.TrimSuffix(email, "@x.example"), "magic-")
			if magic {
				typ = "magiclink"
			}
			switch how {
			case "made":
				_, err := k.svc.Admin.CreateUser(k.ctx, k.service(), identity.AdminUser{Email: &email, Password: &p})
				k.ok(err)
			case "linked":
				link(identity.LinkRequest{Type: "signup", Email: email, Password: pw})
			case "given", "stranger":
				_, _, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: email, Password: pw}, nobody)
				k.ok(err)
			}
			if how == "given" {
				link(identity.LinkRequest{Type: "signup", Email: email, Password: pw})
			}
			l := link(identity.LinkRequest{Type: typ, Email: email})
			_, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: l.VerificationType, TokenHash: l.HashedToken},
				nobody)
			k.ok(err)
			if _, err := k.svc.SignIns.SignIn(k.ctx, email, pw, nobody); (err == nil) != own {
				k.Errorf("%s: %v", email, err)
			}
		}
	})
}

func TestGenerateLink(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		k.signUp("a@x.example", nil)
		ask := func(in identity.LinkRequest) (identity.Link, error) {
			return k.svc.Admin.GenerateLink(k.ctx, k.service(), in)
		}
		for name, tt := range map[string]struct {
			in   identity.LinkRequest
			kind string
			code string
		}{
			"signup taken":       {identity.LinkRequest{Type: "signup", Email: "a@x.example", Password: pw}, "", "email_exists"},
			"signup":             {identity.LinkRequest{Type: "signup", Email: "s@x.example", Password: pw}, "signup", ""},
			"signup no password": {identity.LinkRequest{Type: "signup", Email: "t@x.example"}, "", "validation_failed"},
			"invite":             {identity.LinkRequest{Type: "invite", Email: "i@x.example"}, "invite", ""},
			"invite taken":       {identity.LinkRequest{Type: "invite", Email: "a@x.example"}, "", "email_exists"},
			"magiclink":          {identity.LinkRequest{Type: "magiclink", Email: "a@x.example"}, "magiclink", ""},
			"magiclink unknown":  {identity.LinkRequest{Type: "magiclink", Email: "m@x.example"}, "signup", ""},
			"recovery unknown":   {identity.LinkRequest{Type: "recovery", Email: "r@x.example"}, "", "user_not_found"},
			"change": {identity.LinkRequest{Type: "email_change_current", Email: "a@x.example",
				NewEmail: "n@x.example"}, "email_change_current", ""},
			"unknown": {identity.LinkRequest{Type: "x", Email: "a@x.example"}, "", "validation_failed"},
		} {
			tt.in.Redirect = "https://app.example.com/x"
			l, err := ask(tt.in)
			if tt.code != "" {
				if !fault.HasCode(err, tt.code) {
					k.Errorf("%s: %v", name, err)
				}
				continue
			}
			if err != nil || l.VerificationType != tt.kind || len(l.EmailOTP) != 6 ||
				!strings.Contains(l.ActionLink, l.HashedToken) || l.RedirectTo != tt.in.Redirect {
				k.Errorf("%s: %+v %v", name, l, err)
			}
		}
		// One half of a change, made by the service key, still does not decide.
		for _, half := range []string{"email_change_current", "email_change_new"} {
			l, err := ask(identity.LinkRequest{Type: half, Email: "a@x.example", NewEmail: "n@x.example"})
			k.ok(err)
			s, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: l.VerificationType, TokenHash: l.HashedToken},
				nobody)
			if err != nil || (s != nil) != (half == "email_change_new") {
				k.Errorf("%s: %v %v", half, s, err)
			}
		}
		_, err := k.svc.Admin.GenerateLink(k.ctx, k.actor(k.signIn("n@x.example")),
			identity.LinkRequest{Type: "recovery", Email: "a@x.example"})
		k.code(err, "not_admin")
	})
}
