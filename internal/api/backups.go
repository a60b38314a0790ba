package api

import (
	"context"
	"net/http"
	"time"

	"holdfast/internal/fault"
	"holdfast/internal/gate"
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
func Backups(g *gate.Gate, read func(context.Context) (BackupStatus, error)) http.Handler {
	return web.Wrap(CollectionShape, func(w http.ResponseWriter, r *http.Request) error {
		a, err := g.Enter(w, r, false)
		if a, err = signedIn(w, r, a, err); err != nil {
			return err
		}
		if !a.Administrator() {
			return fault.New(fault.Forbidden, "42501", "only administrators may ask for the age of backups")
		}
		status, err := read(r.Context())
		if err != nil {
			return err
		}
		return web.JSON(w, http.StatusOK, status)
	})
}
