package sso

import (
	"net/http"
	"net/url"
	"strings"

	"holdfast/internal/api/route"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/providers"
	"holdfast/internal/sso"
	"holdfast/internal/sso/openid"
	"holdfast/internal/sso/samlsp"
	"holdfast/internal/web"
)

func (a *API) startSignIn(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		ProviderID string `json:"provider_id"`
		Domain     string `json:"domain"`
		RedirectTo string `json:"redirect_to"`
		Skip       bool   `json:"skip_http_redirect"`
		Challenge  string `json:"code_challenge"`
		Method     string `json:"code_challenge_method"`
	}
	if err := decodeBody(c, &in); err != nil {
		return err
	}
	loc, err := a.svc.Begin(c.Context(),
		sso.Start{ProviderID: in.ProviderID, Domain: in.Domain,
			Redirect: a.ident.Links.Target(c.URL.Query().Get("redirect_to"), in.RedirectTo, c.Referer()),
			PKCE:     identity.PKCE{Challenge: in.Challenge, Method: in.Method}})
	if err != nil {
		return err
	}
	if in.Skip {
		return web.JSON(w, http.StatusOK, map[string]string{"url": loc})
	}
	return redirectTo(w, http.StatusSeeOther, loc)
}

// Authorize is start for signInWithOAuth({provider: "custom:x"}).
func (a *API) Authorize(w http.ResponseWriter, c *route.Call) error {
	q := c.URL.Query()
	loc, err := a.svc.Begin(c.Context(), sso.Start{Identifier: q.Get("provider"), Invited: q.Get("invite_token") != "",
		Redirect: a.ident.Links.Target(q.Get("redirect_to"), c.Referer()),
		PKCE:     identity.PKCE{Challenge: q.Get("code_challenge"), Method: q.Get("code_challenge_method")},
		Wish:     openid.Wish{Scopes: strings.Fields(q.Get("scopes")), Extra: providers.Forwarded(q)}})
	if fault.HasCode(err, "sso_provider_not_found") {
		return providers.UnknownProvider()
	}
	if err != nil {
		return err
	}
	if q.Get("skip_http_redirect") == "true" {
		return web.JSON(w, http.StatusOK, map[string]string{"url": loc})
	}
	return redirectTo(w, http.StatusFound, loc)
}

// leadBack leads a browser on that comes from a provider: by 302 to where it began, by
// 303 with what went wrong.
func leadBack(w http.ResponseWriter, to string) error {
	if strings.Contains(to, "error_code=") {
		return redirectTo(w, http.StatusSeeOther, to)
	}
	return redirectTo(w, http.StatusFound, to)
}

func redirectTo(w http.ResponseWriter, status int, to string) error {
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Location", to)
	w.WriteHeader(status)
	return nil
}

func (a *API) serveMetadata(w http.ResponseWriter, c *route.Call) error {
	if !a.svc.SAML() {
		return samlOff()
	}
	b, err := samlsp.Descriptor(a.svc.EntityID(), a.svc.ACS())
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/xml; charset=utf-8")
	h.Set("Cache-Control", "public, max-age=600")
	if c.URL.Query().Get("download") == "true" {
		h.Set("Content-Disposition", `attachment; filename="metadata.xml"`)
	}
	w.WriteHeader(http.StatusOK)
	if c.Method == http.MethodHead {
		return nil
	}
	_, err = w.Write(b)
	return err
}

func (a *API) consumeAssertion(w http.ResponseWriter, c *route.Call) error {
	in, err := a.readPosted(w, c)
	if err != nil {
		return route.RedirectOnError(w, a.ident, err)
	}
	return leadBack(w, a.svc.FinishSAML(c.Context(), in, c.Client()).Location)
}

// readPosted reads the form that a SAML provider had the browser post.
func (a *API) readPosted(w http.ResponseWriter, c *route.Call) (in sso.Response, err error) {
	if !a.svc.SAML() {
		return in, samlOff()
	}
	b, err := web.ReadBody(w, c.Request, maxBody)
	if err != nil {
		return in, err
	}
	form, err := url.ParseQuery(string(b))
	if err != nil {
		return in, fault.Wrap(err, fault.Invalid, "validation_failed", "The form cannot be read")
	}
	if len(form["SAMLResponse"]) != 1 || len(form["RelayState"]) > 1 {
		return in, fault.New(fault.Invalid, "validation_failed", "SAMLResponse is missing, or stands twice")
	}
	return sso.Response{SAMLResponse: form.Get("SAMLResponse"), RelayState: form.Get("RelayState")}, nil
}

func (a *API) finishSignIn(w http.ResponseWriter, c *route.Call) error {
	q := c.URL.Query()
	for _, k := range []string{"state", "code", "error", "iss"} {
		if len(q[k]) > 1 {
			return route.RedirectOnError(w, a.ident, fault.New(fault.Invalid, "bad_oauth_callback", "%s stands twice", k))
		}
	}
	to := a.svc.FinishOIDC(c.Context(),
		sso.Answer{Connection: c.PathValue("id"), State: q.Get("state"), Code: q.Get("code"), Error: q.Get("error"),
			Description: q.Get("error_description"), Issuer: q.Get("iss")}, c.Client())
	return leadBack(w, to.Location)
}
