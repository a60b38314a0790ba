package api

import (
	"context"
	"net/http"
	"time"

	"holdfast/internal/api/route"
	"holdfast/internal/fault"
	"holdfast/internal/web"
)

// BackupStatus is what administrators may know of the server's backups: neither
// where they are nor what is in them.
type BackupStatus struct {
	Scheduled    bool       `json:"scheduled"`
	EverySeconds int64      `json:"every_seconds"` // 0 = not scheduled
	LastGoodAt   *time.Time `json:"last_good_at"`  // null = none is known
	AgeSeconds   *int64     `json:"age_seconds"`
	Bytes        *int64     `json:"bytes"`
}

// Backups answers GET /v1/backup-status: how old the last good backup is
// (administrators, service key).
func Backups(read func(context.Context) (BackupStatus, error)) route.Handle {
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
