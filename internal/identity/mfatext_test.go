package identity_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/factor"
)

func withTexts(t *testing.T, f func(k *kit, sent texts)) {
	t.Helper()
	onBoth(t, func(c *identity.Config) {
		c.MFAPhoneEnroll, c.MFAPhoneVerify, c.SMS, c.PhoneCodes = true, true, texts{make(chan [2]string, 10)},
			map[string]string{"15550001111": "424242"}
	}, func(k *kit) { f(k, k.cfg.SMS.(texts)) })
}

// enrolPhone enrols a number without verifying it.
func (k *kit) enrolPhone(s *identity.Session, number string) string {
	k.Helper()
	e, err := k.svc.Factors.EnrolFactor(k.ctx, k.actor(s),
		factor.Enrol{Kind: "phone", FriendlyName: number, Phone: number})
	k.ok(err)
	return e.ID
}

func (k *kit) challenge(s *identity.Session, id string) string {
	k.Helper()
	c, err := k.svc.Factors.ChallengeFactor(k.ctx, k.actor(s), id, identity.Offer{})
	k.ok(err)
	return c.ID
}

func (k *kit) reply(s *identity.Session, id, challenge, code string) (*identity.Session, error) {
	k.Helper()
	return k.svc.Factors.VerifyFactor(k.ctx, k.actor(s), id, factor.Answer{ChallengeID: challenge, Code: code})
}

// other returns a code that is not this one.
func other(code string) string {
	if code[0] == '0' {
		return "1" + code[1:]
	}
	return "0" + code[1:]
}

func TestMFA_phone(t *testing.T) {
	withTexts(t, func(k *kit, sent texts) {
		s := k.signUp("a@x.example", nil)
		second := k.signIn("a@x.example")
		id := k.enrolPhone(s, "+49 171 1111111")
		q := k.challenge(s, id)
		code := sent.codeTo(k, "491711111111")
		if k.count("SELECT COUNT(*) FROM challenges WHERE data LIKE '%"+code+"%'") != 0 {
			k.Error("the code rests in clear")
		}
		_, err := k.reply(s, id, q, other(code))
		k.code(err, "mfa_verification_failed")
		_, err = k.reply(second, id, q, code)
		k.code(err, "mfa_factor_not_found")
		up, err := k.reply(s, id, q, code)
		k.ok(err)
		if aalOf(k, up) != "aal2" || claims(k, up.AccessToken)["amr"].([]any)[0].(map[string]any)["method"] != "mfa/phone" ||
			up.User.Factors[0].Phone != "491711111111" {
			k.Errorf("%v %+v", claims(k, up.AccessToken), up.User.Factors)
		}
		_, err = k.who(second.AccessToken)
		k.code(err, "session_not_found")
		_, err = k.reply(up, id, q, code)
		k.code(err, "mfa_factor_not_found")

		_, err = k.svc.Factors.EnrolFactor(k.ctx, k.actor(up), factor.Enrol{Kind: "phone", Phone: "0049 1711111111"})
		k.code(err, "mfa_verified_factor_exists")
		for _, number := range []string{"", "12", "+49x"} {
			_, err = k.svc.Factors.EnrolFactor(k.ctx, k.actor(up), factor.Enrol{Kind: "phone", Phone: number})
			k.code(err, "validation_failed")
		}
		_, err = k.svc.Factors.ChallengeFactor(k.ctx, k.actor(up), id, identity.Offer{Channel: "pigeon"})
		k.code(err, "validation_failed")

		// A number whose enrolment was given up is enrolled afresh, whatever its
		// name; the first answer ends the other attempts.
		first := k.enrolPhone(up, "491712222222")
		again := k.enrolPhone(up, "491712222222")
		if first == again || k.count("SELECT COUNT(*) FROM mfa_factors") != 2 {
			k.Error("the number is enrolled twice")
		}
	})
}

// A message costs money and rings at somebody's: one a minute. A code lives
// five minutes and is the last one sent.
func TestMFA_phoneTimes(t *testing.T) {
	withTexts(t, func(k *kit, sent texts) {
		s := k.signUp("a@x.example", nil)
		id := k.enrolPhone(s, "491711111111")
		q := k.challenge(s, id)
		old := sent.codeTo(k, "491711111111")
		for _, f := range []string{id, k.enrolPhone(s, "491712222222")} {
			_, err := k.svc.Factors.ChallengeFactor(k.ctx, k.actor(s), f, identity.Offer{})
			k.code(err, "over_sms_send_rate_limit")
			if fault.As(err).RetryAfter <= 0 {
				k.Error("no Retry-After")
			}
		}
		stranger := k.signUp("b@x.example", nil)
		elsewhere := k.enrolPhone(stranger, "491711111111")
		_, err := k.svc.Factors.ChallengeFactor(k.ctx, k.actor(stranger), elsewhere, identity.Offer{})
		k.code(err, "over_sms_send_rate_limit")

		k.sleep(time.Minute)
		fresh := k.challenge(s, id)
		code := sent.codeTo(k, "491711111111")
		_, err = k.reply(s, id, q, old)
		k.code(err, "mfa_factor_not_found")
		up, err := k.reply(s, id, fresh, code)
		k.ok(err)

		// Once verified, nobody who enrols the number keeps its owner waiting.
		k.sleep(time.Minute)
		k.challenge(stranger, k.enrolPhone(stranger, "491711111111"))
		sent.codeTo(k, "491711111111")
		late := k.challenge(up, id)
		code = sent.codeTo(k, "491711111111")
		k.sleep(5 * time.Minute)
		_, err = k.reply(up, id, late, code)
		k.code(err, "mfa_challenge_expired")
	})
}

// A stranger who knows the password takes none of the owner's texts, however many
// sessions and addresses he has, and does not make the owner's telephone ring all
// day.
func TestMFA_phoneStranger(t *testing.T) {
	withTexts(t, func(k *kit, sent texts) {
		const home, office = "192.0.2.1", "2001:db8::1"
		s := k.signUp("a@x.example", nil)
		id := k.enrolPhone(s, "491711111111")
		a := k.actor(s)
		pass := func(from string) {
			k.Helper()
			a.Address = from
			c, err := k.svc.Factors.ChallengeFactor(k.ctx, a, id, identity.Offer{})
			k.ok(err)
			_, err = k.svc.Factors.VerifyFactor(k.ctx, a, id,
				factor.Answer{ChallengeID: c.ID, Code: sent.codeTo(k, "491711111111")})
			k.ok(err)
		}
		pass(office)
		k.sleep(time.Minute)
		pass(home)
		a = k.actor(k.signIn("a@x.example"))
		ask := func(from string) error {
			a.Address = from
			_, err := k.svc.Factors.ChallengeFactor(k.ctx, a, id, identity.Offer{})
			if err == nil {
				sent.codeTo(k, "491711111111")
			}
			return err
		}
		burst := func() (heard int) {
			for i := range 5 {
				if ask(fmt.Sprintf("198.51.100.%d", i)) == nil {
					heard++
				}
			}
			return heard
		}
		k.sleep(time.Minute)
		if n := burst(); n != 1 {
			k.Errorf("%d texts at once", n)
		}
		k.ok(ask(home))
		k.ok(ask("2001:db8::2")) // the office's network
		k.refused(ask(home), "over_sms_send_rate_limit", 1)
		heard := 0
		for range 20 {
			k.sleep(time.Minute)
			heard += burst()
		}
		if heard != 18 { // and two before
			k.Errorf("%d texts more", heard)
		}
		k.ok(ask(home))
		for range 18 {
			k.sleep(time.Minute)
			k.ok(ask(home))
		}
		k.sleep(time.Minute)
		k.refused(ask(home), "over_sms_send_rate_limit", 20)
		k.ok(ask(office))
		k.sleep(24 * time.Hour)
		k.ok(ask("198.51.100.1"))
		k.ok(ask(home))
	})
}

// refused requires an error that says how many may come.
func (k *kit) refused(err error, code string, most int) {
	k.Helper()
	k.code(err, code)
	if d, ok := fault.As(err).Data.(access.Refusal); !ok || d.Limit != most {
		k.Errorf("told %+v, want the limit %d", fault.As(err).Data, most)
	}
}

// Guesses are counted for the account, so that a new code is no new set of
// them; of several right answers at once one counts.
func TestMFA_phoneGuesses(t *testing.T) {
	withTexts(t, func(k *kit, sent texts) {
		s := k.signUp("a@x.example", nil)
		id := k.enrolPhone(s, "491711111111")
		q := k.challenge(s, id)
		code := sent.codeTo(k, "491711111111")
		for range 5 {
			_, err := k.reply(s, id, q, other(code))
			k.code(err, "mfa_verification_failed")
		}
		_, err := k.reply(s, id, q, code)
		k.code(err, "over_request_rate_limit")
		k.sleep(time.Minute)
		q = k.challenge(s, id)
		code = sent.codeTo(k, "491711111111")
		_, err = k.reply(s, id, q, other(code))
		k.code(err, "mfa_verification_failed")
		_, err = k.reply(s, id, q, code)
		k.code(err, "over_request_rate_limit")

		k.sleep(2 * time.Minute)
		q = k.challenge(s, id)
		code = sent.codeTo(k, "491711111111")
		var wg sync.WaitGroup
		won := make(chan bool, 4)
		for range 4 {
			wg.Go(func() { _, err := k.reply(s, id, q, code); won <- err == nil })
		}
		wg.Wait()
		close(won)
		n := 0
		for w := range won {
			if w {
				n++
			}
		}
		if n != 1 {
			k.Errorf("%d answers counted", n)
		}
	})
}

func TestMFA_phoneAdmin(t *testing.T) {
	withTexts(t, func(k *kit, sent texts) {
		s := k.signUp("a@x.example", nil)
		id := k.enrolPhone(s, "15550001111")
		up, err := k.reply(s, id, k.challenge(s, id), "424242")
		k.ok(err)
		if len(sent.sent) != 0 {
			k.Error("a test number was texted")
		}
		q := k.challengeLater(up, id)
		f, err := k.svc.Factors.ChangeUserFactor(k.ctx, k.service(), s.User.ID, id,
			identity.FactorChange{Phone: new("+49 171 1111111")})
		k.ok(err)
		if f.Phone != "491711111111" || f.FriendlyName != "15550001111" {
			k.Errorf("%+v", f)
		}
		_, err = k.reply(up, id, q, "424242")
		k.code(err, "mfa_factor_not_found")
		_, err = k.svc.Factors.ChangeUserFactor(k.ctx, k.service(), s.User.ID, id, identity.FactorChange{Phone: new("x")})
		k.code(err, "validation_failed")
		a := k.enrol(up, "App")
		_, err = k.svc.Factors.ChangeUserFactor(k.ctx, k.service(), s.User.ID, a.id,
			identity.FactorChange{Phone: new("491711111111")})
		k.code(err, "validation_failed")

		// What is enrolled is kept where no more may be, and asked no more where
		// codes are off.
		k.cfg.MFAPhoneEnroll = false
		k.start()
		_, err = k.svc.Factors.EnrolFactor(k.ctx, k.actor(up), factor.Enrol{Kind: "phone", Phone: "491713333333"})
		k.code(err, "mfa_phone_enroll_not_enabled")
		_, err = k.reply(up, id, k.challengeLater(up, id), sent.codeTo(k, "491711111111"))
		k.ok(err)
		k.sleep(time.Minute)
		q = k.challenge(up, id)
		k.cfg.MFAPhoneVerify = false
		k.start()
		_, err = k.svc.Factors.ChallengeFactor(k.ctx, k.actor(up), id, identity.Offer{})
		k.code(err, "mfa_phone_verify_not_enabled")
		_, err = k.reply(up, id, q, sent.codeTo(k, "491711111111"))
		k.code(err, "mfa_phone_verify_not_enabled")
	})
}

// challengeLater asks when another message may be sent.
func (k *kit) challengeLater(s *identity.Session, id string) string {
	k.Helper()
	k.sleep(time.Minute)
	return k.challenge(s, id)
}
