package authapi

import (
	"net/http"

	"holdfast/internal/web"
)

func (a *API) sessions(w http.ResponseWriter, c *call) error {
	list, err := a.svc.Sessions(c.Context(), c.actor)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, map[string]any{"sessions": list})
}

func (a *API) endSession(w http.ResponseWriter, c *call) error {
	if err := a.svc.EndSession(c.Context(), c.actor, c.id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
