package auth

import (
	"encoding/json"
	"net/http"

	"holdfast/internal/web"
)

// ceremonyBody is the answer to a passkey ceremony.
type ceremonyBody struct {
	Challenge  string          `json:"challenge_id"`
	Credential json.RawMessage `json:"credential"`
}

func (a *API) registerPasskey(w http.ResponseWriter, c *call) error {
	out, err := a.svc.Passkeys.RegisterPasskey(c.Context(), c.actor)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, out)
}

func (a *API) registeredPasskey(w http.ResponseWriter, c *call) error {
	var in ceremonyBody
	if err := body(c, &in); err != nil {
		return err
	}
	out, err := a.svc.Passkeys.RegisteredPasskey(c.Context(), c.actor, in.Challenge, in.Credential)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, out)
}

func (a *API) passkeys(w http.ResponseWriter, c *call) error {
	list, err := a.svc.Passkeys.List(c.Context(), c.actor)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, list)
}

func (a *API) renamePasskey(w http.ResponseWriter, c *call) error {
	var in struct {
		Name string `json:"friendly_name"`
	}
	if err := body(c, &in); err != nil {
		return err
	}
	out, err := a.svc.Passkeys.RenamePasskey(c.Context(), c.actor, c.id, in.Name)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, out)
}

func (a *API) removePasskey(w http.ResponseWriter, c *call) error {
	if err := a.svc.Passkeys.RemovePasskey(c.Context(), c.actor, c.id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) askPasskey(w http.ResponseWriter, c *call) error {
	if err := visit(w, c, a.opt.Depart); err != nil {
		return err
	}
	out, err := a.svc.Passkeys.AskPasskey(c.Context())
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, out)
}

func (a *API) signInPasskey(w http.ResponseWriter, c *call) error {
	var in ceremonyBody
	if err := body(c, &in); err != nil {
		return err
	}
	if err := a.countSecret(w, c); err != nil {
		return err
	}
	sess, err := a.svc.Passkeys.SignInPasskey(c.Context(), in.Challenge, in.Credential, c.client())
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, sess)
}

func (a *API) userPasskeys(w http.ResponseWriter, c *call) error {
	list, err := a.svc.Passkeys.UserPasskeys(c.Context(), c.actor, c.id)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, list)
}

func (a *API) removeUserPasskey(w http.ResponseWriter, c *call) error {
	if err := a.svc.Passkeys.RemoveUserPasskey(c.Context(), c.actor, c.id, c.sub); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
