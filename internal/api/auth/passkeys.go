package auth

import (
	"encoding/json"
	"holdfast/internal/api/route"
	"net/http"

	"holdfast/internal/web"
)

// ceremonyBody is the answer to a passkey ceremony.
type ceremonyBody struct {
	Challenge  string          `json:"challenge_id"`
	Credential json.RawMessage `json:"credential"`
}

func (a passkeys) registerPasskey(w http.ResponseWriter, c *route.Call) error {
	out, err := a.svc.Passkeys.RegisterPasskey(c.Context(), c.Actor)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, out)
}

func (a passkeys) registeredPasskey(w http.ResponseWriter, c *route.Call) error {
	var in ceremonyBody
	if err := decodeBody(c, &in); err != nil {
		return err
	}
	out, err := a.svc.Passkeys.RegisteredPasskey(c.Context(), c.Actor, in.Challenge, in.Credential)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, out)
}

func (a passkeys) listPasskeys(w http.ResponseWriter, c *route.Call) error {
	list, err := a.svc.Passkeys.List(c.Context(), c.Actor)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, list)
}

func (a passkeys) renamePasskey(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		Name string `json:"friendly_name"`
	}
	if err := decodeBody(c, &in); err != nil {
		return err
	}
	out, err := a.svc.Passkeys.RenamePasskey(c.Context(), c.Actor, c.PathValue("id"), in.Name)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, out)
}

func (a passkeys) removePasskey(w http.ResponseWriter, c *route.Call) error {
	if err := a.svc.Passkeys.RemovePasskey(c.Context(), c.Actor, c.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a passkeys) askPasskey(w http.ResponseWriter, c *route.Call) error {
	if err := countVisit(w, c, a.opt.Windows.Depart); err != nil {
		return err
	}
	out, err := a.svc.Passkeys.AskPasskey(c.Context())
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, out)
}

func (a passkeys) signInPasskey(w http.ResponseWriter, c *route.Call) error {
	var in ceremonyBody
	if err := decodeBody(c, &in); err != nil {
		return err
	}
	if err := a.countSecret(w, c); err != nil {
		return err
	}
	sess, err := a.svc.Passkeys.SignInPasskey(c.Context(), in.Challenge, in.Credential, c.Client())
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, sess)
}

func (a passkeys) userPasskeys(w http.ResponseWriter, c *route.Call) error {
	list, err := a.svc.Passkeys.UserPasskeys(c.Context(), c.Actor, c.PathValue("id"))
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, list)
}

func (a passkeys) removeUserPasskey(w http.ResponseWriter, c *route.Call) error {
	if err := a.svc.Passkeys.RemoveUserPasskey(c.Context(), c.Actor, c.PathValue("id"),
		c.PathValue("passkey_id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
