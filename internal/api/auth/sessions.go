package auth

import (
	"net/http"

	"holdfast/internal/web"
)

func (a *API) sessions(w http.ResponseWriter, c *call) error {
	list, err := a.svc.Sessions.List(c.Context(), c.actor)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]any{"sessions": list})
}

func (a *API) endSession(w http.ResponseWriter, c *call) error {
	if err := a.svc.Sessions.EndSession(c.Context(), c.actor, c.id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) userSessions(w http.ResponseWriter, c *call) error {
	list, err := a.svc.Sessions.UserSessions(c.Context(), c.actor, c.id)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]any{"sessions": list})
}

func (a *API) endUserSessions(w http.ResponseWriter, c *call) error {
	return gone(w, a.svc.Sessions.EndUserSessions(c.Context(), c.actor, c.id, ""))
}

func (a *API) endUserSession(w http.ResponseWriter, c *call) error {
	return gone(w, a.svc.Sessions.EndUserSessions(c.Context(), c.actor, c.id, c.sub))
}

func (a *API) memberSessions(w http.ResponseWriter, c *call) error {
	list, err := a.svc.Sessions.MemberSessions(c.Context(), c.actor, c.id)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]any{"sessions": list})
}

func (a *API) endMemberSessions(w http.ResponseWriter, c *call) error {
	return gone(w, a.svc.Sessions.EndMemberSessions(c.Context(), c.actor, c.id, ""))
}

func (a *API) endMemberSession(w http.ResponseWriter, c *call) error {
	return gone(w, a.svc.Sessions.EndMemberSessions(c.Context(), c.actor, c.id, c.sub))
}

// gone answers that what was asked for is no more.
func gone(w http.ResponseWriter, err error) error {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}
