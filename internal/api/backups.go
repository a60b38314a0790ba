package api

import (
	"context"
	"net/http"

	"holdfast/internal/api/route"
	"holdfast/internal/backups"
	"holdfast/internal/fault"
	"holdfast/internal/web"
)

// Backups answers GET /v1/backup-status: how old the last good backup is
// (administrators, service key).
func Backups(read func(context.Context) (backups.Status, error)) route.Handle {
	return func(w http.ResponseWriter, c *route.Call) error {
		if !c.Actor.Administrator() {
			return fault.New(fault.Forbidden, "42501", "only administrators may ask for the age of backups")
		}
		status, err := read(c.Context())
		if err != nil {
			return err
		}
		return web.JSON(w, http.StatusOK, status)
	}
}
