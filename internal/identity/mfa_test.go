package identity_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/access"
	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/factor"
	"holdfast/internal/identity/totp"
)

// app is an enrolled authenticator.
type app struct {
	id     string
	secret totp.Secret
}

// enrol enrols an authenticator app without verifying it.
func (k *kit) enrol(s *identity.Session, name string) app {
	k.Helper()
	e, err := k.svc.Factors.EnrolFactor(k.ctx, k.actor(s), factor.Enrol{Kind: "totp", FriendlyName: name})
	k.ok(err)
	return app{e.ID, totp.Secret(e.TOTP.Secret)}
}

// answer asks the factor and answers with a code.
func (k *kit) answer(s *identity.Session, a app, code string) (*identity.Session, error) {
	k.Helper()
	c, err := k.svc.Factors.ChallengeFactor(k.ctx, k.actor(s), a.id, identity.Offer{})
	if err != nil {
		return nil, err
	}
	return k.svc.Factors.VerifyFactor(k.ctx, k.actor(s), a.id, factor.Answer{ChallengeID: c.ID, Code: code})
}

func (k *kit) codeOf(a app) string {
	k.Helper()
	code, err := a.secret.At(k.now())
	k.ok(err)
	return code
}

// protect enrols and verifies an app.
func (k *kit) protect(s *identity.Session) (app, *identity.Session) {
	k.Helper()
	a := k.enrol(s, "phone")
	up, err := k.answer(s, a, k.codeOf(a))
	k.ok(err)
	return a, up
}

func aalOf(t testing.TB, s *identity.Session) any { return claims(t, s.AccessToken)["aal"] }

func TestMFA_totp(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		other := k.signIn("a@x.example")
		e, err := k.svc.Factors.EnrolFactor(k.ctx, k.actor(s),
			factor.Enrol{Kind: "totp", FriendlyName: "phone", Issuer: "North"})
		k.ok(err)
		if e.Kind != "totp" || !strings.HasPrefix(e.TOTP.QRCode, "<svg") || !strings.Contains(e.TOTP.URI, "issuer=North") ||
			!strings.Contains(e.TOTP.URI, "secret="+e.TOTP.Secret) {
			k.Fatalf("%+v", e)
		}
		if n := k.count("SELECT COUNT(*) FROM mfa_factors WHERE secret IS NOT NULL AND CAST(secret AS text) LIKE '%" + e.TOTP.Secret + "%'"); n != 0 {
			k.Error("the seed rests in clear")
		}
		a := app{e.ID, totp.Secret(e.TOTP.Secret)}
		up, err := k.answer(s, a, k.codeOf(a))
		k.ok(err)
		was, is := claims(k, s.AccessToken), claims(k, up.AccessToken)
		if is["aal"] != "aal2" || was["aal"] != "aal1" || is["session_id"] != was["session_id"] {
			k.Errorf("claims %v", is)
		}
		amr := is["amr"].([]any)
		if len(amr) != 2 || amr[0].(map[string]any)["method"] != "totp" || amr[1].(map[string]any)["method"] != "password" {
			k.Errorf("amr %v", amr)
		}
		if len(up.User.Factors) != 1 || up.User.Factors[0].Status != "verified" ||
			up.User.Factors[0].FriendlyName != "phone" {
			k.Errorf("factors %+v", up.User.Factors)
		}
		if got := k.actor(up).AAL; got != "aal2" {
			k.Errorf("actor at %s", got)
		}
		// The access token from before is still of one factor.
		if got := k.actor(s).AAL; got != "aal1" {
			k.Errorf("the old token rose to %s", got)
		}
		_, err = k.who(other.AccessToken)
		k.code(err, "session_not_found")
		if again := k.refresh(up); aalOf(k, again) != "aal2" || len(again.User.Factors) != 1 {
			k.Error("the refreshed token fell")
		}
		next := k.signIn("a@x.example")
		if aalOf(k, next) != "aal1" || len(next.User.Factors) != 1 {
			k.Error("a new session starts with one factor and shows the factors")
		}
	})
}

// An account is known from where both its factors were shown: who has its password
// alone is known from nowhere, however often he comes, and pushes nobody out.
func TestMFA_knownFrom(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		const home, stranger, travel = "192.0.2.1", "198.51.100.7", "203.0.113.4"
		known := func(from string, want bool) {
			k.Helper()
			got, err := k.svc.Post.Known(k.ctx, "a@x.example", from)
			k.ok(err)
			if got != want {
				k.Errorf("known from %s: %v", from, got)
			}
		}
		in := func(from string) *identity.Session {
			k.Helper()
			s, err := k.svc.SignIns.SignIn(k.ctx, "a@x.example", pw, identity.Client{Address: from})
			k.ok(err)
			return s
		}
		s := k.signUp("a@x.example", nil)
		known(home, true)
		in(travel)
		known(travel, true) // one factor is all there is
		a, _ := k.protect(s)
		for i := range 25 {
			in(fmt.Sprintf("198.51.100.%d", i))
		}
		known(home, true)
		known(stranger, false)

		k.sleep(time.Minute)
		there := in(stranger)
		at, err := k.svc.Authenticator.Identify(k.ctx, identity.Credential{Bearer: there.AccessToken, Address: stranger})
		k.ok(err)
		c, err := k.svc.Factors.ChallengeFactor(k.ctx, at, a.id, identity.Offer{})
		k.ok(err)
		_, err = k.svc.Factors.VerifyFactor(k.ctx, at, a.id, factor.Answer{ChallengeID: c.ID, Code: "000000"})
		k.code(err, "mfa_verification_failed")
		known(stranger, false)
		c, err = k.svc.Factors.ChallengeFactor(k.ctx, at, a.id, identity.Offer{})
		k.ok(err)
		_, err = k.svc.Factors.VerifyFactor(k.ctx, at, a.id, factor.Answer{ChallengeID: c.ID, Code: k.codeOf(a)})
		k.ok(err)
		known(stranger, true)
		known(home, true)
	})
}

// A code works once, whichever challenge asks for it.
func TestMFA_replay(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		a, _ := k.protect(s)
		thief := k.signIn("a@x.example")
		_, err := k.answer(thief, a, k.codeOf(a))
		k.code(err, "mfa_verification_failed")
		if fault.As(err).Msg != "Invalid TOTP code entered" {
			k.Error(err)
		}
		k.sleep(30 * time.Second)
		_, err = k.answer(thief, a, k.codeOf(a))
		k.ok(err)
		k.sleep(30 * time.Second)
		// Several at once with one good code: one gets in.
		code, won := k.codeOf(a), make(chan bool, 4)
		var wg sync.WaitGroup
		for range 4 {
			sess := k.signIn("a@x.example")
			wg.Go(func() { _, err := k.answer(sess, a, code); won <- err == nil })
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
			k.Errorf("%d sessions rose with one code", n)
		}
	})
}

// Wrong codes cost waits; what is given at once counts one by one,
// and a new challenge or session starts nothing afresh.
func TestMFA_attempts(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		a, _ := k.protect(k.signUp("a@x.example", nil))
		k.sleep(time.Minute)
		var mu sync.Mutex
		got := map[string]int{}
		var wg sync.WaitGroup
		for range 4 {
			s := k.signIn("a@x.example")
			wg.Go(func() {
				for range 25 {
					_, err := k.answer(s, a, "000000")
					mu.Lock()
					got[fault.As(err).Code]++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if got["mfa_verification_failed"] != 5 || got["over_request_rate_limit"] != 95 {
			k.Fatalf("%v", got)
		}
		s := k.signIn("a@x.example")
		_, err := k.answer(s, a, k.codeOf(a))
		k.code(err, "over_request_rate_limit")
		if w := fault.As(err).RetryAfter; w < 29*time.Second || w > 31*time.Second {
			k.Errorf("wait %s", w)
		}
		if d, ok := fault.As(err).Data.(access.Refusal); !ok || d.Error != "rate_limit_exceeded" || d.Message == "" ||
			d.RetryAfter != fault.WaitSeconds(fault.As(err).RetryAfter) || d.Limit != 5 || d.ResetAt == "" {
			k.Errorf("the interface's members: %+v", fault.As(err).Data)
		}
		k.sleep(31 * time.Second)
		_, err = k.answer(s, a, "000000")
		k.code(err, "mfa_verification_failed")
		k.sleep(31 * time.Second)
		_, err = k.answer(s, a, k.codeOf(a))
		k.code(err, "over_request_rate_limit")
		k.sleep(30 * time.Second)
		_, err = k.answer(s, a, k.codeOf(a))
		k.ok(err)
		_, err = k.answer(s, a, "000000")
		k.code(err, "mfa_verification_failed")
		if n := k.count("SELECT failures FROM mfa_attempts"); n != 1 {
			k.Errorf("a right answer did not clear the count: %d", n)
		}
	})
}

// A refresh token from before the second factor never turns into one of two
// factors: not as the forgiven parent, and not within the reuse interval.
func TestMFA_refreshTokens(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.refresh(k.signUp("a@x.example", nil))
		_, up := k.protect(s)
		k.sleep(time.Second)
		_, err := k.svc.Sessions.Refresh(k.ctx, s.RefreshToken, identity.Client{})
		k.code(err, "refresh_token_already_used")
		// A tab that was late costs nobody the session.
		up = k.refresh(up)
		k.sleep(time.Minute)
		_, err = k.svc.Sessions.Refresh(k.ctx, s.RefreshToken, identity.Client{})
		k.code(err, "refresh_token_already_used")
		_, err = k.svc.Sessions.Refresh(k.ctx, up.RefreshToken, identity.Client{})
		k.code(err, "refresh_token_not_found")
	})
}

func TestMFA_challenges(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		a, up := k.protect(s)
		k.sleep(time.Minute)
		mine := k.actor(up)
		ask := func() string {
			c, err := k.svc.Factors.ChallengeFactor(k.ctx, mine, a.id, identity.Offer{})
			k.ok(err)
			if c.ExpiresAt != k.now().Add(5*time.Minute).Unix() {
				k.Errorf("expires %d", c.ExpiresAt)
			}
			return c.ID
		}
		verify := func(who actor.Actor, id, challenge string) error {
			_, err := k.svc.Factors.VerifyFactor(k.ctx, who, id, factor.Answer{ChallengeID: challenge, Code: k.codeOf(a)})
			return err
		}
		used := ask()
		k.ok(verify(mine, a.id, used))
		k.sleep(time.Minute)
		k.code(verify(mine, a.id, used), "mfa_factor_not_found")
		late := ask()
		k.sleep(5 * time.Minute)
		k.code(verify(mine, a.id, late), "mfa_challenge_expired")
		// A challenge belongs to its session, a factor to its account.
		foreign := ask()
		k.code(verify(k.actor(k.signIn("a@x.example")), a.id, foreign), "mfa_factor_not_found")
		stranger := k.actor(k.signUp("b@x.example", nil))
		k.code(verify(stranger, a.id, ask()), "mfa_factor_not_found")
		_, err := k.svc.Factors.ChallengeFactor(k.ctx, stranger, a.id, identity.Offer{})
		k.code(err, "mfa_factor_not_found")
		k.code(k.svc.Factors.UnenrolFactor(k.ctx, stranger, a.id), "mfa_factor_not_found")
		for _, id := range []string{"x", db.NoTenant} {
			_, err := k.svc.Factors.ChallengeFactor(k.ctx, mine, id, identity.Offer{})
			k.code(err, "mfa_factor_not_found")
			k.code(verify(mine, a.id, id), "mfa_factor_not_found")
		}
		// It belongs to one factor, too.
		phone, both := k.protect(k.signUp("c@x.example", nil))
		k.sleep(time.Minute)
		c, err := k.svc.Factors.ChallengeFactor(k.ctx, k.actor(both), phone.id, identity.Offer{})
		k.ok(err)
		a = k.enrol(both, "tablet")
		k.code(verify(k.actor(both), a.id, c.ID), "mfa_factor_not_found")
	})
}

// A new factor waits for its first answer as long as the question to it does.
func TestMFA_longChallenge(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.ChallengeTTL = 20 * time.Minute }, func(k *kit) {
		s, late := k.signUp("a@x.example", nil), k.signUp("b@x.example", nil)
		a, never := k.enrol(s, "phone"), k.enrol(late, "phone")
		c, err := k.svc.Factors.ChallengeFactor(k.ctx, k.actor(s), a.id, identity.Offer{})
		k.ok(err)
		k.sleep(19 * time.Minute)
		k.ok(k.svc.Sweep(k.ctx))
		k.ok(k.svc.Profile.RenewProof(k.ctx, k.actor(s), identity.Proof{Password: pw}))
		k.enrol(s, "tablet") // makes room of those that waited too long
		_, err = k.svc.Factors.VerifyFactor(k.ctx, k.actor(s), a.id, factor.Answer{ChallengeID: c.ID, Code: k.codeOf(a)})
		k.ok(err)
		k.sleep(time.Minute)
		_, err = k.svc.Factors.ChallengeFactor(k.ctx, k.actor(late), never.id, identity.Offer{})
		k.code(err, "mfa_factor_not_found")
	})
}

func TestMFA_enrolRules(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		me := k.actor(s)
		enrol := func(who actor.Actor, e factor.Enrol) error {
			_, err := k.svc.Factors.EnrolFactor(k.ctx, who, e)
			return err
		}
		for _, c := range []struct {
			in   factor.Enrol
			code string
		}{
			{factor.Enrol{Kind: "phone"}, "mfa_phone_enroll_not_enabled"},
			{factor.Enrol{}, "validation_failed"},
			{factor.Enrol{Kind: "totp", FriendlyName: strings.Repeat("n", 101)}, "validation_failed"},
			{factor.Enrol{Kind: "totp", FriendlyName: "a\nb"}, "validation_failed"},
			{factor.Enrol{Kind: "totp", Issuer: "https://x.example"}, "validation_failed"},
		} {
			k.code(enrol(me, c.in), c.code)
		}
		left := k.enrol(s, "left")
		k.code(enrol(me, factor.Enrol{Kind: "totp", FriendlyName: "left"}), "mfa_factor_name_conflict")
		k.sleep(5 * time.Minute)
		_, err := k.svc.Factors.ChallengeFactor(k.ctx, k.actor(s), left.id, identity.Offer{})
		k.code(err, "mfa_factor_not_found")
		first, second := k.enrol(s, "left"), k.enrol(s, "second")
		up, err := k.answer(s, first, k.codeOf(first))
		k.ok(err)
		if len(up.User.Factors) != 1 {
			k.Errorf("enrolments that were not finished stay: %+v", up.User.Factors)
		}
		_, err = k.svc.Factors.ChallengeFactor(k.ctx, k.actor(up), second.id, identity.Offer{})
		k.code(err, "mfa_factor_not_found")
		low := k.signIn("a@x.example")
		k.code(enrol(k.actor(low), factor.Enrol{Kind: "totp"}), "insufficient_aal")
		for range factor.Max - 1 {
			k.enrol(up, "")
		}
		k.code(enrol(k.actor(up), factor.Enrol{Kind: "totp"}), "too_many_enrolled_mfa_factors")
	})
}

// An enrolment begun while the account was open is no way past the factor that
// protects it now.
func TestMFA_staleEnrolment(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		a, _ := k.protect(s)
		planted := k.enrol(k.signUp("b@x.example", nil), "planted")
		k.exec("UPDATE mfa_factors SET user_id = $2, friendly_name = NULL WHERE id = $1", planted.id, s.User.ID)
		thief := k.signIn("a@x.example")
		c, err := k.svc.Factors.ChallengeFactor(k.ctx, k.actor(thief), planted.id, identity.Offer{})
		k.ok(err)
		_, err = k.svc.Factors.VerifyFactor(k.ctx, k.actor(thief), planted.id,
			factor.Answer{ChallengeID: c.ID, Code: k.codeOf(planted)})
		k.code(err, "insufficient_aal")
		_ = a
	})
}

func TestMFA_unenrol(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		a, up := k.protect(s)
		low := k.signIn("a@x.example")
		k.code(k.svc.Factors.UnenrolFactor(k.ctx, k.actor(low), a.id), "insufficient_aal")
		k.ok(k.svc.Factors.UnenrolFactor(k.ctx, k.actor(up), a.id))
		if got := k.actor(up).AAL; got != "aal1" {
			k.Errorf("the token kept %s", got)
		}
		next := k.refresh(up)
		c := claims(k, next.AccessToken)
		if c["aal"] != "aal1" || len(c["amr"].([]any)) != 1 || len(next.User.Factors) != 0 {
			k.Errorf("%v", c)
		}
		if n := k.count("SELECT COUNT(*) FROM audit WHERE action LIKE 'mfa.%'"); n < 4 {
			k.Errorf("%d audit rows", n)
		}
	})
}

func TestMFA_recoveryCodes(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		_, err := k.svc.Factors.NewRecoveryCodes(k.ctx, k.actor(s))
		k.code(err, "mfa_factor_not_found")
		_, up := k.protect(s)
		low := k.signIn("a@x.example")
		_, err = k.svc.Factors.NewRecoveryCodes(k.ctx, k.actor(low))
		k.code(err, "insufficient_aal")
		old, err := k.svc.Factors.NewRecoveryCodes(k.ctx, k.actor(up))
		k.ok(err)
		codes, err := k.svc.Factors.NewRecoveryCodes(k.ctx, k.actor(up))
		k.ok(err)
		if len(codes) != 10 || len(codes[0]) != 19 {
			k.Fatalf("%v", codes)
		}
		if n := k.count("SELECT COUNT(*) FROM recovery_codes WHERE hash LIKE $1",
			"%"+strings.ReplaceAll(codes[0], "-", "")+"%"); n != 0 {
			k.Error("codes rest in clear")
		}
		_, err = k.svc.Factors.UseRecoveryCode(k.ctx, k.actor(low), old[0])
		k.code(err, "mfa_verification_failed")
		up, err = k.svc.Factors.UseRecoveryCode(k.ctx, k.actor(low),
			" "+strings.ToUpper(strings.ReplaceAll(codes[3], "-", " ")))
		k.ok(err)
		if aalOf(k, up) != "aal2" {
			k.Error("not raised")
		}
		_, err = k.svc.Factors.UseRecoveryCode(k.ctx, k.actor(low), codes[3])
		k.code(err, "mfa_verification_failed")
		if n, err := k.svc.Factors.RecoveryCodesLeft(k.ctx, k.actor(up)); err != nil || n != 9 {
			k.Errorf("%d left, %v", n, err)
		}
		// Guesses count together with wrong codes of the factor, and a code of
		// another account is nothing.
		other := k.signUp("b@x.example", nil)
		k.protect(other)
		for range 5 {
			_, err = k.svc.Factors.UseRecoveryCode(k.ctx, k.actor(k.signIn("b@x.example")), codes[4])
		}
		k.code(err, "mfa_verification_failed")
		_, err = k.svc.Factors.UseRecoveryCode(k.ctx, k.actor(k.signIn("b@x.example")), codes[4])
		k.code(err, "over_request_rate_limit")
	})
}

// Reset and change never skip the second factor.
func TestMFA_guardsPasswordAndAddress(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		k.protect(s)
		k.ok(k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: "a@x.example"}, identity.Client{}))
		m := k.mailTo("a@x.example", "recovery")
		reset, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "recovery",
			TokenHash: linkIn(k, m).Get("token")}, identity.Client{})
		k.ok(err)
		for _, u := range []identity.Update{{Password: "another-long-password"}, {Email: "new@x.example"}} {
			_, err = k.svc.Profile.UpdateUser(k.ctx, k.actor(reset), u)
			k.code(err, "insufficient_aal")
			if fault.As(err).Kind != fault.Unauthorized {
				k.Error(err)
			}
		}
		_, err = k.svc.Profile.UpdateUser(k.ctx, k.actor(reset), identity.Update{Data: map[string]any{"name": "A"}})
		k.ok(err)
		k.signIn("a@x.example")
	})
}

// setting writes a tenant setting as the collections do.
func (k *kit) setting(tenant, key, value string) {
	k.Helper()
	k.exec(`INSERT INTO settings (tenant_id, id, section, key, value, created_at, updated_at, version) VALUES ($1, $2, 'security', $3, $4, $5, $5, 1)`,
		tenant, uuid.NewString(), key, value, k.now())
	k.svc.ForgetTenant(tenant)
}

func TestMFA_required(t *testing.T) {
	for _, c := range []struct {
		value string
		who   map[actor.Role]bool // held up
	}{
		{`"none"`, map[actor.Role]bool{actor.Owner: false, actor.Viewer: false}},
		{`"administrators"`, map[actor.Role]bool{actor.Owner: true, actor.Admin: true, actor.Manager: false,
			actor.Viewer: false}},
		{`"everyone"`, map[actor.Role]bool{actor.Owner: true, actor.Manager: true, actor.Viewer: true}},
		{`"nonsense"`, map[actor.Role]bool{actor.Viewer: true}},
	} {
		t.Run(c.value, func(t *testing.T) {
			onBoth(t, nil, func(k *kit) {
				north, south := k.tenant("North"), k.tenant("South")
				k.setting(north, "mfa_required", c.value)
				for role, held := range c.who {
					s := k.member(north, string(role)+"@x.example", role)
					a, err := k.who(s.AccessToken)
					if !held {
						k.ok(err)
						if a.Role != role || a.AAL != "aal1" {
							k.Errorf("%+v", a)
						}
						continue
					}
					k.code(err, "insufficient_aal")
					if fault.As(err).Kind != fault.Forbidden {
						k.Error(err)
					}
					low, err := k.svc.Authenticator.Identify(k.ctx, identity.Credential{Bearer: s.AccessToken})
					k.ok(err)
					e, err := k.svc.Factors.EnrolFactor(k.ctx, low, factor.Enrol{Kind: "totp"})
					k.ok(err)
					ch, err := k.svc.Factors.ChallengeFactor(k.ctx, low, e.ID, identity.Offer{})
					k.ok(err)
					up, err := k.svc.Factors.VerifyFactor(k.ctx, low, e.ID,
						factor.Answer{ChallengeID: ch.ID, Code: k.codeOf(app{e.ID, totp.Secret(e.TOTP.Secret)})})
					k.ok(err)
					if a := k.actor(up); a.AAL != "aal2" || a.TenantID != north {
						k.Errorf("%+v", a)
					}
				}
				// Another tenant's wish is not ours.
				k.actor(k.member(south, "s@x.example", actor.Owner))
			})
		})
	}
}

func TestMFA_admin(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		a, up := k.protect(s)
		_, err := k.svc.Factors.UserFactors(k.ctx, k.actor(up), s.User.ID)
		k.code(err, "not_admin")
		list, err := k.svc.Factors.UserFactors(k.ctx, k.service(), s.User.ID)
		k.ok(err)
		if len(list) != 1 || list[0].ID != a.id {
			k.Errorf("%+v", list)
		}
		f, err := k.svc.Factors.ChangeUserFactor(k.ctx, k.service(), s.User.ID, a.id,
			identity.FactorChange{FriendlyName: new("desk")})
		k.ok(err)
		if f.FriendlyName != "desk" {
			k.Errorf("%+v", f)
		}
		_, err = k.svc.Factors.RemoveUserFactor(k.ctx, k.service(), s.User.ID, a.id)
		k.ok(err)
		if got := k.actor(up).AAL; got != "aal1" {
			k.Errorf("still %s", got)
		}
		_, err = k.svc.Factors.RemoveUserFactor(k.ctx, k.service(), s.User.ID, a.id)
		k.code(err, "mfa_factor_not_found")
		k.protect(k.signIn("a@x.example"))
		k.ok(k.svc.Admin.DeleteUser(k.ctx, k.service(), s.User.ID, false))
	})
}

// Apps that are enrolled stay where no more may be, and are asked no more where
// they are switched off.
func TestMFA_appsOff(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		a := k.enrol(s, "App")
		up, err := k.answer(s, a, k.codeOf(a))
		k.ok(err)
		k.sleep(time.Minute)
		q := k.challenge(up, a.id)
		k.cfg.MFAAppsOff.NoEnrol = true
		k.start()
		_, err = k.svc.Factors.EnrolFactor(k.ctx, k.actor(up), factor.Enrol{Kind: "totp", FriendlyName: "Another"})
		k.code(err, "mfa_totp_enroll_not_enabled")
		up, err = k.reply(up, a.id, q, k.codeOf(a))
		k.ok(err)
		k.sleep(time.Minute)
		q = k.challenge(up, a.id)
		k.cfg.MFAAppsOff.NoVerify = true
		k.start()
		_, err = k.svc.Factors.ChallengeFactor(k.ctx, k.actor(up), a.id, identity.Offer{})
		k.code(err, "mfa_totp_verify_not_enabled")
		_, err = k.reply(up, a.id, q, k.codeOf(a))
		k.code(err, "mfa_totp_verify_not_enabled")
	})
}

// Where the operator wants it, a question is answered from where it was asked;
// addresses of one IPv6 network are one.
func TestMFA_sameAddress(t *testing.T) {
	for same, want := range map[bool]string{true: "mfa_ip_address_mismatch", false: ""} {
		onBoth(t, func(c *identity.Config) { c.MFASameAddress = same }, func(k *kit) {
			s := k.signUp("a@x.example", nil)
			a := k.enrol(s, "App")
			at := func(address string) actor.Actor {
				who := k.actor(s)
				who.Address = address
				return who
			}
			try := func(asked, answered string) error {
				k.sleep(time.Minute)
				c, err := k.svc.Factors.ChallengeFactor(k.ctx, at(asked), a.id, identity.Offer{})
				k.ok(err)
				_, err = k.svc.Factors.VerifyFactor(k.ctx, at(answered), a.id, factor.Answer{ChallengeID: c.ID, Code: k.codeOf(a)})
				return err
			}
			k.ok(try("192.0.2.1", "192.0.2.1"))
			k.ok(try("2001:db8:1:2::3", "2001:db8:1:2::4"))
			if err := try("192.0.2.1", "192.0.2.2"); want == "" {
				k.ok(err)
			} else {
				k.code(err, want)
			}
		})
	}
}
