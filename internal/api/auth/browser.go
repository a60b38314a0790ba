package auth

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"holdfast/internal/api/route"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/oidc"
	"holdfast/internal/identity/providers"
	"holdfast/internal/web"
)

// beginSignIn begins a sign-in at a provider. A name that only a connection may
// have is the connections': no tenant's takes the place of a provider of the
// configuration.
func (a *API) beginSignIn(w http.ResponseWriter, c *route.Call) error {
	if p := c.URL.Query().Get("provider"); strings.HasPrefix(p, "custom:") && !a.svc.OAuth.Configured(p) &&
		a.opt.Custom != nil {
		return a.opt.Custom(w, c)
	}
	start, err := a.svc.OAuth.Authorize(c.Context(), a.readAuthorization(c))
	if err != nil {
		return err
	}
	return a.sendToProvider(w, c, start)
}

// authorizeLink starts the linking of a further identity. A script asks for
// the address with skip_http_redirect and goes there itself.
func (a *API) authorizeLink(w http.ResponseWriter, c *route.Call) error {
	start, err := a.svc.OAuth.AuthorizeLink(c.Context(), c.Actor, a.readAuthorization(c))
	if err != nil {
		return err
	}
	return a.sendToProvider(w, c, start)
}

func (a *API) unlinkIdentity(w http.ResponseWriter, c *route.Call) error {
	if err := a.svc.OAuth.Unlink(c.Context(), c.Actor, c.PathValue("id")); err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, struct{}{})
}

func (a *API) readAuthorization(c *route.Call) identity.Authorize {
	q := c.URL.Query()
	return identity.Authorize{Provider: q.Get("provider"), Redirect: a.redirectTarget(c, ""), Scopes: q.Get("scopes"),
		Invite: q.Get("invite_token"),
		PKCE:   identity.PKCE{Challenge: q.Get("code_challenge"), Method: q.Get("code_challenge_method")},
		Extra:  providers.Forwarded(q)}
}

func (a *API) sendToProvider(w http.ResponseWriter, c *route.Call, start identity.AuthStart) error {
	a.setFlowCookie(w, "/callback", start.CookieName, start.Browser, int(start.MaxAge.Seconds()))
	if c.URL.Query().Get("skip_http_redirect") == "true" {
		return web.JSON(w, http.StatusOK, map[string]string{"url": start.Location})
	}
	w.Header().Set("Location", start.Location)
	w.WriteHeader(http.StatusFound)
	return nil
}

// setFlowCookie binds a flow to the browser that started it, for one of our paths. Lax,
// because the provider's redirect is a top-level navigation from another site.
func (a *API) setFlowCookie(w http.ResponseWriter, at, name, value string, maxAge int) {
	path := "/auth/v1" + at
	if u, err := url.Parse(a.svc.Issuer()); err == nil {
		path = u.Path + at
	}
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: path, MaxAge: maxAge, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: strings.HasPrefix(a.svc.Issuer(), "https://")})
}

func (a *API) finishSignIn(w http.ResponseWriter, c *route.Call) error {
	q := c.URL.Query()
	to := a.svc.OAuth.FinishOAuth(c.Context(),
		identity.Callback{Provider: c.PathValue("provider"), State: q.Get("state"), Code: q.Get("code"),
			Error: q.Get("error"), Description: q.Get("error_description"),
			Issuer: q.Get("iss"), Given: q.Get("given_name"), Family: q.Get("family_name"), Cookie: func(name string) string {
				ck, err := c.Cookie(name)
				if err != nil {
					return ""
				}
				a.setFlowCookie(w, "/callback", name, "", -1)
				return ck.Value
			}}, c.Client())
	if to.CookieName != "" {
		a.setFlowCookie(w, "/verify", to.CookieName, to.Browser, int(to.MaxAge.Seconds()))
	}
	w.Header().Set("Location", to.Location)
	if strings.Contains(to.Location, "error_code=bad_oauth") {
		w.WriteHeader(http.StatusSeeOther)
		return nil
	}
	w.WriteHeader(http.StatusFound)
	return nil
}

// postedCallback turns a provider's form post into a navigation of our own,
// which carries the flow's cookie; a cross-site post does not.
func (a *API) postedCallback(w http.ResponseWriter, c *route.Call) error {
	v, err := readForm(w, c)
	if err != nil { // a person is looking at this
		return route.RedirectOnError(w, a.svc, fault.Wrap(err, fault.Invalid, "bad_oauth_callback",
			"The provider's form cannot be read"))
	}
	q := url.Values{}
	for _, k := range []string{"state", "code", "error", "error_description", "iss"} {
		if v.Get(k) != "" {
			q.Set(k, v.Get(k))
		}
	}
	if given, family := oidc.FormName(v.Get("user")); given+family != "" {
		q.Set("given_name", given)
		q.Set("family_name", family)
	}
	path := "/callback"
	if provider := c.PathValue("provider"); provider != "" {
		path += "/" + url.PathEscape(provider)
	}
	w.Header().Set("Location", a.svc.Issuer()+path+"?"+q.Encode())
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// openLink answers GET and HEAD of a mailed link.
func (a *API) openLink(w http.ResponseWriter, c *route.Call) error {
	if err := countVisit(w, c, a.opt.Windows.Visit); err != nil {
		return err
	}
	return a.followLink(w, c, identity.Open{Page: strings.Contains(c.Header.Get("Accept"), "text/html"),
		Peek: c.Method == http.MethodHead})
}

// postLink is the page's button.
func (a *API) postLink(w http.ResponseWriter, c *route.Call) error {
	if err := a.countSecret(w, c); err != nil {
		return err
	}
	return a.followLink(w, c, identity.Open{Post: true, Page: true, Cookie: func(name string) string {
		ck, err := c.Cookie(name)
		if err != nil {
			return ""
		}
		return ck.Value
	}})
}

func (a *API) followLink(w http.ResponseWriter, c *route.Call, in identity.Open) error {
	q := c.URL.Query()
	in.Token, in.Type, in.Redirect = q.Get("token"), q.Get("type"), q.Get("redirect_to")
	if in.Token == "" {
		in.Token = q.Get("token_hash")
	}
	to, err := a.svc.Verification.OpenLink(c.Context(), in, c.Client())
	if err != nil {
		return err
	}
	if to.Ask {
		return askToRedeem(w, c, in)
	}
	w.Header().Set("Location", to.Location)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

var page = template.Must(template.New("verify").Parse(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{{.Title}}</title>
<style nonce="{{.Nonce}}">:root{color-scheme:light dark}
body{font:1rem/1.5 system-ui,sans-serif;margin:12vh auto;max-width:26rem;padding:0 1rem}
button{font:inherit;padding:.6rem 1.2rem}</style>
</head>
<body><main><h1>{{.Title}}</h1><p>{{.Text}}</p>
<form method="post" action="?{{.Query}}" enctype="application/x-www-form-urlencoded">
<button autofocus>{{.Button}}</button></form></main></body>
</html>
`))

// wording of the page by the type of link.
var wording = map[string][3]string{
	"signup":       {"Confirm your address", "Press the button to finish signing up.", "Confirm"},
	"invite":       {"Accept the invitation", "Press the button to open your account.", "Accept"},
	"recovery":     {"Choose a new password", "Press the button to sign in and choose a new password.", "Continue"},
	"magiclink":    {"Sign in", "Press the button to sign in.", "Sign in"},
	"email_change": {"Confirm your address", "Press the button to confirm the change of your address.", "Confirm"},
}

// askToRedeem shows the one button that redeems a link. Links are opened by mail
// scanners; buttons are pressed by people.
func askToRedeem(w http.ResponseWriter, c *route.Call, in identity.Open) error {
	t, ok := wording[in.Type]
	if !ok {
		t = [3]string{"Continue", "Press the button to continue.", "Continue"}
	}
	nonce := make([]byte, 16)
	rand.Read(nonce)
	n := hex.EncodeToString(nonce)
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy",
		fmt.Sprintf("default-src 'none'; style-src 'nonce-%s'; base-uri 'none'; frame-ancestors 'none'", n))
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	return page.Execute(w, struct {
		Title, Text, Button, Nonce string
		Query                      template.URL
	}{t[0], t[1], t[2], n, template.URL(url.Values{"token": {in.Token}, "type": {in.Type},
		"redirect_to": {in.Redirect}}.Encode())})
}
