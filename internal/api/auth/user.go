package auth

import (
	"cmp"
	"holdfast/internal/api/route"
	"net/http"
	"strconv"

	"holdfast/internal/access"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/signin"
	"holdfast/internal/web"
)

func (a *API) getUser(w http.ResponseWriter, c *route.Call) error {
	u, err := a.svc.Profile.UserJSON(c.Context(), c.Actor)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(u)))
	_, err = w.Write(u)
	return err
}

func (a *API) putUser(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		Data        object `json:"data"`
		Password    string `json:"password"`
		Current     string `json:"current_password"`
		Nonce       string `json:"nonce"`
		Email       string `json:"email"`
		Phone       string `json:"phone"`
		Channel     string `json:"channel"`
		AppMetadata object `json:"app_metadata"`

		Remove []string `json:"remove"`
		pkce
	}
	if err := decodeBody(c, &in); err != nil {
		return err
	}
	if in.Password != "" || in.Current != "" || in.Nonce != "" {
		if err := a.countOwn(w, c); err != nil {
			return err
		}
	}
	u, err := a.svc.Profile.UpdateUser(
		c.Context(),
		c.Actor,
		identity.Update{Data: in.Data, Password: in.Password, CurrentPassword: in.Current, Nonce: in.Nonce,
			Email: in.Email, Phone: in.Phone, Channel: in.Channel, AppMetadata: in.AppMetadata,
			PKCE: in.pkcePair(), Redirect: a.redirectTarget(c, ""), Remove: in.Remove},
	)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, u)
}

func (a *API) sendReauthentication(w http.ResponseWriter, c *route.Call) error {
	if err := a.svc.OTP.Reauthenticate(c.Context(), c.Actor); err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, struct{}{})
}

// renewProof makes the session a fresh one.
func (a *API) renewProof(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		Password string `json:"password"`
		Current  string `json:"current_password"`
		Nonce    string `json:"nonce"`
		ceremonyBody
	}
	if err := decodeExact(c, &in); err != nil {
		return err
	}
	if err := a.countOwn(w, c); err != nil {
		return err
	}
	proof := identity.Proof{Password: cmp.Or(in.Password, in.Current), Nonce: in.Nonce, ChallengeID: in.Challenge,
		Credential: in.Credential}
	if err := a.svc.Profile.RenewProof(c.Context(), c.Actor, proof); err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, struct{}{})
}

// mailBody are the members of the requests for a mail.
type mailBody struct {
	Type       string `json:"type"`
	Email      string `json:"email"`
	Phone      string `json:"phone"`
	Channel    string `json:"channel"`
	CreateUser *bool  `json:"create_user"`
	Data       object `json:"data"`
	pkce
	captcha
}

// sendText is mailing for a telephone number; text returns the message's id.
func (a *API) sendText(
	w http.ResponseWriter, c *route.Call, in mailBody, text func(in mailBody) (string, error),
) error {
	if err := a.askMail(w, c, in.Phone, in.captcha); err != nil {
		return err
	}
	id, err := text(in)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]string{"message_id": id})
}

// sendMail reads a request for a mail, counts it and hands it to send, or to
// text when it names a telephone number. Every accepted one gets the same
// answer.
func (a *API) sendMail(w http.ResponseWriter, c *route.Call, send func(in mailBody, m identity.MailRequest) error,
	text func(in mailBody) (string, error)) error {
	var in mailBody
	if err := decodeBody(c, &in); err != nil {
		return err
	}
	if in.Phone != "" && in.Email == "" && text != nil {
		return a.sendText(w, c, in, text)
	}
	if in.Phone != "" {
		return fault.New(fault.Invalid, "validation_failed", "This request takes an email address, not a phone number")
	}
	if err := a.askMail(w, c, in.Email, in.captcha); err != nil {
		return err
	}
	err := send(
		in,
		identity.MailRequest{Email: in.Email, PKCE: in.pkcePair(), Redirect: a.redirectTarget(c, ""), Data: in.Data,
			Create: in.CreateUser == nil || *in.CreateUser},
	)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, struct{}{})
}

func (a *API) sendRecovery(w http.ResponseWriter, c *route.Call) error {
	return a.sendMail(w, c, func(_ mailBody, m identity.MailRequest) error {
		return a.svc.OTP.Recover(c.Context(), m, c.Client())
	}, nil)
}

func (a *API) sendOTP(w http.ResponseWriter, c *route.Call) error {
	return a.sendMail(
		w,
		c,
		func(_ mailBody, m identity.MailRequest) error { return a.svc.OTP.OTP(c.Context(), m, c.Client()) },
		func(in mailBody) (string, error) {
			return a.svc.OTP.OTPPhone(c.Context(),
				identity.PhoneRequest{Phone: in.Phone, Channel: in.Channel, Data: in.Data, Create: in.CreateUser == nil ||
					*in.CreateUser}, c.Client())
		},
	)
}

func (a *API) resendMail(w http.ResponseWriter, c *route.Call) error {
	return a.sendMail(w, c, func(in mailBody, m identity.MailRequest) error {
		return a.svc.OTP.Resend(c.Context(), in.Type, m, c.Client())
	}, func(in mailBody) (string, error) {
		return a.svc.OTP.ResendPhone(c.Context(), in.Type, in.Phone, c.Client())
	})
}

func (a *API) verifyToken(w http.ResponseWriter, c *route.Call) error {
	if isForm(c.Request) {
		return a.postLink(w, c)
	}
	var in struct {
		Type      string `json:"type"`
		Token     string `json:"token"`
		Email     string `json:"email"`
		Phone     string `json:"phone"`
		TokenHash string `json:"token_hash"`
	}
	if err := decodeBody(c, &in); err != nil {
		return err
	}
	v := identity.Verify{Type: in.Type, Token: in.Token, Email: in.Email, Phone: in.Phone, TokenHash: in.TokenHash}
	if err := a.countCodeOf(w, c, v); err != nil {
		return err
	}
	sess, err := a.svc.Verification.Verify(c.Context(), v, c.Client())
	if err != nil {
		return err
	}
	if sess == nil {
		return web.JSON(w, http.StatusOK, map[string]string{"msg": signin.Halfway, "code": "200"})
	}
	return web.JSON(w, http.StatusOK, sess)
}

// countCodeOf charges the digits of a code to whose they are; nobody guesses what is
// behind a link.
func (a *API) countCodeOf(w http.ResponseWriter, c *route.Call, v identity.Verify) error {
	if v.TokenHash != "" && v.Account() == "" {
		return a.countSecret(w, c)
	}
	return a.countAs(w, c, v.Account(), access.Attempt{}, a.svc.Post.Asked)
}

func (a *API) serveSettings(w http.ResponseWriter, c *route.Call) error {
	has, err := a.svc.Admin.HasAdministrator(c.Context())
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, struct {
		identity.Settings
		SetupNeeded bool `json:"setup_needed"`
	}{a.svc.Settings(), !has})
}

// serveHealth is not counted: whoever probes it asks often.
func (a *API) serveHealth(w http.ResponseWriter, c *route.Call) error {
	if err := a.showFullWindow(w, c); err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK,
		map[string]string{"version": route.Contract, "name": "Holdfast",
			"description": "Holdfast identity: accounts, sessions and memberships"})
}

func (a *API) serveJWKS(w http.ResponseWriter, _ *route.Call) error {
	w.Header().Set("Cache-Control", "public, max-age=600")
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, err := w.Write(a.svc.Keyring.JWKS())
	return err
}
