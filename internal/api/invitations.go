package api

import (
	"context"
	"net/http"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/gate"
	"holdfast/internal/web"
)

// Invite makes and mails an invitation and returns it for the answer.
type Invite func(ctx context.Context, a actor.Actor, email string, role actor.Role) (any, error)

// Invitations answers POST on the invitations collection: an insert that also
// mails, so it is a verb of the identity service and no plain row.
func Invitations(g *gate.Gate, invite Invite) http.Handler {
	return web.Wrap(CollectionShape, func(w http.ResponseWriter, r *http.Request) error {
		a, err := g.Enter(w, r, true)
		web.Note(w, r.Pattern, a.TenantID, a.UserID, a.KeyID)
		if err != nil {
			return err
		}
		if a.Anonymous() {
			return fault.New(fault.Unauthorized, "PGRST302", "sign in first: this needs an access token")
		}
		if !a.Administrator() || a.TenantID == "" {
			return fault.New(fault.Forbidden, "42501", "only an administrator of the tenant may invite")
		}
		in, err := invitation(r)
		if err != nil {
			return err
		}
		row, err := invite(r.Context(), a, in.Email, in.Role)
		if err != nil {
			return err
		}
		return sendInvitation(w, r, row)
	})
}

type invitationInput struct {
	Email string     `json:"email"`
	Role  actor.Role `json:"role"`
}

// invitation reads one object, or an array of one as supabase-js may send it.
func invitation(r *http.Request) (invitationInput, error) {
	var one invitationInput
	b, err := web.ReadBody(nil, r, functionBody)
	if err != nil {
		return one, err
	}
	if err := web.JSONType(r); err != nil {
		return one, err
	}
	if !strings.HasPrefix(strings.TrimSpace(string(b)), "[") {
		err = web.Unmarshal(b, &one)
		return one, err
	}
	var list []invitationInput
	if err := web.Unmarshal(b, &list); err != nil {
		return one, err
	}
	if len(list) != 1 {
		return one, fault.New(fault.Invalid, "PGRST102", "invite one address at a time")
	}
	return list[0], nil
}

func sendInvitation(w http.ResponseWriter, r *http.Request, row any) error {
	switch {
	case strings.Contains(r.Header.Get("Accept"), "vnd.pgrst.object"):
		return web.JSON(w, http.StatusCreated, row)
	case strings.Contains(strings.Join(r.Header.Values("Prefer"), ","), "return=representation"):
		return web.JSON(w, http.StatusCreated, []any{row})
	}
	w.WriteHeader(http.StatusCreated)
	return nil
}
