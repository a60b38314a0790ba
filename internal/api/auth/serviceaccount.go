package auth

import (
	"net/http"
	"net/url"
	"time"

	"holdfast/internal/api/route"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/web"
)

func (a serviceAccounts) listServiceAccounts(w http.ResponseWriter, c *route.Call) error {
	list, err := a.svc.ServiceAccounts.List(c.Context(), c.Actor)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]any{"service_accounts": list, "available_scopes": a.opt.Scopes})
}

func (a serviceAccounts) createServiceAccount(w http.ResponseWriter, c *route.Call) error {
	var in identity.AccountChange
	if err := decodeExact(c, &in); err != nil {
		return err
	}
	made, err := a.svc.ServiceAccounts.Create(c.Context(), c.Actor, in, a.opt.Scopes)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusCreated, made)
}

func (a serviceAccounts) changeServiceAccount(w http.ResponseWriter, c *route.Call) error {
	var in identity.AccountChange
	if err := decodeExact(c, &in); err != nil {
		return err
	}
	changed, err := a.svc.ServiceAccounts.Change(c.Context(), c.Actor, c.PathValue("id"), in, a.opt.Scopes)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, changed)
}

func (a serviceAccounts) removeServiceAccount(w http.ResponseWriter, c *route.Call) error {
	if err := a.svc.ServiceAccounts.Remove(c.Context(), c.Actor, c.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a serviceAccounts) renewServiceKey(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		Overlap int64   `json:"overlap_seconds"`
		Expires *string `json:"expires_at"`
	}
	if err := decodeExact(c, &in); err != nil {
		return err
	}
	overlap := time.Duration(max(-1, min(in.Overlap, 1<<31))) * time.Second // longer than any that is taken
	k, err := a.svc.ServiceAccounts.Renew(c.Context(), c.Actor, c.PathValue("id"), overlap, in.Expires)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusCreated, k)
}

func (a serviceAccounts) revokeServiceKey(w http.ResponseWriter, c *route.Call) error {
	if err := a.svc.ServiceAccounts.Revoke(c.Context(), c.Actor, c.PathValue("id"), c.PathValue("key_id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// clientCredentials is the grant of RFC 6749 section 4.4. The client shows
// itself by HTTP Basic or in the body, not both (section 2.3).
func (a serviceAccounts) clientCredentials(w http.ResponseWriter, c *route.Call, in grant) error {
	if err := a.countSecret(w, c); err != nil {
		return err
	}
	id, secret := in.ClientID, in.Secret
	if user, word, ok := c.BasicAuth(); ok {
		if id != "" || secret != "" {
			f := fault.New(fault.Invalid, "invalid_request", "The client shows itself once: by HTTP Basic or in the body")
			f.Data = identity.OAuthStyle{}
			return f
		}
		// Both are form-encoded first (section 2.3.1); what cannot be read is nobody's.
		id, _ = url.QueryUnescape(user)
		secret, _ = url.QueryUnescape(word)
	}
	out, err := a.svc.ServiceAccounts.Exchange(c.Context(), id, secret, in.Scope, route.Credential(c.Request))
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, out)
}
