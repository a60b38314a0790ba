package auth

import (
	"bytes"
	"net/http"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/token"
	"holdfast/internal/web"
)

func (a *API) signUp(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		Email    string `json:"email"`
		Phone    string `json:"phone"`
		Channel  string `json:"channel"`
		Password string `json:"password"`
		Data     object `json:"data"`
		Invite   string `json:"invite_token"`
		pkce
		captcha
	}
	if err := decodeBody(c, &in); err != nil {
		return err
	}
	if in.Invite != "" {
		in.Data = in.Data.withMember("invite_token", in.Invite)
	}
	if in.Email == "" && in.Phone != "" {
		return a.signUpPhone(w, c, in.captcha, identity.PhoneSignUp{Phone: in.Phone, Channel: in.Channel,
			Password: in.Password, Data: in.Data})
	}
	if in.Phone != "" {
		return fault.New(fault.Invalid, "validation_failed",
			"Only an email address or phone number should be provided on signup.")
	}
	if in.Email == "" && in.Password == "" {
		if err := a.countAndCheckCaptcha(w, c, "", in.captcha); err != nil {
			return err
		}
		sess, err := a.svc.SignUps.SignUpAnonymous(c.Context(), in.Data, c.Client())
		if err != nil {
			return err
		}
		return web.JSON(w, http.StatusOK, sess)
	}
	if err := a.countAndCheckCaptcha(w, c, in.Email, in.captcha); err != nil {
		return err
	}
	sess, u, err := a.svc.SignUps.SignUp(c.Context(),
		identity.SignUp{Email: in.Email, Password: in.Password, Data: in.Data, PKCE: in.pkcePair(),
			Redirect: a.redirectTarget(c, "")}, c.Client())
	if err != nil {
		return err
	}
	if sess != nil {
		return web.JSON(w, http.StatusOK, sess)
	}
	return web.JSON(w, http.StatusOK, u)
}

func (a *API) signUpPhone(w http.ResponseWriter, c *route.Call, solved captcha, in identity.PhoneSignUp) error {
	if err := a.countAndCheckCaptcha(w, c, in.Phone, solved); err != nil {
		return err
	}
	sess, u, err := a.svc.SignUps.SignUpPhone(c.Context(), in, c.Client())
	if err != nil {
		return err
	}
	if sess != nil {
		return web.JSON(w, http.StatusOK, sess)
	}
	return web.JSON(w, http.StatusOK, u)
}

// grant are the members of a token request, whatever its grant.
type grant struct {
	Type     string `json:"grant_type"`
	Email    string `json:"email"`
	Phone    string `json:"phone"`
	Password string `json:"password"`
	Refresh  string `json:"refresh_token"`
	Code     string `json:"auth_code"`
	Verifier string `json:"code_verifier"`
	IDToken  string `json:"id_token"`
	Provider string `json:"provider"`
	Access   string `json:"access_token"`
	Nonce    string `json:"nonce"`
	ClientID string `json:"client_id"`
	Issuer   string `json:"issuer"`
	Link     bool   `json:"link_identity"`
	Invite   string `json:"invite_token"`
	Secret   string `json:"client_secret"`
	Scope    string `json:"scope"`
	captcha
}

// readGrant takes JSON or a form; the grant type of the query wins, then the
// body's, then what the members say (interface: email and password alone).
func readGrant(w http.ResponseWriter, c *route.Call) (grant, error) {
	var in grant
	if isForm(c.Request) {
		v, err := readForm(w, c)
		if err != nil {
			return in, err
		}
		in = grant{Type: v.Get("grant_type"), Email: v.Get("email"), Phone: v.Get("phone"), Password: v.Get("password"),
			Refresh: v.Get("refresh_token"),
			Code:    v.Get("auth_code"), Verifier: v.Get("code_verifier"), IDToken: v.Get("id_token"),
			Provider: v.Get("provider"),
			Access:   v.Get("access_token"), Nonce: v.Get("nonce"),
			ClientID: v.Get("client_id"), Issuer: v.Get("issuer"), Invite: v.Get("invite_token"),
			Secret: v.Get("client_secret"), Scope: v.Get("scope")}
		in.Meta.Answer = v.Get("captcha_token")
		if in.Email == "" {
			in.Email = v.Get("username")
		}
	} else if err := readJSONGrant(w, c, &in); err != nil {
		return in, err
	}
	if q := c.URL.Query(); q.Has("grant_type") {
		in.Type = q.Get("grant_type")
	} else if in.Type == "" {
		in.inferGrantType()
	}
	return in, nil
}

// grantsByBody are the grants of the query that a body has to complete.
var grantsByBody = []string{"password", "refresh_token", "pkce", "id_token"}

// readJSONGrant reads a token request in JSON. GoTrue calls an absent body, and
// one that is no JSON, bad_json; what is read and lacks a member is validation_failed.
func readJSONGrant(w http.ResponseWriter, c *route.Call, in *grant) error {
	body, err := web.ReadBody(w, c.Request, maxBody)
	if err != nil {
		return nameBodyFault(err)
	}
	if len(bytes.TrimSpace(body)) > 0 {
		if err := web.JSONType(c.Request); err != nil {
			return err
		}
		if err := web.Unmarshal(body, in); err != nil {
			return nameBodyFault(err)
		}
		return nil
	}
	if slices.Contains(grantsByBody, c.URL.Query().Get("grant_type")) {
		return fault.New(fault.Invalid, "bad_json", "Could not parse request body as JSON: the body is empty")
	}
	return nil
}

func (in *grant) inferGrantType() {
	switch {
	case in.Refresh != "":
		in.Type = "refresh_token"
	case in.Code != "":
		in.Type = "pkce"
	case in.IDToken != "":
		in.Type = "id_token"
	case in.Email != "" || in.Phone != "" || in.Password != "":
		in.Type = "password"
	}
}

func (a *API) serveToken(w http.ResponseWriter, c *route.Call) error {
	in, err := readGrant(w, c)
	if err != nil {
		return err
	}
	if in.Type == "client_credentials" {
		return serviceAccounts{a}.clientCredentials(w, c, in)
	}
	sess, err := a.exchangeGrant(w, c, in)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, sess)
}

func (a *API) exchangeGrant(w http.ResponseWriter, c *route.Call, in grant) (*identity.Session, error) {
	switch in.Type {
	case "password":
		return a.byPassword(w, c, in)
	case "refresh_token":
		return a.refreshSession(w, c, in.Refresh)
	case "pkce":
		return a.byCode(w, c, in)
	case "id_token":
		return a.byIDToken(w, c, in)
	case "web3":
		return nil, fault.New(fault.Unprocessable, "web3_provider_disabled", "Web3 provider is disabled")
	}
	return nil, fault.New(fault.Invalid, "invalid_credentials", "unsupported_grant_type")
}

func (a *API) byPassword(w http.ResponseWriter, c *route.Call, in grant) (*identity.Session, error) {
	if in.Email == "" && in.Phone != "" {
		if err := a.countAndCheckCaptcha(w, c, in.Phone, in.captcha); err != nil {
			return nil, err
		}
		return a.svc.SignIns.SignInPhone(c.Context(), in.Phone, in.Password, a.countFoundAccount(w, c, in.Phone, in.Invite))
	}
	if in.Email == "" {
		return nil, fault.New(fault.Invalid, "validation_failed", "missing email or phone")
	}
	if err := a.countAndCheckCaptcha(w, c, in.Email, in.captcha); err != nil {
		return nil, err
	}
	return a.svc.SignIns.SignIn(c.Context(), in.Email, in.Password, a.countFoundAccount(w, c, in.Email, in.Invite))
}

// byCode redeems an authorization code. Its owner was counted when he asked for it,
// so that a sign-in at a provider is one attempt; only codes that are wrong count.
func (a *API) byCode(w http.ResponseWriter, c *route.Call, in grant) (*identity.Session, error) {
	if err := a.countCode(w, c, false); err != nil {
		return nil, err
	}
	client := c.Client()
	client.Invite = in.Invite
	sess, err := a.svc.OAuth.Exchange(c.Context(), in.Code, in.Verifier, client)
	if err != nil && web.Status(fault.As(err).Kind) < http.StatusInternalServerError {
		if over := a.countCode(w, c, true); over != nil {
			return nil, over
		}
	}
	return sess, err
}

func (a *API) countCode(w http.ResponseWriter, c *route.Call, came bool) error {
	if a.opt.Windows.Code == nil {
		return nil
	}
	if c.Exempt {
		return a.showFullWindow(w, c)
	}
	return a.opt.Windows.Code(w, c.Request, came)
}

// byIDToken signs in with a provider's token, or links it to the account of
// the bearer token that link_identity then needs.
func (a *API) byIDToken(w http.ResponseWriter, c *route.Call, in grant) (*identity.Session, error) {
	if err := a.countSecret(w, c); err != nil {
		return nil, err
	}
	t := identity.IDToken{Provider: in.Provider, Token: in.IDToken, AccessToken: in.Access, Nonce: in.Nonce,
		ClientID: in.ClientID, Issuer: in.Issuer}
	if !in.Link {
		client := c.Client()
		client.Invite = in.Invite
		return a.svc.OAuth.SignInIDToken(c.Context(), t, client)
	}
	who, err := route.User(c, a.svc)
	if err != nil {
		return nil, err
	}
	return a.svc.OAuth.LinkIDToken(c.Context(), who, t, c.Client())
}

// refreshSession counts a refresh by its session, so that an office behind one
// address is not locked out by its own clients. Anybody can make up a session:
// what turns out to be of none counts on the address.
func (a *API) refreshSession(w http.ResponseWriter, c *route.Call, raw string) (*identity.Session, error) {
	if err := a.countRefresh(w, c, raw); err != nil {
		return nil, err
	}
	sess, err := a.svc.Sessions.Refresh(c.Context(), raw, c.Client())
	if a.opt.Windows.Unknown != nil && fault.HasCode(err, "refresh_token_not_found") {
		if over := a.opt.Windows.Unknown(w, c.Request, true); over != nil {
			return nil, over
		}
	}
	return sess, err
}

func (a *API) countRefresh(w http.ResponseWriter, c *route.Call, raw string) error {
	t, err := token.ParseRefresh(raw)
	if err != nil {
		return a.countAttempt(w, c, "")
	}
	if a.opt.Windows.Unknown != nil {
		if err := a.opt.Windows.Unknown(w, c.Request, false); err != nil {
			return err
		}
	}
	if a.opt.Windows.Session == nil {
		return nil
	}
	return a.opt.Windows.Session(w, c.Request, actor.Actor{SessionID: t.Session, Address: web.ClientAddress(c.Request)})
}

func (a *API) endSession(w http.ResponseWriter, c *route.Call) error {
	if err := a.svc.Sessions.Logout(c.Context(), c.Actor, c.URL.Query().Get("scope")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
