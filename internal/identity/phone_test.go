package identity_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"holdfast/internal/identity"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/sms"
)

// texts keeps what was sent to numbers.
type texts struct{ sent chan [2]string }

func (s texts) Send(_ context.Context, m sms.Message) error {
	s.sent <- [2]string{m.To, m.Text}
	return nil
}

// codeTo waits for a text and returns the code in it.
func (s texts) codeTo(t testing.TB, to string) string {
	t.Helper()
	select {
	case m := <-s.sent:
		_, rest, ok := strings.Cut(m[1], "code is ")
		if m[0] != to || !ok {
			t.Fatalf("%v", m)
		}
		return rest[:6]
	case <-time.After(30 * time.Second):
		t.Fatal("no text message")
		return ""
	}
}

func withPhone(t *testing.T, f func(k *kit, sent texts)) {
	t.Helper()
	onBoth(t, func(c *identity.Config) {
		c.Phone, c.SMS, c.PhoneCodes = true, texts{make(chan [2]string, 10)}, map[string]string{"15550001111": "424242"}
	}, func(k *kit) { f(k, k.cfg.SMS.(texts)) })
}

func TestPhone(t *testing.T) {
	withPhone(t, func(k *kit, sent texts) {
		send := func(phone string, create bool) error {
			_, err := k.svc.OTP.OTPPhone(k.ctx, identity.PhoneRequest{Phone: phone, Create: create,
				Data: map[string]any{"name": "P"}}, identity.Client{})
			return err
		}
		verify := func(phone, code string) (*identity.Session, error) {
			return k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "sms", Phone: phone, Token: code}, identity.Client{})
		}
		k.ok(send("+49 (171) 234-5678", true))
		code := sent.codeTo(k, "491712345678")
		k.code(send("0049 1712345678", true), "over_sms_send_rate_limit")
		_, err := verify("491712345678", "x"+code[1:])
		k.code(err, "otp_expired")
		s, err := verify("+491712345678", code)
		k.ok(err)
		if s.User.Phone != "491712345678" || s.User.PhoneConfirmedAt.IsZero() || s.User.AppMetadata["provider"] != "phone" ||
			claims(k, s.AccessToken)["phone"] != "491712345678" {
			k.Errorf("%+v", s.User)
		}
		_, err = verify("491712345678", code)
		k.code(err, "otp_expired")
		k.sleep(2 * time.Minute)
		k.ok(send("491712345678", false))
		again, err := verify("491712345678", sent.codeTo(k, "491712345678"))
		k.ok(err)
		if again.User.ID != s.User.ID {
			k.Error("another account")
		}
		// An unknown number: the same answer, and no message.
		k.ok(send("491799999999", false))
		k.settle()
		if len(sent.sent) != 0 {
			k.Error("texted an unknown number")
		}
		// A test number's code is fixed, and nothing is sent.
		k.ok(send("15550001111", true))
		k.settle()
		s, err = verify("15550001111", "424242")
		k.ok(err)
		if len(sent.sent) != 0 {
			k.Error("texted a test number")
		}
		// Moving to another number.
		u, err := k.svc.Profile.UpdateUser(k.ctx, k.actor(s), identity.Update{Phone: "+49 30 1234567"})
		k.ok(err)
		if u.NewPhone != "49301234567" || u.Phone != "15550001111" {
			k.Errorf("%+v", u)
		}
		moved, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "phone_change", Phone: "49301234567",
			Token: sent.codeTo(k, "49301234567")},
			identity.Client{})
		k.ok(err)
		if moved.User.Phone != "49301234567" || moved.User.ID != s.User.ID || moved.User.NewPhone != "" {
			k.Errorf("%+v", moved.User)
		}
		// With a password set, the number signs in as an address does.
		_, err = k.svc.Profile.UpdateUser(k.ctx, k.actor(moved), identity.Update{Password: pw})
		k.ok(err)
		if in, err := k.svc.SignIns.SignInPhone(k.ctx, "+49 30 1234567", pw, identity.Client{}); err != nil ||
			in.User.ID != s.User.ID {
			k.Errorf("%v", err)
		}
		for _, number := range []string{"+49 30 1234567", "4930999999", "491712345678", "x"} {
			_, err = k.svc.SignIns.SignInPhone(k.ctx, number, "wrong-password-here", identity.Client{})
			k.code(err, "invalid_credentials")
		}
		k.sleep(2 * time.Minute)
		k.ok(send("491712345678", false))
		code = sent.codeTo(k, "491712345678")
		for range 5 {
			_, err = verify("491712345678", "000000")
			k.code(err, "otp_expired")
		}
		_, err = verify("491712345678", code)
		k.code(err, "otp_expired")
	})
}

// A password that came with a number is good once the sign-up's own code comes
// back; where the owner comes by a code of his own, it goes: who set it is unknown.
func TestSignUpPhone(t *testing.T) {
	withPhone(t, func(k *kit, sent texts) {
		signUp := func(phone string) *identity.User {
			k.Helper()
			sess, u, err := k.svc.SignUps.SignUpPhone(k.ctx,
				identity.PhoneSignUp{Phone: phone, Password: pw, Data: map[string]any{"name": "P"}}, identity.Client{})
			k.ok(err)
			if sess != nil {
				k.Fatal("a session without a proof")
			}
			return u
		}
		verify := func(phone, code string) *identity.Session {
			k.Helper()
			s, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "sms", Phone: phone, Token: code},
				identity.Client{})
			k.ok(err)
			return s
		}
		u := signUp("+49 171 1111111")
		_, err := k.svc.SignIns.SignInPhone(k.ctx, "491711111111", pw, identity.Client{})
		k.code(err, "phone_not_confirmed")
		sent.codeTo(k, "491711111111")
		k.sleep(2 * time.Minute)
		_, err = k.svc.OTP.ResendPhone(k.ctx, "sms", "491711111111", identity.Client{})
		k.ok(err)
		if s := verify("491711111111", sent.codeTo(k, "491711111111")); s.User.ID != u.ID ||
			s.User.UserMetadata["name"] != "P" {
			k.Errorf("%+v", s.User)
		}
		_, err = k.svc.SignIns.SignInPhone(k.ctx, "491711111111", pw, identity.Client{})
		k.ok(err)

		// A taken number looks like a new one, and gets no message.
		k.sleep(2 * time.Minute)
		if taken := signUp("491711111111"); taken.ID == u.ID || taken.Phone != u.Phone || taken.ConfirmationSentAt.IsZero() ||
			len(taken.Identities) != len(u.Identities) {
			k.Errorf("%+v", taken)
		}
		// A stranger's password on another's number.
		signUp("491712222222")
		if code := sent.codeTo(k, "491712222222"); len(code) != 6 {
			k.Error(code)
		}
		k.sleep(2 * time.Minute)
		_, err = k.svc.OTP.OTPPhone(k.ctx, identity.PhoneRequest{Phone: "491712222222"}, identity.Client{})
		k.ok(err)
		verify("491712222222", sent.codeTo(k, "491712222222"))
		_, err = k.svc.SignIns.SignInPhone(k.ctx, "491712222222", pw, identity.Client{})
		k.code(err, "invalid_credentials")
		for phone, code := range map[string]string{"12": "validation_failed", "": "validation_failed"} {
			_, _, err = k.svc.SignUps.SignUpPhone(k.ctx, identity.PhoneSignUp{Phone: phone, Password: pw}, identity.Client{})
			k.code(err, code)
		}
		_, _, err = k.svc.SignUps.SignUpPhone(k.ctx, identity.PhoneSignUp{Phone: "491713333333", Password: "password"},
			identity.Client{})
		k.code(err, "weak_password")
	})
}

// Where numbers need no proof a sign-up is a session; the service key may give
// accounts numbers.
func TestPhone_confirmed(t *testing.T) {
	onBoth(t, func(c *identity.Config) {
		c.Phone, c.SMS, c.PhoneConfirmed = true, texts{make(chan [2]string, 10)}, true
	}, func(k *kit) {
		s, _, err := k.svc.SignUps.SignUpPhone(k.ctx, identity.PhoneSignUp{Phone: "491711111111", Password: pw},
			identity.Client{})
		k.ok(err)
		if s.User.PhoneConfirmedAt.IsZero() || claims(k, s.AccessToken)["phone"] != "491711111111" {
			k.Errorf("%+v", s.User)
		}
		_, _, err = k.svc.SignUps.SignUpPhone(k.ctx, identity.PhoneSignUp{Phone: "491711111111", Password: pw},
			identity.Client{})
		k.code(err, "user_already_exists")

		number, password := "+49 171 2222222", pw
		u, err := k.svc.Admin.CreateUser(k.ctx, k.service(),
			identity.AdminUser{Phone: &number, Password: &password, PhoneConfirm: true})
		k.ok(err)
		if in, err := k.svc.SignIns.SignInPhone(k.ctx, number, pw, identity.Client{}); err != nil || in.User.ID != u.ID {
			k.Errorf("%v", err)
		}
		_, err = k.svc.Admin.CreateUser(k.ctx, k.service(), identity.AdminUser{Phone: &number})
		k.code(err, "phone_exists")
		taken := "491711111111"
		_, err = k.svc.Admin.ChangeUser(k.ctx, k.service(), u.ID, identity.AdminUser{Phone: &taken})
		k.code(err, "phone_exists")
		moved := "491714444444"
		u, err = k.svc.Admin.ChangeUser(k.ctx, k.service(), u.ID, identity.AdminUser{Phone: &moved})
		k.ok(err)
		if in, err := k.svc.SignIns.SignInPhone(k.ctx, moved, pw, identity.Client{}); err != nil || in.User.ID != u.ID {
			k.Errorf("%v", err)
		}
		_, err = k.svc.SignIns.SignInPhone(k.ctx, number, pw, identity.Client{})
		k.code(err, "invalid_credentials")
	})
}

func TestPhone_off(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		_, err := k.svc.OTP.OTPPhone(k.ctx, identity.PhoneRequest{Phone: "491712345678"}, identity.Client{})
		k.code(err, "phone_provider_disabled")
		_, err = k.svc.SignIns.SignInPhone(k.ctx, "491712345678", pw, identity.Client{})
		k.code(err, "phone_provider_disabled")
		_, err = k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "sms", Phone: "491712345678", Token: "123456"},
			identity.Client{})
		k.code(err, "phone_provider_disabled")
	})
}

func TestCanonicalPhone(t *testing.T) {
	for in, want := range map[string]string{"+49 171 2345678": "491712345678", "0049-171/2345678": "491712345678",
		"1 (555) 000.1111": "15550001111",
		"":                 "", "+": "", "123456": "", "1234567890123456": "", "+0171234567": "", "49a712345678": "", "٤٩١٧١٢٣٤٥٦٧٨": "",
		"+49+1712345678": ""} {
		got, err := accounts.CanonicalPhone(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func FuzzCanonicalPhone(f *testing.F) {
	f.Add("+49 171 2345678")
	f.Fuzz(func(t *testing.T, in string) {
		got, err := accounts.CanonicalPhone(in)
		if err != nil {
			return
		}
		if again, err := accounts.CanonicalPhone(got); err != nil || again != got {
			t.Errorf("%q: %q reads as %q, %v", in, got, again, err)
		}
	})
}
