package app

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/identity"
	"holdfast/internal/web"
)

// witnessTime is how long the audit row of a refusal may keep the answer back.
const witnessTime = 5 * time.Second

// auditRefusal writes the audit row of what was refused to a known caller, or taken
// out as a file. Nobody changed anything, so the row stands
// alone; a database that takes none does not turn a refusal into something
// else.
func (a *App) auditRefusal(ctx context.Context, w web.AuditedRequest) {
	ctx, cancel := context.WithTimeout(ctx, witnessTime)
	defer cancel()
	n := identity.Note{Tenant: w.Tenant, User: w.User, Key: w.Key, Action: "records.exported",
		Details: map[string]any{"method": w.Method, "path": clipPath(w.Path), "bytes": w.Bytes},
		Client:  identity.Client{Address: w.Address, RequestID: w.RequestID}}
	if w.Status == http.StatusForbidden {
		n.Action, n.Outcome = "access.denied", "refused"
		n.Details = map[string]any{"method": w.Method, "path": clipPath(w.Path), "code": w.Code}
	}
	err := a.DB.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		a.Identity.Federation.Record(tx, n)
		return nil
	})
	if err != nil {
		slog.Error("audit row not written", "action", n.Action, "request_id", w.RequestID, "error", err)
	}
}

func clipPath(path string) string {
	if len(path) > 200 {
		return path[:200]
	}
	return path
}
