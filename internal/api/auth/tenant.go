package auth

import (
	"net/http"

	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/identity"
	"holdfast/internal/identity/mailtemplate"
	"holdfast/internal/web"
)

func (m tenancy) previewMail(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		Kind    string `json:"kind"`
		Locale  string `json:"locale"`
		Subject string `json:"subject"`
		Text    string `json:"text"`
		HTML    string `json:"html"`
	}
	if err := decodeExact(c, &in); err != nil {
		return err
	}
	made, err := m.svc.Post.PreviewMail(c.Context(), c.Actor, mailtemplate.Kind(in.Kind), in.Locale,
		mailtemplate.Template{Subject: in.Subject, Text: in.Text, HTML: in.HTML})
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]string{"subject": made.Subject, "text": made.Text, "html": made.HTML})
}

func (m tenancy) inviteMember(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		Email   string     `json:"email"`
		Role    actor.Role `json:"role"`
		Deliver string     `json:"deliver"`
		Worker  string     `json:"worker_id"`
		Zones   []string   `json:"zone_ids"`
		Owner   string     `json:"owner_id"`
	}
	if err := decodeExact(c, &in); err != nil {
		return err
	}
	inv, err := m.svc.Invitations.Invite(c.Context(), c.Actor,
		identity.Invite{Email: in.Email, Role: in.Role, Deliver: in.Deliver,
			Reach: identity.Reach{WorkerID: in.Worker, ZoneIDs: in.Zones, OwnerID: in.Owner}})
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusCreated, inv)
}

// openedInvitation is asked by a page that was opened by an invitation's link.
func (m tenancy) openedInvitation(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		Token string `json:"invite_token"`
	}
	if err := decodeExact(c, &in); err != nil {
		return err
	}
	if err := m.countSecret(w, c); err != nil {
		return err
	}
	inv, err := m.svc.Invitations.Opened(c.Context(), in.Token)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, inv)
}

func (m tenancy) listInvitations(w http.ResponseWriter, c *route.Call) error {
	list, err := m.svc.Invitations.List(c.Context(), c.Actor)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]any{"invitations": list})
}

func (m tenancy) acceptInvitation(w http.ResponseWriter, c *route.Call) error {
	inv, err := m.svc.Invitations.Accept(c.Context(), c.Actor, c.PathValue("id"))
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, inv)
}

func (m tenancy) declineInvitation(w http.ResponseWriter, c *route.Call) error {
	return sendNoContent(w, m.svc.Invitations.Decline(c.Context(), c.Actor, c.PathValue("id")))
}

func (m tenancy) leaveTenant(w http.ResponseWriter, c *route.Call) error {
	return sendNoContent(w, m.svc.Invitations.Leave(c.Context(), c.Actor, c.PathValue("id")))
}

func (m tenancy) transferTenant(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		UserID   string `json:"user_id"`
		Password string `json:"current_password"`
		Nonce    string `json:"nonce"`
	}
	if err := decodeExact(c, &in); err != nil {
		return err
	}
	if err := m.countOwn(w, c); err != nil {
		return err
	}
	to := identity.Transfer{UserID: in.UserID, CurrentPassword: in.Password, Nonce: in.Nonce}
	if err := m.svc.Profile.TransferOwnership(c.Context(), c.Actor, to); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (m tenancy) switchTenant(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		TenantID string `json:"tenant_id"`
	}
	if err := decodeExact(c, &in); err != nil {
		return err
	}
	sess, err := m.svc.Sessions.SwitchTenant(c.Context(), c.Actor, in.TenantID)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, sess)
}

func (m tenancy) listTenants(w http.ResponseWriter, c *route.Call) error {
	list, err := m.svc.Tenants.Memberships(c.Context(), c.Actor)
	if err != nil {
		return err
	}
	type entry struct {
		ID      string     `json:"id"`
		Name    string     `json:"name"`
		Slug    string     `json:"slug"`
		Status  string     `json:"status"`
		Role    actor.Role `json:"role"`
		Current bool       `json:"current"`

		MFARequired bool           `json:"mfa_required"`
		GraceUntil  *identity.Time `json:"mfa_grace_until,omitempty"`
	}
	out := make([]entry, len(list))
	for i, m := range list {
		out[i] = entry{ID: m.TenantID, Name: m.Name, Slug: m.Slug, Status: m.Status, Role: m.Role, MFARequired: m.NeedsFactor}
		out[i].Current = m.TenantID == c.Actor.TenantID
		if !m.Grace.IsZero() {
			out[i].GraceUntil = &identity.Time{Time: m.Grace}
		}
	}
	return web.JSON(w, http.StatusOK, map[string]any{"tenants": out})
}
