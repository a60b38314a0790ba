package auth

import (
	"net/http"

	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/identity"
	"holdfast/internal/identity/letter"
	"holdfast/internal/web"
)

func (a *API) previewMail(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		Kind    string `json:"kind"`
		Locale  string `json:"locale"`
		Subject string `json:"subject"`
		Text    string `json:"text"`
		HTML    string `json:"html"`
	}
	if err := body(c, &in); err != nil {
		return err
	}
	m, err := a.svc.Post.PreviewMail(c.Context(), c.Actor, letter.Kind(in.Kind), in.Locale, letter.Template{Subject: in.Subject, Text: in.Text, HTML: in.HTML})
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]string{"subject": m.Subject, "text": m.Text, "html": m.HTML})
}

func (a *API) inviteMember(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		Email   string     `json:"email"`
		Role    actor.Role `json:"role"`
		Deliver string     `json:"deliver"`
	}
	if err := body(c, &in); err != nil {
		return err
	}
	inv, err := a.svc.Invitations.Invite(c.Context(), c.Actor, identity.Invite{Email: in.Email, Role: in.Role, Deliver: in.Deliver})
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusCreated, inv)
}

func (a *API) invitations(w http.ResponseWriter, c *route.Call) error {
	list, err := a.svc.Invitations.List(c.Context(), c.Actor)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]any{"invitations": list})
}

func (a *API) acceptInvitation(w http.ResponseWriter, c *route.Call) error {
	inv, err := a.svc.Invitations.Accept(c.Context(), c.Actor, c.PathValue("id"))
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, inv)
}

func (a *API) declineInvitation(w http.ResponseWriter, c *route.Call) error {
	return gone(w, a.svc.Invitations.Decline(c.Context(), c.Actor, c.PathValue("id")))
}

func (a *API) leaveTenant(w http.ResponseWriter, c *route.Call) error {
	return gone(w, a.svc.Invitations.Leave(c.Context(), c.Actor, c.PathValue("id")))
}

func (a *API) transferTenant(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		UserID   string `json:"user_id"`
		Password string `json:"current_password"`
		Nonce    string `json:"nonce"`
	}
	if err := body(c, &in); err != nil {
		return err
	}
	if err := a.countOwn(w, c); err != nil {
		return err
	}
	to := identity.Transfer{UserID: in.UserID, CurrentPassword: in.Password, Nonce: in.Nonce}
	if err := a.svc.Profile.TransferOwnership(c.Context(), c.Actor, to); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
