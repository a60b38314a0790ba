package auth

import (
	"net/http"

	"holdfast/internal/api/route"
	"holdfast/internal/web"
)

func (a *API) sessions(w http.ResponseWriter, c *route.Call) error {
	list, err := a.svc.Sessions.List(c.Context(), c.Actor)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]any{"sessions": list})
}

func (a *API) endSession(w http.ResponseWriter, c *route.Call) error {
	if err := a.svc.Sessions.EndSession(c.Context(), c.Actor, c.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) userSessions(w http.ResponseWriter, c *route.Call) error {
	list, err := a.svc.Sessions.UserSessions(c.Context(), c.Actor, c.PathValue("id"))
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]any{"sessions": list})
}

func (a *API) endUserSessions(w http.ResponseWriter, c *route.Call) error {
	return gone(w, a.svc.Sessions.EndUserSessions(c.Context(), c.Actor, c.PathValue("id"), ""))
}

func (a *API) endUserSession(w http.ResponseWriter, c *route.Call) error {
	return gone(w, a.svc.Sessions.EndUserSessions(c.Context(), c.Actor, c.PathValue("id"), c.PathValue("session_id")))
}

func (a *API) memberSessions(w http.ResponseWriter, c *route.Call) error {
	list, err := a.svc.Sessions.MemberSessions(c.Context(), c.Actor, c.PathValue("id"))
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]any{"sessions": list})
}

func (a *API) endMemberSessions(w http.ResponseWriter, c *route.Call) error {
	return gone(w, a.svc.Sessions.EndMemberSessions(c.Context(), c.Actor, c.PathValue("id"), ""))
}

func (a *API) endMemberSession(w http.ResponseWriter, c *route.Call) error {
	return gone(w, a.svc.Sessions.EndMemberSessions(c.Context(), c.Actor, c.PathValue("id"), c.PathValue("session_id")))
}

// gone answers that what was asked for is no more.
func gone(w http.ResponseWriter, err error) error {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}
