package imports

import (
	"context"
	"log/slog"
	"time"
)

// dropTime is how long the file store may take to drop a file.
const dropTime = 30 * time.Second

// drop deletes a file that no job names any more. What cannot be deleted now
// is left to the sweep: the job has moved on.
func (m *Importer) drop(ctx context.Context, key string) {
	if key == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTime)
	defer cancel()
	if err := m.files.Delete(ctx, key); err != nil {
		slog.Warn("a file could not be deleted; it goes with the next sweep", "error", err)
	}
}
