package providers

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"maps"
	"net/url"
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/mailtemplate"
	"holdfast/internal/identity/oidc"
	"holdfast/internal/identity/redirect"
	"holdfast/internal/identity/sessions"
	"holdfast/internal/identity/signin"
	"holdfast/internal/identity/tenants"
	"holdfast/internal/identity/token"
	"holdfast/internal/secrets"
)

// OAuth is sign-in at providers, what they link to accounts, and the exchange of
// authorization codes.
type OAuth struct {
	*accounts.Base
	Accounts     *accounts.Store
	Addresses    *tenants.Addresses
	Codes        *codes.Store
	Invitations  *tenants.Invitations
	Links        *accounts.Links
	Post         *codes.Post
	Proofs       *accounts.Proofs
	Sessions     *sessions.Store
	Verification *signin.Verification
}

// Authorize is a request to sign in at a provider.
type Authorize struct {
	Provider string
	Redirect string // resolved by Target
	Scopes   string // blank-separated, added to openid email profile
	PKCE     codes.PKCE
	Invite   string     // the token of an invitation that the sign-in takes up; "" = none
	LinkTo   string     // the signed-in account to link to; "" = sign in
	Extra    url.Values // forwarded to the provider, control parameters excepted
}

// Forwarded is what of the query of /authorize goes on to the provider: all that
// is not ours. What the flow stands on is held back where the request is written.
func Forwarded(q url.Values) url.Values {
	out := maps.Clone(q)
	for _, ours := range []string{"provider", "redirect_to", "scopes", "code_challenge", "code_challenge_method", "invite_token", "skip_http_redirect", "apikey"} {
		out.Del(ours)
	}
	return out
}

// AuthStart is where to send the browser, and the cookie that binds the flow
// to it.
type AuthStart struct {
	Location            string
	CookieName, Browser string
	MaxAge              time.Duration
}

// findProvider is one of the configuration, by its name or as custom:name, which is
// what clients call a provider that they do not know; nil = none.
func (s *OAuth) findProvider(name string) *oidc.Provider {
	return s.Providers[strings.TrimPrefix(name, "custom:")]
}

// Configured reports whether a name is a provider's of the configuration.
func (s *OAuth) Configured(name string) bool { return s.findProvider(name) != nil }

// UnknownProvider refuses a sign-in at a provider that there is not.
func UnknownProvider() error {
	return fault.New(fault.Invalid, "validation_failed", "Unsupported provider: provider is not enabled")
}

// Authorize starts a sign-in at a provider.
func (s *OAuth) Authorize(ctx context.Context, in Authorize) (AuthStart, error) {
	p := s.findProvider(in.Provider)
	if p == nil {
		return AuthStart{}, UnknownProvider()
	}
	in.Provider = p.Config().Name
	if err := in.PKCE.Check(); err != nil {
		return AuthStart{}, err
	}
	if in.PKCE.Challenge == "" && !s.Config.ImplicitFlow {
		return AuthStart{}, fault.New(
			fault.Invalid,
			"validation_failed",
			"The implicit flow is switched off; send code_challenge and code_challenge_method",
		)
	}
	id, browser, now := db.NewID(), secrets.RandomHex(32), s.Now()
	sec := codes.FlowSecrets{Nonce: secrets.RandomHex(16), Verifier: oidc.NewVerifier()}
	loc, err := p.AuthURL(
		ctx,
		oidc.Request{State: s.signedState(id), Nonce: sec.Nonce, Verifier: sec.Verifier, Scopes: strings.Fields(in.Scopes), Extra: in.Extra},
	)
	if err != nil {
		return AuthStart{}, err
	}
	err = s.Write(ctx, func(tx *db.Tx) error {
		if in.Invite != "" {
			if sec.Invite, sec.Offer, err = s.Invitations.Shown(tx, in.Invite); err != nil {
				return err
			}
		}
		_, err := tx.Exec(`INSERT INTO flow_states (id, method, provider, redirect_to, challenge, challenge_method, secrets,
			browser_hash, created_at, expires_at, link_user_id)
			VALUES ($1, 'oauth', $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			id, in.Provider, in.Redirect, db.Null(in.PKCE.Challenge), db.Null(strings.ToLower(in.PKCE.Method)), s.Codes.SealFlow(id,
				sec), secrets.Digest(browser), now, now.Add(s.Config.ProviderTTL), db.Null(in.LinkTo))
		return err
	})
	return AuthStart{Location: loc, CookieName: codes.CookieName(id), Browser: browser, MaxAge: s.Config.ProviderTTL}, err
}

// signedState is the flow's id with a keyed hash behind it: it can neither be guessed
// nor enumerated.
func (s *OAuth) signedState(flowID string) string {
	return flowID + "." + hex.EncodeToString(s.Secrets.Sum("state", flowID)[:16])
}

func (s *OAuth) flowOf(state string) (string, bool) {
	id, _, _ := strings.Cut(state, ".")
	id, ok := accounts.CanonicalID(id)
	return id, ok && subtle.ConstantTimeCompare([]byte(s.signedState(id)), []byte(state)) == 1
}

// Callback is what a provider's redirect brought back. Provider is the path's:
// each has one of its own, so that an answer cannot be taken for another
// provider's (RFC 9700 section 4.4). "" is the path without a name, which is as
// good as long as there is one provider only.
type Callback struct {
	Provider                                string
	State, Code, Error, Description, Issuer string
	Given, Family                           string // the name a posted answer had, "" = none
	Cookie                                  func(name string) string
}

func badState(msg string) error { return fault.New(fault.Invalid, "bad_oauth_state", "%s", msg) }

// FinishOAuth answers the provider's redirect. Whatever goes wrong is told in
// a redirect: to the site when the state is unusable, else to the target.
func (s *OAuth) FinishOAuth(ctx context.Context, in Callback, c accounts.Client) signin.Landing {
	f, err := s.claimFlow(ctx, in)
	if err != nil {
		s.Links.Ours(err)
		fa := fault.As(err)
		v := url.Values{"error": {accounts.OAuthError(fa)}, "error_code": {accounts.WireCode(fa)}, "error_description": {fa.Msg}}
		return signin.Landing{Location: redirect.WithQuery(s.Links.Redirects.Site(), v)}
	}
	to, err := s.finishAnswer(ctx, f, in, c)
	if err != nil {
		s.Links.Ours(err)
		to.Location = s.Links.Failure(f.Redirect, err, true)
	}
	return to
}

// claimFlow finds the flow of a state and marks it used: a state works once,
// within its life, and in the browser that started it.
func (s *OAuth) claimFlow(ctx context.Context, in Callback) (codes.Flow, error) {
	id, ok := s.flowOf(in.State)
	if !ok {
		return codes.Flow{}, badState("OAuth state parameter is missing or invalid")
	}
	var f codes.Flow
	err := s.Write(ctx, func(tx *db.Tx) (err error) {
		f, err = codes.FlowBy(tx, "id = $1", id)
		switch {
		case fault.Is(err, fault.NotFound):
			return badState("OAuth state not found or expired")
		case err != nil:
			return err
		case f.Used:
			return fault.New(fault.Invalid, "flow_state_already_used", "OAuth state was used before")
		case !s.Now().Before(f.Expires):
			return badState("OAuth state has expired")
		}
		if in.Provider != f.Provider && (in.Provider != "" || len(s.Providers) > 1) {
			return badState("The answer of one provider came to the address of another")
		}
		// A link begun by a script with a bearer token has no cookie: what binds
		// it to the browser is the verifier, and nothing is linked before that
		// is shown.
		byVerifier := f.LinkUser != "" && f.Challenge != ""
		if mine := in.Cookie(codes.CookieName(id)); !byVerifier &&
			subtle.ConstantTimeCompare([]byte(secrets.Digest(mine)), []byte(f.BrowserHash)) != 1 {
			return badState("OAuth state belongs to another browser")
		}
		n, err := tx.Exec(`
			UPDATE flow_states
			SET used_at = $2
			WHERE id = $1
				AND used_at IS NULL`, id, s.Now())
		if err == nil && n == 0 {
			err = fault.New(fault.Invalid, "flow_state_already_used", "OAuth state was used before")
		}
		return err
	})
	return f, err
}

// finishAnswer turns the provider's answer into a session or an authorization code.
func (s *OAuth) finishAnswer(ctx context.Context, f codes.Flow, in Callback, c accounts.Client) (to signin.Landing, err error) {
	p := s.Providers[f.Provider]
	if p == nil {
		return to, fault.New(fault.Invalid, "provider_disabled", "The provider is not enabled any more")
	}
	if err := p.Sent(ctx, in.Issuer); err != nil {
		return to, err
	}
	if in.Error != "" {
		return to, fault.New(fault.Forbidden, "access_denied", "%s", accounts.CutText(in.Error+": "+in.Description, 200))
	}
	if in.Code == "" {
		return to, fault.New(fault.Invalid, "bad_oauth_callback", "OAuth callback with missing authorization code")
	}
	sec, err := s.Codes.OpenFlow(f)
	if err != nil {
		return to, err
	}
	who, err := p.Exchange(ctx, in.Code, sec.Verifier, sec.Nonce)
	if err != nil {
		return to, err
	}
	p.Introduce(&who, in.Given, in.Family)
	if f.LinkUser != "" {
		to.Location, err = s.arriveLink(ctx, f, who, c)
		return to, err
	}
	f.Invite, c.Invite = sec.Invite, sec.Offer
	return s.admitPerson(ctx, f, p.Config(), who, c)
}

// admitPerson finds or makes the account, then finishes the flow. A refusal comes
// apart from the error where something has to be stored with it: an account
// whose address the provider does not vouch for waits for its owner's proof.
func (s *OAuth) admitPerson(ctx context.Context, f codes.Flow, p oidc.Config, who oidc.Person, c accounts.Client) (to signin.Landing, err error) {
	var g *sessions.Grant
	var needs *proof
	err = s.Accounts.OnceMore(func() error {
		return s.Write(ctx, func(tx *db.Tx) (err error) {
			g, to, needs = nil, signin.Landing{}, nil
			guest, err := s.invitedAccount(tx, f, who)
			if err != nil {
				return err
			}
			u, err := s.findPerson(tx, p, who, c)
			if err != nil {
				return err
			}
			if guest != "" && u.ID != guest {
				return errOtherGuest()
			}
			if u.Banned(s.Now()) {
				return accounts.ErrBanned()
			}
			if u.ConfirmedAt.IsZero() {
				needs, err = s.askProof(tx, u, f, u.IdentityOf(p, who))
				return err
			}
			if f.Challenge == "" {
				if g, err = s.Sessions.Begin(tx, u, token.Method{Method: "oauth", Provider: f.Provider}, c); err != nil {
					return err
				}
				g.ProviderToken, g.ProviderRefresh = who.AccessToken, who.RefreshToken
				_, err = s.Codes.EndFlow(tx, f.ID)
				return err
			}
			sealed := s.Codes.SealFlow(f.ID, codes.FlowSecrets{AccessToken: who.AccessToken, RefreshToken: who.RefreshToken, Offer: c.Invite})
			to.Location, err = s.handCode(tx, f, u, sealed)
			return err
		})
	})
	if err != nil {
		return signin.Landing{}, err
	}
	if needs != nil {
		return needs.cookie, s.needsVerification(needs)
	}
	if g == nil {
		return to, nil
	}
	sess, err := s.Sessions.Issue(g)
	if err != nil {
		return signin.Landing{}, err
	}
	return signin.Landing{Location: signin.Fragment(s.Links, sess, f.Redirect, "")}, nil
}

// invitedAccount is the account that was invited where a flow takes an invitation up, or
// "". The provider's person has to have the invited address; whether the account
// is theirs by it is decided as in any sign-in there.
func (s *OAuth) invitedAccount(tx *db.Tx, f codes.Flow, who oidc.Person) (string, error) {
	if f.Invite == "" {
		return "", nil
	}
	t, err := codes.CodeBy(tx, "id = $1", f.Invite)
	if _, err = s.Invitations.Check(tx, t, err); err != nil {
		return "", err
	}
	if email, err := accounts.Canonical(who.Email); err != nil || email != t.Address {
		return "", errOtherGuest()
	}
	return t.User, nil
}

func errOtherGuest() error {
	return fault.New(fault.Invalid, "validation_failed", "The invitation is for another address than the provider's account has")
}

// proof is what a sign-in with an address that nobody has proved waits for.
type proof struct {
	mail   mailtemplate.Letter // none where one was sent lately
	cookie signin.Landing      // of the browser that signed in, where it has no verifier
}

// askProof makes the code by which the owner of the address proves it; in the
// browser of the flow it proves the identity as well. A second sign-in within
// the mail interval makes none: the first one's holds.
func (s *OAuth) askProof(tx *db.Tx, u *accounts.User, f codes.Flow, identity string) (*proof, error) {
	if s.Post.SentLately(u.ConfirmationSentAt) {
		return &proof{}, nil
	}
	o := codes.CodeOrder{Kind: codes.KindSignup, Address: u.Email, Redirect: f.Redirect, Identity: identity}
	if f.Challenge != "" {
		o.PKCE = codes.PKCE{Challenge: f.Challenge, Method: "s256"}
	} else if f.ID != "" {
		o.Browser = secrets.RandomHex(32)
	}
	made, err := s.Codes.MakeCode(tx, u, o)
	return &proof{
		mail: mailtemplate.Letter{Kind: mailtemplate.Confirmation, User: u.ID, To: u.Email, Link: made.Link,
			Code: made.Digits, Valid: s.Config.CodeTTL},
		cookie: signin.Landing{CookieName: made.Cookie, Browser: o.Browser, MaxAge: s.Config.CodeTTL},
	}, err
}

// needsVerification mails what askProof made and refuses the sign-in.
func (s *OAuth) needsVerification(needs *proof) error {
	if needs.mail.Kind != "" {
		if err := s.Post.Send(needs.mail); err != nil {
			return err
		}
	}
	return fault.New(fault.Unprocessable, "provider_email_needs_verification",
		"Unverified email with the provider. A confirmation email has been sent to your address")
}

// handCode lets whoever holds the flow's verifier sign in as u, and returns the
// address that takes the code there.
func (s *OAuth) handCode(tx *db.Tx, f codes.Flow, u *accounts.User, sealed []byte) (string, error) {
	tx.Queue("UPDATE flow_states SET user_id = $2, secrets = $3 WHERE id = $1", []any{f.ID, u.ID, sealed}, nil)
	code, err := s.Codes.IssueCode(tx, f)
	return redirect.WithQuery(f.Redirect, url.Values{"code": {code}}), err
}
