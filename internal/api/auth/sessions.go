package auth

import (
	"net/http"

	"holdfast/internal/api/route"
	"holdfast/internal/identity"
	"holdfast/internal/web"
)

// signedIn lists and ends sessions: the caller's own, a member's, or those of any
// account.
type signedIn struct{ svc *identity.Service }

func (s signedIn) listSessions(w http.ResponseWriter, c *route.Call) error {
	list, err := s.svc.Sessions.List(c.Context(), c.Actor)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]any{"sessions": list})
}

func (s signedIn) endSession(w http.ResponseWriter, c *route.Call) error {
	if err := s.svc.Sessions.EndSession(c.Context(), c.Actor, c.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s signedIn) userSessions(w http.ResponseWriter, c *route.Call) error {
	list, err := s.svc.Sessions.UserSessions(c.Context(), c.Actor, c.PathValue("id"))
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]any{"sessions": list})
}

func (s signedIn) endUserSessions(w http.ResponseWriter, c *route.Call) error {
	return sendNoContent(w, s.svc.Sessions.EndUserSessions(c.Context(), c.Actor, c.PathValue("id"), ""))
}

func (s signedIn) endUserSession(w http.ResponseWriter, c *route.Call) error {
	return sendNoContent(w, s.svc.Sessions.EndUserSessions(c.Context(), c.Actor, c.PathValue("id"),
		c.PathValue("session_id")))
}

func (s signedIn) memberSessions(w http.ResponseWriter, c *route.Call) error {
	list, err := s.svc.Sessions.MemberSessions(c.Context(), c.Actor, c.PathValue("id"))
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]any{"sessions": list})
}

func (s signedIn) memberWorks(w http.ResponseWriter, c *route.Call) error {
	works, err := s.svc.Tenants.MemberWorks(c.Context(), c.Actor, c.PathValue("id"))
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, works)
}

func (s signedIn) endMemberSessions(w http.ResponseWriter, c *route.Call) error {
	return sendNoContent(w, s.svc.Sessions.EndMemberSessions(c.Context(), c.Actor, c.PathValue("id"), ""))
}

func (s signedIn) endMemberSession(w http.ResponseWriter, c *route.Call) error {
	return sendNoContent(w, s.svc.Sessions.EndMemberSessions(c.Context(), c.Actor, c.PathValue("id"),
		c.PathValue("session_id")))
}

// sendNoContent answers that what was asked for is no more.
func sendNoContent(w http.ResponseWriter, err error) error {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}
